/*
 * http_content.c: gzip or not, how much of it, and whether there is room for it.
 */
#include "http/http_content.h"

#include <stdio.h>

/* Taken at once for a body of known length; beyond it memory grows as bytes come. */
#define RESERVE_MAX (1u << 20)
/* Inflated in steps, so that what a step can grow to stays small beside the admission limit. */
#define INFLATE_STEP 4096

void
http_content_init(struct http_content *c, struct http_env *env)
{
    *c = (struct http_content){0};
    c->env = env;
}

/* end_gzip(c): keep one reader for the next body of any connection. */
static void
end_gzip(struct http_content *c)
{
    if (c->gzip == NULL)
        return;
    if (c->env->spare == NULL)
        c->env->spare = c->gzip;
    else
        gzip_reader_close(c->gzip);
    c->gzip = NULL;
}

void
http_content_free(struct http_content *c)
{
    end_gzip(c);
    if (c->charged > 0)
        c->env->release(c->env->ctx, c->charged);
    http_content_init(c, c->env);
}

static int
refuse(struct http_content *c, int status, const char *why, bool close)
{
    slice_copy_text(slice_of(why), c->why, sizeof(c->why));
    c->close = close;
    return status;
}

static int
refuse_size(struct http_content *c, bool close)
{
    int status = refuse(c, 413, "Request Entity Too Large", close);

    if (c->max == c->env->limit && c->env->limit_words != NULL)
        (void)snprintf(c->why, sizeof(c->why),
                       "Request Entity Too Large: the limit is %zu bytes (%s)", c->max,
                       c->env->limit_words);
    return status;
}

static int
refuse_memory(struct http_content *c)
{
    return refuse(c, 503, "out of memory: retry later", false);
}

/* coding_of(request, is_gzip): false for a content coding that is not known here. */
static bool
coding_of(const struct http_request *request, bool *is_gzip)
{
    struct slice rest = request->head.fields, name, list, item;

    *is_gzip = false;
    while (h1_parse_next(&rest, &name, &list)) {
        if (!slice_eq_nocase(name, SLICE("Content-Encoding")))
            continue;
        while (slice_split(&list, ',', &item)) {
            item = slice_trim(item);
            if (item.n == 0 || slice_eq_nocase(item, SLICE("identity")))
                continue;
            if (*is_gzip ||
                (!slice_eq_nocase(item, SLICE("gzip")) && !slice_eq_nocase(item, SLICE("x-gzip"))))
                return false;
            *is_gzip = true;
        }
    }
    return !*is_gzip || gzip_available();
}

/* admit(c, n): count ${n} more bytes. */
static int
admit(struct http_content *c, size_t n)
{
    if (c->env->admit == NULL || n == 0)
        return 0;
    if (!c->env->admit(c->env->ctx, c->charged, n))
        return refuse(c, 503, "too many bytes in flight: retry later", false);
    c->charged += n;
    return 0;
}

/* would_admit(c, n): ask without taking: a length is only a promise, and a slow client must not
 * hold room that nothing fills. */
static int
would_admit(struct http_content *c, size_t n)
{
    int status = admit(c, n);

    if (c->charged > 0)
        c->env->release(c->env->ctx, c->charged);
    c->charged = 0;
    return status;
}

static bool
open_gzip(struct http_content *c)
{
    c->gzip = c->env->spare;
    c->env->spare = NULL;
    if (c->gzip == NULL)
        c->gzip = gzip_reader_open();
    else
        gzip_reader_reset(c->gzip);
    return c->gzip != NULL;
}

int
http_content_begin(struct http_content *c, struct http_request *request, size_t max)
{
    const struct h1_head *head = &request->head;
    bool may_have_body = (request->method & (HTTP_POST | HTTP_PUT | HTTP_OTHER)) != 0;

    c->max = max;
    request->body.max = max;
    if (max == 0)
        return 0;
    /* A HTTP/1.0 body without a length would end with the connection, but a cut one looks the
     * same: RFC 9112 section 6.3. */
    if (may_have_body && head->minor == 0 && head->framing == H1_NONE)
        return refuse(c, 411, "Length Required: send Content-Length", true);
    if (!coding_of(request, &request->is_gzip))
        return refuse(c, 415, "unsupported Content-Encoding: use gzip or identity", false);
    if (head->framing == H1_LENGTH && head->length > max)
        return refuse_size(c, false);
    if (request->is_gzip && !open_gzip(c))
        return refuse_memory(c);
    return head->framing == H1_LENGTH ? would_admit(c, (size_t)head->length) : 0;
}

static int
inflate_step(struct http_content *c, struct buf *body, struct slice data)
{
    struct errinfo info = {ERR_OK, 0, ""};
    size_t before = buf_len(body);
    enum err err = gzip_reader_feed(c->gzip, data, body, &info);

    if (err == ERR_RANGE)
        return refuse_size(c, true);
    if (err == ERR_NOMEM)
        return refuse_memory(c);
    if (err != ERR_OK)
        return refuse(c, 400, info.text, false);
    return admit(c, buf_len(body) - before);
}

static int
inflate(struct http_content *c, struct buf *body, struct slice data)
{
    int status = 0;

    for (; data.n > 0 && status == 0; data = slice_from(data, INFLATE_STEP))
        status = inflate_step(c, body, slice_to(data, INFLATE_STEP));
    return status;
}

static bool
reserve(struct http_content *c, struct http_request *request)
{
    uint64_t length = request->head.framing == H1_LENGTH ? request->head.length : 1;

    if (buf_len(&request->body) > 0)
        return true;
    if (length > RESERVE_MAX)
        length = RESERVE_MAX;
    recycle_take(&c->env->bodies, &request->body, (size_t)length);
    return buf_reserve(&request->body, (size_t)length) != NULL;
}

int
http_content_take(struct http_content *c, struct http_request *request, struct slice data)
{
    struct buf *body = &request->body;
    int status;

    if (c->gzip != NULL)
        return inflate(c, body, data);
    if (data.n > c->max - buf_len(body))
        return refuse_size(c, true);
    status = admit(c, data.n);
    if (status != 0)
        return status;
    return reserve(c, request) && buf_add(body, data) == ERR_OK ? 0 : refuse_memory(c);
}

int
http_content_end(struct http_content *c)
{
    struct errinfo info = {ERR_OK, 0, ""};
    int status = 0;

    if (c->gzip != NULL && gzip_reader_end(c->gzip, &info) != ERR_OK)
        status = refuse(c, 400, info.text, false);
    end_gzip(c);
    return status;
}
