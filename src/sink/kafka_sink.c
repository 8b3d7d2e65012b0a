/*
 * kafka_sink.c: points produced to Apache Kafka.
 *
 * Its options are here and are checked; producing is not built yet.
 */
#include "sink/kafka_sink.h"

#include "sink/topic_url.h"

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
    {"batch_mode", OPTION_CHOICE, "individual", 0, 0, "individual lines json_array",
     "what one record holds"},
    {"headers", OPTION_BOOL, "true", 0, 0, NULL, "a header sinkd-id on each record"},
};

static enum err
check_key(const struct sink_def *def, struct errinfo *info)
{
    struct template *t;
    enum err err = template_open(&t, sink_def_text(def, "key"), TEMPLATE_AS_IS, info);

    if (err == ERR_OK)
        template_close(t);
    return err;
}

static enum err
kafka_check(const struct sink_def *def, struct errinfo *info)
{
    enum err err = topic_url_check(def, TEMPLATE_KAFKA, true, 249, info);

    if (err == ERR_OK)
        err = check_key(def, info);
    if (err == ERR_OK && def->username == NULL && secret_is_set(&def->password))
        err = errinfo_set(info, ERR_CONFIG, "a password needs a USERNAME beside it");
    return err;
}

const struct sink_type kafka_sink = {
    .name = "kafka",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "kafka kafkas",
    .formats = 1u << SINK_LINE_PROTOCOL | 1u << SINK_JSON | 1u << SINK_MSGPACK,
    .check = kafka_check,
};
