/*
 * store_write.c: the write transaction: appending, deleting, records, definitions, room.
 *
 * The reserve is never given to data. LMDB copies the pages it changes, also to delete: a map
 * that is filled to the brim can wedge for good. Records, definitions and deletions live from the
 * reserve.
 */
#include <assert.h>

#include "base/log.h"
#include "base/wire.h"
#include "store/meta_backup.h"
#include "store/store_internal.h"

/* A commit that makes the file longer pays for a second write and a second wait, those of its
 * inode. Small commits share them: so many zeros are written ahead of them at a time. For large
 * ones the zeros would cost more than they save. */
#define AHEAD_BYTES (256u * 1024)

/* Look for readers of dead processes once in so many commits. */
#define COMMITS_BETWEEN_CHECKS 1024u

static enum err
count(struct store *s, struct lmdb_store_pages *pages, struct errinfo *info)
{
    return lmdb_store_count(s->lmdb, pages, info);
}

/* What was freed by transactions that someone may still look at cannot be taken. */
static uint64_t
usable(struct store *s)
{
    uint64_t past_end = s->map_pages > s->begun.ends ? s->map_pages - s->begun.ends : 0;
    uint64_t free_pages = s->map_pages > s->begun.used ? s->map_pages - s->begun.used : 0;
    uint64_t oldest = s->begun.txn - 1, reader, pinned = 0;
    size_t i;

    if (past_end > s->map_pages / 2)
        return past_end; /* plenty: no need to look closer */
    reader = lmdb_store_oldest_reader(s->lmdb);
    if (reader < oldest)
        oldest = reader;
    if (s->begun.txn > STORE_FREED && oldest <= s->begun.txn - STORE_FREED)
        return past_end; /* pinned for long, by a copy perhaps */
    for (i = 0; i < STORE_FREED; i++)
        if (s->freed[i].txn >= oldest)
            pinned += s->freed[i].pages;
    return free_pages > pinned ? free_pages - pinned : 0;
}

/* Only before the transaction has done anything: LMDB may write pages of its own there. */
static void
grow_ahead(struct store *s)
{
    uint64_t end = s->begun.ends * s->page_size;
    bool is_small = end - s->seen_end < AHEAD_BYTES / 4;

    s->seen_end = end;
    if (s->options.sync == STORE_SYNC_NONE || !is_small || s->file_end >= end + AHEAD_BYTES / 4)
        return;
    if (s->file_end < end)
        s->file_end = end;
    if (s->file_end + AHEAD_BYTES > s->map_bytes)
        return;
    lmdb_store_extend(s->lmdb, s->file_end, s->file_end + AHEAD_BYTES);
    s->file_end += AHEAD_BYTES;
}

enum err
store_begin(struct store *s, struct errinfo *info)
{
    enum err err;

    assert(!s->in_txn);
    if (s->lmdb == NULL && (err = store_reopen(s, info)) != ERR_OK)
        return err;
    err = lmdb_store_begin(s->lmdb, info);
    if (err == ERR_IO && !lmdb_store_usable(s->lmdb)) {
        err = store_reopen(s, info);
        if (err == ERR_OK)
            err = lmdb_store_begin(s->lmdb, info);
    }
    if (err != ERR_OK)
        return err;
    s->in_txn = true;
    s->work = s->state; /* only this thread changes it */
    s->meta_changed = false;
    s->freed_pages = 0;
    err = count(s, &s->begun, info);
    if (err != ERR_OK) {
        store_abort(s);
        return err;
    }
    s->usable_pages = usable(s);
    grow_ahead(s);
    return ERR_OK;
}

void
store_abort(struct store *s)
{
    if (s->lmdb != NULL)
        lmdb_store_abort(s->lmdb);
    s->work = s->state;
    s->in_txn = false;
}

/* ---- room ---- */

uint64_t
store_room(struct store *s)
{
    struct lmdb_store_pages now;
    uint64_t grown = 0, kept;

    assert(s->in_txn);
    if (count(s, &now, NULL) != ERR_OK)
        return 0;
    if (now.used + s->freed_pages > s->begun.used)
        grown = now.used + s->freed_pages - s->begun.used;
    kept = grown + s->reserve_pages;
    return s->usable_pages > kept ? (s->usable_pages - kept) * s->page_size : 0;
}

uint64_t
store_room_soon(struct store *s)
{
    struct lmdb_store_pages now;
    uint64_t kept;

    assert(s->in_txn);
    if (count(s, &now, NULL) != ERR_OK)
        return 0;
    kept = now.used + s->reserve_pages + STORE_NEVER_USABLE;
    return s->map_pages > kept ? (s->map_pages - kept) * s->page_size : 0;
}

