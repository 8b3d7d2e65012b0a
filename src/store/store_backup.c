/*
 * store_backup.c: meta.bak: written at each change of a definition, loaded into an emptied log, so
 * that sinks and users survive their log, and nobody can become the first admin of an empty one.
 */
#include "base/log.h"
#include "base/wire.h"
#include "store/meta_backup.h"
#include "store/store_internal.h"

static bool
is_own(struct slice key)
{
    return slice_eq(key, SLICE("node")) || slice_eq(key, SLICE("schema"));
}

static enum err
pack_sinks(struct lmdb_store_view *v, struct buf *out, struct meta_backup *b, struct errinfo *info)
{
    struct slice key = {0}, value;
    enum lmdb_store_move move = LMDB_STORE_FIRST;
    enum err err;

    while ((err = lmdb_store_seek(v, LMDB_STORE_CURSOR, move, &key, &value, info)) == ERR_OK) {
        move = LMDB_STORE_NEXT;
        if (key.n != 4 || load_be32(key.p) == 0)
            continue;
        if (meta_backup_sink(out, load_be32(key.p)) != ERR_OK)
            return errinfo_set(info, ERR_NOMEM, "no memory for meta.bak");
        b->sinks++;
    }
    return err == ERR_EOF ? ERR_OK : err;
}

static enum err
pack_pairs(struct lmdb_store_view *v, struct buf *out, struct meta_backup *b, struct errinfo *info)
{
    struct slice key = {0}, value;
    enum lmdb_store_move move = LMDB_STORE_FIRST;
    enum err err;

    while ((err = lmdb_store_seek(v, LMDB_STORE_META, move, &key, &value, info)) == ERR_OK) {
        move = LMDB_STORE_NEXT;
        if (is_own(key))
            continue;
        if (meta_backup_pair(out, key, value) != ERR_OK)
            return errinfo_set(info, ERR_NOMEM, "no memory for meta.bak, or over its limit");
        b->pairs++;
    }
    return err == ERR_EOF ? ERR_OK : err;
}

/* Room for all of it at once: a buffer that grows leaves copies of secrets behind. */
static size_t
size_of(struct lmdb_store_view *v)
{
    struct slice key = {0}, value;
    enum lmdb_store_move move = LMDB_STORE_FIRST;
    size_t size = META_BACKUP_HEAD + 4 * STORE_SINKS_MAX;

    while (lmdb_store_seek(v, LMDB_STORE_META, move, &key, &value, NULL) == ERR_OK) {
        move = LMDB_STORE_NEXT;
        size += 8 + key.n + value.n;
    }
    return size;
}

enum err
store_backup_meta(struct store *s, struct errinfo *info)
{
    struct meta_backup b = {.next_sink = s->work.next_sink, .moved = s->work.moved};
    struct lmdb_store_view *v = NULL;
    struct buf out;
    enum err err = lmdb_store_view_open(&v, s->lmdb, info);

    if (err != ERR_OK)
        return err;
    buf_init(&out, META_BACKUP_MAX);
    err = lmdb_store_view_renew(v, info);
    if (err == ERR_OK &&
        (buf_reserve(&out, size_of(v)) == NULL || meta_backup_begin(&out) != ERR_OK))
        err = errinfo_set(info, ERR_NOMEM, "no memory for meta.bak, or over its limit");
    if (err == ERR_OK && (err = pack_sinks(v, &out, &b, info)) == ERR_OK)
        err = pack_pairs(v, &out, &b, info);
    lmdb_store_view_close(v);
    if (err == ERR_OK) {
        meta_backup_end(&out, &b);
        err = folder_write(&s->folder, STORE_BACKUP_NAME, buf_peek(&out), info);
    }
    buf_wipe(&out);
    return err;
}

static enum err
put_back(struct store *s, struct meta_backup *b, struct errinfo *info)
{
    struct store_record record = {0};
    struct slice key, value;
    enum err err = ERR_OK;

    while (err == ERR_OK && b->sinks > 0) {
        record.sink = meta_backup_take_sink(b);
        if (record.sink != 0)
            err = store_put_record(s, &record, info);
    }
    while (err == ERR_OK && b->pairs > 0) {
        meta_backup_take_pair(b, &key, &value);
        err = store_put_meta(s, key, value, info);
    }
    return err;
}

enum err
store_restore_meta(struct store *s, struct errinfo *info)
{
    struct meta_backup b;
    struct buf bytes;
    enum err err;

    buf_init(&bytes, META_BACKUP_MAX);
    err = folder_read(&s->folder, STORE_BACKUP_NAME, &bytes, info);
    if (err == ERR_OK) {
        err = meta_backup_open(buf_peek(&bytes), &b);
        if (err != ERR_OK)
            err = errinfo_set(
                info, ERR_CONFIG,
                "%.60s/meta.bak, the copy of the definitions, cannot be used either: remove it "
                "to start without sinks and users",
                s->folder.dir);
    }
    if (err == ERR_OK) {
        uint32_t pairs = b.pairs;
        uint32_t next = b.next_sink;

        s->work.moved += b.moved;
        err = put_back(s, &b, info);
        if (next > s->work.next_sink)
            s->work.next_sink = next;
        if (err == ERR_OK)
            log_warn("store", "%lu definitions were loaded from meta.bak into an empty log",
                     (unsigned long)pairs);
    }
    buf_wipe(&bytes);
    return err;
}
