/*
 * msgpack_write.c: picks the shortest form of each value and writes it.
 */
#include "msgpack/msgpack_write.h"

#include <string.h>

#define EXT_TIMESTAMP (-1)

void
msgpack_write_nil(struct wr *w)
{
    wr_u8(w, 0xc0);
}

void
msgpack_write_bool(struct wr *w, bool value)
{
    wr_u8(w, value ? 0xc3 : 0xc2);
}

/* Room for the ${n} bytes of a value, which the caller fills; NULL after an error. */
static uint8_t *
room_for(struct wr *w, size_t n)
{
    uint8_t *room = w->err == ERR_OK ? buf_reserve(w->out, n) : NULL;

    if (room == NULL)
        wr_fail(w, ERR_NOMEM);
    else
        buf_commit(w->out, n);
    return room;
}

/* The form byte for one, two, four or eight bytes is ${form} + 0, 1, 2 or 3, and the bytes
 * follow. */
static size_t
store_sized(uint8_t *p, uint8_t form, unsigned size_log2, uint64_t value)
{
    p[0] = (uint8_t)(form + size_log2);
    switch (size_log2) {
    case 0:
        p[1] = (uint8_t)(value & 0xff);
        return 2;
    case 1:
        store_be16(p + 1, (uint16_t)(value & 0xffff));
        return 3;
    case 2:
        store_be32(p + 1, (uint32_t)(value & 0xffffffff));
        return 5;
    default:
        store_be64(p + 1, value);
        return 9;
    }
}

static void
put_sized(struct wr *w, uint8_t form, unsigned size_log2, uint64_t value)
{
    uint8_t bytes[9];

    wr_bytes(w, slice_make(bytes, store_sized(bytes, form, size_log2, value)));
}

void
msgpack_write_u64(struct wr *w, uint64_t value)
{
    if (value < 0x80)
        wr_u8(w, (uint8_t)value);
    else
        put_sized(w, 0xcc,
                  value <= 0xff         ? 0
                  : value <= 0xffff     ? 1
                  : value <= 0xffffffff ? 2
                                        : 3,
                  value);
}

void
msgpack_write_i64(struct wr *w, int64_t value)
{
    if (value >= 0)
        msgpack_write_u64(w, (uint64_t)value);
    else if (value >= -32)
        wr_u8(w, (uint8_t)(256 + value));
    else
        put_sized(w, 0xd0,
                  value >= INT8_MIN    ? 0
                  : value >= INT16_MIN ? 1
                  : value >= INT32_MIN ? 2
                                       : 3,
                  (uint64_t)value);
}

void
msgpack_write_f32(struct wr *w, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    wr_u8(w, 0xca);
    wr_be32(w, bits);
}

void
msgpack_write_f64(struct wr *w, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_sized(w, 0xc8, 3, bits); /* 0xcb */
}

/* A length or count in one, two or four bytes, from the form byte of the narrowest one on. */
static void
put_length(struct wr *w, uint8_t form, size_t n, bool has_one_byte)
{
    uint8_t first = has_one_byte ? form : (uint8_t)(form - 1);

    if ((uint64_t)n > UINT32_MAX)
        wr_fail(w, ERR_RANGE);
    else
        put_sized(w, first, has_one_byte && n <= 0xff ? 0 : n <= 0xffff ? 1 : 2, n);
}

void
msgpack_write_str_head(struct wr *w, size_t length)
{
    if (length < 32)
        wr_u8(w, (uint8_t)(0xa0 + length));
    else
        put_length(w, 0xd9, length, true);
}

void
msgpack_write_str(struct wr *w, struct slice s)
{
    uint8_t *room;

    if (s.n >= 32) {
        msgpack_write_str_head(w, s.n);
        wr_bytes(w, s);
        return;
    }
    room = room_for(w, 1 + s.n);
    if (room == NULL)
        return;
    room[0] = (uint8_t)(0xa0 + s.n);
    if (s.n > 0)
        memcpy(room + 1, s.p, s.n);
}

void
msgpack_write_text(struct wr *w, const char *text)
{
    msgpack_write_str(w, slice_of(text));
}

void
msgpack_write_bin(struct wr *w, struct slice s)
{
    put_length(w, 0xc4, s.n, true);
    wr_bytes(w, s);
}

void
msgpack_write_array(struct wr *w, size_t count)
{
    if (count < 16)
        wr_u8(w, (uint8_t)(0x90 + count));
    else
        put_length(w, 0xdc, count, false);
}

void
msgpack_write_map(struct wr *w, size_t count)
{
    if (count < 16)
        wr_u8(w, (uint8_t)(0x80 + count));
    else
        put_length(w, 0xde, count, false);
}

void
msgpack_write_ext(struct wr *w, int8_t type, struct slice s)
{
    switch (s.n) {
    case 1:
        wr_u8(w, 0xd4);
        break;
    case 2:
        wr_u8(w, 0xd5);
        break;
    case 4:
        wr_u8(w, 0xd6);
        break;
    case 8:
        wr_u8(w, 0xd7);
        break;
    case 16:
        wr_u8(w, 0xd8);
        break;
    default:
        put_length(w, 0xc7, s.n, true);
        break;
    }
    wr_u8(w, (uint8_t)(type < 0 ? 256 + type : type));
    wr_bytes(w, s);
}

/* 4 bytes of seconds; or 30 bits of nanoseconds above 34 bits of seconds; or both in full. */
void
msgpack_write_timestamp(struct wr *w, int64_t seconds, uint32_t ns)
{
    uint8_t bytes[12];
    size_t n = sizeof(bytes);

    if (ns > 999999999) {
        wr_fail(w, ERR_RANGE);
        return;
    }
    if (ns == 0 && seconds >= 0 && seconds <= (int64_t)UINT32_MAX) {
        store_be32(bytes, (uint32_t)seconds);
        n = 4;
    } else if (seconds >= 0 && (uint64_t)seconds >> 34 == 0) {
        store_be64(bytes, (uint64_t)ns << 34 | (uint64_t)seconds);
        n = 8;
    } else {
        store_be32(bytes, ns);
        store_be64(bytes + 4, (uint64_t)seconds);
    }
    msgpack_write_ext(w, EXT_TIMESTAMP, slice_make(bytes, n));
}
