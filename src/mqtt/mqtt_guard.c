/*
 * mqtt_guard.c: see mqtt_guard.h.
 */
#include "mqtt/mqtt_guard.h"

#include "base/clock.h"

/* A connection that the broker closes earlier than this had a short life; so many in a row are no
 * accident. */
#define SHORT_LIFE_MS 10000
#define SHORT_LIVES 5

/* Closes on one packet alone that make a refusal. */
#define STRIKES 2

/* Refusals after which the size is taken for the cause, for so long: a broker may be set up
 * anew. */
#define REFUSALS 3
#define BELIEVED_MS 3600000

/* Packets that may be refused before any was taken. */
#define BLIND 3

bool
mqtt_guard_alone(const struct mqtt_guard *g, size_t bytes)
{
    return g->careful && bytes > g->taken;
}

bool
mqtt_guard_hopeless(const struct mqtt_guard *g, size_t bytes, int64_t now_ms)
{
    return g->refusals >= REFUSALS && bytes >= g->refused && now_ms < g->forget_at_ms;
}

void
mqtt_guard_taken(struct mqtt_guard *g, size_t bytes)
{
    if (bytes > g->taken)
        g->taken = bytes;
    g->strikes = 0;
    g->blind = 0;
    if (bytes >= g->refused) { /* it was not the size */
        g->refused = 0;
        g->refusals = 0;
    }
}

void
mqtt_guard_connected(struct mqtt_guard *g, int64_t now_ms)
{
    g->connected_at_ms = now_ms;
}

void
mqtt_guard_connect_failed(struct mqtt_guard *g)
{
    g->strikes = 0;
    g->short_lives = 0;
}

enum mqtt_blame
mqtt_guard_ended(struct mqtt_guard *g, const struct mqtt_guard_end *end, int64_t now_ms)
{
    if (!end->by_peer) {
        mqtt_guard_connect_failed(g);
        return MQTT_BLAME_NONE;
    }
    if (end->count == 1 && mqtt_guard_alone(g, end->largest)) {
        g->strikes++;
        if (g->strikes < STRIKES)
            return MQTT_BLAME_AGAIN;
        g->strikes = 0;
        return MQTT_BLAME_PACKET;
    }
    g->strikes = 0;
    g->careful = g->careful || end->largest > g->taken;
    g->short_lives = now_ms - g->connected_at_ms < SHORT_LIFE_MS ? g->short_lives + 1 : 0;
    return MQTT_BLAME_NONE;
}

void
mqtt_guard_refused(struct mqtt_guard *g, size_t bytes, int64_t now_ms)
{
    if (g->taken == 0) {
        g->blind++;
        return;
    }
    if (g->refused == 0 || bytes < g->refused)
        g->refused = bytes;
    g->refusals++;
    g->forget_at_ms = clock_after(now_ms, BELIEVED_MS);
}

bool
mqtt_guard_blind(const struct mqtt_guard *g)
{
    return g->blind >= BLIND;
}

bool
mqtt_guard_kicked(struct mqtt_guard *g)
{
    if (g->short_lives < SHORT_LIVES)
        return false;
    g->short_lives = SHORT_LIVES - 1;
    return true;
}
