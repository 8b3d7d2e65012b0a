/*
 * kafka_msg_read.c: answers. See kafka_msg.h.
 */
#include "kafka/kafka_msg.h"

/* The shortest an element of a list can be: what bounds the loops over them. */
#define API_LEAST 6
#define BROKER_LEAST 10
#define TOPIC_LEAST 8
#define PARTITION_LEAST 18
#define RESULT_LEAST 22
#define REFUSED_LEAST 6

enum err
kafka_msg_versions_read(struct slice body, struct kafka_proto_versions *versions, int16_t *error)
{
    struct kafka_proto_versions read;
    struct rd r;
    int16_t said;

    rd_init(&r, body);
    kafka_proto_versions_none(&read);
    said = (int16_t)rd_be16(&r);
    if (r.err == ERR_OK && said != 0) {
        *error = said;
        *versions = read;
        return ERR_OK;
    }
    for (uint32_t left = kafka_proto_array(&r, API_LEAST); left > 0; left--) {
        int16_t key = (int16_t)rd_be16(&r), min = (int16_t)rd_be16(&r);

        kafka_proto_versions_offer(&read, key, min, (int16_t)rd_be16(&r));
    }
    if (rd_done(&r) != ERR_OK)
        return r.err != ERR_OK ? r.err : ERR_BAD;
    *error = said;
    *versions = read;
    return ERR_OK;
}

/* ---- Metadata ---- */

void
kafka_msg_cluster_open(struct kafka_msg_cluster *m, struct slice body, int16_t version)
{
    *m = (struct kafka_msg_cluster){.version = version};
    rd_init(&m->r, body);
    if (version >= 3)
        m->throttle_ms = (int32_t)rd_be32(&m->r);
    m->brokers = kafka_proto_array(&m->r, BROKER_LEAST);
}

bool
kafka_msg_next_broker(struct kafka_msg_cluster *m, struct kafka_msg_broker *out)
{
    if (m->brokers == 0 || m->in_topics)
        return false;
    m->brokers--;
    out->id = (int32_t)rd_be32(&m->r);
    out->host = kafka_proto_string(&m->r);
    out->port = (int32_t)rd_be32(&m->r);
    (void)kafka_proto_nullable(&m->r); /* the rack */
    return m->r.err == ERR_OK;
}

static void
enter_topics(struct kafka_msg_cluster *m)
{
    m->in_topics = true;
    if (m->version >= 2)
        (void)kafka_proto_nullable(&m->r); /* the cluster's id */
    (void)rd_be32(&m->r);                  /* the controller */
    m->topics = kafka_proto_array(&m->r, TOPIC_LEAST);
}

/* What is left of the list before is a misuse of the cursor, not of the input; both end as ERR_BAD.
 */
bool
kafka_msg_next_topic(struct kafka_msg_cluster *m, struct kafka_msg_topic *out)
{
    if (m->brokers > 0 || m->partitions > 0)
        rd_fail(&m->r, ERR_BAD);
    if (!m->in_topics)
        enter_topics(m);
    if (m->topics == 0 || m->r.err != ERR_OK)
        return false;
    m->topics--;
    out->error = (int16_t)rd_be16(&m->r);
    out->name = kafka_proto_string(&m->r);
    (void)rd_u8(&m->r); /* whether it is internal */
    m->partitions = out->partitions = kafka_proto_array(&m->r, PARTITION_LEAST);
    if (m->partitions == 0 && m->version >= 8)
        (void)rd_be32(&m->r); /* authorized operations stand behind the partitions */
    return m->r.err == ERR_OK;
}

static void
skip_ids(struct rd *r)
{
    uint32_t count = kafka_proto_array(r, 4);

    (void)rd_bytes(r, (size_t)count * 4);
}

bool
kafka_msg_next_partition(struct kafka_msg_cluster *m, struct kafka_msg_partition *out)
{
    if (m->partitions == 0 || m->r.err != ERR_OK)
        return false;
    m->partitions--;
    out->error = (int16_t)rd_be16(&m->r);
    out->index = (int32_t)rd_be32(&m->r);
    out->leader = (int32_t)rd_be32(&m->r);
    out->leader_epoch = m->version >= 7 ? (int32_t)rd_be32(&m->r) : -1;
    skip_ids(&m->r); /* replicas */
    skip_ids(&m->r); /* those in sync */
    if (m->version >= 5)
        skip_ids(&m->r); /* those offline */
    if (m->partitions == 0 && m->version >= 8)
        (void)rd_be32(&m->r);
    return m->r.err == ERR_OK;
}

