/*
 * ingest.h: points that come in as MessagePack, HyperbyteDB's two forms, one after another.
 *
 * rows: an array of points, or one point: maps as point_msgpack.h describes them; `tags` and
 * `timestamp` may be missing or nil. columns: one map as there; `tags` and `timestamps` may be
 * missing or nil. Unknown keys are skipped. Each point becomes a line and is judged like one
 * (ingest_line.h); a body that has not this shape is broken as a whole. Bounded, no recursion.
 * Source: docs/user-guide/reference.md.
 */
#ifndef SINKD_POINT_INGEST_H
#define SINKD_POINT_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/wire.h"
#include "point/lineproto.h"
#include "point/precision.h"

enum ingest_event {
    INGEST_END,
    INGEST_POINT,  /* a good point */
    INGEST_BAD,    /* a point that is refused; go on with the next */
    INGEST_BROKEN, /* the body is not what it should be: ingest_problem() */
    INGEST_NOMEM   /* a line is longer than the buffer may be */
};

struct ingest {
    struct rd r; /* private, as all of it */
    const uint8_t *start;
    struct buf *line;
    enum precision precision;
    int64_t now_ns;
    bool columns;
    uint64_t number; /* of the point that came last, from 1 */
    uint64_t left;   /* points still to come */
    const char *problem;
    struct rd values, times; /* columns: both in step */
    size_t key, prefix;      /* columns: bytes of the line that all points have in common */
    bool timed, unwritable;
};

/* ingest_rows(in, body, line, precision, now_ns), ingest_columns(...): start over ${body}, which
 * must outlive what comes out. ${line} holds one point at a time. */
void ingest_rows(struct ingest *in, struct slice body, struct buf *line, enum precision precision,
                 int64_t now_ns);
void ingest_columns(struct ingest *in, struct slice body, struct buf *line,
                    enum precision precision, int64_t now_ns);

/* ingest_next(in, point, bad): the next point. Slices that come out are valid until the next call;
 * the line number of ${bad} is the number of the point. After END, BROKEN and NOMEM: do not call
 * again. */
enum ingest_event ingest_next(struct ingest *in, struct lineproto_point *point,
                              struct lineproto_bad *bad) MUST_USE;

/* ingest_problem(in, at): what is wrong with a broken body; ${at}: the offset where it was
 * noticed. */
const char *ingest_problem(const struct ingest *in, size_t *at);

#endif
