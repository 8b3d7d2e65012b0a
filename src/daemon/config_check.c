/*
 * config_check.c: one small function for each rule between keys.
 */
#include "daemon/config_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/slice.h"
#include "daemon/config_keys.h"
#include "daemon/config_parts.h"
#include "daemon/config_set.h"

struct check {
    struct config *c;
    const struct config_origin *origins;
    struct config_report *report;
};

/* A finding about one key, at the place where it was set. */
static void
say(const struct check *k, bool is_error, const char *section, const char *key, const char *text)
{
    size_t count;
    const struct config_key *all = config_keys_all(&count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].section, section) == 0 && strcmp(all[i].key, key) == 0)
            config_report_key(k->report, is_error, k->c->file, k->origins[i], &all[i], text);
    }
}

static void
check_parts(const struct check *k)
{
    size_t count;
    const struct config_key *all = config_keys_all(&count);
    char text[128];

    for (size_t i = 0; i < count; i++) {
        const char *part = config_parts_missing(&all[i]);

        if (part == NULL || !config_set_is_on(k->c, &all[i]))
            continue;
        (void)snprintf(text, sizeof(text), "this build of sinkd has no %s: remove the key", part);
        config_report_key(k->report, true, k->c->file, k->origins[i], &all[i], text);
    }
}

static void
check_pairs(const struct check *k)
{
    struct config_sink *sink = &k->c->sink;
    struct config_disk *disk = &k->c->disk;

    if (sink->backoff_base_secs > sink->backoff_max_secs) {
        int64_t base = sink->backoff_base_secs;

        sink->backoff_base_secs = sink->backoff_max_secs;
        sink->backoff_max_secs = base;
        say(k, false, "sink", "backoff_base_secs",
            "is larger than backoff_max_secs: the two are swapped");
    }
    if (disk->readonly_threshold_mb > disk->warn_threshold_mb) {
        uint64_t readonly = disk->readonly_threshold_mb;

        disk->readonly_threshold_mb = disk->warn_threshold_mb;
        disk->warn_threshold_mb = readonly;
        say(k, false, "disk", "readonly_threshold_mb",
            "is larger than warn_threshold_mb: the two are swapped");
    }
}

static void
check_bind_address(const struct check *k)
{
    struct slice address = slice_of(k->c->server.bind_address);
    char text[64];
    unsigned char bytes[sizeof(struct in6_addr)];

    slice_copy_text(slice_to(address, slice_find(address, '%')), text, sizeof(text));
    if (address.n >= sizeof(text) ||
        (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1))
        say(k, true, "server", "bind_address",
            "must be a numeric address, like \"127.0.0.1\", \"0.0.0.0\" or \"::\"");
}

static void
check_node_id(const struct check *k)
{
    struct slice id = slice_of(k->c->server.node_id);
    bool good = id.n <= 200;

    for (size_t i = 0; i < id.n; i++)
        good = good && id.p[i] > ' ' && id.p[i] < 0x7f;
    if (!good)
        say(k, true, "server", "node_id",
            "must be at most 200 printable ASCII characters without blanks");
}

static void
check_tls(const struct check *k)
{
    const struct config_server *s = &k->c->server;

    if (s->tls_enabled && s->tls_cert_path == NULL)
        say(k, true, "server", "tls_enabled", "needs tls_cert_path");
    if (s->tls_enabled && s->tls_key_path == NULL)
        say(k, true, "server", "tls_enabled", "needs tls_key_path");
    if (!s->tls_enabled && s->tls_client_ca_path != NULL)
        say(k, true, "server", "tls_client_ca_path",
            "needs tls_enabled = true: without it no client is checked");
    if (!s->tls_enabled && (s->tls_cert_path != NULL || s->tls_key_path != NULL))
        say(k, false, "server", s->tls_cert_path != NULL ? "tls_cert_path" : "tls_key_path",
            "has no effect without tls_enabled = true");
}

static void
check_others(const struct check *k)
{
    const struct config *c = k->c;
    struct slice url = slice_of(c->cluster.follow_url);

    if (c->auth.metrics_require_auth && !c->auth.enabled)
        say(k, true, "auth", "metrics_require_auth", "needs [auth] enabled = true");
    if (c->rate_limit.enabled && c->rate_limit.max_requests_per_second == 0)
        say(k, false, "rate_limit", "enabled", "has no effect while max_requests_per_second is 0");
    if (url.n > 0 && !slice_starts(url, SLICE("http://")) && !slice_starts(url, SLICE("https://")))
        say(k, true, "cluster", "follow_url", "must begin with http:// or https://");
    if (slice_find(url, '@') < url.n)
        say(k, true, "cluster", "follow_url",
            "must not hold a user or password: put them in follow_password_file");
}

void
config_check(struct config *c, const struct config_origin *origins, struct config_report *report)
{
    struct check k = {c, origins, report};

    check_parts(&k);
    check_pairs(&k);
    check_bind_address(&k);
    check_node_id(&k);
    check_tls(&k);
    check_others(&k);
}
