/*
 * test_store_room.c: what goes when the log is full or too old, what is refused, and what waits
 * in memory in interval mode. The ledgers through all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/committer_drive.h"

#define MB 1000000u
#define DAY_MS INT64_C(86400000)

/* ---- room ---- */

static void
reject_refuses_until_the_sink_moves(void **state)
{
    struct committer_drive *f = *state;
    struct committer_stats stats;
    struct store_usage usage;
    uint64_t cursor = 0, accepted = 0;
    unsigned refused = 0, i;

    f->options.sync = STORE_SYNC_NONE;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, false);
    for (i = 0; i < 4000; i++) {
        unsigned points = 1 + i % 60;
        enum err err = committer_drive_write_points(f, points, i % 7 * 50);

        if (err == ERR_OK) {
            accepted += points;
            continue;
        }
        assert_int_equal(err, ERR_FULL);
        committer_stats(f->c, &stats);
        assert_true(stats.full);
        refused++;
        store_usage(f->s, &usage);
        assert_int_equal(usage.last_seq, accepted);
        assert_true(accepted > cursor);
        committer_drive_assert_reads(f, accepted - 100); /* all of it is there */
        assert_int_equal(
            committer_drive_forward(f, 1, cursor, cursor + (accepted - cursor) / 20 + 1), ERR_OK);
        cursor += (accepted - cursor) / 20 + 1;
    }
    assert_true(refused > 50);
    assert_int_equal(committer_drive_record(f, 1).cursor, cursor);
    committer_drive_assert_reads(f, cursor);
    committer_stats(f->c, &stats);
    assert_int_equal(stats.failed_commits, 0);
}

static void
a_full_log_stays_full_while_the_last_one_stands(void **state)
{
    struct committer_drive *f = *state;
    struct committer_stats stats;
    uint64_t accepted = 0;

    f->options.sync = STORE_SYNC_NONE;
    f->options.cursor_delay_ms = 1;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, false);
    committer_drive_create(f, 2, false, false);
    while (committer_drive_write_points(f, 500, 100) == ERR_OK)
        accepted += 500;
    assert_int_equal(committer_drive_forward(f, 2, 0, accepted), ERR_OK);
    committer_drive_settle(f, 2);
    committer_stats(f->c, &stats);
    assert_true(stats.full); /* sink 1 still holds all of it */
    assert_int_equal(committer_drive_forward(f, 1, 0, accepted), ERR_OK);
    committer_drive_settle(f, 1);
    committer_stats(f->c, &stats);
    assert_false(stats.full);
    assert_int_equal(committer_drive_write_points(f, 500, 100), ERR_OK);
}

static void
drop_oldest_makes_room_and_counts(void **state)
{
    struct committer_drive *f = *state;
    struct committer_stats stats;
    struct store_usage usage;
    struct store_record now;
    uint64_t accepted = 0, cursor = 0;
    unsigned i, busy = 0;

    f->options.sync = STORE_SYNC_NONE;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, true);
    committer_drive_create(f, 2, false, true);
    for (i = 0; i < 4000; i++) {
        unsigned points = 1 + i % 60;

        assert_int_equal(committer_drive_write_points(f, points, i % 7 * 50), ERR_OK);
        accepted += points;
        if (i % 10 == 9 && cursor < accepted) { /* a slow one */
            uint64_t to = cursor + 20 < accepted ? cursor + 20 : accepted;

            if (committer_drive_forward(f, 1, cursor, to) == ERR_BUSY)
                busy++;
            cursor = committer_drive_record(f, 1).cursor;
        }
    }
    assert_true(busy > 10);
    now = committer_drive_record(f, 2);
    assert_true(now.dropped[STORE_DROP_FULL] > accepted / 2);
    assert_int_equal(now.dropped[STORE_DROP_FULL], now.cursor);
    now = committer_drive_record(f, 1);
    assert_int_equal(now.dropped[STORE_DROP_FULL] + now.forwarded, now.cursor);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, accepted);
    assert_true(usage.log_bytes > MB); /* no more than needed was lost */
    committer_drive_assert_reads(f, now.cursor > committer_drive_record(f, 2).cursor
                                        ? now.cursor
                                        : committer_drive_record(f, 2).cursor);
    committer_stats(f->c, &stats);
    assert_false(stats.full);
    assert_int_equal(stats.failed_commits, 0);
}

static void
one_sink_that_may_not_lose_holds_all(void **state)
{
    struct committer_drive *f = *state;
    const struct committer_op policy = {.kind = COMMITTER_SINK_POLICY, .sink = 2, .may_lose = true};
    enum err err;

    f->options.sync = STORE_SYNC_NONE;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, true);
    committer_drive_create(f, 2, false, false);
    while ((err = committer_drive_write_points(f, 100, 100)) == ERR_OK)
        ;
    assert_int_equal(err, ERR_FULL);
    assert_int_equal(committer_drive_record(f, 1).cursor, 0);
    assert_int_equal(committer_drive_apply(f, &policy, 1), ERR_OK);
    assert_int_equal(committer_drive_write_points(f, 100, 100), ERR_OK);
    assert_true(committer_drive_record(f, 1).dropped[STORE_DROP_FULL] > 0);
    assert_true(committer_drive_record(f, 2).dropped[STORE_DROP_FULL] > 0);
}

