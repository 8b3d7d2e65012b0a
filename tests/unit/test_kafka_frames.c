/*
 * test_kafka_frames.c: every frame of tests/vectors/kafka/frames.jsonl: requests are written from
 * what they say, byte for byte; answers are read and compared, and every strict prefix of one is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kafka/kafka_cluster.h"
#include "kafka/kafka_msg.h"
#include "support/guard.h"
#include "support/kafka_vectors.h"

#define get json_tree_get

static size_t written, read_back, of_other_versions;

static int16_t
i16(const struct json_node *j)
{
    return (int16_t)json_tree_i64(j);
}

static struct slice
text(const struct json_node *j)
{
    return json_tree_null(j) ? slice_make(NULL, 0) : j->text;
}

/* Versions that kafka_msg.h says. */
static bool
spoken(enum kafka_proto_api api, int16_t version)
{
    struct kafka_proto_versions v;

    kafka_proto_versions_none(&v);
    kafka_proto_versions_offer(&v, (int16_t)api, version, version);
    return kafka_proto_version(&v, api) == version;
}

/* ---- requests ---- */

/* Parts of a Produce request, with the record batches as they stand. */
static void
produce(struct buf *out, const struct kafka_msg_head *head, const struct json_node *body)
{
    const struct json_node *topic = json_tree_at(get(body, "TopicData"), 0);
    const struct json_node *part = json_tree_at(get(topic, "PartitionData"), 0);
    struct buf records;
    struct kafka_msg_part one;
    size_t ends[1];

    assert_int_equal(get(body, "TopicData")->count, 1);
    assert_int_equal(get(topic, "PartitionData")->count, 1);
    buf_init(&records, 65536);
    kafka_vectors_hex(&records, get(get(part, "Records"), "_raw"));
    one = (struct kafka_msg_part){text(get(topic, "Name")),
                                  (int32_t)json_tree_i64(get(part, "Index")), buf_peek(&records)};
    assert_int_equal(kafka_msg_produce(out, head, i16(get(body, "Acks")),
                                       (int32_t)json_tree_i64(get(body, "TimeoutMs")), &one, 1,
                                       ends),
                     ERR_OK);
    assert_int_equal(ends[0], buf_len(out));
    assert_int_equal(buf_add(out, one.records), ERR_OK);
    buf_free(&records);
}

static void
metadata(struct buf *out, const struct kafka_msg_head *head, const struct json_node *body)
{
    const struct json_node *topics = get(body, "Topics");
    struct slice names[8];

    assert_true(topics->count <= 8);
    for (size_t i = 0; i < topics->count; i++) {
        const struct json_node *topic = json_tree_at(topics, i);

        names[i] = topic->type == TREE_STRING ? topic->text : text(get(topic, "Name"));
    }
    assert_int_equal(kafka_msg_metadata(out, head, names, topics->count,
                                        json_tree_true(get(body, "AllowAutoTopicCreation"))),
                     ERR_OK);
}

static void
token(struct buf *out, const struct kafka_msg_head *head, const struct json_node *body)
{
    struct buf bytes;

    buf_init(&bytes, 4096);
    kafka_vectors_hex(&bytes, get(body, "AuthBytes"));
    assert_int_equal(kafka_msg_sasl_authenticate(out, head, buf_peek(&bytes)), ERR_OK);
    buf_free(&bytes);
}

static void
write_request(struct buf *out, enum kafka_proto_api api, const struct json_node *row)
{
    const struct json_node *header = get(row, "header"), *body = get(row, "body");
    struct kafka_msg_head head = {i16(get(row, "version")),
                                  (int32_t)json_tree_i64(get(header, "correlation_id")),
                                  text(get(header, "client_id"))};

    switch (api) {
    case KAFKA_PROTO_PRODUCE:
        produce(out, &head, body);
        break;
    case KAFKA_PROTO_METADATA:
        metadata(out, &head, body);
        break;
    case KAFKA_PROTO_SASL_HANDSHAKE:
        assert_int_equal(kafka_msg_sasl_handshake(out, &head, text(get(body, "Mechanism"))),
                         ERR_OK);
        break;
    case KAFKA_PROTO_API_VERSIONS:
        assert_int_equal(kafka_msg_api_versions(out, &head), ERR_OK);
        break;
    case KAFKA_PROTO_INIT_PRODUCER_ID:
        assert_int_equal(kafka_msg_init_producer_id(out, &head), ERR_OK);
        break;
    case KAFKA_PROTO_SASL_AUTHENTICATE:
        token(out, &head, body);
        break;
    }
}

