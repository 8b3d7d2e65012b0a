/*
 * test_http_client_faults.c: the HTTP client when connections and memory fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "http/http_client.h"
#include "support/http_rig.h"
#include "support/stream_script.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
an_idle_connection_that_was_closed_is_replaced(void **state)
{
    static const struct script_step first[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT), GIVE_EOF};
    static const struct script_step second[] = {
        EXPECT(POST_BYTES), GIVE(NO_CONTENT),
        GIVE("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")};
    static const struct script_step third[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT)};
    struct script_conn conns[] = {{.steps = first, .count = COUNT(first)},
                                  {.steps = second, .count = COUNT(second)},
                                  {.steps = third, .count = COUNT(third)}};
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open(&r, conns, 3);
    r.host.piece = sizeof(NO_CONTENT) - 1;
    for (i = 0; i < 3; i++) {
        assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
        assert_int_equal(r.reply.status, 204);
        assert_int_equal(r.host.next, i + 1);
    }
    http_rig_close(&r);
}

static void
a_reused_connection_that_breaks_is_told_apart(void **state)
{
    static const struct script_step reset[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT),
                                               EXPECT(POST_BYTES), GIVE_RESET};
    static const struct script_step fails[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT), EXPECT_ANY(7),
                                               WRITE_FAILS(ERR_EOF), GIVE_RESET};
    static const struct script_step good[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT),
                                              EXPECT(POST_BYTES), GIVE("H"), GIVE_EOF};
    static const struct script_step fresh[] = {EXPECT(POST_BYTES), GIVE_EOF};
    struct script_conn conns[] = {{.steps = reset, .count = COUNT(reset)},
                                  {.steps = fails, .count = COUNT(fails)},
                                  {.steps = good, .count = COUNT(good)},
                                  {.steps = fresh, .count = COUNT(fresh)}};
    struct http_call again = http_rig_post;
    struct http_rig r;

    (void)state;
    again.repeat = true;
    http_rig_open(&r, conns, 4);
    r.host.piece = sizeof(NO_CONTENT) - 1;
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_IO); /* not sent twice by itself */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_STALE);
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
    assert_int_equal(http_rig_call(&r, &again), ERR_OK); /* over the third connection */
    assert_int_equal(r.host.next, 3);
    assert_int_equal(http_rig_call(&r, &again), ERR_EOF); /* one byte of an answer came */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_int_equal(http_rig_call(&r, &again), ERR_EOF); /* a new connection cannot be stale */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_non_null(strstr(r.info.text, "collector:8086"));
    http_rig_close(&r);
}

static uint8_t large[300000];

static struct http_call
large_post(struct slice *part)
{
    struct http_call c = http_rig_post;

    memset(large, 'x', sizeof(large));
    *part = slice_make(large, sizeof(large));
    c.body = part;
    c.body_count = 1;
    return c;
}

#define LARGE_HEAD \
    "POST /write?db=a HTTP/1.1\r\nHost: collector:8086\r\nContent-Length: 300000\r\n\r\n"

static void
an_early_answer_stops_the_body(void **state)
{
    static const struct script_step whole[] = {
        EXPECT(LARGE_HEAD), EXPECT_ANY(100),
        GIVE("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"), EXPECT_ANY(65536 - 185)};
    static const struct script_step half[] = {
        EXPECT(LARGE_HEAD), EXPECT_ANY(100),
        GIVE("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n"), GIVE("no")};
    static const struct script_step interim[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(100),
                                                 GIVE("HTTP/1.1 100 Continue\r\n\r\n"),
                                                 EXPECT_ANY(sizeof(large) - 100), GIVE(NO_CONTENT)};
    static const struct script_step garbage[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(100),
                                                 GIVE("\x15\x03\x01\x00\x02\x02\x46")};
    static const struct script_step closed[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(100), GIVE_EOF};
    static const struct script_step silent[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(200000),
                                                GIVE("HTTP/1.1 400 X\r\nContent-Length: 1\r\n\r\n"),
                                                GIVE("z")};
    struct script_conn conns[] = {{.steps = whole, .count = 3},
                                  {.steps = half, .count = COUNT(half)},
                                  {.steps = interim, .count = COUNT(interim)},
                                  {.steps = garbage, .count = COUNT(garbage)},
                                  {.steps = closed, .count = COUNT(closed)},
                                  {.steps = silent, .count = COUNT(silent)}};
    struct script_step takes_more[6][8];
    struct slice part;
    struct http_call c = large_post(&part);
    struct http_rig r;
    size_t i;

    (void)state;
    /* Each server takes whatever more it is sent. */
    for (i = 0; i < COUNT(conns); i++) {
        memcpy(takes_more[i], conns[i].steps, conns[i].count * sizeof(struct script_step));
        takes_more[i][conns[i].count] =
            (struct script_step){.kind = SCRIPT_EXPECT_ANY, .count = SIZE_MAX};
        conns[i].steps = takes_more[i];
        conns[i].count++;
    }
    http_rig_open(&r, conns, COUNT(conns));
    for (i = 0; i < 2; i++) {
        assert_int_equal(http_rig_call(&r, &c), ERR_OK);
        assert_int_equal(r.reply.status, 413);
        http_rig_body(&r, "no");
        assert_true(r.reply.closed);
        assert_true(conns[i].written < 70000);
    }
    assert_int_equal(http_rig_call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_false(r.reply.closed);
    http_client_disconnect(r.client);
    assert_int_equal(http_rig_call(&r, &c), ERR_BAD);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_PROTOCOL);
    assert_non_null(strstr(r.info.text, "not valid HTTP"));
    assert_int_equal(http_rig_call(&r, &c), ERR_EOF);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_true(conns[4].written < 70000);
    assert_int_equal(http_rig_call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 400);
    http_rig_body(&r, "z");
    assert_true(conns[5].written > 190000 && conns[5].written < 300000);
    http_client_close(r.client);
    stream_script_free(&r.host);
    for (i = 0; i < COUNT(conns); i++)
        assert_string_equal(conns[i].wrong, "");
    assert_int_equal(mem_live(), 0);
}

