/*
 * server_conn.h: one client's socket under the loop, driving the HTTP state machine.
 *
 * Reads when the machine has room, writes what it put out, keeps the deadlines, and closes so that
 * the client sees the last answer. Not for: routes and handlers; those are called through `event`.
 */
#ifndef SINKD_DAEMON_SERVER_CONN_H
#define SINKD_DAEMON_SERVER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "http/http_server.h"
#include "net/conn.h"
#include "net/loop.h"

struct server_conn;

/* What all connections of a server share. */
struct server_conn_env {
    struct loop *loop;
    struct http_env http;
    int64_t date_s; /* private: the second that http.date is for */
    int64_t request_timeout_ms;
    int64_t idle_timeout_ms; /* 0: no limit */
    uint8_t *scratch;        /* for reading */
    size_t scratch_bytes;
    /* The machine wants something done; for HTTP_WAIT never. */
    void (*event)(struct server_conn *c, enum http_event event);
    /* The connection may be closed to make room (true), or no more. */
    void (*idle)(struct server_conn *c, bool is_idle);
    /* Closed: the memory is the owner's again. Never called from within `event`. */
    void (*gone)(struct server_conn *c);
};

struct server_conn {
    struct server_conn_env *env;
    struct conn conn;
    struct http_conn http;
    int64_t begun_ms; /* first byte of the request at hand */
    /* private */
    struct loop_watch *watch;
    struct loop_timer timer;
    int64_t progress_ms;    /* the last byte sent, answer given or state changed */
    unsigned long answered; /* requests that are over */
    unsigned long idle_for; /* the value of answered when it became idle */
    unsigned long begun;    /* the value of answered + 1 that begun_ms is for */
    size_t lingered;        /* bytes thrown away since the end */
    bool pumping, lingering, lost, is_idle, want_write;
    bool more_waits; /* the last read was filled: the socket has more */
};

/* server_conn_open(c, env, fd): take over ${fd} (closed on an error too). ERR_NOMEM. */
enum err server_conn_open(struct server_conn *c, struct server_conn_env *env, int fd) MUST_USE;

/* server_conn_answer(c, a): answer the request at hand, from within `event` or from anywhere. It
 * is sent by the next pump, which follows by itself within `event`. */
void server_conn_answer(struct server_conn *c, const struct http_answer *a);

/* server_conn_pump(c): do all that can be done now. ${c} may be gone when it returns; within
 * `event` it does nothing. */
void server_conn_pump(struct server_conn *c);

/* server_conn_close(c): at once, whatever is open; not from within `event`. */
void server_conn_close(struct server_conn *c);

#endif
