/*
 * cli_http.h: requests of a command to its daemon, and what failed said in words.
 */
#ifndef SINKD_CLI_CLI_HTTP_H
#define SINKD_CLI_CLI_HTTP_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "cli/cli_server.h"
#include "http/http_client.h"
#include "net/stream_env.h"

struct cli_http {
    struct stream_env env;
    struct http_client *client;
    const struct cli_server *server;
    struct buf authorization; /* a whole header; empty without a user */
};

/* The most of an answer's body that is kept. */
#define CLI_HTTP_ANSWER_MAX ((size_t)64 << 20)

struct cli_request {
    const char *method;
    struct slice target;      /* behind the path of the server's URL: "/query" */
    const char *content_type; /* NULL: no body */
    struct slice body;
    bool repeat; /* may be sent again when a kept connection turns out closed */
    int64_t timeout_ms;
};

/* cli_http_open(h, server, info): ${server}, resolved, is kept. cli_http_close() frees, also after
 * an error. ERR_NOMEM. */
enum err cli_http_open(struct cli_http *h, const struct cli_server *server,
                       struct errinfo *info) MUST_USE;
void cli_http_close(struct cli_http *h);

/*
 * cli_http_call(h, request, reply, info):
 * One request and its answer, of any status. What ${reply} points at is valid until the next call.
 * Errors: as http_client_call; ${info} then names the daemon.
 */
enum err cli_http_call(struct cli_http *h, const struct cli_request *request,
                       struct http_reply *reply, struct errinfo *info) MUST_USE;

/*
 * cli_http_refused(h, reply, info):
 * Put into ${info} what an answer that is no success says: the text of its {"error": ...}, else the
 * start of its body, else what its status means. Returns ERR_DENIED for 401 and 403, else ERR_BAD.
 */
enum err cli_http_refused(const struct cli_http *h, const struct http_reply *reply,
                          struct errinfo *info);

/* cli_http_error_text(body, out): append the text of {"error": ...}; false when there is none. */
bool cli_http_error_text(struct slice body, struct buf *out);

#endif
