/*
 * num.h: numbers and durations as text, both ways, without a locale.
 * The only place that calls strtod or the printf forms of a number that matters.
 */
#ifndef SINKD_BASE_NUM_H
#define SINKD_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

/*
 * num_u64(s, out), num_i64(s, out):
 * The whole slice as a decimal number: digits, for i64 with an optional '-' before them.
 * Errors: ERR_BAD (empty, or another byte), ERR_RANGE (does not fit); ${out} is then untouched.
 */
enum err num_u64(struct slice s, uint64_t *out) MUST_USE;
enum err num_i64(struct slice s, int64_t *out) MUST_USE;

/* num_u64_max(s, max, out): as num_u64, ERR_RANGE also above ${max}. */
enum err num_u64_max(struct slice s, uint64_t max, uint64_t *out) MUST_USE;

/* num_hex(s, out): the whole slice as hexadecimal digits, as num_u64. */
enum err num_hex(struct slice s, uint64_t *out) MUST_USE;

/*
 * num_f64(s, out):
 * The whole slice as a decimal floating point number, correctly rounded. The caller has checked the
 * grammar it wants; here any form that strtod takes but hex, inf and nan is accepted.
 * Errors: ERR_BAD; ERR_RANGE when it overflows (underflow to 0 is not an error).
 */
enum err num_f64(struct slice s, double *out) MUST_USE;

/* The longest text of a 64-bit integer, with a sign and a NUL. */
#define NUM_TEXT 21

/* num_put_u64(p, v), num_put_i64(p, v): write digits at ${p} (NUM_TEXT bytes of room, no NUL);
 * returns how many. */
size_t num_put_u64(uint8_t *p, uint64_t v);
size_t num_put_i64(uint8_t *p, int64_t v);

/* The longest text of a double: "-2.2250738585072014e-308". */
#define NUM_F64_TEXT 25

/*
 * num_put_f64(p, v): write the shortest decimal text that reads back to the same bits, of those the
 * one closest to ${v}, at ${p} (NUM_F64_TEXT bytes of room, no NUL); returns how long it is. Laid
 * out as JSON and line protocol take it: "1", "-0.0", "0.000001", "1e-7", "123456.7", "1e21". ${v}
 * is finite.
 */
size_t num_put_f64(uint8_t *p, double v);

/*
 * num_duration_ns(s, out):
 * An InfluxQL duration: one or more of digits and a unit, added up: "500ms", "1m30s".
 * Units: ns u (also the micro sign) ms s m h d w, case-sensitive.
 * Errors: ERR_BAD (a bare number, an unknown unit), ERR_RANGE (over int64).
 */
enum err num_duration_ns(struct slice s, int64_t *out) MUST_USE;

/* The longest text of a duration, with a NUL. */
#define NUM_DURATION_TEXT 48

/* num_put_duration(out, ns): "0s", "500ms", "1m30s", "36h": the shortest form of h m s ms u ns that
 * num_duration_ns reads back; NUL-terminated. Returns ${out}. */
char *num_put_duration(char out[NUM_DURATION_TEXT], int64_t ns);

#endif
