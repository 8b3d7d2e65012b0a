/*
 * test_sink_runner.c: a runner in its everyday life: batches, filters, retries, waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/runner_rig.h"

#define MAP (32u << 20)

static void
begin(struct runner_rig *rig, void **state)
{
    struct committer_drive *drive = *state;

    committer_drive_start(drive, MAP);
    runner_rig_open(rig, drive);
}

static void
assert_in_order_from_1(size_t count)
{
    assert_int_equal(runner_rig_seen().count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(runner_rig_seq(i), i + 1);
}

static bool
is_running(struct runner_rig *rig)
{
    return runner_rig_status(rig) == RUNNER_RUNNING;
}

static void
include(struct runner_rig *rig, const char *measurement)
{
    assert_int_equal(sink_def_add(&rig->def.include, SELECTOR_NAME, slice_of(measurement), NULL),
                     ERR_OK);
}

/* ---- what is delivered ---- */

static void
points_arrive_in_order_and_once(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 40; i++)
        runner_rig_write(&rig, 1 + i * 7 % 100);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    runner_rig_end(&rig);
    assert_in_order_from_1(runner_rig_record(&rig).forwarded);
    assert_int_equal(runner_rig_record(&rig).cursor, runner_rig_record(&rig).forwarded);
    assert_true(runner_rig_record(&rig).last_success_ns > 0);
    runner_rig_close(&rig);
}

static void
a_new_sink_connects_without_data(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_running);
    assert_int_equal(runner_rig_seen().connects, 1);
    assert_int_equal(runner_rig_seen().requests, 0);
    runner_rig_close(&rig);
}

static void
filtered_points_are_counted_and_not_sent(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    include(&rig, "mem");
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 20; i++)
        runner_rig_write(&rig, 50);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 200);
    assert_int_equal(r.filtered, 800);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(runner_rig_seq(i), i * 5 + 5);
    runner_rig_close(&rig);
}

static void
what_nobody_wants_is_stepped_over_without_a_connection(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {.connect_fails = true};

    begin(&rig, state);
    runner_rig_order(&orders);
    include(&rig, "none of these");
    runner_rig_run(&rig);
    runner_rig_write(&rig, 500);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_record(&rig).filtered, 500);
    assert_int_equal(runner_rig_seen().requests, 0);
    runner_rig_close(&rig);
}

static void
another_database_is_filtered(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    assert_int_equal(sink_def_add(&rig.def.databases, SELECTOR_NAME, SLICE("other"), NULL), ERR_OK);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_record(&rig).filtered, 10);
    runner_rig_close(&rig);
}

/* ---- batches ---- */

static bool
has_95(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().count == 95;
}

static bool
has_90(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().count == 90;
}

static void
a_batch_goes_when_it_is_full_the_rest_after_the_interval(void **state)
{
    struct runner_rig rig;
    int64_t began;

    begin(&rig, state);
    rig.def.batch_size = 10;
    rig.def.flush_interval_ms = 400;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_running);
    began = clock_mono_ms(&clock_system);
    runner_rig_write(&rig, 95);
    RUNNER_RIG_UNTIL(&rig, has_90);
    assert_true(clock_mono_ms(&clock_system) - began < 350);
    RUNNER_RIG_UNTIL(&rig, has_95);
    assert_in_range(clock_mono_ms(&clock_system) - began, 390, 3000);
    assert_int_equal(runner_rig_seen().requests, 10);
    assert_int_equal(runner_rig_seen().largest, 10);
    runner_rig_close(&rig);
}

static void
a_batch_is_gathered_from_several_bodies(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    rig.def.batch_size = 90;
    rig.def.flush_interval_ms = 600000;
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 9; i++) {
        runner_rig_write(&rig, 10);
        committer_drive_sleep_ms(2);
    }
    RUNNER_RIG_UNTIL(&rig, has_90);
    assert_int_equal(runner_rig_seen().requests, 1);
    assert_int_equal(runner_rig_seen().largest, 90);
    runner_rig_close(&rig);
}

