/*
 * http_server.h: one client connection as a state machine: bytes in, events and bytes out.
 *
 * Not for: sockets, clocks, routes (daemon/server.h does those). One request is worked on at a
 * time; what a client sends behind it waits, bounded. The owner's loop is
 *
 *     bytes came:   copy them in with http_server_receive(), or http_server_eof()
 *     then:         call http_server_step() until it says HTTP_WAIT
 *     HTTP_HEAD:    http_server_answer() now, or http_server_accept() for the body
 *     HTTP_REQUEST: the body is complete; http_server_answer() now or later
 *     always:       send what buf_peek(&c->out) holds and http_server_sent() it; when
 *                   http_server_is_finished(): close
 *
 * Source: RFC 9110, RFC 9112; InfluxDB 1.x for the texts and headers of answers.
 */
#ifndef SINKD_HTTP_HTTP_SERVER_H
#define SINKD_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/h1_body.h"
#include "http/h1_parse.h"
#include "http/http_answer.h"
#include "http/http_content.h"
#include "http/http_request.h"

/* Bytes that may wait unread in a connection: one head, or pipelined requests. */
#define HTTP_INPUT_MAX (H1_HEAD_MAX + 16384)
/* The longest answer, head and body. */
#define HTTP_OUTPUT_MAX (32u << 20)
/* An unwanted body up to this size is read and dropped so that the connection can be kept. */
#define HTTP_DRAIN_MAX 262144

enum http_event {
    HTTP_WAIT,         /* nothing to do before more bytes came, or before the answer */
    HTTP_REQUEST_HEAD, /* a head is complete: accept or answer */
    HTTP_REQUEST_DONE, /* the body is complete: answer */
    HTTP_REFUSED       /* the machine has answered by itself, c->refused says with which status; a
                          request that was told as HTTP_REQUEST_HEAD is over by this */
};

/* Which deadline applies. */
enum http_phase {
    HTTP_IDLE,    /* no byte of a request is here: may be closed at any time */
    HTTP_READING, /* a head or body has begun: the request's deadline counts from here */
    HTTP_WORKING, /* the request is complete and not answered */
    HTTP_SENDING, /* answered; output waits for the client: counts anew with each byte sent */
    HTTP_DRAINING /* answered; the rest of an unwanted body is skipped: as HTTP_READING */
};

struct http_conn {
    struct http_env *env;
    struct http_request request; /* valid from HTTP_REQUEST_HEAD to the step after the answer */
    struct buf in, out;
    int refused;            /* with HTTP_REFUSED */
    unsigned long requests; /* heads seen so far */
    /* private */
    struct h1_scan scan;
    struct h1_body body;
    struct http_content content;
    size_t dropped;
    unsigned state;
    bool eof;           /* the client sends no more */
    bool stopping;      /* close behind the request at hand */
    bool owes_continue; /* the client may be waiting for a 100 that was not sent */
    bool tell_refused;  /* the next step says so */
    bool request_over;  /* answered: the next step frees the request */
};

void http_server_init(struct http_conn *c, struct http_env *env);
void http_server_free(struct http_conn *c);

/* http_server_room(c): how many bytes http_server_receive() would take now; 0: do not read. */
size_t http_server_room(const struct http_conn *c);

/* http_server_receive(c, bytes): at most http_server_room() of them. ERR_NOMEM. */
enum err http_server_receive(struct http_conn *c, struct slice bytes) MUST_USE;

/* http_server_eof(c): the client will send no more; it may still wait for answers. */
void http_server_eof(struct http_conn *c);

enum http_event http_server_step(struct http_conn *c) MUST_USE;

/*
 * http_server_accept(c, max):
 * At HTTP_REQUEST_HEAD: read the body, at most ${max} bytes after decoding; 0: whatever comes is
 * dropped. A client that waits for it is sent 100 Continue. If the head already says that this
 * cannot work (too long: 413, no length: 411, unknown coding: 415, over the admission limit: 503)
 * the next step says HTTP_REFUSED.
 */
void http_server_accept(struct http_conn *c, size_t max);

/* http_server_is_undecided(c): told as HTTP_REQUEST_HEAD and neither accepted nor answered yet. */
bool http_server_is_undecided(const struct http_conn *c);

/* http_server_answer(c, a): answer the request at hand, at HTTP_REQUEST_HEAD or HTTP_REQUEST_DONE.
 * An answer beyond HTTP_OUTPUT_MAX becomes a 500. Step afterwards. */
void http_server_answer(struct http_conn *c, const struct http_answer *a);

/* http_server_timeout(c): the request took too long: 408 and close; nothing when the phase is
 * idle. */
void http_server_timeout(struct http_conn *c);

/* http_server_sent(c, n): the first ${n} bytes of c->out are gone. */
void http_server_sent(struct http_conn *c, size_t n);

/* http_server_stop(c): close after the request at hand; finished at once when idle. */
void http_server_stop(struct http_conn *c);

enum http_phase http_server_phase(const struct http_conn *c);

/* http_server_is_finished(c): everything is sent and nothing more will be answered. */
bool http_server_is_finished(const struct http_conn *c);

/* http_server_must_linger(c): finished, but the client may still be sending: read on for a moment
 * so that it sees the answer and not a reset. */
bool http_server_must_linger(const struct http_conn *c);

#endif
