/*
 * test_base_num.c: integers at their limits, floating point of any length, durations both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "support/guard.h"

static void
check_u64(const char *text, enum err err, uint64_t expected)
{
    struct slice s = guard_copy(slice_of(text));
    uint64_t value = 77;

    assert_int_equal(num_u64(s, &value), err);
    assert_true(value == (err == ERR_OK ? expected : 77));
    guard_free(s);
}

static void
unsigned_numbers(void **state)
{
    (void)state;
    check_u64("0", ERR_OK, 0);
    check_u64("0012", ERR_OK, 12);
    check_u64("18446744073709551615", ERR_OK, UINT64_MAX);
    check_u64("18446744073709551616", ERR_RANGE, 0);
    check_u64("99999999999999999999", ERR_RANGE, 0);
    check_u64("99999999999999999999x", ERR_BAD, 0);
    check_u64("", ERR_BAD, 0);
    check_u64("-1", ERR_BAD, 0);
    check_u64("+1", ERR_BAD, 0);
    check_u64(" 1", ERR_BAD, 0);
    check_u64("1:", ERR_BAD, 0);
    check_u64("1/", ERR_BAD, 0);
}

static void
unsigned_numbers_with_a_maximum(void **state)
{
    uint64_t value = 77;

    (void)state;
    assert_int_equal(num_u64_max(SLICE("65535"), 65535, &value), ERR_OK);
    assert_true(value == 65535);
    assert_int_equal(num_u64_max(SLICE("65536"), 65535, &value), ERR_RANGE);
    assert_int_equal(num_u64_max(SLICE("9"), 5, &value), ERR_RANGE);
    assert_int_equal(num_u64_max(SLICE("1"), 0, &value), ERR_RANGE);
    assert_int_equal(num_u64_max(SLICE("0"), 0, &value), ERR_OK);
    assert_true(value == 0);
}

static void
check_i64(const char *text, enum err err, int64_t expected)
{
    int64_t value = 77;

    assert_int_equal(num_i64(slice_of(text), &value), err);
    assert_true(value == (err == ERR_OK ? expected : 77));
}

static void
signed_numbers(void **state)
{
    (void)state;
    check_i64("-0", ERR_OK, 0);
    check_i64("-12", ERR_OK, -12);
    check_i64("9223372036854775807", ERR_OK, INT64_MAX);
    check_i64("9223372036854775808", ERR_RANGE, 0);
    check_i64("-9223372036854775808", ERR_OK, INT64_MIN);
    check_i64("-9223372036854775809", ERR_RANGE, 0);
    check_i64("-", ERR_BAD, 0);
    check_i64("--1", ERR_BAD, 0);
    check_i64("", ERR_BAD, 0);
}

static void
hexadecimal(void **state)
{
    uint64_t value = 77;

    (void)state;
    assert_int_equal(num_hex(SLICE("aF09"), &value), ERR_OK);
    assert_true(value == 0xaf09);
    assert_int_equal(num_hex(SLICE("Af90"), &value), ERR_OK);
    assert_true(value == 0xaf90);
    assert_int_equal(num_hex(SLICE("0ffffffffffffffff"), &value), ERR_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(num_hex(SLICE("10000000000000000"), &value), ERR_RANGE);
    assert_int_equal(num_hex(SLICE("0x1"), &value), ERR_BAD);
    assert_int_equal(num_hex(SLICE("g"), &value), ERR_BAD);
    assert_int_equal(num_hex(SLICE(""), &value), ERR_BAD);
    assert_true(value == UINT64_MAX);
}

static void
writes_integers(void **state)
{
    static const int64_t values[] = {0, 1, -1, 9, 10, -10, INT64_MAX, INT64_MIN};
    uint8_t text[NUM_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        int64_t back = 77;
        size_t n = num_put_i64(text, values[i]);
        assert_true(n < NUM_TEXT);
        assert_int_equal(num_i64(slice_make(text, n), &back), ERR_OK);
        assert_true(back == values[i]);
    }
    size_t n = num_put_u64(text, UINT64_MAX);
    assert_true(slice_eq(slice_make(text, n), SLICE("18446744073709551615")));
}

static void
check_f64(const char *text, enum err err, double expected)
{
    struct slice s = guard_copy(slice_of(text));
    double value = 77;

    assert_int_equal(num_f64(s, &value), err);
    if (err != ERR_OK)
        expected = 77;
    assert_memory_equal(&value, &expected, sizeof(value));
    guard_free(s);
}

static void
floating_point(void **state)
{
    (void)state;
    check_f64("1.5", ERR_OK, 1.5);
    check_f64("-1e3", ERR_OK, -1000);
    check_f64("+.5", ERR_OK, 0.5);
    check_f64("5.", ERR_OK, 5);
    check_f64("-0", ERR_OK, -0.0);
    check_f64("1.7976931348623157e308", ERR_OK, DBL_MAX);
    check_f64("1.8e308", ERR_RANGE, 0);
    check_f64("-1e999999999999999999999", ERR_RANGE, 0);
    check_f64("1e-400", ERR_OK, 0);
    check_f64("4.9406564584124654e-324", ERR_OK, 4.9406564584124654e-324);
    check_f64("", ERR_BAD, 0);
    check_f64("-", ERR_BAD, 0);
    check_f64(".", ERR_BAD, 0);
    check_f64("e5", ERR_BAD, 0);
    check_f64("1e", ERR_BAD, 0);
    check_f64("1e+", ERR_BAD, 0);
    check_f64("1.2.3", ERR_BAD, 0);
    check_f64("1-2", ERR_BAD, 0);
    check_f64(" 1", ERR_BAD, 0);
    check_f64("0x10", ERR_BAD, 0);
    check_f64("inf", ERR_BAD, 0);
    check_f64("nan", ERR_BAD, 0);
    check_f64("1f", ERR_BAD, 0);
}

/* ${front}, then ${count} times ${fill}, then ${back}. */
static void
check_long_f64(const char *front, size_t count, char fill, const char *back, enum err err,
               double expected)
{
    char *text = malloc(strlen(front) + count + strlen(back) + 1);

    assert_non_null(text);
    strcpy(text, front);
    memset(text + strlen(front), fill, count);
    strcpy(text + strlen(front) + count, back);
    check_f64(text, err, expected);
    free(text);
}

