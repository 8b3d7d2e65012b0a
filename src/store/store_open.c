/*
 * store_open.c: opening a store, whatever state its folder is in, and opening it again.
 *
 * A damaged file is moved aside and the log starts empty with the definitions of meta.bak. What
 * only looks wrong from here (another kind of machine, rights, a failing disk) refuses to start:
 * nothing is touched that someone could still read elsewhere.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/port.h"
#include "base/wire.h"
#include "store/store_internal.h"

#define RESERVE_MIN (1024u * 1024)
static const uint8_t schema[1] = {1};

static struct slice
state_key(void)
{
    static const uint8_t key[4] = {0};

    return slice_make(key, sizeof(key));
}

static void
take_facts(struct store *s)
{
    uint64_t reserve;

    s->page_size = lmdb_store_page_size(s->lmdb);
    s->map_bytes = lmdb_store_map_bytes(s->lmdb);
    s->map_pages = s->map_bytes / s->page_size;
    reserve = s->map_bytes / 16 > RESERVE_MIN ? s->map_bytes / 16 : RESERVE_MIN;
    s->reserve_pages = (reserve + s->page_size - 1) / s->page_size;
}

static enum err
open_lmdb(struct store *s, struct errinfo *info)
{
    struct lmdb_store_options options = {s->folder.dir, s->options.max_bytes,
                                         s->options.sync == STORE_SYNC_NONE};
    struct lmdb_store *l = NULL;
    enum err err = lmdb_store_open(&l, &options, info);

    if (err != ERR_OK)
        return err;
    s->lmdb = l;
    take_facts(s);
    return ERR_OK;
}

/* ---- what a log that is not new says ---- */

static enum err
check_records(struct lmdb_store_view *v, uint64_t end, struct errinfo *info)
{
    struct slice key = {0}, value;
    struct store_record r;
    enum lmdb_store_move move = LMDB_STORE_FIRST;
    enum err err;

    while ((err = lmdb_store_seek(v, LMDB_STORE_CURSOR, move, &key, &value, info)) == ERR_OK) {
        move = LMDB_STORE_NEXT;
        if (key.n != 4)
            return errinfo_set(info, ERR_BAD, "the log holds a sink's record that cannot be");
        if (load_be32(key.p) == 0)
            continue;
        err = store_record_get(value, load_be32(key.p), &r);
        if (err == ERR_CONFIG)
            return errinfo_set(info, err, "the log was written by a newer sinkd: use that one");
        if (err != ERR_OK || r.cursor > end)
            return errinfo_set(info, ERR_BAD, "the record of sink %lu does not add up",
                               (unsigned long)load_be32(key.p));
    }
    return err == ERR_EOF ? ERR_OK : err;
}

static enum err
load_node(struct store *s, struct lmdb_store_view *v, struct errinfo *info)
{
    struct slice value;
    enum err err = lmdb_store_get(v, LMDB_STORE_META, SLICE("node"), &value, info);

    s->node[0] = '\0';
    if (err == ERR_OK && value.n > 0 && value.n < sizeof(s->node))
        slice_copy_text(value, s->node, sizeof(s->node));
    return err == ERR_EOF ? ERR_OK : err; /* without one it gets a new one */
}

/* The numbers must enclose what the log holds, or new points would get old numbers. */
static enum err
check_log(struct lmdb_store_view *v, const struct store_state *state, struct errinfo *info)
{
    struct slice key = {0}, value;
    enum err err = lmdb_store_seek(v, LMDB_STORE_LOG, LMDB_STORE_FIRST, &key, &value, info);

    if (err == ERR_EOF)
        return state->first_seq == state->next_seq
                   ? ERR_OK
                   : errinfo_set(info, ERR_BAD, "the log lost the points it counts");
    if (err != ERR_OK)
        return err;
    if (key.n != 8 || load_be64(key.p) != state->first_seq)
        return errinfo_set(info, ERR_BAD, "the log does not begin where it says");
    err = lmdb_store_seek(v, LMDB_STORE_LOG, LMDB_STORE_LAST, &key, &value, info);
    if (err == ERR_OK && (key.n != 8 || load_be64(key.p) >= state->next_seq))
        return errinfo_set(info, ERR_BAD, "the log does not end where it says");
    return err;
}

