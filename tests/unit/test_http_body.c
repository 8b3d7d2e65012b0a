/*
 * test_http_body.c: bodies by length, in chunks and until the close.
 * Sources: RFC 9112 sections 6 and 7.1; the texts are those of a real InfluxDB 1.6.7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "http/h1_body.h"
#include "support/guard.h"

/* feed(b, in, out): all of ${in}; the content is appended to ${out}, the rest is ${left}. */
static enum err
feed(struct h1_body *b, struct slice in, struct buf *out, size_t *left)
{
    struct slice data;
    size_t used;
    enum err err;

    while ((err = h1_body_next(b, in, &used, &data)) == ERR_OK) {
        assert_true(data.n > 0);
        assert_int_equal(buf_add(out, data), ERR_OK);
        in = slice_from(in, used);
    }
    *left = in.n - used;
    return err;
}

static const struct {
    const char *text, *content;
} chunked[] = {
    {"0\r\n\r\n", ""},
    {"7\r\nm f=1 1\r\n0\r\n\r\n", "m f=1 1"},
    {"1\r\nm\r\n1\r\n \r\n2\r\nf=\r\n00\r\n\r\n", "m f="},
    {"A\r\nm f=1 1234\r\n0\r\n\r\n", "m f=1 1234"},
    {"00007\r\nm f=1 1\r\n000\r\n\r\n", "m f=1 1"},
    {"7;a=b;c=\"d\"\r\nm f=1 1\r\n0;x\r\n\r\n", "m f=1 1"},
    {"7 \t\r\nm f=1 1\r\n0 ; y\r\n\r\n", "m f=1 1"},
    {"7\r\nm f=1 1\r\n0\r\nX-T: 1\r\nY:\r\n\r\n", "m f=1 1"},
    {"2\r\n\r\n\r\n0\r\n\r\n", "\r\n"},
};

static void
chunks_are_joined_however_they_come(void **state)
{
    size_t i, cut, left;

    (void)state;
    for (i = 0; i < sizeof(chunked) / sizeof(chunked[0]); i++) {
        struct slice whole = slice_of(chunked[i].text);

        for (cut = 0; cut <= whole.n; cut++) {
            struct slice a = guard_copy(slice_to(whole, cut));
            struct slice b = guard_copy(slice_from(whole, cut));
            struct h1_body body;
            struct buf out;
            enum err err;

            buf_init(&out, 1000);
            h1_body_init(&body, H1_CHUNKED, 0);
            err = feed(&body, a, &out, &left);
            assert_int_equal(err, cut == whole.n ? ERR_EOF : ERR_SHORT);
            assert_int_equal(left, 0);
            if (err == ERR_SHORT) {
                assert_int_equal(h1_body_close(&body), ERR_SHORT);
                assert_int_equal(feed(&body, b, &out, &left), ERR_EOF);
            }
            assert_true(slice_eq(buf_peek(&out), slice_of(chunked[i].content)));
            assert_int_equal(h1_body_close(&body), ERR_OK);
            buf_free(&out);
            guard_free(a);
            guard_free(b);
        }
    }
}

static const struct {
    const char *text, *why;
} bad[] = {
    {"zz\r\n", "invalid byte in chunk length"},
    {"0x7\r\n", "invalid byte in chunk length"},
    {"-7\r\n", "invalid byte in chunk length"},
    {"+7\r\n", "invalid byte in chunk length"},
    {"\r\n", "invalid byte in chunk length"},
    {" 7\r\n", "invalid byte in chunk length"},
    {"7 7\r\n", "invalid byte in chunk length"},
    {";a\r\n", "invalid byte in chunk length"},
    {"7\nm f=1 1\n", "malformed chunked encoding"},
    {"7\r\rm f", "malformed chunked encoding"},
    {"1\r\nm0\r\n", "malformed chunked encoding"},
    {"1\r\nm\n0\r\n", "malformed chunked encoding"},
    {"1\r\nm\r\r", "malformed chunked encoding"},
    {"0;a\nb\r\n", "malformed chunked encoding"},
    {"0\r\n\rx", "malformed chunked encoding"},
    {"0\r\nA: b\n\r\n", "malformed chunked encoding"},
    {"0\r\n\n", "malformed chunked encoding"},
    {"fffffffffffffffff\r\n", "http chunk length too large"},
    {"8000000000000000\r\n", "http chunk length too large"},
};

