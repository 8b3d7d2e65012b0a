/*
 * test_store_committer.c: group commits, steps, room, expiry, and the ledgers through all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "store/committer.h"
#include "support/store_drive.h"

#define MB 1000000u
#define DAY_MS INT64_C(86400000)

/* ---- a clock that two threads may look at ---- */

struct shared_clock {
    struct clock clock;
    pthread_mutex_t mutex;
    int64_t mono, wall;
    bool real; /* the monotonic time is the system's, and ${mono} is added */
};

static int64_t
shared_mono(void *ctx)
{
    struct shared_clock *c = ctx;
    int64_t t;

    (void)pthread_mutex_lock(&c->mutex);
    t = c->mono + (c->real ? clock_mono_ms(&clock_system) : 0);
    (void)pthread_mutex_unlock(&c->mutex);
    return t;
}

static int64_t
shared_wall(void *ctx)
{
    struct shared_clock *c = ctx;
    int64_t t;

    (void)pthread_mutex_lock(&c->mutex);
    t = c->wall;
    (void)pthread_mutex_unlock(&c->mutex);
    return t;
}

static void
advance(struct shared_clock *c, int64_t mono_ms, int64_t wall_ns)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->mono += mono_ms;
    c->wall += wall_ns;
    (void)pthread_mutex_unlock(&c->mutex);
}

/* ---- fixture ---- */

struct fixture {
    char dir[STORE_DRIVE_DIR];
    struct shared_clock time;
    struct store *s;
    struct committer *c;
    struct committer_options options;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    store_drive_dir(f->dir);
    f->time.clock = (struct clock){shared_mono, shared_wall, &f->time};
    f->time.wall = INT64_C(1700000000000000000);
    f->time.real = true;
    (void)pthread_mutex_init(&f->time.mutex, NULL);
    f->options = (struct committer_options){
        .clock = &f->time.clock, .sync = STORE_SYNC_ALWAYS, .queue_max_bytes = 64 * MB};
    *state = f;
    return 0;
}

static void
start(struct fixture *f, uint64_t bytes)
{
    enum store_sync sync = f->options.sync;
    struct errinfo info = {0};

    f->s = store_drive_open(f->dir, bytes, sync, &f->time.clock);
    if (committer_start(&f->c, f->s, &f->options, &info) != ERR_OK)
        fail_msg("committer_start: %s", info.text);
}

static void
stop(struct fixture *f)
{
    committer_stop(f->c);
    store_close(f->s);
    f->c = NULL;
    f->s = NULL;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    stop(f);
    store_drive_remove(f->dir);
    (void)pthread_mutex_destroy(&f->time.mutex);
    free(f);
    assert_int_equal(mem_live(), 0);
    return 0;
}

/* ---- bodies and changes whose end can be waited for ---- */

static pthread_mutex_t done_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;

struct sent {
    struct committer_body body;
    struct committer_change change;
    struct buf chunks;
    bool done;
    enum err result;
};

static void
finish(struct sent *sent, enum err result)
{
    (void)pthread_mutex_lock(&done_mutex);
    assert_false(sent->done);
    sent->done = true;
    sent->result = result;
    (void)pthread_cond_broadcast(&done_cond);
    (void)pthread_mutex_unlock(&done_mutex);
}

static void
body_done(struct committer_body *body, enum err result, const struct errinfo *info)
{
    (void)info;
    finish((struct sent *)(void *)((char *)body - offsetof(struct sent, body)), result);
}

static void
change_done(struct committer_change *change, enum err result, const struct errinfo *info)
{
    (void)info;
    finish((struct sent *)(void *)((char *)change - offsetof(struct sent, change)), result);
}

static enum err
wait_for(struct sent *sent)
{
    enum err result;

    (void)pthread_mutex_lock(&done_mutex);
    while (!sent->done)
        (void)pthread_cond_wait(&done_cond, &done_mutex);
    sent->done = false;
    result = sent->result;
    (void)pthread_mutex_unlock(&done_mutex);
    return result;
}

