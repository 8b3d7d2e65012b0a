/*
 * test_cli_result.c: what people and scripts see of an answer to /query.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/cli_result.h"

static const char answer[] =
    "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"sinks\",\"columns\":"
    "[\"name\",\"status\",\"n\",\"last_error\"],\"values\":[[\"k\\u00e4fer\",\"running\",1200,null],"
    "[\"b\",null,7,\"a, \\\"b\\\"\\n\\u001b[31m\"]]}]},"
    "{\"statement_id\":1,\"messages\":[{\"level\":\"warning\",\"text\":\"off\"}]},"
    "{\"statement_id\":2,\"error\":\"sink \\\"x\\\" not found\"}]}\n";

struct shown {
    struct buf out, notes;
    bool failed;
};

static enum err
show(struct shown *s, const char *body, enum cli_format format)
{
    buf_init(&s->out, 10000);
    buf_init(&s->notes, 10000);
    return cli_result_put(&s->out, &s->notes, slice_of(body), format, &s->failed);
}

static void
expect(struct shown *s, const char *out, const char *notes, bool failed)
{
    if (!slice_eq(buf_peek(&s->out), slice_of(out)))
        fail_msg("shown:\n%.*s", SLICE_PRI(buf_peek(&s->out)));
    if (!slice_eq(buf_peek(&s->notes), slice_of(notes)))
        fail_msg("notes:\n%.*s", SLICE_PRI(buf_peek(&s->notes)));
    assert_int_equal(s->failed, failed);
    buf_free(&s->out);
    buf_free(&s->notes);
    assert_int_equal(mem_live(), 0);
}

static void
test_a_table(void **state)
{
    struct shown s;

    (void)state;
    assert_int_equal(show(&s, answer, CLI_FORMAT_TABLE), ERR_OK);
    expect(&s,
           "name: sinks\n"
           "name  status     n last_error\n"
           "----  ------     - ----------\n"
           "k\xC3\xA4"
           "fer running 1200\n"
           "b                7 a, \"b\"\\n\\x1b[31m\n",
           "warning: off\nsink \"x\" not found\n", true);
}

static void
test_csv(void **state)
{
    struct shown s;

    (void)state;
    assert_int_equal(show(&s, answer, CLI_FORMAT_CSV), ERR_OK);
    expect(&s,
           "name,name,status,n,last_error\n"
           "sinks,k\xC3\xA4"
           "fer,running,1200,\n"
           "sinks,b,,7,\"a, \"\"b\"\"\n\x1b[31m\"\n",
           "warning: off\nsink \"x\" not found\n", true);
}

static void
test_json_goes_out_as_it_came(void **state)
{
    struct shown s;

    (void)state;
    assert_int_equal(show(&s, answer, CLI_FORMAT_JSON), ERR_OK);
    expect(&s, answer, "warning: off\nsink \"x\" not found\n", true);
}

static void
test_empty_answers(void **state)
{
    struct shown s;

    (void)state;
    assert_int_equal(show(&s, "{}", CLI_FORMAT_TABLE), ERR_OK);
    expect(&s, "", "", false);
    assert_int_equal(show(&s, "{\"results\":[{\"statement_id\":0}]}", CLI_FORMAT_CSV), ERR_OK);
    expect(&s, "", "", false);
    assert_int_equal(
        show(&s,
             "{\"results\":[{\"series\":[{\"name\":\"sinks\",\"columns\":[\"a\",\"b\"]}"
             ",{\"name\":\"t\",\"columns\":[\"a\"],\"values\":[[1]]}]}]}",
             CLI_FORMAT_TABLE),
        ERR_OK);
    expect(&s, "name: sinks\na b\n- -\n\nname: t\na\n-\n1\n", "", false);
    assert_int_equal(show(&s, "{\"error\":\"no\"}", CLI_FORMAT_TABLE), ERR_OK);
    expect(&s, "", "no\n", true);
}

static void
test_what_is_no_answer(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "<html>",
        "{\"results\":[{\"series\":[{\"columns\":1}]}]}",
        "{\"results\":[{\"series\":[{\"columns\":[],\"values\":{}}]}]}",
    };
    struct shown s;

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_int_equal(show(&s, bodies[i], CLI_FORMAT_TABLE), ERR_BAD);
        buf_free(&s.out);
        buf_free(&s.notes);
    }
    assert_int_equal(mem_live(), 0);
}

static void
test_one_series(void **state)
{
    struct json series;
    struct buf error;

    (void)state;
    buf_init(&error, 100);
    assert_int_equal(cli_result_series(slice_of(answer), &series, &error), ERR_OK);
    assert_int_equal(series.type, JSON_OBJECT);
    assert_int_equal(cli_result_series(SLICE("{\"results\":[{}]}"), &series, &error), ERR_SHORT);
    assert_int_equal(cli_result_series(SLICE("{}"), &series, &error), ERR_BAD);
    assert_int_equal(
        cli_result_series(SLICE("{\"results\":[{\"error\":\"no\"}]}"), &series, &error),
        ERR_DENIED);
    assert_true(slice_eq(buf_peek(&error), SLICE("no")));
    buf_free(&error);
}

static void
test_no_memory(void **state)
{
    struct shown s;
    enum err err = ERR_NOMEM;

    (void)state;
    for (int format = CLI_FORMAT_TABLE; format <= CLI_FORMAT_CSV; format++) {
        err = ERR_NOMEM;
        for (size_t n = 1; err != ERR_OK; n++) {
            assert_true(n < 200);
            mem_fail_at(n);
            err = show(&s, answer, (enum cli_format)format);
            mem_fail_at(0);
            buf_free(&s.out);
            buf_free(&s.notes);
            assert_int_equal(mem_live(), 0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json_goes_out_as_it_came),
        cmocka_unit_test(test_empty_answers),
        cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_one_series),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("cli_result", tests, NULL, NULL);
}
