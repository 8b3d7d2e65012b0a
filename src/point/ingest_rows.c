/*
 * ingest_rows.c: the row form of ingest.h: a map a point.
 */
#include "point/ingest.h"

#include "msgpack/msgpack_read.h"
#include "point/ingest_parts.h"

enum { ROW_MEASUREMENT, ROW_TAGS, ROW_FIELDS, ROW_TIMESTAMP };

static const struct slice row_names[INGEST_MEMBERS] = {
    [ROW_MEASUREMENT] = SLICE_INIT("measurement"),
    [ROW_TAGS] = SLICE_INIT("tags"),
    [ROW_FIELDS] = SLICE_INIT("fields"),
    [ROW_TIMESTAMP] = SLICE_INIT("timestamp"),
};

void
ingest_rows(struct ingest *in, struct slice body, struct buf *line, enum precision precision,
            int64_t now_ns)
{
    *in = (struct ingest){.start = body.p, .line = line, .precision = precision, .now_ns = now_ns};
    rd_init(&in->r, body);
    switch (msgpack_read_peek(&in->r)) {
    case MSGPACK_ARRAY:
        in->left = msgpack_read_array(&in->r);
        break;
    case MSGPACK_MAP:
        in->left = 1;
        break;
    case MSGPACK_NONE:
    case MSGPACK_NIL:
    case MSGPACK_BOOL:
    case MSGPACK_UINT:
    case MSGPACK_INT:
    case MSGPACK_FLOAT:
    case MSGPACK_STR:
    case MSGPACK_BIN:
    case MSGPACK_EXT:
        ingest_parts_broken(in, "an array of points or a point is expected");
        break;
    }
    if (in->r.err != ERR_OK)
        ingest_parts_broken(in, "it ends too early");
    else if (in->left == 0 && rd_left(&in->r) > 0)
        ingest_parts_broken(in, "bytes follow behind the points");
}

static void
put_integer(struct ingest *in, struct rd *r, struct ingest_line *l, const char *suffix)
{
    enum msgpack_type type = msgpack_read_peek(r);

    if (type == MSGPACK_UINT)
        ingest_line_u64(l, msgpack_read_u64(r));
    else if (type == MSGPACK_INT)
        ingest_line_i64(l, msgpack_read_i64(r));
    else
        ingest_parts_broken(in, "an integer is expected");
    ingest_line_text(l, suffix);
}

static void
put_value(struct ingest *in, struct rd *r, struct ingest_line *l)
{
    uint32_t count = msgpack_read_map(r);
    struct slice type = count == 1 ? msgpack_read_str(r) : slice_make(NULL, 0);

    if (slice_eq(type, SLICE("Float")))
        ingest_parts_float(in, r, l);
    else if (slice_eq(type, SLICE("Integer")))
        put_integer(in, r, l, "i");
    else if (slice_eq(type, SLICE("UInteger")))
        put_integer(in, r, l, "u");
    else if (slice_eq(type, SLICE("String")))
        ingest_line_string(l, msgpack_read_str(r));
    else if (slice_eq(type, SLICE("Boolean")))
        ingest_line_text(l, msgpack_read_bool(r) ? "true" : "false");
    else
        ingest_parts_broken(in,
                            "a field is a map of Float, Integer, UInteger, String or Boolean to "
                            "its value");
    if (r->err != ERR_OK)
        ingest_parts_broken(in, "a field has not the type that it names");
}

static void
put_fields(struct ingest *in, struct slice raw, struct ingest_line *l)
{
    struct rd r;
    uint32_t count;

    rd_init(&r, raw);
    count = raw.n == 0 ? 0 : msgpack_read_map(&r);
    for (uint32_t n = 0; n < count && r.err == ERR_OK && in->problem == NULL; n++) {
        ingest_line_field(l, n == 0, msgpack_read_str(&r));
        if (r.err == ERR_OK)
            put_value(in, &r, l);
    }
    if (raw.n > 0 && r.err != ERR_OK)
        ingest_parts_broken(in, "fields is no map of str to values");
    ingest_line_end(l);
}

enum ingest_event
ingest_rows_next(struct ingest *in, struct lineproto_point *point, struct lineproto_bad *bad)
{
    struct slice members[INGEST_MEMBERS];
    struct ingest_line l;
    struct rd time;

    ingest_parts_members(in, row_names, members);
    if (in->left == 0 && rd_left(&in->r) > 0)
        ingest_parts_broken(in, "bytes follow behind the points");
    if (in->problem != NULL)
        return INGEST_BROKEN;
    ingest_line_begin(&l, in->line,
                      ingest_parts_str(in, members[ROW_MEASUREMENT], "measurement is no str"));
    ingest_parts_tags(in, members[ROW_TAGS], &l);
    put_fields(in, members[ROW_FIELDS], &l);
    rd_init(&time, members[ROW_TIMESTAMP]);
    if (members[ROW_TIMESTAMP].n > 0 &&
        l.fields > l.key) /* else it would be taken for the fields */
        ingest_parts_time(in, &time, &l);
    return ingest_parts_judge(in, &l, point, bad);
}
