/*
 * mqtt_guard.h: what a broker that only ever closes the connection means by it.
 *
 * MQTT 3.1.1 has no way to refuse a message: a broker that finds one too large, or a session taken
 * over by a second client of the same identifier, just closes. This keeps count of such closes and
 * tells from them when one message is to blame, which sizes are worth trying, and when to stop
 * dialling. Pure.
 *
 * After a close with a message larger than any that was taken so far, such messages go alone; a
 * close on the same one alone, twice, is a refusal of it.
 */
#ifndef SINKD_MQTT_MQTT_GUARD_H
#define SINKD_MQTT_MQTT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mqtt_guard {
    size_t taken;         /* bytes of the largest packet that the broker answered; 0: none yet */
    bool careful;         /* it has closed on something larger */
    unsigned strikes;     /* closes on the present packet alone */
    unsigned blind;       /* packets refused in a row before any was taken */
    size_t refused;       /* the smallest packet refused since one larger was taken; 0: none */
    unsigned refusals;    /* how many such */
    int64_t forget_at_ms; /* when that is no longer believed */
    unsigned short_lives; /* connections in a row that the broker closed soon */
    int64_t connected_at_ms;
};

/* mqtt_guard_alone(g, bytes): whether a packet of that size has to go alone. */
bool mqtt_guard_alone(const struct mqtt_guard *g, size_t bytes);

/* mqtt_guard_hopeless(g, bytes, now_ms): so many like it were refused that it need not be sent. */
bool mqtt_guard_hopeless(const struct mqtt_guard *g, size_t bytes, int64_t now_ms);

/* mqtt_guard_taken(g, bytes): the broker answered a packet of that size. */
void mqtt_guard_taken(struct mqtt_guard *g, size_t bytes);

void mqtt_guard_connected(struct mqtt_guard *g, int64_t now_ms);
void mqtt_guard_connect_failed(struct mqtt_guard *g); /* it is down: what it did says nothing */

/* What was without an answer when the connection ended. */
struct mqtt_guard_end {
    bool by_peer;   /* it closed or reset; false: silence, or we did */
    size_t count;   /* packets */
    size_t largest; /* bytes of the largest of them */
};

enum mqtt_blame {
    MQTT_BLAME_NONE,  /* nobody: try again later */
    MQTT_BLAME_AGAIN, /* perhaps the packet that was alone: try it once more, now */
    MQTT_BLAME_PACKET /* the packet that was alone: it is refused */
};
enum mqtt_blame mqtt_guard_ended(struct mqtt_guard *g, const struct mqtt_guard_end *end,
                                 int64_t now_ms);

/* mqtt_guard_refused(g, bytes, now_ms): a packet of one point is given up after
 * MQTT_BLAME_PACKET. */
void mqtt_guard_refused(struct mqtt_guard *g, size_t bytes, int64_t now_ms);

/* mqtt_guard_blind(g): the broker has refused several packets and never taken one: not their
 * fault. */
bool mqtt_guard_blind(const struct mqtt_guard *g);

/* mqtt_guard_kicked(g): connection after connection is closed within seconds. True until one lives
 * longer, but each call that says so lets one more try pass. */
bool mqtt_guard_kicked(struct mqtt_guard *g);

#endif
