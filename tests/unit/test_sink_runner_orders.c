/*
 * test_sink_runner_orders.c: ALTER, PAUSE, RESUME, DROP and the end, whatever the runner is doing.
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
order(struct runner_rig_orders orders)
{
    runner_rig_order(&orders);
}

/* Ends the runner as asked; returns how long that took. */
static int64_t
end_ms(struct runner_rig *rig, void (*how)(struct runner *))
{
    int64_t began = clock_mono_ms(&clock_system);

    how(rig->runner);
    runner_join(rig->runner);
    rig->runner = NULL;
    return clock_mono_ms(&clock_system) - began;
}

static void
include(struct runner_rig *rig, const char *measurement)
{
    sink_def_clear(&rig->def.include);
    assert_int_equal(sink_def_add(&rig->def.include, SELECTOR_NAME, slice_of(measurement), NULL),
                     ERR_OK);
}

static bool
is_paused(struct runner_rig *rig)
{
    return runner_rig_status(rig) == RUNNER_PAUSED;
}

static bool
is_in_backoff(struct runner_rig *rig)
{
    return runner_rig_status(rig) == RUNNER_BACKOFF;
}

/* ---- ALTER ---- */

static void
alter_judges_anew_what_was_not_sent(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    rig.def.flush_interval_ms = 600000;
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    committer_drive_sleep_ms(50);
    include(&rig, "mem");
    rig.def.flush_interval_ms = 0;
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 20);
    assert_int_equal(r.filtered, 80);
    assert_int_equal(runner_rig_seen().opens, 2);
    runner_rig_close(&rig);
}

static void
alter_lets_the_request_under_way_end(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    rig.def.batch_size = 50;
    order((struct runner_rig_orders){.hold_deliver = true});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
    include(&rig, "mem");
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    committer_drive_sleep_ms(50);
    assert_true(runner_rig_seen().delivering);
    order((struct runner_rig_orders){.hold_deliver = false});
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 50 + 10); /* the first batch by the old definition */
    assert_int_equal(r.filtered, 40);
    runner_rig_close(&rig);
}

static bool
has_64(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().count == 64;
}

/* A round of many small requests ends behind the one that is under way. */
static void
alter_ends_the_round_between_two_requests(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    order((struct runner_rig_orders){
        .what = DELIVERY_TOO_LARGE, .kind = STORE_ERROR_REJECTED, .times = 6});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 64); /* teaches it to send single points */
    RUNNER_RIG_UNTIL(&rig, has_64);
    order((struct runner_rig_orders){.hold_deliver = true});
    runner_rig_write(&rig, 64);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
    include(&rig, "mem");
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    order((struct runner_rig_orders){.hold_deliver = false});
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 64 + 1 + 12);
    assert_int_equal(r.filtered, 51);
    runner_rig_close(&rig);
}

static void
alter_in_backoff_retries_at_once(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 600000, 600000};
    order((struct runner_rig_orders){.connect_fails = true});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, is_in_backoff);
    order((struct runner_rig_orders){.connect_fails = false});
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    runner_rig_close(&rig);
}

static void
alter_ends_a_connect(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    order((struct runner_rig_orders){.hold_connect = true});
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_connecting);
    order((struct runner_rig_orders){.hold_connect = false});
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_record(&rig).errors[STORE_ERROR_CONNECT], 0); /* it is no failure */
    runner_rig_close(&rig);
}

static void
many_alters_while_data_flows(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    rig.def.batch_size = 7;
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 60; i++) {
        runner_rig_write(&rig, 25);
        rig.def.batch_size = 5 + i % 11;
        assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    }
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 1500);
    assert_int_equal(runner_rig_seen().count, 1500);
    for (size_t i = 0; i < 1500; i++)
        assert_int_equal(runner_rig_seq(i), i + 1);
    runner_rig_close(&rig);
}

static void
alter_without_memory_changes_nothing(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    rig.def.paused = true;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_paused);
    for (size_t n = 1; n < 6; n++) {
        mem_fail_at(n);
        assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_NOMEM);
        mem_fail_at(0);
    }
    runner_rig_close(&rig);
}

/* ---- PAUSE and RESUME ---- */

static void
paused_judges_nothing_resumed_delivers(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    rig.def.paused = true;
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    RUNNER_RIG_UNTIL(&rig, is_paused);
    runner_rig_write(&rig, 30);
    committer_drive_sleep_ms(60);
    assert_int_equal(runner_rig_record(&rig).cursor, 10);
    assert_int_equal(runner_rig_status(&rig), RUNNER_PAUSED);
    rig.def.paused = false;
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_record(&rig).forwarded, 40);
    runner_rig_close(&rig);
}

static void
a_paused_sink_has_no_connection(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    rig.def.paused = true;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_paused);
    runner_rig_write(&rig, 30);
    committer_drive_sleep_ms(60);
    assert_int_equal(runner_rig_seen().opens, 0);
    assert_int_equal(runner_rig_record(&rig).cursor, 0);
    assert_true(end_ms(&rig, runner_stop) < 1000);
    runner_rig_close(&rig);
}

