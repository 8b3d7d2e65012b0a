/*
 * test_store_chunk.c: chunks: what is put in comes out, within the limit, and damage is noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/wire.h"
#include "store/chunk.h"
#include "support/guard.h"

#define LIMIT 4080

static const struct chunk_origin origin = {SLICE_INIT("telegraf"), SLICE_INIT("two_weeks"),
                                           INT64_C(1700000000123456789), 987654321, 42};

static struct chunk_builder builder;
static struct chunk chunk;

/* Parses ${body} and builds its chunks in ${out}. */
static enum err
build(struct buf *out, struct slice body, size_t limit)
{
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum err err = chunk_builder_init(&builder, out, limit, &origin);

    assert_int_equal(err, ERR_OK);
    lineproto_init(&lp, body, PRECISION_NS, 0);
    while (err == ERR_OK && lineproto_next(&lp, &point, &bad) == LINEPROTO_POINT)
        err = chunk_builder_add(&builder, &point);
    return err == ERR_OK ? chunk_builder_finish(&builder) : err;
}

static void
assert_slice(struct slice s, struct slice wanted)
{
    assert_int_equal(s.n, wanted.n);
    if (s.n > 0)
        assert_memory_equal(s.p, wanted.p, s.n);
}

/* All points of all chunks are those that the parser finds in the body, in order. */
static void
assert_holds(struct slice chunks, struct slice body, size_t limit)
{
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    struct slice value;
    uint64_t chunk_count = 0, point_count = 0, pages = 0;

    lineproto_init(&lp, body, PRECISION_NS, 0);
    for (; chunk_split(&chunks, &value); chunk_count++) {
        struct slice guarded = guard_copy(value);
        struct chunk_cursor cursor, skipping;
        struct chunk_point read, skipped;
        assert_int_equal(chunk_open(guarded, &chunk), ERR_OK);
        assert_slice(chunk.origin.db, origin.db);
        assert_slice(chunk.origin.rp, origin.rp);
        assert_true(chunk.origin.accepted_ns == origin.accepted_ns);
        assert_true(chunk.origin.accepted_ms == origin.accepted_ms);
        assert_int_equal(chunk.origin.run, 42);
        assert_true(value.n <= limit || chunk.count == 1);
        pages += (value.n + 16 + limit + 15) / (limit + 16);
        chunk_first(&cursor, &chunk);
        for (uint32_t i = 0; i < chunk.count; i++) {
            assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_POINT);
            assert_int_equal(cursor.at, i);
            chunk_first(&skipping, &chunk);
            chunk_skip(&skipping, i);
            assert_true(chunk_next(&skipping, &skipped));
            assert_true(chunk_next(&cursor, &read));
            assert_true(skipped.line.p == read.line.p && skipped.time_ns == read.time_ns);
            assert_true(read.time_ns == point.time_ns);
            assert_slice(slice_to(read.line, point.key.n), point.key);
            assert_int_equal(read.line.p[point.key.n], ' ');
            assert_slice(slice_from(read.line, point.key.n + 1), point.fields);
            assert_slice(read.measurement, chunk.names[read.name]);
            if (!point.escaped)
                assert_slice(read.measurement, point.measurement);
            point_count++;
        }
        assert_false(chunk_next(&cursor, &read));
        chunk_skip(&cursor, 5);
        assert_int_equal(cursor.at, chunk.count);
        guard_free(guarded);
    }
    assert_int_equal(chunks.n, 0);
    assert_int_equal(lineproto_next(&lp, &point, &bad), LINEPROTO_END);
    assert_int_equal(chunk_count, builder.chunks);
    assert_int_equal(point_count, builder.points);
    assert_int_equal(pages, builder.pages);
}

static void
add(struct buf *body, unsigned names, unsigned i, const char *filler)
{
    assert_int_equal(buf_printf(body, "m%u,host=gateway-%u v=%u,t=\"%s\" %u000000000\n", i % names,
                                i % 7, i, filler, i / 3),
                     ERR_OK);
}

static void
what_goes_in_comes_out(void **state)
{
    struct buf body, out;
    char filler[9000];

    (void)state;
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = 0;
    buf_init(&body, 1 << 22);
    buf_init(&out, 1 << 22);
    /* Lines of all lengths around the limit, and far over it. */
    for (unsigned i = 0; i < 2000; i++)
        add(&body, 10, i, filler + sizeof(filler) - 1 - i % 97);
    for (unsigned i = 3800; i < 4200; i++)
        add(&body, 1, i, filler + sizeof(filler) - 1 - i);
    add(&body, 1, 1, filler);
    add(&body, 1, 2, "");
    for (size_t limit = CHUNK_LIMIT_MIN; limit <= 65520; limit = limit * 4 - 16) {
        buf_clear(&out);
        assert_int_equal(build(&out, buf_peek(&body), limit), ERR_OK);
        assert_holds(buf_peek(&out), buf_peek(&body), limit);
    }
    assert_int_equal(build(&out, SLICE(""), LIMIT), ERR_OK);
    assert_int_equal(builder.chunks, 0);
    buf_free(&body);
    buf_free(&out);
}

