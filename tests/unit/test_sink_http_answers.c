/*
 * test_sink_http_answers.c: line protocol by HTTP: what comes of each answer and each failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/http_line_sink.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

#define URL "http://collector:8086/write?db=mydb"
#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"

/* ---- answers ---- */

struct answer {
    struct slice bytes;
    enum delivery what;
    enum store_error_kind kind;
    int64_t retry_after_ms;
    bool names_points;
    const char *text;
};

static const struct answer answers[] = {
    {SLICE_INIT("HTTP/1.1 400 Bad Request\r\nContent-Length: 33\r\n\r\n"
                "{\"error\":\"unable to parse 'x y'\"}"),
     DELIVERY_REJECTED, STORE_ERROR_REJECTED, 0, true,
     "the destination answered 400: unable to parse 'x y'"},
    {SLICE_INIT("HTTP/1.1 422 X\r\nContent-Length: 0\r\n\r\n"), DELIVERY_REJECTED,
     STORE_ERROR_REJECTED, 0, false, "the destination answered 422"},
    {SLICE_INIT("HTTP/1.1 401 X\r\nContent-Length: 9\r\n\r\nno, never"), DELIVERY_AUTH,
     STORE_ERROR_AUTH, 0, false, "the destination answered 401"},
    {SLICE_INIT("HTTP/1.1 403 X\r\nContent-Length: 9\r\n\r\nno, never"), DELIVERY_AUTH,
     STORE_ERROR_AUTH, 0, false, "the destination answered 403"},
    {SLICE_INIT("HTTP/1.1 413 X\r\nContent-Length: 3\r\n\r\nbig"), DELIVERY_TOO_LARGE,
     STORE_ERROR_REJECTED, 0, false, "the destination answered 413: big"},
    {SLICE_INIT("HTTP/1.1 404 X\r\nContent-Length: 9\r\n\r\nnot\x01\x02here"), DELIVERY_TARGET,
     STORE_ERROR_TARGET, 0, false, "the destination answered 404: not here"},
    {SLICE_INIT("HTTP/1.1 301 X\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"), DELIVERY_TARGET,
     STORE_ERROR_TARGET, 0, false, "the destination answered 301"},
    {SLICE_INIT("HTTP/1.1 203 X\r\nContent-Length: 0\r\n\r\n"), DELIVERY_TARGET, STORE_ERROR_TARGET,
     0, false, "the destination answered 203"},
    {SLICE_INIT("HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"),
     DELIVERY_THROTTLED, STORE_ERROR_THROTTLED, 7000, false, "the destination answered 429"},
    {SLICE_INIT("HTTP/1.1 503 X\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"),
     DELIVERY_THROTTLED, STORE_ERROR_THROTTLED, 2000, false, "the destination answered 503"},
    {SLICE_INIT("HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"), DELIVERY_TRANSIENT,
     STORE_ERROR_TARGET, 0, false, "the destination answered 503: busy"},
    {SLICE_INIT("HTTP/1.1 500 X\r\nContent-Length: 20\r\n\r\n{\"message\":\"timeout\"}"),
     DELIVERY_TRANSIENT, STORE_ERROR_TARGET, 0, false, NULL},
};

static void
every_answer_has_its_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        const struct script_step steps[] = {
            EXPECT_UNTIL("2000000000\n"),
            {.kind = SCRIPT_GIVE, .bytes = answers[i].bytes, .piece = 7},
        };
        struct script_conn conns[] = {SINK_RIG_CONN(steps)};
        struct sink_rig r;

        sink_rig_open(&r, "http_line", conns, 1, URL, NULL);
        sink_drive_round(&r.round, 1, 2);
        assert_int_equal(sink_rig_deliver(&r), ERR_DENIED);
        assert_int_equal(r.outcome.what, answers[i].what);
        assert_int_equal(r.outcome.kind, answers[i].kind);
        assert_int_equal(r.outcome.retry_after_ms, answers[i].retry_after_ms);
        assert_int_equal(r.outcome.names_points, answers[i].names_points);
        assert_int_equal(r.outcome.from, 0);
        assert_int_equal(r.outcome.to, 2);
        assert_int_equal(sink_rig_delivered(&r), 0);
        if (answers[i].text != NULL)
            assert_string_equal(r.info.text, answers[i].text);
        sink_rig_close(&r);
    }
}

