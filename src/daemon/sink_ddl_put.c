/*
 * sink_ddl_put.c: from a definition to the statements that make it again. See sink_ddl.h.
 */
#include "base/mem.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"
#include "sink/sink_options.h"
#include "sql/sql_words.h"

/* What a statement's slices and lists need beside the definition that they point into. */
struct lists {
    struct slice *databases;
    struct sql_selector *include, *exclude;
    struct sql_option *options;
};

static enum sql_selector_kind
kind_of(enum selector_kind kind)
{
    switch (kind) {
    case SELECTOR_NAME:
        return SQL_SELECT_NAME;
    case SELECTOR_GLOB:
        return SQL_SELECT_GLOB;
    case SELECTOR_REGEX:
        return SQL_SELECT_REGEX;
    }
    return SQL_SELECT_NAME;
}

static enum sql_format
format_of(enum sink_format format)
{
    switch (format) {
    case SINK_LINE_PROTOCOL:
        return SQL_FORMAT_LINE_PROTOCOL;
    case SINK_JSON:
        return SQL_FORMAT_JSON;
    case SINK_MSGPACK:
        return SQL_FORMAT_MSGPACK;
    }
    return SQL_FORMAT_LINE_PROTOCOL;
}

static enum err
allocate(struct lists *l, const struct sink_def *def)
{
    l->databases = mem_array(def->databases.count + 1, sizeof(*l->databases));
    l->include = mem_array(def->include.count + 1, sizeof(*l->include));
    l->exclude = mem_array(def->exclude.count + 1, sizeof(*l->exclude));
    l->options = mem_array(sink_options_count(def->type) + 1, sizeof(*l->options));
    return l->databases == NULL || l->include == NULL || l->exclude == NULL || l->options == NULL
               ? ERR_NOMEM
               : ERR_OK;
}

static void
free_lists(struct lists *l)
{
    mem_free(l->databases);
    mem_free(l->include);
    mem_free(l->exclude);
    mem_free(l->options);
}

static void
put_selectors(struct sql_selector *to, const struct selector_list *from)
{
    for (size_t i = 0; i < from->count; i++) {
        to[i].kind = kind_of(from->list[i].kind);
        to[i].text = slice_of(from->list[i].text);
    }
}

/* An option is written as the user wrote it; quotes are needed where it is a text. */
static enum sql_value_kind
value_kind(const struct option *o)
{
    switch (o->kind) {
    case OPTION_BOOL:
        return SQL_VALUE_BOOLEAN;
    case OPTION_NUMBER:
        return SQL_VALUE_INTEGER;
    case OPTION_DURATION:
        return SQL_VALUE_DURATION;
    case OPTION_CHOICE:
    case OPTION_TEXT:
    case OPTION_SECRET:
        return SQL_VALUE_STRING;
    }
    return SQL_VALUE_STRING;
}

static void
set_clause(struct sql_sink *sink, enum sql_clause clause, bool given)
{
    if (given)
        sink->clauses |= (unsigned)clause;
}

static void
fill_lists(struct sql_sink *sink, struct lists *l, const struct sink_def *def)
{
    const struct option *o;

    for (size_t i = 0; i < def->databases.count; i++)
        l->databases[i] = slice_of(def->databases.list[i].text);
    sink->databases = l->databases;
    sink->database_count = def->databases.count;
    set_clause(sink, SQL_CLAUSE_ON, def->databases.count > 0);
    put_selectors(l->include, &def->include);
    sink->include = l->include;
    sink->include_count = def->include.count;
    sink->include_all = def->include.count == 0;
    set_clause(sink, SQL_CLAUSE_INCLUDE, true);
    put_selectors(l->exclude, &def->exclude);
    sink->exclude = l->exclude;
    sink->exclude_count = def->exclude.count;
    set_clause(sink, SQL_CLAUSE_EXCLUDE, def->exclude.count > 0);
    sink->options = l->options;
    for (size_t i = 0; (o = sink_options_at(def->type, i)) != NULL; i++) {
        if (!def->options[i].set)
            continue;
        l->options[sink->option_count++] = (struct sql_option){
            slice_of(o->name), value_kind(o), secret_reveal(&def->options[i].text)};
    }
    set_clause(sink, SQL_CLAUSE_WITH, sink->option_count > 0);
}

static enum err
fill(struct sql_statement *s, struct lists *l, const struct sink_def *def)
{
    struct sql_sink *sink = &s->sink;

    *s = (struct sql_statement){.kind = SQL_CREATE_SINK, .name = slice_of(def->name)};
    if (!sql_words_find_type(slice_of(def->type->name), &sink->type))
        return ERR_BAD;
    set_clause(sink, SQL_CLAUSE_TYPE, true);
    sink->to = slice_of(def->url);
    set_clause(sink, SQL_CLAUSE_TO, def->url != NULL);
    sink->username = slice_of(def->username);
    set_clause(sink, SQL_CLAUSE_USERNAME, def->username != NULL);
    sink->password = secret_reveal(&def->password);
    set_clause(sink, SQL_CLAUSE_PASSWORD, secret_is_set(&def->password));
    sink->format = format_of(def->format);
    set_clause(sink, SQL_CLAUSE_FORMAT, def->format != sink_def_default_format(def->type));
    sink->batch_size = def->batch_size;
    set_clause(sink, SQL_CLAUSE_BATCH_SIZE, def->batch_size > 0);
    sink->flush_interval_ns = def->flush_interval_ms * 1000000;
    set_clause(sink, SQL_CLAUSE_FLUSH_INTERVAL, def->flush_interval_ms >= 0);
    fill_lists(sink, l, def);
    return ERR_OK;
}

static enum err
put_statement(struct buf *out, const struct sql_statement *s, enum sql_secrets secrets)
{
    const struct sql_render_options options = {.secrets = secrets,
                                               .option_is_public = sink_ddl_option_is_public,
                                               .multiline = s->kind == SQL_CREATE_SINK};
    enum err err = sql_render(out, s, &options);

    return err == ERR_OK ? buf_add_text(out, ";\n") : err;
}

enum err
sink_ddl_put(const struct sink_def *def, enum sql_secrets secrets, struct buf *out)
{
    struct sql_statement pause = {.kind = SQL_PAUSE_SINK, .name = slice_of(def->name)}, create;
    struct lists lists = {NULL, NULL, NULL, NULL};
    enum err err = allocate(&lists, def);

    if (err == ERR_OK)
        err = fill(&create, &lists, def);
    if (err == ERR_OK)
        err = put_statement(out, &create, secrets);
    if (err == ERR_OK && def->paused)
        err = put_statement(out, &pause, secrets);
    free_lists(&lists);
    return err;
}
