/*
 * point_forms.c: see point_forms.h.
 */
#include "support/point_forms.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "msgpack/msgpack_write.h"
#include "point/ingest.h"
#include "point/point.h"
#include "point/point_json.h"
#include "point/point_msgpack.h"
#include "support/json_tree.h"

#define ROOM ((size_t)1 << 28)

/* The text of a raw part, to be freed; with ${utf8} as JSON shows it. */
static struct slice
text_of(enum point_part part, struct slice raw, bool utf8)
{
    uint8_t *plain = malloc(raw.n + 1), *out;
    size_t n = point_unescape(part, raw, plain), at = 0;

    if (!utf8)
        return slice_make(plain, n);
    out = malloc(3 * n + 1);
    for (size_t i = 0, size; i < n; i += size == 0 ? 1 : size) {
        size = text_utf8(slice_make(plain + i, n - i));
        memcpy(out + at, size == 0 ? (const void *)"\xef\xbf\xbd" : plain + i,
               size == 0 ? 3 : size);
        at += size == 0 ? 3 : size;
    }
    free(plain);
    return slice_make(out, at);
}

static void
drop(struct slice s)
{
    free((void *)(uintptr_t)s.p);
}

static bool
same_text(enum point_part part, struct slice a, struct slice b, bool utf8)
{
    struct slice x, y;
    bool same;

    if (slice_eq(a, b))
        return true;
    if (!utf8 && point_is_plain(a) && point_is_plain(b))
        return false;
    x = text_of(part, a, utf8);
    y = text_of(part, b, utf8);
    same = slice_eq(x, y);
    drop(x);
    drop(y);
    return same;
}

static bool
is_text(enum point_part part, struct slice raw, struct slice text)
{
    struct slice own = text_of(part, raw, true);
    bool same = slice_eq(own, text);

    drop(own);
    return same;
}

static bool
same_value(const struct point_field *a, const struct point_field *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case POINT_FLOAT:
        return memcmp(&a->value.number, &b->value.number, sizeof(double)) == 0;
    case POINT_INTEGER:
        return a->value.integer == b->value.integer;
    case POINT_UNSIGNED:
        return a->value.whole == b->value.whole;
    case POINT_TEXT:
        return same_text(POINT_STRING, a->text, b->text, false);
    case POINT_BOOLEAN:
        return a->value.truth == b->value.truth;
    }
    return false;
}

/* The next field that no later one of the same name overtakes. */
static bool
next_live(struct slice *rest, struct point_field *field, bool utf8)
{
    while (point_next_field(rest, field)) {
        struct slice later = *rest, key, value;
        bool again = false;

        while (!again && point_cut_field(&later, &key, &value))
            again = same_text(POINT_FIELD_KEY, key, field->key, utf8);
        if (!again)
            return true;
    }
    return false;
}

/* ---- JSON ---- */

static const char *
check_number(const struct point_field *field, const struct json_node *node)
{
    double number = json_tree_f64(node);

    if (node->type != TREE_NUMBER)
        return "JSON: a number is none";
    if (field->type == POINT_FLOAT && memcmp(&number, &field->value.number, sizeof(number)) != 0)
        return "JSON: a float has other bits";
    if (field->type == POINT_INTEGER && json_tree_i64(node) != field->value.integer)
        return "JSON: an integer differs";
    if (field->type == POINT_UNSIGNED && json_tree_u64(node) != field->value.whole)
        return "JSON: an unsigned integer differs";
    return NULL;
}

static const char *
check_value(const struct point_field *field, const struct json_node *node)
{
    switch (field->type) {
    case POINT_FLOAT:
    case POINT_INTEGER:
    case POINT_UNSIGNED:
        return check_number(field, node);
    case POINT_TEXT:
        return node->type == TREE_STRING && is_text(POINT_STRING, field->text, node->text)
                   ? NULL
                   : "JSON: a string differs";
    case POINT_BOOLEAN:
        return node->type == TREE_BOOLEAN && json_tree_true(node) == field->value.truth
                   ? NULL
                   : "JSON: a boolean differs";
    }
    return "JSON: no such type";
}

