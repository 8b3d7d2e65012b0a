/*
 * http_reply.h: takes the answer to a request apart as its bytes come.
 *
 * The head is copied aside and parsed there, so that its fields stay valid while the input moves
 * on; of the body the first part is kept and the rest dropped, up to a bound. Interim (1xx) answers
 * are skipped. Pure: who reads the bytes, and when to give up, is the client's business.
 * Source: RFC 9110, RFC 9112.
 */
#ifndef SINKD_HTTP_HTTP_REPLY_H
#define SINKD_HTTP_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/h1_body.h"
#include "http/h1_parse.h"

/* The longest head of an answer; far above what servers send. */
#define HTTP_REPLY_HEAD_MAX (16u * 1024u)

/* An answer. The slices are valid until the next call on the client. */
struct http_reply {
    int status;             /* 200 to 599; 0 until the head of the answer came */
    int64_t retry_after_ms; /* from now; -1: none given, or not understood */
    struct slice content_type;
    struct slice body; /* its first keep_bytes */
    bool cut;          /* the body went on beyond them, or was not read to its end */
    bool closed;       /* the connection does not serve another request */
};

struct http_reply_reader {
    size_t keep, drain; /* of the body: bytes that are kept, and dropped beyond that */
    bool begun;         /* private from here on: whether an answer is being read */
    bool has_head;
    bool overlong; /* given up: kept and dropped enough */
    unsigned interim;
    struct h1_scan scan;
    struct buf head; /* the bytes that ${parsed} points into */
    struct h1_head parsed;
    struct h1_body framing;
    struct buf body;
    size_t dropped;
};

void http_reply_init(struct http_reply_reader *r, size_t keep_bytes, size_t drain_bytes);
void http_reply_free(struct http_reply_reader *r);

/* http_reply_forget(r): the next bytes begin a new answer. What was read of the present one can
 * still be looked at until they come. */
void http_reply_forget(struct http_reply_reader *r);

/*
 * http_reply_take(r, in, to_head, why):
 * Take what has come of an answer off ${in}; ${to_head}: it answers a HEAD.
 * ERR_OK: the answer is complete, or given up as too long; the next call begins a new one.
 * ERR_SHORT: bring more.
 * Errors: ERR_BAD (no HTTP, or interim answers without end), ERR_RANGE (the head is too long), both
 * with a static text in ${why}; ERR_NOMEM.
 */
enum err http_reply_take(struct http_reply_reader *r, struct buf *in, bool to_head,
                         const char **why) MUST_USE;

/* http_reply_end(r): the peer closed: ERR_OK if that completes the answer, else ERR_EOF. */
enum err http_reply_end(struct http_reply_reader *r) MUST_USE;

/* http_reply_has_head(r): whether the head of the answer being read has come. */
bool http_reply_has_head(const struct http_reply_reader *r);

/* http_reply_keeps_open(r): whether the connection of a complete answer can serve another. */
bool http_reply_keeps_open(const struct http_reply_reader *r);

/* http_reply_show(r, out, wall_ns): what is known of the present or last answer. */
void http_reply_show(const struct http_reply_reader *r, struct http_reply *out, int64_t wall_ns);

/* http_reply_header(r, name): its first field of that name; {NULL, 0} without one. */
struct slice http_reply_header(const struct http_reply_reader *r, struct slice name);

#endif