static void
a_backlog_has_waited_already(void **state)
{
    struct runner_rig rig;
    int64_t began;

    begin(&rig, state);
    rig.def.flush_interval_ms = 1000;
    runner_rig_write(&rig, 90);
    committer_drive_sleep_ms(700); /* nobody runs; what was accepted grows old */
    began = clock_mono_ms(&clock_system);
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, has_90);
    assert_true(clock_mono_ms(&clock_system) - began < 600);
    runner_rig_close(&rig);
}

static void
bytes_bound_a_batch_too(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    assert_int_equal(sink_def_set_option(&rig.def, SLICE("max_batch_bytes"), SLICE("1000"), NULL),
                     ERR_OK);
    rig.def.flush_interval_ms = 0;
    runner_rig_write(&rig, 90); /* lines of 29 bytes or so */
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, has_90);
    assert_in_range(runner_rig_seen().largest, 25, 40);
    assert_in_order_from_1(90);
    runner_rig_close(&rig);
}

/* ---- failures ---- */

static void
a_passing_failure_is_retried_and_counted(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {
        .what = DELIVERY_TRANSIENT, .kind = STORE_ERROR_TIMEOUT, .times = 6};
    struct store_record r;

    begin(&rig, state);
    runner_rig_order(&orders);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 50);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 50);
    assert_int_equal(r.errors[STORE_ERROR_TIMEOUT], 6);
    assert_int_equal(r.retries, 5); /* three retries, a pause, two retries, success */
    assert_int_equal(runner_rig_seen().connects, 7); /* each time anew */
    assert_in_order_from_1(50);
    runner_rig_close(&rig);
}

static void
what_was_confirmed_before_a_failure_is_not_sent_again(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {
        .what = DELIVERY_TRANSIENT, .kind = STORE_ERROR_CONNECT, .times = 30, .take_first = 7};

    begin(&rig, state);
    runner_rig_order(&orders);
    rig.config.backoff = (struct backoff_limits){3, 1, 1};
    runner_rig_run(&rig);
    runner_rig_write(&rig, 500);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_in_order_from_1(500);
    assert_int_equal(runner_rig_record(&rig).forwarded, 500);
    runner_rig_close(&rig);
}

static void
throttling_is_obeyed(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {.what = DELIVERY_THROTTLED,
                                       .kind = STORE_ERROR_THROTTLED,
                                       .times = 1,
                                       .retry_after_ms = 400};
    int64_t began;

    begin(&rig, state);
    runner_rig_order(&orders);
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_running);
    began = clock_mono_ms(&clock_system);
    runner_rig_write(&rig, 5);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_in_range(clock_mono_ms(&clock_system) - began, 400, 5000);
    assert_int_equal(runner_rig_seen().connects, 1); /* the connection is good */
    assert_int_equal(runner_rig_record(&rig).errors[STORE_ERROR_THROTTLED], 1);
    runner_rig_close(&rig);
}

static bool
has_failed_twice(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().refusals >= 2;
}

static void
refusals_keep_everything_and_say_so(void **state)
{
    static const struct {
        enum delivery what;
        enum store_error_kind kind;
        enum runner_status status;
    } rows[] = {
        {DELIVERY_AUTH, STORE_ERROR_AUTH, RUNNER_AUTH_FAILED},
        {DELIVERY_TARGET, STORE_ERROR_TARGET, RUNNER_BLOCKED},
        {DELIVERY_TRANSIENT, STORE_ERROR_CONNECT, RUNNER_BACKOFF},
    };
    struct runner_rig rig;

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 20, 20};
    runner_rig_write(&rig, 5);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct runner_rig_orders orders = {.what = rows[i].what, .kind = rows[i].kind};
        size_t before = runner_rig_seen().refusals;
        struct runner_view view;

        runner_rig_order(&orders);
        runner_rig_run(&rig);
        while (runner_rig_seen().refusals < before + 2)
            committer_drive_sleep_ms(1);
        assert_int_equal(runner_rig_status(&rig), rows[i].status);
        runner_view(rig.runner, &view);
        assert_string_equal(view.last_error, "the destination fails");
        assert_true(runner_rig_record(&rig).errors[rows[i].kind] >= 2);
        assert_int_equal(runner_rig_record(&rig).cursor, 0);
        runner_rig_end(&rig);
    }
    (void)has_failed_twice;
    runner_rig_close(&rig);
}

