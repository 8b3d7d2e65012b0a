/*
 * committer_sinks.c: what the committer knows of each sink, and waking its runner.
 *
 * A sink has its record twice: as committed, and as it will be. A step changes the second at
 * once; a transaction takes a copy of it, and only its success makes that the first.
 */
#include <assert.h>

#include "base/mem.h"
#include "store/committer_internal.h"

/* A step that moves no cursor only carries figures: it need not wear out the flash. */
#define FIGURES_DELAY 10

struct committer_sink *
committer_find(struct committer *c, uint32_t id)
{
    size_t i;

    for (i = 0; i < c->sink_count; i++)
        if (c->sinks[i]->id == id)
            return c->sinks[i];
    return NULL;
}

struct committer_sink *
committer_add_sink(struct committer *c, const struct store_record *record)
{
    struct committer_sink *sink;

    if (c->sink_count == STORE_SINKS_MAX || (sink = mem_zalloc(sizeof(*sink))) == NULL)
        return NULL;
    sink->id = record->sink;
    sink->next = sink->committed = *record;
    sink->arm_seq = UINT64_MAX;
    c->sinks[c->sink_count++] = sink;
    return sink;
}

void
committer_remove_sink(struct committer *c, struct committer_sink *sink)
{
    size_t i;

    for (i = 0; c->sinks[i] != sink; i++)
        assert(i + 1 < c->sink_count);
    c->sinks[i] = c->sinks[--c->sink_count];
    mem_free(sink);
}

static struct committer_sink *
find_live(struct committer *c, uint32_t id)
{
    struct committer_sink *sink = committer_find(c, id);

    return sink != NULL && sink->live ? sink : NULL;
}

void
committer_room_changed(struct committer *c)
{
    c->full_bytes = 0;
    c->stats.full = false;
}

bool
committer_passed(const struct committer *c, uint64_t *seq)
{
    bool any = false;
    size_t i;

    *seq = UINT64_MAX;
    for (i = 0; i < c->sink_count; i++) {
        if (c->sinks[i]->dropping)
            continue;
        any = true;
        if (c->sinks[i]->next.cursor < *seq)
            *seq = c->sinks[i]->next.cursor;
    }
    return any;
}

/* ---- steps ---- */

/* The sink that is furthest behind decides; when another one moves, a full log stays full. */
static void
cursor_moved(struct committer *c)
{
    uint64_t passed;

    if (!committer_passed(c, &passed) || passed > c->full_passed)
        committer_room_changed(c);
}

static void
changed(struct committer *c, struct committer_sink *sink, bool moved)
{
    int64_t delay = moved ? c->options.cursor_delay_ms : c->options.cursor_delay_ms * FIGURES_DELAY;
    int64_t due = clock_after(clock_mono_ms(c->options.clock), delay);

    assert(store_record_adds_up(&sink->next));
    sink->version++;
    if (!sink->dirty || due < sink->due_ms) {
        sink->dirty = true;
        sink->due_ms = due;
        (void)pthread_cond_signal(&c->work);
    }
    if (moved)
        cursor_moved(c);
}

static void
add(struct store_record *r, const struct committer_step *step)
{
    size_t i;

    r->cursor = step->to;
    r->forwarded += step->forwarded;
    r->filtered += step->filtered;
    r->dead += step->dead;
    for (i = 0; i < STORE_DROPS; i++)
        r->dropped[i] += step->dropped[i];
    for (i = 0; i < STORE_ERRORS; i++)
        r->errors[i] += step->errors[i];
    r->retries += step->retries;
    if (step->last_success_ns != 0)
        r->last_success_ns = step->last_success_ns;
    if (step->learned_points != 0)
        r->learned_points = step->learned_points;
}