/* A value of up to half a page lies among others in a leaf, which may stay half empty; a larger one
 * has pages of its own. A leaf points to some 150 of those. */
uint64_t
store_need(const struct store *s, struct slice chunks)
{
    const size_t page = s->page_size;
    uint64_t pages = 2, inline_bytes = 0, own = 0;
    struct slice chunk;

    while (chunk_split(&chunks, &chunk)) {
        if (chunk.n + 32 <= page / 2)
            inline_bytes += chunk.n + 32;
        else
            own += (16 + chunk.n + page - 1) / page;
    }
    pages += own + own / 100 + (2 * inline_bytes + page - 1) / page;
    return pages * page;
}

/* ---- the log ---- */

static enum err
check_chunks(struct slice chunks, uint64_t *points)
{
    struct chunk head;
    struct slice chunk;
    uint64_t sum = 0;

    while (chunk_split(&chunks, &chunk)) {
        if (chunk_header(chunk, &head) != ERR_OK || head.count == 0)
            return ERR_BAD;
        sum += head.count;
    }
    if (chunks.n != 0 || sum == 0)
        return ERR_BAD;
    *points = sum;
    return ERR_OK;
}

enum err
store_append(struct store *s, struct slice chunks, uint64_t *first_seq, uint64_t *points,
             struct errinfo *info)
{
    struct chunk head;
    struct slice chunk;
    uint8_t key[8];
    uint64_t seq = s->work.next_seq, sum;
    enum err err;

    assert(s->in_txn);
    if (check_chunks(chunks, &sum) != ERR_OK)
        return errinfo_set(info, ERR_BAD, "not a sequence of chunks");
    if (store_need(s, chunks) > store_room(s))
        return errinfo_set(info, ERR_FULL, "the log is full");
    while (chunk_split(&chunks, &chunk)) {
        store_be64(key, seq);
        err = lmdb_store_append(s->lmdb, LMDB_STORE_LOG, slice_make(key, sizeof(key)), chunk, info);
        if (err != ERR_OK)
            return err == ERR_FULL ? ERR_AGAIN : err;
        if (chunk_header(chunk, &head) != ERR_OK) /* it was looked at above */
            return errinfo_set(info, ERR_IO, "a chunk changed while it was stored");
        seq += head.count;
    }
    *first_seq = s->work.next_seq;
    *points = sum;
    s->work.next_seq = seq;
    return ERR_OK;
}

/* How many chunks end at or before ${seq}, up to so many bytes; the log begins at ${first} then. */
static enum err
measure(struct store *s, uint64_t seq, uint64_t max_bytes, size_t *chunks, uint64_t *bytes,
        uint64_t *first, struct errinfo *info)
{
    struct store_walk walk;
    struct store_span span;
    enum err err = store_walk_from(&walk, lmdb_store_writer(s->lmdb), s->work.first_seq - 1,
                                   s->work.next_seq - 1, info);

    while (err == ERR_OK && (err = store_walk_next(&walk, &span, info)) == ERR_OK) {
        if (span.last > seq || (*chunks > 0 && *bytes + span.value.n > max_bytes))
            return ERR_OK;
        *bytes += span.value.n;
        *first = span.last + 1;
        (*chunks)++;
    }
    return err == ERR_EOF ? ERR_OK : err;
}

enum err
store_delete_through(struct store *s, uint64_t seq, uint64_t max_bytes, bool expired,
                     uint64_t *deleted, struct errinfo *info)
{
    struct lmdb_store_pages before, after;
    uint64_t bytes = 0, first = s->work.first_seq;
    size_t chunks = 0;
    enum err err;

    assert(s->in_txn);
    *deleted = 0;
    if (seq < s->work.first_seq)
        return ERR_OK;
    if ((err = measure(s, seq, max_bytes, &chunks, &bytes, &first, info)) != ERR_OK ||
        (err = count(s, &before, info)) != ERR_OK)
        return err;
    while (chunks-- > 0)
        if ((err = lmdb_store_delete_first(s->lmdb, LMDB_STORE_LOG, info)) != ERR_OK)
            return err;
    if ((err = count(s, &after, info)) != ERR_OK)
        return err;
    if (before.log > after.log)
        s->freed_pages += before.log - after.log;
    if (expired)
        s->work.expired += first - s->work.first_seq;
    s->work.first_seq = first;
    *deleted = bytes;
    return ERR_OK;
}

