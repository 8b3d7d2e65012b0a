/*
 * http_drive.h: drives the HTTP state machine without a socket, as daemon/server.c would, with a
 * few fixed routes, and writes down what happened: to compare runs, cut differently.
 *
 * Routes: /ping, /status (204, no body); /write (body up to body_max; 204, or 400 for a body that
 * begins with "bad"); /query (200 and what "q" holds); /early (401 at the head); /big (200, a
 * large body that may be compressed); /later (never answered until http_drive_finish).
 */
#ifndef SINKD_SUPPORT_HTTP_DRIVE_H
#define SINKD_SUPPORT_HTTP_DRIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"
#include "http/http_server.h"

struct http_drive {
    struct http_env env;
    struct http_conn conn;
    struct buf log; /* events: "head POST /write\n", "body 12 m f=1\n", "refused 413\n" */
    struct buf out; /* all bytes sent */
    size_t body_max;
    size_t inflight, inflight_max, inflight_top; /* the admission of bytes */
    bool lost_output;                            /* no memory to write it down */
    bool blocked;                                /* nothing is sent: a client that does not read */
};

void http_drive_init(struct http_drive *d, size_t body_max);
void http_drive_free(struct http_drive *d);

/* http_drive_feed(d, bytes): as much as the machine takes; returns how much that was. */
size_t http_drive_feed(struct http_drive *d, struct slice bytes);

/* http_drive_eof(d): the client sends no more. http_drive_step(d): work off what can be. */
void http_drive_eof(struct http_drive *d);
void http_drive_step(struct http_drive *d);

/* http_drive_finish(d): answer a /later with 204. */
void http_drive_finish(struct http_drive *d);

/* What a test looks for: a text anywhere in what was sent; the record; "100 204 " of all
 * answers. */
bool http_drive_holds(const struct http_drive *d, const char *text);
void http_drive_assert_log(const struct http_drive *d, const char *text);
const char *http_drive_statuses(const struct http_drive *d, char out[200]);
void http_drive_assert_statuses(const struct http_drive *d, const char *text);

#endif
