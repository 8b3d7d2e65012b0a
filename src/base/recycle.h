/*
 * recycle.h: a few large blocks of memory that wait for their next use.
 *
 * Memory fresh from the system costs a page fault every 4 KiB, which for a large body is more than
 * reading it. Whoever is done with a large buffer gives its memory here, and whoever needs one
 * takes it. Not for: small buffers, or secrets (nothing is overwritten). One thread.
 */
#ifndef SINKD_BASE_RECYCLE_H
#define SINKD_BASE_RECYCLE_H

#include <stddef.h>

#include "base/buf.h"

/* At most so many blocks are kept, each between so many bytes and so many. */
#define RECYCLE_BLOCKS 4u
#define RECYCLE_BYTES_MIN 16384u
#define RECYCLE_BYTES_MAX (1u << 20)

/* All zero: empty. */
struct recycle {
    struct buf kept[RECYCLE_BLOCKS]; /* private */
    size_t count;                    /* private */
};

/* recycle_take(r, b, n): when ${b} has no memory yet and one is kept that holds ${n} bytes, give it
 * that. */
void recycle_take(struct recycle *r, struct buf *b, size_t n);

/* recycle_give(r, b): as buf_free(b), but its memory may be kept. */
void recycle_give(struct recycle *r, struct buf *b);

/* recycle_free(r): give all that is kept back to the system. It can be used again. */
void recycle_free(struct recycle *r);

#endif
