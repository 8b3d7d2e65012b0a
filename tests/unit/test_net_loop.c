/*
 * test_net_loop.c: the wake pipe and the event loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop.h"
#include "net/wake.h"
#include "support/fake_clock.h"

static bool
readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    return poll(&p, 1, 0) == 1;
}

static void
wake_folds_and_never_blocks(void **state)
{
    struct wake w;
    int i;

    (void)state;
    assert_int_equal(wake_open(&w, NULL), ERR_OK);
    assert_false(readable(wake_fd(&w)));
    errno = EDOM;
    for (i = 0; i < 200000; i++) /* more than any pipe holds */
        wake_signal(&w);
    assert_int_equal(errno, EDOM);
    assert_true(readable(wake_fd(&w)));
    wake_drain(&w);
    assert_false(readable(wake_fd(&w)));
    wake_drain(&w);
    wake_signal(&w);
    assert_true(readable(wake_fd(&w)));
    wake_close(&w);
    wake_close(&w);
}

/* A watch that writes down what it saw and may act on others. */
struct seen {
    struct loop *loop;
    struct loop_watch *watch;
    int fd, events, calls;
    struct seen *removes, *narrows, *adds;
    int ends[2];
};

static void
on_ready(void *arg, int events)
{
    struct seen *s = arg;

    s->events = events;
    s->calls++;
    if (s->removes != NULL) {
        loop_remove(s->removes->watch);
        s->removes->watch = NULL;
    }
    if (s->narrows != NULL)
        loop_change(s->narrows->watch, 0);
    if (s->adds != NULL && s->adds->watch == NULL) {
        s->adds->watch = loop_add(s->loop, s->adds->fd, LOOP_READ, on_ready, s->adds);
        assert_non_null(s->adds->watch);
    }
}

static void
watch(struct loop *l, struct seen *s, int events)
{
    memset(s, 0, sizeof(*s));
    s->loop = l;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s->ends), 0);
    s->fd = s->ends[0];
    s->watch = loop_add(l, s->fd, events, on_ready, s);
    assert_non_null(s->watch);
}

static void
unwatch(struct seen *s)
{
    loop_remove(s->watch);
    (void)close(s->ends[0]);
    if (s->ends[1] != -1)
        (void)close(s->ends[1]);
}

static void
poke(const struct seen *s)
{
    assert_int_equal(write(s->ends[1], "x", 1), 1);
}

static void
watches_report_what_was_asked(void **state)
{
    struct fake_clock f;
    struct loop *l;
    struct seen a;

    (void)state;
    fake_clock_init(&f, 1000, 0);
    l = loop_open(&f.clock);
    watch(l, &a, LOOP_READ);
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 0);
    poke(&a);
    loop_turn(l, 1000);
    assert_int_equal(a.events, LOOP_READ);
    loop_change(a.watch, LOOP_READ | LOOP_WRITE);
    loop_turn(l, 1000);
    assert_int_equal(a.events, LOOP_READ | LOOP_WRITE);
    loop_change(a.watch, 0);
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 2);
    (void)close(a.ends[1]); /* a hang-up reaches a sleeping watch */
    a.ends[1] = -1;
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 3);
    assert_int_equal(a.events, LOOP_READ);
    loop_change(a.watch, LOOP_WRITE);
    loop_turn(l, 1000);
    assert_int_equal(a.events, LOOP_WRITE);
    unwatch(&a);
    loop_close(l);
    assert_int_equal(mem_live(), 0);
}

static void
callbacks_may_change_everything(void **state)
{
    struct fake_clock f;
    struct loop *l;
    struct seen a, b, c, d;

    (void)state;
    fake_clock_init(&f, 1000, 0);
    l = loop_open(&f.clock);
    watch(l, &a, LOOP_READ);
    watch(l, &b, LOOP_READ);
    watch(l, &c, LOOP_READ);
    watch(l, &d, LOOP_READ);
    loop_remove(d.watch); /* d comes in by a's callback */
    d.watch = NULL;
    poke(&a);
    poke(&b);
    poke(&c);
    poke(&d);
    a.removes = &b;
    a.narrows = &c;
    a.adds = &d;
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 0);
    assert_int_equal(c.calls, 0);
    assert_int_equal(d.calls, 0); /* first seen in the next turn */
    a.removes = &a;
    a.narrows = NULL;
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 2);
    assert_int_equal(d.calls, 1);
    loop_change(c.watch, LOOP_READ);
    loop_turn(l, 1000);
    assert_int_equal(a.calls, 2);
    assert_int_equal(c.calls, 1);
    assert_int_equal(d.calls, 2);
    unwatch(&a);
    unwatch(&b);
    unwatch(&c);
    unwatch(&d);
    loop_close(l);
    assert_int_equal(mem_live(), 0);
}

