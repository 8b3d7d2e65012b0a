/*
 * kafka_client_conn.c: see kafka_client_conn.h.
 */
#include "kafka/kafka_client_conn.h"

#include <assert.h>

#include "base/clock.h"
#include "base/port.h"
#include "kafka/kafka_error.h"

#define READ_BYTES 16384
#define REQUEST_MAX 65536
#define MUTE_MAX_MS (15 * 60 * 1000) /* more is not believed */
#define TLS_ALERT 0x15

void
kafka_client_conn_init(struct kafka_client_conn *c, const struct kafka_client_config *config,
                       int32_t node, struct slice host, uint16_t port)
{
    *c = (struct kafka_client_conn){.config = config, .node = node, .port = port};
    slice_copy_text(host, c->host, sizeof(c->host));
    buf_init(&c->in, KAFKA_PROTO_FRAME_MAX + READ_BYTES);
}

void
kafka_client_conn_close(struct kafka_client_conn *c)
{
    stream_close(c->stream);
    c->stream = NULL;
    c->waiting = c->unanswered = false;
    buf_clear(&c->in);
    c->used = 0;
}

void
kafka_client_conn_free(struct kafka_client_conn *c)
{
    kafka_client_conn_close(c);
    buf_wipe(&c->in);
}

static int64_t
now_ms(const struct kafka_client_conn *c)
{
    return clock_mono_ms(c->config->env->clock);
}

static enum err
lost(struct kafka_client_conn *c, enum err err)
{
    kafka_client_conn_close(c);
    return err;
}

/* ---- requests and answers ---- */

struct kafka_msg_head
kafka_client_conn_head(struct kafka_client_conn *c, enum kafka_proto_api api)
{
    int16_t version = api == KAFKA_PROTO_API_VERSIONS ? 0 : kafka_proto_version(&c->versions, api);

    c->correlation = (c->correlation + 1) & INT32_MAX;
    return (struct kafka_msg_head){version, c->correlation, c->config->client_id};
}

enum err
kafka_client_conn_write(struct kafka_client_conn *c, const struct slice *parts, size_t count,
                        int64_t deadline, struct errinfo *info)
{
    enum err err = ERR_OK;

    for (size_t at = 0, n; at < count && err == ERR_OK; at += n) {
        n = count - at < 16 ? count - at : 16;
        err = stream_write(c->stream, parts + at, n, deadline, info);
    }
    if (err != ERR_OK)
        return lost(c, err);
    c->used_at = now_ms(c);
    return ERR_OK;
}

void
kafka_client_conn_sent(struct kafka_client_conn *c, bool answered)
{
    c->waiting = answered;
    c->unanswered = c->unanswered || !answered;
}

