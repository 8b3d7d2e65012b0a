/*
 * test_store_committer.c: group commits, steps, definitions, wakes, and all of it at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "base/mem.h"
#include "store/committer_internal.h"
#include "support/committer_drive.h"

#define MB 1000000u

/* ---- bodies ---- */

struct writer {
    struct committer_drive *f;
    unsigned bodies;
};

static void *
write_many(void *arg)
{
    struct writer *w = arg;
    unsigned i;

    for (i = 0; i < w->bodies; i++)
        assert_int_equal(committer_drive_write_points(w->f, 7, 20), ERR_OK);
    return NULL;
}

/* Whoever was answered is expected back; after a wait in vain nobody is for a while. */
static void
the_answered_are_expected_back(void **state)
{
    struct committer c = {.gathered = 3};
    struct committer_body bodies[2] = {{.points = 1}, {.points = 1}};
    struct committer_list stored = {0};
    int64_t before = committer_now_us();

    (void)state;
    committer_list_add(&stored, &bodies[0]);
    committer_list_add(&stored, &bodies[1]);
    committer_expect(&c, &stored, 8000);
    assert_int_equal(c.expected, 5);
    assert_true(c.expected_us >= before + 4000);
    assert_true(c.expected_us <= committer_now_us() + 4000);
    committer_expect(&c, &stored, 5000000); /* one stall of the disk is not waited for again */
    assert_true(c.expected_us <= committer_now_us() + 50000);
    c.not_waiting = 2;
    committer_expect(&c, &stored, 5000000);
    assert_int_equal(c.expected, 0);
    committer_expect(&c, &stored, 5000000);
    assert_int_equal(c.expected, 0);
    committer_expect(&c, &stored, 5000000);
    assert_int_equal(c.expected, 5);
}

static void
writers_share_commits(void **state)
{
    struct committer_drive *f = *state;
    pthread_t threads[16];
    struct writer w = {f, 20};
    struct committer_stats stats;
    struct store_usage usage;
    size_t i;

    f->options.commit_delay_us = 2000;
    committer_drive_start(f, 16 * MB);
    for (i = 0; i < 16; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &w), 0);
    for (i = 0; i < 16; i++)
        (void)pthread_join(threads[i], NULL);
    committer_stats(f->c, &stats);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 16 * 20 * 7);
    assert_int_equal(stats.points, 16 * 20 * 7);
    assert_true(stats.commits < 16 * 20 / 2);
    assert_int_equal(stats.queued_bytes, 0);
    assert_int_equal(stats.failed_commits, 0);
}

static void
a_full_queue_refuses(void **state)
{
    struct committer_drive *f = *state;
    struct committer_drive_sent one = {0}, two = {0};

    f->options.queue_max_bytes = 1000;
    f->options.commit_delay_us = 200000;
    committer_drive_start(f, 16 * MB);
    buf_init(&one.chunks, MB);
    buf_init(&two.chunks, MB);
    committer_drive_prepare(f, &one, 1, 100, 100); /* one alone is always taken */
    committer_drive_prepare(f, &two, 101, 1, 0);
    assert_int_equal(committer_append(f->c, &one.body), ERR_OK);
    assert_int_equal(committer_append(f->c, &two.body), ERR_BUSY);
    assert_int_equal(committer_drive_wait_for(&one), ERR_OK);
    while (committer_append(f->c, &two.body) !=
           ERR_OK) /* its bytes are counted until it is answered */
        committer_drive_sleep_ms(1);
    assert_int_equal(committer_drive_wait_for(&two), ERR_OK);
    committer_drive_assert_reads(f, 0);
    buf_free(&one.chunks);
    buf_free(&two.chunks);
}

static void
what_is_larger_than_the_log_is_refused_at_once(void **state)
{
    struct committer_drive *f = *state;
    struct committer_stats stats;

    f->options.sync = STORE_SYNC_NONE;
    committer_drive_start(f, 4 * MB);
    committer_drive_create(f, 1, false, true);
    assert_int_equal(committer_drive_write_points(f, 100, 100), ERR_OK);
    assert_int_equal(committer_drive_write_points(f, 4000, 1000), ERR_FULL);
    committer_stats(f->c, &stats);
    assert_false(stats.full);
    assert_int_equal(committer_drive_record(f, 1).cursor, 0); /* nothing was lost for it */
    assert_int_equal(committer_drive_write_points(f, 100, 100), ERR_OK);
}

/* ---- steps ---- */

