/*
 * test_http_client.c: the HTTP client over scripted streams: cut input, faults at every call,
 * hostile answers, kept and lost connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "http/http_client.h"
#include "support/stream_script.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A client on a script. */
struct rig {
    struct script_host host;
    struct http_client *client;
    struct http_reply reply;
    struct errinfo info;
};

static void
rig_open_with(struct rig *r, struct script_conn *conns, size_t count, size_t keep, size_t drain)
{
    struct http_client_config config = {.host = SLICE("collector"), .port = 8086};

    stream_script_init(&r->host, conns, count);
    config.env = &r->host.env;
    config.keep_bytes = keep;
    config.drain_bytes = drain;
    assert_int_equal(http_client_open(&r->client, &config, &r->info), ERR_OK);
}

static void
rig_open(struct rig *r, struct script_conn *conns, size_t count)
{
    rig_open_with(r, conns, count, 0, 0);
}

static void
rig_close(struct rig *r)
{
    const char *wrong;

    http_client_close(r->client);
    wrong = stream_script_done(&r->host);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    stream_script_free(&r->host);
    assert_int_equal(mem_live(), 0);
}

static int64_t
soon(const struct rig *r)
{
    return r->host.clock.mono_ms + 5000;
}

static const struct slice hello[] = {SLICE_INIT("hel"), SLICE_INIT(""), SLICE_INIT("lo")};

static const struct http_call post = {.method = SLICE_INIT("POST"),
                                      .target = SLICE_INIT("/write?db=a"),
                                      .body = hello,
                                      .body_count = 3};
static const struct http_call get = {.method = SLICE_INIT("GET"), .repeat = true};

#define POST_BYTES \
    "POST /write?db=a HTTP/1.1\r\nHost: collector:8086\r\nContent-Length: 5\r\n\r\nhello"
#define GET_BYTES "GET / HTTP/1.1\r\nHost: collector:8086\r\n\r\n"
#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"

static enum err
call(struct rig *r, const struct http_call *what)
{
    return http_client_call(r->client, what, &r->reply, soon(r), &r->info);
}

static void
assert_body(const struct rig *r, const char *text)
{
    assert_int_equal(r->reply.body.n, strlen(text));
    if (r->reply.body.n > 0)
        assert_memory_equal(r->reply.body.p, text, r->reply.body.n);
}

