/*
 * committer_drive.c: a store with a committer in front, for tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/committer_drive.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

#define MB 1000000u

/* ---- a clock that two threads may look at ---- */

static int64_t
shared_mono(void *ctx)
{
    struct committer_drive_clock *c = ctx;
    int64_t t;

    (void)pthread_mutex_lock(&c->mutex);
    t = c->mono + (c->real ? clock_mono_ms(&clock_system) : 0);
    (void)pthread_mutex_unlock(&c->mutex);
    return t;
}

static int64_t
shared_wall(void *ctx)
{
    struct committer_drive_clock *c = ctx;
    int64_t t;

    (void)pthread_mutex_lock(&c->mutex);
    t = c->wall;
    (void)pthread_mutex_unlock(&c->mutex);
    return t;
}

void
committer_drive_advance(struct committer_drive_clock *c, int64_t mono_ms, int64_t wall_ns)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->mono += mono_ms;
    c->wall += wall_ns;
    (void)pthread_mutex_unlock(&c->mutex);
}

/* ---- fixture ---- */

int
committer_drive_setup(void **state)
{
    struct committer_drive *f = calloc(1, sizeof(*f));

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

void
committer_drive_start(struct committer_drive *f, uint64_t bytes)
{
    enum store_sync sync = f->options.sync;
    struct errinfo info = {0};

    f->s = store_drive_open(f->dir, bytes, sync, &f->time.clock);
    if (committer_start(&f->c, f->s, &f->options, &info) != ERR_OK)
        fail_msg("committer_start: %s", info.text);
}

void
committer_drive_stop(struct committer_drive *f)
{
    committer_stop(f->c);
    store_close(f->s);
    f->c = NULL;
    f->s = NULL;
}

int
committer_drive_teardown(void **state)
{
    struct committer_drive *f = *state;

    committer_drive_stop(f);
    store_drive_remove(f->dir);
    (void)pthread_mutex_destroy(&f->time.mutex);
    free(f);
    assert_int_equal(mem_live(), 0);
    return 0;
}

/* ---- bodies and changes whose end can be waited for ---- */

static pthread_mutex_t done_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;

static void
finish(struct committer_drive_sent *sent, enum err result)
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
    finish((struct committer_drive_sent *)(void *)((char *)body -
                                                   offsetof(struct committer_drive_sent, body)),
           result);
}

static void
change_done(struct committer_change *change, enum err result, const struct errinfo *info)
{
    (void)info;
    finish((struct committer_drive_sent *)(void *)((char *)change -
                                                   offsetof(struct committer_drive_sent, change)),
           result);
}

enum err
committer_drive_wait_for(struct committer_drive_sent *sent)
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

void
committer_drive_prepare(struct committer_drive *f, struct committer_drive_sent *sent,
                        uint64_t first, unsigned points, unsigned pad)
{
    sent->done = false;
    store_drive_body(&sent->chunks, f->s, &f->time.clock, first, points, pad);
    sent->body = (struct committer_body){.chunks = buf_peek(&sent->chunks), .done = body_done};
}

/* One body; its lines say their numbers when nobody else writes. */
enum err
committer_drive_write_points(struct committer_drive *f, unsigned points, unsigned pad)
{
    struct committer_drive_sent sent = {0};
    struct store_usage usage;
    enum err err;

    buf_init(&sent.chunks, 64 * MB);
    store_usage(f->s, &usage);
    committer_drive_prepare(f, &sent, usage.last_seq + 1, points, pad);
    err = committer_append(f->c, &sent.body);
    if (err == ERR_OK)
        err = committer_drive_wait_for(&sent);
    if (err == ERR_OK)
        assert_int_equal(sent.body.points, points);
    buf_free(&sent.chunks);
    return err;
}

enum err
committer_drive_apply(struct committer_drive *f, const struct committer_op *ops, size_t count)
{
    struct committer_drive_sent sent = {
        .change = {.ops = ops, .count = count, .done = change_done}};

    committer_change(f->c, &sent.change);
    return committer_drive_wait_for(&sent);
}

void
committer_drive_create(struct committer_drive *f, uint32_t id, bool earliest, bool may_lose)
{
    const struct committer_op op = {
        .kind = COMMITTER_SINK_CREATE, .sink = id, .earliest = earliest, .may_lose = may_lose};

    assert_int_equal(committer_drive_apply(f, &op, 1), ERR_OK);
}

struct store_record
committer_drive_record(struct committer_drive *f, uint32_t id)
{
    struct store_record now, committed;

    assert_int_equal(committer_record(f->c, id, &committed, &now), ERR_OK);
    assert_true(store_record_adds_up(&now));
    assert_true(store_record_adds_up(&committed));
    assert_true(committed.cursor <= now.cursor);
    return now;
}

enum err
committer_drive_forward(struct committer_drive *f, uint32_t id, uint64_t from, uint64_t to)
{
    struct committer_step step = {.sink = id, .from = from, .to = to, .forwarded = to - from};
    struct store_record now;

    return committer_step(f->c, &step, &now);
}

/* Waits until the sink's record is committed as it is now. */
void
committer_drive_settle(struct committer_drive *f, uint32_t id)
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

void
committer_drive_sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

/* All points from there on are in the log, and each one's line has its number in it. */
void
committer_drive_assert_reads(struct committer_drive *f, uint64_t after)
{
    struct store_scan scan;
    struct store_usage usage;

    store_usage(f->s, &usage);
    assert_int_equal(store_drive_read(f->s, after, &scan), usage.last_seq - after);
}
