/*
 * mqtt_sink.c: the sink type mqtt: points published to an MQTT 3.1.1 broker.
 *
 * Its options, their check, and what a definition comes to; the work is in mqtt_publish.c.
 */
#include "sink/mqtt_sink.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"
#include "sink/mqtt_publish.h"
#include "sink/secret_file.h"
#include "sink/topic_url.h"

/* A packet of the largest length, and what is collected before it. */
#define OUT_MAX ((size_t)MQTT_REMAINING_MAX + ((size_t)1 << 20))

static const struct option options[] = {
    {"qos", OPTION_NUMBER, "1", 0, 2, NULL, "quality of service"},
    {"retain", OPTION_BOOL, "false", 0, 0, NULL,
     "have the broker keep the last message of a topic"},
    {"client_id", OPTION_TEXT, NULL, 1, 200, NULL, "client identifier; default sinkd-NODE-SINK"},
    {"keepalive", OPTION_DURATION, "60s", 0, 65535000, NULL, "longest silence on the connection"},
    {"max_inflight", OPTION_NUMBER, "20", 1, 65535, NULL, "messages that wait for their answers"},
    {"clean_session", OPTION_BOOL, NULL, 0, 0, NULL,
     "forget the session at each connect; default true, false with qos 2"},
    {"will_topic", OPTION_TEXT, NULL, 1, 65535, NULL, "topic of the will message"},
    {"will_payload", OPTION_TEXT, NULL, 0, 65535, NULL, "the will message"},
    {"batch_mode", OPTION_CHOICE, "individual", 0, 0, MESSAGE_MODES, "what one message holds"},
    {"max_message_bytes", OPTION_NUMBER, "100000", 100, 268435455, NULL,
     "most bytes of a joined message"},
};

/* What the sink holds for its publisher. */
struct mqtt {
    struct sink base;
    struct mqtt_publisher publisher;
    struct buf client_id;
    struct secret password;
};

static struct mqtt *
of(struct sink *s)
{
    return (struct mqtt *)s;
}

/* ---- checks ---- */

/* The topic as the user wrote it, but for what stands in braces. */
static bool
is_topic_text(struct slice text)
{
    bool inside = false;

    if (!mqtt_packet_is_string(text))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!inside && (text.p[i] == '+' || text.p[i] == '#'))
            return false;
        inside = text.p[i] == '{' || (inside && text.p[i] != '}');
    }
    return true;
}

static enum err
check_topic(const struct sink_def *def, struct errinfo *info)
{
    struct buf text;
    enum err err = topic_url_check(def, TEMPLATE_MQTT, false, MQTT_STRING_MAX, info);

    buf_init(&text, URL_TEXT_MAX);
    if (err == ERR_OK)
        err = topic_url_text(def, &text, info);
    if (err == ERR_OK && !is_topic_text(buf_peek(&text)))
        err = errinfo_set(info, ERR_CONFIG,
                          "the topic must be UTF-8 without control characters and without + and #");
    buf_free(&text);
    return err;
}

static enum err
check_texts(const struct sink_def *def, struct errinfo *info)
{
    if (!mqtt_packet_is_string(sink_def_text(def, "client_id")))
        return errinfo_set(info, ERR_CONFIG,
                           "option client_id takes UTF-8 without control characters");
    if (sink_def_is_set(def, "will_topic") &&
        !mqtt_packet_is_topic(sink_def_text(def, "will_topic")))
        return errinfo_set(
            info, ERR_CONFIG,
            "option will_topic takes UTF-8 without control characters and without + and #");
    if (sink_def_is_set(def, "will_payload") && !sink_def_is_set(def, "will_topic"))
        return errinfo_set(info, ERR_CONFIG, "option will_payload needs will_topic beside it");
    if (def->username != NULL && !mqtt_packet_is_string(slice_of(def->username)))
        return errinfo_set(
            info, ERR_CONFIG,
            "USERNAME is longer than 65,535 bytes or no UTF-8 without control characters");
    return ERR_OK;
}

