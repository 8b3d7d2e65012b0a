/*
 * test_http_retry.c: Retry-After in all its forms, and texts out of error bodies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/http_retry.h"
#include "http/http_snippet.h"
#include "support/guard.h"

#define WALL_S INT64_C(1796040000) /* Mon, 30 Nov 2026 12:00:00 GMT */

/* date_of(s, t): read from memory that ends where the text does. */
static enum err
date_of(struct slice s, int64_t *t)
{
    struct slice copy = guard_copy(s);
    enum err err = http_retry_date(copy, t);

    guard_free(copy);
    return err;
}

static void
dates_in_three_forms(void **state)
{
    /* The examples of RFC 9110 section 5.6.7 are all the same moment. */
    static const char *const same[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};
    static const char *const bad[] = {"",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 CET",
                                      "Sun, 36 Nov 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nix 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:60:37 GMT",
                                      "Sun, 06 Nov 1994 08:49-37 GMT",
                                      "Sun, 06 Nov 19x4 08:49:37 GMT",
                                      "Sunday, 06-Nov-94",
                                      ",",
                                      "Sunday,",
                                      "Sun Nov  6 08:49:37 19945"};
    int64_t t = 0;
    size_t i, n;

    (void)state;
    for (i = 0; i < 3; i++) {
        struct slice s = slice_of(same[i]);

        assert_int_equal(date_of(s, &t), ERR_OK);
        assert_int_equal(t, 784111777);
        for (n = 0; n < s.n; n++)
            assert_int_equal(date_of(slice_to(s, n), &t), ERR_BAD);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(date_of(slice_of(bad[i]), &t), ERR_BAD);
    assert_int_equal(http_retry_date(SLICE("Mon, 30 Nov 2026 12:00:00 GMT"), &t), ERR_OK);
    assert_int_equal(t, WALL_S);
}

static void
seconds_and_dates_become_a_wait(void **state)
{
    struct slice none = {NULL, 0};
    struct slice later = SLICE("Mon, 30 Nov 2026 12:00:30 GMT");
    struct slice now = SLICE("Mon, 30 Nov 2026 12:00:10 GMT");
    int64_t wall = WALL_S * 1000000000;

    (void)state;
    assert_int_equal(http_retry_after(SLICE("0"), none, wall), 0);
    assert_int_equal(http_retry_after(SLICE("120"), none, 0), 120000);
    assert_int_equal(http_retry_after(SLICE("99999999999999999999999"), none, 0),
                     INT64_C(30) * 24 * 3600 * 1000);
    assert_int_equal(http_retry_after(SLICE("-5"), none, wall), -1);
    assert_int_equal(http_retry_after(SLICE("1.5"), none, wall), -1);
    assert_int_equal(http_retry_after(SLICE("soon"), none, wall), -1);
    assert_int_equal(http_retry_after(none, none, wall), -1);
    assert_int_equal(http_retry_after(later, none, wall), 30000);
    assert_int_equal(http_retry_after(later, now, wall), 20000); /* the server's clock counts */
    assert_int_equal(http_retry_after(later, now, 0), 20000);    /* as on a device in 1970 */
    assert_int_equal(http_retry_after(later, none, 0), -1);
    assert_int_equal(http_retry_after(now, later, wall), 0);
    assert_int_equal(http_retry_after(SLICE("Fri, 31 Dec 9999 00:00:00 GMT"), none, wall),
                     INT64_C(30) * 24 * 3600 * 1000);
}

static void
snippets_are_short_and_printable(void **state)
{
    static const struct {
        const char *body, *text;
    } cases[] = {
        {"", ""},
        {"  \r\n ", ""},
        {"not found\n", "not found"},
        {"a\x01\x02\tb\x7f"
         "c\xc2\x9b"
         "d\xff\xc3",
         "a b c d??"},
        {"gr\xc3\xbc\xc3\x9f"
         "e",
         "gr\xc3\xbc\xc3\x9f"
         "e"},
        {"{\"error\":\"partial write: dropped=1\"}\n", "partial write: dropped=1"},
        {" {\"code\": \"invalid\", \"message\" : \"a \\\"b\\\" \\n\\u0041\\u00e9\\u0007c\"}",
         "a \"b\" A? c"},
        {"{\"x\":{\"error\":\"inner\"},\"error\":\"outer\"}", "outer"},
        {"{\"a\":\"error\",\"error\":\"e\"}", "e"},
        {"{\"a\\\"error\":\"x\",\"error\":\"e\"}", "e"},
        {"{\"error\":7}", "{\"error\":7}"},
        {"{\"error\":\"unfinished", "unfinished"},
        {"{\"error\":\"x\\", "x"},
        {"{\"error\":\"x\\u12", "x"},
        {"{\"error\"", "{\"error\""},
        {"{\"error\":", "{\"error\":"},
        {"[{\"error\":\"x\"}]", "[{\"error\":\"x\"}]"},
        {"<html>\n<head>\n\n<title>502</title>", "<html> <head> <title>502</title>"},
    };
    char out[HTTP_SNIPPET_TEXT];
    char big[5000];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct slice body = guard_copy(slice_of(cases[i].body));

        assert_string_equal(http_snippet_make(out, body), cases[i].text);
        guard_free(body);
    }
    memset(big, 'x', sizeof(big));
    (void)http_snippet_make(out, slice_make(big, 120));
    assert_int_equal(strlen(out), 120);
    (void)http_snippet_make(out, slice_make(big, 121));
    assert_int_equal(strlen(out), 123);
    assert_string_equal(out + 120, "...");
    memset(big, '\0', sizeof(big));
    assert_string_equal(http_snippet_make(out, slice_make(big, sizeof(big))), "...");
    memcpy(big, "{\"error\":\"early\"", 16);
    assert_string_equal(http_snippet_make(out, slice_make(big, sizeof(big))), "early");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_in_three_forms),
        cmocka_unit_test(seconds_and_dates_become_a_wait),
        cmocka_unit_test(snippets_are_short_and_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
