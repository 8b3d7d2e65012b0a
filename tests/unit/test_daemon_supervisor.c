/*
 * test_daemon_supervisor.c: sinks by name: created, altered, dropped, kept over restarts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/daemon_rig.h"
#include "support/sink_peer.h"

/* A sink that goes to a peer of the test's. */
static struct sink_peer peer;

static const char *
create(const char *name, const char *more)
{
    static char text[300];

    (void)snprintf(text, sizeof(text),
                   "CREATE SINK %s TO 'http://127.0.0.1:%u/write?db=x' TYPE http_line %s", name,
                   sink_peer_port(&peer), more);
    return text;
}

static int
setup(void **state)
{
    sink_peer_http(&peer);
    sink_peer_start(&peer);
    if (daemon_rig_setup(state) != 0)
        return -1;
    daemon_rig_open_supervisor(*state);
    return 0;
}

static int
teardown(void **state)
{
    int result = daemon_rig_teardown(state);

    sink_peer_stop(&peer);
    return result;
}

static void
runs(struct daemon_rig *rig, const char *text)
{
    if (daemon_rig_sql(rig, text) != ERR_OK)
        fail_msg("%s: %s", text, rig->info.text);
}

static struct supervisor_view
view(struct daemon_rig *rig, const char *name)
{
    const struct sink_def *def = supervisor_find(rig->daemon.supervisor, slice_of(name));
    struct supervisor_view out;

    assert_non_null(def);
    supervisor_view(rig->daemon.supervisor, def, &out);
    return out;
}

static bool
caught_up(struct daemon_rig *rig, void *name)
{
    struct supervisor_view v = view(rig, name);

    return v.pending == 0 && v.accepted > 0;
}

static void
write_points(struct daemon_rig *rig, unsigned points)
{
    assert_int_equal(committer_drive_write_points(rig->drive, points, 10), ERR_OK);
}

/* ---- one sink's life ---- */

static char s_name[] = "s", t_name[] = "t";

static void
a_new_sink_forwards_what_comes_after_it(void **state)
{
    struct daemon_rig *rig = *state;

    write_points(rig, 10);
    runs(rig, create("s", ""));
    assert_int_equal(supervisor_count(rig->daemon.supervisor), 1);
    write_points(rig, 20);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").accepted, 20);
    assert_int_equal(view(rig, "s").record.forwarded, 20);
    assert_int_equal(view(rig, "s").runner.status, RUNNER_RUNNING);
    assert_int_equal(sink_peer_taken(&peer, 5), 0);
    assert_int_equal(sink_peer_taken(&peer, 15), 1);
}

static void
start_earliest_takes_what_is_still_there(void **state)
{
    struct daemon_rig *rig = *state;

    write_points(rig, 10);
    runs(rig, create("s", " START EARLIEST"));
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 10);
    assert_int_equal(sink_peer_taken(&peer, 5), 1);
}

static void
the_table_is_in_the_order_of_names(void **state)
{
    static const char *const names[] = {"m", "a", "z", "b", "A"};
    static const char *const sorted[] = {"A", "a", "b", "m", "z"};
    struct daemon_rig *rig = *state;

    for (size_t i = 0; i < 5; i++)
        runs(rig, create(names[i], ""));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(supervisor_count(rig->daemon.supervisor), 5);
        for (size_t i = 0; i < 5; i++)
            assert_string_equal(supervisor_at(rig->daemon.supervisor, i)->name, sorted[i]);
        daemon_rig_restart(rig);
    }
    assert_null(supervisor_find(rig->daemon.supervisor, SLICE("c")));
}

