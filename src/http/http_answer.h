/*
 * http_answer.h: one answer with the headers that InfluxDB clients expect, as bytes.
 * Not for: deciding whether a connection is kept (http_server does).
 */
#ifndef SINKD_HTTP_HTTP_ANSWER_H
#define SINKD_HTTP_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/gzip.h"
#include "base/recycle.h"
#include "base/slice.h"
#include "http/h1_write.h"
#include "http/http_request.h"

/* What the connections of one server share; owned and changed by one thread. */
struct http_env {
    const char *version;     /* X-Influxdb-Version, "1.8.10-sinkd" */
    const char *build;       /* X-Influxdb-Build, "OSS" */
    size_t limit;            /* a body that may have at most this gets with a 413 ... */
    const char *limit_words; /* ... these words about where the limit comes from; NULL: none */
    char date[H1_DATE_TEXT]; /* the present Date; empty: none is sent */
    uint8_t id_seed[16];     /* random bytes; request identifiers are made of them and a counter */
    uint64_t id_count;
    /* May ${more} bytes be added to a body that has ${have}? Counts them when it says yes. NULL:
     * always. release: ${n} bytes that admit counted are gone. */
    bool (*admit)(void *ctx, size_t have, size_t more);
    void (*release)(void *ctx, size_t n);
    void *ctx;
    struct recycle bodies; /* memory of bodies that are over; its owner may free it at any time */
    struct gzip_reader *spare;  /* private: kept between bodies */
    struct gzip_writer *writer; /* private: opened when first needed */
};

/* An answer. Zero means the usual in every field but status. */
struct http_answer {
    int status;
    const char *type; /* Content-Type; NULL: application/json; "": none */
    struct slice body;
    struct slice error;     /* not empty: the body is {"error":...}, with "pretty" or as CSV when
                               the request asks for it; X-Influxdb-Error but on 401 */
    struct slice fields;    /* more header lines, each "Name: value\r\n"; see h1_write_field */
    unsigned retry_after_s; /* not 0: Retry-After */
    const char *allow;      /* Allow, with 405 */
    bool plain;             /* what lies outside the routes: no Request-Id, no CORS */
    bool may_gzip;          /* compress the body of a 200 if the client accepts it */
    bool close;             /* close the connection behind this answer */
};

/*
 * http_answer_write(out, env, request, a):
 * Append the answer to ${request}. A HEAD request gets the head alone; 204 has no body; 401 has
 * WWW-Authenticate. ${a}->close says whether "Connection: close" stands in it.
 * Errors: ERR_NOMEM (over the maximum of ${out}, or no memory), and nothing was added.
 */
enum err http_answer_write(struct buf *out, struct http_env *env,
                           const struct http_request *request,
                           const struct http_answer *a) MUST_USE;

/* http_answer_env_free(env): what env keeps for its connections, once they are all freed. */
void http_answer_env_free(struct http_env *env);

#endif
