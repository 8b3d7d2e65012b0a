/*
 * lineproto_exact.c: InfluxDB's verdict on one line. See lineproto_exact.h.
 *
 * The order of the checks decides which of several reasons is given, so each function goes through
 * the bytes in the server's order. What we refuse beyond the server comes last, in
 * check_fields_again().
 */
#include "point/lineproto_exact.h"

#include "base/num.h"
#include "point/lineproto_dups.h"
#include "point/point.h"

/* Where the scan of a line stands. The first refusal sticks. */
struct scan {
    struct slice line;
    size_t i;
    struct lineproto_bad *bad;
    bool ok;
};

/* How the end of a line is looked for: quotes count behind the first space, where a value
 * stands. */
struct splitter {
    bool fields, quoted;
    size_t equals, commas;
};

/* One byte that no backslash takes away; false at the LF that ends the line. */
static bool
split_byte(struct splitter *s, uint8_t byte)
{
    if (byte == ' ')
        s->fields = true;
    if (s->fields && byte == '"' && s->equals > s->commas)
        s->quoted = !s->quoted;
    else if (s->fields && !s->quoted) {
        s->equals += byte == '=';
        s->commas += byte == ',';
    }
    return byte != '\n' || s->quoted;
}

size_t
lineproto_exact_split(struct slice rest)
{
    struct splitter s = {false, false, 0, 0};
    size_t i = 0;

    while (i < rest.n) {
        if (rest.p[i] == '\\' && i + 2 < rest.n)
            i += 2;
        else if (split_byte(&s, rest.p[i]))
            i++;
        else
            break;
    }
    return i;
}

/* Whether ${line}, with more lines behind it, would end where it does. */
static bool
ends_by_itself(struct slice line)
{
    struct splitter s = {false, false, 0, 0};

    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\\')
            i++;
        else if (!split_byte(&s, line.p[i]))
            return false;
    }
    return !s.quoted;
}

static void
refuse(struct scan *s, enum lineproto_reason reason)
{
    if (s->ok)
        s->bad->reason = reason;
    s->ok = false;
}

static void
refuse_detail(struct scan *s, enum lineproto_reason reason, struct slice detail)
{
    if (s->ok)
        s->bad->detail = detail;
    refuse(s, reason);
}

static void
refuse_length(struct scan *s, enum lineproto_reason reason, size_t length)
{
    if (s->ok)
        s->bad->length = length;
    refuse(s, reason);
}

/* The byte ${ahead} of the scan, or -1 behind the end. */
static int
peek(const struct scan *s, size_t ahead)
{
    return s->i + ahead < s->line.n ? s->line.p[s->i + ahead] : -1;
}

static bool
bare(const struct scan *s)
{
    return s->line.p[s->i - 1] != '\\';
}

static void
skip_blanks(struct scan *s)
{
    while (peek(s, 0) == ' ' || peek(s, 0) == '\t')
        s->i++;
}

/* True: a tag follows; the scan stands at its first byte. */
static bool
scan_measurement(struct scan *s)
{
    if (peek(s, 0) <= 0 || peek(s, 0) == ',') {
        refuse(s, LINEPROTO_MISSING_MEASUREMENT);
        return false;
    }
    for (s->i++; s->i < s->line.n; s->i++) {
        if (!bare(s))
            continue;
        if (s->line.p[s->i] == ',') {
            s->i++;
            return true;
        }
        if (s->line.p[s->i] == ' ')
            return false;
    }
    refuse(s, LINEPROTO_MISSING_FIELDS);
    return false;
}

static void
scan_tag_key(struct scan *s)
{
    int byte = peek(s, 0);

    if (byte < 0 || byte == ' ' || byte == ',' || byte == '=') {
        refuse(s, LINEPROTO_MISSING_TAG_KEY);
        return;
    }
    for (s->i++; s->i < s->line.n; s->i++) {
        byte = s->line.p[s->i];
        if ((byte == ' ' || byte == ',') && bare(s))
            break;
        if (byte == '=' && bare(s)) {
            s->i++;
            return;
        }
    }
    refuse(s, LINEPROTO_MISSING_TAG_VALUE);
}

