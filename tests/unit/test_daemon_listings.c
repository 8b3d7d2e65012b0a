/*
 * test_daemon_listings.c: what SHOW SINKS, SHOW SINK, SHOW LEDGER and SHOW DATABASES say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/query_show.h"
#include "support/daemon_rig.h"

static char text[1 << 16]; /* the listing under test */

static const char *
written(struct query_results *r, enum query_form form)
{
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    assert_int_equal(query_results_write(r, form, &out), ERR_OK);
    slice_copy_text(buf_peek(&out), text, sizeof(text));
    buf_free(&out);
    query_results_free(r);
    return text;
}

static void
runs(struct daemon_rig *rig, const char *sql)
{
    if (daemon_rig_sql(rig, sql) != ERR_OK)
        fail_msg("%s: %s", sql, rig->info.text);
}

static void
begin(struct daemon_rig *rig)
{
    rig->config.sink.enabled = false; /* nothing moves by itself */
    daemon_rig_open_supervisor(rig);
    runs(rig,
         "CREATE SINK \"a b\" TO 'http://u:canary1@c:8086/write?db=x&token=canary2' TYPE http_line "
         "ON one, two INCLUDE MEASUREMENTS cpu, \"m*\" EXCLUDE MEASUREMENTS /z$/ BATCH_SIZE 7 "
         "FLUSH_INTERVAL 1m30s WITH (headers = 'X: canary3', timeout = 3s, gzip = true)");
    runs(rig, "CREATE SINK out TYPE stdout");
}

static void
sinks(void **state)
{
    struct daemon_rig *rig = *state;
    struct query_results r;

    begin(rig);
    assert_int_equal(committer_drive_write_points(rig->drive, 12, 10), ERR_OK);
    query_results_init(&r);
    query_results_begin(&r);
    query_show_sinks(&r, rig->daemon.supervisor);
    assert_string_equal(
        written(&r, QUERY_JSON),
        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"sinks\",\"columns\":[\"name\","
        "\"type\",\"url\",\"username\",\"password\",\"format\",\"include\",\"batch_size\","
        "\"flush_interval\",\"status\",\"queue_depth\",\"forwarded\",\"errors\",\"last_error\","
        "\"last_success\"],\"values\":["
        "[\"a b\",\"http_line\",\"http://c:8086/write?db=x\\u0026token=****\",\"u\",\"****\","
        "\"line_protocol\",\"cpu,m* EXCLUDE /z$/\",7,\"1m30s\",\"disabled\",12,0,0,null,null],"
        "[\"out\",\"stdout\",null,null,null,\"line_protocol\",\"*\",1000,\"0s\",\"disabled\",12,0,0,"
        "null,null]]}]}]}\n");
}

static void
one_sink_with_all_its_options(void **state)
{
    static const char *const rows[] = {
        "sink,,name,a b\n",
        "sink,,type,http_line\n",
        "sink,,url,http://c:8086/write?db=x&token=****\n",
        "sink,,username,u\n",
        "sink,,password,****\n",
        "sink,,databases,\"one,two\"\n",
        "sink,,include,\"cpu,m* EXCLUDE /z$/\"\n",
        "sink,,batch_size,7\n",
        "sink,,flush_interval,1m30s\n",
        "sink,,created,2023-11-14T22:13:20Z\n",
        "sink,,status,disabled\n",
        "sink,,on_full,inherit\n",
        "sink,,timeout,3s\n",
        "sink,,gzip,true\n",
        "sink,,headers,****\n",
        "sink,,bearer_token,\n",
        "sink,,max_batch_bytes,1000000\n",
    };
    struct daemon_rig *rig = *state;
    struct query_results r;
    const char *csv;

    rig->daemon.clock = &rig->drive->time.clock;
    begin(rig);
    query_results_init(&r);
    query_results_begin(&r);
    query_show_sink(&r, rig->daemon.supervisor, supervisor_at(rig->daemon.supervisor, 0));
    csv = written(&r, QUERY_CSV);
    assert_ptr_equal(strstr(csv, "name,tags,property,value\n"), csv);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strstr(csv, rows[i]) == NULL)
            fail_msg("no %s", rows[i]);
    }
    assert_null(strstr(csv, "canary"));
}

static void
the_ledger_adds_up(void **state)
{
    struct daemon_rig *rig = *state;
    struct query_results r;
    struct committer_step step;
    struct store_record now;

    begin(rig);
    assert_int_equal(committer_drive_write_points(rig->drive, 12, 10), ERR_OK);
    step = (struct committer_step){.sink = supervisor_at(rig->daemon.supervisor, 1)->id,
                                   .from = 0,
                                   .to = 10,
                                   .forwarded = 4,
                                   .filtered = 3,
                                   .dropped = {1, 2, 0, 0, 0}};
    assert_int_equal(committer_step(rig->drive->c, &step, &now), ERR_OK);
    committer_drive_settle(rig->drive, step.sink);
    query_results_init(&r);
    query_results_begin(&r);
    query_show_ledger(&r, rig->daemon.supervisor);
    assert_string_equal(written(&r, QUERY_CSV),
                        "name,tags,sink,accepted,forwarded,filtered,dead,dropped,pending\n"
                        "ledger,,a b,12,0,0,0,0,12\n"
                        "ledger,,out,12,4,3,0,3,2\n");
}

static void
databases(void **state)
{
    struct daemon_rig *rig = *state;
    struct query_results r;

    daemon_rig_open_databases(rig);
    databases_note(rig->daemon.databases, SLICE("b"));
    databases_note(rig->daemon.databases, SLICE("a"));
    query_results_init(&r);
    query_results_begin(&r);
    query_show_databases(&r, rig->daemon.databases);
    assert_string_equal(written(&r, QUERY_JSON),
                        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"databases\","
                        "\"columns\":[\"name\"],\"values\":[[\"a\"],[\"b\"]]}]}]}\n");
}

static void
without_sinks_there_are_columns_alone(void **state)
{
    struct daemon_rig *rig = *state;
    struct query_results r;

    daemon_rig_open_supervisor(rig);
    query_results_init(&r);
    query_results_begin(&r);
    query_show_ledger(&r, rig->daemon.supervisor);
    assert_string_equal(written(&r, QUERY_JSON),
                        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"ledger\","
                        "\"columns\":[\"sink\",\"accepted\",\"forwarded\",\"filtered\",\"dead\","
                        "\"dropped\",\"pending\"]}]}]}\n");
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, daemon_rig_setup, daemon_rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(sinks),     RUN(one_sink_with_all_its_options),         RUN(the_ledger_adds_up),
        RUN(databases), RUN(without_sinks_there_are_columns_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
