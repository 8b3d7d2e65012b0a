/*
 * http_post.c: see http_post.h.
 */
#include "sink/http_post.h"

#include <assert.h>
#include <stdio.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"
#include "http/http_client.h"
#include "http/http_snippet.h"
#include "sink/http_post_check.h"
#include "sink/http_verdict.h"
#include "sink/secret_file.h"
#include "sink/template.h"

#define HEADERS_MAX (HTTP_POST_HEADERS_MAX + 8) /* and our own */
#define BODY_MAX ((size_t)256 << 20)            /* far above what a request may bring in */
#define GZIP_LEVEL 3                            /* as fast as 1 on line protocol, and smaller */

struct http_post {
    const struct sink_def *def;
    const struct sink_env *env;
    struct http_client *client;
    struct template *target;
    struct http_success success;
    struct gzip_writer *gzip;          /* NULL: bodies go as they are */
    struct buf head;                   /* the text of the header lines: holds secrets */
    struct slice headers[HEADERS_MAX]; /* lines of it */
    size_t header_count;
    struct secret secrets[HTTP_POST_SECRETS_MAX]; /* what must not be quoted from an answer */
    size_t secret_count;
    struct buf url, packed; /* of the request under way */
    int64_t timeout_ms;
};

/* ---- making one ---- */

static enum err
remember_secret(struct http_post *p, struct slice value)
{
    if (value.n == 0)
        return ERR_OK;
    assert(p->secret_count < HTTP_POST_SECRETS_MAX); /* http_post_check_secrets() saw to it */
    return secret_set(&p->secrets[p->secret_count++], value);
}

/* Header lines are kept in one buffer; it must not move while slices point into it. */
static enum err
add_header(struct http_post *p, struct slice name, struct slice value)
{
    size_t start = buf_len(&p->head);

    if (buf_add(&p->head, name) != ERR_OK || buf_add_text(&p->head, ": ") != ERR_OK ||
        buf_add(&p->head, value) != ERR_OK || p->header_count == HEADERS_MAX)
        return ERR_NOMEM;
    p->headers[p->header_count++] = slice_from(buf_peek(&p->head), start);
    return ERR_OK;
}

static enum err
add_basic(struct http_post *p, struct slice password)
{
    struct buf plain, coded;
    enum err err;

    buf_init(&plain, 64 * 1024);
    buf_init(&coded, 96 * 1024);
    err = buf_printf(&plain, "%s:", p->def->username);
    if (err == ERR_OK)
        err = buf_add(&plain, password);
    if (err == ERR_OK)
        err = buf_add_text(&coded, "Basic ");
    if (err == ERR_OK)
        err = text_base64(&coded, buf_peek(&plain));
    if (err == ERR_OK)
        err = add_header(p, SLICE("Authorization"), buf_peek(&coded));
    if (err == ERR_OK)
        err = remember_secret(p, slice_from(buf_peek(&coded), 6));
    buf_wipe(&plain);
    buf_wipe(&coded);
    return err;
}

static enum err
add_bearer(struct http_post *p, struct slice token, struct errinfo *info)
{
    struct buf value;
    enum err err;

    if (!http_post_is_field_value(token)) /* one from a file was not checked before */
        return errinfo_set(info, ERR_CONFIG, "the bearer token holds control bytes");
    buf_init(&value, 16 * 1024);
    err = buf_add_text(&value, "Bearer ");
    if (err == ERR_OK)
        err = buf_add(&value, token);
    if (err == ERR_OK)
        err = add_header(p, SLICE("Authorization"), buf_peek(&value));
    buf_wipe(&value);
    return err;
}

/* The secret of a credential: what the definition holds, or the file that it names. */
static enum err
load_secret(const struct sink_def *def, const char *file_option, struct slice given,
            struct secret *out, struct errinfo *info)
{
    if (sink_def_is_set(def, file_option))
        return secret_file_read(sink_def_text(def, file_option), out, info);
    return given.n == 0 ? ERR_OK : secret_set(out, given);
}

