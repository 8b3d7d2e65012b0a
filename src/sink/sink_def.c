/*
 * sink_def.c: see sink_def.h. The form in the store is in sink_def_store.c.
 */
#include "sink/sink_def.h"

#include <assert.h>
#include <regex.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"
#include "sink/sink.h"
#include "sink/sink_options.h"

const char *
sink_def_format_name(enum sink_format format)
{
    switch (format) {
    case SINK_LINE_PROTOCOL:
        return "line_protocol";
    case SINK_JSON:
        return "json";
    case SINK_MSGPACK:
        return "msgpack";
    }
    return "?";
}

enum sink_format
sink_def_default_format(const struct sink_type *type)
{
    int format = SINK_LINE_PROTOCOL;

    while (format < SINK_MSGPACK && (type->formats & (1u << format)) == 0)
        format++;
    return (enum sink_format)format;
}

enum err
sink_def_init(struct sink_def *d, const struct sink_type *type)
{
    *d = (struct sink_def){0};
    d->type = type;
    d->format = sink_def_default_format(type);
    d->flush_interval_ms = -1;
    d->options = mem_array(sink_options_count(type), sizeof(*d->options));
    if (d->options == NULL || sink_def_reset_options(d) != ERR_OK) {
        sink_def_free(d);
        return ERR_NOMEM;
    }
    return ERR_OK;
}

void
sink_def_free(struct sink_def *d)
{
    mem_free(d->name);
    mem_free(d->url);
    mem_free(d->username);
    secret_free(&d->password);
    sink_def_clear(&d->databases);
    sink_def_clear(&d->include);
    sink_def_clear(&d->exclude);
    for (size_t i = 0; d->options != NULL && i < sink_options_count(d->type); i++)
        option_free(&d->options[i]);
    mem_free(d->options);
    *d = (struct sink_def){0};
}

void
sink_def_clear(struct selector_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->list[i].text);
    mem_free(list->list);
    *list = (struct selector_list){0};
}

static enum err
copy_text(char **to, const char *from)
{
    if (from == NULL)
        return ERR_OK;
    *to = mem_text(slice_of(from));
    return *to == NULL ? ERR_NOMEM : ERR_OK;
}

static enum err
copy_list(struct selector_list *to, const struct selector_list *from)
{
    enum err err = ERR_OK;

    for (size_t i = 0; i < from->count && err == ERR_OK; i++)
        err = sink_def_add(to, from->list[i].kind, slice_of(from->list[i].text), NULL);
    return err;
}

static enum err
copy_options(struct sink_def *to, const struct sink_def *from)
{
    for (size_t i = 0; i < sink_options_count(from->type); i++) {
        to->options[i].set = from->options[i].set;
        to->options[i].number = from->options[i].number;
        if (secret_copy(&to->options[i].text, &from->options[i].text) != ERR_OK)
            return ERR_NOMEM;
    }
    return ERR_OK;
}

enum err
sink_def_copy(struct sink_def *to, const struct sink_def *from)
{
    if (sink_def_init(to, from->type) != ERR_OK)
        return ERR_NOMEM;
    to->id = from->id;
    to->format = from->format;
    to->batch_size = from->batch_size;
    to->flush_interval_ms = from->flush_interval_ms;
    to->paused = from->paused;
    to->followed = from->followed;
    to->created_ns = from->created_ns;
    if (copy_text(&to->name, from->name) != ERR_OK || copy_text(&to->url, from->url) != ERR_OK ||
        copy_text(&to->username, from->username) != ERR_OK ||
        secret_copy(&to->password, &from->password) != ERR_OK ||
        copy_list(&to->databases, &from->databases) != ERR_OK ||
        copy_list(&to->include, &from->include) != ERR_OK ||
        copy_list(&to->exclude, &from->exclude) != ERR_OK || copy_options(to, from) != ERR_OK) {
        sink_def_free(to);
        return ERR_NOMEM;
    }
    return ERR_OK;
}

/* A regular expression must compile before it is accepted; the filter compiles it again. */
static enum err
check_regex(const char *text, struct errinfo *info)
{
    char why[80];
    regex_t compiled;
    int code = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB);

    if (code != 0) {
        regerror(code, &compiled, why, sizeof(why));
        return errinfo_set(info, ERR_CONFIG, "regular expression /%.60s/ does not compile: %s",
                           text, why);
    }
    regfree(&compiled);
    return ERR_OK;
}

