/*
 * http_reply.c: an answer, head first, then the body.
 */
#include "http/http_reply.h"

#include "http/http_retry.h"

#define INTERIM_MAX 32 /* 1xx answers before a real one */

void
http_reply_init(struct http_reply_reader *r, size_t keep_bytes, size_t drain_bytes)
{
    memset(r, 0, sizeof(*r));
    r->keep = keep_bytes;
    r->drain = drain_bytes;
    buf_init(&r->head, HTTP_REPLY_HEAD_MAX);
    buf_init(&r->body, keep_bytes);
}

void
http_reply_free(struct http_reply_reader *r)
{
    buf_free(&r->head);
    buf_free(&r->body);
    r->begun = r->has_head = false;
}

void
http_reply_forget(struct http_reply_reader *r)
{
    r->begun = false;
}

static void
begin(struct http_reply_reader *r)
{
    buf_clear(&r->head);
    buf_clear(&r->body);
    memset(&r->scan, 0, sizeof(r->scan));
    r->has_head = r->overlong = false;
    r->dropped = 0;
    r->interim = 0;
    r->begun = true;
}

/* take_one_head(r, in, to_head, why): the next head, be it interim, if it is all there. */
static enum err
take_one_head(struct http_reply_reader *r, struct buf *in, bool to_head, const char **why)
{
    struct h1_fault fault;
    size_t length = 0;
    enum err err;

    memset(&fault, 0, sizeof(fault));
    err = h1_parse_find(&r->scan, buf_peek(in), &length, &fault);
    *why = fault.text;
    if (err == ERR_RANGE || length > HTTP_REPLY_HEAD_MAX ||
        (err == ERR_SHORT && buf_len(in) >= HTTP_REPLY_HEAD_MAX)) {
        *why = "its head is over 16 KiB";
        return ERR_RANGE;
    }
    if (err != ERR_OK)
        return err;
    buf_clear(&r->head);
    if (buf_add(&r->head, slice_to(buf_peek(in), length)) != ERR_OK)
        return ERR_NOMEM;
    buf_consume(in, length);
    memset(&r->scan, 0, sizeof(r->scan));
    err = h1_parse_response(buf_peek(&r->head), to_head, &r->parsed, &fault);
    *why = fault.text;
    return err;
}

static enum err
take_head(struct http_reply_reader *r, struct buf *in, bool to_head, const char **why)
{
    enum err err;

    for (;;) {
        err = take_one_head(r, in, to_head, why);
        if (err != ERR_OK)
            return err;
        if (r->parsed.status >= 200)
            break;
        /* Nothing was asked for that an interim answer could tell; 101 would leave HTTP behind. */
        if (r->parsed.status == 101 || ++r->interim > INTERIM_MAX) {
            *why = "interim answers that were not asked for";
            return ERR_BAD;
        }
    }
    h1_body_init(&r->framing, r->parsed.framing, r->parsed.length);
    r->has_head = true;
    return ERR_OK;
}

static enum err
keep(struct http_reply_reader *r, struct slice data)
{
    struct slice kept = slice_to(data, r->keep - buf_len(&r->body));

    if (kept.n > 0 && buf_add(&r->body, kept) != ERR_OK)
        return ERR_NOMEM;
    r->dropped += data.n - kept.n;
    return ERR_OK;
}

/* is_overlong(r): whether the rest of the body is more than anybody wants to sit through. */
static bool
is_overlong(const struct http_reply_reader *r)
{
    if (buf_len(&r->body) < r->keep)
        return false;
    return r->dropped > r->drain ||
           (r->framing.framing == H1_LENGTH && r->framing.left > r->drain - r->dropped);
}

static enum err
take_body(struct http_reply_reader *r, struct buf *in, const char **why)
{
    struct slice data;
    size_t used;
    enum err err;

    do {
        err = h1_body_next(&r->framing, buf_peek(in), &used, &data);
        if (err == ERR_BAD)
            *why = r->framing.why;
        if (err == ERR_OK && keep(r, data) != ERR_OK)
            return ERR_NOMEM;
        if (err != ERR_BAD)
            buf_consume(in, used);
        r->overlong = err != ERR_EOF && err != ERR_BAD && is_overlong(r);
    } while (err == ERR_OK && !r->overlong);
    return err == ERR_EOF || r->overlong ? ERR_OK : err;
}

enum err
http_reply_take(struct http_reply_reader *r, struct buf *in, bool to_head, const char **why)
{
    enum err err = ERR_OK;

    if (!r->begun)
        begin(r);
    if (!r->has_head)
        err = take_head(r, in, to_head, why);
    if (err == ERR_OK)
        err = take_body(r, in, why);
    if (err == ERR_OK)
        r->begun = false;
    return err;
}

enum err
http_reply_end(struct http_reply_reader *r)
{
    if (!http_reply_has_head(r) || h1_body_close(&r->framing) != ERR_OK)
        return ERR_EOF;
    r->begun = false;
    return ERR_OK;
}

bool
http_reply_has_head(const struct http_reply_reader *r)
{
    return r->begun && r->has_head;
}

bool
http_reply_keeps_open(const struct http_reply_reader *r)
{
    return r->has_head && r->parsed.keep_alive && !r->overlong;
}

void
http_reply_show(const struct http_reply_reader *r, struct http_reply *out, int64_t wall_ns)
{
    struct slice retry = http_reply_header(r, SLICE("Retry-After"));

    *out = (struct http_reply){0, -1, {NULL, 0}, {NULL, 0}, false, false};
    if (!r->has_head)
        return;
    out->status = r->parsed.status;
    out->body = buf_peek(&r->body);
    out->cut = r->dropped > 0 || !r->framing.done;
    out->content_type = http_reply_header(r, SLICE("Content-Type"));
    if (retry.n > 0)
        out->retry_after_ms = http_retry_after(retry, http_reply_header(r, SLICE("Date")), wall_ns);
}

struct slice
http_reply_header(const struct http_reply_reader *r, struct slice name)
{
    struct slice value = {NULL, 0};

    if (r->has_head && !h1_parse_field(&r->parsed, name, &value))
        value = (struct slice){NULL, 0};
    return value;
}
