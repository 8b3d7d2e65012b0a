/*
 * stream_script.c: streams in memory that follow a script.
 */
#include "support/stream_script.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define SEEN_MAX (4u << 20)

struct script_stream {
    struct stream base; /* first */
    struct script_host *host;
    struct script_conn *conn;
};

static struct script_stream *
script_of(struct stream *s)
{
    return (struct script_stream *)s;
}

static bool
is_write_step(const struct script_step *step)
{
    return step->kind == SCRIPT_EXPECT || step->kind == SCRIPT_EXPECT_ANY ||
           step->kind == SCRIPT_EXPECT_UNTIL || step->kind == SCRIPT_WRITE_FAILS;
}

static enum err
wrong(struct script_conn *c, const char *what, struct slice bytes)
{
    if (c->wrong[0] == '\0')
        (void)snprintf(c->wrong, sizeof(c->wrong), "%s at step %zu, byte %zu: \"%.*s\"", what,
                       c->write_at, c->write_done, bytes.n < 80 ? (int)bytes.n : 80,
                       (const char *)bytes.p);
    return ERR_IO;
}

/* fault(h, conn): the fault that a test set for this call, or one that stays. */
static enum err
fault(struct script_host *h, struct script_conn *c)
{
    h->calls++;
    if (h->calls != h->fault_at)
        return c == NULL ? ERR_OK : c->broken;
    if (c != NULL && (h->fault == ERR_EOF || h->fault == ERR_IO))
        c->broken = h->fault;
    return h->fault;
}

/* write_step(c): what is to be written next; NULL at the end. */
static const struct script_step *
write_step(struct script_conn *c)
{
    while (c->write_at < c->count && !is_write_step(&c->steps[c->write_at]))
        c->write_at++;
    return c->write_at < c->count ? &c->steps[c->write_at] : NULL;
}

static void
write_step_done(struct script_conn *c)
{
    c->write_at++;
    c->write_done = 0;
    buf_clear(&c->seen);
}

/* until(c, step, rest, used): look for the end of an EXPECT_UNTIL step, byte by byte. */
static enum err
until(struct script_conn *c, const struct script_step *step, struct slice rest, size_t *used)
{
    for (*used = 0; *used < rest.n;) {
        if (buf_add_byte(&c->seen, rest.p[*used]) != ERR_OK)
            return wrong(c, "no end in sight", rest);
        ++*used;
        if (slice_ends(buf_peek(&c->seen), step->bytes)) {
            write_step_done(c);
            break;
        }
    }
    return ERR_OK;
}

/* take(c, rest, used): match the first bytes of ${rest} with the next write step. */
static enum err
take(struct script_conn *c, struct slice rest, size_t *used)
{
    const struct script_step *step = write_step(c);
    size_t whole;

    if (step == NULL)
        return wrong(c, "wrote after the end of the script", rest);
    if (step->kind == SCRIPT_WRITE_FAILS) {
        c->write_failed = true;
        return step->err;
    }
    if (step->kind == SCRIPT_EXPECT_UNTIL)
        return until(c, step, rest, used);
    whole = step->kind == SCRIPT_EXPECT ? step->bytes.n : step->count;
    *used = rest.n < whole - c->write_done ? rest.n : whole - c->write_done;
    if (step->kind == SCRIPT_EXPECT && memcmp(rest.p, step->bytes.p + c->write_done, *used) != 0)
        return wrong(c, "wrote something else", rest);
    c->write_done += *used;
    if (c->write_done == whole)
        write_step_done(c);
    return ERR_OK;
}

static enum err
script_write(struct stream *s, const struct slice *parts, size_t count, int64_t deadline,
             struct errinfo *info)
{
    struct script_stream *t = script_of(s);
    struct slice rest;
    enum err err = fault(t->host, t->conn);
    size_t i, used;

    assert(count <= 16);
    for (i = 0; i < count && err == ERR_OK; i++) {
        for (rest = parts[i]; rest.n > 0 && err == ERR_OK; rest = slice_from(rest, used)) {
            used = 0;
            err = take(t->conn, rest, &used);
            t->conn->written += used;
        }
    }
    if (err == ERR_TIMEOUT)
        fake_clock_until(&t->host->clock, deadline);
    return err == ERR_OK ? ERR_OK : errinfo_set(info, err, "script: write");
}

