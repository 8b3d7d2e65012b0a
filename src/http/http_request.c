/*
 * http_request.c: a request's head taken in, its target taken apart, its fields looked up.
 */
#include "http/http_request.h"

#include <stdio.h>

void
http_request_init(struct http_request *r)
{
    *r = (struct http_request){0};
    buf_init(&r->head_bytes, H1_HEAD_MAX);
    buf_init(&r->body, SIZE_MAX / 2);
    http_params_init(&r->params);
    http_params_init(&r->form);
}

void
http_request_free(struct http_request *r)
{
    buf_wipe(&r->head_bytes);
    buf_free(&r->body);
    http_params_free(&r->params);
    http_params_free(&r->form);
}

static unsigned
method_mask(struct slice name)
{
    static const struct {
        struct slice name;
        unsigned mask;
    } methods[] = {
        {SLICE_INIT("GET"), HTTP_GET},       {SLICE_INIT("POST"), HTTP_POST},
        {SLICE_INIT("HEAD"), HTTP_HEAD},     {SLICE_INIT("PUT"), HTTP_PUT},
        {SLICE_INIT("DELETE"), HTTP_DELETE}, {SLICE_INIT("OPTIONS"), HTTP_OPTIONS},
    };
    size_t i;

    for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (slice_eq(methods[i].name, name))
            return methods[i].mask;
    return HTTP_OTHER;
}

static bool
is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
escapes_are_valid(struct slice path)
{
    size_t i;

    for (i = 0; i < path.n; i++)
        if (path.p[i] == '%' &&
            (i + 2 >= path.n || !is_hex(path.p[i + 1]) || !is_hex(path.p[i + 2])))
            return false;
    return true;
}

/* without_authority(target, method): the origin form of an absolute URL; others as they are.
 * Source: RFC 9112 section 3.2. */
static struct slice
without_authority(struct slice target)
{
    size_t colon = slice_find(target, ':');

    if (target.n == 0 || target.p[0] == '/' ||
        !slice_starts(slice_from(target, colon), SLICE("://")))
        return target;
    target = slice_from(target, colon + 3);
    return slice_from(target, slice_find(target, '/'));
}

/* split_target(r): false when it is no target at all. */
static bool
split_target(struct http_request *r)
{
    struct slice target = without_authority(r->head.target);
    size_t mark = slice_find(target, '?');

    r->path = slice_to(target, mark);
    r->query = slice_from(target, mark + 1);
    if (target.n == 0)
        r->path = SLICE("/"); /* "http://host" */
    if (!escapes_are_valid(r->path))
        return false;
    return r->path.p[0] == '/' || slice_eq(r->path, SLICE("*")) ||
           slice_eq(r->head.method, SLICE("CONNECT"));
}

enum err
http_request_load(struct http_request *r, struct slice head, struct h1_fault *fault)
{
    enum err err;

    http_request_free(r);
    http_request_init(r);
    err = buf_add(&r->head_bytes, head);
    if (err != ERR_OK)
        return err;
    err = h1_parse_request(buf_peek(&r->head_bytes), &r->head, fault);
    if (err != ERR_OK)
        return err;
    r->method = method_mask(r->head.method);
    if (!split_target(r)) {
        *fault = (struct h1_fault){400, "invalid request target", false};
        return ERR_BAD;
    }
    return http_params_add(&r->params, r->query);
}

struct slice
http_request_header(const struct http_request *r, const char *name)
{
    struct slice value;

    (void)h1_parse_field(&r->head, slice_of(name), &value);
    return value;
}

struct slice
http_request_param(const struct http_request *r, const char *name)
{
    struct slice value;

    (void)http_params_get(&r->params, name, &value);
    return value;
}

bool
http_request_has_param(const struct http_request *r, const char *name)
{
    struct slice value;

    return http_params_get(&r->params, name, &value);
}

enum err
http_request_parse_form(struct http_request *r)
{
    struct slice type = http_request_header(r, "Content-Type");

    type = slice_trim(slice_to(type, slice_find(type, ';')));
    if (!slice_eq_nocase(type, SLICE("application/x-www-form-urlencoded")))
        return ERR_OK;
    return http_params_add(&r->form, buf_peek(&r->body));
}

struct slice
http_request_form(const struct http_request *r, const char *name)
{
    struct slice value;

    if (http_params_get(&r->form, name, &value))
        return value;
    return http_request_param(r, name);
}

/* weight_is_zero(params): "q=0", "q=0.000": RFC 9110 section 12.4.2. */
static bool
weight_is_zero(struct slice params)
{
    struct slice item;
    size_t i;

    while (slice_split(&params, ';', &item)) {
        item = slice_trim(item);
        if (!slice_starts(item, SLICE("q=")) && !slice_starts(item, SLICE("Q=")))
            continue;
        for (i = 2; i < item.n; i++)
            if (item.p[i] != '0' && item.p[i] != '.')
                return false;
        return true;
    }
    return false;
}

bool
http_request_accepts(const struct http_request *r, struct slice coding)
{
    struct slice list = http_request_header(r, "Accept-Encoding"), item;
    size_t semicolon;

    while (slice_split(&list, ',', &item)) {
        semicolon = slice_find(item, ';');
        if (slice_eq_nocase(slice_trim(slice_to(item, semicolon)), coding))
            return !weight_is_zero(slice_from(item, semicolon + 1));
    }
    return false;
}

char *
http_request_methods(char out[HTTP_METHODS_TEXT], unsigned mask)
{
    static const struct {
        unsigned mask;
        const char *name;
    } names[] = {{HTTP_DELETE, "DELETE"},   {HTTP_GET, "GET"},   {HTTP_HEAD, "HEAD"},
                 {HTTP_OPTIONS, "OPTIONS"}, {HTTP_POST, "POST"}, {HTTP_PUT, "PUT"}};
    size_t i, used = 0;
    int n;

    out[0] = '\0';
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((mask & names[i].mask) == 0)
            continue;
        n = snprintf(out + used, HTTP_METHODS_TEXT - used, "%s%s", used > 0 ? ", " : "",
                     names[i].name);
        used += (size_t)n;
    }
    return out;
}