static void
names_are_unescaped_and_once_in_the_table(void **state)
{
    struct slice body = SLICE("cpu f=1 1\na\\ b\\,c,t=v f=1 2\ncpu,t=v f=1 3\na\\ b\\,c f=1 4\n"
                              "cpu2 f=1 -9223372036854775806\ncpu f=1 9223372036854775806\n");
    struct slice chunks, value;
    struct chunk_cursor cursor;
    struct chunk_point point;
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(build(&out, body, LIMIT), ERR_OK);
    assert_holds(buf_peek(&out), body, LIMIT);
    chunks = buf_peek(&out);
    assert_true(chunk_split(&chunks, &value));
    assert_int_equal(chunk_open(value, &chunk), ERR_OK);
    assert_int_equal(chunk.name_count, 3);
    assert_slice(chunk.names[0], SLICE("cpu"));
    assert_slice(chunk.names[1], SLICE("a b,c"));
    assert_slice(chunk.names[2], SLICE("cpu2"));
    chunk_first(&cursor, &chunk);
    chunk_skip(&cursor, 3);
    assert_true(chunk_next(&cursor, &point));
    assert_slice(point.measurement, SLICE("a b,c"));
    assert_int_equal(point.name, 1);
    buf_free(&out);
}

/* More measurements than a table holds, and more index than a chunk holds, begin new chunks. */
static void
tables_have_limits(void **state)
{
    struct buf body, out;

    (void)state;
    buf_init(&body, 1 << 20);
    buf_init(&out, 1 << 20);
    for (unsigned i = 0; i < 600; i++)
        assert_int_equal(buf_printf(&body, "n%u f=1 1\n", i), ERR_OK);
    for (unsigned i = 0; i < 4000; i++)
        assert_int_equal(buf_add_text(&body, "n f=1 1\n"), ERR_OK);
    assert_int_equal(build(&out, buf_peek(&body), 32752), ERR_OK);
    assert_holds(buf_peek(&out), buf_peek(&body), 32752);
    assert_true(builder.chunks >= 5);
    buf_free(&body);
    buf_free(&out);
}

static void
overhead_is_small(void **state)
{
    struct buf body, out;
    size_t lines = 0;

    (void)state;
    buf_init(&body, 1 << 20);
    buf_init(&out, 1 << 20);
    for (unsigned i = 0; i < 2000; i++) {
        size_t before = buf_len(&body);
        assert_int_equal(
            buf_printf(&body,
                       "cpu,cpu=cpu%u,host=gateway-17 usage_idle=91.33266533,usage_user=6."
                       "0621242,usage_system=2.50501002,n=%ui",
                       i % 4, i),
            ERR_OK);
        lines += buf_len(&body) - before;
        assert_int_equal(buf_printf(&body, " 17000000%02u000000000\n", i % 100), ERR_OK);
    }
    assert_int_equal(build(&out, buf_peek(&body), LIMIT), ERR_OK);
    assert_int_equal(builder.points, 2000);
    assert_true(buf_len(&out) < lines + lines / 10);
    buf_free(&body);
    buf_free(&out);
}

/* The bytes of the format, as chunk.h states them. */
static void
bytes_are_as_documented(void **state)
{
    struct chunk_origin from = {SLICE_INIT("db"), SLICE_INIT(""), 5, 6, 7};
    struct slice chunks, v;
    struct lineproto_point point = {SLICE("m"), SLICE("m"), SLICE("f=1"), 300, false, true};
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(chunk_builder_init(&builder, &out, LIMIT, &from), ERR_OK);
    assert_int_equal(chunk_builder_add(&builder, &point), ERR_OK);
    point.time_ns = 299;
    assert_int_equal(chunk_builder_add(&builder, &point), ERR_OK);
    assert_int_equal(chunk_builder_finish(&builder), ERR_OK);
    chunks = buf_peek(&out);
    assert_true(chunk_split(&chunks, &v));
    assert_int_equal(v.n, 60 + 2 + 10 + 6 + 2);
    assert_int_equal(v.p[0], 1);
    assert_int_equal(load_le32(v.p + 4), crc32c(0, v.p + 8, v.n - 8));
    assert_int_equal(load_le32(v.p + 8), v.n);
    assert_int_equal(load_le32(v.p + 12), 2);
    assert_int_equal(load_le64(v.p + 16), 5);
    assert_int_equal(load_le64(v.p + 24), 6);
    assert_int_equal(load_le32(v.p + 32), 7);
    assert_int_equal(load_le32(v.p + 36), 10);
    assert_int_equal(load_le32(v.p + 40), 6);
    assert_int_equal(load_le16(v.p + 44), 1);
    assert_int_equal(load_le64(v.p + 52), 300);
    assert_memory_equal(v.p + 60, "dbm f=1m f=1\5\0\0\5\0\1\2\0", 20);
    buf_free(&out);
}

