/*
 * test_sink_runner_ledger.c: every number between two cursors is counted once, whatever happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/runner_rig.h"

#define MAP (32u << 20)
#define SMALL_MAP (4u << 20)

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

static void
set(struct runner_rig *rig, const char *key, const char *value)
{
    assert_int_equal(sink_def_set_option(&rig->def, slice_of(key), slice_of(value), NULL), ERR_OK);
}

static bool
is_blocked(struct runner_rig *rig)
{
    return runner_rig_status(rig) == RUNNER_BLOCKED;
}

/* ---- refused points ---- */

static void
a_refused_point_is_dropped_and_counted_when_asked(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    set(&rig, "on_reject", "drop");
    order((struct runner_rig_orders){.refuses = 33});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 99);
    assert_int_equal(r.dropped[STORE_DROP_REJECTED], 1);
    assert_int_equal(runner_rig_seen().count, 99);
    runner_rig_close(&rig);
}

static void
a_refused_point_with_filtered_ones_about_it(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    set(&rig, "on_reject", "drop");
    assert_int_equal(sink_def_add(&rig.def.include, SELECTOR_NAME, SLICE("mem"), NULL), ERR_OK);
    order((struct runner_rig_orders){.refuses = 50});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 98);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 18);
    assert_int_equal(r.dropped[STORE_DROP_REJECTED], 1);
    assert_int_equal(r.filtered, 79);
    runner_rig_close(&rig);
}

static void
a_refused_point_blocks_the_sink_behind_what_it_let_through(void **state)
{
    struct runner_rig rig;
    struct store_record r;
    struct runner_view view;

    begin(&rig, state);
    set(&rig, "on_reject", "block");
    order((struct runner_rig_orders){.refuses = 33});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    RUNNER_RIG_UNTIL(&rig, is_blocked);
    r = runner_rig_record(&rig);
    assert_int_equal(r.cursor, 32);
    assert_int_equal(r.forwarded, 32);
    assert_int_equal(r.errors[STORE_ERROR_REJECTED], 1);
    runner_view(rig.runner, &view);
    assert_string_equal(view.last_error, "the destination refuses point 33: bad point");
    assert_int_equal(runner_rig_seen().count, 99);   /* the rest was delivered, once */
    order((struct runner_rig_orders){.refuses = 0}); /* somebody mended the destination */
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_seen().count, 100);
    assert_int_equal(runner_rig_record(&rig).forwarded, 100);
    runner_rig_close(&rig);
}

static void
blocked_and_altered_to_drop_it_goes_on(void **state)
{
    struct runner_rig rig;
    struct store_record r;

    begin(&rig, state);
    rig.config.backoff = (struct backoff_limits){3, 600000, 600000};
    order((struct runner_rig_orders){.refuses = 33});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    RUNNER_RIG_UNTIL(&rig, is_blocked);
    set(&rig, "on_reject", "drop");
    assert_int_equal(runner_alter(rig.runner, &rig.def), ERR_OK);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded, 99);
    assert_int_equal(r.dropped[STORE_DROP_REJECTED], 1);
    runner_rig_close(&rig);
}

static void
the_first_point_of_a_new_definition_is_not_believed(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    set(&rig, "on_reject", "drop");
    order((struct runner_rig_orders){.refuses = 1});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 1);
    RUNNER_RIG_UNTIL(&rig, is_blocked);
    assert_int_equal(runner_rig_record(&rig).cursor, 0);
    order((struct runner_rig_orders){.refuses = 1, .names_points = true});
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_record(&rig).dropped[STORE_DROP_REJECTED], 1);
    runner_rig_close(&rig);
}

static bool
has_learned(struct runner_rig *rig)
{
    return runner_rig_record(rig).learned_points > 0;
}

static void
what_a_peer_taught_is_kept(void **state)
{
    struct runner_rig rig;

    begin(&rig, state);
    order((struct runner_rig_orders){
        .what = DELIVERY_TOO_LARGE, .kind = STORE_ERROR_REJECTED, .times = 2});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 100);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    RUNNER_RIG_UNTIL(&rig, has_learned);
    assert_int_equal(runner_rig_record(&rig).learned_points, 25);
    assert_int_equal(runner_rig_record(&rig).forwarded, 100);
    runner_rig_close(&rig);
}

/* ---- a cursor that others move ---- */

