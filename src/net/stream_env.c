/*
 * stream_env.c: one poll on an owner's descriptors and its wake pipe.
 */
#include "net/stream_env.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* How often an abort is asked for while the wake pipe cannot tell of one. */
#define ABORT_ASK_MS 50

static int
wait_ms(const struct stream_env *env, int64_t deadline)
{
    int64_t now;

    if (deadline == DEADLINE_NEVER)
        return -1;
    now = clock_mono_ms(env->clock);
    if (deadline <= now)
        return 0;
    return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

/* is_over(env, writing): the owner's answer; without one to ask, only a wake itself ends a read. */
static bool
is_over(const struct stream_env *env, bool writing)
{
    bool (*ask)(void *arg) = writing ? env->aborted : env->stopped;

    return ask != NULL && ask(env->arg);
}

/*
 * woken(env, wake, writing): the wake pipe fired: whether that ends the wait. Without env->stopped
 * the wakes are for the owner, so they stay in the pipe; a write watches it no more, as it would
 * fire at once again, and asks from time to time instead.
 */
static bool
woken(const struct stream_env *env, struct pollfd *wake, bool writing)
{
    if (env->stopped != NULL)
        wake_drain(env->wake);
    else if (writing)
        wake->fd = -1;
    else
        return true;
    return is_over(env, writing);
}

enum err
stream_env_wait(const struct stream_env *env, struct pollfd *fds, size_t count, bool writing,
                int64_t deadline)
{
    struct pollfd set[STREAM_ENV_WAIT_MAX + 1];
    bool watches_wake = env->wake != NULL && !(writing && env->aborted == NULL);
    bool asks = false; /* in slices, for want of the wake pipe */
    int timeout, ready;

    assert(count <= STREAM_ENV_WAIT_MAX);
    if (count > 0)
        memcpy(set, fds, count * sizeof(*fds));
    set[count] = (struct pollfd){watches_wake ? wake_fd(env->wake) : -1, POLLIN, 0};
    if (is_over(env, writing))
        return ERR_STOP;
    for (;;) {
        timeout = wait_ms(env, deadline);
        if (asks && (timeout < 0 || timeout > ABORT_ASK_MS))
            ready = poll(set, (nfds_t)count + 1, ABORT_ASK_MS);
        else
            ready = poll(set, (nfds_t)count + 1, timeout);
        if (ready == -1 && errno != EINTR)
            return ERR_IO;
        if (ready > 0 && set[count].revents != 0) {
            if (woken(env, &set[count], writing))
                return ERR_STOP;
            asks = set[count].fd == -1;
            ready--;
        } else if (asks && is_over(env, writing)) {
            return ERR_STOP;
        }
        if (ready > 0)
            break;
        if (timeout == 0 && ready == 0)
            return ERR_TIMEOUT;
    }
    if (count > 0)
        memcpy(fds, set, count * sizeof(*fds));
    return ERR_OK;
}
