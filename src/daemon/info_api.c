/*
 * info_api.c: see info_api.h.
 */
#include "daemon/info_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "daemon/daemon.h"

const char info_api_version[] = "1.8.10-sinkd";

void
info_api_ping(struct server_call *call)
{
    const struct http_request *request = server_call_request(call);
    struct slice verbose = http_request_param(request, "verbose");
    struct http_answer a = {.status = 204};
    char body[64];

    if (verbose.n > 0 && !slice_eq(verbose, SLICE("0")) && !slice_eq(verbose, SLICE("false"))) {
        a.status = 200;
        snprintf(body, sizeof(body), "{\"version\":\"%s\"}\n", info_api_version);
        a.body = slice_of(body);
    }
    server_call_answer(call, &a);
}

/* What is wrong, in ${text}; false when nothing is. */
static bool
is_ill(struct daemon *daemon, char *text, size_t size)
{
    int64_t limit_ms = daemon->config->sink.max_lag_secs * 1000;
    struct committer_stats stats;

    committer_stats(daemon->committer, &stats);
    if (stats.last_error.code != ERR_OK) {
        snprintf(text, size, "the last commit failed: %s", stats.last_error.text);
        return true;
    }
    for (size_t i = 0; limit_ms > 0 && i < supervisor_count(daemon->supervisor); i++) {
        const struct sink_def *def = supervisor_at(daemon->supervisor, i);
        int64_t age_ms;

        if (def->paused || !daemon->config->sink.enabled ||
            !supervisor_oldest_age(daemon->supervisor, def, &age_ms) || age_ms <= limit_ms)
            continue;
        snprintf(text, size, "sink \"%s\": the oldest pending point waits for %" PRId64 " s",
                 def->name, age_ms / 1000);
        return true;
    }
    return false;
}

void
info_api_health(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    char why[640] = "ready for queries and writes";
    bool ill = is_ill(daemon, why, sizeof(why));
    struct http_answer a = {.status = ill ? 503 : 200};
    struct buf body;

    buf_init(&body, 4096);
    if (buf_add_text(&body, "{\"checks\":[],\"message\":") == ERR_OK &&
        text_json(&body, slice_of(why)) == ERR_OK &&
        buf_printf(&body, ",\"name\":\"sinkd\",\"status\":\"%s\",\"version\":\"%s\"}\n",
                   ill ? "fail" : "pass", info_api_version) == ERR_OK)
        a.body = buf_peek(&body);
    server_call_answer(call, &a);
    buf_free(&body);
}

static void
sink_ready(struct daemon *daemon, struct server_call *call, struct slice name)
{
    const struct sink_def *def = supervisor_find(daemon->supervisor, name);
    struct supervisor_view view;

    if (def == NULL) {
        server_call_error(call, 404, "sink \"%.*s\" not found", (int)(name.n > 200 ? 200 : name.n),
                          (const char *)name.p);
        return;
    }
    supervisor_view(daemon->supervisor, def, &view);
    if (view.runner.status != RUNNER_RUNNING)
        server_call_error(call, 503, "sink \"%s\" is %s", def->name,
                          runner_status_name(view.runner.status));
    else
        server_call_answer(
            call, &(struct http_answer){.status = 200, .body = SLICE("{\"status\":\"pass\"}\n")});
}

void
info_api_ready(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    const struct http_request *request = server_call_request(call);
    struct committer_stats stats;

    committer_stats(daemon->committer, &stats);
    if (server_is_draining(daemon->server))
        server_call_error(call, 503, "the daemon is shutting down");
    else if (disk_watch_is_readonly(daemon->disk))
        server_call_error(call, 503, "the disk is nearly full, writes are refused");
    else if (stats.full)
        server_call_error(call, 503, "the log is full");
    else if (http_request_has_param(request, "sink"))
        sink_ready(daemon, call, http_request_param(request, "sink"));
    else
        server_call_answer(
            call, &(struct http_answer){.status = 200, .body = SLICE("{\"status\":\"pass\"}\n")});
}
