/*
 * lineproto.c: step through a body of line protocol. See lineproto.h.
 *
 * Two ways. The fast way reads a line once, byte class by byte class, and accepts it only when it
 * is plainly good: what it accepts, InfluxDB accepts with the same meaning. At the first doubt it
 * gives up, and lineproto_exact.c judges the line. Its loops need no bounds: they run only on
 * lines that an LF ends, and an LF stops every one of them.
 */
#include "point/lineproto.h"

#include "point/lineproto_dups.h"
#include "point/lineproto_exact.h"

/* Bytes that end or complicate a name: , = space \ and LF. */
static const uint8_t name_stop[256] = {
    [','] = 1, ['='] = 1, [' '] = 1, ['\\'] = 1, ['\n'] = 1,
};

static const uint8_t digit[256] = {
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1,
    ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1,
};

/* Longer series keys are left to the exact way. */
#define FAST_KEY_MAX (LINEPROTO_KEY_MAX / 2)

/* No float with at most so many digits and such an exponent overflows. */
#define FAST_DIGITS_MAX 100
#define FAST_EXPONENT_DIGITS_MAX 2

/* No integer of so many digits overflows. */
#define FAST_WHOLE_DIGITS_MAX 18

/* A set of field names by a weak hash: "surely new" or "perhaps seen". */
#define SEEN_LOG 10

struct fast {
    const uint8_t *p;
    const uint8_t *name; /* of the tag or field last read */
    size_t name_n;
    unsigned types; /* of the fields, a bit each */
    bool repeated;  /* perhaps a name came twice */
    bool named;     /* a field is not called time */
    uint64_t seen[(1 << SEEN_LOG) / 64];
};

void
lineproto_init(struct lineproto *lp, struct slice body, enum precision precision, int64_t now_ns)
{
    if (slice_starts(body, SLICE("\xef\xbb\xbf")))
        body = slice_from(body, 3);
    *lp = (struct lineproto){.p = body.p,
                             .end = body.p + body.n,
                             .counted = body.p,
                             .line_number = 1,
                             .precision = precision,
                             .now_ns = now_ns,
                             .unit_ns = precision_unit_ns(precision)};
    lp->stamp_ns = precision_from_ns(now_ns, precision) * lp->unit_ns;
    lp->stamp_max = LINEPROTO_TIME_MAX / lp->unit_ns;
    lp->fast_end = lp->end;
    while (lp->fast_end > lp->p && lp->fast_end[-1] != '\n')
        lp->fast_end--;
}

/* To the first byte from ${p} on that ends a name. An escape is stepped over when all readers
 * agree on it; at any other backslash the name ends, and so does the fast way. */
static const uint8_t *
skip_name(const uint8_t *p)
{
    for (;;) {
        while (!name_stop[*p])
            p++;
        if (*p != '\\' || p[1] == '\\' || p[1] == '\n' || p[1] == '\r')
            return p;
        p += 2;
    }
}

/* A tag after its comma; the cursor ends behind its value. */
static bool
fast_tag(struct fast *f, const uint8_t *before, size_t before_n, bool *sorted)
{
    const uint8_t *key = f->p, *equals = skip_name(key);
    size_t n = (size_t)(equals - key), common = n < before_n ? n : before_n;
    int order;

    if (n == 0 || *equals != '=' || (n == 4 && memcmp(key, "time", 4) == 0))
        return false;
    f->name = key;
    f->name_n = n;
    f->p = skip_name(equals + 1);
    if (f->p == equals + 1)
        return false;
    if (before == NULL || before[0] < key[0])
        return true;
    order = memcmp(before, key, common);
    if (order == 0 && n == before_n)
        return false;
    if (order > 0 || (order == 0 && n < before_n))
        *sorted = false;
    return true;
}

