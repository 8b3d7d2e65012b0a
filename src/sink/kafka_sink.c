/*
 * kafka_sink.c: the sink type kafka: points produced to Apache Kafka.
 *
 * Its options, their check, and what a definition comes to; the work is in kafka_produce.c.
 */
#include "sink/kafka_sink.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "base/port.h"
#include "base/url.h"
#include "sink/kafka_produce.h"
#include "sink/message.h"
#include "sink/secret_file.h"
#include "sink/topic_url.h"

#define DEFAULT_PORT 9092
#define HEAD_MAX ((size_t)16 << 20)

static const struct option options[] = {
    {"acks", OPTION_CHOICE, "all", 0, 0, "all 1 0", "what the broker waits for before it confirms"},
    {"idempotent", OPTION_BOOL, "true", 0, 0, NULL, "no duplicates within a run; needs acks all"},
    {"compression", OPTION_CHOICE, "none", 0, 0, "none gzip", "of record batches"},
    {"key", OPTION_TEXT, "", 0, 1000, NULL, "template of the record key"},
    {"partitioner", OPTION_CHOICE, NULL, 0, 0, "murmur2 sticky",
     "default murmur2 with a key, else sticky"},
    {"sasl", OPTION_CHOICE, NULL, 0, 0, "none plain scram-sha-256 scram-sha-512",
     "default none, plain with a USERNAME"},
    {"client_id", OPTION_TEXT, "sinkd", 1, 200, NULL, "names the client in the broker's logs"},
    {"max_message_bytes", OPTION_NUMBER, "1000000", 100, 268435455, NULL,
     "most bytes of a record batch or joined message"},
    {"batch_mode", OPTION_CHOICE, "individual", 0, 0, MESSAGE_MODES, "what one record holds"},
    {"headers", OPTION_BOOL, "true", 0, 0, NULL, "a header sinkd-id on each record"},
};

struct kafka {
    struct sink base;
    struct kafka_produce produce;
    struct secret password;
    struct buf topic; /* the only one, or empty */
};

static struct kafka *
of(struct sink *s)
{
    return (struct kafka *)s;
}

/* ---- checks ---- */

static enum err
check_key(const struct sink_def *def, struct errinfo *info)
{
    struct template *t;
    enum err err = template_open(&t, sink_def_text(def, "key"), TEMPLATE_AS_IS, info);

    if (err == ERR_OK)
        template_close(t);
    return err;
}

/* The words of the option sasl are the mechanisms in their order; with a USERNAME it is plain. */
static enum kafka_sasl_mechanism
mechanism_of(const struct sink_def *def)
{
    if (sink_def_is_set(def, "sasl"))
        return (enum kafka_sasl_mechanism)sink_def_number(def, "sasl");
    return def->username != NULL ? KAFKA_SASL_PLAIN : KAFKA_SASL_NONE;
}

static enum err
check_credentials(const struct sink_def *def, struct errinfo *info)
{
    bool from_file = sink_def_is_set(def, "password_file");
    bool password = from_file || secret_is_set(&def->password);

    if (def->username == NULL && password)
        return errinfo_set(info, ERR_CONFIG, "a password needs a USERNAME beside it");
    if (from_file && secret_is_set(&def->password))
        return errinfo_set(info, ERR_CONFIG, "PASSWORD and password_file exclude each other");
    if (mechanism_of(def) != KAFKA_SASL_NONE && (def->username == NULL || !password))
        return errinfo_set(info, ERR_CONFIG, "SASL needs USERNAME and PASSWORD");
    if (!kafka_sasl_available(mechanism_of(def)))
        return errinfo_set(info, ERR_CONFIG, "this build has no mbedtls: sasl can be plain alone");
    return ERR_OK;
}

static enum err
kafka_check(const struct sink_def *def, struct errinfo *info)
{
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info) == ERR_OK ? ERR_OK : ERR_CONFIG;

    if (err == ERR_OK && url_scheme_is(&url, "kafkas"))
        err = errinfo_set(info, ERR_CONFIG, "this build has no TLS: kafkas cannot be used");
    if (err == ERR_OK)
        err = topic_url_check(def, TEMPLATE_KAFKA, true, 249, info);
    if (err == ERR_OK)
        err = check_key(def, info);
    if (err == ERR_OK)
        err = check_credentials(def, info);
    if (err == ERR_OK)
        err = message_form_check(def, info);
    if (err == ERR_OK && sink_def_number(def, "compression") != 0 && !gzip_available())
        err = errinfo_set(info, ERR_CONFIG, "this build has no zlib: compression must be none");
    return err;
}

/* ---- opening ---- */