static void
definitions_and_counters_survive_a_restart(void **state)
{
    struct daemon_rig *rig = *state;
    const struct sink_def *def;

    runs(rig, create("s", " BATCH_SIZE 7 WITH (timeout = 3s)"));
    write_points(rig, 20);
    daemon_rig_until(rig, caught_up, s_name);
    daemon_rig_restart(rig);
    def = supervisor_find(rig->daemon.supervisor, SLICE("s"));
    assert_non_null(def);
    assert_int_equal(def->batch_size, 7);
    assert_int_equal(sink_def_number(def, "timeout"), 3000);
    assert_int_equal(view(rig, "s").record.forwarded, 20);
    write_points(rig, 5);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 25);
    assert_int_equal(sink_peer_taken(&peer, 20), 1);
}

static void
ids_are_never_used_again(void **state)
{
    struct daemon_rig *rig = *state;
    uint32_t last = 0;

    for (int i = 0; i < 6; i++) {
        uint32_t id;

        runs(rig, create("s", ""));
        id = supervisor_at(rig->daemon.supervisor, 0)->id;
        assert_true(id > last);
        last = id;
        runs(rig, "DROP SINK s");
        if (i % 2 == 1)
            daemon_rig_restart(rig);
    }
}

static void
alter_keeps_cursor_and_counters(void **state)
{
    struct daemon_rig *rig = *state;

    runs(rig, create("s", ""));
    write_points(rig, 20);
    daemon_rig_until(rig, caught_up, s_name);
    runs(rig, "ALTER SINK s INCLUDE MEASUREMENTS mem");
    assert_int_equal(view(rig, "s").record.forwarded, 20);
    write_points(rig, 20);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 24);
    assert_int_equal(view(rig, "s").record.filtered, 16);
    daemon_rig_restart(rig);
    assert_int_equal(supervisor_at(rig->daemon.supervisor, 0)->include.count, 1);
}

static bool
is_paused(struct daemon_rig *rig, void *name)
{
    return view(rig, name).runner.status == RUNNER_PAUSED;
}

static void
pause_is_kept_over_a_restart(void **state)
{
    struct daemon_rig *rig = *state;

    runs(rig, create("s", ""));
    runs(rig, "ALTER SINK s PAUSE");
    daemon_rig_until(rig, is_paused, s_name);
    write_points(rig, 10);
    daemon_rig_restart(rig);
    daemon_rig_until(rig, is_paused, s_name);
    assert_int_equal(view(rig, "s").pending, 10);
    runs(rig, "ALTER SINK s RESUME");
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 10);
}

/* ---- several ---- */

static void
a_dropped_sink_is_gone_and_the_others_never_notice(void **state)
{
    struct daemon_rig *rig = *state;

    runs(rig, create("s", ""));
    runs(rig, "CREATE SINK t TO 'http://127.0.0.1:1/w' TYPE http_line"); /* nobody is there */
    write_points(rig, 10);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "t").pending, 10);
    runs(rig, "DROP SINK t");
    assert_int_equal(supervisor_count(rig->daemon.supervisor), 1);
    write_points(rig, 10);
    daemon_rig_until(rig, caught_up, s_name);
    daemon_rig_restart(rig);
    assert_null(supervisor_find(rig->daemon.supervisor, slice_of(t_name)));
}

static bool
has_request(struct daemon_rig *rig, void *arg)
{
    (void)rig;
    (void)arg;
    return sink_peer_taken(&peer, 1) > 0;
}

/* The old one still waits for its answer; the new one connects when it is gone. */
static void
a_successor_of_the_same_name_waits_for_its_predecessor(void **state)
{
    struct daemon_rig *rig = *state;
    struct supervisor_view v;

    runs(rig, create("s", " WITH (timeout = 700ms)"));
    write_points(rig, 1);
    daemon_rig_until(rig, has_request, NULL);
    sink_peer_set_mood(&peer, CONTRACT_SILENT, 0);
    write_points(rig, 10);
    daemon_rig_turn(rig, 100);
    runs(rig, "DROP SINK s");
    runs(rig, create("s", ""));
    v = view(rig, "s");
    assert_int_equal(v.runner.status, RUNNER_STARTING);
    assert_int_equal(v.accepted, 0);
    sink_peer_set_mood(&peer, CONTRACT_CONFIRMS, 0);
    write_points(rig, 10);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 10);
}