/* Measurement and tags; the cursor ends behind the space. */
static bool
fast_key(struct fast *f, struct lineproto_point *point)
{
    const uint8_t *start = f->p, *before = NULL;
    size_t before_n = 0, measurement_n, count = 0;
    struct slice names[LINEPROTO_DUPS_FEW]; /* of the first tags */
    bool sorted = true;

    if (*start == '\0' || *start == ',')
        return false;
    f->p = skip_name(start);
    while (*f->p == '=')
        f->p = skip_name(f->p + 1);
    measurement_n = (size_t)(f->p - start);
    while (*f->p == ',') {
        f->p++;
        if (!fast_tag(f, before, before_n, &sorted))
            return false;
        before = f->name;
        before_n = f->name_n;
        if (count < LINEPROTO_DUPS_FEW)
            names[count] = slice_make(before, before_n);
        count++;
    }
    point->key = slice_make(start, (size_t)(f->p - start));
    if (*f->p != ' ' || point->key.n > FAST_KEY_MAX)
        return false;
    point->measurement = slice_make(start, measurement_n);
    point->escaped = memchr(start, '\\', measurement_n) != NULL;
    f->p++;
    if (sorted)
        return true;
    if (count <= LINEPROTO_DUPS_FEW)
        return !lineproto_dups_few(names, count);
    return !lineproto_dups_tags(slice_from(point->key, measurement_n + 1));
}

enum { TYPE_FLOAT = 1, TYPE_INTEGER = 2, TYPE_UNSIGNED = 4, TYPE_STRING = 8, TYPE_BOOLEAN = 16 };

static const uint8_t *
skip_digits(const uint8_t *p)
{
    while (digit[*p])
        p++;
    return p;
}

/* A number that plainly fits its type. */
static bool
fast_number(struct fast *f)
{
    const uint8_t *start = f->p + (*f->p == '-'), *p = skip_digits(start), *exponent;
    size_t digits = (size_t)(p - start);

    if (*p == 'i' || *p == 'u') {
        f->types |= *p == 'i' ? TYPE_INTEGER : TYPE_UNSIGNED;
        if (digits == 0 || digits > FAST_WHOLE_DIGITS_MAX || (*p == 'u' && start != f->p))
            return false;
        f->p = p + 1;
        return true;
    }
    f->types |= TYPE_FLOAT;
    if (*p == '.') {
        const uint8_t *fraction = p + 1;
        p = skip_digits(fraction);
        digits += (size_t)(p - fraction);
    }
    if (digits == 0 || digits > FAST_DIGITS_MAX)
        return false;
    if (*p == 'e' || *p == 'E') {
        if (start[0] == '.')
            return false;
        exponent = p + 1 + (p[1] == '+' || p[1] == '-');
        p = skip_digits(exponent);
        if (p == exponent || p - exponent > FAST_EXPONENT_DIGITS_MAX)
            return false;
    }
    f->p = p;
    return true;
}

static bool
fast_string(struct fast *f)
{
    const uint8_t *p = f->p + 1;

    while (*p != '"') {
        if (*p == '\n' || (*p == '\\' && (p[1] == '\n' || p[1] == '\r')))
            return false;
        p += *p == '\\' ? 2 : 1;
    }
    f->types |= TYPE_STRING;
    f->p = p + 1;
    return true;
}

/* One of the ten spellings; what follows is checked by who asks. */
static bool
fast_boolean(struct fast *f)
{
    static const struct slice longer[] = {SLICE_INIT("true"), SLICE_INIT("false"),
                                          SLICE_INIT("True"), SLICE_INIT("False"),
                                          SLICE_INIT("TRUE"), SLICE_INIT("FALSE")};
    const uint8_t *p = f->p;

    f->types |= TYPE_BOOLEAN;
    f->p++;
    if (name_stop[p[1]] || p[1] == '\r')
        return true;
    for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
        size_t n = 0;
        while (n < longer[i].n && p[n] == longer[i].p[n]) /* stops at an LF at the latest */
            n++;
        if (n == longer[i].n) {
            f->p = p + n;
            return true;
        }
    }
    return false;
}

static bool
fast_value(struct fast *f)
{
    uint8_t first = *f->p;

    if (digit[first] || first == '-' || first == '.')
        return fast_number(f);
    if (first == '"')
        return fast_string(f);
    return (first == 't' || first == 'T' || first == 'f' || first == 'F') && fast_boolean(f);
}

static void
note_name(struct fast *f, const uint8_t *key, size_t n)
{
    uint32_t sample = key[0] | (uint32_t)key[n / 2] << 8 | (uint32_t)key[n - 1] << 16 |
                      (uint32_t)key[n * 3 / 4] << 24;
    uint32_t hash = (sample ^ (uint32_t)n * 0x85ebca6bU) * 0x9e3779b1U >> (32 - SEEN_LOG);
    uint64_t bit = UINT64_C(1) << (hash % 64);
    uint64_t *word = &f->seen[hash / 64];

    if ((*word & bit) != 0)
        f->repeated = true;
    *word |= bit;
    if (n != 4 || memcmp(key, "time", 4) != 0)
        f->named = true;
}

