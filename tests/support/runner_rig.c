/*
 * runner_rig.c: a runner on a real store, and a destination of the test's own behind it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/runner_rig.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"

/* ---- the destination ---- */

struct fake {
    struct sink base;
    const struct sink_def *def;
    const struct sink_env *env;
    bool connected;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct runner_rig_orders orders;
static struct runner_rig_seen seen;
static uint64_t seqs[RUNNER_RIG_SEQS];
static uint64_t last_confirmed;
static bool checks_commits;
static struct committer *committer;

static struct runner_rig_orders
present_orders(void)
{
    struct runner_rig_orders now;

    (void)pthread_mutex_lock(&lock);
    now = orders;
    (void)pthread_mutex_unlock(&lock);
    return now;
}

#define SEEN(change)                       \
    do {                                   \
        (void)pthread_mutex_lock(&lock);   \
        change;                            \
        (void)pthread_mutex_unlock(&lock); \
    } while (0)

static enum err
fake_check(const struct sink_def *def, struct errinfo *info)
{
    (void)def;
    (void)info;
    return ERR_OK;
}

static enum err
fake_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
          struct errinfo *info)
{
    struct fake *f;

    SEEN(seen.opens++);
    if (present_orders().open_fails)
        return errinfo_set(info, ERR_CONFIG, "a file is missing");
    f = mem_zalloc(sizeof(*f));
    if (f == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory");
    f->base.type = &runner_rig_type;
    f->def = def;
    f->env = env;
    *out = &f->base;
    return ERR_OK;
}

/* Wait like a real type does: until the order is gone, or it is told to stop. */
static enum err
hold(struct fake *f, bool deliver)
{
    for (;;) {
        struct runner_rig_orders now = present_orders();
        const struct clock *clock = f->env->stream.clock;

        if (!(deliver ? now.hold_deliver : now.hold_connect))
            return ERR_OK;
        if (stream_pause(&f->env->stream, clock_mono_ms(clock) + 5) == ERR_STOP)
            return ERR_STOP;
    }
}

static enum err
fake_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    struct fake *f = (struct fake *)s;
    struct runner_rig_orders now;
    enum err err;

    (void)deadline;
    assert(!f->connected);
    SEEN(seen.connects++; seen.connecting = true);
    err = hold(f, false);
    SEEN(seen.connecting = false);
    if (err != ERR_OK)
        return errinfo_set(info, err, "told to stop");
    now = present_orders();
    if (now.connect_fails) {
        outcome_is(outcome, now.what == DELIVERY_DONE ? DELIVERY_TRANSIENT : now.what,
                   STORE_ERROR_CONNECT);
        return errinfo_set(info, ERR_IO, "connection refused");
    }
    f->connected = true;
    return ERR_OK;
}

/* With cursor_delay_ms = 0 the step of the last round is on disk by now. */
static void
look_at_the_step(const struct batch_point *first)
{
    struct store_record committed;

    if (committer_record(committer, RUNNER_RIG_SINK, &committed, NULL) == ERR_OK &&
        last_confirmed > committed.cursor && first->seq > last_confirmed)
        seen.uncommitted = true;
}

static enum err
answer(struct round *round, size_t from, size_t to, struct outcome *outcome, struct errinfo *info)
{
    size_t open = round_count(round, from, to, VERDICT_OPEN), taken = 0;
    bool fails = orders.what != DELIVERY_DONE && !orders.connect_fails;

    seen.largest = open > seen.largest ? open : seen.largest;
    for (size_t i = from; i < to && !fails; i++) {
        if (round_is_open(round, i) && batch_point(&round->points, i).seq == orders.refuses) {
            outcome_is(outcome, DELIVERY_REJECTED, STORE_ERROR_REJECTED);
            outcome->from = from;
            outcome->to = to;
            outcome->names_points = orders.names_points;
            seen.refusals++;
            return errinfo_set(info, ERR_DENIED, "bad point");
        }
    }
    for (size_t i = from; i < to && (!fails || taken < orders.take_first); i++) {
        if (!round_is_open(round, i))
            continue;
        assert(seen.count < RUNNER_RIG_SEQS);
        last_confirmed = batch_point(&round->points, i).seq;
        seqs[seen.count++] = last_confirmed;
        round_set(round, i, i + 1, VERDICT_DELIVERED);
        taken++;
    }
    if (!fails) {
        outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
        return ERR_OK;
    }
    outcome_is(outcome, orders.what, orders.kind);
    outcome->from = from;
    outcome->to = to;
    outcome->retry_after_ms = orders.retry_after_ms;
    seen.refusals++;
    if (orders.times > 0 && --orders.times == 0)
        orders.what = DELIVERY_DONE;
    return errinfo_set(info, ERR_DENIED, "the destination fails");
}

static enum err
fake_deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
             struct errinfo *info)
{
    struct fake *f = (struct fake *)s;
    struct batch_point first = batch_point(&round->points, from);
    enum err err;