static void
damage_is_noticed(void **state)
{
    struct buf out;
    struct slice chunks, value;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(build(&out, SLICE("cpu f=1 1\na\\ b,t=v f=1 2\ncpu,t=v f=1 3\n"), LIMIT),
                     ERR_OK);
    chunks = buf_peek(&out);
    assert_true(chunk_split(&chunks, &value));
    struct slice copy = guard_copy(value);
    for (size_t i = 0; i < copy.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t *p = (uint8_t *)(uintptr_t)copy.p + i; /* guarded copies may be written */
            *p ^= (uint8_t)(1 << bit);
            assert_int_equal(chunk_open(copy, &chunk), i == 0 ? ERR_CONFIG : ERR_BAD);
            *p ^= (uint8_t)(1 << bit);
        }
    assert_int_equal(chunk_open(copy, &chunk), ERR_OK);
    guard_free(copy);
    for (size_t n = 0; n < value.n; n++) {
        copy = guard_copy(slice_to(value, n));
        assert_int_equal(chunk_open(copy, &chunk), ERR_BAD);
        assert_int_equal(chunk_header(copy, &chunk), ERR_BAD);
        guard_free(copy);
    }
    assert_int_equal(chunk_header(value, &chunk), ERR_OK);
    assert_int_equal(chunk.count, 3);
    assert_slice(chunk.origin.db, origin.db);
    buf_free(&out);
}

