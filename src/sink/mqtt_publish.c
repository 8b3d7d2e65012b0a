/*
 * mqtt_publish.c: see mqtt_publish.h.
 */
#include "sink/mqtt_publish.h"

#include "point/point.h"

/* Packets are collected up to about this much, then written at once. */
#define OUT_CHUNK ((size_t)64 * 1024)

/* A payload, its topic and what is around them stay within what one packet can have. */
#define PAYLOAD_MAX ((size_t)MQTT_REMAINING_MAX)
/* The longest text that a template of 64 parts can make, since a whole series key has at most
 * 65,535 bytes. */
#define TOPIC_ROOM ((size_t)8 << 20)

/* A delivery under way. */
struct pass {
    struct mqtt_publisher *p;
    struct round *round;
    size_t from, to;
    size_t next;  /* points before it are in a message, or have a verdict */
    bool refused; /* point ${next} cannot be published: the next two say why */
    struct outcome verdict;
    struct errinfo why;
    int64_t answer_by_ms; /* no answer until then: the link is dead */
    struct outcome *outcome;
    struct errinfo *info;
};

void
mqtt_publish_init(struct mqtt_publisher *p)
{
    message_set_init(&p->set);
    buf_init(&p->topic_text, TOPIC_ROOM);
    buf_init(&p->payload, PAYLOAD_MAX);
}

void
mqtt_publish_free(struct mqtt_publisher *p)
{
    message_set_free(&p->set);
    buf_free(&p->topic_text);
    buf_free(&p->payload);
}

static int64_t
now_ms(const struct mqtt_publisher *p)
{
    return clock_mono_ms(p->env->stream.clock);
}

static int64_t
patience(const struct mqtt_publisher *p)
{
    return clock_after(now_ms(p), p->timeout_ms);
}

/* ---- when the connection ends ---- */

/* Point ${i} cannot be published, as the verdict and the text say. */
static void
refuse(struct pass *pass, size_t i, enum delivery what, const struct errinfo *why)
{
    pass->refused = true;
    outcome_is(&pass->verdict, what,
               what == DELIVERY_TARGET ? STORE_ERROR_TARGET : STORE_ERROR_REJECTED);
    pass->verdict.from = i;
    pass->verdict.to = i + 1;
    pass->why = *why;
}

/* Its topic, its size, its bytes: nothing that the broker said. */
static void
refuse_point(struct pass *pass, const char *why)
{
    struct errinfo info;

    errinfo_set(&info, ERR_DENIED, "%s", why);
    refuse(pass, pass->next, DELIVERY_REJECTED, &info);
    pass->verdict.names_points = true;
}

/* The broker closes on it. Before it has taken anything this may be no fault of the point. */
static void
too_large(struct pass *pass, size_t i, size_t bytes)
{
    const struct mqtt_guard *guard = &pass->p->guard;
    struct errinfo info;

    if (guard->taken > 0) {
        errinfo_set(
            &info, ERR_DENIED,
            "the broker closes the connection when it gets a message of %zu bytes; it has taken %zu",
            bytes, guard->taken);
        refuse(pass, i, DELIVERY_TOO_LARGE, &info);
        pass->verdict.names_points = true; /* others of its kind were taken */
        return;
    }
    errinfo_set(
        &info, ERR_DENIED,
        "the broker closes the connection when it gets a message (%zu bytes): too large, or a topic "
        "it does not allow?",
        bytes);
    refuse(pass, i, mqtt_guard_blind(guard) ? DELIVERY_TARGET : DELIVERY_REJECTED, &info);
}

/* The oldest message without an answer is refused: joined points go in smaller messages, a lone one
 * gets a verdict. What was sent behind it was never read, since the broker closed before. */
static enum err
give_up(struct pass *pass)
{
    struct mqtt_publisher *p = pass->p;
    const struct mqtt_message *m = mqtt_inflight_first_unanswered(p->inflight), *behind;
    struct mqtt_message refused = *m;
    size_t open = 0, last = refused.from;

    for (size_t i = 0; (behind = mqtt_inflight_at(p->inflight, i)) != NULL; i++) {
        if (!behind->orphan &&
            (behind->state == MQTT_STATE_SENT || behind->state == MQTT_STATE_RESEND))
            message_release(&p->set, behind->from, behind->to);
    }
    mqtt_inflight_forget_from(p->inflight, m);
    for (size_t i = refused.from; !refused.orphan && i < refused.to; i++) {
        if (!p->set.taken[i] && round_is_open(pass->round, i)) {
            open++;
            last = i;
        }
    }
    if (open > 1)
        p->join_limit = refused.bytes / 2;
    if (open != 1 || last < pass->from || last >= pass->to)
        return ERR_AGAIN; /* a lone point of another range has its turn */
    mqtt_guard_refused(&p->guard, refused.bytes, now_ms(p));
    too_large(pass, last, refused.bytes);
    return ERR_DENIED;
}

