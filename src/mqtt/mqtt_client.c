/*
 * mqtt_client.c: see mqtt_client.h.
 */
#include "mqtt/mqtt_client.h"

#include <assert.h>

#include "base/mem.h"

/* One read takes at most this much; a window of answers is 4 bytes a message. */
#define READ_BYTES 4096

/* A DISCONNECT is a courtesy: no longer than this for it. */
#define GOODBYE_MS 500

/* The longest CONNECT: five texts and what is around them. */
#define HELLO_MAX (5 * (MQTT_STRING_MAX + 2) + 32)

struct mqtt_client {
    struct mqtt_client_config config;
    struct stream *stream; /* NULL: no connection */
    struct buf in, out;
    size_t skip; /* bytes of a payload that nobody wants, still to come */
    uint8_t refusal;
    int64_t last_sent_ms, last_read_ms;
    int64_t pong_by_ms; /* DEADLINE_NEVER: no PINGREQ is out */
};

static int64_t
now_ms(const struct mqtt_client *c)
{
    return clock_mono_ms(c->config.env->clock);
}

static int64_t
keepalive_ms(const struct mqtt_client *c)
{
    return (int64_t)c->config.hello.keepalive_s * 1000;
}

enum err
mqtt_client_open(struct mqtt_client **out, const struct mqtt_client_config *config)
{
    struct mqtt_client *c = mem_zalloc(sizeof(*c));

    if (c == NULL)
        return ERR_NOMEM;
    c->config = *config;
    buf_init(&c->in, MQTT_PACKET_HEAD_MAX + READ_BYTES);
    buf_init(&c->out, config->out_max);
    c->pong_by_ms = DEADLINE_NEVER;
    *out = c;
    return ERR_OK;
}

void
mqtt_client_close(struct mqtt_client *c)
{
    if (c == NULL)
        return;
    mqtt_client_drop(c);
    buf_free(&c->in);
    buf_free(&c->out);
    mem_free(c);
}

void
mqtt_client_drop(struct mqtt_client *c)
{
    stream_close(c->stream);
    c->stream = NULL;
    buf_clear(&c->in);
    buf_clear(&c->out);
    c->skip = 0;
    c->pong_by_ms = DEADLINE_NEVER;
}

void
mqtt_client_disconnect(struct mqtt_client *c)
{
    struct wr w;

    if (c->stream != NULL) {
        buf_clear(&c->out);
        wr_init(&w, &c->out);
        mqtt_packet_empty(&w, MQTT_DISCONNECT);
        if (wr_done(&w) == ERR_OK &&
            mqtt_client_flush(c, clock_after(now_ms(c), GOODBYE_MS), NULL) != ERR_OK)
            return;
    }
    mqtt_client_drop(c);
}

bool
mqtt_client_connected(const struct mqtt_client *c)
{
    return c->stream != NULL;
}

uint8_t
mqtt_client_refusal(const struct mqtt_client *c)
{
    return c->refusal;
}

struct buf *
mqtt_client_out(struct mqtt_client *c)
{
    return &c->out;
}

size_t
mqtt_client_buffered(const struct mqtt_client *c)
{
    return buf_len(&c->in);
}

/* ---- moving bytes ---- */

/* The connection is good for nothing any more. */
static enum err
lost(struct mqtt_client *c, enum err err)
{
    mqtt_client_drop(c);
    return err;
}

enum err
mqtt_client_flush(struct mqtt_client *c, int64_t deadline, struct errinfo *info)
{
    struct slice all = buf_peek(&c->out);
    enum err err;

    assert(c->stream != NULL);
    if (all.n == 0)
        return ERR_OK;
    err = stream_write(c->stream, &all, 1, deadline, info);
    if (err != ERR_OK)
        return lost(c, err);
    buf_clear(&c->out);
    c->last_sent_ms = now_ms(c);
    return ERR_OK;
}

/* Take what came, at least one byte. The connection stays with ERR_TIMEOUT and ERR_STOP. */
static enum err
fill(struct mqtt_client *c, int64_t deadline, struct errinfo *info)
{
    uint8_t *room = buf_reserve(&c->in, READ_BYTES);
    size_t got;
    enum err err;

    if (room == NULL)
        return lost(c, errinfo_set(info, ERR_NOMEM, "no memory for what an MQTT broker sent"));
    err = stream_read(c->stream, room, READ_BYTES, &got, deadline, info);
    if (err == ERR_OK) {
        buf_commit(&c->in, got);
        c->last_read_ms = now_ms(c);
    } else if (err != ERR_TIMEOUT && err != ERR_STOP) {
        return lost(c, err);
    }
    return err;
}

