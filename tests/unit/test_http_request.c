/*
 * test_http_request.c: parameters, targets, fields of a request; and the bytes of heads and
 * answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http/h1_write.h"
#include "http/http_answer.h"
#include "http/http_request.h"

static void
assert_slice(struct slice s, const char *text)
{
    if (!slice_eq(s, slice_of(text)))
        fail_msg("\"%.*s\" instead of \"%s\"", SLICE_PRI(s), text);
}

static void
load(struct http_request *r, const char *head)
{
    struct h1_fault fault;

    http_request_init(r);
    assert_int_equal(http_request_load(r, slice_of(head), &fault), ERR_OK);
}

static void
parameters_are_decoded_and_the_first_wins(void **state)
{
    struct http_request r;

    (void)state;
    load(&r, "POST /write?db=a%20b&db=c&rp=&x=%zz&%zz=1&&q=1+%2B&flag&a%3db=c%26 HTTP/1.1\r\n"
             "Host: x\r\n\r\n");
    assert_slice(r.path, "/write");
    assert_int_equal(r.method, HTTP_POST);
    assert_slice(http_request_param(&r, "db"), "a b");
    assert_slice(http_request_param(&r, "rp"), "");
    assert_true(http_request_has_param(&r, "rp"));
    assert_false(http_request_has_param(&r, "x")); /* cannot be decoded: as if it were not there */
    assert_slice(http_request_param(&r, "q"), "1 +");
    assert_true(http_request_has_param(&r, "flag"));
    assert_slice(http_request_param(&r, "a=b"), "c&");
    assert_false(http_request_has_param(&r, "p"));
    http_request_free(&r);
}

static void
a_form_beats_the_url(void **state)
{
    static const char head[] =
        "POST /query?q=url&db=d HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
        "Content-Type: application/X-www-form-urlencoded; charset=utf-8\r\n\r\n";
    struct http_request r;

    (void)state;
    load(&r, head);
    assert_int_equal(buf_add_text(&r.body, "q=CREATE+DATABASE+%22telegraf%22&q=2"), ERR_OK);
    assert_int_equal(http_request_parse_form(&r), ERR_OK);
    assert_slice(http_request_form(&r, "q"), "CREATE DATABASE \"telegraf\"");
    assert_slice(http_request_form(&r, "db"), "d");
    http_request_free(&r);

    load(&r, "POST /query?q=url HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\n");
    assert_int_equal(buf_add_text(&r.body, "q=body"), ERR_OK);
    assert_int_equal(http_request_parse_form(&r), ERR_OK);
    assert_slice(http_request_form(&r, "q"), "url");
    http_request_free(&r);
}

static const struct {
    const char *target, *path, *query; /* path NULL: refused */
} targets[] = {
    {"/ping", "/ping", ""},
    {"/ping?a?b", "/ping", "a?b"},
    {"/ping?", "/ping", ""},
    {"http://127.0.0.1/ping?x=1", "/ping", "x=1"},
    {"http://h:1", "/", ""},
    {"http://h?x", "/", ""}, /* nobody sends this */
    {"*", "*", ""},
    {"//ping", "//ping", ""},
    {"/pin%67", "/pin%67", ""},
    {"/pi%zzng", NULL, NULL},
    {"/pi%6", NULL, NULL},
    {"ping", NULL, NULL},
    {"?q", NULL, NULL},
    {"/a#b", "/a#b", ""},
};

static void
targets_are_split_without_decoding(void **state)
{
    struct http_request r;
    struct h1_fault fault;
    char head[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        (void)snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", targets[i].target);
        http_request_init(&r);
        if (targets[i].path == NULL) {
            assert_int_equal(http_request_load(&r, slice_of(head), &fault), ERR_BAD);
            assert_int_equal(fault.status, 400);
        } else {
            assert_int_equal(http_request_load(&r, slice_of(head), &fault), ERR_OK);
            assert_slice(r.path, targets[i].path);
            assert_slice(r.query, targets[i].query);
        }
        http_request_free(&r);
    }
}