static void
prepare(struct fixture *f, struct sent *sent, uint64_t first, unsigned points, unsigned pad)
{
    sent->done = false;
    store_drive_body(&sent->chunks, f->s, &f->time.clock, first, points, pad);
    sent->body = (struct committer_body){.chunks = buf_peek(&sent->chunks), .done = body_done};
}

/* One body; its lines say their numbers when nobody else writes. */
static enum err
write_points(struct fixture *f, unsigned points, unsigned pad)
{
    struct sent sent = {0};
    struct store_usage usage;
    enum err err;

    buf_init(&sent.chunks, 64 * MB);
    store_usage(f->s, &usage);
    prepare(f, &sent, usage.last_seq + 1, points, pad);
    err = committer_append(f->c, &sent.body);
    if (err == ERR_OK)
        err = wait_for(&sent);
    if (err == ERR_OK)
        assert_int_equal(sent.body.points, points);
    buf_free(&sent.chunks);
    return err;
}

static enum err
apply(struct fixture *f, const struct committer_op *ops, size_t count)
{
    struct sent sent = {.change = {.ops = ops, .count = count, .done = change_done}};

    committer_change(f->c, &sent.change);
    return wait_for(&sent);
}

static void
create(struct fixture *f, uint32_t id, bool earliest, bool may_lose)
{
    const struct committer_op op = {
        .kind = COMMITTER_SINK_CREATE, .sink = id, .earliest = earliest, .may_lose = may_lose};

    assert_int_equal(apply(f, &op, 1), ERR_OK);
}

static struct store_record
record(struct fixture *f, uint32_t id)
{
    struct store_record now, committed;

    assert_int_equal(committer_record(f->c, id, &committed, &now), ERR_OK);
    assert_true(store_record_adds_up(&now));
    assert_true(store_record_adds_up(&committed));
    assert_true(committed.cursor <= now.cursor);
    return now;
}

static enum err
forward(struct fixture *f, uint32_t id, uint64_t from, uint64_t to)
{
    struct committer_step step = {.sink = id, .from = from, .to = to, .forwarded = to - from};
    struct store_record now;

    return committer_step(f->c, &step, &now);
}

/* Waits until the sink's record is committed as it is now. */
static void
settle(struct fixture *f, uint32_t id)
{
    struct wake wake;
    struct errinfo info;
    struct pollfd p;

    assert_int_equal(wake_open(&wake, &info), ERR_OK);
    committer_attach(f->c, id, &wake);
    committer_flush(f->c);
    committer_arm(f->c, id, UINT64_MAX, true);
    p = (struct pollfd){wake_fd(&wake), POLLIN, 0};
    assert_int_equal(poll(&p, 1, 10000), 1);
    committer_attach(f->c, id, NULL);
    wake_close(&wake);
}

static void
sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

/* All points from there on are in the log, and each one's line has its number in it. */
static void
assert_reads(struct fixture *f, uint64_t after)
{
    struct store_scan scan;
    struct store_usage usage;

    store_usage(f->s, &usage);
    assert_int_equal(store_drive_read(f->s, after, &scan), usage.last_seq - after);
}

/* ---- bodies ---- */

struct writer {
    struct fixture *f;
    unsigned bodies;
};

static void *
write_many(void *arg)
{
    struct writer *w = arg;
    unsigned i;

    for (i = 0; i < w->bodies; i++)
        assert_int_equal(write_points(w->f, 7, 20), ERR_OK);
    return NULL;
}

static void
writers_share_commits(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[16];
    struct writer w = {f, 20};
    struct committer_stats stats;
    struct store_usage usage;
    size_t i;

    f->options.commit_delay_us = 2000;
    start(f, 16 * MB);
    for (i = 0; i < 16; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &w), 0);
    for (i = 0; i < 16; i++)
        (void)pthread_join(threads[i], NULL);
    committer_stats(f->c, &stats);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 16 * 20 * 7);
    assert_int_equal(stats.points, 16 * 20 * 7);
    assert_true(stats.commits < 16 * 20 / 2);
    assert_int_equal(stats.queued_bytes, 0);
    assert_int_equal(stats.failed_commits, 0);
}

