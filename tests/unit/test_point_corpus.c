/*
 * test_point_corpus.c: the parser against what a real InfluxDB answered and stored.
 * Vectors: tests/vectors/line_protocol.jsonl. Rows that are to differ stand, with the reason, in
 * tests/vectors/line_protocol_deviations.txt; one that no longer differs fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "point/lineproto.h"
#include "point/point.h"
#include "support/guard.h"
#include "support/json_tree.h"

#define NOW_NS INT64_C(1700000000123456789)
#define ENTRIES_MAX 4096

/* What is stored, as text: one entry a field: "series@time field type" and its value. */
struct entry {
    char *key, *value;
    size_t order;
};

struct entries {
    struct entry at[ENTRIES_MAX];
    size_t count;
};

static char *
text_of(struct buf *b)
{
    char *text = malloc(buf_len(b) + 1);

    assert_non_null(text);
    slice_copy_text(buf_peek(b), text, buf_len(b) + 1);
    buf_clear(b);
    return text;
}

static void
add_entry(struct entries *entries, struct buf *key, struct buf *value)
{
    assert_true(entries->count < ENTRIES_MAX);
    entries->at[entries->count] = (struct entry){text_of(key), text_of(value), entries->count};
    entries->count++;
}

static int
by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : x->order < y->order ? -1 : 1;
}

/* Sorts, and of equal keys keeps the last. */
static void
settle(struct entries *entries)
{
    size_t kept = 0;

    qsort(entries->at, entries->count, sizeof(entries->at[0]), by_key);
    for (size_t i = 0; i < entries->count; i++) {
        if (i + 1 < entries->count && strcmp(entries->at[i].key, entries->at[i + 1].key) == 0) {
            free(entries->at[i].key);
            free(entries->at[i].value);
            continue;
        }
        entries->at[kept++] = entries->at[i];
    }
    entries->count = kept;
}

static void
clear(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->at[i].key);
        free(entries->at[i].value);
    }
    entries->count = 0;
}

static bool
same(const struct entries *a, const struct entries *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->at[i].key, b->at[i].key) != 0 || strcmp(a->at[i].value, b->at[i].value) != 0)
            return false;
    return true;
}

/* Hexadecimal, so that any bytes can stand in a key that strcmp orders. */
static void
put_hex(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(buf_printf(out, "%02x", s.p[i]), ERR_OK);
}

static int
by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "measurement,key=value,...@time" with the tags in order. */
static void
put_series(struct buf *out, struct slice measurement, char **tags, size_t count, int64_t time_ns)
{
    put_hex(out, measurement);
    qsort(tags, count, sizeof(tags[0]), by_text);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(buf_printf(out, ",%s", tags[i]), ERR_OK);
        free(tags[i]);
    }
    assert_int_equal(buf_printf(out, "@%lld", (long long)time_ns), ERR_OK);
}

static void
put_tag(struct buf *out, struct slice key, struct slice value)
{
    put_hex(out, key);
    assert_int_equal(buf_add_text(out, "="), ERR_OK);
    put_hex(out, value);
}

/* ---- what the corpus says ---- */

/* A text of the corpus: "$b64:" stands before what is not UTF-8. */
static struct slice
decode(struct buf *out, struct slice text)
{
    buf_clear(out);
    if (slice_starts(text, SLICE("$b64:")))
        assert_int_equal(text_unbase64(out, slice_from(text, 5)), ERR_OK);
    else
        assert_int_equal(buf_add(out, text), ERR_OK);
    return buf_peek(out);
}

static void
put_corpus_value(struct buf *out, const struct json_node *type, const struct json_node *value)
{
    struct buf text;

    buf_init(&text, 1 << 24);
    if (json_tree_is(type, "string"))
        put_hex(out, decode(&text, value->text));
    else if (json_tree_is(type, "float"))
        assert_int_equal(buf_printf(out, "%.17g", json_tree_f64(value)), ERR_OK);
    else
        assert_int_equal(buf_add(out, value->text), ERR_OK);
    buf_free(&text);
}