static enum err
read_more(struct kafka_client_conn *c, int64_t deadline, struct errinfo *info)
{
    uint8_t *p = buf_reserve(&c->in, READ_BYTES);
    size_t got;
    enum err err;

    if (p == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an answer of %s:%u", c->host, c->port);
    err = stream_read(c->stream, p, READ_BYTES, &got, deadline, info);
    if (err == ERR_OK)
        buf_commit(&c->in, got);
    return err;
}

/* The next frame that is there, if it is there whole. */
static enum err
next_frame(struct kafka_client_conn *c, struct slice *frame, struct errinfo *info)
{
    enum err err;

    buf_consume(&c->in, c->used);
    c->used = 0;
    err = kafka_proto_frame(buf_peek(&c->in), frame, &c->used);
    if (err == ERR_OK || err == ERR_SHORT)
        return err;
    if (buf_peek(&c->in).p[0] == TLS_ALERT)
        return errinfo_set(info, ERR_BAD, "%s:%u speaks TLS: use kafkas://", c->host, c->port);
    return errinfo_set(info, err, "%s:%u answers with something that is not Kafka's protocol",
                       c->host, c->port);
}

/* An answer that nobody waits for: to a request that was to have none, and some brokers give one.
 */
static bool
is_stray(const struct kafka_client_conn *c, int32_t correlation)
{
    return c->unanswered && correlation != c->correlation;
}

enum err
kafka_client_conn_receive(struct kafka_client_conn *c, struct slice *body, int64_t deadline,
                          struct errinfo *info)
{
    struct slice frame;
    int32_t correlation;
    enum err err;

    assert(c->waiting);
    for (;;) {
        err = next_frame(c, &frame, info);
        if (err == ERR_SHORT)
            err = read_more(c, deadline, info);
        else if (err == ERR_OK) {
            correlation = (int32_t)load_be32(frame.p);
            if (correlation == c->correlation)
                break;
            if (!is_stray(c, correlation))
                err = errinfo_set(info, ERR_BAD, "%s:%u answers a request that was not made",
                                  c->host, c->port);
        }
        if (err != ERR_OK)
            return lost(c, err);
    }
    c->waiting = false;
    c->used_at = now_ms(c);
    *body = slice_from(frame, 4);
    return ERR_OK;
}

enum err
kafka_client_conn_call(struct kafka_client_conn *c, struct slice request, struct slice *body,
                       int64_t deadline, struct errinfo *info)
{
    enum err err = kafka_client_conn_write(c, &request, 1, deadline, info);

    if (err != ERR_OK)
        return err;
    kafka_client_conn_sent(c, true);
    return kafka_client_conn_receive(c, body, deadline, info);
}

void
kafka_client_conn_mute(struct kafka_client_conn *c, int32_t throttle_ms)
{
    if (throttle_ms > 0)
        c->muted_until =
            clock_after(now_ms(c), throttle_ms < MUTE_MAX_MS ? throttle_ms : MUTE_MAX_MS);
}

/* Take in what came unasked: answers to requests that need none. Anything else means the end. */
static bool
take_strays(struct kafka_client_conn *c)
{
    struct slice frame;
    enum err err = read_more(c, now_ms(c), NULL);

    while (err == ERR_OK) {
        err = next_frame(c, &frame, NULL);
        if (err == ERR_OK && !c->unanswered)
            err = ERR_BAD;
    }
    return err == ERR_SHORT;
}

bool
kafka_client_conn_usable(struct kafka_client_conn *c)
{
    int64_t now = now_ms(c);
    enum err err;

    if (c->stream == NULL)
        return false;
    if (now < c->renew_at && now - c->used_at < KAFKA_CLIENT_CONN_IDLE_MS) {
        err = stream_wait(c->stream, now, NULL);
        if (err == ERR_TIMEOUT || err == ERR_STOP || (err == ERR_OK && take_strays(c)))
            return true;
    }
    kafka_client_conn_close(c);
    return false;
}

/* ---- opening one ---- */

static enum err
malformed(const struct kafka_client_conn *c, enum kafka_proto_api api, struct errinfo *info)
{
    return errinfo_set(info, ERR_BAD, "%s:%u: a malformed answer to %s", c->host, c->port,
                       kafka_proto_api_name(api));
}

static enum err
ask_versions(struct kafka_client_conn *c, struct buf *request, int64_t deadline,
             struct errinfo *info)
{
    struct kafka_msg_head head = kafka_client_conn_head(c, KAFKA_PROTO_API_VERSIONS);
    struct slice body;
    int16_t error;
    enum err err = kafka_msg_api_versions(request, &head);

    if (err == ERR_OK)
        err = kafka_client_conn_call(c, buf_peek(request), &body, deadline, info);
    if (err != ERR_OK)
        return err;
    if (kafka_msg_versions_read(body, &c->versions, &error) != ERR_OK)
        return malformed(c, KAFKA_PROTO_API_VERSIONS, info);
    if (error != 0)
        return errinfo_set(info, ERR_BAD, "%s:%u: ApiVersions failed with error %d (%s)", c->host,
                           c->port, error, kafka_error(error)->name);
    return ERR_OK;
}

static enum err
handshake(struct kafka_client_conn *c, struct buf *request, int64_t deadline, struct errinfo *info)
{
    struct kafka_msg_head head = kafka_client_conn_head(c, KAFKA_PROTO_SASL_HANDSHAKE);
    const char *name = kafka_sasl_name(c->config->mechanism);
    struct buf offered;
    struct slice body;
    int16_t error = 0;
    enum err err;

    if (head.version < 0)
        return errinfo_set(info, ERR_CONFIG, "%s:%u takes no SASL as Kafka 1.0 and later do",
                           c->host, c->port);
    err = kafka_msg_sasl_handshake(request, &head, slice_of(name));
    if (err == ERR_OK)
        err = kafka_client_conn_call(c, buf_peek(request), &body, deadline, info);
    if (err != ERR_OK)
        return err;
    buf_init(&offered, 4096);
    err = kafka_msg_handshake_read(body, &error, &offered);
    if (err != ERR_OK)
        err = malformed(c, KAFKA_PROTO_SASL_HANDSHAKE, info);
    else if (error != 0)
        err = errinfo_set(info, ERR_DENIED, "%s:%u offers SASL %.*s, not %s: set the option sasl",
                          c->host, c->port, SLICE_PRI(buf_peek(&offered)), name);
    buf_free(&offered);
    return err;
}

/* At 85 to 95 % of a session's life it is made anew; ${sasl}'s nonce serves as the die. */
static void
take_lifetime(struct kafka_client_conn *c, const struct kafka_sasl *sasl, int64_t lifetime_ms)
{
    int64_t percent = 85 + sasl->nonce[0] % 11;

    if (lifetime_ms > 0)
        c->renew_at = clock_after(now_ms(c), lifetime_ms / 100 * percent);
}

static enum err
authenticate_once(struct kafka_client_conn *c, struct kafka_sasl *sasl, struct buf *token,
                  struct buf *request, int64_t deadline, struct errinfo *info)
{
    struct kafka_msg_head head = kafka_client_conn_head(c, KAFKA_PROTO_SASL_AUTHENTICATE);
    struct kafka_msg_authenticated answer;
    struct slice body;
    enum err err = kafka_msg_sasl_authenticate(request, &head, buf_peek(token));

    if (err == ERR_OK)
        err = kafka_client_conn_call(c, buf_peek(request), &body, deadline, info);
    if (err != ERR_OK)
        return err;
    if (kafka_msg_authenticated_read(body, head.version, &answer) != ERR_OK)
        return malformed(c, KAFKA_PROTO_SASL_AUTHENTICATE, info);
    if (answer.error != 0)
        return errinfo_set(info, ERR_DENIED,
                           "%s:%u refuses the credentials of user \"%.*s\" (%s): check USERNAME "
                           "and PASSWORD",
                           c->host, c->port, SLICE_PRI(c->config->user),
                           kafka_error(answer.error)->name);
    take_lifetime(c, sasl, answer.lifetime_ms);
    return kafka_sasl_step(sasl, answer.token, token, info);
}

static enum err
authenticate(struct kafka_client_conn *c, struct buf *request, int64_t deadline,
             struct errinfo *info)
{
    uint8_t random[24];
    struct kafka_sasl sasl;
    struct buf token;
    enum err err;

    if (kafka_proto_version(&c->versions, KAFKA_PROTO_SASL_AUTHENTICATE) < 0)
        return errinfo_set(info, ERR_CONFIG, "%s:%u takes no SASL as Kafka 1.0 and later do",
                           c->host, c->port);
    if (port_random(random, sizeof(random)) != ERR_OK)
        return errinfo_set(info, ERR_IO, "no random numbers to authenticate with");
    kafka_sasl_init(&sasl, c->config->mechanism, c->config->user, c->config->password, random);
    buf_init(&token, REQUEST_MAX / 2);
    err = kafka_sasl_step(&sasl, slice_make(NULL, 0), &token, info);
    while (err == ERR_OK && !sasl.done) {
        buf_clear(request);
        err = authenticate_once(c, &sasl, &token, request, deadline, info);
    }
    buf_wipe(&token);
    kafka_sasl_free(&sasl);
    return err;
}

static enum err
shake_hands(struct kafka_client_conn *c, int64_t deadline, struct errinfo *info)
{
    struct buf request;
    enum err err;

    buf_init(&request, REQUEST_MAX);
    err = ask_versions(c, &request, deadline, info);
    buf_clear(&request);
    if (err == ERR_OK && c->config->mechanism != KAFKA_SASL_NONE) {
        err = handshake(c, &request, deadline, info);
        if (err == ERR_OK)
            err = authenticate(c, &request, deadline, info);
    }
    buf_wipe(&request);
    return err;
}

enum err
kafka_client_conn_open(struct kafka_client_conn *c, int64_t deadline, struct errinfo *info)
{
    struct stream_target target = {
        .host = slice_of(c->host), .port = c->port, .tls = c->config->tls};
    enum err err;

    kafka_client_conn_close(c);
    c->renew_at = DEADLINE_NEVER;
    c->muted_until = 0;
    c->correlation = 0;
    c->used_at = now_ms(c);
    kafka_proto_versions_none(&c->versions);
    err = stream_connect(&c->stream, c->config->env, &target, deadline, info);
    if (err != ERR_OK) {
        c->stream = NULL;
        return err;
    }
    err = shake_hands(c, deadline, info);
    if (err == ERR_NOMEM)
        errinfo_set(info, err, "no memory to shake hands with %s:%u", c->host, c->port);
    return err == ERR_OK ? ERR_OK : lost(c, err);
}
