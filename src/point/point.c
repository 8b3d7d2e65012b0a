/*
 * point.c: read a stored line. See point.h.
 *
 * The rules by which InfluxDB reads a line back are not those by which it checks one: a separator
 * counts unless the byte before it is a backslash, whatever stands before that. Keys are read so
 * here, because that is how a receiver will read them.
 */
#include "point/point.h"

#include "base/num.h"

/* The first ${stop} in ${s} that has no backslash before it, or s.n. */
static size_t
find_bare(struct slice s, uint8_t stop)
{
    size_t from = 0;

    while (from < s.n) {
        const uint8_t *hit = memchr(s.p + from, stop, s.n - from);
        if (hit == NULL)
            return s.n;
        size_t at = (size_t)(hit - s.p);
        if (at == 0 || hit[-1] != '\\')
            return at;
        from = at + 1;
    }
    return s.n;
}

enum err
point_open(struct point *p, struct slice line)
{
    size_t space = find_bare(line, ' ');
    struct slice key = slice_to(line, space);
    size_t comma = find_bare(key, ',');

    if (space == 0 || comma == 0 || space + 1 >= line.n)
        return ERR_BAD;
    p->measurement = slice_to(key, comma);
    p->tags = slice_from(key, comma + 1);
    p->fields = slice_from(line, space + 1);
    return ERR_OK;
}

bool
point_next_tag(struct slice *rest, struct point_tag *tag)
{
    if (rest->n == 0)
        return false;

    size_t equals = find_bare(*rest, '=');
    struct slice value = slice_from(*rest, equals + 1);
    size_t comma = find_bare(value, ',');

    tag->key = slice_to(*rest, equals);
    tag->value = slice_to(value, comma);
    *rest = slice_from(value, comma + 1);
    return true;
}

/* The length of the value at the start of ${s}: to the comma outside of quotes. */
static size_t
value_length(struct slice s)
{
    bool quoted = false;
    size_t i = 0;

    while (i < s.n) {
        if (s.p[i] == '\\' && i + 1 < s.n && (s.p[i + 1] == '"' || s.p[i + 1] == '\\')) {
            i += 2;
            continue;
        }
        if (s.p[i] == '"')
            quoted = !quoted;
        else if (s.p[i] == ',' && !quoted)
            break;
        i++;
    }
    return i;
}

/* A string is one only when its closing quote is its last byte. */
static bool
read_string(struct slice value, struct point_field *field)
{
    size_t i = 1;

    while (i < value.n && value.p[i] != '"')
        i += value.p[i] == '\\' && i + 1 < value.n &&
                     (value.p[i + 1] == '"' || value.p[i + 1] == '\\')
                 ? 2
                 : 1;
    if (i >= value.n || i + 1 != value.n)
        return false;
    field->type = POINT_TEXT;
    field->text = slice_make(value.p + 1, value.n - 2);
    return true;
}

bool
point_boolean(struct slice text, bool *truth)
{
    static const struct slice spellings[] = {
        SLICE_INIT("t"),     SLICE_INIT("T"),     SLICE_INIT("true"), SLICE_INIT("True"),
        SLICE_INIT("TRUE"),  SLICE_INIT("f"),     SLICE_INIT("F"),    SLICE_INIT("false"),
        SLICE_INIT("False"), SLICE_INIT("FALSE"),
    };

    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
        if (slice_eq(text, spellings[i])) {
            *truth = i < 5;
            return true;
        }
    return false;
}

static bool
read_number(struct slice value, struct point_field *field)
{
    uint8_t last = value.p[value.n - 1];
    struct slice digits = slice_to(value, value.n - 1);

    if (last == 'i') {
        field->type = POINT_INTEGER;
        return num_i64(digits, &field->value.integer) == ERR_OK;
    }
    if (last == 'u') {
        field->type = POINT_UNSIGNED;
        return num_u64(digits, &field->value.whole) == ERR_OK;
    }
    field->type = POINT_FLOAT;
    return num_f64(value, &field->value.number) == ERR_OK;
}

static bool
read_value(struct slice value, struct point_field *field)
{
    uint8_t first = value.p[0];

    field->text = value;
    if (first == '"')
        return read_string(value, field);
    if ((first >= '0' && first <= '9') || first == '-' || first == '.')
        return read_number(value, field);
    field->type = POINT_BOOLEAN;
    return point_boolean(value, &field->value.truth);
}

