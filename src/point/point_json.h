/*
 * point_json.h: a stored line as a JSON document.
 *
 *   {"measurement":"cpu","tags":{"host":"a"},"fields":{"usage":1.5,"n":3},"timestamp":1700000000}
 *
 * Integers are exact to the limits of int64 and uint64, floats are the shortest text that reads
 * back to the same bits. Whatever bytes the point holds the document is valid: invalid UTF-8
 * becomes U+FFFD, one for each byte, and of a name that comes twice the last value counts.
 * Source: RFC 8259; docs/user-guide/sinks.md.
 */
#ifndef SINKD_POINT_POINT_JSON_H
#define SINKD_POINT_POINT_JSON_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/precision.h"

/*
 * point_json_put(out, line, time_ns, precision):
 * Append the document; no LF. ${time_ns} is written in that precision, rounded down.
 * Errors, and then nothing was added: ERR_BAD (not a stored line); ERR_NOMEM, also when over the
 * maximum of ${out}, which has to leave room for the largest growth of one value (6 bytes a byte)
 * and, with more than 32 fields, for 8 bytes a field.
 */
enum err point_json_put(struct buf *out, struct slice line, int64_t time_ns,
                        enum precision precision) MUST_USE;

#endif