static char *
corpus_series(const struct json_node *stored, int64_t time_ns)
{
    struct buf out, text;
    char *tags[300];
    size_t count = 0;

    buf_init(&out, 1 << 24);
    buf_init(&text, 1 << 24);
    for (const struct json_node *tag = json_tree_get(stored, "tags")->first; tag != NULL;
         tag = tag->next) {
        put_hex(&out, decode(&text, tag->key));
        assert_int_equal(buf_add_text(&out, "="), ERR_OK);
        put_hex(&out, decode(&text, tag->text));
        assert_true(count < 300);
        tags[count++] = text_of(&out);
    }
    put_series(&out, decode(&text, json_tree_get(stored, "measurement")->text), tags, count,
               time_ns);
    char *series = text_of(&out);
    buf_free(&out);
    buf_free(&text);
    return series;
}

static void
add_corpus_point(struct entries *entries, const struct json_node *stored, int64_t stamp_ns)
{
    const struct json_node *ts = json_tree_get(stored, "ts");
    char *series = corpus_series(stored, json_tree_null(ts) ? stamp_ns : json_tree_i64(ts));
    struct buf key, value, name;

    buf_init(&key, 1 << 24);
    buf_init(&value, 1 << 24);
    buf_init(&name, 1 << 24);
    for (const struct json_node *f = json_tree_get(stored, "fields")->first; f != NULL;
         f = f->next) {
        const struct json_node *type = json_tree_at(f, 0);
        assert_int_equal(buf_printf(&key, "%s ", series), ERR_OK);
        put_hex(&key, decode(&name, f->key));
        assert_int_equal(buf_printf(&key, " %.*s", SLICE_PRI(type->text)), ERR_OK);
        put_corpus_value(&value, type, json_tree_at(f, 1));
        add_entry(entries, &key, &value);
    }
    free(series);
    buf_free(&key);
    buf_free(&value);
    buf_free(&name);
}

/* ---- what we make of it ---- */

static struct slice
plain(struct buf *out, enum point_part part, struct slice raw)
{
    buf_clear(out);
    assert_int_equal(point_put(out, part, raw), ERR_OK);
    return buf_peek(out);
}

static char *
own_series(const struct point *point, int64_t time_ns)
{
    struct buf out, key, value;
    struct slice rest = point->tags;
    struct point_tag tag;
    char *tags[300];
    size_t count = 0;

    buf_init(&out, 1 << 24);
    buf_init(&key, 1 << 24);
    buf_init(&value, 1 << 24);
    while (point_next_tag(&rest, &tag)) {
        put_tag(&out, plain(&key, POINT_TAG, tag.key), plain(&value, POINT_TAG, tag.value));
        assert_true(count < 300);
        tags[count++] = text_of(&out);
    }
    put_series(&out, plain(&key, POINT_MEASUREMENT, point->measurement), tags, count, time_ns);
    char *series = text_of(&out);
    buf_free(&out);
    buf_free(&key);
    buf_free(&value);
    return series;
}

static const char *const type_names[] = {"float", "integer", "unsigned", "string", "boolean"};

static void
put_own_value(struct buf *out, const struct point_field *field)
{
    struct buf text;

    buf_init(&text, 1 << 24);
    switch (field->type) {
    case POINT_FLOAT:
        assert_int_equal(buf_printf(out, "%.17g", field->value.number), ERR_OK);
        break;
    case POINT_INTEGER:
        assert_int_equal(buf_printf(out, "%lld", (long long)field->value.integer), ERR_OK);
        break;
    case POINT_UNSIGNED:
        assert_int_equal(buf_printf(out, "%llu", (unsigned long long)field->value.whole), ERR_OK);
        break;
    case POINT_TEXT:
        put_hex(out, plain(&text, POINT_STRING, field->text));
        break;
    case POINT_BOOLEAN:
        assert_int_equal(buf_add_text(out, field->value.truth ? "true" : "false"), ERR_OK);
        break;
    }
    buf_free(&text);
}