/* True: another tag follows. */
static bool
scan_tag_value(struct scan *s)
{
    int byte = peek(s, 0);

    if (byte < 0 || byte == ' ' || byte == ',') {
        refuse(s, LINEPROTO_MISSING_TAG_VALUE);
        return false;
    }
    for (s->i++; s->i < s->line.n; s->i++) {
        byte = s->line.p[s->i];
        if (!bare(s))
            continue;
        if (byte == '=') {
            refuse(s, LINEPROTO_INVALID_TAG_FORMAT);
            return false;
        }
        if (byte == ',') {
            s->i++;
            return true;
        }
        if (byte == ' ')
            return false;
    }
    refuse(s, LINEPROTO_MISSING_FIELDS);
    return false;
}

static void
scan_key(struct scan *s, struct lineproto_point *point)
{
    bool more = scan_measurement(s);
    size_t tags = s->i;

    point->measurement = slice_to(s->line, more ? tags - 1 : tags);
    while (s->ok && more) {
        scan_tag_key(s);
        if (s->ok)
            more = scan_tag_value(s);
    }
    if (!s->ok)
        return;
    point->key = slice_to(s->line, s->i);
    if (point->key.n > LINEPROTO_KEY_MAX)
        refuse_length(s, LINEPROTO_KEY_TOO_LONG, point->key.n);
    else if (lineproto_dups_tags(slice_from(point->key, tags)))
        refuse(s, LINEPROTO_DUPLICATE_TAGS);
}

/* What was seen of a number. */
struct number {
    bool integer, is_unsigned, point, exponent;
};

static bool
is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

/* One byte of a number that starts at ${start}; false: it may not stand here. */
static bool
number_byte(const struct scan *s, size_t start, struct number *seen)
{
    uint8_t byte = s->line.p[s->i];
    bool suffixed = seen->integer || seen->is_unsigned;

    if ((byte == 'i' || byte == 'u') && s->i > start && !suffixed) {
        seen->integer = byte == 'i';
        seen->is_unsigned = byte == 'u';
        return true;
    }
    if (byte == '.') {
        bool again = seen->point;
        seen->point = true;
        return !again;
    }
    if ((byte == 'e' || byte == 'E') && s->i > start) {
        seen->exponent = true;
        return true;
    }
    if (byte == '+' || byte == '-')
        return s->line.p[s->i - 1] == 'e' || s->line.p[s->i - 1] == 'E';
    return is_digit(byte);
}

/* The whole text of a number is known: is it one, and does it fit? */
static void
judge_number(struct scan *s, struct slice text, const struct number *seen)
{
    bool suffixed = seen->integer || seen->is_unsigned;
    size_t digits = text.n - seen->integer - seen->point - (text.p[0] == '-');
    struct slice whole = slice_to(text, text.n - 1);
    uint8_t last = text.p[text.n - 1];
    int64_t signed_value;
    uint64_t value;
    double number;

    if ((suffixed && (seen->point || seen->exponent)) || digits == 0)
        refuse(s, LINEPROTO_INVALID_NUMBER);
    else if (suffixed && last != (seen->integer ? 'i' : 'u'))
        refuse(s, LINEPROTO_INVALID_NUMBER);
    else if (seen->is_unsigned && (text.p[0] == '-' || whole.n == 0))
        refuse(s, LINEPROTO_INVALID_NUMBER);
    else if (seen->integer && num_i64(whole, &signed_value) != ERR_OK)
        refuse_detail(s, LINEPROTO_INVALID_INTEGER, whole);
    else if (seen->is_unsigned && num_u64(whole, &value) != ERR_OK)
        refuse_detail(s, LINEPROTO_INVALID_UNSIGNED, whole);
    else if (!suffixed && num_f64(text, &number) != ERR_OK)
        refuse(s, LINEPROTO_INVALID_FLOAT);
}

