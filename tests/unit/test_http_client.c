/*
 * test_http_client.c: the HTTP client over scripted streams: requests, kept connections, pipelines.
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
a_connection_is_kept(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(POST_BYTES),
        GIVE(NO_CONTENT),
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\ncontent-length: 3\r\nX-A: 1\r\n\r\nyes"),
        EXPECT(POST_BYTES),
        GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_rig r;

    (void)state;
    http_rig_open(&r, &conn, 1);
    assert_false(http_client_connected(r.client));
    assert_int_equal(http_client_header(r.client, SLICE("X-A")).n, 0);
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_int_equal(r.reply.retry_after_ms, -1);
    assert_false(r.reply.closed || r.reply.cut);
    assert_true(http_client_connected(r.client));
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_OK);
    assert_int_equal(r.reply.status, 200);
    http_rig_body(&r, "yes");
    assert_true(slice_eq(r.reply.content_type, SLICE("text/x")));
    assert_true(slice_eq(http_client_header(r.client, SLICE("x-a")), SLICE("1")));
    assert_int_equal(http_client_header(r.client, SLICE("x-b")).n, 0);
    assert_int_equal(http_rig_call(&r, &http_rig_post), ERR_OK);
    assert_int_equal(http_client_header(r.client, SLICE("x-a")).n, 0);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
    assert_string_equal(r.host.host, "collector");
    assert_int_equal(r.host.port, 8086);
    http_rig_close(&r);
}

static void
one_head(const char *host, uint16_t port, const struct http_call *what, const char *bytes)
{
    struct script_step steps[] = {EXPECT(""), GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_client_config config = {.host = slice_of(host), .port = port};
    struct http_rig r;

    steps[0].bytes = slice_of(bytes);
    stream_script_init(&r.host, &conn, 1);
    config.env = &r.host.env;
    assert_int_equal(http_client_open(&r.client, &config, &r.info), ERR_OK);
    if (http_rig_call(&r, what) != ERR_OK)
        fail_msg("%s; %s", r.info.text, conn.wrong);
    http_rig_close(&r);
}

static void
heads_are_written_right(void **state)
{
    static const struct slice headers[] = {SLICE_INIT("Authorization: Basic dTpw"),
                                           SLICE_INIT("X-Empty:"), SLICE_INIT("host: other")};
    struct http_call c = {.method = SLICE("GET"), .target = SLICE("/a?b=%20c")};

    (void)state;
    one_head("h", 80, &c, "GET /a?b=%20c HTTP/1.1\r\nHost: h\r\n\r\n");
    one_head("h", 443, &c, "GET /a?b=%20c HTTP/1.1\r\nHost: h:443\r\n\r\n");
    one_head("2001:db8::1", 65535, &c,
             "GET /a?b=%20c HTTP/1.1\r\nHost: [2001:db8::1]:65535\r\n\r\n");
    c.headers = headers;
    c.header_count = 2;
    one_head("h", 80, &c,
             "GET /a?b=%20c HTTP/1.1\r\nAuthorization: Basic dTpw\r\nX-Empty:\r\nHost: h\r\n\r\n");
    c.header_count = 3;
    one_head("h", 80, &c,
             "GET /a?b=%20c HTTP/1.1\r\nAuthorization: Basic dTpw\r\nX-Empty:\r\nhost: "
             "other\r\n\r\n");
    c.header_count = 0;
    c.method = SLICE("POST");
    one_head("h", 80, &c, "POST /a?b=%20c HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
}

static void
what_may_not_be_sent_is_refused(void **state)
{
    static const struct slice bad[] = {SLICE_INIT("X: a\r\nY: b"),
                                       SLICE_INIT("X: a\nY"),
                                       SLICE_INIT("X: \0"),
                                       SLICE_INIT("no colon"),
                                       SLICE_INIT(": empty"),
                                       SLICE_INIT("X Y: a"),
                                       SLICE_INIT("content-length: 1"),
                                       SLICE_INIT("X : a"),
                                       SLICE_INIT("connection: close"),
                                       SLICE_INIT("Transfer-Encoding: chunked"),
                                       SLICE_INIT("")};
    static const struct slice targets[] = {SLICE_INIT("/a b"), SLICE_INIT("/a\r\n"),
                                           SLICE_INIT("/\x7f")};
    static const struct slice many[HTTP_CLIENT_PARTS + 1];
    static uint8_t long_text[70000];
    struct http_call c = http_rig_get;
    struct slice header;
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open(&r, NULL, 0);
    c.headers = &header;
    c.header_count = 1;
    for (i = 0; i < COUNT(bad); i++) {
        header = bad[i];
        assert_int_equal(http_rig_call(&r, &c), ERR_BAD);
        assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_LOCAL);
        assert_int_equal(r.reply.status, 0);
    }
    c.header_count = 0;
    for (i = 0; i < COUNT(targets); i++) {
        c.target = targets[i];
        assert_int_equal(http_rig_call(&r, &c), ERR_BAD);
    }
    memset(long_text, 'a', sizeof(long_text));
    c.target = slice_make(long_text, sizeof(long_text));
    assert_int_equal(http_rig_call(&r, &c), ERR_RANGE);
    c.target = SLICE("/");
    c.body = many;
    c.body_count = COUNT(many);
    assert_int_equal(http_rig_call(&r, &c), ERR_RANGE);
    assert_int_equal(r.host.calls, 0); /* the network was left alone */
    http_rig_close(&r);
}

static void
retry_after_is_understood(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 503 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"),
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 429 X\r\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\r\n"
             "Content-Length: 0\r\n\r\n"),
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 429 X\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\n"
             "Retry-After: Tue, 01 Dec 2026 00:01:00 GMT\r\nContent-Length: 0\r\n\r\n"),
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 429 X\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n")};
    static const int64_t waits[] = {7000, 20000, 60000, -1};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open(&r, &conn, 1);
    for (i = 0; i < COUNT(waits); i++) {
        assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_OK);
        assert_int_equal(r.reply.retry_after_ms, waits[i]);
    }
    http_rig_close(&r);
}

