/*
 * server_conn.c: one client's socket: reading, writing, deadlines, the end.
 *
 * Every change goes through server_conn_pump: it steps the machine, writes, reads what TLS holds
 * back, and then sets what the loop watches for. Only its last act may free the connection.
 */
#include "daemon/server_conn.h"

#include <poll.h>
#include <sys/socket.h>

/* After the last answer a client that still sends is read from for so long and so much, or the
 * kernel would answer its bytes with a reset that can overtake the answer. */
#define LINGER_MS 2000
#define LINGER_BYTES (1u << 20)

/* Reads of one connection in one turn of the loop, as long as they fill what they are given: so a
 * body is complete, and worked on, before many others have begun. */
#define READS_MAX 16

static void on_ready(void *arg, int events);

enum err
server_conn_open(struct server_conn *c, struct server_conn_env *env, int fd)
{
    *c = (struct server_conn){0};
    c->env = env;
    conn_init(&c->conn, fd);
    http_server_init(&c->http, &env->http);
    c->progress_ms = loop_now_ms(env->loop);
    c->watch = loop_add(env->loop, fd, LOOP_READ, on_ready, c);
    if (c->watch == NULL) {
        http_server_free(&c->http);
        conn_close(&c->conn);
        return ERR_NOMEM;
    }
    server_conn_pump(c);
    return ERR_OK;
}

void
server_conn_close(struct server_conn *c)
{
    loop_timer_clear(c->env->loop, &c->timer);
    loop_remove(c->watch);
    c->watch = NULL;
    conn_close(&c->conn);
    if (c->is_idle)
        c->env->idle(c, false);
    c->is_idle = false;
    c->env->gone(c); /* ends an open call first: it may still look at the request */
}

/* note_begin(c): the first byte of a request is here. */
static void
note_begin(struct server_conn *c)
{
    if (c->begun == c->answered + 1 || http_server_phase(&c->http) != HTTP_READING)
        return;
    c->begun = c->answered + 1;
    c->begun_ms = loop_now_ms(c->env->loop);
}

static void
note_answered(struct server_conn *c)
{
    c->answered++;
    c->progress_ms = loop_now_ms(c->env->loop);
}

static void
refresh_date(struct server_conn_env *env)
{
    int64_t now_s = clock_wall_ns(&clock_system) / 1000000000;

    if (now_s == env->date_s && env->http.date[0] != '\0')
        return;
    env->date_s = now_s;
    (void)h1_write_date(env->http.date, now_s);
}

void
server_conn_answer(struct server_conn *c, const struct http_answer *a)
{
    refresh_date(c->env);
    http_server_answer(&c->http, a);
    note_answered(c);
}

static void
run_machine(struct server_conn *c)
{
    enum http_event event;

    refresh_date(c->env);
    for (;;) {
        note_begin(c);
        event = http_server_step(&c->http);
        if (event == HTTP_WAIT)
            return;
        if (event == HTTP_REFUSED)
            note_answered(c);
        c->env->event(c, event);
    }
}

/* write_out(c): true when something was written. */
static bool
write_out(struct server_conn *c)
{
    struct errinfo info;
    size_t put, before = buf_len(&c->http.out);
    enum err err = ERR_OK;

    while (buf_len(&c->http.out) > 0 && err == ERR_OK) {
        err = conn_write(&c->conn, buf_peek(&c->http.out), &put, &info);
        if (err == ERR_OK)
            http_server_sent(&c->http, put);
    }
    if (err != ERR_OK && err != ERR_AGAIN)
        c->lost = true;
    if (buf_len(&c->http.out) == before)
        return false;
    c->progress_ms = loop_now_ms(c->env->loop);
    return true;
}

/* read_in(c): one read; true when bytes or the end came. */
static bool
read_in(struct server_conn *c)
{
    size_t room = http_server_room(&c->http), got;
    struct errinfo info;
    enum err err;

    c->want_write = c->more_waits = false;
    if (room == 0)
        return false;
    if (room > c->env->scratch_bytes)
        room = c->env->scratch_bytes;
    err = conn_read(&c->conn, c->env->scratch, room, &got, &info);
    c->more_waits = err == ERR_OK && got == room;
    if (err == ERR_OK)
        err = http_server_receive(&c->http, slice_make(c->env->scratch, got));
    else if (err == ERR_EOF)
        http_server_eof(&c->http);
    if (err == ERR_AGAIN) {
        c->want_write = (conn_wants(&c->conn) & POLLOUT) != 0;
        return false;
    }
    c->lost = c->lost || (err != ERR_OK && err != ERR_EOF);
    return !c->lost;
}

