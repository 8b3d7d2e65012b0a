/*
 * test_daemon_metrics.c: /metrics is valid text of Prometheus, complete, and says what is so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/metrics_api.h"
#include "support/daemon_rig.h"

static char page[1 << 20];

static const char *
metrics(struct daemon_rig *rig)
{
    struct buf out;

    buf_init(&out, sizeof(page) - 1);
    assert_int_equal(metrics_api_put(&rig->daemon, &out), ERR_OK);
    slice_copy_text(buf_peek(&out), page, sizeof(page));
    buf_free(&out);
    return page;
}

static void
runs(struct daemon_rig *rig, const char *sql)
{
    if (daemon_rig_sql(rig, sql) != ERR_OK)
        fail_msg("%s: %s", sql, rig->info.text);
}

static int
setup(void **state)
{
    struct daemon_rig *rig;

    if (daemon_rig_setup(state) != 0)
        return -1;
    rig = *state;
    rig->config.sink.enabled = false;
    rig->config.disk.enabled = false;
    daemon_rig_open_supervisor(rig);
    assert_int_equal(disk_watch_open(&rig->daemon.disk, rig->daemon.loop, &rig->config.disk,
                                     rig->drive->dir, NULL),
                     ERR_OK);
    rig->daemon.started_ms = clock_mono_ms(&clock_system) - 65000;
    return 0;
}

static int
teardown(void **state)
{
    struct daemon_rig *rig = *state;

    disk_watch_close(rig->daemon.disk);
    return daemon_rig_teardown(state);
}

static void
says(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("no %s", line);
}

/* ---- the format ---- */

static bool
is_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.n > 0;
}

/* The labels of a sample, if any, taken off ${rest}: each a name, =, and a quoted text. */
static void
skip_labels(struct slice *rest)
{
    if (rest->n == 0 || rest->p[0] != '{')
        return;
    do {
        size_t equals;

        *rest = slice_from(*rest, 1);
        equals = slice_find(*rest, '=');
        assert_true(is_name(slice_to(*rest, equals)));
        *rest = slice_from(*rest, equals + 1);
        assert_true(rest->n > 0 && rest->p[0] == '"');
        *rest = slice_from(*rest, 1);
        while (rest->n > 0 && rest->p[0] != '"')
            *rest = slice_from(*rest, rest->p[0] == '\\' ? 2 : 1);
        *rest = slice_from(*rest, 1);
    } while (rest->n > 0 && rest->p[0] == ',');
    assert_true(rest->n > 0 && rest->p[0] == '}');
    *rest = slice_from(*rest, 1);
}

/* A sample belongs to the family above it, and is the only one of its labels. */
static void
check_sample(struct slice line, struct slice family, const char *above)
{
    size_t n = 0;
    struct slice rest, series, before = slice_make(above, (size_t)((const char *)line.p - above)),
                               old;
    char *end;

    while (n < line.n && line.p[n] != '{' && line.p[n] != ' ')
        n++;
    assert_true(is_name(slice_to(line, n)));
    assert_true(slice_starts(line, family));
    rest = slice_from(line, n);
    skip_labels(&rest);
    series = slice_to(line, line.n - rest.n);
    assert_true(rest.n > 1 && rest.p[0] == ' ');
    (void)strtod((const char *)rest.p + 1, &end);
    assert_ptr_equal(end, (const char *)rest.p + rest.n);
    while (slice_split(&before, '\n', &old)) {
        if (slice_starts(old, series) && old.p[series.n] == ' ')
            fail_msg("twice: %.*s", SLICE_PRI(series));
    }
}

static void
check_page(const char *text)
{
    struct slice rest = slice_of(text), line, family = {NULL, 0};
    bool has_type = false;

    assert_true(text[strlen(text) - 1] == '\n');
    while (slice_split(&rest, '\n', &line)) {
        if (slice_starts(line, SLICE("# HELP "))) {
            family = slice_from(line, 7);
            family = slice_to(family, slice_find(family, ' '));
            has_type = false;
        } else if (slice_starts(line, SLICE("# TYPE "))) {
            struct slice name = slice_from(line, 7);

            assert_true(slice_eq(slice_to(name, slice_find(name, ' ')), family));
            assert_false(has_type);
            has_type = true;
        } else {
            assert_true(has_type);
            check_sample(line, family, text);
        }
    }
}

static void
the_page_is_valid(void **state)
{
    struct daemon_rig *rig = *state;

    check_page(metrics(rig));
    runs(rig, "CREATE SINK out TYPE stdout");
    runs(rig, "CREATE SINK \"we\\\\ird \\\"name\\\" \xc3\xa4\" TYPE stdout");
    check_page(metrics(rig));
    says(page, "hyperbytedb_sink_queue_depth{sink=\"we\\\\ird \\\"name\\\" \xc3\xa4\"} 0\n");
}

/* ---- the figures ---- */

static void
every_metric_is_there(void **state)
{
    static const char *const types[] = {
        "sink_forwards_total counter",
        "sink_errors_total counter",
        "sink_duration_seconds histogram",
        "sink_queue_depth gauge",
        "sink_filtered_total counter",
        "sink_dropped_total counter",
        "sink_retries_total counter",
        "sink_oldest_pending_seconds gauge",
        "sink_last_success_timestamp_seconds gauge",
        "sink_status gauge",
        "write_requests_total counter",
        "write_errors_total counter",
        "ingestion_points_total counter",
        "rejected_lines_total counter",
        "suspicious_timestamps_total counter",
        "write_duration_seconds histogram",
        "commit_duration_seconds histogram",
        "storage_used_bytes gauge",
        "storage_size_bytes gauge",
        "storage_expired_points_total counter",
        "disk_free_bytes gauge",
        "uptime_seconds gauge",
        "info gauge",
    };
    struct daemon_rig *rig = *state;
    char line[100];

    (void)metrics(rig);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        (void)snprintf(line, sizeof(line), "# TYPE hyperbytedb_%s\n", types[i]);
        says(page, line);
    }
}

