/*
 * sink_types.h: the sink types there are, and the options that all of them have.
 */
#ifndef SINKD_SINK_SINK_TYPES_H
#define SINKD_SINK_SINK_TYPES_H

#include <stddef.h>

#include "base/slice.h"
#include "sink/option.h"
#include "sink/sink.h"

/* sink_types_find(name): the type of that name in any case, or NULL. sink_types_at(i): to walk them; NULL
 * beyond the last. */
const struct sink_type *sink_types_find(struct slice name);
const struct sink_type *sink_types_at(size_t i);

/* sink_types_option(type, i): the i-th option that a sink of this type has: those of all types, those of
 * all network types, its own. NULL beyond the last. */
const struct option *sink_types_option(const struct sink_type *type, size_t i);
size_t sink_types_option_count(const struct sink_type *type);

#endif
