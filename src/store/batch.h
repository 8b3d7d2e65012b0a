/*
 * batch.h: points copied out of the log, in order, for one sink's round.
 *
 * Copied, because no read transaction may live while a network is waited for. Bounded by a count
 * and a size; the memory is kept from round to round.
 */
#ifndef SINKD_STORE_BATCH_H
#define SINKD_STORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* One point of a batch; the slices point into the batch and are valid until it changes. */
struct batch_point {
    uint64_t seq;
    int64_t timestamp_ns;
    struct slice database, policy; /* the retention policy; empty: the default one */
    struct slice measurement;      /* without escapes */
    struct slice line;             /* as it came, without the timestamp */
};

struct batch_entry;
struct batch_source;

struct batch {
    struct batch_entry *entries; /* private, as all of it but count */
    size_t count, entries_cap;
    struct batch_source *sources; /* what the points of one chunk share */
    size_t source_count, source_cap;
    size_t line_bytes;
    struct buf bytes; /* names and lines */
};

/* batch_init(b): empty, no memory yet. batch_clear keeps the memory, batch_free gives it back. */
void batch_init(struct batch *b);
void batch_free(struct batch *b);
void batch_clear(struct batch *b);

/* batch_bytes(b): bytes of lines held; what max_batch_bytes is measured against. */
size_t batch_bytes(const struct batch *b);

/* batch_point(b, i): the i-th point; i < b->count. */
struct batch_point batch_point(const struct batch *b, size_t i);

/*
 * batch_source(b, database, policy): start a chunk: what the points that follow share.
 * batch_add(b, seq, timestamp_ns, measurement, line): append a point. ${measurement} is copied once
 * for a run of points with the same one.
 * Errors: ERR_NOMEM, and then nothing was added.
 */
enum err batch_source(struct batch *b, struct slice database, struct slice policy) MUST_USE;
enum err batch_add(struct batch *b, uint64_t seq, int64_t timestamp_ns, struct slice measurement,
                   struct slice line) MUST_USE;

#endif
