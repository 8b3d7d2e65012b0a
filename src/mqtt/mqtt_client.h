/*
 * mqtt_client.h: one MQTT 3.1.1 connection of a publisher.
 *
 * Straight blocking calls with absolute deadlines over a stream: connect, put packets in a buffer,
 * flush it, take the answers one by one. The keep-alive is honoured both ways inside these calls: a
 * PINGREQ goes out when the connection was silent in either direction for three quarters of it, and
 * a PINGRESP that is missing is a dead link, noticed within one and a half keep-alives.
 * Not for: what is in flight (mqtt_inflight.h), retries, and what a failure means for points.
 * Source: MQTT 3.1.1.
 */
#ifndef SINKD_MQTT_MQTT_CLIENT_H
#define SINKD_MQTT_MQTT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "mqtt/mqtt_packet.h"
#include "net/stream.h"

struct mqtt_client;

struct mqtt_client_config {
    const struct stream_env *env; /* kept, as all of this: outlives the client */
    struct slice host;            /* an IPv6 address without brackets */
    uint16_t port;
    const struct tls_client *tls; /* NULL: plain TCP */
    struct mqtt_connect hello;    /* but for clean_session, which each connect says */
    int64_t timeout_ms; /* longest wait for a PINGRESP, and for a write of the client's own */
    size_t out_max;     /* most bytes that may wait to be flushed */
};

/* mqtt_client_open(out, config): no network yet. ERR_NOMEM. */
enum err mqtt_client_open(struct mqtt_client **out,
                          const struct mqtt_client_config *config) MUST_USE;

/* mqtt_client_close(c): as mqtt_client_drop, and free it. NULL does nothing. */
void mqtt_client_close(struct mqtt_client *c);

/*
 * mqtt_client_connect(c, clean_session, session_present, deadline, info):
 * Dial, send CONNECT, wait for CONNACK. There is no connection before; on an error there is none
 * after.
 * Errors: those of stream_connect; ERR_DENIED (the CONNACK refuses: mqtt_client_refusal() has the
 *         code, the text its words); ERR_TIMEOUT, ERR_EOF, ERR_IO (no CONNACK came); ERR_BAD
 *         (something else came); ERR_RANGE (a text of the CONNECT is too long); ERR_NOMEM,
 *         ERR_STOP.
 */
enum err mqtt_client_connect(struct mqtt_client *c, bool clean_session, bool *session_present,
                             int64_t deadline, struct errinfo *info) MUST_USE;

/* mqtt_client_refusal(c): the code of the CONNACK that refused the last connect; 0: none did. */
uint8_t mqtt_client_refusal(const struct mqtt_client *c);

bool mqtt_client_connected(const struct mqtt_client *c);

/* mqtt_client_disconnect(c): say DISCONNECT if there is a connection, which also drops the will,
 * and close.
 * mqtt_client_drop(c): close without a word. */
void mqtt_client_disconnect(struct mqtt_client *c);
void mqtt_client_drop(struct mqtt_client *c);

/* mqtt_client_out(c): where packets to be sent are appended. */
struct buf *mqtt_client_out(struct mqtt_client *c);

/*
 * mqtt_client_flush(c, deadline, info): send what was appended, in one write.
 * Errors: as stream_write, and then the connection is dropped, as by every error here but ERR_STOP
 * and a plain ERR_TIMEOUT of mqtt_client_next.
 */
enum err mqtt_client_flush(struct mqtt_client *c, int64_t deadline, struct errinfo *info) MUST_USE;

/*
 * mqtt_client_next(c, out, deadline, info):
 * Flush, then wait for the next PUBACK, PUBREC or PUBCOMP; all else is dealt with inside. With a
 * deadline that has passed it only takes what has come.
 * Errors: ERR_TIMEOUT: nothing until the deadline; with the connection gone
 *         (mqtt_client_connected()): no PINGRESP came. ERR_STOP: the wake pipe. ERR_EOF, ERR_IO:
 *         the connection broke. ERR_BAD: what came is no MQTT. ERR_NOMEM.
 */
enum err mqtt_client_next(struct mqtt_client *c, struct mqtt_packet *out, int64_t deadline,
                          struct errinfo *info) MUST_USE;

/* mqtt_client_buffered(c): bytes that have been read and wait for mqtt_client_next: so a caller can
 * take all answers of one read before it sends again. */
size_t mqtt_client_buffered(const struct mqtt_client *c);

#endif