static enum err
check_credentials(const struct sink_def *def, struct errinfo *info)
{
    bool from_file = sink_def_is_set(def, "password_file");

    if (def->username == NULL && (from_file || secret_is_set(&def->password)))
        return errinfo_set(info, ERR_CONFIG, "a password needs a USERNAME beside it");
    if (from_file && secret_is_set(&def->password))
        return errinfo_set(info, ERR_CONFIG, "PASSWORD and password_file exclude each other");
    if (secret_is_set(&def->password) && secret_reveal(&def->password).n > MQTT_STRING_MAX)
        return errinfo_set(info, ERR_CONFIG, "PASSWORD is longer than 65,535 bytes");
    return ERR_OK;
}

static enum err
mqtt_check(const struct sink_def *def, struct errinfo *info)
{
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info) == ERR_OK ? ERR_OK : ERR_CONFIG;

    if (err == ERR_OK && url_scheme_is(&url, "mqtts"))
        err = errinfo_set(info, ERR_CONFIG, "this build has no TLS: mqtts cannot be used");
    if (err == ERR_OK && sink_def_is_set(def, "tls_alpn"))
        err = errinfo_set(info, ERR_CONFIG, "this build has no TLS: tls_alpn cannot be used");
    if (err == ERR_OK)
        err = check_topic(def, info);
    if (err == ERR_OK)
        err = check_texts(def, info);
    if (err == ERR_OK)
        err = check_credentials(def, info);
    if (err == ERR_OK)
        err = message_form_check(def, info);
    return err;
}

/* ---- making one ---- */

/* Append what may stand in a client identifier; all else becomes _. */
static enum err
add_legal(struct buf *out, struct slice s)
{
    enum err err = ERR_OK;

    while (s.n > 0 && err == ERR_OK) {
        size_t n = text_utf8(s);
        bool legal = n > 0 && mqtt_packet_is_string(slice_to(s, n));

        n = n == 0 ? 1 : n;
        err = legal ? buf_add(out, slice_to(s, n)) : buf_add_byte(out, '_');
        s = slice_from(s, n);
    }
    return err;
}

static enum err
make_client_id(struct mqtt *m, const struct sink_def *def, const struct sink_env *env)
{
    enum err err;

    if (sink_def_is_set(def, "client_id"))
        return buf_add(&m->client_id, sink_def_text(def, "client_id"));
    err = buf_add_text(&m->client_id, "sinkd-");
    if (err == ERR_OK)
        err = add_legal(&m->client_id, slice_of(env->node));
    if (err == ERR_OK)
        err = buf_add_byte(&m->client_id, '-');
    if (err == ERR_OK)
        err = add_legal(&m->client_id, slice_of(def->name));
    return err;
}

static enum err
load_password(struct mqtt *m, const struct sink_def *def, struct errinfo *info)
{
    if (sink_def_is_set(def, "password_file"))
        return secret_file_read(sink_def_text(def, "password_file"), &m->password, info);
    return secret_is_set(&def->password) ? secret_copy(&m->password, &def->password) : ERR_OK;
}

/* An option that may be absent, as the packets want it: present texts have an address. */
static struct slice
text_or_none(const struct sink_def *def, const char *option)
{
    struct slice text = sink_def_text(def, option);

    if (!sink_def_is_set(def, option))
        return (struct slice){NULL, 0};
    return text.n == 0 ? SLICE("") : text;
}

static struct mqtt_connect
make_hello(const struct mqtt *m, const struct sink_def *def)
{
    struct mqtt_connect hello = {
        .client_id = buf_peek(&m->client_id),
        .will_topic = text_or_none(def, "will_topic"),
        .will_payload = text_or_none(def, "will_payload"),
        .will_qos = m->publisher.qos,
        .will_retain = m->publisher.retain,
        .keepalive_s = (uint16_t)((sink_def_number(def, "keepalive") + 999) / 1000),
    };

    if (def->username != NULL)
        hello.username = slice_of(def->username);
    if (secret_is_set(&m->password))
        hello.password = secret_reveal(&m->password);
    return hello;
}

