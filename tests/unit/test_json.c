/*
 * test_json.c: reading JSON. Vectors are written after RFC 8259.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "support/guard.h"

static const char answer[] =
    " {\"results\" : [ {\"statement_id\":0,\"series\":[{\"name\":\"sinks\",\"columns\":[\"name\",\"n\"],"
    "\"values\":[[\"a\\u00e9\\n\",1],[null,-2.5e3],[true,false]]}]},{\"error\":\"no\"} ] , \"x\":{} ,"
    "\"e\":[]}\n";

static void
test_walking(void **state)
{
    struct json root, v, row;
    struct json_walk w;
    struct slice key;
    struct buf text;
    uint64_t n;

    (void)state;
    buf_init(&text, 100);
    assert_int_equal(json_parse(slice_of(answer), &root), ERR_OK);
    assert_int_equal(root.type, JSON_OBJECT);
    assert_true(json_get(&root, "results", &v));
    assert_int_equal(v.type, JSON_ARRAY);
    json_walk(&w, &v);
    assert_true(json_next(&w, &key, &row));
    assert_int_equal(key.n, 0);
    assert_true(json_get(&row, "statement_id", &v));
    assert_int_equal(json_u64(&v, &n), ERR_OK);
    assert_int_equal(n, 0);
    assert_false(json_get(&row, "error", &v));
    assert_int_equal(v.type, JSON_NULL);
    assert_true(json_next(&w, NULL, &row));
    assert_true(json_get(&row, "error", &v));
    assert_true(json_is(v.raw, "no"));
    assert_false(json_is(v.raw, "nope"));
    assert_false(json_is(v.raw, "n"));
    assert_false(json_next(&w, NULL, &row));
    assert_true(json_get(&root, "x", &v));
    json_walk(&w, &v);
    assert_false(json_next(&w, &key, &row));
    assert_true(json_get(&root, "e", &v));
    json_walk(&w, &v);
    assert_false(json_next(&w, &key, &row));
    assert_int_equal(json_text(&text, SLICE("\"a\\u00e9\\n\\\"\\/\"")), ERR_OK);
    assert_true(slice_eq(buf_peek(&text), SLICE("a\xC3\xA9\n\"/")));
    buf_free(&text);
}

static void
test_strings(void **state)
{
    static const struct {
        const char *raw, *text;
    } rows[] = {
        {"\"\"", ""},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"\\ud83d\"", "\xEF\xBF\xBD"},
        {"\"\\ude00x\"", "\xEF\xBF\xBDx"},
        {"\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                               "A"},
        {"\"\xff\"", "\xEF\xBF\xBD"},
        {"\"\\b\\f\\n\\r\\t\\\\\"", "\b\f\n\r\t\\"},
        {"\"\xE2\x82\xAC\"", "\xE2\x82\xAC"},
    };
    struct buf text;
    struct json v;

    (void)state;
    buf_init(&text, 100);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(json_parse(slice_of(rows[i].raw), &v), ERR_OK);
        buf_clear(&text);
        assert_int_equal(json_text(&text, v.raw), ERR_OK);
        assert_true(slice_eq(buf_peek(&text), slice_of(rows[i].text)));
        assert_true(json_is(v.raw, rows[i].text));
    }
    buf_free(&text);
}

static void
test_what_is_no_json(void **state)
{
    static const char *const wrong[] = {
        "",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "-",
        "1e",
        "+1",
        "nul",
        "truefalse",
        "[1 2]",
        "\"a",
        "\"\\x\"",
        "\"\\u12",
        "\"\n\"",
        "{\"a\":1,}",
        "[1}",
        "1 2",
        "\"\\",
        "[\"a\":1]",
        "{1:2}",
        "\"\\u00g0\"",
        "{\"a\":1 \"b\":2}",
    };
    static const char *const right[] = {"0",    "-0.5E+10", " [ ] ",  "{}",
                                        "\"\"", "null",     "[[[]]]", "{\"a\":{\"b\":[1,{}]}}"};
    struct json v;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (json_parse(slice_of(wrong[i]), &v) != ERR_BAD)
            fail_msg("taken: %s", wrong[i]);
    }
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        if (json_parse(slice_of(right[i]), &v) != ERR_OK)
            fail_msg("refused: %s", right[i]);
    }
}

static void
test_every_prefix_is_refused(void **state)
{
    struct json v;

    (void)state;
    for (size_t n = 0; n + 2 < sizeof(answer); n++) { /* all but the last } and the line end */
        struct slice s = guard_copy(slice_make(answer, n));

        assert_int_equal(json_parse(s, &v), ERR_BAD);
        guard_free(s);
    }
}

static void
test_nesting_is_bounded(void **state)
{
    char text[2 * JSON_DEPTH_MAX + 4];
    struct json v;

    (void)state;
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(json_parse(slice_make(text, 2 * depth), &v),
                         depth == JSON_DEPTH_MAX ? ERR_OK : ERR_RANGE);
    }
}

static void
test_no_room(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 3);
    assert_int_equal(json_text(&text, SLICE("\"abcd\"")), ERR_NOMEM);
    assert_int_equal(buf_len(&text), 0);
    buf_free(&text);
    assert_int_equal(mem_live(), 0);
}

static void
test_numbers(void **state)
{
    struct json v;
    uint64_t n = 7;

    (void)state;
    assert_int_equal(json_parse(SLICE("18446744073709551615"), &v), ERR_OK);
    assert_int_equal(json_u64(&v, &n), ERR_OK);
    assert_true(n == UINT64_MAX);
    assert_int_equal(json_parse(SLICE("1.5"), &v), ERR_OK);
    assert_int_equal(json_u64(&v, &n), ERR_BAD);
    assert_int_equal(json_parse(SLICE("\"1\""), &v), ERR_OK);
    assert_int_equal(json_u64(&v, &n), ERR_BAD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walking),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_what_is_no_json),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
