/*
 * msgpack_write.h: MessagePack values, each appended to a write cursor in its shortest form.
 *
 * Not for: deciding what a map holds. An array or map is its count first, then that many values (or
 * keys and values in turn): the caller writes them and owes the count. The shortest form makes the
 * bytes canonical: equal values written in the same order are equal bytes.
 * Errors: sticky in the cursor: ERR_NOMEM (the buffer's maximum), ERR_RANGE (over 4 GiB or 2^32 - 1
 * elements, which the format cannot say).
 * Source: the MessagePack specification, https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef SINKD_MSGPACK_MSGPACK_WRITE_H
#define SINKD_MSGPACK_MSGPACK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/wire.h"

void msgpack_write_nil(struct wr *w);
void msgpack_write_bool(struct wr *w, bool value);

/* Integers: 1, 2, 3, 5 or 9 bytes. A value that is not negative looks the same from both. */
void msgpack_write_u64(struct wr *w, uint64_t value);
void msgpack_write_i64(struct wr *w, int64_t value);

/* Floating point: 5 and 9 bytes; a double is never narrowed, so that its type is kept. */
void msgpack_write_f32(struct wr *w, float value);
void msgpack_write_f64(struct wr *w, double value);

/* msgpack_write_str(w, s): ${s} should be UTF-8; it is not checked. _text: of a NUL-terminated
 * text. */
void msgpack_write_str(struct wr *w, struct slice s);
void msgpack_write_text(struct wr *w, const char *text);
/* msgpack_write_str_head(w, length): the head alone; the caller adds that many bytes. */
void msgpack_write_str_head(struct wr *w, size_t length);
void msgpack_write_bin(struct wr *w, struct slice s);

/* The head of ${count} values, of ${count} pairs of key and value. */
void msgpack_write_array(struct wr *w, size_t count);
void msgpack_write_map(struct wr *w, size_t count);

/* msgpack_write_ext(w, type, s): types 0 to 127 are the application's, negative ones the
 * format's. */
void msgpack_write_ext(struct wr *w, int8_t type, struct slice s);

/* msgpack_write_timestamp(w, seconds, ns): the format's own extension -1, in 4, 8 or 12 bytes;
 * ${seconds} since 1970, ${ns} 0 to 999999999, else ERR_RANGE. */
void msgpack_write_timestamp(struct wr *w, int64_t seconds, uint32_t ns);

#endif
