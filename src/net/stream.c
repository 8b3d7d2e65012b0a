/*
 * stream.c: a stream over one TCP connection.
 *
 * Blocking calls with deadlines over a non-blocking socket: try first, wait only when nothing could
 * be done. Texts of failures name the peer, since the operator knows a sink by where it goes.
 */
#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/port.h"
#include "net/addr.h"
#include "net/conn.h"
#include "net/sock.h"

#define PARTS_MAX 16
#define WAIT_ANY_MAX STREAM_ENV_WAIT_MAX

/* One address gets no longer than this when the caller sets no deadline. */
#define TRY_MS 30000

struct tcp_stream {
    struct stream base; /* first: a stream pointer is a pointer to this */
    struct conn conn;
    const struct stream_env *env;
    bool quick_ack;
    char peer[80]; /* "host:port", cut, for texts */
};

static struct tcp_stream *
tcp_of(struct stream *s)
{
    return (struct tcp_stream *)s;
}

/* lost(t, err, doing, cause, info): the text of a failure, with the peer's name in front. */
static enum err
lost(const struct tcp_stream *t, enum err err, const char *doing, const struct errinfo *cause,
     struct errinfo *info)
{
    switch (err) {
    case ERR_EOF:
        return errinfo_set(info, err, "%s closed the connection", t->peer);
    case ERR_TIMEOUT:
        return errinfo_set(info, err, "%s: %s took too long", t->peer, doing);
    case ERR_STOP:
        return errinfo_set(info, err, "%s: %s was interrupted", t->peer, doing);
    case ERR_OK:
    case ERR_AGAIN:
    case ERR_SHORT:
    case ERR_BAD:
    case ERR_RANGE:
    case ERR_NOMEM:
    case ERR_IO:
    case ERR_TLS:
    case ERR_NAME:
    case ERR_DENIED:
    case ERR_BUSY:
    case ERR_FULL:
    case ERR_CONFIG:
        break;
    }
    if (cause == NULL || cause->sys == 0)
        return errinfo_set(info, err, "%s: %s failed", t->peer, doing);
    return errinfo_sys(info, err, cause->sys, "%s: %s failed", t->peer, doing);
}

/* wait_ready(t, events, writing, deadline): until the socket is ready for ${events}. */
static enum err
wait_ready(const struct tcp_stream *t, short events, bool writing, int64_t deadline)
{
    struct pollfd fd = {t->conn.fd, events, 0};

    return stream_env_wait(t->env, &fd, 1, writing, deadline);
}

static enum err
tcp_read(struct stream *s, uint8_t *p, size_t size, size_t *got, int64_t deadline,
         struct errinfo *info)
{
    struct tcp_stream *t = tcp_of(s);
    struct errinfo cause = {ERR_OK, 0, ""};
    enum err err;

    for (;;) {
        err = conn_read(&t->conn, p, size, got, &cause);
        if (err == ERR_OK)
            return err;
        if (err == ERR_AGAIN) {
            if (t->quick_ack)
                port_quick_ack(t->conn.fd);
            err = wait_ready(t, conn_wants(&t->conn), false, deadline);
        }
        if (err != ERR_OK)
            return lost(t, err, "reading", &cause, info);
    }
}

/* step(parts, count, n): take the ${n} bytes that were written off the front. */
static void
step(struct slice *parts, size_t count, size_t n)
{
    size_t i, cut;

    for (i = 0; i < count && n > 0; i++) {
        cut = n < parts[i].n ? n : parts[i].n;
        parts[i] = slice_from(parts[i], cut);
        n -= cut;
    }
}

static enum err
tcp_write(struct stream *s, const struct slice *parts, size_t count, int64_t deadline,
          struct errinfo *info)
{
    struct tcp_stream *t = tcp_of(s);
    struct errinfo cause = {ERR_OK, 0, ""};
    struct slice rest[PARTS_MAX];
    size_t i, put, left = 0;
    enum err err;

    assert(count <= PARTS_MAX);
    for (i = 0; i < count; i++) {
        rest[i] = parts[i];
        left += parts[i].n;
    }
    while (left > 0) {
        err = conn_writev(&t->conn, rest, count, &put, &cause);
        if (err == ERR_AGAIN)
            err = wait_ready(t, conn_wants(&t->conn), true, deadline);
        else if (err == ERR_IO && cause.sys == EPIPE)
            err = ERR_EOF;
        if (err != ERR_OK)
            return lost(t, err, "writing", &cause, info);
        step(rest, count, put);
        left -= put;
    }
    return ERR_OK;
}

static enum err
tcp_wait(struct stream *s, int64_t deadline, struct errinfo *info)
{
    struct tcp_stream *t = tcp_of(s);
    enum err err = ERR_OK;

    if (!conn_pending(&t->conn))
        err = wait_ready(t, POLLIN, false, deadline);
    return err == ERR_OK ? ERR_OK : lost(t, err, "waiting", NULL, info);
}

