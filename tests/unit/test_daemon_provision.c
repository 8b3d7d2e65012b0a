/*
 * test_daemon_provision.c: the SQL of a new store runs once, all of it or again.
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
#include "daemon/provision.h"
#include "daemon/query_api.h"
#include "support/daemon_rig.h"

static char path[STORE_DRIVE_DIR + 64];
static bool over;
static char problem[300]; /* empty: none */

static void
ready(void *arg, const char *error)
{
    (void)arg;
    assert_false(over);
    over = true;
    (void)snprintf(problem, sizeof(problem), "%.290s", error == NULL ? "" : error);
}

static bool
is_over(struct daemon_rig *rig, void *arg)
{
    (void)rig;
    (void)arg;
    return over;
}

static void
write_file(struct daemon_rig *rig, const char *sql)
{
    FILE *file;

    store_drive_path(path, rig->drive->dir, "init.sql");
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(sql, 1, strlen(sql), file), strlen(sql));
    assert_int_equal(fclose(file), 0);
    rig->config.sink.init_file = path;
}

/* One start of a daemon, and its end; what provisioning said in ${problem}. */
static enum err
start(struct daemon_rig *rig)
{
    struct provision *p = NULL;
    enum err err;

    over = false;
    problem[0] = '\0';
    assert_int_equal(query_api_open(&rig->daemon.queries, &rig->daemon, NULL), ERR_OK);
    err = provision_start(&p, &rig->daemon, ready, rig, &rig->info);
    if (err == ERR_OK)
        daemon_rig_until(rig, is_over, NULL);
    daemon_rig_restart(rig);
    provision_close(p);
    query_api_close(rig->daemon.queries);
    rig->daemon.queries = NULL;
    return err;
}

static void
starts(struct daemon_rig *rig)
{
    assert_int_equal(start(rig), ERR_OK);
    assert_string_equal(problem, "");
}

static int
setup(void **state)
{
    struct daemon_rig *rig;

    if (daemon_rig_setup(state) != 0)
        return -1;
    rig = *state;
    rig->config.sink.enabled = false;
    daemon_rig_open_databases(rig);
    daemon_rig_open_supervisor(rig);
    return 0;
}

static size_t
sinks(const struct daemon_rig *rig)
{
    return supervisor_count(rig->daemon.supervisor);
}

#define TWO "CREATE SINK a TYPE stdout; CREATE DATABASE db; CREATE SINK b TYPE stdout BATCH_SIZE 5"

static void
a_new_store_is_filled_once(void **state)
{
    struct daemon_rig *rig = *state;

    write_file(rig, TWO);
    starts(rig);
    assert_int_equal(sinks(rig), 2);
    assert_true(databases_has(rig->daemon.databases, SLICE("db")));
    assert_int_equal(daemon_rig_sql(rig, "DROP SINK a"), ERR_OK);
    starts(rig); /* what an operator dropped stays dropped */
    assert_int_equal(sinks(rig), 1);
}

static void
without_a_file_the_store_is_marked_too(void **state)
{
    struct daemon_rig *rig = *state;

    starts(rig);
    assert_int_equal(daemon_rig_sql(rig, "CREATE SINK mine TYPE stdout"), ERR_OK);
    write_file(rig, TWO);
    starts(rig);
    assert_int_equal(sinks(rig), 1);
    assert_non_null(supervisor_find(rig->daemon.supervisor, SLICE("mine")));
}

static void
a_file_with_an_error_runs_again_when_it_is_mended(void **state)
{
    struct daemon_rig *rig = *state;

    write_file(rig, "CREATE SINK a TYPE stdout; CREATE SINK a TYPE stdout");
    assert_int_equal(start(rig), ERR_OK);
    assert_non_null(strstr(problem, "sink \"a\" already exists"));
    write_file(rig, TWO);
    starts(rig);
    assert_int_equal(sinks(rig), 2);
}

static void
a_file_that_does_not_parse_changes_nothing(void **state)
{
    struct daemon_rig *rig = *state;

    write_file(rig, "CREATE SINK a TYPE stdout; CREATE SINK b TYPE");
    assert_int_equal(start(rig), ERR_OK);
    assert_true(problem[0] != '\0');
    assert_int_equal(sinks(rig), 0);
}

static void
a_file_that_cannot_be_read(void **state)
{
    static char large[(1 << 20) + 5000];
    struct daemon_rig *rig = *state;

    write_file(rig, "");
    assert_int_equal(remove(path), 0);
    assert_int_equal(start(rig), ERR_CONFIG);
    assert_non_null(strstr(rig->info.text, "sink.init_file: cannot open "));
    memset(large, ' ', sizeof(large) - 1);
    write_file(rig, large);
    assert_int_equal(start(rig), ERR_CONFIG);
    assert_non_null(strstr(rig->info.text, "is larger than 1048576 bytes"));
    rig->config.sink.init_file = rig->drive->dir;
    assert_int_equal(start(rig), ERR_CONFIG);
    assert_non_null(strstr(rig->info.text, "sink.init_file: cannot read "));
}

static void
an_empty_file_is_fine(void **state)
{
    struct daemon_rig *rig = *state;

    write_file(rig, "-- nothing to do\n");
    starts(rig);
    assert_int_equal(sinks(rig), 0);
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, daemon_rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_new_store_is_filled_once),
        RUN(without_a_file_the_store_is_marked_too),
        RUN(a_file_with_an_error_runs_again_when_it_is_mended),
        RUN(a_file_that_does_not_parse_changes_nothing),
        RUN(a_file_that_cannot_be_read),
        RUN(an_empty_file_is_fine),
    };

    provision_close(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
