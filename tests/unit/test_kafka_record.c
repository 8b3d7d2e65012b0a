/*
 * test_kafka_record.c: record batches byte for byte, varints, partitions: tests/vectors/kafka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/wire.h"
#include "kafka/kafka_partition.h"
#include "kafka/kafka_proto.h"
#include "kafka/kafka_record.h"
#include "support/kafka_vectors.h"

#define get json_tree_get

static size_t batches, varints;

/* A string that may be null, into ${bytes}, which does not move. */
static struct slice
bytes_of(struct buf *bytes, const struct json_node *hex)
{
    size_t start = buf_len(bytes);

    if (json_tree_null(hex))
        return slice_make(NULL, 0);
    kafka_vectors_hex(bytes, hex);
    return slice_from(buf_peek(bytes), start);
}

static void
add_record(struct kafka_record_batch *b, const struct json_node *said)
{
    const struct json_node *list = get(said, "headers");
    struct kafka_record_header headers[8];
    struct kafka_record record = {.timestamp_ms = json_tree_i64(get(said, "timestamp")),
                                  .headers = headers,
                                  .header_count = list->count};
    struct buf bytes;
    struct slice value;

    buf_init(&bytes, 65536);
    assert_non_null(buf_reserve(&bytes, 65536));
    record.key = bytes_of(&bytes, get(said, "key"));
    value = bytes_of(&bytes, get(said, "value"));
    record.value[0] = slice_to(value, value.n / 2); /* in two pieces, wherever they are cut */
    record.value[1] = slice_from(value, value.n / 2);
    for (size_t i = 0; i < list->count; i++) {
        headers[i].key = bytes_of(&bytes, json_tree_at(json_tree_at(list, i), 0));
        headers[i].value = bytes_of(&bytes, json_tree_at(json_tree_at(list, i), 1));
    }
    assert_int_equal(kafka_record_add(b, &record), ERR_OK);
    buf_free(&bytes);
}

static void
check_batch(const struct json_node *row, const struct buf *expected)
{
    const struct json_node *records = get(row, "records");
    struct kafka_record_batch b;
    struct buf out;

    buf_init(&out, 65536);
    assert_int_equal(buf_add_text(&out, "before"), ERR_OK);
    assert_int_equal(kafka_record_begin(&b, &out), ERR_OK);
    for (size_t i = 0; i < records->count; i++)
        add_record(&b, json_tree_at(records, i));
    assert_int_equal(kafka_record_end(&b, NULL, NULL), ERR_OK);
    kafka_record_stamp(out.data + b.start, buf_len(&out) - b.start,
                       json_tree_i64(get(row, "producer_id")),
                       (int16_t)json_tree_i64(get(row, "producer_epoch")),
                       (int32_t)json_tree_i64(get(row, "base_sequence")));
    assert_int_equal(b.start, 6);
    assert_int_equal(buf_len(&out) - 6, buf_len(expected));
    assert_memory_equal(out.data + 6, buf_peek(expected).p, buf_len(expected));
    buf_free(&out);
    batches++;
}

/* Compressed bytes depend on the library: what is unpacked must be the records. */
static void
check_packed(const struct json_node *row, const struct buf *expected)
{
    const struct json_node *records = get(row, "records");
    struct gzip_writer *writer = gzip_writer_open(3);
    struct gzip_reader *reader = gzip_reader_open();
    struct kafka_record_batch b;
    struct buf out, scratch, plain, other;
    struct errinfo info;

    buf_init(&out, 65536);
    buf_init(&scratch, 65536);
    buf_init(&plain, 65536);
    buf_init(&other, 65536);
    assert_int_equal(kafka_record_begin(&b, &out), ERR_OK);
    for (size_t i = 0; i < records->count; i++)
        add_record(&b, json_tree_at(records, i));
    assert_int_equal(kafka_record_end(&b, writer, &scratch), ERR_OK);
    kafka_record_stamp(out.data, buf_len(&out), -1, -1, -1);
    assert_memory_equal(out.data + 21, expected->data + 21,
                        40); /* the head but length and checksum */
    assert_int_equal(load_be32(out.data + 8), buf_len(&out) - 12);
    assert_int_equal(load_be32(out.data + 17), crc32c(0, out.data + 21, buf_len(&out) - 21));
    assert_int_equal(gzip_reader_feed(reader, slice_from(buf_peek(&out), 61), &plain, &info),
                     ERR_OK);
    assert_int_equal(gzip_reader_end(reader, &info), ERR_OK);
    gzip_reader_reset(reader);
    assert_int_equal(gzip_reader_feed(reader, slice_from(buf_peek(expected), 61), &other, &info),
                     ERR_OK);
    assert_true(slice_eq(buf_peek(&plain), buf_peek(&other)));
    gzip_writer_close(writer);
    gzip_reader_close(reader);
    buf_free(&out);
    buf_free(&scratch);
    buf_free(&plain);
    buf_free(&other);
    batches++;
}