/* All fields; the cursor ends at the space, CR or LF behind them. */
static bool
fast_fields(struct fast *f, struct lineproto_point *point)
{
    const uint8_t *start = f->p;
    struct slice conflict;

    if (*start == '\t' || *start == '\0')
        return false;
    for (;;) {
        const uint8_t *key = f->p, *equals = skip_name(key);
        size_t n = (size_t)(equals - key);
        if (n == 0 || *equals != '=' || n > LINEPROTO_KEY_MAX - FAST_KEY_MAX - 4)
            return false;
        note_name(f, key, n);
        f->p = equals + 1;
        if (!fast_value(f))
            return false;
        if (*f->p != ',')
            break;
        f->p++;
    }
    point->fields = slice_make(start, (size_t)(f->p - start));
    if (!f->named)
        return false;
    return !f->repeated || (f->types & (f->types - 1)) == 0 ||
           lineproto_dups_fields(point->fields, &conflict) == LINEPROTO_DUPS_NONE;
}

/* The end of the line: a timestamp or none, then LF or CR LF. */
static bool
fast_time(const struct lineproto *lp, struct fast *f, struct lineproto_point *point)
{
    bool negative = false;
    const uint8_t *start;
    uint64_t value = 0, unit = (uint64_t)lp->unit_ns;

    point->timed = *f->p == ' ';
    point->time_ns = lp->stamp_ns;
    if (point->timed) {
        negative = f->p[1] == '-';
        start = f->p += 1 + negative;
        for (; digit[*f->p]; f->p++)
            value = value * 10 + (uint64_t)(*f->p - '0');
        if (f->p == start || f->p - start > 19 || value > (uint64_t)lp->stamp_max)
            return false;
        point->time_ns = negative ? -(int64_t)(value * unit) : (int64_t)(value * unit);
    }
    if (*f->p == '\r')
        f->p++;
    return *f->p == '\n';
}

static bool
fast_line(struct lineproto *lp, const uint8_t *start, struct lineproto_point *point)
{
    struct fast f = {.p = start};

    if (!fast_key(&f, point) || !fast_fields(&f, point) || !fast_time(lp, &f, point))
        return false;
    lp->p = f.p + 1;
    return true;
}

/* The exact way for the line at ${lp->p}, whose first byte that is no blank is at ${start}. False:
 * it turned out to be empty. */
static bool
exact_line(struct lineproto *lp, const uint8_t *start, struct lineproto_point *point,
           struct lineproto_bad *bad, enum lineproto_event *event)
{
    /* Not from the blanks before it: the server counts them as the end of the key, and then a quote
     * in a name may run over the end of the line. Sent on without them it would be another line. */
    size_t n = lineproto_exact_split(slice_make(start, (size_t)(lp->end - start)));
    const uint8_t *end = start + n;

    lp->p = end < lp->end ? end + 1 : end;
    if (end < lp->end && end > start && end[-1] == '\r')
        end--;
    if (end > start && end[-1] == '\n')
        end--;
    if (end <= start)
        return false;
    bad->line = slice_make(start, (size_t)(end - start));
    if (lineproto_exact_check(bad->line, lp->precision, lp->now_ns, point, bad)) {
        *event = LINEPROTO_POINT;
        return true;
    }
    for (; lp->counted < start; lp->counted++)
        lp->line_number += *lp->counted == '\n';
    bad->line_number = lp->line_number;
    *event = LINEPROTO_BAD;
    return true;
}

