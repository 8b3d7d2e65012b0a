/*
 * sink_ddl.c: see sink_ddl.h.
 */
#include "daemon/sink_ddl.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"
#include "sink/sink.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"
#include "sql/sql_words.h"

static enum sink_format
format_of(enum sql_format format)
{
    switch (format) {
    case SQL_FORMAT_LINE_PROTOCOL:
        return SINK_LINE_PROTOCOL;
    case SQL_FORMAT_JSON:
        return SINK_JSON;
    case SQL_FORMAT_MSGPACK:
        return SINK_MSGPACK;
    }
    return SINK_LINE_PROTOCOL;
}

static enum selector_kind
kind_of(enum sql_selector_kind kind)
{
    switch (kind) {
    case SQL_SELECT_NAME:
        return SELECTOR_NAME;
    case SQL_SELECT_GLOB:
        return SELECTOR_GLOB;
    case SQL_SELECT_REGEX:
        return SELECTOR_REGEX;
    }
    return SELECTOR_NAME;
}

static enum err
take_selectors(struct selector_list *out, const struct sql_selector *list, size_t count,
               struct errinfo *info)
{
    enum err err = ERR_OK;

    sink_def_clear(out);
    for (size_t i = 0; i < count && err == ERR_OK; i++)
        err = sink_def_add(out, kind_of(list[i].kind), list[i].text, info);
    return err;
}

static enum err
take_databases(struct selector_list *out, const struct sql_sink *sink, struct errinfo *info)
{
    enum err err = ERR_OK;

    sink_def_clear(out);
    for (size_t i = 0; i < sink->database_count && err == ERR_OK; i++)
        err = sink_def_add(out, SELECTOR_NAME, sink->databases[i], info);
    return err;
}

static enum err
take_username(struct sink_def *d, struct slice username, struct errinfo *info)
{
    if (slice_find(username, 0) < username.n)
        return errinfo_set(info, ERR_CONFIG, "USERNAME must not hold a NUL byte");
    mem_free(d->username);
    d->username = username.n == 0 ? NULL : mem_text(username);
    if (username.n > 0 && d->username == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    return ERR_OK;
}

static enum err
take_options(struct sink_def *d, const struct sql_sink *sink, struct errinfo *info)
{
    enum err err = sink_def_reset_options(d);

    for (size_t i = 0; i < sink->option_count && err == ERR_OK; i++)
        err = sink_def_set_option(d, sink->options[i].key, sink->options[i].value, info);
    return err;
}

/* The clauses that are there replace what the definition has. A URL's user info yields to USERNAME
 * and PASSWORD. */
static enum err
take_clauses(struct sink_def *d, const struct sql_sink *sink, struct errinfo *info)
{
    enum err err = ERR_OK;

    if (sql_sink_has(sink, SQL_CLAUSE_TO))
        err = sink_def_set_url(d, sink->to, info);
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_USERNAME))
        err = take_username(d, sink->username, info);
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_PASSWORD)) {
        secret_free(&d->password);
        if (sink->password.n > 0)
            err = secret_set(&d->password, sink->password);
    }
    if (sql_sink_has(sink, SQL_CLAUSE_FORMAT))
        d->format = format_of(sink->format);
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_ON))
        err = take_databases(&d->databases, sink, info);
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_INCLUDE))
        err = take_selectors(&d->include, sink->include, sink->include_count, info);
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_EXCLUDE))
        err = take_selectors(&d->exclude, sink->exclude, sink->exclude_count, info);
    if (sql_sink_has(sink, SQL_CLAUSE_BATCH_SIZE))
        d->batch_size = sink->batch_size;
    if (sql_sink_has(sink, SQL_CLAUSE_FLUSH_INTERVAL))
        d->flush_interval_ms = sink->flush_interval_ns / 1000000;
    if (err == ERR_OK && sql_sink_has(sink, SQL_CLAUSE_WITH))
        err = take_options(d, sink, info);
    return err;
}

