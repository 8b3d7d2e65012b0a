/*
 * mqtt_inflight.c: see mqtt_inflight.h.
 *
 * A ring in the order of sending. Identifiers are handed out one after another, so a message is
 * found by how far its identifier is from the first one's; answered messages leave holes until the
 * first one goes.
 */
#include "mqtt/mqtt_inflight.h"

#include <assert.h>

#include "base/mem.h"

struct mqtt_inflight {
    size_t window;
    struct mqtt_message *ring; /* window of them */
    size_t head, span;         /* index of the first, and how many with the holes */
    size_t waiting;            /* not orphans, not holes */
    size_t unanswered;         /* in state SENT */
    size_t due;                /* in state RESEND or RERELEASE */
    size_t due_from;           /* none of them lies before this place */
    uint16_t next_id;          /* of the next message; that of the first is span before it */
};

enum err
mqtt_inflight_open(struct mqtt_inflight **out, size_t window)
{
    struct mqtt_inflight *f = mem_zalloc(sizeof(*f));

    assert(window > 0 && window <= MQTT_INFLIGHT_MAX);
    if (f != NULL)
        f->ring = mem_array(window, sizeof(*f->ring));
    if (f == NULL || f->ring == NULL) {
        mqtt_inflight_close(f);
        return ERR_NOMEM;
    }
    f->window = window;
    f->next_id = 1;
    *out = f;
    return ERR_OK;
}

void
mqtt_inflight_close(struct mqtt_inflight *f)
{
    if (f == NULL)
        return;
    mem_free(f->ring);
    mem_free(f);
}

static struct mqtt_message *
at(const struct mqtt_inflight *f, size_t i)
{
    return &f->ring[(f->head + i) % f->window];
}

const struct mqtt_message *
mqtt_inflight_at(const struct mqtt_inflight *f, size_t i)
{
    return i < f->span ? at(f, i) : NULL;
}

size_t
mqtt_inflight_room(const struct mqtt_inflight *f)
{
    return f->window - f->span;
}

size_t
mqtt_inflight_waiting(const struct mqtt_inflight *f)
{
    return f->waiting;
}

size_t
mqtt_inflight_unanswered(const struct mqtt_inflight *f)
{
    return f->unanswered;
}

static bool
is_due(uint8_t state)
{
    return state == MQTT_STATE_RESEND || state == MQTT_STATE_RERELEASE;
}

/* Every change of a state goes through here, so that the counts hold. */
static void
set_state(struct mqtt_inflight *f, struct mqtt_message *m, enum mqtt_state state)
{
    f->unanswered -= m->state == MQTT_STATE_SENT;
    f->due -= is_due(m->state);
    if (m->state != MQTT_STATE_NONE && !m->orphan)
        f->waiting -= state == MQTT_STATE_NONE;
    m->state = (uint8_t)state;
    f->unanswered += state == MQTT_STATE_SENT;
    f->due += is_due(m->state);
}

/* Holes at the front are no part of the table. */
static void
trim(struct mqtt_inflight *f)
{
    while (f->span > 0 && at(f, 0)->state == MQTT_STATE_NONE) {
        f->head = (f->head + 1) % f->window;
        f->span--;
        f->due_from -= f->due_from > 0;
    }
}

const struct mqtt_message *
mqtt_inflight_add(struct mqtt_inflight *f, uint8_t qos, size_t from, size_t to, size_t bytes)
{
    struct mqtt_message *m = at(f, f->span);

    assert(mqtt_inflight_room(f) > 0 && (qos == 1 || qos == 2) && bytes <= UINT32_MAX);
    *m = (struct mqtt_message){.from = from, .to = to, .bytes = (uint32_t)bytes, .qos = qos};
    m->id = f->next_id;
    f->next_id = f->next_id == UINT16_MAX ? 1 : (uint16_t)(f->next_id + 1);
    f->span++;
    f->waiting++;
    set_state(f, m, MQTT_STATE_SENT);
    return m;
}

/* The message with that identifier; NULL: none. Identifiers run from 1 to 65,535 and round
 * again. */
static struct mqtt_message *
find(const struct mqtt_inflight *f, uint16_t id)
{
    size_t offset;
    uint16_t first;

    if (f->span == 0 || id == 0)
        return NULL;
    first = at(f, 0)->id;
    offset = id >= first ? (size_t)id - first : (size_t)id + UINT16_MAX - first;
    if (offset >= f->span || at(f, offset)->state == MQTT_STATE_NONE)
        return NULL;
    assert(at(f, offset)->id == id);
    return at(f, offset);
}