static void
a_full_queue_refuses(void **state)
{
    struct fixture *f = *state;
    struct sent one = {0}, two = {0};

    f->options.queue_max_bytes = 1000;
    f->options.commit_delay_us = 200000;
    start(f, 16 * MB);
    buf_init(&one.chunks, MB);
    buf_init(&two.chunks, MB);
    prepare(f, &one, 1, 100, 100); /* one alone is always taken */
    prepare(f, &two, 101, 1, 0);
    assert_int_equal(committer_append(f->c, &one.body), ERR_OK);
    assert_int_equal(committer_append(f->c, &two.body), ERR_BUSY);
    assert_int_equal(wait_for(&one), ERR_OK);
    while (committer_append(f->c, &two.body) != ERR_OK) /* its bytes are counted until it is answered */
        sleep_ms(1);
    assert_int_equal(wait_for(&two), ERR_OK);
    assert_reads(f, 0);
    buf_free(&one.chunks);
    buf_free(&two.chunks);
}

static void
what_is_larger_than_the_log_is_refused_at_once(void **state)
{
    struct fixture *f = *state;
    struct committer_stats stats;

    f->options.sync = STORE_SYNC_NONE;
    start(f, 4 * MB);
    create(f, 1, false, true);
    assert_int_equal(write_points(f, 100, 100), ERR_OK);
    assert_int_equal(write_points(f, 4000, 1000), ERR_FULL);
    committer_stats(f->c, &stats);
    assert_false(stats.full);
    assert_int_equal(record(f, 1).cursor, 0); /* nothing was lost for it */
    assert_int_equal(write_points(f, 100, 100), ERR_OK);
}

/* ---- steps ---- */

