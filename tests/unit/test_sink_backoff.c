/*
 * test_sink_backoff.c: how long a sink waits after failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sink/backoff.h"

static const struct backoff_limits usual = {3, 1000, 30000};

/* The wait is ${ms} with a jitter of 0.5 to 1.5. */
static void
assert_about(int64_t wait, int64_t ms)
{
    assert_in_range(wait, ms / 2, ms + ms / 2);
}

static void
retries_double_then_a_pause_then_again(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct backoff b = {.seed = seed * 0x10001u};

        for (int round = 0; round < 3; round++) {
            for (unsigned i = 0; i < 3; i++) {
                assert_about(backoff_next(&b, &usual), 1000 << i);
                assert_false(b.pausing);
                assert_int_equal(b.attempt, i + 1);
            }
            assert_about(backoff_next(&b, &usual), 30000);
            assert_true(b.pausing);
            assert_int_equal(b.attempt, 0);
        }
    }
}

static void
the_jitter_covers_its_whole_range(void **state)
{
    const struct backoff_limits limits = {1, 1000000, 1000000};
    struct backoff b = {.seed = 7};
    int64_t low = INT64_MAX, high = 0, sum = 0;
    const int times = 20000;

    (void)state;
    for (int i = 0; i < times; i++) {
        int64_t wait;

        b.attempt = 0;
        wait = backoff_next(&b, &limits);
        low = wait < low ? wait : low;
        high = wait > high ? wait : high;
        sum += wait;
    }
    assert_in_range(low, 500000, 505000);
    assert_in_range(high, 1495000, 1500000);
    assert_in_range(sum / times, 990000, 1010000);
}

static void
different_seeds_wait_differently(void **state)
{
    struct backoff a = {.seed = 1}, b = {.seed = 2};
    int equal = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        equal += backoff_next(&a, &usual) == backoff_next(&b, &usual);
    assert_in_range(equal, 0, 10);
}

static void
the_cap_comes_before_the_jitter(void **state)
{
    const struct backoff_limits limits = {40, 1000, 5000};
    struct backoff b = {.seed = 3};

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        int64_t wait = backoff_next(&b, &limits);

        assert_about(wait, i >= 3 ? 5000 : 1000 << i);
        assert_false(b.pausing);
    }
    assert_about(backoff_next(&b, &limits), 5000);
    assert_true(b.pausing);
}

static void
without_retries_every_wait_is_the_pause(void **state)
{
    const struct backoff_limits limits = {0, 1000, 30000};
    struct backoff b = {.seed = 4};

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_about(backoff_next(&b, &limits), 30000);
        assert_true(b.pausing);
    }
}

static void
a_refusal_pauses_five_times_as_long(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct backoff b = {.attempt = 2, .seed = seed};

        assert_about(backoff_refused(&b, &usual), 150000);
        assert_true(b.pausing);
        assert_int_equal(b.attempt, 0); /* a new round of tries begins behind it */
        assert_about(backoff_next(&b, &usual), 1000);
    }
}

static void
success_starts_over(void **state)
{
    struct backoff b = {.seed = 5};

    (void)state;
    (void)backoff_next(&b, &usual);
    (void)backoff_next(&b, &usual);
    backoff_reset(&b);
    assert_int_equal(b.attempt, 0);
    assert_false(b.pausing);
    assert_about(backoff_next(&b, &usual), 1000);
}

static void
large_limits_do_not_overflow(void **state)
{
    const struct backoff_limits limits = {100, 86400000, INT64_C(1000) * 86400000};
    struct backoff b = {.seed = 6};

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_in_range(backoff_next(&b, &limits), 86400000 / 2, INT64_C(1500) * 86400000);
    assert_about(backoff_refused(&b, &limits), INT64_C(5000) * 86400000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retries_double_then_a_pause_then_again),
        cmocka_unit_test(the_jitter_covers_its_whole_range),
        cmocka_unit_test(different_seeds_wait_differently),
        cmocka_unit_test(the_cap_comes_before_the_jitter),
        cmocka_unit_test(without_retries_every_wait_is_the_pause),
        cmocka_unit_test(a_refusal_pauses_five_times_as_long),
        cmocka_unit_test(success_starts_over),
        cmocka_unit_test(large_limits_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
