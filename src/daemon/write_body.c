/*
 * write_body.c: see write_body.h.
 */
#include "daemon/write_body.h"

#include <inttypes.h>

#include "base/mem.h"
#include "daemon/daemon.h"
#include "point/ingest.h"
#include "point/point_msgpack.h"

#define YEAR_2000_NS INT64_C(946684800000000000)
#define DAY_NS INT64_C(86400000000000)

/* Of the first refused point, where its text does not outlive the parser: what an answer echoes. */
#define KEPT_MAX (LINEPROTO_ECHO_MAX + 16)

struct parse {
    struct write_body *out;
    struct daemon *daemon;
    struct chunk_builder *builder;
    int64_t now_ns;
    size_t limit;
    struct lineproto_bad first_bad;
    uint8_t line[KEPT_MAX], detail[KEPT_MAX];
};

enum write_form
write_body_form(struct slice content_type)
{
    struct slice type = slice_trim(slice_to(content_type, slice_find(content_type, ';')));

    if (slice_eq_nocase(type, SLICE(POINT_MSGPACK_ROWS_TYPE)) ||
        slice_eq_nocase(type, SLICE("application/x-msgpack")))
        return WRITE_BODY_ROWS;
    if (slice_eq_nocase(type, SLICE(POINT_MSGPACK_COLUMN_TYPE)))
        return WRITE_BODY_COLUMNS;
    return WRITE_BODY_LINES;
}

void
write_body_init(struct write_body *b)
{
    *b = (struct write_body){.good = 0};
    buf_init(&b->chunks, 0);
    buf_init(&b->complaint, 4096);
}

void
write_body_free(struct write_body *b)
{
    buf_free(&b->chunks);
    buf_free(&b->complaint);
}

/* A time before 2000, or more than a day ahead of a clock that can be believed. */
static bool
is_suspicious(const struct lineproto_point *point, int64_t now_ns)
{
    return point->time_ns < YEAR_2000_NS ||
           (clock_plausible(now_ns) && point->time_ns - DAY_NS > now_ns);
}

static enum err
take_point(struct parse *p, const struct lineproto_point *point)
{
    p->out->good++;
    p->daemon->counters.suspicious_timestamps += is_suspicious(point, p->now_ns);
    return chunk_builder_add(p->builder, point);
}

static void
count_bad(struct parse *p, const struct lineproto_bad *bad)
{
    p->daemon->counters.rejected_lines[bad->reason]++;
    if (p->out->bad++ == 0)
        p->first_bad = *bad;
}

/* The beginning of a text that will not stay. */
static struct slice
keep(uint8_t *memory, struct slice s)
{
    s = slice_to(s, KEPT_MAX);
    if (s.n > 0)
        memcpy(memory, s.p, s.n);
    return slice_make(memory, s.n);
}

static enum err
parse_lines(struct parse *p, struct slice body, enum precision precision)
{
    struct lineproto lines;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    enum err err = ERR_OK;

    lineproto_init(&lines, body, precision, p->now_ns);
    while (err == ERR_OK && (event = lineproto_next(&lines, &point, &bad)) != LINEPROTO_END) {
        if (event == LINEPROTO_BAD)
            count_bad(p, &bad);
        else
            err = take_point(p, &point);
    }
    return err;
}

static enum err
too_long(struct parse *p)
{
    if (buf_printf(&p->out->complaint,
                   "Request Entity Too Large: the body has more than %u points, or more than %zu "
                   "bytes as line protocol",
                   WRITE_BODY_POINTS_MAX, p->limit) != ERR_OK)
        return ERR_NOMEM;
    return ERR_RANGE;
}

static enum err
broken(struct parse *p, const struct ingest *in)
{
    size_t at;
    const char *problem = ingest_problem(in, &at);

    if (buf_printf(&p->out->complaint, "invalid MessagePack body: %s (near byte %zu)", problem,
                   at) != ERR_OK)
        return ERR_NOMEM;
    return ERR_BAD;
}

static enum err
parse_points(struct parse *p, struct ingest *in)
{
    struct lineproto_point point;
    struct lineproto_bad bad;
    size_t bytes = 0;
    enum err err = ERR_OK;

    while (err == ERR_OK) {
        enum ingest_event event = ingest_next(in, &point, &bad);

        if (event == INGEST_END)
            break;
        if (event == INGEST_BROKEN)
            return broken(p, in);
        bytes += buf_len(in->line) + 1;
        if (event == INGEST_NOMEM || bytes > p->limit || in->number > WRITE_BODY_POINTS_MAX)
            return too_long(p);
        if (event == INGEST_POINT) {
            err = take_point(p, &point);
            continue;
        }
        count_bad(p, &bad);
        if (p->out->bad == 1) {
            p->first_bad.line = keep(p->line, bad.line);
            p->first_bad.detail = keep(p->detail, bad.detail);
        }
    }
    return err;
}

static enum err
parse_form(struct parse *p, enum write_form form, struct slice body, enum precision precision)
{
    struct ingest in;
    struct buf line;
    enum err err;

    if (form == WRITE_BODY_LINES)
        return parse_lines(p, body, precision);
    buf_init(&line, p->limit);
    if (form == WRITE_BODY_ROWS)
        ingest_rows(&in, body, &line, precision, p->now_ns);
    else
        ingest_columns(&in, body, &line, precision, p->now_ns);
    err = parse_points(p, &in);
    buf_free(&line);
    return err;
}

enum err
write_body_parse(struct write_body *b, struct daemon *daemon, enum write_form form,
                 struct slice body, enum precision precision, const struct chunk_origin *origin,
                 size_t limit)
{
    struct chunk_builder *builder = mem_alloc(sizeof(*builder));
    struct parse p = {.out = b,
                      .daemon = daemon,
                      .builder = builder,
                      .now_ns = origin->accepted_ns,
                      .limit = limit};
    enum err err;

    if (builder == NULL)
        return ERR_NOMEM;
    buf_init(&b->chunks, (form == WRITE_BODY_LINES ? body.n : limit) * 4 + 65536);
    recycle_take(server_recycle(daemon->server), &b->chunks, body.n); /* mostly less is needed */
    err = buf_reserve(&b->chunks, body.n) == NULL ? ERR_NOMEM : ERR_OK;
    if (err == ERR_OK)
        err = chunk_builder_init(builder, &b->chunks, store_chunk_max(daemon->store), origin);
    if (err == ERR_OK)
        err = parse_form(&p, form, body, precision);
    if (err == ERR_OK)
        err = chunk_builder_finish(builder);
    if (err == ERR_OK && b->bad > 0)
        err = lineproto_put_error(&b->complaint, &p.first_bad, b->good, b->bad);
    mem_free(builder);
    return err;
}