/* QoS 0: what was not written is in no message. */
static void
release_unwritten(struct pass *pass)
{
    for (size_t i = pass->from; i < pass->to; i++)
        pass->p->set.taken[i] = 0;
    pass->next = pass->from;
}

/* An exchange ended with ${err}. ERR_AGAIN: connect and go on. */
static enum err
ended(struct pass *pass, enum err err)
{
    struct mqtt_publisher *p = pass->p;
    bool silent = err == ERR_TIMEOUT;

    outcome_is(pass->outcome, DELIVERY_TRANSIENT,
               silent                               ? STORE_ERROR_TIMEOUT
               : err == ERR_BAD || err == ERR_NOMEM ? STORE_ERROR_PROTOCOL
                                                    : STORE_ERROR_CONNECT);
    if (p->qos == 0)
        release_unwritten(pass);
    if (err == ERR_STOP)
        return err;
    if (mqtt_client_connected(p->client)) {
        if (silent)
            errinfo_set(pass->info, err,
                        "the broker left %zu messages without an answer for %lld ms",
                        mqtt_inflight_waiting(p->inflight), (long long)p->timeout_ms);
        mqtt_client_drop(p->client);
    }
    switch (mqtt_publish_blame(p, err, pass->info)) {
    case MQTT_BLAME_NONE:
        break;
    case MQTT_BLAME_AGAIN:
        return ERR_AGAIN;
    case MQTT_BLAME_PACKET:
        return give_up(pass);
    }
    return err;
}

/* ---- sending ---- */

/* The topic of a point, in topic_text. ERR_RANGE: it is illegal. */
static enum err
make_topic(struct mqtt_publisher *p, const struct round *round, size_t i)
{
    struct batch_point point = batch_point(&round->points, i);
    size_t n;

    buf_clear(&p->topic_text);
    if (template_put(p->topic, &point, &p->topic_text) != ERR_OK)
        return ERR_NOMEM;
    n = buf_len(&p->topic_text);
    if (n > MQTT_STRING_MAX)
        buf_free(&p->topic_text);
    return n == 0 || n > MQTT_STRING_MAX ? ERR_RANGE : ERR_OK;
}

static enum err
no_memory(struct pass *pass)
{
    return errinfo_set(pass->info, ERR_NOMEM, "no memory for an MQTT message");
}

/* Append a PUBLISH with topic_text and payload. */
static enum err
put_publish(struct mqtt_publisher *p, uint16_t id, bool dup)
{
    struct mqtt_publish head = {.topic = buf_peek(&p->topic_text),
                                .id = id,
                                .qos = p->qos,
                                .dup = dup,
                                .retain = p->retain};
    struct wr w;

    wr_init(&w, mqtt_client_out(p->client));
    mqtt_packet_publish(&w, &head, buf_len(&p->payload));
    wr_bytes(&w, buf_peek(&p->payload));
    return wr_done(&w);
}

/* Whether a message of that size may go now. What has to go alone waits until nothing is
 * unanswered. */
static bool
may_send(struct mqtt_publisher *p, size_t bytes)
{
    if (mqtt_inflight_unanswered(p->inflight) == 0) {
        p->alone = mqtt_guard_alone(&p->guard, bytes);
        return true;
    }
    return !p->alone && !mqtt_guard_alone(&p->guard, bytes);
}

/* A message of an earlier connection, or what is left of it: points may have been dropped
 * meanwhile. */
static enum err
send_again(struct pass *pass, const struct mqtt_message *m)
{
    struct mqtt_publisher *p = pass->p;
    struct message again = {m->from, m->to, 0};
    struct wr w;
    enum err err;

    if (m->state == MQTT_STATE_RERELEASE) {
        wr_init(&w, mqtt_client_out(p->client));
        mqtt_packet_answer(&w, MQTT_PUBREL, m->id);
        err = wr_done(&w);
    } else {
        buf_clear(&p->payload);
        err = m->orphan ? ERR_OK
                        : message_rebuild(&p->form, &p->set, pass->round, &again, &p->payload);
        if (err == ERR_OK && again.count == 0) {
            mqtt_inflight_abandon(p->inflight, m);
            return ERR_OK;
        }
        if (err == ERR_OK)
            err = make_topic(p, pass->round, m->from);
        if (err == ERR_OK)
            err = put_publish(p, m->id, true);
    }
    if (err != ERR_OK)
        return no_memory(pass);
    mqtt_inflight_sent_again(p->inflight, m);
    return ERR_OK;
}

