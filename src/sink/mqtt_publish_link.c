/*
 * mqtt_publish_link.c: the connection of an MQTT sink: made, kept alive, answers taken, its end
 * judged.
 */
#include "sink/mqtt_publish.h"

#include <errno.h>

static int64_t
now_ms(const struct mqtt_publisher *p)
{
    return clock_mono_ms(p->env->stream.clock);
}

/* ---- connecting ---- */

static void
judge_connect(const struct mqtt_publisher *p, enum err err, struct outcome *outcome)
{
    uint8_t code = mqtt_client_refusal(p->client);

    if (err == ERR_DENIED && (code == 4 || code == 5))
        outcome_is(outcome, DELIVERY_AUTH, STORE_ERROR_AUTH);
    else if ((err == ERR_DENIED && code != 3) || err == ERR_CONFIG || err == ERR_RANGE)
        outcome_is(outcome, DELIVERY_TARGET, STORE_ERROR_TARGET);
    else if (err == ERR_TIMEOUT)
        outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT);
    else if (err == ERR_BAD || err == ERR_NOMEM)
        outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    else
        outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_CONNECT);
}

/* What was in flight, on a new connection. Points whose messages are forgotten are sent anew. */
static void
resume(struct mqtt_publisher *p, bool session_present)
{
    const struct mqtt_message *m;

    for (size_t i = 0; !session_present && (m = mqtt_inflight_at(p->inflight, i)) != NULL; i++) {
        if (m->state != MQTT_STATE_NONE && !m->orphan)
            message_release(&p->set, m->from, m->to);
    }
    mqtt_inflight_reconnected(p->inflight, session_present);
    p->alone = false;
}

static enum err
dial(struct mqtt_publisher *p, int64_t deadline, struct errinfo *info)
{
    bool present = false;
    enum err err = ERR_OK;

    if (!p->clean_session && !p->purged) {
        /* Identifiers start anew with this sink: an old session would take them for repetitions. */
        err = mqtt_client_connect(p->client, true, &present, deadline, info);
        if (err != ERR_OK)
            return err;
        mqtt_client_disconnect(p->client);
        p->purged = true;
    }
    err = mqtt_client_connect(p->client, p->clean_session, &present, deadline, info);
    if (err == ERR_OK)
        resume(p, present && !p->clean_session);
    return err;
}

enum err
mqtt_publish_connect(struct mqtt_publisher *p, int64_t deadline, struct outcome *outcome,
                     struct errinfo *info)
{
    enum err err;

    if (mqtt_client_connected(p->client))
        return ERR_OK;
    if (mqtt_guard_kicked(&p->guard)) {
        outcome_is(outcome, DELIVERY_TARGET, STORE_ERROR_TARGET);
        return errinfo_set(
            info, ERR_BUSY,
            "the broker closes each connection within seconds: does another client use the "
            "client_id '%.*s'?",
            p->client_id.n > 60 ? 60 : (int)p->client_id.n, (const char *)p->client_id.p);
    }
    err = dial(p, deadline, info);
    if (err == ERR_OK) {
        mqtt_guard_connected(&p->guard, now_ms(p));
        return ERR_OK;
    }
    mqtt_guard_connect_failed(&p->guard);
    judge_connect(p, err, outcome);
    return err;
}

/* ---- when the connection ends ---- */

static bool
is_by_peer(enum err err, const struct errinfo *info)
{
    return err == ERR_EOF || (err == ERR_IO && (info->sys == 0 || info->sys == ECONNRESET));
}

enum mqtt_blame
mqtt_publish_blame(struct mqtt_publisher *p, enum err err, const struct errinfo *info)
{
    struct mqtt_guard_end end = {is_by_peer(err, info), mqtt_inflight_unanswered(p->inflight), 0};
    const struct mqtt_message *m;

    for (size_t i = 0; (m = mqtt_inflight_at(p->inflight, i)) != NULL; i++) {
        if (m->state == MQTT_STATE_SENT && m->bytes > end.largest)
            end.largest = m->bytes;
    }
    return mqtt_guard_ended(&p->guard, &end, now_ms(p));
}

/* ---- answers ---- */

enum err
mqtt_publish_answer(struct mqtt_publisher *p, struct round *round, const struct mqtt_packet *packet,
                    struct errinfo *info)
{
    struct mqtt_message m;
    enum mqtt_effect effect;
    struct wr w;

    if (mqtt_inflight_answer(p->inflight, packet->type, packet->id, &m, &effect) != ERR_OK)
        return errinfo_set(info, ERR_BAD,
                           "the broker's answer to message %u does not fit its state", packet->id);
    if (m.id != 0)
        mqtt_guard_taken(&p->guard, m.bytes);
    if (effect == MQTT_EFFECT_RELEASE) {
        wr_init(&w, mqtt_client_out(p->client));
        mqtt_packet_answer(&w, MQTT_PUBREL, packet->id);
        return wr_done(&w);
    }
    if (effect != MQTT_EFFECT_DONE || m.orphan)
        return ERR_OK;
    if (round != NULL)
        message_settle(&p->set, round, m.from, m.to, VERDICT_DELIVERED);
    else
        message_release(&p->set, m.from, m.to);
    return ERR_OK;
}

/* ---- waiting ---- */

enum err
mqtt_publish_idle(struct mqtt_publisher *p, int64_t until, struct errinfo *info)
{
    struct mqtt_packet packet;
    enum err err;

    if (!mqtt_client_connected(p->client)) /* after a delivery that ended so: the next one dials */
        return stream_pause(&p->env->stream, until);
    for (;;) {
        err = mqtt_client_next(p->client, &packet, until, info);
        if (err == ERR_OK)
            err = mqtt_publish_answer(p, NULL, &packet, info);
        if (err == ERR_STOP || (err == ERR_TIMEOUT && mqtt_client_connected(p->client)))
            return err;
        if (err != ERR_OK)
            break;
    }
    mqtt_client_drop(p->client);
    (void)mqtt_publish_blame(p, err, info);
    return err == ERR_EOF || err == ERR_TIMEOUT ? ERR_IO
                                                : err; /* it is to be dialled again at once */
}