#define MANY 400

static void
many_watches_come_and_go(void **state)
{
    static struct seen all[MANY];
    struct fake_clock f;
    struct loop *l;
    int i, calls = 0;

    (void)state;
    fake_clock_init(&f, 0, 0);
    l = loop_open(&f.clock);
    for (i = 0; i < MANY; i++) {
        watch(l, &all[i], LOOP_READ);
        poke(&all[i]);
    }
    for (i = 0; i < MANY; i++)
        all[i].removes = &all[(i + 1) % MANY]; /* each takes the next one out */
    loop_turn(l, 0);
    for (i = 0; i < MANY; i++)
        calls += all[i].calls;
    assert_int_equal(calls, MANY / 2);
    for (i = 0; i < MANY; i++)
        all[i].removes = NULL;
    loop_turn(l, 0);
    for (calls = 0, i = 0; i < MANY; i++)
        calls += all[i].calls;
    assert_int_equal(calls, MANY);
    for (i = 0; i < MANY; i++)
        unwatch(&all[i]);
    loop_turn(l, 0);
    loop_close(l);
    assert_int_equal(mem_live(), 0);
}

struct ring {
    struct loop *loop;
    struct loop_timer timer;
    struct ring *clears;
    int64_t again_at;
    int order;
};

static int rung;

static void
on_ring(void *arg)
{
    struct ring *r = arg;

    r->order = ++rung;
    if (r->clears != NULL)
        loop_timer_clear(r->loop, &r->clears->timer);
    if (r->again_at != 0)
        assert_int_equal(loop_timer_set(r->loop, &r->timer, r->again_at, on_ring, r), ERR_OK);
}

static void
arm(struct loop *l, struct ring *r, int64_t at_ms)
{
    r->loop = l;
    assert_int_equal(loop_timer_set(l, &r->timer, at_ms, on_ring, r), ERR_OK);
}

static void
timers_ring_in_order_and_once(void **state)
{
    struct fake_clock f;
    struct loop *l;
    struct ring r[5];

    (void)state;
    memset(r, 0, sizeof(r));
    rung = 0;
    fake_clock_init(&f, 100, 0);
    l = loop_open(&f.clock);
    arm(l, &r[0], 130);
    arm(l, &r[1], 110);
    arm(l, &r[2], 120);
    arm(l, &r[3], 105);
    arm(l, &r[4], 106);
    arm(l, &r[0], 101); /* moved */
    arm(l, &r[3], DEADLINE_NEVER);
    r[1].clears = &r[2];
    r[4].again_at = 107; /* due at once again: the turn still ends */
    f.mono_ms = 105;
    loop_turn(l, 105);
    assert_int_equal(r[0].order, 1);
    assert_int_equal(rung, 1);
    f.mono_ms = 200;
    loop_turn(l, 200);
    assert_int_equal(loop_now_ms(l), 200);
    assert_int_equal(r[3].order, 0);
    assert_int_equal(r[2].order, 0); /* due too, but cleared by the one before it */
    assert_int_equal(r[4].order, 2);
    assert_int_equal(r[1].order, 3);
    assert_int_equal(rung, 3);
    r[4].again_at = 0;
    f.mono_ms = 201;
    loop_turn(l, 201);
    assert_int_equal(r[4].order, 4);
    rung = 0;
    loop_turn(l, 200);
    assert_int_equal(rung, 0);
    loop_close(l);
    assert_int_equal(mem_live(), 0);
}

