/*
 * test_http_server.c: one connection's state machine, driven without a socket.
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
#include "support/guard.h"
#include "support/http_drive.h"

#define BODY_MAX 20000

static void
start(struct http_drive *d, const char *bytes)
{
    http_drive_init(d, BODY_MAX);
    (void)http_drive_feed(d, slice_of(bytes));
}

#define PING "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
#define WRITE(fields) "POST /write?db=d HTTP/1.1\r\nHost: x\r\n" fields "\r\n\r\n"

static void
requests_are_answered_in_order_on_one_connection(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, PING WRITE("Content-Length: 5") "m f=1" PING WRITE(
                  "Transfer-Encoding: chunked") "3\r\nbad\r\n0\r\nT: x\r\n\r\n" PING);
    http_drive_assert_log(
        &d, "head GET /ping\nbody  \nhead POST /write?db=d\nbody d m f=1\nhead GET /ping\n"
            "body  \nhead POST /write?db=d\nbody d bad\nhead GET /ping\nbody  \n");
    http_drive_assert_statuses(&d, "204 204 204 400 204 ");
    assert_false(http_server_is_finished(&d.conn));
    assert_int_equal(http_server_phase(&d.conn), HTTP_IDLE);
    assert_int_equal(d.conn.requests, 5);
    assert_false(http_drive_holds(&d, "Connection:"));
    http_drive_eof(&d);
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
}

static void
a_request_that_waits_holds_back_those_behind_it(void **state)
{
    struct http_drive d;
    struct slice more = SLICE(PING PING);
    size_t fed;

    (void)state;
    start(&d, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(http_server_phase(&d.conn), HTTP_WORKING);
    assert_int_equal(http_server_room(&d.conn), 0);
    fed = http_drive_feed(&d, more);
    assert_int_equal(fed, 0);
    http_drive_assert_statuses(&d, "");
    http_drive_finish(&d);
    assert_int_equal(http_drive_feed(&d, more), more.n);
    http_drive_assert_statuses(&d, "204 204 204 ");
    http_drive_free(&d);
}

static void
http_1_0_closes_unless_asked_not_to(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, "GET /ping HTTP/1.0\r\n\r\n" PING);
    http_drive_assert_statuses(&d, "204 ");
    assert_true(http_drive_holds(&d, "HTTP/1.0 204"));
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    start(&d, "GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" PING);
    http_drive_assert_statuses(&d, "204 204 ");
    assert_true(http_drive_holds(&d, "Connection: keep-alive\r\n"));
    http_drive_free(&d);
    start(&d, "POST /write?db=d HTTP/1.0\r\n\r\nm f=1");
    http_drive_assert_log(
        &d, "head POST /write?db=d\nrefused 411\n"); /* never 204 for a body that was not read */
    http_drive_free(&d);
}

static void
the_100_comes_only_when_the_body_is_wanted(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, WRITE("Expect: 100-continue\r\nContent-Length: 5"));
    http_drive_assert_statuses(&d, "100 ");
    (void)http_drive_feed(&d, SLICE("m f=1"));
    http_drive_assert_statuses(&d, "100 204 ");
    assert_false(http_server_is_finished(&d.conn));
    http_drive_free(&d);

    start(&d,
          "POST /early HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    http_drive_assert_statuses(&d, "401 ");
    assert_true(http_drive_holds(&d, "Connection: close\r\n"));
    assert_true(http_server_is_finished(&d.conn));
    assert_true(http_server_must_linger(&d.conn));
    http_drive_free(&d);

    start(&d, WRITE("Expect: 100-continue\r\nContent-Length: 20001"));
    http_drive_assert_log(&d, "head POST /write?db=d\nrefused 413\n");
    http_drive_assert_statuses(&d, "413 ");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);

    start(&d, WRITE("Expect: cats\r\nContent-Length: 5") "m f=1");
    http_drive_assert_log(&d, "refused 417\n");
    http_drive_free(&d);

    start(&d, WRITE("Expect: 100-continue\r\nContent-Length: 0"));
    http_drive_assert_statuses(&d, "204 ");
    http_drive_free(&d);
}

