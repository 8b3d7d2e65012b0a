/*
 * test_daemon_results.c: results of statements as JSON and CSV, byte for byte as InfluxDB 1.8 sends
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/query_results.h"

static const char *const columns[] = {"name", "n"};

static void
begin(struct query_results *r)
{
    query_results_init(r);
    query_results_begin(r);
}

static void
gives(const struct query_results *r, enum query_form form, const char *text)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(query_results_write(r, form, &out), ERR_OK);
    assert_int_equal(buf_add_byte(&out, 0), ERR_OK);
    assert_string_equal((const char *)out.data + out.head, text);
    buf_free(&out);
}

static void
end(struct query_results *r)
{
    query_results_free(r);
    assert_int_equal(mem_live(), 0);
}

/* One statement that lists, one that does something, one that is wrong. */
static void
fill(struct query_results *r)
{
    begin(r);
    query_results_series(r, "databases", columns, 2);
    query_results_text(r, SLICE("a \"b\""));
    query_results_u64(r, UINT64_MAX);
    query_results_null(r);
    query_results_bool(r, true);
    query_results_begin(r);
    query_results_message(r, "warning", SLICE("mind"));
    query_results_begin(r);
    query_results_series(r, "gone", columns, 2);
    query_results_text(r, SLICE("gone"));
    query_results_error(r, "sink \"%s\" not found", "x");
}

static void
json(void **state)
{
    struct query_results r;

    (void)state;
    fill(&r);
    gives(&r, QUERY_JSON,
          "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"databases\",\"columns\":"
          "[\"name\",\"n\"],\"values\":[[\"a \\\"b\\\"\",18446744073709551615],[null,true]]}]},"
          "{\"statement_id\":1,\"messages\":[{\"level\":\"warning\",\"text\":\"mind\"}]},"
          "{\"statement_id\":2,\"error\":\"sink \\\"x\\\" not found\"}]}\n");
    end(&r);
}

static void
json_pretty(void **state)
{
    struct query_results r;

    (void)state;
    begin(&r);
    query_results_series(&r, "databases", columns, 1);
    query_results_text(&r, SLICE("a"));
    query_results_text(&r, SLICE("b"));
    query_results_begin(&r);
    gives(&r, QUERY_JSON_PRETTY,
          "{\n"
          "    \"results\": [\n"
          "        {\n"
          "            \"statement_id\": 0,\n"
          "            \"series\": [\n"
          "                {\n"
          "                    \"name\": \"databases\",\n"
          "                    \"columns\": [\n"
          "                        \"name\"\n"
          "                    ],\n"
          "                    \"values\": [\n"
          "                        [\n"
          "                            \"a\"\n"
          "                        ],\n"
          "                        [\n"
          "                            \"b\"\n"
          "                        ]\n"
          "                    ]\n"
          "                }\n"
          "            ]\n"
          "        },\n"
          "        {\n"
          "            \"statement_id\": 1\n"
          "        }\n"
          "    ]\n"
          "}\n");
    end(&r);
}

static void
json_chunked(void **state)
{
    struct query_results r;

    (void)state;
    begin(&r);
    query_results_begin(&r);
    query_results_error(&r, "no");
    gives(&r, QUERY_JSON_CHUNKED,
          "{\"results\":[{\"statement_id\":0}]}\n"
          "{\"results\":[{\"statement_id\":1,\"error\":\"no\"}]}\n");
    end(&r);
}

static void
without_statements_there_is_an_empty_object(void **state)
{
    struct query_results r;

    (void)state;
    query_results_init(&r);
    gives(&r, QUERY_JSON, "{}\n");
    gives(&r, QUERY_JSON_PRETTY, "{}\n");
    gives(&r, QUERY_JSON_CHUNKED, "{}\n");
    gives(&r, QUERY_CSV, "");
    end(&r);
}

static void
an_empty_series_has_no_values(void **state)
{
    struct query_results r;

    (void)state;
    begin(&r);
    query_results_series(&r, "databases", columns, 1);
    gives(&r, QUERY_JSON,
          "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"databases\",\"columns\":"
          "[\"name\"]}]}]}\n");
    gives(&r, QUERY_CSV, "name,tags,name\n");
    end(&r);
}

