/*
 * fuzz_kafka_response.c: any bytes as an answer of a broker. The first byte says which kind and
 * version: what is read lies within the input, loops end, a cluster is taken over whole or not at
 * all.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kafka/kafka_cluster.h"
#include "kafka/kafka_msg.h"
#include "kafka/kafka_sasl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
within(struct slice all, struct slice part)
{
    assert(part.n == 0 || (part.p >= all.p && part.p + part.n <= all.p + all.n));
}

static void
produced(struct slice body, int16_t version)
{
    struct kafka_msg_produced m;
    struct kafka_msg_result result;
    struct slice message;
    int32_t index;
    size_t count = 0;

    kafka_msg_produced_open(&m, body, version);
    while (kafka_msg_next_result(&m, &result)) {
        uint32_t refused = 0;

        within(body, result.topic);
        within(body, result.message);
        while (kafka_msg_next_refused(&result, &index, &message)) {
            within(body, message);
            refused++;
        }
        assert(refused == result.refused_count);
        assert(++count <= body.n);
    }
    if (kafka_msg_produced_end(&m) == ERR_OK)
        assert(m.r.p == m.r.end);
}

static void
cluster(struct slice body, int16_t version)
{
    struct kafka_cluster c;
    size_t index;
    enum err err;

    kafka_cluster_init(&c);
    assert(kafka_cluster_topic(&c, SLICE("t1"), &index) == ERR_OK && index == 0);
    err = kafka_cluster_update(&c, body, version);
    assert(err != ERR_OK || c.broker_count <= body.n);
    if (err != ERR_OK && err != ERR_NOMEM)
        assert(c.broker_count == 0 && c.topics[0].partition_count == 0);
    for (uint32_t i = 0; i < c.topics[0].partition_count; i++) {
        const struct kafka_cluster_broker *leader = kafka_cluster_leader(&c, 0, (int32_t)i);

        assert(leader == NULL || leader->id == c.topics[0].partitions[i].leader);
    }
    kafka_cluster_free(&c);
}

static void
short_ones(struct slice body, int16_t version)
{
    struct kafka_proto_versions versions;
    struct kafka_msg_producer producer;
    struct kafka_msg_authenticated authenticated;
    struct buf names;
    int16_t error;
    enum err err;

    buf_init(&names, 4096);
    if (kafka_msg_versions_read(body, &versions, &error) == ERR_OK)
        assert(kafka_proto_version(&versions, KAFKA_PROTO_PRODUCE) < 9);
    if (kafka_msg_producer_read(body, &producer) == ERR_OK)
        assert(body.n == 16);
    err = kafka_msg_handshake_read(body, &error, &names);
    assert(err != ERR_OK || buf_len(&names) <= body.n);
    if (kafka_msg_authenticated_read(body, version, &authenticated) == ERR_OK) {
        within(body, authenticated.message);
        within(body, authenticated.token);
    }
    buf_free(&names);
}

/* A broker's words in SCRAM: nobody who does not know the password is believed. */
static void
scram(struct slice body)
{
    static const uint8_t random[24];
    static uint8_t password[] = "pencil";
    const struct secret secret = {password, 6};
    struct kafka_sasl s;
    struct buf out;
    struct slice rest = body, said;
    enum err err;

    kafka_sasl_init(&s, KAFKA_SASL_SCRAM_SHA_256, SLICE("user"), &secret, random);
    buf_init(&out, 65536);
    err = kafka_sasl_step(&s, slice_make(NULL, 0), &out, NULL);
    while (err == ERR_OK && !s.done && slice_split(&rest, 0, &said))
        err = kafka_sasl_step(&s, said, &out, NULL);
    assert(!s.done);
    buf_free(&out);
    kafka_sasl_free(&s);
}

static void
frames(struct slice in)
{
    struct slice frame;
    size_t used;

    while (kafka_proto_frame(in, &frame, &used) == ERR_OK) {
        within(in, frame);
        assert(used == frame.n + 4 && used <= in.n);
        in = slice_from(in, used);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice body;
    int16_t version;

    if (size == 0)
        return 0;
    body = slice_make(data + 1, size - 1);
    version = (int16_t)(data[0] & 15);
    switch (data[0] >> 4 & 7) {
    case 0:
        produced(body, version);
        break;
    case 1:
        cluster(body, version);
        break;
    case 2:
        short_ones(body, version);
        break;
    case 3:
        scram(body);
        break;
    default:
        frames(body);
        break;
    }
    return 0;
}