static void
dropped_and_created_many_times_while_data_flows(void **state)
{
    struct daemon_rig *rig = *state;

    for (int i = 0; i < 20; i++) {
        runs(rig, create("s", ""));
        write_points(rig, 7);
        runs(rig, "ALTER SINK s BATCH_SIZE 5");
        write_points(rig, 7);
        if (i < 19)
            runs(rig, "DROP SINK s");
    }
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 14);
}

/* ---- what goes wrong ---- */

static void
with_the_service_off_sinks_are_kept_but_do_not_run(void **state)
{
    struct daemon_rig *rig = *state;

    rig->config.sink.enabled = false;
    runs(rig, create("s", ""));
    write_points(rig, 10);
    daemon_rig_turn(rig, 50);
    assert_int_equal(view(rig, "s").runner.status, RUNNER_DISABLED);
    assert_int_equal(view(rig, "s").pending, 10);
    runs(rig, "ALTER SINK s BATCH_SIZE 5");
    rig->config.sink.enabled = true;
    daemon_rig_restart(rig);
    daemon_rig_until(rig, caught_up, s_name);
    runs(rig, "DROP SINK s");
}

static void
one_change_at_a_time(void **state)
{
    struct daemon_rig *rig = *state;
    struct sink_def def;
    struct errinfo info;
    const struct sink_def *s;

    runs(rig, "CREATE SINK s TYPE stdout");
    s = supervisor_find(rig->daemon.supervisor, SLICE("s"));
    assert_int_equal(
        supervisor_drop(rig->daemon.supervisor, SLICE("s"), daemon_rig_done, rig, &info), ERR_OK);
    assert_int_equal(sink_def_copy(&def, s), ERR_OK);
    assert_int_equal(supervisor_replace(rig->daemon.supervisor, &def, daemon_rig_done, rig, &info),
                     ERR_BUSY);
    assert_string_equal(info.text, "another change of the sinks is under way");
    assert_int_equal(
        supervisor_drop(rig->daemon.supervisor, SLICE("s"), daemon_rig_done, rig, &info), ERR_BUSY);
    assert_int_equal(daemon_rig_wait(rig), ERR_OK);
    assert_int_equal(supervisor_count(rig->daemon.supervisor), 0);
}

static void
want_of_memory_leaves_nothing_half_made(void **state)
{
    struct daemon_rig *rig = *state;

    rig->config.sink.enabled = false; /* no threads that would take the failures */
    for (size_t n = 1; n < 150; n++) {
        size_t before = supervisor_count(rig->daemon.supervisor);
        enum err err;

        rig->fail_at = n;
        err = daemon_rig_sql(rig, "CREATE SINK s TO 'http://u:p@c/w' TYPE http_line");
        assert_int_equal(supervisor_count(rig->daemon.supervisor), before + (err == ERR_OK));
        if (err != ERR_OK)
            continue;
        rig->fail_at = n % 40 + 1;
        err = daemon_rig_sql(rig, "ALTER SINK s BATCH_SIZE 5");
        assert_int_equal(supervisor_find(rig->daemon.supervisor, SLICE("s"))->batch_size,
                         err == ERR_OK ? 5 : 0);
        runs(rig, "DROP SINK s");
    }
    daemon_rig_restart(rig);
    assert_int_equal(supervisor_count(rig->daemon.supervisor), 0);
}

static void
there_is_a_most_of_sinks(void **state)
{
    struct daemon_rig *rig = *state;
    char name[16];

    rig->config.sink.enabled = false;
    for (unsigned i = 0; i < STORE_SINKS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "s%u", i);
        runs(rig, create(name, ""));
    }
    assert_int_equal(daemon_rig_sql(rig, "CREATE SINK more TYPE stdout"), ERR_RANGE);
    assert_string_equal(rig->info.text, "there are 256 sinks already, the most there can be");
    runs(rig, "DROP SINK s17");
    runs(rig, "CREATE SINK more TYPE stdout");
    daemon_rig_restart(rig);
    assert_int_equal(supervisor_count(rig->daemon.supervisor), STORE_SINKS_MAX);
}

