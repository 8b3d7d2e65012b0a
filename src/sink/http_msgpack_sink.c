/*
 * http_msgpack_sink.c: points as MessagePack, POSTed to a HyperbyteDB or another sinkd.
 *
 * A round is cut into many bodies (msgpack_plan.h), so requests are sent ahead of their answers on
 * one connection. Each answer is the verdict on one body. A body is refused alone: the answers to
 * those behind it are still taken, so that nothing confirmed is sent again.
 * Source: HyperbyteDB's row and columnar forms, docs/user-guide/sinks.md.
 */
#include "sink/http_msgpack_sink.h"

#include <assert.h>

#include "base/mem.h"
#include "sink/http_post.h"
#include "sink/msgpack_plan.h"

#define BODY_MAX ((size_t)256 << 20)

static const struct option options[] = {
    HTTP_POST_OPTIONS,
    {"layout", OPTION_CHOICE, "columnar", 0, 0, "columnar rows", "form of the bodies"},
};

enum { LAYOUT_COLUMNAR, LAYOUT_ROWS }; /* the words of the option layout */

struct http_msgpack {
    struct sink base;
    struct http_post *post;
    struct msgpack_plan *plan;
    struct buf body;
    size_t window; /* requests that may be under way: fewer after a peer closed on them */
};

/* One call of deliver. */
struct delivery_run {
    struct http_msgpack *sink;
    struct round *round;
    size_t from, to;
    struct msgpack_cursor cursor;
    struct msgpack_body waiting[HTTP_POST_AHEAD]; /* a ring: bodies without an answer */
    size_t first, count;
    size_t answers; /* since the last connection began */
    bool exhausted; /* no body is left to send */
    bool held;      /* the peer takes no more before its answers are read */
    bool resent;    /* once after a stale connection */
    bool failed;    /* a body was not confirmed: its outcome and text are kept */
    struct outcome outcome;
    struct errinfo info;
};

static struct http_msgpack *
of(struct sink *s)
{
    return (struct http_msgpack *)s;
}

static void
msgpack_close(struct sink *s)
{
    if (s == NULL)
        return;
    http_post_close(of(s)->post);
    msgpack_plan_close(of(s)->plan);
    buf_free(&of(s)->body);
    mem_free(s);
}

static enum err
msgpack_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
             struct errinfo *info)
{
    struct http_msgpack *m = mem_zalloc(sizeof(*m));
    struct msgpack_plan_config config;
    enum err err;

    if (m == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an HTTP sink");
    m->base.type = &http_msgpack_sink;
    m->window = HTTP_POST_AHEAD;
    buf_init(&m->body, BODY_MAX);
    err = http_post_open(&m->post, def, env, true, info);
    if (err == ERR_OK) {
        config = (struct msgpack_plan_config){
            .columnar = sink_def_number(def, "layout") == LAYOUT_COLUMNAR,
            .one_target = http_post_one_target(m->post),
            .precision = (enum precision)sink_def_number(def, "precision"),
            .max_bytes = (size_t)sink_def_number(def, "max_batch_bytes")};
        err = msgpack_plan_open(&m->plan, &config);
        if (err != ERR_OK)
            errinfo_set(info, err, "no memory for an HTTP sink");
    }
    if (err != ERR_OK) {
        msgpack_close(&m->base);
        return err;
    }
    *out = &m->base;
    return ERR_OK;
}

static enum err
msgpack_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    return http_post_connect(of(s)->post, deadline, outcome, info);
}

static enum err
msgpack_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    return http_post_idle(of(s)->post, until, info);
}

static void
msgpack_disconnect(struct sink *s)
{
    http_post_disconnect(of(s)->post);
}

/* ---- a round ---- */

/* The connection is gone with what waited on it. ERR_OK: start again with what is not confirmed,
 * since something was, or since the peer had closed an idle connection. */
static enum err
start_again(struct delivery_run *run, enum err why)
{
    struct http_msgpack *m = run->sink;
    bool progress = run->answers > 0;
    bool stale = why != ERR_OK && !run->resent && http_post_is_stale(m->post);

    http_post_disconnect(m->post);
    if (run->failed || (!progress && !stale))
        return why;
    if (progress && m->window > 1)
        m->window /= 2;
    run->resent = !progress;
    run->cursor = (struct msgpack_cursor){0};
    run->first = run->count = run->answers = 0;
    run->exhausted = run->held = false;
    return ERR_OK;
}

