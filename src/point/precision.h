/*
 * precision.h: the unit of a timestamp on the wire. Inside, every timestamp is nanoseconds.
 */
#ifndef SINKD_POINT_PRECISION_H
#define SINKD_POINT_PRECISION_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

enum precision { PRECISION_NS, PRECISION_US, PRECISION_MS, PRECISION_S, PRECISION_M, PRECISION_H };

/*
 * precision_parse(text, out):
 * "" n ns u us \xc2\xb5 (micro sign, with or without an s) ms s m h, case-sensitive. ERR_BAD for
 * anything else; ${out} is then untouched.
 */
enum err precision_parse(struct slice text, enum precision *out) MUST_USE;

/* precision_name(p): "ns", "us", "ms", "s", "m" or "h"; a static string. */
const char *precision_name(enum precision p);

/* precision_unit_ns(p): nanoseconds in one unit. */
int64_t precision_unit_ns(enum precision p);

/* precision_from_ns(ns, p): ${ns} in units of ${p}, rounded down (also before 1970). */
int64_t precision_from_ns(int64_t ns, enum precision p);

#endif
