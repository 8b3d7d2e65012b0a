/*
 * test_cli_export.c: the statements in what a daemon tells about its sinks.
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

#define SHOW(rows)                                                                                \
    "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"sink\",\"columns\":[\"property\"," \
    "\"value\"],\"values\":[" rows "]}]}]}"

static const char shown[] = SHOW("[\"name\",\"o\"],[\"url\",null],[\"create\","
                                 "\"CREATE SINK \\\"o\\\"\\n  TYPE stdout;\\n\"]");

static void
expect_text(struct buf *out, const char *text)
{
    if (!slice_eq(buf_peek(out), slice_of(text)))
        fail_msg("got:\n%.*s", SLICE_PRI(buf_peek(out)));
}

static void
test_show_sink(void **state)
{
    struct buf out;
    struct errinfo info;

    (void)state;
    buf_init(&out, 10000);
    assert_int_equal(cli_export_sink(slice_of(shown), &out, &info), ERR_OK);
    expect_text(&out, "CREATE SINK \"o\"\n  TYPE stdout;\n");
    buf_free(&out);
    assert_int_equal(mem_live(), 0);
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
        SHOW("[\"name\",\"o\"]"),
        SHOW("[\"create\"]"),
        SHOW("[\"create\",null]"),
        SHOW("[1,2]"),
        SHOW("[]"),
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
    "{\"node\":\"n\",\"revision\":\"7\",\"entries\":[{\"key\":\"meta_sink:a\",\"value\":{\"name\":\"a\","
    "\"create\":\"CREATE SINK a;\\n\"}},{\"key\":\"meta_sink:b\",\"value\":{\"name\":\"b\","
    "\"create\":\"CREATE SINK b;\\nALTER SINK b PAUSE;\\n\"}}]}";

static void
test_metadata_with_secrets(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{\"entries\":[{\"key\":\"meta_sink:a\"}]}",
        "{\"entries\":[{\"key\":\"meta_sink:a\",\"value\":1}]}",
        "{\"entries\":[{\"key\":\"meta_sink:a\",\"value\":{\"create\":1}}]}",
    };
    struct buf out;
    struct errinfo info;
    size_t count;

    (void)state;
    buf_init(&out, 10000);
    assert_int_equal(cli_export_metadata(slice_of(metadata), &out, &count, &info), ERR_OK);
    assert_int_equal(count, 2);
    expect_text(&out, "CREATE SINK a;\nCREATE SINK b;\nALTER SINK b PAUSE;\n");
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
        cmocka_unit_test(test_show_sink),     cmocka_unit_test(test_a_sink_that_is_gone),
        cmocka_unit_test(test_wrong_answers), cmocka_unit_test(test_metadata_with_secrets),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("cli_export", tests, NULL, NULL);
}
