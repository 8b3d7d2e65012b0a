/*
 * cli_definition.c: properties into a struct sql_statement, which sql_render writes down.
 */
#include "cli/cli_definition.h"

#include "base/mem.h"
#include "base/num.h"
#include "sink/sink.h"
#include "sink/sink_options.h"
#include "sink/sink_types.h"
#include "sql/sql_words.h"

enum err
cli_definition_set(struct cli_definition *d, struct slice key, const struct json *value)
{
    const struct {
        const char *name;
        struct json *place;
    } known[] = {
        {"name", &d->name},
        {"type", &d->type},
        {"url", &d->url},
        {"username", &d->username},
        {"password", &d->password},
        {"format", &d->format},
        {"databases", &d->databases},
        {"include", &d->include},
        {"exclude", &d->exclude},
        {"batch_size", &d->batch_size},
        {"flush_interval", &d->flush_interval},
        {"status", &d->status},
        {"paused", &d->paused},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (json_is(key, known[i].name)) {
            *known[i].place = *value;
            return ERR_OK;
        }
    }
    if (json_is(key, "options") && value->type == JSON_OBJECT) {
        struct json_walk w;
        struct json v;
        enum err err = ERR_OK;

        json_walk(&w, value);
        while (err == ERR_OK && json_next(&w, &key, &v)) {
            if (d->count == CLI_DEFINITION_OPTIONS)
                return ERR_RANGE;
            d->keys[d->count] = key;
            d->values[d->count++] = v;
        }
        return err;
    }
    if (value->type == JSON_NULL)
        return ERR_OK;
    if (d->count == CLI_DEFINITION_OPTIONS)
        return ERR_RANGE;
    d->keys[d->count] = key;
    d->values[d->count++] = *value;
    return ERR_OK;
}

/* A statement being filled: its memory, and the first thing that was wrong. */
struct filling {
    struct buf text; /* reserved at once, so that slices into it stay */
    struct sql_selector *selectors;
    size_t selector_count;
    struct slice *databases;
    struct sql_option options[CLI_DEFINITION_OPTIONS];
    struct sql_statement s;
    const struct sink_type *type;
    enum err err;
    const char *wrong;
};

static void
refuse(struct filling *f, enum err err, const char *property)
{
    if (f->err != ERR_OK)
        return;
    f->err = err;
    f->wrong = property;
}

/* A value as text: decoded, or as it stands when it is a number or a boolean. */
static struct slice
take_text(struct filling *f, const struct json *v)
{
    size_t before = buf_len(&f->text);
    enum err err = ERR_OK;

    if (v->type == JSON_STRING)
        err = json_text(&f->text, v->raw);
    else if (v->type != JSON_NULL)
        err = buf_add(&f->text, v->raw);
    if (err != ERR_OK)
        refuse(f, err, "text");
    return slice_from(buf_peek(&f->text), before);
}

static bool
take_clause(struct filling *f, const struct json *v, enum sql_clause clause, struct slice *out)
{
    if (v->type == JSON_NULL)
        return false;
    *out = take_text(f, v);
    f->s.sink.clauses |= (unsigned)clause;
    return true;
}

/* The length of the first selector: up to a comma, or the ends of quotes and slashes before one. */
static size_t
selector_length(struct slice list)
{
    size_t i = 0;

    if (list.n > 0 && (list.p[0] == '/' || list.p[0] == '"')) {
        for (i = 1; i < list.n && list.p[i] != list.p[0]; i++)
            i += list.p[i] == '\\';
        i = i < list.n ? i + 1 : list.n;
    }
    while (i < list.n && list.p[i] != ',')
        i++;
    return i;
}

static bool
is_wrapped(struct slice s, uint8_t c)
{
    return s.n >= 2 && s.p[0] == c && s.p[s.n - 1] == c;
}

static void
add_selector(struct filling *f, struct slice one)
{
    struct sql_selector *s;

    if (f->selector_count == SQL_LIST_MAX) {
        refuse(f, ERR_RANGE, "include");
        return;
    }
    s = &f->selectors[f->selector_count++];
    s->kind = slice_find(one, '*') < one.n ? SQL_SELECT_GLOB : SQL_SELECT_NAME;
    s->text = one;
    if (is_wrapped(one, '/')) {
        s->kind = SQL_SELECT_REGEX;
        s->text = slice_from(slice_to(one, one.n - 1), 1);
    } else if (is_wrapped(one, '"')) {
        s->text = slice_from(slice_to(one, one.n - 1), 1);
    }
}

/* "cpu,mem*,/^disk/": how many were added. */
static size_t
add_selectors(struct filling *f, struct slice list)
{
    size_t before = f->selector_count;

    while (list.n > 0) {
        size_t n = selector_length(list);

        add_selector(f, slice_trim(slice_to(list, n)));
        list = slice_from(list, n + 1);
    }
    return f->selector_count - before;
}