static void
steps_fold_and_are_kept(void **state)
{
    struct fixture *f = *state;
    struct store_record committed, now;
    struct committer_step step = {.sink = 1, .retries = 2, .errors = {[STORE_ERROR_TIMEOUT] = 3},
                                  .last_success_ns = 77, .learned_points = 50};

    f->options.cursor_delay_ms = 3600000;
    start(f, 16 * MB);
    create(f, 1, false, false);
    assert_int_equal(write_points(f, 100, 20), ERR_OK);
    assert_int_equal(forward(f, 1, 0, 40), ERR_OK);
    assert_int_equal(forward(f, 1, 40, 60), ERR_OK);
    assert_int_equal(forward(f, 1, 40, 61), ERR_BUSY);
    assert_int_equal(forward(f, 2, 0, 1), ERR_EOF);
    step.from = step.to = 60;
    assert_int_equal(committer_step(f->c, &step, &now), ERR_OK);
    step.from = 60;
    step.to = 63;
    step.filtered = step.dead = step.dropped[STORE_DROP_REJECTED] = 1;
    assert_int_equal(committer_step(f->c, &step, &now), ERR_OK);
    assert_int_equal(now.cursor, 63);
    assert_int_equal(committer_record(f->c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 0); /* it may wait an hour */
    assert_int_equal(write_points(f, 1, 20), ERR_OK);
    assert_int_equal(committer_record(f->c, 1, &committed, &now), ERR_OK);
    assert_int_equal(committed.cursor, 63); /* but rides along */
    assert_int_equal(forward(f, 1, 63, 101), ERR_OK);
    stop(f); /* commits the rest */
    start(f, 16 * MB);
    now = record(f, 1);
    assert_int_equal(now.cursor, 101);
    assert_int_equal(now.forwarded, 98);
    assert_int_equal(now.filtered, 1);
    assert_int_equal(now.dead, 1);
    assert_int_equal(store_record_dropped(&now), 1);
    assert_int_equal(now.retries, 4);
    assert_int_equal(now.errors[STORE_ERROR_TIMEOUT], 6);
    assert_int_equal(now.last_success_ns, 77);
    assert_int_equal(now.learned_points, 50);
}

static void
a_step_is_committed_within_its_delay(void **state)
{
    struct fixture *f = *state;
    struct store_record committed;
    int i;

    f->options.cursor_delay_ms = 50;
    start(f, 16 * MB);
    create(f, 1, false, false);
    assert_int_equal(write_points(f, 10, 20), ERR_OK);
    assert_int_equal(forward(f, 1, 0, 10), ERR_OK);
    for (i = 0; i < 500; i++) {
        assert_int_equal(committer_record(f->c, 1, &committed, NULL), ERR_OK);
        if (committed.cursor == 10)
            break;
        sleep_ms(10);
    }
    assert_int_equal(committed.cursor, 10);
}

static void
a_runner_is_woken_for_what_it_armed(void **state)
{
    struct fixture *f = *state;
    struct wake wake;
    struct errinfo info;
    struct pollfd p;

    f->options.cursor_delay_ms = 3600000;
    start(f, 16 * MB);
    create(f, 1, false, false);
    assert_int_equal(wake_open(&wake, &info), ERR_OK);
    p = (struct pollfd){wake_fd(&wake), POLLIN, 0};
    committer_attach(f->c, 1, &wake);
    assert_int_equal(write_points(f, 10, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* not armed */
    committer_arm(f->c, 1, 20, false);
    assert_int_equal(write_points(f, 9, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* not there yet */
    assert_int_equal(write_points(f, 1, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 1);
    wake_drain(&wake);
    assert_int_equal(write_points(f, 1, 0), ERR_OK);
    assert_int_equal(poll(&p, 1, 0), 0); /* once */
    committer_arm(f->c, 1, 21, false);
    assert_int_equal(poll(&p, 1, 0), 1); /* it is so already */
    wake_drain(&wake);
    assert_int_equal(forward(f, 1, 0, 21), ERR_OK);
    committer_arm(f->c, 1, UINT64_MAX, true);
    assert_int_equal(poll(&p, 1, 0), 0);
    committer_flush(f->c);
    assert_int_equal(poll(&p, 1, 10000), 1);
    committer_attach(f->c, 1, NULL);
    wake_close(&wake);
}

/* ---- definitions ---- */

static void
sinks_begin_where_they_were_told(void **state)
{
    struct fixture *f = *state;
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = 1};
    const struct committer_op again = {.kind = COMMITTER_SINK_CREATE, .sink = 2};
    const struct committer_op puts[] = {
        {.kind = COMMITTER_PUT, .key = SLICE_INIT("meta_sink:a"), .value = SLICE_INIT("x")},
        {.kind = COMMITTER_PUT, .key = SLICE_INIT(""), .value = SLICE_INIT("x")}};
    struct store_record r;

    start(f, 16 * MB);
    assert_int_equal(write_points(f, 50, 10), ERR_OK);
    create(f, 2, true, false); /* first: what no sink needs goes as soon as there is one */
    create(f, 1, false, false);
    assert_int_equal(write_points(f, 50, 10), ERR_OK);
    assert_int_equal(record(f, 1).start, 50);
    assert_int_equal(record(f, 2).start, 0);
    assert_int_equal(apply(f, &again, 1), ERR_BAD);
    assert_int_equal(apply(f, puts, 2), ERR_RANGE);
    assert_int_equal(apply(f, puts, 1), ERR_OK);
    assert_int_equal(apply(f, &drop, 1), ERR_OK);
    assert_int_equal(apply(f, &drop, 1), ERR_EOF);
    assert_int_equal(committer_record(f->c, 1, NULL, &r), ERR_EOF);
    assert_int_equal(forward(f, 1, 50, 51), ERR_EOF);
    stop(f);
    start(f, 16 * MB);
    assert_int_equal(committer_record(f->c, 1, NULL, &r), ERR_EOF);
    assert_int_equal(record(f, 2).start, 0);
    assert_int_equal(store_next_sink(f->s), 3);
}

static void
passed_points_are_deleted_and_freed_by_a_drop(void **state)
{
    struct fixture *f = *state;
    const struct committer_op drop = {.kind = COMMITTER_SINK_DROP, .sink = 2};
    struct store_usage usage;
    int i;

    start(f, 16 * MB);
    create(f, 1, true, false);
    create(f, 2, true, false);
    for (i = 0; i < 20; i++)
        assert_int_equal(write_points(f, 1000, 100), ERR_OK);
    assert_int_equal(forward(f, 1, 0, 20000), ERR_OK);
    settle(f, 1);
    store_usage(f->s, &usage);
    assert_int_equal(usage.first_seq, 1); /* the other one needs them */
    assert_int_equal(apply(f, &drop, 1), ERR_OK);
    for (i = 0; i < 500; i++) {
        store_usage(f->s, &usage);
        if (usage.first_seq == 20001)
            break;
        sleep_ms(10);
    }
    assert_int_equal(usage.first_seq, 20001);
}

static void
delivered_points_are_kept_as_long_as_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    int i;

    f->options.sync = STORE_SYNC_NONE;
    f->options.keep_delivered_bytes = MB;
    start(f, 16 * MB);
    create(f, 1, true, false);
    for (i = 0; i < 30; i++) {
        assert_int_equal(write_points(f, 1000, 100), ERR_OK);
        assert_int_equal(forward(f, 1, (uint64_t)i * 1000, (uint64_t)i * 1000 + 1000), ERR_OK);
        settle(f, 1);
    }
    sleep_ms(300);
    store_usage(f->s, &usage);
    assert_true(usage.log_bytes > 9 * MB / 10 && usage.log_bytes < 14 * MB / 10);
    for (i = 0; i < 80; i++) /* undelivered ones take the room */
        assert_int_equal(write_points(f, 1000, 100), ERR_OK);
    assert_reads(f, 30000);
}

/* ---- room ---- */

static void
reject_refuses_until_the_sink_moves(void **state)
{
    struct fixture *f = *state;
    struct committer_stats stats;
    struct store_usage usage;
    uint64_t cursor = 0, accepted = 0;
    unsigned refused = 0, i;

    f->options.sync = STORE_SYNC_NONE;
    start(f, 4 * MB);
    create(f, 1, false, false);
    for (i = 0; i < 4000; i++) {
        unsigned points = 1 + i % 60;
        enum err err = write_points(f, points, i % 7 * 50);

        if (err == ERR_OK) {
            accepted += points;
            continue;
        }
        assert_int_equal(err, ERR_FULL);
        committer_stats(f->c, &stats);
        assert_true(stats.full);
        refused++;
        store_usage(f->s, &usage);
        assert_int_equal(usage.last_seq, accepted);
        assert_true(accepted > cursor);
        assert_reads(f, accepted - 100); /* all of it is there */
        assert_int_equal(forward(f, 1, cursor, cursor + (accepted - cursor) / 20 + 1), ERR_OK);
        cursor += (accepted - cursor) / 20 + 1;
    }
    assert_true(refused > 50);
    assert_int_equal(record(f, 1).cursor, cursor);
    assert_reads(f, cursor);
    committer_stats(f->c, &stats);
    assert_int_equal(stats.failed_commits, 0);
}

static void
drop_oldest_makes_room_and_counts(void **state)
{
    struct fixture *f = *state;
    struct committer_stats stats;
    struct store_usage usage;
    struct store_record now;
    uint64_t accepted = 0, cursor = 0;
    unsigned i, busy = 0;

    f->options.sync = STORE_SYNC_NONE;
    start(f, 4 * MB);
    create(f, 1, false, true);
    create(f, 2, false, true);
    for (i = 0; i < 4000; i++) {
        unsigned points = 1 + i % 60;

        assert_int_equal(write_points(f, points, i % 7 * 50), ERR_OK);
        accepted += points;
        if (i % 10 == 9 && cursor < accepted) { /* a slow one */
            uint64_t to = cursor + 20 < accepted ? cursor + 20 : accepted;

            if (forward(f, 1, cursor, to) == ERR_BUSY)
                busy++;
            cursor = record(f, 1).cursor;
        }
    }
    assert_true(busy > 10);
    now = record(f, 2);
    assert_true(now.dropped[STORE_DROP_FULL] > accepted / 2);
    assert_int_equal(now.dropped[STORE_DROP_FULL], now.cursor);
    now = record(f, 1);
    assert_int_equal(now.dropped[STORE_DROP_FULL] + now.forwarded, now.cursor);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, accepted);
    assert_true(usage.log_bytes > MB); /* no more than needed was lost */
    assert_reads(f, now.cursor > record(f, 2).cursor ? now.cursor : record(f, 2).cursor);
    committer_stats(f->c, &stats);
    assert_false(stats.full);
    assert_int_equal(stats.failed_commits, 0);
}

static void
one_sink_that_may_not_lose_holds_all(void **state)
{
    struct fixture *f = *state;
    const struct committer_op policy = {.kind = COMMITTER_SINK_POLICY, .sink = 2, .may_lose = true};
    enum err err;

    f->options.sync = STORE_SYNC_NONE;
    start(f, 4 * MB);
    create(f, 1, false, true);
    create(f, 2, false, false);
    while ((err = write_points(f, 100, 100)) == ERR_OK)
        ;
    assert_int_equal(err, ERR_FULL);
    assert_int_equal(record(f, 1).cursor, 0);
    assert_int_equal(apply(f, &policy, 1), ERR_OK);
    assert_int_equal(write_points(f, 100, 100), ERR_OK);
    assert_true(record(f, 1).dropped[STORE_DROP_FULL] > 0);
    assert_true(record(f, 2).dropped[STORE_DROP_FULL] > 0);
}

static void
without_sinks_the_oldest_expire(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    unsigned i;

    f->options.sync = STORE_SYNC_NONE;
    start(f, 4 * MB);
    for (i = 0; i < 1000; i++)
        assert_int_equal(write_points(f, 100, 100), ERR_OK);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 100000);
    assert_int_equal(usage.expired_points, usage.first_seq - 1);
    assert_true(usage.expired_points > 50000);
    assert_true(usage.log_bytes > 2 * MB);
    assert_reads(f, usage.first_seq - 1);
}

/* ---- interval ---- */

static void
interval_answers_first_and_commits_later(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    struct committer_stats stats;
    int i;

    f->options.sync = STORE_SYNC_INTERVAL;
    f->options.sync_interval_ms = 3600000;
    start(f, 16 * MB);
    assert_int_equal(write_points(f, 100, 10), ERR_OK);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 0);
    committer_stats(f->c, &stats);
    assert_true(stats.queued_bytes > 0);
    create(f, 1, false, false); /* a definition commits at once, behind the points */
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 100);
    assert_int_equal(record(f, 1).start, 100);
    assert_int_equal(write_points(f, 100, 10), ERR_OK);
    stop(f);
    f->options.sync_interval_ms = 30;
    start(f, 16 * MB);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 200);
    assert_int_equal(write_points(f, 100, 10), ERR_OK);
    for (i = 0; i < 500 && usage.last_seq != 300; i++) {
        sleep_ms(10);
        store_usage(f->s, &usage);
    }
    assert_int_equal(usage.last_seq, 300);
    assert_int_equal(record(f, 1).cursor, 100);
}