/* read_step(c): what can be read next, maybe after a delay; NULL: silence. */
static const struct script_step *
read_step(struct script_conn *c)
{
    const struct script_step *to_write = write_step(c);

    while (c->read_at < c->count && is_write_step(&c->steps[c->read_at])) {
        if (to_write != NULL && c->read_at >= c->write_at && !c->write_failed)
            return NULL;
        c->read_at++;
    }
    return c->read_at < c->count ? &c->steps[c->read_at] : NULL;
}

static enum err
out_of_time(struct script_stream *t, int64_t deadline)
{
    if (deadline == DEADLINE_NEVER)
        (void)wrong(t->conn, "waited for ever", SLICE(""));
    else
        fake_clock_until(&t->host->clock, deadline);
    return ERR_TIMEOUT;
}

/* await(t, deadline): until something can be read: bytes, or that reads fail. */
static enum err
await(struct script_stream *t, int64_t deadline)
{
    struct script_conn *c = t->conn;
    const struct script_step *step = read_step(c);
    int64_t now = t->host->clock.mono_ms;

    if (step == NULL)
        return out_of_time(t, deadline);
    if (step->kind == SCRIPT_ONCE) {
        if (step->err == ERR_TIMEOUT && deadline <= now)
            return ERR_TIMEOUT; /* a mere look leaves it for the wait that it is meant for */
        c->read_at++;
        return step->err == ERR_TIMEOUT ? out_of_time(t, deadline) : step->err;
    }
    if (step->kind == SCRIPT_GIVE && step->delay_ms > 0 && !c->due) {
        if (clock_after(now, step->delay_ms) > deadline)
            return out_of_time(t, deadline);
        fake_clock_advance(&t->host->clock, step->delay_ms);
        c->due = true;
    }
    return ERR_OK;
}

static bool
is_stopped(const struct script_host *h)
{
    return h->env.stopped != NULL && h->env.stopped(h->env.arg);
}

/* give(t, step, p, size): hand out one piece; returns its length. */
static size_t
give(struct script_stream *t, const struct script_step *step, uint8_t *p, size_t size)
{
    struct script_conn *c = t->conn;
    size_t n = step->bytes.n - c->read_done;

    if (step->piece > 0 && n > step->piece)
        n = step->piece;
    if (t->host->piece > 0 && n > t->host->piece)
        n = t->host->piece;
    if (n > size)
        n = size;
    memcpy(p, step->bytes.p + c->read_done, n);
    c->read_done += n;
    c->due = false;
    if (c->read_done == step->bytes.n) {
        c->read_done = 0;
        c->rounds++;
        if (step->count != SCRIPT_ENDLESS && c->rounds >= step->count) {
            c->rounds = 0;
            c->read_at++;
        }
    }
    return n;
}

static enum err
script_read(struct stream *s, uint8_t *p, size_t size, size_t *got, int64_t deadline,
            struct errinfo *info)
{
    struct script_stream *t = script_of(s);
    const struct script_step *step;
    enum err err = fault(t->host, t->conn);

    assert(size > 0);
    *got = 0;
    if (err == ERR_TIMEOUT)
        fake_clock_until(&t->host->clock, deadline);
    if (err == ERR_OK && read_step(t->conn) == NULL && is_stopped(t->host))
        err = ERR_STOP;
    if (err == ERR_OK)
        err = await(t, deadline);
    if (err == ERR_OK) {
        step = read_step(t->conn);
        assert(step != NULL);
        if (step->kind == SCRIPT_READ_FAILS)
            err = step->err;
        else
            *got = give(t, step, p, size);
    }
    return err == ERR_OK ? ERR_OK : errinfo_set(info, err, "script: read");
}

static enum err
script_wait(struct stream *s, int64_t deadline, struct errinfo *info)
{
    struct script_stream *t = script_of(s);
    enum err err = fault(t->host, t->conn);

    if (err == ERR_EOF)
        return ERR_OK; /* the news that a read will bring */
    if (err == ERR_TIMEOUT)
        fake_clock_until(&t->host->clock, deadline);
    if (err == ERR_OK && is_stopped(t->host))
        err = ERR_STOP;
    if (err == ERR_OK)
        err = await(t, deadline);
    return err == ERR_OK ? ERR_OK : errinfo_set(info, err, "script: wait");
}

