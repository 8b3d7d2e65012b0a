/*
 * test_sink_contract.c: the HTTP types, MQTT and Kafka keep the contract of sinks, before a peer on
 * loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sink_peer.h"
#include "support/sink_contract.h"
#include "support/sink_drive.h"

#include <stdio.h>

static void
define_type(struct sink_peer *p, const char *type, struct sink_def *def)
{
    static const char *const options[] = {"timeout", "300ms", "max_batch_bytes", "1000", NULL};
    char url[80];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/write?db=x", sink_peer_port(p));
    sink_drive_def(def, type, url, options);
}

static void
define_line(void *p, struct sink_def *def)
{
    define_type(p, "http_line", def);
}

static void
define_msgpack(void *p, struct sink_def *def)
{
    define_type(p, "http_msgpack", def);
}

static void
define_mqtt(void *p, struct sink_def *def)
{
    static const char *const options[] = {"timeout", "300ms", NULL};
    char url[80];

    (void)snprintf(url, sizeof(url), "mqtt://127.0.0.1:%u/a/{measurement}", sink_peer_port(p));
    sink_drive_def(def, "mqtt", url, options);
}

static void
define_kafka(void *p, struct sink_def *def)
{
    static const char *const options[] = {"timeout", "300ms", "max_message_bytes", "1000", NULL};
    char url[80];

    (void)snprintf(url, sizeof(url), "kafka://127.0.0.1:%u/t", sink_peer_port(p));
    sink_drive_def(def, "kafka", url, options);
}

static struct sink_peer peer;

static void
begin(void *p)
{
    sink_peer_http(p);
    sink_peer_start(p);
}

static void
begin_mqtt(void *p)
{
    sink_peer_mqtt(p);
    sink_peer_start(p);
}

static void
begin_kafka(void *p)
{
    sink_peer_kafka(p);
    sink_peer_start(p);
}

static void
end(void *p)
{
    sink_peer_stop(p);
}

static void
set_mood(void *p, enum contract_mood mood, unsigned after)
{
    sink_peer_set_mood(p, mood, after);
}

static unsigned
taken(void *p, uint64_t value)
{
    return sink_peer_taken(p, value);
}

int
main(void)
{
    struct sink_contract contract = {
        .name = "http_line",
        .peer = &peer,
        .connects = true,
        .begin = begin,
        .end = end,
        .define = define_line,
        .set_mood = set_mood,
        .taken = taken,
        .silence_ms = 300,
    };
    int failed = sink_contract_run(&contract);

    contract.name = "http_msgpack";
    contract.define = define_msgpack;
    failed += sink_contract_run(&contract);
    contract.name = "mqtt";
    contract.begin = begin_mqtt;
    contract.define = define_mqtt;
    failed += sink_contract_run(&contract);
    contract.name = "kafka";
    contract.begin = begin_kafka;
    contract.define = define_kafka;
    return failed + sink_contract_run(&contract);
}
