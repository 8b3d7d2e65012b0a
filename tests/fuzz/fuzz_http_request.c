/*
 * fuzz_http_request.c: any bytes as what a client sends. The first byte says how the rest is cut:
 * however it comes, the events and the bytes sent are the same, answers never outnumber requests,
 * the body stays within its limit, and everything is given back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "support/http_drive.h"

#define BODY_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* drive(d, in, step): feed pieces of ${step} bytes (0: whole), then the end. */
static void
drive(struct http_drive *d, struct slice in, size_t step)
{
    size_t fed, n;

    http_drive_init(d, BODY_MAX);
    while (in.n > 0) {
        n = step == 0 || step > in.n ? in.n : step;
        fed = http_drive_feed(d, slice_to(in, n));
        if (fed < n && http_server_phase(&d->conn) == HTTP_WORKING)
            http_drive_finish(d);
        else if (fed == 0)
            break;
        in = slice_from(in, fed);
    }
    http_drive_eof(d);
    while (http_server_phase(&d->conn) == HTTP_WORKING) /* pipelined ones wait for the one before */
        http_drive_finish(d);
    assert(http_server_is_finished(&d->conn));
    assert(d->inflight_top <= BODY_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_drive whole, cut;
    size_t live = mem_live(), step;

    if (size == 0 || size > 60000)
        return 0;
    step = (size_t)data[0] % 64 + 1;
    drive(&whole, slice_make(data + 1, size - 1), 0);
    drive(&cut, slice_make(data + 1, size - 1), step);
    assert(slice_eq(buf_peek(&whole.log), buf_peek(&cut.log)));
    assert(slice_eq(buf_peek(&whole.out), buf_peek(&cut.out)));
    http_drive_free(&whole);
    http_drive_free(&cut);
    assert(mem_live() == live);
    return 0;
}
