/*
 * buf.c: the linear, bounded byte buffer.
 * Not for: sharing between threads, or keeping bytes in a ring.
 */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_CAP 64

void
buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void
buf_free(struct buf *b)
{
    mem_free(b->data);
    buf_init(b, b->max);
}

void
buf_wipe(struct buf *b)
{
    if (b->data != NULL)
        mem_wipe(b->data, b->cap);
    buf_free(b);
}

void
buf_clear(struct buf *b)
{
    b->head = b->tail = 0;
}

void
buf_consume(struct buf *b, size_t n)
{
    assert(n <= buf_len(b));
    b->head += n;
    if (b->head == b->tail)
        buf_clear(b);
}

void
buf_cut(struct buf *b, size_t length)
{
    if (length < buf_len(b))
        b->tail = b->head + length;
}

/* Moves the content to the front of the memory. */
static void
compact(struct buf *b)
{
    if (b->head == 0)
        return;
    memmove(b->data, b->data + b->head, buf_len(b));
    b->tail -= b->head;
    b->head = 0;
}

/* Makes the memory hold at least ${need} <= max bytes. One byte more than the capacity is
 * allocated: buf_printf needs it for its NUL when the content reaches the maximum. */
static enum err
grow(struct buf *b, size_t need)
{
    size_t cap = b->cap > b->max / 2 ? b->max : b->cap * 2;

    if (cap < FIRST_CAP)
        cap = FIRST_CAP;
    if (cap < need)
        cap = need;
    if (cap > b->max)
        cap = b->max;
    if (cap == SIZE_MAX)
        return ERR_NOMEM;

    uint8_t *data = mem_resize(b->data, cap + 1);
    if (data == NULL)
        return ERR_NOMEM;
    b->data = data;
    b->cap = cap;
    return ERR_OK;
}

uint8_t *
buf_reserve(struct buf *b, size_t n)
{
    size_t len = buf_len(b);

    if (len > b->max || n > b->max - len)
        return NULL;
    if (b->data == NULL || n > b->cap - b->tail) {
        compact(b);
        if ((b->data == NULL || n > b->cap - b->tail) && grow(b, len + n) != ERR_OK)
            return NULL;
    }
    return b->data + b->tail;
}

void
buf_commit(struct buf *b, size_t n)
{
    assert(n <= b->cap - b->tail);
    b->tail += n;
}

enum err
buf_add(struct buf *b, struct slice s)
{
    if (s.n == 0)
        return ERR_OK;

    uint8_t *to = buf_reserve(b, s.n);
    if (to == NULL)
        return ERR_NOMEM;
    memcpy(to, s.p, s.n);
    buf_commit(b, s.n);
    return ERR_OK;
}

enum err
buf_add_byte(struct buf *b, uint8_t byte)
{
    return buf_add(b, slice_make(&byte, 1));
}

enum err
buf_add_text(struct buf *b, const char *text)
{
    return buf_add(b, slice_of(text));
}

enum err
buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    enum err err = ERR_NOMEM;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    uint8_t *to = n < 0 ? NULL : buf_reserve(b, (size_t)n);
    if (to != NULL) {
        (void)vsnprintf((char *)to, (size_t)n + 1, format, again);
        buf_commit(b, (size_t)n);
        err = ERR_OK;
    }
    va_end(again);
    va_end(args);
    return err;
}