/* Pass over the payload of a PUBLISH that nobody asked for. */
static void
skip_payload(struct mqtt_client *c)
{
    size_t n = c->skip < buf_len(&c->in) ? c->skip : buf_len(&c->in);

    buf_consume(&c->in, n);
    c->skip -= n;
}

/* The next whole packet of what has been read. ERR_SHORT: there is none. */
static enum err
take_packet(struct mqtt_client *c, struct mqtt_packet *out, struct errinfo *info)
{
    size_t used;
    enum err err;

    skip_payload(c);
    if (buf_len(&c->in) == 0)
        return ERR_SHORT;
    err = mqtt_packet_read(buf_peek(&c->in), out, &used, info);
    if (err != ERR_OK)
        return err;
    c->skip = out->payload_bytes;
    out->topic = (struct slice){NULL, 0}; /* gone with the next read */
    buf_consume(&c->in, used);
    return ERR_OK;
}

/* ---- connecting ---- */

static enum err
send_hello(struct mqtt_client *c, bool clean_session, int64_t deadline, struct errinfo *info)
{
    struct mqtt_connect hello = c->config.hello;
    struct slice bytes;
    struct buf text; /* grown at once, so that no copy of the password is left behind */
    struct wr w;
    enum err err = ERR_NOMEM;

    hello.clean_session = clean_session;
    buf_init(&text, HELLO_MAX);
    if (buf_reserve(&text, HELLO_MAX) != NULL) {
        wr_init(&w, &text);
        mqtt_packet_connect(&w, &hello);
        err = wr_done(&w);
    }
    bytes = buf_peek(&text);
    if (err == ERR_OK)
        err = stream_write(c->stream, &bytes, 1, deadline, info);
    else
        errinfo_set(info, err, "cannot make a CONNECT: %s",
                    err == ERR_NOMEM ? "no memory" : "a text is over 65,535 bytes");
    buf_wipe(&text);
    return err;
}

static enum err
no_connack(enum err err, struct errinfo *info)
{
    if (err == ERR_EOF)
        return errinfo_set(info, err,
                           "the broker closed the connection on CONNECT, without an answer");
    if (err == ERR_TIMEOUT)
        return errinfo_set(info, err, "the broker did not answer CONNECT in time");
    return err;
}

static enum err
await_connack(struct mqtt_client *c, bool *session_present, int64_t deadline, struct errinfo *info)
{
    struct mqtt_packet packet;
    enum err err;

    while ((err = take_packet(c, &packet, info)) == ERR_SHORT) {
        err = fill(c, deadline, info);
        if (err != ERR_OK)
            return no_connack(err, info);
    }
    if (err != ERR_OK)
        return err;
    if (packet.type != MQTT_CONNACK)
        return errinfo_set(info, ERR_BAD, "the broker answered CONNECT with another packet");
    c->refusal = packet.code;
    *session_present = packet.session_present;
    if (packet.code != 0)
        return errinfo_set(info, ERR_DENIED, "the broker refuses the connection: %s (code %u)",
                           mqtt_packet_refusal(packet.code), packet.code);
    return ERR_OK;
}

enum err
mqtt_client_connect(struct mqtt_client *c, bool clean_session, bool *session_present,
                    int64_t deadline, struct errinfo *info)
{
    struct stream_target target = {
        .host = c->config.host, .port = c->config.port, .tls = c->config.tls, .quick_ack = true};
    enum err err;

    assert(c->stream == NULL);
    c->refusal = 0;
    err = stream_connect(&c->stream, c->config.env, &target, deadline, info);
    if (err != ERR_OK) {
        c->stream = NULL;
        return err;
    }
    err = send_hello(c, clean_session, deadline, info);
    if (err == ERR_OK)
        err = await_connack(c, session_present, deadline, info);
    if (err != ERR_OK)
        return lost(c, err);
    c->last_sent_ms = c->last_read_ms = now_ms(c);
    return ERR_OK;
}

