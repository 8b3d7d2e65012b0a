/*
 * stream_env.c: one poll on an owner's descriptors and its wake pipe.
 */
#include "net/stream_env.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

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

/* woken(env, writing): the wake pipe fired: whether that ends the wait. */
static bool
woken(const struct stream_env *env, bool writing)
{
    if (!writing && env->stopped == NULL)
        return true;
    wake_drain(env->wake);
    return is_over(env, writing);
}

enum err
stream_env_wait(const struct stream_env *env, struct pollfd *fds, size_t count, bool writing,
                int64_t deadline)
{
    struct pollfd set[STREAM_ENV_WAIT_MAX + 1];
    bool watches_wake = env->wake != NULL && !(writing && env->aborted == NULL);
    int timeout, ready;

    assert(count <= STREAM_ENV_WAIT_MAX);
    if (count > 0)
        memcpy(set, fds, count * sizeof(*fds));
    set[count] = (struct pollfd){watches_wake ? wake_fd(env->wake) : -1, POLLIN, 0};
    if (is_over(env, writing))
        return ERR_STOP;
    for (;;) {
        timeout = wait_ms(env, deadline);
        ready = poll(set, (nfds_t)count + 1, timeout);
        if (ready == -1 && errno != EINTR)
            return ERR_IO;
        if (ready > 0 && set[count].revents != 0) {
            if (woken(env, writing))
                return ERR_STOP;
            ready--;
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
