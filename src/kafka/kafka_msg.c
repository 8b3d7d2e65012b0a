/*
 * kafka_msg.c: requests. See kafka_msg.h.
 */
#include "kafka/kafka_msg.h"

static size_t
begin(struct wr *w, struct buf *out, enum kafka_proto_api api, const struct kafka_msg_head *head)
{
    wr_init(w, out);
    return kafka_proto_begin(w, api, head->version, head->correlation, head->client_id);
}

static enum err
end(struct wr *w, size_t hole)
{
    kafka_proto_end(w, hole, 0);
    return wr_done(w);
}

enum err
kafka_msg_api_versions(struct buf *out, const struct kafka_msg_head *head)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_API_VERSIONS, head);

    return end(&w, hole);
}

/* An empty list asks for the brokers alone (from v1 on). */
enum err
kafka_msg_metadata(struct buf *out, const struct kafka_msg_head *head, const struct slice *topics,
                   size_t count, bool create)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_METADATA, head);

    wr_be32(&w, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        kafka_proto_put_string(&w, topics[i]);
    if (head->version >= 4)
        wr_u8(&w, create);
    if (head->version >= 8)
        wr_be16(&w, 0); /* no lists of authorized operations, neither of cluster nor topics */
    return end(&w, hole);
}

enum err
kafka_msg_init_producer_id(struct buf *out, const struct kafka_msg_head *head)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_INIT_PRODUCER_ID, head);

    kafka_proto_put_nullable(&w, slice_make(NULL, 0));
    wr_be32(&w, INT32_MAX); /* the transaction timeout means nothing without a transactional id */
    return end(&w, hole);
}

enum err
kafka_msg_sasl_handshake(struct buf *out, const struct kafka_msg_head *head, struct slice mechanism)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_SASL_HANDSHAKE, head);

    kafka_proto_put_string(&w, mechanism);
    return end(&w, hole);
}

enum err
kafka_msg_sasl_authenticate(struct buf *out, const struct kafka_msg_head *head, struct slice token)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_SASL_AUTHENTICATE, head);

    kafka_proto_put_bytes(&w, token);
    return end(&w, hole);
}

static size_t
same_topic(const struct kafka_msg_part *parts, size_t count)
{
    size_t n = 1;

    while (n < count && slice_eq(parts[n].topic, parts[0].topic))
        n++;
    return n;
}

static uint32_t
topic_count(const struct kafka_msg_part *parts, size_t count)
{
    uint32_t topics = 0;

    for (size_t i = 0; i < count; i += same_topic(parts + i, count - i))
        topics++;
    return topics;
}

enum err
kafka_msg_produce(struct buf *out, const struct kafka_msg_head *head, int16_t acks,
                  int32_t timeout_ms, const struct kafka_msg_part *parts, size_t count,
                  size_t *ends)
{
    struct wr w;
    size_t hole = begin(&w, out, KAFKA_PROTO_PRODUCE, head), more = 0;

    kafka_proto_put_nullable(&w, slice_make(NULL, 0)); /* no transactional id */
    wr_be16(&w, (uint16_t)acks);
    wr_be32(&w, (uint32_t)timeout_ms);
    wr_be32(&w, topic_count(parts, count));
    for (size_t i = 0; i < count;) {
        size_t last = i + same_topic(parts + i, count - i);

        kafka_proto_put_string(&w, parts[i].topic);
        wr_be32(&w, (uint32_t)(last - i));
        for (; i < last; i++) {
            wr_be32(&w, (uint32_t)parts[i].index);
            if (parts[i].records.n > INT32_MAX)
                wr_fail(&w, ERR_RANGE);
            wr_be32(&w, (uint32_t)parts[i].records.n);
            ends[i] = buf_len(out);
            more += parts[i].records.n;
        }
    }
    kafka_proto_end(&w, hole, more);
    return wr_done(&w);
}
