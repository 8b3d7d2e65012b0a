/*
 * fuzz_columnar_ingest.c: any bytes as MessagePack in columns. A good point that comes out is a
 * line whose parts are where they were put: written in the row form and taken in again, it is the
 * same line.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "point/ingest.h"
#include "point/point.h"
#include "point/point_msgpack.h"
#include "point/point_unique.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM ((size_t)1 << 24)

static bool
repeats(struct slice fields)
{
    struct point_unique unique;
    struct buf scratch;
    bool found;

    buf_init(&scratch, ROOM);
    found = point_unique_find(&unique, POINT_UNIQUE_FIELDS, fields, &scratch) != ERR_OK ||
            unique.over > 0;
    buf_free(&scratch);
    return found;
}

static void
take_again(const struct lineproto_point *point)
{
    struct slice line = slice_make(point->key.p, point->key.n + 1 + point->fields.n);
    struct lineproto_point again;
    struct lineproto_bad bad;
    struct ingest in;
    struct buf body, text;

    if (repeats(point->fields))
        return;
    buf_init(&body, ROOM);
    buf_init(&text, ROOM);
    assert(point_msgpack_put(&body, line, point->time_ns, PRECISION_NS) == ERR_OK);
    ingest_rows(&in, buf_peek(&body), &text, PRECISION_NS, 0);
    assert(ingest_next(&in, &again, &bad) == INGEST_POINT);
    assert(again.time_ns == point->time_ns);
    assert(slice_eq(slice_make(again.key.p, again.key.n + 1 + again.fields.n), line));
    buf_free(&body);
    buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum ingest_event event;
    struct ingest in;
    struct buf line;
    size_t count = 0, at;

    buf_init(&line, ROOM);
    ingest_columns(&in, slice_make(data, size), &line, PRECISION_MS, 1);
    while ((event = ingest_next(&in, &point, &bad)) == INGEST_POINT || event == INGEST_BAD) {
        assert(++count <= size);
        if (event == INGEST_POINT)
            take_again(&point);
        else
            assert(bad.line_number == count);
    }
    if (event == INGEST_BROKEN)
        assert(*ingest_problem(&in, &at) != '\0' && at <= size);
    buf_free(&line);
    assert(mem_live() == 0);
    return 0;
}
