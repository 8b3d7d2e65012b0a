/*
 * server.c: the listener, the routes, the calls, and how many of each there may be.
 *
 * A slot is a place in the table of connections; a ticket names a slot and the generation of the
 * call in it, so that what outlives a connection finds nothing instead of something else.
 */
#include "daemon/server.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/port.h"
#include "daemon/rate_limit.h"
#include "daemon/server_conn.h"
#include "daemon/server_listener.h"

#define SCRATCH_BYTES 65536
#define ERROR_TEXT_MAX 1200
#define QUIET_MS 1000 /* then memory that waits for the next body is given back */

struct client;

struct server_call {
    struct client *client;
    const struct server_route *route; /* NULL: none of ours, already answered */
    void *user;
    uint32_t generation; /* 0: no call */
};

struct client {
    struct server_conn conn; /* first: the conn's callbacks come back to the client by it */
    struct server *server;
    struct server_call call;
    struct addr peer;
    size_t slot;
    struct client *older, *newer; /* among the idle ones */
};

struct server {
    struct server_conn_env env;
    struct server_config config;
    const struct server_route *routes;
    struct rate_limit *rates; /* one a route */
    size_t route_count;
    void *ctx;

    struct server_listener listener;

    struct client **table; /* max_connections + 1: one is let in before one is put out */
    size_t slots, count;
    struct client *oldest, *newest; /* idle */
    uint32_t generation;
    struct server_budget budget;
    struct loop_timer quiet;
    int64_t last_call_ms;

    bool draining;
    void (*drained)(void *arg);
    void *drained_arg;
};

static struct client *
client_of(struct server_conn *c)
{
    return (struct client *)(void *)c;
}

static bool
admit(void *ctx, size_t have, size_t more)
{
    struct server *s = ctx;

    return server_budget_take(&s->budget, have, more);
}

static void
release(void *ctx, size_t n)
{
    struct server *s = ctx;

    server_budget_release(&s->budget, n);
}

struct server_budget *
server_inflight(struct server *s)
{
    return &s->budget;
}

struct recycle *
server_recycle(struct server *s)
{
    return &s->env.http.bodies;
}

static void
on_quiet(void *arg)
{
    struct server *s = arg;
    int64_t at_ms = s->last_call_ms + QUIET_MS;

    if (at_ms <= loop_now_ms(s->env.loop) ||
        loop_timer_set(s->env.loop, &s->quiet, at_ms, on_quiet, s) != ERR_OK)
        recycle_free(&s->env.http.bodies);
}

/* note_call(s): the timer is set once and moves itself, so that a call costs no more than this. */
static void
note_call(struct server *s)
{
    s->last_call_ms = loop_now_ms(s->env.loop);
    if (s->quiet.slot == 0 &&
        loop_timer_set(s->env.loop, &s->quiet, s->last_call_ms + QUIET_MS, on_quiet, s) != ERR_OK)
        recycle_free(&s->env.http.bodies);
}

/* Calls. */

static void
end_call(struct client *c, int status)
{
    struct server_call *call = &c->call;

    if (call->generation == 0)
        return;
    call->generation = 0; /* from here on no ticket finds it */
    if (call->route != NULL && call->route->over != NULL)
        call->route->over(call, status);
    call->route = NULL;
    call->user = NULL;
}

void
server_call_answer(struct server_call *call, const struct http_answer *a)
{
    struct client *c = call->client;

    assert(call->generation != 0);
    server_conn_answer(&c->conn, a);
    end_call(c, a->status);
    server_conn_pump(&c->conn);
}

void
server_call_error(struct server_call *call, int status, const char *format, ...)
{
    struct http_answer a = {.status = status};
    char text[ERROR_TEXT_MAX];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    a.error = n > 0 ? slice_of(text) : SLICE("error");
    server_call_answer(call, &a);
}

void
server_call_busy(struct server_call *call, unsigned retry_after_s, const char *text)
{
    struct http_answer a = {.status = 503, .error = slice_of(text), .retry_after_s = retry_after_s};

    server_call_answer(call, &a);
}

void
server_call_accept(struct server_call *call, size_t max)
{
    assert(call->generation != 0);
    http_server_accept(&call->client->conn.http, max);
}

struct server_ticket
server_call_ticket(const struct server_call *call)
{
    return (struct server_ticket){(uint32_t)call->client->slot, call->generation};
}

struct server_call *
server_call_find(struct server *s, struct server_ticket t)
{
    struct client *c;

    if (t.generation == 0 || t.slot >= s->slots)
        return NULL;
    c = s->table[t.slot];
    return c != NULL && c->call.generation == t.generation ? &c->call : NULL;
}

struct http_request *
server_call_request(struct server_call *call)
{
    return &call->client->conn.http.request;
}

const struct addr *
server_call_peer(const struct server_call *call)
{
    return &call->client->peer;
}

bool
server_call_is_local(const struct server_call *call)
{
    return addr_is_loopback(&call->client->peer) != 0;
}

