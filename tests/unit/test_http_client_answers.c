/*
 * test_http_client_answers.c: the HTTP client and what servers answer, good and hostile.
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

/* One answer: what comes of it, however it is cut. */
struct answer {
    const char *bytes;
    enum err err;
    int status;
    const char *body;
    bool eof;    /* the server closes behind it */
    bool closed; /* and so does the client */
    bool cut;
    bool head; /* it answers a HEAD */
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
    struct http_rig r;
    enum err err;

    steps[1].bytes = slice_of(a->bytes);
    if (a->bytes[0] == '\0')
        steps[1] = steps[2];
    http_rig_open(&r, &conn, 1);
    r.host.piece = piece;
    err = http_rig_call(&r, &c);
    if (err != a->err || r.reply.status != a->status)
        fail_msg("\"%.40s\" in pieces of %zu: %s, status %d: %s", a->bytes, piece, err_name(err),
                 r.reply.status, r.info.text);
    http_rig_body(&r, body);
    assert_int_equal(r.reply.cut, a->cut);
    assert_int_equal(http_client_connected(r.client), !r.reply.closed);
    /* bytes that should not be there are seen at once or, if they come later, by the next call */
    if (piece == 0 || a->closed == r.reply.closed)
        assert_int_equal(r.reply.closed, a->closed);
    else
        assert_int_equal(r.reply.status, 204);
    assert_int_equal(http_client_failure(r.client), err == ERR_OK    ? HTTP_FAILURE_NONE
                                                    : err == ERR_EOF ? HTTP_FAILURE_RESET
                                                                     : HTTP_FAILURE_PROTOCOL);
    http_rig_close(&r);
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
a_long_body_is_cut_and_drained(void **state)
{
    static const struct script_step steps[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 400 X\r\nContent-Length: 30\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("0123456789"), .count = 3},
        EXPECT(GET_BYTES),
        GIVE(NO_CONTENT)};
    struct script_conn conn = {.steps = steps, .count = COUNT(steps)};
    struct http_rig r;

    (void)state;
    http_rig_open_with(&r, &conn, 1, 10, 20);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_OK);
    assert_int_equal(r.reply.status, 400);
    http_rig_body(&r, "0123456789");
    assert_true(r.reply.cut);
    assert_false(r.reply.closed);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_OK);
    assert_int_equal(r.reply.status, 204);
    assert_false(r.reply.cut);
    http_rig_close(&r);
}

static void
a_body_too_long_ends_the_connection(void **state)
{
    static const struct script_step known[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 500 X\r\nContent-Length: 50000000\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("0123456789"), .count = 2},
        GIVE("not read any more")};
    static const struct script_step endless[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("4\r\nabcd\r\n"), .count = SCRIPT_ENDLESS}};
    static const struct script_step until_close[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 200 X\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("abcd"), .count = SCRIPT_ENDLESS}};
    struct script_conn conns[] = {{.steps = known, .count = COUNT(known)},
                                  {.steps = endless, .count = COUNT(endless)},
                                  {.steps = until_close, .count = COUNT(until_close)}};
    struct http_rig r;
    size_t i;

    (void)state;
    http_rig_open_with(&r, conns, 3, 12, 1000);
    for (i = 0; i < 3; i++) {
        assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_OK);
        assert_int_equal(r.reply.status, i < 2 ? 500 : 200);
        assert_int_equal(r.reply.body.n, 12);
        assert_true(r.reply.cut && r.reply.closed);
    }
    assert_int_equal(conns[0].rounds + conns[0].read_done, 0); /* given up right behind the 12 */
    assert_int_equal(conns[0].read_at, 3);
    http_rig_close(&r);
}

static void
a_trickle_ends_at_the_deadline(void **state)
{
    static const struct script_step body[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 404 X\r\n\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("a"), .count = SCRIPT_ENDLESS, .delay_ms = 900}};
    static const struct script_step head[] = {EXPECT(GET_BYTES),
                                              {.kind = SCRIPT_GIVE,
                                               .bytes = SLICE_INIT("HTTP/1.1 200 X\r\n\r\n"),
                                               .piece = 1,
                                               .delay_ms = 900}};
    struct script_conn conns[] = {{.steps = body, .count = COUNT(body)},
                                  {.steps = head, .count = COUNT(head)}};
    struct http_rig r;

    (void)state;
    http_rig_open(&r, conns, 2);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_TIMEOUT);
    assert_int_equal(r.host.clock.mono_ms, 1005000);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_TIMEOUT);
    assert_int_equal(r.reply.status, 404); /* the verdict stands */
    http_rig_body(&r, "aaaaa");
    assert_true(r.reply.cut && r.reply.closed);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_TIMEOUT);
    assert_int_equal(r.reply.status, 0);
    http_rig_close(&r);
}

static void
heads_and_interim_answers_are_bounded(void **state)
{
    static const struct script_step head[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 200 OK\r\n"),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("X: yyyyyyyy\r\n"), .count = SCRIPT_ENDLESS}};
    static const struct script_step interim[] = {
        EXPECT(GET_BYTES),
        {.kind = SCRIPT_GIVE,
         .bytes = SLICE_INIT("HTTP/1.1 102 Processing\r\n\r\n"),
         .count = SCRIPT_ENDLESS}};
    static const struct script_step line[] = {
        EXPECT(GET_BYTES),
        GIVE("HTTP/1.1 200 "),
        {.kind = SCRIPT_GIVE, .bytes = SLICE_INIT("OK"), .count = SCRIPT_ENDLESS}};
    struct script_conn conns[] = {{.steps = head, .count = COUNT(head)},
                                  {.steps = interim, .count = COUNT(interim)},
                                  {.steps = line, .count = COUNT(line)}};
    struct http_rig r;

    (void)state;
    http_rig_open(&r, conns, 3);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_RANGE);
    assert_int_equal(http_client_failure(r.client), HTTP_FAILURE_PROTOCOL);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_BAD);
    assert_int_equal(http_rig_call(&r, &http_rig_get), ERR_RANGE);
    http_rig_close(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_all_kinds_however_cut),
        cmocka_unit_test(a_long_body_is_cut_and_drained),
        cmocka_unit_test(a_body_too_long_ends_the_connection),
        cmocka_unit_test(a_trickle_ends_at_the_deadline),
        cmocka_unit_test(heads_and_interim_answers_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