static void
a_connection_is_kept(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(POST_BYTES), GIVE(NO_CONTENT), EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\ncontent-length: 3\r\nX-A: 1\r\n\r\nyes"),
        EXPECT(POST_BYTES), GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct rig r;

    (void)state;
    rig_open(&r, &conn, 1);
    assert_false(http_client_connected(r.client));
    assert_int_equal(http_client_header(r.client, SLICE("X-A")).n, 0);
    assert_int_equal(call(&r, &post), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_int_equal(r.reply.retry_after_ms, -1);
    assert_false(r.reply.closed || r.reply.cut);
    assert_true(http_client_connected(r.client));
    assert_int_equal(call(&r, &get), ERR_OK);
    assert_int_equal(r.reply.status, 200);
    assert_body(&r, "yes");
    assert_true(slice_eq(r.reply.content_type, SLICE("text/x")));
    assert_true(slice_eq(http_client_header(r.client, SLICE("x-a")), SLICE("1")));
    assert_int_equal(http_client_header(r.client, SLICE("x-b")).n, 0);
    assert_int_equal(call(&r, &post), ERR_OK);
    assert_int_equal(http_client_header(r.client, SLICE("x-a")).n, 0);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
    assert_string_equal(r.host.host, "collector");
    assert_int_equal(r.host.port, 8086);
    rig_close(&r);
}

static void
one_head(const char *host, uint16_t port, const struct http_call *what, const char *bytes)
{
    struct script_step steps[] = {EXPECT(""), GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_client_config config = {.host = slice_of(host), .port = port};
    struct rig r;

    steps[0].bytes = slice_of(bytes);
    stream_script_init(&r.host, &conn, 1);
    config.env = &r.host.env;
    assert_int_equal(http_client_open(&r.client, &config, &r.info), ERR_OK);
    if (call(&r, what) != ERR_OK)
        fail_msg("%s; %s", r.info.text, conn.wrong);
    rig_close(&r);
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
    static const struct slice bad[] = {
        SLICE_INIT("X: a\r\nY: b"),      SLICE_INIT("X: a\nY"),  SLICE_INIT("X: \0"),
        SLICE_INIT("no colon"),          SLICE_INIT(": empty"),  SLICE_INIT("X Y: a"),
        SLICE_INIT("content-length: 1"), SLICE_INIT("X : a"),    SLICE_INIT("connection: close"),
        SLICE_INIT("Transfer-Encoding: chunked"), SLICE_INIT("")};
    static const struct slice targets[] = {SLICE_INIT("/a b"), SLICE_INIT("/a\r\n"),
                                           SLICE_INIT("/\x7f")};
    static const struct slice many[HTTP_CLIENT_PARTS + 1];
    static uint8_t long_text[70000];
    struct http_call c = get;
    struct slice header;
    struct rig r;
    size_t i;

    (void)state;
    rig_open(&r, NULL, 0);
    c.headers = &header;
    c.header_count = 1;
    for (i = 0; i < COUNT(bad); i++) {
        header = bad[i];
        assert_int_equal(call(&r, &c), ERR_BAD);
        assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_LOCAL);
        assert_int_equal(r.reply.status, 0);
    }
    c.header_count = 0;
    for (i = 0; i < COUNT(targets); i++) {
        c.target = targets[i];
        assert_int_equal(call(&r, &c), ERR_BAD);
    }
    memset(long_text, 'a', sizeof(long_text));
    c.target = slice_make(long_text, sizeof(long_text));
    assert_int_equal(call(&r, &c), ERR_RANGE);
    c.target = SLICE("/");
    c.body = many;
    c.body_count = COUNT(many);
    assert_int_equal(call(&r, &c), ERR_RANGE);
    assert_int_equal(r.host.calls, 0); /* the network was left alone */
    rig_close(&r);
}

/* One answer: what comes of it, however it is cut. */
struct answer {
    const char *bytes;
    enum err err;
    int status;
    const char *body;
    bool eof;    /* the server closes behind it */
    bool closed; /* and so does the client */
    bool cut;
    bool head;   /* it answers a HEAD */
};

static const struct answer answers[] = {
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .status = 200, .body = ""},
    {.bytes = "HTTP/1.1 204\r\n\r\n", .status = 204, .body = ""},
    {.bytes = "HTTP/1.1 500 Oh no\nContent-Length: 2\n\nab", .status = 500, .body = "ab"},
    {.bytes = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", .status = 304, .body = ""},
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
     .status = 200,
     .body = "",
     .head = true},
    {.bytes = "HTTP/1.1 302 Found\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n",
     .status = 302,
     .body = ""},
    {.bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
              "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
     .status = 200,
     .body = "z"},
    {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n0010;x=y\r\n0123456789abcdef\r\n0\r\nX-Trailer: t\r\nY: u\r\n\r\n",
     .status = 200,
     .body = "abc0123456789abcdef"},
    {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     .status = 200,
     .body = ""},
    {.bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nz",
     .status = 200,
     .body = "z",
     .closed = true},
    {.bytes = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nz",
     .status = 200,
     .body = "z",
     .closed = true},
    {.bytes = "HTTP/1.1 200 OK\r\n\r\nall until the end",
     .status = 200,
     .body = "all until the end",
     .eof = true,
     .closed = true},
    /* a 204 has no body: what follows is no answer to anything */
    {.bytes = "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
     .status = 204,
     .body = "",
     .closed = true},
    {.bytes = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n\xff\x01\x80\x7f",
     .status = 502,
     .body = "\xff\x01\x80\x7f"},
    /* a body that breaks off leaves the status standing */
    {.bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\nhalf",
     .err = ERR_EOF,
     .status = 400,
     .body = "half",
     .eof = true,
     .closed = true,
     .cut = true},
    {.bytes = "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
     .err = ERR_EOF,
     .status = 500,
     .body = "hal",
     .eof = true,
     .closed = true,
     .cut = true},
    {.bytes = "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX",
     .err = ERR_BAD,
     .status = 500,
     .body = "abc",
     .closed = true,
     .cut = true},
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Len", .err = ERR_EOF, .eof = true, .closed = true},
    {.bytes = "", .err = ERR_EOF, .eof = true, .closed = true},
    {.bytes = "SSH-2.0-OpenSSH_9.2\r\n\r\n", .err = ERR_BAD, .closed = true},
    {.bytes = "HTTP/1.1 abc\r\n\r\n", .err = ERR_BAD, .closed = true},
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n", .err = ERR_BAD, .closed = true},
    {.bytes = "HTTP/1.1 101 Switching Protocols\r\n\r\n", .err = ERR_BAD, .closed = true},
};