int64_t
server_call_started_ms(const struct server_call *call)
{
    return call->client->conn.begun_ms;
}

void
server_call_set_user(struct server_call *call, void *user)
{
    call->user = user;
}

void *
server_call_user(const struct server_call *call)
{
    return call->user;
}

struct server *
server_of(const struct server_call *call)
{
    return call->client->server;
}

/* Routes. */

static void
answer_method(struct server_call *call, unsigned methods)
{
    struct http_answer a = {.status = 405, .body = SLICE("Method Not Allowed\n"), .plain = true};
    char allow[HTTP_METHODS_TEXT];

    a.allow = http_request_methods(allow, methods);
    server_call_answer(call, &a);
}

static void
answer_over_rate(struct server_call *call)
{
    struct http_answer a = {.status = call->route->rate == SERVER_RATE_QUERY ? 429 : 503,
                            .error = SLICE("too many requests: retry later"),
                            .retry_after_s = 1};

    server_call_answer(call, &a);
}

/* find_route(s, path): its index, or the count. */
static size_t
find_route(const struct server *s, struct slice path)
{
    size_t i;

    for (i = 0; i < s->route_count; i++)
        if (slice_eq(slice_of(s->routes[i].path), path))
            break;
    return i;
}

/* route_head(s, call): true when the route's handler is to see the request. */
static bool
route_head(struct server *s, struct server_call *call)
{
    static const struct http_answer unknown = {
        .status = 404, .body = SLICE_INIT("404 page not found\n"), .plain = true};
    static const struct http_answer options = {.status = 200, .type = ""};
    const struct http_request *request = server_call_request(call);
    size_t i = find_route(s, request->path);
    const struct server_route *route = &s->routes[i];

    if (i == s->route_count) {
        server_call_answer(call, &unknown);
    } else if ((route->methods & request->method) == 0) {
        answer_method(call, route->methods);
    } else if (request->method == HTTP_OPTIONS) {
        server_call_answer(call, &options);
    } else {
        call->route = route;
        if (route->rate == SERVER_RATE_NONE ||
            rate_limit_take(&s->rates[i], loop_now_ms(s->env.loop)))
            return true;
        answer_over_rate(call);
    }
    return false;
}

static void
begin_call(struct client *c)
{
    struct server *s = c->server;
    struct server_call *call = &c->call;
    uint32_t generation;

    note_call(s);
    if (++s->generation == 0)
        s->generation = 1;
    generation = s->generation;
    *call = (struct server_call){.client = c, .generation = generation};
    if (!route_head(s, call))
        return;
    if (call->route->head != NULL)
        call->route->head(call);
    if (call->generation == generation && http_server_is_undecided(&c->conn.http))
        http_server_accept(&c->conn.http, 0);
}

static void
on_event(struct server_conn *conn, enum http_event event)
{
    static const struct http_answer missing = {.status = 500,
                                               .error = SLICE_INIT("nothing handles this path")};
    struct client *c = client_of(conn);

    switch (event) {
    case HTTP_REQUEST_HEAD:
        begin_call(c);
        break;
    case HTTP_REQUEST_DONE:
        if (c->call.route->done != NULL)
            c->call.route->done(&c->call);
        else
            server_call_answer(&c->call, &missing);
        break;
    case HTTP_REFUSED:
        end_call(c, conn->http.refused);
        break;
    case HTTP_WAIT:
        break;
    }
}

/* Connections. */

static void
on_idle(struct server_conn *conn, bool is_idle)
{
    struct client *c = client_of(conn);
    struct server *s = c->server;

    if (is_idle) {
        c->older = s->newest;
        c->newer = NULL;
        *(s->newest != NULL ? &s->newest->newer : &s->oldest) = c;
        s->newest = c;
        return;
    }
    *(c->older != NULL ? &c->older->newer : &s->oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &s->newest) = c->older;
}

static void
report_drained(struct server *s)
{
    void (*drained)(void *arg) = s->drained;

    if (!s->draining || s->count > 0 || drained == NULL)
        return;
    s->drained = NULL;
    drained(s->drained_arg);
}

static void
on_gone(struct server_conn *conn)
{
    struct client *c = client_of(conn);
    struct server *s = c->server;

    end_call(c, 0);
    http_server_free(&conn->http);
    s->table[c->slot] = NULL;
    s->count--;
    mem_free(c);
    server_listener_resume(&s->listener);
    report_drained(s);
}

static bool
has_room(void *arg)
{
    const struct server *s = arg;

    return s->count < s->config.max_connections || s->oldest != NULL;
}

static bool
close_oldest_idle(void *arg)
{
    struct server *s = arg;

    if (s->oldest == NULL)
        return false;
    server_conn_close(&s->oldest->conn);
    return true;
}

static size_t
free_slot(const struct server *s)
{
    size_t i;

    for (i = 0; i < s->slots && s->table[i] != NULL; i++)
        ;
    assert(i < s->slots);
    return i;
}

