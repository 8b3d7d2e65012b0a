/*
 * daemon.c: see daemon.h.
 *
 * Start: store, committer, loop, definitions, runners, then the listener. End, in the loop, so that
 * a second signal is always heard: the listener, the open requests, the runners; then the committer
 * and the store.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/port.h"
#include "base/version.h"
#include "daemon/info_api.h"
#include "daemon/metrics_api.h"
#include "daemon/provision.h"
#include "daemon/query_api.h"
#include "daemon/sync_api.h"
#include "daemon/write_api.h"
#include "net/wake.h"

/* How long open requests and rounds under way may take at the end, together. */
#define STOP_MS 10000
#define STOP_LOOK_MS 10

/* A client that says nothing between two requests. */
#define IDLE_MS 300000

#define QUEUE_MAX_BYTES ((size_t)64 << 20)

/* What the loop's thread does beside serving. */
struct run {
    struct daemon daemon;
    struct wake signals;
    struct loop_watch *watch;
    struct loop_timer stop_timer;
    struct provision *provision;
    int64_t stop_by_ms;
    bool listening, stopping, drained;
    int status;
};

static const struct server_route routes[] = {
    {.path = "/write",
     .methods = HTTP_POST | HTTP_OPTIONS,
     .rate = SERVER_RATE_WRITE,
     .head = write_api_head,
     .done = write_api_done,
     .over = write_api_over},
    {.path = "/api/v2/write",
     .methods = HTTP_POST | HTTP_OPTIONS,
     .rate = SERVER_RATE_WRITE,
     .head = write_api_head_v2,
     .done = write_api_done,
     .over = write_api_over},
    {.path = "/query",
     .methods = HTTP_GET | HTTP_POST | HTTP_OPTIONS,
     .rate = SERVER_RATE_QUERY,
     .head = query_api_head,
     .done = query_api_done},
    {.path = "/ping", .methods = HTTP_GET | HTTP_HEAD, .done = info_api_ping},
    {.path = "/status", .methods = HTTP_GET | HTTP_HEAD, .done = info_api_ping}, /* its old name */
    {.path = "/health", .methods = HTTP_GET, .done = info_api_health},
    {.path = "/health/ready", .methods = HTTP_GET, .done = info_api_ready},
    {.path = "/metrics", .methods = HTTP_GET, .done = metrics_api_show},
    {.path = "/internal/sync/metadata", .methods = HTTP_GET, .done = sync_api_metadata},
};

/* ---- signals ---- */

static const struct wake *signal_wake;
static volatile sig_atomic_t ends_asked, reload_asked;

/* The second SIGTERM or SIGINT ends the process at once. */
static void
on_signal(int number)
{
    int saved = errno;

    if (number == SIGHUP)
        reload_asked = 1;
    else if (++ends_asked > 1)
        _exit(128 + number);
    if (signal_wake != NULL)
        wake_signal(signal_wake);
    errno = saved;
}

static void
catch_signals(const struct wake *wake)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    signal_wake = wake;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* a file size limit is an error of the write, not the end */
}

/* ---- the end ---- */

static void look_whether_stopped(void *arg);

static void
look_again(struct run *r)
{
    if (loop_timer_set(r->daemon.loop, &r->stop_timer,
                       clock_after(loop_now_ms(r->daemon.loop), STOP_LOOK_MS), look_whether_stopped,
                       r) != ERR_OK)
        loop_stop(r->daemon.loop);
}

/* First the requests, then the rounds: a request that is answered late may still bring points. */
static void
look_whether_stopped(void *arg)
{
    struct run *r = arg;
    bool late = loop_now_ms(r->daemon.loop) >= r->stop_by_ms;

    if (r->drained && supervisor_is_stopped(r->daemon.supervisor)) {
        loop_stop(r->daemon.loop);
        return;
    }
    if (late) {
        log_warn("stop_late", "requests or rounds did not end within %d s and are cut off",
                 STOP_MS / 1000);
        supervisor_abort(r->daemon.supervisor);
        loop_stop(r->daemon.loop);
        return;
    }
    look_again(r);
}

static void
requests_are_done(void *arg)
{
    struct run *r = arg;

    r->drained = true;
}