/* A small body of a refused request is skipped and the connection kept; a large one ends it. */
static void
a_refused_body_is_skipped_if_it_is_small(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nGET " PING);
    http_drive_assert_statuses(&d, "401 204 ");
    http_drive_free(&d);
    start(&d, "POST /nope HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    http_drive_assert_statuses(&d, "404 ");
    assert_int_equal(http_server_phase(&d.conn), HTTP_DRAINING);
    (void)http_drive_feed(&d, SLICE("4\r\nGET \r\n0\r\n\r\n" PING));
    http_drive_assert_statuses(&d, "404 204 ");
    http_drive_free(&d);
    start(&d, WRITE("Content-Length: 20001"));
    assert_int_equal(http_server_phase(&d.conn), HTTP_DRAINING);
    http_drive_free(&d);
    start(&d, WRITE("Content-Length: 99999999"));
    http_drive_assert_statuses(&d, "413 ");
    assert_true(http_drive_holds(&d, "Connection: close\r\n"));
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
}

static void
a_body_has_a_largest_size_however_it_comes(void **state)
{
    struct http_drive d;
    char *body = malloc(BODY_MAX + 1), head[200];
    size_t over;

    (void)state;
    assert_non_null(body);
    memset(body, '#', BODY_MAX + 1);
    for (over = 0; over <= 1; over++) {
        (void)snprintf(head, sizeof(head), WRITE("Content-Length: %zu"), BODY_MAX + over);
        start(&d, head);
        (void)http_drive_feed(&d, slice_make(body, BODY_MAX + over));
        http_drive_assert_statuses(&d, over == 0 ? "204 " : "413 ");
        http_drive_free(&d);

        (void)snprintf(head, sizeof(head), WRITE("Transfer-Encoding: chunked") "%zx\r\n",
                       BODY_MAX + over);
        start(&d, head);
        (void)http_drive_feed(&d, slice_make(body, BODY_MAX + over));
        (void)http_drive_feed(&d, SLICE("\r\n0\r\n\r\n" PING));
        /* Past the cap it is refused at once, before the end is known, and the connection
         * closes. */
        http_drive_assert_statuses(&d, over == 0 ? "204 204 " : "413 ");
        assert_int_equal(http_server_is_finished(&d.conn), over == 1);
        http_drive_free(&d);
    }
    free(body);
}

/* All bodies together stay below the limit; one alone always gets in. */
static void
bodies_are_admitted_together(void **state)
{
    struct http_drive d;

    (void)state;
    http_drive_init(&d, BODY_MAX);
    d.inflight_max = 10;
    (void)http_drive_feed(&d, SLICE(WRITE("Content-Length: 12") "m f=11111111"));
    http_drive_assert_statuses(&d, "204 ");
    assert_int_equal(d.inflight_top, 12);
    assert_int_equal(d.inflight, 0);
    d.inflight = 6; /* somebody else's */
    (void)http_drive_feed(&d, SLICE(WRITE("Content-Length: 5")));
    http_drive_assert_statuses(&d, "204 503 ");
    assert_true(http_drive_holds(&d, "Retry-After: 1\r\n"));
    (void)http_drive_feed(&d, SLICE("m f=1" WRITE("Content-Length: 4") "m f="));
    http_drive_assert_statuses(&d, "204 503 204 ");
    (void)http_drive_feed(&d, SLICE(WRITE("Transfer-Encoding: chunked") "3\r\nm f\r\n2\r\n=1\r\n"));
    http_drive_assert_statuses(&d, "204 503 204 503 ");
    assert_int_equal(d.inflight, 6);
    d.inflight = 0;
    http_drive_free(&d);
}

static void
what_ends_too_early_is_not_a_request(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, WRITE("Content-Length: 9") "m f=1");
    http_drive_eof(&d);
    http_drive_assert_log(&d, "head POST /write?db=d\nrefused 400\n");
    assert_true(http_drive_holds(&d, "{\"error\":\"unexpected EOF\"}"));
    assert_true(http_server_is_finished(&d.conn));
    assert_false(http_server_must_linger(&d.conn));
    http_drive_free(&d);
    start(&d, WRITE("Transfer-Encoding: chunked") "5\r\nm f=1\r\n0\r\n");
    http_drive_eof(&d);
    assert_true(http_drive_holds(&d, "unexpected EOF"));
    http_drive_free(&d);
    start(&d, "POST /write?db=db0 HTTP/1.1\r\nHo");
    http_drive_eof(&d);
    http_drive_assert_log(&d, "refused 400\n");
    http_drive_assert_statuses(&d, "400 ");
    http_drive_free(&d);
    start(&d, "\r\n\r\n"); /* only what may stand before a request */
    http_drive_eof(&d);
    http_drive_assert_statuses(&d, "");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    start(&d, WRITE("Content-Length: 5") "m f=1"); /* a client that half closes gets its answer */
    http_drive_eof(&d);
    http_drive_assert_statuses(&d, "204 ");
    http_drive_free(&d);
}

