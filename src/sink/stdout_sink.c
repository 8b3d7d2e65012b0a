/*
 * stdout_sink.c: points on standard output: for pipes, for looking, for tests.
 *
 * Line protocol and JSON are one point a line. MessagePack is one map behind the other with nothing
 * in between: the form says itself where a value ends, and a LF could stand inside one.
 * Written counts as delivered. Whole lines go out in pieces of at most PIPE_BUF bytes, each after
 * poll said that there is room: so a reader that stalls holds up this sink alone, and never its
 * end.
 */
#include "sink/stdout_sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/stream_env.h"
#include "point/point.h"
#include "point/point_json.h"
#include "point/point_msgpack.h"

/* What a pipe takes without blocking, and without mixing it with another writer's (POSIX
 * write()). */
#define PIECE_BYTES 4096

#define LINE_MAX_BYTES ((size_t)256 << 20)

/* Longest wait for a reader before the round is offered again. */
#define WAIT_MS 10000

struct standard_output {
    struct sink base;
    const struct sink_env *env;
    enum sink_format format;
    enum precision precision;
    struct buf text;
    uint64_t torn_seq; /* the point at the start of a piece that was written in part */
    size_t torn_bytes; /* that much of it; 0: none was */
};

static struct standard_output *
of(struct sink *s)
{
    return (struct standard_output *)s;
}

static enum err
stdout_check(const struct sink_def *def, struct errinfo *info)
{
    (void)def;
    (void)info;
    return ERR_OK;
}

static enum err
stdout_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
            struct errinfo *info)
{
    struct standard_output *o = mem_zalloc(sizeof(*o));

    if (o == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink");
    o->base.type = &stdout_sink;
    o->env = env;
    o->format = def->format;
    o->precision = (enum precision)sink_def_number(def, "precision");
    buf_init(&o->text, LINE_MAX_BYTES);
    *out = &o->base;
    return ERR_OK;
}

static enum err
stdout_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    (void)s;
    (void)deadline;
    (void)outcome;
    (void)info;
    return ERR_OK;
}

static enum err
stdout_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    (void)info;
    return stream_pause(&of(s)->env->stream, until);
}

static void
stdout_disconnect(struct sink *s)
{
    buf_clear(&of(s)->text);
}

static void
stdout_close(struct sink *s)
{
    if (s == NULL)
        return;
    buf_free(&of(s)->text);
    mem_free(s);
}

static enum err
write_failed(int sys, struct outcome *outcome, struct errinfo *info)
{
    outcome_is(outcome, sys == EPIPE ? DELIVERY_TARGET : DELIVERY_TRANSIENT, STORE_ERROR_TARGET);
    return errinfo_sys(info, ERR_IO, sys, "cannot write to standard output");
}

/* Write all of ${text}, in pieces; ${written}: how much of it was. */
static enum err
write_text(struct standard_output *o, struct slice text, size_t *written, struct outcome *outcome,
           struct errinfo *info)
{
    int64_t deadline = clock_after(clock_mono_ms(o->env->stream.clock), WAIT_MS);

    *written = 0;
    while (*written < text.n) {
        struct slice rest = slice_to(slice_from(text, *written), PIECE_BYTES);
        struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
        enum err err = stream_env_wait(&o->env->stream, &fd, 1, true, deadline);
        ssize_t put;

        if (err == ERR_TIMEOUT) {
            outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT);
            return errinfo_set(info, err, "nobody reads from standard output");
        }
        if (err != ERR_OK)
            return err;
        put = write(STDOUT_FILENO, rest.p, rest.n);
        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return write_failed(errno, outcome, info);
        if (put > 0)
            *written += (size_t)put;
    }
    return ERR_OK;
}

/* Write what begins with the point ${seq}. What a reader has of it already is not written again:
 * half a line and then the whole one would be a line that nobody sent. A reader that comes anew has
 * nothing. */
static enum err
write_piece(struct standard_output *o, uint64_t seq, struct outcome *outcome, struct errinfo *info)
{
    struct slice text = buf_peek(&o->text);
    size_t skipped = 0, written = 0;
    enum err err = ERR_OK;

    if (o->torn_bytes > 0 && o->torn_seq == seq)
        skipped = o->torn_bytes;
    else if (o->torn_bytes > 0 && o->format != SINK_MSGPACK) /* its point is gone: end the line */
        err = write_text(o, SLICE("\n"), &written, outcome, info);
    if (err != ERR_OK)
        return err;
    err = write_text(o, slice_from(text, skipped), &written, outcome, info);
    o->torn_seq = seq;
    o->torn_bytes = err == ERR_OK || outcome->what == DELIVERY_TARGET ? 0 : skipped + written;
    return err;
}

static enum err
put_point(struct standard_output *o, const struct batch_point *point)
{
    enum err err = ERR_BAD;

    switch (o->format) {
    case SINK_LINE_PROTOCOL:
        err = point_put_line(&o->text, point->line, point->timestamp_ns, o->precision);
        break;
    case SINK_JSON:
        err = point_json_put(&o->text, point->line, point->timestamp_ns, o->precision);
        break;
    case SINK_MSGPACK:
        return point_msgpack_put(&o->text, point->line, point->timestamp_ns, o->precision);
    }
    return err == ERR_OK ? buf_add_byte(&o->text, '\n') : err;
}

/* The open points from ${from} on that fit in one piece (at least one). A point that has no such
 * form is refused. */
static enum err
fill_text(struct standard_output *o, struct round *round, size_t from, size_t to, size_t *end)
{
    buf_clear(&o->text);
    for (size_t i = from; i < to; i++) {
        struct batch_point point = batch_point(&round->points, i);
        size_t before = buf_len(&o->text);
        enum err err;

        if (!round_is_open(round, i))
            continue;
        err = put_point(o, &point);
        if (err == ERR_BAD)
            round_set(round, i, i + 1, VERDICT_REFUSED);
        else if (err != ERR_OK)
            return err;
        if (buf_len(&o->text) > PIECE_BYTES && before > 0) {
            buf_cut(&o->text, before);
            break;
        }
        *end = i + 1;
    }
    return ERR_OK;
}

static enum err
stdout_deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
               struct errinfo *info)
{
    struct standard_output *o = of(s);

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    while (from < to) {
        size_t end = to;
        enum err err;

        while (from < to && !round_is_open(round, from))
            from++;
        err = fill_text(o, round, from, to, &end);
        if (err != ERR_OK)
            return errinfo_set(info, err, "no memory for a line");
        if (buf_len(&o->text) > 0)
            err = write_piece(o, batch_point(&round->points, from).seq, outcome, info);
        if (err != ERR_OK)
            return err;
        round_set(round, from, end, VERDICT_DELIVERED);
        from = end;
    }
    outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
    return ERR_OK;
}

const struct sink_type stdout_sink = {
    .name = "stdout",
    .options = {NULL, 0},
    .has_url = false,
    .schemes = "",
    .formats = 1u << SINK_LINE_PROTOCOL | 1u << SINK_JSON | 1u << SINK_MSGPACK,
    .check = stdout_check,
    .open = stdout_open,
    .connect = stdout_connect,
    .deliver = stdout_deliver,
    .idle = stdout_idle,
    .disconnect = stdout_disconnect,
    .close = stdout_close,
};