/* The message that begins with point ${next}, which is refused if it cannot be one. */
static enum err
make_message(struct pass *pass, struct message *message)
{
    struct mqtt_publisher *p = pass->p;
    struct message_form form = p->form;
    enum err err = make_topic(p, pass->round, pass->next);

    if (err == ERR_NOMEM)
        return no_memory(pass);
    if (err != ERR_OK) {
        refuse_point(pass, "the topic of this point is empty or longer than 65,535 bytes");
        return ERR_OK;
    }
    if (p->join_limit > 0 && p->join_limit < form.max_bytes)
        form.max_bytes = p->join_limit;
    buf_clear(&p->payload);
    err = message_build(&form, &p->set, pass->round, pass->next, pass->to, &p->payload, message);
    if (err == ERR_BAD) {
        refuse_point(pass, "this point cannot be written in the sink's format");
        return ERR_OK;
    }
    return err == ERR_OK ? ERR_OK : no_memory(pass);
}

/* Send one new message, if it may go now (${sent}). */
static enum err
send_message(struct pass *pass, bool *sent)
{
    struct mqtt_publisher *p = pass->p;
    struct message message;
    size_t bytes;
    uint16_t id = 0;
    enum err err = make_message(pass, &message);

    *sent = false;
    if (err != ERR_OK || pass->refused)
        return err;
    bytes = mqtt_packet_publish_bytes(buf_len(&p->topic_text), p->qos, buf_len(&p->payload));
    if (bytes > MQTT_REMAINING_MAX) {
        message_release(&p->set, message.from, message.to);
        refuse_point(pass, "this point is larger than an MQTT message can be");
        return ERR_OK;
    }
    if (p->qos > 0 && message.count == 1 && mqtt_guard_hopeless(&p->guard, bytes, now_ms(p))) {
        message_release(&p->set, message.from, message.to);
        too_large(pass, message.from, bytes);
        return ERR_OK;
    }
    if (p->qos > 0 && !may_send(p, bytes)) {
        message_release(&p->set, message.from, message.to);
        return ERR_OK;
    }
    if (p->qos > 0)
        id = mqtt_inflight_add(p->inflight, p->qos, message.from, message.to, bytes)->id;
    *sent = true;
    return put_publish(p, id, false) == ERR_OK ? ERR_OK : no_memory(pass);
}

/* QoS 0: what was written is delivered. */
static void
settle_written(struct pass *pass)
{
    for (size_t i = pass->from; i < pass->to; i++) {
        if (pass->p->set.taken[i])
            round_set(pass->round, i, i + 1, VERDICT_DELIVERED);
    }
}

static enum err
flush(struct pass *pass)
{
    struct mqtt_publisher *p = pass->p;
    bool writes = buf_len(mqtt_client_out(p->client)) > 0;
    enum err err = mqtt_client_flush(p->client, patience(p), pass->info);

    if (writes)
        pass->answer_by_ms = patience(p);
    if (p->qos == 0 && err == ERR_OK)
        settle_written(pass);
    return err;
}

/* Append what may go now: first what was in flight before, then new messages, up to a chunk.
 * ${more}: something is left that need not wait for an answer. */
static enum err
fill(struct pass *pass, bool *more)
{
    struct mqtt_publisher *p = pass->p;
    const struct mqtt_message *m;
    bool sent = true;
    enum err err = ERR_OK;

    *more = true;
    while (err == ERR_OK && (m = mqtt_inflight_next_due(p->inflight)) != NULL) {
        if (buf_len(mqtt_client_out(p->client)) >= OUT_CHUNK)
            return ERR_OK;
        if (m->state == MQTT_STATE_RESEND && !may_send(p, m->bytes)) {
            *more = false;
            return ERR_OK;
        }
        err = send_again(pass, m);
    }
    while (err == ERR_OK && sent && !pass->refused) {
        pass->next = message_next(&p->set, pass->round, pass->next, pass->to);
        *more = false;
        if (pass->next == pass->to || (p->qos > 0 && mqtt_inflight_room(p->inflight) == 0))
            return ERR_OK;
        *more = true;
        if (buf_len(mqtt_client_out(p->client)) >= OUT_CHUNK)
            return ERR_OK;
        err = send_message(pass, &sent);
    }
    *more = false;
    return err;
}

/* ---- answers ---- */

