/*
 * test_point_forms.c: a line to each form and back is the same point: all stored points of the
 * corpus and a million made up ones; golden bytes; limits.
 * Vectors: tests/vectors/line_protocol.jsonl; the columnar body is the one of HyperbyteDB's own
 * test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "msgpack/msgpack_write.h"
#include "point/ingest.h"
#include "point/point.h"
#include "point/point_json.h"
#include "point/point_msgpack.h"
#include "support/guard.h"
#include "support/json_tree.h"
#include "support/point_forms.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MADE_UP 30000
#else
#define MADE_UP 1000000
#endif

#define TIME INT64_C(1700000000000000000)

static void
assert_forms(struct slice line, int64_t time_ns)
{
    const char *wrong = point_forms_all(line, time_ns);

    if (wrong != NULL)
        fail_msg("%s: %.*s", wrong, SLICE_PRI(slice_to(line, 300)));
}

/* A backslash before a character that has a backslash of its own. */
static bool
has_double_escape(struct slice raw)
{
    for (size_t i = 0; i + 2 < raw.n; i++)
        if (raw.p[i] == '\\' && raw.p[i + 1] == '\\' && strchr(",= ", raw.p[i + 2]) != NULL)
            return true;
    return false;
}

/*
 * Names that cannot make the way through MessagePack in any order: a field named time, which nobody
 * takes alone, and one that starts with a blank, which cannot be the first (the sink sends such
 * points whole); and names in which a backslash stands before a character that has to be escaped:
 * what such a line means depends on all that stands around them.
 */
static bool
is_odd(struct slice line)
{
    struct slice rest, key, value;
    struct point p;
    bool odd;

    assert_int_equal(point_open(&p, line), ERR_OK);
    odd = has_double_escape(slice_make(line.p, (size_t)(p.fields.p - line.p)));
    for (rest = p.fields; !odd && point_cut_field(&rest, &key, &value);)
        odd = has_double_escape(key) || slice_eq(key, SLICE("time")) ||
              (key.n > 0 && (key.p[0] == '\t' || key.p[0] == 0));
    return odd;
}

/* Every good line of a body. */
static size_t
check_body(struct slice body)
{
    struct lineproto parser;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    struct buf line;
    size_t good = 0;

    buf_init(&line, 1 << 26);
    lineproto_init(&parser, body, PRECISION_NS, TIME);
    while ((event = lineproto_next(&parser, &point, &bad)) != LINEPROTO_END) {
        if (event == LINEPROTO_BAD)
            continue;
        buf_clear(&line);
        assert_int_equal(buf_add(&line, point.key), ERR_OK);
        assert_int_equal(buf_add_byte(&line, ' '), ERR_OK);
        assert_int_equal(buf_add(&line, point.fields), ERR_OK);
        if (is_odd(buf_peek(&line)))
            continue;
        assert_forms(buf_peek(&line), point.time_ns);
        good++;
    }
    buf_free(&line);
    return good;
}

/* ---- the corpus ---- */

static size_t
check_row(struct slice row)
{
    struct json_tree tree;
    struct buf body;
    size_t good = 0;

    buf_init(&body, 1 << 26);
    assert_int_equal(json_tree_parse(&tree, row), ERR_OK);
    assert_int_equal(text_unbase64(&body, json_tree_get(tree.root, "body_b64")->text), ERR_OK);
    good = check_body(buf_peek(&body));
    json_tree_free(&tree);
    buf_free(&body);
    return good;
}

static void
all_points_of_the_corpus(void **state)
{
    FILE *file = fopen("tests/vectors/line_protocol.jsonl", "rb");
    size_t cap = (size_t)64 << 20, n, good = 0;
    char *text = malloc(cap);
    struct slice rest, row;

    (void)state;
    if (file == NULL)
        fail_msg("tests/vectors/line_protocol.jsonl is missing: run the test in the source folder");
    n = fread(text, 1, cap, file);
    assert_true(n < cap);
    fclose(file);
    for (rest = slice_make(text, n); slice_split(&rest, '\n', &row);)
        if (row.n > 0)
            good += check_row(row);
    assert_true(good > 1500);
    free(text);
}