static void
assert_within(struct slice part, struct slice whole)
{
    assert_true(part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

/* What opened hangs together: names and lines lie inside, and lines and index are used up. */
static void
assert_sound(struct slice value)
{
    struct chunk_cursor cursor;
    struct chunk_point point;

    for (uint32_t i = 0; i < chunk.name_count; i++)
        assert_within(chunk.names[i], value);
    chunk_first(&cursor, &chunk);
    while (chunk_next(&cursor, &point)) {
        assert_within(point.line, chunk.lines);
        assert_true(point.line.n > 0 && point.name < chunk.name_count);
    }
    assert_int_equal(cursor.at, chunk.count);
    assert_int_equal(cursor.line, chunk.lines.n);
    assert_int_equal(cursor.index, chunk.index.n);
}

/* Lengths that lie are noticed even under a right checksum: two bytes at a time, since one alone
 * rarely makes a lie that fits. */
static void
lies_are_noticed_without_the_checksum(void **state)
{
    struct buf out;
    struct slice chunks, value;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(build(&out, SLICE("cpu f=1 1\na\\ b,t=v f=1 2\ncpu,t=v f=1 3\n"), LIMIT),
                     ERR_OK);
    chunks = buf_peek(&out);
    assert_true(chunk_split(&chunks, &value));
    struct slice copy = guard_copy(value);
    uint8_t *p = (uint8_t *)(uintptr_t)copy.p;
    size_t opened = 0;
    for (size_t i = 8; i < copy.n; i++)
        for (unsigned v = 0; v < 256 * 5; v++) {
            uint8_t was = p[i], next = i + 1 < copy.n ? p[i + 1] : 0;
            p[i] = (uint8_t)v;
            if (i + 1 < copy.n)
                p[i + 1] = (uint8_t)(next + v / 256);
            store_le32(p + 4, crc32c(0, p + 8, copy.n - 8));
            if (chunk_open(copy, &chunk) == ERR_OK) {
                assert_sound(copy);
                opened++;
            }
            p[i] = was;
            if (i + 1 < copy.n)
                p[i + 1] = next;
        }
    assert_true(opened > 1000);
    guard_free(copy);
    buf_free(&out);
}

/* ${value} with ${extra} zero bytes put in at ${at}, its length and checksum made right. */
static enum err
open_with(struct slice value, size_t at, size_t extra, size_t patch, uint8_t byte)
{
    uint8_t bytes[256] = {0};
    struct slice copy;
    enum err err;

    assert_true(value.n + extra <= sizeof(bytes));
    memcpy(bytes, value.p, at);
    memcpy(bytes + at + extra, value.p + at, value.n - at);
    if (patch > 0)
        bytes[patch] = byte;
    store_le32(bytes + 8, (uint32_t)(value.n + extra));
    store_le32(bytes + 4, crc32c(0, bytes + 8, value.n + extra - 8));
    copy = guard_copy(slice_make(bytes, value.n + extra));
    err = chunk_open(copy, &chunk);
    guard_free(copy);
    return err;
}

static void
lies_that_fit_are_noticed(void **state)
{
    struct buf out;
    struct slice chunks, v;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(build(&out, SLICE("m f=1 1\nm f=1 1\n"), LIMIT), ERR_OK);
    chunks = buf_peek(&out);
    assert_true(chunk_split(&chunks, &v)); /* ends: lines 10 | index 6 | names 2 */
    assert_int_equal(open_with(v, v.n, 0, 0, 0), ERR_OK);
    assert_int_equal(open_with(v, v.n, 1, 0, 0), ERR_BAD);        /* bytes behind the names */
    assert_int_equal(open_with(v, v.n - 2, 1, 40, 7), ERR_BAD);   /* behind the index */
    assert_int_equal(open_with(v, v.n - 8, 1, 36, 11), ERR_BAD);  /* behind the lines */
    assert_int_equal(open_with(v, v.n, 0, v.n - 1, 9), ERR_OK);   /* a name, the last byte */
    assert_int_equal(open_with(v, v.n, 0, v.n - 1, 10), ERR_BAD); /* it starts behind the lines */
    assert_int_equal(open_with(v, v.n, 0, v.n - 2, 20), ERR_OK);  /* as long as the lines */
    assert_int_equal(open_with(v, v.n, 0, v.n - 2, 22), ERR_BAD); /* longer */
    assert_int_equal(open_with(v, v.n, 0, v.n - 2, 5), ERR_BAD); /* its own, longer than the rest */
    assert_int_equal(open_with(v, v.n, 0, v.n - 2, 0x80), ERR_BAD); /* a number that does not end */
    assert_int_equal(open_with(v, v.n, 0, 12, 0), ERR_BAD);         /* no points */
    assert_int_equal(open_with(v, v.n, 0, 12, 1), ERR_BAD);
    assert_int_equal(open_with(v, v.n, 0, 12, 3), ERR_BAD);
    buf_free(&out);
}

static void
a_full_buffer_and_missing_memory_are_errors(void **state)
{
    struct buf body, out;
    size_t n = 0;
    enum err err;

    (void)state;
    buf_init(&body, 1 << 16);
    for (unsigned i = 0; i < 200; i++)
        add(&body, 10, i, "xxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    buf_init(&out, 5000);
    assert_int_equal(build(&out, buf_peek(&body), LIMIT), ERR_NOMEM);
    buf_free(&out);
    do {
        buf_init(&out, 1 << 20);
        mem_fail_at(++n);
        err = build(&out, buf_peek(&body), LIMIT);
        mem_fail_at(0);
        buf_free(&out);
    } while (err == ERR_NOMEM && n < 100);
    assert_int_equal(err, ERR_OK);
    assert_true(n > 1);
    buf_free(&body);
    assert_int_equal(mem_live(), 0);
}

static void
origins_have_limits(void **state)
{
    char name[CHUNK_NAME_BYTES_MAX + 1] = {0};
    struct chunk_origin from = {slice_make(name, sizeof(name)), SLICE_INIT(""), 0, 0, 0};
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(chunk_builder_init(&builder, &out, LIMIT, &from), ERR_RANGE);
    from.db.n--;
    assert_int_equal(chunk_builder_init(&builder, &out, CHUNK_LIMIT_MIN - 1, &from), ERR_RANGE);
    assert_int_equal(chunk_builder_init(&builder, &out, CHUNK_LIMIT_MIN, &from), ERR_OK);
    buf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(names_are_unescaped_and_once_in_the_table),
        cmocka_unit_test(tables_have_limits),
        cmocka_unit_test(overhead_is_small),
        cmocka_unit_test(bytes_are_as_documented),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(lies_are_noticed_without_the_checksum),
        cmocka_unit_test(lies_that_fit_are_noticed),
        cmocka_unit_test(a_full_buffer_and_missing_memory_are_errors),
        cmocka_unit_test(origins_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
