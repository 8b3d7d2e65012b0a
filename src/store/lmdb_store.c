/*
 * lmdb_store.c: LMDB behind lmdb_store.h.
 *
 * MDB_NOTLS, because a reader belongs to a runner and not to its thread's life; never MDB_WRITEMAP
 * but where the system's file cache is not the map's (OpenBSD): a full disk would be a SIGBUS.
 */
#include "store/lmdb_store.h"

#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"

struct lmdb_store_view {
    struct lmdb_store *env;
    MDB_txn *txn;
    MDB_cursor *cursors[LMDB_STORE_DBS];
    bool ready[LMDB_STORE_DBS]; /* the cursor belongs to the transaction as it is now */
};

struct lmdb_store {
    MDB_env *env;
    MDB_dbi dbs[LMDB_STORE_DBS];
    struct lmdb_store_view writer;
    size_t page_size;
    uint64_t map_bytes;
};

static const char *const db_names[LMDB_STORE_DBS] = {"log", "meta", "cursor", "dead"};

const char *
lmdb_store_version(void)
{
    return mdb_version(NULL, NULL, NULL);
}

/* ---- errors ---- */

static enum err
code_of(int rc)
{
    switch (rc) {
    case MDB_NOTFOUND:
        return ERR_EOF;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
        return ERR_FULL;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INCOMPATIBLE:
        return ERR_BAD;
    case MDB_VERSION_MISMATCH:
        return ERR_CONFIG;
    case MDB_READERS_FULL:
        return ERR_BUSY;
    case ENOMEM:
        return ERR_NOMEM;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    default:
        return ERR_IO;
    }
}

static enum err
fail(struct errinfo *info, int rc, const char *what)
{
    const char *hint = "";

    if (rc == EIO || rc == ENOSPC) /* a short write comes as EIO */
        hint = " (is the disk full?)";
    else if (rc == ENOSYS) /* old kernels and strict sandboxes block get_robust_list */
        hint = " (is get_robust_list blocked by a sandbox?)";
    (void)errinfo_set(info, code_of(rc), "%s: %s%s", what, mdb_strerror(rc), hint);
    if (info != NULL && rc > 0)
        info->sys = rc;
    return code_of(rc);
}

/* ---- opening ---- */

static enum err
open_databases(struct lmdb_store *l, bool create, struct errinfo *info)
{
    MDB_txn *txn;
    size_t i;
    int rc = mdb_txn_begin(l->env, NULL, create ? 0 : MDB_RDONLY, &txn);

    if (rc != 0)
        return fail(info, rc, "cannot read the log");
    for (i = 0; i < LMDB_STORE_DBS; i++) {
        rc = mdb_dbi_open(txn, db_names[i], create ? MDB_CREATE : 0, &l->dbs[i]);
        if (rc != 0) {
            mdb_txn_abort(txn);
            return fail(info, rc, "cannot open the log's databases");
        }
    }
    rc = mdb_txn_commit(txn); /* keeps the handles */
    return rc == 0 ? ERR_OK : fail(info, rc, "cannot make the log's databases");
}

/* Pages that a transaction took at the end of the file and gave up again are counted but never
 * written: so many may be missing from a file that is sound. */
#define UNWRITTEN_PAGES 64u

/*
 * A file shorter than what its header counts opens fine and dies of SIGBUS at the first read. A
 * little may be missing: it is added as zeros, which LMDB takes for no page of its own should it
 * need them.
 */
static enum err
check_size(struct lmdb_store *l, struct errinfo *info)
{
    MDB_envinfo env;
    MDB_stat main_stat;
    struct stat file;
    int fd;
    uint64_t needed;

    if (mdb_env_stat(l->env, &main_stat) != 0 || mdb_env_info(l->env, &env) != 0 ||
        mdb_env_get_fd(l->env, &fd) != 0 || fstat(fd, &file) != 0)
        return errinfo_sys(info, ERR_IO, errno, "cannot look at the log's file");
    l->page_size = main_stat.ms_psize;
    l->map_bytes = env.me_mapsize;
    needed = ((uint64_t)env.me_last_pgno + 1) * main_stat.ms_psize;
    if ((uint64_t)file.st_size >= needed)
        return ERR_OK;
    if (needed - (uint64_t)file.st_size > (uint64_t)UNWRITTEN_PAGES * main_stat.ms_psize)
        return errinfo_set(info, ERR_BAD, "the log's file is cut: %llu bytes of %llu",
                           (unsigned long long)file.st_size, (unsigned long long)needed);
    if (ftruncate(fd, (off_t)needed) != 0)
        return errinfo_sys(info, ERR_IO, errno, "cannot complete the log's file");
    return ERR_OK;
}

