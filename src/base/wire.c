/*
 * wire.c: the read and write cursors.
 */
#include "base/wire.h"

#include <assert.h>
#include <string.h>

void
rd_init(struct rd *r, struct slice s)
{
    r->p = s.p;
    r->end = s.n == 0 ? s.p : s.p + s.n;
    r->err = ERR_OK;
}

/* The next ${n} bytes, or NULL (and the error set) when there are fewer or an error came before. */
static const uint8_t *
take(struct rd *r, size_t n)
{
    const uint8_t *at = r->p;

    if (r->err != ERR_OK)
        return NULL;
    if (n > rd_left(r)) {
        r->err = ERR_SHORT;
        return NULL;
    }
    r->p += n;
    return at;
}

uint8_t
rd_u8(struct rd *r)
{
    const uint8_t *p = take(r, 1);

    return p == NULL ? 0 : *p;
}

uint16_t
rd_be16(struct rd *r)
{
    const uint8_t *p = take(r, 2);

    return p == NULL ? 0 : load_be16(p);
}

uint32_t
rd_be32(struct rd *r)
{
    const uint8_t *p = take(r, 4);

    return p == NULL ? 0 : load_be32(p);
}

uint64_t
rd_be64(struct rd *r)
{
    const uint8_t *p = take(r, 8);

    return p == NULL ? 0 : load_be64(p);
}

uint16_t
rd_le16(struct rd *r)
{
    const uint8_t *p = take(r, 2);

    return p == NULL ? 0 : load_le16(p);
}

uint32_t
rd_le32(struct rd *r)
{
    const uint8_t *p = take(r, 4);

    return p == NULL ? 0 : load_le32(p);
}

uint64_t
rd_le64(struct rd *r)
{
    const uint8_t *p = take(r, 8);

    return p == NULL ? 0 : load_le64(p);
}

struct slice
rd_bytes(struct rd *r, size_t n)
{
    const uint8_t *p = n == 0 ? NULL : take(r, n);

    if (n == 0 && r->err == ERR_OK)
        return slice_make(r->p, 0);
    return p == NULL ? slice_make(NULL, 0) : slice_make(p, n);
}

void
rd_fail(struct rd *r, enum err err)
{
    if (r->err == ERR_OK)
        r->err = err;
}

enum err
rd_done(struct rd *r)
{
    if (r->err == ERR_OK && rd_left(r) > 0)
        r->err = ERR_BAD;
    return r->err;
}

void
wr_init(struct wr *w, struct buf *out)
{
    w->out = out;
    w->base = buf_len(out);
    w->err = ERR_OK;
}

void
wr_bytes(struct wr *w, struct slice s)
{
    if (w->err == ERR_OK)
        w->err = buf_add(w->out, s);
}

void
wr_u8(struct wr *w, uint8_t v)
{
    wr_bytes(w, slice_make(&v, 1));
}

void
wr_be16(struct wr *w, uint16_t v)
{
    uint8_t bytes[2];

    store_be16(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_be32(struct wr *w, uint32_t v)
{
    uint8_t bytes[4];

    store_be32(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_be64(struct wr *w, uint64_t v)
{
    uint8_t bytes[8];

    store_be64(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_le16(struct wr *w, uint16_t v)
{
    uint8_t bytes[2];

    store_le16(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_le32(struct wr *w, uint32_t v)
{
    uint8_t bytes[4];

    store_le32(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_le64(struct wr *w, uint64_t v)
{
    uint8_t bytes[8];

    store_le64(bytes, v);
    wr_bytes(w, slice_make(bytes, sizeof(bytes)));
}

void
wr_fail(struct wr *w, enum err err)
{
    if (w->err == ERR_OK)
        w->err = err;
}

size_t
wr_hole(struct wr *w, size_t n)
{
    size_t at = wr_since(w, 0);

    if (w->err != ERR_OK)
        return at;

    uint8_t *to = buf_reserve(w->out, n);
    if (to == NULL) {
        w->err = ERR_NOMEM;
        return at;
    }
    memset(to, 0, n);
    buf_commit(w->out, n);
    return at;
}

size_t
wr_since(const struct wr *w, size_t offset)
{
    size_t written = buf_len(w->out) - w->base;

    return written > offset ? written - offset : 0;
}

/* Where a hole of ${n} bytes lies, or NULL after an error. */
static uint8_t *
hole(const struct wr *w, size_t at, size_t n)
{
    if (w->err != ERR_OK)
        return NULL;
    assert(wr_since(w, at) >= n);
    return w->out->data + w->out->head + w->base + at;
}

void
wr_fill_be16(struct wr *w, size_t at, uint16_t v)
{
    uint8_t *p = hole(w, at, 2);

    if (p != NULL)
        store_be16(p, v);
}

void
wr_fill_be32(struct wr *w, size_t at, uint32_t v)
{
    uint8_t *p = hole(w, at, 4);

    if (p != NULL)
        store_be32(p, v);
}

void
wr_fill_le32(struct wr *w, size_t at, uint32_t v)
{
    uint8_t *p = hole(w, at, 4);

    if (p != NULL)
        store_le32(p, v);
}

enum err
wr_done(struct wr *w)
{
    if (w->err != ERR_OK)
        buf_cut(w->out, w->base);
    return w->err;
}
