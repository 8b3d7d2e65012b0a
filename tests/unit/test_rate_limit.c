/*
 * test_rate_limit.c: the token bucket and the budget of bytes in flight.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/rate_limit.h"
#include "daemon/server_budget.h"

/* taken(r, from_ms, step_ms, count): how many of ${count} tries, evenly in time, succeed. */
static unsigned
taken(struct rate_limit *r, int64_t from_ms, int64_t step_ms, unsigned count)
{
    unsigned i, n = 0;

    for (i = 0; i < count; i++)
        n += rate_limit_take(r, from_ms + (int64_t)i * step_ms) ? 1u : 0u;
    return n;
}

static void
so_many_a_second_however_they_come(void **state)
{
    struct rate_limit r;

    (void)state;
    rate_limit_init(&r, 3, 5000);
    assert_int_equal(taken(&r, 5000, 0, 10), 3);   /* a second's worth at once */
    assert_int_equal(taken(&r, 5001, 1, 1000), 3); /* nothing is lost to rounding */
    assert_int_equal(taken(&r, 6001, 1, 10000), 30);
    assert_int_equal(taken(&r, 900000, 0, 10), 3); /* a long rest is worth no more than a second */
    assert_int_equal(taken(&r, 800000, 0, 10), 0); /* a clock that steps back gives nothing */
    assert_int_equal(taken(&r, 900334, 0, 10), 1);
}

static void
no_limit_is_no_limit(void **state)
{
    struct rate_limit r;

    (void)state;
    rate_limit_init(&r, 0, 0);
    assert_int_equal(taken(&r, 0, 0, 100000), 100000);
}

static void
one_body_alone_is_always_admitted(void **state)
{
    struct server_budget b;

    (void)state;
    server_budget_init(&b, 100);
    assert_true(server_budget_admits(&b, 1000));
    assert_true(server_budget_take(&b, 0, 60));
    assert_true(server_budget_take(&b, 60, 500)); /* alone: it may go on growing */
    assert_false(server_budget_take(&b, 0, 1));   /* a second one may not begin beside it */
    assert_false(server_budget_admits(&b, 0));
    server_budget_release(&b, 560);
    assert_true(server_budget_take(&b, 0, 60));
    assert_true(server_budget_take(&b, 0, 40));
    assert_false(server_budget_take(&b, 60, 1));
    assert_false(server_budget_take(&b, 40, SIZE_MAX));
    server_budget_hold(&b, 5);
    assert_int_equal(b.used, 105);
    server_budget_release(&b, 105);
    assert_int_equal(b.used, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_a_second_however_they_come),
        cmocka_unit_test(no_limit_is_no_limit),
        cmocka_unit_test(one_body_alone_is_always_admitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
