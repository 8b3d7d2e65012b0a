/*
 * ingest_parts.c: see ingest_parts.h.
 */
#include "point/ingest_parts.h"

#include "msgpack/msgpack_read.h"

void
ingest_parts_broken(struct ingest *in, const char *why)
{
    if (in->problem == NULL)
        in->problem = why;
}

void
ingest_parts_members(struct ingest *in, const struct slice names[INGEST_MEMBERS],
                     struct slice values[INGEST_MEMBERS])
{
    uint32_t count;

    for (size_t i = 0; i < INGEST_MEMBERS; i++)
        values[i] = slice_make(NULL, 0);
    if (msgpack_read_peek(&in->r) != MSGPACK_MAP) {
        ingest_parts_broken(in, rd_left(&in->r) == 0 ? "it ends too early" : "a map is expected");
        return;
    }
    count = msgpack_read_map(&in->r);
    for (uint32_t n = 0; n < count && in->r.err == ERR_OK; n++) {
        struct slice name = msgpack_read_str(&in->r), value;
        bool nil = msgpack_read_peek(&in->r) == MSGPACK_NIL;

        value = msgpack_read_skip(&in->r);
        for (size_t i = 0; i < INGEST_MEMBERS && in->r.err == ERR_OK && !nil; i++) {
            if (names[i].n == 0 || !slice_eq(names[i], name))
                continue;
            if (values[i].n > 0)
                ingest_parts_broken(in, "a key stands twice in a map");
            values[i] = value;
        }
    }
    if (in->r.err != ERR_OK)
        ingest_parts_broken(in, in->r.err == ERR_SHORT ? "it ends too early"
                                                       : "no MessagePack, or a key that is no str");
}

struct slice
ingest_parts_str(struct ingest *in, struct slice raw, const char *what)
{
    struct rd r;
    struct slice text;

    rd_init(&r, raw);
    text = msgpack_read_str(&r);
    if (raw.n > 0 && r.err != ERR_OK)
        ingest_parts_broken(in, what);
    return raw.n > 0 ? text : slice_make(NULL, 0);
}

void
ingest_parts_tags(struct ingest *in, struct slice raw, struct ingest_line *l)
{
    struct rd r;
    uint32_t count;

    rd_init(&r, raw);
    count = raw.n == 0 ? 0 : msgpack_read_map(&r);
    for (uint32_t n = 0; n < count && r.err == ERR_OK; n++) {
        struct slice key = msgpack_read_str(&r), value = msgpack_read_str(&r);

        if (r.err == ERR_OK)
            ingest_line_tag(l, key, value);
    }
    if (raw.n > 0 && r.err != ERR_OK)
        ingest_parts_broken(in, "tags is no map of str to str");
}

void
ingest_parts_float(struct ingest *in, struct rd *r, struct ingest_line *l)
{
    switch (msgpack_read_peek(r)) {
    case MSGPACK_FLOAT:
        ingest_line_float(l, msgpack_read_f64(r));
        break;
    case MSGPACK_UINT:
        ingest_line_float(l, (double)msgpack_read_u64(r));
        break;
    case MSGPACK_INT:
        ingest_line_float(l, (double)msgpack_read_i64(r));
        break;
    case MSGPACK_NONE:
    case MSGPACK_NIL:
    case MSGPACK_BOOL:
    case MSGPACK_STR:
    case MSGPACK_BIN:
    case MSGPACK_ARRAY:
    case MSGPACK_MAP:
    case MSGPACK_EXT:
        ingest_parts_broken(in, "a float is expected");
        break;
    }
}

void
ingest_parts_time(struct ingest *in, struct rd *r, struct ingest_line *l)
{
    enum msgpack_type type = msgpack_read_peek(r);

    if (type == MSGPACK_UINT)
        ingest_line_time_u64(l, msgpack_read_u64(r));
    else if (type == MSGPACK_INT)
        ingest_line_time(l, msgpack_read_i64(r));
    else
        ingest_parts_broken(in, "a timestamp is an integer");
}

enum ingest_event
ingest_parts_judge(struct ingest *in, struct ingest_line *l, struct lineproto_point *point,
                   struct lineproto_bad *bad)
{
    if (in->problem != NULL)
        return INGEST_BROKEN;
    if (l->err != ERR_OK)
        return INGEST_NOMEM;
    if (ingest_line_judge(l, in->precision, in->now_ns, point, bad) == LINEPROTO_POINT)
        return INGEST_POINT;
    bad->line_number = in->number;
    return INGEST_BAD;
}
