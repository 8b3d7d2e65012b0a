/*
 * metrics_api.c: see metrics_api.h.
 */
#include "daemon/metrics_api.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/version.h"

#define TEXT_MAX ((size_t)8 << 20)
#define PREFIX "hyperbytedb_"
#define LABEL_MAX 512

/* The text under way: the first error sticks. */
struct page {
    struct buf *out;
    enum err err;
};

static void put(struct page *p, const char *format, ...) PRINTF_LIKE(2, 3);

static void
put(struct page *p, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (p->err != ERR_OK)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    p->err = buf_add_text(p->out, line);
}

static void
head(struct page *p, const char *name, const char *type, const char *help)
{
    put(p, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

static void
plain(struct page *p, const char *name, const char *type, const char *help, uint64_t value)
{
    head(p, name, type, help);
    put(p, PREFIX "%s %" PRIu64 "\n", name, value);
}

/* A label's value, escaped. */
static const char *
label(char out[LABEL_MAX], const char *text)
{
    size_t n = 0;

    for (; *text != 0 && n + 3 < LABEL_MAX; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n')
            out[n++] = '\\';
        out[n++] = *text == '\n' ? 'n' : *text;
    }
    out[n] = 0;
    return out;
}

/* ${labels}: "sink=\"a\"," or empty. */
static void
histogram(struct page *p, const char *name, const char *labels, const struct histogram *h)
{
    uint64_t sum = 0;

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum += h->buckets[i];
        put(p, PREFIX "%s_bucket{%sle=\"%s\"} %" PRIu64 "\n", name, labels, histogram_bounds[i],
            sum);
    }
    put(p, PREFIX "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, h->count);
    if (labels[0] == 0) {
        put(p, PREFIX "%s_sum %" PRIu64 ".%06" PRIu64 "\n", name, h->sum_us / 1000000,
            h->sum_us % 1000000);
        put(p, PREFIX "%s_count %" PRIu64 "\n", name, h->count);
        return;
    }
    put(p, PREFIX "%s_sum{%.*s} %" PRIu64 ".%06" PRIu64 "\n", name, (int)strlen(labels) - 1, labels,
        h->sum_us / 1000000, h->sum_us % 1000000);
    put(p, PREFIX "%s_count{%.*s} %" PRIu64 "\n", name, (int)strlen(labels) - 1, labels, h->count);
}

/* ---- sinks ---- */

/* One sink as it is now: all its figures are of one moment. */
struct sink_figures {
    char label[LABEL_MAX];
    struct supervisor_view view;
    bool has_oldest;
    int64_t oldest_ms;
};

static struct sink_figures *
gather_sinks(struct daemon *daemon, size_t count)
{
    struct sink_figures *list = mem_array(count + 1, sizeof(*list));

    for (size_t i = 0; list != NULL && i < count; i++) {
        const struct sink_def *def = supervisor_at(daemon->supervisor, i);

        (void)label(list[i].label, def->name);
        supervisor_view(daemon->supervisor, def, &list[i].view);
        list[i].has_oldest = supervisor_oldest_age(daemon->supervisor, def, &list[i].oldest_ms);
    }
    return list;
}

enum figure { FORWARDED, PENDING, FILTERED, RETRIES, OLDEST, LAST_SUCCESS };

static uint64_t
figure(const struct sink_figures *s, enum figure which)
{
    const struct store_record *r = &s->view.record;

    switch (which) {
    case FORWARDED:
        return r->forwarded;
    case PENDING:
        return s->view.pending;
    case FILTERED:
        return r->filtered;
    case RETRIES:
        return r->retries;
    case OLDEST:
        return s->has_oldest ? (uint64_t)(s->oldest_ms / 1000) : 0;
    case LAST_SUCCESS:
        return r->last_success_ns > 0 ? (uint64_t)(r->last_success_ns / 1000000000) : 0;
    }
    return 0;
}

static void
put_sink_figures(struct page *p, const struct sink_figures *list, size_t count)
{
    static const struct {
        enum figure figure;
        const char *name, *type, *help;
    } families[] = {
        {FORWARDED, "sink_forwards_total", "counter", "points forwarded"},
        {PENDING, "sink_queue_depth", "gauge", "points that the sink has yet to pass"},
        {FILTERED, "sink_filtered_total", "counter", "points that the sink does not take"},
        {RETRIES, "sink_retries_total", "counter", "retries of a delivery"},
        {OLDEST, "sink_oldest_pending_seconds", "gauge", "age of the oldest pending point"},
        {LAST_SUCCESS, "sink_last_success_timestamp_seconds", "gauge",
         "when a point was last delivered; 0: never"},
    };

    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        head(p, families[f].name, families[f].type, families[f].help);
        for (size_t i = 0; i < count; i++)
            put(p, PREFIX "%s{sink=\"%s\"} %" PRIu64 "\n", families[f].name, list[i].label,
                figure(&list[i], families[f].figure));
    }
}

static void
put_errors_and_drops(struct page *p, const struct sink_figures *list, size_t count)
{
    head(p, "sink_errors_total", "counter", "failed forward attempts");
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < STORE_ERRORS; k++)
            put(p, PREFIX "sink_errors_total{sink=\"%s\",kind=\"%s\"} %" PRIu64 "\n", list[i].label,
                store_error_name((enum store_error_kind)k), list[i].view.record.errors[k]);
    }
    head(p, "sink_dropped_total", "counter", "points given up");
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < STORE_DROPS; k++)
            put(p, PREFIX "sink_dropped_total{sink=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                list[i].label, store_drop_name((enum store_drop)k), list[i].view.record.dropped[k]);
    }
}