static void
a_reset_after_half_of_the_body(void **state)
{
    static const struct script_step broken[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(150000),
                                                WRITE_FAILS(ERR_IO), GIVE_RESET};
    static const struct script_step said_why[] = {
        EXPECT(LARGE_HEAD), EXPECT_ANY(40000),
        GIVE("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), WRITE_FAILS(ERR_EOF),
        GIVE_EOF};
    static const struct script_step slow[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(150000),
                                              WRITE_FAILS(ERR_TIMEOUT)};
    static const struct script_step good[] = {EXPECT(LARGE_HEAD), EXPECT_ANY(300000),
                                              GIVE(NO_CONTENT)};
    struct script_conn conns[] = {{.steps = broken, .count = COUNT(broken)},
                                  {.steps = said_why, .count = COUNT(said_why)},
                                  {.steps = slow, .count = COUNT(slow)},
                                  {.steps = good, .count = COUNT(good)}};
    struct slice part;
    struct http_call c = large_post(&part);
    struct http_rig r;

    (void)state;
    http_rig_open(&r, conns, COUNT(conns));
    assert_int_equal(http_rig_call(&r, &c), ERR_IO);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_false(http_client_connected(r.client));
    assert_int_equal(http_rig_call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 413);
    assert_true(r.reply.closed);
    assert_int_equal(http_rig_call(&r, &c), ERR_TIMEOUT);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_TIMEOUT);
    assert_int_equal(http_rig_call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    http_rig_close(&r);
}

/* Two calls, on a script with room for one reconnect; whatever fails at whichever step, the client
 * says so, holds nothing back, and the next call works again. */
static bool
two_calls_with_fault(enum err fault, size_t at, size_t piece)
{
    static const struct script_step steps[] = {
        EXPECT_UNTIL("hello"), GIVE("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"),
        EXPECT_UNTIL("hello"), GIVE("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"),
        EXPECT_UNTIL("hello"), GIVE("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")};
    struct script_conn conns[4];
    struct http_rig r;
    size_t i;
    bool reached;
    enum err err;

    memset(conns, 0, sizeof(conns));
    for (i = 0; i < 4; i++) {
        conns[i].steps = steps;
        conns[i].count = COUNT(steps);
    }
    http_rig_open(&r, conns, 4);
    r.host.piece = piece;
    r.host.fault_at = at;
    r.host.fault = fault;
    for (i = 0; i < 2; i++) {
        err = http_rig_call(&r, &http_rig_post);
        while (err == ERR_STOP && http_client_waiting(r.client) > 0)
            err = http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info);
        if (err == ERR_OK) {
            assert_int_equal(r.reply.status, 200);
            http_rig_body(&r, "abcd");
            assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
        } else {
            assert_int_equal(err, r.info.code);
            assert_int_not_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
            assert_int_equal(http_client_waiting(r.client), 0);
        }
    }
    reached = r.host.calls >= at;
    r.host.fault_at = 0;
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
    http_client_close(r.client);
    for (i = 0; i < 4; i++) {
        assert_string_equal(conns[i].wrong, "");
        assert_int_equal(conns[i].open, conns[i].closed);
    }
    stream_script_free(&r.host);
    assert_int_equal(mem_live(), 0);
    return reached;
}

static void
faults_at_every_step(void **state)
{
    static const enum err faults[] = {ERR_EOF, ERR_IO, ERR_TIMEOUT, ERR_STOP};
    size_t f, piece, at;

    (void)state;
    for (f = 0; f < COUNT(faults); f++) {
        for (piece = 0; piece < 12; piece++) {
            for (at = 1; two_calls_with_fault(faults[f], at, piece); at++)
                ;
            assert_true(at > 6);
        }
    }
}

static void
every_allocation_may_fail(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(POST_BYTES), GIVE("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")};
    enum err err = ERR_NOMEM;
    size_t n;

    (void)state;
    for (n = 1; err != ERR_OK; n++) {
        struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
        struct http_client_config config = {.host = SLICE("collector"), .port = 8086};
        struct http_rig r;

        stream_script_init(&r.host, &conn, 1);
        config.env = &r.host.env;
        mem_fail_at(n);
        err = http_client_open(&r.client, &config, &r.info);
        if (err == ERR_OK) {
            err = http_rig_call(&r, &http_rig_post);
            mem_fail_at(0);
            assert_int_equal(http_client_failure(r.client),
                             err == ERR_OK ? HTTP_FAILURE_NONE : HTTP_FAILURE_LOCAL);
            http_client_close(r.client);
        }
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        stream_script_free(&r.host);
        assert_int_equal(mem_live(), 0);
    }
    assert_true(n > 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_connection_that_was_closed_is_replaced),
        cmocka_unit_test(a_reused_connection_that_breaks_is_told_apart),
        cmocka_unit_test(an_early_answer_stops_the_body),
        cmocka_unit_test(a_reset_after_half_of_the_body),
        cmocka_unit_test(faults_at_every_step),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
