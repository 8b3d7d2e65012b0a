/*
 * json.c: one scanner that checks, and walking that relies on what it checked.
 */
#include "base/json.h"

#include <assert.h>

#include "base/num.h"
#include "base/text.h"

static struct slice
skip_blanks(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\n' || s.p[0] == '\r'))
        s = slice_from(s, 1);
    return s;
}

static bool
is_digit(struct slice s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

static bool
is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Length of the string at the start of ${s}, quotes included; 0: it is none. */
static size_t
string_length(struct slice s)
{
    size_t i = 1;

    if (s.n == 0 || s.p[0] != '"')
        return 0;
    while (i < s.n && s.p[i] != '"') {
        if (s.p[i] < 0x20)
            return 0;
        if (s.p[i] != '\\') {
            i++;
            continue;
        }
        if (i + 1 >= s.n || s.p[i + 1] == 0 || strchr("\"\\/bfnrtu", s.p[i + 1]) == NULL)
            return 0;
        if (s.p[i + 1] == 'u') {
            for (size_t d = 2; d < 6; d++) {
                if (i + d >= s.n || !is_hex(s.p[i + d]))
                    return 0;
            }
            i += 4;
        }
        i += 2;
    }
    return i < s.n ? i + 1 : 0;
}

static size_t
digits_end(struct slice s, size_t i)
{
    while (is_digit(s, i))
        i++;
    return i;
}

/* Length of the number at the start of ${s}; 0: it is none. */
static size_t
number_length(struct slice s)
{
    size_t i = s.n > 0 && s.p[0] == '-';

    if (!is_digit(s, i))
        return 0;
    i = s.p[i] == '0' ? i + 1 : digits_end(s, i);
    if (i < s.n && s.p[i] == '.') {
        if (!is_digit(s, i + 1))
            return 0;
        i = digits_end(s, i + 1);
    }
    if (i < s.n && (s.p[i] | 0x20) == 'e') {
        i++;
        if (i < s.n && (s.p[i] == '+' || s.p[i] == '-'))
            i++;
        if (!is_digit(s, i))
            return 0;
        i = digits_end(s, i);
    }
    return i;
}

/* A value that holds no other; its length, or 0. */
static size_t
scalar(struct slice s, enum json_type *type)
{
    static const struct {
        struct slice word;
        enum json_type type;
    } words[] = {{SLICE_INIT("null"), JSON_NULL},
                 {SLICE_INIT("true"), JSON_TRUE},
                 {SLICE_INIT("false"), JSON_FALSE}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_starts(s, words[i].word)) {
            *type = words[i].type;
            return words[i].word.n;
        }
    }
    *type = s.n > 0 && s.p[0] == '"' ? JSON_STRING : JSON_NUMBER;
    return *type == JSON_STRING ? string_length(s) : number_length(s);
}

/* The scanner: what may come next, and what is open. */
struct scan {
    struct slice rest;
    char open[JSON_DEPTH_MAX]; /* '[' or '{' */
    size_t depth;
};

/* A member's key and colon. */
static bool
take_key(struct scan *k)
{
    size_t n;

    k->rest = skip_blanks(k->rest);
    n = string_length(k->rest);
    k->rest = skip_blanks(slice_from(k->rest, n));
    if (n == 0 || k->rest.n == 0 || k->rest.p[0] != ':')
        return false;
    k->rest = skip_blanks(slice_from(k->rest, 1));
    return true;
}

/* The start of a value. ${more}: another value must follow before anything can end. */
static enum err
take_value(struct scan *k, bool *more)
{
    enum json_type type;
    size_t n;

    *more = false;
    if (k->rest.n == 0)
        return ERR_BAD;
    if (k->rest.p[0] == '[' || k->rest.p[0] == '{') {
        char close = k->rest.p[0] == '[' ? ']' : '}';

        if (k->depth == JSON_DEPTH_MAX)
            return ERR_RANGE;
        k->open[k->depth++] = (char)k->rest.p[0];
        k->rest = skip_blanks(slice_from(k->rest, 1));
        *more = k->rest.n == 0 || k->rest.p[0] != close;
        return *more && close == '}' && !take_key(k) ? ERR_BAD : ERR_OK;
    }
    n = scalar(k->rest, &type);
    k->rest = slice_from(k->rest, n);
    return n == 0 ? ERR_BAD : ERR_OK;
}

/* What may stand behind a value: ends of what is open, then a comma. */
static enum err
take_ends(struct scan *k, bool *more)
{
    *more = false;
    while (k->depth > 0) {
        char open = k->open[k->depth - 1];

        k->rest = skip_blanks(k->rest);
        if (k->rest.n == 0)
            return ERR_BAD;
        if (k->rest.p[0] == ',') {
            k->rest = skip_blanks(slice_from(k->rest, 1));
            *more = true;
            return open == '{' && !take_key(k) ? ERR_BAD : ERR_OK;
        }
        if (k->rest.p[0] != (open == '[' ? ']' : '}'))
            return ERR_BAD;
        k->rest = slice_from(k->rest, 1);
        k->depth--;
    }
    return ERR_OK;
}