static const char *
check_json_fields(const struct point *p, const struct json_node *node)
{
    struct slice rest = p->fields;
    struct point_field field;
    const char *wrong = NULL;

    while (wrong == NULL && next_live(&rest, &field, true)) {
        if (node == NULL || !is_text(POINT_FIELD_KEY, field.key, node->key))
            return "JSON: a field is missing or has another name";
        wrong = check_value(&field, node);
        node = node->next;
    }
    return wrong == NULL && node != NULL ? "JSON: a field too many" : wrong;
}

/* Tags whose names are the same once invalid bytes are replaced: the last counts. */
static bool
tag_again(struct slice rest, struct slice key)
{
    struct point_tag tag;

    while (point_next_tag(&rest, &tag))
        if (same_text(POINT_TAG, tag.key, key, true))
            return true;
    return false;
}

static const char *
check_json_tags(const struct point *p, const struct json_node *node)
{
    struct slice rest = p->tags;
    struct point_tag tag;

    while (point_next_tag(&rest, &tag)) {
        if (tag_again(rest, tag.key))
            continue;
        if (node == NULL || !is_text(POINT_TAG, tag.key, node->key) ||
            !is_text(POINT_TAG, tag.value, node->text))
            return "JSON: a tag differs";
        node = node->next;
    }
    return node != NULL ? "JSON: a tag too many" : NULL;
}

static const char *
check_document(const struct point *p, const struct json_node *root, int64_t time_ns)
{
    const struct json_node *measurement = json_tree_get(root, "measurement");
    const struct json_node *tags = json_tree_get(root, "tags");
    const struct json_node *fields = json_tree_get(root, "fields");
    const char *wrong;

    if (root->count != 4 || measurement == NULL || tags == NULL || fields == NULL)
        return "JSON: not the four members";
    if (!is_text(POINT_MEASUREMENT, p->measurement, measurement->text))
        return "JSON: the measurement differs";
    if (json_tree_i64(json_tree_get(root, "timestamp")) != time_ns)
        return "JSON: the timestamp differs";
    wrong = check_json_tags(p, tags->first);
    return wrong != NULL ? wrong : check_json_fields(p, fields->first);
}

const char *
point_forms_json(struct slice line, int64_t time_ns)
{
    const char *wrong = "JSON: not valid";
    struct json_tree tree;
    struct point p;
    struct buf out;

    buf_init(&out, ROOM);
    if (point_open(&p, line) != ERR_OK ||
        point_json_put(&out, line, time_ns, PRECISION_NS) != ERR_OK)
        wrong = "JSON: not written";
    else if (json_tree_parse(&tree, buf_peek(&out)) == ERR_OK) {
        wrong = check_document(&p, tree.root, time_ns);
        json_tree_free(&tree);
    }
    buf_free(&out);
    return wrong;
}

/* ---- MessagePack ---- */

/* Which of the fields of the first line the second one should have. */
enum which { ALL, REST, ONE };

static bool
next_wanted(struct slice *rest, struct point_field *field, enum which which, struct slice name)
{
    if (which == ONE) {
        while (point_next_field(rest, field))
            if (field->key.p == name.p)
                return true;
        return false;
    }
    while (next_live(rest, field, false))
        if (which == ALL || field->type != POINT_FLOAT)
            return true;
    return false;
}