bool
store_chunk_at(struct store *s, uint64_t after, uint64_t *last_seq, int64_t *age_ms)
{
    struct store_walk walk;
    struct store_span span;
    struct chunk head;

    assert(s->in_txn);
    if (store_walk_from(&walk, lmdb_store_writer(s->lmdb), after, s->work.next_seq - 1, NULL) !=
            ERR_OK ||
        store_walk_next(&walk, &span, NULL) != ERR_OK)
        return false;
    *last_seq = span.last;
    if (chunk_header(span.value, &head) != ERR_OK)
        head.origin = (struct chunk_origin){0}; /* damaged: as old as this run */
    *age_ms = store_age_of(s, &head.origin);
    return true;
}

bool
store_oldest(struct store *s, uint64_t *first_seq, uint64_t *last_seq, int64_t *age_ms)
{
    if (!store_chunk_at(s, s->work.first_seq - 1, last_seq, age_ms))
        return false;
    *first_seq = s->work.first_seq;
    return true;
}

void
store_ends(const struct store *s, uint64_t *first_seq, uint64_t *last_seq)
{
    *first_seq = s->work.first_seq;
    *last_seq = s->work.next_seq - 1;
}

/* ---- records and definitions ---- */

enum err
store_put_record(struct store *s, const struct store_record *r, struct errinfo *info)
{
    uint8_t key[4], value[STORE_RECORD_SIZE];

    assert(s->in_txn && r->sink != 0);
    store_be32(key, r->sink);
    store_record_put(value, r);
    if (r->sink >= s->work.next_sink) { /* a new one */
        s->work.next_sink = r->sink + 1;
        s->meta_changed = true;
    }
    return lmdb_store_put(s->lmdb, LMDB_STORE_CURSOR, slice_make(key, sizeof(key)),
                          slice_make(value, sizeof(value)), info);
}

enum err
store_delete_record(struct store *s, uint32_t sink, struct errinfo *info)
{
    uint8_t key[4];

    assert(s->in_txn && sink != 0);
    store_be32(key, sink);
    s->meta_changed = true;
    return lmdb_store_delete(s->lmdb, LMDB_STORE_CURSOR, slice_make(key, sizeof(key)), info);
}

enum err
store_put_meta(struct store *s, struct slice key, struct slice value, struct errinfo *info)
{
    assert(s->in_txn);
    if (key.n == 0 || key.n > LMDB_STORE_KEY_MAX)
        return errinfo_set(info, ERR_RANGE, "a name is longer than %u bytes", LMDB_STORE_KEY_MAX);
    s->meta_changed = true;
    return lmdb_store_put(s->lmdb, LMDB_STORE_META, key, value, info);
}

enum err
store_delete_meta(struct store *s, struct slice key, struct errinfo *info)
{
    assert(s->in_txn);
    s->meta_changed = true;
    return lmdb_store_delete(s->lmdb, LMDB_STORE_META, key, info);
}

/* ---- the end ---- */

static enum err
put_state(struct store *s, struct errinfo *info)
{
    static const uint8_t key[4] = {0};
    uint8_t value[STORE_RECORD_STATE_SIZE];

    store_record_put_state(value, &s->work);
    return lmdb_store_put(s->lmdb, LMDB_STORE_CURSOR, slice_make(key, sizeof(key)),
                          slice_make(value, sizeof(value)), info);
}

static void
committed(struct store *s, const struct lmdb_store_pages *pages)
{
    s->in_txn = false;
    s->freed[s->freed_next] =
        (struct store_freed){s->begun.txn, s->freed_pages + STORE_COPIED_PAGES};
    s->freed_next = (s->freed_next + 1) % STORE_FREED;
    store_publish(s, pages);
    s->backup_due = s->backup_due || s->meta_changed;
    if (s->backup_due) {
        struct errinfo why;

        s->backup_due = store_backup_meta(s, &why) != ERR_OK;
        if (s->backup_due)
            log_warn("store", "definitions are safe, but their second copy is not: %s", why.text);
    }
    if (++s->commits >= COMMITS_BETWEEN_CHECKS) {
        s->commits = 0;
        lmdb_store_clear_readers(s->lmdb);
    }
}

enum err
store_commit(struct store *s, struct errinfo *info)
{
    struct lmdb_store_pages pages;
    enum err err;

    assert(s->in_txn);
    if ((err = put_state(s, info)) != ERR_OK || (err = count(s, &pages, info)) != ERR_OK) {
        store_abort(s);
        return err;
    }
    if (pages.used > pages.ends)
        pages.ends = pages.used; /* the file grows at the commit */
    err = lmdb_store_commit(s->lmdb, info);
    if (err == ERR_OK) {
        committed(s, &pages);
        return ERR_OK;
    }
    store_abort(s);
    if (!lmdb_store_usable(s->lmdb) && store_reopen(s, NULL) != ERR_OK)
        log_error("store", "the log cannot be opened again yet");
    return err == ERR_FULL ? ERR_FULL : ERR_IO;
}