static void
check_answer(const struct answer *a, size_t piece)
{
    struct script_step steps[] = {EXPECT_UNTIL("\r\n\r\n"), GIVE(""), GIVE_EOF};
    struct script_conn conn = {.steps = steps, .count = a->eof ? 3 : 2};
    struct http_call c = {.method = a->head ? SLICE("HEAD") : SLICE("GET")};
    const char *body = a->body == NULL ? "" : a->body;
    struct rig r;
    enum err err;

    steps[1].bytes = slice_of(a->bytes);
    if (a->bytes[0] == '\0')
        steps[1] = steps[2];
    rig_open(&r, &conn, 1);
    r.host.piece = piece;
    err = call(&r, &c);
    if (err != a->err || r.reply.status != a->status)
        fail_msg("\"%.40s\" in pieces of %zu: %s, status %d: %s", a->bytes, piece, err_name(err),
                 r.reply.status, r.info.text);
    assert_body(&r, body);
    assert_int_equal(r.reply.cut, a->cut);
    assert_int_equal(http_client_connected(r.client), !r.reply.closed);
    /* bytes that should not be there are seen at once or, if they come later, before the next call */
    if (piece == 0 || a->closed == r.reply.closed)
        assert_int_equal(r.reply.closed, a->closed);
    else
        assert_int_equal(r.reply.status, 204);
    assert_int_equal(http_client_failure(r.client), err == ERR_OK    ? HTTP_FAILURE_NONE
                                                    : err == ERR_EOF ? HTTP_FAILURE_RESET
                                                                     : HTTP_FAILURE_PROTOCOL);
    rig_close(&r);
}

static void
answers_of_all_kinds_however_cut(void **state)
{
    static const size_t pieces[] = {0, 1, 2, 3, 5, 7, 16, 31};
    size_t i, k;

    (void)state;
    for (i = 0; i < COUNT(answers); i++) {
        for (k = 0; k < COUNT(pieces); k++)
            check_answer(&answers[i], pieces[k]);
    }
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
    struct rig r;
    size_t i;

    (void)state;
    rig_open(&r, &conn, 1);
    for (i = 0; i < COUNT(waits); i++) {
        assert_int_equal(call(&r, &get), ERR_OK);
        assert_int_equal(r.reply.retry_after_ms, waits[i]);
    }
    rig_close(&r);
}

static void
a_long_body_is_cut_and_drained(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 400 X\r\nContent-Length: 30\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("0123456789"), .count = 3}, EXPECT(GET_BYTES),
        GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct rig r;

    (void)state;
    rig_open_with(&r, &conn, 1, 10, 20);
    assert_int_equal(call(&r, &get), ERR_OK);
    assert_int_equal(r.reply.status, 400);
    assert_body(&r, "0123456789");
    assert_true(r.reply.cut);
    assert_false(r.reply.closed);
    assert_int_equal(call(&r, &get), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_false(r.reply.cut);
    rig_close(&r);
}

static void
a_body_too_long_ends_the_connection(void **state)
{
    static const struct script_step known[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 500 X\r\nContent-Length: 50000000\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("0123456789"), .count = 2},
        GIVE("not read any more")};
    static const struct script_step endless[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("4\r\nabcd\r\n"), .count = SCRIPT_ENDLESS}};
    static const struct script_step until_close[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 200 X\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("abcd"), .count = SCRIPT_ENDLESS}};
    struct script_conn conns[] = {{.steps = known, .count = COUNT(known)},
                                  {.steps = endless, .count = COUNT(endless)},
                                  {.steps = until_close, .count = COUNT(until_close)}};
    struct rig r;
    size_t i;

    (void)state;
    rig_open_with(&r, conns, 3, 12, 1000);
    for (i = 0; i < 3; i++) {
        assert_int_equal(call(&r, &get), ERR_OK);
        assert_int_equal(r.reply.status, i < 2 ? 500 : 200);
        assert_int_equal(r.reply.body.n, 12);
        assert_true(r.reply.cut && r.reply.closed);
    }
    assert_int_equal(conns[0].rounds + conns[0].read_done, 0); /* given up right behind the 12 */
    assert_int_equal(conns[0].read_at, 3);
    rig_close(&r);
}

