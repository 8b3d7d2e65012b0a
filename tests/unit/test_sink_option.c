/*
 * test_sink_option.c: the options of all sink types: defaults, limits, words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/option.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"

/* ---- the tables ---- */

static void
every_default_is_a_legal_value(void **state)
{
    const struct sink_type *type;
    const struct option *o;

    (void)state;
    for (size_t t = 0; (type = sink_types_at(t)) != NULL; t++) {
        for (size_t i = 0; (o = sink_options_at(type, i)) != NULL; i++) {
            struct option_value value = {0};

            assert_int_equal(option_default(o, &value), ERR_OK);
            assert_false(value.set);
            if (o->fallback != NULL)
                assert_true(slice_eq(secret_reveal(&value.text), slice_of(o->fallback)));
            option_free(&value);
        }
        assert_null(sink_options_at(type, sink_options_count(type)));
    }
    assert_int_equal(mem_live(), 0);
}

static void
the_tables_are_sound(void **state)
{
    const struct sink_type *type;
    const struct option *o, *other;

    (void)state;
    for (size_t t = 0; (type = sink_types_at(t)) != NULL; t++) {
        assert_ptr_equal(sink_types_find(slice_of(type->name)), type);
        for (size_t i = 0; (o = sink_options_at(type, i)) != NULL; i++) {
            assert_true(strlen(o->help) > 0);
            assert_int_equal(o->kind == OPTION_CHOICE, o->choices != NULL);
            assert_true(o->kind != OPTION_SECRET || o->max > 0);
            assert_true(o->min <= o->max);
            for (size_t j = 0; j < i; j++) { /* no name twice */
                other = sink_options_at(type, j);
                assert_string_not_equal(o->name, other->name);
            }
        }
    }
    assert_int_equal(sink_options_count(sink_types_find(SLICE("stdout"))), 4);
}

static void
types_are_found_in_any_case(void **state)
{
    (void)state;
    assert_ptr_equal(sink_types_find(SLICE("HTTP_Line")), sink_types_find(SLICE("http_line")));
    assert_null(sink_types_find(SLICE("http")));
    assert_null(sink_types_find(SLICE("")));
    assert_null(sink_types_at(5));
}

/* ---- values ---- */

struct row {
    struct slice text;
    int64_t number; /* INT64_MIN: refused */
};

static void
check_rows(const struct option *o, const struct row *rows, size_t count, const char *message)
{
    for (size_t i = 0; i < count; i++) {
        struct option_value value = {0};
        struct errinfo info = {ERR_OK, 0, ""};
        enum err err = option_parse(o, rows[i].text, &value, &info);

        if (rows[i].number == INT64_MIN) {
            assert_int_equal(err, ERR_CONFIG);
            assert_int_equal(info.code, ERR_CONFIG);
            assert_string_equal(info.text, message);
            assert_false(value.set);
            assert_false(secret_is_set(&value.text));
        } else {
            if (err != ERR_OK)
                fail_msg("row %zu: %s", i, info.text);
            assert_true(value.set);
            assert_int_equal(value.number, rows[i].number);
            assert_true(slice_eq(secret_reveal(&value.text), rows[i].text));
        }
        option_free(&value);
    }
    assert_int_equal(mem_live(), 0);
}

#define CHECK(o, message, ...)                                           \
    do {                                                                 \
        const struct row rows[] = {__VA_ARGS__};                         \
        check_rows(&(o), rows, sizeof(rows) / sizeof(rows[0]), message); \
    } while (0)

#define GOOD(text, n)       \
    {                       \
        SLICE_INIT(text), n \
    }
#define WRONG(text)                 \
    {                               \
        SLICE_INIT(text), INT64_MIN \
    }

static void
booleans(void **state)
{
    const struct option o = {"gzip", OPTION_BOOL, NULL, 0, 0, NULL, "x"};

    (void)state;
    CHECK(o, "option gzip takes true or false", GOOD("true", 1), GOOD("FALSE", 0), GOOD("True", 1),
          WRONG("1"), WRONG("yes"), WRONG(""), WRONG("true "), WRONG("tru\0e"));
}

static void
numbers(void **state)
{
    const struct option o = {"qos", OPTION_NUMBER, NULL, -2, 20, NULL, "x"};

    (void)state;
    CHECK(o, "option qos takes a whole number from -2 to 20", GOOD("-2", -2), GOOD("20", 20),
          GOOD("0", 0), GOOD("007", 7), WRONG("-3"), WRONG("21"), WRONG("1.0"), WRONG(""),
          WRONG("+1"), WRONG(" 1"), WRONG("1e1"), WRONG("99999999999999999999"), WRONG("0x1"));
}