static void
a_sinks_figures_are_its_record(void **state)
{
    struct daemon_rig *rig = *state;
    struct committer_step step;
    struct store_record now;

    runs(rig, "CREATE SINK out TYPE stdout");
    assert_int_equal(committer_drive_write_points(rig->drive, 20, 10), ERR_OK);
    step = (struct committer_step){.sink = supervisor_at(rig->daemon.supervisor, 0)->id,
                                   .to = 12,
                                   .forwarded = 7,
                                   .filtered = 2,
                                   .retries = 4,
                                   .last_success_ns = INT64_C(1700000000999999999)};
    step.dropped[STORE_DROP_AGE] = 3;
    step.errors[STORE_ERROR_AUTH] = 9;
    assert_int_equal(committer_step(rig->drive->c, &step, &now), ERR_OK);
    committer_drive_settle(rig->drive, step.sink);
    (void)metrics(rig);
    says(page, "hyperbytedb_sink_forwards_total{sink=\"out\"} 7\n");
    says(page, "hyperbytedb_sink_filtered_total{sink=\"out\"} 2\n");
    says(page, "hyperbytedb_sink_queue_depth{sink=\"out\"} 8\n");
    says(page, "hyperbytedb_sink_retries_total{sink=\"out\"} 4\n");
    says(page, "hyperbytedb_sink_dropped_total{sink=\"out\",reason=\"age\"} 3\n");
    says(page, "hyperbytedb_sink_dropped_total{sink=\"out\",reason=\"full\"} 0\n");
    says(page, "hyperbytedb_sink_errors_total{sink=\"out\",kind=\"auth\"} 9\n");
    says(page, "hyperbytedb_sink_last_success_timestamp_seconds{sink=\"out\"} 1700000000\n");
    says(page, "hyperbytedb_sink_status{sink=\"out\",status=\"disabled\"} 1\n");
    says(page, "hyperbytedb_sink_status{sink=\"out\",status=\"running\"} 0\n");
    says(page, "hyperbytedb_sink_duration_seconds_count{sink=\"out\"} 0\n");
    says(page, "hyperbytedb_sink_duration_seconds_bucket{sink=\"out\",le=\"+Inf\"} 0\n");
}

static void
the_way_in_is_counted(void **state)
{
    struct daemon_rig *rig = *state;
    struct daemon_counters *c = &rig->daemon.counters;

    c->write_requests = 5;
    c->write_errors = 2;
    c->points = 1000;
    c->suspicious_timestamps = 3;
    histogram_add(&c->write_seconds, 1500);
    histogram_add(&c->write_seconds, 40000000);
    for (int i = 0; i < LINEPROTO_REASONS; i++)
        c->rejected_lines[i] = 1;
    (void)metrics(rig);
    check_page(page);
    says(page, "hyperbytedb_write_requests_total 5\n");
    says(page, "hyperbytedb_write_errors_total 2\n");
    says(page, "hyperbytedb_ingestion_points_total 1000\n");
    says(page, "hyperbytedb_suspicious_timestamps_total 3\n");
    says(page, "hyperbytedb_write_duration_seconds_bucket{le=\"0.001\"} 0\n");
    says(page, "hyperbytedb_write_duration_seconds_bucket{le=\"0.0025\"} 1\n");
    says(page, "hyperbytedb_write_duration_seconds_bucket{le=\"30\"} 1\n");
    says(page, "hyperbytedb_write_duration_seconds_bucket{le=\"+Inf\"} 2\n");
    says(page, "hyperbytedb_write_duration_seconds_sum 40.001500\n");
    says(page, "hyperbytedb_write_duration_seconds_count 2\n");
    says(page, "hyperbytedb_uptime_seconds 65\n");
}

static void
rejected_lines_of_one_label_are_added_up(void **state)
{
    struct daemon_rig *rig = *state;
    const char *at;
    unsigned sum = 0;

    for (int i = 0; i < LINEPROTO_REASONS; i++)
        rig->daemon.counters.rejected_lines[i] = 1;
    at = metrics(rig);
    while ((at = strstr(at, "\nhyperbytedb_rejected_lines_total{")) != NULL) {
        at = strstr(at, "\"} ") + 3;
        sum += (unsigned)strtoul(at, NULL, 10);
    }
    assert_int_equal(sum, LINEPROTO_REASONS);
}

static void
a_page_that_is_too_long_or_finds_no_memory(void **state)
{
    struct daemon_rig *rig = *state;
    struct buf out;

    runs(rig, "CREATE SINK out TYPE stdout");
    buf_init(&out, 1000);
    assert_int_equal(metrics_api_put(&rig->daemon, &out), ERR_NOMEM);
    buf_free(&out);
    buf_init(&out, 1 << 20);
    mem_fail_at(1);
    assert_int_equal(metrics_api_put(&rig->daemon, &out), ERR_NOMEM);
    mem_fail_at(0);
    buf_free(&out);
}

int
main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        RUN(the_page_is_valid),
        RUN(every_metric_is_there),
        RUN(a_sinks_figures_are_its_record),
        RUN(the_way_in_is_counted),
        RUN(rejected_lines_of_one_label_are_added_up),
        RUN(a_page_that_is_too_long_or_finds_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
