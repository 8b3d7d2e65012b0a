/*
 * msgpack_read.c: reads the head of a value (its form byte with the number or length behind it),
 * then what that asks for. Nothing here recurses: what is skipped keeps a small stack of counts.
 */
#include "msgpack/msgpack_read.h"

#include <string.h>

#define EXT_TIMESTAMP (-1)

/* What the form bytes 0xc0 to 0xdf say; the others carry their value or length themselves. */
static const struct form {
    uint8_t type;
    uint8_t width; /* bytes of the number or length that follow */
    uint8_t value; /* without them: a truth value or a length */
} forms[32] = {
    [0x00] = {MSGPACK_NIL, 0, 0},  [0x01] = {MSGPACK_NONE, 0, 0},  [0x02] = {MSGPACK_BOOL, 0, 0},
    [0x03] = {MSGPACK_BOOL, 0, 1}, [0x04] = {MSGPACK_BIN, 1, 0},   [0x05] = {MSGPACK_BIN, 2, 0},
    [0x06] = {MSGPACK_BIN, 4, 0},  [0x07] = {MSGPACK_EXT, 1, 0},   [0x08] = {MSGPACK_EXT, 2, 0},
    [0x09] = {MSGPACK_EXT, 4, 0},  [0x0a] = {MSGPACK_FLOAT, 4, 0}, [0x0b] = {MSGPACK_FLOAT, 8, 0},
    [0x0c] = {MSGPACK_UINT, 1, 0}, [0x0d] = {MSGPACK_UINT, 2, 0},  [0x0e] = {MSGPACK_UINT, 4, 0},
    [0x0f] = {MSGPACK_UINT, 8, 0}, [0x10] = {MSGPACK_INT, 1, 0},   [0x11] = {MSGPACK_INT, 2, 0},
    [0x12] = {MSGPACK_INT, 4, 0},  [0x13] = {MSGPACK_INT, 8, 0},   [0x14] = {MSGPACK_EXT, 0, 1},
    [0x15] = {MSGPACK_EXT, 0, 2},  [0x16] = {MSGPACK_EXT, 0, 4},   [0x17] = {MSGPACK_EXT, 0, 8},
    [0x18] = {MSGPACK_EXT, 0, 16}, [0x19] = {MSGPACK_STR, 1, 0},   [0x1a] = {MSGPACK_STR, 2, 0},
    [0x1b] = {MSGPACK_STR, 4, 0},  [0x1c] = {MSGPACK_ARRAY, 2, 0}, [0x1d] = {MSGPACK_ARRAY, 4, 0},
    [0x1e] = {MSGPACK_MAP, 2, 0},  [0x1f] = {MSGPACK_MAP, 4, 0},
};

struct head {
    enum msgpack_type type;
    unsigned width;
    uint64_t value; /* the number (a negative one in two's complement), its bits, or the length */
};

/* The form of a byte, with the value of those that carry it. */
static struct head
head_of(uint8_t byte)
{
    if (byte < 0x80)
        return (struct head){MSGPACK_UINT, 0, byte};
    if (byte < 0x90)
        return (struct head){MSGPACK_MAP, 0, byte & 0x0fU};
    if (byte < 0xa0)
        return (struct head){MSGPACK_ARRAY, 0, byte & 0x0fU};
    if (byte < 0xc0)
        return (struct head){MSGPACK_STR, 0, byte & 0x1fU};
    if (byte >= 0xe0)
        return (struct head){MSGPACK_INT, 0, UINT64_C(0) - (256U - byte)};

    const struct form *form = &forms[byte - 0xc0];
    return (struct head){(enum msgpack_type)form->type, form->width, form->value};
}

static uint64_t
read_number(struct rd *r, unsigned width)
{
    switch (width) {
    case 1:
        return rd_u8(r);
    case 2:
        return rd_be16(r);
    case 4:
        return rd_be32(r);
    default:
        return rd_be64(r);
    }
}

/* The head of the next value; of type NONE once there is an error. */
static struct head
read_head(struct rd *r)
{
    uint8_t byte = rd_u8(r);
    struct head h = head_of(byte);

    if (r->err == ERR_OK && h.type == MSGPACK_NONE)
        rd_fail(r, ERR_BAD);
    if (r->err == ERR_OK && h.width > 0)
        h.value = read_number(r, h.width);
    if (h.type == MSGPACK_INT && h.width > 0 && h.width < 8) {
        uint64_t sign = UINT64_C(1) << (8 * h.width - 1);
        h.value = (h.value ^ sign) - sign;
    }
    return r->err == ERR_OK ? h : (struct head){MSGPACK_NONE, 0, 0};
}

/* As read_head; ERR_BAD and value 0 when it is of another type. */
static struct head
read_head_of(struct rd *r, enum msgpack_type type)
{
    struct head h = read_head(r);

    if (h.type == type)
        return h;
    rd_fail(r, ERR_BAD);
    return (struct head){MSGPACK_NONE, 0, 0};
}

enum msgpack_type
msgpack_read_peek(const struct rd *r)
{
    return r->err != ERR_OK || rd_left(r) == 0 ? MSGPACK_NONE : head_of(*r->p).type;
}

void
msgpack_read_nil(struct rd *r)
{
    (void)read_head_of(r, MSGPACK_NIL);
}

bool
msgpack_read_bool(struct rd *r)
{
    return read_head_of(r, MSGPACK_BOOL).value != 0;
}

static bool
is_negative(struct head h)
{
    return h.type == MSGPACK_INT && h.value > (uint64_t)INT64_MAX;
}

