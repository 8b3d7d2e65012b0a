/*
 * test_sink_http_verdict.c: what each HTTP status says of a delivery.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sink/http_verdict.h"

static struct http_success
success_of(const char *list)
{
    struct http_success success;
    struct errinfo info;

    assert_int_equal(http_verdict_parse(&success, slice_of(list), &info), ERR_OK);
    return success;
}

static struct outcome
judge(int status, int64_t retry_after_ms, const char *body)
{
    struct http_success success = success_of("200,201,202,204");

    return http_verdict_of(&success, status, retry_after_ms, slice_of(body));
}

/* The table of the user guide's page on delivery. */
static enum delivery
expected(int status)
{
    switch (status) {
    case 200:
    case 201:
    case 202:
    case 204:
        return DELIVERY_DONE;
    case 400:
    case 422:
        return DELIVERY_REJECTED;
    case 401:
    case 403:
        return DELIVERY_AUTH;
    case 408:
        return DELIVERY_TRANSIENT;
    case 413:
        return DELIVERY_TOO_LARGE;
    case 429:
        return DELIVERY_THROTTLED;
    default:
        return status >= 500 ? DELIVERY_TRANSIENT : DELIVERY_TARGET;
    }
}

static void
every_status_has_its_meaning(void **state)
{
    (void)state;
    for (int status = 200; status < 600; status++) {
        struct outcome o = judge(status, -1, "");

        if (o.what != expected(status))
            fail_msg("status %d means %d", status, (int)o.what);
        assert_int_equal(o.retry_after_ms, 0);
        assert_false(o.names_points);
    }
}

static void
each_failure_is_counted_as_its_kind(void **state)
{
    (void)state;
    assert_int_equal(judge(400, -1, "").kind, STORE_ERROR_REJECTED);
    assert_int_equal(judge(422, -1, "").kind, STORE_ERROR_REJECTED);
    assert_int_equal(judge(413, -1, "").kind, STORE_ERROR_REJECTED);
    assert_int_equal(judge(401, -1, "").kind, STORE_ERROR_AUTH);
    assert_int_equal(judge(403, -1, "").kind, STORE_ERROR_AUTH);
    assert_int_equal(judge(408, -1, "").kind, STORE_ERROR_TIMEOUT);
    assert_int_equal(judge(429, -1, "").kind, STORE_ERROR_THROTTLED);
    assert_int_equal(judge(503, 1000, "").kind, STORE_ERROR_THROTTLED);
    assert_int_equal(judge(503, -1, "").kind, STORE_ERROR_TARGET);
    assert_int_equal(judge(500, -1, "").kind, STORE_ERROR_TARGET);
    assert_int_equal(judge(301, -1, "").kind, STORE_ERROR_TARGET);
    assert_int_equal(judge(404, -1, "").kind, STORE_ERROR_TARGET);
}

static void
retry_after_is_taken_over_where_a_retry_helps(void **state)
{
    (void)state;
    assert_int_equal(judge(429, 5000, "").retry_after_ms, 5000);
    assert_int_equal(judge(503, 5000, "").retry_after_ms, 5000);
    assert_int_equal(judge(503, 5000, "").what, DELIVERY_THROTTLED);
    assert_int_equal(judge(503, 0, "").what, DELIVERY_THROTTLED);
    assert_int_equal(judge(503, 0, "").retry_after_ms, 0);
    assert_int_equal(judge(502, 5000, "").retry_after_ms, 5000);
    assert_int_equal(judge(502, 5000, "").what, DELIVERY_TRANSIENT);
    assert_int_equal(judge(408, 7000, "").retry_after_ms, 7000);
    assert_int_equal(judge(204, 5000, "").retry_after_ms, 0);
    assert_int_equal(judge(404, 5000, "").retry_after_ms, 0);
}

static void
words_for_single_points_are_recognised(void **state)
{
    (void)state;
    assert_true(judge(400, -1, "{\"error\":\"partial write: field type conflict dropped=1\"}")
                    .names_points);
    assert_true(judge(400, -1, "{\"error\":\"unable to parse 'x': missing fields\"}").names_points);
    assert_true(judge(422, -1, "partial write").names_points);
    assert_false(judge(400, -1, "{\"error\":\"database is required\"}").names_points);
    assert_false(judge(400, -1, "partial writ").names_points);
    assert_false(judge(500, -1, "partial write").names_points);
}

static void
only_the_start_of_a_body_is_looked_at(void **state)
{
    static char body[5000];

    (void)state;
    memset(body, ' ', sizeof(body) - 1);
    memcpy(body + 4096 - 13, "partial write", 13);
    assert_true(judge(400, -1, body).names_points);
    memset(body, ' ', sizeof(body) - 1);
    memcpy(body + 4096 - 12, "partial write", 13);
    assert_false(judge(400, -1, body).names_points);
}

static void
the_operator_says_what_confirms(void **state)
{
    struct http_success success = success_of("204, 299 ,400,599");

    (void)state;
    assert_int_equal(http_verdict_of(&success, 204, -1, SLICE("")).what, DELIVERY_DONE);
    assert_int_equal(http_verdict_of(&success, 299, -1, SLICE("")).what, DELIVERY_DONE);
    assert_int_equal(http_verdict_of(&success, 400, -1, SLICE("")).what, DELIVERY_DONE);
    assert_int_equal(http_verdict_of(&success, 599, -1, SLICE("")).what, DELIVERY_DONE);
    assert_int_equal(http_verdict_of(&success, 200, -1, SLICE("")).what, DELIVERY_TARGET);
    assert_int_equal(http_verdict_of(&success, 202, -1, SLICE("")).what, DELIVERY_TARGET);
}

static void
every_bit_is_its_own(void **state)
{
    (void)state;
    for (int chosen = 200; chosen < 600; chosen++) {
        char list[8];
        struct http_success success;

        (void)snprintf(list, sizeof(list), "%d", chosen);
        success = success_of(list);
        for (int status = 200; status < 600; status++)
            assert_int_equal(http_verdict_of(&success, status, -1, SLICE("")).what == DELIVERY_DONE,
                             status == chosen);
    }
}

static void
a_wrong_list_is_refused(void **state)
{
    static const char *const wrong[] = {"199",      "600",  "20x",
                                        "200,,204", ",200", "200;204",
                                        "200 204",  "-200", "99999999999999999999"};
    struct http_success success;
    struct errinfo info;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(http_verdict_parse(&success, slice_of(wrong[i]), &info), ERR_CONFIG);
        assert_string_equal(info.text, "option success_status takes statuses from 200 to 599 with "
                                       "commas between, like 200,204");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_meaning),
        cmocka_unit_test(each_failure_is_counted_as_its_kind),
        cmocka_unit_test(retry_after_is_taken_over_where_a_retry_helps),
        cmocka_unit_test(words_for_single_points_are_recognised),
        cmocka_unit_test(only_the_start_of_a_body_is_looked_at),
        cmocka_unit_test(the_operator_says_what_confirms),
        cmocka_unit_test(every_bit_is_its_own),
        cmocka_unit_test(a_wrong_list_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
