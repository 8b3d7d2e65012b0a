/*
 * http_line_sink.c: points as line protocol, POSTed to anything that speaks InfluxDB's /write.
 *
 * One request holds the open points of one target, at most max_batch_bytes of them. The
 * destination's answer confirms or refuses it as a whole.
 * Source: InfluxDB 1.x HTTP API, POST /write.
 */
#include "sink/http_line_sink.h"

#include "base/mem.h"
#include "point/point.h"
#include "sink/http_post.h"

/* One body: max_batch_bytes, or a single larger point. */
#define BODY_MAX ((size_t)256 << 20)

static const struct option options[] = {
    HTTP_POST_OPTIONS,
};

struct http_line {
    struct sink base;
    struct http_post *post;
    enum precision precision;
    size_t max_bytes;
    struct buf body;
};

static struct http_line *
of(struct sink *s)
{
    return (struct http_line *)s;
}

static void
line_close(struct sink *s)
{
    if (s == NULL)
        return;
    http_post_close(of(s)->post);
    buf_free(&of(s)->body);
    mem_free(s);
}

static enum err
line_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
          struct errinfo *info)
{
    struct http_line *line = mem_zalloc(sizeof(*line));
    enum err err;

    if (line == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an HTTP sink");
    line->base.type = &http_line_sink;
    line->precision = (enum precision)sink_def_number(def, "precision");
    line->max_bytes = (size_t)sink_def_number(def, "max_batch_bytes");
    buf_init(&line->body, BODY_MAX);
    err = http_post_open(&line->post, def, env, false, info);
    if (err != ERR_OK) {
        line_close(&line->base);
        return err;
    }
    *out = &line->base;
    return ERR_OK;
}

static enum err
line_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    return http_post_connect(of(s)->post, deadline, outcome, info);
}

static enum err
line_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    return http_post_idle(of(s)->post, until, info);
}

static void
line_disconnect(struct sink *s)
{
    http_post_disconnect(of(s)->post);
}

/* Whether point i goes where ${first} goes. */
static bool
same_target(const struct http_line *line, const struct batch_point *first,
            const struct batch_point *point)
{
    return http_post_one_target(line->post) ||
           (slice_eq(first->database, point->database) && slice_eq(first->policy, point->policy));
}

/*
 * Fill the body with the open points of [from, to) that go where the first of them goes, up to the
 * limit. ${end} is the index behind the last one taken.
 */
static enum err
fill_body(struct http_line *line, const struct round *round, size_t from, size_t to, size_t *end)
{
    struct batch_point first = batch_point(&round->points, from);

    buf_clear(&line->body);
    for (size_t i = from; i < to; i++) {
        struct batch_point point = batch_point(&round->points, i);
        size_t before = buf_len(&line->body);

        if (!round_is_open(round, i) || !same_target(line, &first, &point))
            continue;
        if (point_put_line(&line->body, point.line, point.timestamp_ns, line->precision) !=
                ERR_OK ||
            buf_add_byte(&line->body, '\n') != ERR_OK)
            return ERR_NOMEM;
        if (buf_len(&line->body) > line->max_bytes && before > 0) {
            buf_cut(&line->body, before);
            break;
        }
        *end = i + 1;
    }
    return ERR_OK;
}

/* The points of the body just sent: the open ones of its target, up to ${end}. */
static void
confirm(const struct http_line *line, struct round *round, size_t from, size_t end)
{
    struct batch_point first = batch_point(&round->points, from);

    for (size_t i = from; i < end; i++) {
        struct batch_point point = batch_point(&round->points, i);

        if (same_target(line, &first, &point))
            round_set(round, i, i + 1, VERDICT_DELIVERED);
    }
}

static enum err
line_deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
             struct errinfo *info)
{
    struct http_line *line = of(s);

    for (bool begun = false;; begun = true) {
        struct batch_point first;
        size_t end = from;
        enum err err;

        while (from < to && !round_is_open(round, from))
            from++;
        if (from == to) {
            outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
            return ERR_OK;
        }
        outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
        if (begun && sink_yields(s))
            return ERR_STOP;
        if (fill_body(line, round, from, to, &end) != ERR_OK)
            return errinfo_set(info, ERR_NOMEM, "no memory for a request");
        first = batch_point(&round->points, from);
        err = http_post_send(line->post, &first, "text/plain; charset=utf-8", buf_peek(&line->body),
                             outcome, info);
        if (err != ERR_OK) {
            outcome->from = from;
            outcome->to = end;
            return err;
        }
        confirm(line, round, from, end);
    }
}

const struct sink_type http_line_sink = {
    .name = "http_line",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "http https",
    .formats = 1u << SINK_LINE_PROTOCOL,
    .check = http_post_check,
    .open = line_open,
    .connect = line_connect,
    .deliver = line_deliver,
    .idle = line_idle,
    .disconnect = line_disconnect,
    .close = line_close,
};
