/*
 * test_base_clock.c: deadlines saturate, dates hold on both sides of 1970, times print as
 * InfluxDB's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "base/clock.h"

static void
the_system_clocks_run(void **state)
{
    int64_t before = clock_mono_ms(&clock_system);
    struct timespec now;

    (void)state;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    int64_t between = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    assert_true(before <= between && between <= clock_mono_ms(&clock_system));
    assert_true(clock_plausible(clock_wall_ns(&clock_system)));
}

static void
deadlines_saturate(void **state)
{
    (void)state;
    assert_true(clock_after(1000, 50) == 1050);
    assert_true(clock_after(1000, DEADLINE_NEVER) == DEADLINE_NEVER);
    assert_true(clock_after(DEADLINE_NEVER - 1, 1) == DEADLINE_NEVER);
    assert_true(clock_after(DEADLINE_NEVER, 5) == DEADLINE_NEVER);
    assert_true(clock_after(1000, 0) == 1000);
}

static void
a_clock_from_1970_is_not_plausible(void **state)
{
    (void)state;
    assert_false(clock_plausible(0));
    assert_false(clock_plausible(INT64_C(1577836799999999999)));
    assert_true(clock_plausible(INT64_C(1577836800000000000)));
}

static void
check_date(int64_t seconds, int year, int month, int day, int weekday)
{
    struct civil c = clock_civil(seconds);

    assert_int_equal(c.year, year);
    assert_int_equal(c.month, month);
    assert_int_equal(c.day, day);
    assert_int_equal(c.weekday, weekday);
    assert_true(clock_from_civil(&c) == seconds);
}

static void
known_dates(void **state)
{
    (void)state;
    check_date(0, 1970, 1, 1, 4);
    check_date(-1, 1969, 12, 31, 3);
    check_date(951782400, 2000, 2, 29, 2);
    check_date(951868800, 2000, 3, 1, 3);
    check_date(INT64_C(4107542400), 2100, 3, 1, 1); /* 2100 has no leap day */
    check_date(INT64_C(-2203891200), 1900, 3, 1, 4);
    check_date(INT64_C(-62135596800), 1, 1, 1, 1);
}

/* Every day of 800 years follows the one before it. */
static void
days_follow_each_other(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct civil c = {.year = 1600, .month = 1, .day = 1};
    int64_t seconds = clock_from_civil(&c);
    int weekday = clock_civil(seconds).weekday;

    (void)state;
    while (c.year < 2400) {
        int leap = c.year % 4 == 0 && (c.year % 100 != 0 || c.year % 400 == 0);
        check_date(seconds, c.year, c.month, c.day, weekday);
        seconds += 86400;
        weekday = (weekday + 1) % 7;
        if (++c.day > lengths[c.month - 1] + (c.month == 2 ? leap : 0)) {
            c.day = 1;
            c.month++;
        }
        if (c.month > 12) {
            c.month = 1;
            c.year++;
        }
    }
}

static void
fields_need_not_be_normalised(void **state)
{
    struct civil c = {.year = 2000, .month = 14, .day = 0, .hour = 25, .minute = -1, .second = 61};
    struct civil same = {.year = 2001, .month = 2, .day = 1, .hour = 1, .minute = 0, .second = 1};

    (void)state;
    assert_true(clock_from_civil(&c) == clock_from_civil(&same));
    c = (struct civil){.year = 2000, .month = 0, .day = 31};
    same = (struct civil){.year = 1999, .month = 12, .day = 31};
    assert_true(clock_from_civil(&c) == clock_from_civil(&same));
}

static void
rfc3339(void **state)
{
    char out[CLOCK_TEXT];

    (void)state;
    assert_string_equal(clock_put_rfc3339(out, 0), "1970-01-01T00:00:00Z");
    assert_string_equal(clock_put_rfc3339(out, 1), "1970-01-01T00:00:00.000000001Z");
    assert_string_equal(clock_put_rfc3339(out, -1), "1969-12-31T23:59:59.999999999Z");
    assert_string_equal(clock_put_rfc3339(out, INT64_C(1500000000120000000)),
                        "2017-07-14T02:40:00.12Z");
    assert_string_equal(clock_put_rfc3339(out, INT64_MAX), "2262-04-11T23:47:16.854775807Z");
    assert_string_equal(clock_put_rfc3339(out, INT64_MIN), "1677-09-21T00:12:43.145224192Z");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_system_clocks_run),
        cmocka_unit_test(deadlines_saturate),
        cmocka_unit_test(a_clock_from_1970_is_not_plausible),
        cmocka_unit_test(known_dates),
        cmocka_unit_test(days_follow_each_other),
        cmocka_unit_test(fields_need_not_be_normalised),
        cmocka_unit_test(rfc3339),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
