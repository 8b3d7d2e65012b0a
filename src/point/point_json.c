/*
 * point_json.c: see point_json.h.
 *
 * Everything goes straight into the caller's buffer; escapes are taken off in small pieces on the
 * stack, so that a long string needs no second copy.
 */
#include "point/point_json.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "point/point.h"
#include "point/point_unique.h"

#define PIECE 512

/* How many bytes at the end of ${s} may be the start of a character that goes on. */
static size_t
unfinished(struct slice s)
{
    for (size_t n = 1; n <= 3 && n <= s.n; n++) {
        uint8_t byte = s.p[s.n - n];

        if (byte < 0x80)
            return 0;
        if (byte >= 0xc0)
            return text_utf8(slice_from(s, s.n - n)) == 0 ? n : 0;
    }
    return 0;
}

/* The text of what has escapes in it. */
static enum err
put_escaped(struct buf *out, enum point_part part, struct slice raw)
{
    uint8_t piece[PIECE];
    size_t held = 0, i = 0, kept;
    enum err err = ERR_OK;

    while (err == ERR_OK && (i < raw.n || held > 0)) {
        while (held < sizeof(piece) && i < raw.n)
            piece[held++] = point_next_byte(part, raw, &i);
        kept = i < raw.n ? unfinished(slice_make(piece, held)) : 0;
        err = text_json_inner(out, slice_make(piece, held - kept));
        memmove(piece, piece + held - kept, kept);
        held = kept;
    }
    return err;
}

static enum err
put_text(struct buf *out, enum point_part part, struct slice raw)
{
    enum err err;

    if (point_is_plain(raw))
        return text_json(out, raw);
    err = buf_add_byte(out, '"');
    if (err == ERR_OK)
        err = put_escaped(out, part, raw);
    return err == ERR_OK ? buf_add_byte(out, '"') : err;
}

/* A name and its colon, with a comma before all but the first. */
static enum err
put_name(struct buf *out, bool first, enum point_part part, struct slice raw)
{
    enum err err = first ? ERR_OK : buf_add_byte(out, ',');

    if (err == ERR_OK)
        err = put_text(out, part, raw);
    return err == ERR_OK ? buf_add_byte(out, ':') : err;
}

/* Raw tag keys that differ have texts that differ, unless invalid bytes are replaced in them. */
static bool
keys_may_meet(struct slice tags)
{
    struct point_tag tag;

    while (point_next_tag(&tags, &tag))
        if (!text_is_utf8(tag.key))
            return true;
    return false;
}

static enum err
put_tags(struct buf *out, struct slice tags)
{
    struct point_unique unique = {.over = 0};
    struct slice rest = tags;
    struct point_tag tag;
    bool first = true;
    enum err err = ERR_OK;

    if (keys_may_meet(tags))
        err = point_unique_find(&unique, POINT_UNIQUE_TAGS_UTF8, tags, out);
    while (err == ERR_OK && point_next_tag(&rest, &tag)) {
        if (point_unique_skips(&unique, out, (size_t)(tag.key.p - tags.p)))
            continue;
        err = put_name(out, first, POINT_TAG, tag.key);
        if (err == ERR_OK)
            err = put_text(out, POINT_TAG, tag.value);
        first = false;
    }
    point_unique_drop(&unique, out);
    return err;
}

static enum err
put_number(struct buf *out, const struct point_field *field)
{
    uint8_t *room = buf_reserve(out, NUM_F64_TEXT);

    if (room == NULL)
        return ERR_NOMEM;
    if (field->type == POINT_INTEGER)
        buf_commit(out, num_put_i64(room, field->value.integer));
    else if (field->type == POINT_UNSIGNED)
        buf_commit(out, num_put_u64(room, field->value.whole));
    else
        buf_commit(out, num_put_f64(room, field->value.number));
    return ERR_OK;
}

static enum err
put_value(struct buf *out, const struct point_field *field)
{
    switch (field->type) {
    case POINT_FLOAT:
    case POINT_INTEGER:
    case POINT_UNSIGNED:
        return put_number(out, field);
    case POINT_TEXT:
        return put_text(out, POINT_STRING, field->text);
    case POINT_BOOLEAN:
        return buf_add(out, field->value.truth ? SLICE("true") : SLICE("false"));
    }
    return ERR_BAD;
}

static enum err
put_fields(struct buf *out, struct slice fields)
{
    struct point_unique unique;
    struct slice rest = fields;
    struct point_field field;
    bool first = true;
    enum err err = point_unique_find(&unique, POINT_UNIQUE_FIELDS_UTF8, fields, out);

    while (err == ERR_OK && point_next_field(&rest, &field)) {
        if (point_unique_skips(&unique, out, (size_t)(field.key.p - fields.p)))
            continue;
        err = put_name(out, first, POINT_FIELD_KEY, field.key);
        if (err == ERR_OK)
            err = put_value(out, &field);
        first = false;
    }
    point_unique_drop(&unique, out);
    return err == ERR_OK && rest.n > 0 ? ERR_BAD : err;
}

static enum err
put_point(struct buf *out, const struct point *p, int64_t time)
{
    uint8_t digits[NUM_TEXT];
    enum err err = buf_add(out, SLICE("{\"measurement\":"));

    if (err == ERR_OK)
        err = put_text(out, POINT_MEASUREMENT, p->measurement);
    if (err == ERR_OK)
        err = buf_add(out, SLICE(",\"tags\":{"));
    if (err == ERR_OK)
        err = put_tags(out, p->tags);
    if (err == ERR_OK)
        err = buf_add(out, SLICE("},\"fields\":{"));
    if (err == ERR_OK)
        err = put_fields(out, p->fields);
    if (err == ERR_OK)
        err = buf_add(out, SLICE("},\"timestamp\":"));
    if (err == ERR_OK)
        err = buf_add(out, slice_make(digits, num_put_i64(digits, time)));
    return err == ERR_OK ? buf_add_byte(out, '}') : err;
}

enum err
point_json_put(struct buf *out, struct slice line, int64_t time_ns, enum precision precision)
{
    size_t before = buf_len(out);
    struct point p;
    enum err err = point_open(&p, line);

    if (err == ERR_OK)
        err = put_point(out, &p, precision_from_ns(time_ns, precision));
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}
