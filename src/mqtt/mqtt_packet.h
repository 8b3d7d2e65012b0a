/*
 * mqtt_packet.h: the packets of MQTT 3.1.1 that a publisher writes and reads.
 *
 * Writing appends whole packets to a buffer. Reading takes bytes and says how many a packet had,
 * that it is incomplete, or that it is malformed. The payload of a PUBLISH from the broker is not
 * kept: this side never subscribes.
 * Not for: SUBSCRIBE and its kin, MQTT 5, and what a packet means (mqtt_inflight.h, mqtt_client.h).
 * Source: MQTT Version 3.1.1, OASIS Standard, sections 1.5, 2 and 3.
 */
#ifndef SINKD_MQTT_MQTT_PACKET_H
#define SINKD_MQTT_MQTT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/wire.h"

/* Section 2.2.1. */
enum mqtt_type {
    MQTT_CONNECT = 1,
    MQTT_CONNACK = 2,
    MQTT_PUBLISH = 3,
    MQTT_PUBACK = 4,
    MQTT_PUBREC = 5,
    MQTT_PUBREL = 6,
    MQTT_PUBCOMP = 7,
    MQTT_PINGREQ = 12,
    MQTT_PINGRESP = 13,
    MQTT_DISCONNECT = 14
};

#define MQTT_REMAINING_MAX 268435455u /* four bytes of seven bits: section 2.2.3 */
#define MQTT_STRING_MAX 65535u        /* section 1.5.3 */

/* Bytes of a packet that have to be at hand to read it: the head of a PUBLISH with the longest
 * topic. */
#define MQTT_PACKET_HEAD_MAX (1u + 4u + 2u + MQTT_STRING_MAX + 2u)

/* Section 3.1. Texts are UTF-8 as mqtt_packet_is_string says; empty slices with p == NULL are
 * absent. */
struct mqtt_connect {
    struct slice client_id;    /* may be empty, if clean_session */
    struct slice username;     /* absent: none */
    struct slice password;     /* any bytes; needs a username */
    struct slice will_topic;   /* absent: no will */
    struct slice will_payload; /* any bytes */
    uint8_t will_qos;
    bool will_retain;
    bool clean_session;
    uint16_t keepalive_s; /* 0: none */
};

/* Section 3.3; the payload is written behind it by the caller. */
struct mqtt_publish {
    struct slice topic;
    uint16_t id; /* 1..65535 if qos > 0 */
    uint8_t qos;
    bool dup, retain;
};

/*
 * mqtt_packet_connect(w, c): append a CONNECT.
 * mqtt_packet_publish(w, p, payload_bytes): append a PUBLISH up to its payload, of which
 * ${payload_bytes} bytes are to follow.
 * mqtt_packet_answer(w, type, id): append a PUBACK, PUBREC, PUBREL or PUBCOMP.
 * mqtt_packet_empty(w, type): append a PINGREQ or DISCONNECT.
 * Errors: sticky in ${w}: ERR_RANGE (a text over 65,535 bytes, an empty topic, a packet over the
 *         largest remaining length), ERR_NOMEM.
 */
void mqtt_packet_connect(struct wr *w, const struct mqtt_connect *c);
void mqtt_packet_publish(struct wr *w, const struct mqtt_publish *p, size_t payload_bytes);
void mqtt_packet_answer(struct wr *w, enum mqtt_type type, uint16_t id);
void mqtt_packet_empty(struct wr *w, enum mqtt_type type);

/* mqtt_packet_publish_bytes(topic, qos, payload): the length of a whole PUBLISH; all lengths in
 * bytes. */
size_t mqtt_packet_publish_bytes(size_t topic, uint8_t qos, size_t payload);

/* A packet of the broker. */
struct mqtt_packet {
    enum mqtt_type type;
    uint16_t id;          /* PUBACK, PUBREC, PUBREL, PUBCOMP, a PUBLISH with qos > 0 */
    bool session_present; /* CONNACK */
    uint8_t code;         /* CONNACK: 0 accepted; mqtt_packet_refusal() has the others */
    uint8_t qos;          /* PUBLISH */
    bool dup, retain;     /* PUBLISH */
    struct slice topic;   /* PUBLISH: in the input */
    size_t payload_bytes; /* PUBLISH: behind what was used; to be passed over */
};

/*
 * mqtt_packet_read(in, out, used, info):
 * Read the packet at the start of ${in}; ${used} bytes of it, which for a PUBLISH leaves the
 * payload.
 * Errors: ERR_SHORT: bring more bytes (${used} is 0; never with MQTT_PACKET_HEAD_MAX bytes at
 *         hand); ERR_BAD: malformed, or no packet that a broker may send to a publisher. ${info}
 *         says what.
 */
enum err mqtt_packet_read(struct slice in, struct mqtt_packet *out, size_t *used,
                          struct errinfo *info) MUST_USE;

/* mqtt_packet_refusal(code): what a CONNACK with that code says, in words; code > 0 (section
 * 3.2.2.3). */
const char *mqtt_packet_refusal(uint8_t code);

/* mqtt_packet_is_string(s): at most 65,535 bytes of UTF-8 without U+0000 (must not: section 1.5.3)
 * and without control characters and non-characters (should not, and brokers close on them). */
bool mqtt_packet_is_string(struct slice s);

/* mqtt_packet_is_topic(s): a string that may be published to: not empty, no wildcard (section
 * 4.7). */
bool mqtt_packet_is_topic(struct slice s);

#endif
