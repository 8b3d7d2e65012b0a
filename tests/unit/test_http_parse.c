/*
 * test_http_parse.c: heads of requests and responses.
 * Sources: RFC 9110 and 9112, and what a real InfluxDB 1.6.7 accepts and refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "http/h1_parse.h"
#include "support/guard.h"

static enum err
parse(struct slice text, struct h1_head *out, struct h1_fault *fault)
{
    struct h1_scan scan = {0};
    size_t length;
    enum err err = h1_parse_find(&scan, text, &length, fault);

    if (err != ERR_OK)
        return err;
    assert_int_equal(length, text.n);
    return h1_parse_request(text, out, fault);
}

struct good {
    const char *text;
    enum h1_framing framing;
    uint64_t length;
    int minor;
    bool keep_alive, expects, expects_continue;
};

static const struct good good[] = {
    {"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n", H1_NONE, 0, 1, true, false, false},
    {"GET /ping HTTP/1.1\nHost: x\n\n", H1_NONE, 0, 1, true, false, false},
    {"\r\n\nGET / HTTP/1.1\r\nHost:\r\n\r\n", H1_NONE, 0, 1, true, false, false},
    {"GET / HTTP/1.0\r\n\r\n", H1_NONE, 0, 0, false, false, false},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", H1_NONE, 0, 0, true, false, false},
    {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", H1_NONE, 0, 0, false, false, false},
    {"GET / HTTP/1.1\r\nHost: x\r\nConnection: x ,\tClose\r\n\r\n", H1_NONE, 0, 1, false, false,
     false},
    {"GET / HTTP/1.7\r\nHost: x\r\n\r\n", H1_NONE, 0, 1, true, false, false},
    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", H1_LENGTH, 4, 1, true, false,
     false},
    {"POST / HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:004\r\nContent-Length:\t4 \r\n\r\n", H1_LENGTH,
     4, 1, true, false, false},
    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775807\r\n\r\n", H1_LENGTH,
     INT64_MAX, 1, true, false, false},
    {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n", H1_CHUNKED, 0, 1, true,
     false, false},
    {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", H1_LENGTH,
     1, 1, true, true, true},
    {"POST / HTTP/1.1\r\nHost: x\r\nExpect: cats\r\n\r\n", H1_NONE, 0, 1, true, true, false},
    {"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", H1_LENGTH, 1, 0, false,
     false, false},
};

static void
good_heads_say_how_the_body_is_framed(void **state)
{
    struct h1_head head;
    struct h1_fault fault;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct slice text = guard_copy(slice_of(good[i].text));

        assert_int_equal(parse(text, &head, &fault), ERR_OK);
        assert_int_equal(head.framing, good[i].framing);
        assert_true(head.length == good[i].length);
        assert_int_equal(head.minor, good[i].minor);
        assert_int_equal(head.keep_alive, good[i].keep_alive);
        assert_int_equal(head.expects, good[i].expects);
        assert_int_equal(head.expects_continue, good[i].expects_continue);
        guard_free(text);
    }
}

#define HEAD(fields) "POST /w HTTP/1.1\r\nHost: x\r\n" fields "\r\n\r\n"

static const struct {
    const char *text;
    int status;
} refused[] = {
    {"hello\r\n\r\n", 400},
    {"GET /ping\r\n\r\n", 400},
    {"GET  /ping HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /ping x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /ping HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
    {"GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"G@T /ping HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /ping http/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /ping HTTP/1.10\r\nHost: x\r\n\r\n", 400},
    {"GET /ping HTTP/11\r\nHost: x\r\n\r\n", 400},
    {"PRI * HTTP/2.0\r\n\r\n", 505},
    {"GET /ping HTTP/1.1\r\n\r\n", 400},
    {"GET /ping HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {HEAD("Bad Name: y"), 400},
    {HEAD(": y"), 400},
    {HEAD("no colon"), 400},
    {HEAD("A : y"), 400},
    {HEAD(" A: y"), 400},
    {HEAD("A: b\r\n c"), 400},
    {HEAD("A: b\r\n\tc"), 400},
    {HEAD("A: b\rc"), 400},
    {HEAD("A: b\r"), 400},
    {HEAD("A: \x01"), 400},
    {HEAD("A: \x7f"), 400},
    {HEAD("Content-Length: 3\r\nContent-Length: 8"), 400},
    {HEAD("Content-Length: 3, 3"), 400},
    {HEAD("Content-Length: +5"), 400},
    {HEAD("Content-Length: -5"), 400},
    {HEAD("Content-Length: 0x5"), 400},
    {HEAD("Content-Length:"), 400},
    {HEAD("Content-Length: 9223372036854775808"), 400},
    {HEAD("Content-Length: 5\r\nTransfer-Encoding: chunked"), 400},
    {HEAD("Transfer-Encoding: chunked\r\nContent-Length: 5"), 400},
    {HEAD("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400},
    {HEAD("Transfer-Encoding: gzip"), 501},
    {HEAD("Transfer-Encoding: gzip, chunked"), 501},
    {HEAD("Transfer-Encoding: \x0b"
          "chunked"),
     400},
    {HEAD("Transfer-Encoding: xchunked"), 501},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"\x16\x03\x01", 400},
    {" GET / HTTP/1.1\r\n\r\n", 400},
};

static void
what_two_readers_could_see_differently_is_refused(void **state)
{
    struct h1_head head;
    struct h1_fault fault;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct slice text = guard_copy(slice_of(refused[i].text));

        fault = (struct h1_fault){0};
        if (parse(text, &head, &fault) != ERR_BAD)
            fail_msg("accepted: %s", refused[i].text);
        if (fault.status != refused[i].status)
            fail_msg("%d instead of %d: %s", fault.status, refused[i].status, refused[i].text);
        assert_true(fault.text[0] != '\0');
        guard_free(text);
    }
}

static void
a_folded_line_is_called_so(void **state)
{
    struct h1_head head;
    struct h1_fault fault;

    (void)state;
    assert_int_equal(parse(SLICE("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"), &head, &fault), ERR_BAD);
    assert_string_equal(fault.text, "a folded header line");
}

static void
a_nul_is_refused(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n";
    struct h1_head head;
    struct h1_fault fault;

    (void)state;
    assert_int_equal(parse(slice_make(text, sizeof(text) - 1), &head, &fault), ERR_BAD);
    assert_string_equal(fault.text, "invalid header value");
    assert_true(fault.in_body);
}

/* However it comes, the head ends at the same byte, and never before it is whole. */
static void
every_prefix_is_short_and_every_cut_equal(void **state)
{
    struct h1_fault fault;
    size_t i, cut, length;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct slice whole = slice_of(good[i].text);

        for (cut = 0; cut < whole.n; cut++) {
            struct h1_scan scan = {0};
            struct slice part = guard_copy(slice_to(whole, cut));

            assert_int_equal(h1_parse_find(&scan, part, &length, &fault), ERR_SHORT);
            assert_int_equal(h1_parse_find(&scan, whole, &length, &fault), ERR_OK);
            assert_int_equal(length, whole.n);
            guard_free(part);
        }
    }
}

