/*
 * test_json_tree.c: the JSON reader of the tests: what it takes, and that it is strict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/guard.h"
#include "support/json_tree.h"

static const char sample[] =
    " {\"a\": [1, -2.5e3, true, null, {}], \"b\\u00e4\\n\": \"x\\ud83d\\ude00\\/\", "
    "\"a2\": 18446744073709551615, \"twice\": 1, \"twice\": false} ";

static void
values_are_found(void **state)
{
    struct json_tree doc;
    struct slice text = guard_copy(slice_of(sample));
    const struct json_node *a;

    (void)state;
    assert_int_equal(json_tree_parse(&doc, text), ERR_OK);
    guard_free(text);
    a = json_tree_get(doc.root, "a");
    assert_int_equal(a->count, 5);
    assert_int_equal(json_tree_i64(json_tree_at(a, 0)), 1);
    assert_true(json_tree_f64(json_tree_at(a, 1)) < -2499.9);
    assert_true(json_tree_true(json_tree_at(a, 2)));
    assert_true(json_tree_null(json_tree_at(a, 3)));
    assert_int_equal(json_tree_at(a, 4)->type, TREE_OBJECT);
    assert_null(json_tree_at(a, 5));
    assert_true(json_tree_is(json_tree_get(doc.root, "b\xc3\xa4\n"), "x\xf0\x9f\x98\x80/"));
    assert_true(json_tree_u64(json_tree_get(doc.root, "a2")) == UINT64_MAX);
    assert_int_equal(json_tree_get(doc.root, "twice")->type, TREE_BOOLEAN);
    assert_null(json_tree_get(json_tree_at(NULL, 1), "x"));
    json_tree_free(&doc);
    assert_int_equal(mem_live(), 0);
}

static void
what_is_not_quite_json_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "[1 2]",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "tru",
        "nulll",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "'a'",
        "[1]]",
        "1 2",
        "[1}",
        "{\"a\":1]",
        "NaN",
        "Infinity",
        "\"\xff\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "{\"a\":}",
        "[\"a\":1]",
        "\"\xed\xa0\x80\"",
    };
    struct json_tree doc;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct slice text = guard_copy(slice_of(bad[i]));
        if (json_tree_parse(&doc, text) != ERR_BAD)
            fail_msg("accepted: %s", bad[i]);
        json_tree_free(&doc);
        guard_free(text);
    }
    for (size_t n = 1; n + 2 < sizeof(sample); n++) {
        struct slice text = guard_copy(slice_make(sample, n));
        assert_int_equal(json_tree_parse(&doc, text), ERR_BAD);
        json_tree_free(&doc);
        guard_free(text);
    }
}

static void
depth_and_memory_are_bounded(void **state)
{
    struct json_tree doc;
    char deep[2 * TREE_DEPTH_MAX + 4];
    enum err err;
    size_t n = 0;

    (void)state;
    memset(deep, '[', TREE_DEPTH_MAX + 1);
    memset(deep + TREE_DEPTH_MAX + 1, ']', TREE_DEPTH_MAX + 1);
    assert_int_equal(json_tree_parse(&doc, slice_make(deep, 2 * TREE_DEPTH_MAX + 2)), ERR_RANGE);
    json_tree_free(&doc);
    assert_int_equal(json_tree_parse(&doc, slice_make(deep + 1, 2 * TREE_DEPTH_MAX)), ERR_OK);
    json_tree_free(&doc);
    do {
        mem_fail_at(++n);
        err = json_tree_parse(&doc, slice_of(sample));
        mem_fail_at(0);
        json_tree_free(&doc);
        assert_int_equal(mem_live(), 0);
    } while (err == ERR_NOMEM && n < 100);
    assert_int_equal(err, ERR_OK);
    assert_int_equal(n, 13);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(what_is_not_quite_json_is_refused),
        cmocka_unit_test(depth_and_memory_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
