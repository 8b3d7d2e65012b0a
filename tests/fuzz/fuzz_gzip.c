/*
 * fuzz_gzip.c: any bytes as a gzip body. The output never passes its maximum, a cut in two gives
 * what the whole gives, and bytes that are packed here come back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/mem.h"

#define OUT_MAX 30000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds ${in} cut at ${cut}; the first error. */
static enum err
inflate(struct slice in, size_t cut, struct buf *out)
{
    struct gzip_reader *r = gzip_reader_open();

    assert(r != NULL);
    enum err err = gzip_reader_feed(r, slice_to(in, cut), out, NULL);
    if (err == ERR_OK)
        err = gzip_reader_feed(r, slice_from(in, cut), out, NULL);
    if (err == ERR_OK)
        err = gzip_reader_end(r, NULL);
    assert(buf_len(out) <= OUT_MAX && out->cap <= OUT_MAX);
    gzip_reader_close(r);
    return err;
}

static void
round_trip(struct slice in)
{
    struct gzip_writer *w = gzip_writer_open(1);
    struct buf packed, out;

    assert(w != NULL);
    buf_init(&packed, 2 * in.n + 100);
    buf_init(&out, OUT_MAX);
    assert(gzip_writer_pack(w, in, &packed) == ERR_OK);
    if (in.n <= OUT_MAX) {
        assert(inflate(buf_peek(&packed), 5, &out) == ERR_OK);
        assert(slice_eq(buf_peek(&out), in));
    }
    buf_free(&packed);
    buf_free(&out);
    gzip_writer_close(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    struct buf whole, cut;

    if (!gzip_available() || size == 0)
        return 0;
    buf_init(&whole, OUT_MAX);
    buf_init(&cut, OUT_MAX);
    enum err err = inflate(in, size, &whole);
    assert(inflate(in, data[0] % size, &cut) == err);
    assert(err != ERR_OK || slice_eq(buf_peek(&whole), buf_peek(&cut)));
    buf_free(&whole);
    buf_free(&cut);
    round_trip(in);
    assert(mem_live() == 0);
    return 0;
}
