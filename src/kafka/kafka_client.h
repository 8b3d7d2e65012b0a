/*
 * kafka_client.h: a cluster as a client sees it: bootstrap list, brokers, metadata, connections.
 *
 * Metadata comes from any broker that answers: one that is connected, then the known ones, then the
 * bootstrap list again. Records go over connections that were dialled by a broker's own address.
 * Straight blocking calls with absolute deadlines.
 * Not for: what is produced, and what an error of a partition means.
 */
#ifndef SINKD_KAFKA_KAFKA_CLIENT_H
#define SINKD_KAFKA_KAFKA_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "kafka/kafka_client_conn.h"
#include "kafka/kafka_cluster.h"

struct kafka_client;

/* Connections at a time; as many streams as one wait can watch. */
#define KAFKA_CLIENT_CONNS 64

/* Metadata older than this are asked for again: load balancers forget who is behind them. */
#define KAFKA_CLIENT_AGE_MS 180000

/* kafka_client_open(out, config, info): no network yet; ${config} is copied, not what it points to.
 * ERR_NOMEM. */
enum err kafka_client_open(struct kafka_client **out, const struct kafka_client_config *config,
                           struct errinfo *info) MUST_USE;
void kafka_client_close(struct kafka_client *c);

/* kafka_client_bootstrap(c, host, port): one more address to begin with. ERR_NOMEM. */
enum err kafka_client_bootstrap(struct kafka_client *c, struct slice host, uint16_t port) MUST_USE;

/* What is known. Ask for a topic (kafka_cluster_topic) and refresh to know it. */
struct kafka_cluster *kafka_client_cluster(struct kafka_client *c);

/* kafka_client_stale(c): nothing was asked for yet, or too long ago. */
bool kafka_client_stale(const struct kafka_client *c);

/*
 * kafka_client_refresh(c, deadline, info):
 * Metadata of all topics in use. ${info} names the last broker that failed and how.
 * Errors: those of kafka_client_conn_open and kafka_client_conn_receive.
 */
enum err kafka_client_refresh(struct kafka_client *c, int64_t deadline,
                              struct errinfo *info) MUST_USE;

/* kafka_client_connected(c, node): its connection, if it is good; NULL: dial. */
struct kafka_client_conn *kafka_client_connected(struct kafka_client *c, int32_t node);

/* kafka_client_dial(c, node, out, deadline, info): its connection, dialled if need be. Errors: as
 * above; ERR_NAME also when the broker is not in the cluster's list. The text names what it is
 * advertised as. */
enum err kafka_client_dial(struct kafka_client *c, int32_t node, struct kafka_client_conn **out,
                           int64_t deadline, struct errinfo *info) MUST_USE;

/*
 * kafka_client_producer(c, producer, deadline, info): a producer id, from any broker.
 * Errors: as above; ERR_CONFIG (the brokers give none: they are too old); ERR_OK with
 * producer->error set: they refuse.
 */
enum err kafka_client_producer(struct kafka_client *c, struct kafka_msg_producer *producer,
                               int64_t deadline, struct errinfo *info) MUST_USE;

/* kafka_client_idle(c, until, info): wait, and drop connections that end. ERR_TIMEOUT, ERR_STOP;
 * ERR_EOF: none is left, as it should be with nothing in flight. */
enum err kafka_client_idle(struct kafka_client *c, int64_t until, struct errinfo *info) MUST_USE;

/* kafka_client_disconnect(c): drop all connections; what is known stays. */
void kafka_client_disconnect(struct kafka_client *c);

#endif
