/*
 * lineproto_exact.h: one line of line protocol, byte for byte as InfluxDB 1.x judges it.
 *
 * For lineproto.c alone: it sends here every line that its fast way does not plainly accept, so
 * that the verdict, the reason and the extent of a bad line are the server's. Linear, not tuned.
 */
#ifndef SINKD_POINT_LINEPROTO_EXACT_H
#define SINKD_POINT_LINEPROTO_EXACT_H

#include <stdbool.h>

#include "point/lineproto.h"

/* lineproto_exact_split(rest): the length of the first line of ${rest} without its LF. */
size_t lineproto_exact_split(struct slice rest);

/*
 * lineproto_exact_check(line, precision, now_ns, point, bad):
 * Judge ${line}, which begins at its first byte that is no blank and has no line end. True:
 * ${point} is filled; false: reason, detail and length of ${bad} are.
 */
bool lineproto_exact_check(struct slice line, enum precision precision, int64_t now_ns,
                           struct lineproto_point *point, struct lineproto_bad *bad);

#endif