static enum err
load_state(struct store *s, struct lmdb_store_view *v, bool *fresh, struct errinfo *info)
{
    struct slice value;
    enum err err = lmdb_store_get(v, LMDB_STORE_META, SLICE("schema"), &value, info);

    *fresh = err == ERR_EOF;
    if (err != ERR_OK)
        return *fresh ? ERR_OK : err;
    if (!slice_eq(value, slice_make(schema, sizeof(schema))))
        return errinfo_set(info, ERR_CONFIG, "the log was written by a newer sinkd: use that one");
    err = lmdb_store_get(v, LMDB_STORE_CURSOR, state_key(), &value, info);
    if (err == ERR_EOF)
        return errinfo_set(info, ERR_BAD, "the log has lost its state");
    if (err == ERR_OK) {
        err = store_record_get_state(value, &s->state);
        if (err == ERR_CONFIG)
            return errinfo_set(info, err, "the log was written by a newer sinkd: use that one");
        if (err != ERR_OK)
            return errinfo_set(info, err, "the log's state cannot be");
    }
    if (err == ERR_OK && (err = check_log(v, &s->state, info)) == ERR_OK &&
        (err = check_records(v, s->state.next_seq - 1, info)) == ERR_OK)
        err = load_node(s, v, info);
    return err;
}

static enum err
load(struct store *s, bool *fresh, struct errinfo *info)
{
    struct lmdb_store_view *v = NULL;
    enum err err = lmdb_store_view_open(&v, s->lmdb, info);

    if (err != ERR_OK)
        return err;
    err = lmdb_store_view_renew(v, info);
    if (err == ERR_OK)
        err = load_state(s, v, fresh, info);
    lmdb_store_view_close(v);
    return err;
}

/* ---- the first transaction of a run ---- */

static enum err
new_node(struct store *s, struct errinfo *info)
{
    uint8_t random[4];

    if (port_random(random, sizeof(random)) != ERR_OK)
        return errinfo_set(info, ERR_IO, "the system gives no random numbers");
    (void)snprintf(s->node, sizeof(s->node), "%08lx", (unsigned long)load_be32(random));
    return store_put_meta(s, SLICE("node"), slice_of(s->node), info);
}

static enum err
fill(struct store *s, bool fresh, bool moved, struct errinfo *info)
{
    enum err err = ERR_OK;

    if (fresh) {
        s->work = (struct store_state){.next_seq = 1, .first_seq = 1, .next_sink = 1};
        s->node[0] = '\0';
        err = store_restore_meta(s, info);
        s->is_new = err == ERR_EOF && !moved;
        if (moved)
            s->work.moved++;
        if (err == ERR_EOF)
            err = ERR_OK;
        if (err == ERR_OK)
            err = store_put_meta(s, SLICE("schema"), slice_make(schema, sizeof(schema)), info);
    }
    if (err == ERR_OK && s->node[0] == '\0')
        err = new_node(s, info);
    s->run = ++s->work.run;
    return err;
}

static enum err
begin_run(struct store *s, bool fresh, bool moved, struct errinfo *info)
{
    enum err err = store_begin(s, info);
    bool meta_due;

    if (err != ERR_OK)
        return err;
    err = fill(s, fresh, moved, info);
    if (err != ERR_OK) {
        store_abort(s);
        return err;
    }
    meta_due = fresh && (moved || !s->is_new);
    s->meta_changed = meta_due; /* an empty log without definitions needs no copy of them */
    err = store_commit(s, info);
    if (err != ERR_OK && !fresh && (err == ERR_IO || err == ERR_FULL)) {
        log_warn("store", "%s: going on, so that the log can be drained", info->text);
        s->state.run = s->work.run = s->run; /* goes out with the next commit */
        store_publish(s, &s->begun);
        err = ERR_OK;
    }
    return err == ERR_OK && fresh ? folder_sync(&s->folder, info) : err;
}

/* ---- opening ---- */

static enum err
move_aside(struct store *s, const char *why, struct errinfo *info)
{
    char name[32];
    enum err err = folder_move_aside(&s->folder, name, info);

    if (err == ERR_OK)
        log_error("damaged", "%s: the log's file was moved aside to %s and the log starts empty",
                  why, name);
    return err;
}