/* Send one body more, if there is one. */
static enum err
push(struct delivery_run *run, struct outcome *outcome, struct errinfo *info)
{
    struct http_msgpack *m = run->sink;
    struct msgpack_cursor before = run->cursor;
    struct msgpack_body *body = &run->waiting[(run->first + run->count) % HTTP_POST_AHEAD];
    struct batch_point point;
    enum err err =
        msgpack_plan_next(m->plan, run->round, run->from, run->to, &run->cursor, body, &m->body);

    if (err == ERR_EOF) {
        run->exhausted = true;
        return ERR_OK;
    }
    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (err != ERR_OK) {
        http_post_disconnect(m->post);
        return errinfo_set(info, err, "no memory for a request");
    }
    point = batch_point(&run->round->points, body->from);
    err = http_post_push(m->post, &point, body->content_type, buf_peek(&m->body), outcome, info);
    if (err == ERR_BUSY) {
        run->cursor = before;
        run->held = true;
        return ERR_OK;
    }
    if (err != ERR_OK)
        return err == ERR_STOP || err == ERR_NOMEM ? err : start_again(run, err);
    run->count++;
    return ERR_OK;
}

/* An answer came. */
static void
take_answer(struct delivery_run *run, bool confirmed, const struct outcome *outcome,
            const struct errinfo *info)
{
    struct http_msgpack *m = run->sink;
    const struct msgpack_body *body = &run->waiting[run->first];

    run->answers++;
    if (confirmed) {
        msgpack_plan_confirm(m->plan, run->round, body);
        if (m->window < HTTP_POST_AHEAD && run->answers % HTTP_POST_AHEAD == 0)
            m->window++;
    } else if (!run->failed) {
        run->failed = true;
        run->outcome = *outcome;
        run->outcome.from = body->from;
        run->outcome.to = body->to;
        run->info = *info;
    }
    run->first = (run->first + 1) % HTTP_POST_AHEAD;
    run->count--;
}

/* Read the oldest answer. */
static enum err
pull(struct delivery_run *run, struct outcome *outcome, struct errinfo *info)
{
    struct http_msgpack *m = run->sink;
    struct errinfo said = {ERR_OK, 0, ""};
    enum err err = http_post_pull(m->post, outcome, &said);

    if (err == ERR_OK || err == ERR_DENIED) {
        take_answer(run, err == ERR_OK, outcome, &said);
        if (http_post_waiting(m->post) > 0 || run->count == 0) {
            run->held = run->held && run->count > 0;
            return ERR_OK;
        }
        return start_again(run, ERR_OK); /* closed by that answer, with requests behind it */
    }
    if (info != NULL)
        *info = said;
    return err == ERR_STOP ? err : start_again(run, err);
}

static enum err
run_all(struct delivery_run *run, struct outcome *outcome, struct errinfo *info)
{
    enum err err = ERR_OK;

    while (err == ERR_OK && (run->count > 0 || (!run->exhausted && !run->failed))) {
        bool room = run->count < run->sink->window && !run->held;

        if (room && !run->exhausted && !run->failed)
            err = push(run, outcome, info);
        else
            err = pull(run, outcome, info);
        if (run->failed && http_post_waiting(run->sink->post) == 0)
            break;
    }
    return err;
}

static enum err
msgpack_deliver(struct sink *s, struct round *round, size_t from, size_t to,
                struct outcome *outcome, struct errinfo *info)
{
    struct http_msgpack *m = of(s);
    struct delivery_run run = {.sink = m, .round = round, .from = from, .to = to};
    enum err err = msgpack_plan_use(m->plan, round);

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (err != ERR_OK)
        return errinfo_set(info, err, "no memory to cut a batch into requests");
    err = run_all(&run, outcome, info);
    if (run.failed) {
        *outcome = run.outcome;
        if (info != NULL)
            *info = run.info;
        return ERR_DENIED;
    }
    if (err != ERR_OK)
        return err;
    assert(round_count(round, from, to, VERDICT_OPEN) == 0);
    outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
    return ERR_OK;
}

const struct sink_type http_msgpack_sink = {
    .name = "http_msgpack",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "http https",
    .formats = 1u << SINK_MSGPACK,
    .check = http_post_check,
    .open = msgpack_open,
    .connect = msgpack_connect,
    .deliver = msgpack_deliver,
    .idle = msgpack_idle,
    .disconnect = msgpack_disconnect,
    .close = msgpack_close,
};