/* Wait for an answer, then take all that came with it. */
static enum err
take_answers(struct pass *pass)
{
    struct mqtt_publisher *p = pass->p;
    struct mqtt_packet packet;
    enum err err = mqtt_client_next(p->client, &packet, pass->answer_by_ms, pass->info);

    while (err == ERR_OK) {
        err = mqtt_publish_answer(p, pass->round, &packet, pass->info);
        if (err != ERR_OK || mqtt_client_buffered(p->client) < 4)
            break;
        err = mqtt_client_next(p->client, &packet, 0, pass->info);
        if (err == ERR_TIMEOUT && mqtt_client_connected(p->client))
            err = ERR_OK;
    }
    if (err == ERR_OK)
        pass->answer_by_ms = patience(p);
    return err;
}

/* QoS 0 has no answers: only look whether the broker is still there. */
static enum err
look(struct pass *pass)
{
    struct mqtt_publisher *p = pass->p;
    struct mqtt_packet packet;
    enum err err;

    while ((err = mqtt_client_next(p->client, &packet, 0, pass->info)) == ERR_OK)
        ;
    return err == ERR_TIMEOUT && mqtt_client_connected(p->client) ? ERR_OK : err;
}

/* ---- delivering ---- */

/* Whether all that was sent over this connection is answered. */
static bool
has_answers(const struct mqtt_publisher *p)
{
    return mqtt_inflight_waiting(p->inflight) == 0 || (mqtt_inflight_unanswered(p->inflight) == 0 &&
                                                       mqtt_inflight_next_due(p->inflight) != NULL);
}

/* Send and take answers over one connection until all is resolved, or what was sent is when another
 * definition waits. */
static enum err
exchange(struct pass *pass)
{
    struct mqtt_publisher *p = pass->p;
    bool more = true;
    enum err err = ERR_OK;

    pass->next = pass->from;
    pass->refused = false;
    pass->answer_by_ms = patience(p);
    for (bool begun = false;; begun = true) {
        bool yields = begun && p->env->yields != NULL && p->env->yields(p->env->stream.arg);

        if (p->qos == 0)
            err = look(pass);
        if (err == ERR_OK && !yields)
            err = fill(pass, &more);
        if (err == ERR_OK)
            err = flush(pass);
        if (err != ERR_OK)
            return err;
        if (yields && has_answers(p))
            return ERR_STOP;
        if (more && !yields)
            continue;
        if (mqtt_inflight_waiting(p->inflight) == 0 && (pass->refused || pass->next == pass->to))
            return pass->refused ? ERR_DENIED : ERR_OK;
        if (p->qos > 0)
            err = take_answers(pass);
    }
}

/* Which point goes to which topic, for messages that join points. */
static enum err
begin(struct mqtt_publisher *p, const struct round *round)
{
    bool grouped = p->form.mode != MESSAGE_INDIVIDUAL && !template_is_constant(p->topic);
    bool fresh;
    enum err err = message_set_begin(&p->set, round, grouped, &fresh);

    if (err != ERR_OK || fresh)
        mqtt_inflight_orphan_all(p->inflight);
    for (size_t i = 0; err == ERR_OK && fresh && grouped && i < round->points.count; i++) {
        err = make_topic(p, round, i);
        message_set_group(&p->set, i, err == ERR_OK ? buf_peek(&p->topic_text) : SLICE(""));
        err = err == ERR_RANGE ? ERR_OK : err;
    }
    if (err != ERR_OK)
        message_set_free(&p->set); /* half of the groups are no good to the next try */
    return err;
}

enum err
mqtt_publish_deliver(struct mqtt_publisher *p, struct round *round, size_t from, size_t to,
                     struct outcome *outcome, struct errinfo *info)
{
    struct pass pass = {
        .p = p, .round = round, .from = from, .to = to, .outcome = outcome, .info = info};
    enum err err;

    outcome_is(outcome, DELIVERY_TRANSIENT, STORE_ERROR_PROTOCOL);
    if (begin(p, round) != ERR_OK)
        return no_memory(&pass);
    do {
        err = mqtt_publish_connect(p, patience(p), outcome, info);
        if (err != ERR_OK)
            return err;
        err = exchange(&pass);
        if (err != ERR_OK && err != ERR_DENIED)
            err = ended(&pass, err);
    } while (err == ERR_AGAIN);
    if (err == ERR_OK)
        outcome_is(outcome, DELIVERY_DONE, STORE_ERROR_TARGET);
    if (err == ERR_DENIED) {
        *outcome = pass.verdict;
        *info = pass.why;
    }
    return err;
}
