/*
 * server.h: the HTTP listener and its connections under the event loop; routes requests to
 * handlers.
 *
 * Not for: HTTP itself (http/http_server.h) and not for what requests mean (the *_api files). All
 * calls are made on the loop's thread. A handler is called at most twice for a request: at its
 * head, where it may refuse it before the body is read, and when the body is complete. It answers
 * then or, by a ticket, later from the loop's thread; until then nothing more is read from that
 * client.
 */
#ifndef SINKD_DAEMON_SERVER_H
#define SINKD_DAEMON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/recycle.h"
#include "base/slice.h"
#include "daemon/server_budget.h"
#include "http/http_request.h"
#include "http/http_server.h"
#include "net/addr.h"
#include "net/loop.h"

struct server;
struct server_call; /* one request being worked on; gone when `over` returns */

/* What the rate limit answers: 503 with Retry-After on the write paths, 429 on /query. */
enum server_rate { SERVER_RATE_NONE, SERVER_RATE_WRITE, SERVER_RATE_QUERY };

/*
 * One path. Other methods get 405 with Allow, other paths 404. With HTTP_OPTIONS among the methods
 * the server answers OPTIONS itself (200, for CORS).
 *
 * head(call):         answer to refuse, or server_call_accept() the body. NULL, or neither done: a
 *                     body is read and dropped.
 * done(call):         the body is complete; answer, or take a ticket and answer later. Without a
 *                     body it comes at once after head().
 * over(call, status): always the last, at which the request can still be looked at: it was
 *                     answered with ${status}, by the handler or by the server (408, 413, ...), or
 *                     0: the connection was lost without an answer. Frees what server_call_user()
 *                     holds, counts. May be NULL.
 */
struct server_route {
    const char *path;
    unsigned methods;
    enum server_rate rate;
    void (*head)(struct server_call *call);
    void (*done)(struct server_call *call);
    void (*over)(struct server_call *call, int status);
};

struct server_config {
    const char *bind_address;
    uint16_t port; /* 0: any free one, see server_port() */
    unsigned max_connections;
    size_t max_inflight_bytes;
    int64_t request_timeout_ms;  /* head and body together; also without progress of an answer */
    int64_t idle_timeout_ms;     /* between requests; 0: no limit */
    unsigned rate_per_second;    /* requests a route; 0: no limit */
    const char *version, *build; /* of the X-Influxdb-* headers */
    size_t body_limit;           /* a 413 for a body that may have at most this ... */
    const char *limit_words;     /* ... says so, and these words in brackets; NULL: it does not */
};

/*
 * server_open(out, loop, config, routes, count, ctx, info):
 * Bind, listen and serve from the next turn of ${loop} on. ${routes} and the strings of ${config}
 * are kept, not copied; ${ctx} is for the handlers.
 * Errors: ERR_IO, ERR_CONFIG (the address), ERR_NOMEM.
 */
enum err server_open(struct server **out, struct loop *loop, const struct server_config *config,
                     const struct server_route *routes, size_t count, void *ctx,
                     struct errinfo *info) MUST_USE;

/* server_cut(s): close the listener and all connections at once; open calls get over(call, 0).
 * Tickets find nothing from then on. server_close(s): that, then free; nobody holds a ticket or a
 * part of the budget any more. NULL does nothing. */
void server_cut(struct server *s);
void server_close(struct server *s);

/* server_drain(s, done, arg): stop listening, close idle connections, answer the open requests,
 * each with Connection: close; ${done}(arg) once when the last connection is gone (maybe at
 * once). */
void server_drain(struct server *s, void (*done)(void *arg), void *arg);
bool server_is_draining(const struct server *s);

uint16_t server_port(const struct server *s);
size_t server_connections(const struct server *s);

/* server_ctx(s), server_of(call): from a handler to what it works for. */
void *server_ctx(const struct server *s);
struct server *server_of(const struct server_call *call);

/* server_inflight(s): the budget max_inflight_bytes. Bodies are counted by the server until their
 * call is over; what the daemon keeps beyond that (chunks that wait in memory) it holds there
 * itself. */
struct server_budget *server_inflight(struct server *s);

/* server_recycle(s): memory of bodies that are over, for those to come and for what is made of
 * them. It is given back to the system when no request came for a second. */
struct recycle *server_recycle(struct server *s);

/* The request; not const, so that http_request_parse_form() can be called. Valid until the
 * answer. */
struct http_request *server_call_request(struct server_call *call);
const struct addr *server_call_peer(const struct server_call *call);
bool server_call_is_local(const struct server_call *call); /* the peer has a loopback address */
int64_t server_call_started_ms(const struct server_call *call); /* monotonic: its first byte */

void server_call_set_user(struct server_call *call, void *user);
void *server_call_user(const struct server_call *call); /* NULL until set */

/* server_call_accept(call, max): in head(): read the body, at most ${max} bytes after decoding. */
void server_call_accept(struct server_call *call, size_t max);

/* server_call_answer(call, a): exactly once, in head(), in done() or later. over() runs before
 * this returns, and then ${call} is gone. */
void server_call_answer(struct server_call *call, const struct http_answer *a);

/* server_call_error(call, status, format, ...): answer {"error":"..."} and X-Influxdb-Error.
 * server_call_busy(call, retry_after_s, text): 503 with Retry-After and a JSON error. */
void server_call_error(struct server_call *call, int status, const char *format, ...)
    PRINTF_LIKE(3, 4);
void server_call_busy(struct server_call *call, unsigned retry_after_s, const char *text);

/*
 * A ticket stands for a call over time: it may be kept anywhere and outlive the call.
 * server_call_find(s, t): the call, or NULL when it is over (its connection was lost). Tickets
 * may be carried through other threads; find is for the loop's thread alone.
 */
struct server_ticket {
    uint32_t slot;
    uint32_t generation; /* never 0: a zeroed ticket finds nothing */
};
struct server_ticket server_call_ticket(const struct server_call *call);
struct server_call *server_call_find(struct server *s, struct server_ticket t);

#endif
