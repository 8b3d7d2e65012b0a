/*
 * http_client.h: HTTP/1.1 requests to one host over one kept connection.
 *
 * Straight blocking calls with absolute deadlines over a stream: connect, send, receive. Requests
 * may be sent ahead (pipelined) and their answers read in order. Everything a peer sends is
 * bounded: the head, the part of the body that is kept, the part that is read and dropped.
 * Nothing is followed: a redirect is an answer like any other.
 * Not for: retries, backoff, and what a status means; that is the caller's.
 * Source: RFC 9110, RFC 9112.
 */
#ifndef SINKD_HTTP_HTTP_CLIENT_H
#define SINKD_HTTP_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/http_reply.h"
#include "net/stream.h"

/* Requests that may wait for their answers at a time. */
#define HTTP_CLIENT_PIPELINE 16

/* Slices of one request's body at most. */
#define HTTP_CLIENT_PARTS 14

struct http_client;

struct http_client_config {
    const struct stream_env *env; /* kept: outlives the client */
    struct slice host;            /* copied; an IPv6 address without brackets */
    uint16_t port;
    const struct tls_client *tls; /* kept; NULL: plain HTTP */
    size_t keep_bytes;            /* of a response body that are kept, at most; 0: 64 KiB */
    size_t drain_bytes;           /* read and dropped beyond that before the connection is given up;
                                     0: 256 KiB */
};

/* http_client_open(out, config, info): no network yet. Errors: ERR_NOMEM. */
enum err http_client_open(struct http_client **out, const struct http_client_config *config,
                          struct errinfo *info) MUST_USE;
void http_client_close(struct http_client *c);

/* Where the last failure came from: what an operator is told, and what a retry may assume. */
enum http_failure {
    HTTP_FAILURE_NONE,
    HTTP_FAILURE_CONNECT,  /* name, connect or TLS: nothing was sent */
    HTTP_FAILURE_TIMEOUT,  /* the deadline passed: the request may have been taken */
    HTTP_FAILURE_RESET,    /* the connection broke or ended too early: the same */
    HTTP_FAILURE_STALE,    /* as RESET, but on a connection that had been used before and without
                              one byte of an answer: most likely the server closed an idle
                              connection and never saw the request. Sending it again at once is
                              right where twice does no harm (GET; delivery at least once) */
    HTTP_FAILURE_PROTOCOL, /* the answer is no HTTP, or over a limit */
    HTTP_FAILURE_LOCAL     /* no memory, a request that cannot be sent, told to stop */
};

/* A request. Everything is borrowed for the time of the call. */
struct http_call {
    struct slice method;         /* "POST" */
    struct slice target;         /* path and query as they go on the wire; "" is sent as "/" */
    const struct slice *headers; /* "Name: value" each, no line end. The client writes Host, which
                                    one here replaces, and Content-Length; that, Transfer-Encoding
                                    and Connection are refused here */
    size_t header_count;
    const struct slice *body; /* sent one behind the other; Content-Length is their sum */
    size_t body_count;        /* at most HTTP_CLIENT_PARTS */
    bool repeat;              /* http_client_call: after HTTP_FAILURE_STALE send it once more, on
                                    a new connection */
};

/* http_client_connect(c, deadline, info): connect unless connected. Errors as stream_connect. */
enum err http_client_connect(struct http_client *c, int64_t deadline,
                             struct errinfo *info) MUST_USE;
bool http_client_connected(const struct http_client *c);

/* http_client_disconnect(c): drop the connection and the requests that wait for answers on it. */
void http_client_disconnect(struct http_client *c);

/*
 * http_client_send(c, call, deadline, info):
 * Connect if need be and write one request. An idle kept connection that the server closed
 * meanwhile is noticed first and replaced. If the peer answers or closes before it has taken all
 * of the body, the rest is not sent and ERR_OK is returned: http_client_receive gives the answer,
 * or says that the connection broke.
 * Errors: those of stream_connect; ERR_TIMEOUT, ERR_STOP (aborted, or stopped before anything was
 * sent) and ERR_TLS of the write; ERR_BAD (a header or target that may not be sent); ERR_RANGE
 * (too many parts or requests waiting, a head over 64 KiB); ERR_BUSY (the peer did not take an
 * earlier request whole: receive its answer first); ERR_NOMEM. The connection is closed if a write
 * began.
 */
enum err http_client_send(struct http_client *c, const struct http_call *call, int64_t deadline,
                          struct errinfo *info) MUST_USE;

/*
 * http_client_receive(c, out, deadline, info):
 * The answer to the oldest of the requests that wait for one; there must be one. 1xx answers are
 * skipped. ${out} is filled on every return: with an error too its status is set if the head of
 * the answer had come, and the body then holds what came of it. A verdict may be taken from it.
 * Errors: ERR_STOP (nothing is lost: call again, or disconnect); ERR_TIMEOUT; ERR_EOF (closed too
 * early); ERR_IO; ERR_TLS; ERR_BAD (no HTTP); ERR_RANGE (a head over 16 KiB); ERR_NOMEM. On all but
 * ERR_STOP the connection is closed and the other waiting requests are forgotten.
 */
enum err http_client_receive(struct http_client *c, struct http_reply *out, int64_t deadline,
                             struct errinfo *info) MUST_USE;

/* http_client_waiting(c): requests sent whose answers were not received yet; none once an answer
 * closed the connection. */
size_t http_client_waiting(const struct http_client *c);

/* http_client_call(c, call, out, deadline, info): send and receive; no other request may wait.
 * After ERR_STOP out of the wait for the answer, http_client_receive goes on with it. */
enum err http_client_call(struct http_client *c, const struct http_call *call,
                          struct http_reply *out, int64_t deadline, struct errinfo *info) MUST_USE;

/* http_client_failure(c): the class of the error that the last call returned. */
enum http_failure http_client_failure(const struct http_client *c);

/* http_client_failure_name(f): "connect", "timeout", "reset", ...: a static string. */
const char *http_client_failure_name(enum http_failure f);

/* http_client_header(c, name): a header of the answer received last, its first if it came more
 * than once; {NULL, 0} without it. Valid until the next call on the client. */
struct slice http_client_header(const struct http_client *c, struct slice name);

#endif