bool
point_cut_field(struct slice *rest, struct slice *key, struct slice *value)
{
    size_t equals = find_bare(*rest, '=');

    *key = slice_to(*rest, equals);
    *value = slice_from(*rest, equals + 1);
    if (value->n == 0)
        return false;
    value->n = value_length(*value);
    *rest = slice_from(*rest, equals + 1 + value->n + 1);
    return true;
}

bool
point_next_field(struct slice *rest, struct point_field *field)
{
    struct slice after = *rest, value;

    if (!point_cut_field(&after, &field->key, &value) || field->key.n == 0 || value.n == 0 ||
        !read_value(value, field))
        return false;
    *rest = after;
    return true;
}

bool
point_field_again(struct slice rest, const struct point_field *field)
{
    struct slice key, value;

    while (point_cut_field(&rest, &key, &value))
        if (slice_eq(key, field->key))
            return true;
    return false;
}

bool
point_is_plain(struct slice raw)
{
    return raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL;
}

/* Whether a backslash before ${byte} is an escape in this part (part 1.2 of the facts of InfluxDB's
 * parser: a backslash before any other byte is a byte of the text). */
static bool
escapes(enum point_part part, uint8_t byte)
{
    switch (part) {
    case POINT_TAG:
        return byte == ',' || byte == ' ' || byte == '=';
    case POINT_MEASUREMENT:
    case POINT_FIELD_KEY:
        return byte == ',' || byte == ' ' || byte == '=' || byte == '"';
    case POINT_STRING:
        return byte == '"' || byte == '\\';
    }
    return false;
}

uint8_t
point_next_byte(enum point_part part, struct slice raw, size_t *i)
{
    uint8_t byte = raw.p[*i];

    *i += 1;
    if (byte == '\\' && *i < raw.n && escapes(part, raw.p[*i])) {
        byte = raw.p[*i];
        *i += 1;
    }
    return byte;
}

size_t
point_unescape(enum point_part part, struct slice raw, uint8_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.n;)
        out[n++] = point_next_byte(part, raw, &i);
    return n;
}

enum err
point_put(struct buf *out, enum point_part part, struct slice raw)
{
    uint8_t *room = buf_reserve(out, raw.n);

    if (room == NULL)
        return raw.n == 0 ? ERR_OK : ERR_NOMEM;
    buf_commit(out, point_unescape(part, raw, room));
    return ERR_OK;
}

bool
point_equal(enum point_part part, struct slice raw, struct slice text)
{
    size_t n = 0;

    if (raw.n < text.n)
        return false;
    for (size_t i = 0; i < raw.n; n++) {
        uint8_t byte = point_next_byte(part, raw, &i);
        if (n == text.n || byte != text.p[n])
            return false;
    }
    return n == text.n;
}

bool
point_find_tag(const struct point *p, struct slice name, struct slice *raw)
{
    struct slice rest = p->tags;
    struct point_tag tag;

    while (point_next_tag(&rest, &tag))
        if (point_equal(POINT_TAG, tag.key, name)) {
            *raw = tag.value;
            return true;
        }
    return false;
}

enum err
point_copy(enum point_part part, struct slice raw, uint8_t *out, size_t size, struct slice *text)
{
    size_t n = 0, i = 0;

    if (point_is_plain(raw)) {
        *text = raw;
        return ERR_OK;
    }
    while (i < raw.n && n < size)
        out[n++] = point_next_byte(part, raw, &i);
    *text = slice_make(out, n);
    return i < raw.n ? ERR_RANGE : ERR_OK;
}

enum err
point_put_line(struct buf *out, struct slice line, int64_t time_ns, enum precision precision)
{
    uint8_t *room = buf_reserve(out, line.n + 1 + NUM_TEXT);

    if (room == NULL)
        return ERR_NOMEM;
    memcpy(room, line.p, line.n);
    room[line.n] = ' ';
    buf_commit(out,
               line.n + 1 + num_put_i64(room + line.n + 1, precision_from_ns(time_ns, precision)));
    return ERR_OK;
}