static void
points_dropped_under_a_round_are_not_counted_twice(void **state)
{
    struct committer_drive *drive = *state;
    struct runner_rig rig;
    const struct committer_op may_lose = {
        .kind = COMMITTER_SINK_POLICY, .sink = RUNNER_RIG_SINK, .may_lose = true};
    struct store_usage usage;
    struct store_record r;
    enum err err;

    committer_drive_start(drive, SMALL_MAP);
    runner_rig_open(&rig, drive);
    assert_int_equal(committer_drive_apply(drive, &may_lose, 1), ERR_OK);
    assert_int_equal(sink_def_add(&rig.def.exclude, SELECTOR_NAME, SLICE("mem"), NULL), ERR_OK);
    rig.def.batch_size = 500;
    order((struct runner_rig_orders){.hold_deliver = true});
    runner_rig_run(&rig);
    runner_rig_write(&rig, 300);
    RUNNER_RIG_UNTIL(&rig, runner_rig_is_delivering);
    do { /* until the log was full and the sink lost its oldest points, some of its round */
        err = committer_drive_write_points(drive, 200, 400);
        assert_true(err == ERR_OK || err == ERR_FULL || err == ERR_BUSY);
    } while (runner_rig_record(&rig).dropped[STORE_DROP_FULL] < 250);
    order((struct runner_rig_orders){.hold_deliver = false});
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    store_usage(drive->s, &usage);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded + r.filtered + r.dropped[STORE_DROP_FULL], usage.last_seq);
    assert_true(r.dropped[STORE_DROP_FULL] >= 250);
    assert_true(r.forwarded <= runner_rig_seen().count);
    runner_rig_close(&rig);
}

static void
writers_and_drops_while_a_slow_sink_delivers(void **state)
{
    struct committer_drive *drive = *state;
    struct runner_rig rig;
    const struct committer_op may_lose = {
        .kind = COMMITTER_SINK_POLICY, .sink = RUNNER_RIG_SINK, .may_lose = true};
    struct store_usage usage;
    struct store_record r;

    drive->options.cursor_delay_ms = 20;
    committer_drive_start(drive, SMALL_MAP);
    runner_rig_open(&rig, drive);
    assert_int_equal(committer_drive_apply(drive, &may_lose, 1), ERR_OK);
    rig.def.batch_size = 50;
    assert_int_equal(sink_def_add(&rig.def.exclude, SELECTOR_NAME, SLICE("mem"), NULL), ERR_OK);
    rig.config.backoff = (struct backoff_limits){1, 1, 2};
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 60; i++) {
        order((struct runner_rig_orders){.what = i % 2 == 0 ? DELIVERY_TRANSIENT : DELIVERY_DONE,
                                         .kind = STORE_ERROR_TIMEOUT,
                                         .take_first = i % 7});
        (void)committer_drive_write_points(drive, 200, 400);
    }
    order((struct runner_rig_orders){.refuses = 0});
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    store_usage(drive->s, &usage);
    r = runner_rig_record(&rig);
    assert_int_equal(r.forwarded + r.filtered + r.dropped[STORE_DROP_FULL], usage.last_seq);
    runner_rig_close(&rig);
}

/* ---- damage ---- */

