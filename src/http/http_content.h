/*
 * http_content.h: the content of one request's body: decoded, bounded, admitted.
 * Not for: where a body ends (h1_body.h) and not for answering (http_server.h).
 */
#ifndef SINKD_HTTP_HTTP_CONTENT_H
#define SINKD_HTTP_HTTP_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/gzip.h"
#include "base/slice.h"
#include "http/http_answer.h"
#include "http/http_request.h"

struct http_content {
    struct http_env *env;
    struct gzip_reader *gzip;
    size_t max;     /* bytes after decoding; 0: nothing is wanted */
    size_t charged; /* bytes that env->admit counted for us */
    char why[256];  /* text of a refusal */
    bool close;     /* a refusal after which the rest is not worth reading */
};

void http_content_init(struct http_content *c, struct http_env *env);

/*
 * http_content_begin(c, request, max): look at the head alone.
 * http_content_take(c, request, data): ${data} is the next piece; its content goes to
 * request->body.
 * http_content_end(c): the body has ended.
 * Each returns 0, or the status to refuse the request with: c->why and c->close are then set.
 */
int http_content_begin(struct http_content *c, struct http_request *request, size_t max) MUST_USE;
int http_content_take(struct http_content *c, struct http_request *request,
                      struct slice data) MUST_USE;
int http_content_end(struct http_content *c) MUST_USE;

/* http_content_free(c): the request is over: gives back what was counted. May be used again. */
void http_content_free(struct http_content *c);

#endif