static void
a_trickle_ends_at_the_deadline(void **state)
{
    static const struct script_step body[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 404 X\r\n\r\n"),
        {.kind = SCRIPT_GIVE,
         .bytes = SLICE_INIT("a"),
         .count = SCRIPT_ENDLESS,
         .delay_ms = 900}};
    static const struct script_step head[] = {
        EXPECT(GET_BYTES),
        {.kind = SCRIPT_GIVE,
         .bytes = SLICE_INIT("HTTP/1.1 200 X\r\n\r\n"),
         .piece = 1,
         .delay_ms = 900}};
    struct script_conn conns[] = {{.steps = body, .count = COUNT(body)},
                                  {.steps = head, .count = COUNT(head)}};
    struct rig r;

    (void)state;
    rig_open(&r, conns, 2);
    assert_int_equal(call(&r, &get), ERR_TIMEOUT);
    assert_int_equal(r.host.clock.mono_ms, 1005000);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_TIMEOUT);
    assert_int_equal(r.reply.status, 404); /* the verdict stands */
    assert_body(&r, "aaaaa");
    assert_true(r.reply.cut && r.reply.closed);
    assert_int_equal(call(&r, &get), ERR_TIMEOUT);
    assert_int_equal(r.reply.status, 0);
    rig_close(&r);
}

static void
heads_and_interim_answers_are_bounded(void **state)
{
    static const struct script_step head[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 200 OK\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("X: yyyyyyyy\r\n"), .count = SCRIPT_ENDLESS}};
    static const struct script_step interim[] = {
        EXPECT(GET_BYTES),
        {.kind = SCRIPT_GIVE,
         .bytes = SLICE_INIT("HTTP/1.1 102 Processing\r\n\r\n"),
         .count = SCRIPT_ENDLESS}};
    static const struct script_step line[] = {
        EXPECT(GET_BYTES), GIVE("HTTP/1.1 200 "),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("OK"), .count = SCRIPT_ENDLESS}};
    struct script_conn conns[] = {{.steps = head, .count = COUNT(head)},
                                  {.steps = interim, .count = COUNT(interim)},
                                  {.steps = line, .count = COUNT(line)}};
    struct rig r;

    (void)state;
    rig_open(&r, conns, 3);
    assert_int_equal(call(&r, &get), ERR_RANGE);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_PROTOCOL);
    assert_int_equal(call(&r, &get), ERR_BAD);
    assert_int_equal(call(&r, &get), ERR_RANGE);
    rig_close(&r);
}

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
    struct rig r;
    size_t i;

    (void)state;
    rig_open(&r, conns, 3);
    r.host.piece = sizeof(NO_CONTENT) - 1;
    for (i = 0; i < 3; i++) {
        assert_int_equal(call(&r, &post), ERR_OK);
        assert_int_equal(r.reply.status, 204);
        assert_int_equal(r.host.next, i + 1);
    }
    rig_close(&r);
}

static void
a_reused_connection_that_breaks_is_told_apart(void **state)
{
    static const struct script_step reset[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT),
                                               EXPECT(POST_BYTES), GIVE_RESET};
    static const struct script_step fails[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT),
                                               EXPECT_ANY(7), WRITE_FAILS(ERR_EOF), GIVE_RESET};
    static const struct script_step good[] = {EXPECT(POST_BYTES), GIVE(NO_CONTENT),
                                              EXPECT(POST_BYTES), GIVE("H"), GIVE_EOF};
    static const struct script_step fresh[] = {EXPECT(POST_BYTES), GIVE_EOF};
    struct script_conn conns[] = {{.steps = reset, .count = COUNT(reset)},
                                  {.steps = fails, .count = COUNT(fails)},
                                  {.steps = good, .count = COUNT(good)},
                                  {.steps = fresh, .count = COUNT(fresh)}};
    struct http_call again = post;
    struct rig r;

    (void)state;
    again.repeat = true;
    rig_open(&r, conns, 4);
    r.host.piece = sizeof(NO_CONTENT) - 1;
    assert_int_equal(call(&r, &post), ERR_OK);
    assert_int_equal(call(&r, &post), ERR_IO); /* not sent twice by itself */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_STALE);
    assert_int_equal(call(&r, &post), ERR_OK);
    assert_int_equal(call(&r, &again), ERR_OK); /* over the third connection */
    assert_int_equal(r.host.next, 3);
    assert_int_equal(call(&r, &again), ERR_EOF); /* one byte of an answer came */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_int_equal(call(&r, &again), ERR_EOF); /* a new connection cannot be stale */
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_non_null(strstr(r.info.text, "collector:8086"));
    rig_close(&r);
}