static enum err
open_or_move(struct store *s, bool *fresh, bool *moved, struct errinfo *info)
{
    enum folder_data what;
    enum err err = folder_peek(&s->folder, &what, info);

    if (err != ERR_OK)
        return err;
    if (what == FOLDER_DATA_EMPTY || what == FOLDER_DATA_WRONG) {
        *moved = true;
        err = move_aside(
            s, what == FOLDER_DATA_EMPTY ? "data.mdb is empty" : "data.mdb is not a log", info);
        if (err != ERR_OK)
            return err;
    }
    err = open_lmdb(s, info);
    if (err == ERR_OK)
        err = load(s, fresh, info);
    if (err != ERR_BAD || *moved)
        return err;
    lmdb_store_close(s->lmdb);
    s->lmdb = NULL;
    *moved = true;
    err = move_aside(s, info->text, info);
    if (err == ERR_OK)
        err = open_lmdb(s, info);
    return err == ERR_OK ? load(s, fresh, info) : err;
}

/* The log may grow to more than there is: writes will then be refused before it is full. */
static void
compare_with_disk(struct store *s)
{
    uint64_t left = folder_free_bytes(&s->folder), missing;
    struct store_usage usage;

    store_usage(s, &usage);
    missing = usage.map_bytes > usage.file_bytes ? usage.map_bytes - usage.file_bytes : 0;
    if (left < missing)
        log_warn("disk_small",
                 "the log may grow by %" PRIu64 " MB, but %s has %" PRIu64
                 " MB free: lower storage.max_size_mb or make room",
                 missing / 1000000, s->folder.dir, left / 1000000);
}

enum err
store_open(struct store **out, const struct store_options *options, struct errinfo *info)
{
    struct store *s = mem_zalloc(sizeof(*s));
    struct errinfo own;
    bool fresh = false, moved = false;
    enum err err;

    if (info == NULL)
        info = &own;
    if (s == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the store");
    s->options = *options;
    s->options.dir = s->folder.dir;
    s->started_ms = clock_mono_ms(options->clock);
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->gate, NULL);
    err = folder_open(&s->folder, options->dir, info);
    if (err == ERR_OK)
        err = open_or_move(s, &fresh, &moved, info);
    if (err == ERR_OK)
        err = begin_run(s, fresh, moved, info);
    if (err != ERR_OK) {
        store_close(s);
        return err;
    }
    compare_with_disk(s);
    *out = s;
    return ERR_OK;
}

void
store_close(struct store *s)
{
    if (s == NULL)
        return;
    assert(s->readers == NULL);
    if (s->in_txn)
        store_abort(s);
    if (s->lmdb != NULL && s->options.sync == STORE_SYNC_NONE)
        lmdb_store_sync(s->lmdb);
    lmdb_store_close(s->lmdb);
    folder_close(&s->folder);
    (void)pthread_cond_destroy(&s->gate);
    (void)pthread_mutex_destroy(&s->mutex);
    mem_free(s);
}

enum err
store_reopen(struct store *s, struct errinfo *info)
{
    struct errinfo own;
    bool fresh = false;
    enum err err;

    if (info == NULL)
        info = &own;
    (void)pthread_mutex_lock(&s->mutex);
    s->closed = true;
    while (s->reading > 0)
        (void)pthread_cond_wait(&s->gate, &s->mutex);
    store_drop_views(s);
    lmdb_store_close(s->lmdb);
    s->lmdb = NULL;
    err = open_lmdb(s, info);
    if (err == ERR_OK && (err = load(s, &fresh, info)) == ERR_OK && fresh)
        err = errinfo_set(info, ERR_IO, "the log's file has changed under us");
    if (err != ERR_OK) {
        lmdb_store_close(s->lmdb);
        s->lmdb = NULL;
        err = err == ERR_NOMEM ? err : ERR_IO;
    } else {
        s->work = s->state;
        s->work.run = s->state.run = s->run;
        memset(s->freed, 0, sizeof(s->freed));
        s->usage.first_seq = s->state.first_seq;
        s->usage.last_seq = s->state.next_seq - 1;
        log_info("store", "the log was opened again after a failed write");
    }
    s->closed = false;
    (void)pthread_cond_broadcast(&s->gate);
    (void)pthread_mutex_unlock(&s->mutex);
    return err;
}
