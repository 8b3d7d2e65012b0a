/*
 * kafka_cluster.c: see kafka_cluster.h.
 */
#include "kafka/kafka_cluster.h"

#include "base/mem.h"
#include "kafka/kafka_msg.h"
#include "kafka/kafka_partition.h"

#define UNKNOWN_TOPIC 3

void
kafka_cluster_init(struct kafka_cluster *c)
{
    *c = (struct kafka_cluster){0};
}

static void
free_brokers(struct kafka_cluster_broker *brokers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(brokers[i].host);
    mem_free(brokers);
}

void
kafka_cluster_free(struct kafka_cluster *c)
{
    free_brokers(c->brokers, c->broker_count);
    for (size_t i = 0; i < c->topic_count; i++) {
        mem_free(c->topics[i].name);
        mem_free(c->topics[i].partitions);
    }
    mem_free(c->topics);
    kafka_cluster_init(c);
}

/* ---- topics ---- */

static size_t *
bucket_of(struct kafka_cluster *c, struct slice name)
{
    return &c->buckets[kafka_partition_hash(name) % KAFKA_CLUSTER_BUCKETS];
}

static struct kafka_cluster_topic *
find_topic(struct kafka_cluster *c, struct slice name)
{
    for (size_t i = *bucket_of(c, name); i > 0; i = c->topics[i - 1].next) {
        if (slice_eq(slice_of(c->topics[i - 1].name), name))
            return &c->topics[i - 1];
    }
    return NULL;
}

static enum err
grow_topics(struct kafka_cluster *c)
{
    size_t cap = c->topics_cap == 0 ? 4 : c->topics_cap * 2;
    struct kafka_cluster_topic *topics;

    if (c->topic_count < c->topics_cap)
        return ERR_OK;
    topics = mem_resize(c->topics, cap * sizeof(*topics));
    if (topics == NULL)
        return ERR_NOMEM;
    c->topics = topics;
    c->topics_cap = cap;
    return ERR_OK;
}

enum err
kafka_cluster_topic(struct kafka_cluster *c, struct slice name, size_t *index)
{
    struct kafka_cluster_topic *topic = find_topic(c, name);
    size_t *bucket = bucket_of(c, name);
    char *copy;

    if (topic != NULL) {
        *index = (size_t)(topic - c->topics);
        return ERR_OK;
    }
    if (c->topic_count == KAFKA_CLUSTER_TOPICS_MAX)
        return ERR_RANGE;
    copy = mem_text(name);
    if (copy == NULL || grow_topics(c) != ERR_OK) {
        mem_free(copy);
        return ERR_NOMEM;
    }
    *index = c->topic_count++;
    c->topics[*index] =
        (struct kafka_cluster_topic){.name = copy, .error = UNKNOWN_TOPIC, .next = *bucket};
    *bucket = *index + 1;
    return ERR_OK;
}

/* ---- Metadata ---- */

/* Walk the whole answer once without keeping any of it: is it well formed, and how many brokers? */
static enum err
check(struct slice body, int16_t version, size_t *brokers)
{
    struct kafka_msg_cluster m;
    struct kafka_msg_broker broker;
    struct kafka_msg_topic topic;
    struct kafka_msg_partition partition;
    bool over = false;
    enum err err;

    *brokers = 0;
    kafka_msg_cluster_open(&m, body, version);
    while (kafka_msg_next_broker(&m, &broker)) {
        over = over || broker.port < 0 || broker.port > UINT16_MAX;
        (*brokers)++;
    }
    while (kafka_msg_next_topic(&m, &topic)) {
        while (kafka_msg_next_partition(&m, &partition))
            over = over || partition.index < 0 || partition.index >= KAFKA_CLUSTER_PARTITIONS_MAX;
    }
    err = kafka_msg_cluster_end(&m);
    if (err != ERR_OK)
        return err;
    return over || *brokers > KAFKA_CLUSTER_BROKERS_MAX ? ERR_RANGE : ERR_OK;
}

