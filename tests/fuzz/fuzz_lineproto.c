/*
 * fuzz_lineproto.c: any body. What must hold besides that nothing outside of it is read:
 * the fast and the exact way agree; a good line reads back as points with fields, and parses to the
 * same when it is sent on; what was put into chunks comes out of them.
 * The first byte chooses the precision.
 */
#include <stdint.h>
#include <stdlib.h>

#include "point/lineproto.h"
#include "point/lineproto_exact.h"
#include "point/point.h"
#include "store/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS INT64_C(1700000000123456789)

static void
must(int truth)
{
    if (!truth)
        abort();
}

static void
same_point(const struct lineproto_point *a, const struct lineproto_point *b)
{
    must(slice_eq(a->key, b->key));
    must(slice_eq(a->fields, b->fields));
    must(slice_eq(a->measurement, b->measurement));
    must(a->time_ns == b->time_ns);
    must(a->escaped == b->escaped);
}

/* The line of ${point} without its timestamp, read as a stored line. */
static void
read_back(const struct lineproto_point *point, struct slice line)
{
    struct point read;
    struct point_tag tag;
    struct point_field field;
    struct slice rest;
    size_t fields = 0;
    uint8_t text[256];

    must(point_open(&read, line) == ERR_OK);
    must(slice_eq(read.measurement, point->measurement));
    must(slice_eq(read.fields, point->fields));
    for (rest = read.tags; point_next_tag(&rest, &tag);) {
        struct slice plain, found;
        must(tag.key.n > 0 && tag.value.n > 0);
        if (point_copy(POINT_TAG, tag.key, text, sizeof(text), &plain) == ERR_OK) {
            must(point_equal(POINT_TAG, tag.key, plain));
            must(point_find_tag(&read, plain, &found));
        }
    }
    for (rest = read.fields; point_next_field(&rest, &field); fields++)
        must(field.key.n > 0);
    must(rest.n == 0 && fields > 0);
}

/* Sent on with its timestamp, the line is the same point. */
static void
send_on(const struct lineproto_point *point, struct buf *out)
{
    struct lineproto lp;
    struct lineproto_point again;
    struct lineproto_bad bad;
    struct buf line;

    buf_init(&line, 1 << 24);
    must(buf_add(&line, point->key) == ERR_OK);
    must(buf_add_byte(&line, ' ') == ERR_OK);
    must(buf_add(&line, point->fields) == ERR_OK);
    read_back(point, buf_peek(&line));
    buf_clear(out);
    /* Not at the start of the body: there the bytes of a byte order mark are no part of a name. */
    must(buf_add_byte(out, '\n') == ERR_OK);
    must(point_put_line(out, buf_peek(&line), point->time_ns, PRECISION_NS) == ERR_OK);
    must(buf_add_byte(out, '\n') == ERR_OK);
    lineproto_init(&lp, buf_peek(out), PRECISION_NS, 0);
    must(lineproto_next(&lp, &again, &bad) == LINEPROTO_POINT);
    same_point(point, &again);
    must(lineproto_next(&lp, &again, &bad) == LINEPROTO_END);
    struct slice sent = slice_from(buf_peek(out), 1);
    must(lineproto_exact_split(sent) == sent.n - 1);
    must(lineproto_exact_check(slice_to(sent, sent.n - 1), PRECISION_NS, 0, &again, &bad));
    same_point(point, &again);
    buf_free(&line);
}

static void
check_chunks(struct slice chunks, struct slice body, enum precision precision)
{
    static struct chunk chunk;
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct slice value;

    lineproto_init(&lp, body, precision, NOW_NS);
    while (chunk_split(&chunks, &value)) {
        struct chunk_cursor cursor;
        struct chunk_point read;
        must(chunk_open(value, &chunk) == ERR_OK);
        must(value.n <= CHUNK_LIMIT_MIN || chunk.count == 1);
        for (chunk_first(&cursor, &chunk); chunk_next(&cursor, &read);) {
            while (lineproto_next(&lp, &point, &bad) != LINEPROTO_POINT)
                continue;
            must(read.time_ns == point.time_ns);
            must(slice_eq(slice_to(read.line, point.key.n), point.key));
            must(slice_eq(slice_from(read.line, point.key.n + 1), point.fields));
            must(point_equal(POINT_MEASUREMENT, point.measurement, read.measurement));
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct chunk_builder builder;
    static const struct chunk_origin origin = {SLICE_INIT("db"), SLICE_INIT("rp"), 1, 2, 3};
    enum precision precision = size > 0 ? (enum precision)(data[0] % 6) : PRECISION_NS;
    struct slice body = slice_from(slice_make(data, size), 1);
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    struct buf chunks, text;

    buf_init(&chunks, 1 << 24);
    buf_init(&text, 1 << 24);
    must(chunk_builder_init(&builder, &chunks, CHUNK_LIMIT_MIN, &origin) == ERR_OK);
    lineproto_init(&lp, body, precision, NOW_NS);
    while ((event = lineproto_next(&lp, &point, &bad)) != LINEPROTO_END) {
        if (event == LINEPROTO_BAD) {
            must(bad.line.n > 0 && bad.line_number > 0);
            buf_clear(&text);
            must(lineproto_put_error(&text, &bad, 1, 1) == ERR_OK);
            continue;
        }
        send_on(&point, &text);
        must(chunk_builder_add(&builder, &point) == ERR_OK);
    }
    must(chunk_builder_finish(&builder) == ERR_OK);
    check_chunks(buf_peek(&chunks), body, precision);
    buf_free(&chunks);
    buf_free(&text);
    return 0;
}