static int64_t
deadline_of(const struct server_conn *c)
{
    if (c->lingering)
        return c->progress_ms + LINGER_MS;
    switch (http_server_phase(&c->http)) {
    case HTTP_IDLE:
        return c->env->idle_timeout_ms == 0 ? DEADLINE_NEVER
                                            : c->progress_ms + c->env->idle_timeout_ms;
    case HTTP_READING:
        return c->begun_ms + c->env->request_timeout_ms;
    case HTTP_SENDING:
    case HTTP_DRAINING:
        return c->progress_ms + c->env->request_timeout_ms;
    case HTTP_WORKING:
        break;
    }
    return DEADLINE_NEVER;
}

static void
on_timer(void *arg)
{
    struct server_conn *c = arg;
    bool was_idle = http_server_phase(&c->http) == HTTP_IDLE;

    if (deadline_of(c) > loop_now_ms(c->env->loop)) {
        server_conn_pump(c);
        return;
    }
    if (c->lingering || was_idle) {
        server_conn_close(c);
        return;
    }
    http_server_timeout(&c->http);
    server_conn_pump(c);
}

static void
set_idle(struct server_conn *c)
{
    bool is_idle = c->lingering || http_server_phase(&c->http) == HTTP_IDLE;

    if (is_idle == c->is_idle && (!is_idle || c->idle_for == c->answered))
        return;
    if (is_idle && c->is_idle) /* it was busy in between */
        c->env->idle(c, false);
    c->is_idle = is_idle;
    c->idle_for = c->answered;
    c->env->idle(c, is_idle);
}

/* settle(c): what the loop is to watch for until the next pump. */
static void
settle(struct server_conn *c)
{
    int64_t deadline;
    int events = 0;

    if (c->lingering || http_server_room(&c->http) > 0)
        events |= LOOP_READ;
    if (buf_len(&c->http.out) > 0 || c->want_write)
        events |= LOOP_WRITE;
    loop_change(c->watch, events);
    set_idle(c);
    deadline = deadline_of(c);
    /* A timer that comes too early finds a later deadline and moves itself: no need to touch the
     * heap for each request. */
    if (c->timer.slot != 0 && c->timer.at_ms <= deadline)
        return;
    if (loop_timer_set(c->env->loop, &c->timer, deadline, on_timer, c) != ERR_OK)
        server_conn_close(c); /* without a deadline it could stay for ever */
}

/* finish(c): all is sent; linger, or be gone. */
static void
finish(struct server_conn *c)
{
    if (c->lost || !http_server_must_linger(&c->http)) {
        server_conn_close(c);
        return;
    }
    if (!c->lingering) {
        c->lingering = true;
        c->progress_ms = loop_now_ms(c->env->loop);
        (void)shutdown(c->conn.fd, SHUT_WR);
    }
    settle(c);
}

void
server_conn_pump(struct server_conn *c)
{
    unsigned reads = 1;
    bool more;

    if (c->pumping)
        return;
    c->pumping = true;
    do {
        run_machine(c);
        more = write_out(c); /* room for output lets the next pipelined request begin */
        if (!c->lost && (conn_pending(&c->conn) || (c->more_waits && reads++ < READS_MAX)))
            more = read_in(c) || more;
    } while (more && !c->lost);
    c->pumping = false;
    if (c->lost || http_server_is_finished(&c->http))
        finish(c);
    else
        settle(c);
}

/* linger(c): throw away what the client still sends; its end is ours. */
static void
linger(struct server_conn *c)
{
    struct errinfo info;
    size_t got;
    enum err err = conn_read(&c->conn, c->env->scratch, c->env->scratch_bytes, &got, &info);

    c->lingered += got;
    if ((err != ERR_OK && err != ERR_AGAIN) || c->lingered > LINGER_BYTES)
        server_conn_close(c);
}

static void
on_ready(void *arg, int events)
{
    struct server_conn *c = arg;

    if (c->lingering) {
        linger(c);
        return;
    }
    /* Nothing was asked for: a hang-up while the request is worked on. */
    if ((events & LOOP_READ) != 0 && http_server_room(&c->http) == 0 &&
        buf_len(&c->http.out) == 0 && !c->want_write)
        c->lost = true;
    else if ((events & LOOP_READ) != 0 || c->want_write)
        (void)read_in(c);
    server_conn_pump(c);
}
