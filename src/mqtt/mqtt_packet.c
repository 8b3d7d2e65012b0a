/*
 * mqtt_packet.c: see mqtt_packet.h.
 */
#include "mqtt/mqtt_packet.h"

#include <assert.h>

#include "base/text.h"

/* ---- texts ---- */

/* The code point of a valid UTF-8 sequence of ${n} bytes. */
static uint32_t
code_point(const uint8_t *p, size_t n)
{
    static const uint8_t first[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = p[0] & first[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

bool
mqtt_packet_is_string(struct slice s)
{
    if (s.n > MQTT_STRING_MAX)
        return false;
    while (s.n > 0) {
        size_t n = text_utf8(s);
        uint32_t c = n == 0 ? 0 : code_point(s.p, n);

        if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xfdd0 && c <= 0xfdef) ||
            (c & 0xfffe) == 0xfffe)
            return false;
        s = slice_from(s, n);
    }
    return true;
}

bool
mqtt_packet_is_topic(struct slice s)
{
    return s.n > 0 && slice_find(s, '+') == s.n && slice_find(s, '#') == s.n &&
           mqtt_packet_is_string(s);
}

const char *
mqtt_packet_refusal(uint8_t code)
{
    switch (code) {
    case 1:
        return "it does not speak MQTT 3.1.1";
    case 2:
        return "it does not take this client identifier";
    case 3:
        return "the server is unavailable";
    case 4:
        return "bad user name or password";
    case 5:
        return "not authorized";
    default:
        return "for a reason that MQTT 3.1.1 does not know";
    }
}

/* ---- writing ---- */

/* The fixed header: section 2.2. */
static void
put_head(struct wr *w, enum mqtt_type type, unsigned flags, size_t remaining)
{
    wr_u8(w, (uint8_t)((unsigned)type << 4 | flags));
    if (remaining > MQTT_REMAINING_MAX) {
        wr_fail(w, ERR_RANGE);
        return;
    }
    do {
        uint8_t byte = remaining & 0x7f;

        remaining >>= 7;
        wr_u8(w, (uint8_t)(remaining > 0 ? byte | 0x80 : byte));
    } while (remaining > 0);
}

static void
put_text(struct wr *w, struct slice s)
{
    if (s.n > MQTT_STRING_MAX) {
        wr_fail(w, ERR_RANGE);
        return;
    }
    wr_be16(w, (uint16_t)s.n);
    wr_bytes(w, s);
}

static size_t
text_bytes(struct slice s)
{
    return s.p == NULL ? 0 : 2 + s.n;
}

static unsigned
connect_flags(const struct mqtt_connect *c)
{
    unsigned flags = 0; /* section 3.1.2.3 */

    if (c->clean_session)
        flags |= 0x02;
    if (c->will_topic.p != NULL)
        flags |= 0x04 | (unsigned)c->will_qos << 3 | (c->will_retain ? 0x20u : 0);
    if (c->password.p != NULL)
        flags |= 0x40;
    if (c->username.p != NULL)
        flags |= 0x80;
    return flags;
}

void
mqtt_packet_connect(struct wr *w, const struct mqtt_connect *c)
{
    size_t remaining = 10 + 2 + c->client_id.n + text_bytes(c->username) + text_bytes(c->password);

    assert(c->password.p == NULL || c->username.p != NULL);
    if (c->will_topic.p != NULL)
        remaining += text_bytes(c->will_topic) + 2 + c->will_payload.n;
    put_head(w, MQTT_CONNECT, 0, remaining);
    put_text(w, SLICE("MQTT"));
    wr_u8(w, 4); /* the protocol level of 3.1.1 */
    wr_u8(w, (uint8_t)connect_flags(c));
    wr_be16(w, c->keepalive_s);
    put_text(w, c->client_id);
    if (c->will_topic.p != NULL) {
        put_text(w, c->will_topic);
        put_text(w, c->will_payload);
    }
    if (c->username.p != NULL)
        put_text(w, c->username);
    if (c->password.p != NULL)
        put_text(w, c->password);
}

/* Topic and identifier; the payload comes on top. */
static size_t
publish_variable_bytes(size_t topic, uint8_t qos)
{
    return 2 + topic + (qos > 0 ? 2u : 0);
}

void
mqtt_packet_publish(struct wr *w, const struct mqtt_publish *p, size_t payload_bytes)
{
    size_t variable = publish_variable_bytes(p->topic.n, p->qos);
    unsigned flags = (p->dup ? 8u : 0) | (unsigned)p->qos << 1 | (p->retain ? 1u : 0);

    assert(p->qos <= 2 && (p->qos == 0 || p->id > 0) && (p->qos > 0 || !p->dup));
    if (p->topic.n == 0 || payload_bytes > MQTT_REMAINING_MAX) {
        wr_fail(w, ERR_RANGE);
        return;
    }
    put_head(w, MQTT_PUBLISH, flags, variable + payload_bytes);
    put_text(w, p->topic);
    if (p->qos > 0)
        wr_be16(w, p->id);
}

size_t
mqtt_packet_publish_bytes(size_t topic, uint8_t qos, size_t payload)
{
    size_t remaining = publish_variable_bytes(topic, qos) + payload, head = 2;

    for (size_t left = remaining >> 7; left > 0; left >>= 7)
        head++;
    return head + remaining;
}

void
mqtt_packet_answer(struct wr *w, enum mqtt_type type, uint16_t id)
{
    assert(type >= MQTT_PUBACK && type <= MQTT_PUBCOMP);
    put_head(w, type, type == MQTT_PUBREL ? 2 : 0, 2); /* section 3.6.1 */
    wr_be16(w, id);
}

void
mqtt_packet_empty(struct wr *w, enum mqtt_type type)
{
    assert(type == MQTT_PINGREQ || type == MQTT_DISCONNECT);
    put_head(w, type, 0, 0);
}

/* ---- reading ---- */

static enum err
malformed(struct errinfo *info, const char *what)
{
    return errinfo_set(info, ERR_BAD, "a malformed packet came: %s", what);
}

/* The remaining length; ERR_BAD is a fourth byte that promises a fifth. */
static uint32_t
get_remaining(struct rd *r)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t byte = rd_u8(r);

        value |= (uint32_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0)
            return value;
    }
    rd_fail(r, ERR_BAD);
    return 0;
}

