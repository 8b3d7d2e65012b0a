/*
 * stdout_peer.c: a reader behind this process's standard output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/stdout_peer.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Take what is there. False: nothing was. */
static bool
take(struct stdout_peer *p)
{
    ssize_t got;

    if (p->cap - p->n < 65536) {
        p->cap = p->cap * 2 + 65536;
        p->bytes = realloc(p->bytes, p->cap);
        assert(p->bytes != NULL);
    }
    got = read(p->fd, p->bytes + p->n, p->cap - p->n);
    if (got > 0)
        p->n += (size_t)got;
    return got > 0;
}

static bool
listens(struct stdout_peer *p)
{
    bool yes;

    (void)pthread_mutex_lock(&p->lock);
    yes = !p->silent && !p->gone;
    (void)pthread_mutex_unlock(&p->lock);
    return yes;
}

static void *
run(void *arg)
{
    struct stdout_peer *p = arg;

    for (;;) {
        struct pollfd set[2] = {{listens(p) ? p->fd : -1, POLLIN, 0}, {p->quit[0], POLLIN, 0}};

        (void)poll(set, 2, 2);
        if (set[1].revents != 0)
            return NULL;
        (void)pthread_mutex_lock(&p->lock);
        p->turns++;
        if (!p->silent && !p->gone)
            (void)take(p);
        (void)pthread_mutex_unlock(&p->lock);
    }
}

static void
redirect(struct stdout_peer *p)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    (void)close(ends[1]);
    p->fd = ends[0];
}

void
stdout_peer_start(struct stdout_peer *p)
{
    memset(p, 0, sizeof(*p));
    (void)fflush(stdout);
    p->saved = dup(STDOUT_FILENO);
    assert_true(p->saved >= 0);
    assert_int_equal(pipe(p->quit), 0);
    (void)pthread_mutex_init(&p->lock, NULL);
    redirect(p);
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
}

void
stdout_peer_stop(struct stdout_peer *p)
{
    (void)fflush(stdout);
    assert_int_equal(dup2(p->saved, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(write(p->quit[1], "x", 1), 1);
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    (void)close(p->saved);
    (void)close(p->quit[0]);
    (void)close(p->quit[1]);
    if (!p->gone)
        (void)close(p->fd);
    free(p->bytes);
    (void)pthread_mutex_destroy(&p->lock);
}

void
stdout_peer_silence(struct stdout_peer *p, bool silent)
{
    (void)pthread_mutex_lock(&p->lock);
    p->silent = silent;
    (void)pthread_mutex_unlock(&p->lock);
}

static unsigned
turns(struct stdout_peer *p)
{
    unsigned n;

    (void)pthread_mutex_lock(&p->lock);
    n = p->turns;
    (void)pthread_mutex_unlock(&p->lock);
    return n;
}

/* A pipe that is polled stays open: it is closed once the thread does not look at it any more. */
void
stdout_peer_leave(struct stdout_peer *p)
{
    const struct timespec moment = {0, 1000000};
    unsigned before;

    (void)pthread_mutex_lock(&p->lock);
    p->gone = true;
    before = p->turns;
    (void)pthread_mutex_unlock(&p->lock);
    while (turns(p) < before + 2)
        (void)nanosleep(&moment, NULL);
    (void)close(p->fd);
}

void
stdout_peer_back(struct stdout_peer *p)
{
    (void)pthread_mutex_lock(&p->lock);
    if (p->gone)
        redirect(p);
    p->gone = false;
    (void)pthread_mutex_unlock(&p->lock);
}

size_t
stdout_peer_size(struct stdout_peer *p)
{
    size_t n;

    (void)pthread_mutex_lock(&p->lock);
    while (!p->gone && take(p))
        ;
    n = p->n;
    (void)pthread_mutex_unlock(&p->lock);
    return n;
}

unsigned
stdout_peer_lines(struct stdout_peer *p, const char *needle)
{
    size_t n = stdout_peer_size(p), length = strlen(needle), start = 0;
    unsigned lines = 0;

    (void)pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        bool found = false;

        if (p->bytes[i] != '\n')
            continue;
        for (size_t at = start; at + length <= i && !found; at++)
            found = memcmp(p->bytes + at, needle, length) == 0;
        lines += found;
        start = i + 1;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return lines;
}
