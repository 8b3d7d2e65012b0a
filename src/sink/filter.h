/*
 * filter.h: which points a sink takes: its databases, INCLUDE and EXCLUDE.
 *
 * Compiled once from a definition; asked once a chunk for the database and once a measurement of a
 * chunk, with a small memory of names already judged. Belongs to one thread.
 */
#ifndef SINKD_SINK_FILTER_H
#define SINKD_SINK_FILTER_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "sink/sink_def.h"
#include "store/store.h"

struct filter;

/* filter_open(out, def, info): ${def} outlives it. ERR_NOMEM, ERR_CONFIG (a regular expression). */
enum err filter_open(struct filter **out, const struct sink_def *def,
                     struct errinfo *info) MUST_USE;
void filter_close(struct filter *f);

bool filter_database(struct filter *f, struct slice database);
bool filter_measurement(struct filter *f, struct slice name);

/* filter_failed(f): whether there was no memory to ask an expression since the last call: what was
 * judged meanwhile may be wrong and is to be judged again. A name itself never needs memory. */
bool filter_failed(struct filter *f);

/* filter_want(f): the same as store_read wants it. */
struct store_want filter_want(struct filter *f);

#endif
