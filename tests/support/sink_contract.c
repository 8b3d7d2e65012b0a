/*
 * sink_contract.c: what every sink type must keep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sink_contract.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "sink/sink.h"
#include "support/sink_drive.h"

#define POINTS 120u /* about 2800 bytes of line protocol: three requests where one has 1000 */

/* ---- one sink and its surroundings ---- */

struct bench {
    const struct sink_contract *c;
    struct sink_def def;
    struct sink_env env;
    struct wake wake;
    struct sink *sink;
    struct round round;
    struct outcome outcome;
    struct errinfo info;
    size_t live;

    pthread_mutex_t lock; /* guards the next two */
    bool stop;
    int64_t stop_at_ms; /* a thread sets stop then */
};

static bool
is_told_to_stop(void *arg)
{
    struct bench *b = arg;
    bool stop;

    (void)pthread_mutex_lock(&b->lock);
    stop = b->stop;
    (void)pthread_mutex_unlock(&b->lock);
    return stop;
}

static int64_t
now_ms(void)
{
    return clock_mono_ms(&clock_system);
}

static int
setup(void **state)
{
    const struct sink_contract *c = *state;
    struct bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->c = c;
    b->live = mem_live();
    (void)pthread_mutex_init(&b->lock, NULL);
    c->begin(c->peer);
    c->define(c->peer, &b->def);
    if (wake_open(&b->wake, &b->info) != ERR_OK)
        fail_msg("%s", b->info.text);
    b->env = (struct sink_env){.stream = {.clock = &clock_system,
                                          .wake = &b->wake,
                                          .stopped = is_told_to_stop,
                                          .aborted = is_told_to_stop,
                                          .arg = b},
                               .node = "node-1"};
    round_init(&b->round);
    *state = b;
    return 0;
}

static void
close_sink(struct bench *b)
{
    if (b->sink == NULL)
        return;
    b->sink->type->disconnect(b->sink);
    b->sink->type->close(b->sink);
    b->sink = NULL;
}

static int
teardown(void **state)
{
    struct bench *b = *state;
    size_t left;

    close_sink(b);
    round_free(&b->round);
    sink_def_free(&b->def);
    wake_close(&b->wake);
    b->c->end(b->c->peer);
    (void)pthread_mutex_destroy(&b->lock);
    left = mem_live() - b->live;
    free(b);
    if (left != 0)
        print_error("%zu allocations were left\n", left);
    return left == 0 ? 0 : -1;
}

static void
open_sink(struct bench *b)
{
    if (b->def.type->open(&b->sink, &b->def, &b->env, &b->info) != ERR_OK)
        fail_msg("open: %s", b->info.text);
    assert_ptr_equal(b->sink->type, b->def.type);
}

static enum err
connect_sink(struct bench *b)
{
    return b->sink->type->connect(b->sink, now_ms() + 2000, &b->outcome, &b->info);
}

static void
connects(struct bench *b)
{
    if (connect_sink(b) != ERR_OK)
        fail_msg("connect: %s", b->info.text);
}

/* Whatever comes of it: ERR_OK exactly when all is resolved, and a failure says what it is. */
static enum err
deliver(struct bench *b, size_t from, size_t to)
{
    enum err err;

    b->outcome.what = DELIVERY_DONE;
    err = b->sink->type->deliver(b->sink, &b->round, from, to, &b->outcome, &b->info);
    assert_int_equal(err == ERR_OK, b->outcome.what == DELIVERY_DONE);
    assert_int_equal(err == ERR_OK, round_count(&b->round, from, to, VERDICT_OPEN) == 0);
    assert_true(b->outcome.retry_after_ms >= 0);
    return err;
}

static void
delivers(struct bench *b)
{
    if (deliver(b, 0, b->round.points.count) != ERR_OK)
        fail_msg("deliver: %s", b->info.text);
}

static void
recover(struct bench *b)
{
    b->sink->type->disconnect(b->sink);
    b->c->set_mood(b->c->peer, CONTRACT_CONFIRMS, 0);
    connects(b);
    delivers(b);
}

static unsigned
taken(const struct bench *b, uint64_t value)
{
    return b->c->taken(b->c->peer, value);
}

/* ---- the checks ---- */

static void
it_delivers(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    connects(b);
    connects(b); /* connected already */
    sink_drive_round(&b->round, 1, POINTS);
    delivers(b);
    assert_int_equal(round_count(&b->round, 0, POINTS, VERDICT_DELIVERED), POINTS);
    for (uint64_t seq = 1; seq <= POINTS; seq++)
        assert_int_equal(taken(b, seq), 1);
    delivers(b); /* nothing is open: nothing is sent */
    assert_int_equal(taken(b, 1), 1);
}

