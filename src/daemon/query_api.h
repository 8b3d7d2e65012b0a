/*
 * query_api.h: GET and POST /query: statements in, results out.
 *
 * Requests are worked on one after another, in the order they came: a statement that changes
 * definitions waits for its commit, and the requests behind it wait with it.
 * Source: InfluxDB 1.x HTTP API, /query; docs/user-guide/reference.md.
 */
#ifndef SINKD_DAEMON_QUERY_API_H
#define SINKD_DAEMON_QUERY_API_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "daemon/daemon.h"
#include "daemon/server.h"

/* Handlers of a server_route; the server's context is the struct daemon. */
void query_api_head(struct server_call *call);
void query_api_done(struct server_call *call);

/* query_api_open(out, daemon, info): ERR_NOMEM. query_api_close(q): what still waits is given
 * up. */
enum err query_api_open(struct query_queue **out, struct daemon *daemon,
                        struct errinfo *info) MUST_USE;
void query_api_close(struct query_queue *q);

/*
 * query_api_run(q, text, done, arg, info):
 * Run statements for the daemon itself (sink.init_file): ${done}(arg, error) when all have run or
 * one has failed: ${error} is its text, NULL when all went well.
 * Errors: ERR_BAD (they do not parse), ERR_NOMEM; ${done} is then not called.
 */
enum err query_api_run(struct query_queue *q, struct slice text,
                       void (*done)(void *arg, const char *error), void *arg,
                       struct errinfo *info) MUST_USE;

#endif
