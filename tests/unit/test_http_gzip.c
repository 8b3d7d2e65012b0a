/*
 * test_http_gzip.c: compressed bodies and answers through the connection's state machine.
 * The texts are those of a real InfluxDB 1.6.7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "support/http_drive.h"

#define BODY_MAX 20000
#define WRITE(fields) "POST /write?db=d HTTP/1.1\r\nHost: x\r\n" fields "\r\n\r\n"

static void
pack(struct buf *out, struct slice text)
{
    struct gzip_writer *w = gzip_writer_open(6);

    assert_non_null(w);
    assert_int_equal(gzip_writer_pack(w, text, out), ERR_OK);
    gzip_writer_close(w);
}

/* send_gzip(d, coding, body): one request with that body. */
static void
send_gzip(struct http_drive *d, const char *coding, struct slice body)
{
    char head[200];

    http_drive_init(d, BODY_MAX);
    (void)snprintf(head, sizeof(head), WRITE("Content-Encoding: %s\r\nContent-Length: %zu"), coding,
                   body.n);
    (void)http_drive_feed(d, slice_of(head));
    (void)http_drive_feed(d, body);
}

/* with_body(coding, body, statuses, text): what one such body is answered with. */
static void
with_body(const char *coding, struct slice body, const char *statuses, const char *text)
{
    struct http_drive d;

    send_gzip(&d, coding, body);
    http_drive_assert_statuses(&d, statuses);
    assert_true(http_drive_holds(&d, text));
    assert_in_range(d.inflight_top, 0, BODY_MAX);
    if (strcmp(statuses, "413 ") != 0) /* and the connection stays usable */
        assert_int_equal(http_server_phase(&d.conn), HTTP_IDLE);
    http_drive_free(&d);
}

static void
gzip_bodies_are_inflated(void **state)
{
    struct http_drive d;
    struct buf two;
    size_t one;

    (void)state;
    if (!gzip_available())
        skip();
    buf_init(&two, 1000);
    pack(&two, SLICE("m f=1\n"));
    one = buf_len(&two);
    pack(&two, SLICE("m f=2\n"));
    send_gzip(&d, "gzip", slice_to(buf_peek(&two), one));
    http_drive_assert_log(&d, "head POST /write?db=d\nbody d m f=1\n\n");
    http_drive_free(&d);
    send_gzip(&d, "X-GZIP", buf_peek(&two)); /* any case; members one behind the other */
    http_drive_assert_log(&d, "head POST /write?db=d\nbody d m f=1\nm f=2\n\n");
    http_drive_free(&d);
    with_body("gzip, identity", buf_peek(&two), "204 ", "");
    with_body("gzip, gzip", buf_peek(&two), "415 ", "");
    with_body("br", SLICE("m f=1"), "415 ", "unsupported Content-Encoding");
    buf_free(&two);
}

static void
damaged_gzip_is_refused_whole(void **state)
{
    struct http_drive d;
    struct buf packed;
    struct slice one;
    size_t i;

    (void)state;
    if (!gzip_available())
        skip();
    buf_init(&packed, 1000);
    pack(&packed, SLICE("m f=1\n"));
    one = buf_peek(&packed);
    with_body("gzip", SLICE("cpu value=1"), "400 ", "{\"error\":\"gzip: invalid header\"}");
    with_body("gzip", SLICE("\x78\x9c\xcb\x55\x48\xb3\x35\x04\x00\x05\x8e\x01"), "400 ",
              "gzip: invalid header"); /* zlib called gzip */
    with_body("gzip", SLICE(""), "400 ", "{\"error\":\"EOF\"}");
    for (i = 1; i < one.n; i++) { /* every cut is refused, nothing is stored */
        send_gzip(&d, "gzip", slice_to(one, i));
        assert_true(http_drive_holds(&d, "{\"error\":\"unexpected EOF\"}"));
        http_drive_assert_log(&d, "head POST /write?db=d\nrefused 400\n");
        http_drive_free(&d);
    }
    packed.data[packed.head + one.n - 8] ^= 1;
    with_body("gzip", one, "400 ", "{\"error\":\"gzip: invalid checksum\"}");
    buf_free(&packed);
}

static void
inflated_bodies_are_bounded(void **state)
{
    static char big[2000000];
    struct buf packed;

    (void)state;
    if (!gzip_available())
        skip();
    memset(big, '#', sizeof(big));
    buf_init(&packed, 100000);
    pack(&packed, slice_make(big, BODY_MAX));
    with_body("gzip", buf_peek(&packed), "204 ", "");
    buf_clear(&packed);
    pack(&packed, slice_make(big, BODY_MAX + 1));
    with_body("gzip", buf_peek(&packed), "413 ", "Request Entity Too Large");
    buf_clear(&packed);
    pack(&packed, slice_make(big, sizeof(big)));
    with_body("gzip", buf_peek(&packed), "413 ", "Request Entity Too Large");
    buf_free(&packed);
}

static void
answers_are_compressed_when_asked_for(void **state)
{
    struct http_drive d;

    (void)state;
    if (!gzip_available())
        skip();
    http_drive_init(&d, BODY_MAX);
    (void)http_drive_feed(&d,
                          SLICE("GET /big HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"));
    assert_true(http_drive_holds(&d, "Content-Encoding: gzip\r\n"));
    assert_true(buf_len(&d.out) < 3000);
    http_drive_free(&d);
    http_drive_init(&d, BODY_MAX);
    (void)http_drive_feed(
        &d, SLICE("GET /big HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0\r\n\r\n"));
    assert_false(http_drive_holds(&d, "Content-Encoding"));
    assert_true(buf_len(&d.out) > 200000);
    http_drive_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_bodies_are_inflated),
        cmocka_unit_test(damaged_gzip_is_refused_whole),
        cmocka_unit_test(inflated_bodies_are_bounded),
        cmocka_unit_test(answers_are_compressed_when_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
