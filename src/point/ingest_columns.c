/*
 * ingest_columns.c: the columnar form of ingest.h: the values of one field of one series.
 */
#include "point/ingest.h"

#include "msgpack/msgpack_read.h"
#include "point/ingest_parts.h"

enum { COLUMN_MEASUREMENT, COLUMN_TAGS, COLUMN_FIELD, COLUMN_VALUES, COLUMN_TIMES };

static const struct slice column_names[INGEST_MEMBERS] = {
    [COLUMN_MEASUREMENT] = SLICE_INIT("measurement"),
    [COLUMN_TAGS] = SLICE_INIT("tags"),
    [COLUMN_FIELD] = SLICE_INIT("field"),
    [COLUMN_VALUES] = SLICE_INIT("values"),
    [COLUMN_TIMES] = SLICE_INIT("timestamps"),
};

/* Where an array's values begin, and how many they are. */
static uint32_t
open_array(struct ingest *in, struct slice raw, struct rd *r, const char *what)
{
    uint32_t count;

    rd_init(r, raw);
    count = msgpack_read_array(r);
    if (r->err != ERR_OK)
        ingest_parts_broken(in, what);
    return count;
}

/* What all points have in common stays at the front of the line. */
static void
put_common(struct ingest *in, struct slice members[INGEST_MEMBERS])
{
    struct slice field = ingest_parts_str(in, members[COLUMN_FIELD], "field is no str");
    struct ingest_line l;

    if (field.n == 0)
        ingest_parts_broken(in, "field is missing or empty");
    ingest_line_begin(&l, in->line,
                      ingest_parts_str(in, members[COLUMN_MEASUREMENT], "measurement is no str"));
    ingest_parts_tags(in, members[COLUMN_TAGS], &l);
    ingest_line_field(&l, true, field);
    in->key = l.key;
    in->prefix = buf_len(in->line);
    in->unwritable = l.unwritable;
    if (l.err != ERR_OK)
        in->prefix = SIZE_MAX;
}

void
ingest_columns(struct ingest *in, struct slice body, struct buf *line, enum precision precision,
               int64_t now_ns)
{
    struct slice members[INGEST_MEMBERS];

    *in = (struct ingest){
        .start = body.p, .line = line, .precision = precision, .now_ns = now_ns, .columns = true};
    rd_init(&in->r, body);
    ingest_parts_members(in, column_names, members);
    if (in->problem == NULL && rd_left(&in->r) > 0)
        ingest_parts_broken(in, "bytes follow behind the map");
    if (in->problem != NULL)
        return;
    put_common(in, members);
    in->left = open_array(in, members[COLUMN_VALUES], &in->values, "values is no array");
    in->timed = members[COLUMN_TIMES].n > 0;
    if (in->timed &&
        open_array(in, members[COLUMN_TIMES], &in->times, "timestamps is no array") != in->left)
        ingest_parts_broken(in, "values and timestamps differ in length");
}

enum ingest_event
ingest_columns_next(struct ingest *in, struct lineproto_point *point, struct lineproto_bad *bad)
{
    struct ingest_line l = {.out = in->line, .err = ERR_OK, .key = in->key};

    if (in->prefix == SIZE_MAX)
        return INGEST_NOMEM;
    l.unwritable = in->unwritable;
    buf_cut(in->line, in->prefix);
    ingest_parts_float(in, &in->values, &l);
    ingest_line_end(&l);
    if (in->timed)
        ingest_parts_time(in, &in->times, &l);
    return ingest_parts_judge(in, &l, point, bad);
}
