/*
 * toml.c: one item a call, by hand-written descent over one value; nothing nests deeper than an
 * array, so nothing recurses.
 */
#include "daemon/toml.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

void
toml_init(struct toml_reader *r, struct slice text)
{
    static const struct slice byte_order_mark = SLICE_INIT("\xEF\xBB\xBF");

    r->rest = slice_starts(text, byte_order_mark) ? slice_from(text, byte_order_mark.n) : text;
    r->line = 1;
    buf_init(&r->scratch, TOML_VALUE_MAX);
}

void
toml_free(struct toml_reader *r)
{
    buf_free(&r->scratch);
}

/* The first error of an item is the one that is told. */
static void fail(struct toml_item *item, const char *format, ...) PRINTF_LIKE(2, 3);

static void
fail(struct toml_item *item, const char *format, ...)
{
    va_list args;

    if (item->kind == TOML_ERROR)
        return;
    item->kind = TOML_ERROR;
    va_start(args, format);
    (void)vsnprintf(item->error, sizeof(item->error), format, args);
    va_end(args);
}

static int
peek(const struct toml_reader *r)
{
    return r->rest.n > 0 ? r->rest.p[0] : -1;
}

static void
skip(struct toml_reader *r, size_t n)
{
    r->rest = slice_from(r->rest, n);
}

static void
skip_blanks(struct toml_reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t')
        skip(r, 1);
}

static size_t
line_length(const struct toml_reader *r)
{
    return slice_find(r->rest, '\n');
}

static void
skip_line(struct toml_reader *r)
{
    size_t n = line_length(r);

    if (n < r->rest.n) {
        n++;
        r->line++;
    }
    skip(r, n);
}

static bool
at_line_end(const struct toml_reader *r)
{
    int c = peek(r);

    return c == -1 || c == '\n' || (c == '\r' && (r->rest.n == 1 || r->rest.p[1] == '\n'));
}

/* Blanks, comments and line ends, as between the elements of an array or between items. */
static void
skip_empty(struct toml_reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (peek(r) == '#')
            skip(r, line_length(r));
        if (r->rest.n == 0 || !at_line_end(r))
            return;
        skip_line(r);
    }
}

static bool
is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static void
read_name(struct toml_reader *r, struct toml_item *item, const char *what)
{
    size_t n = 0;

    while (n < r->rest.n && is_bare(r->rest.p[n]))
        n++;
    item->name = slice_to(r->rest, n < TOML_NAME_MAX ? n : TOML_NAME_MAX);
    if (n > TOML_NAME_MAX)
        fail(item, "the name of a %s is longer than %d bytes", what, TOML_NAME_MAX);
    else if (n == 0 && (peek(r) == '"' || peek(r) == '\''))
        fail(item, "a %s in quotes is not supported: write it bare", what);
    else if (n == 0)
        fail(item, "expected a %s: letters, digits, _ and -", what);
    skip(r, n);
    skip_blanks(r);
}

static enum err
add_code_point(struct buf *out, uint64_t c)
{
    uint8_t b[4];
    size_t n;

    if (c < 0x80) {
        b[0] = (uint8_t)c;
        n = 1;
    } else if (c < 0x800) {
        b[0] = (uint8_t)(0xC0 | c >> 6);
        n = 2;
    } else if (c < 0x10000) {
        b[0] = (uint8_t)(0xE0 | c >> 12);
        n = 3;
    } else {
        b[0] = (uint8_t)(0xF0 | c >> 18);
        n = 4;
    }
    for (size_t i = 1; i < n; i++)
        b[i] = (uint8_t)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3F));
    return buf_add(out, slice_make(b, n));
}

static bool
read_hex(struct slice digits, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < digits.n; i++) {
        uint8_t c = digits.p[i];

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint64_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* \uXXXX or \UXXXXXXXX; ${s} begins with the letter. Returns bytes used, 0 when it is wrong. */
static size_t
read_unicode(struct slice s, struct buf *out, struct toml_item *item, enum err *err)
{
    size_t digits = s.p[0] == 'u' ? 4 : 8;
    uint64_t c;

    if (s.n <= digits || !read_hex(slice_to(slice_from(s, 1), digits), &c)) {
        fail(item, "\\%c needs %zu hexadecimal digits", s.p[0], digits);
        return 0;
    }
    if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        fail(item, "\\%c escape is not a character that a string may hold", s.p[0]);
        return 0;
    }
    *err = add_code_point(out, c);
    return 1 + digits;
}

