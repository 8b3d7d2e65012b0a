/*
 * kafka_cut.h: a round cut into record batches, and what a producer remembers of each partition.
 *
 * A round keeps its cut: the bytes of a batch are made once and sent again unchanged until the
 * broker has answered for them, across reconnects. Sequence numbers are given to a batch when it is
 * first sent and belong to the partition, from round to round. Not for: connections, and what an
 * answer means (kafka_produce.h).
 */
#ifndef SINKD_SINK_KAFKA_CUT_H
#define SINKD_SINK_KAFKA_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "kafka/kafka_cluster.h"
#include "sink/kafka_value.h"
#include "sink/round.h"
#include "sink/sink_def.h"
#include "sink/template.h"

#define KAFKA_CUT_NONE SIZE_MAX

/* One record batch, encoded. */
struct kafka_cut_batch {
    size_t topic;
    uint32_t partition;
    size_t first, count; /* its points: order[first] and on */
    uint32_t records;
    size_t at, size; /* its bytes in kafka_cut.bytes */
    size_t raw_size; /* before it was packed */
    size_t next;     /* the batch behind it in its partition; KAFKA_CUT_NONE */
    bool stamped;    /* it has its sequence number: a broker may have seen it */
    int32_t sequence;
    unsigned restarts; /* how often its sequence was begun anew */
    bool resolved;
};

/* A partition as the producer knows it. */
struct kafka_cut_lane {
    int64_t producer; /* -1: none yet */
    int16_t epoch;
    int32_t sequence; /* of its next batch */
    bool gap;         /* a batch that may have been written was given up: the epoch must change */
    size_t batch;     /* the first that is not resolved; KAFKA_CUT_NONE */
    size_t last;
    uint32_t head, tail; /* private: points that are to be cut */
};

struct kafka_cut_topic {
    struct kafka_cut_lane *lanes;
    uint32_t lane_count;
    uint32_t sticky;     /* where points without a key go now */
    size_t sticky_bytes; /* and how much went there */
    size_t max_bytes;    /* learned: larger batches are refused; 0: nothing learned */
    unsigned unknown;    /* tries in a row that did not find it */
};

/* A point of a batch, and the record of it that the point is in. */
struct kafka_cut_member {
    uint32_t point, record;
};

struct kafka_cut {
    struct kafka_value value;
    struct template *topic_template;
    bool keyed_partitions; /* by murmur2 of the key */
    size_t max_bytes;
    struct gzip_writer *gzip;
    uint32_t random;

    uint64_t first_seq, last_seq; /* of the round it is about */
    size_t point_count;
    size_t points_cap;
    uint32_t *topic_of; /* one a point; UINT32_MAX: not known yet */
    uint32_t *link;     /* one a point: the next of its partition */
    uint8_t *taken;     /* one a point: it is in a batch */
    struct kafka_cut_member *order;
    size_t order_count, order_cap;
    struct kafka_cut_batch *batches;
    size_t batch_count, batches_cap;
    size_t unresolved;
    size_t refused;     /* a point that was refused and not told of; KAFKA_CUT_NONE */
    struct errinfo why; /* it was */
    struct buf bytes, packed, text, key;

    struct kafka_cut_topic *topics; /* by the cluster's index */
    size_t topics_cap;
};

/* kafka_cut_open(cut, def, node, seed, info): ${def} and ${node} outlive it. ERR_NOMEM, ERR_CONFIG.
 * The caller frees it after an error too. */
enum err kafka_cut_open(struct kafka_cut *cut, const struct sink_def *def, const char *node,
                        uint32_t seed, struct errinfo *info) MUST_USE;
void kafka_cut_free(struct kafka_cut *cut);

/* kafka_cut_begin(cut, round): be about ${round}; nothing happens if it is already. ERR_NOMEM. */
enum err kafka_cut_begin(struct kafka_cut *cut, const struct round *round) MUST_USE;

/* kafka_cut_topic(cut, name, cluster, index, info): find or add one. ERR_NOMEM, ERR_RANGE. */
enum err kafka_cut_topic(struct kafka_cut *cut, struct slice name, struct kafka_cluster *cluster,
                         size_t *index, struct errinfo *info) MUST_USE;

/*
 * kafka_cut_name(cut, round, from, to, cluster, info):
 * Find the topics of the open points of [from, to) that are in no batch. A point whose topic has an
 * illegal name is refused. Errors: ERR_NOMEM, ERR_RANGE (too many topics).
 */
enum err kafka_cut_name(struct kafka_cut *cut, struct round *round, size_t from, size_t to,
                        struct kafka_cluster *cluster, struct errinfo *info) MUST_USE;

/*
 * kafka_cut_make(cut, round, from, to, cluster, left, info):
 * Cut them: those of topics whose partitions are known. ${left} is how many had to be left; a point
 * that is too large alone is refused, and ${info} says so. ERR_NOMEM: everything that was cut is
 * given up.
 */
enum err kafka_cut_make(struct kafka_cut *cut, struct round *round, size_t from, size_t to,
                        const struct kafka_cluster *cluster, size_t *left,
                        struct errinfo *info) MUST_USE;

struct kafka_cut_lane *kafka_cut_lane(struct kafka_cut *cut, const struct kafka_cut_batch *b);

/* kafka_cut_resolve(cut, round, b, verdict): the broker has answered for the first batch of its
 * partition: its open points get that verdict. */
void kafka_cut_resolve(struct kafka_cut *cut, struct round *round, size_t b, enum verdict verdict);

/* kafka_cut_refuse(cut, round, i, format, ...): point ${i} can never be delivered, and why. */
void kafka_cut_refuse(struct kafka_cut *cut, struct round *round, size_t i, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* kafka_cut_unstamp(cut, b): it was not written: its sequence number is free again. */
void kafka_cut_unstamp(struct kafka_cut *cut, size_t b);

/*
 * kafka_cut_again(cut, round, b, max_bytes, max_records, info):
 * Cut the first batch of its partition anew, in its place: its open points, into batches of at most
 * so many bytes and records. ERR_NOMEM: as kafka_cut_make.
 */
enum err kafka_cut_again(struct kafka_cut *cut, struct round *round, size_t b, size_t max_bytes,
                         uint32_t max_records, struct errinfo *info) MUST_USE;

/* kafka_cut_release(cut, b): its partition is gone: its points are in no batch again, and with them
 * those of all batches behind it. */
void kafka_cut_release(struct kafka_cut *cut, size_t b);

#endif
