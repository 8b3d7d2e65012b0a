/*
 * json_tree.c: a strict JSON reader for tests. See json_tree.h.
 */
#include "support/json_tree.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

struct reader {
    struct json_tree *doc;
    struct slice rest;
    uint8_t *strings; /* where the next decoded byte goes */
    enum err err;
};

static void
fail(struct reader *r, enum err err)
{
    if (r->err == ERR_OK)
        r->err = err;
    r->rest.n = 0;
}

static int
peek(const struct reader *r)
{
    return r->rest.n > 0 ? r->rest.p[0] : -1;
}

static void
step(struct reader *r, size_t n)
{
    r->rest = slice_from(r->rest, n);
}

static void
skip_blanks(struct reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r')
        step(r, 1);
}

static bool
take(struct reader *r, char byte)
{
    if (peek(r) != byte)
        return false;
    step(r, 1);
    return true;
}

static struct json_node *
make(struct reader *r, struct json_node *parent)
{
    struct json_node *j = mem_zalloc(sizeof(*j));

    if (j == NULL) {
        fail(r, ERR_NOMEM);
        return NULL;
    }
    j->made = r->doc->made;
    r->doc->made = j;
    j->parent = parent;
    if (parent == NULL) {
        r->doc->root = j;
        return j;
    }
    if (parent->last == NULL)
        parent->first = j;
    else
        parent->last->next = j;
    parent->last = j;
    parent->count++;
    return j;
}

static void
put_utf8(struct reader *r, uint32_t c)
{
    uint8_t *p = r->strings;

    if (c < 0x80) {
        *p++ = (uint8_t)c;
    } else if (c < 0x800) {
        *p++ = (uint8_t)(0xc0 | c >> 6);
        *p++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *p++ = (uint8_t)(0xe0 | c >> 12);
        *p++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *p++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *p++ = (uint8_t)(0xf0 | c >> 18);
        *p++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *p++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *p++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    r->strings = p;
}

/* The four digits behind \u. */
static uint32_t
read_unit(struct reader *r)
{
    uint64_t value = 0;

    if (r->rest.n < 4 || num_hex(slice_to(r->rest, 4), &value) != ERR_OK)
        fail(r, ERR_BAD);
    step(r, 4);
    return (uint32_t)value;
}

static void
read_escape(struct reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int byte = peek(r);
    const char *hit = byte > 0 ? strchr(from, byte) : NULL;
    uint32_t c;

    step(r, 1);
    if (hit != NULL) {
        *r->strings++ = (uint8_t)to[hit - from];
        return;
    }
    c = byte == 'u' ? read_unit(r) : UINT32_MAX;
    if (c >= 0xd800 && c < 0xdc00 && take(r, '\\') && take(r, 'u')) {
        uint32_t low = read_unit(r);
        c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00))
                                          : UINT32_MAX;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        fail(r, ERR_BAD);
    else
        put_utf8(r, c);
}

static struct slice
read_string(struct reader *r)
{
    uint8_t *start = r->strings;

    if (!take(r, '"'))
        fail(r, ERR_BAD);
    while (r->err == ERR_OK && !take(r, '"')) {
        size_t n = text_utf8(r->rest);
        if (n == 0 || r->rest.p[0] < 0x20) {
            fail(r, ERR_BAD);
        } else if (take(r, '\\')) {
            read_escape(r);
        } else {
            memcpy(r->strings, r->rest.p, n);
            r->strings += n;
            step(r, n);
        }
    }
    return slice_make(start, (size_t)(r->strings - start));
}

static size_t
skip_digits(struct reader *r)
{
    size_t n = 0;

    for (; peek(r) >= '0' && peek(r) <= '9'; n++)
        step(r, 1);
    return n;
}

static struct slice
read_number(struct reader *r)
{
    const uint8_t *start = r->rest.p;

    (void)take(r, '-');
    if (!take(r, '0') && skip_digits(r) == 0)
        fail(r, ERR_BAD);
    if (take(r, '.') && skip_digits(r) == 0)
        fail(r, ERR_BAD);
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+'))
            (void)take(r, '-');
        if (skip_digits(r) == 0)
            fail(r, ERR_BAD);
    }
    return slice_make(start, r->err == ERR_OK ? (size_t)(r->rest.p - start) : 0);
}

static bool
take_word(struct reader *r, const char *word)
{
    if (!slice_starts(r->rest, slice_of(word)))
        return false;
    step(r, strlen(word));
    return true;
}

