/*
 * loop.c: the event loop over poll(2), with a dense array of descriptors and a binary heap of
 * timers.
 *
 * A watch removed during a turn leaves an empty slot behind, so that the walk over the ready
 * descriptors stays valid; empty slots are closed up before the next poll. A watch added during a
 * turn stands behind those that were polled and is first seen in the next turn.
 */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>

#include "base/mem.h"

struct loop_watch {
    struct loop *loop;
    size_t slot;
    void (*call)(void *arg, int events);
    void *arg;
};

struct loop {
    const struct clock *clock;
    int64_t now_ms;
    bool stopping;
    bool ringing; /* timers are being called */

    struct pollfd *fds; /* fds[i] belongs to watches[i]; fd -1 and NULL: an empty slot */
    struct loop_watch **watches;
    size_t count, cap, empty;

    struct loop_timer **heap; /* the soonest first; heap[i]->slot is i + 1 */
    size_t timers, heap_cap;
};

struct loop *
loop_open(const struct clock *clock)
{
    struct loop *l = mem_zalloc(sizeof(*l));

    if (l == NULL)
        return NULL;
    l->clock = clock;
    l->now_ms = clock_mono_ms(clock);
    return l;
}

void
loop_close(struct loop *l)
{
    size_t i;

    if (l == NULL)
        return;
    for (i = 0; i < l->count; i++)
        mem_free(l->watches[i]);
    mem_free(l->watches);
    mem_free(l->fds);
    mem_free(l->heap);
    mem_free(l);
}

static short
poll_events(int events)
{
    int mask = 0;

    if ((events & LOOP_READ) != 0)
        mask |= POLLIN;
    if ((events & LOOP_WRITE) != 0)
        mask |= POLLOUT;
    return (short)mask;
}

/* room_for_watch(l): both arrays can take one more; a half-done growth leaves them valid. */
static enum err
room_for_watch(struct loop *l)
{
    size_t cap = l->cap == 0 ? 16 : l->cap * 2;
    struct pollfd *fds;
    struct loop_watch **watches;

    if (l->count < l->cap)
        return ERR_OK;
    if (cap > SIZE_MAX / sizeof(*fds))
        return ERR_NOMEM;
    fds = mem_resize(l->fds, cap * sizeof(*fds));
    if (fds == NULL)
        return ERR_NOMEM;
    l->fds = fds;
    watches = mem_resize(l->watches, cap * sizeof(struct loop_watch *));
    if (watches == NULL)
        return ERR_NOMEM;
    l->watches = watches;
    l->cap = cap;
    return ERR_OK;
}

struct loop_watch *
loop_add(struct loop *l, int fd, int events, void (*call)(void *arg, int events), void *arg)
{
    struct loop_watch *w;

    assert(fd >= 0);
    if (room_for_watch(l) != ERR_OK)
        return NULL;
    w = mem_alloc(sizeof(*w));
    if (w == NULL)
        return NULL;
    w->loop = l;
    w->slot = l->count;
    w->call = call;
    w->arg = arg;
    l->fds[l->count] = (struct pollfd){fd, poll_events(events), 0};
    l->watches[l->count] = w;
    l->count++;
    return w;
}

void
loop_change(struct loop_watch *w, int events)
{
    w->loop->fds[w->slot].events = poll_events(events);
}

void
loop_remove(struct loop_watch *w)
{
    if (w == NULL)
        return;
    w->loop->watches[w->slot] = NULL;
    w->loop->fds[w->slot] = (struct pollfd){-1, 0, 0};
    w->loop->empty++;
    mem_free(w);
}

static void
close_up(struct loop *l)
{
    size_t from, to = 0;

    if (l->empty == 0)
        return;
    for (from = 0; from < l->count; from++) {
        if (l->watches[from] == NULL)
            continue;
        l->fds[to] = l->fds[from];
        l->watches[to] = l->watches[from];
        l->watches[to]->slot = to;
        to++;
    }
    l->count = to;
    l->empty = 0;
}

static void
heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
    l->heap[i] = t;
    t->slot = i + 1;
}

