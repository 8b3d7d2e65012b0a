/*
 * fuzz_msgpack.c: any bytes as MessagePack. What can be read is written again in its shortest form:
 * never longer than it was, the same values, and unchanged when it is written a second time. A skip
 * takes exactly the bytes that reading value by value takes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "msgpack/msgpack_read.h"
#include "msgpack/msgpack_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
copy_ext(struct rd *r, struct wr *w)
{
    struct rd again = *r;
    int64_t seconds;
    uint32_t ns;
    int8_t type;
    struct slice s = msgpack_read_ext(r, &type);

    msgpack_read_timestamp(&again, &seconds, &ns);
    if (again.err == ERR_OK)
        msgpack_write_timestamp(w, seconds, ns);
    else
        msgpack_write_ext(w, type, s);
}

/* Reads one value's own part from ${r} and writes it to ${w}; returns how many it holds. */
static uint64_t
copy_one(struct rd *r, struct wr *w)
{
    uint64_t count = 0;

    switch (msgpack_read_peek(r)) {
    case MSGPACK_NIL:
        msgpack_read_nil(r);
        msgpack_write_nil(w);
        break;
    case MSGPACK_BOOL:
        msgpack_write_bool(w, msgpack_read_bool(r));
        break;
    case MSGPACK_UINT:
        msgpack_write_u64(w, msgpack_read_u64(r));
        break;
    case MSGPACK_INT:
        msgpack_write_i64(w, msgpack_read_i64(r));
        break;
    case MSGPACK_FLOAT:
        /* Two widths give one type here: keep the bytes. */
        wr_bytes(w, msgpack_read_skip(r));
        break;
    case MSGPACK_STR:
        msgpack_write_str(w, msgpack_read_str(r));
        break;
    case MSGPACK_BIN:
        msgpack_write_bin(w, msgpack_read_bin(r));
        break;
    case MSGPACK_ARRAY:
        count = msgpack_read_array(r);
        msgpack_write_array(w, (size_t)count);
        break;
    case MSGPACK_MAP:
        count = msgpack_read_map(r);
        msgpack_write_map(w, (size_t)count);
        count *= 2;
        break;
    case MSGPACK_EXT:
        copy_ext(r, w);
        break;
    case MSGPACK_NONE:
        rd_fail(r, rd_left(r) == 0 ? ERR_SHORT : ERR_BAD);
        break;
    }
    return count;
}

/* Rewrites the first value of ${in}; false when it is not whole. ${taken} gets its length. */
static bool
rewrite(struct slice in, struct buf *out, size_t *taken)
{
    uint64_t pending = 1;
    struct rd r;
    struct wr w;

    rd_init(&r, in);
    wr_init(&w, out);
    while (pending > 0 && r.err == ERR_OK)
        pending = pending - 1 + copy_one(&r, &w);
    *taken = in.n - rd_left(&r);
    if (r.err != ERR_OK)
        wr_fail(&w, r.err);
    return wr_done(&w) == ERR_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    struct buf once, twice;
    struct rd r;
    size_t taken, taken_again;

    buf_init(&once, size);
    buf_init(&twice, size);
    rd_init(&r, in);
    struct slice skipped = msgpack_read_skip(&r);
    bool whole = rewrite(in, &once, &taken);
    if (r.err == ERR_OK)
        assert(whole && skipped.p == data && skipped.n == taken);
    if (whole) {
        assert(buf_len(&once) <= taken);
        assert(rewrite(buf_peek(&once), &twice, &taken_again));
        assert(taken_again == buf_len(&once));
        assert(slice_eq(buf_peek(&once), buf_peek(&twice)));
    }
    buf_free(&once);
    buf_free(&twice);
    assert(mem_live() == 0);
    return 0;
}
