/*
 * http_drive.c: the fixed routes and the written record.
 */
#include "support/http_drive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool
admit(void *ctx, size_t have, size_t more)
{
    struct http_drive *d = ctx;

    if (d->inflight > have && d->inflight + more > d->inflight_max)
        return false;
    d->inflight += more;
    if (d->inflight > d->inflight_top)
        d->inflight_top = d->inflight;
    return true;
}

static void
release(void *ctx, size_t n)
{
    struct http_drive *d = ctx;

    assert(n <= d->inflight);
    d->inflight -= n;
}

void
http_drive_init(struct http_drive *d, size_t body_max)
{
    memset(d, 0, sizeof(*d));
    d->env.version = "1.8.10-sinkd";
    d->env.build = "OSS";
    h1_write_date(d->env.date, 1796071203);
    memcpy(d->env.id_seed, "0123456789abcdef", 16);
    d->env.admit = admit;
    d->env.release = release;
    d->env.ctx = d;
    d->body_max = body_max;
    d->inflight_max = 1u << 30;
    buf_init(&d->log, 64u << 20);
    buf_init(&d->out, 128u << 20);
    http_server_init(&d->conn, &d->env);
}

void
http_drive_free(struct http_drive *d)
{
    http_server_free(&d->conn);
    assert(d->inflight == 0);
    http_answer_env_free(&d->env);
    buf_free(&d->log);
    buf_free(&d->out);
}

/* The record may lose lines when a test lets an allocation fail; only the machine is under test. */
static void
note(struct http_drive *d, const char *what, struct slice a, struct slice b)
{
    if (buf_printf(&d->log, "%s ", what) != ERR_OK || buf_add(&d->log, a) != ERR_OK ||
        buf_add_byte(&d->log, ' ') != ERR_OK || buf_add(&d->log, b) != ERR_OK ||
        buf_add_byte(&d->log, '\n') != ERR_OK)
        return;
}

static void
answer(struct http_drive *d, int status, const char *error)
{
    struct http_answer a = {.status = status, .error = slice_of(error)};

    http_server_answer(&d->conn, &a);
}

static void
answer_unrouted(struct http_drive *d, unsigned methods)
{
    struct http_answer a = {.status = 404, .body = SLICE("404 page not found\n"), .plain = true};
    char allow[HTTP_METHODS_TEXT];

    if (methods != 0) {
        a.status = 405;
        a.body = SLICE("Method Not Allowed\n");
        a.allow = http_request_methods(allow, methods);
    }
    http_server_answer(&d->conn, &a);
}

static const struct {
    struct slice path;
    unsigned methods;
    bool has_body;
} routes[] = {
    {SLICE_INIT("/ping"), HTTP_GET | HTTP_HEAD, false},
    {SLICE_INIT("/status"), HTTP_GET | HTTP_HEAD, false},
    {SLICE_INIT("/write"), HTTP_POST | HTTP_OPTIONS, true},
    {SLICE_INIT("/query"), HTTP_GET | HTTP_POST | HTTP_OPTIONS, true},
    {SLICE_INIT("/early"), HTTP_POST, true},
    {SLICE_INIT("/big"), HTTP_GET, false},
    {SLICE_INIT("/later"), HTTP_GET | HTTP_POST, true},
};

static void
on_head(struct http_drive *d)
{
    const struct http_request *r = &d->conn.request;
    struct http_answer options = {.status = 200, .type = ""};
    size_t i;

    note(d, "head", r->head.method, r->head.target);
    for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (slice_eq(routes[i].path, r->path))
            break;
    if (i == sizeof(routes) / sizeof(routes[0]))
        answer_unrouted(d, 0);
    else if ((routes[i].methods & r->method) == 0)
        answer_unrouted(d, routes[i].methods);
    else if (r->method == HTTP_OPTIONS)
        http_server_answer(&d->conn, &options);
    else if (slice_eq(r->path, SLICE("/early")))
        answer(d, 401, "authorization failed");
    else if (slice_eq(r->path, SLICE("/write")) && http_request_param(r, "db").n == 0)
        answer(d, 400, "database is required");
    else
        http_server_accept(&d->conn, routes[i].has_body ? d->body_max : 0);
}

