/*
 * buf.h: a linear, bounded byte buffer.
 *
 * Bytes are put in at the tail and taken out at the head. It grows by doubling up to its maximum
 * and never beyond it: the maximum is what bounds memory everywhere. A slice or pointer into the
 * buffer is valid until the next call that is not a peek. Growing may leave copies of the content
 * in freed memory: for secrets, reserve what is needed first.
 */
#ifndef SINKD_BASE_BUF_H
#define SINKD_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

struct buf {
    uint8_t *data;
    size_t head, tail; /* the content is data[head .. tail) */
    size_t cap, max;   /* allocated; largest allowed content */
};

/* buf_init(b, max): an empty buffer that allocates nothing yet. buf_free() gives the memory back
 * and leaves a buffer that can be used again. */
void buf_init(struct buf *b, size_t max);
void buf_free(struct buf *b);

/* buf_wipe(b): as buf_free, but what it held is overwritten first. For content with secrets. */
void buf_wipe(struct buf *b);

/* buf_clear(b): drop the content, keep the memory. */
void buf_clear(struct buf *b);

static inline size_t
buf_len(const struct buf *b)
{
    return b->tail - b->head;
}

/* buf_peek(b): the content. */
static inline struct slice
buf_peek(const struct buf *b)
{
    return slice_make(b->data == NULL ? NULL : b->data + b->head, b->tail - b->head);
}

/* buf_consume(b, n): drop ${n} bytes at the head; n <= buf_len(b). */
void buf_consume(struct buf *b, size_t n);

/* buf_cut(b, length): drop what lies behind the first ${length} bytes: to take back what was
 * added. */
void buf_cut(struct buf *b, size_t length);

/*
 * buf_reserve(b, n):
 * Room for ${n} more bytes at the tail. Returns where to put them, or NULL: over the maximum, or no
 * memory. buf_commit(b, n): the first ${n} of them were filled in.
 */
uint8_t *buf_reserve(struct buf *b, size_t n) MUST_USE;
void buf_commit(struct buf *b, size_t n);

/* Append; ERR_NOMEM when over the maximum or out of memory, and then nothing was added. */
enum err buf_add(struct buf *b, struct slice s) MUST_USE;
enum err buf_add_byte(struct buf *b, uint8_t byte) MUST_USE;
enum err buf_add_text(struct buf *b, const char *text) MUST_USE;
enum err buf_printf(struct buf *b, const char *format, ...) MUST_USE PRINTF_LIKE(2, 3);

#endif
