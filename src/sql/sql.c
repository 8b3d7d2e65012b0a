/*
 * sql.c: a request's text to its statements; names and quotes of the language. See sql.h.
 */
#include "sql/sql.h"

#include <stdio.h>

#include "base/mem.h"
#include "sql/sql_parse_admin.h"
#include "sql/sql_parse_other.h"
#include "sql/sql_parse_sink.h"
#include "sql/sql_parser.h"

/*
 * How statements begin, and what the errors list, in InfluxDB's order. Without a function the
 * statement is one that sinkd does not have.
 */
struct head {
    const char *first, *second; /* second: NULL when one word is enough */
    bool (*parse)(struct sql_parser *, struct sql_statement *);
};

static const struct head heads[] = {
    {"SELECT", NULL, sql_parse_other_select},
    {"DELETE", NULL, NULL},
    {"SHOW", "CONTINUOUS", NULL},
    {"SHOW", "DATABASES", sql_parse_admin_show_databases},
    {"SHOW", "DEAD", sql_parse_admin_show_letters},
    {"SHOW", "DIAGNOSTICS", NULL},
    {"SHOW", "FIELD", NULL},
    {"SHOW", "GRANTS", NULL},
    {"SHOW", "LEDGER", sql_parse_admin_show_ledger},
    {"SHOW", "MEASUREMENT", NULL},
    {"SHOW", "MEASUREMENTS", NULL},
    {"SHOW", "QUERIES", NULL},
    {"SHOW", "RETENTION", NULL},
    {"SHOW", "SERIES", NULL},
    {"SHOW", "SHARD", NULL},
    {"SHOW", "SHARDS", NULL},
    {"SHOW", "SINK", sql_parse_admin_show_sink},
    {"SHOW", "SINKS", sql_parse_admin_show_sinks},
    {"SHOW", "STATS", NULL},
    {"SHOW", "SUBSCRIPTIONS", NULL},
    {"SHOW", "TAG", NULL},
    {"SHOW", "USERS", sql_parse_admin_show_users},
    {"CREATE", "CONTINUOUS", NULL},
    {"CREATE", "DATABASE", sql_parse_admin_create_database},
    {"CREATE", "USER", sql_parse_admin_create_user},
    {"CREATE", "RETENTION", sql_parse_other_policy},
    {"CREATE", "SINK", sql_parse_sink_create},
    {"CREATE", "SUBSCRIPTION", sql_parse_other_subscription},
    {"DROP", "CONTINUOUS", NULL},
    {"DROP", "DATABASE", sql_parse_admin_drop_database},
    {"DROP", "DEAD", sql_parse_admin_drop_letters},
    {"DROP", "MEASUREMENT", NULL},
    {"DROP", "RETENTION", NULL},
    {"DROP", "SERIES", NULL},
    {"DROP", "SHARD", NULL},
    {"DROP", "SINK", sql_parse_admin_drop_sink},
    {"DROP", "SUBSCRIPTION", NULL},
    {"DROP", "USER", sql_parse_admin_drop_user},
    {"EXPLAIN", NULL, NULL},
    {"GRANT", NULL, sql_parse_admin_grant},
    {"REVOKE", NULL, sql_parse_admin_revoke},
    {"ALTER", "RETENTION", NULL},
    {"ALTER", "SINK", sql_parse_sink_alter},
    {"SET", "PASSWORD", sql_parse_admin_set_password},
    {"KILL", "QUERY", NULL},
    {"REPLAY", "DEAD", sql_parse_admin_replay_letters},
    {"REPAIR", "DEAD", sql_parse_admin_repair_letter},
};

#define HEAD_COUNT (sizeof(heads) / sizeof(heads[0]))

/* The error lists the words that may stand here: first ones, or the second ones of ${first}. */
static bool
found_no_head(struct sql_parser *p, const char *first)
{
    char expected[300];
    const char *last = "";
    size_t used = 0;

    expected[0] = 0;
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        const char *word = first == NULL ? heads[i].first : heads[i].second;

        if ((first != NULL && strcmp(first, heads[i].first) != 0) || strcmp(word, last) == 0)
            continue;
        (void)snprintf(expected + used, sizeof(expected) - used, "%s%s", used == 0 ? "" : ", ",
                       word);
        used = strlen(expected);
        last = word;
    }
    return sql_parser_found(p, expected);
}

