/*
 * point_msgpack.h: a stored line as MessagePack, HyperbyteDB's row form: one map.
 *
 *   {measurement: str, tags: {str: str}, fields: {str: {TYPE: value}}, timestamp: int}
 *
 * TYPE is Float, Integer, UInteger, String or Boolean. Names, tag values and strings are the bytes
 * of the point without its escapes; where those are not UTF-8, the MessagePack strings are not
 * either. Of a field name that comes twice the last value counts.
 */
#ifndef SINKD_POINT_POINT_MSGPACK_H
#define SINKD_POINT_POINT_MSGPACK_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/wire.h"
#include "point/precision.h"

/*
 * point_msgpack_put(out, line, time_ns, precision), point_msgpack_put_rest(...):
 * Append the map. ${time_ns} is written in that precision, rounded down. _rest: without the float
 * fields; the caller knows that there are others.
 * Errors, and then nothing was added: ERR_BAD (not a stored line); ERR_NOMEM, also when over the
 * maximum of ${out}, which with more than 32 fields needs room for 8 bytes a field more.
 */
enum err point_msgpack_put(struct buf *out, struct slice line, int64_t time_ns,
                           enum precision precision) MUST_USE;
enum err point_msgpack_put_rest(struct buf *out, struct slice line, int64_t time_ns,
                                enum precision precision) MUST_USE;

/*
 * The columnar form, version 1: values of one float field of one series, one map:
 *
 *   {measurement: str, tags: {str: str}, field: str, values: [float64], timestamps: [int64]}
 *
 * point_msgpack_column(w, line, field, count): its beginning, for the series of ${line} and the raw
 * name of a field, up to the head of the values: the caller writes ${count} of them as doubles,
 * then calls
 * point_msgpack_times(w, count) and writes as many timestamps as integers. ERR_BAD: not a stored
 * line.
 */
void point_msgpack_column(struct wr *w, struct slice line, struct slice field, size_t count);
void point_msgpack_times(struct wr *w, size_t count);

#define POINT_MSGPACK_ROWS_TYPE "application/msgpack"
#define POINT_MSGPACK_COLUMN_TYPE "application/vnd.hyperbytedb.columnar-msgpack.v1"

#endif
