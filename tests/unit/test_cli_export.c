/*
 * test_cli_export.c: what a daemon tells about its sinks becomes statements that parse back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/cli_export.h"
#include "sql/sql.h"

#define SHOW(rows)                                                                                \
    "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"sink\",\"columns\":[\"property\"," \
    "\"value\"],\"values\":[" rows "]}]}]}"

static const char shown[] =
    SHOW("[\"name\",\"my \\\"http\\\"\"],[\"type\",\"http_line\"],"
         "[\"url\",\"http://c:8086/write?db=d\\u0026p=****\"],[\"username\",\"u'1\"],"
         "[\"password\",\"****\"],[\"format\",\"line_protocol\"],[\"databases\",\"a,b c\"],"
         "[\"include\",\"cpu,disk io,mem*,/^net,x/ EXCLUDE cpu_old\"],[\"batch_size\",\"1000\"],"
         "[\"flush_interval\",\"1m30s\"],[\"created\",\"2026-01-01T00:00:00Z\"],"
         "[\"status\",\"paused\"],[\"future\",\"x\"],[\"gzip\",\"true\"],[\"timeout\",\"10s\"],"
         "[\"on_full\",\"inherit\"],[\"precision\",\"ms\"],[\"bearer_token\",\"****\"],"
         "[\"tls_ca\",null],[\"max_batch_bytes\",\"5000\"]");

static void
expect_text(struct buf *out, const char *text)
{
    if (!slice_eq(buf_peek(out), slice_of(text)))
        fail_msg("got:\n%.*s", SLICE_PRI(buf_peek(out)));
}

static void
expect_parses(struct buf *out, size_t count)
{
    struct sql_script script;
    struct sql_error error;

    if (sql_parse(buf_peek(out), &script, &error) != ERR_OK)
        fail_msg("%s:\n%.*s", error.text, SLICE_PRI(buf_peek(out)));
    assert_int_equal(script.count, count);
    sql_free(&script);
}

static void
test_show_sink(void **state)
{
    struct buf out;
    struct errinfo info;

    (void)state;
    buf_init(&out, 10000);
    if (cli_export_sink(slice_of(shown), &out, &info) != ERR_OK)
        fail_msg("%s", info.text);
    expect_text(&out,
                "CREATE SINK \"my \\\"http\\\"\"\n"
                "  TO 'http://c:8086/write?db=d&p=****' /* credentials in the URL left out */\n"
                "  TYPE http_line\n"
                "  USERNAME 'u\\'1'\n"
                "  /* PASSWORD left out */\n"
                "  ON a, \"b c\"\n"
                "  INCLUDE MEASUREMENTS cpu, \"disk io\", \"mem*\", /^net,x/\n"
                "  EXCLUDE MEASUREMENTS cpu_old\n"
                "  BATCH_SIZE 1000\n"
                "  FLUSH_INTERVAL 1m30s\n"
                "  WITH (gzip = true, precision = 'ms' /* bearer_token left out */, "
                "max_batch_bytes = 5000);\n"
                "ALTER SINK \"my \\\"http\\\"\" PAUSE;\n");
    expect_parses(&out, 2);
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

static void
test_stdout_with_its_defaults(void **state)
{
    struct buf out;
    struct errinfo info;

    (void)state;
    buf_init(&out, 10000);
    assert_int_equal(
        cli_export_sink(
            SLICE(SHOW("[\"name\",\"o\"],[\"type\",\"stdout\"],[\"url\",null],[\"password\",null],"
                       "[\"format\",\"json\"],[\"include\",\"*\"],[\"status\",\"running\"],"
                       "[\"verbose\",\"false\"]")),
            &out, &info),
        ERR_OK);
    expect_text(&out, "CREATE SINK \"o\"\n  TYPE stdout\n  FORMAT json\n  INCLUDE ALL;\n");
    expect_parses(&out, 1);
    buf_free(&out);
}

static void
test_a_sink_that_is_gone(void **state)
{
    struct buf out;
    struct errinfo info;

    (void)state;
    buf_init(&out, 100);
    assert_int_equal(cli_export_sink(SLICE("{\"results\":[{\"error\":\"no\"}]}"), &out, &info),
                     ERR_SHORT);
    assert_int_equal(cli_export_sink(SLICE("{\"results\":[{}]}"), &out, &info), ERR_SHORT);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
}

