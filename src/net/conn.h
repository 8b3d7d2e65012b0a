/*
 * conn.h: one connected socket, plain now; the seam where TLS goes.
 *
 * Never blocks: what cannot be done now answers ERR_AGAIN, and conn_wants() says which readiness to
 * wait for (a TLS read may have to wait until the socket can be written). Bytes that TLS has
 * already decrypted wait where poll sees nothing: conn_pending().
 */
#ifndef SINKD_NET_CONN_H
#define SINKD_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

struct conn {
    int fd;      /* -1 when closed */
    short wants; /* POLLIN or POLLOUT: what the last ERR_AGAIN waits for */
};

/* conn_init(c, fd): take over a connected, non-blocking socket. */
void conn_init(struct conn *c, int fd);

/* conn_close(c): close the socket. Twice does nothing. */
void conn_close(struct conn *c);

/*
 * conn_read(c, p, size, got, info), conn_write(c, s, put, info):
 * Move some bytes; ${got} and ${put} are at least 1 with ERR_OK, else 0.
 * Errors: ERR_AGAIN; ERR_EOF (read only: the peer sent its last byte); ERR_IO, with ${info}.
 */
enum err conn_read(struct conn *c, uint8_t *p, size_t size, size_t *got,
                   struct errinfo *info) MUST_USE;
enum err conn_write(struct conn *c, struct slice s, size_t *put, struct errinfo *info) MUST_USE;

/* conn_writev(c, parts, count, put, info): as conn_write, for up to 16 slices in a row. */
enum err conn_writev(struct conn *c, const struct slice *parts, size_t count, size_t *put,
                     struct errinfo *info) MUST_USE;

static inline short
conn_wants(const struct conn *c)
{
    return c->wants;
}

/* conn_pending(c): whether a read would give bytes at once although poll sees none. */
bool conn_pending(const struct conn *c);

#endif