static uint8_t large[300000];

static struct http_call
large_post(struct slice *part)
{
    struct http_call c = post;

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
    static const struct script_step interim[] = {
        EXPECT(LARGE_HEAD), EXPECT_ANY(100), GIVE("HTTP/1.1 100 Continue\r\n\r\n"),
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
    struct rig r;
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
    rig_open(&r, conns, COUNT(conns));
    for (i = 0; i < 2; i++) {
        assert_int_equal(call(&r, &c), ERR_OK);
        assert_int_equal(r.reply.status, 413);
        assert_body(&r, "no");
        assert_true(r.reply.closed);
        assert_true(conns[i].written < 70000);
    }
    assert_int_equal(call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_false(r.reply.closed);
    http_client_disconnect(r.client);
    assert_int_equal(call(&r, &c), ERR_BAD);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_PROTOCOL);
    assert_non_null(strstr(r.info.text, "not valid HTTP"));
    assert_int_equal(call(&r, &c), ERR_EOF);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_true(conns[4].written < 70000);
    assert_int_equal(call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 400);
    assert_body(&r, "z");
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
        GIVE("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), WRITE_FAILS(ERR_EOF), GIVE_EOF};
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
    struct rig r;

    (void)state;
    rig_open(&r, conns, COUNT(conns));
    assert_int_equal(call(&r, &c), ERR_IO);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_RESET);
    assert_false(http_client_connected(r.client));
    assert_int_equal(call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 413);
    assert_true(r.reply.closed);
    assert_int_equal(call(&r, &c), ERR_TIMEOUT);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_TIMEOUT);
    assert_int_equal(call(&r, &c), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    rig_close(&r);
}

static void
connecting_that_fails_sends_nothing(void **state)
{
    static const enum err errors[] = {ERR_IO, ERR_NAME, ERR_TIMEOUT, ERR_TLS, ERR_STOP, ERR_NOMEM};
    struct script_conn conns[COUNT(errors)];
    struct rig r;
    size_t i;

    (void)state;
    memset(conns, 0, sizeof(conns));
    for (i = 0; i < COUNT(errors); i++)
        conns[i].refuse = errors[i];
    rig_open(&r, conns, COUNT(errors));
    for (i = 0; i < COUNT(errors); i++) {
        assert_int_equal(call(&r, &get), errors[i]);
        assert_int_equal(http_client_failure(r.client),
                         i < 4 ? HTTP_FAILURE_CONNECT : HTTP_FAILURE_LOCAL);
        assert_int_equal(r.reply.status, 0);
        assert_false(http_client_connected(r.client));
    }
    rig_close(&r);
}

static void
a_stopped_wait_can_go_on(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(GET_BYTES),    ONCE(ERR_STOP), GIVE("HTTP/1.1 200 OK\r\nContent-"), ONCE(ERR_STOP),
        GIVE("Length: 4\r\n\r\nab"), ONCE(ERR_STOP), GIVE("cd")};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct rig r;
    int i;

    (void)state;
    rig_open(&r, &conn, 1);
    assert_int_equal(call(&r, &get), ERR_STOP);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_LOCAL);
    assert_int_equal(http_client_waiting(r.client), 1);
    for (i = 0; i < 2; i++)
        assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_STOP);
    assert_int_equal(r.reply.status, 200);
    assert_body(&r, "ab");
    assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_OK);
    assert_body(&r, "abcd");
    assert_int_equal(http_client_waiting(r.client), 0);
    rig_close(&r);
}