static void
a_refusal_names_its_points(void **state)
{
    static const char *const options[] = {"max_batch_bytes", "1000", NULL};
    const struct script_step steps[] = {
        EXPECT_UNTIL("42000000000\n"),
        GIVE(NO_CONTENT),
        EXPECT_UNTIL("80000000000\n"),
        GIVE("HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n"),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL, options);
    sink_drive_round(&r.round, 1, 80);
    assert_int_equal(sink_rig_deliver(&r), ERR_DENIED);
    assert_int_equal(r.outcome.what, DELIVERY_REJECTED);
    assert_int_equal(r.outcome.from, 42); /* what 1000 bytes hold was delivered before */
    assert_int_equal(r.outcome.to, 80);
    assert_int_equal(sink_rig_delivered(&r), 42);
    sink_rig_close(&r);
}

static void
secrets_are_masked_in_what_a_peer_says(void **state)
{
    static const char *const options[] = {"headers", "X-Key: key-value-7", "bearer_token",
                                          "tok/en+with=signs", NULL};
    const struct script_step steps[] = {
        EXPECT_UNTIL("1000000000\n"),
        GIVE("HTTP/1.1 404 X\r\nContent-Length: 70\r\n\r\n"
             "a key-value-7 b tok/en+with=signs c tok%2Fen%2Bwith%3Dsigns d qu ery e"),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, "http://c/write?db=a&p=qu%20ery", options);
    sink_drive_round(&r.round, 1, 1);
    assert_int_equal(sink_rig_deliver(&r), ERR_DENIED);
    assert_string_equal(r.info.text, "the destination answered 404: a **** b **** c **** d **** e");
    sink_rig_close(&r);
}

static void
basic_credentials_are_masked_plain_and_encoded(void **state)
{
    const struct script_step steps[] = {
        EXPECT_UNTIL("1000000000\n"),
        GIVE("HTTP/1.1 500 X\r\nContent-Length: 39\r\n\r\n"
             "sesame dXNlcjpzZXNhbWU= c2VzYW1l user x"),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, "http://user:sesame@c/write", NULL);
    sink_drive_round(&r.round, 1, 1);
    assert_int_equal(sink_rig_deliver(&r), ERR_DENIED);
    assert_string_equal(r.info.text, "the destination answered 500: **** **** **** user x");
    sink_rig_close(&r);
}

/* ---- the connection ---- */

static void
a_failure_is_transient_and_the_points_go_again(void **state)
{
    static const struct {
        struct script_step fault;
        enum store_error_kind kind;
        enum err err;
    } rows[] = {
        {GIVE_EOF, STORE_ERROR_CONNECT, ERR_EOF},
        {GIVE_RESET, STORE_ERROR_CONNECT, ERR_IO},
        {GIVE("no HTTP at all\r\n\r\n"), STORE_ERROR_PROTOCOL, ERR_BAD},
        {GIVE("HTTP/1.1 100 Continue\r\n\r\n"), STORE_ERROR_TIMEOUT, ERR_TIMEOUT},
        {GIVE(""), STORE_ERROR_TIMEOUT, ERR_TIMEOUT},
        {GIVE("HTTP/1.1 20"), STORE_ERROR_TIMEOUT, ERR_TIMEOUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct script_step first[] = {EXPECT_UNTIL("2000000000\n"), rows[i].fault};
        const struct script_step second[] = {EXPECT_UNTIL("2000000000\n"), GIVE(NO_CONTENT)};
        struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(second)};
        int64_t began;
        struct sink_rig r;

        sink_rig_open(&r, "http_line", conns, 2, URL, NULL);
        sink_drive_round(&r.round, 1, 2);
        began = r.host.clock.mono_ms;
        assert_int_equal(sink_rig_deliver(&r), rows[i].err);
        assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
        assert_int_equal(r.outcome.kind, rows[i].kind);
        if (rows[i].err == ERR_TIMEOUT)
            assert_int_equal(r.host.clock.mono_ms - began, 10000); /* the option timeout */
        assert_int_equal(sink_rig_delivered(&r), 0);
        sink_rig_delivers(&r);
        sink_rig_close(&r);
    }
}