static void
begin_stop(struct run *r)
{
    if (r->stopping)
        return;
    r->stopping = true;
    log_info("stopping", "open requests and rounds under way may end within %d s", STOP_MS / 1000);
    r->stop_by_ms = clock_after(loop_now_ms(r->daemon.loop), STOP_MS);
    supervisor_stop(r->daemon.supervisor);
    if (r->listening)
        server_drain(r->daemon.server, requests_are_done, r);
    else
        r->drained = true;
    look_whether_stopped(r);
}

static void
on_wake(void *arg, int events)
{
    struct run *r = arg;

    (void)events;
    wake_drain(&r->signals);
    if (reload_asked) {
        reload_asked = 0;
        log_info("reload", "certificates and secret files are read again");
        supervisor_reload(r->daemon.supervisor);
    }
    if (ends_asked)
        begin_stop(r);
}

/* ---- the start ---- */

static uint64_t
megabytes(uint64_t n)
{
    return n * 1000000;
}

static enum store_sync
sync_of(enum config_sync sync)
{
    switch (sync) {
    case CONFIG_SYNC_ALWAYS:
        return STORE_SYNC_ALWAYS;
    case CONFIG_SYNC_INTERVAL:
        return STORE_SYNC_INTERVAL;
    case CONFIG_SYNC_NONE:
        return STORE_SYNC_NONE;
    }
    return STORE_SYNC_ALWAYS;
}

/* A quarter of the store, if that is less than what is configured. */
static size_t
inflight_limit(const struct daemon *d)
{
    uint64_t quarter = store_map_bytes(d->store) / 4;
    size_t configured = d->config->server.max_inflight_bytes;

    return configured < quarter ? configured : (size_t)quarter;
}

static enum err
open_store(struct daemon *d, struct errinfo *info)
{
    const struct config_storage *c = &d->config->storage;
    struct store_options options = {.dir = c->data_dir,
                                    .max_bytes = megabytes(c->max_size_mb),
                                    .sync = sync_of(c->sync),
                                    .clock = d->clock};
    struct committer_options committing = {.clock = d->clock,
                                           .sync = sync_of(c->sync),
                                           .sync_interval_ms = c->sync_interval_ms,
                                           .commit_delay_us = c->commit_delay_us,
                                           .cursor_delay_ms = c->cursor_delay_ms,
                                           .max_age_ms = c->max_age_secs * 1000,
                                           .keep_delivered_bytes = megabytes(c->keep_delivered_mb)};
    enum err err = store_open(&d->store, &options, info);

    if (err != ERR_OK)
        return err;
    committing.queue_max_bytes =
        inflight_limit(d) < QUEUE_MAX_BYTES ? inflight_limit(d) : QUEUE_MAX_BYTES;
    snprintf(d->node, sizeof(d->node), "%.64s-%s", d->config->server.node_id,
             store_node_suffix(d->store));
    return committer_start(&d->committer, d->store, &committing, info);
}

