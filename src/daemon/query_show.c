/*
 * query_show.c: see query_show.h.
 */
#include "daemon/query_show.h"

#include "base/num.h"
#include "base/url.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"
#include "sink/sink_options.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void
text_or_null(struct query_results *r, const char *text)
{
    if (text == NULL || text[0] == 0)
        query_results_null(r);
    else
        query_results_text(r, slice_of(text));
}

static void
password(struct query_results *r, const struct sink_def *def)
{
    text_or_null(r, secret_is_set(&def->password) ? SECRET_MASK : NULL);
}

static void
url(struct query_results *r, const struct sink_def *def)
{
    struct buf text;

    if (def->url == NULL) {
        query_results_null(r);
        return;
    }
    buf_init(&text, 2 * URL_TEXT_MAX);
    if (url_mask(&text, slice_of(def->url)) == ERR_OK)
        query_results_text(r, buf_peek(&text));
    else
        query_results_text(r, SLICE(SECRET_MASK));
    buf_wipe(&text);
}

static void
include(struct query_results *r, const struct sink_def *def)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    if (sink_def_put_include(def, &text) == ERR_OK)
        query_results_text(r, buf_peek(&text));
    else
        query_results_null(r);
    buf_free(&text);
}

static void
duration(struct query_results *r, int64_t ms)
{
    char text[NUM_DURATION_TEXT];

    query_results_text(r, slice_of(num_put_duration(text, ms * 1000000)));
}

static void
time_or_null(struct query_results *r, int64_t wall_ns)
{
    char text[CLOCK_TEXT];

    if (wall_ns == 0)
        query_results_null(r);
    else
        query_results_text(r, slice_of(clock_put_rfc3339(text, wall_ns)));
}

static uint64_t
all_errors(const struct store_record *record)
{
    uint64_t sum = 0;

    for (int kind = 0; kind < STORE_ERRORS; kind++)
        sum += record->errors[kind];
    return sum;
}

void
query_show_sinks(struct query_results *r, struct supervisor *s)
{
    static const char *const columns[] = {
        "name",        "type",      "url",        "username",       "password",
        "format",      "include",   "batch_size", "flush_interval", "status",
        "queue_depth", "forwarded", "errors",     "last_error",     "last_success"};

    query_results_series(r, "sinks", columns, COUNT(columns));
    for (size_t i = 0; i < supervisor_count(s); i++) {
        const struct sink_def *def = supervisor_at(s, i);
        struct supervisor_view view;

        supervisor_view(s, def, &view);
        query_results_text(r, slice_of(def->name));
        query_results_text(r, slice_of(def->type->name));
        url(r, def);
        text_or_null(r, def->username);
        password(r, def);
        query_results_text(r, slice_of(sink_def_format_name(def->format)));
        include(r, def);
        query_results_u64(r, supervisor_batch_size(s, def));
        duration(r, supervisor_flush_interval_ms(s, def));
        query_results_text(r, slice_of(runner_status_name(view.runner.status)));
        query_results_u64(r, view.pending);
        query_results_u64(r, view.record.forwarded);
        query_results_u64(r, all_errors(&view.record));
        text_or_null(r, view.runner.last_error);
        time_or_null(r, view.record.last_success_ns);
    }
}

static void
property(struct query_results *r, const char *name)
{
    query_results_text(r, slice_of(name));
}

static void
databases(struct query_results *r, const struct sink_def *def)
{
    struct buf text;
    enum err err = ERR_OK;

    if (def->databases.count == 0) {
        query_results_null(r);
        return;
    }
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < def->databases.count && err == ERR_OK; i++)
        err = buf_printf(&text, "%s%s", i > 0 ? "," : "", def->databases.list[i].text);
    query_results_text(r, buf_peek(&text));
    buf_free(&text);
}

/* A secret option shows that it is set, and nothing else. */
static void
option(struct query_results *r, const struct option *o, const struct option_value *value)
{
    struct slice text = secret_reveal(&value->text);

    if (!secret_is_set(&value->text) || (o->kind == OPTION_SECRET && text.n == 0))
        query_results_null(r);
    else if (o->kind == OPTION_SECRET)
        query_results_text(r, SLICE(SECRET_MASK));
    else if (o->kind == OPTION_DURATION)
        duration(r, value->number);
    else
        query_results_text(r, text);
}

static void
count_text(struct query_results *r, uint64_t value)
{
    uint8_t text[NUM_TEXT];

    query_results_text(r, slice_make(text, num_put_u64(text, value)));
}

/* The statements that make it again, for export. */
static void
statements(struct query_results *r, const struct sink_def *def)
{
    struct buf sql;

    buf_init(&sql, 2 << 20);
    if (sink_ddl_put(def, SQL_SECRETS_OMITTED, &sql) == ERR_OK)
        query_results_text(r, buf_peek(&sql));
    else
        query_results_null(r);
    buf_wipe(&sql);
}

void
query_show_sink(struct query_results *r, struct supervisor *s, const struct sink_def *def)
{
    static const char *const columns[] = {"property", "value"};
    const struct option *o;
    struct supervisor_view view;

    supervisor_view(s, def, &view);
    query_results_series(r, "sink", columns, COUNT(columns));
    property(r, "name");
    query_results_text(r, slice_of(def->name));
    property(r, "type");
    query_results_text(r, slice_of(def->type->name));
    property(r, "url");
    url(r, def);
    property(r, "username");
    text_or_null(r, def->username);
    property(r, "password");
    password(r, def);
    property(r, "format");
    query_results_text(r, slice_of(sink_def_format_name(def->format)));
    property(r, "databases");
    databases(r, def);
    property(r, "include");
    include(r, def);
    property(r, "batch_size");
    count_text(r, supervisor_batch_size(s, def));
    property(r, "flush_interval");
    duration(r, supervisor_flush_interval_ms(s, def));
    property(r, "created");
    time_or_null(r, def->created_ns);
    property(r, "status");
    query_results_text(r, slice_of(runner_status_name(view.runner.status)));
    for (size_t i = 0; (o = sink_options_at(def->type, i)) != NULL; i++) {
        property(r, o->name);
        option(r, o, &def->options[i]);
    }
    property(r, "create");
    statements(r, def);
}

void
query_show_ledger(struct query_results *r, struct supervisor *s)
{
    static const char *const columns[] = {"sink", "accepted", "forwarded", "filtered",
                                          "dead", "dropped",  "pending"};

    query_results_series(r, "ledger", columns, COUNT(columns));
    for (size_t i = 0; i < supervisor_count(s); i++) {
        const struct sink_def *def = supervisor_at(s, i);
        struct supervisor_view view;

        supervisor_view(s, def, &view);
        query_results_text(r, slice_of(def->name));
        query_results_u64(r, view.accepted);
        query_results_u64(r, view.record.forwarded);
        query_results_u64(r, view.record.filtered);
        query_results_u64(r, view.record.dead);
        query_results_u64(r, store_record_dropped(&view.record));
        query_results_u64(r, view.pending);
    }
}

void
query_show_databases(struct query_results *r, const struct databases *d)
{
    static const char *const columns[] = {"name"};

    query_results_series(r, "databases", columns, COUNT(columns));
    for (size_t i = 0; i < databases_count(d); i++)
        query_results_text(r, databases_at(d, i));
}