enum err
sink_def_add(struct selector_list *list, enum selector_kind kind, struct slice text,
             struct errinfo *info)
{
    struct selector *grown;
    char *copy;
    enum err err = ERR_OK;

    if (slice_find(text, 0) < text.n)
        return errinfo_set(info, ERR_CONFIG, "a name must not hold a NUL byte");
    copy = mem_text(text);
    if (copy == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    if (kind == SELECTOR_REGEX)
        err = check_regex(copy, info);
    grown = err == ERR_OK ? mem_resize(list->list, (list->count + 1) * sizeof(*grown)) : NULL;
    if (grown == NULL) {
        mem_free(copy);
        return err != ERR_OK ? err
                             : errinfo_set(info, ERR_NOMEM, "no memory for a sink definition");
    }
    list->list = grown;
    list->list[list->count++] = (struct selector){kind, copy};
    return ERR_OK;
}

static size_t
option_index(const struct sink_type *type, struct slice name)
{
    const struct option *o;
    size_t i = 0;

    while ((o = sink_options_at(type, i)) != NULL && !slice_eq_nocase(slice_of(o->name), name))
        i++;
    return i;
}

/* All options, the type's own first. */
static enum err
unknown_option(const struct sink_type *type, struct slice key, struct errinfo *info)
{
    size_t count = sink_options_count(type), common = count - type->options.count, used = 0;
    char known[sizeof(info->text) - 80];

    for (size_t i = 0; i < count; i++) {
        const char *name = sink_options_at(type, (common + i) % count)->name;
        size_t n = strlen(name);

        if (used + n + 1 > sizeof(known))
            break;
        if (used > 0)
            known[used++] = ' ';
        memcpy(known + used, name, n);
        used += n;
    }
    return errinfo_set(info, ERR_CONFIG, "type %s has no option %.*s; it has: %.*s", type->name,
                       SLICE_PRI(slice_to(key, 24)), (int)used, known);
}

enum err
sink_def_set_option(struct sink_def *d, struct slice key, struct slice text, struct errinfo *info)
{
    size_t i = option_index(d->type, key);
    const struct option *o = sink_options_at(d->type, i);

    if (o == NULL)
        return unknown_option(d->type, key, info);
    return option_parse(o, text, &d->options[i], info);
}

enum err
sink_def_reset_options(struct sink_def *d)
{
    const struct option *o;

    for (size_t i = 0; (o = sink_options_at(d->type, i)) != NULL; i++) {
        if (option_default(o, &d->options[i]) != ERR_OK)
            return ERR_NOMEM;
    }
    return ERR_OK;
}

/* User info is percent-encoded in a URL; what it means is the decoded text. */
static enum err
take_user_info(struct sink_def *d, const struct url *url, struct errinfo *info)
{
    struct buf text;
    enum err err = ERR_OK;

    buf_init(&text, URL_TEXT_MAX);
    if (url->has_user && url->user.n > 0) {
        err = text_unpercent(&text, url->user, false);
        if (err == ERR_OK && slice_find(buf_peek(&text), 0) < buf_len(&text))
            err = ERR_BAD;
        if (err == ERR_OK) {
            mem_free(d->username);
            d->username = mem_text(buf_peek(&text));
            err = d->username == NULL ? ERR_NOMEM : ERR_OK;
        }
    }
    if (err == ERR_OK && url->has_password) {
        buf_clear(&text);
        err = text_unpercent(&text, url->password, false);
        if (err == ERR_OK)
            err = secret_set(&d->password, buf_peek(&text));
    }
    buf_wipe(&text);
    if (err == ERR_NOMEM)
        return errinfo_set(info, ERR_NOMEM, "no memory for a URL");
    return err == ERR_OK ? ERR_OK
                         : errinfo_set(info, ERR_CONFIG, "the URL's user info is malformed");
}

enum err
sink_def_set_url(struct sink_def *d, struct slice text, struct errinfo *info)
{
    struct url url;
    struct buf plain;
    enum err err = url_parse(text, &url, info);

    if (err != ERR_OK) {
        if (info != NULL)
            info->code = ERR_CONFIG;
        return ERR_CONFIG;
    }
    err = take_user_info(d, &url, info);
    if (err != ERR_OK)
        return err;
    buf_init(&plain, URL_TEXT_MAX);
    err = url_write(&plain, &url, URL_SECRETS_SHOWN);
    mem_free(d->url);
    d->url = err == ERR_OK ? mem_text(buf_peek(&plain)) : NULL;
    buf_wipe(&plain);
    return d->url == NULL ? errinfo_set(info, ERR_NOMEM, "no memory for a URL") : ERR_OK;
}

static const struct option_value *
value_of(const struct sink_def *d, const char *name)
{
    size_t i = option_index(d->type, slice_of(name));

    assert(sink_options_at(d->type, i) != NULL);
    return &d->options[i];
}

int64_t
sink_def_number(const struct sink_def *d, const char *name)
{
    return value_of(d, name)->number;
}

bool
sink_def_bool(const struct sink_def *d, const char *name)
{
    return value_of(d, name)->number != 0;
}

struct slice
sink_def_text(const struct sink_def *d, const char *name)
{
    return secret_reveal(&value_of(d, name)->text);
}

bool
sink_def_is_set(const struct sink_def *d, const char *name)
{
    return value_of(d, name)->set;
}

static bool
scheme_allowed(const struct sink_type *type, const struct url *url)
{
    struct slice rest = slice_of(type->schemes), scheme;

    while (slice_split(&rest, ' ', &scheme)) {
        if (slice_eq_nocase(scheme, url->scheme))
            return true;
    }
    return false;
}

static enum err
check_url(const struct sink_def *d, struct errinfo *info)
{
    struct url url;
    enum err err;

    if (!d->type->has_url) {
        if (d->url != NULL)
            return errinfo_set(info, ERR_CONFIG, "type %s takes no TO", d->type->name);
        return ERR_OK;
    }
    if (d->url == NULL)
        return errinfo_set(info, ERR_CONFIG, "type %s needs TO with a URL", d->type->name);
    err = url_parse(slice_of(d->url), &url, info);
    if (err != ERR_OK)
        return ERR_CONFIG;
    if (!scheme_allowed(d->type, &url))
        return errinfo_set(info, ERR_CONFIG, "type %s takes a URL that starts with one of: %s",
                           d->type->name, d->type->schemes);
    return ERR_OK;
}

enum err
sink_def_check(const struct sink_def *d, struct errinfo *info)
{
    enum err err = check_url(d, info);

    if (err != ERR_OK)
        return err;
    if ((d->type->formats & (1u << d->format)) == 0)
        return errinfo_set(info, ERR_CONFIG, "format %s is not available for type %s",
                           sink_def_format_name(d->format), d->type->name);
    if (!d->type->has_url && (d->username != NULL || secret_is_set(&d->password)))
        return errinfo_set(info, ERR_CONFIG, "type %s takes no USERNAME and no PASSWORD",
                           d->type->name);
    return d->type->check(d, info);
}

static enum err
put_selector(struct buf *out, const struct selector *s)
{
    switch (s->kind) {
    case SELECTOR_REGEX:
        return buf_printf(out, "/%s/", s->text);
    case SELECTOR_NAME:
    case SELECTOR_GLOB:
        return buf_add_text(out, s->text);
    }
    return ERR_BAD;
}

static enum err
put_list(struct buf *out, const struct selector_list *list)
{
    enum err err = ERR_OK;

    for (size_t i = 0; i < list->count && err == ERR_OK; i++) {
        if (i > 0)
            err = buf_add_byte(out, ',');
        if (err == ERR_OK)
            err = put_selector(out, &list->list[i]);
    }
    return err;
}

enum err
sink_def_put_include(const struct sink_def *d, struct buf *out)
{
    enum err err = d->include.count == 0 ? buf_add_byte(out, '*') : put_list(out, &d->include);

    if (err == ERR_OK && d->exclude.count > 0) {
        err = buf_add_text(out, " EXCLUDE ");
        if (err == ERR_OK)
            err = put_list(out, &d->exclude);
    }
    return err;
}
