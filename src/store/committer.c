/*
 * committer.c: the committer's queue and its thread.
 *
 * The thread sleeps without a timeout when nothing is queued, due or known to be deletable.
 */
#include "store/committer.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/mem.h"
#include "store/committer_internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES (2u * 1024 * 1024)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define STACK_BYTES (2u * 1024 * 1024)
#endif
#endif
#ifndef STACK_BYTES
#define STACK_BYTES (256u * 1024)
#endif

#define EXPECT_MOST_US 50000 /* one long commit must not make the next write wait for it */
#define STOP_TRIES 3
#define TELL_EVERY_MS 60000
#define FIRST_DELETE_MS 1000 /* after the start: what an earlier run left to delete */

int64_t
committer_now_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void
committer_answer(struct committer *c, struct committer_body *body, enum err result,
                 const struct errinfo *info)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->queue_bytes -= body->chunks.n;
    (void)pthread_mutex_unlock(&c->mutex);
    body->done(body, result, info); /* it is the caller's again */
}

/* ---- words for the operator ---- */

void
committer_tell_failure(struct committer *c, const struct errinfo *info)
{
    if (!log_allow(&c->failures, clock_mono_ms(c->options.clock)))
        return;
    c->failure_told = true;
    log_error("commit_failed", "%s; nothing of it was acknowledged, and it is tried again",
              info->text);
}

void
committer_tell_success(struct committer *c)
{
    if (c->failure_told)
        log_info("commit_ok", "the log can be written again");
    c->failure_told = false;
}

void
committer_tell_full(struct committer *c)
{
    if (log_allow(&c->refusals, clock_mono_ms(c->options.clock)))
        log_warn("log_full", "no room: writes are refused until the slowest sink delivers, is "
                             "dropped or may lose points");
}

/* ---- the queue ---- */