static int
open_env(struct lmdb_store *l, const struct lmdb_store_options *options, size_t map)
{
    unsigned flags = MDB_NOTLS | (options->no_sync ? MDB_NOSYNC : 0u);
    int rc = mdb_env_create(&l->env);

#ifdef __OpenBSD__
    flags |= MDB_WRITEMAP;
#endif
    if (rc != 0)
        return rc;
    if ((rc = mdb_env_set_maxreaders(l->env, LMDB_STORE_READERS)) == 0 &&
        (rc = mdb_env_set_maxdbs(l->env, LMDB_STORE_DBS)) == 0 &&
        (rc = mdb_env_set_mapsize(l->env, map)) == 0)
        rc = mdb_env_open(l->env, options->dir, flags, 0600);
    if (rc != 0) { /* LMDB wants it closed even then */
        mdb_env_close(l->env);
        l->env = NULL;
    }
    return rc;
}

/* As large as asked for, or what the address space gives: halved down to the smallest. */
static enum err
open_largest(struct lmdb_store *l, const struct lmdb_store_options *options, struct errinfo *info)
{
    const uint64_t most = (uint64_t)SIZE_MAX / 2 + 1;
    uint64_t wanted = options->max_bytes < most ? options->max_bytes : most;
    uint64_t map = wanted;
    int rc;

    for (;;) {
        rc = open_env(l, options, (size_t)(map & ~(uint64_t)0xffff));
        if (rc != ENOMEM || map / 2 < LMDB_STORE_MAP_MIN)
            break;
        map /= 2;
    }
    if (rc != 0)
        return fail(info, rc, "cannot open the log");
    if (map < options->max_bytes)
        log_warn("store",
                 "max_size_mb is %llu, but only %llu MB of address space can be had: using that",
                 (unsigned long long)(options->max_bytes / 1000000),
                 (unsigned long long)(map / 1000000));
    return ERR_OK;
}

static enum err
open_all(struct lmdb_store *l, const struct lmdb_store_options *options, struct errinfo *info)
{
    enum err err = open_largest(l, options, info);

    if (err != ERR_OK || (err = check_size(l, info)) != ERR_OK)
        return err;
    if (l->map_bytes > options->max_bytes + 0xffff)
        return errinfo_set(
            info, ERR_CONFIG,
            "the log's file already takes %llu MB and never shrinks: set max_size_mb to "
            "that or more, or drain it and remove data.mdb",
            (unsigned long long)(l->map_bytes / 1000000 + 1));
    err = open_databases(l, false, info); /* a full disk must not keep a log from being drained */
    if (err == ERR_EOF)
        err = open_databases(l, true, info);
    if (err == ERR_OK)
        lmdb_store_clear_readers(l);
    return err;
}

enum err
lmdb_store_open(struct lmdb_store **out, const struct lmdb_store_options *options,
                struct errinfo *info)
{
    struct lmdb_store *l = mem_zalloc(sizeof(*l));
    enum err err;

    if (l == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the log");
    l->writer.env = l;
    err = open_all(l, options, info);
    if (err != ERR_OK) {
        lmdb_store_close(l);
        return err;
    }
    *out = l;
    return ERR_OK;
}

void
lmdb_store_close(struct lmdb_store *l)
{
    if (l == NULL)
        return;
    lmdb_store_abort(l);
    if (l->env != NULL)
        mdb_env_close(l->env);
    mem_free(l);
}

size_t
lmdb_store_page_size(const struct lmdb_store *l)
{
    return l->page_size;
}

uint64_t
lmdb_store_map_bytes(const struct lmdb_store *l)
{
    return l->map_bytes;
}

bool
lmdb_store_usable(struct lmdb_store *l)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);

    if (rc == 0)
        mdb_txn_abort(txn);
    return rc != MDB_PANIC;
}

void
lmdb_store_clear_readers(struct lmdb_store *l)
{
    int dead;

    (void)mdb_reader_check(l->env, &dead);
}

void
lmdb_store_sync(struct lmdb_store *l)
{
    (void)mdb_env_sync(l->env, 1);
}

void
lmdb_store_extend(struct lmdb_store *l, uint64_t from, uint64_t to)
{
    static const uint8_t zeros[4096];
    unsigned flags;
    size_t n;
    int fd;

    /* Where LMDB writes through the map, the file is as long as the map and not to be written
     * to. */
    if (mdb_env_get_fd(l->env, &fd) != 0 || mdb_env_get_flags(l->env, &flags) != 0 ||
        (flags & MDB_WRITEMAP) != 0)
        return;
    for (; from < to; from += n) {
        n = to - from < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
        if (pwrite(fd, zeros, n, (off_t)from) != (ssize_t)n)
            return; /* no room for it: the commit will tell if there is none for its own pages */
    }
}

