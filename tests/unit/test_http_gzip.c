/*
 * test_http_gzip.c: compressed bodies and answers through the connection's state machine.
 * The texts are those of a real InfluxDB 1.6.7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static void
gzip_bodies_are_inflated_and_bounded(void **state)
{
    struct http_drive d;
    struct buf packed, two, bomb;
    struct slice text = SLICE("m f=1\n"), one;
    char *big = malloc(2000000);
    uint8_t *damaged;
    size_t i;

    (void)state;
    if (!gzip_available()) {
        free(big);
        skip();
    }
    assert_non_null(big);
    buf_init(&packed, 1000);
    buf_init(&two, 1000);
    buf_init(&bomb, 100000);
    pack(&packed, text);
    pack(&two, text);
    pack(&two, SLICE("m f=2\n"));
    memset(big, '#', 2000000);
    pack(&bomb, slice_make(big, BODY_MAX + 1));
    one = buf_peek(&packed);

    send_gzip(&d, "gzip", one);
    http_drive_assert_log(&d, "head POST /write?db=d\nbody d m f=1\n\n");
    http_drive_free(&d);
    send_gzip(&d, "X-GZIP", buf_peek(&two)); /* any case; members one behind the other */
    http_drive_assert_log(&d, "head POST /write?db=d\nbody d m f=1\nm f=2\n\n");
    http_drive_free(&d);
    send_gzip(&d, "gzip, identity", one);
    http_drive_assert_statuses(&d, "204 ");
    http_drive_free(&d);
    send_gzip(&d, "gzip, gzip", one);
    http_drive_assert_statuses(&d, "415 ");
    http_drive_free(&d);
    send_gzip(&d, "br", one);
    http_drive_assert_statuses(&d, "415 ");
    http_drive_free(&d);
    send_gzip(&d, "gzip", buf_peek(&bomb));
    http_drive_assert_statuses(&d, "413 ");
    http_drive_free(&d);

    send_gzip(&d, "gzip", SLICE("cpu value=1"));
    assert_true(http_drive_holds(&d, "{\"error\":\"gzip: invalid header\"}"));
    assert_int_equal(http_server_phase(&d.conn), HTTP_IDLE); /* and the connection stays usable */
    http_drive_free(&d);
    send_gzip(&d, "gzip",
              SLICE("\x78\x9c\xcb\x55\x48\xb3\x35\x04\x00\x05\x8e\x01")); /* zlib called gzip */
    assert_true(http_drive_holds(&d, "gzip: invalid header"));
    http_drive_free(&d);
    send_gzip(&d, "gzip", SLICE(""));
    assert_true(http_drive_holds(&d, "{\"error\":\"EOF\"}"));
    http_drive_free(&d);
    for (i = 1; i < one.n; i++) { /* every cut is refused, nothing is stored */
        send_gzip(&d, "gzip", slice_to(one, i));
        assert_true(http_drive_holds(&d, "{\"error\":\"unexpected EOF\"}"));
        http_drive_assert_log(&d, "head POST /write?db=d\nrefused 400\n");
        http_drive_free(&d);
    }
    damaged = packed.data + packed.head;
    damaged[one.n - 8] ^= 1;
    send_gzip(&d, "gzip", one);
    assert_true(http_drive_holds(&d, "{\"error\":\"gzip: invalid checksum\"}"));
    http_drive_free(&d);

    memset(big, '#', 2000000);
    buf_clear(&bomb);
    pack(&bomb, slice_make(big, 2000000));
    send_gzip(&d, "gzip", buf_peek(&bomb));
    http_drive_assert_statuses(&d, "413 ");
    assert_in_range(d.inflight_top, 0, BODY_MAX);
    http_drive_free(&d);
    buf_free(&packed);
    buf_free(&two);
    buf_free(&bomb);
    free(big);
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
        cmocka_unit_test(gzip_bodies_are_inflated_and_bounded),
        cmocka_unit_test(answers_are_compressed_when_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