/* ---- made up ones ---- */

static uint64_t seed = 88172645463325252;

static uint64_t
next(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* Pieces of names: escapes of each kind, and bytes that some form has to treat. */
static const char *const pieces[] = {
    "a",    "b", "host", "\\,",  "\\ ",  "\\=",      "\\\"",         "\"",   "\\",
    "\\\\", "<", "&",    "\xc3", "\xff", "\xc3\xa9", "\xe2\x80\xa8", "\x01", "\xf0\x9f\x98\x80",
    "=",    "t", "#",    "'",    "/",    "\t"};

static void
put_name(struct buf *out)
{
    size_t count = 1 + next(4);

    for (size_t i = 0; i < count; i++) {
        const char *piece = next(3) == 0 ? pieces[next(sizeof(pieces) / sizeof(pieces[0]))] : "n";

        assert_int_equal(buf_add_text(out, piece), ERR_OK);
    }
}

static void
put_float(struct buf *out)
{
    uint64_t bits = next(UINT64_MAX) & ~(UINT64_C(1) << 62); /* finite */
    double value;

    memcpy(&value, &bits, sizeof(value));
    switch (next(4)) {
    case 0:
        assert_int_equal(buf_printf(out, "%.*g", (int)(10 + next(10)), value), ERR_OK);
        break;
    case 1:
        assert_int_equal(buf_printf(out, "%d.%u", (int)next(2000) - 1000, (unsigned)next(1000000)),
                         ERR_OK);
        break;
    case 2:
        assert_int_equal(buf_printf(out, "%s%ue%d", next(2) ? "-" : "", (unsigned)next(100),
                                    (int)next(600) - 300),
                         ERR_OK);
        break;
    default:
        assert_int_equal(buf_printf(out, "%s%u", next(2) ? "-" : "", (unsigned)next(3)), ERR_OK);
        break;
    }
}

static void
put_value(struct buf *out, uint64_t kind)
{
    static const char *const truths[] = {"t", "true", "False", "F"};

    switch (kind) {
    case 0:
        assert_int_equal(buf_printf(out, "%lldi", (long long)next(UINT64_MAX)), ERR_OK);
        break;
    case 1:
        assert_int_equal(buf_printf(out, "%lluu", (unsigned long long)next(UINT64_MAX)), ERR_OK);
        break;
    case 2:
        assert_int_equal(buf_add_text(out, truths[next(4)]), ERR_OK);
        break;
    case 3:
        assert_int_equal(buf_add_text(out, "\""), ERR_OK);
        put_name(out);
        put_name(out);
        assert_int_equal(buf_add_text(out, next(2) ? "\n\"" : "\""), ERR_OK);
        break;
    default:
        put_float(out);
        break;
    }
}

static void
put_line(struct buf *out)
{
    size_t tags = next(4), fields = 1 + next(6);
    uint64_t kind = next(8);

    put_name(out);
    for (size_t i = 0; i < tags; i++) {
        assert_int_equal(buf_add_text(out, ","), ERR_OK);
        put_name(out);
        assert_int_equal(buf_add_text(out, "="), ERR_OK);
        put_name(out);
    }
    for (size_t i = 0; i < fields; i++) {
        assert_int_equal(buf_add_text(out, i == 0 ? " " : ","), ERR_OK);
        put_name(out);
        assert_int_equal(buf_add_text(out, "="), ERR_OK);
        put_value(out, next(2) ? kind : next(8));
    }
    assert_int_equal(buf_printf(out, " %lld\n", (long long)next(UINT64_MAX)), ERR_OK);
}

static void
made_up_points(void **state)
{
    struct buf line;
    size_t good = 0;

    (void)state;
    buf_init(&line, 1 << 16);
    while (good < MADE_UP) {
        buf_clear(&line);
        put_line(&line);
        good += check_body(buf_peek(&line));
    }
    buf_free(&line);
}

/* ---- many fields ---- */

static void
assert_many(size_t count, size_t names, size_t room)
{
    struct buf line, out;

    buf_init(&line, 1 << 24);
    buf_init(&out, room);
    assert_int_equal(buf_add_text(&line, "m "), ERR_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_printf(&line, "%sf%zu=%zu", i == 0 ? "" : ",", i * 7919 % names, i),
                         ERR_OK);
    assert_int_equal(point_json_put(&out, buf_peek(&line), 0, PRECISION_NS), ERR_OK);
    if (count < 3000)
        assert_forms(buf_peek(&line), TIME);
    buf_free(&line);
    buf_free(&out);
}

static void
many_fields_and_many_repeats(void **state)
{
    (void)state;
    for (size_t count = 30; count < 36; count++) {
        assert_many(count, count, 1 << 16);
        assert_many(count, 3, 1 << 16);
    }
    assert_many(2000, 2000, 1 << 20);
    assert_many(2000, 100, 1 << 20);
    assert_many(2000, 1990, 1 << 20);
    assert_many(200000, 200000, 1 << 24); /* minutes if it were quadratic */
    assert_many(200000, 1000, 1 << 24);
}

/* ---- golden bytes ---- */

static const uint8_t golden_column[] =
    "\x85\xabmeasurement\xa3"
    "cpu\xa4tags\x81\xa4host\xa2h1\xa5"
    "field\xa4idle\xa6values\x92\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xcb\x40\x00\x00\x00\x00\x00"
    "\x00\x00\xaatimestamps\x92\xcf\x00\x00\x01\x8b\xcf\xe5\x68\x00\xcf\x00\x00\x01\x8b\xcf\xe5"
    "\x6b\xe8";

static void
the_columnar_body_of_hyperbytedb(void **state)
{
    struct slice golden = slice_make(golden_column, sizeof(golden_column) - 1);
    struct slice line = SLICE("cpu,host=h1 idle=1");
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct ingest in;
    struct buf out, text;
    struct wr w;

    (void)state;
    buf_init(&out, 1 << 16);
    buf_init(&text, 1 << 16);
    wr_init(&w, &out);
    point_msgpack_column(&w, line, SLICE("idle"), 2);
    msgpack_write_f64(&w, 1.0);
    msgpack_write_f64(&w, 2.0);
    point_msgpack_times(&w, 2);
    msgpack_write_i64(&w, 1700000000000);
    msgpack_write_i64(&w, 1700000001000);
    assert_int_equal(wr_done(&w), ERR_OK);
    assert_int_equal(buf_len(&out), golden.n);
    assert_memory_equal(buf_peek(&out).p, golden.p, golden.n);

    ingest_columns(&in, golden, &text, PRECISION_MS, 0);
    assert_int_equal(ingest_next(&in, &point, &bad), INGEST_POINT);
    assert_true(slice_eq(buf_peek(&text), SLICE("cpu,host=h1 idle=1 1700000000000")));
    assert_true(point.time_ns == TIME);
    assert_int_equal(ingest_next(&in, &point, &bad), INGEST_POINT);
    assert_true(slice_eq(buf_peek(&text), SLICE("cpu,host=h1 idle=2 1700000001000")));
    assert_int_equal(ingest_next(&in, &point, &bad), INGEST_END);
    buf_free(&out);
    buf_free(&text);
}

/* Every strict prefix is broken, on a guard page. */
static void
prefixes_are_broken(void **state)
{
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct ingest in;
    struct buf rows, text;

    (void)state;
    buf_init(&rows, 1 << 16);
    buf_init(&text, 1 << 16);
    assert_int_equal(
        point_msgpack_put(&rows, SLICE("m,t=a f=1.5,i=2i,u=3u,s=\"x\",b=t"), TIME, PRECISION_NS),
        ERR_OK);
    for (size_t n = 0; n < buf_len(&rows); n++) {
        struct slice copy = guard_copy(slice_to(buf_peek(&rows), n));

        ingest_rows(&in, copy, &text, PRECISION_NS, 0);
        assert_int_equal(ingest_next(&in, &point, &bad), INGEST_BROKEN);
        guard_free(copy);
    }
    for (size_t n = 0; n < sizeof(golden_column) - 1; n++) {
        struct slice copy = guard_copy(slice_make(golden_column, n));

        ingest_columns(&in, copy, &text, PRECISION_NS, 0);
        assert_int_equal(ingest_next(&in, &point, &bad), INGEST_BROKEN);
        guard_free(copy);
    }
    buf_free(&rows);
    buf_free(&text);
}

static void
what_no_line_can_hold_is_refused_alone(void **state)
{
    static const struct {
        const char *measurement, *key, *value, *field;
        enum lineproto_reason reason;
    } cases[] = {
        {"", "t", "v", "f", LINEPROTO_MISSING_MEASUREMENT},
        {"m\\", "t", "v", "f", LINEPROTO_UNWRITABLE},
        {"m", "t\\", "v", "f", LINEPROTO_UNWRITABLE},
        {"m", "t", "v\\", "f", LINEPROTO_UNWRITABLE},
        {"m", "t", "v", "f\\", LINEPROTO_UNWRITABLE},
        {"#m", "t", "v", "f", LINEPROTO_UNWRITABLE},
        {"\tm", "t", "v", "f", LINEPROTO_UNWRITABLE},
        {"m", "t", "", "f", LINEPROTO_MISSING_TAG_VALUE},
        {"m", "time", "v", "f", LINEPROTO_TIME_TAG},
        {"m", "t", "v", "time", LINEPROTO_TIME_FIELD},
    };
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct ingest in;
    struct buf body, text;

    (void)state;
    buf_init(&body, 1 << 16);
    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wr w;

        buf_clear(&body);
        wr_init(&w, &body);
        msgpack_write_map(&w, 4);
        msgpack_write_text(&w, "measurement");
        msgpack_write_text(&w, cases[i].measurement);
        msgpack_write_text(&w, "tags");
        msgpack_write_map(&w, 1);
        msgpack_write_text(&w, cases[i].key);
        msgpack_write_text(&w, cases[i].value);
        msgpack_write_text(&w, "field");
        msgpack_write_text(&w, cases[i].field);
        msgpack_write_text(&w, "values");
        msgpack_write_array(&w, 1);
        msgpack_write_f64(&w, 1);
        assert_int_equal(wr_done(&w), ERR_OK);
        ingest_columns(&in, buf_peek(&body), &text, PRECISION_NS, 0);
        assert_int_equal(ingest_next(&in, &point, &bad), INGEST_BAD);
        assert_int_equal(bad.reason, cases[i].reason);
        assert_int_equal(ingest_next(&in, &point, &bad), INGEST_END);
    }
    buf_free(&body);
    buf_free(&text);
}

