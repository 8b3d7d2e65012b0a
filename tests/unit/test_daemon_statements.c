/*
 * test_daemon_statements.c: what each statement does, and what it says when it cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/query_exec.h"
#include "support/daemon_rig.h"

static bool resumed;
static char text[1 << 16];

static void
resume(void *arg)
{
    (void)arg;
    resumed = true;
}

static bool
is_resumed(struct daemon_rig *rig, void *arg)
{
    (void)rig;
    (void)arg;
    return resumed;
}

/* The results of all statements in ${sql}, as JSON. */
static const char *
answers(struct daemon_rig *rig, const char *sql)
{
    struct query_results results;
    struct query_exec x = {&rig->daemon, &results, resume, NULL};
    struct sql_script script;
    struct sql_error error;
    struct buf out;

    assert_int_equal(sql_parse(slice_of(sql), &script, &error), ERR_OK);
    query_results_init(&results);
    for (size_t i = 0; i < script.count; i++) {
        resumed = false;
        query_results_begin(&results);
        if (!query_exec_run(&x, &script.statements[i]))
            daemon_rig_until(rig, is_resumed, NULL);
    }
    sql_free(&script);
    buf_init(&out, sizeof(text) - 1);
    assert_int_equal(query_results_write(&results, QUERY_JSON, &out), ERR_OK);
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    buf_free(&out);
    query_results_free(&results);
    return text;
}

static void
fails(struct daemon_rig *rig, const char *sql, const char *error)
{
    char expected[500];

    (void)snprintf(expected, sizeof(expected),
                   "{\"results\":[{\"statement_id\":0,\"error\":\"%s\"}]}\n", error);
    assert_string_equal(answers(rig, sql), expected);
}

static void
works(struct daemon_rig *rig, const char *sql)
{
    assert_string_equal(answers(rig, sql), "{\"results\":[{\"statement_id\":0}]}\n");
}

static int
setup(void **state)
{
    if (daemon_rig_setup(state) != 0)
        return -1;
    daemon_rig_open_databases(*state);
    daemon_rig_open_supervisor(*state);
    return 0;
}

static const struct sink_def *
sink(const struct daemon_rig *rig, const char *name)
{
    return supervisor_find(rig->daemon.supervisor, slice_of(name));
}

/* ---- sinks ---- */

static void
a_sinks_statements(void **state)
{
    struct daemon_rig *rig = *state;

    works(rig, "CREATE SINK s TO 'http://127.0.0.1:1/w' TYPE http_line");
    works(rig, "ALTER SINK s BATCH_SIZE 5");
    assert_int_equal(sink(rig, "s")->batch_size, 5);
    works(rig, "ALTER SINK s PAUSE");
    assert_true(sink(rig, "s")->paused);
    works(rig, "ALTER SINK s BATCH_SIZE 6");
    assert_true(sink(rig, "s")->paused); /* ALTER leaves that alone */
    works(rig, "ALTER SINK s RESUME");
    assert_false(sink(rig, "s")->paused);
    works(rig, "DROP SINK s");
    assert_null(sink(rig, "s"));
}

static void
names_that_are_taken_or_missing(void **state)
{
    struct daemon_rig *rig = *state;

    works(rig, "CREATE SINK \"a b\" TYPE stdout");
    fails(rig, "CREATE SINK \"a b\" TYPE stdout", "sink \\\"a b\\\" already exists");
    works(rig, "CREATE SINK IF NOT EXISTS \"a b\" TYPE stdout");
    fails(rig, "ALTER SINK x BATCH_SIZE 5", "sink \\\"x\\\" not found");
    fails(rig, "ALTER SINK x PAUSE", "sink \\\"x\\\" not found");
    fails(rig, "DROP SINK x", "sink \\\"x\\\" not found");
    fails(rig, "SHOW SINK x", "sink \\\"x\\\" not found");
    works(rig, "DROP SINK IF EXISTS x");
    assert_int_equal(supervisor_count(rig->daemon.supervisor), 1);
}

static void
a_wrong_definition_changes_nothing(void **state)
{
    struct daemon_rig *rig = *state;

    fails(rig, "CREATE SINK s TO 'http://c/w' TYPE stdout", "type stdout takes no TO");
    works(rig, "CREATE SINK s TO 'http://127.0.0.1:1/w' TYPE http_line");
    fails(rig, "ALTER SINK s WITH (gzip = 'maybe')", "option gzip takes true or false");
    assert_false(sink_def_is_set(sink(rig, "s"), "gzip"));
}

