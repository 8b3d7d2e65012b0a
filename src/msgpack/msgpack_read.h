/*
 * msgpack_read.h: MessagePack values, read one after another from a read cursor.
 *
 * Not for: building a tree. A typed reader takes the next value and fails with ERR_BAD when it is
 * of another type; any legal form of a value is taken, not only the shortest. Slices are loans from
 * the input. Errors stick in the cursor: ERR_SHORT (the input ends inside a value), ERR_BAD. After
 * one, every reader gives 0, false or an empty slice.
 * Source: the MessagePack specification, https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef SINKD_MSGPACK_MSGPACK_READ_H
#define SINKD_MSGPACK_MSGPACK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/wire.h"

enum msgpack_type {
    MSGPACK_NONE, /* no bytes left, an earlier error, or a byte that begins nothing (0xc1) */
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_UINT, /* an integer in a form without a sign: read it with _u64 (or _i64 if it fits) */
    MSGPACK_INT,  /* an integer in a form with a sign: read it with _i64 */
    MSGPACK_FLOAT,
    MSGPACK_STR,
    MSGPACK_BIN,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
    MSGPACK_EXT
};

/* msgpack_read_peek(r): the type of the next value; nothing is taken and no error is set. */
enum msgpack_type msgpack_read_peek(const struct rd *r);

void msgpack_read_nil(struct rd *r);
bool msgpack_read_bool(struct rd *r);

/* Integers in any form; ERR_BAD when the value does not fit. */
uint64_t msgpack_read_u64(struct rd *r);
int64_t msgpack_read_i64(struct rd *r);

/* Floating point in either width (a float is a double exactly); integers are not taken. */
double msgpack_read_f64(struct rd *r);

/* msgpack_read_str(r): the bytes; that they are UTF-8 is not checked. */
struct slice msgpack_read_str(struct rd *r);
struct slice msgpack_read_bin(struct rd *r);

/*
 * msgpack_read_array(r), msgpack_read_map(r):
 * The count of values, of pairs. ERR_SHORT at once when the input cannot hold that many (a byte a
 * value), so that a loop over the count is bounded by the input.
 */
uint32_t msgpack_read_array(struct rd *r);
uint32_t msgpack_read_map(struct rd *r);

/* msgpack_read_ext(r, type): the bytes and, in ${type}, whose they are (0 after an error). */
struct slice msgpack_read_ext(struct rd *r, int8_t *type);

/* msgpack_read_timestamp(r, seconds, ns): extension -1 in each of its three widths; ${ns} is 0 to
 * 999999999, else ERR_BAD. Both are 0 after an error. */
void msgpack_read_timestamp(struct rd *r, int64_t *seconds, uint32_t *ns);

/* How deep arrays and maps may lie in a value that is skipped. What walks values should keep to
 * it. */
#define MSGPACK_DEPTH_MAX 32

/* msgpack_read_skip(r): the bytes of the next value, whatever it is, with all it holds.
 * ERR_BAD when it lies deeper than MSGPACK_DEPTH_MAX. */
struct slice msgpack_read_skip(struct rd *r);

#endif
