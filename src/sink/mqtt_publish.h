/*
 * mqtt_publish.h: the working part of the sink type mqtt: its connection, and points turned into
 * messages that are published and answered.
 *
 * What is in flight outlives connections: with the session of the broker it is sent again as it
 * was, without it the open points are cut anew. See mqtt_sink.c for the options.
 */
#ifndef SINKD_SINK_MQTT_PUBLISH_H
#define SINKD_SINK_MQTT_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "mqtt/mqtt_client.h"
#include "mqtt/mqtt_guard.h"
#include "mqtt/mqtt_inflight.h"
#include "sink/message.h"
#include "sink/round.h"
#include "sink/sink.h"
#include "sink/template.h"

struct mqtt_publisher {
    /* Set by the owner, which frees them too. */
    const struct sink_env *env;
    struct mqtt_client *client;
    struct mqtt_inflight *inflight;
    struct template *topic;
    struct message_form form;
    uint8_t qos;
    bool retain;
    bool clean_session;
    int64_t timeout_ms;
    struct slice client_id; /* for texts */

    /* Private. */
    struct mqtt_guard guard;
    struct message_set set;
    struct buf topic_text, payload; /* of the message under way */
    size_t join_limit; /* most bytes of a joined message that the broker let pass; 0: not known */
    bool alone;        /* a message that had to go alone waits for its answer */
    bool purged;       /* an old session of this client identifier is gone */
};

/* mqtt_publish_init(p): the private part; the rest is zeroed. mqtt_publish_free(p). */
void mqtt_publish_init(struct mqtt_publisher *p);
void mqtt_publish_free(struct mqtt_publisher *p);

/* mqtt_publish_connect, mqtt_publish_deliver, mqtt_publish_idle: as the calls of struct
 * sink_type. */
enum err mqtt_publish_connect(struct mqtt_publisher *p, int64_t deadline, struct outcome *outcome,
                              struct errinfo *info) MUST_USE;
enum err mqtt_publish_deliver(struct mqtt_publisher *p, struct round *round, size_t from, size_t to,
                              struct outcome *outcome, struct errinfo *info) MUST_USE;
enum err mqtt_publish_idle(struct mqtt_publisher *p, int64_t until, struct errinfo *info) MUST_USE;

/*
 * Between the two files of this module. mqtt_publish_answer(p, round, packet, info): take one
 * answer; ${round} is NULL when no delivery is under way. ERR_BAD, ERR_NOMEM: the connection is to
 * be dropped.
 * mqtt_publish_blame(p, err, info): the connection ended with that error: what it says of the
 * messages that were without an answer.
 */
enum err mqtt_publish_answer(struct mqtt_publisher *p, struct round *round,
                             const struct mqtt_packet *packet, struct errinfo *info) MUST_USE;
enum mqtt_blame mqtt_publish_blame(struct mqtt_publisher *p, enum err err,
                                   const struct errinfo *info);

#endif