static const char *
compare(struct slice line, struct slice other, enum which which, struct slice name)
{
    struct point_field field_a, field_b;
    struct point_tag tag_a, tag_b;
    struct point a, b;

    if (point_open(&a, line) != ERR_OK || point_open(&b, other) != ERR_OK)
        return "no line came back";
    if (!same_text(POINT_MEASUREMENT, a.measurement, b.measurement, false))
        return "the measurement differs";
    while (point_next_tag(&a.tags, &tag_a))
        if (!point_next_tag(&b.tags, &tag_b) ||
            !same_text(POINT_TAG, tag_a.key, tag_b.key, false) ||
            !same_text(POINT_TAG, tag_a.value, tag_b.value, false))
            return "a tag differs";
    if (point_next_tag(&b.tags, &tag_b))
        return "a tag too many";
    while (next_wanted(&a.fields, &field_a, which, name))
        if (!point_next_field(&b.fields, &field_b) ||
            !same_text(POINT_FIELD_KEY, field_a.key, field_b.key, false) ||
            !same_value(&field_a, &field_b))
            return "a field differs";
    return b.fields.n > 0 ? "a field too many" : NULL;
}

/* What the ingest makes of ${body} must be one good point like ${line}. */
static const char *
read_back(struct slice body, bool columns, struct slice line, int64_t time_ns, enum which which,
          struct slice name)
{
    struct lineproto_point point;
    struct lineproto_bad bad;
    const char *wrong;
    struct ingest in;
    struct buf text;

    buf_init(&text, ROOM);
    if (columns)
        ingest_columns(&in, body, &text, PRECISION_NS, 0);
    else
        ingest_rows(&in, body, &text, PRECISION_NS, 0);
    if (ingest_next(&in, &point, &bad) != INGEST_POINT)
        wrong = "MessagePack: the point is refused";
    else if (point.time_ns != time_ns || !point.timed)
        wrong = "MessagePack: the timestamp differs";
    else
        wrong =
            compare(line, slice_make(point.key.p, point.key.n + 1 + point.fields.n), which, name);
    if (wrong == NULL && ingest_next(&in, &point, &bad) != INGEST_END)
        wrong = "MessagePack: more than one point";
    buf_free(&text);
    return wrong;
}

const char *
point_forms_rows(struct slice line, int64_t time_ns)
{
    const char *wrong = "MessagePack: not written";
    struct buf out;

    buf_init(&out, ROOM);
    if (point_msgpack_put(&out, line, time_ns, PRECISION_NS) == ERR_OK)
        wrong = read_back(buf_peek(&out), false, line, time_ns, ALL, line);
    buf_free(&out);
    return wrong;
}

static const char *
check_column(struct slice line, int64_t time_ns, const struct point_field *field)
{
    const char *wrong = "columns: not written";
    struct buf out;
    struct wr w;

    buf_init(&out, ROOM);
    wr_init(&w, &out);
    point_msgpack_column(&w, line, field->key, 1);
    msgpack_write_f64(&w, field->value.number);
    point_msgpack_times(&w, 1);
    msgpack_write_i64(&w, time_ns);
    if (wr_done(&w) == ERR_OK)
        wrong = read_back(buf_peek(&out), true, line, time_ns, ONE, field->key);
    buf_free(&out);
    return wrong;
}

const char *
point_forms_columns(struct slice line, int64_t time_ns)
{
    struct point_field field;
    const char *wrong = NULL;
    bool others = false;
    struct slice rest;
    struct point p;
    struct buf out;

    if (point_open(&p, line) != ERR_OK)
        return "columns: no line";
    for (rest = p.fields; wrong == NULL && next_live(&rest, &field, false);) {
        others = others || field.type != POINT_FLOAT;
        if (field.type == POINT_FLOAT)
            wrong = check_column(line, time_ns, &field);
    }
    if (wrong != NULL || !others)
        return wrong;
    buf_init(&out, ROOM);
    if (point_msgpack_put_rest(&out, line, time_ns, PRECISION_NS) != ERR_OK)
        wrong = "columns: the rest is not written";
    else
        wrong = read_back(buf_peek(&out), false, line, time_ns, REST, line);
    buf_free(&out);
    return wrong;
}

const char *
point_forms_all(struct slice line, int64_t time_ns)
{
    const char *wrong = point_forms_json(line, time_ns);

    if (wrong == NULL)
        wrong = point_forms_rows(line, time_ns);
    return wrong != NULL ? wrong : point_forms_columns(line, time_ns);
}
