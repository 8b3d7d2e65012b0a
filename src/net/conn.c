/*
 * conn.c: a plain socket behind the calls that TLS will need too.
 */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* where there is none, the socket has SO_NOSIGPIPE: sock.c */
#endif

#define PARTS_MAX 16

void
conn_init(struct conn *c, int fd)
{
    c->fd = fd;
    c->wants = POLLIN;
}

void
conn_close(struct conn *c)
{
    if (c->fd != -1)
        (void)close(c->fd);
    c->fd = -1;
}

/* cannot_now(c, wants, what, info): what a failed call means; errno is fresh. */
static enum err
cannot_now(struct conn *c, short wants, const char *what, struct errinfo *info)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        c->wants = wants;
        return ERR_AGAIN;
    }
    return errinfo_sys(info, ERR_IO, errno, "cannot %s the connection", what);
}

enum err
conn_read(struct conn *c, uint8_t *p, size_t size, size_t *got, struct errinfo *info)
{
    ssize_t n;

    assert(size > 0);
    *got = 0;
    do
        n = recv(c->fd, p, size, 0);
    while (n == -1 && errno == EINTR);
    if (n == -1)
        return cannot_now(c, POLLIN, "read from", info);
    if (n == 0)
        return ERR_EOF;
    *got = (size_t)n;
    return ERR_OK;
}

enum err
conn_write(struct conn *c, struct slice s, size_t *put, struct errinfo *info)
{
    return conn_writev(c, &s, 1, put, info);
}

enum err
conn_writev(struct conn *c, const struct slice *parts, size_t count, size_t *put,
            struct errinfo *info)
{
    struct iovec vector[PARTS_MAX];
    struct msghdr message;
    uint8_t used = 0; /* its place in the message is a size_t or an int, as the libc has it */
    size_t i;
    ssize_t n;

    assert(count <= PARTS_MAX);
    *put = 0;
    for (i = 0; i < count; i++) {
        if (parts[i].n == 0)
            continue;
        /* iov_base is not const only because reading shares the struct */
        vector[used].iov_base = (void *)(uintptr_t)parts[i].p;
        vector[used].iov_len = parts[i].n;
        used++;
    }
    assert(used > 0);
    memset(&message, 0, sizeof(message));
    message.msg_iov = vector;
    message.msg_iovlen = used;
    do
        n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    while (n == -1 && errno == EINTR);
    if (n == -1)
        return cannot_now(c, POLLOUT, "write to", info);
    *put = (size_t)n;
    return ERR_OK;
}

bool
conn_pending(const struct conn *c)
{
    (void)c; /* a plain socket keeps nothing back */
    return false;
}