/* A value that holds no others, or the start of one that does. */
static void
read_value(struct reader *r, struct json_node *j)
{
    const uint8_t *start = r->rest.p;

    if (peek(r) == '"') {
        j->type = TREE_STRING;
        j->text = read_string(r);
    } else if (take(r, '[')) {
        j->type = TREE_ARRAY;
    } else if (take(r, '{')) {
        j->type = TREE_OBJECT;
    } else if (take_word(r, "true") || take_word(r, "false")) {
        j->type = TREE_BOOLEAN;
        j->text = slice_make(start, (size_t)(r->rest.p - start));
    } else if (take_word(r, "null")) {
        j->type = TREE_NULL;
    } else {
        j->type = TREE_NUMBER;
        j->text = read_number(r);
    }
    if (j->type == TREE_NUMBER || j->type == TREE_BOOLEAN) {
        struct slice text = j->text;
        memcpy(r->strings, text.p, text.n);
        j->text.p = r->strings;
        r->strings += text.n;
    }
}

/* The next member of ${parent}, which has its opening bracket behind it; NULL: it ends here. */
static struct json_node *
read_member(struct reader *r, struct json_node *parent)
{
    struct json_node *j;
    struct slice key = {NULL, 0};

    skip_blanks(r);
    if (take(r, parent->type == TREE_ARRAY ? ']' : '}'))
        return NULL;
    if (parent->count > 0) {
        if (!take(r, ','))
            fail(r, ERR_BAD);
        skip_blanks(r);
    }
    if (parent->type == TREE_OBJECT) {
        key = read_string(r);
        skip_blanks(r);
        if (!take(r, ':'))
            fail(r, ERR_BAD);
        skip_blanks(r);
    }
    j = r->err == ERR_OK ? make(r, parent) : NULL;
    if (j == NULL)
        return NULL;
    j->key = key;
    read_value(r, j);
    return j;
}

static void
read_tree(struct reader *r)
{
    struct json_node *open = make(r, NULL);
    unsigned depth = 1;

    if (open == NULL)
        return;
    read_value(r, open);
    if (open->type != TREE_ARRAY && open->type != TREE_OBJECT)
        return;
    while (r->err == ERR_OK && open != NULL) {
        struct json_node *j = read_member(r, open);
        if (j == NULL) {
            open = open->parent;
            depth--;
        } else if (j->type == TREE_ARRAY || j->type == TREE_OBJECT) {
            open = j;
            if (++depth > TREE_DEPTH_MAX)
                fail(r, ERR_RANGE);
        }
    }
}

enum err
json_tree_parse(struct json_tree *doc, struct slice text)
{
    struct reader r = {doc, text, NULL, ERR_OK};

    *doc = (struct json_tree){NULL, NULL, NULL};
    doc->strings = r.strings = mem_alloc(text.n + 1); /* decoded text is never longer */
    if (r.strings == NULL)
        return ERR_NOMEM;
    skip_blanks(&r);
    read_tree(&r);
    skip_blanks(&r);
    if (r.rest.n > 0)
        fail(&r, ERR_BAD);
    return r.err;
}

void
json_tree_free(struct json_tree *doc)
{
    while (doc->made != NULL) {
        struct json_node *j = doc->made;
        doc->made = j->made;
        mem_free(j);
    }
    mem_free(doc->strings);
    *doc = (struct json_tree){NULL, NULL, NULL};
}

const struct json_node *
json_tree_get(const struct json_node *object, const char *key)
{
    const struct json_node *found = NULL;

    if (object == NULL || object->type != TREE_OBJECT)
        return NULL;
    for (const struct json_node *j = object->first; j != NULL; j = j->next)
        if (slice_eq(j->key, slice_of(key)))
            found = j;
    return found;
}

const struct json_node *
json_tree_at(const struct json_node *array, size_t i)
{
    const struct json_node *j = array == NULL ? NULL : array->first;

    while (j != NULL && i-- > 0)
        j = j->next;
    return j;
}

bool
json_tree_is(const struct json_node *j, const char *text)
{
    return j != NULL && j->type == TREE_STRING && slice_eq(j->text, slice_of(text));
}

bool
json_tree_null(const struct json_node *j)
{
    return j == NULL || j->type == TREE_NULL;
}

bool
json_tree_true(const struct json_node *j)
{
    return j != NULL && j->type == TREE_BOOLEAN && j->text.p[0] == 't';
}

int64_t
json_tree_i64(const struct json_node *j)
{
    int64_t value = 0;

    return j != NULL && num_i64(j->text, &value) == ERR_OK ? value : 0;
}

uint64_t
json_tree_u64(const struct json_node *j)
{
    uint64_t value = 0;

    return j != NULL && num_u64(j->text, &value) == ERR_OK ? value : 0;
}

double
json_tree_f64(const struct json_node *j)
{
    double value = 0;

    return j != NULL && num_f64(j->text, &value) == ERR_OK ? value : 0;
}