static void
check_varint(const struct json_node *row, const struct buf *expected)
{
    int64_t value = json_tree_i64(get(row, "value"));
    uint8_t out[10];
    struct rd r;

    assert_int_equal(kafka_proto_varint_put(out, value), buf_len(expected));
    assert_int_equal(kafka_proto_varint_size(value), buf_len(expected));
    assert_memory_equal(out, buf_peek(expected).p, buf_len(expected));
    rd_init(&r, buf_peek(expected));
    assert_true(kafka_proto_varint(&r) == value);
    assert_int_equal(rd_done(&r), ERR_OK);
    rd_init(&r, slice_to(buf_peek(expected), buf_len(expected) - 1));
    (void)kafka_proto_varint(&r);
    assert_int_equal(r.err, ERR_SHORT);
    varints++;
}

static void
check_row(const struct json_node *row)
{
    struct buf expected;

    buf_init(&expected, 65536);
    kafka_vectors_hex(&expected, get(row, "hex"));
    if (json_tree_is(get(row, "kind"), "zigzag_varint_or_varlong"))
        check_varint(row, &expected);
    else if (json_tree_is(get(row, "name"), "gzip_two"))
        check_packed(row, &expected);
    else if (json_tree_is(get(row, "kind"), "record_batch_v2"))
        check_batch(row, &expected);
    buf_free(&expected);
}

static void
batches_and_varints(void **state)
{
    (void)state;
    assert_int_equal(kafka_vectors_each("batches.jsonl", check_row), 43);
    assert_int_equal(batches, 10);
    assert_true(varints >= 15);
}

static void
check_key(const struct json_node *row)
{
    struct buf key;
    uint64_t hash;

    buf_init(&key, 1024);
    kafka_vectors_hex(&key, get(row, "key_hex"));
    assert_int_equal(num_hex(get(row, "murmur2_hex")->text, &hash), ERR_OK);
    assert_int_equal(kafka_partition_hash(buf_peek(&key)), hash);
    assert_int_equal(kafka_partition_of(buf_peek(&key), 12),
                     json_tree_i64(get(row, "p12_murmur2")));
    assert_int_equal(kafka_partition_of(buf_peek(&key), 1), 0);
    buf_free(&key);
}

static void
partitions(void **state)
{
    (void)state;
    assert_int_equal(kafka_vectors_each("partitioner.jsonl", check_key), 17);
}

static void
varints_too_long(void **state)
{
    struct rd r;

    (void)state;
    rd_init(&r, SLICE("\377\377\377\377\377\377\377\377\377\377\1"));
    (void)kafka_proto_varint(&r);
    assert_int_equal(r.err, ERR_BAD);
    rd_init(&r, SLICE("\377\377\377\377\377\377\377\377\377\1"));
    assert_true(kafka_proto_varint(&r) == INT64_MIN);
    assert_int_equal(rd_done(&r), ERR_OK);
}

/* A batch that cannot be packed smaller is sent as it is. */
static void
packing_that_gains_nothing(void **state)
{
    struct gzip_writer *writer = gzip_writer_open(3);
    struct kafka_record record = {.timestamp_ms = 5, .value = {SLICE_INIT("x"), {NULL, 0}}};
    struct kafka_record_batch b;
    struct buf out, scratch;

    (void)state;
    buf_init(&out, 1000);
    buf_init(&scratch, 1000);
    assert_int_equal(kafka_record_begin(&b, &out), ERR_OK);
    assert_int_equal(kafka_record_add(&b, &record), ERR_OK);
    assert_int_equal(kafka_record_end(&b, writer, &scratch), ERR_OK);
    assert_int_equal(load_be16(out.data + 21), 0);
    assert_int_equal(buf_len(&out), 61 + 8);
    gzip_writer_close(writer);
    buf_free(&out);
    buf_free(&scratch);
}

static void
at_the_limit(void **state)
{
    struct kafka_record record = {.timestamp_ms = 5,
                                  .value = {SLICE_INIT("0123456789"), {NULL, 0}}};
    struct kafka_record_batch b;
    struct buf out;

    (void)state;
    buf_init(&out, 60);
    assert_int_equal(kafka_record_begin(&b, &out), ERR_NOMEM);
    buf_free(&out);
    buf_init(&out, 61 + kafka_record_bound(&record) + 5);
    assert_int_equal(kafka_record_begin(&b, &out), ERR_OK);
    assert_int_equal(kafka_record_add(&b, &record), ERR_OK);
    assert_int_equal(kafka_record_add(&b, &record), ERR_NOMEM);
    assert_int_equal(b.count, 1);
    kafka_record_drop(&b);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
}

static void
sequences_wrap(void **state)
{
    (void)state;
    assert_int_equal(kafka_record_next_sequence(0, 5), 5);
    assert_int_equal(kafka_record_next_sequence(INT32_MAX, 1), 0);
    assert_int_equal(kafka_record_next_sequence(INT32_MAX, 2), 1);
    assert_int_equal(kafka_record_next_sequence(INT32_MAX - 1, 1), INT32_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_and_varints), cmocka_unit_test(partitions),
        cmocka_unit_test(varints_too_long),    cmocka_unit_test(packing_that_gains_nothing),
        cmocka_unit_test(at_the_limit),        cmocka_unit_test(sequences_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