    assert(f->connected);
    SEEN(seen.delivering = true; seen.requests++);
    if (runner_rig_seen().first_ms == 0)
        SEEN(seen.first_ms = clock_mono_ms(f->env->stream.clock));
    if (checks_commits)
        SEEN(look_at_the_step(&first));
    err = hold(f, true);
    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (err == ERR_OK)
        SEEN(err = answer(round, from, to, outcome, info));
    SEEN(seen.delivering = false);
    return err;
}

static enum err
fake_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    struct fake *f = (struct fake *)s;

    (void)info;
    assert(f->connected);
    SEEN(seen.idles++);
    return stream_pause(&f->env->stream, until);
}

static void
fake_disconnect(struct sink *s)
{
    SEEN(seen.disconnects++);
    ((struct fake *)s)->connected = false;
}

static void
fake_close(struct sink *s)
{
    SEEN(seen.closes++);
    mem_free(s);
}

const struct sink_type runner_rig_type = {
    .name = "fake",
    .has_url = true,
    .schemes = "fake",
    .formats = 1u << SINK_LINE_PROTOCOL,
    .check = fake_check,
    .open = fake_open,
    .connect = fake_connect,
    .deliver = fake_deliver,
    .idle = fake_idle,
    .disconnect = fake_disconnect,
    .close = fake_close,
};

void
runner_rig_order(const struct runner_rig_orders *o)
{
    SEEN(orders = *o);
}

struct runner_rig_seen
runner_rig_seen(void)
{
    struct runner_rig_seen now;

    SEEN(now = seen);
    return now;
}

uint64_t
runner_rig_seq(size_t i)
{
    uint64_t seq;

    SEEN(seq = seqs[i]);
    return seq;
}

/* ---- the rig ---- */

static void
ended(void *arg)
{
    (void)arg;
}

void
runner_rig_open(struct runner_rig *rig, struct committer_drive *drive)
{
    *rig = (struct runner_rig){.drive = drive};
    SEEN(orders = (struct runner_rig_orders){.what = DELIVERY_DONE}; memset(&seen, 0, sizeof(seen));
         last_confirmed = 0; committer = drive->c);
    rig->config = (struct runner_config){
        .store = drive->s,
        .committer = drive->c,
        .clock = &drive->time.clock,
        .node = "node-1",
        .backoff = {3, 10, 40},
        .default_batch_size = 1000,
        .default_flush_interval_ms = 0,
        .cursor_delay_ms = drive->options.cursor_delay_ms,
        .ended = ended,
    };
    checks_commits = rig->config.cursor_delay_ms == 0;
    assert_int_equal(sink_def_init(&rig->def, &runner_rig_type), ERR_OK);
    rig->def.id = RUNNER_RIG_SINK;
    rig->def.name = mem_text(SLICE("fake"));
    assert_non_null(rig->def.name);
    committer_drive_create(drive, RUNNER_RIG_SINK, false, false);
}

void
runner_rig_run(struct runner_rig *rig)
{
    struct runner_config lent = rig->config; /* the runner is to have a copy of its own */
    struct errinfo info;

    assert_null(rig->runner);
    lent.store = rig->drive->s;
    lent.committer = committer = rig->drive->c;
    if (runner_start(&rig->runner, &rig->def, &lent, &info) != ERR_OK)
        fail_msg("%s", info.text);
    memset(&lent, 0xff, sizeof(lent));
}

void
runner_rig_end(struct runner_rig *rig)
{
    if (rig->runner == NULL)
        return;
    runner_stop(rig->runner);
    runner_join(rig->runner);
    rig->runner = NULL;
    assert_int_equal(seen.closes, seen.opens - (orders.open_fails ? seen.opens : 0));
}

void
runner_rig_close(struct runner_rig *rig)
{
    runner_rig_end(rig);
    sink_def_free(&rig->def);
}

void
runner_rig_until(struct runner_rig *rig, bool (*what)(struct runner_rig *rig), const char *text)
{
    int64_t deadline = clock_mono_ms(&clock_system) + 20000;

    while (!what(rig)) {
        if (clock_mono_ms(&clock_system) > deadline)
            fail_msg("waited in vain for %s", text);
        committer_drive_sleep_ms(1);
    }
}

bool
runner_rig_caught_up(struct runner_rig *rig)
{
    struct store_usage usage;

    store_usage(rig->drive->s, &usage);
    return runner_rig_record(rig).cursor == usage.last_seq;
}

bool
runner_rig_is_delivering(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().delivering;
}

bool
runner_rig_is_connecting(struct runner_rig *rig)
{
    (void)rig;
    return runner_rig_seen().connecting;
}

bool
runner_rig_has_ended(struct runner_rig *rig)
{
    return runner_has_ended(rig->runner);
}

enum runner_status
runner_rig_status(struct runner_rig *rig)
{
    struct runner_view view;

    runner_view(rig->runner, &view);
    return view.status;
}

struct store_record
runner_rig_record(struct runner_rig *rig)
{
    return committer_drive_record(rig->drive, RUNNER_RIG_SINK);
}

void
runner_rig_write(struct runner_rig *rig, unsigned points)
{
    assert_int_equal(committer_drive_write_points(rig->drive, points, 10), ERR_OK);
}