/* script_wait_any: the first that is ready at once, else the one with the shortest delay. */
static enum err
script_wait_any(struct stream *const *streams, size_t count, size_t *ready, int64_t deadline,
                struct errinfo *info)
{
    const struct script_step *step;
    size_t i, best = 0;
    int64_t delay, shortest = INT64_MAX;
    enum err err;

    for (i = 0; i < count; i++) {
        step = read_step(script_of(streams[i])->conn);
        if (step == NULL)
            continue;
        delay = step->kind == SCRIPT_GIVE && !script_of(streams[i])->conn->due ? step->delay_ms : 0;
        if (delay < shortest) {
            shortest = delay;
            best = i;
        }
    }
    err = script_wait(streams[best], deadline, info);
    if (err == ERR_OK)
        *ready = best;
    return err;
}

static void
script_close(struct stream *s)
{
    struct script_stream *t = script_of(s);

    t->conn->closed = true;
    mem_free(t);
}

static const struct stream_ops script_ops = {script_read, script_write, script_wait,
                                             script_wait_any, script_close};

static struct script_host *
host_of(const struct stream_env *env)
{
    return (struct script_host *)(uintptr_t)env; /* it is the host's first member */
}

static enum err
script_connect(struct stream **out, const struct stream_env *env,
               const struct stream_target *target, int64_t deadline, struct errinfo *info)
{
    struct script_host *h = host_of(env);
    struct script_conn *c;
    struct script_stream *t;
    enum err err = fault(h, NULL);

    slice_copy_text(target->host, h->host, sizeof(h->host));
    h->port = target->port;
    if (err == ERR_OK && h->next == h->count)
        err = ERR_IO; /* nobody listens any more */
    if (err == ERR_OK && h->conns[h->next].refuse != ERR_OK) {
        h->conns[h->next].open = h->conns[h->next].closed = true;
        err = h->conns[h->next++].refuse;
    }
    if (err == ERR_TIMEOUT)
        fake_clock_until(&h->clock, deadline);
    if (err != ERR_OK)
        return errinfo_set(info, err == ERR_EOF ? ERR_IO : err, "script: connect");
    t = mem_zalloc(sizeof(*t));
    if (t == NULL)
        return errinfo_set(info, ERR_NOMEM, "script: connect");
    c = &h->conns[h->next++];
    c->open = true;
    *t = (struct script_stream){{&script_ops}, h, c};
    *out = &t->base;
    return ERR_OK;
}

static enum err
script_pause(const struct stream_env *env, int64_t deadline)
{
    struct script_host *h = host_of(env);

    if (is_stopped(h))
        return ERR_STOP;
    h->pauses++;
    if (deadline > h->clock.mono_ms)
        h->paused_ms += deadline - h->clock.mono_ms;
    fake_clock_until(&h->clock, deadline);
    return ERR_TIMEOUT;
}

void
stream_script_init(struct script_host *h, struct script_conn *conns, size_t count)
{
    size_t i;

    memset(h, 0, sizeof(*h));
    fake_clock_init(&h->clock, 1000000, INT64_C(1796040000) * 1000000000);
    h->env.clock = &h->clock.clock;
    h->env.connect = script_connect;
    h->env.pause = script_pause;
    h->conns = conns;
    h->count = count;
    for (i = 0; i < count; i++) {
        struct script_conn fresh = {
            .steps = conns[i].steps, .count = conns[i].count, .refuse = conns[i].refuse};

        conns[i] = fresh;
        buf_init(&conns[i].seen, SEEN_MAX);
    }
}

const char *
stream_script_done(const struct script_host *h)
{
    size_t i;

    for (i = 0; i < h->count; i++) {
        struct script_conn *c = &h->conns[i];

        if (c->wrong[0] != '\0')
            return c->wrong;
        if (!c->open)
            return "a connection was not opened";
        if (!c->closed)
            return "a connection was not closed";
        if (c->refuse == ERR_OK && write_step(c) != NULL &&
            write_step(c)->kind != SCRIPT_WRITE_FAILS)
            return "an expected write did not come";
    }
    return NULL;
}

void
stream_script_free(struct script_host *h)
{
    size_t i;

    for (i = 0; i < h->count; i++)
        buf_free(&h->conns[i].seen);
}
