/*
 * kafka_produce.h: a round produced: batches to the leaders of their partitions, verdicts from the
 * answers.
 *
 * Every leader gets a request at the same time; of each partition one batch is in flight, so
 * nothing is overtaken. What a broker answers for one partition changes nothing for the others.
 */
#ifndef SINKD_SINK_KAFKA_PRODUCE_H
#define SINKD_SINK_KAFKA_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "kafka/kafka_client.h"
#include "sink/kafka_cut.h"
#include "sink/sink.h"

/* Leaders that are written to at a time. */
#define KAFKA_PRODUCE_FLIGHTS 32

/* What stands in the way of the batches that are left: the one that is over first. */
struct kafka_trouble {
    bool any, refresh; /* metadata have to be asked for again */
    bool moves;        /* it may be over within a second */
    struct outcome outcome;
    struct errinfo info;
};

struct kafka_produce {
    const struct sink_env *env;
    const char *sink; /* its name, for the log */
    struct kafka_client *client;
    struct kafka_cut cut;
    struct slice topic; /* the only topic, if all points go to one; else empty */
    int16_t acks;
    int64_t timeout_ms;
    bool idempotent;
    bool delivered_any; /* something was written under this definition */
    int64_t producer;   /* -1: none */
    int16_t epoch;
    struct kafka_trouble trouble;
    struct buf head;          /* of the request under way */
    struct kafka_item *items; /* what one pass sends */
    size_t items_cap;
};

/* kafka_produce_connect(p, deadline, outcome, info): as sink_type.connect. */
enum err kafka_produce_connect(struct kafka_produce *p, int64_t deadline, struct outcome *outcome,
                               struct errinfo *info) MUST_USE;

/* kafka_produce_deliver(p, round, from, to, outcome, info): as sink_type.deliver. */
enum err kafka_produce_deliver(struct kafka_produce *p, struct round *round, size_t from, size_t to,
                               struct outcome *outcome, struct errinfo *info) MUST_USE;

void kafka_produce_free(struct kafka_produce *p);

#endif
