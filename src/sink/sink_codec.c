/*
 * sink_codec.c: see sink_codec.h and docs/store.md.
 *
 * Keys are texts. A key that this program does not know is skipped: a newer one may have written
 * it. Options are kept as they were written, only those that were given; the defaults are the
 * program's.
 */
#include "sink/sink_codec.h"

#include "base/mem.h"
#include "msgpack/msgpack_read.h"
#include "msgpack/msgpack_write.h"
#include "sink/sink.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"

#define VERSION 1

/* ---- writing ---- */

static void
put_text(struct wr *w, const char *key, const char *value)
{
    msgpack_write_text(w, key);
    if (value == NULL)
        msgpack_write_nil(w);
    else
        msgpack_write_text(w, value);
}

static void
put_number(struct wr *w, const char *key, int64_t value)
{
    msgpack_write_text(w, key);
    msgpack_write_i64(w, value);
}

static void
put_bool(struct wr *w, const char *key, bool value)
{
    msgpack_write_text(w, key);
    msgpack_write_bool(w, value);
}

/* A list of [kind, text] pairs. */
static void
put_list(struct wr *w, const char *key, const struct selector_list *list)
{
    msgpack_write_text(w, key);
    msgpack_write_array(w, list->count);
    for (size_t i = 0; i < list->count; i++) {
        msgpack_write_array(w, 2);
        msgpack_write_u64(w, (uint64_t)list->list[i].kind);
        msgpack_write_text(w, list->list[i].text);
    }
}

static void
put_options(struct wr *w, const struct sink_def *d)
{
    const struct option *o;
    size_t set = 0;

    for (size_t i = 0; i < sink_options_count(d->type); i++)
        set += d->options[i].set;
    msgpack_write_text(w, "options");
    msgpack_write_map(w, set);
    for (size_t i = 0; (o = sink_options_at(d->type, i)) != NULL; i++) {
        if (!d->options[i].set)
            continue;
        msgpack_write_text(w, o->name);
        msgpack_write_str(w, secret_reveal(&d->options[i].text));
    }
}

enum err
sink_codec_encode(const struct sink_def *d, struct buf *out)
{
    struct wr w;

    wr_init(&w, out);
    msgpack_write_map(&w, 17);
    put_number(&w, "version", VERSION);
    put_number(&w, "id", d->id);
    put_text(&w, "name", d->name);
    put_text(&w, "type", d->type->name);
    put_text(&w, "url", d->url);
    put_text(&w, "username", d->username);
    msgpack_write_text(&w, "password");
    if (secret_is_set(&d->password))
        msgpack_write_str(&w, secret_reveal(&d->password));
    else
        msgpack_write_nil(&w);
    put_text(&w, "format", sink_def_format_name(d->format));
    put_list(&w, "databases", &d->databases);
    put_list(&w, "include", &d->include);
    put_list(&w, "exclude", &d->exclude);
    put_number(&w, "batch_size", (int64_t)d->batch_size);
    put_number(&w, "flush_interval_ms", d->flush_interval_ms);
    put_bool(&w, "paused", d->paused);
    put_bool(&w, "followed", d->followed);
    put_number(&w, "created_ns", d->created_ns);
    put_options(&w, d);
    return wr_done(&w);
}

/* ---- reading ---- */

/* A text or nil into ${out}. */
static void
take_text(struct rd *r, char **out)
{
    struct slice text;

    if (msgpack_read_peek(r) == MSGPACK_NIL) {
        msgpack_read_nil(r);
        return;
    }
    text = msgpack_read_str(r);
    if (r->err != ERR_OK)
        return;
    mem_free(*out);
    *out = NULL;
    if (slice_find(text, 0) < text.n)
        rd_fail(r, ERR_BAD);
    else if ((*out = mem_text(text)) == NULL)
        rd_fail(r, ERR_NOMEM);
}

static void
take_secret(struct rd *r, struct secret *out)
{
    struct slice value;

    if (msgpack_read_peek(r) == MSGPACK_NIL) {
        msgpack_read_nil(r);
        return;
    }
    value = msgpack_read_str(r);
    if (r->err == ERR_OK && secret_set(out, value) != ERR_OK)
        rd_fail(r, ERR_NOMEM);
}

static void
take_format(struct rd *r, enum sink_format *out)
{
    struct slice word = msgpack_read_str(r);

    for (int f = SINK_LINE_PROTOCOL; f <= SINK_MSGPACK; f++) {
        if (slice_eq(word, slice_of(sink_def_format_name((enum sink_format)f)))) {
            *out = (enum sink_format)f;
            return;
        }
    }
    rd_fail(r, ERR_BAD);
}