static void
steps_fold_and_are_kept(void **state)
{
    struct committer_drive *f = *state;
    struct store_record committed, now;
    struct committer_step step = {.sink = 1,
                                  .retries = 2,
                                  .errors = {[STORE_ERROR_TIMEOUT] = 3},
                                  .last_success_ns = 77,
                                  .learned_points = 50};

    f->options.cursor_delay_ms = 3600000;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 100, 20), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 0, 40), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 40, 60), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 40, 61), ERR_BUSY);
    assert_int_equal(committer_drive_forward(f, 2, 0, 1), ERR_EOF);
    step.from = step.to = 60;
    assert_int_equal(committer_step(f->c, &step, &now), ERR_OK);
    step.from = 60;
    step.to = 63;
    step.filtered = step.dead = step.dropped[STORE_DROP_REJECTED] = 1;
    assert_int_equal(committer_step(f->c, &step, &now), ERR_OK);
    assert_int_equal(now.cursor, 63);
    assert_int_equal(committer_record(f->c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 0); /* it may wait an hour */
    assert_int_equal(committer_drive_write_points(f, 1, 20), ERR_OK);
    assert_int_equal(committer_record(f->c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 63); /* but rides along */
    assert_int_equal(committer_drive_forward(f, 1, 63, 101), ERR_OK);
    committer_drive_stop(f); /* commits the rest */
    committer_drive_start(f, 16 * MB);
    now = committer_drive_record(f, 1);
    assert_int_equal(now.cursor, 101);
    assert_int_equal(now.forwarded, 98);
    assert_int_equal(now.filtered, 1);
    assert_int_equal(now.dead, 1);
    assert_int_equal(store_record_dropped(&now), 1);
    assert_int_equal(now.retries, 4);
    assert_int_equal(now.errors[STORE_ERROR_TIMEOUT], 6);
    assert_int_equal(now.last_success_ns, 77);
    assert_int_equal(now.learned_points, 50);
}

static void
a_step_is_committed_within_its_delay(void **state)
{
    struct committer_drive *f = *state;
    struct store_record committed;
    int i;

    f->options.cursor_delay_ms = 50;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 10, 20), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 0, 10), ERR_OK);
    for (i = 0; i < 500; i++) {
        assert_int_equal(committer_record(f->c, 1, &committed, NULL), ERR_OK);
        if (committed.cursor == 10)
            break;
        committer_drive_sleep_ms(10);
    }
    assert_int_equal(committed.cursor, 10);
}

/* Those that come while another is being committed have a delay of their own. */
static void
steps_in_a_row_share_their_commits(void **state)
{
    struct committer_drive *f = *state;
    const struct committer_step step = {.sink = 1, .retries = 1};
    struct committer_stats before, after;
    struct store_record now;
    int64_t until;

    f->options.cursor_delay_ms = 20; /* ten times that for what moves no cursor */
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    committer_stats(f->c, &before);
    until = clock_mono_ms(&clock_system) + 1000;
    while (clock_mono_ms(&clock_system) < until)
        assert_int_equal(committer_step(f->c, &step, &now), ERR_OK);
    committer_stats(f->c, &after);
    assert_in_range(after.commits - before.commits, 1, 6);
}