static enum err
take_brokers(struct kafka_cluster *c, struct kafka_msg_cluster *m, size_t count)
{
    struct kafka_cluster_broker *brokers = mem_array(count + 1, sizeof(*brokers));
    struct kafka_msg_broker from;
    size_t n = 0;

    if (brokers == NULL)
        return ERR_NOMEM;
    while (kafka_msg_next_broker(m, &from)) {
        brokers[n].host = mem_text(from.host);
        if (brokers[n].host == NULL) {
            free_brokers(brokers, n);
            return ERR_NOMEM;
        }
        brokers[n].id = from.id;
        brokers[n].port = (uint16_t)from.port;
        n++;
    }
    free_brokers(c->brokers, c->broker_count);
    c->brokers = brokers;
    c->broker_count = n;
    return ERR_OK;
}

/* Partitions that are not listed any more are gone. */
static enum err
resize_partitions(struct kafka_cluster_topic *topic, uint32_t count)
{
    struct kafka_cluster_partition *partitions = topic->partitions;

    if (count > topic->partitions_cap) {
        partitions = mem_resize(partitions, count * sizeof(*partitions));
        if (partitions == NULL)
            return ERR_NOMEM;
        topic->partitions = partitions;
        topic->partitions_cap = count;
    }
    for (uint32_t i = 0; i < count; i++)
        partitions[i] = (struct kafka_cluster_partition){-1, -1, 0};
    topic->partition_count = count;
    return ERR_OK;
}

/* One topic's partitions; ${topic} is NULL for one that nobody asked for. Indexes beyond the number
 * of partitions listed are gaps: no broker has such a topic. */
static enum err
take_partitions(struct kafka_msg_cluster *m, struct kafka_cluster_topic *topic, uint32_t listed)
{
    struct kafka_msg_partition from;
    enum err err = ERR_OK;

    if (topic != NULL && listed > 0)
        err = resize_partitions(topic, listed);
    while (kafka_msg_next_partition(m, &from)) {
        if (topic != NULL && err == ERR_OK && (uint32_t)from.index < topic->partition_count)
            topic->partitions[from.index] =
                (struct kafka_cluster_partition){from.leader, from.leader_epoch, from.error};
    }
    return err;
}

static enum err
take_topics(struct kafka_cluster *c, struct kafka_msg_cluster *m)
{
    struct kafka_msg_topic from;
    enum err err = ERR_OK;

    while (err == ERR_OK && kafka_msg_next_topic(m, &from)) {
        struct kafka_cluster_topic *topic = find_topic(c, from.name);

        if (topic != NULL)
            topic->error = from.error;
        err = take_partitions(m, topic, from.partitions);
    }
    return err;
}

enum err
kafka_cluster_update(struct kafka_cluster *c, struct slice body, int16_t version)
{
    struct kafka_msg_cluster m;
    size_t brokers;
    enum err err = check(body, version, &brokers);

    if (err != ERR_OK)
        return err;
    kafka_msg_cluster_open(&m, body, version);
    c->throttle_ms = m.throttle_ms;
    err = take_brokers(c, &m, brokers);
    return err == ERR_OK ? take_topics(c, &m) : err;
}

const struct kafka_cluster_broker *
kafka_cluster_broker(const struct kafka_cluster *c, int32_t id)
{
    for (size_t i = 0; i < c->broker_count; i++) {
        if (c->brokers[i].id == id)
            return &c->brokers[i];
    }
    return NULL;
}

const struct kafka_cluster_broker *
kafka_cluster_leader(const struct kafka_cluster *c, size_t topic, int32_t partition)
{
    const struct kafka_cluster_topic *t = &c->topics[topic];

    if (partition < 0 || (uint32_t)partition >= t->partition_count ||
        t->partitions[partition].leader < 0)
        return NULL;
    return kafka_cluster_broker(c, t->partitions[partition].leader);
}
