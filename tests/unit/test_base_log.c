/*
 * test_base_log.c: the lines byte by byte, in both formats; hostile text; cuts; levels; rate
 * limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

/* 2026-11-30T22:50:08.123Z */
static int64_t
fixed_wall_ns(void *ctx)
{
    (void)ctx;
    return INT64_C(1796079008123999999);
}

static int64_t
fixed_mono_ms(void *ctx)
{
    (void)ctx;
    return 0;
}

static int64_t
unset_wall_ns(void *ctx)
{
    (void)ctx;
    return -1000000;
}

static const struct clock unset = {fixed_mono_ms, unset_wall_ns, NULL};
static const struct clock fixed = {fixed_mono_ms, fixed_wall_ns, NULL};

static int kept_stderr = -1;
static int capture[2];
static char seen[65536];

/* What is logged between begin and end lies in ${seen}. */
static void
begin(bool json)
{
    log_setup(LOG_INFO, json, &fixed);
    assert_int_equal(pipe(capture), 0);
    kept_stderr = dup(STDERR_FILENO);
    assert_true(kept_stderr >= 0);
    assert_true(dup2(capture[1], STDERR_FILENO) >= 0);
    (void)close(capture[1]);
}

static void
end(void)
{
    size_t n = 0;

    assert_true(dup2(kept_stderr, STDERR_FILENO) >= 0);
    (void)close(kept_stderr);
    while (n < sizeof(seen) - 1) {
        ssize_t got = read(capture[0], seen + n, sizeof(seen) - 1 - n);
        assert_true(got >= 0);
        if (got == 0)
            break;
        n += (size_t)got;
    }
    seen[n] = '\0';
    (void)close(capture[0]);
}

static const struct log_line full = {.event = "retry",
                                     .sink = "my_kafka",
                                     .seq = 42,
                                     .attempt = 1,
                                     .kind = "connect",
                                     .error = "connection refused"};

static void
text_lines(void **state)
{
    (void)state;
    begin(false);
    log_event(LOG_WARN, &full, "next in %d s", 3);
    log_info("start", NULL);
    log_error("stop", "%s", "");
    end();
    assert_string_equal(seen,
                        "2026-11-30T22:50:08.123Z warn  sink=my_kafka event=retry seq=42 attempt=1 "
                        "kind=connect error=\"connection refused\" msg=\"next in 3 s\"\n"
                        "2026-11-30T22:50:08.123Z info  event=start\n"
                        "2026-11-30T22:50:08.123Z error event=stop\n");
}

static void
json_lines(void **state)
{
    (void)state;
    begin(true);
    log_event(LOG_WARN, &full, "next in %d s", 3);
    log_info("start", NULL);
    end();
    assert_string_equal(seen, "{\"time\":\"2026-11-30T22:50:08.123Z\",\"level\":\"warn\","
                              "\"sink\":\"my_kafka\",\"event\":\"retry\",\"seq\":42,\"attempt\":1,"
                              "\"kind\":\"connect\",\"error\":\"connection refused\","
                              "\"msg\":\"next in 3 s\"}\n"
                              "{\"time\":\"2026-11-30T22:50:08.123Z\",\"level\":\"info\","
                              "\"event\":\"start\"}\n");
}

static const char hostile[] = "a\n\r\t\"\\\x01\x1b\x7f\xff\xc2\x9b\xc2\xa0\xc3\xa4";

static void
hostile_text_stays_in_its_line(void **state)
{
    (void)state;
    begin(false);
    log_event(LOG_INFO, &(struct log_line){.event = "x", .sink = "my sink=\"1\""}, "%s", hostile);
    end();
    assert_string_equal(seen,
                        "2026-11-30T22:50:08.123Z info  sink=\"my sink=\\\"1\\\"\" event=x "
                        "msg=\"a\\n\\r\\t\\\"\\\\\\x01\\x1b\\x7f\\xff\\u009b\xc2\xa0\xc3\xa4\"\n");
    begin(true);
    log_event(LOG_INFO, &(struct log_line){.event = "x"}, "%s", hostile);
    end();
    assert_string_equal(seen, "{\"time\":\"2026-11-30T22:50:08.123Z\",\"level\":\"info\","
                              "\"event\":\"x\",\"msg\":\"a\\n\\r\\t\\\"\\\\\\u0001\\u001b\\u007f"
                              "\\ufffd\\u009b\xc2\xa0\xc3\xa4\"}\n");
}