enum lineproto_event
lineproto_next(struct lineproto *lp, struct lineproto_point *point, struct lineproto_bad *bad)
{
    enum lineproto_event event = LINEPROTO_END;

    while (lp->p < lp->end) {
        const uint8_t *start = lp->p;
        while (start < lp->end && (*start == ' ' || *start == '\t'))
            start++;
        if (start < lp->end && *start == '#') {
            start = memchr(start, '\n', (size_t)(lp->end - start));
            lp->p = start == NULL ? lp->end : start + 1;
        } else if (start == lp->end || *start == '\n') {
            lp->p = start == lp->end ? start : start + 1;
        } else if (*start == '\r' && (start + 1 == lp->end || start[1] == '\n')) {
            lp->p = start + 1;
        } else if (start < lp->fast_end && fast_line(lp, start, point)) {
            return LINEPROTO_POINT;
        } else if (exact_line(lp, start, point, bad, &event)) {
            return event;
        }
    }
    return LINEPROTO_END;
}

/* What a reason's words end with. */
enum ending {
    ENDING_NONE,
    ENDING_INTEGER,
    ENDING_UNSIGNED,
    ENDING_TEXT,
    ENDING_SYNTAX,
    ENDING_RANGE,
    ENDING_KEY_MAX,
    ENDING_FIELDS_MAX,
    ENDING_TYPES,
    ENDING_NAME
};

/* What is said of each reason: its label and InfluxDB's words. */
struct wording {
    const char *label, *text;
    enum ending ending;
};

static const struct wording wordings[LINEPROTO_REASONS] = {
    [LINEPROTO_MISSING_MEASUREMENT] = {"missing_measurement", "missing measurement", ENDING_NONE},
    [LINEPROTO_MISSING_FIELDS] = {"missing_fields", "missing fields", ENDING_NONE},
    [LINEPROTO_MISSING_TAG_KEY] = {"missing_tag_key", "missing tag key", ENDING_NONE},
    [LINEPROTO_MISSING_TAG_VALUE] = {"missing_tag_value", "missing tag value", ENDING_NONE},
    [LINEPROTO_INVALID_TAG_FORMAT] = {"invalid_tag_format", "invalid tag format", ENDING_NONE},
    [LINEPROTO_DUPLICATE_TAGS] = {"duplicate_tags", "duplicate tags", ENDING_NONE},
    [LINEPROTO_MISSING_FIELD_KEY] = {"missing_field_key", "missing field key", ENDING_NONE},
    [LINEPROTO_MISSING_FIELD_VALUE] = {"missing_field_value", "missing field value", ENDING_NONE},
    [LINEPROTO_INVALID_FIELD_FORMAT] = {"invalid_field_format", "invalid field format",
                                        ENDING_NONE},
    [LINEPROTO_INVALID_NUMBER] = {"invalid_number", "invalid number", ENDING_NONE},
    [LINEPROTO_INVALID_FLOAT] = {"invalid_float", "invalid float", ENDING_NONE},
    [LINEPROTO_INVALID_BOOLEAN] = {"invalid_boolean", "invalid boolean", ENDING_NONE},
    [LINEPROTO_INVALID_INTEGER] = {"invalid_integer", "unable to parse integer ", ENDING_INTEGER},
    [LINEPROTO_INVALID_UNSIGNED] = {"invalid_unsigned", "unable to parse unsigned ",
                                    ENDING_UNSIGNED},
    [LINEPROTO_INVALID_VALUE] = {"invalid_value", "invalid value: field-key=", ENDING_TEXT},
    [LINEPROTO_UNBALANCED_QUOTES] = {"unbalanced_quotes", "unbalanced quotes", ENDING_NONE},
    [LINEPROTO_BAD_TIMESTAMP] = {"bad_timestamp", "bad timestamp", ENDING_NONE},
    [LINEPROTO_TIMESTAMP_SYNTAX] = {"bad_timestamp", "strconv.ParseInt: parsing ", ENDING_SYNTAX},
    [LINEPROTO_TIMESTAMP_RANGE] = {"timestamp_range", "strconv.ParseInt: parsing ", ENDING_RANGE},
    [LINEPROTO_TIME_OUTSIDE_RANGE] = {"timestamp_range",
                                      "time outside range -9223372036854775806 - "
                                      "9223372036854775806",
                                      ENDING_NONE},
    [LINEPROTO_INVALID_POINT] = {"invalid_point", "point is invalid", ENDING_NONE},
    [LINEPROTO_KEY_TOO_LONG] = {"key_too_long", "max key length exceeded: ", ENDING_KEY_MAX},
    [LINEPROTO_TOO_MANY_FIELDS] = {"too_many_fields", "too many fields: ", ENDING_FIELDS_MAX},
    [LINEPROTO_FIELD_TYPE_CONFLICT] = {"field_type_conflict",
                                       "field type conflict: ", ENDING_TYPES},
    [LINEPROTO_TIME_TAG] = {"time_tag", "invalid tag key: input tag \"time\" on measurement ",
                            ENDING_NAME},
    [LINEPROTO_TIME_FIELD] = {"time_field",
                              "invalid field name: input field \"time\" on measurement ",
                              ENDING_NAME},
    [LINEPROTO_UNWRITABLE] = {"unwritable", "line protocol cannot hold a name or tag value of it",
                              ENDING_NONE},
};