static void
add_own_point(struct entries *entries, const struct lineproto_point *parsed)
{
    struct buf line, key, value, name;
    struct point point;
    struct point_field field;
    struct slice rest;

    buf_init(&line, 1 << 24);
    buf_init(&key, 1 << 24);
    buf_init(&value, 1 << 24);
    buf_init(&name, 1 << 24);
    assert_int_equal(buf_add(&line, parsed->key), ERR_OK);
    assert_int_equal(buf_add_byte(&line, ' '), ERR_OK);
    assert_int_equal(buf_add(&line, parsed->fields), ERR_OK);
    assert_int_equal(point_open(&point, buf_peek(&line)), ERR_OK);
    char *series = own_series(&point, parsed->time_ns);
    for (rest = point.fields; point_next_field(&rest, &field);) {
        assert_int_equal(buf_printf(&key, "%s ", series), ERR_OK);
        put_hex(&key, plain(&name, POINT_FIELD_KEY, field.key));
        assert_int_equal(buf_printf(&key, " %s", type_names[field.type]), ERR_OK);
        put_own_value(&value, &field);
        add_entry(entries, &key, &value);
    }
    assert_int_equal(rest.n, 0);
    free(series);
    buf_free(&line);
    buf_free(&key);
    buf_free(&value);
    buf_free(&name);
}

/* What the server would have answered, from what we found. */
struct verdict {
    struct buf parse;    /* its lines of "unable to parse" */
    struct buf reserved; /* the first refusal by storage */
    size_t good, bad, refused;
};

static void
note_bad(struct verdict *v, const struct lineproto_bad *bad)
{
    if (bad->reason == LINEPROTO_TIME_TAG || bad->reason == LINEPROTO_TIME_FIELD) {
        if (v->refused++ == 0)
            assert_int_equal(lineproto_put_reason(&v->reserved, bad), ERR_OK);
        return;
    }
    if (v->bad++ > 0)
        assert_int_equal(buf_add_byte(&v->parse, '\n'), ERR_OK);
    assert_int_equal(buf_add_text(&v->parse, "unable to parse '"), ERR_OK);
    assert_int_equal(buf_add(&v->parse, bad->line), ERR_OK);
    assert_int_equal(buf_add_text(&v->parse, "': "), ERR_OK);
    assert_int_equal(lineproto_put_reason(&v->parse, bad), ERR_OK);
}

static void
run(struct slice body, enum precision precision, struct verdict *v, struct entries *entries)
{
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;

    lineproto_init(&lp, body, precision, NOW_NS);
    while ((event = lineproto_next(&lp, &point, &bad)) != LINEPROTO_END) {
        if (event == LINEPROTO_BAD) {
            note_bad(v, &bad);
            continue;
        }
        v->good++;
        add_own_point(entries, &point);
    }
}

/* The server's error text from a verdict, or an empty one. */
static void
put_error(struct buf *out, const struct verdict *v)
{
    if (v->refused > 0)
        assert_int_equal(buf_printf(out, "partial write: %.*s dropped=%zu",
                                    SLICE_PRI(buf_peek(&v->reserved)), v->refused),
                         ERR_OK);
    else if (v->bad > 0 && v->good > 0) {
        assert_int_equal(buf_add_text(out, "partial write: "), ERR_OK);
        assert_int_equal(buf_add(out, buf_peek(&v->parse)), ERR_OK);
        assert_int_equal(buf_add_text(out, " dropped=0"), ERR_OK);
    } else
        assert_int_equal(buf_add(out, buf_peek(&v->parse)), ERR_OK);
}

/* Error texts are compared as they look in JSON: an invalid byte is U+FFFD there. */
static bool
same_error(const struct json_node *expected, struct slice own)
{
    struct buf b;
    bool equal;

    buf_init(&b, 1 << 24);
    while (own.n > 0) {
        size_t n = text_utf8(own);
        assert_int_equal(buf_add(&b, n > 0 ? slice_to(own, n) : SLICE("\xef\xbf\xbd")), ERR_OK);
        own = slice_from(own, n > 0 ? n : 1);
    }
    equal = slice_eq(buf_peek(&b), json_tree_null(expected) ? SLICE("") : expected->text);
    buf_free(&b);
    return equal;
}

