/*
 * kafka_proto.h: frames, headers, primitives and versions of Kafka's protocol.
 *
 * Pure. Only versions without compact and tagged encodings are spoken: they are enough for every
 * broker from 0.11 to 4.3. Everything is big-endian, every length is checked against what is there.
 * Source: the Kafka protocol guide; KIP-482 for what the newer versions do otherwise.
 */
#ifndef SINKD_KAFKA_KAFKA_PROTO_H
#define SINKD_KAFKA_KAFKA_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/wire.h"

enum kafka_proto_api {
    KAFKA_PROTO_PRODUCE = 0,
    KAFKA_PROTO_METADATA = 3,
    KAFKA_PROTO_SASL_HANDSHAKE = 17,
    KAFKA_PROTO_API_VERSIONS = 18,
    KAFKA_PROTO_INIT_PRODUCER_ID = 22,
    KAFKA_PROTO_SASL_AUTHENTICATE = 36
};

/* "Produce", "Metadata", ...; a static string. */
const char *kafka_proto_api_name(enum kafka_proto_api api);

/* What one broker speaks, of what we do. */
#define KAFKA_PROTO_APIS 6
struct kafka_proto_versions {
    int16_t use[KAFKA_PROTO_APIS]; /* private; -1: not at all */
};

/* kafka_proto_versions_none(v): nothing is known to be spoken.
 * kafka_proto_versions_offer(v, key, min, max): the broker speaks these of that API (any key). */
void kafka_proto_versions_none(struct kafka_proto_versions *v);
void kafka_proto_versions_offer(struct kafka_proto_versions *v, int16_t key, int16_t min,
                                int16_t max);

/* kafka_proto_version(v, api): the version to use, -1 when there is none in common. Never a Produce
 * below 3: brokers advertise them and refuse them (KAFKA-18659). */
int16_t kafka_proto_version(const struct kafka_proto_versions *v, enum kafka_proto_api api);

/*
 * kafka_proto_begin(w, api, version, correlation, client_id): start a request: size (filled in by
 * kafka_proto_end), header v1. Returns the hole of the size.
 * kafka_proto_end(w, hole, more): fill it in; ${more} bytes that do not stand in ${w} follow.
 */
size_t kafka_proto_begin(struct wr *w, enum kafka_proto_api api, int16_t version,
                         int32_t correlation, struct slice client_id);
void kafka_proto_end(struct wr *w, size_t hole, size_t more);

/* STRING, NULLABLE_STRING ({NULL, 0} is null), BYTES. ERR_RANGE sticks on what is too long. */
void kafka_proto_put_string(struct wr *w, struct slice s);
void kafka_proto_put_nullable(struct wr *w, struct slice s);
void kafka_proto_put_bytes(struct wr *w, struct slice s);

/* The way back; null comes as {NULL, 0}, which is ERR_BAD for a plain string. */
struct slice kafka_proto_string(struct rd *r);
struct slice kafka_proto_nullable(struct rd *r);
struct slice kafka_proto_bytes(struct rd *r);

/* kafka_proto_array(r, least): an array's count, null as 0. ERR_BAD when that many elements of at
 * least
 * ${least} bytes cannot be in what is left: no loop over it runs longer than its input. */
uint32_t kafka_proto_array(struct rd *r, size_t least);

/* Frames that are longer are refused: far above any answer to a producer. */
#define KAFKA_PROTO_FRAME_MAX (16 * 1024 * 1024)

/*
 * kafka_proto_frame(in, frame, used):
 * The first frame of ${in}: its bytes behind the size; ${used} is the length with it.
 * Errors: ERR_SHORT (more bytes are needed), ERR_BAD (a negative size, or below a header),
 * ERR_RANGE.
 */
enum err kafka_proto_frame(struct slice in, struct slice *frame, size_t *used) MUST_USE;

/* Varints of records: zigzag, then seven bits a byte. kafka_proto_varint_size(v): bytes it takes.
 * kafka_proto_varint_put(p, v): write it, returns the bytes. kafka_proto_varint(r): read one. */
static inline uint64_t
kafka_proto_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static inline size_t
kafka_proto_varint_put(uint8_t *p, int64_t v)
{
    uint64_t left = kafka_proto_zigzag(v);
    size_t n = 0;

    for (; left >= 0x80; left >>= 7)
        p[n++] = (uint8_t)(left | 0x80);
    p[n++] = (uint8_t)left;
    return n;
}

size_t kafka_proto_varint_size(int64_t v);
int64_t kafka_proto_varint(struct rd *r);

#endif
