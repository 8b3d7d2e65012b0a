/*
 * test_sink_http_line.c: line protocol by HTTP: the requests, byte for byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "support/sink_drive.h"
#include "support/sink_rig.h"

#define URL "http://collector:8086/write?db=mydb"
#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"

/* ---- requests ---- */

static void
the_request_byte_for_byte(void **state)
{
    const struct script_step steps[] = {
        EXPECT("POST /write?db=mydb HTTP/1.1\r\n"
               "User-Agent: sinkd\r\n"
               "Content-Type: text/plain; charset=utf-8\r\n"
               "Host: collector:8086\r\n"
               "Content-Length: 44\r\n"
               "\r\n"
               "m,t=a v=1i 1000000000\nm,t=a v=2i 2000000000\n"),
        GIVE(NO_CONTENT),
        EXPECT_UNTIL("m,t=a v=3i 3000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL, NULL);
    sink_drive_round(&r.round, 1, 2);
    sink_rig_delivers(&r);
    assert_int_equal(sink_rig_delivered(&r), 2);
    round_free(&r.round);
    sink_drive_round(&r.round, 3, 1); /* on the same connection */
    sink_rig_delivers(&r);
    assert_string_equal(r.host.host, "collector");
    assert_int_equal(r.host.port, 8086);
    sink_rig_close(&r);
}

static void
credentials_and_headers(void **state)
{
    static const char *const options[] = {"headers", "X-Org: plant 7\r\n\n  X-Empty:  \nx-last:a:b",
                                          "user_agent", "gate/1.0 (7)", NULL};
    const struct script_step steps[] = {
        EXPECT("POST /write?db=mydb HTTP/1.1\r\n"
               "Authorization: Basic dXNlcjpwQHNzOncvcmQ=\r\n"
               "User-Agent: gate/1.0 (7)\r\n"
               "X-Org: plant 7\r\n"
               "X-Empty: \r\n"
               "x-last: a:b\r\n"
               "Content-Type: text/plain; charset=utf-8\r\n"
               "Host: collector:8086\r\n"
               "Content-Length: 22\r\n"
               "\r\n"
               "m,t=a v=1i 1000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1,
                  "http://user:p%40ss%3aw%2Frd@collector:8086/write?db=mydb", options);
    assert_string_equal(r.def.url, URL);
    sink_drive_round(&r.round, 1, 1);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
a_bearer_token(void **state)
{
    static const char *const options[] = {"bearer_token", "abc.DEF-123==", NULL};
    const struct script_step steps[] = {
        EXPECT_UNTIL("\r\nAuthorization: Bearer abc.DEF-123==\r\n"),
        EXPECT_UNTIL("\n\r\n"),
        EXPECT("m,t=a v=1i 1000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL, options);
    sink_drive_round(&r.round, 1, 1);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
the_default_port_is_80(void **state)
{
    const struct script_step steps[] = {
        EXPECT_UNTIL("POST /w HTTP/1.1\r\n"),
        EXPECT_UNTIL("\r\nHost: [fd00::1]\r\n"),
        EXPECT_UNTIL("1000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, "http://[fd00::1]/w", NULL);
    sink_drive_round(&r.round, 1, 1);
    sink_rig_delivers(&r);
    assert_string_equal(r.host.host, "fd00::1");
    assert_int_equal(r.host.port, 80);
    sink_rig_close(&r);
}

static void
timestamps_in_the_precision_of_the_url(void **state)
{
    static const char *const options[] = {"precision", "ms", NULL};
    const struct script_step steps[] = {
        EXPECT("POST /write?db=mydb&precision=ms HTTP/1.1\r\n"),
        EXPECT_UNTIL("\r\n\r\n"),
        EXPECT("m,t=a v=1i 1000\nm,t=a v=2i 2000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL "&precision=ms", options);
    sink_drive_round(&r.round, 1, 2);
    sink_rig_delivers(&r);
    sink_rig_close(&r);
}

static void
one_request_for_each_target(void **state)
{
    const struct script_step steps[] = {
        EXPECT("POST /write?db=a%20b&rp=week HTTP/1.1\r\n"),
        EXPECT_UNTIL("\r\n\r\n"),
        EXPECT("m v=1 1000000000\nm v=4 4000000000\n"),
        GIVE(NO_CONTENT),
        EXPECT("POST /write?db=c&rp=_ HTTP/1.1\r\n"),
        EXPECT_UNTIL("\r\n\r\n"),
        EXPECT("m v=2 2000000000\n"),
        GIVE(NO_CONTENT),
        EXPECT("POST /write?db=a%20b&rp=_ HTTP/1.1\r\n"),
        EXPECT_UNTIL("\r\n\r\n"),
        EXPECT("m v=3 3000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, "http://collector/write?db={db}&rp={rp}", NULL);
    sink_drive_add(&r.round, 1, "a b", "week", "m", "m v=1");
    sink_drive_add(&r.round, 2, "c", "", "m", "m v=2");
    sink_drive_add(&r.round, 3, "a b", "", "m", "m v=3");
    sink_drive_add(&r.round, 4, "a b", "week", "m", "m v=4");
    sink_rig_delivers(&r);
    assert_int_equal(sink_rig_delivered(&r), 4);
    sink_rig_close(&r);
}

static bool
always(void *arg)
{
    (void)arg;
    return true;
}

static void
it_yields_between_two_requests(void **state)
{
    const struct script_step steps[] = {
        EXPECT_UNTIL("m v=1 1000000000\n"),
        GIVE(NO_CONTENT),
        EXPECT_UNTIL("m v=2 2000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, "http://collector/write?db={db}", NULL);
    r.env.yields = always;
    r.sink->env = &r.env;
    sink_drive_add(&r.round, 1, "a", "", "m", "m v=1");
    sink_drive_add(&r.round, 2, "b", "", "m", "m v=2");
    assert_int_equal(sink_rig_deliver(&r), ERR_STOP);
    assert_int_equal(r.outcome.what, DELIVERY_TRANSIENT);
    assert_int_equal(sink_rig_delivered(&r), 1);
    sink_rig_delivers(&r); /* a lone request is not held back */
    sink_rig_close(&r);
}

static void
a_body_ends_at_its_limit(void **state)
{
    static const char *const options[] = {"max_batch_bytes", "1000", NULL};
    static char line[1200] = "m s=\"";
    const struct script_step steps[] = {
        EXPECT_UNTIL("Content-Length: 996\r\n"),  EXPECT_UNTIL("3000000000\n"), GIVE(NO_CONTENT),
        EXPECT_UNTIL("Content-Length: 332\r\n"),  EXPECT_UNTIL("4000000000\n"), GIVE(NO_CONTENT),
        EXPECT_UNTIL("Content-Length: 1211\r\n"), EXPECT_UNTIL("5000000000\n"), GIVE(NO_CONTENT),
        EXPECT_UNTIL("Content-Length: 332\r\n"),  EXPECT_UNTIL("6000000000\n"), GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL, options);
    for (uint64_t seq = 1; seq <= 6; seq++) {
        size_t n = seq == 5 ? 1199 : 320; /* the fifth is too long for any limit: it goes alone */

        memset(line + 5, 'x', n - 6);
        line[n - 1] = '"';
        line[n] = '\0';
        sink_drive_add(&r.round, seq, "db", "", "m", line);
    }
    sink_rig_delivers(&r);
    assert_int_equal(sink_rig_delivered(&r), 6);
    sink_rig_close(&r);
}

static void
points_with_a_verdict_are_not_sent(void **state)
{
    const struct script_step steps[] = {
        EXPECT_UNTIL("\r\n\r\n"),
        EXPECT("m,t=a v=2i 2000000000\nm,t=a v=5i 5000000000\n"),
        GIVE(NO_CONTENT),
    };
    struct script_conn conns[] = {SINK_RIG_CONN(steps)};
    struct sink_rig r;

    (void)state;
    sink_rig_open(&r, "http_line", conns, 1, URL, NULL);
    sink_drive_round(&r.round, 1, 6);
    round_set(&r.round, 0, 1, VERDICT_DELIVERED);
    round_set(&r.round, 2, 4, VERDICT_REFUSED);
    round_set(&r.round, 5, 6, VERDICT_DELIVERED);
    sink_rig_delivers(&r);
    assert_int_equal(round_count(&r.round, 0, 6, VERDICT_OPEN), 0);
    assert_int_equal(round_count(&r.round, 0, 6, VERDICT_REFUSED), 2);
    sink_rig_delivers(&r); /* nothing is open: nothing is sent */
    sink_rig_close(&r);
}

static void
compressed_bodies(void **state)
{
    static const char *const options[] = {"gzip", "true", NULL};
    static const char plain[] = "m,t=a v=1i 1000000000\nm,t=a v=2i 2000000000\n";
    struct gzip_writer *writer = gzip_writer_open(3);
    struct buf packed, head;
    struct sink_rig r;

    (void)state;
    assert_non_null(writer);
    buf_init(&packed, 4096);
    buf_init(&head, 4096);
    assert_int_equal(gzip_writer_pack(writer, slice_of(plain), &packed), ERR_OK);
    assert_int_equal(buf_printf(&head,
                                "POST /write?db=mydb HTTP/1.1\r\n"
                                "User-Agent: sinkd\r\nContent-Encoding: gzip\r\n"
                                "Content-Type: text/plain; charset=utf-8\r\n"
                                "Host: collector:8086\r\n"
                                "Content-Length: %zu\r\n\r\n",
                                buf_len(&packed)),
                     ERR_OK);
    {
        const struct script_step steps[] = {
            {.kind = SCRIPT_EXPECT, .bytes = buf_peek(&head)},
            {.kind = SCRIPT_EXPECT, .bytes = buf_peek(&packed)},
            GIVE(NO_CONTENT),
        };
        struct script_conn conns[] = {SINK_RIG_CONN(steps)};
        struct gzip_reader *reader = gzip_reader_open();
        struct buf back;

        assert_non_null(reader);
        sink_rig_open(&r, "http_line", conns, 1, URL, options);
        sink_drive_round(&r.round, 1, 2);
        sink_rig_delivers(&r);
        sink_rig_close(&r);
        buf_init(&back, 4096); /* and what was sent is what was meant */
        assert_int_equal(gzip_reader_feed(reader, buf_peek(&packed), &back, NULL), ERR_OK);
        assert_true(slice_eq(buf_peek(&back), slice_of(plain)));
        buf_free(&back);
        gzip_reader_close(reader);
    }
    gzip_writer_close(writer);
    buf_free(&packed);
    buf_free(&head);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_byte_for_byte),
        cmocka_unit_test(credentials_and_headers),
        cmocka_unit_test(a_bearer_token),
        cmocka_unit_test(the_default_port_is_80),
        cmocka_unit_test(timestamps_in_the_precision_of_the_url),
        cmocka_unit_test(one_request_for_each_target),
        cmocka_unit_test(it_yields_between_two_requests),
        cmocka_unit_test(a_body_ends_at_its_limit),
        cmocka_unit_test(points_with_a_verdict_are_not_sent),
        cmocka_unit_test(compressed_bodies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
