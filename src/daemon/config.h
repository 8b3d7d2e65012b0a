/*
 * config.h: the daemon's configuration, read and checked once at start, then never changed.
 *
 * Each member has the name of its key and is documented with it: one table in config_keys.c says,
 * for every key, its type, default, limits, help and where it is stored here; the installed
 * sinkd.toml and docs/user-guide/configuration.md are checked against that table.
 * Not for: passwords (they live in files that keys name, or in the store), and not for what a sink
 * defines for itself in SQL.
 */
#ifndef SINKD_DAEMON_CONFIG_H
#define SINKD_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/log.h"

/* An array of strings; owned by the config. */
struct config_list {
    char **items;
    size_t count;
};

enum config_on_full { CONFIG_REJECT, CONFIG_DROP_OLDEST };
enum config_sync { CONFIG_SYNC_ALWAYS, CONFIG_SYNC_INTERVAL, CONFIG_SYNC_NONE };
enum config_log_format { CONFIG_LOG_TEXT, CONFIG_LOG_JSON };

/* Strings are NUL-terminated and owned by the config; NULL where "none" is the default and nothing
 * was given. MB in a key's name is 1,000,000 bytes. */

struct config_server {
    char *bind_address; /* never NULL; a numeric address */
    unsigned port;      /* 0 (any free port) to 65535 */
    size_t max_body_size_bytes;
    size_t max_inflight_bytes;
    unsigned max_connections;
    int64_t request_timeout_secs;
    bool tls_enabled;
    char *tls_cert_path, *tls_key_path, *tls_client_ca_path;
    char *node_id; /* never NULL after config_load: the host name when not given */
    char *user, *group;
};

struct config_storage {
    char *data_dir; /* never NULL */
    uint64_t max_size_mb;
    enum config_on_full on_full;
    uint64_t keep_delivered_mb;
    int64_t max_age_secs; /* 0: points never expire */
    enum config_sync sync;
    int64_t sync_interval_ms;
    int64_t commit_delay_us;
    int64_t cursor_delay_ms;
    char *secrets_key_file;
};

struct config_sink {
    bool enabled;
    unsigned default_batch_size;
    int64_t default_flush_interval_secs;
    unsigned max_retries;
    int64_t backoff_base_secs, backoff_max_secs; /* base <= max */
    uint64_t dead_letter_max;
    int64_t dead_letter_max_age_secs; /* 0: letters never expire */
    struct config_list allow_hosts;   /* globs; empty: every host */
    struct config_list deny_hosts;
    char *init_file;
    int64_t max_lag_secs; /* 0: lag is not judged */
};

struct config_auth {
    bool enabled;
    bool allow_query_param_credentials;
    bool metrics_require_auth;
    unsigned pbkdf2_iterations;
};

struct config_logging {
    enum log_level level;
    enum config_log_format format;
};

struct config_disk {
    bool enabled;
    int64_t check_interval_secs;
    uint64_t warn_threshold_mb, readonly_threshold_mb; /* readonly <= warn */
};

struct config_rate_limit {
    bool enabled;
    unsigned max_requests_per_second; /* 0: no limit */
};

struct config_cluster {
    char *follow_url;
    int64_t follow_interval_secs;
    char *follow_password_file;
};

struct config {
    struct config_server server;
    struct config_storage storage;
    struct config_sink sink;
    struct config_auth auth;
    struct config_logging logging;
    struct config_disk disk;
    struct config_rate_limit rate_limit;
    struct config_cluster cluster;
    char *file; /* the file that was read, or NULL: defaults and environment alone */
};

/* The longest list of findings; what comes after is only counted. */
#define CONFIG_NOTES 64

/* What reading found: "sinkd.toml:12: unknown key \"prot\" in [server]". */
struct config_note {
    bool is_error; /* else a warning: the start goes on */
    char *text;
};

struct config_report {
    struct config_note notes[CONFIG_NOTES];
    size_t count;
    size_t errors, warnings; /* all of them, listed or not */
};

/*
 * config_init(c):
 * Every key at its default. config_free() gives everything back and may be called on a config whose
 * init or load failed. ERR_NOMEM.
 */
enum err config_init(struct config *c) MUST_USE;
void config_free(struct config *c);

/*
 * config_load(c, path, environment, report):
 * Set ${c} from the defaults, then the file ${path} (when NULL: ./sinkd.toml, else the system's
 * sinkd/sinkd.toml, else none), then the variables SINKD__SECTION__KEY of ${environment} (a
 * NULL-terminated array as environ is; may be NULL).
 * Owns:   ${c} and ${report} are initialised here and freed by config_free and config_report_free,
 *         whatever is returned.
 * Errors: ERR_CONFIG: ${report} holds at least one error (an unreadable file is one too); all
 *         errors are found, not only the first. ERR_NOMEM. With ERR_OK there may be warnings.
 */
enum err config_load(struct config *c, const char *path, char *const *environment,
                     struct config_report *report) MUST_USE;

void config_report_free(struct config_report *report);

#endif
