/*
 * mqtt_sink.c: points published to an MQTT 3.1.1 broker.
 *
 * Its options are here and are checked; publishing is not built yet.
 */
#include "sink/mqtt_sink.h"

#include "sink/topic_url.h"

static const struct option options[] = {
    {"qos", OPTION_NUMBER, "1", 0, 2, NULL, "quality of service"},
    {"retain", OPTION_BOOL, "false", 0, 0, NULL, "have the broker keep the last message of a topic"},
    {"client_id", OPTION_TEXT, NULL, 1, 200, NULL, "client identifier; default sinkd-NODE-SINK"},
    {"keepalive", OPTION_DURATION, "60s", 0, 65535000, NULL, "longest silence on the connection"},
    {"max_inflight", OPTION_NUMBER, "20", 1, 65535, NULL, "messages that wait for their answers"},
    {"clean_session", OPTION_BOOL, NULL, 0, 0, NULL,
     "forget the session at each connect; default true, false with qos 2"},
    {"will_topic", OPTION_TEXT, NULL, 1, 65535, NULL, "topic of the will message"},
    {"will_payload", OPTION_TEXT, NULL, 0, 65535, NULL, "the will message"},
    {"batch_mode", OPTION_CHOICE, "individual", 0, 0, "individual lines json_array",
     "what one message holds"},
    {"max_message_bytes", OPTION_NUMBER, "100000", 100, 268435455, NULL,
     "most bytes of a joined message"},
};

static enum err
mqtt_check(const struct sink_def *def, struct errinfo *info)
{
    if (sink_def_is_set(def, "will_payload") && !sink_def_is_set(def, "will_topic"))
        return errinfo_set(info, ERR_CONFIG, "option will_payload needs will_topic beside it");
    if (def->username == NULL && secret_is_set(&def->password))
        return errinfo_set(info, ERR_CONFIG, "a password needs a USERNAME beside it");
    return topic_url_check(def, TEMPLATE_MQTT, false, 65535, info);
}

const struct sink_type mqtt_sink = {
    .name = "mqtt",
    .options = {options, sizeof(options) / sizeof(options[0])},
    .has_url = true,
    .schemes = "mqtt mqtts",
    .formats = 1u << SINK_LINE_PROTOCOL | 1u << SINK_JSON | 1u << SINK_MSGPACK,
    .check = mqtt_check,
};