static void
a_refused_connection_is_transient(void **state)
{
    struct script_conn conns[] = {
        {.refuse = ERR_IO}, {.refuse = ERR_NAME}, {.refuse = ERR_TIMEOUT}};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 3, URL, NULL);
    sink_drive_round(&r.round, 1, 2);
    assert_int_equal(sink_rig_deliver(&r), ERR_IO);
    assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
    assert_int_equal(r.outcome.kind, STORE_ERROR_CONNECT);
    for (int i = 0; i < 2; i++) {
        assert_true(http_line_sink.connect(r.sink, r.host.clock.mono_ms + 1000, &r.outcome,
                                           &r.info) != ERR_OK);
        assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
    }
    assert_int_equal(r.outcome.kind, STORE_ERROR_CONNECT);
    sink_rig_close(&r);
}

static void
a_connection_closed_while_idle_is_replaced(void **state)
{
    const struct script_step first[] = {EXPECT_UNTIL("1000000000\n"), GIVE(NO_CONTENT), GIVE_EOF};
    const struct script_step second[] = {EXPECT_UNTIL("2000000000\n"), GIVE(NO_CONTENT)};
    struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(second)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 2, URL, NULL);
    sink_drive_round(&r.round, 1, 1);
    sink_rig_delivers(&r);
    sink_drive_add(&r.round, 2, "db", "", "m", "m v=2");
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
told_to_stop_it_stops_and_can_go_on(void **state)
{
    static const struct {
        struct slice before; /* what has come of the answer by then */
    } rows[] = {{SLICE_INIT("")},
                {SLICE_INIT("HTTP/1.1 204 No")},
                {SLICE_INIT("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct script_step first[] = {EXPECT_UNTIL("1000000000\n"),
                                            {.kind = SCRIPT_GIVE, .bytes = rows[i].before},
                                            ONCE(ERR_STOP)};
        const struct script_step second[] = {EXPECT_UNTIL("1000000000\n"), GIVE(NO_CONTENT)};
        struct script_conn conns[] = {SINK_RIG_CONN(first), SINK_RIG_CONN(second)};
        struct sink_rig r;

        sink_rig_open(&r, "http_line", conns, 2, URL, NULL);
        sink_drive_round(&r.round, 1, 1);
        assert_int_equal(sink_rig_deliver(&r), ERR_STOP);
        assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
        assert_int_equal(sink_rig_delivered(&r), 0);
        sink_rig_delivers(&r); /* never takes the old answer for the new request's */
        sink_rig_close(&r);
    }
}

static void
any_call_may_fail(void **state)
{
    (void)state;
    for (size_t at = 1; at < 40; at++) {
        const struct script_step steps[] = {EXPECT_UNTIL("2000000000\n"), GIVE(NO_CONTENT)};
        const struct script_step spare[] = {EXPECT_UNTIL("2000000000\n"), GIVE(NO_CONTENT)};
        struct script_conn conns[] = {SINK_RIG_CONN(steps), SINK_RIG_CONN(spare)};
        struct sink_rig r;
        enum err err;

        sink_rig_open(&r, "http_line", conns, 2, URL, NULL);
        sink_drive_round(&r.round, 1, 2);
        r.host.fault_at = at;
        r.host.fault = ERR_IO;
        err = sink_rig_deliver(&r);
        assert_int_equal(err == ERR_OK, r.outcome.what == DELIVERY_DONE);
        r.host.fault_at = 0;
        r.sink->type->disconnect(r.sink);
        if (err != ERR_OK) {
            assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
            r.host.next = 1;
            sink_rig_delivers(&r);
        }
        assert_int_equal(sink_rig_delivered(&r), 2);
        sink_rig_drop(&r);
        if (err == ERR_OK)
            return;
    }
    fail();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_its_outcome),
        cmocka_unit_test(a_refusal_names_its_points),
        cmocka_unit_test(secrets_are_masked_in_what_a_peer_says),
        cmocka_unit_test(basic_credentials_are_masked_plain_and_encoded),
        cmocka_unit_test(a_failure_is_transient_and_the_points_go_again),
        cmocka_unit_test(a_refused_connection_is_transient),
        cmocka_unit_test(a_connection_closed_while_idle_is_replaced),
        cmocka_unit_test(told_to_stop_it_stops_and_can_go_on),
        cmocka_unit_test(any_call_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
