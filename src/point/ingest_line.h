/*
 * ingest_line.h: a point that came in another form, put together as a line and judged as one.
 *
 * The escapes that such a form does not have go back in. The line then passes the very checks of
 * line protocol (lengths, reserved names, ranges), and must come out of them as it was meant. For
 * the ingest files alone.
 */
#ifndef SINKD_POINT_INGEST_LINE_H
#define SINKD_POINT_INGEST_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/lineproto.h"
#include "point/point.h"

/* A line under construction. The first error sticks: ERR_NOMEM, over the maximum of ${out}. */
struct ingest_line {
    struct buf *out;
    enum err err;
    bool unwritable;    /* no line can hold a name or value of it */
    bool infinite;      /* a float that is no number */
    size_t key, fields; /* where each ends */
};

/* ingest_line_begin(l, out, measurement): start over with an empty buffer. */
void ingest_line_begin(struct ingest_line *l, struct buf *out, struct slice measurement);

void ingest_line_tag(struct ingest_line *l, struct slice key, struct slice value);

/* ingest_line_field(l, first, name): "name=" behind a space, or behind a comma; its value
 * follows. */
void ingest_line_field(struct ingest_line *l, bool first, struct slice name);

void ingest_line_float(struct ingest_line *l, double value);
void ingest_line_i64(struct ingest_line *l, int64_t value);
void ingest_line_u64(struct ingest_line *l, uint64_t value);
void ingest_line_text(struct ingest_line *l, const char *text); /* as it is */
void ingest_line_string(struct ingest_line *l, struct slice text);

/* ingest_line_time(l, stamp): in the unit of the request. Without one the time of receipt
 * counts. */
void ingest_line_time(struct ingest_line *l, int64_t stamp);
void ingest_line_time_u64(struct ingest_line *l, uint64_t stamp);

/* ingest_line_end(l): the last field is written; before the time, if there is one. */
void ingest_line_end(struct ingest_line *l);

/*
 * ingest_line_judge(l, precision, now_ns, point, bad):
 * LINEPROTO_POINT or LINEPROTO_BAD, never the end. The slices that come out lie in the buffer. The
 * line number is 1: the caller knows better. Only when l->err is ERR_OK.
 */
enum lineproto_event ingest_line_judge(struct ingest_line *l, enum precision precision,
                                       int64_t now_ns, struct lineproto_point *point,
                                       struct lineproto_bad *bad) MUST_USE;

#endif