/* What stands for the timeout of a transaction means nothing without one: librdkafka says -1. */
static void
forgive_timeout(enum kafka_proto_api api, const struct json_node *row, struct buf *frame)
{
    if (api == KAFKA_PROTO_INIT_PRODUCER_ID &&
        json_tree_i64(get(get(row, "body"), "TransactionTimeoutMs")) == -1)
        memcpy(frame->data + frame->head + buf_len(frame) - 4, "\x7f\xff\xff\xff", 4);
}

static void
check_request(enum kafka_proto_api api, const struct json_node *row, struct buf *expected)
{
    struct buf out;

    buf_init(&out, 65536);
    write_request(&out, api, row);
    forgive_timeout(api, row, expected);
    if (buf_len(&out) != buf_len(expected) ||
        memcmp(buf_peek(&out).p, buf_peek(expected).p, buf_len(&out)) != 0)
        fail_msg("%.*s is written otherwise", SLICE_PRI(text(get(row, "name"))));
    buf_free(&out);
    written++;
}

/* ---- answers ---- */

#define assert_text(slice, node) assert_true(slice_eq((slice), text(node)))

static enum err
read_versions(struct slice body, const struct json_node *said)
{
    struct kafka_proto_versions v;
    const struct json_node *list = get(said, "ApiKeys");
    int16_t error;
    enum err err = kafka_msg_versions_read(body, &v, &error);

    if (err != ERR_OK || said == NULL)
        return err;
    assert_int_equal(error, json_tree_i64(get(said, "ErrorCode")));
    for (size_t i = 0; error == 0 && i < list->count; i++) {
        const struct json_node *api = json_tree_at(list, i);
        int64_t key = json_tree_i64(get(api, "ApiKey")),
                most = json_tree_i64(get(api, "MaxVersion"));

        if (key == KAFKA_PROTO_PRODUCE)
            assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), most < 8 ? most : 8);
        if (key == KAFKA_PROTO_INIT_PRODUCER_ID)
            assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_INIT_PRODUCER_ID),
                             most < 1 ? most : 1);
    }
    return ERR_OK;
}

static void
compare_partitions(struct kafka_msg_cluster *m, const struct json_node *list)
{
    struct kafka_msg_partition partition;

    for (size_t i = 0; i < list->count; i++) {
        const struct json_node *said = json_tree_at(list, i);

        assert_true(kafka_msg_next_partition(m, &partition));
        assert_int_equal(partition.error, json_tree_i64(get(said, "ErrorCode")));
        assert_int_equal(partition.index, json_tree_i64(get(said, "PartitionIndex")));
        assert_int_equal(partition.leader, json_tree_i64(get(said, "LeaderId")));
        assert_int_equal(partition.leader_epoch,
                         m->version >= 7 ? json_tree_i64(get(said, "LeaderEpoch")) : -1);
    }
    assert_false(kafka_msg_next_partition(m, &partition));
}

static void
compare_metadata(struct slice body, int16_t version, const struct json_node *said)
{
    const struct json_node *brokers = get(said, "Brokers"), *topics = get(said, "Topics");
    struct kafka_msg_cluster m;
    struct kafka_msg_broker broker;
    struct kafka_msg_topic topic;

    kafka_msg_cluster_open(&m, body, version);
    for (size_t i = 0; i < brokers->count; i++) {
        assert_true(kafka_msg_next_broker(&m, &broker));
        assert_int_equal(broker.id, json_tree_i64(get(json_tree_at(brokers, i), "NodeId")));
        assert_text(broker.host, get(json_tree_at(brokers, i), "Host"));
        assert_int_equal(broker.port, json_tree_i64(get(json_tree_at(brokers, i), "Port")));
    }
    assert_false(kafka_msg_next_broker(&m, &broker));
    for (size_t i = 0; i < topics->count; i++) {
        assert_true(kafka_msg_next_topic(&m, &topic));
        assert_int_equal(topic.error, json_tree_i64(get(json_tree_at(topics, i), "ErrorCode")));
        assert_text(topic.name, get(json_tree_at(topics, i), "Name"));
        compare_partitions(&m, get(json_tree_at(topics, i), "Partitions"));
    }
    assert_false(kafka_msg_next_topic(&m, &topic));
    assert_int_equal(kafka_msg_cluster_end(&m), ERR_OK);
}

