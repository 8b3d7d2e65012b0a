/*
 * store_walk.c: going over the chunks of the log in a view.
 *
 * The cursor is one chunk ahead of the one given out, since its end is where the next one begins.
 */
#include "base/wire.h"
#include "store/store_internal.h"

static enum err
found(struct store_walk *w, enum err err, struct slice key, struct slice value,
      struct errinfo *info)
{
    uint64_t before = w->more ? w->key : 0;

    w->more = false;
    if (err == ERR_EOF)
        return ERR_OK;
    if (err != ERR_OK)
        return err;
    if (key.n != 8 || load_be64(key.p) <= before || load_be64(key.p) > w->end)
        return errinfo_set(info, ERR_IO, "the log holds a key that cannot be: it is damaged");
    w->key = load_be64(key.p);
    w->value = value;
    w->more = true;
    return ERR_OK;
}

enum err
store_walk_from(struct store_walk *w, struct lmdb_store_view *view, uint64_t after, uint64_t end,
                struct errinfo *info)
{
    uint8_t wanted[8];
    struct slice key = slice_make(wanted, sizeof(wanted)), value = {0};
    enum err err;

    *w = (struct store_walk){.view = view, .end = end};
    if (after >= end)
        return ERR_OK;
    store_be64(wanted, after + 1);
    err = lmdb_store_seek(view, LMDB_STORE_LOG, LMDB_STORE_AT, &key, &value, info);
    if (err == ERR_OK && key.n == 8 && load_be64(key.p) == after + 1)
        return found(w, err, key, value, info);
    if (err != ERR_OK && err != ERR_EOF)
        return err;
    /* The one before holds it, if there is one. */
    err = lmdb_store_seek(view, LMDB_STORE_LOG, err == ERR_EOF ? LMDB_STORE_LAST : LMDB_STORE_PREV,
                          &key, &value, info);
    if (err == ERR_EOF)
        err = lmdb_store_seek(view, LMDB_STORE_LOG, LMDB_STORE_FIRST, &key, &value, info);
    return found(w, err, key, value, info);
}

enum err
store_walk_next(struct store_walk *w, struct store_span *span, struct errinfo *info)
{
    struct slice key = {0}, value = {0};
    enum err err;

    if (!w->more)
        return ERR_EOF;
    span->first = w->key;
    span->value = w->value;
    err = lmdb_store_seek(w->view, LMDB_STORE_LOG, LMDB_STORE_NEXT, &key, &value, info);
    err = found(w, err, key, value, info);
    span->last = w->more ? w->key - 1 : w->end;
    return err;
}