static void
a_heap_of_timers_stays_a_heap(void **state)
{
    static struct ring r[300];
    struct fake_clock f;
    struct loop *l;
    uint32_t x = 1;
    int i, turn;

    (void)state;
    memset(r, 0, sizeof(r));
    fake_clock_init(&f, 0, 0);
    l = loop_open(&f.clock);
    for (turn = 0; turn < 3; turn++) {
        for (i = 0; i < 300; i++) {
            x = x * 1103515245u + 12345u;
            r[i].order = 0;
            arm(l, &r[i], f.mono_ms + 1 + (int64_t)(x >> 16) % 1000);
            if ((x >> 8) % 5 == 0)
                loop_timer_clear(l, &r[(x >> 4) % 300].timer);
        }
        rung = 0;
        fake_clock_advance(&f, 2000);
        loop_turn(l, f.mono_ms);
        for (i = 0; i < 300; i++) {
            int j;

            for (j = 0; j < 300; j++) {
                if (r[i].order != 0 && r[j].order != 0 && r[i].timer.at_ms < r[j].timer.at_ms)
                    assert_true(r[i].order < r[j].order);
            }
            assert_true(r[i].timer.slot == 0);
        }
    }
    loop_close(l);
    assert_int_equal(mem_live(), 0);
}

struct stopper {
    struct wake wake;
    struct loop *loop;
    int wakes;
};

static void
on_wake(void *arg, int events)
{
    struct stopper *s = arg;

    assert_int_equal(events, LOOP_READ);
    wake_drain(&s->wake);
    if (++s->wakes == 3)
        loop_stop(s->loop);
    else
        wake_signal(&s->wake);
}

static void *
wake_from_afar(void *arg)
{
    struct stopper *s = arg;

    wake_signal(&s->wake);
    return NULL;
}

static void
another_thread_wakes_a_running_loop(void **state)
{
    struct stopper s = {{-1, -1}, NULL, 0};
    struct loop_watch *w;
    pthread_t t;

    (void)state;
    s.loop = loop_open(&clock_system);
    assert_int_equal(wake_open(&s.wake, NULL), ERR_OK);
    w = loop_add(s.loop, wake_fd(&s.wake), LOOP_READ, on_wake, &s);
    assert_non_null(w);
    assert_int_equal(pthread_create(&t, NULL, wake_from_afar, &s), 0);
    loop_run(s.loop);
    assert_int_equal(s.wakes, 3);
    assert_int_equal(pthread_join(t, NULL), 0);
    loop_remove(w);
    loop_close(s.loop);
    wake_close(&s.wake);
}

static void
a_turn_waits_for_its_timer(void **state)
{
    struct loop *l = loop_open(&clock_system);
    struct ring r;
    int64_t begin = clock_mono_ms(&clock_system);

    (void)state;
    memset(&r, 0, sizeof(r));
    rung = 0;
    arm(l, &r, begin + 20);
    loop_turn(l, begin + 5);
    assert_int_equal(rung, 0);
    while (rung == 0)
        loop_turn(l, begin + 10000);
    assert_true(loop_now_ms(l) >= begin + 20);
    assert_true(loop_now_ms(l) < begin + 5000);
    loop_close(l);
}

static void
every_allocation_may_fail(void **state)
{
    struct fake_clock f;
    struct loop_watch *w[40];
    struct ring r[40];
    struct loop *l;
    size_t n, i, failures = 0;

    (void)state;
    fake_clock_init(&f, 0, 0);
    for (n = 1;; n++) {
        bool failed = false;

        memset(w, 0, sizeof(w));
        memset(r, 0, sizeof(r));
        mem_fail_at(n);
        l = loop_open(&f.clock);
        if (l == NULL) {
            failures++;
            continue;
        }
        for (i = 0; i < 40; i++) {
            w[i] = loop_add(l, 0, 0, on_ready, NULL);
            failed = failed || w[i] == NULL;
            if (loop_timer_set(l, &r[i].timer, 10, on_ring, &r[i]) != ERR_OK) {
                failed = true;
                assert_true(r[i].timer.slot == 0);
            }
        }
        mem_fail_at(0);
        for (i = 0; i < 40; i++) {
            loop_remove(w[i]);
            loop_timer_clear(l, &r[i].timer);
        }
        loop_turn(l, 0);
        loop_close(l);
        assert_int_equal(mem_live(), 0);
        if (!failed)
            break;
        failures++;
    }
    assert_true(failures > 40);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_folds_and_never_blocks),
        cmocka_unit_test(watches_report_what_was_asked),
        cmocka_unit_test(callbacks_may_change_everything),
        cmocka_unit_test(many_watches_come_and_go),
        cmocka_unit_test(timers_ring_in_order_and_once),
        cmocka_unit_test(a_heap_of_timers_stays_a_heap),
        cmocka_unit_test(another_thread_wakes_a_running_loop),
        cmocka_unit_test(a_turn_waits_for_its_timer),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