/* Quotes are closed, names have values, and in JSON the brace stands behind the last one. */
static void
check_closed(const char *line, bool json)
{
    bool quoted = false;
    char last = 0;

    for (; *line != '\n'; line++) {
        last = *line;
        if (quoted && *line == '\\')
            line++;
        else if (*line == '"')
            quoted = !quoted;
    }
    assert_false(quoted);
    assert_true(last != ':' && last != '=' && last != ',');
    if (json) {
        assert_int_equal(last, '}');
        assert_non_null(strchr("\"0123456789", line[-2]));
    }
}

/* Every length of a message and of a sink's name near the cut gives one well formed line. */
static void
a_long_line_is_cut_but_whole(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++)
        for (size_t n = 700; n < 1100; n++) {
            char text[1200] = "";
            for (size_t i = 0; i + 2 <= n; i += 2)
                memcpy(text + i, n % 3 == 0 ? "\xc3\xa4" : n % 3 == 1 ? "\x01\x02" : "ab", 3);
            begin(json != 0);
            if (n % 2 == 0)
                log_info("x", "%s", text);
            else
                log_event(LOG_INFO,
                          &(struct log_line){.event = "x", .sink = text, .error = "e", .seq = 77},
                          "m");
            end();
            size_t length = strlen(seen);
            assert_true(length <= 1024 && length > 700);
            assert_int_equal(seen[length - 1], '\n');
            assert_null(memchr(seen, '\n', length - 1));
            assert_true(text_is_utf8(slice_of(seen)));
            check_closed(seen, json != 0);
        }
}

static void
levels(void **state)
{
    (void)state;
    begin(false);
    log_debug("x", "no");
    assert_true(log_enabled(LOG_INFO));
    assert_false(log_enabled(LOG_DEBUG));
    log_setup(LOG_ERROR, false, &fixed);
    log_warn("x", "no");
    log_info("x", "no");
    log_event(LOG_WARN, &full, "no");
    log_setup(LOG_DEBUG, false, &fixed);
    log_debug("x", "yes");
    end();
    assert_string_equal(seen, "2026-11-30T22:50:08.123Z debug event=x msg=\"yes\"\n");
}

static void
a_time_before_1970(void **state)
{
    (void)state;
    begin(false);
    log_setup(LOG_INFO, false, &unset);
    log_info("x", NULL);
    end();
    assert_string_equal(seen, "1969-12-31T23:59:59.999Z info  event=x\n");
}

static void
errno_is_kept_and_a_closed_stderr_is_borne(void **state)
{
    (void)state;
    begin(false);
    (void)close(STDERR_FILENO);
    errno = ENOSPC;
    log_info("x", "lost");
    assert_int_equal(errno, ENOSPC);
    end();
    assert_string_equal(seen, "");
}

static void *
log_many(void *name)
{
    for (int i = 0; i < 50; i++)
        log_event(LOG_INFO, &(struct log_line){.event = "x", .sink = name}, "%d", i);
    return NULL;
}

static void
lines_of_threads_are_whole(void **state)
{
    static char names[4][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    size_t lines = 0;

    (void)state;
    begin(false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, names[i]), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    end();
    struct slice rest = slice_of(seen), line;
    while (slice_split(&rest, '\n', &line)) {
        assert_true(slice_starts(line, SLICE("2026-11-30T22:50:08.123Z info  sink=")));
        assert_true(slice_ends(line, SLICE("\"")));
        lines++;
    }
    assert_int_equal(lines, 200);
}

static void
a_rate_limit_refills(void **state)
{
    struct log_limit limit = {.burst = 2, .every_ms = 100};

    (void)state;
    assert_true(log_allow(&limit, 5000));
    assert_true(log_allow(&limit, 5000));
    assert_false(log_allow(&limit, 5000));
    assert_false(log_allow(&limit, 5099));
    assert_int_equal(limit.held_back, 2);
    assert_true(log_allow(&limit, 5100));
    limit.held_back = 0;
    assert_false(log_allow(&limit, 5150));
    assert_int_equal(limit.held_back, 1);
    assert_true(log_allow(&limit, 5200)); /* the two halves add up */
    assert_false(log_allow(&limit, 5200));
    /* Never more than the burst, however long it was quiet. */
    assert_true(log_allow(&limit, INT64_MAX));
    assert_true(log_allow(&limit, INT64_MAX));
    assert_false(log_allow(&limit, INT64_MAX));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines),
        cmocka_unit_test(json_lines),
        cmocka_unit_test(hostile_text_stays_in_its_line),
        cmocka_unit_test(a_long_line_is_cut_but_whole),
        cmocka_unit_test(levels),
        cmocka_unit_test(a_time_before_1970),
        cmocka_unit_test(errno_is_kept_and_a_closed_stderr_is_borne),
        cmocka_unit_test(lines_of_threads_are_whole),
        cmocka_unit_test(a_rate_limit_refills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