static void
test_wrong_answers(void **state)
{
    static const char *const wrong[] = {
        "",
        "<html>",
        SHOW("[\"name\",\"o\"],[\"type\",\"nothing\"]"),
        SHOW("[\"name\",\"o\"]"),
        SHOW("[\"type\",\"stdout\"]"),
        SHOW("[1,2]"),
        SHOW("[\"name\",\"o\"],[\"type\",\"stdout\"],[\"batch_size\",\"x\"]"),
        SHOW("[\"name\",\"o\"],[\"type\",\"stdout\"],[\"flush_interval\",\"5\"]"),
        SHOW("[\"name\",\"o\"],[\"type\",\"stdout\"],[\"format\",\"xml\"]"),
    };
    struct buf out;
    struct errinfo info;

    (void)state;
    buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (cli_export_sink(slice_of(wrong[i]), &out, &info) != ERR_BAD)
            fail_msg("taken: %s", wrong[i]);
        assert_true(strlen(info.text) > 10);
    }
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

static const char metadata[] =
    "{\"node\":\"n\",\"revision\":\"7\",\"entries\":[{\"key\":\"meta_db:x\",\"value\":{}},"
    "{\"key\":\"meta_sink:k\",\"value\":{\"name\":\"k\",\"type\":\"kafka\",\"url\":"
    "\"kafka://b:9092/t\",\"username\":\"u\",\"password\":\"CANARY\",\"format\":\"json\","
    "\"databases\":[\"a,b\",\"c\"],\"include\":[{\"name\":\"x,y\"},{\"glob\":\"m*\"},"
    "{\"regex\":\"a/b\"}],\"exclude\":[{\"name\":\"z EXCLUDE z\"}],\"batch_size\":500,"
    "\"flush_interval\":null,\"paused\":true,"
    "\"options\":{\"acks\":\"1\",\"compression\":\"none\",\"timeout\":\"90s\"}}}]}";

static void
test_metadata_with_secrets(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{\"entries\":[{\"key\":\"meta_sink:a\"}]}",
        "{\"entries\":[{\"key\":\"meta_sink:a\",\"value\":1}]}",
        ("{\"entries\":[{\"key\":\"meta_sink:a\",\"value\":{\"name\":\"a\",\"type\":\"stdout\","
         "\"include\":[{\"some\":\"x\"}]}}]}"),
    };
    struct buf out;
    struct errinfo info;
    size_t count;

    (void)state;
    buf_init(&out, 10000);
    assert_int_equal(cli_export_metadata(slice_of(metadata), &out, &count, &info), ERR_OK);
    assert_int_equal(count, 1);
    expect_text(&out, "CREATE SINK \"k\"\n"
                      "  TO 'kafka://b:9092/t'\n"
                      "  TYPE kafka\n"
                      "  USERNAME 'u'\n"
                      "  PASSWORD 'CANARY'\n"
                      "  FORMAT json\n"
                      "  ON \"a,b\", c\n"
                      "  INCLUDE MEASUREMENTS \"x,y\", \"m*\", /a\\/b/\n"
                      "  EXCLUDE MEASUREMENTS \"z EXCLUDE z\"\n"
                      "  BATCH_SIZE 500\n"
                      "  WITH (acks = '1', timeout = 90s);\n"
                      "ALTER SINK \"k\" PAUSE;\n");
    expect_parses(&out, 2);
    buf_clear(&out);
    assert_int_equal(cli_export_metadata(SLICE("{\"entries\":[]}"), &out, &count, &info), ERR_OK);
    assert_int_equal(count, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(cli_export_metadata(slice_of(wrong[i]), &out, &count, &info), ERR_BAD);
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
}

static void
test_no_memory(void **state)
{
    struct buf out;
    struct errinfo info;
    enum err err = ERR_NOMEM;

    (void)state;
    for (size_t n = 1; err != ERR_OK; n++) {
        assert_true(n < 100);
        buf_init(&out, 10000);
        mem_fail_at(n);
        err = cli_export_sink(slice_of(shown), &out, &info);
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        buf_free(&out);
        assert_int_equal(mem_live(), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_show_sink),
        cmocka_unit_test(test_stdout_with_its_defaults),
        cmocka_unit_test(test_a_sink_that_is_gone),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_metadata_with_secrets),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("cli_export", tests, NULL, NULL);
}
