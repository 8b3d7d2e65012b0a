/*
 * point.h: look into one stored line: measurement, tags, fields with their types.
 *
 * A stored line is what lineproto accepted: key, one space, fields; its timestamp is kept beside
 * it. Reading allocates nothing: what comes out are raw slices of the line, and escapes are taken
 * off into the caller's memory. Reads stay inside the line whatever it holds.
 * Not for: checking a line (lineproto.h).
 */
#ifndef SINKD_POINT_POINT_H
#define SINKD_POINT_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/precision.h"

/* What kind of text a raw slice is: each has its own set of escapes. */
enum point_part {
    POINT_MEASUREMENT, /* \, \space \= \" */
    POINT_TAG,         /* \, \space \=       (keys and values) */
    POINT_FIELD_KEY,   /* \, \space \= \" */
    POINT_STRING       /* \" \\              (between the quotes of a string value) */
};

enum point_type { POINT_FLOAT, POINT_INTEGER, POINT_UNSIGNED, POINT_TEXT, POINT_BOOLEAN };

struct point {
    struct slice measurement; /* raw */
    struct slice tags;        /* raw, without the first comma: "host=a,region=b", or empty */
    struct slice fields;      /* raw */
};

struct point_tag {
    struct slice key, value; /* raw: unescape as POINT_TAG */
};

struct point_field {
    struct slice key;  /* raw: unescape as POINT_FIELD_KEY */
    struct slice text; /* raw value; of a string without its quotes: unescape as POINT_STRING */
    enum point_type type;
    union {
        double number;   /* POINT_FLOAT */
        int64_t integer; /* POINT_INTEGER */
        uint64_t whole;  /* POINT_UNSIGNED */
        bool truth;      /* POINT_BOOLEAN */
    } value;
};

/* point_open(p, line): cut ${line} in its parts. ERR_BAD: it is not a stored line. */
enum err point_open(struct point *p, struct slice line) MUST_USE;

/* point_next_tag(rest, tag): step through a copy of point.tags; false at the end. Stored order. */
bool point_next_tag(struct slice *rest, struct point_tag *tag);

/*
 * point_next_field(rest, field):
 * Step through a copy of point.fields; false at the end (and at a value that is none, which
 * lineproto never accepts). Stored order; a name may come twice, then the last one counts:
 * point_field_again(rest, field) says whether ${field} comes once more in what is left.
 */
bool point_next_field(struct slice *rest, struct point_field *field);
bool point_field_again(struct slice rest, const struct point_field *field);

/* point_cut_field(rest, key, value): the same without a look at the value, which keeps its quotes.
 * False at a key without a value; ${key} is filled even then. */
bool point_cut_field(struct slice *rest, struct slice *key, struct slice *value);

/* point_boolean(text, truth): whether ${text} is one of t T true True TRUE f F false False
 * FALSE. */
bool point_boolean(struct slice text, bool *truth);

/* point_is_plain(raw): no backslash in it: the raw slice is the text. */
bool point_is_plain(struct slice raw);

/* point_next_byte(part, raw, i): the next byte of the text of ${raw}; steps ${i}, which is less
 * than raw.n, over it and its escape. */
uint8_t point_next_byte(enum point_part part, struct slice raw, size_t *i);

/* point_unescape(part, raw, out): take the escapes off, once. ${out} has room for raw.n bytes (it
 * may be the raw bytes themselves). Returns the length. */
size_t point_unescape(enum point_part part, struct slice raw, uint8_t *out);

/* point_put(out, part, raw): append the unescaped text. ERR_NOMEM. */
enum err point_put(struct buf *out, enum point_part part, struct slice raw) MUST_USE;

/* point_equal(part, raw, text): whether ${raw} unescaped is ${text}. */
bool point_equal(enum point_part part, struct slice raw, struct slice text);

/*
 * point_find_tag(p, name, raw):
 * The raw value of the tag whose unescaped key is ${name}; false when there is none.
 */
bool point_find_tag(const struct point *p, struct slice name, struct slice *raw);

/*
 * point_copy(part, raw, out, size, text):
 * The unescaped text of ${raw} in ${text}: ${raw} itself when it is plain, else in ${out}, which
 * has ${size} bytes. ERR_RANGE: it is longer; ${text} then holds what fits.
 */
enum err point_copy(enum point_part part, struct slice raw, uint8_t *out, size_t size,
                    struct slice *text) MUST_USE;

/* point_put_line(out, line, time_ns, precision): append the line, a space and its timestamp in that
 * precision (rounded down); no LF. ERR_NOMEM. */
enum err point_put_line(struct buf *out, struct slice line, int64_t time_ns,
                        enum precision precision) MUST_USE;

#endif