static void
what_follows_the_head_is_left(void **state)
{
    struct slice text = SLICE("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /2");
    struct h1_scan scan = {0};
    struct h1_fault fault;
    size_t length;

    (void)state;
    assert_int_equal(h1_parse_find(&scan, text, &length, &fault), ERR_OK);
    assert_int_equal(length, text.n - 6);
}

static void
a_head_has_a_longest_length(void **state)
{
    static const char start[] = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
    struct h1_scan scan = {0};
    struct h1_fault fault = {0};
    size_t length, i;
    uint8_t *text = malloc(H1_HEAD_MAX + 1);

    (void)state;
    assert_non_null(text);
    for (i = 0; i < H1_HEAD_MAX + 1; i++)
        text[i] = i < sizeof(start) - 1 ? (uint8_t)start[i] : 'a';
    text[H1_HEAD_MAX - 4] = text[H1_HEAD_MAX - 2] = '\r';
    text[H1_HEAD_MAX - 3] = text[H1_HEAD_MAX - 1] = '\n';
    assert_int_equal(h1_parse_find(&scan, slice_make(text, H1_HEAD_MAX + 1), &length, &fault),
                     ERR_OK);
    assert_int_equal(length, H1_HEAD_MAX);
    text[H1_HEAD_MAX - 1] = '\r';
    text[H1_HEAD_MAX - 2] = 'a';
    text[H1_HEAD_MAX] = '\n';
    scan = (struct h1_scan){0};
    assert_int_equal(h1_parse_find(&scan, slice_make(text, H1_HEAD_MAX + 1), &length, &fault),
                     ERR_RANGE);
    assert_int_equal(fault.status, 431);
    free(text);
}

