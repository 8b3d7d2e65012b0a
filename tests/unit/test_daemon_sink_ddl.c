/*
 * test_daemon_sink_ddl.c: from statements to definitions, and to the statements that make them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"

static const struct config_sink anywhere;

static enum err
create(const char *sql, struct sink_def *def, struct errinfo *info)
{
    struct sql_script script;
    struct sql_error error;
    enum err err;

    if (sql_parse(slice_of(sql), &script, &error) != ERR_OK)
        fail_msg("%s", error.text);
    err = sink_ddl_create(def, &script.statements[0], &anywhere, info);
    sql_free(&script);
    return err;
}

static void
expect_put(const struct sink_def *def, enum sql_secrets secrets, const char *text)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(sink_ddl_put(def, secrets, &out), ERR_OK);
    if (!slice_eq(buf_peek(&out), slice_of(text)))
        fail_msg("got:\n%.*s", SLICE_PRI(buf_peek(&out)));
    buf_free(&out);
}

static const char everything[] = "CREATE SINK \"my \\\"http\\\"\"\n"
                                 "  TO 'http://c:8086/write?db=d&p=CANARY&precision=ms'\n"
                                 "  TYPE http_line\n"
                                 "  USERNAME 'u\\'1'\n"
                                 "  PASSWORD 'CANARY'\n"
                                 "  ON \"a,b\", c\n"
                                 "  INCLUDE MEASUREMENTS cpu, \"disk,io\", \"mem*\", /^net\\/x/\n"
                                 "  EXCLUDE MEASUREMENTS \"z EXCLUDE z\"\n"
                                 "  BATCH_SIZE 500\n"
                                 "  FLUSH_INTERVAL 1m30s\n"
                                 "  WITH (precision = 'ms', timeout = 90s, max_batch_bytes = 5000, "
                                 "gzip = true, headers = 'X-Key: CANARY');\n";

static void
a_definition_makes_its_statement_again(void **state)
{
    struct sink_def def;
    struct errinfo info;

    (void)state;
    if (create(everything, &def, &info) != ERR_OK)
        fail_msg("%s", info.text);
    expect_put(&def, SQL_SECRETS_SHOWN, everything);
    def.paused = true;
    sink_def_clear(&def.include);
    sink_def_clear(&def.exclude);
    sink_def_clear(&def.databases);
    def.batch_size = 0;
    def.flush_interval_ms = -1;
    expect_put(&def, SQL_SECRETS_OMITTED,
               "CREATE SINK \"my \\\"http\\\"\"\n"
               "  TO 'http://c:8086/write?db=d&p=****&precision=ms'"
               " /* credentials in the URL left out */\n"
               "  TYPE http_line\n"
               "  USERNAME 'u\\'1'\n"
               "  /* PASSWORD left out */\n"
               "  INCLUDE ALL\n"
               "  WITH (precision = 'ms', timeout = 90s, max_batch_bytes = 5000, gzip = true"
               " /* headers left out */);\n"
               "ALTER SINK \"my \\\"http\\\"\" PAUSE;\n");
    sink_def_free(&def);
    assert_int_equal(mem_live(), 0);
}

static void
a_default_stays_open(void **state)
{
    struct sink_def def;
    struct errinfo info;

    (void)state;
    assert_int_equal(create("CREATE SINK o TYPE stdout FORMAT line_protocol", &def, &info), ERR_OK);
    expect_put(&def, SQL_SECRETS_SHOWN, "CREATE SINK \"o\"\n  TYPE stdout\n  INCLUDE ALL;\n");
    sink_def_free(&def);
}

static void
memory_runs_out_cleanly(void **state)
{
    enum err err = ERR_NOMEM;

    (void)state;
    for (size_t n = 1; err != ERR_OK; n++) {
        struct sink_def def;
        struct errinfo info;
        struct sql_script script;
        struct sql_error error;
        struct buf out;

        assert_true(n < 1000);
        assert_int_equal(sql_parse(slice_of(everything), &script, &error), ERR_OK);
        buf_init(&out, 1 << 20);
        mem_fail_at(n);
        err = sink_ddl_create(&def, &script.statements[0], &anywhere, &info);
        if (err == ERR_OK) {
            err = sink_ddl_put(&def, SQL_SECRETS_SHOWN, &out);
            sink_def_free(&def);
        }
        mem_fail_at(0);
        buf_free(&out);
        sql_free(&script);
        assert_int_equal(mem_live(), 0);
    }
}

static void
hosts_may_be_refused(void **state)
{
    static char all[] = "*.example.com", one[] = "bad.example.com";
    static char *allow[] = {all}, *deny[] = {one};
    static const struct {
        const char *host;
        bool allowed;
    } cases[] = {{"good.example.com", true}, {"bad.example.com", false}, {"127.0.0.1", false}};
    const struct config_sink config = {.allow_hosts = {allow, 1}, .deny_hosts = {deny, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sql_script script;
        struct sql_error error;
        struct sink_def def;
        struct errinfo info;
        char sql[200];

        snprintf(sql, sizeof(sql), "CREATE SINK x TO 'http://%s/w' TYPE http_line", cases[i].host);
        assert_int_equal(sql_parse(slice_of(sql), &script, &error), ERR_OK);
        if (sink_ddl_create(&def, &script.statements[0], &config, &info) == ERR_OK) {
            assert_true(cases[i].allowed);
            sink_def_free(&def);
        } else {
            assert_false(cases[i].allowed);
            assert_non_null(strstr(info.text, "sink.allow_hosts"));
        }
        sql_free(&script);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_makes_its_statement_again),
        cmocka_unit_test(a_default_stays_open),
        cmocka_unit_test(memory_runs_out_cleanly),
        cmocka_unit_test(hosts_may_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