static void
put_states(struct page *p, const struct sink_figures *list, size_t count)
{
    head(p, "sink_status", "gauge", "1 for the state that the sink is in");
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < RUNNER_STATUSES; k++)
            put(p, PREFIX "sink_status{sink=\"%s\",status=\"%s\"} %d\n", list[i].label,
                runner_status_name((enum runner_status)k),
                list[i].view.runner.status == (enum runner_status)k);
    }
    head(p, "sink_duration_seconds", "histogram", "one delivered batch");
    for (size_t i = 0; i < count; i++) {
        char labels[LABEL_MAX + 16];

        snprintf(labels, sizeof(labels), "sink=\"%s\",", list[i].label);
        histogram(p, "sink_duration_seconds", labels, &list[i].view.runner.duration);
    }
}

static void
put_sinks(struct page *p, struct daemon *daemon)
{
    size_t count = supervisor_count(daemon->supervisor);
    struct sink_figures *list = gather_sinks(daemon, count);

    if (list == NULL) {
        p->err = ERR_NOMEM;
        return;
    }
    put_sink_figures(p, list, count);
    put_errors_and_drops(p, list, count);
    put_states(p, list, count);
    mem_free(list);
}

/* ---- the rest ---- */

/* Several reasons may share a label (the parser's finer ones): their first one shows the sum. */
static void
put_rejected(struct page *p, const struct daemon_counters *c)
{
    head(p, "rejected_lines_total", "counter", "lines of line protocol that were refused");
    for (int i = 0; i < LINEPROTO_REASONS; i++) {
        const char *name = lineproto_reason_label((enum lineproto_reason)i);
        uint64_t sum = 0;
        int first = LINEPROTO_REASONS;

        for (int other = LINEPROTO_REASONS - 1; other >= 0; other--) {
            if (strcmp(lineproto_reason_label((enum lineproto_reason)other), name) == 0) {
                sum += c->rejected_lines[other];
                first = other;
            }
        }
        if (first == i)
            put(p, PREFIX "rejected_lines_total{reason=\"%s\"} %" PRIu64 "\n", name, sum);
    }
}

static void
put_ingest(struct page *p, const struct daemon_counters *c)
{
    plain(p, "write_requests_total", "counter", "requests to the write paths", c->write_requests);
    plain(p, "write_errors_total", "counter", "of them, those not answered with 204",
          c->write_errors);
    plain(p, "ingestion_points_total", "counter", "points accepted", c->points);
    plain(p, "suspicious_timestamps_total", "counter",
          "points accepted with a time before 2000 or more than a day ahead",
          c->suspicious_timestamps);
    put_rejected(p, c);
    head(p, "write_duration_seconds", "histogram",
         "one write request, from its first byte to its answer");
    histogram(p, "write_duration_seconds", "", &c->write_seconds);
}

static void
put_storage(struct page *p, struct daemon *daemon)
{
    struct store_usage usage;
    struct committer_stats stats;
    char text[LABEL_MAX];

    store_usage(daemon->store, &usage);
    committer_stats(daemon->committer, &stats);
    head(p, "commit_duration_seconds", "histogram", "one commit of the log");
    histogram(p, "commit_duration_seconds", "", &stats.commit_seconds);
    plain(p, "storage_used_bytes", "gauge", "bytes of the store in use", usage.used_bytes);
    plain(p, "storage_size_bytes", "gauge", "bytes that the store may use at most",
          usage.map_bytes);
    plain(p, "storage_expired_points_total", "counter",
          "points deleted for room while no sink needed them", usage.expired_points);
    head(p, "disk_free_bytes", "gauge", "free bytes of the disk under the data folder");
    put(p, PREFIX "disk_free_bytes{path=\"%s\"} %" PRIu64 "\n",
        label(text, disk_watch_path(daemon->disk)), disk_watch_free_bytes(daemon->disk));
}

enum err
metrics_api_put(struct daemon *daemon, struct buf *out)
{
    struct page p = {out, ERR_OK};
    char text[LABEL_MAX];

    put_sinks(&p, daemon);
    put_ingest(&p, &daemon->counters);
    put_storage(&p, daemon);
    plain(&p, "uptime_seconds", "gauge", "seconds since the daemon started",
          (uint64_t)(clock_mono_ms(daemon->clock) - daemon->started_ms) / 1000);
    head(&p, "info", "gauge", "always 1");
    put(&p, PREFIX "info{version=\"%s\",node_id=\"%s\"} 1\n", version_text(),
        label(text, daemon->node));
    return p.err;
}

void
metrics_api_show(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    struct http_answer a = {.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
    struct buf text;

    buf_init(&text, TEXT_MAX);
    if (metrics_api_put(daemon, &text) != ERR_OK) {
        server_call_busy(call, 1, "no memory for the metrics");
    } else {
        a.body = buf_peek(&text);
        server_call_answer(call, &a);
    }
    buf_free(&text);
}