static void
interval_never_loses_what_it_answered(void **state)
{
    struct fixture *f = *state;
    struct store_usage usage;
    uint64_t accepted = 0;
    unsigned i, refused = 0;

    f->options.sync = STORE_SYNC_INTERVAL;
    f->options.sync_interval_ms = 2;
    start(f, 4 * MB);
    create(f, 1, false, false);
    for (i = 0; i < 1000 && refused < 5; i++) {
        enum err err = write_points(f, 100, 100);

        assert_true(err == ERR_OK || err == ERR_FULL);
        accepted += err == ERR_OK ? 100 : 0;
        refused += err == ERR_FULL;
    }
    assert_int_equal(refused, 5);
    stop(f);
    start(f, 4 * MB);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, accepted);
}

/* ---- max_age ---- */

static void
wait_cursor(struct fixture *f, uint32_t id, uint64_t cursor)
{
    int i;

    for (i = 0; i < 500 && record(f, id).cursor != cursor; i++) {
        committer_flush(f->c); /* a turned clock wakes nobody */
        sleep_ms(5);
    }
    assert_int_equal(record(f, id).cursor, cursor);
}

static void
what_is_too_old_is_dropped(void **state)
{
    struct fixture *f = *state;

    f->time.real = false;
    f->time.mono = 5000;
    f->options.max_age_ms = DAY_MS;
    start(f, 16 * MB);
    create(f, 1, false, false);
    assert_int_equal(write_points(f, 300, 100), ERR_OK);
    assert_int_equal(forward(f, 1, 0, 10), ERR_OK);
    advance(&f->time, DAY_MS / 2, DAY_MS / 2 * 1000000);
    assert_int_equal(write_points(f, 300, 100), ERR_OK);
    assert_int_equal(record(f, 1).cursor, 10);
    advance(&f->time, DAY_MS / 2 + 2000, 0);
    wait_cursor(f, 1, 300);
    assert_int_equal(record(f, 1).dropped[STORE_DROP_AGE], 290);
    assert_int_equal(forward(f, 1, 10, 20), ERR_BUSY);
    advance(&f->time, DAY_MS, 0);
    wait_cursor(f, 1, 600);
}

