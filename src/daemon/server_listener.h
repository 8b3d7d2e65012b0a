/*
 * server_listener.h: the listening socket: lets clients in while there is room, and never spins
 * when there is none. Not for: what a client is (server.c).
 */
#ifndef SINKD_DAEMON_SERVER_LISTENER_H
#define SINKD_DAEMON_SERVER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/log.h"
#include "net/addr.h"
#include "net/loop.h"

struct server_listener {
    struct loop *loop;
    int fd; /* -1 before open and after close */
    uint16_t port;
    bool (*has_room)(void *arg);  /* another one may come in */
    bool (*make_room)(void *arg); /* close one that is idle; false: there is none */
    void (*let_in)(void *arg, int fd, const struct addr *peer); /* takes ${fd} over */
    void *arg;
    /* private */
    struct loop_watch *watch;
    struct loop_timer retry;
    struct log_limit limit;
    bool paused;
};

/* server_listener_open(l, address, port, info): ${l} with the members above filled in. Call
 * server_listener_close() on an error too. ERR_IO, ERR_CONFIG, ERR_NOMEM. */
enum err server_listener_open(struct server_listener *l, const char *address, uint16_t port,
                              struct errinfo *info) MUST_USE;
void server_listener_close(struct server_listener *l); /* twice does nothing */

/* server_listener_resume(l): something was closed: there may be room again. */
void server_listener_resume(struct server_listener *l);

#endif