/* ---- figures ---- */

static void
defaults_are_filled_in_for_display(void **state)
{
    struct daemon_rig *rig = *state;
    const struct sink_def *def;

    runs(rig, "CREATE SINK s TYPE stdout");
    def = supervisor_at(rig->daemon.supervisor, 0);
    assert_int_equal(supervisor_batch_size(rig->daemon.supervisor, def), 1000);
    assert_int_equal(supervisor_flush_interval_ms(rig->daemon.supervisor, def), 0);
    runs(rig, "ALTER SINK s BATCH_SIZE 5 FLUSH_INTERVAL 2s");
    def = supervisor_at(rig->daemon.supervisor, 0);
    assert_int_equal(supervisor_batch_size(rig->daemon.supervisor, def), 5);
    assert_int_equal(supervisor_flush_interval_ms(rig->daemon.supervisor, def), 2000);
}

static void
the_oldest_pending_point_has_an_age(void **state)
{
    struct daemon_rig *rig = *state;
    const struct sink_def *def;
    int64_t age;

    rig->config.sink.enabled = false;
    runs(rig, "CREATE SINK s TYPE stdout");
    def = supervisor_at(rig->daemon.supervisor, 0);
    assert_false(supervisor_oldest_age(rig->daemon.supervisor, def, &age));
    write_points(rig, 3);
    daemon_rig_turn(rig, 120);
    assert_true(supervisor_oldest_age(rig->daemon.supervisor, def, &age));
    assert_in_range(age, 100, 5000);
}

static void
reload_goes_on_with_the_same(void **state)
{
    struct daemon_rig *rig = *state;

    runs(rig, create("s", ""));
    write_points(rig, 5);
    daemon_rig_until(rig, caught_up, s_name);
    supervisor_reload(rig->daemon.supervisor);
    write_points(rig, 5);
    daemon_rig_until(rig, caught_up, s_name);
    assert_int_equal(view(rig, "s").record.forwarded, 10);
}

static void
stopped_when_all_runners_have_ended(void **state)
{
    struct daemon_rig *rig = *state;
    int64_t deadline = clock_mono_ms(&clock_system) + 5000;

    runs(rig, create("s", ""));
    runs(rig, create("t", ""));
    assert_false(supervisor_is_stopped(rig->daemon.supervisor));
    supervisor_stop(rig->daemon.supervisor);
    while (!supervisor_is_stopped(rig->daemon.supervisor) &&
           clock_mono_ms(&clock_system) < deadline)
        daemon_rig_turn(rig, 2);
    assert_true(supervisor_is_stopped(rig->daemon.supervisor));
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_new_sink_forwards_what_comes_after_it),
        RUN(start_earliest_takes_what_is_still_there),
        RUN(the_table_is_in_the_order_of_names),
        RUN(definitions_and_counters_survive_a_restart),
        RUN(ids_are_never_used_again),
        RUN(alter_keeps_cursor_and_counters),
        RUN(pause_is_kept_over_a_restart),
        RUN(a_dropped_sink_is_gone_and_the_others_never_notice),
        RUN(a_successor_of_the_same_name_waits_for_its_predecessor),
        RUN(dropped_and_created_many_times_while_data_flows),
        RUN(with_the_service_off_sinks_are_kept_but_do_not_run),
        RUN(one_change_at_a_time),
        RUN(want_of_memory_leaves_nothing_half_made),
        RUN(there_is_a_most_of_sinks),
        RUN(defaults_are_filled_in_for_display),
        RUN(the_oldest_pending_point_has_an_age),
        RUN(reload_goes_on_with_the_same),
        RUN(stopped_when_all_runners_have_ended),
    };

    supervisor_close(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