const char *
lineproto_reason_label(enum lineproto_reason reason)
{
    return wordings[reason].label;
}

/* Puts ${text} between ${before} and ${after}, cut where it gets too long (not inside a
 * character). */
static enum err
put_echo(struct buf *out, const char *before, struct slice text, const char *after)
{
    const char *dots = "";
    enum err err = buf_add_text(out, before);

    if (text.n > LINEPROTO_ECHO_MAX) {
        text.n = LINEPROTO_ECHO_MAX;
        while (text.n > LINEPROTO_ECHO_MAX - 3 && (text.p[text.n] & 0xc0) == 0x80)
            text.n--;
        dots = "...";
    }
    if (err == ERR_OK)
        err = buf_add(out, text);
    if (err == ERR_OK)
        err = buf_add_text(out, dots);
    return err == ERR_OK ? buf_add_text(out, after) : err;
}

static enum err
put_over(struct buf *out, size_t length, size_t max)
{
    return buf_printf(out, "%llu > %llu", (unsigned long long)length, (unsigned long long)max);
}

static enum err
put_ending(struct buf *out, enum ending ending, const struct lineproto_bad *bad)
{
    enum err err;

    switch (ending) {
    case ENDING_NONE:
        break;
    case ENDING_INTEGER:
        err = put_echo(out, "", bad->detail, ": strconv.ParseInt: parsing ");
        return err == ERR_OK ? put_ending(out, ENDING_RANGE, bad) : err;
    case ENDING_UNSIGNED:
        err = put_echo(out, "", bad->detail, ": strconv.ParseUint: parsing ");
        return err == ERR_OK ? put_ending(out, ENDING_RANGE, bad) : err;
    case ENDING_TEXT:
        return put_echo(out, "", bad->detail, "");
    case ENDING_SYNTAX:
        return put_echo(out, "\"", bad->detail, "\": invalid syntax");
    case ENDING_RANGE:
        return put_echo(out, "\"", bad->detail, "\": value out of range");
    case ENDING_KEY_MAX:
        return put_over(out, bad->length, LINEPROTO_KEY_MAX);
    case ENDING_FIELDS_MAX:
        return put_over(out, bad->length, LINEPROTO_FIELDS_MAX);
    case ENDING_TYPES:
        return put_echo(out, "field \"", bad->detail, "\" has two types in one line");
    case ENDING_NAME:
        return put_echo(out, "\"", bad->detail, "\" is invalid");
    }
    return ERR_OK;
}

enum err
lineproto_put_reason(struct buf *out, const struct lineproto_bad *bad)
{
    const struct wording *wording = &wordings[bad->reason];
    enum err err = buf_add_text(out, wording->text);

    return err == ERR_OK ? put_ending(out, wording->ending, bad) : err;
}

enum err
lineproto_put_error(struct buf *out, const struct lineproto_bad *first, uint64_t good_count,
                    uint64_t bad_count)
{
    bool reserved = first->reason == LINEPROTO_TIME_TAG || first->reason == LINEPROTO_TIME_FIELD;
    bool alone = good_count == 0 && bad_count == 1 && first->line_number == 1 && !reserved;
    enum err err = ERR_OK;

    if (good_count > 0 || reserved)
        err = buf_add_text(out, "partial write: ");
    if (err == ERR_OK && !reserved)
        err = put_echo(out, "unable to parse '", first->line, "': ");
    if (err == ERR_OK)
        err = lineproto_put_reason(out, first);
    if (err == ERR_OK && !alone)
        err = buf_printf(out, " (line %llu) dropped=%llu", (unsigned long long)first->line_number,
                         (unsigned long long)bad_count);
    return err;
}
