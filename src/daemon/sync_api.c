/*
 * sync_api.c: see sync_api.h.
 */
#include "daemon/sync_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/num.h"
#include "base/text.h"
#include "base/url.h"
#include "daemon/daemon.h"
#include "sink/sink.h"
#include "sink/sink_options.h"

#define BODY_MAX ((size_t)16 << 20)

/* The document under way: the first error sticks. */
struct document {
    struct buf out;
    bool secrets;
    enum err err;
};

static void
raw(struct document *d, const char *text)
{
    if (d->err == ERR_OK)
        d->err = buf_add_text(&d->out, text);
}

static void
string(struct document *d, struct slice text)
{
    if (d->err == ERR_OK)
        d->err = text_json(&d->out, text);
}

/* ,"name":  */
static void
key(struct document *d, const char *name)
{
    raw(d, ",\"");
    raw(d, name);
    raw(d, "\":");
}

static void
text_or_null(struct document *d, const char *name, const char *value)
{
    key(d, name);
    if (value == NULL)
        raw(d, "null");
    else
        string(d, slice_of(value));
}

/* User info was taken off at CREATE; a token in the query is a secret like the others. */
static void
url(struct document *d, const struct sink_def *def)
{
    struct buf masked;

    if (def->url == NULL || d->secrets) {
        text_or_null(d, "url", def->url);
        return;
    }
    buf_init(&masked, 2 * URL_TEXT_MAX);
    key(d, "url");
    if (url_mask(&masked, slice_of(def->url)) == ERR_OK)
        string(d, buf_peek(&masked));
    else
        d->err = ERR_NOMEM;
    buf_wipe(&masked);
}

static void
names(struct document *d, const char *name, const struct selector_list *list)
{
    key(d, name);
    raw(d, "[");
    for (size_t i = 0; i < list->count; i++) {
        raw(d, i > 0 ? "," : "");
        string(d, slice_of(list->list[i].text));
    }
    raw(d, "]");
}

static void
selectors(struct document *d, const char *name, const struct selector_list *list)
{
    static const char *const kinds[] = {"name", "glob", "regex"};

    key(d, name);
    raw(d, "[");
    for (size_t i = 0; i < list->count; i++) {
        raw(d, i > 0 ? ",{\"" : "{\"");
        raw(d, kinds[list->list[i].kind]);
        raw(d, "\":");
        string(d, slice_of(list->list[i].text));
        raw(d, "}");
    }
    raw(d, "]");
}

/* The options that were given, as they were written. */
static void
options(struct document *d, const struct sink_def *def)
{
    const struct option *o;
    bool first = true;

    key(d, "options");
    raw(d, "{");
    for (size_t i = 0; (o = sink_options_at(def->type, i)) != NULL; i++) {
        if (!def->options[i].set || (o->kind == OPTION_SECRET && !d->secrets))
            continue;
        raw(d, first ? "" : ",");
        first = false;
        string(d, slice_of(o->name));
        raw(d, ":");
        string(d, secret_reveal(&def->options[i].text));
    }
    raw(d, "}");
}

static void
numbers(struct document *d, const struct sink_def *def)
{
    char text[NUM_DURATION_TEXT];
    uint8_t digits[NUM_TEXT + 1];

    key(d, "batch_size");
    digits[num_put_u64(digits, def->batch_size)] = 0;
    raw(d, def->batch_size == 0 ? "null" : (const char *)digits);
    text_or_null(d, "flush_interval",
                 def->flush_interval_ms < 0
                     ? NULL
                     : num_put_duration(text, def->flush_interval_ms * 1000000));
    key(d, "paused");
    raw(d, def->paused ? "true" : "false");
}

static void
entry(struct document *d, const struct sink_def *def)
{
    char meta[256];

    snprintf(meta, sizeof(meta), "meta_sink:%s", def->name);
    raw(d, "{\"key\":");
    string(d, slice_of(meta));
    raw(d, ",\"value\":{\"name\":");
    string(d, slice_of(def->name));
    text_or_null(d, "type", def->type->name);
    url(d, def);
    text_or_null(d, "username", def->username);
    if (d->secrets) {
        key(d, "password");
        if (secret_is_set(&def->password))
            string(d, secret_reveal(&def->password));
        else
            raw(d, "null");
    }
    text_or_null(d, "format", sink_def_format_name(def->format));
    names(d, "databases", &def->databases);
    selectors(d, "include", &def->include);
    selectors(d, "exclude", &def->exclude);
    numbers(d, def);
    options(d, def);
    raw(d, "}}");
}

static void
entries(struct document *d, struct supervisor *s)
{
    raw(d, "[");
    for (size_t i = 0; i < supervisor_count(s); i++) {
        raw(d, i > 0 ? "," : "");
        entry(d, supervisor_at(s, i));
    }
    raw(d, "]");
}

static void
answer(struct server_call *call, struct document *d, struct document *list, struct daemon *daemon)
{
    struct slice text = buf_peek(&list->out);
    struct http_answer a = {.status = 200};
    char revision[40], fields[80];

    snprintf(revision, sizeof(revision), "%08" PRIx32 "-%zx", crc32c(0, text.p, text.n), text.n);
    snprintf(fields, sizeof(fields), "ETag: \"%s\"\r\n", revision);
    raw(d, "{\"node\":");
    string(d, slice_of(daemon->node));
    text_or_null(d, "revision", revision);
    key(d, "entries");
    if (d->err == ERR_OK)
        d->err = buf_add(&d->out, text);
    raw(d, "}\n");
    a.body = buf_peek(&d->out);
    a.fields = slice_of(fields);
    if (d->err != ERR_OK || list->err != ERR_OK)
        server_call_busy(call, 1, "no memory for the definitions");
    else
        server_call_answer(call, &a);
}

void
sync_api_metadata(struct server_call *call)
{
    struct daemon *daemon = server_ctx(server_of(call));
    struct document whole = {.err = ERR_OK}, list = {.err = ERR_OK};

    if (!server_call_is_local(call)) {
        server_call_error(call, 403, "with auth off this path answers loopback only");
        return;
    }
    buf_init(&whole.out, BODY_MAX);
    buf_init(&list.out, BODY_MAX);
    list.secrets = slice_eq(http_request_param(server_call_request(call), "secrets"), SLICE("1"));
    entries(&list, daemon->supervisor);
    answer(call, &whole, &list, daemon);
    buf_wipe(&whole.out);
    buf_wipe(&list.out);
}