static enum err
open_parts(struct daemon *d, struct errinfo *info)
{
    struct supervisor_config config = {.config = d->config,
                                       .store = d->store,
                                       .committer = d->committer,
                                       .clock = d->clock,
                                       .node = d->node};
    enum err err;

    d->loop = loop_open(d->clock);
    if (d->loop == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the event loop");
    err = mailbox_open(&d->mailbox, d->loop, info);
    config.mailbox = d->mailbox;
    if (err == ERR_OK)
        err = databases_open(&d->databases, d->store, d->committer, d->mailbox, info);
    if (err == ERR_OK)
        err = supervisor_open(&d->supervisor, &config, info);
    if (err == ERR_OK)
        err = query_api_open(&d->queries, d, info);
    if (err == ERR_OK)
        err =
            disk_watch_open(&d->disk, d->loop, &d->config->disk, d->config->storage.data_dir, info);
    return err;
}

static enum err
listen_for_requests(struct daemon *d, struct errinfo *info)
{
    const struct config_server *c = &d->config->server;
    struct server_config config = {
        .bind_address = c->bind_address,
        .port = (uint16_t)c->port,
        .max_connections = c->max_connections,
        .max_inflight_bytes = inflight_limit(d),
        .request_timeout_ms = c->request_timeout_secs * 1000,
        .idle_timeout_ms = IDLE_MS,
        .rate_per_second =
            d->config->rate_limit.enabled ? d->config->rate_limit.max_requests_per_second : 0,
        .version = info_api_version,
        .build = "OSS",
        .body_limit = write_api_limit(d),
        .limit_words = d->limit_words,
    };

    (void)snprintf(d->limit_words, sizeof(d->limit_words),
                   "server.max_body_size_bytes is %zu, an eighth of the store is %" PRIu64,
                   c->max_body_size_bytes, store_map_bytes(d->store) / 8);
    return server_open(&d->server, d->loop, &config, routes, sizeof(routes) / sizeof(routes[0]), d,
                       info);
}

/* The store is ready: open the door. */
static void
provisioned(void *arg, const char *error)
{
    struct run *r = arg;
    struct daemon *d = &r->daemon;
    struct errinfo info = {ERR_OK, 0, ""};

    if (r->stopping)
        return;
    if (error != NULL) {
        log_error("start_failed", "sink.init_file %s: %s",
                  d->config->sink.init_file != NULL ? d->config->sink.init_file : "", error);
        r->status = 2;
        loop_stop(d->loop);
        return;
    }
    if (listen_for_requests(d, &info) != ERR_OK) {
        log_error("start_failed", "%s", info.text);
        r->status = info.code == ERR_CONFIG ? 2 : 1;
        loop_stop(d->loop);
        return;
    }
    r->listening = true;
    supervisor_start(d->supervisor);
    log_info("started",
             "sinkd %s, node %s, listening on %s port %u, data in %s (%" PRIu64
             " MB at most), %zu sinks",
             version_text(), d->node, d->config->server.bind_address,
             (unsigned)server_port(d->server), d->config->storage.data_dir,
             (store_map_bytes(d->store) + 500000) / 1000000, supervisor_count(d->supervisor));
    if (!d->config->sink.enabled)
        log_warn("sinks_off",
                 "[sink] enabled is false: points are accepted and kept, nothing is sent");
}

static enum err
start(struct run *r, struct errinfo *info)
{
    struct daemon *d = &r->daemon;
    enum err err = open_store(d, info);

    if (err == ERR_OK)
        err = open_parts(d, info);
    if (err == ERR_OK)
        err = wake_open(&r->signals, info);
    if (err != ERR_OK)
        return err;
    r->watch = loop_add(d->loop, wake_fd(&r->signals), LOOP_READ, on_wake, r);
    if (r->watch == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the event loop");
    catch_signals(&r->signals);
    return provision_start(&r->provision, d, provisioned, r, info);
}

/* No requests, no runners, no commits any more; then whoever waited for a commit hears of it. What
 * that sets off, such as the next statement of a list, is refused and heard of too. */
static void
end_all(struct run *r)
{
    struct daemon *d = &r->daemon;

    r->stopping = true;
    if (d->server != NULL)
        server_cut(d->server);
    if (d->supervisor != NULL)
        supervisor_join(d->supervisor);
    if (d->committer != NULL)
        committer_end(d->committer);
    while (d->mailbox != NULL && mailbox_deliver(d->mailbox))
        ;
}

/* Everything that was opened, in the order that each part needs: writes under way hold a part of
 * the server's budget, and all may call the committer. */
static void
close_all(struct run *r)
{
    struct daemon *d = &r->daemon;

    end_all(r);
    supervisor_close(d->supervisor);
    provision_close(r->provision);
    query_api_close(d->queries);
    disk_watch_close(d->disk);
    databases_close(d->databases);
    mailbox_close(d->mailbox);
    committer_stop(d->committer);
    server_close(d->server);
    if (d->loop != NULL) {
        loop_timer_clear(d->loop, &r->stop_timer);
        loop_remove(r->watch);
        loop_close(d->loop);
    }
    signal_wake = NULL;
    wake_close(&r->signals);
    store_close(d->store);
}

int
daemon_run(const struct config *config, const struct clock *clock)
{
    struct run *r = mem_zalloc(sizeof(*r));
    struct errinfo info = {ERR_OK, 0, ""};
    int status;

    if (r == NULL)
        return 1;
    log_setup(config->logging.level, config->logging.format == CONFIG_LOG_JSON, clock);
    umask(077);
    port_no_core_dumps();
    r->signals = (struct wake){-1, -1};
    r->daemon.config = config;
    r->daemon.clock = clock;
    r->daemon.started_ms = clock_mono_ms(clock);
    if (start(r, &info) == ERR_OK) {
        loop_run(r->daemon.loop);
    } else {
        log_error("start_failed", "%s", info.text);
        r->status = info.code == ERR_CONFIG ? 2 : 1;
    }
    close_all(r);
    status = r->status;
    if (status == 0)
        log_info("stopped", NULL);
    mem_free(r);
    return status;
}