static void
fields_are_found_in_any_case(void **state)
{
    struct slice text =
        SLICE("GET /p?q HTTP/1.1\r\nHost: h\r\nX-A:  one two \t\r\nx-a: three\r\nEmpty:\r\n"
              "Accept: a, b ,c\r\n\r\n");
    struct h1_head head;
    struct h1_fault fault;
    struct slice value, rest, name;
    int count = 0;

    (void)state;
    assert_int_equal(parse(text, &head, &fault), ERR_OK);
    assert_true(slice_eq(head.method, SLICE("GET")));
    assert_true(slice_eq(head.target, SLICE("/p?q")));
    assert_true(h1_parse_field(&head, SLICE("x-A"), &value));
    assert_true(slice_eq(value, SLICE("one two")));
    assert_true(h1_parse_field(&head, SLICE("empty"), &value));
    assert_int_equal(value.n, 0);
    assert_false(h1_parse_field(&head, SLICE("X"), &value));
    assert_int_equal(value.n, 0);
    assert_true(h1_parse_has_token(&head, SLICE("accept"), SLICE("B")));
    assert_false(h1_parse_has_token(&head, SLICE("accept"), SLICE("a, b")));
    for (rest = head.fields; h1_parse_next(&rest, &name, &value);)
        count++;
    assert_int_equal(count, 5);
}

static const struct {
    const char *text;
    bool to_head;
    int status;
    enum h1_framing framing;
    uint64_t length;
    bool keep_alive;
} responses[] = {
    {"HTTP/1.1 204 No Content\r\n\r\n", false, 204, H1_NONE, 0, true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, 200, H1_LENGTH, 5, true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, 200, H1_NONE, 0, true},
    {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, 200, H1_LENGTH, 0, true},
    {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", false, 200, H1_LENGTH, 0, true},
    {"HTTP/1.1 500 a b c\r\n\r\n", false, 500, H1_UNTIL_CLOSE, 0, false},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", false, 200,
     H1_LENGTH, 1, true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false, 200, H1_CHUNKED, 0,
     true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", false, 200, H1_UNTIL_CLOSE, 0, false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", false, 200,
     H1_CHUNKED, 0, false},
    {"HTTP/1.1 100 Continue\r\n\r\n", false, 100, H1_NONE, 0, true},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false, 304, H1_NONE, 0, true},
};

static void
responses_say_how_the_body_is_framed(void **state)
{
    struct h1_head head;
    struct h1_fault fault;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
        struct slice text = guard_copy(slice_of(responses[i].text));

        assert_int_equal(h1_parse_response(text, responses[i].to_head, &head, &fault), ERR_OK);
        assert_int_equal(head.status, responses[i].status);
        assert_int_equal(head.framing, responses[i].framing);
        assert_true(head.length == responses[i].length);
        assert_int_equal(head.keep_alive, responses[i].keep_alive);
        guard_free(text);
    }
}

static void
bad_responses_are_refused(void **state)
{
    static const char *const texts[] = {
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n",
        "200 OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    };
    struct h1_head head;
    struct h1_fault fault;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (h1_parse_response(slice_of(texts[i]), false, &head, &fault) != ERR_BAD)
            fail_msg("accepted: %s", texts[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_heads_say_how_the_body_is_framed),
        cmocka_unit_test(what_two_readers_could_see_differently_is_refused),
        cmocka_unit_test(a_folded_line_is_called_so),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(every_prefix_is_short_and_every_cut_equal),
        cmocka_unit_test(what_follows_the_head_is_left),
        cmocka_unit_test(a_head_has_a_longest_length),
        cmocka_unit_test(fields_are_found_in_any_case),
        cmocka_unit_test(responses_say_how_the_body_is_framed),
        cmocka_unit_test(bad_responses_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