static void
a_sink_that_cannot_be_opened_is_tried_again(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {.open_fails = true};

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 1, 1};
    runner_rig_order(&orders);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 5);
    while (runner_rig_seen().opens < 3)
        committer_drive_sleep_ms(1);
    assert_int_equal(runner_rig_status(&rig), RUNNER_BLOCKED);
    orders.open_fails = false;
    runner_rig_order(&orders);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    runner_stop(rig.runner);
    runner_join(rig.runner);
    rig.runner = NULL;
    runner_rig_close(&rig);
}

/* ---- waiting ---- */

static void
an_idle_runner_sleeps(void **state)
{
    struct runner_rig rig;
    size_t before;

    begin(&rig, state);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 5);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    committer_drive_settle(rig.drive, RUNNER_RIG_SINK);
    committer_drive_sleep_ms(50);
    before = runner_rig_seen().idles;
    committer_drive_sleep_ms(400);
    assert_in_range(runner_rig_seen().idles - before, 0, 1);
    runner_rig_close(&rig);
}

static void
a_runner_that_waits_for_a_full_batch_is_not_woken_by_each_body(void **state)
{
    struct runner_rig rig;
    size_t before;

    begin(&rig, state);
    rig.def.batch_size = 1000;
    rig.def.flush_interval_ms = 600000;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_running);
    runner_rig_write(&rig, 5);
    committer_drive_sleep_ms(100);
    before = runner_rig_seen().idles;
    for (unsigned i = 0; i < 20; i++)
        runner_rig_write(&rig, 5);
    committer_drive_sleep_ms(100);
    assert_in_range(runner_rig_seen().idles - before, 0, 1);
    runner_rig_close(&rig);
}

static void
backoff_does_not_spin(void **state)
{
    struct runner_rig rig;
    struct runner_rig_orders orders = {.connect_fails = true};

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 100, 100};
    runner_rig_order(&orders);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 50);
    committer_drive_sleep_ms(500);
    assert_in_range(runner_rig_seen().connects, 2, 12);
    runner_rig_close(&rig);
}

int
main(void)
{
#define RUN(test) \
    cmocka_unit_test_setup_teardown(test, committer_drive_setup, committer_drive_teardown)
    const struct CMUnitTest tests[] = {
        RUN(points_arrive_in_order_and_once),
        RUN(a_new_sink_connects_without_data),
        RUN(filtered_points_are_counted_and_not_sent),
        RUN(what_nobody_wants_is_stepped_over_without_a_connection),
        RUN(another_database_is_filtered),
        RUN(a_batch_goes_when_it_is_full_the_rest_after_the_interval),
        RUN(a_batch_is_gathered_from_several_bodies),
        RUN(a_backlog_has_waited_already),
        RUN(bytes_bound_a_batch_too),
        RUN(a_passing_failure_is_retried_and_counted),
        RUN(what_was_confirmed_before_a_failure_is_not_sent_again),
        RUN(throttling_is_obeyed),
        RUN(refusals_keep_everything_and_say_so),
        RUN(a_sink_that_cannot_be_opened_is_tried_again),
        RUN(an_idle_runner_sleeps),
        RUN(a_runner_that_waits_for_a_full_batch_is_not_woken_by_each_body),
        RUN(backoff_does_not_spin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