enum err
kafka_msg_cluster_end(struct kafka_msg_cluster *m)
{
    if (!m->in_topics || m->topics > 0 || m->partitions > 0)
        rd_fail(&m->r, ERR_BAD);
    if (m->version >= 8)
        (void)rd_be32(&m->r);
    return rd_done(&m->r);
}

/* ---- Produce ---- */

void
kafka_msg_produced_open(struct kafka_msg_produced *m, struct slice body, int16_t version)
{
    *m = (struct kafka_msg_produced){.version = version};
    rd_init(&m->r, body);
    m->topics = kafka_proto_array(&m->r, 6);
}

static void
read_refused(struct rd *r, struct kafka_msg_result *out)
{
    const uint8_t *start;

    out->refused_count = kafka_proto_array(r, REFUSED_LEAST);
    start = r->p;
    for (uint32_t left = out->refused_count; left > 0; left--) {
        (void)rd_be32(r);
        (void)kafka_proto_nullable(r);
    }
    out->refused = slice_make(start, r->err == ERR_OK ? (size_t)(r->p - start) : 0);
    out->message = kafka_proto_nullable(r);
}

bool
kafka_msg_next_result(struct kafka_msg_produced *m, struct kafka_msg_result *out)
{
    while (m->parts == 0 && m->topics > 0 && m->r.err == ERR_OK) {
        m->topics--;
        m->topic = kafka_proto_string(&m->r);
        m->parts = kafka_proto_array(&m->r, RESULT_LEAST);
    }
    if (m->parts == 0 || m->r.err != ERR_OK)
        return false;
    m->parts--;
    *out = (struct kafka_msg_result){.topic = m->topic, .log_start = -1};
    out->index = (int32_t)rd_be32(&m->r);
    out->error = (int16_t)rd_be16(&m->r);
    out->offset = (int64_t)rd_be64(&m->r);
    out->append_ms = (int64_t)rd_be64(&m->r);
    if (m->version >= 5)
        out->log_start = (int64_t)rd_be64(&m->r);
    if (m->version >= 8)
        read_refused(&m->r, out);
    return m->r.err == ERR_OK;
}

bool
kafka_msg_next_refused(struct kafka_msg_result *result, int32_t *index, struct slice *message)
{
    struct rd r;

    if (result->refused.n == 0)
        return false;
    rd_init(&r, result->refused);
    *index = (int32_t)rd_be32(&r);
    *message = kafka_proto_nullable(&r);
    result->refused = slice_make(r.p, rd_left(&r));
    return r.err == ERR_OK;
}

enum err
kafka_msg_produced_end(struct kafka_msg_produced *m)
{
    if (m->topics > 0 || m->parts > 0)
        rd_fail(&m->r, ERR_BAD);
    m->throttle_ms = (int32_t)rd_be32(&m->r);
    return rd_done(&m->r);
}

/* ---- the short ones ---- */

enum err
kafka_msg_producer_read(struct slice body, struct kafka_msg_producer *out)
{
    struct rd r;

    rd_init(&r, body);
    out->throttle_ms = (int32_t)rd_be32(&r);
    out->error = (int16_t)rd_be16(&r);
    out->id = (int64_t)rd_be64(&r);
    out->epoch = (int16_t)rd_be16(&r);
    return rd_done(&r);
}

enum err
kafka_msg_handshake_read(struct slice body, int16_t *error, struct buf *mechanisms)
{
    struct rd r;
    enum err err = ERR_OK;

    rd_init(&r, body);
    *error = (int16_t)rd_be16(&r);
    for (uint32_t left = kafka_proto_array(&r, 2); left > 0 && err == ERR_OK; left--) {
        if (buf_len(mechanisms) > 0)
            err = buf_add_byte(mechanisms, ' ');
        if (err == ERR_OK)
            err = buf_add(mechanisms, kafka_proto_string(&r));
    }
    return err != ERR_OK ? err : rd_done(&r);
}

enum err
kafka_msg_authenticated_read(struct slice body, int16_t version,
                             struct kafka_msg_authenticated *out)
{
    struct rd r;

    rd_init(&r, body);
    out->error = (int16_t)rd_be16(&r);
    out->message = kafka_proto_nullable(&r);
    out->token = kafka_proto_bytes(&r);
    out->lifetime_ms = version >= 1 ? (int64_t)rd_be64(&r) : 0;
    return rd_done(&r);
}