static enum err
read_metadata(struct slice body, int16_t version, const struct json_node *said)
{
    struct kafka_cluster c;
    enum err err;

    kafka_cluster_init(&c);
    err = kafka_cluster_update(&c, body, version);
    if (err == ERR_OK && said != NULL)
        compare_metadata(body, version, said);
    kafka_cluster_free(&c);
    return err;
}

static void
compare_result(struct kafka_msg_result *result, int16_t version, const struct json_node *said)
{
    const struct json_node *refused = get(said, "RecordErrors");
    struct slice message;
    int32_t index;

    assert_int_equal(result->index, json_tree_i64(get(said, "Index")));
    assert_int_equal(result->error, json_tree_i64(get(said, "ErrorCode")));
    assert_int_equal(result->offset, json_tree_i64(get(said, "BaseOffset")));
    assert_int_equal(result->append_ms, json_tree_i64(get(said, "LogAppendTimeMs")));
    if (version >= 5)
        assert_int_equal(result->log_start, json_tree_i64(get(said, "LogStartOffset")));
    if (version < 8)
        return;
    assert_text(result->message, get(said, "ErrorMessage"));
    for (size_t i = 0; i < refused->count; i++) {
        assert_true(kafka_msg_next_refused(result, &index, &message));
        assert_int_equal(index, json_tree_i64(get(json_tree_at(refused, i), "BatchIndex")));
        assert_text(message, get(json_tree_at(refused, i), "BatchIndexErrorMessage"));
    }
    assert_false(kafka_msg_next_refused(result, &index, &message));
}

static enum err
read_produced(struct slice body, int16_t version, const struct json_node *said)
{
    const struct json_node *topics = get(said, "Responses");
    struct kafka_msg_produced m;
    struct kafka_msg_result result;
    enum err err;

    kafka_msg_produced_open(&m, body, version);
    for (size_t t = 0; topics != NULL && t < topics->count; t++) {
        const struct json_node *parts = get(json_tree_at(topics, t), "PartitionResponses");

        for (size_t i = 0; i < parts->count; i++) {
            assert_true(kafka_msg_next_result(&m, &result));
            assert_text(result.topic, get(json_tree_at(topics, t), "Name"));
            compare_result(&result, version, json_tree_at(parts, i));
        }
    }
    while (kafka_msg_next_result(&m, &result))
        assert_null(said);
    err = kafka_msg_produced_end(&m);
    if (err == ERR_OK && said != NULL)
        assert_int_equal(m.throttle_ms, json_tree_i64(get(said, "ThrottleTimeMs")));
    return err;
}

static enum err
read_producer(struct slice body, const struct json_node *said)
{
    struct kafka_msg_producer producer;
    enum err err = kafka_msg_producer_read(body, &producer);

    if (err == ERR_OK && said != NULL) {
        assert_int_equal(producer.throttle_ms, json_tree_i64(get(said, "ThrottleTimeMs")));
        assert_int_equal(producer.error, json_tree_i64(get(said, "ErrorCode")));
        assert_int_equal(producer.id, json_tree_i64(get(said, "ProducerId")));
        assert_int_equal(producer.epoch, json_tree_i64(get(said, "ProducerEpoch")));
    }
    return err;
}

static enum err
read_handshake(struct slice body, const struct json_node *said)
{
    const struct json_node *list = get(said, "Mechanisms");
    struct buf names, expected;
    int16_t error;
    enum err err;

    buf_init(&names, 1024);
    buf_init(&expected, 1024);
    err = kafka_msg_handshake_read(body, &error, &names);
    if (err == ERR_OK && said != NULL) {
        assert_int_equal(error, json_tree_i64(get(said, "ErrorCode")));
        for (size_t i = 0; i < list->count; i++) {
            assert_int_equal(buf_add_text(&expected, i > 0 ? " " : ""), ERR_OK);
            assert_int_equal(buf_add(&expected, json_tree_at(list, i)->text), ERR_OK);
        }
        assert_true(slice_eq(buf_peek(&names), buf_peek(&expected)));
    }
    buf_free(&names);
    buf_free(&expected);
    return err;
}