static enum err
add_credentials(struct http_post *p, struct errinfo *info)
{
    struct secret secret = {NULL, 0};
    bool basic = p->def->username != NULL;
    enum err err;

    err = basic ? load_secret(p->def, "password_file", secret_reveal(&p->def->password), &secret,
                              info)
                : load_secret(p->def, "bearer_token_file", sink_def_text(p->def, "bearer_token"),
                              &secret, info);
    if (err == ERR_OK)
        err = remember_secret(p, secret_reveal(&secret));
    if (err == ERR_OK && basic)
        err = add_basic(p, secret_reveal(&secret));
    else if (err == ERR_OK && secret_is_set(&secret))
        err = add_bearer(p, secret_reveal(&secret), info);
    secret_free(&secret);
    return err;
}

static enum err
add_headers(struct http_post *p, struct errinfo *info)
{
    struct slice rest = sink_def_text(p->def, "headers"), line;
    enum err err = add_credentials(p, info);

    if (err == ERR_OK)
        err = add_header(p, SLICE("User-Agent"), sink_def_text(p->def, "user_agent"));
    if (err == ERR_OK && p->gzip != NULL)
        err = add_header(p, SLICE("Content-Encoding"), SLICE("gzip"));
    while (err == ERR_OK && http_post_next_header(&rest, &line)) {
        size_t colon = slice_find(line, ':');
        struct slice value = slice_trim(slice_from(line, colon + 1));

        err = add_header(p, slice_to(line, colon), value);
        if (err == ERR_OK)
            err = remember_secret(p, value);
    }
    return err;
}

static enum err
remember_query_secrets(struct http_post *p, const struct url *url)
{
    struct slice rest = url->query, key, value;
    struct buf plain;
    enum err err = ERR_OK;

    buf_init(&plain, URL_TEXT_MAX);
    while (err == ERR_OK && url_query_next(&rest, &key, &value)) {
        buf_clear(&plain);
        if (url_key_is_secret(key) && text_unpercent(&plain, value, true) == ERR_OK)
            err = remember_secret(p, buf_peek(&plain));
    }
    buf_wipe(&plain);
    return err;
}

static enum err
open_client(struct http_post *p, const struct url *url, struct errinfo *info)
{
    struct http_client_config config = {.env = &p->env->stream,
                                        .host = url->hosts[0].host,
                                        .port = url->hosts[0].port,
                                        .keep_bytes = 8192};

    if (config.port == 0)
        config.port = url_scheme_is(url, "https") ? 443 : 80;
    return http_client_open(&p->client, &config, info);
}

static bool
names_db(const struct url *url)
{
    struct slice rest = url->query, key, value;

    while (url_query_next(&rest, &key, &value))
        if (slice_eq(key, SLICE("db")))
            return true;
    return false;
}

/* The template of path and query. */
static enum err
open_target(struct http_post *p, const struct url *url, bool add_db, struct errinfo *info)
{
    struct buf text;
    enum err err;

    buf_init(&text, URL_TEXT_MAX + 16);
    err = buf_add(&text,
                  slice_make(url->path.p, url->path.n + (url->has_query ? url->query.n + 1 : 0)));
    if (err == ERR_OK && add_db && !names_db(url)) {
        const char *joint = !url->has_query ? "?" : url->query.n > 0 ? "&" : "";

        err = buf_printf(&text, "%sdb={db}", joint);
    }
    if (err == ERR_OK)
        err = template_open(&p->target, buf_peek(&text), TEMPLATE_HTTP, info);
    buf_wipe(&text);
    return err;
}