static void
a_clock_that_is_set_makes_nothing_old(void **state)
{
    struct fixture *f = *state;
    int i;

    f->time.real = false;
    f->time.wall = 5; /* 1970 */
    f->options.max_age_ms = DAY_MS;
    start(f, 16 * MB);
    create(f, 1, false, false);
    assert_int_equal(write_points(f, 300, 100), ERR_OK);
    stop(f);
    start(f, 16 * MB); /* an earlier run accepted them, with a clock that was not set */
    advance(&f->time, 120000, INT64_C(1700000000000000000));
    for (i = 0; i < 20; i++) {
        committer_flush(f->c);
        assert_int_equal(write_points(f, 1, 0), ERR_OK);
        advance(&f->time, 2000, 0);
    }
    assert_int_equal(record(f, 1).cursor, 0);
    advance(&f->time, DAY_MS, 0);
    wait_cursor(f, 1, 320);
    assert_int_equal(record(f, 1).dropped[STORE_DROP_AGE], 320);
}

/* ---- threads and memory ---- */

struct runner {
    struct fixture *f;
    uint32_t id;
    uint64_t until;
};

/* Reads and steps like a sink's runner, sleeping on its pipe. */
static void *
run_sink(void *arg)
{
    struct runner *run = arg;
    struct fixture *f = run->f;
    struct store_reader *r = NULL;
    struct store_record now;
    struct store_scan scan;
    struct batch batch;
    struct errinfo info;
    struct wake wake;
    struct pollfd p;

    batch_init(&batch);
    assert_int_equal(wake_open(&wake, &info), ERR_OK);
    assert_int_equal(store_reader_open(&r, f->s, &info), ERR_OK);
    p = (struct pollfd){wake_fd(&wake), POLLIN, 0};
    committer_attach(f->c, run->id, &wake);
    while ((now = record(f, run->id)).cursor < run->until) {
        batch_clear(&batch);
        assert_int_equal(store_read(r, now.cursor, NULL, 100, MB, &batch, &scan, &info), ERR_OK);
        if (scan.passed > now.cursor) {
            struct committer_step step = {.sink = run->id, .from = now.cursor, .to = scan.passed};
            enum err err;

            step.forwarded = batch.count;
            step.dropped[STORE_DROP_DAMAGED] = scan.damaged;
            if (scan.missing > 0) /* dropped meanwhile */
                continue;
            err = committer_step(f->c, &step, &now);
            assert_true(err == ERR_OK || err == ERR_BUSY);
            continue;
        }
        committer_arm(f->c, run->id, now.cursor + 1, false);
        (void)poll(&p, 1, 10000);
        wake_drain(&wake);
    }
    committer_attach(f->c, run->id, NULL);
    store_reader_close(r);
    batch_free(&batch);
    wake_close(&wake);
    return NULL;
}

