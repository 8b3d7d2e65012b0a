/*
 * config_keys.c: the table of configuration keys and the few questions asked of it.
 * Limits are wide: they keep out slips of the pen and what would overflow, not taste.
 */
#include "daemon/config_keys.h"

#include <string.h>

#include "daemon/config.h"

/* Where a member stands, for the offset and size of a row. */
#define AT(member) offsetof(struct config, member), sizeof(((struct config *)0)->member)

/* clang-format off */
#define TEXT(section, key, member, fallback, help)                                                 \
    {section, key, CONFIG_TEXT, help, AT(member), fallback, 0, 0, CONFIG_TEXT_MAX, 0, {NULL}}
#define CHOICE(section, key, member, fallback, help, ...)                                          \
    {section, key, CONFIG_CHOICE, help, AT(member), NULL, fallback, 0, 0, 0, {__VA_ARGS__, NULL}}
#define NUMBER(section, key, member, fallback, min, max, help)                                     \
    {section, key, CONFIG_INTEGER, help, AT(member), NULL, fallback, min, max, max, {NULL}}
#define MEMORY(section, key, member, fallback, min, max, cap, help)                                \
    {section, key, CONFIG_INTEGER, help, AT(member), NULL, fallback, min, max, cap, {NULL}}
#define SWITCH(section, key, member, fallback, help)                                               \
    {section, key, CONFIG_BOOLEAN, help, AT(member), NULL, fallback, 0, 1, 1, {NULL}}
#define LIST(section, key, member, help)                                                           \
    {section, key, CONFIG_LIST, help, AT(member), NULL, 0, 0, 64, 0, {NULL}}
/* clang-format on */

/* A 32-bit machine addresses at most 2 GiB for a process, and seldom maps as much in one piece. */
#if SIZE_MAX <= UINT32_MAX
#define CAP_BYTES(max) INT64_C(1073741824)
#define CAP_MB(max) INT64_C(2000)
#define DEFAULT_SIZE_MB 64
#else
#define CAP_BYTES(max) (max)
#define CAP_MB(max) (max)
#define DEFAULT_SIZE_MB 512
#endif

#define DAY INT64_C(86400)
#define CENTURY (36525 * DAY)
#define MAX_MB INT64_C(16000000) /* 16 TB */
#define MAX_BODY INT64_C(1073741824)
#define MAX_INFLIGHT INT64_C(68719476736)