static bool
parse_statement(struct sql_parser *p, struct sql_statement *statement)
{
    size_t i = 0;
    char words[40];

    while (i < HEAD_COUNT && !sql_parser_at_word(p, heads[i].first))
        i++;
    if (i == HEAD_COUNT)
        return found_no_head(p, NULL);
    (void)sql_parser_accept(p, heads[i].first);
    if (heads[i].second != NULL) {
        const char *first = heads[i].first;

        while (i < HEAD_COUNT &&
               (strcmp(heads[i].first, first) != 0 || !sql_parser_at_word(p, heads[i].second)))
            i++;
        if (i == HEAD_COUNT)
            return found_no_head(p, first);
        (void)sql_parser_accept(p, heads[i].second);
    }
    if (heads[i].parse != NULL)
        return heads[i].parse(p, statement);
    (void)snprintf(words, sizeof(words), "%s%s%s", heads[i].first,
                   heads[i].second == NULL ? "" : " ",
                   heads[i].second == NULL ? "" : heads[i].second);
    return sql_parse_other_skip(p, statement, words);
}

/* One statement more for the script. */
static bool
add_statement(struct sql_parser *p, size_t *room)
{
    struct sql_script *script = p->script;
    struct sql_statement statement = {0};

    if (script->count == SQL_STATEMENTS_MAX)
        return sql_parser_fail(p, ERR_RANGE, "more than %d statements", SQL_STATEMENTS_MAX);
    if (!parse_statement(p, &statement))
        return false;
    if (script->count == *room) {
        size_t more = *room == 0 ? 4 : *room * 2;
        void *statements = mem_resize(script->statements, more * sizeof(statement));

        if (statements == NULL) {
            p->err = ERR_NOMEM;
            (void)snprintf(p->error->text, sizeof(p->error->text), "out of memory");
            return false;
        }
        script->statements = statements;
        *room = more;
    }
    script->statements[script->count++] = statement;
    return true;
}

static bool
parse_all(struct sql_parser *p)
{
    size_t room = 0;

    for (;;) {
        while (sql_parser_accept_sign(p, ';'))
            p->hot = false;
        if (p->token.kind == SQL_TOKEN_EOF)
            return true;
        if (!add_statement(p, &room))
            return false;
        if (!sql_parser_at_end(p))
            return sql_parser_found(p, ";");
        p->hot = false;
    }
}

/* The text without the blanks around it: positions count from its first byte, as in InfluxDB. */
static struct slice
trim(struct slice text)
{
    static const struct slice blanks = SLICE_INIT(" \t\r\n\v\f");

    while (text.n > 0 && slice_find(blanks, text.p[0]) < blanks.n)
        text = slice_from(text, 1);
    while (text.n > 0 && slice_find(blanks, text.p[text.n - 1]) < blanks.n)
        text = slice_to(text, text.n - 1);
    return text;
}

enum err
sql_parse(struct slice text, struct sql_script *script, struct sql_error *error)
{
    struct sql_parser p;

    *script = (struct sql_script){0};
    *error = (struct sql_error){0};
    if (text.n > SQL_TEXT_MAX) {
        (void)snprintf(error->text, sizeof(error->text),
                       "error parsing query: the text has %zu bytes, at most %zu are taken", text.n,
                       SQL_TEXT_MAX);
        return ERR_RANGE;
    }
    if (text.n == 0)
        text = SLICE("");
    if (!sql_parser_init(&p, trim(text), script, error) || !parse_all(&p)) {
        sql_free(script);
        return p.err;
    }
    return ERR_OK;
}

void
sql_free(struct sql_script *script)
{
    if (script->text != NULL)
        mem_wipe(script->text, script->text_size);
    mem_free(script->text);
    for (size_t i = 0; i < script->list_count; i++)
        mem_free(script->lists[i]);
    mem_free(script->lists);
    mem_free(script->statements);
    *script = (struct sql_script){0};
}

static enum err
quote(struct buf *out, struct slice s, uint8_t mark)
{
    size_t before = buf_len(out);
    enum err err = buf_add_byte(out, mark);

    for (size_t i = 0; err == ERR_OK && i < s.n; i++) {
        uint8_t c = s.p[i];

        if (c == '\\' || c == mark || c == '\n')
            err = buf_add_byte(out, '\\');
        if (err == ERR_OK)
            err = buf_add_byte(out, c == '\n' ? 'n' : c);
    }
    if (err == ERR_OK)
        err = buf_add_byte(out, mark);
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

enum err
sql_quote_name(struct buf *out, struct slice name)
{
    return quote(out, name, '"');
}

enum err
sql_quote_value(struct buf *out, struct slice value)
{
    return quote(out, value, '\'');
}