/* What stands behind a backslash. Returns bytes used, 0 when it is wrong. */
static size_t
read_escape(struct slice s, struct buf *out, struct toml_item *item, enum err *err)
{
    static const char letters[] = "btnfr\"\\";
    static const char bytes[] = "\b\t\n\f\r\"\\";
    const char *at = s.n == 0 || s.p[0] == 0 ? NULL : strchr(letters, s.p[0]);

    if (at != NULL) {
        *err = buf_add_byte(out, (uint8_t)bytes[at - letters]);
        return 1;
    }
    if (s.n > 0 && (s.p[0] == 'u' || s.p[0] == 'U'))
        return read_unicode(s, out, item, err);
    fail(item, "unknown escape in a string: use '...' for text with backslashes");
    return 0;
}

/* The text between quotes, decoded behind what ${out} holds; the reader stands at the quote. */
static enum err
read_string(struct toml_reader *r, struct toml_item *item, struct buf *out)
{
    uint8_t quote = r->rest.p[0];
    struct slice s = slice_from(slice_to(r->rest, line_length(r)), 1);
    enum err err = ERR_OK;
    size_t i = 0, used;

    if (s.n >= 2 && s.p[0] == quote && s.p[1] == quote) {
        fail(item, "a string over several lines is not supported");
        return ERR_OK;
    }
    while (i < s.n && s.p[i] != quote && err == ERR_OK) {
        if (s.p[i] == '\\' && quote == '"') {
            used = read_escape(slice_from(s, i + 1), out, item, &err);
            if (used == 0)
                return ERR_OK;
            i += 1 + used;
            continue;
        }
        used = text_utf8(slice_from(s, i));
        if (used == 0 || (s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f) {
            if (s.p[i] == '\r' && i + 1 == s.n)
                break;
            fail(item, used == 0 ? "a string is not valid UTF-8" : "a string holds a control byte");
            return ERR_OK;
        }
        err = buf_add(out, slice_to(slice_from(s, i), used));
        i += used;
    }
    if (err == ERR_OK && (i >= s.n || s.p[i] != quote))
        fail(item, "a string has no closing %c on its line", quote);
    else
        skip(r, 1 + i + 1);
    return err;
}

/* The bytes of a value without quotes, up to what cannot belong to it. */
static struct slice
bare_word(const struct toml_reader *r)
{
    size_t n = 0;

    while (n < r->rest.n && r->rest.p[n] > ' ' && r->rest.p[n] != ',' && r->rest.p[n] != ']' &&
           r->rest.p[n] != '#')
        n++;
    return slice_to(r->rest, n);
}

/* ${lost}: the error leaves unclear where the array goes on. */
static enum err
read_element(struct toml_reader *r, struct toml_item *item, bool *lost)
{
    const uint8_t *start = r->rest.p;
    enum err err;
    struct slice word;

    if (peek(r) == '"' || peek(r) == '\'') {
        err = read_string(r, item, &r->scratch);
        *lost = err != ERR_OK || r->rest.p == start; /* a wrong string is not passed */
        item->value.count++;
        return err == ERR_OK ? buf_add_byte(&r->scratch, 0) : err;
    }
    word = bare_word(r);
    fail(item, "an array may hold strings only, in quotes");
    skip(r, word.n);
    *lost = word.n == 0;
    return ERR_OK;
}

/* A wrong element does not end the array: what follows it would be taken for keys. */
static enum err
read_array(struct toml_reader *r, struct toml_item *item)
{
    enum err err = ERR_OK;
    bool wants_comma = false, lost = false;

    item->value.type = TOML_STRINGS;
    skip(r, 1);
    while (!lost) {
        skip_empty(r);
        if (peek(r) == ']') {
            skip(r, 1);
            break;
        }
        if (r->rest.n == 0) {
            fail(item, "an array has no closing ]");
            break;
        }
        if (wants_comma) {
            lost = peek(r) != ',';
            if (lost)
                fail(item, "expected , or ] in an array");
            else
                skip(r, 1);
            wants_comma = false;
        } else {
            err = read_element(r, item, &lost);
            wants_comma = true;
        }
    }
    return err;
}

enum err
toml_integer(struct slice text, int64_t *out)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    struct slice s = slice_from(text, text.n > 0 && (negative || text.p[0] == '+'));
    uint64_t base = 10, limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, v = 0;
    bool digit_before = false, over = false;

    if (s.n > 2 && s.p[0] == '0' && s.n == text.n && s.p[1] > '9') {
        base = s.p[1] == 'x' ? 16 : s.p[1] == 'o' ? 8 : s.p[1] == 'b' ? 2 : 0;
        s = slice_from(s, 2);
    }
    if (s.n == 0 || base == 0 || (base == 10 && s.n > 1 && s.p[0] == '0'))
        return ERR_BAD;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t digit;

        if (s.p[i] == '_' && digit_before && i + 1 < s.n) {
            digit_before = false;
            continue;
        }
        if (!read_hex(slice_to(slice_from(s, i), 1), &digit) || digit >= base)
            return ERR_BAD;
        over = over || v > (limit - digit) / base;
        v = over ? 0 : v * base + digit;
        digit_before = true;
    }
    if (over)
        return ERR_RANGE;
    *out = negative && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    return ERR_OK;
}

