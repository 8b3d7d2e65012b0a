/*
 * sink_peer.h: a destination on loopback that takes points and behaves as it is told. It finds
 * numbers in line protocol ("v=7i") and in rows of MessagePack ("v": {"Integer": 7}), by HTTP, by
 * MQTT or Kafka. One connection at a time; a thread of its own.
 */
#ifndef SINKD_SUPPORT_SINK_PEER_H
#define SINKD_SUPPORT_SINK_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "support/sink_contract.h"

#define SINK_PEER_VALUES 100000u

struct sink_peer {
    /* What it speaks, set before the start: how long the first message in ${in} is (0: it is not
     * whole yet), and its answer; false: the connection is to end. */
    size_t (*whole)(struct slice in);
    bool (*answer)(struct sink_peer *p, int fd, struct slice message);

    pthread_t thread;
    int listener, quit[2];
    uint16_t port;

    pthread_mutex_t lock; /* guards what follows */
    enum contract_mood mood;
    unsigned after;                        /* requests that are confirmed before that */
    unsigned char taken[SINK_PEER_VALUES]; /* by the number after "v=" */
};

/* sink_peer_http, sink_peer_mqtt: zero ${p} and set what it speaks: HTTP, MQTT 3.1.1 with QoS 0 and
 * 1. */
void sink_peer_http(struct sink_peer *p);
void sink_peer_mqtt(struct sink_peer *p);
void sink_peer_kafka(struct sink_peer *p); /* one broker; line protocol, one record a point */

void sink_peer_start(struct sink_peer *p);
void sink_peer_stop(struct sink_peer *p);

unsigned sink_peer_port(const struct sink_peer *p);

void sink_peer_set_mood(struct sink_peer *p, enum contract_mood mood, unsigned after);
/* For what it speaks: what to do with the next request, which is counted; note the numbers in a
 * body that is confirmed. */
enum contract_mood sink_peer_judge(struct sink_peer *p, struct slice body);

unsigned sink_peer_taken(struct sink_peer *p, uint64_t value);

#endif