static void
connecting_that_fails_sends_nothing(void **state)
{
    static const enum err errors[] = {ERR_IO, ERR_NAME, ERR_TIMEOUT, ERR_TLS, ERR_STOP, ERR_NOMEM};
    struct script_conn conns[COUNT(errors)];
    struct http_rig r;
    size_t i;

    (void)state;
    memset(conns, 0, sizeof(conns));
    for (i = 0; i < COUNT(errors); i++)
        conns[i].refuse = errors[i];
    http_rig_open(&r, conns, COUNT(errors));
    for (i = 0; i < COUNT(errors); i++) {
        assert_int_equal(http_rig_call(&r, &http_rig_get), errors[i]);
        assert_int_equal(http_client_failure(r.client),
                         i < 4 ? HTTP_FAILURE_CONNECT : HTTP_FAILURE_LOCAL);
        assert_int_equal(r.reply.status, 0);
        assert_false(http_client_connected(r.client));
    }
    http_rig_close(&r);
}

static void
a_stopped_wait_can_go_on(void **state)
{
    static const struct script_step steps[] = {EXPECT(GET_BYTES),
                                               ONCE(ERR_STOP),
                                               GIVE("HTTP/1.1 200 OK\r\nContent-"),
                                               ONCE(ERR_STOP),
                                               GIVE("Length: 4\r\n\r\nab"),
                                               ONCE(ERR_STOP),
                                               GIVE("cd")};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_rig r;
    int i;

    (void)state;
    http_rig_open(&r, &conn, 1);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_STOP);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_LOCAL);
    assert_int_equal(http_client_waiting(r.client), 1);
    for (i = 0; i < 2; i++)
        assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info),
                         ERR_STOP);
    assert_int_equal(r.reply.status, 200);
    http_rig_body(&r, "ab");
    assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info), ERR_OK);
    http_rig_body(&r, "abcd");
    assert_int_equal(http_client_waiting(r.client), 0);
    http_rig_close(&r);
}

static void
requests_may_be_sent_ahead(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(POST_BYTES),
        EXPECT("HEAD / HTTP/1.1\r\nHost: collector:8086\r\n\r\n"),
        EXPECT(POST_BYTES),
        GIVE(NO_CONTENT "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
                        "HTTP/1.1 400 X\r\nContent-Length: 1\r\n\r\nx"),
        EXPECT(POST_BYTES),
        EXPECT(POST_BYTES),
        GIVE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    static const struct http_call head = {.method = SLICE_INIT("HEAD")};
    const struct http_call *calls[] = {&http_rig_post, &head, &http_rig_post};
    static const int statuses[] = {204, 200, 400};
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open(&r, &conn, 1);
    for (i = 0; i < 3; i++)
        assert_int_equal(http_client_send(r.client, calls[i], http_rig_soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_waiting(r.client), 3);
    for (i = 0; i < 3; i++) {
        assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info),
                         ERR_OK);
        assert_int_equal(r.reply.status, statuses[i]);
        assert_false(r.reply.closed);
    }
    http_rig_body(&r, "x");
    for (i = 0; i < 2; i++)
        assert_int_equal(http_client_send(r.client, &http_rig_post, http_rig_soon(&r), &r.info),
                         ERR_OK);
    assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info), ERR_OK);
    assert_true(r.reply.closed); /* and the second request will not be answered */
    assert_int_equal(http_client_waiting(r.client), 0);
    http_rig_close(&r);
}

static void
the_pipeline_is_bounded(void **state)
{
    static const struct script_step steps[] = {
        EXPECT_ANY(HTTP_CLIENT_PIPELINE * (sizeof(GET_BYTES) - 1)),
        GIVE(NO_CONTENT),
        EXPECT(GET_BYTES),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT(NO_CONTENT), .count = HTTP_CLIENT_PIPELINE}};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open(&r, &conn, 1);
    r.host.piece = 11;
    for (i = 0; i < HTTP_CLIENT_PIPELINE; i++)
        assert_int_equal(http_client_send(r.client, &http_rig_get, http_rig_soon(&r), &r.info),
                         ERR_OK);
    assert_int_equal(http_client_send(r.client, &http_rig_get, http_rig_soon(&r), &r.info),
                     ERR_RANGE);
    assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_send(r.client, &http_rig_get, http_rig_soon(&r), &r.info), ERR_OK);
    for (i = 0; i < HTTP_CLIENT_PIPELINE; i++)
        assert_int_equal(http_client_receive(r.client, &r.reply, http_rig_soon(&r), &r.info),
                         ERR_OK);
    assert_int_equal(http_client_waiting(r.client), 0);
    assert_true(http_client_connected(r.client));
    http_rig_close(&r);
}

static void
failures_have_names(void **state)
{
    (void)state;
    assert_string_equal(http_client_failure_name(HTTP_FAILURE_CONNECT), "connect");
    assert_string_equal(http_client_failure_name(HTTP_FAILURE_STALE), "stale");
    http_client_close(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_kept),
        cmocka_unit_test(heads_are_written_right),
        cmocka_unit_test(what_may_not_be_sent_is_refused),
        cmocka_unit_test(retry_after_is_understood),
        cmocka_unit_test(connecting_that_fails_sends_nothing),
        cmocka_unit_test(a_stopped_wait_can_go_on),
        cmocka_unit_test(requests_may_be_sent_ahead),
        cmocka_unit_test(the_pipeline_is_bounded),
        cmocka_unit_test(failures_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
