/*
 * meta_backup.c: the bytes of meta.bak.
 */
#include "store/meta_backup.h"

#include <assert.h>

#include "base/crc32c.h"
#include "base/wire.h"

#define VERSION 1u
static const uint8_t magic[4] = {'S', 'K', 'M', 'B'};

enum err
meta_backup_begin(struct buf *out)
{
    uint8_t *p = buf_reserve(out, META_BACKUP_HEAD);

    assert(buf_len(out) == 0);
    if (p == NULL)
        return ERR_NOMEM;
    memset(p, 0, META_BACKUP_HEAD);
    memcpy(p, magic, sizeof(magic));
    store_le32(p + 4, VERSION);
    buf_commit(out, META_BACKUP_HEAD);
    return ERR_OK;
}

enum err
meta_backup_sink(struct buf *out, uint32_t id)
{
    struct wr w;

    wr_init(&w, out);
    wr_le32(&w, id);
    return wr_done(&w);
}

enum err
meta_backup_pair(struct buf *out, struct slice key, struct slice value)
{
    struct wr w;

    wr_init(&w, out);
    wr_le32(&w, (uint32_t)key.n);
    wr_le32(&w, (uint32_t)value.n);
    wr_bytes(&w, key);
    wr_bytes(&w, value);
    return wr_done(&w);
}

void
meta_backup_end(struct buf *out, const struct meta_backup *b)
{
    uint8_t *p = out->data + out->head;

    assert(buf_len(out) >= META_BACKUP_HEAD);
    store_le32(p + 12, b->next_sink);
    store_le64(p + 16, b->moved);
    store_le32(p + 24, b->sinks);
    store_le32(p + 28, b->pairs);
    store_le32(p + 8, crc32c(0, p + 12, buf_len(out) - 12));
}

enum err
meta_backup_open(struct slice bytes, struct meta_backup *out)
{
    struct meta_backup b = {0};
    struct rd r;
    uint32_t version, crc, i;

    rd_init(&r, bytes);
    if (!slice_eq(rd_bytes(&r, sizeof(magic)), slice_make(magic, sizeof(magic))))
        return ERR_BAD;
    version = rd_le32(&r);
    crc = rd_le32(&r);
    if (r.err != ERR_OK)
        return ERR_BAD;
    if (version != VERSION)
        return ERR_CONFIG;
    if (crc32c(0, r.p, rd_left(&r)) != crc)
        return ERR_BAD;
    b.next_sink = rd_le32(&r);
    b.moved = rd_le64(&r);
    b.sinks = rd_le32(&r);
    b.pairs = rd_le32(&r);
    b.rest = slice_make(r.p, rd_left(&r));
    (void)rd_bytes(&r, (size_t)b.sinks * 4);
    for (i = 0; i < b.pairs && r.err == ERR_OK; i++) {
        size_t key_size = rd_le32(&r), value_size = rd_le32(&r);

        (void)rd_bytes(&r, key_size);
        (void)rd_bytes(&r, value_size);
    }
    if (rd_done(&r) != ERR_OK || b.sinks > UINT16_MAX)
        return ERR_BAD;
    *out = b;
    return ERR_OK;
}

uint32_t
meta_backup_take_sink(struct meta_backup *b)
{
    uint32_t id;

    assert(b->sinks > 0 && b->rest.n >= 4);
    id = load_le32(b->rest.p);
    b->rest = slice_from(b->rest, 4);
    b->sinks--;
    return id;
}

void
meta_backup_take_pair(struct meta_backup *b, struct slice *key, struct slice *value)
{
    struct rd r;
    size_t key_size, value_size;

    assert(b->sinks == 0 && b->pairs > 0);
    rd_init(&r, b->rest);
    key_size = rd_le32(&r);
    value_size = rd_le32(&r);
    *key = rd_bytes(&r, key_size);
    *value = rd_bytes(&r, value_size);
    assert(r.err == ERR_OK);
    b->rest = slice_make(r.p, rd_left(&r));
    b->pairs--;
}