/* A part that is refused is damage, unless there was no memory for it. */
static void
take_part(struct rd *r, enum err err)
{
    if (err != ERR_OK)
        rd_fail(r, err == ERR_NOMEM ? ERR_NOMEM : ERR_BAD);
}

static void
take_list(struct rd *r, struct selector_list *out)
{
    uint32_t count = msgpack_read_array(r);

    for (uint32_t i = 0; i < count && r->err == ERR_OK; i++) {
        uint64_t kind;
        struct slice text;

        if (msgpack_read_array(r) != 2)
            rd_fail(r, ERR_BAD);
        kind = msgpack_read_u64(r);
        text = msgpack_read_str(r);
        if (kind > SELECTOR_REGEX)
            rd_fail(r, ERR_BAD);
        else if (r->err == ERR_OK)
            take_part(r, sink_def_add(out, (enum selector_kind)kind, text, NULL));
    }
}

static void
take_options(struct rd *r, struct sink_def *d, struct errinfo *info)
{
    uint32_t count = msgpack_read_map(r);

    for (uint32_t i = 0; i < count && r->err == ERR_OK; i++) {
        struct slice key = msgpack_read_str(r), value = msgpack_read_str(r);

        if (r->err == ERR_OK)
            take_part(r, sink_def_set_option(d, key, value, info));
    }
}

static void
take_value(struct rd *r, struct sink_def *d, struct slice key, struct errinfo *info)
{
    if (slice_eq(key, SLICE("id")))
        d->id = (uint32_t)msgpack_read_u64(r);
    else if (slice_eq(key, SLICE("name")))
        take_text(r, &d->name);
    else if (slice_eq(key, SLICE("url")))
        take_text(r, &d->url);
    else if (slice_eq(key, SLICE("username")))
        take_text(r, &d->username);
    else if (slice_eq(key, SLICE("password")))
        take_secret(r, &d->password);
    else if (slice_eq(key, SLICE("format")))
        take_format(r, &d->format);
    else if (slice_eq(key, SLICE("databases")))
        take_list(r, &d->databases);
    else if (slice_eq(key, SLICE("include")))
        take_list(r, &d->include);
    else if (slice_eq(key, SLICE("exclude")))
        take_list(r, &d->exclude);
    else if (slice_eq(key, SLICE("batch_size")))
        d->batch_size = msgpack_read_u64(r);
    else if (slice_eq(key, SLICE("flush_interval_ms")))
        d->flush_interval_ms = msgpack_read_i64(r);
    else if (slice_eq(key, SLICE("paused")))
        d->paused = msgpack_read_bool(r);
    else if (slice_eq(key, SLICE("followed")))
        d->followed = msgpack_read_bool(r);
    else if (slice_eq(key, SLICE("created_ns")))
        d->created_ns = msgpack_read_i64(r);
    else if (slice_eq(key, SLICE("options")))
        take_options(r, d, info);
    else
        (void)msgpack_read_skip(r);
}

/* The type comes first in meaning, wherever it stands: options are read by its tables. */
static const struct sink_type *
find_type(struct slice bytes)
{
    struct rd r;
    uint32_t count;

    rd_init(&r, bytes);
    count = msgpack_read_map(&r);
    for (uint32_t i = 0; i < count && r.err == ERR_OK; i++) {
        if (slice_eq(msgpack_read_str(&r), SLICE("type")))
            return sink_types_find(msgpack_read_str(&r));
        (void)msgpack_read_skip(&r);
    }
    return NULL;
}

enum err
sink_codec_decode(struct sink_def *d, struct slice bytes, struct errinfo *info)
{
    const struct sink_type *type = find_type(bytes);
    struct rd r;
    uint32_t count;
    enum err err;

    *d = (struct sink_def){0};
    if (type == NULL)
        return errinfo_set(info, ERR_BAD, "a sink's definition in the store names no known type");
    if (sink_def_init(d, type) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    rd_init(&r, bytes);
    count = msgpack_read_map(&r);
    for (uint32_t i = 0; i < count && r.err == ERR_OK; i++)
        take_value(&r, d, msgpack_read_str(&r), info);
    err = rd_done(&r);
    if (err != ERR_OK || d->name == NULL || d->id == 0) {
        sink_def_free(d);
        if (err == ERR_NOMEM)
            return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
        return errinfo_set(info, ERR_BAD, "a sink's definition in the store is damaged");
    }
    return ERR_OK;
}