/* "cpu,mem EXCLUDE mem_old", "*", "* EXCLUDE x". */
static void
take_include_text(struct filling *f, const struct json *v)
{
    static const struct slice exclude = SLICE_INIT(" EXCLUDE ");
    struct slice text = take_text(f, v);
    size_t at = 0;

    while (at < text.n && !slice_starts(slice_from(text, at), exclude))
        at++;
    if (!slice_eq(slice_to(text, at), SLICE("*")))
        f->s.sink.include_count = add_selectors(f, slice_to(text, at));
    f->s.sink.exclude = f->selectors + f->selector_count;
    f->s.sink.exclude_count = add_selectors(f, slice_from(text, at + exclude.n));
}

/* [{"name":"cpu"},{"glob":"mem*"},{"regex":"^disk"}]: how many were added. */
static size_t
take_selectors(struct filling *f, const struct json *list)
{
    static const char *const kinds[] = {"name", "glob", "regex"};
    struct json_walk w, members;
    struct json one, text;
    struct slice key;
    size_t before = f->selector_count;

    json_walk(&w, list);
    while (json_next(&w, NULL, &one)) {
        int kind = 0;

        json_walk(&members, &one);
        if (f->selector_count == SQL_LIST_MAX || !json_next(&members, &key, &text)) {
            refuse(f, ERR_BAD, "include");
            break;
        }
        while (kind < 3 && !json_is(key, kinds[kind]))
            kind++;
        if (kind == 3 || text.type != JSON_STRING)
            refuse(f, ERR_BAD, "include");
        f->selectors[f->selector_count].kind = (enum sql_selector_kind)kind;
        f->selectors[f->selector_count++].text = take_text(f, &text);
    }
    return f->selector_count - before;
}

static void
take_include(struct filling *f, const struct cli_definition *d)
{
    struct sql_sink *sink = &f->s.sink;

    f->selectors = mem_array(SQL_LIST_MAX, sizeof(*f->selectors));
    if (f->selectors == NULL) {
        refuse(f, ERR_NOMEM, "include");
        return;
    }
    sink->include = f->selectors;
    if (d->include.type == JSON_ARRAY || d->exclude.type == JSON_ARRAY) {
        sink->include_count = take_selectors(f, &d->include);
        sink->exclude = f->selectors + f->selector_count;
        sink->exclude_count = take_selectors(f, &d->exclude);
    } else {
        take_include_text(f, &d->include);
    }
    sink->include_all = sink->include_count == 0;
    sink->clauses |= SQL_CLAUSE_INCLUDE;
    if (sink->exclude_count > 0)
        sink->clauses |= SQL_CLAUSE_EXCLUDE;
}

static void
add_database(struct filling *f, struct slice name)
{
    struct sql_sink *sink = &f->s.sink;

    if (sink->database_count == SQL_LIST_MAX)
        refuse(f, ERR_RANGE, "databases");
    else
        f->databases[sink->database_count++] = name;
}

/* ["a","b"], or "a,b". */
static void
take_databases(struct filling *f, const struct json *v)
{
    struct json_walk w;
    struct json one;
    struct slice rest, name;

    f->databases = mem_array(SQL_LIST_MAX, sizeof(*f->databases));
    if (f->databases == NULL) {
        refuse(f, ERR_NOMEM, "databases");
        return;
    }
    f->s.sink.databases = f->databases;
    json_walk(&w, v);
    while (json_next(&w, NULL, &one))
        add_database(f, take_text(f, &one));
    if (v->type == JSON_STRING) {
        rest = take_text(f, v);
        while (slice_split(&rest, ',', &name))
            add_database(f, slice_trim(name));
    }
    if (f->s.sink.database_count > 0)
        f->s.sink.clauses |= SQL_CLAUSE_ON;
}

static void
take_type_and_format(struct filling *f, const struct cli_definition *d)
{
    struct slice type, format;

    if (!take_clause(f, &d->type, SQL_CLAUSE_TYPE, &type) ||
        !sql_words_find_type(type, &f->s.sink.type) || (f->type = sink_types_find(type)) == NULL) {
        refuse(f, ERR_BAD, "type");
        return;
    }
    if (!take_clause(f, &d->format, SQL_CLAUSE_FORMAT, &format))
        return;
    if (!sql_words_find_format(format, &f->s.sink.format))
        refuse(f, ERR_BAD, "format");
    else if (f->s.sink.format == SQL_FORMAT_LINE_PROTOCOL)
        f->s.sink.clauses &=
            ~(unsigned)SQL_CLAUSE_FORMAT; /* the default; not every type takes it */
}

static void
take_numbers(struct filling *f, const struct cli_definition *d)
{
    struct slice text;

    if (take_clause(f, &d->batch_size, SQL_CLAUSE_BATCH_SIZE, &text) &&
        num_u64(text, &f->s.sink.batch_size) != ERR_OK)
        refuse(f, ERR_BAD, "batch_size");
    if (take_clause(f, &d->flush_interval, SQL_CLAUSE_FLUSH_INTERVAL, &text) &&
        num_duration_ns(text, &f->s.sink.flush_interval_ns) != ERR_OK)
        refuse(f, ERR_BAD, "flush_interval");
}

static const struct option *
find_option(const struct sink_type *type, struct slice key)
{
    const struct option *o;

    for (size_t i = 0; (o = sink_options_at(type, i)) != NULL; i++) {
        if (slice_eq(slice_of(o->name), key))
            return o;
    }
    return NULL;
}