static void
without_sinks_the_oldest_expire(void **state)
{
    struct committer_drive *f = *state;
    struct store_usage usage;
    unsigned i;

    f->options.sync = STORE_SYNC_NONE;
    committer_drive_start(f, 4 * MB);
    for (i = 0; i < 1000; i++)
        assert_int_equal(committer_drive_write_points(f, 100, 100), ERR_OK);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 100000);
    assert_int_equal(usage.expired_points, usage.first_seq - 1);
    assert_true(usage.expired_points > 50000);
    assert_true(usage.log_bytes > 2 * MB);
    committer_drive_assert_reads(f, usage.first_seq - 1);
}

/* ---- interval ---- */

static void
interval_answers_first_and_commits_later(void **state)
{
    struct committer_drive *f = *state;
    struct store_usage usage;
    struct committer_stats stats;
    int i;

    f->options.sync = STORE_SYNC_INTERVAL;
    f->options.sync_interval_ms = 3600000;
    committer_drive_start(f, 16 * MB);
    assert_int_equal(committer_drive_write_points(f, 100, 10), ERR_OK);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 0);
    committer_stats(f->c, &stats);
    assert_true(stats.queued_bytes > 0);
    committer_drive_create(f, 1, false,
                           false); /* a definition commits at once, behind the points */
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 100);
    assert_int_equal(committer_drive_record(f, 1).start, 100);
    assert_int_equal(committer_drive_write_points(f, 100, 10), ERR_OK);
    committer_drive_stop(f);
    f->options.sync_interval_ms = 30;
    committer_drive_start(f, 16 * MB);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 200);
    assert_int_equal(committer_drive_write_points(f, 100, 10), ERR_OK);
    for (i = 0; i < 500 && usage.last_seq != 300; i++) {
        committer_drive_sleep_ms(10);
        store_usage(f->s, &usage);
    }
    assert_int_equal(usage.last_seq, 300);
    assert_int_equal(committer_drive_record(f, 1).cursor, 100);
}

static void
interval_never_loses_what_it_answered(void **state)
{
    struct committer_drive *f = *state;
    struct store_usage usage;
    uint64_t accepted = 0;
    unsigned i, refused = 0;

    f->options.sync = STORE_SYNC_INTERVAL;
    f->options.sync_interval_ms = 2;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, false);
    for (i = 0; i < 1000 && refused < 5; i++) {
        enum err err = committer_drive_write_points(f, 100, 100);

        assert_true(err == ERR_OK || err == ERR_FULL);
        accepted += err == ERR_OK ? 100 : 0;
        refused += err == ERR_FULL;
    }
    assert_int_equal(refused, 5);
    committer_drive_stop(f);
    committer_drive_start(f, 4 * MB);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, accepted);
}

/* ---- max_age ---- */

static void
wait_cursor(struct committer_drive *f, uint32_t id, uint64_t cursor)
{
    int i;

    for (i = 0; i < 500 && committer_drive_record(f, id).cursor != cursor; i++) {
        committer_flush(f->c); /* a turned clock wakes nobody */
        committer_drive_sleep_ms(5);
    }
    assert_int_equal(committer_drive_record(f, id).cursor, cursor);
}

static void
what_is_too_old_is_dropped(void **state)
{
    struct committer_drive *f = *state;

    f->time.real = false;
    f->time.mono = 5000;
    f->options.max_age_ms = DAY_MS;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 300, 100), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 0, 10), ERR_OK);
    committer_drive_advance(&f->time, DAY_MS / 2, DAY_MS / 2 * 1000000);
    assert_int_equal(committer_drive_write_points(f, 300, 100), ERR_OK);
    assert_int_equal(committer_drive_record(f, 1).cursor, 10);
    committer_drive_advance(&f->time, DAY_MS / 2 + 2000, 0);
    wait_cursor(f, 1, 300);
    assert_int_equal(committer_drive_record(f, 1).dropped[STORE_DROP_AGE], 290);
    assert_int_equal(committer_drive_forward(f, 1, 10, 20), ERR_BUSY);
    committer_drive_advance(&f->time, DAY_MS, 0);
    wait_cursor(f, 1, 600);
}

static void
a_clock_that_is_set_makes_nothing_old(void **state)
{
    struct committer_drive *f = *state;
    int i;

    f->time.real = false;
    f->time.wall = 5; /* 1970 */
    f->options.max_age_ms = DAY_MS;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 300, 100), ERR_OK);
    committer_drive_stop(f);
    committer_drive_start(
        f, 16 * MB); /* an earlier run accepted them, with a clock that was not set */
    committer_drive_advance(&f->time, 120000, INT64_C(1700000000000000000));
    for (i = 0; i < 20; i++) {
        committer_flush(f->c);
        assert_int_equal(committer_drive_write_points(f, 1, 0), ERR_OK);
        committer_drive_advance(&f->time, 2000, 0);
    }
    assert_int_equal(committer_drive_record(f, 1).cursor, 0);
    committer_drive_advance(&f->time, DAY_MS, 0);
    wait_cursor(f, 1, 320);
    assert_int_equal(committer_drive_record(f, 1).dropped[STORE_DROP_AGE], 320);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reject_refuses_until_the_sink_moves, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(a_full_log_stays_full_while_the_last_one_stands,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(drop_oldest_makes_room_and_counts, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(one_sink_that_may_not_lose_holds_all, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(without_sinks_the_oldest_expire, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(interval_answers_first_and_commits_later,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(interval_never_loses_what_it_answered,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(what_is_too_old_is_dropped, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_makes_nothing_old,
                                        committer_drive_setup, committer_drive_teardown),
    };

    return cmocka_run_group_tests_name("store_room", tests, NULL, NULL);
}