static void
requests_may_be_sent_ahead(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(POST_BYTES), EXPECT("HEAD / HTTP/1.1\r\nHost: collector:8086\r\n\r\n"),
        EXPECT(POST_BYTES),
        GIVE(NO_CONTENT "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
                        "HTTP/1.1 400 X\r\nContent-Length: 1\r\n\r\nx"),
        EXPECT(POST_BYTES), EXPECT(POST_BYTES),
        GIVE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    static const struct http_call head = {.method = SLICE_INIT("HEAD")};
    const struct http_call *calls[] = {&post, &head, &post};
    static const int statuses[] = {204, 200, 400};
    struct rig r;
    size_t i;

    (void)state;
    rig_open(&r, &conn, 1);
    for (i = 0; i < 3; i++)
        assert_int_equal(http_client_send(r.client, calls[i], soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_waiting(r.client), 3);
    for (i = 0; i < 3; i++) {
        assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_OK);
        assert_int_equal(r.reply.status, statuses[i]);
        assert_false(r.reply.closed);
    }
    assert_body(&r, "x");
    for (i = 0; i < 2; i++)
        assert_int_equal(http_client_send(r.client, &post, soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_OK);
    assert_true(r.reply.closed); /* and the second request will not be answered */
    assert_int_equal(http_client_waiting(r.client), 0);
    rig_close(&r);
}

static void
the_pipeline_is_bounded(void **state)
{
    static const struct script_step steps[] = {
        EXPECT_ANY(HTTP_CLIENT_PIPELINE * (sizeof(GET_BYTES) - 1)), GIVE(NO_CONTENT),
        EXPECT(GET_BYTES),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT(NO_CONTENT), .count = HTTP_CLIENT_PIPELINE}};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct rig r;
    size_t i;

    (void)state;
    rig_open(&r, &conn, 1);
    r.host.piece = 11;
    for (i = 0; i < HTTP_CLIENT_PIPELINE; i++)
        assert_int_equal(http_client_send(r.client, &get, soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_send(r.client, &get, soon(&r), &r.info), ERR_RANGE);
    assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_send(r.client, &get, soon(&r), &r.info), ERR_OK);
    for (i = 0; i < HTTP_CLIENT_PIPELINE; i++)
        assert_int_equal(http_client_receive(r.client, &r.reply, soon(&r), &r.info), ERR_OK);
    assert_int_equal(http_client_waiting(r.client), 0);
    assert_true(http_client_connected(r.client));
    rig_close(&r);
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
    struct rig r;
    size_t i;
    bool reached;
    enum err err;

    memset(conns, 0, sizeof(conns));
    for (i = 0; i < 4; i++) {
        conns[i].steps = steps;
        conns[i].count = COUNT(steps);
    }
    rig_open(&r, conns, 4);
    r.host.piece = piece;
    r.host.fault_at = at;
    r.host.fault = fault;
    for (i = 0; i < 2; i++) {
        err = call(&r, &post);
        while (err == ERR_STOP && http_client_waiting(r.client) > 0)
            err = http_client_receive(r.client, &r.reply, soon(&r), &r.info);
        if (err == ERR_OK) {
            assert_int_equal(r.reply.status, 200);
            assert_body(&r, "abcd");
            assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
        } else {
            assert_int_equal(err, r.info.code);
            assert_int_not_equal(http_client_failure(r.client), HTTP_FAILURE_NONE);
            assert_int_equal(http_client_waiting(r.client), 0);
        }
    }
    reached = r.host.calls >= at;
    r.host.fault_at = 0;
    assert_int_equal(call(&r, &post), ERR_OK);
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
        struct rig r;

        stream_script_init(&r.host, &conn, 1);
        config.env = &r.host.env;
        mem_fail_at(n);
        err = http_client_open(&r.client, &config, &r.info);
        if (err == ERR_OK) {
            err = call(&r, &post);
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
        cmocka_unit_test(answers_of_all_kinds_however_cut),
        cmocka_unit_test(retry_after_is_understood),
        cmocka_unit_test(a_long_body_is_cut_and_drained),
        cmocka_unit_test(a_body_too_long_ends_the_connection),
        cmocka_unit_test(a_trickle_ends_at_the_deadline),
        cmocka_unit_test(heads_and_interim_answers_are_bounded),
        cmocka_unit_test(an_idle_connection_that_was_closed_is_replaced),
        cmocka_unit_test(a_reused_connection_that_breaks_is_told_apart),
        cmocka_unit_test(an_early_answer_stops_the_body),
        cmocka_unit_test(a_reset_after_half_of_the_body),
        cmocka_unit_test(connecting_that_fails_sends_nothing),
        cmocka_unit_test(a_stopped_wait_can_go_on),
        cmocka_unit_test(requests_may_be_sent_ahead),
        cmocka_unit_test(the_pipeline_is_bounded),
        cmocka_unit_test(faults_at_every_step),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(failures_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