static void
scan_number(struct scan *s)
{
    struct number seen = {false, false, false, false};
    size_t start = s->i;

    if (peek(s, 0) == '-') {
        s->i++;
        if (peek(s, 0) < 0) {
            refuse(s, LINEPROTO_INVALID_NUMBER);
            return;
        }
    }
    for (; s->i < s->line.n && peek(s, 0) != ',' && peek(s, 0) != ' '; s->i++)
        if (!number_byte(s, start, &seen)) {
            refuse(s, LINEPROTO_INVALID_NUMBER);
            return;
        }
    judge_number(s, slice_make(s->line.p + start, s->i - start), &seen);
}

static void
scan_boolean(struct scan *s)
{
    size_t start = s->i;
    bool truth;

    while (s->i < s->line.n && peek(s, 0) != ',' && peek(s, 0) != ' ')
        s->i++;
    if (!point_boolean(slice_make(s->line.p + start, s->i - start), &truth))
        refuse(s, LINEPROTO_INVALID_BOOLEAN);
}

/* At an '=' outside of quotes: the key before it and the value behind it, which is stepped over
 * unless it is a string. */
static void
scan_equals(struct scan *s)
{
    const uint8_t *p = s->line.p + s->i;
    int next = peek(s, 1);

    if ((p[-1] == ' ' || p[-1] == ',') && p[-2] != '\\') {
        refuse(s, LINEPROTO_MISSING_FIELD_KEY);
        return;
    }
    if (next < 0 || next == ',' || next == ' ') {
        refuse(s, LINEPROTO_MISSING_FIELD_VALUE);
        return;
    }
    s->i++;
    if (is_digit(next) || next == '.' || next == '-' || next == 'N' || next == 'n')
        scan_number(s);
    else if (next != '"')
        scan_boolean(s);
}

static struct slice
scan_fields(struct scan *s)
{
    bool quoted = false;
    size_t equals = 0, commas = 0, start;

    skip_blanks(s);
    start = s->i;
    while (s->ok && s->i < s->line.n) {
        uint8_t byte = s->line.p[s->i];
        if (byte == '\\' && s->i + 1 < s->line.n) {
            s->i += 2;
        } else if (byte == '"' && equals > commas) {
            quoted = !quoted;
            s->i++;
        } else if (byte == '=' && !quoted) {
            equals++;
            scan_equals(s);
        } else if (byte == ' ' && !quoted) {
            break;
        } else {
            commas += byte == ',' && !quoted;
            s->i++;
        }
    }
    if (quoted)
        refuse(s, LINEPROTO_UNBALANCED_QUOTES);
    if (equals == 0 || commas != equals - 1)
        refuse(s, LINEPROTO_INVALID_FIELD_FORMAT);
    return slice_make(s->line.p + start, s->i - start);
}

/* The fields as they will be read back, for the length of their keys: the server's second look. */
static void
check_field_keys(struct scan *s, const struct lineproto_point *point)
{
    struct slice rest = point->fields;

    while (s->ok && rest.n > 0) {
        struct slice key, value;
        if (!point_cut_field(&rest, &key, &value))
            refuse_detail(s, LINEPROTO_INVALID_VALUE, key);
        else if (point->key.n + 4 + key.n > LINEPROTO_KEY_MAX)
            refuse_length(s, LINEPROTO_KEY_TOO_LONG, point->key.n + 4 + key.n);
    }
}