static void
accept_encoding_heeds_weights(void **state)
{
    static const struct {
        const char *value;
        bool accepts;
    } rows[] = {{"gzip", true},          {"deflate, GZIP", true},    {"gzip;q=0", false},
                {"gzip;q=0.000", false}, {"br, gzip ; q=0.5", true}, {"gzip;q=0.01", true},
                {"identity", false},     {"xgzip", false},           {"", false},
                {"gzip;q=0, br", false}};
    struct http_request r;
    char head[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(head, sizeof(head),
                       "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n\r\n", rows[i].value);
        load(&r, head);
        if (http_request_accepts(&r, SLICE("gzip")) != rows[i].accepts)
            fail_msg("%s", rows[i].value);
        http_request_free(&r);
    }
}

static void
methods_are_listed_in_order(void **state)
{
    char text[HTTP_METHODS_TEXT];

    (void)state;
    assert_string_equal(http_request_methods(text, HTTP_HEAD | HTTP_GET), "GET, HEAD");
    assert_string_equal(http_request_methods(text, HTTP_POST | HTTP_OPTIONS), "OPTIONS, POST");
    assert_string_equal(http_request_methods(text, ~0u), "DELETE, GET, HEAD, OPTIONS, POST, PUT");
}

static void
dates_are_those_of_the_rfc(void **state)
{
    char text[H1_DATE_TEXT];

    (void)state;
    assert_string_equal(h1_write_date(text, 784111777),
                        "Sun, 06 Nov 1994 08:49:37 GMT"); /* RFC 9110 */
    assert_string_equal(h1_write_date(text, 0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

static void
fields_and_targets_cannot_break_out(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(h1_write_field(&b, "X-A", SLICE("a\tb")), ERR_OK);
    assert_int_equal(h1_write_field(&b, "X-A", SLICE("a\r\nB: c")), ERR_BAD);
    assert_int_equal(h1_write_field(&b, "X A", SLICE("a")), ERR_BAD);
    assert_int_equal(h1_write_field(&b, "", SLICE("a")), ERR_BAD);
    assert_int_equal(h1_write_request(&b, SLICE("GET"), SLICE("/a b")), ERR_BAD);
    assert_int_equal(h1_write_request(&b, SLICE("GE T"), SLICE("/")), ERR_BAD);
    assert_int_equal(h1_write_request(&b, SLICE("GET"), SLICE("/\n")), ERR_BAD);
    assert_int_equal(h1_write_request(&b, SLICE("GET"), SLICE("/a?b")), ERR_OK);
    assert_slice(buf_peek(&b), "X-A: a\tb\r\nGET /a?b HTTP/1.1\r\n");
    buf_free(&b);
    buf_init(&b, 12); /* nothing is left behind when it does not fit */
    assert_int_equal(h1_write_field(&b, "X-A", SLICE("12345678")), ERR_NOMEM);
    assert_int_equal(h1_write_chunk(&b, SLICE("1234567890")), ERR_NOMEM);
    assert_int_equal(h1_write_error_json(&b, SLICE("x")), ERR_NOMEM);
    assert_int_equal(buf_len(&b), 0);
    buf_free(&b);
}

static void
error_texts_are_cut_and_cleaned(void **state)
{
    struct buf b;
    uint8_t long_text[2000];

    (void)state;
    buf_init(&b, 5000);
    assert_int_equal(h1_write_error_text(&b, slice_make("a\r\nb\0\x1f\tc\x7f\xc3\xa9", 11)),
                     ERR_OK);
    assert_slice(buf_peek(&b), "a  b\tc\xc3\xa9");
    buf_clear(&b);
    memset(long_text, 'x', sizeof(long_text));
    assert_int_equal(h1_write_error_text(&b, slice_make(long_text, sizeof(long_text))), ERR_OK);
    assert_int_equal(buf_len(&b), 1024);
    buf_clear(&b);
    assert_int_equal(h1_write_error_json(&b, SLICE("<a>\n\"")), ERR_OK);
    assert_slice(buf_peek(&b), "{\"error\":\"\\u003ca\\u003e\\n\\\"\"}\n");
    buf_free(&b);
}

static void
chunks_and_identifiers(void **state)
{
    static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                     255, 255, 255, 255, 255, 255, 255, 255};
    char text[H1_UUID_TEXT];
    struct buf b;

    (void)state;
    assert_string_equal(h1_write_uuid(text, ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    buf_init(&b, 100);
    assert_int_equal(h1_write_chunk(&b, SLICE("0123456789abcdef")), ERR_OK);
    assert_int_equal(h1_write_chunk(&b, SLICE("")), ERR_OK);
    assert_slice(buf_peek(&b), "10\r\n0123456789abcdef\r\n0\r\n\r\n");
    buf_free(&b);
}

static struct http_env
make_env(void)
{
    struct http_env env = {.version = "1.8.10-sinkd", .build = "OSS"};

    (void)h1_write_date(env.date, 784111777);
    return env;
}

static void
an_error_has_the_headers_clients_look_for(void **state)
{
    struct http_env env = make_env();
    struct http_answer a = {
        .status = 503, .error = SLICE("full"), .retry_after_s = 7, .close = true};
    struct http_request r;
    struct buf b;

    (void)state;
    load(&r, "POST /write HTTP/1.1\r\nHost: x\r\nX-Request-Id: my-id\r\nOrigin: http://o\r\n\r\n");
    buf_init(&b, 10000);
    assert_int_equal(http_answer_write(&b, &env, &r, &a), ERR_OK);
    assert_slice(
        buf_peek(&b),
        "HTTP/1.1 503 Service Unavailable\r\n"
        "Content-Type: application/json\r\n"
        "X-Influxdb-Build: OSS\r\n"
        "X-Influxdb-Version: 1.8.10-sinkd\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        "Request-Id: my-id\r\n"
        "X-Request-Id: my-id\r\n"
        "Access-Control-Allow-Origin: http://o\r\n"
        "Access-Control-Allow-Methods: DELETE, GET, OPTIONS, POST, PUT\r\n"
        "Access-Control-Allow-Headers: Accept, Accept-Encoding, Authorization, Content-Length, "
        "Content-Type, X-CSRF-Token, X-HTTP-Method-Override\r\n"
        "Access-Control-Expose-Headers: Date, X-InfluxDB-Version, X-InfluxDB-Build\r\n"
        "X-Influxdb-Error: full\r\n"
        "Retry-After: 7\r\n"
        "Connection: close\r\n"
        "Content-Length: 17\r\n"
        "\r\n"
        "{\"error\":\"full\"}\n");
    buf_clear(&b);
    a = (struct http_answer){.status = 401, .error = SLICE("no")};
    assert_int_equal(http_answer_write(&b, &env, &r, &a), ERR_OK);
    assert_int_equal(buf_add_byte(&b, 0), ERR_OK);
    assert_non_null(
        strstr((const char *)buf_peek(&b).p, "\r\nWWW-Authenticate: Basic realm=\"InfluxDB\"\r\n"));
    assert_null(strstr((const char *)buf_peek(&b).p, "X-Influxdb-Error"));
    buf_free(&b);
    http_request_free(&r);
}

/* Every allocation fails once: nothing is left behind, in memory or in the output. */
static void
want_of_memory_leaves_nothing(void **state)
{
    struct http_env env = make_env();
    struct http_answer a = {.status = 200, .body = SLICE("xxxxxxxxxxxxxxxxxxxx"), .may_gzip = true};
    struct http_request r;
    struct h1_fault fault;
    struct buf b;
    size_t n, live = mem_live();
    enum err err = ERR_NOMEM;

    (void)state;
    for (n = 1; err != ERR_OK && n < 100; n++) {
        mem_fail_at(n);
        http_request_init(&r);
        err = http_request_load(
            &r, SLICE("GET /?a=b HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"), &fault);
        buf_init(&b, 10000);
        if (err == ERR_OK)
            err = http_answer_write(&b, &env, &r, &a);
        if (err != ERR_OK)
            assert_int_equal(buf_len(&b), 0);
        http_request_free(&r);
        buf_free(&b);
        http_answer_env_free(&env);
        assert_int_equal(mem_live(), live);
    }
    mem_fail_at(0);
    assert_in_range(n, 3, 99);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_decoded_and_the_first_wins),
        cmocka_unit_test(a_form_beats_the_url),
        cmocka_unit_test(targets_are_split_without_decoding),
        cmocka_unit_test(accept_encoding_heeds_weights),
        cmocka_unit_test(methods_are_listed_in_order),
        cmocka_unit_test(dates_are_those_of_the_rfc),
        cmocka_unit_test(fields_and_targets_cannot_break_out),
        cmocka_unit_test(error_texts_are_cut_and_cleaned),
        cmocka_unit_test(chunks_and_identifiers),
        cmocka_unit_test(an_error_has_the_headers_clients_look_for),
        cmocka_unit_test(want_of_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