static void
answer_big(struct http_drive *d)
{
    struct http_answer a = {.status = 200, .type = "text/plain", .may_gzip = true};
    size_t n = 200000;
    char *text = malloc(n);

    assert(text != NULL);
    memset(text, 'x', n);
    a.body = slice_make(text, n);
    http_server_answer(&d->conn, &a);
    free(text);
}

static void
on_done(struct http_drive *d)
{
    struct http_request *r = &d->conn.request;
    struct http_answer ok = {.status = 200};

    note(d, "body", http_request_param(r, "db"), http_request_body(r));
    if (slice_eq(r->path, SLICE("/later")))
        return;
    if (slice_eq(r->path, SLICE("/big"))) {
        answer_big(d);
    } else if (slice_eq(r->path, SLICE("/query"))) {
        if (http_request_parse_form(r) != ERR_OK) {
            answer(d, 503, "out of memory");
            return;
        }
        ok.body = http_request_form(r, "q");
        http_server_answer(&d->conn, &ok);
    } else if (slice_starts(http_request_body(r), SLICE("bad"))) {
        answer(d, 400, "unable to parse 'bad': missing fields");
    } else {
        answer(d, 204, NULL);
    }
}

static void
on_refused(struct http_drive *d)
{
    if (buf_printf(&d->log, "refused %d\n", d->conn.refused) != ERR_OK)
        return;
}

void
http_drive_step(struct http_drive *d)
{
    enum http_event event;
    size_t sent;

    do {
        sent = 0;
        while ((event = http_server_step(&d->conn)) != HTTP_WAIT) {
            if (event == HTTP_REQUEST_HEAD)
                on_head(d);
            else if (event == HTTP_REQUEST_DONE)
                on_done(d);
            else
                on_refused(d);
        }
        if (!d->blocked) {
            sent = buf_len(&d->conn.out);
            if (buf_add(&d->out, buf_peek(&d->conn.out)) != ERR_OK)
                d->lost_output = true;
            http_server_sent(&d->conn, sent);
        }
    } while (sent > 0);
}

size_t
http_drive_feed(struct http_drive *d, struct slice bytes)
{
    size_t room, n, fed = 0;

    while (fed < bytes.n && (room = http_server_room(&d->conn)) > 0) {
        n = bytes.n - fed < room ? bytes.n - fed : room;
        if (http_server_receive(&d->conn, slice_to(slice_from(bytes, fed), n)) != ERR_OK)
            break;
        fed += n;
        http_drive_step(d);
    }
    return fed;
}

void
http_drive_eof(struct http_drive *d)
{
    http_server_eof(&d->conn);
    http_drive_step(d);
}

void
http_drive_finish(struct http_drive *d)
{
    answer(d, 204, NULL);
    http_drive_step(d);
}

bool
http_drive_holds(const struct http_drive *d, const char *text)
{
    struct slice s = buf_peek(&d->out), t = slice_of(text);
    size_t i;

    for (i = 0; i + t.n <= s.n; i++)
        if (memcmp(s.p + i, t.p, t.n) == 0)
            return true;
    return false;
}

const char *
http_drive_statuses(const struct http_drive *d, char out[200])
{
    struct slice s = buf_peek(&d->out);
    size_t i, n = 0;

    for (i = 0; i + 12 < s.n && n < 190; i++)
        if (memcmp(s.p + i, "HTTP/1.", 7) == 0) {
            memcpy(out + n, s.p + i + 9, 4);
            n += 4;
        }
    out[n] = '\0';
    return out;
}

/* expect(what, is, should): cmocka sees the abort as a failure, with the text before it. */
static void
expect(const char *what, struct slice is, struct slice should)
{
    if (slice_eq(is, should))
        return;
    (void)fprintf(stderr, "%s is\n%.*s\ninstead of\n%.*s\n", what, SLICE_PRI(is),
                  SLICE_PRI(should));
    abort();
}

void
http_drive_assert_log(const struct http_drive *d, const char *text)
{
    expect("the record", buf_peek(&d->log), slice_of(text));
}

void
http_drive_assert_statuses(const struct http_drive *d, const char *text)
{
    char out[200];

    expect("the statuses", slice_of(http_drive_statuses(d, out)), slice_of(text));
}
