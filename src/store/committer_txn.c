/*
 * committer_txn.c: one round: what was taken from the queue goes into transactions until all of it
 * is answered.
 *
 * Mostly that is one transaction. It is more when room has to be made (pages that one transaction
 * frees are usable in the next but one, so small commits follow each other) or when LMDB finds no
 * page to work with, and smaller steps are tried.
 */
#include <assert.h>
#include <time.h>

#include "store/chunk.h"
#include "store/committer_internal.h"

#define TICKS_MAX 64u  /* commits that only wait for freed pages */
#define TICKS_QUICK 4u /* of these, without a pause: then a reader must end first */
#define SPOILT_MAX 12u /* transactions without a page to work with, before a body is refused */
#define FULL_RETRY_MS 1000
#define NOT_WAITING 32u /* commits without a wait for more bodies, after one that was in vain */
#define WAITING_SLACK \
    64u /* pages of room that definitions may take before waiting points are stored */

static void
pause_1ms(void)
{
    const struct timespec ms = {0, 1000000};

    (void)nanosleep(&ms, NULL);
}

static void
append_list(struct committer_list *to, struct committer_list *from)
{
    if (from->first == NULL)
        return;
    if (to->last == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
    *from = (struct committer_list){0};
}

/* ---- taking ---- */

static void
take_changes(struct committer *c, struct committer_round *round)
{
    struct committer_change **end = &round->changes;

    while (*end != NULL)
        end = &(*end)->next;
    *end = c->changes;
    c->changes = c->changes_last = NULL;
}

static bool
is_due(struct committer *c, int64_t now)
{
    bool all = c->flush || c->stopping;
    size_t i;

    c->flush = false;
    if (c->delete_ms <= now || c->age_ms <= now)
        return true;
    if (buf_len(&c->waiting) > 0 && (c->stopping || c->waiting_due_ms <= now))
        return true;
    for (i = 0; i < c->sink_count; i++)
        if (c->sinks[i]->dirty && (all || (c->sinks[i]->due_ms <= now && c->retry_ms <= now)))
            return true;
    return false;
}

static void
take_bodies(struct committer *c, struct committer_round *round)
{
    struct committer_body *body;
    size_t bytes = 0;

    if (c->gathered > 0 && c->gathered < c->expected)
        c->not_waiting = NOT_WAITING;
    while ((body = c->queue.first) != NULL &&
           (bytes == 0 || bytes + body->chunks.n <= COMMITTER_GROUP_BYTES)) {
        bytes += body->chunks.n;
        c->gathered_bytes -= body->chunks.n;
        c->gathered--;
        committer_list_add(&round->bodies, committer_list_take(&c->queue));
    }
}

/* ---- interval mode: points wait in memory ---- */

static enum err
count_points(struct slice chunks, uint64_t *points)
{
    struct chunk head;
    struct slice chunk;

    *points = 0;
    while (chunk_split(&chunks, &chunk)) {
        if (chunk_header(chunk, &head) != ERR_OK)
            return ERR_BAD;
        *points += head.count;
    }
    return chunks.n == 0 && *points > 0 ? ERR_OK : ERR_BAD;
}

static bool
absorb(struct committer *c, const struct committer_body *body, uint64_t *points)
{
    struct store_usage usage;
    size_t held = buf_len(&c->waiting);
    uint64_t need = store_need(c->store, body->chunks) + (held == 0 ? 0 : c->waiting_need);
    uint64_t slack = WAITING_SLACK * (store_chunk_max(c->store) + 16);

    if (c->failing)
        return false; /* what cannot be written within the interval is not promised */
    store_usage(c->store, &usage);
    if (held + body->chunks.n > c->waiting_max || need + slack > usage.room_bytes ||
        count_points(body->chunks, points) != ERR_OK ||
        buf_add(&c->waiting, body->chunks) != ERR_OK)
        return false;
    c->waiting_need = need;
    if (held == 0)
        c->waiting_due_ms =
            clock_after(clock_mono_ms(c->options.clock), c->options.sync_interval_ms);
    return true;
}

/* What does not fit stays in the round: it is committed now, behind what waits. */
static void
absorb_bodies(struct committer *c, struct committer_round *round)
{
    struct committer_body *body;
    uint64_t points;

    while ((body = round->bodies.first) != NULL && absorb(c, body, &points)) {
        body = committer_list_take(&round->bodies);
        body->points = points;
        (void)pthread_mutex_lock(&c->mutex);
        c->waiting_bytes = buf_len(&c->waiting);
        (void)pthread_mutex_unlock(&c->mutex);
        committer_answer(c, body, ERR_OK, NULL);
    }
}

/* ---- filling a transaction ---- */

static enum err
store_waiting(struct committer *c, struct committer_round *round, struct errinfo *info)
{
    uint64_t first, points;
    enum err err;

    if (buf_len(&c->waiting) == 0)
        return ERR_OK;
    err = store_append(c->store, buf_peek(&c->waiting), &first, &points, info);
    if (err == ERR_FULL) {
        round->blocked = round->wanted = store_need(c->store, buf_peek(&c->waiting));
        return ERR_OK;
    }
    if (err != ERR_OK)
        return err;
    round->waiting_stored = true;
    round->worth = true;
    round->appended += points;
    return ERR_OK;
}

static enum err
store_bodies(struct committer *c, struct committer_round *round, struct errinfo *info)
{
    struct committer_list rest = {0};
    struct committer_body *body;
    uint64_t first;
    enum err err = ERR_OK;

    while (err == ERR_OK && (body = committer_list_take(&round->bodies)) != NULL) {
        if (round->squeezed && round->stored.first != NULL) {
            committer_list_add(&rest, body);
            continue;
        }
        err = store_append(c->store, body->chunks, &first, &body->points, info);
        if (err == ERR_BAD) {
            committer_answer(c, body, err, info);
            err = ERR_OK;
            continue;
        }
        committer_list_add(err == ERR_OK ? &round->stored : &rest, body);
        if (err == ERR_OK) {
            round->worth = true;
            round->appended += body->points;
        } else if (err == ERR_FULL) {
            round->wanted += store_need(c->store, body->chunks);
            if (round->blocked == 0)
                round->blocked = round->wanted;
            err = ERR_OK; /* others may be smaller */
        }
    }
    append_list(&rest, &round->bodies);
    round->bodies = rest;
    return err;
}

static enum err
check_change(struct committer *c, const struct committer_change *change, struct errinfo *info)
{
    size_t i;

    for (i = 0; i < change->count; i++) {
        const struct committer_op *op = &change->ops[i];
        bool known = committer_find(c, op->sink) != NULL;

        switch (op->kind) {
        case COMMITTER_PUT:
        case COMMITTER_DELETE:
            if (op->key.n == 0 || op->key.n > 500)
                return errinfo_set(info, ERR_RANGE, "a name is empty or longer than 500 bytes");
            break;
        case COMMITTER_SINK_CREATE:
            if (known || op->sink == 0)
                return errinfo_set(info, ERR_BAD, "sink id %lu is taken", (unsigned long)op->sink);
            if (c->sink_count == STORE_SINKS_MAX)
                return errinfo_set(info, ERR_FULL, "there are %d sinks already", STORE_SINKS_MAX);
            break;
        case COMMITTER_SINK_DROP:
        case COMMITTER_SINK_POLICY:
            if (!known)
                return errinfo_set(info, ERR_EOF, "no sink with id %lu", (unsigned long)op->sink);
            break;
        }
    }
    return ERR_OK;
}

static enum err
create_sink(struct committer *c, const struct committer_op *op, struct errinfo *info)
{
    struct store_record record = {.sink = op->sink};
    struct committer_sink *sink;
    uint64_t first, last;

    store_ends(c->store, &first, &last);
    record.start = record.cursor = op->earliest ? first - 1 : last;
    (void)pthread_mutex_lock(&c->mutex);
    sink = committer_add_sink(c, &record);
    if (sink != NULL) {
        sink->may_lose = op->may_lose;
        sink->dirty = true; /* is put with the others */
        sink->version = 1;
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return sink != NULL ? ERR_OK : errinfo_set(info, ERR_NOMEM, "no memory for a sink");
}

static enum err
apply_op(struct committer *c, const struct committer_op *op, struct errinfo *info)
{
    switch (op->kind) {
    case COMMITTER_PUT:
        return store_put_meta(c->store, op->key, op->value, info);
    case COMMITTER_DELETE:
        return store_delete_meta(c->store, op->key, info);
    case COMMITTER_SINK_CREATE:
        return create_sink(c, op, info);
    case COMMITTER_SINK_DROP:
        (void)pthread_mutex_lock(&c->mutex);
        committer_find(c, op->sink)->dropping = true;
        (void)pthread_mutex_unlock(&c->mutex);
        return store_delete_record(c->store, op->sink, info);
    case COMMITTER_SINK_POLICY:
        break; /* once it is committed */
    }
    return ERR_OK;
}

/* What cannot be is answered here and leaves the round. */
static enum err
apply_changes(struct committer *c, struct committer_round *round, struct errinfo *info)
{
    struct committer_change **at = &round->changes, *change;
    enum err err;
    size_t i;

    while ((change = *at) != NULL) {
        err = check_change(c, change, info);
        if (err != ERR_OK) {
            *at = change->next;
            change->done(change, err, info);
            continue;
        }
        round->worth = true;
        for (i = 0; i < change->count && err == ERR_OK; i++)
            err = apply_op(c, &change->ops[i], info);
        if (err != ERR_OK)
            return err;
        at = &change->next;
    }
    return ERR_OK;
}

static enum err
fill(struct committer *c, struct committer_round *round, bool bodies, struct errinfo *info)
{
    enum err err;

    if ((err = store_waiting(c, round, info)) != ERR_OK ||
        (err = apply_changes(c, round, info)) != ERR_OK)
        return err;
    if (bodies && round->blocked == 0 && (err = store_bodies(c, round, info)) != ERR_OK)
        return err;
    committer_expire(c, round);
    if ((err = committer_make_room(c, round, info)) != ERR_OK)
        return err;
    return committer_put_records(c, &round->steps, info);
}

/* ---- one transaction ---- */

/* Waiting for freed pages is worth a commit by itself: only commits make them usable. After a
 * failure it is worth one to see whether the disk takes them again: nobody may be sending until it
 * does. */
static enum err
attempt(struct committer *c, struct committer_round *round, bool *committed, struct errinfo *info)
{
    bool bodies = round->spoilt % 2 == 0; /* after a spoilt one: first one without them */
    enum err err;

    round->blocked = round->wanted = 0;
    round->appended = 0;
    round->waiting_stored = round->progress = round->steps = *committed = false;
    round->worth = round->spoilt > 0 || c->failing;
    err = store_begin(c->store, info);
    if (err != ERR_OK)
        return err;
    err = fill(c, round, bodies, info);
    if (err != ERR_OK) {
        store_abort(c->store);
        return err;
    }
    round->soon = round->blocked > 0 && store_room_soon(c->store) >= round->blocked;
    if (!round->worth && !round->steps && !round->soon) {
        store_abort(c->store);
        return ERR_OK;
    }
    *committed = true;
    return store_commit(c->store, info);
}

static void
answer_all(struct committer *c, struct committer_list *list, enum err result,
           const struct errinfo *info)
{
    struct committer_body *body;

    while ((body = committer_list_take(list)) != NULL) {
        if (result != ERR_OK)
            body->points = 0;
        committer_answer(c, body, result, info);
    }
}

static void
answer_changes(struct committer_round *round, enum err result, const struct errinfo *info)
{
    struct committer_change *change;

    while ((change = round->changes) != NULL) {
        round->changes = change->next;
        change->done(change, result, info);
    }
}

static void
take_policies(struct committer *c, const struct committer_round *round)
{
    const struct committer_change *change;
    struct committer_sink *sink;
    size_t i;

    for (change = round->changes; change != NULL; change = change->next) {
        for (i = 0; i < change->count; i++) {
            if (change->ops[i].kind == COMMITTER_SINK_POLICY &&
                (sink = committer_find(c, change->ops[i].sink)) != NULL)
                sink->may_lose = change->ops[i].may_lose;
        }
        committer_room_changed(c);
    }
}

static void
succeeded(struct committer *c, struct committer_round *round, bool committed, int64_t us)
{
    struct store_usage usage;

    store_usage(c->store, &usage);
    if (round->waiting_stored)
        buf_clear(&c->waiting);
    if (round->appended > 0 && c->options.max_age_ms > 0 && c->age_ms == DEADLINE_NEVER)
        c->age_ms = clock_after(clock_mono_ms(c->options.clock), c->options.max_age_ms);
    if (c->delete_budget < COMMITTER_GROUP_BYTES)
        c->delete_budget *= 2;
    (void)pthread_mutex_lock(&c->mutex);
    committer_settle_sinks(c, committed);
    c->waiting_bytes = buf_len(&c->waiting);
    if (committed) {
        c->last_seq = usage.last_seq;
        c->stats.commits++;
        committer_expect(c, &round->stored, us);
        c->stats.points += round->appended;
        c->stats.last_error = (struct errinfo){0};
        histogram_add(&c->stats.commit_seconds, us);
        take_policies(c, round);
        committer_wake_sinks(c);
    }
    if (round->progress || (round->appended > 0 && round->blocked == 0))
        committer_room_changed(c);
    (void)pthread_mutex_unlock(&c->mutex);
    if (committed) {
        c->failing = false;
        committer_tell_success(c);
    }
    answer_all(c, &round->stored, ERR_OK, NULL);
    answer_changes(round, ERR_OK, NULL);
}

/* Refuse the first body, or all when the points that wait in memory do not fit either. */
static void
refuse(struct committer *c, struct committer_round *round)
{
    struct errinfo info;
    struct committer_body *body;

    (void)errinfo_set(&info, ERR_FULL, "the log is full");
    if ((body = committer_list_take(&round->bodies)) == NULL)
        return;
    (void)pthread_mutex_lock(&c->mutex);
    c->stats.full = true;
    (void)committer_passed(c, &c->full_passed);
    c->full_bytes = body->chunks.n;
    c->full_until_ms = clock_after(clock_mono_ms(c->options.clock), FULL_RETRY_MS);
    (void)pthread_mutex_unlock(&c->mutex);
    committer_tell_full(c);
    body->points = 0;
    committer_answer(c, body, ERR_FULL, &info);
    if (buf_len(&c->waiting) > 0)
        answer_all(c, &round->bodies, ERR_FULL, &info);
}

static void
failed(struct committer *c, struct committer_round *round, const struct errinfo *info)
{
    int64_t again = clock_after(clock_mono_ms(c->options.clock), COMMITTER_RETRY_MS);

    c->retry_ms = c->waiting_due_ms = c->delete_ms = again;
    c->failing = true;
    if (c->age_ms != DEADLINE_NEVER)
        c->age_ms = again;
    (void)pthread_mutex_lock(&c->mutex);
    c->stats.failed_commits++;
    c->stats.last_error = *info;
    (void)pthread_mutex_unlock(&c->mutex);
    committer_tell_failure(c, info);
    answer_all(c, &round->bodies, ERR_IO, info);
    answer_changes(round, ERR_IO, info);
}

/* Nothing of the transaction is in force: all bodies are to be stored again, in their order. */
static void
undo(struct committer *c, struct committer_round *round)
{
    append_list(&round->stored, &round->bodies);
    round->bodies = round->stored;
    round->stored = (struct committer_list){0};
    (void)pthread_mutex_lock(&c->mutex);
    committer_settle_sinks(c, false);
    (void)pthread_mutex_unlock(&c->mutex);
}

/* True: go on with this round. */
static bool
spoilt(struct committer *c, struct committer_round *round, enum err err, struct errinfo *info)
{
    round->squeezed = true;
    round->spoilt++;
    if (err == ERR_FULL && c->delete_budget > 4096)
        c->delete_budget /= 2;
    if (round->spoilt <= SPOILT_MAX) {
        pause_1ms(); /* a reader that pins pages ends soon */
        return true;
    }
    if (round->bodies.first == NULL) {
        failed(c, round, info);
        return false;
    }
    refuse(c, round);
    round->spoilt = 2;
    return true;
}

/* After a success: whether there is more to do in this round. */
static bool
go_on(struct committer *c, struct committer_round *round)
{
    if (round->spoilt > 0) { /* worked: now with the bodies */
        round->spoilt = round->spoilt % 2 == 0 ? 0 : round->spoilt + 1;
        if (round->bodies.first != NULL && round->blocked == 0)
            return true;
    }
    if (round->blocked == 0)
        return round->bodies.first != NULL;
    if (round->progress || round->appended > 0)
        round->ticks = 0;
    if (round->progress || (round->soon && round->ticks < TICKS_MAX)) {
        if (++round->ticks > TICKS_QUICK)
            pause_1ms();
        return true;
    }
    round->ticks = 0;
    if (buf_len(&c->waiting) > 0)
        c->waiting_due_ms = clock_after(clock_mono_ms(c->options.clock), 100);
    refuse(c, round);
    return round->bodies.first != NULL;
}

/* What could never fit is refused before anything is lost for it. */
static void
refuse_huge(struct committer *c, struct committer_round *round)
{
    struct committer_list rest = {0};
    struct committer_body *body;
    struct errinfo info;

    (void)errinfo_set(&info, ERR_FULL, "larger than the whole log");
    while ((body = committer_list_take(&round->bodies)) != NULL) {
        if (store_need(c->store, body->chunks) <= store_room_max(c->store))
            committer_list_add(&rest, body);
        else
            committer_answer(c, body, ERR_FULL, &info);
    }
    round->bodies = rest;
}

static void
commit_round(struct committer *c, struct committer_round *round)
{
    struct errinfo info = {0};
    bool committed, more = true;
    int64_t began;
    enum err err;

    while (more) {
        (void)pthread_mutex_lock(&c->mutex);
        take_changes(c, round);
        (void)pthread_mutex_unlock(&c->mutex);
        began = committer_now_us();
        err = attempt(c, round, &committed, &info);
        if (err == ERR_OK) {
            succeeded(c, round, committed, committer_now_us() - began);
            more = go_on(c, round);
        } else {
            undo(c, round);
            if (err == ERR_FULL || err == ERR_AGAIN) {
                more = spoilt(c, round, err, &info);
            } else {
                failed(c, round, &info);
                more = false;
            }
        }
    }
}

void
committer_work(struct committer *c)
{
    struct committer_round round = {0};
    bool due = is_due(c, clock_mono_ms(c->options.clock));

    take_bodies(c, &round);
    due = due || c->changes != NULL;
    (void)pthread_mutex_unlock(&c->mutex);
    refuse_huge(c, &round);
    if (c->options.sync == STORE_SYNC_INTERVAL)
        absorb_bodies(c, &round);
    if (due || round.bodies.first != NULL)
        commit_round(c, &round);
    assert(round.bodies.first == NULL && round.stored.first == NULL && round.changes == NULL);
    (void)pthread_mutex_lock(&c->mutex);
}