uint64_t
msgpack_read_u64(struct rd *r)
{
    struct head h = read_head(r);

    if ((h.type == MSGPACK_UINT || h.type == MSGPACK_INT) && !is_negative(h))
        return h.value;
    rd_fail(r, ERR_BAD);
    return 0;
}

int64_t
msgpack_read_i64(struct rd *r)
{
    struct head h = read_head(r);

    if (is_negative(h))
        return -(int64_t)~h.value - 1;
    if ((h.type == MSGPACK_UINT || h.type == MSGPACK_INT) && h.value <= (uint64_t)INT64_MAX)
        return (int64_t)h.value;
    rd_fail(r, ERR_BAD);
    return 0;
}

double
msgpack_read_f64(struct rd *r)
{
    struct head h = read_head_of(r, MSGPACK_FLOAT);
    uint32_t narrow_bits = (uint32_t)(h.value & UINT32_MAX);
    float narrow;
    double wide;

    if (h.width == 4) {
        memcpy(&narrow, &narrow_bits, sizeof(narrow));
        return (double)narrow;
    }
    memcpy(&wide, &h.value, sizeof(wide));
    return wide;
}

/* A length is 32 bits at most, so it fits in size_t wherever the bytes could be there at all. */
static struct slice
read_bytes(struct rd *r, uint64_t n)
{
    if (n > rd_left(r)) {
        rd_fail(r, ERR_SHORT);
        return slice_make(NULL, 0);
    }
    return rd_bytes(r, (size_t)n);
}

struct slice
msgpack_read_str(struct rd *r)
{
    return read_bytes(r, read_head_of(r, MSGPACK_STR).value);
}

struct slice
msgpack_read_bin(struct rd *r)
{
    return read_bytes(r, read_head_of(r, MSGPACK_BIN).value);
}

/* Checks a count against what is left; ${each} bytes are the least that an element takes. */
static uint32_t
check_count(struct rd *r, uint64_t count, unsigned each)
{
    if (count * each <= rd_left(r))
        return (uint32_t)count;
    rd_fail(r, ERR_SHORT);
    return 0;
}

uint32_t
msgpack_read_array(struct rd *r)
{
    return check_count(r, read_head_of(r, MSGPACK_ARRAY).value, 1);
}

uint32_t
msgpack_read_map(struct rd *r)
{
    return check_count(r, read_head_of(r, MSGPACK_MAP).value, 2);
}

struct slice
msgpack_read_ext(struct rd *r, int8_t *type)
{
    struct head h = read_head_of(r, MSGPACK_EXT);
    int number = h.type == MSGPACK_EXT ? rd_u8(r) : 0;
    struct slice bytes = read_bytes(r, h.value);

    if (r->err != ERR_OK)
        number = 0;
    *type = (int8_t)(number < 128 ? number : number - 256);
    return bytes;
}

void
msgpack_read_timestamp(struct rd *r, int64_t *seconds, uint32_t *ns)
{
    int8_t type;
    struct slice s = msgpack_read_ext(r, &type);
    uint64_t raw_seconds = 0, raw_ns = 0;

    if (s.n == 4) {
        raw_seconds = load_be32(s.p);
    } else if (s.n == 8) {
        raw_seconds = load_be64(s.p) & ((UINT64_C(1) << 34) - 1);
        raw_ns = load_be64(s.p) >> 34;
    } else if (s.n == 12) {
        raw_seconds = load_be64(s.p + 4);
        raw_ns = load_be32(s.p);
    } else {
        rd_fail(r, ERR_BAD);
    }
    if (type != EXT_TIMESTAMP || raw_ns > 999999999)
        rd_fail(r, ERR_BAD);
    if (r->err != ERR_OK)
        raw_seconds = raw_ns = 0;
    *seconds =
        raw_seconds > (uint64_t)INT64_MAX ? -(int64_t)~raw_seconds - 1 : (int64_t)raw_seconds;
    *ns = (uint32_t)raw_ns;
}

/* Takes one value's own bytes; returns how many values it holds that still lie ahead. */
static uint64_t
skip_shallow(struct rd *r)
{
    struct head h = read_head(r);

    switch (h.type) {
    case MSGPACK_STR:
    case MSGPACK_BIN:
        (void)read_bytes(r, h.value);
        return 0;
    case MSGPACK_EXT:
        (void)read_bytes(r, h.value + 1);
        return 0;
    case MSGPACK_ARRAY:
        return check_count(r, h.value, 1);
    case MSGPACK_MAP:
        return 2 * (uint64_t)check_count(r, h.value, 2);
    case MSGPACK_NONE:
    case MSGPACK_NIL:
    case MSGPACK_BOOL:
    case MSGPACK_UINT:
    case MSGPACK_INT:
    case MSGPACK_FLOAT:
        return 0;
    }
    return 0;
}

struct slice
msgpack_read_skip(struct rd *r)
{
    uint64_t left[MSGPACK_DEPTH_MAX + 1] = {1}; /* values still ahead on each level */
    const uint8_t *begin = r->p;
    size_t depth = 0;

    while (r->err == ERR_OK) {
        while (depth > 0 && left[depth] == 0)
            depth--;
        if (left[depth] == 0)
            return slice_make(begin, (size_t)(r->p - begin));
        left[depth]--;
        uint64_t inside = skip_shallow(r);
        if (inside == 0)
            continue;
        if (depth == MSGPACK_DEPTH_MAX)
            rd_fail(r, ERR_BAD);
        else
            left[++depth] = inside;
    }
    return slice_make(NULL, 0);
}