static const struct config_key keys[] = {
    TEXT("server", "bind_address", server.bind_address, "127.0.0.1",
         "address to listen on; \"0.0.0.0\" or \"::\" for the network"),
    NUMBER("server", "port", server.port, 8086, 0, 65535, "TCP port; 0: any free one"),
    MEMORY("server", "max_body_size_bytes", server.max_body_size_bytes, 26214400, 1024, MAX_BODY,
           CAP_BYTES(MAX_BODY), "largest request body, after decompression"),
    MEMORY("server", "max_inflight_bytes", server.max_inflight_bytes, 67108864, 65536, MAX_INFLIGHT,
           CAP_BYTES(MAX_INFLIGHT), "all bodies and waiting points together; beyond it 503"),
    NUMBER("server", "max_connections", server.max_connections, 256, 1, 65535,
           "client connections; the oldest idle one is closed first"),
    NUMBER("server", "request_timeout_secs", server.request_timeout_secs, 30, 1, DAY,
           "a request's head and body must be here within this time"),
    SWITCH("server", "tls_enabled", server.tls_enabled, 0, "serve HTTPS, and only HTTPS"),
    TEXT("server", "tls_cert_path", server.tls_cert_path, NULL, "certificate chain, PEM"),
    TEXT("server", "tls_key_path", server.tls_key_path, NULL, "private key, PEM"),
    TEXT("server", "tls_client_ca_path", server.tls_client_ca_path, NULL,
         "CA of client certificates, which are then required"),
    TEXT("server", "node_id", server.node_id, NULL, "this daemon's name; else the host name"),
    TEXT("server", "user", server.user, NULL, "user to become after binding the port"),
    TEXT("server", "group", server.group, NULL, "group to become after binding the port"),

    TEXT("storage", "data_dir", storage.data_dir, "./data", "directory of the store"),
    MEMORY("storage", "max_size_mb", storage.max_size_mb, DEFAULT_SIZE_MB, 4, MAX_MB,
           CAP_MB(MAX_MB), "the store never grows past this"),
    CHOICE("storage", "on_full", storage.on_full, CONFIG_REJECT,
           "full store: \"reject\" new writes or \"drop_oldest\" points", "reject", "drop_oldest"),
    MEMORY("storage", "keep_delivered_mb", storage.keep_delivered_mb, 0, 0, MAX_MB, CAP_MB(MAX_MB),
           "delivered points kept for START EARLIEST"),
    NUMBER("storage", "max_age_secs", storage.max_age_secs, 0, 0, CENTURY,
           "points that wait longer are dropped and counted; 0: never"),
    CHOICE("storage", "sync", storage.sync, CONFIG_SYNC_ALWAYS,
           "when 204 is answered: \"always\", \"interval\" or \"none\"", "always", "interval",
           "none"),
    NUMBER("storage", "sync_interval_ms", storage.sync_interval_ms, 1000, 1, 3600000,
           "time between commits with sync = \"interval\""),
    NUMBER("storage", "commit_delay_us", storage.commit_delay_us, 0, 0, 10000000,
           "wait to gather more writers into one commit"),
    NUMBER("storage", "cursor_delay_ms", storage.cursor_delay_ms, 1000, 0, 600000,
           "a delivered round may wait this long for a commit"),
    TEXT("storage", "secrets_key_file", storage.secrets_key_file, NULL,
         "key that seals the secrets in the store"),

    SWITCH("sink", "enabled", sink.enabled, 0, "run the forwarding service"),
    NUMBER("sink", "default_batch_size", sink.default_batch_size, 1000, 1, 1000000,
           "points in a batch without BATCH_SIZE"),
    NUMBER("sink", "default_flush_interval_secs", sink.default_flush_interval_secs, 10, 1, DAY,
           "longest wait of a point without FLUSH_INTERVAL"),
    NUMBER("sink", "max_retries", sink.max_retries, 3, 0, 1000, "retries in one delivery round"),
    NUMBER("sink", "backoff_base_secs", sink.backoff_base_secs, 1, 1, DAY,
           "pause before the first retry; doubles each time"),
    NUMBER("sink", "backoff_max_secs", sink.backoff_max_secs, 30, 1, DAY,
           "longest pause, also between failed rounds"),
    NUMBER("sink", "dead_letter_max", sink.dead_letter_max, 10000, 0, 100000000,
           "dead letters kept for each sink"),
    NUMBER("sink", "dead_letter_max_age_secs", sink.dead_letter_max_age_secs, 0, 0, CENTURY,
           "dead letters older than this are dropped and counted; 0: never"),
    LIST("sink", "allow_hosts", sink.allow_hosts,
         "patterns of hosts that sinks may name; empty: all"),
    LIST("sink", "deny_hosts", sink.deny_hosts, "patterns of hosts that sinks must not name"),
    TEXT("sink", "init_file", sink.init_file, NULL, "SQL to run when the store is new"),
    NUMBER("sink", "max_lag_secs", sink.max_lag_secs, 0, 0, CENTURY,
           "/health fails when a sink lags more; 0: never"),

    SWITCH("auth", "enabled", auth.enabled, 0, "require user and password"),
    SWITCH("auth", "allow_query_param_credentials", auth.allow_query_param_credentials, 0,
           "accept ?u=USER&p=PASSWORD"),
    SWITCH("auth", "metrics_require_auth", auth.metrics_require_auth, 0,
           "require user and password for /metrics too"),
    NUMBER("auth", "pbkdf2_iterations", auth.pbkdf2_iterations, 210000, 1000, 10000000,
           "work to hash a password"),

    CHOICE("logging", "level", logging.level, LOG_INFO,
           "\"error\", \"warn\", \"info\" or \"debug\"", "error", "warn", "info", "debug"),
    CHOICE("logging", "format", logging.format, CONFIG_LOG_TEXT, "\"text\" or \"json\"", "text",
           "json"),

    SWITCH("disk", "enabled", disk.enabled, 1, "watch the free space of the store's disk"),
    NUMBER("disk", "check_interval_secs", disk.check_interval_secs, 60, 1, DAY,
           "time between looks"),
    NUMBER("disk", "warn_threshold_mb", disk.warn_threshold_mb, 64, 0, MAX_MB,
           "less free space than this is logged"),
    NUMBER("disk", "readonly_threshold_mb", disk.readonly_threshold_mb, 16, 0, MAX_MB,
           "less free space than this: writes get 507"),

    SWITCH("rate_limit", "enabled", rate_limit.enabled, 0, "limit requests per endpoint"),
    NUMBER("rate_limit", "max_requests_per_second", rate_limit.max_requests_per_second, 0, 0,
           1000000, "for each endpoint; 0: no limit"),

    TEXT("cluster", "follow_url", cluster.follow_url, NULL,
         "take sink definitions from this sinkd"),
    NUMBER("cluster", "follow_interval_secs", cluster.follow_interval_secs, 60, 1, DAY,
           "time between looks"),
    TEXT("cluster", "follow_password_file", cluster.follow_password_file, NULL,
         "file with user:password for follow_url"),
};

const struct config_key *
config_keys_all(size_t *count)
{
    *count = sizeof(keys) / sizeof(keys[0]);
    return keys;
}

const struct config_key *
config_keys_find(struct slice section, struct slice key)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (slice_eq(slice_of(keys[i].section), section) && slice_eq(slice_of(keys[i].key), key))
            return &keys[i];
    }
    return NULL;
}

enum err
config_keys_put_default(const struct config_key *k, struct buf *out)
{
    switch (k->type) {
    case CONFIG_TEXT:
        return buf_printf(out, "\"%s\"", k->text == NULL ? "" : k->text);
    case CONFIG_CHOICE:
        return buf_printf(out, "\"%s\"", k->choices[k->number]);
    case CONFIG_INTEGER:
        return buf_printf(out, "%lld", (long long)k->number);
    case CONFIG_BOOLEAN:
        return buf_add_text(out, k->number ? "true" : "false");
    case CONFIG_LIST:
        return buf_add_text(out, "[]");
    }
    return ERR_BAD;
}
