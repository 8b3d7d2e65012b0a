/*
 * stream_env.h: what all waits of one owner share: its clock, its wake pipe, its say on when to
 * stop.
 *
 * Below addr.h and stream.h, which both wait with it.
 */
#ifndef SINKD_NET_STREAM_ENV_H
#define SINKD_NET_STREAM_ENV_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/wake.h"

struct stream;
struct stream_target;

/* The owner keeps it alive for as long as its streams. */
struct stream_env {
    const struct clock *clock;
    const struct wake *wake; /* may be NULL: then nothing interrupts a wait */

    /*
     * Whether a read or wait is to end with ERR_STOP: asked at the start of each and whenever the
     * wake pipe fires, which is drained before the question: set what it looks at, then wake; and
     * after a call look at everything else that a wake may have been about. NULL: every wake ends
     * the wait and stays in the pipe until the owner drains it.
     */
    bool (*stopped)(void *arg);
    /* Likewise for a write under way, but NULL: never. Without stopped() it leaves the wakes in the
     * pipe, and is asked every 50 ms while one is there. */
    bool (*aborted)(void *arg);
    void *arg;

    /* What stream_connect and stream_pause do instead of TCP and sleeping: how tests put a script
     * and a clock of their own underneath. NULL otherwise. */
    enum err (*connect)(struct stream **out, const struct stream_env *env,
                        const struct stream_target *target, int64_t deadline, struct errinfo *info);
    enum err (*pause)(const struct stream_env *env, int64_t deadline);
};

/* Descriptors that one wait can watch. */
#define STREAM_ENV_WAIT_MAX 64

/*
 * stream_env_wait(env, fds, count, writing, deadline):
 * Wait until one of ${count} descriptors (0 to 64) is ready; their revents say which. With
 * ${writing} env->aborted is asked in place of env->stopped.
 * Errors: ERR_TIMEOUT, ERR_STOP, ERR_IO (the system refused to poll).
 */
enum err stream_env_wait(const struct stream_env *env, struct pollfd *fds, size_t count,
                         bool writing, int64_t deadline) MUST_USE;

#endif