static void
with_the_service_off_there_is_a_warning(void **state)
{
    struct daemon_rig *rig = *state;

    rig->config.sink.enabled = false;
    assert_string_equal(
        answers(rig, "CREATE SINK s TYPE stdout"),
        "{\"results\":[{\"statement_id\":0,\"messages\":[{\"level\":\"warning\",\"text\":\"the "
        "forwarding service is off: points are kept for this sink but not sent until [sink] enabled "
        "is true and the daemon is started again\"}]}]}\n");
}

static void
statements_one_after_another(void **state)
{
    struct daemon_rig *rig = *state;

    assert_string_equal(
        answers(rig, "CREATE SINK a TYPE stdout; CREATE SINK a TYPE stdout; ALTER SINK a PAUSE; "
                     "DROP SINK a; CREATE SINK a TYPE stdout; SHOW LEDGER"),
        "{\"results\":[{\"statement_id\":0},{\"statement_id\":1,\"error\":\"sink \\\"a\\\" already "
        "exists\"},{\"statement_id\":2},{\"statement_id\":3},{\"statement_id\":4},"
        "{\"statement_id\":5,\"series\":[{\"name\":\"ledger\",\"columns\":[\"sink\",\"accepted\","
        "\"forwarded\",\"filtered\",\"dead\",\"dropped\",\"pending\"],\"values\":[[\"a\",0,0,0,0,0,"
        "0]]}]}]}\n");
}

/* A change of somebody else's is under way: the statement says so and nothing happens. */
static void
a_change_that_cannot_begin(void **state)
{
    struct daemon_rig *rig = *state;

    works(rig, "CREATE SINK a TYPE stdout");
    assert_int_equal(
        supervisor_drop(rig->daemon.supervisor, SLICE("a"), daemon_rig_done, rig, &rig->info),
        ERR_OK);
    fails(rig, "ALTER SINK a PAUSE", "another change of the sinks is under way");
    fails(rig, "DROP SINK a", "another change of the sinks is under way");
    fails(rig, "CREATE SINK b TYPE stdout", "another change of the sinks is under way");
    assert_int_equal(daemon_rig_wait(rig), ERR_OK);
}

/* ---- databases ---- */

static void
databases(void **state)
{
    struct daemon_rig *rig = *state;

    works(rig, "CREATE DATABASE b");
    works(rig, "CREATE DATABASE b"); /* as InfluxDB has it */
    works(rig, "CREATE DATABASE \"a b\"");
    fails(rig, "CREATE DATABASE \"a/b\"", "invalid name");
    works(rig, "DROP DATABASE nothing");
    assert_string_equal(answers(rig, "SHOW DATABASES"),
                        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"databases\","
                        "\"columns\":[\"name\"],\"values\":[[\"a b\"],[\"b\"]]}]}]}\n");
    works(rig, "DROP DATABASE b");
    assert_int_equal(databases_count(rig->daemon.databases), 1);
}

/* ---- what is not there ---- */

static void
reading_statements_say_that_nothing_is_read_here(void **state)
{
    struct daemon_rig *rig = *state;

    fails(rig, "SELECT * FROM cpu",
          "SELECT is not supported: sinkd forwards data and does not query it");
    assert_non_null(strstr(answers(rig, "SHOW MEASUREMENTS"), "does not query it"));
}

static void
which_statements_change_something(void **state)
{
    (void)state;
    assert_true(query_exec_changes(SQL_CREATE_SINK));
    assert_true(query_exec_changes(SQL_ALTER_SINK));
    assert_true(query_exec_changes(SQL_PAUSE_SINK));
    assert_true(query_exec_changes(SQL_DROP_SINK));
    assert_true(query_exec_changes(SQL_CREATE_DATABASE));
    assert_true(query_exec_changes(SQL_SET_PASSWORD));
    assert_false(query_exec_changes(SQL_SHOW_SINKS));
    assert_false(query_exec_changes(SQL_SHOW_SINK));
    assert_false(query_exec_changes(SQL_SHOW_LEDGER));
    assert_false(query_exec_changes(SQL_SHOW_DATABASES));
    assert_false(query_exec_changes(SQL_UNSUPPORTED));
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, daemon_rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_sinks_statements),
        RUN(names_that_are_taken_or_missing),
        RUN(a_wrong_definition_changes_nothing),
        RUN(with_the_service_off_there_is_a_warning),
        RUN(statements_one_after_another),
        RUN(a_change_that_cannot_begin),
        RUN(databases),
        RUN(reading_statements_say_that_nothing_is_read_here),
        RUN(which_statements_change_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