static enum err
read_authenticated(struct slice body, int16_t version, const struct json_node *said)
{
    struct kafka_msg_authenticated a;
    struct buf token_said;
    enum err err = kafka_msg_authenticated_read(body, version, &a);

    if (err == ERR_OK && said != NULL) {
        assert_int_equal(a.error, json_tree_i64(get(said, "ErrorCode")));
        assert_text(a.message, get(said, "ErrorMessage"));
        buf_init(&token_said, 4096);
        kafka_vectors_hex(&token_said, get(said, "AuthBytes"));
        assert_true(slice_eq(a.token, buf_peek(&token_said)));
        buf_free(&token_said);
        assert_int_equal(a.lifetime_ms,
                         version >= 1 ? json_tree_i64(get(said, "SessionLifetimeMs")) : 0);
    }
    return err;
}

static enum err
read_answer(enum kafka_proto_api api, int16_t version, struct slice body,
            const struct json_node *said)
{
    switch (api) {
    case KAFKA_PROTO_PRODUCE:
        return read_produced(body, version, said);
    case KAFKA_PROTO_METADATA:
        return read_metadata(body, version, said);
    case KAFKA_PROTO_SASL_HANDSHAKE:
        return read_handshake(body, said);
    case KAFKA_PROTO_API_VERSIONS:
        return read_versions(body, said);
    case KAFKA_PROTO_INIT_PRODUCER_ID:
        return read_producer(body, said);
    case KAFKA_PROTO_SASL_AUTHENTICATE:
        return read_authenticated(body, version, said);
    }
    return ERR_BAD;
}

/* A body whose first bytes are an error ends there for ApiVersions: what follows is not looked at.
 */
static bool
ends_early(enum kafka_proto_api api, struct slice body)
{
    return api == KAFKA_PROTO_API_VERSIONS && body.n >= 2 && (body.p[0] | body.p[1]) != 0;
}

static void
check_answer(enum kafka_proto_api api, int16_t version, const struct json_node *row,
             struct slice frame)
{
    struct slice body = slice_from(frame, 8), name = text(get(row, "name"));
    bool early = ends_early(api, body);

    /* Fields that this version of a broker forgot: it is known for it. */
    if (slice_eq(name, SLICE("mock202.Produce.v5.resp"))) {
        assert_int_equal(read_answer(api, version, body, NULL), ERR_SHORT);
        return;
    }
    if (read_answer(api, version, body, get(row, "body")) != ERR_OK)
        fail_msg("%.*s cannot be read", SLICE_PRI(name));
    for (size_t n = 0; n < body.n; n++) {
        struct slice prefix = guard_copy(slice_to(body, n));
        enum err err = read_answer(api, version, prefix, NULL);

        if (early && n >= 2)
            assert_int_equal(err, ERR_OK);
        else
            assert_int_equal(err, ERR_SHORT);
        guard_free(prefix);
    }
    read_back++;
}

/* A newer version read as if it were ours: whatever comes out, it is not read past its end. */
static void
misread(enum kafka_proto_api api, struct slice frame)
{
    static const int16_t versions[] = {0, 1, 3, 5, 7, 8};

    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct slice body = guard_copy(slice_from(frame, 8));
        enum err err = read_answer(api, versions[i], body, NULL);

        (void)err;
        guard_free(body);
    }
    of_other_versions++;
}

static void
check_row(const struct json_node *row)
{
    enum kafka_proto_api api = (enum kafka_proto_api)json_tree_i64(get(row, "api_key"));
    int16_t version = i16(get(row, "version"));
    struct buf frame;
    struct slice inside;
    size_t used;

    buf_init(&frame, 65536);
    kafka_vectors_hex(&frame, get(row, "hex"));
    assert_int_equal(kafka_proto_frame(buf_peek(&frame), &inside, &used), ERR_OK);
    assert_int_equal(used, buf_len(&frame));
    if (!json_tree_is(get(row, "direction"), "request") && spoken(api, version))
        check_answer(api, version, row, buf_peek(&frame));
    else if (!json_tree_is(get(row, "direction"), "request"))
        misread(api, buf_peek(&frame));
    else if (spoken(api, version))
        check_request(api, row, &frame);
    else
        of_other_versions++;
    buf_free(&frame);
}

static void
all_frames(void **state)
{
    (void)state;
    assert_int_equal(kafka_vectors_each("frames.jsonl", check_row), 195);
    print_message("%zu requests written, %zu answers read, %zu frames of versions not spoken\n",
                  written, read_back, of_other_versions);
    assert_int_equal(written + read_back + 1 + of_other_versions, 195);
    assert_in_range(of_other_versions, 1, 70);
}