/* ---- the write transaction ---- */

/* LMDB closes the cursors of a write transaction with it. */
static void
writer_ended(struct lmdb_store *l)
{
    l->writer = (struct lmdb_store_view){.env = l};
}

enum err
lmdb_store_begin(struct lmdb_store *l, struct errinfo *info)
{
    int rc;

    assert(l->writer.txn == NULL);
    rc = mdb_txn_begin(l->env, NULL, 0, &l->writer.txn);
    if (rc != 0) {
        l->writer.txn = NULL;
        return fail(info, rc, "cannot begin to write the log");
    }
    return ERR_OK;
}

enum err
lmdb_store_commit(struct lmdb_store *l, struct errinfo *info)
{
    MDB_txn *txn = l->writer.txn;
    int rc;

    assert(txn != NULL);
    writer_ended(l);
    rc = mdb_txn_commit(txn);
    return rc == 0 ? ERR_OK : fail(info, rc, "cannot write the log");
}

void
lmdb_store_abort(struct lmdb_store *l)
{
    MDB_txn *txn = l->writer.txn;

    writer_ended(l);
    if (txn != NULL)
        mdb_txn_abort(txn);
}

struct lmdb_store_view *
lmdb_store_writer(struct lmdb_store *l)
{
    assert(l->writer.txn != NULL);
    return &l->writer;
}

/* LMDB takes what it only reads without const. */
static MDB_val
val(struct slice s)
{
    union {
        const void *from;
        void *to;
    } p = {s.p};

    return (MDB_val){s.n, p.to};
}

static enum err
put(struct lmdb_store *l, enum lmdb_store_db db, struct slice key, struct slice value,
    unsigned flags, struct errinfo *info)
{
    MDB_val k = val(key), v = val(value);
    int rc = mdb_put(l->writer.txn, l->dbs[db], &k, &v, flags);

    return rc == 0 ? ERR_OK : fail(info, rc, "cannot add to the log");
}

enum err
lmdb_store_put(struct lmdb_store *l, enum lmdb_store_db db, struct slice key, struct slice value,
               struct errinfo *info)
{
    return put(l, db, key, value, 0, info);
}

enum err
lmdb_store_append(struct lmdb_store *l, enum lmdb_store_db db, struct slice key, struct slice value,
                  struct errinfo *info)
{
    return put(l, db, key, value, MDB_APPEND, info);
}

enum err
lmdb_store_delete(struct lmdb_store *l, enum lmdb_store_db db, struct slice key,
                  struct errinfo *info)
{
    MDB_val k = val(key);
    int rc = mdb_del(l->writer.txn, l->dbs[db], &k, NULL);

    return rc == 0 || rc == MDB_NOTFOUND ? ERR_OK : fail(info, rc, "cannot delete from the log");
}

static enum err cursor_of(struct lmdb_store_view *v, enum lmdb_store_db db, MDB_cursor **out,
                          struct errinfo *info);

enum err
lmdb_store_delete_first(struct lmdb_store *l, enum lmdb_store_db db, struct errinfo *info)
{
    MDB_cursor *cursor = NULL;
    MDB_val k, v;
    enum err err = cursor_of(&l->writer, db, &cursor, info);
    int rc;

    if (err != ERR_OK)
        return err;
    rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
    if (rc == 0)
        rc = mdb_cursor_del(cursor, 0);
    return rc == 0 ? ERR_OK : fail(info, rc, "cannot delete from the log");
}

/* ---- pages ---- */

/*
 * What the free list holds is not counted but concluded: every page that is not used is free. This
 * equals a walk of the free list and costs six look-ups. Databases 0 and 1 are LMDB's own.
 */
enum err
lmdb_store_count(struct lmdb_store *l, struct lmdb_store_pages *out, struct errinfo *info)
{
    const MDB_dbi all[] = {0, 1, l->dbs[0], l->dbs[1], l->dbs[2], l->dbs[3]};
    MDB_stat stat;
    MDB_envinfo env;
    uint64_t pages;
    size_t i;
    int rc;

    out->used = 2; /* the two headers */
    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        rc = mdb_stat(l->writer.txn, all[i], &stat);
        if (rc != 0)
            return fail(info, rc, "cannot count the log's pages");
        pages = (uint64_t)stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
        out->used += pages;
        if (all[i] == l->dbs[LMDB_STORE_LOG])
            out->log = pages;
    }
    rc = mdb_env_info(l->env, &env);
    if (rc != 0)
        return fail(info, rc, "cannot count the log's pages");
    out->map = l->map_bytes / l->page_size;
    out->ends = (uint64_t)env.me_last_pgno + 1;
    out->txn = (uint64_t)mdb_txn_id(l->writer.txn);
    return ERR_OK;
}