static void
a_runner_is_woken_for_what_it_armed(void **state)
{
    struct committer_drive *f = *state;
    struct wake wake;
    struct errinfo info;
    struct pollfd p;

    f->options.cursor_delay_ms = 3600000;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(wake_open(&wake, &info), ERR_OK);
    p = (struct pollfd){wake_fd(&wake), POLLIN, 0};
    committer_attach(f->c, 1, &wake);
    assert_int_equal(committer_drive_write_points(f, 10, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* not armed */
    committer_arm(f->c, 1, 20, false);
    assert_int_equal(committer_drive_write_points(f, 9, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* not there yet */
    assert_int_equal(committer_drive_write_points(f, 1, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 1);
    wake_drain(&wake);
    assert_int_equal(committer_drive_write_points(f, 1, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* once */
    committer_arm(f->c, 1, 21, false);
    assert_int_equal(poll(&p, 1, 0), 1); /* it is so already */
    wake_drain(&wake);
    assert_int_equal(committer_drive_forward(f, 1, 0, 21), ERR_OK);
    committer_arm(f->c, 1, UINT64_MAX, true);
    assert_int_equal(poll(&p, 1, 0), 0);
    committer_flush(f->c);
    assert_int_equal(poll(&p, 1, 10000), 1);
    committer_attach(f->c, 1, NULL);
    wake_close(&wake);
}

/* ---- definitions ---- */

static void
sinks_begin_where_they_were_told(void **state)
{
    struct committer_drive *f = *state;
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = 1};
    const struct committer_op again = {.kind = COMMITTER_SINK_CREATE, .sink = 2};
    const struct committer_op puts[] = {
        {.kind = COMMITTER_PUT, .key = SLICE_INIT("meta_sink:a"), .value = SLICE_INIT("x")},
        {.kind = COMMITTER_PUT, .key = SLICE_INIT(""), .value = SLICE_INIT("x")}};
    struct store_record r;

    committer_drive_start(f, 16 * MB);
    assert_int_equal(committer_drive_write_points(f, 50, 10), ERR_OK);
    committer_drive_create(f, 2, true,
                           false); /* first: what no sink needs goes as soon as there is one */
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 50, 10), ERR_OK);
    assert_int_equal(committer_drive_record(f, 1).start, 50);
    assert_int_equal(committer_drive_record(f, 2).start, 0);
    assert_int_equal(committer_drive_apply(f, &again, 1), ERR_BAD);
    assert_int_equal(committer_drive_apply(f, puts, 2), ERR_RANGE);
    assert_int_equal(committer_drive_apply(f, puts, 1), ERR_OK);
    assert_int_equal(committer_drive_apply(f, &drop, 1), ERR_OK);
    assert_int_equal(committer_drive_apply(f, &drop, 1), ERR_EOF);
    assert_int_equal(committer_record(f->c, 1, NULL, &r), ERR_EOF);
    assert_int_equal(committer_drive_forward(f, 1, 50, 51), ERR_EOF);
    committer_drive_stop(f);
    committer_drive_start(f, 16 * MB);
    assert_int_equal(committer_record(f->c, 1, NULL, &r), ERR_EOF);
    assert_int_equal(committer_drive_record(f, 2).start, 0);
    assert_int_equal(store_next_sink(f->s), 3);
}

static void
passed_points_are_deleted_and_freed_by_a_drop(void **state)
{
    struct committer_drive *f = *state;
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = 2};
    struct store_usage usage;
    int i;

    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, true, false);
    committer_drive_create(f, 2, true, false);
    for (i = 0; i < 20; i++)
        assert_int_equal(committer_drive_write_points(f, 1000, 100), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 0, 20000), ERR_OK);
    committer_drive_settle(f, 1);
    store_usage(f->s, &usage);
    assert_int_equal(usage.first_seq, 1); /* the other one needs them */
    assert_int_equal(committer_drive_apply(f, &drop, 1), ERR_OK);
    for (i = 0; i < 500; i++) {
        store_usage(f->s, &usage);
        if (usage.first_seq == 20001)
            break;
        committer_drive_sleep_ms(10);
    }
    assert_int_equal(usage.first_seq, 20001);
}

static void
delivered_points_are_kept_as_long_as_there_is_room(void **state)
{
    struct committer_drive *f = *state;
    struct store_usage usage;
    int i;

    f->options.sync = STORE_SYNC_NONE;
    f->options.keep_delivered_bytes = MB;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, true, false);
    for (i = 0; i < 30; i++) {
        assert_int_equal(committer_drive_write_points(f, 1000, 100), ERR_OK);
        assert_int_equal(
            committer_drive_forward(f, 1, (uint64_t)i * 1000, (uint64_t)i * 1000 + 1000), ERR_OK);
        committer_drive_settle(f, 1);
    }
    committer_drive_sleep_ms(300);
    store_usage(f->s, &usage);
    assert_true(usage.log_bytes > 9 * MB / 10 && usage.log_bytes < 14 * MB / 10);
    for (i = 0; i < 80; i++) /* undelivered ones take the room */
        assert_int_equal(committer_drive_write_points(f, 1000, 100), ERR_OK);
    committer_drive_assert_reads(f, 30000);
}

static void
what_comes_after_the_end_is_refused(void **state)
{
    struct committer_drive *f = *state;
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = 1};

    f->options.cursor_delay_ms = 3600000;
    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, false, false);
    assert_int_equal(committer_drive_write_points(f, 10, 0), ERR_OK);
    assert_int_equal(committer_drive_forward(f, 1, 0, 10), ERR_OK);
    committer_end(f->c);
    committer_end(f->c);
    assert_int_equal(committer_drive_write_points(f, 10, 0), ERR_BUSY);
    assert_int_equal(committer_drive_apply(f, &drop, 1), ERR_STOP);
    committer_drive_stop(f);
    committer_drive_start(f, 16 * MB);
    assert_int_equal(committer_drive_record(f, 1).cursor, 10);
}

/* ---- threads and memory ---- */

struct runner {
    struct committer_drive *f;
    uint32_t id;
    uint64_t until;
};