static void
scan_time(struct scan *s, int64_t now_ns, enum precision precision, struct lineproto_point *point)
{
    int64_t unit = precision_unit_ns(precision);
    struct slice text;
    enum err err;

    skip_blanks(s);
    text = slice_from(s->line, s->i);
    if (peek(s, 0) == '-')
        s->i++;
    while (is_digit(peek(s, 0)))
        s->i++;
    if (s->i < s->line.n && peek(s, 0) != ' ') {
        refuse(s, LINEPROTO_BAD_TIMESTAMP);
        return;
    }
    text.n = (size_t)(s->line.p + s->i - text.p);
    point->timed = text.n > 0;
    point->time_ns = precision_from_ns(now_ns, precision) * unit;
    if (!point->timed)
        return;
    err = num_i64(text, &point->time_ns);
    if (err != ERR_OK)
        refuse_detail(s, err == ERR_BAD ? LINEPROTO_TIMESTAMP_SYNTAX : LINEPROTO_TIMESTAMP_RANGE,
                      text);
    else if (point->time_ns > LINEPROTO_TIME_MAX / unit ||
             point->time_ns < -LINEPROTO_TIME_MAX / unit)
        refuse(s, LINEPROTO_TIME_OUTSIDE_RANGE);
    else
        point->time_ns *= unit;
    while (peek(s, 0) == ' ')
        s->i++;
    if (s->i < s->line.n)
        refuse(s, LINEPROTO_INVALID_POINT);
}

/* What the server lets pass (or refuses only when it stores) and we refuse: a value that does not
 * read back as what was checked, one name with two types, the reserved name. */
static void
check_fields_again(struct scan *s, const struct lineproto_point *point)
{
    struct slice rest = point->fields;
    struct point_field field;
    bool named = false;
    size_t count = 0;

    if (point->fields.p[0] == '\0')
        refuse(s, LINEPROTO_INVALID_FIELD_FORMAT);
    /* After backslashes a quote can be part of a name here and open a string to who looks for the
     * line end. Alone in a body that is well, but sent on it would swallow the lines behind it. */
    if (!ends_by_itself(slice_to(s->line, (size_t)(rest.p + rest.n - s->line.p))))
        refuse(s, LINEPROTO_UNBALANCED_QUOTES);
    for (; s->ok && rest.n > 0; count++) {
        if (!point_next_field(&rest, &field))
            refuse(s, LINEPROTO_INVALID_FIELD_FORMAT);
        else
            named = named || !slice_eq(field.key, SLICE("time"));
    }
    if (!s->ok)
        return;
    switch (lineproto_dups_fields(point->fields, &field.key)) {
    case LINEPROTO_DUPS_NONE:
        break;
    case LINEPROTO_DUPS_TYPES:
        refuse_detail(s, LINEPROTO_FIELD_TYPE_CONFLICT, field.key);
        break;
    case LINEPROTO_DUPS_MANY:
        refuse_length(s, LINEPROTO_TOO_MANY_FIELDS, count);
        break;
    }
    if (!named)
        refuse_detail(s, LINEPROTO_TIME_FIELD, point->measurement);
}

static void
check_tags_again(struct scan *s, const struct lineproto_point *point)
{
    struct slice rest = slice_from(point->key, point->measurement.n + 1);
    struct point_tag tag;

    while (s->ok && point_next_tag(&rest, &tag))
        if (slice_eq(tag.key, SLICE("time")))
            refuse_detail(s, LINEPROTO_TIME_TAG, point->measurement);
}

bool
lineproto_exact_check(struct slice line, enum precision precision, int64_t now_ns,
                      struct lineproto_point *point, struct lineproto_bad *bad)
{
    struct scan s = {line, 0, bad, true};

    bad->detail = slice_make(NULL, 0);
    bad->length = 0;
    scan_key(&s, point);
    if (s.ok)
        point->fields = scan_fields(&s);
    if (s.ok)
        check_field_keys(&s, point);
    if (s.ok)
        scan_time(&s, now_ns, precision, point);
    if (s.ok)
        check_tags_again(&s, point);
    if (s.ok)
        check_fields_again(&s, point);
    if (s.ok)
        point->escaped = !point_is_plain(point->measurement);
    return s.ok;
}
