/*
 * loop.h: the daemon's one event loop: file descriptors and timers over poll(2).
 *
 * Everything here belongs to the loop's thread; other threads reach it through a wake pipe that is
 * watched like any descriptor. Callbacks may add and remove watches and timers, their own included.
 */
#ifndef SINKD_NET_LOOP_H
#define SINKD_NET_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"

struct loop;
struct loop_watch;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* loop_open(clock): NULL without memory. loop_close() frees it, not the descriptors. */
struct loop *loop_open(const struct clock *clock) MUST_USE;
void loop_close(struct loop *l);

/*
 * loop_add(l, fd, events, call, arg):
 * Call ${call}(arg, events) whenever ${fd} is ready for one of ${events}; errors and hang-ups are
 * reported as every event asked for, or as LOOP_READ when none was. With events 0 the watch sleeps
 * but still notices a hang-up. A hang-up is reported every turn until the watch is removed.
 * Returns NULL without memory.
 */
struct loop_watch *loop_add(struct loop *l, int fd, int events, void (*call)(void *arg, int events),
                            void *arg) MUST_USE;
void loop_change(struct loop_watch *w, int events);
void loop_remove(struct loop_watch *w); /* NULL does nothing; before closing the descriptor */

/*
 * A timer lives in its owner's memory. loop_timer_set arms or moves it: ${call}(arg) runs once,
 * soon after ${at_ms} on the monotonic clock; DEADLINE_NEVER disarms. Zeroed memory is a disarmed
 * timer. It is disarmed before ${call} runs, which may arm it again or free it.
 * Errors: ERR_NOMEM, and then it is not armed.
 */
struct loop_timer {
    int64_t at_ms; /* private from here on */
    size_t slot;   /* 1 + its place in the heap; 0: not armed */
    void (*call)(void *arg);
    void *arg;
};
enum err loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms,
                        void (*call)(void *arg), void *arg) MUST_USE;
void loop_timer_clear(struct loop *l, struct loop_timer *t);

/* loop_now_ms(l): the monotonic time at which the present turn of the loop began. */
int64_t loop_now_ms(const struct loop *l);

/* loop_run(l): turn until loop_stop() was called. loop_turn(l, until_ms): one turn, which waits at
 * most until then: for tests and for an orderly stop. */
void loop_run(struct loop *l);
void loop_turn(struct loop *l, int64_t until_ms);
void loop_stop(struct loop *l);

#endif
