/*
 * test_base_num_float.c: doubles to their shortest text and back, against printf and strtod of the
 * C library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/num.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 20000
#else
#define MANY 200000
#endif

static uint64_t seed = 88172645463325252;

static uint64_t
next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double
from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static bool
same(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The significant digits of a text, without zeros at either end. */
static size_t
digits_of(const char *text, char *out)
{
    size_t n = 0;

    for (; *text != '\0' && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            out[n++] = *text;
    while (n > 0 && out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return n;
}

/* It reads back, no shorter text does, and of those as short it is the closest. */
static void
assert_shortest(double value)
{
    char text[64], other[64], own_digits[64], other_digits[64];
    double back;
    size_t n = num_put_f64((uint8_t *)text, value), digits;

    assert_true(n <= NUM_F64_TEXT);
    text[n] = '\0';
    assert_true(same(strtod(text, NULL), value));
    assert_int_equal(num_f64(slice_make(text, n), &back), ERR_OK);
    assert_true(same(back, value));
    digits = digits_of(text, own_digits);
    if (digits == 0)
        return;
    if (digits > 1) {
        (void)snprintf(other, sizeof(other), "%.*e", (int)digits - 2, value);
        assert_false(same(strtod(other, NULL), value));
    }
    (void)snprintf(other, sizeof(other), "%.*e", (int)digits - 1, value);
    if (same(strtod(other, NULL), value)) {
        (void)digits_of(other, other_digits);
        assert_string_equal(own_digits, other_digits);
    }
}

static void
the_shortest_of_many(void **state)
{
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        uint64_t bits = next() & ~(UINT64_C(1) << 62), power = bits & ~UINT64_C(0xfffffffffffff);

        assert_shortest(from_bits(bits));
        assert_shortest(from_bits((bits & ~(UINT64_C(3) << 61)) | UINT64_C(1) << 62)); /* over 2 */
        assert_shortest(from_bits(power)); /* its lower neighbour is closer */
        assert_shortest(from_bits(power + 1));
        assert_shortest(from_bits(bits & 0xfffffffffffff)); /* subnormal */
        assert_shortest((double)(bits % 1000000000) / 1000);
        assert_shortest((double)(int64_t)bits);
    }
}

static void
texts(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0.0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.000001, "0.000001"},
        {0.0000001, "1e-7"},
        {123456789012345680000.0, "123456789012345680000"},
        {1e21, "1e21"},
        {1.5e300, "1.5e300"},
        {1e23, "1e23"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {9007199254740992.0, "9007199254740992"},
        {-0.0000012345678901234567, "-0.0000012345678901234567"},
        {4.35, "4.35"},
        {99.30069930067903, "99.30069930067903"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        size_t n = num_put_f64((uint8_t *)text, cases[i].value);

        text[n] = '\0';
        assert_string_equal(text, cases[i].text);
        assert_shortest(cases[i].value);
    }
}

static void
assert_read(const char *text)
{
    double expected = strtod(text, NULL), value = 0;
    enum err err = num_f64(slice_of(text), &value);

    if (expected - expected != 0) {
        assert_int_equal(err, ERR_RANGE);
        return;
    }
    assert_int_equal(err, ERR_OK);
    assert_true(same(value, expected));
}

static void
hard_texts(void **state)
{
    static const char *const cases[] = {"2.2250738585072011e-308",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "9007199254740993",
                                        "9007199254740993.0",
                                        "90071992547409930e-1",
                                        "9007199254740992.5",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "1e400",
                                        "1e-400",
                                        "0e999",
                                        "-0",
                                        ".5",
                                        "5.",
                                        "1.e3",
                                        "123456789012345678901",
                                        "0.1e-6",
                                        "8.442911973260991817129021e-309"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_read(cases[i]);
}

/* Also texts halfway between two doubles, and those next to one. */
static void
reading_many(void **state)
{
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        uint64_t odd = (UINT64_C(1) << 53) + 2 * (next() >> 12) + 1;
        char text[80];

        (void)snprintf(text, sizeof(text), "%u.%ue%d", (unsigned)(next() >> 34),
                       (unsigned)(next() >> 34), (int)(next() % 700) - 350);
        assert_read(text);
        (void)snprintf(text, sizeof(text), "%.18e", from_bits(next() & ~(UINT64_C(1) << 62)));
        assert_read(text);
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)odd);
        assert_read(text);
        (void)snprintf(text, sizeof(text), "%llu0e-1", (unsigned long long)odd);
        assert_read(text);
        (void)snprintf(text, sizeof(text), "%llu.5", (unsigned long long)(odd >> 1));
        assert_read(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(hard_texts),
        cmocka_unit_test(the_shortest_of_many),
        cmocka_unit_test(reading_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
