/*
 * kafka_cluster.h: what is known of a cluster: its brokers, and the leaders of the topics in use.
 *
 * Pure. Answers to Metadata are taken over whole or not at all. A topic keeps its index for as long
 * as the cluster is known. The newest answer counts: leader epochs are kept but not compared, since
 * a topic that was made anew starts them again, maybe with fewer partitions.
 */
#ifndef SINKD_KAFKA_KAFKA_CLUSTER_H
#define SINKD_KAFKA_KAFKA_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define KAFKA_CLUSTER_TOPICS_MAX 10000      /* in use by one producer */
#define KAFKA_CLUSTER_PARTITIONS_MAX 100000 /* of one topic: more are not believed */
#define KAFKA_CLUSTER_BROKERS_MAX 10000

struct kafka_cluster_broker {
    int32_t id;
    char *host;
    uint16_t port;
};

struct kafka_cluster_partition {
    int32_t leader, leader_epoch; /* -1: none */
    int16_t error;
};

struct kafka_cluster_topic {
    char *name;
    int16_t error; /* of the last answer; a topic that was never asked for: 3 */
    struct kafka_cluster_partition *partitions;
    uint32_t partition_count; /* 0: not known */
    uint32_t partitions_cap;  /* private */
    size_t next;              /* private: of the same hash */
};

#define KAFKA_CLUSTER_BUCKETS 256

struct kafka_cluster {
    struct kafka_cluster_broker *brokers;
    size_t broker_count;
    struct kafka_cluster_topic *topics;
    size_t topic_count, topics_cap;
    size_t buckets[KAFKA_CLUSTER_BUCKETS]; /* private: index + 1 */
    int32_t throttle_ms;                   /* of the last answer */
};

void kafka_cluster_init(struct kafka_cluster *c);
void kafka_cluster_free(struct kafka_cluster *c);

/* kafka_cluster_topic(c, name, index): find or add. Errors: ERR_RANGE (too many topics), ERR_NOMEM.
 */
enum err kafka_cluster_topic(struct kafka_cluster *c, struct slice name, size_t *index) MUST_USE;

/*
 * kafka_cluster_update(c, body, version):
 * Take over an answer to Metadata. Topics that nobody asked for are passed over.
 * Errors: ERR_SHORT, ERR_BAD, ERR_RANGE (over a limit above): nothing was changed. ERR_NOMEM: some
 * topics may have been.
 */
enum err kafka_cluster_update(struct kafka_cluster *c, struct slice body, int16_t version) MUST_USE;

/* kafka_cluster_broker(c, id): NULL: not in the list. */
const struct kafka_cluster_broker *kafka_cluster_broker(const struct kafka_cluster *c, int32_t id);

/* kafka_cluster_leader(c, topic, partition): the broker that leads it; NULL: nobody who is known.
 */
const struct kafka_cluster_broker *kafka_cluster_leader(const struct kafka_cluster *c, size_t topic,
                                                        int32_t partition);

#endif
