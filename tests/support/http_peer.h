/*
 * http_peer.h: an HTTP server on loopback that takes points and behaves as it is told. It finds
 * numbers in line protocol ("v=7i") and in rows of MessagePack ("v": {"Integer": 7}).
 * One connection at a time; a thread of its own.
 */
#ifndef SINKD_SUPPORT_HTTP_PEER_H
#define SINKD_SUPPORT_HTTP_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/sink_contract.h"

#define HTTP_PEER_VALUES 100000u

struct http_peer {
    pthread_t thread;
    int listener, quit[2];
    uint16_t port;

    pthread_mutex_t lock; /* guards what follows */
    enum contract_mood mood;
    unsigned after;                        /* requests that are confirmed before that */
    unsigned char taken[HTTP_PEER_VALUES]; /* by the number after "v=" */
};

void http_peer_start(struct http_peer *p);
void http_peer_stop(struct http_peer *p);

unsigned http_peer_port(const struct http_peer *p);

void http_peer_set_mood(struct http_peer *p, enum contract_mood mood, unsigned after);
unsigned http_peer_taken(struct http_peer *p, uint64_t value);

#endif