static enum err
open_parts(struct http_post *p, bool add_db, struct errinfo *info)
{
    struct url url;
    enum err err = url_parse(slice_of(p->def->url), &url, info);

    if (err == ERR_OK) /* a stored definition may be older than this limit */
        err = http_post_check_secrets(p->def, &url, info);
    if (err == ERR_OK)
        err = http_verdict_parse(&p->success, sink_def_text(p->def, "success_status"), info);
    if (err == ERR_OK)
        err = open_target(p, &url, add_db, info);
    if (err == ERR_OK && sink_def_bool(p->def, "gzip")) {
        p->gzip = gzip_writer_open(GZIP_LEVEL);
        err = p->gzip == NULL ? ERR_NOMEM : ERR_OK;
    }
    if (err == ERR_OK && buf_reserve(&p->head, p->head.max) == NULL)
        err = ERR_NOMEM;
    if (err == ERR_OK)
        err = add_headers(p, info);
    if (err == ERR_OK)
        err = remember_query_secrets(p, &url);
    if (err == ERR_OK)
        err = open_client(p, &url, info);
    return err;
}

enum err
http_post_open(struct http_post **out, const struct sink_def *def, const struct sink_env *env,
               bool add_db, struct errinfo *info)
{
    struct http_post *p = mem_zalloc(sizeof(*p));
    enum err err;

    if (p == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an HTTP sink");
    p->def = def;
    p->env = env;
    p->timeout_ms = sink_def_number(def, "timeout");
    buf_init(&p->head, 64 * 1024);
    buf_init(&p->url, 128 * 1024);
    buf_init(&p->packed, BODY_MAX);
    err = open_parts(p, add_db, info);
    if (err == ERR_NOMEM)
        errinfo_set(info, ERR_NOMEM, "no memory for an HTTP sink");
    if (err != ERR_OK) {
        http_post_close(p);
        return err;
    }
    *out = p;
    return ERR_OK;
}

void
http_post_close(struct http_post *p)
{
    if (p == NULL)
        return;
    http_client_close(p->client);
    template_close(p->target);
    gzip_writer_close(p->gzip);
    buf_wipe(&p->head);
    buf_wipe(&p->url);
    buf_free(&p->packed);
    for (size_t i = 0; i < p->secret_count; i++)
        secret_free(&p->secrets[i]);
    mem_free(p);
}

/* ---- the connection ---- */

/* What a failure of the client, before any verdict of the peer, counts as. */
static void
judge_failure(const struct http_post *p, struct outcome *outcome)
{
    enum store_error_kind kind = STORE_ERROR_PROTOCOL;

    switch (http_client_failure(p->client)) {
    case HTTP_FAILURE_CONNECT:
    case HTTP_FAILURE_RESET:
    case HTTP_FAILURE_STALE:
        kind = STORE_ERROR_CONNECT;
        break;
    case HTTP_FAILURE_TIMEOUT:
        kind = STORE_ERROR_TIMEOUT;
        break;
    case HTTP_FAILURE_NONE:
    case HTTP_FAILURE_PROTOCOL:
    case HTTP_FAILURE_LOCAL:
        break;
    }
    outcome_is(outcome, DELIVERY_TRANSIENT, kind);
}

enum err
http_post_connect(struct http_post *p, int64_t deadline, struct outcome *outcome,
                  struct errinfo *info)
{
    enum err err = http_client_connect(p->client, deadline, info);

    if (err != ERR_OK)
        judge_failure(p, outcome);
    return err;
}

/* An idle connection that the server closes is noticed, and replaced, by the next request. */
enum err
http_post_idle(struct http_post *p, int64_t until, struct errinfo *info)
{
    (void)info;
    return stream_pause(&p->env->stream, until);
}

void
http_post_disconnect(struct http_post *p)
{
    http_client_disconnect(p->client);
}

bool
http_post_one_target(const struct http_post *p)
{
    return template_is_constant(p->target);
}

/* ---- sending ---- */

/* What the peer said, with what it must not know of us taken out; nothing of an answer to
 * credentials. */
static void
describe(struct http_post *p, const struct http_reply *reply, const struct outcome *outcome,
         struct errinfo *info)
{
    const struct secret *secrets[HTTP_POST_SECRETS_MAX];
    char snippet[HTTP_SNIPPET_TEXT];
    struct buf text;

    buf_init(&text, 4096);
    if (outcome->what != DELIVERY_AUTH &&
        buf_add_text(&text, http_snippet_make(snippet, reply->body)) == ERR_OK) {
        for (size_t i = 0; i < p->secret_count; i++)
            secrets[i] = &p->secrets[i];
        if (secret_mask(&text, secrets, p->secret_count) != ERR_OK)
            buf_clear(&text);
    }
    errinfo_set(info, ERR_DENIED, "the destination answered %d%s%.*s", reply->status,
                buf_len(&text) > 0 ? ": " : "", SLICE_PRI(buf_peek(&text)));
    buf_free(&text);
}

/* A request being put together: it holds loans of itself, so it stays where it is. */
struct request {
    struct http_call call;
    struct slice headers[HEADERS_MAX + 1], body;
    char type[160];
};

static enum err
prepare(struct http_post *p, struct request *r, const struct batch_point *point,
        const char *content_type, struct slice body, struct errinfo *info)
{
    buf_clear(&p->url);
    buf_clear(&p->packed);
    if (template_put(p->target, point, &p->url) != ERR_OK ||
        (p->gzip != NULL && gzip_writer_pack(p->gzip, body, &p->packed) != ERR_OK))
        return errinfo_set(info, ERR_NOMEM, "no memory for a request");
    r->body = p->gzip != NULL ? buf_peek(&p->packed) : body;
    memcpy(r->headers, p->headers, p->header_count * sizeof(*r->headers));
    snprintf(r->type, sizeof(r->type), "Content-Type: %s", content_type);
    r->headers[p->header_count] = slice_of(r->type);
    r->call = (struct http_call){.method = SLICE("POST"),
                                 .target = buf_peek(&p->url),
                                 .headers = r->headers,
                                 .header_count = p->header_count + 1,
                                 .body = &r->body,
                                 .body_count = 1,
                                 .repeat = true};
    return ERR_OK;
}

static int64_t
deadline_of(const struct http_post *p)
{
    return clock_after(clock_mono_ms(p->env->stream.clock), p->timeout_ms);
}

/* What an answer, or the lack of one, means. */
static enum err
judge(struct http_post *p, enum err err, const struct http_reply *reply, struct outcome *outcome,
      struct errinfo *info)
{
    if (err == ERR_STOP) { /* half an answer may be on its way: it must not meet the next request */
        http_client_disconnect(p->client);
        return err;
    }
    if (reply->status == 0) {
        judge_failure(p, outcome);
        return err != ERR_OK ? err : ERR_BAD;
    }
    *outcome = http_verdict_of(&p->success, reply->status, reply->retry_after_ms, reply->body);
    if (outcome->what == DELIVERY_DONE)
        return ERR_OK;
    describe(p, reply, outcome, info);
    return ERR_DENIED;
}

enum err
http_post_send(struct http_post *p, const struct batch_point *point, const char *content_type,
               struct slice body, struct outcome *outcome, struct errinfo *info)
{
    struct http_reply reply;
    struct request r;
    enum err err = prepare(p, &r, point, content_type, body, info);

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (err != ERR_OK)
        return err;
    err = http_client_call(p->client, &r.call, &reply, deadline_of(p), info);
    return judge(p, err, &reply, outcome, info);
}

enum err
http_post_push(struct http_post *p, const struct batch_point *point, const char *content_type,
               struct slice body, struct outcome *outcome, struct errinfo *info)
{
    struct request r;
    enum err err = prepare(p, &r, point, content_type, body, info);

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (err == ERR_OK)
        err = http_client_send(p->client, &r.call, deadline_of(p), info);
    if (err == ERR_OK || err == ERR_BUSY)
        return err;
    judge_failure(p, outcome);
    http_client_disconnect(p->client);
    return err;
}

enum err
http_post_pull(struct http_post *p, struct outcome *outcome, struct errinfo *info)
{
    struct http_reply reply;
    enum err err;

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    err = http_client_receive(p->client, &reply, deadline_of(p), info);
    return judge(p, err, &reply, outcome, info);
}

size_t
http_post_waiting(const struct http_post *p)
{
    return http_client_waiting(p->client);
}

bool
http_post_is_stale(const struct http_post *p)
{
    return http_client_failure(p->client) == HTTP_FAILURE_STALE;
}
