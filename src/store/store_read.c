/*
 * store_read.c: reading points, by any thread that has a reader.
 *
 * A view lives only within a call: a reader that stays would pin every page freed since. The gate
 * lets the writer close and open the environment while nobody reads.
 */
#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/wire.h"
#include "store/store_internal.h"

#define READ_MS 5         /* one call looks at chunks for about so long */
#define READ_CHUNKS 4096u /* and at so many: 16 MB */
#define LOOK_EVERY 16u    /* at the clock */
#define SET_ASIDE_MAX 64u /* damaged chunks kept in a run */

struct store_reader {
    struct store *store;
    struct store_reader *next; /* under the store's mutex */
    struct lmdb_store_view
        *view; /* NULL: to be opened; the writer's too while the gate is closed */
    struct chunk chunk;
    uint8_t verdicts[CHUNK_NAMES_MAX];
};

void
store_drop_views(struct store *s)
{
    struct store_reader *r;

    for (r = s->readers; r != NULL; r = r->next) {
        lmdb_store_view_close(r->view);
        r->view = NULL;
    }
}

enum err
store_reader_open(struct store_reader **out, struct store *s, struct errinfo *info)
{
    struct store_reader *r = mem_zalloc(sizeof(*r));

    if (r == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a reader of the log");
    r->store = s;
    (void)pthread_mutex_lock(&s->mutex);
    r->next = s->readers;
    s->readers = r;
    (void)pthread_mutex_unlock(&s->mutex);
    *out = r;
    return ERR_OK;
}

void
store_reader_close(struct store_reader *r)
{
    struct store_reader **at;
    struct store *s;

    if (r == NULL)
        return;
    s = r->store;
    (void)pthread_mutex_lock(&s->mutex);
    while (s->closed)
        (void)pthread_cond_wait(&s->gate, &s->mutex);
    for (at = &s->readers; *at != r; at = &(*at)->next)
        assert(*at != NULL);
    *at = r->next;
    lmdb_store_view_close(r->view); /* under the mutex: the environment stays open meanwhile */
    (void)pthread_mutex_unlock(&s->mutex);
    mem_free(r);
}

/* The environment stays open until leave_gate(). NULL: there is none after a failed write. */
static struct lmdb_store *
pass_gate(struct store *s, struct errinfo *info)
{
    struct lmdb_store *l;

    (void)pthread_mutex_lock(&s->mutex);
    while (s->closed)
        (void)pthread_cond_wait(&s->gate, &s->mutex);
    s->reading++;
    l = s->lmdb;
    (void)pthread_mutex_unlock(&s->mutex);
    if (l == NULL)
        (void)errinfo_set(info, ERR_IO, "the log is closed after a failed write");
    return l;
}

static void
leave_gate(struct store *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    if (--s->reading == 0)
        (void)pthread_cond_broadcast(&s->gate);
    (void)pthread_mutex_unlock(&s->mutex);
}

static void
leave(struct store_reader *r)
{
    if (r->view != NULL)
        lmdb_store_view_reset(r->view);
    leave_gate(r->store);
}

static enum err
last_number(struct store_reader *r, uint64_t *end, struct errinfo *info)
{
    static const uint8_t key[4] = {0};
    struct store_state state;
    struct slice value;
    enum err err =
        lmdb_store_get(r->view, LMDB_STORE_CURSOR, slice_make(key, sizeof(key)), &value, info);

    if (err == ERR_OK)
        err = store_record_get_state(value, &state);
    if (err != ERR_OK)
        return err == ERR_NOMEM ? err : errinfo_set(info, ERR_IO, "the log's state cannot be read");
    *end = state.next_seq - 1;
    return ERR_OK;
}

/* The view shows the log as it is now, up to ${end}. After ERR_OK, leave() must come. */
static enum err
enter(struct store_reader *r, uint64_t *end, struct errinfo *info)
{
    struct lmdb_store *l = pass_gate(r->store, info);
    enum err err = l == NULL ? ERR_IO : ERR_OK;

    if (err == ERR_OK && r->view == NULL)
        err = lmdb_store_view_open(&r->view, l, info);
    if (err == ERR_OK)
        err = lmdb_store_view_renew(r->view, info);
    if (err == ERR_OK)
        err = last_number(r, end, info);
    if (err != ERR_OK)
        leave(r);
    return err == ERR_OK || err == ERR_NOMEM ? err : ERR_IO;
}

/* ---- one chunk ---- */

static void
set_aside(struct store_reader *r, const struct store_span *span)
{
    struct store *s = r->store;
    struct log_line line = {.event = "damaged", .seq = span->first};
    bool may;

    (void)pthread_mutex_lock(&s->mutex);
    may = s->set_aside < SET_ASIDE_MAX;
    s->set_aside += may ? 1 : 0;
    (void)pthread_mutex_unlock(&s->mutex);
    if (!may || folder_set_aside(&s->folder, span->first, span->value) == ERR_BUSY)
        return;
    log_event(LOG_ERROR, &line, "%llu points do not read back; their bytes were set aside",
              (unsigned long long)(span->last - span->first + 1));
}

static bool
wants(struct store_reader *r, const struct store_want *want, uint32_t name)
{
    if (want == NULL || want->measurement == NULL)
        return true;
    if (r->verdicts[name] == 0)
        r->verdicts[name] = want->measurement(want->arg, r->chunk.names[name]) ? 1 : 2;
    return r->verdicts[name] == 1;
}

static bool
wants_any(struct store_reader *r, const struct store_want *want)
{
    uint32_t i;

    if (want == NULL)
        return true;
    if (want->database != NULL && !want->database(want->arg, r->chunk.origin.db))
        return false;
    memset(r->verdicts, 0, r->chunk.name_count);
    for (i = 0; i < r->chunk.name_count; i++)
        if (wants(r, want, i))
            return true;
    return false;
}

struct request {
    const struct store_want *want;
    size_t max_points, max_bytes;
    struct batch *batch;
    struct store_scan *scan;
};

/* Copy what is wanted. ERR_STOP: the batch is full. scan->passed follows. */
static enum err
copy_points(struct store_reader *r, const struct store_span *span, const struct request *q)
{
    struct chunk_cursor cursor;
    struct chunk_point point;
    struct batch *batch = q->batch;
    uint64_t seq = q->scan->passed + 1;
    bool named = false;

    chunk_first(&cursor, &r->chunk);
    chunk_skip(&cursor, (uint32_t)(seq - span->first));
    for (; chunk_next(&cursor, &point); seq++) {
        if (wants(r, q->want, point.name)) {
            if (batch->count >= q->max_points ||
                (batch->count > 0 && batch_bytes(batch) + point.line.n > q->max_bytes))
                return ERR_STOP;
            if (!named && batch_source(batch, r->chunk.origin.db, r->chunk.origin.rp) != ERR_OK)
                return ERR_NOMEM;
            named = true;
            if (batch_add(batch, seq, point.time_ns, point.measurement, point.line) != ERR_OK)
                return ERR_NOMEM;
            if (batch->count == 1)
                q->scan->accepted_age_ms = store_age_of(r->store, &r->chunk.origin);
        }
        q->scan->passed = seq;
    }
    return ERR_OK;
}

/* ERR_STOP: the batch is full, or must not be mixed with what comes; ERR_AGAIN: a stretch without
 * points was passed, which ends the call. */
static enum err
take_chunk(struct store_reader *r, const struct store_span *span, const struct request *q)
{
    struct store_scan *scan = q->scan;

    if (span->first > scan->passed + 1) {
        if (q->batch->count > 0)
            return ERR_STOP;
        scan->missing += span->first - scan->passed - 1;
        scan->passed = span->first - 1;
        return ERR_AGAIN;
    }
    if (chunk_open(span->value, &r->chunk) != ERR_OK ||
        r->chunk.count != span->last - span->first + 1) {
        if (q->batch->count > 0)
            return ERR_STOP;
        set_aside(r, span);
        scan->damaged += span->last - scan->passed;
        scan->passed = span->last;
        return ERR_AGAIN;
    }
    if (!wants_any(r, q->want)) {
        scan->passed = span->last;
        return ERR_OK;
    }
    return copy_points(r, span, q);
}

static enum err
scan_chunks(struct store_reader *r, uint64_t end, const struct request *q, struct errinfo *info)
{
    const struct clock *clock = r->store->options.clock;
    int64_t until = clock_after(clock_mono_ms(clock), READ_MS);
    struct store_walk walk;
    struct store_span span;
    unsigned looked = 0;
    enum err err = store_walk_from(&walk, r->view, q->scan->passed, end, info);

    while (err == ERR_OK && q->batch->count < q->max_points) {
        err = store_walk_next(&walk, &span, info);
        if (err == ERR_OK)
            err = take_chunk(r, &span, q);
        if (err == ERR_NOMEM)
            return errinfo_set(info, err, "no memory for a batch");
        looked++;
        if (looked >= READ_CHUNKS || (looked % LOOK_EVERY == 0 && clock_mono_ms(clock) >= until))
            break;
    }
    if (err == ERR_EOF && q->scan->passed < end && q->batch->count == 0) { /* deleted to the end */
        q->scan->missing += end - q->scan->passed;
        q->scan->passed = end;
    }
    if (q->scan->passed >= end)
        q->scan->end = STORE_SCAN_END;
    else if (err == ERR_STOP || err == ERR_EOF || q->batch->count >= q->max_points)
        q->scan->end = STORE_SCAN_FULL;
    else
        q->scan->end = STORE_SCAN_MORE;
    return err == ERR_EOF || err == ERR_STOP || err == ERR_AGAIN ? ERR_OK : err;
}

enum err
store_read(struct store_reader *r, uint64_t after, const struct store_want *want, size_t max_points,
           size_t max_bytes, struct batch *batch, struct store_scan *scan, struct errinfo *info)
{
    struct request q = {want, max_points, max_bytes, batch, scan};
    uint64_t end;
    enum err err;

    *scan = (struct store_scan){.passed = after};
    err = enter(r, &end, info);
    if (err != ERR_OK)
        return err;
    err = scan_chunks(r, end, &q, info);
    leave(r);
    return err == ERR_OK || err == ERR_NOMEM ? err : ERR_IO;
}

bool
store_age(struct store_reader *r, uint64_t after, int64_t *age_ms)
{
    struct store_walk walk;
    struct store_span span;
    struct chunk_origin none = {0};
    uint64_t end;
    bool found;

    if (enter(r, &end, NULL) != ERR_OK)
        return false;
    found = store_walk_from(&walk, r->view, after, end, NULL) == ERR_OK &&
            store_walk_next(&walk, &span, NULL) == ERR_OK;
    if (found)
        *age_ms = store_age_of(
            r->store, chunk_header(span.value, &r->chunk) == ERR_OK ? &r->chunk.origin : &none);
    leave(r);
    return found;
}

/* ---- at start: the definitions and records ---- */

/* A view for one use; close_view() must come in any case. */
static enum err
open_view(struct store *s, struct lmdb_store_view **v, struct errinfo *info)
{
    struct lmdb_store *l = pass_gate(s, info);
    enum err err = l == NULL ? ERR_IO : lmdb_store_view_open(v, l, info);

    return err == ERR_OK ? lmdb_store_view_renew(*v, info) : err;
}

static void
close_view(struct store *s, struct lmdb_store_view *v)
{
    lmdb_store_view_close(v);
    leave_gate(s);
}

enum err
store_each_record(struct store *s, void (*call)(void *arg, const struct store_record *), void *arg,
                  struct errinfo *info)
{
    struct lmdb_store_view *v = NULL;
    struct slice key = {0}, value;
    struct store_record record;
    enum lmdb_store_move move = LMDB_STORE_FIRST;
    enum err err = open_view(s, &v, info);

    while (err == ERR_OK) {
        err = lmdb_store_seek(v, LMDB_STORE_CURSOR, move, &key, &value, info);
        move = LMDB_STORE_NEXT;
        if (err != ERR_OK || key.n != 4 || load_be32(key.p) == 0)
            continue;
        if (store_record_get(value, load_be32(key.p), &record) == ERR_OK) /* checked when opened */
            call(arg, &record);
    }
    close_view(s, v);
    return err == ERR_EOF ? ERR_OK : err;
}

enum err
store_each_meta(struct store *s, struct slice prefix,
                void (*call)(void *arg, struct slice key, struct slice value), void *arg,
                struct errinfo *info)
{
    struct lmdb_store_view *v = NULL;
    struct slice key = prefix, value;
    enum lmdb_store_move move = prefix.n == 0 ? LMDB_STORE_FIRST : LMDB_STORE_AT;
    enum err err = open_view(s, &v, info);

    while (err == ERR_OK) {
        err = lmdb_store_seek(v, LMDB_STORE_META, move, &key, &value, info);
        move = LMDB_STORE_NEXT;
        if (err == ERR_OK && !slice_starts(key, prefix))
            err = ERR_EOF;
        if (err == ERR_OK && !slice_eq(key, SLICE("node")) && !slice_eq(key, SLICE("schema")))
            call(arg, key, value);
    }
    close_view(s, v);
    return err == ERR_EOF ? ERR_OK : err;
}