/* ---- the end ---- */

static void
stop_ends_an_idle_runner(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_true(end_ms(&rig, runner_stop) < 1000);
    assert_int_equal(runner_rig_seen().closes, 1);
    runner_rig_close(&rig);
}

static void
stop_ends_a_connect(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    order((struct runner_rig_orders){.hold_connect = true});
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_connecting);
    assert_true(end_ms(&rig, runner_stop) < 1000);
    runner_rig_close(&rig);
}

static void
stop_ends_a_backoff(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 600000, 600000};
    order((struct runner_rig_orders){.connect_fails = true});
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, is_in_backoff);
    assert_true(end_ms(&rig, runner_stop) < 1000);
    runner_rig_close(&rig);
}

static void
stop_lets_the_round_end_and_counts_it(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    order((struct runner_rig_orders){.hold_deliver = true});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
    runner_stop(rig.runner);
    committer_drive_sleep_ms(60);
    assert_false(runner_has_ended(rig.runner));
    order((struct runner_rig_orders){.hold_deliver = false});
    RUNNER_RIG_UNTIL(&rig, runner_rig_has_ended);
    assert_int_equal(runner_rig_record(&rig).forwarded, 10);
    runner_rig_close(&rig);
}

static void
abort_ends_a_delivery_at_once(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    order((struct runner_rig_orders){.hold_deliver = true});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 10);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
    assert_true(end_ms(&rig, runner_abort) < 1000);
    r = runner_rig_record(&rig);
    assert_int_equal(r.cursor, 0); /* nothing was confirmed, nothing is lost */
    assert_int_equal(r.errors[STORE_ERROR_PROTOCOL], 0);
    runner_rig_close(&rig);
}

static void
stop_comes_before_anything_began(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    for (unsigned i = 0; i < 50; i++) {
        runner_rig_run(&rig);
        assert_true(end_ms(&rig, i % 2 == 0 ? runner_stop : runner_abort) < 1000);
    }
    runner_rig_close(&rig);
}

static void
a_dropped_sinks_runner_ends_by_itself(void **state)
{
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = RUNNER_RIG_SINK};
    static const struct runner_rig_orders rows[] = {
        {.hold_deliver = false}, {.connect_fails = true}, {.hold_deliver = true}};

    struct runner_rig rig;

    begin(&rig, state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rig.config.backoff = (struct backoff_limits){3, 5, 5};
        runner_rig_order(&rows[i]);
        if (i > 0)
            committer_drive_create(rig.drive, RUNNER_RIG_SINK, false, false);
        runner_rig_run(&rig);
        runner_rig_write(&rig, 10);
        if (rows[i].hold_deliver)
            RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
        assert_int_equal(committer_drive_apply(rig.drive, &drop, 1), ERR_OK);
        order((struct runner_rig_orders){.hold_deliver = false});
        runner_rig_write(&rig, 10); /* news that nobody waits for */
        runner_stop(rig.runner);    /* as the supervisor does */
        RUNNER_RIG_UNTIL(&rig, runner_rig_has_ended);
        runner_join(rig.runner);
        rig.runner = NULL;
    }
    runner_rig_run(&rig); /* one that finds no record ends by itself */
    RUNNER_RIG_UNTIL(&rig, runner_rig_has_ended);
    runner_rig_close(&rig);
}

static void
a_runner_that_cannot_start_leaves_nothing(void **state)
{
    struct runner_rig rig;
    struct errinfo info;
    size_t live;

    begin(&rig, state);
    live = mem_live();
    for (size_t n = 1; n <= 12; n++) { /* a definition alone has more allocations than that */
        mem_fail_at(n);
        assert_int_equal(runner_start(&rig.runner, &rig.def, &rig.config, &info), ERR_NOMEM);
        mem_fail_at(0);
        assert_int_equal(mem_live(), live);
        assert_null(rig.runner);
    }
    runner_rig_close(&rig);
}

int
main(void)
{
#define RUN(test) \
    cmocka_unit_test_setup_teardown(test, committer_drive_setup, committer_drive_teardown)
    const struct CMUnitTest tests[] = {
        RUN(alter_judges_anew_what_was_not_sent),
        RUN(alter_lets_the_request_under_way_end),
        RUN(alter_ends_the_round_between_two_requests),
        RUN(alter_in_backoff_retries_at_once),
        RUN(alter_ends_a_connect),
        RUN(many_alters_while_data_flows),
        RUN(alter_without_memory_changes_nothing),
        RUN(paused_judges_nothing_resumed_delivers),
        RUN(a_paused_sink_has_no_connection),
        RUN(stop_ends_an_idle_runner),
        RUN(stop_ends_a_connect),
        RUN(stop_ends_a_backoff),
        RUN(stop_lets_the_round_end_and_counts_it),
        RUN(abort_ends_a_delivery_at_once),
        RUN(stop_comes_before_anything_began),
        RUN(a_dropped_sinks_runner_ends_by_itself),
        RUN(a_runner_that_cannot_start_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
