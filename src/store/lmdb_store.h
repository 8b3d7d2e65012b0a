/*
 * lmdb_store.h: LMDB with the few calls and the error codes the store needs.
 *
 * lmdb_store.c is the only file that includes lmdb.h. It knows the four databases and how to count
 * pages, not what lies in them. Slices that come out point into the map and are valid until the
 * view they came from is reset, or until the next write call of the same transaction.
 */
#ifndef SINKD_STORE_LMDB_STORE_H
#define SINKD_STORE_LMDB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

struct lmdb_store;
struct lmdb_store_view; /* a reader, or the write transaction */

enum lmdb_store_db {
    LMDB_STORE_LOG,
    LMDB_STORE_META,
    LMDB_STORE_CURSOR,
    LMDB_STORE_DEAD,
    LMDB_STORE_DBS
};

#define LMDB_STORE_READERS 264u
#define LMDB_STORE_KEY_MAX 500u
#define LMDB_STORE_MAP_MIN (4000000u)

struct lmdb_store_options {
    const char *dir; /* kept */
    uint64_t max_bytes;
    bool no_sync;
};

/*
 * lmdb_store_open(out, options, info):
 * Open or create the environment and its databases, clear stale readers.
 * Errors: ERR_BAD (the file is damaged: nothing of it can be used), ERR_CONFIG, ERR_DENIED, ERR_IO,
 * ERR_NOMEM, ERR_FULL, each with a text.
 */
enum err lmdb_store_open(struct lmdb_store **out, const struct lmdb_store_options *options,
                         struct errinfo *info) MUST_USE;
void lmdb_store_close(struct lmdb_store *l);

size_t lmdb_store_page_size(const struct lmdb_store *l);
uint64_t lmdb_store_map_bytes(const struct lmdb_store *l);
const char *lmdb_store_version(void);

/* lmdb_store_usable(l): false once LMDB refuses all work until it is opened again. */
bool lmdb_store_usable(struct lmdb_store *l);
void lmdb_store_clear_readers(struct lmdb_store *l); /* of processes that died */
void lmdb_store_sync(struct lmdb_store *l);

/* lmdb_store_extend(l, from, to): write zeros over the bytes [from, to) of the file, which must lie
 * behind the last page in use. What cannot be written is left out. */
void lmdb_store_extend(struct lmdb_store *l, uint64_t from, uint64_t to);

/* ---- the write transaction; one thread ---- */

enum err lmdb_store_begin(struct lmdb_store *l, struct errinfo *info) MUST_USE;
enum err lmdb_store_commit(struct lmdb_store *l, struct errinfo *info) MUST_USE;
void lmdb_store_abort(struct lmdb_store *l);
struct lmdb_store_view *lmdb_store_writer(struct lmdb_store *l); /* between begin and its end */

/* After ERR_FULL or ERR_IO the transaction can only be aborted. lmdb_store_append's key must be
 * greater than all others of ${db}. Deleting what is not there is ERR_OK. */
enum err lmdb_store_put(struct lmdb_store *l, enum lmdb_store_db db, struct slice key,
                        struct slice value, struct errinfo *info) MUST_USE;
enum err lmdb_store_append(struct lmdb_store *l, enum lmdb_store_db db, struct slice key,
                           struct slice value, struct errinfo *info) MUST_USE;
enum err lmdb_store_delete(struct lmdb_store *l, enum lmdb_store_db db, struct slice key,
                           struct errinfo *info) MUST_USE;
enum err lmdb_store_delete_first(struct lmdb_store *l, enum lmdb_store_db db,
                                 struct errinfo *info) MUST_USE;

struct lmdb_store_pages {
    uint64_t map;  /* pages that there may be */
    uint64_t used; /* pages that hold something, as the transaction sees it */
    uint64_t ends; /* pages of the file when the transaction began */
    uint64_t log;  /* of ${used}, those of the log */
    uint64_t txn;  /* number of the transaction */
};
enum err lmdb_store_count(struct lmdb_store *l, struct lmdb_store_pages *out,
                          struct errinfo *info) MUST_USE;

/* lmdb_store_oldest_reader(l): the transaction that the oldest reader sees, of any process;
 * UINT64_MAX when there is none. */
uint64_t lmdb_store_oldest_reader(struct lmdb_store *l);

/* ---- views ---- */

/* A reader sees nothing until it is renewed, and pins pages until it is reset. */
enum err lmdb_store_view_open(struct lmdb_store_view **out, struct lmdb_store *l,
                              struct errinfo *info) MUST_USE;
enum err lmdb_store_view_renew(struct lmdb_store_view *v, struct errinfo *info) MUST_USE;
void lmdb_store_view_reset(struct lmdb_store_view *v);
void lmdb_store_view_close(struct lmdb_store_view *v);

/* lmdb_store_get(v, db, key, value, info): ERR_EOF when it is not there. */
enum err lmdb_store_get(struct lmdb_store_view *v, enum lmdb_store_db db, struct slice key,
                        struct slice *value, struct errinfo *info) MUST_USE;

enum lmdb_store_move {
    LMDB_STORE_FIRST,
    LMDB_STORE_LAST,
    LMDB_STORE_NEXT,
    LMDB_STORE_PREV,
    LMDB_STORE_AT /* the key given, or the first one after it */
};

/* lmdb_store_seek(v, db, move, key, value, info): move the view's cursor in ${db}; ${key} is read
 * for AT and gets the key found. ERR_EOF: there is none. */
enum err lmdb_store_seek(struct lmdb_store_view *v, enum lmdb_store_db db,
                         enum lmdb_store_move move, struct slice *key, struct slice *value,
                         struct errinfo *info) MUST_USE;

#endif
