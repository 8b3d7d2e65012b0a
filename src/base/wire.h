/*
 * wire.h: cursors for reading and writing binary forms, byte by byte, whatever the machine's order.
 *
 * The first error sticks: decoding reads as a straight list of calls and is checked once at the
 * end. After an error every read gives 0 or an empty slice, and every write does nothing.
 */
#ifndef SINKD_BASE_WIRE_H
#define SINKD_BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct rd {
    const uint8_t *p, *end;
    enum err err; /* ERR_OK, ERR_SHORT (the input ends too early) or ERR_BAD */
};

void rd_init(struct rd *r, struct slice s);
uint8_t rd_u8(struct rd *r);
uint16_t rd_be16(struct rd *r);
uint32_t rd_be32(struct rd *r);
uint64_t rd_be64(struct rd *r);
uint16_t rd_le16(struct rd *r);
uint32_t rd_le32(struct rd *r);
uint64_t rd_le64(struct rd *r);
struct slice rd_bytes(struct rd *r, size_t n);

static inline size_t
rd_left(const struct rd *r)
{
    return (size_t)(r->end - r->p);
}

/* rd_fail(r, err): what was read makes no sense; keeps an earlier error. */
void rd_fail(struct rd *r, enum err err);

/* rd_done(r): the sticky error; ERR_BAD if all went well but bytes are left over. */
enum err rd_done(struct rd *r) MUST_USE;

struct wr {
    struct buf *out;
    size_t base; /* length of ${out} at wr_init: what an error takes it back to */
    enum err
        err; /* ERR_OK, ERR_NOMEM (at the buffer's maximum) or ERR_RANGE (a value over a limit) */
};

void wr_init(struct wr *w, struct buf *out);
void wr_u8(struct wr *w, uint8_t v);
void wr_be16(struct wr *w, uint16_t v);
void wr_be32(struct wr *w, uint32_t v);
void wr_be64(struct wr *w, uint64_t v);
void wr_le16(struct wr *w, uint16_t v);
void wr_le32(struct wr *w, uint32_t v);
void wr_le64(struct wr *w, uint64_t v);
void wr_bytes(struct wr *w, struct slice s);
void wr_fail(struct wr *w, enum err err);

/* wr_hole(w, n): ${n} bytes that are filled in later; returns their offset from the base.
 * wr_since(w, offset): bytes written since that offset. */
size_t wr_hole(struct wr *w, size_t n);
size_t wr_since(const struct wr *w, size_t offset);
void wr_fill_be16(struct wr *w, size_t hole, uint16_t v);
void wr_fill_be32(struct wr *w, size_t hole, uint32_t v);
void wr_fill_le32(struct wr *w, size_t hole, uint32_t v);

/* wr_done(w): the sticky error; on an error ${out} is as it was at wr_init. */
enum err wr_done(struct wr *w) MUST_USE;

/* Plain loads and stores at any address. Bytes are put together by shifts, so neither the machine's
 * order nor alignment matters; compilers make one instruction of it where the machine has one. */
static inline uint16_t
load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static inline uint32_t
load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t
load_le64(const uint8_t *p)
{
    return (uint64_t)load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

static inline uint16_t
load_be16(const uint8_t *p)
{
    return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}

static inline uint32_t
load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t
load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p) << 32 | (uint64_t)load_be32(p + 4);
}

static inline void
store_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v & 0xff);
    p[1] = (uint8_t)(v >> 8);
}

static inline void
store_le32(uint8_t *p, uint32_t v)
{
    store_le16(p, (uint16_t)(v & 0xffff));
    store_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void
store_le64(uint8_t *p, uint64_t v)
{
    store_le32(p, (uint32_t)(v & 0xffffffff));
    store_le32(p + 4, (uint32_t)(v >> 32));
}

static inline void
store_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)(v & 0xff);
}

static inline void
store_be32(uint8_t *p, uint32_t v)
{
    store_be16(p, (uint16_t)(v >> 16));
    store_be16(p + 2, (uint16_t)(v & 0xffff));
}

static inline void
store_be64(uint8_t *p, uint64_t v)
{
    store_be32(p, (uint32_t)(v >> 32));
    store_be32(p + 4, (uint32_t)(v & 0xffffffff));
}

#endif