/* Bare where the statement's grammar has such a word, else a string, which every option takes. */
static enum sql_value_kind
value_kind(enum option_kind kind, struct slice value)
{
    uint64_t number;
    int64_t ns;

    if (kind == OPTION_BOOL && (slice_eq(value, SLICE("true")) || slice_eq(value, SLICE("false"))))
        return SQL_VALUE_BOOLEAN;
    if (kind == OPTION_NUMBER && num_u64(value, &number) == ERR_OK)
        return SQL_VALUE_INTEGER;
    if (kind == OPTION_DURATION && num_duration_ns(value, &ns) == ERR_OK)
        return SQL_VALUE_DURATION;
    return SQL_VALUE_STRING;
}

static void
take_options(struct filling *f, const struct cli_definition *d)
{
    struct json key = {JSON_STRING, {NULL, 0}};
    size_t count = 0;

    for (size_t i = 0; i < d->count && f->err == ERR_OK; i++) {
        const struct option *o;
        struct slice value;

        key.raw = d->keys[i];
        o = find_option(f->type, take_text(f, &key));
        if (o == NULL || d->values[i].type == JSON_NULL)
            continue;
        value = take_text(f, &d->values[i]);
        if (o->fallback != NULL && slice_eq(value, slice_of(o->fallback)))
            continue;
        f->options[count].key = slice_of(o->name);
        f->options[count].kind = value_kind(o->kind, value);
        f->options[count++].value = value;
    }
    f->s.sink.options = f->options;
    f->s.sink.option_count = count;
    if (count > 0)
        f->s.sink.clauses |= SQL_CLAUSE_WITH;
}

static void
fill(struct filling *f, const struct cli_definition *d)
{
    f->s.kind = SQL_CREATE_SINK;
    f->s.name = take_text(f, &d->name);
    if (f->s.name.n == 0)
        refuse(f, ERR_BAD, "name");
    take_type_and_format(f, d);
    (void)take_clause(f, &d->url, SQL_CLAUSE_TO, &f->s.sink.to);
    (void)take_clause(f, &d->username, SQL_CLAUSE_USERNAME, &f->s.sink.username);
    (void)take_clause(f, &d->password, SQL_CLAUSE_PASSWORD, &f->s.sink.password);
    take_databases(f, &d->databases);
    take_include(f, d);
    take_numbers(f, d);
    if (f->err == ERR_OK)
        take_options(f, d);
}

static bool
option_is_public(const struct sql_statement *statement, struct slice key)
{
    const struct sink_type *type = sink_types_find(slice_of(sql_words_type(statement->sink.type)));
    const struct option *o = type == NULL ? NULL : find_option(type, key);

    return o != NULL && o->kind != OPTION_SECRET;
}

static enum err
render(const struct filling *f, bool paused, enum sql_secrets secrets, struct buf *out)
{
    const struct sql_render_options options = {
        .secrets = secrets, .option_is_public = option_is_public, .multiline = true};
    const struct sql_statement pause = {.kind = SQL_PAUSE_SINK, .name = f->s.name};
    enum err err = sql_render(out, &f->s, &options);

    if (err == ERR_OK)
        err = buf_add_text(out, ";\n");
    if (err == ERR_OK && paused) {
        err = sql_render(out, &pause, &options);
        if (err == ERR_OK)
            err = buf_add_text(out, ";\n");
    }
    return err;
}

/* No decoded text is longer than it was; every value is taken once, and the keys of options. */
static size_t
text_bytes(const struct cli_definition *d)
{
    const struct json *all[] = {&d->name,     &d->type,   &d->url,        &d->username,
                                &d->password, &d->format, &d->databases,  &d->include,
                                &d->exclude,  &d->status, &d->batch_size, &d->flush_interval};
    size_t n = 1;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        n += all[i]->raw.n;
    for (size_t i = 0; i < d->count; i++)
        n += d->keys[i].n + d->values[i].raw.n;
    return 3 * n; /* U+FFFD is three bytes where one was */
}

enum err
cli_definition_put(const struct cli_definition *d, enum sql_secrets secrets, struct buf *out,
                   struct errinfo *info)
{
    struct filling *f = mem_zalloc(sizeof(*f));
    size_t bytes = text_bytes(d);
    enum err err;

    if (f == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory");
    buf_init(&f->text, bytes);
    if (buf_reserve(&f->text, bytes) == NULL)
        refuse(f, ERR_NOMEM, "text");
    else
        fill(f, d);
    err = f->err;
    if (err == ERR_OK) {
        err = render(f, d->paused.type == JSON_TRUE || json_is(d->status.raw, "paused"), secrets,
                     out);
        f->wrong = "statement";
    }
    if (err != ERR_OK)
        (void)errinfo_set(info, err, "the daemon's answer about sink %.*s: wrong %s",
                          SLICE_PRI(slice_to(f->s.name, 80)), f->wrong);
    buf_wipe(&f->text);
    mem_free(f->selectors);
    mem_free(f->databases);
    mem_free(f);
    return err;
}