static enum err
open_client(struct mqtt *m, const struct sink_def *def, const struct sink_env *env,
            struct errinfo *info)
{
    struct mqtt_client_config config = {.env = &env->stream,
                                        .hello = make_hello(m, def),
                                        .timeout_ms = m->publisher.timeout_ms,
                                        .out_max = OUT_MAX};
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info);

    if (err != ERR_OK)
        return err;
    config.host = url.hosts[0].host;
    config.port = url.hosts[0].port == 0 ? 1883 : url.hosts[0].port;
    return mqtt_client_open(&m->publisher.client, &config);
}

static void
set_options(struct mqtt_publisher *p, const struct sink_def *def)
{
    p->qos = (uint8_t)sink_def_number(def, "qos");
    p->retain = sink_def_bool(def, "retain");
    p->clean_session =
        sink_def_is_set(def, "clean_session") ? sink_def_bool(def, "clean_session") : p->qos < 2;
    p->timeout_ms = sink_def_number(def, "timeout");
    p->form = message_form_of(def);
}

static void
mqtt_close(struct sink *s)
{
    struct mqtt *m = of(s);

    if (s == NULL)
        return;
    mqtt_client_close(m->publisher.client);
    mqtt_inflight_close(m->publisher.inflight);
    template_close(m->publisher.topic);
    mqtt_publish_free(&m->publisher);
    buf_free(&m->client_id);
    secret_free(&m->password);
    mem_free(m);
}

static enum err
open_parts(struct mqtt *m, const struct sink_def *def, const struct sink_env *env,
           struct errinfo *info)
{
    struct mqtt_publisher *p = &m->publisher;
    enum err err = make_client_id(m, def, env);

    p->client_id = buf_peek(&m->client_id);
    if (err == ERR_OK)
        err = load_password(m, def, info);
    if (err == ERR_OK)
        err = topic_url_open(&p->topic, def, TEMPLATE_MQTT, info);
    if (err == ERR_OK)
        err = mqtt_inflight_open(&p->inflight, (size_t)sink_def_number(def, "max_inflight"));
    if (err == ERR_OK)
        err = open_client(m, def, env, info);
    return err;
}

static enum err
mqtt_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
          struct errinfo *info)
{
    struct mqtt *m = mem_zalloc(sizeof(*m));
    enum err err;

    if (m == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for an MQTT sink");
    m->base.type = &mqtt_sink;
    m->base.env = env;
    m->publisher.env = env;
    buf_init(&m->client_id, MQTT_STRING_MAX);
    mqtt_publish_init(&m->publisher);
    set_options(&m->publisher, def);
    err = open_parts(m, def, env, info);
    if (err == ERR_NOMEM)
        errinfo_set(info, ERR_NOMEM, "no memory for an MQTT sink");
    if (err != ERR_OK) {
        mqtt_close(&m->base);
        return err;
    }
    *out = &m->base;
    return ERR_OK;
}

/* ---- the contract ---- */

static enum err
mqtt_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    return mqtt_publish_connect(&of(s)->publisher, deadline, outcome, info);
}

static enum err
mqtt_deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
             struct errinfo *info)
{
    return mqtt_publish_deliver(&of(s)->publisher, round, from, to, outcome, info);
}

static enum err
mqtt_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    return mqtt_publish_idle(&of(s)->publisher, until, info);
}

static void
mqtt_disconnect(struct sink *s)
{
    mqtt_client_disconnect(of(s)->publisher.client);
}

const struct sink_type mqtt_sink = {
    .name = "mqtt",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "mqtt mqtts",
    .formats = 1u << SINK_LINE_PROTOCOL | 1u << SINK_JSON | 1u << SINK_MSGPACK,
    .check = mqtt_check,
    .open = mqtt_open,
    .connect = mqtt_connect,
    .deliver = mqtt_deliver,
    .idle = mqtt_idle,
    .disconnect = mqtt_disconnect,
    .close = mqtt_close,
};