static void
let_in(void *arg, int fd, const struct addr *peer)
{
    struct server *s = arg;
    struct client *c = mem_zalloc(sizeof(*c));

    if (c == NULL) {
        (void)close(fd);
        return;
    }
    c->server = s;
    c->peer = *peer;
    c->slot = free_slot(s);
    s->table[c->slot] = c; /* before it is opened: it may be gone again by then */
    s->count++;
    if (server_conn_open(&c->conn, &s->env, fd) != ERR_OK) {
        s->table[c->slot] = NULL;
        s->count--;
        mem_free(c);
        return;
    }
    if (s->count > s->config.max_connections)
        (void)close_oldest_idle(s); /* there is one: this one, if no other */
}

static void
free_server(struct server *s)
{
    server_listener_close(&s->listener);
    loop_timer_clear(s->env.loop, &s->quiet);
    http_answer_env_free(&s->env.http);
    mem_free(s->rates);
    mem_free(s->table);
    mem_free(s->env.scratch);
    mem_free(s);
}

static void
init_env(struct server *s, struct loop *loop)
{
    struct server_conn_env *env = &s->env;

    env->loop = loop;
    env->request_timeout_ms = s->config.request_timeout_ms;
    env->idle_timeout_ms = s->config.idle_timeout_ms;
    env->scratch_bytes = SCRATCH_BYTES;
    env->event = on_event;
    env->idle = on_idle;
    env->gone = on_gone;
    env->http.version = s->config.version;
    env->http.build = s->config.build;
    env->http.limit = s->config.body_limit;
    env->http.limit_words = s->config.limit_words;
    env->http.admit = admit;
    env->http.release = release;
    env->http.ctx = s;
}

/* make(config, routes, count, loop): all but the listener; NULL without memory. */
static struct server *
make(const struct server_config *config, const struct server_route *routes, size_t count,
     struct loop *loop)
{
    struct server *s = mem_zalloc(sizeof(*s));
    size_t i;

    if (s == NULL)
        return NULL;
    s->config = *config;
    if (s->config.max_connections == 0)
        s->config.max_connections = 1;
    s->routes = routes;
    s->route_count = count;
    s->slots = (size_t)s->config.max_connections + 1;
    server_budget_init(&s->budget, config->max_inflight_bytes);
    init_env(s, loop);
    s->listener = (struct server_listener){.loop = loop,
                                           .fd = -1,
                                           .has_room = has_room,
                                           .make_room = close_oldest_idle,
                                           .let_in = let_in,
                                           .arg = s};
    s->table = mem_array(s->slots, sizeof(struct client *));
    s->rates = mem_array(count + 1, sizeof(*s->rates));
    s->env.scratch = mem_alloc(SCRATCH_BYTES);
    if (s->table == NULL || s->rates == NULL || s->env.scratch == NULL) {
        free_server(s);
        return NULL;
    }
    for (i = 0; i < count; i++)
        rate_limit_init(&s->rates[i], config->rate_per_second, loop_now_ms(loop));
    return s;
}

enum err
server_open(struct server **out, struct loop *loop, const struct server_config *config,
            const struct server_route *routes, size_t count, void *ctx, struct errinfo *info)
{
    struct server *s = make(config, routes, count, loop);
    enum err err;

    if (s == NULL)
        return errinfo_set(info, ERR_NOMEM, "out of memory");
    s->ctx = ctx;
    if (port_random(s->env.http.id_seed, sizeof(s->env.http.id_seed)) != ERR_OK)
        err = errinfo_set(info, ERR_IO, "no random bytes: /dev/urandom is needed");
    else
        err = server_listener_open(&s->listener, config->bind_address, config->port, info);
    if (err != ERR_OK) {
        free_server(s);
        return err;
    }
    *out = s;
    return ERR_OK;
}

void
server_cut(struct server *s)
{
    size_t i;

    s->drained = NULL;
    server_listener_close(&s->listener);
    for (i = 0; i < s->slots; i++)
        if (s->table[i] != NULL)
            server_conn_close(&s->table[i]->conn);
}

void
server_close(struct server *s)
{
    if (s == NULL)
        return;
    server_cut(s);
    free_server(s);
}

void
server_drain(struct server *s, void (*done)(void *arg), void *arg)
{
    struct client *c;
    size_t i;

    s->draining = true;
    server_listener_close(&s->listener);
    for (i = 0; i < s->slots; i++) {
        c = s->table[i];
        if (c == NULL)
            continue;
        http_server_stop(&c->conn.http);
        if (c->conn.is_idle)
            server_conn_close(&c->conn);
        else
            server_conn_pump(&c->conn);
    }
    s->drained = done; /* only now: it is called once, and not from the middle of the walk */
    s->drained_arg = arg;
    report_drained(s);
}

bool
server_is_draining(const struct server *s)
{
    return s->draining;
}

uint16_t
server_port(const struct server *s)
{
    return s->listener.port;
}

size_t
server_connections(const struct server *s)
{
    return s->count;
}

void *
server_ctx(const struct server *s)
{
    return s->ctx;
}
