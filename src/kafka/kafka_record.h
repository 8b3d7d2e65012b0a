/*
 * kafka_record.h: record batches (magic 2), written in one pass.
 *
 * Pure. The header's holes are filled in when the batch ends; the checksum is made once, when the
 * batch is stamped with its producer. A batch that is stamped again (another epoch) keeps its
 * records. Source: Kafka's documentation, "Record Batch"; KIP-98 for the producer's fields.
 */
#ifndef SINKD_KAFKA_KAFKA_RECORD_H
#define SINKD_KAFKA_KAFKA_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/gzip.h"
#include "base/slice.h"

#define KAFKA_RECORD_BATCH_HEAD 61

struct kafka_record_header {
    struct slice key, value; /* a value {NULL, 0} is null */
};

/* A record. The value is its pieces, one behind the other. */
struct kafka_record {
    int64_t timestamp_ms;
    struct slice key; /* {NULL, 0}: null */
    struct slice value[2];
    const struct kafka_record_header *headers;
    size_t header_count;
};

/* A batch under way. */
struct kafka_record_batch {
    struct buf *out;
    size_t start;              /* length of ${out} where it begins */
    int64_t first_ms, last_ms; /* of record 0; the largest */
    uint32_t count;
};

/* kafka_record_bound(record): most bytes it can take in any batch. */
size_t kafka_record_bound(const struct kafka_record *record);

/* kafka_record_begin(b, out): start a batch at the end of ${out}. ERR_NOMEM. */
enum err kafka_record_begin(struct kafka_record_batch *b, struct buf *out) MUST_USE;

/* kafka_record_add(b, record): ERR_NOMEM, and then nothing was added. */
enum err kafka_record_add(struct kafka_record_batch *b, const struct kafka_record *record) MUST_USE;

/*
 * kafka_record_end(b, gzip, scratch):
 * Fill in the header but for the producer; kafka_record_stamp must follow. With ${gzip} (may be
 * NULL) the records are packed if that makes them smaller; ${scratch} is then overwritten. At least
 * one record. Errors: ERR_NOMEM: the batch is taken back.
 */
enum err kafka_record_end(struct kafka_record_batch *b, struct gzip_writer *gzip,
                          struct buf *scratch) MUST_USE;

/* kafka_record_drop(b): take the batch back. */
void kafka_record_drop(struct kafka_record_batch *b);

/* kafka_record_stamp(batch, n, id, epoch, sequence): set the producer (-1, -1, -1: not idempotent)
 * and the checksum of the ${n} bytes of a batch. */
void kafka_record_stamp(uint8_t *batch, size_t n, int64_t id, int16_t epoch, int32_t sequence);

/* kafka_record_next_sequence(sequence, count): the one behind a batch: it wraps to 0 behind 2^31
 * - 1. */
int32_t kafka_record_next_sequence(int32_t sequence, uint32_t count);

#endif
