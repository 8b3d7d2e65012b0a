/*
 * http_client.c: HTTP/1.1 over one stream.
 *
 * The state of a half-read answer lives in the client (http_reply.h), so a wait that was stopped
 * can go on.
 */
#include "http/http_client.h"

#include <assert.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "http/h1_parse.h"
#include "http/h1_write.h"

#define KEEP_BYTES (64u * 1024u)
#define DRAIN_BYTES (256u * 1024u)
#define REQUEST_HEAD_MAX (64u * 1024u)
#define READ_BYTES (16u * 1024u)
#define PIECE_BYTES (64u * 1024u) /* of a body between two looks for an early answer */
#define LONG_AGO INT64_MIN        /* a deadline that makes a wait a mere look */

struct http_client {
    const struct stream_env *env;
    const struct tls_client *tls;
    char *host;
    struct buf authority; /* the Host field's value, with a NUL behind: also for texts */
    uint16_t port;

    struct stream *stream; /* NULL: not connected */
    bool used;             /* it carried an answer to its end */
    bool quiet;            /* used, idle, and not one byte came since the next request */
    bool last;             /* a request was not sent whole: nothing can follow it */
    bool to_head[HTTP_CLIENT_PIPELINE]; /* of each waiting request: was it a HEAD? */
    size_t first, waiting;

    struct buf out;                 /* the head of the request being sent: wiped after use */
    struct buf in;                  /* bytes that came and are not taken apart yet */
    struct http_reply_reader reply; /* the answer being read, or read last */
    enum err early; /* how reading it ended while its request was sent; ERR_SHORT: not */
    struct errinfo early_info;
    enum http_failure failure;
};

static enum err
make_authority(struct http_client *c, struct slice host)
{
    bool six = slice_find(host, ':') != host.n;
    uint8_t digits[NUM_TEXT];
    enum err err = ERR_OK;

    if (six)
        err = buf_add_byte(&c->authority, '[');
    if (err == ERR_OK)
        err = buf_add(&c->authority, host);
    if (err == ERR_OK && six)
        err = buf_add_byte(&c->authority, ']');
    if (err == ERR_OK && c->port != (c->tls == NULL ? 80 : 443)) {
        err = buf_add_byte(&c->authority, ':');
        if (err == ERR_OK)
            err = buf_add(&c->authority, slice_make(digits, num_put_u64(digits, c->port)));
    }
    if (err == ERR_OK)
        err = buf_add_byte(&c->authority, '\0');
    return err;
}

static struct slice
authority(const struct http_client *c)
{
    return slice_to(buf_peek(&c->authority), buf_len(&c->authority) - 1);
}

static const char *
peer_of(const struct http_client *c)
{
    return (const char *)buf_peek(&c->authority).p;
}

enum err
http_client_open(struct http_client **out, const struct http_client_config *config,
                 struct errinfo *info)
{
    struct http_client *c = mem_zalloc(sizeof(*c));