/* A line of LMDB's reader list is process, thread, transaction; "-" stands for none. */
static int
note_reader(const char *line, void *arg)
{
    uint64_t *oldest = arg;
    struct slice rest = slice_of(line), word, last = {0};
    uint64_t txn;

    rest = slice_to(rest, slice_find(rest, '\n'));
    while (slice_split(&rest, ' ', &word))
        if (word.n > 0)
            last = word;
    if (num_u64(last, &txn) == ERR_OK && txn < *oldest)
        *oldest = txn;
    return 0;
}

uint64_t
lmdb_store_oldest_reader(struct lmdb_store *l)
{
    uint64_t oldest = UINT64_MAX;

    (void)mdb_reader_list(l->env, note_reader, &oldest);
    return oldest;
}

/* ---- views ---- */

enum err
lmdb_store_view_open(struct lmdb_store_view **out, struct lmdb_store *l, struct errinfo *info)
{
    struct lmdb_store_view *v = mem_zalloc(sizeof(*v));
    int rc;

    if (v == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a reader of the log");
    v->env = l;
    rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &v->txn);
    if (rc != 0) {
        mem_free(v);
        return fail(info, rc, "cannot read the log");
    }
    mdb_txn_reset(v->txn);
    *out = v;
    return ERR_OK;
}

enum err
lmdb_store_view_renew(struct lmdb_store_view *v, struct errinfo *info)
{
    int rc = mdb_txn_renew(v->txn);

    memset(v->ready, 0, sizeof(v->ready));
    return rc == 0 ? ERR_OK : fail(info, rc, "cannot read the log");
}

void
lmdb_store_view_reset(struct lmdb_store_view *v)
{
    mdb_txn_reset(v->txn);
}

void
lmdb_store_view_close(struct lmdb_store_view *v)
{
    size_t i;

    if (v == NULL)
        return;
    for (i = 0; i < LMDB_STORE_DBS; i++)
        if (v->cursors[i] != NULL)
            mdb_cursor_close(v->cursors[i]);
    mdb_txn_abort(v->txn);
    mem_free(v);
}

enum err
lmdb_store_get(struct lmdb_store_view *v, enum lmdb_store_db db, struct slice key,
               struct slice *value, struct errinfo *info)
{
    MDB_val k = val(key), found;
    int rc = mdb_get(v->txn, v->env->dbs[db], &k, &found);

    if (rc == MDB_NOTFOUND)
        return ERR_EOF;
    if (rc != 0)
        return fail(info, rc, "cannot read the log");
    *value = slice_make(found.mv_data, found.mv_size);
    return ERR_OK;
}

static enum err
cursor_of(struct lmdb_store_view *v, enum lmdb_store_db db, MDB_cursor **out, struct errinfo *info)
{
    int rc = 0;

    if (v->cursors[db] == NULL)
        rc = mdb_cursor_open(v->txn, v->env->dbs[db], &v->cursors[db]);
    else if (!v->ready[db])
        rc = mdb_cursor_renew(v->txn, v->cursors[db]);
    if (rc != 0)
        return fail(info, rc, "cannot read the log");
    v->ready[db] = true;
    *out = v->cursors[db];
    return ERR_OK;
}

enum err
lmdb_store_seek(struct lmdb_store_view *v, enum lmdb_store_db db, enum lmdb_store_move move,
                struct slice *key, struct slice *value, struct errinfo *info)
{
    static const MDB_cursor_op ops[] = {MDB_FIRST, MDB_LAST, MDB_NEXT, MDB_PREV, MDB_SET_RANGE};
    MDB_cursor *cursor = NULL;
    MDB_val k = val(*key), found;
    enum err err = cursor_of(v, db, &cursor, info);
    int rc;

    if (err != ERR_OK)
        return err;
    rc = mdb_cursor_get(cursor, &k, &found, ops[move]);
    if (rc == MDB_NOTFOUND)
        return ERR_EOF;
    if (rc != 0)
        return fail(info, rc, "cannot read the log");
    *key = slice_make(k.mv_data, k.mv_size);
    *value = slice_make(found.mv_data, found.mv_size);
    return ERR_OK;
}