/* Reads and steps like a sink's runner, sleeping on its pipe. */
static void *
run_sink(void *arg)
{
    struct runner *run = arg;
    struct committer_drive *f = run->f;
    struct store_reader *r = NULL;
    struct store_record now;
    struct store_scan scan;
    struct batch batch;
    struct errinfo info;
    struct wake wake;
    struct pollfd p;

    batch_init(&batch);
    assert_int_equal(wake_open(&wake, &info), ERR_OK);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    p = (struct pollfd){wake_fd(&wake), POLLIN, 0};
    committer_attach(f->c, run->id, &wake);
    while ((now = committer_drive_record(f, run->id)).cursor < run->until) {
        batch_clear(&batch);
        assert_int_equal(store_read(r, now.cursor, NULL, 100, MB, &batch, &scan, &info), ERR_OK);
        if (scan.passed > now.cursor) {
            struct committer_step step = {.sink = run->id, .from = now.cursor, .to = scan.passed};
            enum err err;

            step.forwarded = batch.count;
            step.dropped[STORE_DROP_DAMAGED] = scan.damaged;
            if (scan.missing > 0) /* dropped meanwhile */
                continue;
            err = committer_step(f->c, &step, &now);
            assert_true(err == ERR_OK || err == ERR_BUSY);
            continue;
        }
        committer_arm(f->c, run->id, now.cursor + 1, false);
        (void)poll(&p, 1, 10000);
        wake_drain(&wake);
    }
    committer_attach(f->c, run->id, NULL);
    store_reader_close(r);
    batch_free(&batch);
    wake_close(&wake);
    return NULL;
}

static void
runners_and_writers_at_once(void **state)
{
    struct committer_drive *f = *state;
    pthread_t writers[4], sinks[3];
    struct writer w = {f, 300};
    struct runner runs[3];
    struct store_usage usage;
    size_t i;

    f->options.sync = STORE_SYNC_NONE;
    f->options.cursor_delay_ms = 5;
    committer_drive_start(f, 4 * MB);
    for (i = 0; i < 3; i++) {
        committer_drive_create(f, (uint32_t)i + 1, true, i == 2);
        runs[i] = (struct runner){f, (uint32_t)i + 1, 4 * 300 * 7};
        assert_int_equal(pthread_create(&sinks[i], NULL, run_sink, &runs[i]), 0);
    }
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_many, &w), 0);
    for (i = 0; i < 4; i++)
        (void)pthread_join(writers[i], NULL);
    for (i = 0; i < 3; i++)
        (void)pthread_join(sinks[i], NULL);
    committer_drive_stop(f);
    committer_drive_start(f, 4 * MB);
    for (i = 0; i < 3; i++)
        assert_int_equal(committer_drive_record(f, (uint32_t)i + 1).cursor, 4 * 300 * 7);
    assert_int_equal(committer_drive_record(f, 1).forwarded, 4 * 300 * 7);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 4 * 300 * 7);
}

static void
any_allocation_of_the_start_may_fail(void **state)
{
    struct committer_drive *f = *state;
    struct errinfo info;
    enum err err = ERR_NOMEM;
    size_t n, live;

    committer_drive_start(f, 16 * MB);
    committer_drive_create(f, 1, true, false);
    committer_drive_create(f, 2, true, false);
    committer_stop(f->c);
    f->c = NULL;
    live = mem_live();
    for (n = 1; err != ERR_OK; n++) {
        mem_fail_at(n);
        err = committer_start(&f->c, f->s, &f->options, &info);
        mem_fail_at(0);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_NOMEM);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n >= 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answered_are_expected_back),
        cmocka_unit_test_setup_teardown(writers_share_commits, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(what_is_larger_than_the_log_is_refused_at_once,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(steps_fold_and_are_kept, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(a_step_is_committed_within_its_delay, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(steps_in_a_row_share_their_commits, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(what_comes_after_the_end_is_refused, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(a_runner_is_woken_for_what_it_armed, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(sinks_begin_where_they_were_told, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(passed_points_are_deleted_and_freed_by_a_drop,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(delivered_points_are_kept_as_long_as_there_is_room,
                                        committer_drive_setup, committer_drive_teardown),
        cmocka_unit_test_setup_teardown(runners_and_writers_at_once, committer_drive_setup,
                                        committer_drive_teardown),
        cmocka_unit_test_setup_teardown(any_allocation_of_the_start_may_fail, committer_drive_setup,
                                        committer_drive_teardown),
    };

    return cmocka_run_group_tests_name("store_committer", tests, NULL, NULL);
}
