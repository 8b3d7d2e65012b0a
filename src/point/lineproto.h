/*
 * lineproto.h: parse and check a body of InfluxDB 1.x line protocol.
 *
 * One pass over a body that is whole in memory, one call a line, no allocation. What comes out are
 * slices of the body: key and field bytes are kept as they came (order, escapes), the timestamp is
 * turned into nanoseconds. Accepts and refuses what InfluxDB 1.x does, with the same reasons; where
 * it differs on purpose, docs/deviations.md says so.
 * Not for: looking into a stored line again (point.h).
 */
#ifndef SINKD_POINT_LINEPROTO_H
#define SINKD_POINT_LINEPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "point/precision.h"

/* A series key, and a series key + 4 + a field key, are at most this long, as in InfluxDB. */
#define LINEPROTO_KEY_MAX 65535u

/* Nanosecond timestamps lie in [-LINEPROTO_TIME_MAX, LINEPROTO_TIME_MAX]. */
#define LINEPROTO_TIME_MAX INT64_C(9223372036854775806)

/* More fields than this in one line are refused when they are not all of one type (the check for
 * one name with two types is bounded). */
#define LINEPROTO_FIELDS_MAX 16384u

/* So much of a line or of a detail is echoed in a message. */
#define LINEPROTO_ECHO_MAX 400u

enum lineproto_event {
    LINEPROTO_END,   /* no more lines */
    LINEPROTO_POINT, /* a good line */
    LINEPROTO_BAD    /* a line that is refused; go on with the next */
};

enum lineproto_reason {
    LINEPROTO_MISSING_MEASUREMENT,
    LINEPROTO_MISSING_FIELDS,
    LINEPROTO_MISSING_TAG_KEY,
    LINEPROTO_MISSING_TAG_VALUE,
    LINEPROTO_INVALID_TAG_FORMAT,
    LINEPROTO_DUPLICATE_TAGS,
    LINEPROTO_MISSING_FIELD_KEY,
    LINEPROTO_MISSING_FIELD_VALUE,
    LINEPROTO_INVALID_FIELD_FORMAT,
    LINEPROTO_INVALID_NUMBER,
    LINEPROTO_INVALID_FLOAT,
    LINEPROTO_INVALID_BOOLEAN,
    LINEPROTO_INVALID_INTEGER,  /* out of range; detail: the digits */
    LINEPROTO_INVALID_UNSIGNED, /* out of range; detail: the digits */
    LINEPROTO_INVALID_VALUE,    /* detail: the field key */
    LINEPROTO_UNBALANCED_QUOTES,
    LINEPROTO_BAD_TIMESTAMP,
    LINEPROTO_TIMESTAMP_SYNTAX,    /* detail: the text */
    LINEPROTO_TIMESTAMP_RANGE,     /* over int64; detail: the digits */
    LINEPROTO_TIME_OUTSIDE_RANGE,  /* fits, but not once it is nanoseconds */
    LINEPROTO_INVALID_POINT,       /* bytes after the timestamp */
    LINEPROTO_KEY_TOO_LONG,        /* length: how long */
    LINEPROTO_TOO_MANY_FIELDS,     /* length: how many */
    LINEPROTO_FIELD_TYPE_CONFLICT, /* one field twice, two types; detail: the raw field key */
    LINEPROTO_TIME_TAG,            /* a tag named time; detail: the raw measurement */
    LINEPROTO_TIME_FIELD,          /* no field but ones named time; detail: the raw measurement */
    LINEPROTO_UNWRITABLE,          /* of a point that came in another form: no line can hold it */
    LINEPROTO_REASONS              /* how many there are */
};

/* A good line. All slices lie in the body. */
struct lineproto_point {
    struct slice key;         /* measurement and tags, raw: "cpu,host=a\ b" */
    struct slice measurement; /* the start of key, raw */
    struct slice fields;      /* raw: "usage=1,n=2i" */
    int64_t time_ns;
    bool escaped; /* the measurement holds a backslash: point_unescape() it */
    bool timed;   /* false: the line had no timestamp, time_ns is the time of receipt */
};

/* A refused line. All slices lie in the body. */
struct lineproto_bad {
    enum lineproto_reason reason;
    struct slice line;    /* without leading blanks and the line end */
    struct slice detail;  /* what the reason is about, or empty */
    size_t length;        /* a figure for the reason, or 0 */
    uint64_t line_number; /* of its first byte; counts the LFs of the body from 1 */
};

/* The parser. Plain memory: nothing to free; a copy is a second parser at the same place. */
struct lineproto {
    const uint8_t *p, *end;  /* private */
    const uint8_t *fast_end; /* private: behind the last LF */
    const uint8_t *counted;  /* private: up to here the LFs are counted */
    uint64_t line_number;    /* private: of ${counted} */
    enum precision precision;
    int64_t now_ns;
    int64_t stamp_ns;           /* private: for lines without a timestamp */
    int64_t unit_ns, stamp_max; /* private: of a timestamp as it is written */
};

/*
 * lineproto_init(lp, body, precision, now_ns):
 * Start over ${body}, which stays the caller's and must outlive what comes out. ${now_ns} is the
 * time of receipt, one for the whole body; lines without a timestamp get it, rounded down to the
 * precision.
 */
void lineproto_init(struct lineproto *lp, struct slice body, enum precision precision,
                    int64_t now_ns);

/*
 * lineproto_next(lp, point, bad):
 * The next line that is neither empty nor a comment. Fills ${point} on LINEPROTO_POINT, ${bad} on
 * LINEPROTO_BAD. The cost is linear in the body (n log n for hostile tags and fields).
 */
enum lineproto_event lineproto_next(struct lineproto *lp, struct lineproto_point *point,
                                    struct lineproto_bad *bad);

/* lineproto_reason_label(reason): a short word for a metric's label: "missing_fields"; static. */
const char *lineproto_reason_label(enum lineproto_reason reason);

/* lineproto_put_reason(out, bad): InfluxDB's words for it: "invalid number". ERR_NOMEM. */
enum err lineproto_put_reason(struct buf *out, const struct lineproto_bad *bad) MUST_USE;

/*
 * lineproto_put_error(out, first, good_count, bad_count):
 * The text of the answer (status 400) to a body with ${bad_count} refused lines, of which ${first}
 * was the first, and ${good_count} stored ones:
 *   one line in all:  unable to parse 'LINE': REASON
 *   none stored:      unable to parse 'LINE': REASON (line 3) dropped=2
 *   else:             partial write: unable to parse 'LINE': REASON (line 3) dropped=2
 * For a reserved name: "partial write: invalid tag key: input tag "time" on measurement "m" is
 * invalid (line 3) dropped=2". Echoed text is cut at LINEPROTO_ECHO_MAX bytes, then "...".
 * Not escaped for JSON. ERR_NOMEM.
 */
enum err lineproto_put_error(struct buf *out, const struct lineproto_bad *first,
                             uint64_t good_count, uint64_t bad_count) MUST_USE;

#endif