static enum err
done(struct mqtt_inflight *f, struct mqtt_message *m, struct mqtt_message *out,
     enum mqtt_effect *effect)
{
    set_state(f, m, MQTT_STATE_NONE);
    *out = *m;
    *effect = MQTT_EFFECT_DONE;
    trim(f);
    return ERR_OK;
}

enum err
mqtt_inflight_answer(struct mqtt_inflight *f, enum mqtt_type type, uint16_t id,
                     struct mqtt_message *out, enum mqtt_effect *effect)
{
    struct mqtt_message *m = find(f, id);

    assert(type == MQTT_PUBACK || type == MQTT_PUBREC || type == MQTT_PUBCOMP);
    *out = (struct mqtt_message){0};
    *effect = type == MQTT_PUBREC ? MQTT_EFFECT_RELEASE : MQTT_EFFECT_NONE;
    if (m == NULL || is_due(m->state)) /* a message not sent on this connection yet has no answer */
        return m == NULL ? ERR_OK : ERR_BAD;
    if ((type == MQTT_PUBACK) != (m->qos == 1))
        return ERR_BAD;
    if (type == MQTT_PUBACK)
        return done(f, m, out, effect);
    if (type == MQTT_PUBCOMP)
        return m->state == MQTT_STATE_RELEASED ? done(f, m, out, effect) : ERR_BAD;
    set_state(f, m, MQTT_STATE_RELEASED);
    *out = *m;
    return ERR_OK;
}

/* What a message turns to when its session goes on over a new connection. */
static enum mqtt_state
after_reconnect(const struct mqtt_message *m)
{
    if (m->state == MQTT_STATE_NONE)
        return MQTT_STATE_NONE;
    if (m->orphan)
        return m->qos == 2 ? MQTT_STATE_RERELEASE : MQTT_STATE_NONE;
    return m->state == MQTT_STATE_RELEASED || m->state == MQTT_STATE_RERELEASE
               ? MQTT_STATE_RERELEASE
               : MQTT_STATE_RESEND;
}

void
mqtt_inflight_reconnected(struct mqtt_inflight *f, bool session_present)
{
    for (size_t i = 0; i < f->span; i++)
        set_state(f, at(f, i), session_present ? after_reconnect(at(f, i)) : MQTT_STATE_NONE);
    f->due_from = 0;
    trim(f);
}

static const struct mqtt_message *
first_in(const struct mqtt_inflight *f, size_t start, enum mqtt_state a, enum mqtt_state b)
{
    for (size_t i = start; i < f->span; i++) {
        if (at(f, i)->state == a || at(f, i)->state == b)
            return at(f, i);
    }
    return NULL;
}

const struct mqtt_message *
mqtt_inflight_next_due(const struct mqtt_inflight *f)
{
    return f->due == 0 ? NULL : first_in(f, f->due_from, MQTT_STATE_RESEND, MQTT_STATE_RERELEASE);
}

void
mqtt_inflight_sent_again(struct mqtt_inflight *f, const struct mqtt_message *m)
{
    struct mqtt_message *own = find(f, m->id);

    assert(own == m && is_due(own->state));
    set_state(f, own, own->state == MQTT_STATE_RESEND ? MQTT_STATE_SENT : MQTT_STATE_RELEASED);
    f->due_from = (size_t)(own - f->ring + (ptrdiff_t)f->window - (ptrdiff_t)f->head) % f->window;
}

static void
make_orphan(struct mqtt_inflight *f, struct mqtt_message *m)
{
    if (m->state != MQTT_STATE_NONE && !m->orphan)
        f->waiting--;
    m->orphan = true;
}

void
mqtt_inflight_abandon(struct mqtt_inflight *f, const struct mqtt_message *m)
{
    struct mqtt_message *own = find(f, m->id);

    assert(own == m && own->state == MQTT_STATE_RESEND);
    make_orphan(f, own);
    set_state(f, own, after_reconnect(own));
    trim(f);
}

const struct mqtt_message *
mqtt_inflight_first_unanswered(const struct mqtt_inflight *f)
{
    return first_in(f, 0, MQTT_STATE_SENT, MQTT_STATE_RESEND);
}

void
mqtt_inflight_forget_from(struct mqtt_inflight *f, const struct mqtt_message *m)
{
    size_t i = 0;

    assert(find(f, m->id) == m);
    while (at(f, i) != m)
        i++;
    for (; i < f->span; i++) {
        if (at(f, i)->state == MQTT_STATE_SENT || at(f, i)->state == MQTT_STATE_RESEND)
            set_state(f, at(f, i), MQTT_STATE_NONE);
    }
    trim(f);
}

void
mqtt_inflight_orphan_all(struct mqtt_inflight *f)
{
    for (size_t i = 0; i < f->span; i++)
        make_orphan(f, at(f, i));
}