static void
durations(void **state)
{
    const struct option o = {"timeout", OPTION_DURATION, NULL, 100, 3600000, NULL, "x"};

    (void)state;
    CHECK(o, "option timeout takes a duration from 100ms to 1h, like 10s", GOOD("100ms", 100),
          GOOD("1h", 3600000), GOOD("1m30s", 90000), GOOD("100000u", 100), WRONG("99ms"),
          WRONG("1h1ms"), WRONG("10"), WRONG("s"), WRONG(""), WRONG("-1s"), WRONG("10 s"),
          WRONG("99999999999999999999h"));
}

static void
choices(void **state)
{
    const struct option o = {"acks", OPTION_CHOICE, NULL, 0, 0, "all 1 0", "x"};

    (void)state;
    CHECK(o, "option acks takes one of: all 1 0", GOOD("all", 0), GOOD("ALL", 0), GOOD("1", 1),
          GOOD("0", 2), WRONG(""), WRONG("al"), WRONG("all 1"), WRONG(" "), WRONG("2"));
    assert_true(slice_eq(option_choice(&o, 2), SLICE("0")));
    assert_int_equal(option_choice(&o, 3).n, 0);
}

static void
texts(void **state)
{
    const struct option o = {"client_id", OPTION_TEXT, NULL, 2, 4, NULL, "x"};
    const struct option secret = {"bearer_token", OPTION_SECRET, NULL, 1, 3, NULL, "x"};

    (void)state;
    CHECK(o, "option client_id takes a text of 2 to 4 bytes", GOOD("ab", 0), GOOD("abcd", 0),
          WRONG("a"), WRONG("abcde"), WRONG(""));
    CHECK(o, "option client_id must not hold a NUL byte", WRONG("a\0b"), WRONG("\0"));
    CHECK(secret, "option bearer_token takes a text of 1 to 3 bytes", GOOD("\xff\x01", 0),
          WRONG("four"), WRONG(""));
}

static void
no_message_shows_the_value(void **state)
{
    const struct sink_type *type;
    const struct option *o;
    char longest[70000];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "canary", 6);
    for (size_t t = 0; (type = sink_types_at(t)) != NULL; t++) {
        for (size_t i = 0; (o = sink_options_at(type, i)) != NULL; i++) {
            struct option_value value = {0};
            struct errinfo info = {ERR_OK, 0, ""};

            assert_int_equal(option_parse(o, slice_make(longest, sizeof(longest)), &value, &info),
                             ERR_CONFIG);
            assert_null(strstr(info.text, "canary"));
            assert_non_null(strstr(info.text, o->name));
        }
    }
}

static void
a_wrong_value_keeps_the_old_one(void **state)
{
    const struct option o = {"qos", OPTION_NUMBER, "1", 0, 2, NULL, "x"};
    struct option_value value = {0};

    (void)state;
    assert_int_equal(option_parse(&o, SLICE("2"), &value, NULL), ERR_OK);
    assert_int_equal(option_parse(&o, SLICE("3"), &value, NULL), ERR_CONFIG);
    assert_int_equal(value.number, 2);
    assert_true(value.set);
    assert_int_equal(option_default(&o, &value), ERR_OK);
    assert_int_equal(value.number, 1);
    assert_false(value.set);
    option_free(&value);
}

static void
memory_runs_out_cleanly(void **state)
{
    const struct option o = {"user_agent", OPTION_TEXT, "sinkd", 1, 20, NULL, "x"};
    struct option_value value = {0};
    struct errinfo info;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(option_parse(&o, SLICE("ab"), &value, &info), ERR_NOMEM);
    assert_int_equal(info.code, ERR_NOMEM);
    assert_false(value.set);
    mem_fail_at(1);
    assert_int_equal(option_default(&o, &value), ERR_NOMEM);
    assert_false(value.set);
    mem_fail_at(0);
    option_free(&value);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_is_a_legal_value),
        cmocka_unit_test(the_tables_are_sound),
        cmocka_unit_test(types_are_found_in_any_case),
        cmocka_unit_test(booleans),
        cmocka_unit_test(numbers),
        cmocka_unit_test(durations),
        cmocka_unit_test(choices),
        cmocka_unit_test(texts),
        cmocka_unit_test(no_message_shows_the_value),
        cmocka_unit_test(a_wrong_value_keeps_the_old_one),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