/* ---- keeping alive ---- */

/* When the next PINGREQ is due. */
static int64_t
ping_at(const struct mqtt_client *c)
{
    int64_t since = c->last_sent_ms < c->last_read_ms ? c->last_sent_ms : c->last_read_ms;

    if (keepalive_ms(c) == 0 || c->pong_by_ms != DEADLINE_NEVER)
        return DEADLINE_NEVER;
    return since + keepalive_ms(c) * 3 / 4;
}

static enum err
keep_alive(struct mqtt_client *c, struct errinfo *info)
{
    int64_t now = now_ms(c), wait = keepalive_ms(c) * 5 / 8;
    struct wr w;

    if (now >= c->pong_by_ms)
        return lost(c, errinfo_set(info, ERR_TIMEOUT,
                                   "the broker did not answer a PINGREQ: the link is dead"));
    if (now < ping_at(c))
        return ERR_OK;
    wr_init(&w, &c->out);
    mqtt_packet_empty(&w, MQTT_PINGREQ);
    if (wr_done(&w) != ERR_OK)
        return lost(c, errinfo_set(info, ERR_NOMEM, "no memory for a PINGREQ"));
    c->pong_by_ms = now + (wait < c->config.timeout_ms ? wait : c->config.timeout_ms);
    return ERR_OK;
}

/* ---- taking answers ---- */

static enum err
answer(struct mqtt_client *c, enum mqtt_type type, uint16_t id)
{
    struct wr w;

    wr_init(&w, &c->out);
    mqtt_packet_answer(&w, type, id);
    return wr_done(&w);
}

/* What is not for the caller. A PUBLISH is acknowledged and passed over: brokers can be set to
 * subscribe their clients by themselves. */
static enum err
take_other(struct mqtt_client *c, const struct mqtt_packet *packet, struct errinfo *info)
{
    enum err err = ERR_OK;

    if (packet->type == MQTT_PINGRESP)
        c->pong_by_ms = DEADLINE_NEVER;
    else if (packet->type == MQTT_PUBLISH && packet->qos > 0)
        err = answer(c, packet->qos == 1 ? MQTT_PUBACK : MQTT_PUBREC, packet->id);
    else if (packet->type == MQTT_PUBREL)
        err = answer(c, MQTT_PUBCOMP, packet->id);
    else if (packet->type == MQTT_CONNACK)
        return lost(c, errinfo_set(info, ERR_BAD, "a malformed packet came: a second CONNACK"));
    if (err != ERR_OK)
        return lost(c, errinfo_set(info, err, "no memory for an answer to an MQTT broker"));
    return ERR_OK;
}

static bool
is_for_caller(const struct mqtt_packet *packet)
{
    return packet->type == MQTT_PUBACK || packet->type == MQTT_PUBREC ||
           packet->type == MQTT_PUBCOMP;
}

/* Send what waits and read some: until the caller's deadline, or what the keep-alive asks for
 * first. */
static enum err
move(struct mqtt_client *c, int64_t deadline, struct errinfo *info)
{
    int64_t until = deadline;
    enum err err = keep_alive(c, info);

    if (err == ERR_OK)
        err = mqtt_client_flush(c, clock_after(now_ms(c), c->config.timeout_ms), info);
    if (err != ERR_OK)
        return err;
    if (ping_at(c) < until)
        until = ping_at(c);
    if (c->pong_by_ms < until)
        until = c->pong_by_ms;
    err = fill(c, until, info);
    return err == ERR_TIMEOUT && until < deadline ? ERR_OK : err;
}

enum err
mqtt_client_next(struct mqtt_client *c, struct mqtt_packet *out, int64_t deadline,
                 struct errinfo *info)
{
    bool moved = false;
    enum err err;

    assert(c->stream != NULL);
    for (;;) {
        err = take_packet(c, out, info);
        if (err == ERR_OK && is_for_caller(out))
            return ERR_OK;
        if (err == ERR_OK) {
            err = take_other(c, out, info);
        } else if (err == ERR_SHORT) {
            if (moved && now_ms(c) >= deadline)
                return ERR_TIMEOUT; /* a peer that never falls silent does not hold us */
            err = move(c, deadline, info);
            moved = true;
        } else {
            return lost(c, err);
        }
        if (err != ERR_OK)
            return err;
    }
}