enum err
committer_step(struct committer *c, const struct committer_step *step, struct store_record *now)
{
    struct committer_sink *sink;
    enum err err = ERR_OK;

    assert(step->to >= step->from);
    (void)pthread_mutex_lock(&c->mutex);
    sink = find_live(c, step->sink);
    if (sink == NULL) {
        err = ERR_EOF;
    } else if (sink->next.cursor != step->from) {
        err = ERR_BUSY;
        *now = sink->next;
    } else {
        add(&sink->next, step);
        changed(c, sink, step->to != step->from);
        *now = sink->next;
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return err;
}

void
committer_move(struct committer *c, struct committer_sink *sink, uint64_t to,
               enum store_drop reason)
{
    if (sink->next.cursor >= to)
        return;
    sink->next.dropped[reason] += to - sink->next.cursor;
    sink->next.cursor = to;
    changed(c, sink, true);
    if (sink->wake != NULL)
        wake_signal(sink->wake);
}

enum err
committer_record(struct committer *c, uint32_t id, struct store_record *committed,
                 struct store_record *now)
{
    struct committer_sink *sink;

    (void)pthread_mutex_lock(&c->mutex);
    sink = find_live(c, id);
    if (sink != NULL && committed != NULL)
        *committed = sink->committed;
    if (sink != NULL && now != NULL)
        *now = sink->next;
    (void)pthread_mutex_unlock(&c->mutex);
    return sink == NULL ? ERR_EOF : ERR_OK;
}

void
committer_flush(struct committer *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->flush = true;
    (void)pthread_cond_signal(&c->work);
    (void)pthread_mutex_unlock(&c->mutex);
}

void
committer_set_policy(struct committer *c, uint32_t id, bool may_lose)
{
    struct committer_sink *sink;

    (void)pthread_mutex_lock(&c->mutex);
    sink = find_live(c, id);
    if (sink != NULL)
        sink->may_lose = may_lose;
    committer_room_changed(c);
    (void)pthread_mutex_unlock(&c->mutex);
}

/* ---- wakes ---- */

static void
wake_if_due(struct committer *c, struct committer_sink *sink)
{
    bool due = (sink->arm_seq != UINT64_MAX && c->last_seq >= sink->arm_seq) ||
               (sink->arm_settled && !sink->dirty);

    if (!due || sink->wake == NULL)
        return;
    sink->arm_seq = UINT64_MAX;
    sink->arm_settled = false;
    wake_signal(sink->wake);
}

void
committer_wake_sinks(struct committer *c)
{
    size_t i;

    for (i = 0; i < c->sink_count; i++)
        wake_if_due(c, c->sinks[i]);
}

void
committer_attach(struct committer *c, uint32_t id, const struct wake *wake)
{
    struct committer_sink *sink;

    (void)pthread_mutex_lock(&c->mutex);
    sink = committer_find(c, id);
    if (sink != NULL) {
        sink->wake = wake;
        sink->arm_seq = UINT64_MAX;
        sink->arm_settled = false;
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

void
committer_arm(struct committer *c, uint32_t id, uint64_t seq, bool settled)
{
    struct committer_sink *sink;

    (void)pthread_mutex_lock(&c->mutex);
    sink = find_live(c, id);
    if (sink != NULL) {
        sink->arm_seq = seq;
        sink->arm_settled = settled;
        wake_if_due(c, sink);
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

/* ---- in a transaction ---- */

enum err
committer_put_records(struct committer *c, bool *any, struct errinfo *info)
{
    struct committer_sink *sink;
    enum err err = ERR_OK;
    size_t i;

    *any = false;
    (void)pthread_mutex_lock(&c->mutex);
    for (i = 0; i < c->sink_count; i++) {
        sink = c->sinks[i];
        if (sink->dirty) {
            sink->in_txn = sink->next;
            sink->taken = sink->version;
            sink->taken_due_ms = sink->due_ms;
            sink->due_ms = DEADLINE_NEVER; /* a step that comes now has a delay of its own */
        }
    }
    (void)pthread_mutex_unlock(&c->mutex);
    /* Only this thread adds and removes sinks, or clears dirty: no lock while LMDB works. */
    for (i = 0; i < c->sink_count && err == ERR_OK; i++) {
        sink = c->sinks[i];
        if (sink->taken == 0 || sink->dropping)
            continue;
        *any = true;
        err = store_put_record(c->store, &sink->in_txn, info);
    }
    return err;
}

void
committer_settle_sinks(struct committer *c, bool committed)
{
    struct committer_sink *sink;
    size_t i = 0;

    while (i < c->sink_count) {
        sink = c->sinks[i];
        if (committed ? sink->dropping : !sink->live) {
            committer_remove_sink(c, sink);
            continue;
        }
        sink->dropping = false;
        if (committed && sink->taken != 0) {
            sink->committed = sink->in_txn;
            sink->dirty = sink->version != sink->taken;
            sink->live = true;
        } else if (sink->taken != 0 && sink->taken_due_ms < sink->due_ms) {
            sink->due_ms = sink->taken_due_ms;
        }
        sink->taken = 0;
        i++;
    }
}
