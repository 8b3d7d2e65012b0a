/*
 * wake.c: a pipe that ends another thread's wait.
 *
 * The pipe holds at most what fits: a full pipe already says what one more byte would say, so a
 * write that would block is dropped.
 */
#include "net/wake.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

static int
set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

enum err
wake_open(struct wake *w, struct errinfo *info)
{
    int ends[2];
    int sys;

    w->read_fd = -1;
    w->write_fd = -1;
    if (pipe(ends) == -1)
        return errinfo_sys(info, ERR_IO, errno, "cannot make a wake pipe");
    if (set_flags(ends[0]) == -1 || set_flags(ends[1]) == -1) {
        sys = errno;
        (void)close(ends[0]);
        (void)close(ends[1]);
        return errinfo_sys(info, ERR_IO, sys, "cannot set up a wake pipe");
    }
    w->read_fd = ends[0];
    w->write_fd = ends[1];
    return ERR_OK;
}

void
wake_close(struct wake *w)
{
    if (w->read_fd != -1)
        (void)close(w->read_fd);
    if (w->write_fd != -1)
        (void)close(w->write_fd);
    w->read_fd = -1;
    w->write_fd = -1;
}

void
wake_signal(const struct wake *w)
{
    static const uint8_t byte = 1;
    int saved = errno; /* a signal handler must not change it under the interrupted code */
    ssize_t put;

    do
        put = write(w->write_fd, &byte, 1);
    while (put == -1 && errno == EINTR);
    assert(put == 1 || errno == EAGAIN || errno == EWOULDBLOCK);
    errno = saved;
}

void
wake_drain(const struct wake *w)
{
    uint8_t sink[256];
    ssize_t got;

    /* A short read emptied the pipe: a byte that comes after it is a new wake and stays. */
    do
        got = read(w->read_fd, sink, sizeof(sink));
    while (got == (ssize_t)sizeof(sink) || (got == -1 && errno == EINTR));
}

int
wake_fd(const struct wake *w)
{
    return w->read_fd;
}