    if (c == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an HTTP client");
    c->env = config->env;
    c->tls = config->tls;
    c->port = config->port;
    c->early = ERR_SHORT;
    buf_init(&c->authority, config->host.n + 16);
    buf_init(&c->out, REQUEST_HEAD_MAX);
    buf_init(&c->in, HTTP_REPLY_HEAD_MAX + READ_BYTES);
    http_reply_init(&c->reply, config->keep_bytes == 0 ? KEEP_BYTES : config->keep_bytes,
                    config->drain_bytes == 0 ? DRAIN_BYTES : config->drain_bytes);
    c->host = mem_text(config->host);
    if (c->host == NULL || make_authority(c, config->host) != ERR_OK) {
        http_client_close(c);
        return errinfo_set(info, ERR_NOMEM, "no memory for an HTTP client");
    }
    *out = c;
    return ERR_OK;
}

void
http_client_close(struct http_client *c)
{
    if (c == NULL)
        return;
    http_client_disconnect(c);
    buf_free(&c->authority);
    buf_wipe(&c->out);
    buf_free(&c->in);
    http_reply_free(&c->reply);
    mem_free(c->host);
    mem_free(c);
}

/* The head and body of the answer that came last stay: its caller may still look at them. */
void
http_client_disconnect(struct http_client *c)
{
    stream_close(c->stream);
    c->stream = NULL;
    c->used = c->quiet = c->last = false;
    c->waiting = 0;
    c->early = ERR_SHORT;
    http_reply_forget(&c->reply);
    buf_clear(&c->in);
}

bool
http_client_connected(const struct http_client *c)
{
    return c->stream != NULL;
}

size_t
http_client_waiting(const struct http_client *c)
{
    return c->waiting;
}

enum http_failure
http_client_failure(const struct http_client *c)
{
    return c->failure;
}

const char *
http_client_failure_name(enum http_failure f)
{
    switch (f) {
    case HTTP_FAILURE_NONE:
        return "none";
    case HTTP_FAILURE_CONNECT:
        return "connect";
    case HTTP_FAILURE_TIMEOUT:
        return "timeout";
    case HTTP_FAILURE_RESET:
        return "reset";
    case HTTP_FAILURE_STALE:
        return "stale";
    case HTTP_FAILURE_PROTOCOL:
        return "protocol";
    case HTTP_FAILURE_LOCAL:
        return "local";
    }
    return "unknown";
}

struct slice
http_client_header(const struct http_client *c, struct slice name)
{
    return http_reply_header(&c->reply, name);
}

enum err
http_client_connect(struct http_client *c, int64_t deadline, struct errinfo *info)
{
    struct stream_target target = {.host = slice_of(c->host), .port = c->port, .tls = c->tls};
    enum err err;

    c->failure = HTTP_FAILURE_NONE;
    if (c->stream != NULL)
        return ERR_OK;
    err = stream_connect(&c->stream, c->env, &target, deadline, info);
    if (err == ERR_OK)
        return ERR_OK;
    c->stream = NULL;
    c->failure = err == ERR_STOP || err == ERR_NOMEM ? HTTP_FAILURE_LOCAL : HTTP_FAILURE_CONNECT;
    return err;
}

/* class_of(c, err): the class of an error of the stream while a request was under way. */
static enum http_failure
class_of(const struct http_client *c, enum err err)
{
    if (err == ERR_TIMEOUT)
        return HTTP_FAILURE_TIMEOUT;
    if (err == ERR_STOP || err == ERR_NOMEM)
        return HTTP_FAILURE_LOCAL;
    if (err == ERR_BAD || err == ERR_RANGE)
        return HTTP_FAILURE_PROTOCOL;
    return c->quiet ? HTTP_FAILURE_STALE : HTTP_FAILURE_RESET;
}

/* fail(c, err): note the class; whatever broke in the middle of a message ends the connection. */
static enum err
fail(struct http_client *c, enum err err)
{
    c->failure = class_of(c, err);
    if (err != ERR_STOP)
        http_client_disconnect(c);
    return err;
}

/* Receiving. */

/* fill(c, deadline, info): read what is there, at least one byte. */
static enum err
fill(struct http_client *c, int64_t deadline, struct errinfo *info)
{
    uint8_t *room = buf_reserve(&c->in, READ_BYTES);
    size_t got;
    enum err err;

    if (room == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an answer");
    err = stream_read(c->stream, room, READ_BYTES, &got, deadline, info);
    if (err != ERR_OK)
        return err;
    buf_commit(&c->in, got);
    c->quiet = false;
    return ERR_OK;
}

/* take(c, info): as much of the present answer as has come; ERR_OK at its end, ERR_SHORT before. */
static enum err
take(struct http_client *c, struct errinfo *info)
{
    const char *why = "";
    enum err err = http_reply_take(&c->reply, &c->in, c->to_head[c->first], &why);

    if (err == ERR_NOMEM)
        return errinfo_set(info, err, "no memory for an answer");
    if (err != ERR_OK && err != ERR_SHORT)
        return errinfo_set(info, err, "%s: the answer is not valid HTTP: %s", peer_of(c), why);
    return err;
}

/* ended(c, err, info): reading ended with ${err}: ERR_OK if that completes the answer. */
static enum err
ended(struct http_client *c, enum err err, struct errinfo *info)
{
    bool begun = http_reply_has_head(&c->reply) || buf_len(&c->in) > 0;

    if (err != ERR_EOF)
        return err;
    if (http_reply_end(&c->reply) == ERR_OK)
        return ERR_OK;
    return errinfo_set(info, err, "%s closed the connection %s", peer_of(c),
                       begun ? "in the middle of its answer" : "before it answered");
}

/* finish(c): the answer is complete: the connection goes on, or it has served its time. */
static void
finish(struct http_client *c)
{
    c->used = true;
    c->first = (c->first + 1) % HTTP_CLIENT_PIPELINE;
    c->waiting--;
    /* Bytes that nobody asked for belong to no request. */
    if (!http_reply_keeps_open(&c->reply) || (c->waiting == 0 && (c->last || buf_len(&c->in) > 0)))
        http_client_disconnect(c);
}

enum err
http_client_receive(struct http_client *c, struct http_reply *out, int64_t deadline,
                    struct errinfo *info)
{
    enum err err = c->early;

    assert(c->stream != NULL && c->waiting > 0);
    c->failure = HTTP_FAILURE_NONE;
    if (err != ERR_SHORT && err != ERR_OK)
        (void)errinfo_set(info, err, "%s", c->early_info.text);
    while (err == ERR_SHORT && (err = take(c, info)) == ERR_SHORT) {
        err = fill(c, deadline, info);
        err = err == ERR_OK ? ERR_SHORT : ended(c, err, info);
    }
    if (err == ERR_OK)
        finish(c);
    else
        (void)fail(c, err);
    http_reply_show(&c->reply, out, clock_wall_ns(c->env->clock));
    out->closed = c->stream == NULL;
    return err;
}

/* Sending. */

/* add_header(c, line, host): one field line as the caller wrote it, checked. */
static enum err
add_header(struct http_client *c, struct slice line, bool *host)
{
    static const struct slice ours[] = {SLICE_INIT("Content-Length"), SLICE_INIT("Connection"),
                                        SLICE_INIT("Transfer-Encoding")};
    size_t colon = slice_find(line, ':'), i;
    struct slice name = slice_to(line, colon);

    if (colon == line.n || !h1_parse_is_token(name))
        return ERR_BAD;
    for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (slice_eq_nocase(name, ours[i]))
            return ERR_BAD;
    }
    for (i = colon; i < line.n; i++) {
        if ((line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 0x7f)
            return ERR_BAD;
    }
    if (slice_eq_nocase(name, SLICE("Host")))
        *host = true;
    if (buf_add(&c->out, line) != ERR_OK)
        return ERR_NOMEM;
    return buf_add(&c->out, SLICE("\r\n"));
}

static uint64_t
body_length(const struct http_call *call)
{
    uint64_t total = 0;
    size_t i;

    for (i = 0; i < call->body_count; i++)
        total += call->body[i].n;
    return total;
}

/* add_fields(c, call): all that stands in the head. */
static enum err
add_fields(struct http_client *c, const struct http_call *call)
{
    struct slice target = call->target.n == 0 ? SLICE("/") : call->target;
    bool host = false;
    uint64_t length = body_length(call);
    enum err err = h1_write_request(&c->out, call->method, target);
    size_t i;

    for (i = 0; i < call->header_count && err == ERR_OK; i++)
        err = add_header(c, call->headers[i], &host);
    if (err == ERR_OK && !host)
        err = h1_write_field(&c->out, "Host", authority(c));
    /* Without a body only the methods that are about one say so: RFC 9110 section 8.6. */
    if (err == ERR_OK && (length > 0 || slice_starts(call->method, SLICE("P"))))
        err = h1_write_length(&c->out, length);
    return err == ERR_OK ? buf_add(&c->out, SLICE("\r\n")) : err;
}

static enum err
make_head(struct http_client *c, const struct http_call *call, struct errinfo *info)
{
    size_t room = 256 + call->method.n + call->target.n + buf_len(&c->authority), i;
    enum err err;

    for (i = 0; i < call->header_count; i++)
        room += call->headers[i].n + 2;
    if (call->body_count > HTTP_CLIENT_PARTS || room > REQUEST_HEAD_MAX)
        return errinfo_set(info, ERR_RANGE, "a request's head or body has too many parts");
    /* All room at once: a buffer that grows leaves copies, and there are credentials here. */
    if (buf_reserve(&c->out, room) == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a request");
    err = add_fields(c, call);
    if (err == ERR_BAD)
        return errinfo_set(info, err,
                           "a request's target or one of its headers has a byte or a "
                           "name that may not be sent");
    return err == ERR_OK ? ERR_OK : errinfo_set(info, ERR_NOMEM, "no memory for a request");
}

/* reconnect_if_closed(c, info): an idle connection on which something can be read was closed by its
 * server (maybe with a last word: 408), since no answer is due. */
static enum err
reconnect_if_closed(struct http_client *c, struct errinfo *info)
{
    enum err err = ERR_TIMEOUT;

    if (c->stream != NULL && c->waiting == 0)
        err = stream_wait(c->stream, LONG_AGO, info);
    if (err == ERR_STOP)
        return err;
    if (err != ERR_TIMEOUT)
        http_client_disconnect(c);
    return ERR_OK;
}

/* answered_early(c): something came while the request is being sent: stop sending, unless it is
 * only an interim answer. */
static bool
answered_early(struct http_client *c)
{
    enum err err = stream_wait(c->stream, LONG_AGO, NULL);

    if (err == ERR_OK)
        err = fill(c, LONG_AGO, NULL);
    if (err == ERR_TIMEOUT || err == ERR_STOP)
        return false;
    if (err != ERR_OK)
        return true; /* the receiver will see it again */
    c->early = take(c, &c->early_info);
    return c->early != ERR_SHORT || http_reply_has_head(&c->reply);
}

/* next_piece(piece, rest, count, limit): the next ${limit} bytes, taken off ${rest}; how many
 * slices. */
static size_t
next_piece(struct slice *piece, struct slice **rest, size_t *count, size_t limit)
{
    size_t n = 0;

    while (*count > 0 && limit > 0) {
        piece[n] = slice_to(**rest, limit);
        limit -= piece[n].n;
        **rest = slice_from(**rest, piece[n].n);
        n++;
        if ((*rest)->n > 0)
            break;
        ++*rest;
        --*count;
    }
    return n;
}

/* write_all(c, call, deadline, info): head and body, with a look for an early answer in between. */
static enum err
write_all(struct http_client *c, const struct http_call *call, int64_t deadline,
          struct errinfo *info)
{
    struct slice all[HTTP_CLIENT_PARTS + 1], piece[HTTP_CLIENT_PARTS + 1];
    struct slice *rest = all;
    size_t count = 1 + call->body_count, n;
    enum err err = ERR_OK;

    all[0] = buf_peek(&c->out);
    if (call->body_count > 0)
        memcpy(all + 1, call->body, call->body_count * sizeof(*all));
    while (count > 0 && err == ERR_OK) {
        n = next_piece(piece, &rest, &count, PIECE_BYTES);
        err = stream_write(c->stream, piece, n, deadline, info);
        if (err == ERR_OK && count > 0 && c->waiting == 1 && answered_early(c)) {
            c->last = true;
            break;
        }
    }
    /* A peer that closed may have said why before: let the receiver read on. */
    if (err == ERR_EOF || err == ERR_IO) {
        c->last = true;
        return ERR_OK;
    }
    return err;
}

/* transmit(c, call, deadline, info): on a connection that works as far as can be seen; the head is
 * in c->out. */
static enum err
transmit(struct http_client *c, const struct http_call *call, int64_t deadline,
         struct errinfo *info)
{
    enum err err = reconnect_if_closed(c, info);

    if (err != ERR_OK) {
        c->failure = HTTP_FAILURE_LOCAL;
        return err;
    }
    err = http_client_connect(c, deadline, info);
    if (err != ERR_OK)
        return err;
    if (c->waiting == 0) {
        c->first = 0;
        c->quiet = c->used;
    }
    c->to_head[(c->first + c->waiting) % HTTP_CLIENT_PIPELINE] =
        slice_eq(call->method, SLICE("HEAD"));
    c->waiting++;
    err = write_all(c, call, deadline, info);
    if (err == ERR_OK)
        return ERR_OK;
    c->failure = class_of(c, err);
    http_client_disconnect(c);
    return err;
}

enum err
http_client_send(struct http_client *c, const struct http_call *call, int64_t deadline,
                 struct errinfo *info)
{
    enum err err;

    c->failure = HTTP_FAILURE_LOCAL;
    if (c->waiting == HTTP_CLIENT_PIPELINE)
        return errinfo_set(info, ERR_RANGE, "too many requests wait for their answers");
    if (c->last)
        return errinfo_set(info, ERR_BUSY, "%s did not take a request whole", peer_of(c));
    err = make_head(c, call, info);
    if (err == ERR_OK)
        err = transmit(c, call, deadline, info);
    buf_wipe(&c->out);
    return err;
}

enum err
http_client_call(struct http_client *c, const struct http_call *call, struct http_reply *out,
                 int64_t deadline, struct errinfo *info)
{
    bool again = call->repeat;
    enum err err;

    assert(c->waiting == 0);
    for (;;) {
        *out = (struct http_reply){0, -1, {NULL, 0}, {NULL, 0}, false, false};
        err = http_client_send(c, call, deadline, info);
        if (err == ERR_OK)
            err = http_client_receive(c, out, deadline, info);
        if (err == ERR_OK || c->failure != HTTP_FAILURE_STALE || !again)
            break;
        again = false; /* the second connection is new, so it cannot be stale */
    }
    if (err != ERR_OK)
        out->closed = c->stream == NULL;
    return err;
}