static void
bad_chunks_are_refused_in_the_servers_words(void **state)
{
    size_t i, cut, left;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct slice whole = slice_of(bad[i].text);

        for (cut = 0; cut <= whole.n; cut++) {
            struct h1_body body;
            struct buf out;
            enum err err;

            buf_init(&out, 1000);
            h1_body_init(&body, H1_CHUNKED, 0);
            err = feed(&body, slice_to(whole, cut), &out, &left);
            if (err == ERR_SHORT)
                err = feed(&body, slice_from(whole, cut), &out, &left);
            if (err != ERR_BAD)
                fail_msg("accepted: %s", bad[i].text);
            assert_string_equal(body.why, bad[i].why);
            assert_int_equal(feed(&body, SLICE("0\r\n\r\n"), &out, &left), ERR_BAD); /* it sticks */
            buf_free(&out);
        }
    }
}

static void
the_largest_chunk_is_just_large_enough(void **state)
{
    struct h1_body body;
    struct slice data;
    size_t used;

    (void)state;
    h1_body_init(&body, H1_CHUNKED, 0);
    assert_int_equal(h1_body_next(&body, SLICE("7fffffffffffffff\r\nab"), &used, &data), ERR_OK);
    assert_int_equal(data.n, 2);
    assert_true(body.left == (uint64_t)INT64_MAX - 2);
}

/* lines_end(prefix, limit): how many of many filler bytes are taken before it is refused. */
static size_t
endless(const char *prefix)
{
    struct h1_body body;
    struct slice data;
    size_t used, n;

    h1_body_init(&body, H1_CHUNKED, 0);
    assert_int_equal(h1_body_next(&body, slice_of(prefix), &used, &data), ERR_SHORT);
    for (n = 0; n < 1000000; n++)
        if (h1_body_next(&body, SLICE("0"), &used, &data) == ERR_BAD)
            break;
    return n;
}

static void
nothing_endless_is_read(void **state)
{
    (void)state;
    assert_in_range(endless("1;"), H1_CHUNK_LINE_MAX - 4, H1_CHUNK_LINE_MAX);
    assert_in_range(endless("0"), H1_CHUNK_LINE_MAX - 4, H1_CHUNK_LINE_MAX);
    assert_in_range(endless("0\r\nA:"), H1_TRAILER_MAX - 8, H1_TRAILER_MAX);
}

static void
a_length_is_counted(void **state)
{
    struct h1_body body;
    struct slice data;
    size_t used;

    (void)state;
    h1_body_init(&body, H1_LENGTH, 5);
    assert_int_equal(h1_body_next(&body, SLICE(""), &used, &data), ERR_SHORT);
    assert_int_equal(h1_body_next(&body, SLICE("abc"), &used, &data), ERR_OK);
    assert_int_equal(data.n, 3);
    assert_int_equal(h1_body_close(&body), ERR_SHORT);
    assert_int_equal(h1_body_next(&body, SLICE("deGET"), &used, &data), ERR_OK);
    assert_int_equal(used, 2);
    assert_true(body.done);
    assert_int_equal(h1_body_next(&body, SLICE("GET"), &used, &data), ERR_EOF);
    assert_int_equal(used, 0);
    h1_body_init(&body, H1_LENGTH, 0);
    assert_true(body.done);
    h1_body_init(&body, H1_NONE, 0);
    assert_int_equal(h1_body_next(&body, SLICE("GET"), &used, &data), ERR_EOF);
}

static void
a_close_ends_what_has_no_length(void **state)
{
    struct h1_body body;
    struct slice data;
    size_t used;

    (void)state;
    h1_body_init(&body, H1_UNTIL_CLOSE, 0);
    assert_int_equal(h1_body_next(&body, SLICE("abc"), &used, &data), ERR_OK);
    assert_int_equal(h1_body_next(&body, SLICE(""), &used, &data), ERR_SHORT);
    assert_int_equal(h1_body_close(&body), ERR_OK);
    assert_true(body.done);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_joined_however_they_come),
        cmocka_unit_test(bad_chunks_are_refused_in_the_servers_words),
        cmocka_unit_test(the_largest_chunk_is_just_large_enough),
        cmocka_unit_test(nothing_endless_is_read),
        cmocka_unit_test(a_length_is_counted),
        cmocka_unit_test(a_close_ends_what_has_no_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
