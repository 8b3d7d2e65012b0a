/*
 * test_base_slice.c: comparing, searching and cutting, with nothing read past the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/slice.h"
#include "support/guard.h"

static const struct slice none = {NULL, 0};

static void
equality(void **state)
{
    (void)state;
    assert_true(slice_eq(SLICE("abc"), SLICE("abc")));
    assert_false(slice_eq(SLICE("abc"), SLICE("abC")));
    assert_false(slice_eq(SLICE("abc"), SLICE("ab")));
    assert_true(slice_eq(none, SLICE("")));
    assert_true(slice_eq_nocase(SLICE("Content-Length"), SLICE("cONTENT-lENGTH")));
    assert_true(slice_eq_nocase(SLICE("AZaz"), SLICE("azAZ")));
    assert_false(slice_eq_nocase(SLICE("[@"), SLICE("{`"))); /* bytes beside the letters */
    assert_false(slice_eq_nocase(SLICE("a"), SLICE("ab")));
}

static void
starts_and_ends(void **state)
{
    (void)state;
    assert_true(slice_starts(SLICE("abc"), SLICE("ab")));
    assert_true(slice_starts(SLICE("abc"), none));
    assert_true(slice_starts(SLICE("ab"), SLICE("ab")));
    assert_false(slice_starts(SLICE("abc"), SLICE("ac")));
    assert_false(slice_starts(SLICE("ab"), SLICE("abc")));
    assert_true(slice_ends(SLICE("abc"), SLICE("bc")));
    assert_false(slice_ends(SLICE("abc"), SLICE("ab")));
    assert_false(slice_ends(SLICE("c"), SLICE("bc")));
    assert_true(slice_ends(none, none));
}

static void
order(void **state)
{
    (void)state;
    assert_int_equal(slice_cmp(SLICE("a"), SLICE("a")), 0);
    assert_true(slice_cmp(SLICE("a"), SLICE("b")) < 0);
    assert_true(slice_cmp(SLICE("ab"), SLICE("a")) > 0);
    assert_true(slice_cmp(none, SLICE("a")) < 0);
    assert_int_equal(slice_cmp(none, none), 0);
    assert_true(slice_cmp(SLICE("\x7f"), SLICE("\x80")) < 0); /* bytes, not signed chars */
}

static void
parts_are_cut_to_the_length(void **state)
{
    struct slice s = SLICE("abc");

    (void)state;
    assert_true(slice_eq(slice_from(s, 1), SLICE("bc")));
    assert_int_equal(slice_from(s, 9).n, 0);
    assert_true(slice_eq(slice_to(s, 2), SLICE("ab")));
    assert_int_equal(slice_to(s, 9).n, 3);
    assert_null(slice_from(none, 1).p);
}

static void
find(void **state)
{
    struct slice s = guard_copy(SLICE("abcb"));

    (void)state;
    assert_int_equal(slice_find(s, 'b'), 1);
    assert_int_equal(slice_find(s, 'x'), 4);
    assert_int_equal(slice_find(none, 'x'), 0);
    guard_free(s);
}

/* The parts of ${text} between commas, each followed by '|'. */
static void
check_split(const char *text, const char *expected)
{
    struct slice rest = guard_copy(slice_of(text)), whole = rest, head;
    char out[64] = "";

    while (slice_split(&rest, ',', &head)) {
        strncat(out, (const char *)head.p, head.n);
        strcat(out, "|");
    }
    assert_string_equal(out, expected);
    guard_free(whole);
}

static void
split(void **state)
{
    struct slice rest = none, head;

    (void)state;
    check_split("a,,b", "a||b|");
    check_split("a", "a|");
    check_split(",", "|");
    check_split("a,", "a|");
    check_split("", "");
    assert_false(slice_split(&rest, ',', &head));
}

static void
trim(void **state)
{
    (void)state;
    assert_true(slice_eq(slice_trim(SLICE(" \t a b\t ")), SLICE("a b")));
    assert_int_equal(slice_trim(SLICE(" \t ")).n, 0);
    assert_int_equal(slice_trim(none).n, 0);
    assert_true(slice_eq(slice_trim(SLICE("\na")), SLICE("\na")));
}

static void
copy_text(void **state)
{
    char out[4] = "xxx";

    (void)state;
    slice_copy_text(SLICE("abcdef"), out, sizeof(out));
    assert_string_equal(out, "abc");
    slice_copy_text(SLICE("a"), out, sizeof(out));
    assert_string_equal(out, "a");
    slice_copy_text(none, out, 1);
    assert_string_equal(out, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality), cmocka_unit_test(starts_and_ends),
        cmocka_unit_test(order),    cmocka_unit_test(parts_are_cut_to_the_length),
        cmocka_unit_test(find),     cmocka_unit_test(split),
        cmocka_unit_test(trim),     cmocka_unit_test(copy_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