static void
want_of_memory_leaves_nothing(void **state)
{
    struct slice line = SLICE("m,t=\xff f=1.5,i=2i,u=3u,s=\"x\",b=t");

    (void)state;
    for (size_t room = 0; room < 200; room++) {
        struct buf out;
        enum err json, rows;

        buf_init(&out, room);
        json = point_json_put(&out, line, TIME, PRECISION_NS);
        assert_true(json == ERR_OK || (json == ERR_NOMEM && buf_len(&out) == 0));
        buf_clear(&out);
        rows = point_msgpack_put(&out, line, TIME, PRECISION_NS);
        assert_true(rows == ERR_OK || (rows == ERR_NOMEM && buf_len(&out) == 0));
        buf_free(&out);
    }
    for (size_t n = 1; n < 20; n++) {
        struct buf out;

        buf_init(&out, 1 << 16);
        mem_fail_at(n);
        (void)!point_json_put(&out, line, TIME, PRECISION_NS);
        mem_fail_at(0);
        buf_free(&out);
    }
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_columnar_body_of_hyperbytedb),
        cmocka_unit_test(prefixes_are_broken),
        cmocka_unit_test(what_no_line_can_hold_is_refused_alone),
        cmocka_unit_test(want_of_memory_leaves_nothing),
        cmocka_unit_test(many_fields_and_many_repeats),
        cmocka_unit_test(all_points_of_the_corpus),
        cmocka_unit_test(made_up_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
