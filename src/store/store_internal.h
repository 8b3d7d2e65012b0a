/*
 * store_internal.h: what the files that make up the store share. Nobody else includes it.
 *
 *   store_open.c   opening, damage, first start, reopening    store_write.c  the write transaction
 *   store_read.c   readers and their gate                     store.c        facts and figures
 *   store_walk.c   going over the chunks of the log           store_backup.c meta.bak, both ways
 */
#ifndef SINKD_STORE_STORE_INTERNAL_H
#define SINKD_STORE_STORE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/chunk.h"
#include "store/folder.h"
#include "store/lmdb_store.h"
#include "store/store.h"
#include "store/store_record.h"

#define STORE_NODE_TEXT 9
#define STORE_BACKUP_NAME "meta.bak"

/* Pages that late transactions freed: LMDB gives them out again only when no reader, and no header
 * on disk, can refer to them any more. */
#define STORE_FREED 64

/* Pages that a transaction copies and so frees beside those of deleted chunks: the paths to what
 * it changes in the log, the records and LMDB's own lists. Those of the last transactions are
 * free, but can never be taken by the next one. */
#define STORE_COPIED_PAGES 16u
#define STORE_NEVER_USABLE (2 * STORE_COPIED_PAGES)

struct store_freed {
    uint64_t txn, pages;
};

struct store {
    /* never change while it is open */
    struct store_options options;
    struct folder folder;
    char node[STORE_NODE_TEXT];
    bool is_new;
    uint32_t run;
    int64_t started_ms;
    uint64_t map_bytes;
    size_t page_size;
    uint64_t map_pages, reserve_pages;

    /* the writer's alone */
    struct store_state work; /* as the transaction will leave it */
    bool in_txn, meta_changed, backup_due;
    struct lmdb_store_pages begun; /* when the transaction began */
    uint64_t usable_pages;         /* what it may take */
    uint64_t freed_pages;          /* by its deletions: not usable in it */
    struct store_freed freed[STORE_FREED];
    size_t freed_next;
    unsigned commits;            /* since stale readers were looked for */
    uint64_t seen_end, file_end; /* bytes: the last page in use a commit ago; what was written */

    /* under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t gate;
    struct lmdb_store *lmdb; /* changed by the writer while nobody reads; NULL: not to be had */
    bool closed;             /* readers wait */
    unsigned reading;        /* readers at work */
    struct store_reader *readers;
    struct store_state state; /* as last committed */
    struct store_usage usage;
    unsigned set_aside; /* damaged chunks kept by this run */
};

/* ---- store_open.c ---- */

/* store_reopen(s, info): after LMDB refused all work. Waits for the readers, whose views are
 * closed. */
enum err store_reopen(struct store *s, struct errinfo *info) MUST_USE;

/* ---- store.c ---- */

/* store_publish(s, pages): after a commit: what others may see from now on. */
void store_publish(struct store *s, const struct lmdb_store_pages *pages);

/* store_age_of(s, origin): milliseconds since those points were accepted (configuration:
 * max_age_secs). */
int64_t store_age_of(const struct store *s, const struct chunk_origin *origin);

/* ---- store_backup.c ---- */

/* store_backup_meta(s, info): write meta.bak as the log is now. The writer's thread, outside a
 * transaction. */
enum err store_backup_meta(struct store *s, struct errinfo *info) MUST_USE;

/* store_restore_meta(s, info): within a transaction on an empty log: put in what meta.bak holds.
 * ERR_EOF: there is none. ERR_CONFIG: it is damaged too. */
enum err store_restore_meta(struct store *s, struct errinfo *info) MUST_USE;

/* ---- store_read.c ---- */

/* store_drop_views(s): close every reader's view; the mutex is held and nobody reads. */
void store_drop_views(struct store *s);

/* ---- store_walk.c ---- */

struct store_span {
    uint64_t first, last;
    struct slice value;
};

/* A way over the log's chunks. A chunk's last number is the next one's key - 1, whatever it
 * holds. */
struct store_walk {
    struct lmdb_store_view *view;
    uint64_t end; /* the last number there is */
    bool more;    /* a chunk is at hand */
    uint64_t key;
    struct slice value;
};

/* store_walk_from(w, view, after, end, info): before the chunk with the first number above
 * ${after}. store_walk_next(w, span, info): the next one; ERR_EOF at the end. ERR_IO: a key that
 * cannot be. */
enum err store_walk_from(struct store_walk *w, struct lmdb_store_view *view, uint64_t after,
                         uint64_t end, struct errinfo *info) MUST_USE;
enum err store_walk_next(struct store_walk *w, struct store_span *span,
                         struct errinfo *info) MUST_USE;

#endif