enum err
committer_append(struct committer *c, struct committer_body *body)
{
    enum err err = ERR_OK;

    (void)pthread_mutex_lock(&c->mutex);
    if (c->full_bytes != 0 && clock_mono_ms(c->options.clock) >= c->full_until_ms)
        c->full_bytes = 0; /* try again; stats.full stays until then */
    if (c->full_bytes != 0 && body->chunks.n >= c->full_bytes) {
        err = ERR_FULL;
    } else if (c->stopping ||
               (c->queue_bytes > 0 &&
                c->queue_bytes + c->waiting_bytes + body->chunks.n > c->options.queue_max_bytes)) {
        err = ERR_BUSY;
    } else {
        body->points = 0;
        if (c->queue.first == NULL)
            c->gather_until_us = committer_now_us() + c->options.commit_delay_us;
        committer_list_add(&c->queue, body);
        c->queue_bytes += body->chunks.n;
        c->gathered_bytes += body->chunks.n;
        c->gathered++;
        if (c->gathered == 1 || c->gathered >= c->expected ||
            c->gathered_bytes >= COMMITTER_SMALL_BYTES)
            (void)pthread_cond_signal(&c->work);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return err;
}

static void
refuse_change(struct committer_change *change)
{
    struct errinfo info;

    change->done(change, errinfo_set(&info, ERR_STOP, "the daemon is shutting down"), &info);
}

void
committer_change(struct committer *c, struct committer_change *change)
{
    bool ended;

    (void)pthread_mutex_lock(&c->mutex);
    ended = c->ended;
    if (!ended) {
        change->next = NULL;
        if (c->changes_last == NULL)
            c->changes = change;
        else
            c->changes_last->next = change;
        c->changes_last = change;
        (void)pthread_cond_signal(&c->work);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    if (ended)
        refuse_change(change);
}

void
committer_stats(struct committer *c, struct committer_stats *out)
{
    (void)pthread_mutex_lock(&c->mutex);
    *out = c->stats;
    out->queued_bytes = c->queue_bytes + c->waiting_bytes;
    (void)pthread_mutex_unlock(&c->mutex);
}

/* ---- the thread ---- */

/* Those whose bodies were just committed are likely to send again, and those that wait already
 * share the next commit with them: without this, half of the clients wait for the other half's
 * commit. It may take half as long as the commit did; where they do not come in time, as with a
 * fast disk, it is not tried again for a while. */
void
committer_expect(struct committer *c, const struct committer_list *stored, int64_t us)
{
    const struct committer_body *body;

    c->expected = 0;
    if (c->not_waiting > 0) {
        c->not_waiting--;
        return;
    }
    c->expected = c->gathered;
    for (body = stored->first; body != NULL; body = body->next)
        c->expected++;
    c->expected_us = committer_now_us() + (us / 2 < EXPECT_MOST_US ? us / 2 : EXPECT_MOST_US);
}

/* How long bodies that are queued wait for others to share their commit: until the expected ones
 * are there, or as long as they were told to (commit_delay_us). The mutex is held. */
static int64_t
gather_us(const struct committer *c)
{
    int64_t until_us = 0;

    if (c->gathered_bytes >= COMMITTER_GROUP_BYTES)
        return 0;
    if (c->gathered < c->expected && c->gathered_bytes < COMMITTER_SMALL_BYTES)
        until_us = c->expected_us;
    if (c->options.commit_delay_us > 0)
        until_us = c->gather_until_us;
    return until_us == 0 ? 0 : until_us - committer_now_us();
}

/* Microseconds until there is something to do; INT64_MAX: until a signal. The mutex is held. */
static int64_t
wait_us(struct committer *c)
{
    int64_t now = clock_mono_ms(c->options.clock), at = DEADLINE_NEVER, due, left = INT64_MAX;
    size_t i;

    if (c->changes != NULL || c->flush || c->stopping)
        return 0;
    if (c->queue.first != NULL) {
        left = gather_us(c);
        if (left <= 0)
            return 0;
    }
    for (i = 0; i < c->sink_count; i++) {
        due = c->sinks[i]->due_ms > c->retry_ms ? c->sinks[i]->due_ms : c->retry_ms;
        if (c->sinks[i]->dirty && due < at)
            at = due;
    }
    if (buf_len(&c->waiting) > 0 && c->waiting_due_ms < at)
        at = c->waiting_due_ms;
    if (c->delete_ms < at)
        at = c->delete_ms;
    if (c->age_ms < at)
        at = c->age_ms;
    if (at <= now)
        return 0;
    if (at != DEADLINE_NEVER && at - now < left / 1000)
        left = (at - now) * 1000;
    return left;
}

static void
wait_for_work(struct committer *c)
{
    struct timespec until;
    int64_t us;

    while ((us = wait_us(c)) > 0) {
        if (us == INT64_MAX) {
            (void)pthread_cond_wait(&c->work, &c->mutex);
            continue;
        }
        us += committer_now_us();
        until.tv_sec = (time_t)(us / 1000000);
        until.tv_nsec = (long)(us % 1000000) * 1000;
        (void)pthread_cond_timedwait(&c->work, &c->mutex, &until);
    }
}

static bool
all_done(struct committer *c)
{
    size_t i;

    if (c->queue.first != NULL || c->changes != NULL || buf_len(&c->waiting) > 0)
        return false;
    for (i = 0; i < c->sink_count; i++)
        if (c->sinks[i]->dirty)
            return false;
    return true;
}

/* The log could not be written to the end: what waits is told so. The mutex is held, but not while
 * somebody is told. */
static void
give_up(struct committer *c)
{
    struct committer_list bodies = c->queue;
    struct committer_change *changes = c->changes, *change;
    struct committer_body *body;
    struct errinfo info;

    c->queue = (struct committer_list){0};
    c->changes = c->changes_last = NULL;
    c->ended = true;
    (void)pthread_mutex_unlock(&c->mutex);
    (void)errinfo_set(&info, ERR_IO, "the daemon ends and the log cannot be written");
    while ((body = committer_list_take(&bodies)) != NULL)
        committer_answer(c, body, ERR_IO, &info);
    while ((change = changes) != NULL) {
        changes = change->next;
        refuse_change(change);
    }
    if (buf_len(&c->waiting) > 0)
        log_error("points_lost", "the log could not be written to the end: the points of the last "
                                 "sync_interval_ms that were taken are lost");
    (void)pthread_mutex_lock(&c->mutex);
}

static void *
run(void *arg)
{
    struct committer *c = arg;
    uint64_t failures, commits;
    int tries = 0;

    (void)pthread_mutex_lock(&c->mutex);
    while (!c->stopping || (!all_done(c) && tries < STOP_TRIES)) {
        wait_for_work(c);
        failures = c->stats.failed_commits;
        commits = c->stats.commits;
        committer_work(c);
        if (c->stopping && (c->stats.failed_commits != failures || c->stats.commits == commits))
            tries++;
    }
    give_up(c);
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* ---- start and stop ---- */

static void
load_record(void *arg, const struct store_record *record)
{
    struct committer *c = arg;
    struct committer_sink *sink = committer_add_sink(c, record);

    if (sink != NULL)
        sink->live = true;
    else
        c->stats.failed_commits++; /* tells committer_start */
}

/* Signals are the loop's: the thread is born with all of them blocked. */
static int
start_thread(struct committer *c)
{
    sigset_t all, before;
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&c->thread, &attr, run, c);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

static void
free_all(struct committer *c)
{
    while (c->sink_count > 0)
        mem_free(c->sinks[--c->sink_count]);
    buf_free(&c->waiting);
    (void)pthread_cond_destroy(&c->work);
    (void)pthread_mutex_destroy(&c->mutex);
    mem_free(c);
}

static void
init(struct committer *c, struct store *store, const struct committer_options *options)
{
    pthread_condattr_t attr;
    struct store_usage usage;
    int64_t now = clock_mono_ms(options->clock);

    c->store = store;
    c->options = *options;
    (void)pthread_mutex_init(&c->mutex, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->work, &attr);
    (void)pthread_condattr_destroy(&attr);
    c->waiting_max = (size_t)(store_map_bytes(store) / 16);
    if (c->waiting_max > COMMITTER_GROUP_BYTES)
        c->waiting_max = COMMITTER_GROUP_BYTES;
    buf_init(&c->waiting, c->waiting_max);
    c->delete_budget = COMMITTER_GROUP_BYTES;
    c->failures = c->refusals = (struct log_limit){.burst = 1, .every_ms = TELL_EVERY_MS};
    c->retry_ms = INT64_MIN;
    c->delete_ms = clock_after(now, FIRST_DELETE_MS);
    c->age_ms = options->max_age_ms > 0 ? now : DEADLINE_NEVER;
    store_usage(store, &usage);
    c->last_seq = usage.last_seq;
}

enum err
committer_start(struct committer **out, struct store *store,
                const struct committer_options *options, struct errinfo *info)
{
    struct committer *c = mem_zalloc(sizeof(*c));
    enum err err;
    int rc;

    if (c == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the committer");
    init(c, store, options);
    err = store_each_record(store, load_record, c, info);
    if (err == ERR_OK && c->stats.failed_commits > 0)
        err = errinfo_set(info, ERR_NOMEM, "no memory for the sinks");
    if (err == ERR_OK && (rc = start_thread(c)) != 0)
        err = errinfo_sys(info, ERR_NOMEM, rc, "cannot start the committer's thread");
    if (err != ERR_OK) {
        free_all(c);
        return err;
    }
    *out = c;
    return ERR_OK;
}

void
committer_end(struct committer *c)
{
    if (c->joined)
        return;
    (void)pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    (void)pthread_cond_signal(&c->work);
    (void)pthread_mutex_unlock(&c->mutex);
    (void)pthread_join(c->thread, NULL);
    c->joined = true;
}

void
committer_stop(struct committer *c)
{
    if (c == NULL)
        return;
    committer_end(c);
    free_all(c);
}
