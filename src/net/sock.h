/*
 * sock.h: sockets made the way we want them: non-blocking, closed on exec, no SIGPIPE.
 */
#ifndef SINKD_NET_SOCK_H
#define SINKD_NET_SOCK_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "net/addr.h"

/* sock_listen(fd, address, port, info): a listening TCP socket; "::" takes both families where the
 * system can. Port 0 picks a free one: sock_local says which. ERR_IO (in use, no right, ...),
 * ERR_CONFIG. */
enum err sock_listen(int *fd, const char *address, uint16_t port, struct errinfo *info) MUST_USE;
enum err sock_local(int fd, struct addr *out, struct errinfo *info) MUST_USE;

/* sock_accept(listener, fd, peer, info): ERR_AGAIN (none waits), ERR_BUSY (out of descriptors or
 * memory: stop accepting for a while), ERR_IO. */
enum err sock_accept(int listener, int *fd, struct addr *peer, struct errinfo *info) MUST_USE;

/* sock_connect(fd, to, info): start connecting; ERR_OK at once or ERR_AGAIN: wait until writable,
 * then sock_connected() says how it went. */
enum err sock_connect(int *fd, const struct addr *to, struct errinfo *info) MUST_USE;
enum err sock_connected(int fd, struct errinfo *info) MUST_USE;

#endif