/* ---- what no frame there shows ---- */

static void
versions_in_common(void **state)
{
    struct kafka_proto_versions v;

    (void)state;
    kafka_proto_versions_none(&v);
    assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), -1);
    kafka_proto_versions_offer(&v, KAFKA_PROTO_PRODUCE, 0, 2);
    assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), -1);
    kafka_proto_versions_offer(&v, KAFKA_PROTO_PRODUCE, 9, 13);
    assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), -1);
    kafka_proto_versions_offer(&v, KAFKA_PROTO_PRODUCE, 0, 7);
    assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), 7);
    kafka_proto_versions_offer(&v, KAFKA_PROTO_PRODUCE, 0, 13);
    assert_int_equal(kafka_proto_version(&v, KAFKA_PROTO_PRODUCE), 8);
    kafka_proto_versions_offer(&v, 99, 0, 13);
    assert_string_equal(kafka_proto_api_name(KAFKA_PROTO_METADATA), "Metadata");
}

static void
frames_are_bounded(void **state)
{
    struct slice frame;
    size_t used;

    (void)state;
    assert_int_equal(kafka_proto_frame(SLICE("\0\0\0"), &frame, &used), ERR_SHORT);
    assert_int_equal(kafka_proto_frame(SLICE("\0\0\0\3abc"), &frame, &used), ERR_BAD);
    assert_int_equal(kafka_proto_frame(SLICE("\377\377\377\377abc"), &frame, &used), ERR_BAD);
    assert_int_equal(kafka_proto_frame(SLICE("\1\0\0\1abc"), &frame, &used), ERR_RANGE);
    assert_int_equal(kafka_proto_frame(SLICE("\0\0\0\4abc"), &frame, &used), ERR_SHORT);
    assert_int_equal(kafka_proto_frame(SLICE("\0\0\0\4abcdef"), &frame, &used), ERR_OK);
    assert_int_equal(frame.n, 4);
    assert_int_equal(used, 8);
}

/* Two topics, the first with two partitions: one entry a topic, and the size counts the records. */
static void
produce_groups_by_topic(void **state)
{
    struct kafka_msg_head head = {3, 7, SLICE_INIT("c")};
    struct kafka_msg_part parts[] = {{SLICE_INIT("a"), 0, SLICE_INIT("xx")},
                                     {SLICE_INIT("a"), 5, SLICE_INIT("yyy")},
                                     {SLICE_INIT("b"), 1, SLICE_INIT("z")}};
    static const char expected[] = "\0\0\0\x47\0\0\0\3\0\0\0\7\0\1c\377\377\377\377\0\0\1\0\0\0\0\2"
                                   "\0\1a\0\0\0\2\0\0\0\0\0\0\0\2|\0\0\0\5\0\0\0\3|"
                                   "\0\1b\0\0\0\1\0\0\0\1\0\0\0\1|";
    struct buf out, all;
    size_t ends[3], at = 0;

    (void)state;
    buf_init(&out, 1000);
    buf_init(&all, 1000);
    assert_int_equal(kafka_msg_produce(&out, &head, -1, 256, parts, 3, ends), ERR_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(buf_add(&all, slice_make(out.data + at, ends[i] - at)), ERR_OK);
        assert_int_equal(buf_add_text(&all, "|"), ERR_OK);
        at = ends[i];
    }
    assert_int_equal(at, buf_len(&out));
    assert_int_equal(buf_len(&all), sizeof(expected) - 1);
    assert_int_equal(load_be32(buf_peek(&out).p), buf_len(&out) - 4 + 6);
    assert_memory_equal(buf_peek(&all).p + 4, expected + 4, sizeof(expected) - 5);
    buf_free(&out);
    buf_free(&all);
}

static void
too_long_a_name(void **state)
{
    static char name[40000];
    struct kafka_msg_head head = {1, 7, SLICE_INIT("c")};
    struct slice topic = {(const uint8_t *)name, sizeof(name)};
    struct buf out;

    (void)state;
    memset(name, 'a', sizeof(name));
    buf_init(&out, 100000);
    assert_int_equal(kafka_msg_metadata(&out, &head, &topic, 1, true), ERR_RANGE);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_frames),         cmocka_unit_test(versions_in_common),
        cmocka_unit_test(frames_are_bounded), cmocka_unit_test(produce_groups_by_topic),
        cmocka_unit_test(too_long_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
