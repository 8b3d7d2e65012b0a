/*
 * sync_api.c: see sync_api.h.
 */
#include "daemon/sync_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"

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
text(struct document *d, const char *name, struct slice value)
{
    key(d, name);
    string(d, value);
}

/* The statements that make the sink again say all there is to say of it. */
static void
entry(struct document *d, const struct sink_def *def)
{
    struct buf sql;
    char meta[256];

    buf_init(&sql, BODY_MAX);
    if (sink_ddl_put(def, d->secrets ? SQL_SECRETS_SHOWN : SQL_SECRETS_OMITTED, &sql) != ERR_OK)
        d->err = ERR_NOMEM;
    snprintf(meta, sizeof(meta), "meta_sink:%s", def->name);
    raw(d, "{\"key\":");
    string(d, slice_of(meta));
    raw(d, ",\"value\":{\"name\":");
    string(d, slice_of(def->name));
    text(d, "type", slice_of(def->type->name));
    text(d, "create", buf_peek(&sql));
    raw(d, "}}");
    buf_wipe(&sql);
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
    struct slice body = buf_peek(&list->out);
    struct http_answer a = {.status = 200};
    char revision[40], fields[80];

    snprintf(revision, sizeof(revision), "%08" PRIx32 "-%zx", crc32c(0, body.p, body.n), body.n);
    snprintf(fields, sizeof(fields), "ETag: \"%s\"\r\n", revision);
    raw(d, "{\"node\":");
    string(d, slice_of(daemon->node));
    text(d, "revision", slice_of(revision));
    key(d, "entries");
    if (d->err == ERR_OK)
        d->err = buf_add(&d->out, body);
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