static void
kafka_close(struct sink *s)
{
    if (s == NULL)
        return;
    kafka_produce_free(&of(s)->produce);
    secret_free(&of(s)->password);
    buf_free(&of(s)->topic);
    mem_free(s);
}

static enum err
load_password(struct kafka *k, const struct sink_def *def, struct errinfo *info)
{
    if (sink_def_is_set(def, "password_file"))
        return secret_file_read(sink_def_text(def, "password_file"), &k->password, info);
    return secret_is_set(&def->password) ? secret_copy(&k->password, &def->password) : ERR_OK;
}

static enum err
open_client(struct kafka *k, const struct sink_def *def, const struct sink_env *env,
            struct errinfo *info)
{
    struct kafka_client_config config = {.env = &env->stream,
                                         .client_id = sink_def_text(def, "client_id"),
                                         .mechanism = mechanism_of(def),
                                         .user = slice_of(def->username),
                                         .password = &k->password};
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info);

    if (err == ERR_OK)
        err = kafka_client_open(&k->produce.client, &config, info);
    for (size_t i = 0; err == ERR_OK && i < url.host_count; i++)
        err = kafka_client_bootstrap(k->produce.client, url.hosts[i].host,
                                     url.hosts[i].port > 0 ? url.hosts[i].port : DEFAULT_PORT);
    return err;
}

/* The only topic, when the template is the same for every point: known before the first point
 * comes. */
static enum err
note_topic(struct kafka *k)
{
    static const struct batch_point nothing;
    enum err err;

    if (!template_is_constant(k->produce.cut.topic_template))
        return ERR_OK;
    err = template_put(k->produce.cut.topic_template, &nothing, &k->topic);
    k->produce.topic = buf_peek(&k->topic);
    return err;
}

static enum err
open_parts(struct kafka *k, const struct sink_def *def, const struct sink_env *env,
           struct errinfo *info)
{
    uint32_t seed = 0;
    enum err err = port_random(&seed, sizeof(seed));

    if (err != ERR_OK)
        return errinfo_set(info, err, "no random numbers");
    err = kafka_cut_open(&k->produce.cut, def, env->node, seed, info);
    if (err == ERR_OK)
        err = load_password(k, def, info);
    if (err == ERR_OK)
        err = open_client(k, def, env, info);
    return err == ERR_OK ? note_topic(k) : err;
}

static enum err
kafka_open(struct sink **out, const struct sink_def *def, const struct sink_env *env,
           struct errinfo *info)
{
    static const int16_t acks[] = {-1, 1, 0}; /* the words of the option acks */
    struct kafka *k = mem_zalloc(sizeof(*k));
    enum err err;

    if (k == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a Kafka sink");
    k->base.type = &kafka_sink;
    buf_init(&k->topic, 4096);
    k->produce.env = env;
    k->produce.sink = def->name;
    k->produce.acks = acks[sink_def_number(def, "acks")];
    k->produce.timeout_ms = sink_def_number(def, "timeout");
    k->produce.idempotent = k->produce.acks == -1 && sink_def_bool(def, "idempotent");
    k->produce.producer = -1;
    buf_init(&k->produce.head, HEAD_MAX);
    err = open_parts(k, def, env, info);
    if (err == ERR_NOMEM)
        errinfo_set(info, ERR_NOMEM, "no memory for a Kafka sink");
    if (err != ERR_OK) {
        kafka_close(&k->base);
        return err;
    }
    *out = &k->base;
    return ERR_OK;
}

static enum err
kafka_connect(struct sink *s, int64_t deadline, struct outcome *outcome, struct errinfo *info)
{
    return kafka_produce_connect(&of(s)->produce, deadline, outcome, info);
}

static enum err
kafka_deliver(struct sink *s, struct round *round, size_t from, size_t to, struct outcome *outcome,
              struct errinfo *info)
{
    return kafka_produce_deliver(&of(s)->produce, round, from, to, outcome, info);
}

static enum err
kafka_idle(struct sink *s, int64_t until, struct errinfo *info)
{
    return kafka_client_idle(of(s)->produce.client, until, info);
}

static void
kafka_disconnect(struct sink *s)
{
    kafka_client_disconnect(of(s)->produce.client);
}

const struct sink_type kafka_sink = {
    .name = "kafka",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "kafka kafkas",
    .formats = 1u << SINK_LINE_PROTOCOL | 1u << SINK_JSON | 1u << SINK_MSGPACK,
    .check = kafka_check,
    .open = kafka_open,
    .connect = kafka_connect,
    .deliver = kafka_deliver,
    .idle = kafka_idle,
    .disconnect = kafka_disconnect,
    .close = kafka_close,
};
