/*
 * kafka_record.c: see kafka_record.h.
 */
#include "kafka/kafka_record.h"

#include <assert.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/wire.h"
#include "kafka/kafka_proto.h"

/* Where the fields of a batch stand. */
enum {
    AT_LENGTH = 8,
    AT_LEADER_EPOCH = 12,
    AT_MAGIC = 16,
    AT_CRC = 17,
    AT_ATTRIBUTES = 21,
    AT_LAST_DELTA = 23,
    AT_FIRST_MS = 27,
    AT_MAX_MS = 35,
    AT_PRODUCER = 43,
    AT_EPOCH = 51,
    AT_SEQUENCE = 53,
    AT_COUNT = 57
};

#define MAGIC 2
#define GZIP 1 /* in the attributes' lowest bits */

/* The longest varints: 5 bytes for lengths and deltas, 10 for the time. */
#define RECORD_HEAD_MAX (5 + 1 + 10 + 5 + 5 + 5 + 5)

static size_t
headers_bound(const struct kafka_record *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->header_count; i++)
        n += 10 + r->headers[i].key.n + r->headers[i].value.n;
    return n;
}

size_t
kafka_record_bound(const struct kafka_record *r)
{
    return RECORD_HEAD_MAX + r->key.n + r->value[0].n + r->value[1].n + headers_bound(r);
}

enum err
kafka_record_begin(struct kafka_record_batch *b, struct buf *out)
{
    uint8_t *p = buf_reserve(out, KAFKA_RECORD_BATCH_HEAD);

    *b = (struct kafka_record_batch){.out = out, .start = buf_len(out)};
    if (p == NULL)
        return ERR_NOMEM;
    memset(p, 0, KAFKA_RECORD_BATCH_HEAD);
    buf_commit(out, KAFKA_RECORD_BATCH_HEAD);
    return ERR_OK;
}

static size_t
put_bytes(uint8_t *p, struct slice s)
{
    size_t n = kafka_proto_varint_put(p, s.p == NULL ? -1 : (int64_t)s.n);

    if (s.n > 0)
        memcpy(p + n, s.p, s.n);
    return n + s.n;
}

static size_t
put_headers(uint8_t *p, const struct kafka_record *r)
{
    size_t n = kafka_proto_varint_put(p, (int64_t)r->header_count);

    for (size_t i = 0; i < r->header_count; i++) {
        n += put_bytes(p + n, r->headers[i].key);
        n += put_bytes(p + n, r->headers[i].value);
    }
    return n;
}

static size_t
size_of_bytes(struct slice s)
{
    return kafka_proto_varint_size(s.p == NULL ? -1 : (int64_t)s.n) + s.n;
}

/* Bytes behind the record's own length. */
static size_t
size_of(const struct kafka_record *r, int64_t delta_ms, uint32_t delta)
{
    size_t value = r->value[0].n + r->value[1].n;
    size_t n = 1 + kafka_proto_varint_size(delta_ms) + kafka_proto_varint_size(delta) +
               size_of_bytes(r->key) +
               kafka_proto_varint_size(r->value[0].p == NULL ? -1 : (int64_t)value) + value +
               kafka_proto_varint_size((int64_t)r->header_count);

    for (size_t i = 0; i < r->header_count; i++)
        n += size_of_bytes(r->headers[i].key) + size_of_bytes(r->headers[i].value);
    return n;
}

/* A value whose first piece is {NULL, 0} is null. */
static size_t
put_value(uint8_t *p, const struct slice value[2])
{
    size_t n =
        kafka_proto_varint_put(p, value[0].p == NULL ? -1 : (int64_t)(value[0].n + value[1].n));

    for (size_t i = 0; i < 2; i++) {
        if (value[i].n > 0)
            memcpy(p + n, value[i].p, value[i].n);
        n += value[i].n;
    }
    return n;
}

enum err
kafka_record_add(struct kafka_record_batch *b, const struct kafka_record *r)
{
    size_t bound = kafka_record_bound(r), n = 0, size;
    uint8_t *p = buf_reserve(b->out, bound);
    int64_t delta_ms;

    if (p == NULL)
        return ERR_NOMEM;
    if (b->count == 0)
        b->first_ms = b->last_ms = r->timestamp_ms;
    if (r->timestamp_ms > b->last_ms)
        b->last_ms = r->timestamp_ms;
    delta_ms = r->timestamp_ms - b->first_ms;
    size = size_of(r, delta_ms, b->count);
    n = kafka_proto_varint_put(p, (int64_t)size);
    size += n;
    p[n++] = 0; /* attributes */
    n += kafka_proto_varint_put(p + n, delta_ms);
    n += kafka_proto_varint_put(p + n, b->count);
    n += put_bytes(p + n, r->key);
    n += put_value(p + n, r->value);
    n += put_headers(p + n, r);
    assert(n == size && n <= bound);
    buf_commit(b->out, n);
    b->count++;
    return ERR_OK;
}

/* Pack what lies behind the header, in place. */
static enum err
pack(struct kafka_record_batch *b, struct gzip_writer *gzip, struct buf *scratch,
     uint16_t *attributes)
{
    struct slice records = slice_from(buf_peek(b->out), b->start + KAFKA_RECORD_BATCH_HEAD);
    enum err err;

    buf_clear(scratch);
    err = gzip_writer_pack(gzip, records, scratch);
    if (err != ERR_OK || buf_len(scratch) >= records.n)
        return err;
    buf_cut(b->out, b->start + KAFKA_RECORD_BATCH_HEAD);
    *attributes = GZIP;
    return buf_add(b->out, buf_peek(scratch));
}

enum err
kafka_record_end(struct kafka_record_batch *b, struct gzip_writer *gzip, struct buf *scratch)
{
    uint16_t attributes = 0;
    size_t n;
    uint8_t *p;

    assert(b->count > 0);
    if (gzip != NULL && pack(b, gzip, scratch, &attributes) != ERR_OK) {
        kafka_record_drop(b);
        return ERR_NOMEM;
    }
    n = buf_len(b->out) - b->start;
    p = b->out->data + b->out->head + b->start;
    store_be32(p + AT_LENGTH, (uint32_t)(n - AT_LEADER_EPOCH));
    store_be32(p + AT_LEADER_EPOCH, UINT32_MAX);
    p[AT_MAGIC] = MAGIC;
    store_be16(p + AT_ATTRIBUTES, attributes);
    store_be32(p + AT_LAST_DELTA, b->count - 1);
    store_be64(p + AT_FIRST_MS, (uint64_t)b->first_ms);
    store_be64(p + AT_MAX_MS, (uint64_t)b->last_ms);
    store_be32(p + AT_COUNT, b->count);
    return ERR_OK;
}

void
kafka_record_drop(struct kafka_record_batch *b)
{
    buf_cut(b->out, b->start);
}

void
kafka_record_stamp(uint8_t *batch, size_t n, int64_t id, int16_t epoch, int32_t sequence)
{
    assert(n > KAFKA_RECORD_BATCH_HEAD);
    store_be64(batch + AT_PRODUCER, (uint64_t)id);
    store_be16(batch + AT_EPOCH, (uint16_t)epoch);
    store_be32(batch + AT_SEQUENCE, (uint32_t)sequence);
    store_be32(batch + AT_CRC, crc32c(0, batch + AT_ATTRIBUTES, n - AT_ATTRIBUTES));
}

int32_t
kafka_record_next_sequence(int32_t sequence, uint32_t count)
{
    return (int32_t)(((uint32_t)sequence + count) & INT32_MAX);
}
