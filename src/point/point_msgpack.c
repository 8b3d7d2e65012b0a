/*
 * point_msgpack.c: see point_msgpack.h.
 */
#include "point/point_msgpack.h"

#include "msgpack/msgpack_write.h"
#include "point/point.h"
#include "point/point_unique.h"

/* A text without its escapes, which decide how long it is. */
static void
put_text(struct wr *w, enum point_part part, struct slice raw)
{
    size_t length = 0;

    if (point_is_plain(raw)) {
        msgpack_write_str(w, raw);
        return;
    }
    for (size_t i = 0; i < raw.n; length++)
        (void)point_next_byte(part, raw, &i);
    msgpack_write_str_head(w, length);
    if (w->err == ERR_OK)
        w->err = point_put(w->out, part, raw);
}

static void
put_tags(struct wr *w, struct slice tags)
{
    struct slice rest = tags;
    struct point_tag tag;
    size_t count = 0;

    while (point_next_tag(&rest, &tag))
        count++;
    msgpack_write_map(w, count);
    while (point_next_tag(&tags, &tag)) {
        put_text(w, POINT_TAG, tag.key);
        put_text(w, POINT_TAG, tag.value);
    }
}

static void
put_value(struct wr *w, const struct point_field *field)
{
    /* Each begins with a map of one, 0x81, and a str of its name's length, 0xa0 + n. */
    switch (field->type) {
    case POINT_FLOAT:
        wr_bytes(w, SLICE("\x81\xa5"
                          "Float"));
        msgpack_write_f64(w, field->value.number);
        break;
    case POINT_INTEGER:
        wr_bytes(w, SLICE("\x81\xa7"
                          "Integer"));
        msgpack_write_i64(w, field->value.integer);
        break;
    case POINT_UNSIGNED:
        wr_bytes(w, SLICE("\x81\xa8"
                          "UInteger"));
        msgpack_write_u64(w, field->value.whole);
        break;
    case POINT_TEXT:
        wr_bytes(w, SLICE("\x81\xa6"
                          "String"));
        put_text(w, POINT_STRING, field->text);
        break;
    case POINT_BOOLEAN:
        wr_bytes(w, SLICE("\x81\xa7"
                          "Boolean"));
        msgpack_write_bool(w, field->value.truth);
        break;
    }
}

/* How many fields are written: those that count, without floats if ${rest_only}. */
static size_t
count_fields(const struct point_unique *unique, const struct buf *out, struct slice fields,
             bool rest_only)
{
    struct point_unique again = *unique;
    struct slice rest = fields;
    struct point_field field;
    size_t count = 0;

    if (!rest_only)
        return unique->count;
    while (point_next_field(&rest, &field))
        count += !point_unique_skips(&again, out, (size_t)(field.key.p - fields.p)) &&
                 field.type != POINT_FLOAT;
    return count;
}

static void
put_fields(struct wr *w, struct slice fields, bool rest_only)
{
    struct point_unique unique;
    struct slice rest = fields;
    struct point_field field;

    if (w->err == ERR_OK)
        w->err = point_unique_find(&unique, POINT_UNIQUE_FIELDS, fields, w->out);
    if (w->err != ERR_OK)
        return;
    msgpack_write_map(w, count_fields(&unique, w->out, fields, rest_only));
    while (point_next_field(&rest, &field)) {
        if (point_unique_skips(&unique, w->out, (size_t)(field.key.p - fields.p)) ||
            (rest_only && field.type == POINT_FLOAT))
            continue;
        put_text(w, POINT_FIELD_KEY, field.key);
        put_value(w, &field);
    }
    point_unique_drop(&unique, w->out);
    if (rest.n > 0)
        wr_fail(w, ERR_BAD);
}

static enum err
put_point(struct buf *out, struct slice line, int64_t time, bool rest_only)
{
    struct point p;
    struct wr w;
    enum err err = point_open(&p, line);

    if (err != ERR_OK)
        return err;
    wr_init(&w, out);
    msgpack_write_map(&w, 4);
    msgpack_write_str(&w, SLICE("measurement"));
    put_text(&w, POINT_MEASUREMENT, p.measurement);
    msgpack_write_str(&w, SLICE("tags"));
    put_tags(&w, p.tags);
    msgpack_write_str(&w, SLICE("fields"));
    put_fields(&w, p.fields, rest_only);
    msgpack_write_str(&w, SLICE("timestamp"));
    msgpack_write_i64(&w, time);
    return wr_done(&w);
}

enum err
point_msgpack_put(struct buf *out, struct slice line, int64_t time_ns, enum precision precision)
{
    return put_point(out, line, precision_from_ns(time_ns, precision), false);
}

enum err
point_msgpack_put_rest(struct buf *out, struct slice line, int64_t time_ns,
                       enum precision precision)
{
    return put_point(out, line, precision_from_ns(time_ns, precision), true);
}

void
point_msgpack_column(struct wr *w, struct slice line, struct slice field, size_t count)
{
    struct point p;

    if (point_open(&p, line) != ERR_OK) {
        wr_fail(w, ERR_BAD);
        return;
    }
    msgpack_write_map(w, 5);
    msgpack_write_str(w, SLICE("measurement"));
    put_text(w, POINT_MEASUREMENT, p.measurement);
    msgpack_write_str(w, SLICE("tags"));
    put_tags(w, p.tags);
    msgpack_write_str(w, SLICE("field"));
    put_text(w, POINT_FIELD_KEY, field);
    msgpack_write_str(w, SLICE("values"));
    msgpack_write_array(w, count);
}

void
point_msgpack_times(struct wr *w, size_t count)
{
    msgpack_write_str(w, SLICE("timestamps"));
    msgpack_write_array(w, count);
}