static void
it_is_opened_twice(void **state)
{
    struct bench *b = *state;
    struct sink *second;

    open_sink(b);
    assert_int_equal(b->def.type->open(&second, &b->def, &b->env, &b->info), ERR_OK);
    assert_ptr_not_equal(second, b->sink);
    second->type->disconnect(second);
    second->type->close(second);
    connects(b);
    sink_drive_round(&b->round, 1, 3);
    delivers(b);
}

static void
it_is_closed_without_a_connection(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    b->sink->type->disconnect(b->sink);
    b->sink->type->disconnect(b->sink);
    close_sink(b);
    b->def.type->close(NULL);
}

static void
it_is_disconnected_twice_and_connects_again(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    connects(b);
    b->sink->type->disconnect(b->sink);
    b->sink->type->disconnect(b->sink);
    connects(b);
    sink_drive_round(&b->round, 1, POINTS);
    delivers(b);
}

static void
a_refused_connection_is_said_and_survived(void **state)
{
    struct bench *b = *state;

    if (!b->c->connects)
        return;
    open_sink(b);
    b->c->set_mood(b->c->peer, CONTRACT_ABSENT, 0);
    for (int i = 0; i < 2; i++) {
        b->info.text[0] = '\0';
        b->outcome.what = DELIVERY_DONE;
        assert_true(connect_sink(b) != ERR_OK);
        assert_int_equal(b->outcome.what, DELIVERY_TRANSIENT);
        assert_true(b->info.text[0] != '\0');
        b->sink->type->disconnect(b->sink);
    }
    sink_drive_round(&b->round, 1, POINTS);
    recover(b);
}

static void
it_delivers_after_a_failure(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    connects(b);
    sink_drive_round(&b->round, 1, POINTS);
    b->c->set_mood(b->c->peer, CONTRACT_BREAKS, 0);
    b->info.text[0] = '\0';
    assert_true(deliver(b, 0, POINTS) != ERR_OK);
    assert_true(b->info.text[0] != '\0');
    recover(b);
    for (uint64_t seq = 1; seq <= POINTS; seq++)
        assert_true(taken(b, seq) >= 1);
}

/* What was confirmed before a failure has its verdict and is not sent again. */
static void
partial_verdicts_are_kept(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    connects(b);
    sink_drive_round(&b->round, 1, POINTS);
    b->c->set_mood(b->c->peer, CONTRACT_BREAKS, 1);
    if (deliver(b, 0, POINTS) != ERR_OK) {
        size_t kept = round_count(&b->round, 0, POINTS, VERDICT_DELIVERED);

        assert_in_range(kept, 1, POINTS - 1);
        for (uint64_t seq = 1; seq <= POINTS; seq++) {
            if (!round_is_open(&b->round, (size_t)seq - 1))
                assert_int_equal(taken(b, seq), 1);
        }
        recover(b);
    }
    for (uint64_t seq = 1; seq <= POINTS; seq++)
        assert_int_equal(taken(b, seq), 1);
}

static void
points_with_a_verdict_and_out_of_range_are_not_sent(void **state)
{
    struct bench *b = *state;

    open_sink(b);
    connects(b);
    sink_drive_round(&b->round, 1, 20);
    for (size_t i = 0; i < 20; i += 3)
        round_set(&b->round, i, i + 1, i % 2 == 0 ? VERDICT_DELIVERED : VERDICT_REFUSED);
    assert_int_equal(deliver(b, 5, 15), ERR_OK);
    for (size_t i = 0; i < 20; i++) {
        bool sent = i >= 5 && i < 15 && i % 3 != 0;

        assert_int_equal(taken(b, i + 1), sent ? 1 : 0);
        assert_int_equal(round_is_open(&b->round, i), i % 3 != 0 && !sent);
    }
}

/* ---- waits ---- */

static void *
stop_soon(void *arg)
{
    struct bench *b = arg;
    const struct timespec wait = {0, 60 * 1000000};

    (void)nanosleep(&wait, NULL);
    (void)pthread_mutex_lock(&b->lock);
    b->stop = true;
    (void)pthread_mutex_unlock(&b->lock);
    wake_signal(&b->wake);
    return NULL;
}