static void
floating_point_of_any_length(void **state)
{
    (void)state;
    check_long_f64("0.", 2000, '0', "15e2000", ERR_OK, 0.15);
    check_long_f64("15", 2000, '0', "e-2001", ERR_OK, 1.5);
    check_long_f64("-1.5", 5000, '0', "", ERR_OK, -1.5);
    check_long_f64("", 5000, '0', "", ERR_OK, 0);
    check_long_f64("-", 5000, '0', "7", ERR_OK, -7);
    check_long_f64("1", 5000, '0', "", ERR_RANGE, 0);
    check_long_f64("0.", 5000, '0', "1", ERR_OK, 0);
    check_long_f64("1e", 5000, '9', "", ERR_RANGE, 0);
    check_long_f64("1e-", 5000, '9', "", ERR_OK, 0);
    check_long_f64("1", 2000, '0', ".0.0", ERR_BAD, 0);
    check_long_f64("1", 2000, '0', "e", ERR_BAD, 0);
    check_long_f64("1", 2000, '0', "-", ERR_BAD, 0);
    check_long_f64(".e", 2000, '1', "", ERR_BAD, 0);
    check_long_f64("-.e", 2000, '1', "", ERR_BAD, 0);
    check_long_f64("-e", 2000, '1', "", ERR_BAD, 0);
    /* Halfway between 1 and its neighbour: to even without the last digit, up with it. */
    check_long_f64("1.00000000000000011102230246251565404236316680908203125", 2000, '0', "", ERR_OK,
                   1.0);
    check_long_f64("1.00000000000000011102230246251565404236316680908203125", 2000, '0', "1",
                   ERR_OK, 1.0 + DBL_EPSILON);
}

static void
check_duration(const char *text, enum err err, int64_t expected)
{
    int64_t ns = 77;

    assert_int_equal(num_duration_ns(slice_of(text), &ns), err);
    assert_true(ns == (err == ERR_OK ? expected : 77));
}

static void
reads_durations(void **state)
{
    const int64_t s = 1000000000;

    (void)state;
    check_duration("10s", ERR_OK, 10 * s);
    check_duration("1m30s", ERR_OK, 90 * s);
    check_duration("500ms", ERR_OK, s / 2);
    check_duration("7u", ERR_OK, 7000);
    check_duration("7\xc2\xb5", ERR_OK, 7000);
    check_duration("1ns", ERR_OK, 1);
    check_duration("1w1d1h", ERR_OK, (8 * 24 + 1) * 3600 * s);
    check_duration("0s", ERR_OK, 0);
    check_duration("9223372036854775807ns", ERR_OK, INT64_MAX);
    check_duration("9223372036854775808ns", ERR_RANGE, 0);
    check_duration("9223372036854775807ns1ns", ERR_RANGE, 0);
    check_duration("15251w", ERR_RANGE, 0);
    check_duration("15251w1", ERR_BAD, 0);
    check_duration("", ERR_BAD, 0);
    check_duration("10", ERR_BAD, 0);
    check_duration("s", ERR_BAD, 0);
    check_duration("1S", ERR_BAD, 0);
    check_duration("1M", ERR_BAD, 0);
    check_duration("-1s", ERR_BAD, 0);
    check_duration("1.5s", ERR_BAD, 0);
    check_duration("1s ", ERR_BAD, 0);
    check_duration("1\xc2", ERR_BAD, 0);
}

static void
writes_durations(void **state)
{
    static const char *const texts[] = {"0s",  "10s",   "1m30s", "2h",
                                        "36h", "500ms", "1s1ms", "1h1ns",
                                        "7u",  "168h",  "1m",    "2562047h47m16s854ms775u807ns"};
    char out[NUM_DURATION_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t ns = -1;
        assert_int_equal(num_duration_ns(slice_of(texts[i]), &ns), ERR_OK);
        assert_string_equal(num_put_duration(out, ns), texts[i]);
    }
    assert_string_equal(num_put_duration(out, INT64_MIN), "-2562047h47m16s854ms775u808ns");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(unsigned_numbers_with_a_maximum),
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(hexadecimal),
        cmocka_unit_test(writes_integers),
        cmocka_unit_test(floating_point),
        cmocka_unit_test(floating_point_of_any_length),
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(writes_durations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
