/*
 * mqtt_inflight.h: the messages that were sent and wait for their answers: identifiers, window, QoS
 * states.
 *
 * A message is known by its identifier and by two numbers that are the owner's (which points it
 * holds); its bytes are not kept. The table outlives connections: mqtt_inflight_reconnected says
 * what of it still holds, and what has to be sent again is handed out in the order in which it was
 * sent first. No I/O.
 *
 * The life of a message:
 *
 *   QoS 1:  SENT --PUBACK--> done
 *   QoS 2:  SENT --PUBREC--> RELEASED (a PUBREL is due) --PUBCOMP--> done
 *
 * A new connection of the same session turns SENT to RESEND (PUBLISH with DUP is due) and RELEASED
 * to RERELEASE (PUBREL is due).
 * Source: MQTT 3.1.1 sections 4.3, 4.4 and 4.6.
 */
#ifndef SINKD_MQTT_MQTT_INFLIGHT_H
#define SINKD_MQTT_MQTT_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "mqtt/mqtt_packet.h"

#define MQTT_INFLIGHT_MAX 65535u

enum mqtt_state {
    MQTT_STATE_NONE, /* answered, or given up */
    MQTT_STATE_SENT,
    MQTT_STATE_RELEASED,
    MQTT_STATE_RESEND,
    MQTT_STATE_RERELEASE
};

struct mqtt_message {
    size_t from, to; /* the owner's */
    uint32_t bytes;  /* of the packet: the owner's */
    uint16_t id;
    uint8_t qos;
    uint8_t state; /* enum mqtt_state */
    bool orphan;   /* nobody waits for it; only its identifier is still in use */
};

struct mqtt_inflight;

/* mqtt_inflight_open(out, window): at most ${window} (1..65535) messages at a time. ERR_NOMEM. */
enum err mqtt_inflight_open(struct mqtt_inflight **out, size_t window) MUST_USE;
void mqtt_inflight_close(struct mqtt_inflight *f);

/* mqtt_inflight_room(f): how many more messages may be sent now. */
size_t mqtt_inflight_room(const struct mqtt_inflight *f);

/* mqtt_inflight_waiting(f): messages that somebody waits for, in any state. */
size_t mqtt_inflight_waiting(const struct mqtt_inflight *f);

/* mqtt_inflight_unanswered(f): messages in state SENT. */
size_t mqtt_inflight_unanswered(const struct mqtt_inflight *f);

/*
 * mqtt_inflight_add(f, qos, from, to, bytes):
 * A message of QoS 1 or 2 is being sent. There is room. Returns it, with the next free identifier;
 * valid until the next call that changes ${f}.
 */
const struct mqtt_message *mqtt_inflight_add(struct mqtt_inflight *f, uint8_t qos, size_t from,
                                             size_t to, size_t bytes);

/* What an answer of the broker comes to. */
enum mqtt_effect {
    MQTT_EFFECT_DONE,    /* the message is delivered and forgotten */
    MQTT_EFFECT_RELEASE, /* a PUBREL with its identifier is due */
    MQTT_EFFECT_NONE     /* nobody knows it: passed over */
};

/*
 * mqtt_inflight_answer(f, type, id, out, effect):
 * Take a PUBACK, PUBREC or PUBCOMP. ${out} is a copy of the message as it is then, zeroed if there
 * is none. A PUBREC that nothing is known of has effect RELEASE: so the broker can forget it too.
 * Errors: ERR_BAD: an answer that this message cannot get (a PUBACK for QoS 2, ...).
 */
enum err mqtt_inflight_answer(struct mqtt_inflight *f, enum mqtt_type type, uint16_t id,
                              struct mqtt_message *out, enum mqtt_effect *effect) MUST_USE;

/*
 * mqtt_inflight_reconnected(f, session_present):
 * A new connection. With the session, identifiers and states hold on, and what is open is to be
 * sent again; orphans of QoS 1 are forgotten, those of QoS 2 are closed by a PUBREL. Without, all
 * is forgotten: the owner sends what it still wants to as new messages.
 */
void mqtt_inflight_reconnected(struct mqtt_inflight *f, bool session_present);

/* mqtt_inflight_next_due(f): the first message, in order, that is to be sent again (RESEND,
 * RERELEASE); NULL: none. mqtt_inflight_sent_again(f, m): it was. */
const struct mqtt_message *mqtt_inflight_next_due(const struct mqtt_inflight *f);
void mqtt_inflight_sent_again(struct mqtt_inflight *f, const struct mqtt_message *m);

/* mqtt_inflight_abandon(f, m): ${m} is in state RESEND, but there is nothing to send any more: QoS
 * 1 is forgotten, of QoS 2 a PUBREL is due, which lets the broker forget the identifier. */
void mqtt_inflight_abandon(struct mqtt_inflight *f, const struct mqtt_message *m);

/* mqtt_inflight_first_unanswered(f): the oldest message in state SENT or RESEND; NULL: none. */
const struct mqtt_message *mqtt_inflight_first_unanswered(const struct mqtt_inflight *f);

/* mqtt_inflight_forget_from(f, m): drop ${m} and all behind it that the broker has not answered.
 * Only where the broker cannot have taken them: it would take the next use of their identifiers for
 * a repetition. */
void mqtt_inflight_forget_from(struct mqtt_inflight *f, const struct mqtt_message *m);

/* mqtt_inflight_orphan_all(f): nobody waits for what is in the table any more. */
void mqtt_inflight_orphan_all(struct mqtt_inflight *f);

/* mqtt_inflight_at(f, i): the i-th message of the table in order, answered ones among them; NULL
 * beyond the last. */
const struct mqtt_message *mqtt_inflight_at(const struct mqtt_inflight *f, size_t i);

#endif
