/*
 * store.c: facts and figures of an open store, and the names of what its records count.
 */
#include "store/store.h"

#include <assert.h>

#include "store/store_internal.h"

const char *
store_library(void)
{
    return lmdb_store_version();
}

bool
store_is_new(const struct store *s)
{
    return s->is_new;
}

uint32_t
store_run(const struct store *s)
{
    return s->run;
}

const char *
store_node_suffix(const struct store *s)
{
    return s->node;
}

size_t
store_chunk_max(const struct store *s)
{
    return s->page_size - 16; /* LMDB's page header, of a 64-bit machine */
}

uint64_t
store_map_bytes(const struct store *s)
{
    return s->map_bytes;
}

uint32_t
store_next_sink(struct store *s)
{
    uint32_t next;

    (void)pthread_mutex_lock(&s->mutex);
    next = s->state.next_sink;
    (void)pthread_mutex_unlock(&s->mutex);
    return next;
}

uint64_t
store_room_max(const struct store *s)
{
    /* Beside the reserve: the headers, the roots, and the branches over a full log. */
    uint64_t kept = s->reserve_pages + STORE_NEVER_USABLE + 16 + s->map_pages / 64;

    return s->map_pages > kept ? (s->map_pages - kept) * s->page_size : 0;
}

const char *
store_drop_name(enum store_drop reason)
{
    static const char *const names[STORE_DROPS] = {"rejected", "full", "age", "dead_letter",
                                                   "damaged"};

    assert((unsigned)reason < STORE_DROPS);
    return names[reason];
}

const char *
store_error_name(enum store_error_kind kind)
{
    static const char *const names[STORE_ERRORS] = {"connect",  "timeout", "auth",    "throttled",
                                                    "rejected", "target",  "protocol"};

    assert((unsigned)kind < STORE_ERRORS);
    return names[kind];
}

/*
 * By uptime where this run accepted the points. What an earlier run accepted is as old as this run,
 * unless both clocks were set: a clock that jumps from 1970 makes nothing old.
 */
int64_t
store_age_of(const struct store *s, const struct chunk_origin *origin)
{
    int64_t now_ms = clock_mono_ms(s->options.clock);
    int64_t now_ns = clock_wall_ns(s->options.clock);
    int64_t age;

    if (origin->run == s->run)
        age = now_ms - origin->accepted_ms;
    else if (clock_plausible(origin->accepted_ns) && clock_plausible(now_ns))
        age = (now_ns - origin->accepted_ns) / 1000000;
    else
        age = now_ms - s->started_ms;
    return age < 0 ? 0 : age;
}

void
store_publish(struct store *s, const struct lmdb_store_pages *pages)
{
    uint64_t kept = pages->used + s->reserve_pages + STORE_NEVER_USABLE;

    (void)pthread_mutex_lock(&s->mutex);
    s->state = s->work;
    s->usage.first_seq = s->work.first_seq;
    s->usage.last_seq = s->work.next_seq - 1;
    s->usage.map_bytes = s->map_bytes;
    s->usage.used_bytes = pages->used * s->page_size;
    s->usage.log_bytes = pages->log * s->page_size;
    s->usage.file_bytes = pages->ends * s->page_size;
    s->usage.room_bytes = s->map_pages > kept ? (s->map_pages - kept) * s->page_size : 0;
    s->usage.expired_points = s->work.expired;
    s->usage.damaged_files = s->work.moved;
    (void)pthread_mutex_unlock(&s->mutex);
}

void
store_usage(struct store *s, struct store_usage *out)
{
    (void)pthread_mutex_lock(&s->mutex);
    *out = s->usage;
    (void)pthread_mutex_unlock(&s->mutex);
}
