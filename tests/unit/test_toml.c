/*
 * test_toml.c: the TOML subset. Vectors are small texts written after TOML 1.0.0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "daemon/toml.h"
#include "support/guard.h"

struct reading {
    struct toml_reader r;
    struct toml_item item;
};

static void
begin(struct reading *g, const char *text)
{
    toml_init(&g->r, slice_of(text));
}

static enum toml_kind
next(struct reading *g)
{
    assert_int_equal(toml_next(&g->r, &g->item), ERR_OK);
    return g->item.kind;
}

static void
end(struct reading *g)
{
    assert_int_equal(next(g), TOML_END);
    assert_int_equal(next(g), TOML_END);
    toml_free(&g->r);
    assert_int_equal(mem_live(), 0);
}

static void
expect_key(struct reading *g, const char *name, unsigned line)
{
    assert_int_equal(next(g), TOML_KEY);
    assert_true(slice_eq(g->item.name, slice_of(name)));
    assert_int_equal(g->item.line, line);
}

static void
test_a_whole_file(void **state)
{
    struct reading g;

    (void)state;
    begin(&g, "\xEF\xBB\xBF# comment \xff\r\n"
              "\n"
              " [ server ] # behind\r\n"
              "bind = \"::\"\n"
              "port\t=\t8_086# close\n"
              "on = true\n"
              "off=false\n"
              "hosts = [ # many\n"
              "  \"a\", 'b',\n"
              "\n"
              "  \"\", # last\n"
              "]\n"
              "none = []\n"
              "last = 'C:\\x'");
    assert_int_equal(next(&g), TOML_TABLE);
    assert_true(slice_eq(g.item.name, SLICE("server")));
    assert_int_equal(g.item.line, 3);
    expect_key(&g, "bind", 4);
    assert_int_equal(g.item.value.type, TOML_STRING);
    assert_true(slice_eq(g.item.value.text, SLICE("::")));
    expect_key(&g, "port", 5);
    assert_int_equal(g.item.value.type, TOML_INTEGER);
    assert_int_equal(g.item.value.integer, 8086);
    expect_key(&g, "on", 6);
    assert_int_equal(g.item.value.type, TOML_BOOLEAN);
    assert_true(g.item.value.boolean);
    expect_key(&g, "off", 7);
    assert_false(g.item.value.boolean);
    expect_key(&g, "hosts", 8);
    assert_int_equal(g.item.value.type, TOML_STRINGS);
    assert_int_equal(g.item.value.count, 3);
    assert_true(slice_eq(g.item.value.text, SLICE("a\0b\0\0")));
    expect_key(&g, "none", 13);
    assert_int_equal(g.item.value.count, 0);
    expect_key(&g, "last", 14);
    assert_true(slice_eq(g.item.value.text, SLICE("C:\\x")));
    end(&g);
}

static void
test_strings(void **state)
{
    static const struct {
        const char *text, *value; /* value NULL: an error */
    } rows[] = {
        {"\"\"", ""},
        {"''", ""},
        {"\"a\\tb\\n\\\"\\\\\\b\\f\\r\"", "a\tb\n\"\\\b\f\r"},
        {"\"\\u00e9\\U0001F600\\u20AC\\u0041\"", "\xC3\xA9\xF0\x9F\x98\x80\xE2\x82\xAC"
                                                 "A"},
        {"\"gr\xC3\xBC\xC3\x9F\"", "gr\xC3\xBC\xC3\x9F"},
        {"'#\"\\n'", "#\"\\n"},
        {"\"tab\there\"", "tab\there"},
        {"\"\\uD800\"", NULL},
        {"\"\\u0000\"", NULL},
        {"\"\\U00110000\"", NULL},
        {"\"\\u12\"", NULL},
        {"\"\\x41\"", NULL},
        {"\"\\", NULL},
        {"\"open", NULL},
        {"'open\nx = 1'", NULL},
        {"\"\xff\"", NULL},
        {"\"\x01\"", NULL},
        {"\"\"\"three\"\"\"", NULL},
        {"'''three'''", NULL},
        {"\"a\" \"b\"", NULL},
    };
    char text[128];
    struct reading g;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        strcpy(text, "k = ");
        strcat(text, rows[i].text);
        begin(&g, text);
        if (rows[i].value == NULL) {
            assert_int_equal(next(&g), TOML_ERROR);
            assert_true(slice_eq(g.item.name, SLICE("k")));
            assert_int_not_equal(g.item.error[0], '\0');
        } else {
            expect_key(&g, "k", 1);
            assert_true(slice_eq(g.item.value.text, slice_of(rows[i].value)));
        }
        toml_free(&g.r);
    }
}