static void
heap_up(struct loop *l, size_t i, struct loop_timer *t)
{
    while (i > 0 && l->heap[(i - 1) / 2]->at_ms > t->at_ms) {
        heap_put(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(l, i, t);
}

static void
heap_down(struct loop *l, size_t i, struct loop_timer *t)
{
    size_t child;

    while ((child = 2 * i + 1) < l->timers) {
        if (child + 1 < l->timers && l->heap[child + 1]->at_ms < l->heap[child]->at_ms)
            child++;
        if (l->heap[child]->at_ms >= t->at_ms)
            break;
        heap_put(l, i, l->heap[child]);
        i = child;
    }
    heap_put(l, i, t);
}

/* heap_settle(l, i, t): put ${t} at ${i} or wherever its time belongs. */
static void
heap_settle(struct loop *l, size_t i, struct loop_timer *t)
{
    if (i > 0 && l->heap[(i - 1) / 2]->at_ms > t->at_ms)
        heap_up(l, i, t);
    else
        heap_down(l, i, t);
}

enum err
loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms, void (*call)(void *arg),
               void *arg)
{
    size_t cap = l->heap_cap == 0 ? 16 : l->heap_cap * 2;
    struct loop_timer **heap;

    if (at_ms == DEADLINE_NEVER) {
        loop_timer_clear(l, t);
        return ERR_OK;
    }
    /* A timer that re-arms itself for a time gone by must not hold up the turn or other timers. */
    if (l->ringing && at_ms <= l->now_ms)
        at_ms = l->now_ms + 1;
    t->at_ms = at_ms;
    t->call = call;
    t->arg = arg;
    if (t->slot != 0) {
        heap_settle(l, t->slot - 1, t);
        return ERR_OK;
    }
    if (l->timers == l->heap_cap) {
        if (cap > SIZE_MAX / sizeof(struct loop_timer *))
            return ERR_NOMEM;
        heap = mem_resize(l->heap, cap * sizeof(struct loop_timer *));
        if (heap == NULL)
            return ERR_NOMEM;
        l->heap = heap;
        l->heap_cap = cap;
    }
    heap_up(l, l->timers++, t);
    return ERR_OK;
}

void
loop_timer_clear(struct loop *l, struct loop_timer *t)
{
    size_t i = t->slot;
    struct loop_timer *last;

    if (i == 0)
        return;
    i--;
    t->slot = 0;
    last = l->heap[--l->timers];
    if (last != t)
        heap_settle(l, i, last);
}

int64_t
loop_now_ms(const struct loop *l)
{
    return l->now_ms;
}

/* wait_ms(l, until_ms): how long poll may wait: not rounded, since all times are whole ms. */
static int
wait_ms(const struct loop *l, int64_t until_ms)
{
    int64_t now = clock_mono_ms(l->clock);
    int64_t until = until_ms;

    if (l->timers > 0 && l->heap[0]->at_ms < until)
        until = l->heap[0]->at_ms;
    if (until == DEADLINE_NEVER)
        return -1;
    if (until <= now)
        return 0;
    return until - now < INT_MAX ? (int)(until - now) : INT_MAX;
}

static void
call_ready(struct loop *l, size_t slot)
{
    const struct pollfd *p = &l->fds[slot];
    struct loop_watch *w = l->watches[slot];
    int events = 0;

    if (w == NULL || p->revents == 0)
        return;
    if ((p->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        events = ((p->events & POLLIN) != 0 ? LOOP_READ : 0) |
                 ((p->events & POLLOUT) != 0 ? LOOP_WRITE : 0);
        if (events == 0)
            events = LOOP_READ;
    } else {
        /* A callback before this one may have narrowed the interest: ask again what is wanted. */
        if ((p->revents & p->events & POLLIN) != 0)
            events |= LOOP_READ;
        if ((p->revents & p->events & POLLOUT) != 0)
            events |= LOOP_WRITE;
    }
    if (events != 0)
        w->call(w->arg, events);
}

static void
call_due(struct loop *l)
{
    struct loop_timer *t;

    l->ringing = true;
    while (l->timers > 0 && l->heap[0]->at_ms <= l->now_ms) {
        t = l->heap[0];
        loop_timer_clear(l, t);
        t->call(t->arg); /* may free t */
    }
    l->ringing = false;
}

void
loop_turn(struct loop *l, int64_t until_ms)
{
    size_t polled, i;
    int ready;

    close_up(l);
    polled = l->count;
    ready = poll(l->fds, (nfds_t)polled, wait_ms(l, until_ms));
    if (ready == -1 && errno != EINTR) /* the kernel lacks memory: do not spin on it */
        (void)poll(NULL, 0, 10);
    l->now_ms = clock_mono_ms(l->clock);
    for (i = 0; ready > 0 && i < polled; i++) {
        if (l->fds[i].revents != 0)
            ready--;
        call_ready(l, i);
    }
    call_due(l);
}

void
loop_run(struct loop *l)
{
    while (!l->stopping)
        loop_turn(l, DEADLINE_NEVER);
    l->stopping = false;
}

void
loop_stop(struct loop *l)
{
    l->stopping = true;
}