/* ---- allow_hosts, deny_hosts ---- */

/* A name as DNS compares it: without case, and without the dot that may end it. */
static struct slice
plain_name(struct slice name, uint8_t out[URL_HOST_MAX])
{
    name = slice_to(name, URL_HOST_MAX);
    if (name.n > 1 && name.p[name.n - 1] == '.')
        name.n--;
    for (size_t i = 0; i < name.n; i++)
        out[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (uint8_t)(name.p[i] | 0x20) : name.p[i];
    return slice_make(out, name.n);
}

static bool
any_glob(const struct config_list *list, struct slice host)
{
    uint8_t plain_host[URL_HOST_MAX], plain_glob[URL_HOST_MAX];

    host = plain_name(host, plain_host);
    for (size_t i = 0; i < list->count; i++) {
        if (text_glob(plain_name(slice_of(list->items[i]), plain_glob), host))
            return true;
    }
    return false;
}

static enum err
check_hosts(const struct sink_def *d, const struct config_sink *config, struct errinfo *info)
{
    struct url url;

    if (d->url == NULL)
        return ERR_OK;
    if (url_parse(slice_of(d->url), &url, info) != ERR_OK)
        return ERR_CONFIG;
    for (size_t i = 0; i < url.host_count; i++) {
        struct slice host = url.hosts[i].host;

        if (any_glob(&config->deny_hosts, host) ||
            (config->allow_hosts.count > 0 && !any_glob(&config->allow_hosts, host)))
            return errinfo_set(info, ERR_CONFIG,
                               "sink.allow_hosts and sink.deny_hosts do not let sinks send to %.*s",
                               SLICE_PRI(host));
    }
    return ERR_OK;
}

/* ---- the calls ---- */

static enum err
checked(struct sink_def *d, enum err err, const struct config_sink *config, struct errinfo *info)
{
    if (err == ERR_OK)
        err = sink_def_check(d, info);
    if (err == ERR_OK)
        err = check_hosts(d, config, info);
    if (err == ERR_NOMEM)
        errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    if (err != ERR_OK)
        sink_def_free(d);
    return err;
}

enum err
sink_ddl_create(struct sink_def *out, const struct sql_statement *statement,
                const struct config_sink *config, struct errinfo *info)
{
    const struct sink_type *type = sink_types_find(slice_of(sql_words_type(statement->sink.type)));
    enum err err;

    if (slice_find(statement->name, 0) < statement->name.n)
        return errinfo_set(info, ERR_CONFIG, "a sink's name must not hold a NUL byte");
    if (type == NULL || sink_def_init(out, type) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    out->name = mem_text(statement->name);
    err = out->name == NULL ? ERR_NOMEM : take_clauses(out, &statement->sink, info);
    return checked(out, err, config, info);
}

enum err
sink_ddl_alter(struct sink_def *out, const struct sink_def *old,
               const struct sql_statement *statement, const struct config_sink *config,
               struct errinfo *info)
{
    enum err err = sink_def_copy(out, old);

    if (err != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    return checked(out, take_clauses(out, &statement->sink, info), config, info);
}

bool
sink_ddl_is_available(const struct sink_def *def)
{
    return def->type->open != NULL;
}

bool
sink_ddl_option_is_public(const struct sql_statement *statement, struct slice key)
{
    const struct sink_type *type;
    const struct option *o;

    for (size_t t = 0; (type = sink_types_at(t)) != NULL; t++) {
        if (sql_sink_has(&statement->sink, SQL_CLAUSE_TYPE) &&
            !slice_eq_nocase(slice_of(type->name), slice_of(sql_words_type(statement->sink.type))))
            continue;
        for (size_t i = 0; (o = sink_options_at(type, i)) != NULL; i++) {
            if (slice_eq_nocase(slice_of(o->name), key))
                return o->kind != OPTION_SECRET;
        }
    }
    return false;
}
