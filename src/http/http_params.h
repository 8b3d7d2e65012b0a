/*
 * http_params.h: the parameters of a query string or of a form body, decoded once.
 *
 * Pairs that cannot be decoded are left out, as InfluxDB does; the first value of a name wins.
 * Source: WHATWG URL, application/x-www-form-urlencoded.
 */
#ifndef SINKD_HTTP_HTTP_PARAMS_H
#define SINKD_HTTP_HTTP_PARAMS_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Lengths and bytes of names and values, one after another; wiped when freed (u and p come here).
 * */
struct http_params {
    struct buf records;
};

void http_params_init(struct http_params *p);
void http_params_free(struct http_params *p);

/* http_params_add(p, encoded): append what a query string (without its '?') or a form says.
 * Errors: ERR_NOMEM; the pairs before it are kept. */
enum err http_params_add(struct http_params *p, struct slice encoded) MUST_USE;

/* http_params_get(p, name, value): the first value of that name, a loan until the next add;
 * false, and an empty ${value}, if there is none. An empty value is a value: "rp=" gives true. */
bool http_params_get(const struct http_params *p, const char *name, struct slice *value);

/* http_params_next(p, at, name, value): walk all pairs in their order; ${at} starts at 0. */
bool http_params_next(const struct http_params *p, size_t *at, struct slice *name,
                      struct slice *value);

#endif
