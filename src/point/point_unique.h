/*
 * point_unique.h: which fields of a stored line count when a name comes twice: the last of each.
 *
 * For the forms of a point that are maps. Names are compared as a reader of the form sees them:
 * without escapes, and in JSON with invalid bytes replaced. Bounded: no more than n log n
 * comparisons whatever a client sent.
 */
#ifndef SINKD_POINT_POINT_UNIQUE_H
#define SINKD_POINT_POINT_UNIQUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* So many names are looked at without more memory than the stack. */
#define POINT_UNIQUE_FEW 32

enum point_unique_kind {
    POINT_UNIQUE_FIELDS,
    POINT_UNIQUE_FIELDS_UTF8, /* names that differ only in invalid bytes are one */
    POINT_UNIQUE_TAGS_UTF8
};

/* What is left out, by where it starts. Plain memory. */
struct point_unique {
    size_t count; /* names that are left */
    size_t over;  /* entries that are left out */
    size_t bytes; /* what was added to the buffer: the list, when it is long */
    uint32_t few[POINT_UNIQUE_FEW];
    size_t at, base; /* private */
};

/*
 * point_unique_find(u, kind, list, out):
 * Look through the fields or tags of a point. A long list of what is left out is put at the end of
 * ${out}, ${u}->bytes long: the caller takes it away again. While this runs, ${out} needs room for
 * 8 bytes an entry when there are more than POINT_UNIQUE_FEW. ERR_NOMEM; ERR_RANGE (over 4 GiB).
 */
enum err point_unique_find(struct point_unique *u, enum point_unique_kind kind, struct slice list,
                           struct buf *out) MUST_USE;

/* point_unique_skips(u, out, offset): whether the entry that starts there is left out. Ask for
 * each, in order. */
bool point_unique_skips(struct point_unique *u, const struct buf *out, size_t offset);

/* point_unique_drop(u, out): take the list out of ${out} again; what was added behind it stays. */
void point_unique_drop(const struct point_unique *u, struct buf *out);

#endif
