/*
 * recycle.c: see recycle.h.
 */
#include "base/recycle.h"

void
recycle_take(struct recycle *r, struct buf *b, size_t n)
{
    size_t i = r->count;

    if (b->data != NULL || n < RECYCLE_BYTES_MIN || n > b->max)
        return;
    while (i > 0 && r->kept[i - 1].cap < n) /* the last one given is most likely in the cache */
        i--;
    if (i == 0)
        return;
    b->data = r->kept[i - 1].data;
    b->cap = r->kept[i - 1].cap < b->max ? r->kept[i - 1].cap : b->max;
    buf_clear(b);
    r->kept[i - 1] = r->kept[--r->count];
}

void
recycle_give(struct recycle *r, struct buf *b)
{
    if (b->cap < RECYCLE_BYTES_MIN || b->cap > RECYCLE_BYTES_MAX || r->count == RECYCLE_BLOCKS) {
        buf_free(b);
        return;
    }
    r->kept[r->count++] = *b;
    buf_init(b, b->max);
}

void
recycle_free(struct recycle *r)
{
    while (r->count > 0)
        buf_free(&r->kept[--r->count]);
}
