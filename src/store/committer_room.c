/*
 * committer_room.c: which points may go, and when.
 *
 * What every sink has passed goes first. With no sink at all the oldest points go when room is
 * needed. Else, if all sinks that still need the oldest chunk may lose it, they are moved past it.
 * Deletion is always from the front, so that the free list cannot fragment.
 */
#include <assert.h>

#include "store/committer_internal.h"

#define EXPIRE_CHUNKS 512u
#define EXPIRE_EVERY_MS 1000
#define EXPIRE_LATEST_MS 60000 /* a clock that is set makes things old at once */

/* Bytes to delete in one transaction: a share of what is free, be it only the reserve, for the
 * pages that it copies and the list of those it frees must be found there. */
static uint64_t
budget(struct committer *c, uint64_t room)
{
    uint64_t reserve = store_map_bytes(c->store) / 16;
    uint64_t most = (room > reserve ? room : reserve) / 2;

    if (most > COMMITTER_GROUP_BYTES)
        most = COMMITTER_GROUP_BYTES;
    if (most < COMMITTER_DELETE_MIN)
        most = COMMITTER_DELETE_MIN;
    return most < c->delete_budget ? most : c->delete_budget;
}

/* Delete what ends at or before ${seq}, at most ${most} bytes of what is ${*left}. */
static enum err
drop(struct committer *c, struct committer_round *round, uint64_t seq, uint64_t most,
     uint64_t *left, bool expired, struct errinfo *info)
{
    uint64_t deleted;
    enum err err;

    if (most > *left)
        most = *left;
    err = store_delete_through(c->store, seq, most, expired, &deleted, info);
    if (err != ERR_OK)
        return err;
    *left -= deleted < *left ? deleted : *left;
    if (deleted > 0) {
        round->progress = true;
        round->worth = true;
    }
    return ERR_OK;
}

/* What all have passed stays up to keep_delivered_bytes, as long as nobody needs its room. The
 * share of the log that it takes is reckoned from its share of the points. */
static uint64_t
not_kept(struct committer *c, uint64_t passed)
{
    struct store_usage usage;
    uint64_t points, delivered, bytes;

    store_usage(c->store, &usage);
    if (c->options.keep_delivered_bytes == 0)
        return UINT64_MAX;
    if (usage.last_seq < usage.first_seq || passed < usage.first_seq)
        return 0;
    points = usage.last_seq - usage.first_seq + 1;
    delivered = (passed < usage.last_seq ? passed : usage.last_seq) - usage.first_seq + 1;
    bytes = (uint64_t)((double)usage.log_bytes * ((double)delivered / (double)points));
    return bytes > c->options.keep_delivered_bytes ? bytes - c->options.keep_delivered_bytes : 0;
}

/* Whether every sink that has not passed ${last} may lose it; then they are moved. */
static bool
move_all(struct committer *c, uint64_t last)
{
    bool may = true;
    size_t i;

    (void)pthread_mutex_lock(&c->mutex);
    for (i = 0; i < c->sink_count; i++)
        if (!c->sinks[i]->dropping && c->sinks[i]->next.cursor < last && !c->sinks[i]->may_lose)
            may = false;
    for (i = 0; may && i < c->sink_count; i++)
        if (!c->sinks[i]->dropping)
            committer_move(c, c->sinks[i], last, STORE_DROP_FULL);
    (void)pthread_mutex_unlock(&c->mutex);
    return may;
}

/* As much of the oldest as the blocked bodies need. Without sinks nobody loses it: it expires. */
static enum err
lose_oldest(struct committer *c, struct committer_round *round, bool sinks, uint64_t *left,
            struct errinfo *info)
{
    uint64_t first, last, soon;
    int64_t age;
    enum err err;

    while (*left > 0 && (soon = store_room_soon(c->store)) < round->wanted) {
        if (!store_oldest(c->store, &first, &last, &age) || (sinks && !move_all(c, last)))
            break;
        if (!sinks)
            last = UINT64_MAX;
        err = drop(c, round, last, round->wanted - soon, left, !sinks, info);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

enum err
committer_make_room(struct committer *c, struct committer_round *round, struct errinfo *info)
{
    uint64_t left = budget(c, store_room(c->store)), whole = left, passed, allowed;
    enum err err = ERR_OK;
    bool sinks;

    (void)pthread_mutex_lock(&c->mutex);
    sinks = committer_passed(c, &passed);
    (void)pthread_mutex_unlock(&c->mutex);
    if (sinks) {
        allowed = round->blocked > 0 ? UINT64_MAX : not_kept(c, passed);
        if (allowed < left)
            left = allowed < store_chunk_max(c->store) ? 0 : allowed;
        whole = left;
        if (left > 0)
            err = drop(c, round, passed, left, &left, false, info);
    }
    if (err == ERR_OK && round->blocked > 0)
        err = lose_oldest(c, round, sinks, &left, info);
    /* A budget used up means that there is more to delete. */
    c->delete_ms = whole > 0 && left < whole / 8 ? clock_after(clock_mono_ms(c->options.clock), 20)
                                                 : DEADLINE_NEVER;
    return err;
}

/* ---- max_age ---- */

/* One sink; ${chunks} are left to look at. Gives the age of its first point that may stay. */
static bool
expire_sink(struct committer *c, struct committer_round *round, struct committer_sink *sink,
            unsigned *chunks, int64_t *age)
{
    uint64_t cursor, last;

    for (;;) {
        (void)pthread_mutex_lock(&c->mutex);
        cursor = sink->next.cursor;
        (void)pthread_mutex_unlock(&c->mutex);
        if (sink->dropping || !store_chunk_at(c->store, cursor, &last, age))
            return false;
        if (*age <= c->options.max_age_ms || *chunks == 0)
            return true;
        (void)pthread_mutex_lock(&c->mutex);
        committer_move(c, sink, last, STORE_DROP_AGE);
        (void)pthread_mutex_unlock(&c->mutex);
        (*chunks)--;
        round->worth = true;
    }
}

void
committer_expire(struct committer *c, struct committer_round *round)
{
    int64_t now = clock_mono_ms(c->options.clock), age, oldest = -1, left;
    unsigned chunks = EXPIRE_CHUNKS;
    size_t i;

    if (c->options.max_age_ms <= 0 || now < c->age_ms)
        return;
    for (i = 0; i < c->sink_count; i++)
        if (expire_sink(c, round, c->sinks[i], &chunks, &age) && age > oldest)
            oldest = age;
    if (chunks == 0)
        c->age_ms = now; /* more in the next transaction */
    else if (oldest < 0)
        c->age_ms = DEADLINE_NEVER; /* until something is appended */
    else if ((left = c->options.max_age_ms - oldest + 1) < EXPIRE_EVERY_MS)
        c->age_ms = clock_after(now, EXPIRE_EVERY_MS);
    else
        c->age_ms = clock_after(now, left < EXPIRE_LATEST_MS ? left : EXPIRE_LATEST_MS);
}