static void
csv(void **state)
{
    struct query_results r;

    (void)state;
    fill(&r);
    gives(&r, QUERY_CSV,
          "name,tags,name,n\n"
          "databases,,\"a \"\"b\"\"\",18446744073709551615\n"
          "databases,,,true\n"
          "\n"
          "error\n"
          "\"sink \"\"x\"\" not found\"\n");
    end(&r);
}

static void
csv_quotes_what_needs_it(void **state)
{
    struct query_results r;

    (void)state;
    begin(&r);
    query_results_series(&r, "s", columns, 1);
    query_results_text(&r, SLICE("a,b"));
    query_results_text(&r, SLICE(" a"));
    query_results_text(&r, SLICE("\ta"));
    query_results_text(&r, SLICE("a b"));
    query_results_text(&r, SLICE("a\nb"));
    query_results_text(&r, SLICE("\r"));
    query_results_text(&r, SLICE(""));
    gives(
        &r, QUERY_CSV,
        "name,tags,name\ns,,\"a,b\"\ns,,\" a\"\ns,,\"\ta\"\ns,,a b\ns,,\"a\nb\"\ns,,\"\r\"\ns,,\n");
    end(&r);
}

static void
an_error_takes_its_series_back(void **state)
{
    struct query_results r;
    char text[20];

    (void)state;
    begin(&r);
    query_results_series(&r, "s", columns, 1);
    query_results_text(&r, SLICE("first"));
    assert_false(query_results_failed(&r));
    assert_null(query_results_first_error(&r, text, sizeof(text)));
    query_results_begin(&r);
    query_results_series(&r, "s", columns, 1);
    query_results_text(&r, SLICE("second"));
    query_results_error(&r, "a text of some length");
    assert_true(query_results_failed(&r));
    assert_string_equal(query_results_first_error(&r, text, sizeof(text)), "a text of some leng");
    query_results_begin(&r);
    assert_false(query_results_failed(&r));
    query_results_series(&r, "t", columns, 1);
    query_results_text(&r, SLICE("third"));
    gives(&r, QUERY_CSV,
          "name,tags,name\ns,,first\n\nerror\na text of some length\n\nname,tags,name\nt,,third\n");
    end(&r);
}

static void
nothing_before_the_first_statement_is_kept(void **state)
{
    struct query_results r;

    (void)state;
    query_results_init(&r);
    query_results_error(&r, "x");
    query_results_null(&r);
    query_results_series(&r, "s", columns, 1);
    query_results_message(&r, "warning", SLICE("x"));
    assert_false(query_results_failed(&r));
    gives(&r, QUERY_JSON, "{}\n");
    end(&r);
}

static void
the_limits_are_an_error_that_sticks(void **state)
{
    static char large[1 << 20];
    struct query_results r;
    struct buf out;

    (void)state;
    memset(large, 'x', sizeof(large));
    begin(&r);
    query_results_series(&r, "s", columns, 1);
    for (int i = 0; i < 30; i++)
        query_results_text(&r, slice_make(large, sizeof(large)));
    assert_true(query_results_failed(&r));
    buf_init(&out, 1 << 20);
    assert_int_equal(query_results_write(&r, QUERY_JSON, &out), ERR_NOMEM);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
    end(&r);
    query_results_init(&r);
    for (int i = 0; i < 5000; i++)
        query_results_begin(&r);
    assert_int_equal(r.err, ERR_NOMEM);
    end(&r);
}

static void
memory_runs_out_cleanly(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct query_results r;
        struct buf out;
        enum err err;

        assert_in_range(n, 1, 60);
        mem_fail_at(n);
        fill(&r);
        buf_init(&out, 1 << 20);
        err = query_results_write(&r, QUERY_JSON_PRETTY, &out);
        mem_fail_at(0);
        buf_free(&out);
        end(&r);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json),
        cmocka_unit_test(json_pretty),
        cmocka_unit_test(json_chunked),
        cmocka_unit_test(without_statements_there_is_an_empty_object),
        cmocka_unit_test(an_empty_series_has_no_values),
        cmocka_unit_test(csv),
        cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(an_error_takes_its_series_back),
        cmocka_unit_test(nothing_before_the_first_statement_is_kept),
        cmocka_unit_test(the_limits_are_an_error_that_sticks),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