/* Length of the value at the start of ${s}, checked. */
static enum err
measure(struct slice s, size_t *length)
{
    struct scan k = {.rest = s};
    enum err err;
    bool more = true;

    while (more) {
        err = take_value(&k, &more);
        if (err == ERR_OK && !more)
            err = take_ends(&k, &more);
        if (err != ERR_OK)
            return err;
    }
    *length = s.n - k.rest.n;
    return ERR_OK;
}

static enum json_type
type_of(struct slice s)
{
    enum json_type type = JSON_NULL;

    if (s.n > 0 && s.p[0] == '[')
        return JSON_ARRAY;
    if (s.n > 0 && s.p[0] == '{')
        return JSON_OBJECT;
    (void)scalar(s, &type);
    return type;
}

enum err
json_parse(struct slice text, struct json *out)
{
    struct slice s = skip_blanks(text);
    size_t n;
    enum err err = measure(s, &n);

    if (err != ERR_OK)
        return err;
    if (skip_blanks(slice_from(s, n)).n > 0)
        return ERR_BAD;
    *out = (struct json){type_of(s), slice_to(s, n)};
    return ERR_OK;
}

void
json_walk(struct json_walk *w, const struct json *v)
{
    *w = (struct json_walk){{NULL, 0}, v->type == JSON_OBJECT};
    if (v->type == JSON_OBJECT || v->type == JSON_ARRAY)
        w->rest = skip_blanks(slice_from(slice_to(v->raw, v->raw.n - 1), 1));
}

bool
json_next(struct json_walk *w, struct slice *key, struct json *value)
{
    struct slice name = {NULL, 0};
    size_t n;
    enum err err;

    if (w->rest.n == 0)
        return false;
    if (w->object) {
        name = slice_to(w->rest, string_length(w->rest));
        w->rest = skip_blanks(slice_from(w->rest, name.n));
        w->rest = skip_blanks(slice_from(w->rest, 1)); /* the colon */
    }
    err = measure(w->rest, &n);
    assert(err == ERR_OK); /* json_parse went through here before */
    *value = (struct json){type_of(w->rest), slice_to(w->rest, n)};
    if (key != NULL)
        *key = name;
    w->rest = skip_blanks(slice_from(w->rest, n));
    w->rest = skip_blanks(slice_from(w->rest, 1)); /* the comma, if there is one */
    return true;
}

bool
json_get(const struct json *object, const char *name, struct json *out)
{
    struct json_walk w;
    struct slice key;

    json_walk(&w, object);
    while (w.object && json_next(&w, &key, out)) {
        if (json_is(key, name))
            return true;
    }
    *out = (struct json){JSON_NULL, {NULL, 0}};
    return false;
}

static uint32_t
hex4(const uint8_t *p)
{
    uint32_t v = 0;

    for (size_t i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    return v;
}

static size_t
put_utf8(uint8_t out[4], uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (uint8_t)(first[n] | c);
    return n;
}

#define REPLACEMENT 0xFFFD

/* The \u escape at the start of ${s}, with its second half where it is a pair. Bytes used. */
static size_t
unicode_escape(struct slice s, uint32_t *c)
{
    *c = hex4(s.p + 2);
    if (*c < 0xD800 || *c > 0xDFFF)
        return 6;
    if (*c < 0xDC00 && s.n >= 12 && s.p[6] == '\\' && s.p[7] == 'u') {
        uint32_t low = hex4(s.p + 8);

        if (low >= 0xDC00 && low <= 0xDFFF) {
            *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
            return 12;
        }
    }
    *c = REPLACEMENT;
    return 6;
}

/* One character of a string's inside. Bytes used; what it means goes to ${out}, ${n} bytes of
 * it. */
static size_t
decode_one(struct slice s, uint8_t out[4], size_t *n)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    uint32_t c = REPLACEMENT;
    size_t used = 1;

    if (s.p[0] == '\\' && s.p[1] != 'u') {
        out[0] = (uint8_t)bytes[strchr(letters, s.p[1]) - letters];
        *n = 1;
        return 2;
    }
    if (s.p[0] == '\\') {
        used = unicode_escape(s, &c);
    } else {
        size_t length = text_utf8(s);

        if (length > 0) {
            memcpy(out, s.p, length);
            *n = length;
            return length;
        }
    }
    *n = put_utf8(out, c);
    return used;
}

enum err
json_text(struct buf *out, struct slice raw)
{
    struct slice s = slice_from(slice_to(raw, raw.n > 0 ? raw.n - 1 : 0), 1);
    size_t before = buf_len(out), n;
    uint8_t bytes[4];

    while (s.n > 0) {
        s = slice_from(s, decode_one(s, bytes, &n));
        if (buf_add(out, slice_make(bytes, n)) != ERR_OK) {
            buf_cut(out, before);
            return ERR_NOMEM;
        }
    }
    return ERR_OK;
}

bool
json_is(struct slice s, const char *text)
{
    size_t length = strlen(text), at = 0, n;
    uint8_t bytes[4];

    if (s.n < 2)
        return false;
    s = slice_from(slice_to(s, s.n - 1), 1);
    while (s.n > 0) {
        s = slice_from(s, decode_one(s, bytes, &n));
        if (n > length - at || memcmp(text + at, bytes, n) != 0)
            return false;
        at += n;
    }
    return at == length;
}

enum err
json_u64(const struct json *v, uint64_t *out)
{
    return v->type == JSON_NUMBER ? num_u64(v->raw, out) : ERR_BAD;
}