/* What the first byte alone tells: types that no broker sends to a publisher, reserved flag
 * bits. */
static const char *
first_byte_fault(uint8_t first)
{
    unsigned flags = first & 0x0fu;

    switch (first >> 4) {
    case MQTT_PUBLISH:
        if ((flags & 6) == 6)
            return "QoS 3";
        return flags & 8 && (flags & 6) == 0 ? "DUP with QoS 0" : NULL;
    case MQTT_PUBREL:
        return flags == 2 ? NULL : "reserved flag bits of PUBREL";
    case MQTT_CONNACK:
    case MQTT_PUBACK:
    case MQTT_PUBREC:
    case MQTT_PUBCOMP:
    case MQTT_PINGRESP:
        return flags == 0 ? NULL : "reserved flag bits";
    default:
        return "a type that a broker does not send to a publisher";
    }
}

static enum err
read_publish(struct rd *r, uint8_t first, uint32_t remaining, struct mqtt_packet *out,
             struct errinfo *info)
{
    uint16_t topic_bytes = rd_be16(r);
    size_t variable;

    out->qos = first >> 1 & 3;
    out->dup = (first & 8) != 0;
    out->retain = (first & 1) != 0;
    variable = publish_variable_bytes(topic_bytes, out->qos);
    if (r->err == ERR_OK && variable > remaining)
        return malformed(info, "a PUBLISH shorter than its topic");
    out->topic = rd_bytes(r, topic_bytes);
    if (out->qos > 0)
        out->id = rd_be16(r);
    if (r->err != ERR_OK)
        return r->err;
    if (!mqtt_packet_is_topic(out->topic))
        return malformed(info, "a PUBLISH with an illegal topic");
    if (out->qos > 0 && out->id == 0)
        return malformed(info, "packet identifier 0");
    out->payload_bytes = remaining - variable;
    return ERR_OK;
}

static enum err
read_connack(struct rd *r, struct mqtt_packet *out, struct errinfo *info)
{
    uint8_t flags = rd_u8(r);

    out->code = rd_u8(r);
    if (r->err != ERR_OK)
        return r->err;
    if (flags > 1 || (flags == 1 && out->code != 0))
        return malformed(info, "reserved bits of CONNACK"); /* sections 3.2.2.1 and 3.2.2.2 */
    out->session_present = flags == 1;
    return ERR_OK;
}

static enum err
read_body(struct rd *r, uint8_t first, uint32_t remaining, struct mqtt_packet *out,
          struct errinfo *info)
{
    if (out->type == MQTT_PUBLISH)
        return read_publish(r, first, remaining, out, info);
    if (remaining != (out->type == MQTT_PINGRESP ? 0u : 2u))
        return malformed(info, "a length that its type cannot have");
    if (out->type == MQTT_CONNACK)
        return read_connack(r, out, info);
    if (out->type == MQTT_PINGRESP)
        return ERR_OK;
    out->id = rd_be16(r);
    if (r->err == ERR_OK && out->id == 0)
        return malformed(info, "packet identifier 0");
    return r->err;
}

enum err
mqtt_packet_read(struct slice in, struct mqtt_packet *out, size_t *used, struct errinfo *info)
{
    struct rd r;
    uint8_t first;
    uint32_t remaining;
    enum err err;

    *used = 0;
    *out = (struct mqtt_packet){0};
    rd_init(&r, in);
    first = rd_u8(&r);
    if (r.err != ERR_OK)
        return r.err;
    if (first_byte_fault(first) != NULL)
        return malformed(info, first_byte_fault(first));
    out->type = (enum mqtt_type)(first >> 4);
    remaining = get_remaining(&r);
    if (r.err == ERR_BAD)
        return malformed(info, "a remaining length of more than four bytes");
    if (r.err != ERR_OK)
        return r.err;
    err = read_body(&r, first, remaining, out, info);
    if (err == ERR_OK)
        *used = in.n - rd_left(&r);
    return err;
}
