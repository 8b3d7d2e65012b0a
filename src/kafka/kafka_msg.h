/*
 * kafka_msg.h: the requests a producer sends and the answers to them.
 *
 * Pure. A request is written as a whole frame (Produce without its record batches, which the caller
 * sends behind each part). An answer is read from the bytes behind the correlation id: short ones
 * into a struct, lists by stepping; the first error sticks in the cursor and is asked for at the
 * end. Versions: ApiVersions 0, Metadata 1 to 8, Produce 3 to 8, InitProducerId 0 and 1,
 * SaslHandshake 1, SaslAuthenticate 0 and 1. Source: the message schemas of Kafka 4.3.
 */
#ifndef SINKD_KAFKA_KAFKA_MSG_H
#define SINKD_KAFKA_KAFKA_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/wire.h"
#include "kafka/kafka_proto.h"

/* What all requests begin with. */
struct kafka_msg_head {
    int16_t version;
    int32_t correlation;
    struct slice client_id;
};

/*
 * Requests, appended to ${out} as frames.
 * Errors: ERR_NOMEM, ERR_RANGE (a name over 32767 bytes), and then nothing was added.
 */
enum err kafka_msg_api_versions(struct buf *out, const struct kafka_msg_head *head) MUST_USE;
enum err kafka_msg_metadata(struct buf *out, const struct kafka_msg_head *head,
                            const struct slice *topics, size_t count, bool create) MUST_USE;
enum err kafka_msg_init_producer_id(struct buf *out, const struct kafka_msg_head *head) MUST_USE;
enum err kafka_msg_sasl_handshake(struct buf *out, const struct kafka_msg_head *head,
                                  struct slice mechanism) MUST_USE;
enum err kafka_msg_sasl_authenticate(struct buf *out, const struct kafka_msg_head *head,
                                     struct slice token) MUST_USE;

/* One partition of a Produce request. Those of one topic stand together. */
struct kafka_msg_part {
    struct slice topic;
    int32_t index;
    struct slice records; /* one record batch */
};

/*
 * kafka_msg_produce(out, head, acks, timeout_ms, parts, count, ends):
 * All of the request but the records: ${ends}[i] is the length of ${out} where those of part i
 * come.
 * ${acks} is -1, 0 or 1.
 */
enum err kafka_msg_produce(struct buf *out, const struct kafka_msg_head *head, int16_t acks,
                           int32_t timeout_ms, const struct kafka_msg_part *parts, size_t count,
                           size_t *ends) MUST_USE;

/* ---- answers ---- */

/* kafka_msg_versions_read(body, versions, error): the list of an ApiVersions answer. On an ${error}
 * nothing behind it is read: what follows it differs between brokers. ERR_SHORT, ERR_BAD. */
enum err kafka_msg_versions_read(struct slice body, struct kafka_proto_versions *versions,
                                 int16_t *error) MUST_USE;

struct kafka_msg_broker {
    int32_t id;
    struct slice host;
    int32_t port;
};

struct kafka_msg_topic {
    int16_t error;
    struct slice name;
    uint32_t partitions; /* that follow */
};

struct kafka_msg_partition {
    int16_t error;
    int32_t index, leader, leader_epoch; /* -1: none */
};

/* A Metadata answer: first the brokers, then the topics, each with its partitions behind it. */
struct kafka_msg_cluster {
    struct rd r;
    int16_t version;
    int32_t throttle_ms;
    uint32_t brokers, topics, partitions; /* private: that are left */
    bool in_topics;
};

void kafka_msg_cluster_open(struct kafka_msg_cluster *m, struct slice body, int16_t version);
bool kafka_msg_next_broker(struct kafka_msg_cluster *m, struct kafka_msg_broker *out);
bool kafka_msg_next_topic(struct kafka_msg_cluster *m, struct kafka_msg_topic *out);
bool kafka_msg_next_partition(struct kafka_msg_cluster *m, struct kafka_msg_partition *out);
/* ERR_SHORT, ERR_BAD: also when it was not stepped through to its end. */
enum err kafka_msg_cluster_end(struct kafka_msg_cluster *m) MUST_USE;

struct kafka_msg_result {
    struct slice topic;
    int32_t index;
    int16_t error;
    int64_t offset;         /* of the first record */
    int64_t append_ms;      /* -1 unless the topic's times are the broker's */
    int64_t log_start;      /* -1 when the version does not say */
    uint32_t refused_count; /* records named as refused */
    struct slice refused;   /* private: step through them with kafka_msg_next_refused */
    struct slice message;   /* {NULL, 0}: none */
};

struct kafka_msg_produced {
    struct rd r;
    int16_t version;
    struct slice topic;
    uint32_t topics, parts; /* private: that are left */
    int32_t throttle_ms;    /* known at the end */
};

void kafka_msg_produced_open(struct kafka_msg_produced *m, struct slice body, int16_t version);
bool kafka_msg_next_result(struct kafka_msg_produced *m, struct kafka_msg_result *out);
/* Step through a result's refused records: ${index} counts the batch's records from 0. */
bool kafka_msg_next_refused(struct kafka_msg_result *result, int32_t *index, struct slice *message);
enum err kafka_msg_produced_end(struct kafka_msg_produced *m) MUST_USE;

struct kafka_msg_producer {
    int32_t throttle_ms;
    int16_t error;
    int64_t id;
    int16_t epoch;
};
enum err kafka_msg_producer_read(struct slice body, struct kafka_msg_producer *out) MUST_USE;

/* kafka_msg_handshake_read(body, error, mechanisms): ${mechanisms} gets the names, blanks between.
 */
enum err kafka_msg_handshake_read(struct slice body, int16_t *error,
                                  struct buf *mechanisms) MUST_USE;

struct kafka_msg_authenticated {
    int16_t error;
    struct slice message; /* {NULL, 0}: none */
    struct slice token;
    int64_t lifetime_ms; /* 0: no end, or the version does not say */
};
enum err kafka_msg_authenticated_read(struct slice body, int16_t version,
                                      struct kafka_msg_authenticated *out) MUST_USE;

#endif