static enum err
tcp_wait_any(struct stream *const *streams, size_t count, size_t *ready, int64_t deadline,
             struct errinfo *info)
{
    struct tcp_stream *t = NULL;
    struct pollfd fds[WAIT_ANY_MAX];
    size_t i;
    enum err err;

    assert(count > 0 && count <= WAIT_ANY_MAX);
    for (i = 0; i < count; i++) {
        t = tcp_of(streams[i]);
        if (conn_pending(&t->conn)) {
            *ready = i;
            return ERR_OK;
        }
        fds[i] = (struct pollfd){t->conn.fd, POLLIN, 0};
    }
    err = stream_env_wait(t->env, fds, count, false, deadline);
    if (err != ERR_OK)
        return lost(tcp_of(streams[0]), err, "waiting", NULL, info);
    for (i = 0; fds[i].revents == 0; i++)
        assert(i + 1 < count);
    *ready = i;
    return ERR_OK;
}

static void
tcp_close(struct stream *s)
{
    struct tcp_stream *t = tcp_of(s);

    conn_close(&t->conn);
    mem_free(t);
}

static const struct stream_ops tcp_ops = {tcp_read, tcp_write, tcp_wait, tcp_wait_any, tcp_close};

/* try_address(t, to, deadline, info): connect the socket of ${t} to one address. */
static enum err
try_address(struct tcp_stream *t, const struct addr *to, int64_t deadline, struct errinfo *info)
{
    struct errinfo cause = {ERR_OK, 0, ""};
    char text[ADDR_TEXT];
    int fd = -1;
    enum err err = sock_connect(&fd, to, &cause);

    if (err == ERR_OK || err == ERR_AGAIN)
        conn_init(&t->conn, fd);
    if (err == ERR_AGAIN) {
        err = wait_ready(t, POLLOUT, false, deadline);
        if (err == ERR_OK)
            err = sock_connected(fd, &cause);
    }
    if (err == ERR_OK)
        return ERR_OK;
    conn_close(&t->conn);
    (void)addr_text(text, to);
    if (err == ERR_TIMEOUT)
        return errinfo_set(info, err, "connecting to %s (%s) took too long", t->peer, text);
    if (err == ERR_STOP)
        return errinfo_set(info, err, "connecting to %s was interrupted", t->peer);
    return errinfo_sys(info, err, cause.sys, "cannot connect to %s (%s)", t->peer, text);
}

/* share(env, deadline, left): until when one of ${left} addresses may be tried. */
static int64_t
share(const struct stream_env *env, int64_t deadline, size_t left)
{
    int64_t now = clock_mono_ms(env->clock);

    if (deadline == DEADLINE_NEVER)
        return clock_after(now, TRY_MS);
    return deadline <= now ? deadline : now + (deadline - now) / (int64_t)left;
}

static enum err
try_all(struct tcp_stream *t, const struct addr_list *to, int64_t deadline, struct errinfo *info)
{
    enum err err = ERR_NAME;
    size_t i;

    for (i = 0; i < to->count; i++) {
        err = try_address(t, &to->list[i], share(t->env, deadline, to->count - i), info);
        if (err == ERR_OK || err == ERR_STOP)
            break;
    }
    return err;
}

enum err
stream_connect(struct stream **out, const struct stream_env *env,
               const struct stream_target *target, int64_t deadline, struct errinfo *info)
{
    bool six = slice_find(target->host, ':') != target->host.n;
    struct addr_list to;
    struct tcp_stream *t;
    enum err err;

    if (env->connect != NULL)
        return env->connect(out, env, target, deadline, info);
    if (target->tls != NULL)
        return errinfo_set(info, ERR_CONFIG, "this build has no TLS");
    err = addr_resolve(&to, env, target->host, target->port, deadline, info);
    if (err != ERR_OK)
        return err;
    t = mem_zalloc(sizeof(*t));
    if (t == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a connection");
    t->base.ops = &tcp_ops;
    t->env = env;
    t->quick_ack = target->quick_ack;
    conn_init(&t->conn, -1);
    (void)snprintf(t->peer, sizeof(t->peer), six ? "[%.*s]:%u" : "%.*s:%u",
                   target->host.n > 70 ? 70 : (int)target->host.n, (const char *)target->host.p,
                   (unsigned)target->port);
    err = try_all(t, &to, deadline, info);
    if (err != ERR_OK) {
        stream_close(&t->base);
        return err;
    }
    *out = &t->base;
    return ERR_OK;
}

enum err
stream_pause(const struct stream_env *env, int64_t deadline)
{
    enum err err;

    if (env->pause != NULL)
        return env->pause(env, deadline);
    err = stream_env_wait(env, NULL, 0, false, deadline);
    assert(err != ERR_OK); /* nothing to be ready */
    return err;
}