static void
told_to_stop_it_returns_at_once(void **state)
{
    struct bench *b = *state;
    pthread_t thread;
    int64_t began;

    open_sink(b);
    connects(b);
    sink_drive_round(&b->round, 1, POINTS * 40); /* more than buffers on the way take */
    b->c->set_mood(b->c->peer, CONTRACT_SILENT, 0);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, b), 0);
    began = now_ms();
    assert_int_equal(deliver(b, 0, b->round.points.count), ERR_STOP);
    assert_int_equal(b->outcome.what, DELIVERY_TRANSIENT);
    assert_in_range(now_ms() - began, 0, 250);
    assert_int_equal(pthread_join(thread, NULL), 0);
    b->stop = false;
    recover(b);
    for (uint64_t seq = 1; seq <= b->round.points.count; seq += 97)
        assert_true(taken(b, seq) >= 1);
}

static void
a_silent_peer_is_given_up(void **state)
{
    struct bench *b = *state;
    int64_t began;

    if (b->c->silence_ms == 0)
        return;
    open_sink(b);
    connects(b);
    sink_drive_round(&b->round, 1, POINTS);
    b->c->set_mood(b->c->peer, CONTRACT_SILENT, 0);
    began = now_ms();
    assert_true(deliver(b, 0, POINTS) != ERR_OK);
    assert_in_range(now_ms() - began, b->c->silence_ms / 2, b->c->silence_ms * 3);
    assert_int_equal(b->outcome.what, DELIVERY_TRANSIENT);
    assert_int_equal(b->outcome.kind, STORE_ERROR_TIMEOUT);
    recover(b);
}

static void
idle_ends_at_its_deadline_and_when_woken(void **state)
{
    struct bench *b = *state;
    int64_t began;

    open_sink(b);
    connects(b);
    b->env.stream.stopped = NULL; /* as a runner waits: every wake counts */
    began = now_ms();
    assert_int_equal(b->sink->type->idle(b->sink, began + 80, &b->info), ERR_TIMEOUT);
    assert_in_range(now_ms() - began, 75, 2000);
    wake_signal(&b->wake);
    began = now_ms();
    assert_int_equal(b->sink->type->idle(b->sink, began + 5000, &b->info), ERR_STOP);
    assert_in_range(now_ms() - began, 0, 1000);
    wake_drain(&b->wake);
    b->env.stream.stopped = is_told_to_stop;
    sink_drive_round(&b->round, 1, 3);
    delivers(b);
}

/* ---- memory ---- */

static enum err
whole_life(struct bench *b)
{
    enum err err = b->def.type->open(&b->sink, &b->def, &b->env, &b->info);

    if (err != ERR_OK) {
        b->sink = NULL;
        return err;
    }
    err = connect_sink(b);
    if (err == ERR_OK)
        err = deliver(b, 0, b->round.points.count);
    return err;
}

static void
any_allocation_may_fail(void **state)
{
    struct bench *b = *state;
    enum err err;

    for (size_t n = 1;; n++) {
        size_t before = mem_live();

        assert_in_range(n, 1, 300);
        sink_drive_round(&b->round, 1, POINTS);
        mem_fail_at(n);
        err = whole_life(b);
        mem_fail_at(0);
        if (err != ERR_OK && b->sink != NULL)
            recover(b);
        close_sink(b);
        round_free(&b->round);
        assert_int_equal(mem_live(), before);
        if (err == ERR_OK)
            break;
    }
}

int
sink_contract_run(const struct sink_contract *c)
{
#define CHECK(f)                                                                    \
    {                                                                               \
        .name = #f, .test_func = f, .setup_func = setup, .teardown_func = teardown, \
        .initial_state = (void *)(uintptr_t)c                                       \
    }
    const struct CMUnitTest tests[] = {
        CHECK(it_delivers),
        CHECK(it_is_opened_twice),
        CHECK(it_is_closed_without_a_connection),
        CHECK(it_is_disconnected_twice_and_connects_again),
        CHECK(a_refused_connection_is_said_and_survived),
        CHECK(it_delivers_after_a_failure),
        CHECK(partial_verdicts_are_kept),
        CHECK(points_with_a_verdict_and_out_of_range_are_not_sent),
        CHECK(told_to_stop_it_returns_at_once),
        CHECK(a_silent_peer_is_given_up),
        CHECK(idle_ends_at_its_deadline_and_when_woken),
        CHECK(any_allocation_may_fail),
    };

    return cmocka_run_group_tests_name(c->name, tests, NULL, NULL);
}