/* Change one byte of the line that has ${needle} in it, wherever the file has it. */
static void
damage(const struct committer_drive *drive, const char *needle)
{
    char path[STORE_DRIVE_DIR + 64];
    size_t n, found = 0, length = strlen(needle);
    char *bytes;
    FILE *file;

    store_drive_path(path, drive->dir, "data.mdb");
    file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    n = (size_t)ftell(file);
    bytes = malloc(n);
    assert_non_null(bytes);
    rewind(file);
    assert_int_equal(fread(bytes, 1, n, file), n);
    for (size_t i = 0; i + length <= n; i++) {
        if (memcmp(bytes + i, needle, length) == 0) {
            bytes[i] ^= 1;
            found++;
        }
    }
    assert_true(found > 0);
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

static void
damaged_chunks_are_counted(void **state, const char *const *needles, size_t count,
                           const char *include)
{
    struct committer_drive *drive = *state;
    struct runner_rig rig;
    struct store_usage usage;
    struct store_record r;

    committer_drive_start(drive, MAP);
    runner_rig_open(&rig, drive);
    for (unsigned i = 0; i < 6; i++)
        runner_rig_write(&rig, 50);
    committer_drive_stop(drive);
    for (size_t i = 0; i < count; i++)
        damage(drive, needles[i]);
    committer_drive_start(drive, MAP);
    if (include != NULL)
        assert_int_equal(sink_def_add(&rig.def.include, SELECTOR_NAME, slice_of(include), NULL),
                         ERR_OK);
    rig.def.batch_size = 70;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    store_usage(drive->s, &usage);
    r = runner_rig_record(&rig);
    assert_int_equal(usage.last_seq, 300);
    assert_int_equal(r.dropped[STORE_DROP_DAMAGED], count * 50);
    assert_int_equal(r.forwarded, include == NULL ? 300 - count * 50 : (300 - count * 50) / 5);
    assert_int_equal(r.forwarded + r.filtered + r.dropped[STORE_DROP_DAMAGED], 300);
    runner_rig_close(&rig);
}

static void
a_damaged_chunk_at_the_head(void **state)
{
    static const char *const needles[] = {"v=13i"};

    damaged_chunks_are_counted(state, needles, 1, NULL);
}

static void
a_damaged_chunk_in_the_middle(void **state)
{
    static const char *const needles[] = {"v=123i", "v=173i"};

    damaged_chunks_are_counted(state, needles, 2, NULL);
}

static void
a_damaged_chunk_at_the_end(void **state)
{
    static const char *const needles[] = {"v=273i"};

    damaged_chunks_are_counted(state, needles, 1, NULL);
}

static void
damage_among_filtered_points(void **state)
{
    static const char *const needles[] = {"v=13i", "v=173i", "v=273i"};

    damaged_chunks_are_counted(state, needles, 3, "mem");
}

/* ---- when a step is committed ---- */

static void
without_a_delay_each_step_is_committed_before_the_next_round(void **state)
{
    struct committer_drive *drive = *state;
    struct runner_rig rig;

    drive->options.cursor_delay_ms = 0;
    begin(&rig, state);
    rig.def.batch_size = 10;
    runner_rig_run(&rig);
    for (unsigned i = 0; i < 10; i++)
        runner_rig_write(&rig, 25);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_false(runner_rig_seen().uncommitted);
    assert_int_equal(runner_rig_record(&rig).forwarded, 250);
    runner_rig_close(&rig);
}

static void
with_a_delay_rounds_share_a_commit(void **state)
{
    struct committer_drive *drive = *state;
    struct committer_stats before, after;
    struct runner_rig rig;

    drive->options.cursor_delay_ms = 2000;
    begin(&rig, state);
    runner_rig_write(&rig, 900);
    committer_stats(drive->c, &before);
    rig.def.batch_size = 10;
    runner_rig_run(&rig);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    committer_stats(drive->c, &after);
    assert_in_range(after.commits - before.commits, 0, 2);
    assert_int_equal(runner_rig_record(&rig).forwarded, 900);
    runner_rig_close(&rig);
}

/* Nothing that was counted before the end is lost by it. */
static void
the_end_commits_the_last_step(void **state)
{
    struct committer_drive *drive = *state;
    struct runner_rig rig;

    drive->options.cursor_delay_ms = 600000;
    begin(&rig, state);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 40);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    runner_rig_end(&rig);
    committer_drive_stop(drive);
    committer_drive_start(drive, MAP);
    assert_int_equal(runner_rig_record(&rig).forwarded, 40);
    runner_rig_run(&rig);
    runner_rig_write(&rig, 2);
    RUNNER_RIG_UNTIL(&rig, runner_rig_caught_up);
    assert_int_equal(runner_rig_seen().count, 42); /* nothing twice */
    runner_rig_close(&rig);
}

int
main(void)
{
#define RUN(test) \
    cmocka_unit_test_setup_teardown(test, committer_drive_setup, committer_drive_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_refused_point_is_dropped_and_counted_when_asked),
        RUN(a_refused_point_with_filtered_ones_about_it),
        RUN(a_refused_point_blocks_the_sink_behind_what_it_let_through),
        RUN(blocked_and_altered_to_drop_it_goes_on),
        RUN(the_first_point_of_a_new_definition_is_not_believed),
        RUN(what_a_peer_taught_is_kept),
        RUN(points_dropped_under_a_round_are_not_counted_twice),
        RUN(writers_and_drops_while_a_slow_sink_delivers),
        RUN(a_damaged_chunk_at_the_head),
        RUN(a_damaged_chunk_in_the_middle),
        RUN(a_damaged_chunk_at_the_end),
        RUN(damage_among_filtered_points),
        RUN(without_a_delay_each_step_is_committed_before_the_next_round),
        RUN(with_a_delay_rounds_share_a_commit),
        RUN(the_end_commits_the_last_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
