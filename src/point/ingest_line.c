/*
 * ingest_line.c: see ingest_line.h.
 *
 * Which names no line can hold is mostly left to the parser: what it takes must have the extents
 * that were written. Only a backslash at an end would go by it unseen: it would turn the separator
 * behind it into text.
 */
#include "point/ingest_line.h"

#include <float.h>

#include "base/num.h"

static void
add(struct ingest_line *l, struct slice s)
{
    if (l->err == ERR_OK)
        l->err = buf_add(l->out, s);
}

/* Whether this byte of a text needs a backslash before it. In a measurement a quote and an equals
 * sign need one only behind a backslash: then both would be read as an escape. */
static bool
needs_escape(enum point_part part, uint8_t byte, bool behind_backslash)
{
    switch (part) {
    case POINT_MEASUREMENT:
        return byte == ',' || byte == ' ' || (behind_backslash && (byte == '=' || byte == '"'));
    case POINT_TAG:
        return byte == ',' || byte == ' ' || byte == '=';
    case POINT_FIELD_KEY:
        return byte == ',' || byte == ' ' || byte == '=' || byte == '"';
    case POINT_STRING:
        return byte == '"' || byte == '\\';
    }
    return false;
}

static void
add_escaped(struct ingest_line *l, enum point_part part, struct slice text)
{
    size_t from = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (!needs_escape(part, text.p[i], i > 0 && text.p[i - 1] == '\\'))
            continue;
        add(l, slice_make(text.p + from, i - from));
        add(l, SLICE("\\"));
        from = i;
    }
    add(l, slice_from(text, from));
}

static void
add_name(struct ingest_line *l, enum point_part part, struct slice text)
{
    if (text.n > 0 && text.p[text.n - 1] == '\\')
        l->unwritable = true;
    add_escaped(l, part, text);
}

void
ingest_line_begin(struct ingest_line *l, struct buf *out, struct slice measurement)
{
    *l = (struct ingest_line){.out = out, .err = ERR_OK};
    buf_clear(out);
    if (measurement.n == 0)
        add(l, SLICE(",")); /* which is refused for what it is */
    add_name(l, POINT_MEASUREMENT, measurement);
    l->key = buf_len(out);
}

void
ingest_line_tag(struct ingest_line *l, struct slice key, struct slice value)
{
    add(l, SLICE(","));
    add_name(l, POINT_TAG, key);
    add(l, SLICE("="));
    add_name(l, POINT_TAG, value);
    l->key = buf_len(l->out);
}

void
ingest_line_field(struct ingest_line *l, bool first, struct slice name)
{
    add(l, first ? SLICE(" ") : SLICE(","));
    add_name(l, POINT_FIELD_KEY, name);
    add(l, SLICE("="));
}

void
ingest_line_float(struct ingest_line *l, double value)
{
    uint8_t digits[NUM_F64_TEXT];

    if (value >= -DBL_MAX && value <= DBL_MAX) {
        add(l, slice_make(digits, num_put_f64(digits, value)));
        return;
    }
    l->infinite = true;
    ingest_line_text(l, value > 0 ? "Inf" : value < 0 ? "-Inf" : "NaN");
}

void
ingest_line_i64(struct ingest_line *l, int64_t value)
{
    uint8_t digits[NUM_TEXT];

    add(l, slice_make(digits, num_put_i64(digits, value)));
}

void
ingest_line_u64(struct ingest_line *l, uint64_t value)
{
    uint8_t digits[NUM_TEXT];

    add(l, slice_make(digits, num_put_u64(digits, value)));
}

void
ingest_line_text(struct ingest_line *l, const char *text)
{
    add(l, slice_of(text));
}

void
ingest_line_string(struct ingest_line *l, struct slice text)
{
    add(l, SLICE("\""));
    add_escaped(l, POINT_STRING, text);
    add(l, SLICE("\""));
}

void
ingest_line_end(struct ingest_line *l)
{
    l->fields = buf_len(l->out);
}

void
ingest_line_time(struct ingest_line *l, int64_t stamp)
{
    add(l, SLICE(" "));
    ingest_line_i64(l, stamp);
}

void
ingest_line_time_u64(struct ingest_line *l, uint64_t stamp)
{
    add(l, SLICE(" "));
    ingest_line_u64(l, stamp);
}

static enum lineproto_event
refuse(struct slice line, enum lineproto_reason reason, struct lineproto_bad *bad)
{
    *bad = (struct lineproto_bad){.reason = reason, .line = line, .line_number = 1};
    return LINEPROTO_BAD;
}

enum lineproto_event
ingest_line_judge(struct ingest_line *l, enum precision precision, int64_t now_ns,
                  struct lineproto_point *point, struct lineproto_bad *bad)
{
    struct slice line = buf_peek(l->out);
    struct lineproto parser;
    enum lineproto_event event;

    if (l->unwritable)
        return refuse(line, LINEPROTO_UNWRITABLE, bad);
    if (l->infinite)
        return refuse(line, LINEPROTO_INVALID_NUMBER, bad);
    lineproto_init(&parser, line, precision, now_ns);
    event = lineproto_next(&parser, point, bad);
    if (event == LINEPROTO_BAD)
        return event;
    if (event == LINEPROTO_END || point->key.p != line.p || point->key.n != l->key ||
        point->fields.p != line.p + l->key + 1 ||
        point->fields.p + point->fields.n != line.p + l->fields)
        return refuse(line, LINEPROTO_UNWRITABLE, bad);
    return LINEPROTO_POINT;
}