static void
slow_requests_get_408(void **state)
{
    struct http_drive d;

    (void)state;
    http_drive_init(&d, BODY_MAX);
    http_server_timeout(&d.conn);
    assert_false(http_server_is_finished(&d.conn)); /* idle: not ours to end */
    (void)http_drive_feed(&d, SLICE("GET /pi"));
    assert_int_equal(http_server_phase(&d.conn), HTTP_READING);
    http_server_timeout(&d.conn);
    http_drive_step(&d);
    http_drive_assert_log(&d, "refused 408\n");
    http_drive_assert_statuses(&d, "408 ");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    start(&d, WRITE("Content-Length: 5") "m");
    http_server_timeout(&d.conn);
    http_drive_step(&d);
    http_drive_assert_log(&d, "head POST /write?db=d\nrefused 408\n");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    start(&d, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    http_server_timeout(&d.conn); /* ours to answer, not the client's fault */
    assert_int_equal(http_server_phase(&d.conn), HTTP_WORKING);
    http_drive_finish(&d);
    http_drive_free(&d);
}

static void
a_client_that_does_not_read_is_not_read_from(void **state)
{
    struct http_drive d;
    size_t fed;

    (void)state;
    http_drive_init(&d, BODY_MAX);
    d.blocked = true;
    (void)http_drive_feed(&d, SLICE("GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(http_server_phase(&d.conn), HTTP_SENDING);
    fed = http_drive_feed(&d, SLICE(PING));
    assert_int_equal(fed, 0);
    assert_int_equal(d.conn.requests, 1);
    d.blocked = false;
    http_drive_step(&d);
    (void)http_drive_feed(&d, SLICE(PING));
    assert_int_equal(d.conn.requests, 2);
    d.blocked = true;
    (void)http_drive_feed(&d, SLICE("GET /big HTTP/1.1\r\nHost: x\r\n\r\n" PING));
    assert_int_equal(d.conn.requests, 3); /* what came with it waits as well */
    http_server_timeout(&d.conn);
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
}

static void
a_body_nobody_wants_is_dropped_within_a_bound(void **state)
{
    struct http_drive d;
    char *junk = malloc(HTTP_DRAIN_MAX + 1000);

    (void)state;
    assert_non_null(junk);
    memset(junk, 'j', HTTP_DRAIN_MAX + 1000);
    start(&d, "GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\njunk" PING);
    http_drive_assert_statuses(&d, "204 204 ");
    http_drive_free(&d);
    start(&d, "GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n");
    (void)http_drive_feed(&d, slice_make(junk, HTTP_DRAIN_MAX + 1000));
    http_drive_assert_statuses(&d, "204 ");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    free(junk);
}

static void
head_has_no_body_and_options_is_empty(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, "HEAD /nope HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_drive_holds(&d, "Content-Length: 19\r\n"));
    assert_false(http_drive_holds(&d, "page not found"));
    http_drive_free(&d);
    start(&d, "OPTIONS /query HTTP/1.1\r\nHost: x\r\nOrigin: http://o\r\n\r\n");
    assert_true(http_drive_holds(&d, "HTTP/1.1 200 OK\r\n"));
    assert_false(http_drive_holds(&d, "\r\nContent-Type: "));
    assert_true(http_drive_holds(&d, "Access-Control-Allow-Origin: http://o\r\n"));
    http_drive_free(&d);
    start(&d, "BREW /write HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(http_drive_holds(&d, "Allow: OPTIONS, POST\r\n"));
    http_drive_assert_statuses(&d, "405 ");
    http_drive_free(&d);
}

static void
an_answer_that_is_too_large_becomes_an_error(void **state)
{
    struct http_drive d;
    struct http_answer a = {.status = 200};
    uint8_t *body = malloc(HTTP_OUTPUT_MAX);

    (void)state;
    assert_non_null(body);
    memset(body, 'x', HTTP_OUTPUT_MAX);
    start(&d, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    a.body = slice_make(body, HTTP_OUTPUT_MAX);
    http_server_answer(&d.conn, &a);
    http_drive_step(&d);
    http_drive_assert_statuses(&d, "500 ");
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    free(body);
}

static void
stopping_lets_the_open_request_finish(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, WRITE("Content-Length: 5") "m f");
    http_server_stop(&d.conn);
    assert_false(http_server_is_finished(&d.conn));
    (void)http_drive_feed(&d, SLICE("=1" PING));
    http_drive_assert_statuses(&d, "204 ");
    assert_true(http_drive_holds(&d, "Connection: close\r\n"));
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
    start(&d, PING);
    http_server_stop(&d.conn);
    assert_true(http_server_is_finished(&d.conn));
    http_drive_free(&d);
}

static void
identifiers_differ(void **state)
{
    struct http_drive d;

    (void)state;
    start(&d, PING PING);
    assert_true(http_drive_holds(&d, "\r\nRequest-Id: 30313233-3435-4637-b839-616263646567\r\n"));
    assert_true(http_drive_holds(&d, "\r\nX-Request-Id: 30313233-3435-4637-b839-616263646568\r\n"));
    http_drive_free(&d);
}

/* Everything that can be said in one feed is the same in two, and byte by byte. */
static void
any_cut_gives_the_same(void **state)
{
    static const char *const texts[] = {
        PING PING,
        WRITE("Content-Length: 5") "m f=1" PING,
        WRITE(
            "Expect: 100-continue\r\nTransfer-Encoding: chunked") "5;x\r\nm f=1\r\n0\r\nA: b\r\n\r\n" PING,
        WRITE("Transfer-Encoding: chunked") "zz\r\n" PING,
        "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nGET " PING,
        "POST /query?q=a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" PING,
        WRITE("Content-Length: 1\r\nContent-Length: 2") PING,
        WRITE("Content-Encoding: gzip\r\nContent-Length: 6") "m f=1\n" PING,
    };
    size_t i, cut;

    (void)state;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slice whole = slice_of(texts[i]);
        struct http_drive once, twice;

        start(&once, texts[i]);
        http_drive_eof(&once);
        for (cut = 0; cut <= whole.n; cut++) {
            struct slice a = guard_copy(slice_to(whole, cut)),
                         b = guard_copy(slice_from(whole, cut));

            http_drive_init(&twice, BODY_MAX);
            (void)http_drive_feed(&twice, a);
            (void)http_drive_feed(&twice, b);
            http_drive_eof(&twice);
            assert_true(slice_eq(buf_peek(&once.log), buf_peek(&twice.log)));
            assert_true(slice_eq(buf_peek(&once.out), buf_peek(&twice.out)));
            http_drive_free(&twice);
            guard_free(a);
            guard_free(b);
        }
        http_drive_init(&twice, BODY_MAX);
        for (cut = 0; cut < whole.n; cut++)
            (void)http_drive_feed(&twice, slice_to(slice_from(whole, cut), 1));
        http_drive_eof(&twice);
        assert_true(slice_eq(buf_peek(&once.log), buf_peek(&twice.log)));
        assert_true(slice_eq(buf_peek(&once.out), buf_peek(&twice.out)));
        http_drive_free(&twice);
        http_drive_free(&once);
    }
}

static void
want_of_memory_ends_at_worst_one_connection(void **state)
{
    struct http_drive d;
    char out[200];
    size_t n, live = mem_live();
    bool ok = false;

    (void)state;
    for (n = 1; !ok && n < 300; n++) {
        http_drive_init(&d, BODY_MAX);
        mem_fail_at(n);
        (void)http_drive_feed(&d, SLICE(WRITE("Content-Length: 5") "m f=1"));
        (void)http_drive_feed(
            &d, SLICE("GET /big HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"));
        (void)http_drive_feed(&d, SLICE(WRITE("Transfer-Encoding: chunked") "zz\r\n"));
        mem_fail_at(0);
        ok = !d.lost_output && strcmp(http_drive_statuses(&d, out), "204 200 400 ") == 0 && n > 20;
        http_drive_free(&d);
        assert_int_equal(mem_live(), live);
    }
    assert_true(ok);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_in_order_on_one_connection),
        cmocka_unit_test(a_request_that_waits_holds_back_those_behind_it),
        cmocka_unit_test(http_1_0_closes_unless_asked_not_to),
        cmocka_unit_test(the_100_comes_only_when_the_body_is_wanted),
        cmocka_unit_test(a_refused_body_is_skipped_if_it_is_small),
        cmocka_unit_test(a_body_has_a_largest_size_however_it_comes),
        cmocka_unit_test(bodies_are_admitted_together),
        cmocka_unit_test(what_ends_too_early_is_not_a_request),
        cmocka_unit_test(slow_requests_get_408),
        cmocka_unit_test(a_client_that_does_not_read_is_not_read_from),
        cmocka_unit_test(a_body_nobody_wants_is_dropped_within_a_bound),
        cmocka_unit_test(head_has_no_body_and_options_is_empty),
        cmocka_unit_test(an_answer_that_is_too_large_becomes_an_error),
        cmocka_unit_test(stopping_lets_the_open_request_finish),
        cmocka_unit_test(identifiers_differ),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(want_of_memory_ends_at_worst_one_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