static bool
has_label(const struct json_node *row, const char *label)
{
    for (const struct json_node *j = json_tree_get(row, "labels")->first; j != NULL; j = j->next)
        if (json_tree_is(j, label))
            return true;
    return false;
}

static bool
row_agrees(const struct json_node *row, bool explain)
{
    static struct entries own, expected;
    const struct json_node *spelling = json_tree_get(row, "precision"),
                           *points = json_tree_get(row, "stored");
    const struct json_node *error = json_tree_get(row, "error");
    enum precision precision = PRECISION_NS;
    struct buf body, text;
    struct verdict v = {.good = 0};
    struct slice guarded;
    bool agree, schema = has_label(row, "storage_schema");

    if (!json_tree_null(spelling) && precision_parse(spelling->text, &precision) != ERR_OK)
        return false;
    if (schema) /* a forwarder has none: what counts is what would be stored without one */
        points = json_tree_get(row, "parsed_if_schemaless");
    buf_init(&body, 1 << 24);
    buf_init(&text, 1 << 24);
    buf_init(&v.parse, 1 << 24);
    buf_init(&v.reserved, 1 << 24);
    assert_int_equal(text_unbase64(&body, json_tree_get(row, "body_b64")->text), ERR_OK);
    guarded = guard_copy(buf_peek(&body));
    run(guarded, precision, &v, &own);
    guard_free(guarded);
    put_error(&text, &v);
    for (const struct json_node *p = points->first; p != NULL; p = p->next)
        add_corpus_point(&expected, p,
                         precision_from_ns(NOW_NS, precision) * precision_unit_ns(precision));
    settle(&own);
    settle(&expected);
    agree = same(&own, &expected) && (schema || same_error(error, buf_peek(&text)));
    if (!agree && explain)
        printf("%.*s: %.*s\n  %zu entries, expected %zu\n  got: %.*s\n  for: %.*s\n",
               SLICE_PRI(json_tree_get(row, "id")->text),
               SLICE_PRI(slice_to(json_tree_get(row, "body_b64")->text, 300)), own.count,
               expected.count, SLICE_PRI(buf_peek(&text)), error == NULL ? 0 : (int)error->text.n,
               error == NULL ? "" : (const char *)error->text.p);
    clear(&own);
    clear(&expected);
    buf_free(&body);
    buf_free(&text);
    buf_free(&v.parse);
    buf_free(&v.reserved);
    return agree;
}

static void
load(struct buf *out, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *room;
    size_t n;

    if (file == NULL)
        fail_msg("%s is missing: run the test in the source folder", path);
    do {
        room = buf_reserve(out, 1 << 16);
        assert_non_null(room);
        n = fread(room, 1, 1 << 16, file);
        buf_commit(out, n);
    } while (n > 0);
    fclose(file);
}

/* Whether ${id} starts a line of the list. */
static bool
listed(struct slice list, struct slice id)
{
    struct slice line;

    while (slice_split(&list, '\n', &line))
        if (slice_starts(line, id) && line.n > id.n && line.p[id.n] == ' ')
            return true;
    return false;
}

static void
every_row_agrees_or_is_listed(void **state)
{
    struct buf rows, list;
    struct slice rest, line;
    struct json_tree doc;
    size_t count = 0, wrong = 0;

    (void)state;
    buf_init(&rows, 1 << 26);
    buf_init(&list, 1 << 20);
    load(&rows, "tests/vectors/line_protocol.jsonl");
    load(&list, "tests/vectors/line_protocol_deviations.txt");
    rest = buf_peek(&rows);
    for (; slice_split(&rest, '\n', &line) && line.n > 0; count++) {
        assert_int_equal(json_tree_parse(&doc, line), ERR_OK);
        struct slice id = json_tree_get(doc.root, "id")->text;
        bool deviates = listed(buf_peek(&list), id);
        if (row_agrees(doc.root, !deviates) == deviates) {
            if (deviates)
                printf("%.*s agrees: take it off the list\n", SLICE_PRI(id));
            wrong++;
        }
        json_tree_free(&doc);
    }
    assert_int_equal(count, 1344);
    assert_int_equal(wrong, 0);
    buf_free(&rows);
    buf_free(&list);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_agrees_or_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