static void
runners_and_writers_at_once(void **state)
{
    struct fixture *f = *state;
    pthread_t writers[4], sinks[3];
    struct writer w = {f, 300};
    struct runner runs[3];
    struct store_usage usage;
    size_t i;

    f->options.sync = STORE_SYNC_NONE;
    f->options.cursor_delay_ms = 5;
    start(f, 4 * MB);
    for (i = 0; i < 3; i++) {
        create(f, (uint32_t)i + 1, true, i == 2);
        runs[i] = (struct runner){f, (uint32_t)i + 1, 4 * 300 * 7};
        assert_int_equal(pthread_create(&sinks[i], NULL, run_sink, &runs[i]), 0);
    }
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_many, &w), 0);
    for (i = 0; i < 4; i++)
        (void)pthread_join(writers[i], NULL);
    for (i = 0; i < 3; i++)
        (void)pthread_join(sinks[i], NULL);
    stop(f);
    start(f, 4 * MB);
    for (i = 0; i < 3; i++)
        assert_int_equal(record(f, (uint32_t)i + 1).cursor, 4 * 300 * 7);
    assert_int_equal(record(f, 1).forwarded, 4 * 300 * 7);
    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 4 * 300 * 7);
}

static void
any_allocation_of_the_start_may_fail(void **state)
{
    struct fixture *f = *state;
    struct errinfo info;
    enum err err = ERR_NOMEM;
    size_t n, live;

    start(f, 16 * MB);
    create(f, 1, true, false);
    create(f, 2, true, false);
    committer_stop(f->c);
    f->c = NULL;
    live = mem_live();
    for (n = 1; err != ERR_OK; n++) {
        mem_fail_at(n);
        err = committer_start(&f->c, f->s, &f->options, &info);
        mem_fail_at(0);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_NOMEM);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n >= 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writers_share_commits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_larger_than_the_log_is_refused_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_fold_and_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_is_committed_within_its_delay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_runner_is_woken_for_what_it_armed, setup, teardown),
        cmocka_unit_test_setup_teardown(sinks_begin_where_they_were_told, setup, teardown),
        cmocka_unit_test_setup_teardown(passed_points_are_deleted_and_freed_by_a_drop, setup, teardown),
        cmocka_unit_test_setup_teardown(delivered_points_are_kept_as_long_as_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(reject_refuses_until_the_sink_moves, setup, teardown),
        cmocka_unit_test_setup_teardown(drop_oldest_makes_room_and_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(one_sink_that_may_not_lose_holds_all, setup, teardown),
        cmocka_unit_test_setup_teardown(without_sinks_the_oldest_expire, setup, teardown),
        cmocka_unit_test_setup_teardown(interval_answers_first_and_commits_later, setup, teardown),
        cmocka_unit_test_setup_teardown(interval_never_loses_what_it_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_too_old_is_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_makes_nothing_old, setup, teardown),
        cmocka_unit_test_setup_teardown(runners_and_writers_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(any_allocation_of_the_start_may_fail, setup, teardown),
    };

    return cmocka_run_group_tests_name("store_committer", tests, NULL, NULL);
}