static void
test_integers(void **state)
{
    static const struct {
        const char *text;
        enum err err;
        int64_t value;
    } rows[] = {
        {"0", ERR_OK, 0},
        {"+0", ERR_OK, 0},
        {"-0", ERR_OK, 0},
        {"-17", ERR_OK, -17},
        {"+99", ERR_OK, 99},
        {"1_000_000", ERR_OK, 1000000},
        {"9223372036854775807", ERR_OK, INT64_MAX},
        {"-9223372036854775808", ERR_OK, INT64_MIN},
        {"0xDEAD_beef", ERR_OK, 0xDEADBEEF},
        {"0o755", ERR_OK, 493},
        {"0b101", ERR_OK, 5},
        {"9223372036854775808", ERR_RANGE, 0},
        {"-9223372036854775809", ERR_RANGE, 0},
        {"99999999999999999999999", ERR_RANGE, 0},
        {"", ERR_BAD, 0},
        {"-", ERR_BAD, 0},
        {"01", ERR_BAD, 0},
        {"1__0", ERR_BAD, 0},
        {"_1", ERR_BAD, 0},
        {"1_", ERR_BAD, 0},
        {"0x", ERR_BAD, 0},
        {"-0x1", ERR_BAD, 0},
        {"0b2", ERR_BAD, 0},
        {"0a1", ERR_BAD, 0},
        {"1.5", ERR_BAD, 0},
        {"12a", ERR_BAD, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;

        assert_int_equal(toml_integer(slice_of(rows[i].text), &value), rows[i].err);
        assert_true(value == rows[i].value);
    }
}

/* Each wrong line is one error at its line, and what follows it is still read. */
static void
test_errors_are_found_one_by_one(void **state)
{
    static const char *const wrong[] = {
        "k",
        "k =",
        "k = # nothing",
        "= 1",
        "k 1",
        "a.b = 1",
        "\"k\" = 1",
        "k = 1.5",
        "k = yes",
        "k = 1 2",
        "k = 2020-01-01",
        "k = {a = 1}",
        "k = [1, 2]",
        "k = [\"a\" \"b\"]",
        "k = [,]",
        "k = [\"a]",
        "k = [\n1,\n\"b\",\n]",
        "k = 99999999999999999999",
        "[a",
        "[]",
        "[a.b]",
        "[[a]]",
        "[\"a\"]",
        "[a] b",
        "key-that-is-too-long-0123456789012345678901234567890123456789012345678 = 1",
        "k = \x01",
    };
    char text[256];
    struct reading g;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        strcpy(text, "\n");
        strcat(text, wrong[i]);
        strcat(text, "\ngood = 7\n");
        begin(&g, text);
        if (next(&g) != TOML_ERROR)
            fail_msg("no error in: %s", wrong[i]);
        assert_int_equal(g.item.line, 2);
        assert_true(strlen(g.item.error) > 10);
        if (next(&g) != TOML_KEY || !slice_eq(g.item.name, SLICE("good")))
            fail_msg("what follows is lost: %s: %s", wrong[i], g.item.error);
        end(&g);
    }
}

static void
test_an_open_array_is_one_error(void **state)
{
    struct reading g;

    (void)state;
    begin(&g, "\nk = [\n\"a\",\n");
    assert_int_equal(next(&g), TOML_ERROR);
    assert_int_equal(g.item.line, 2);
    end(&g);
}

static void
test_a_value_has_a_limit(void **state)
{
    static char text[TOML_VALUE_MAX + 64];
    struct reading g;

    (void)state;
    for (size_t over = 0; over < 2; over++) {
        memset(text, 'x', sizeof(text));
        memcpy(text, "k = '", 5);
        memcpy(text + 5 + TOML_VALUE_MAX + over, "'\ng = 1\n", 9);
        begin(&g, text);
        assert_int_equal(next(&g), over ? TOML_ERROR : TOML_KEY);
        assert_int_equal(next(&g), TOML_KEY);
        end(&g);
    }
}

/* A file cut anywhere ends in items and errors, and nothing behind the cut is read. */
static void
test_every_prefix(void **state)
{
    static const char text[] = "[a]\r\nk = \"x\\u00e9\" # c\n"
                               "l = ['a', \"b\"]\nm = -0x1F\nn = true\n";
    struct toml_reader r;
    struct toml_item item;

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        struct slice s = guard_copy(slice_make(text, n));
        size_t items = 0;

        toml_init(&r, s);
        do {
            assert_int_equal(toml_next(&r, &item), ERR_OK);
            assert_true(items++ < 8);
        } while (item.kind != TOML_END);
        toml_free(&r);
        guard_free(s);
    }
}

/* Without memory the error travels up; nothing is left. */
static void
test_no_memory(void **state)
{
    struct reading g;
    enum err err = ERR_NOMEM;

    (void)state;
    for (size_t n = 1; err != ERR_OK; n++) {
        assert_true(n < 10);
        begin(&g, "k = ['abc', 'def']");
        mem_fail_at(n);
        err = toml_next(&g.r, &g.item);
        mem_fail_at(0);
        toml_free(&g.r);
        assert_int_equal(mem_live(), 0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
    }
    assert_int_equal(g.item.kind, TOML_KEY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_file),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_errors_are_found_one_by_one),
        cmocka_unit_test(test_an_open_array_is_one_error),
        cmocka_unit_test(test_a_value_has_a_limit),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
