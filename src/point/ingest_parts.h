/*
 * ingest_parts.h: what the two forms of ingest.h share. For the ingest files alone.
 */
#ifndef SINKD_POINT_INGEST_PARTS_H
#define SINKD_POINT_INGEST_PARTS_H

#include "point/ingest.h"
#include "point/ingest_line.h"

/* ingest_parts_broken(in, why): the body is broken; keeps an earlier reason. */
void ingest_parts_broken(struct ingest *in, const char *why);

/* The members of a map of a point or column, each as the raw bytes of its value; 0 bytes: not
 * there, or nil. ${names} are their keys. */
#define INGEST_MEMBERS 5
void ingest_parts_members(struct ingest *in, const struct slice names[INGEST_MEMBERS],
                          struct slice values[INGEST_MEMBERS]);

/* ingest_parts_str(in, raw, what): a member that must be a str. */
struct slice ingest_parts_str(struct ingest *in, struct slice raw, const char *what);

/* ingest_parts_tags(in, raw, l): a map of str to str. */
void ingest_parts_tags(struct ingest *in, struct slice raw, struct ingest_line *l);

/* ingest_parts_float(in, r, l), ingest_parts_time(in, r, l): a number; a timestamp in either
 * integer form. */
void ingest_parts_float(struct ingest *in, struct rd *r, struct ingest_line *l);
void ingest_parts_time(struct ingest *in, struct rd *r, struct ingest_line *l);

/* ingest_parts_judge(in, l, point, bad): what came of the line. */
enum ingest_event ingest_parts_judge(struct ingest *in, struct ingest_line *l,
                                     struct lineproto_point *point, struct lineproto_bad *bad);

/* The next point of each form. */
enum ingest_event ingest_rows_next(struct ingest *in, struct lineproto_point *point,
                                   struct lineproto_bad *bad);
enum ingest_event ingest_columns_next(struct ingest *in, struct lineproto_point *point,
                                      struct lineproto_bad *bad);

#endif
