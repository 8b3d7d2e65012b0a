/*
 * test_base_err.c: error texts are cut to fit, keep errno's text, and every code has a name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void
fills_code_and_text(void **state)
{
    struct errinfo info = {.code = ERR_OK, .sys = 7, .text = "old"};

    (void)state;
    assert_int_equal(errinfo_set(&info, ERR_BAD, "line %d: %s", 3, "no value"), ERR_BAD);
    assert_int_equal(info.code, ERR_BAD);
    assert_int_equal(info.sys, 0);
    assert_string_equal(info.text, "line 3: no value");
}

static void
takes_no_place_to_fill(void **state)
{
    (void)state;
    assert_int_equal(errinfo_set(NULL, ERR_IO, "x"), ERR_IO);
    assert_int_equal(errinfo_sys(NULL, ERR_IO, EACCES, "x"), ERR_IO);
}

static void
keeps_errno_and_its_text(void **state)
{
    struct errinfo info;

    (void)state;
    assert_int_equal(errinfo_sys(&info, ERR_IO, ENOENT, "cannot open %s", "x"), ERR_IO);
    assert_int_equal(info.sys, ENOENT);
    assert_string_equal(info.text, "cannot open x: No such file or directory");
}

static void
its_own_text_may_be_an_argument(void **state)
{
    struct errinfo info;

    (void)state;
    (void)errinfo_set(&info, ERR_BAD, "inner");
    (void)errinfo_set(&info, ERR_CONFIG, "outer: %s", info.text);
    assert_string_equal(info.text, "outer: inner");
}

static void
a_long_text_is_cut_at_a_whole_character(void **state)
{
    struct errinfo info;
    char text[2 * sizeof(info.text)];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    (void)errinfo_set(&info, ERR_BAD, "%s", text);
    assert_int_equal(strlen(info.text), sizeof(info.text) - 1);

    /* A sequence of three bytes, laid so that its first two would still fit. */
    memcpy(text + sizeof(info.text) - 3, "\xe2\x82\xac", 3);
    (void)errinfo_set(&info, ERR_BAD, "%s", text);
    assert_int_equal(strlen(info.text), sizeof(info.text) - 3);
    (void)errinfo_sys(&info, ERR_IO, ENOENT, "%s", text);
    assert_true(strlen(info.text) < sizeof(info.text));

    /* One byte too long, and that byte ends a sequence of two, whose bytes are odd and even. */
    memset(text, 'a', sizeof(text));
    memcpy(text + sizeof(info.text) - 2, "\xc3\xa4", 3);
    (void)errinfo_set(&info, ERR_BAD, "%s", text);
    assert_int_equal(strlen(info.text), sizeof(info.text) - 2);
    memcpy(text + sizeof(info.text) - 3, "\xe2\x82\x81", 4);
    (void)errinfo_set(&info, ERR_BAD, "%s", text);
    assert_int_equal(strlen(info.text), sizeof(info.text) - 3);
}

static void
every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(err_name(ERR_OK), "ok");
    assert_string_equal(err_name(ERR_CONFIG), "config");
    for (int a = ERR_OK; a <= ERR_CONFIG; a++) {
        assert_string_not_equal(err_name((enum err)a), "unknown");
        for (int b = ERR_OK; b < a; b++)
            assert_string_not_equal(err_name((enum err)a), err_name((enum err)b));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_code_and_text),
        cmocka_unit_test(takes_no_place_to_fill),
        cmocka_unit_test(keeps_errno_and_its_text),
        cmocka_unit_test(its_own_text_may_be_an_argument),
        cmocka_unit_test(a_long_text_is_cut_at_a_whole_character),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