static void
read_bare(struct toml_reader *r, struct toml_item *item)
{
    struct slice word = bare_word(r);
    enum err err;

    skip(r, word.n);
    if (slice_eq(word, SLICE("true")) || slice_eq(word, SLICE("false"))) {
        item->value.type = TOML_BOOLEAN;
        item->value.boolean = word.n == 4;
        return;
    }
    item->value.type = TOML_INTEGER;
    err = toml_integer(word, &item->value.integer);
    if (err == ERR_RANGE)
        fail(item, "a number is larger than 64 bits hold");
    else if (word.n == 0)
        fail(item, "a value is missing behind =");
    else if (err != ERR_OK && word.p[0] == '{')
        fail(item, "an inline table is not supported: write a [section]");
    else if (err != ERR_OK)
        fail(item, "not a value: a string needs quotes, else a whole number, true or false");
}

static enum err
read_value(struct toml_reader *r, struct toml_item *item)
{
    enum err err = ERR_OK;
    int c = peek(r);

    if (c == '"' || c == '\'') {
        item->value.type = TOML_STRING;
        err = read_string(r, item, &r->scratch);
    } else if (c == '[') {
        err = read_array(r, item);
    } else {
        read_bare(r, item);
    }
    item->value.text = buf_peek(&r->scratch);
    return err;
}

static enum err
read_key(struct toml_reader *r, struct toml_item *item)
{
    item->kind = TOML_KEY;
    read_name(r, item, "key");
    if (item->kind == TOML_ERROR)
        return ERR_OK;
    if (peek(r) == '.') {
        fail(item, "a dotted key is not supported: write a [section] and its keys");
        return ERR_OK;
    }
    if (peek(r) != '=') {
        fail(item, "expected = behind the key");
        return ERR_OK;
    }
    skip(r, 1);
    skip_blanks(r);
    return read_value(r, item);
}

static void
read_table(struct toml_reader *r, struct toml_item *item)
{
    item->kind = TOML_TABLE;
    skip(r, 1);
    if (peek(r) == '[') {
        fail(item, "an array of tables is not supported");
        return;
    }
    skip_blanks(r);
    read_name(r, item, "section name");
    if (item->kind == TOML_ERROR)
        return;
    if (peek(r) == '.')
        fail(item, "a section within a section is not supported");
    else if (peek(r) != ']')
        fail(item, "expected ] behind the section's name");
    else
        skip(r, 1);
}

/* Behind a table or a value only a comment may follow. */
static void
finish_line(struct toml_reader *r, struct toml_item *item)
{
    skip_blanks(r);
    if (peek(r) == '#')
        skip(r, line_length(r));
    if (!at_line_end(r))
        fail(item, "unexpected text behind the %s", item->kind == TOML_TABLE ? "section" : "value");
    skip_line(r);
}

enum err
toml_next(struct toml_reader *r, struct toml_item *item)
{
    enum err err = ERR_OK;

    *item = (struct toml_item){.kind = TOML_END};
    buf_clear(&r->scratch);
    skip_empty(r);
    item->line = r->line;
    if (r->rest.n == 0)
        return ERR_OK;
    if (peek(r) == '[')
        read_table(r, item);
    else
        err = read_key(r, item);
    if (err == ERR_NOMEM && buf_len(&r->scratch) + 4 > TOML_VALUE_MAX) {
        fail(item, "a value is longer than %d bytes", TOML_VALUE_MAX);
        err = ERR_OK;
    }
    finish_line(r, item);
    return err;
}
