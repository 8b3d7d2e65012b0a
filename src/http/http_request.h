/*
 * http_request.h: one request as a handler sees it. Filled by http_server; read-only for others.
 *
 * Everything here lives until the request is answered; slices are loans for that time.
 */
#ifndef SINKD_HTTP_HTTP_REQUEST_H
#define SINKD_HTTP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/h1_parse.h"
#include "http/http_params.h"

/* Methods as a mask, for route tables. Method names are case-sensitive; "get" is HTTP_OTHER. */
#define HTTP_GET 1u
#define HTTP_HEAD 2u
#define HTTP_POST 4u
#define HTTP_PUT 8u
#define HTTP_DELETE 16u
#define HTTP_OPTIONS 32u
#define HTTP_OTHER 128u

struct http_request {
    struct h1_head head;       /* its slices point into head_bytes */
    struct buf head_bytes;     /* private */
    unsigned method;           /* one of the masks */
    struct slice path;         /* as sent, not decoded: "/write" */
    struct slice query;        /* behind the '?', not decoded */
    struct http_params params; /* of the query */
    struct http_params form;   /* filled by http_request_parse_form */
    struct buf body;           /* the content, decoded; a handler may free it */
    bool is_gzip;              /* it came as gzip */
};

void http_request_init(struct http_request *r);
void http_request_free(struct http_request *r); /* wipes what may hold credentials */

/* http_request_load(r, head, fault): take a head in (copies it), parse it, split the target and
 * decode the parameters. Errors: ERR_BAD with ${fault}, ERR_NOMEM. */
enum err http_request_load(struct http_request *r, struct slice head,
                           struct h1_fault *fault) MUST_USE;

/* http_request_header(r, name): the first field of that name in any case, or an empty slice. */
struct slice http_request_header(const struct http_request *r, const char *name);

/* http_request_param(r, name): a parameter of the URL, decoded; empty if absent or empty. Of
 * repeated ones the first. */
struct slice http_request_param(const struct http_request *r, const char *name);

/* http_request_has_param(r, name): whether it is there at all, empty or not. */
bool http_request_has_param(const struct http_request *r, const char *name);

/* http_request_parse_form(r): once complete: if the Content-Type is
 * application/x-www-form-urlencoded decode the body into r->form. ERR_NOMEM. */
enum err http_request_parse_form(struct http_request *r) MUST_USE;

/* http_request_form(r, name): the form's value if the form has one, else the URL's; as InfluxDB
 * reads "q". */
struct slice http_request_form(const struct http_request *r, const char *name);

static inline struct slice
http_request_body(const struct http_request *r)
{
    return buf_peek(&r->body);
}

/* http_request_methods(out, mask): "GET, HEAD" for an Allow field, in the order of the alphabet.
 * Returns ${out}. */
#define HTTP_METHODS_TEXT 48
char *http_request_methods(char out[HTTP_METHODS_TEXT], unsigned mask);

/* http_request_accepts(r, coding): whether Accept-Encoding lists ${coding} with a weight above 0.
 * */
bool http_request_accepts(const struct http_request *r, struct slice coding);

#endif
