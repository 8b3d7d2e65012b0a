/*
 * sql_render.c: statements to their canonical text. See sql.h.
 *
 * Masking is part of writing: what must not be seen is never written first and edited later. What a
 * parsed statement cannot hold is refused, so that no hand-made one turns into another statement.
 */
#include "sql/sql.h"

#include "base/num.h"
#include "base/secret.h"
#include "base/url.h"
#include "sql/sql_lexer.h"
#include "sql/sql_words.h"

/* The first error sticks. */
struct render {
    struct buf *out;
    const struct sql_statement *statement;
    const struct sql_render_options *options;
    enum err err;
};

static void
put(struct render *r, struct slice s)
{
    if (r->err == ERR_OK)
        r->err = buf_add(r->out, s);
}

static void
put_text(struct render *r, const char *text)
{
    put(r, slice_of(text));
}

static void
put_number(struct render *r, const char *before, uint64_t n)
{
    uint8_t digits[NUM_TEXT];

    put_text(r, before);
    put(r, slice_make(digits, num_put_u64(digits, n)));
}

static void
refuse(struct render *r)
{
    if (r->err == ERR_OK)
        r->err = ERR_BAD;
}

/* InfluxQL has no escape for these in a quoted token. */
static bool
can_be_quoted(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == 0 || s.p[i] == '\r')
            return false;
    return true;
}

static bool
is_word(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0;
}

static void
put_quoted_name(struct render *r, struct slice name)
{
    if (!can_be_quoted(name))
        refuse(r);
    else if (r->err == ERR_OK)
        r->err = sql_quote_name(r->out, name);
}

/* Bare where that is the same, as InfluxDB writes statements in its messages. */
static void
put_name(struct render *r, struct slice name)
{
    if (is_word(name) && !sql_lexer_is_reserved(name))
        put(r, name);
    else
        put_quoted_name(r, name);
}

static void
put_value(struct render *r, struct slice value)
{
    if (!can_be_quoted(value))
        refuse(r);
    else if (r->err == ERR_OK)
        r->err = sql_quote_value(r->out, value);
}

static bool
shows_secrets(const struct render *r)
{
    return r->options->secrets == SQL_SECRETS_SHOWN;
}

static void
put_secret(struct render *r, struct slice value)
{
    put_value(r, shows_secrets(r) ? value : SLICE(SECRET_MASK));
}

/* A clause of a sink starts: on its own line if so wanted. */
static void
start_clause(struct render *r)
{
    put_text(r, r->options->multiline ? "\n  " : " ");
}

/*
 * A URL without its credentials. Left out they are not masked: a mask would go out as the password
 * when the statement is run. What is no URL is masked: a statement with it is refused anyway.
 */
static void
put_url(struct render *r, struct slice to, bool omitted)
{
    struct buf shown;
    struct url url;
    bool is_url = url_parse(to, &url, NULL) == ERR_OK;

    buf_init(&shown, 2 * URL_TEXT_MAX);
    if (r->err == ERR_OK)
        r->err =
            omitted && is_url ? url_write(&shown, &url, URL_SECRETS_OMITTED) : url_mask(&shown, to);
    put_value(r, buf_peek(&shown));
    buf_wipe(&shown);
    if (omitted && (!is_url || url_has_secret(&url)))
        put_text(r, " /* credentials in the URL left out */");
}

static void
put_to(struct render *r, struct slice to)
{
    start_clause(r);
    put_text(r, "TO ");
    if (shows_secrets(r))
        put_value(r, to);
    else
        put_url(r, to, r->options->secrets == SQL_SECRETS_OMITTED);
}

static void
put_password(struct render *r, struct slice password)
{
    start_clause(r);
    if (r->options->secrets == SQL_SECRETS_OMITTED) {
        put_text(r, "/* PASSWORD left out */");
        return;
    }
    put_text(r, "PASSWORD ");
    put_secret(r, password);
}

/* '/' is the only escape that is the language's; a backslash keeps the character behind it. */
static void
put_regex(struct render *r, struct slice regex)
{
    if (regex.n == 0 || !can_be_quoted(regex) || slice_find(regex, '\n') < regex.n ||
        regex.p[0] == '*')
        refuse(r);
    put_text(r, "/");
    for (size_t i = 0; r->err == ERR_OK && i < regex.n; i++) {
        if (regex.p[i] == '\\') {
            if (++i == regex.n) {
                refuse(r);
                break;
            }
            put_text(r, "\\");
        } else if (regex.p[i] == '/') {
            put_text(r, "\\");
        }
        put(r, slice_make(regex.p + i, 1));
    }
    put_text(r, "/");
}

static void
put_selectors(struct render *r, const char *word, const struct sql_selector *list, size_t count)
{
    start_clause(r);
    put_text(r, word);
    if (count == 0)
        refuse(r);
    for (size_t i = 0; i < count; i++) {
        bool starred = slice_find(list[i].text, '*') < list[i].text.n;

        put_text(r, i == 0 ? " MEASUREMENTS " : ", ");
        if (list[i].kind == SQL_SELECT_REGEX)
            put_regex(r, list[i].text);
        else if (starred != (list[i].kind == SQL_SELECT_GLOB))
            refuse(r);
        else
            put_name(r, list[i].text);
    }
}

/* A bare value must be what it says, else it could be anything in the text. */
static bool
is_sound_bare(const struct sql_option *option)
{
    struct slice v = option->value;
    bool boolean = slice_eq(v, SLICE("true")) || slice_eq(v, SLICE("false"));
    size_t dot = slice_find(v, '.');
    int64_t ns;

    switch (option->kind) {
    case SQL_VALUE_STRING:
        return false;
    case SQL_VALUE_NUMBER:
        if (dot == v.n)
            return false;
        break;
    case SQL_VALUE_INTEGER:
        if (dot < v.n)
            return false;
        break;
    case SQL_VALUE_DURATION:
        return num_duration_ns(v, &ns) == ERR_OK;
    case SQL_VALUE_BOOLEAN:
        return boolean;
    case SQL_VALUE_WORD:
        return is_word(v) && !slice_eq_nocase(v, SLICE("true")) &&
               !slice_eq_nocase(v, SLICE("false"));
    }
    for (size_t i = 0; i < v.n; i++)
        if (i != dot && (v.p[i] < '0' || v.p[i] > '9'))
            return false;
    return v.n > 0 && dot + 1 != v.n;
}

static void
put_option_value(struct render *r, const struct sql_option *option, bool shown)
{
    put(r, option->key);
    put_text(r, " = ");
    if (!shown)
        put_value(r, SLICE(SECRET_MASK));
    else if (option->kind == SQL_VALUE_STRING)
        put_value(r, option->value);
    else if (is_sound_bare(option))
        put(r, option->value);
    else
        refuse(r);
}

static void
put_options(struct render *r, const struct sql_option *list, size_t count)
{
    bool first = true;

    start_clause(r);
    put_text(r, "WITH (");
    for (size_t i = 0; i < count; i++) {
        bool is_public = r->options->option_is_public != NULL &&
                         r->options->option_is_public(r->statement, list[i].key);
        bool left_out = !is_public && r->options->secrets == SQL_SECRETS_OMITTED;

        if (!is_word(list[i].key))
            refuse(r);
        if (left_out) {
            put_text(r, i == 0 ? "/* " : " /* ");
            put(r, list[i].key);
            put_text(r, " left out */");
            continue;
        }
        put_text(r, first ? (i == 0 ? "" : " ") : ", ");
        first = false;
        put_option_value(r, &list[i], is_public || shows_secrets(r));
    }
    put_text(r, ")");
}

/* What a destination is: TO, TYPE, USERNAME, PASSWORD, FORMAT. */
static void
put_destination(struct render *r, const struct sql_sink *sink)
{
    if (sql_sink_has(sink, SQL_CLAUSE_TO))
        put_to(r, sink->to);
    if (sql_sink_has(sink, SQL_CLAUSE_TYPE)) {
        start_clause(r);
        put_text(r, "TYPE ");
        put_text(r, sql_words_type(sink->type));
    }
    if (sql_sink_has(sink, SQL_CLAUSE_USERNAME)) {
        start_clause(r);
        put_text(r, "USERNAME ");
        put_value(r, sink->username);
    }
    if (sql_sink_has(sink, SQL_CLAUSE_PASSWORD))
        put_password(r, sink->password);
    if (sql_sink_has(sink, SQL_CLAUSE_FORMAT)) {
        start_clause(r);
        put_text(r, "FORMAT ");
        put_text(r, sql_words_format(sink->format));
    }
}

/* What goes there: ON, INCLUDE, EXCLUDE. */
static void
put_selection(struct render *r, const struct sql_sink *sink)
{
    if (sql_sink_has(sink, SQL_CLAUSE_ON)) {
        start_clause(r);
        if (sink->database_count == 0)
            refuse(r);
        for (size_t i = 0; i < sink->database_count; i++) {
            put_text(r, i == 0 ? "ON " : ", ");
            put_name(r, sink->databases[i]);
        }
    }
    if (sql_sink_has(sink, SQL_CLAUSE_INCLUDE) && sink->include_all) {
        start_clause(r);
        put_text(r, "INCLUDE ALL");
    } else if (sql_sink_has(sink, SQL_CLAUSE_INCLUDE)) {
        put_selectors(r, "INCLUDE", sink->include, sink->include_count);
    }
    if (sql_sink_has(sink, SQL_CLAUSE_EXCLUDE))
        put_selectors(r, "EXCLUDE", sink->exclude, sink->exclude_count);
}

static void
put_sink(struct render *r, const struct sql_sink *sink)
{
    char duration[NUM_DURATION_TEXT];

    put_destination(r, sink);
    put_selection(r, sink);
    if (sql_sink_has(sink, SQL_CLAUSE_BATCH_SIZE)) {
        start_clause(r);
        put_number(r, "BATCH_SIZE ", sink->batch_size);
    }
    if (sql_sink_has(sink, SQL_CLAUSE_FLUSH_INTERVAL)) {
        start_clause(r);
        put_text(r, "FLUSH_INTERVAL ");
        put_text(r, num_put_duration(duration, sink->flush_interval_ns));
    }
    if (sql_sink_has(sink, SQL_CLAUSE_START)) {
        start_clause(r);
        put_text(r, sink->start == SQL_START_EARLIEST ? "START EARLIEST" : "START LATEST");
    }
    if (sql_sink_has(sink, SQL_CLAUSE_WITH))
        put_options(r, sink->options, sink->option_count);
}

static void
put_create_sink(struct render *r, const struct sql_statement *s)
{
    if (!sql_sink_has(&s->sink, SQL_CLAUSE_TYPE) ||
        (!sql_sink_has(&s->sink, SQL_CLAUSE_TO) && s->sink.type != SQL_TYPE_STDOUT))
        refuse(r);
    put_text(r, s->if_not_exists ? "CREATE SINK IF NOT EXISTS " : "CREATE SINK ");
    put_quoted_name(r, s->name);
    put_sink(r, &s->sink);
}

static void
put_alter_sink(struct render *r, const struct sql_statement *s)
{
    const unsigned fixed = (unsigned)SQL_CLAUSE_TYPE | (unsigned)SQL_CLAUSE_START;

    if (s->sink.clauses == 0 || (s->sink.clauses & fixed) != 0)
        refuse(r);
    put_text(r, "ALTER SINK ");
    put_quoted_name(r, s->name);
    put_sink(r, &s->sink);
}

/* "${before}"name"${behind}" for a sink. */
static void
put_on_sink(struct render *r, const char *before, const struct sql_statement *s, const char *behind)
{
    put_text(r, before);
    put_quoted_name(r, s->name);
    put_text(r, behind);
}

static void
put_letters(struct render *r, const char *before, const struct sql_statement *s)
{
    put_text(r, before);
    if (s->name.n > 0) {
        put_text(r, " ON ");
        put_quoted_name(r, s->name);
    } else if (s->kind != SQL_SHOW_DEAD_LETTERS) {
        refuse(r);
    }
    if (s->has_id)
        put_number(r, " ID ", s->id);
    if (s->has_limit && s->kind == SQL_SHOW_DEAD_LETTERS)
        put_number(r, " LIMIT ", s->limit);
    if (s->kind == SQL_REPAIR_DEAD_LETTER) {
        if (!s->has_id)
            refuse(r);
        put_text(r, " WITH ");
        put_secret(r, s->line);
    }
}

static void
put_user(struct render *r, const struct sql_statement *s)
{
    bool create = s->kind == SQL_CREATE_USER;

    put_text(r, create ? "CREATE USER " : "SET PASSWORD FOR ");
    put_name(r, s->name);
    put_text(r, create ? " WITH PASSWORD " : " = ");
    put_secret(r, s->password);
    if (create && s->admin)
        put_text(r, " WITH ALL PRIVILEGES");
}

static void
put_named(struct render *r, const char *before, struct slice name)
{
    put_text(r, before);
    put_name(r, name);
}

/* The statements that are words alone, or words and a name. */
static const char *
fixed_text(enum sql_kind kind)
{
    static const char *const texts[] = {
        [SQL_SHOW_SINKS] = "SHOW SINKS",
        [SQL_SHOW_LEDGER] = "SHOW LEDGER",
        [SQL_SHOW_USERS] = "SHOW USERS",
        [SQL_SHOW_DATABASES] = "SHOW DATABASES",
        [SQL_DROP_USER] = "DROP USER ",
        [SQL_GRANT_ADMIN] = "GRANT ALL PRIVILEGES TO ",
        [SQL_REVOKE_ADMIN] = "REVOKE ALL PRIVILEGES FROM ",
        [SQL_CREATE_DATABASE] = "CREATE DATABASE ",
        [SQL_DROP_DATABASE] = "DROP DATABASE ",
    };

    return texts[kind];
}

static void
put_rights(struct render *r, const struct sql_statement *s)
{
    static const char *const privileges[] = {
        [SQL_PRIVILEGE_READ] = " READ",
        [SQL_PRIVILEGE_WRITE] = " WRITE",
        [SQL_PRIVILEGE_ALL] = " ALL PRIVILEGES",
    };
    bool grant = s->kind == SQL_GRANT;

    put_text(r, grant ? "GRANT" : "REVOKE");
    put_text(r, privileges[s->privilege]);
    put_named(r, " ON ", s->database);
    put_named(r, grant ? " TO " : " FROM ", s->name);
}

static void
put_statement(struct render *r, const struct sql_statement *s)
{
    switch (s->kind) {
    case SQL_CREATE_SINK:
        put_create_sink(r, s);
        return;
    case SQL_ALTER_SINK:
        put_alter_sink(r, s);
        return;
    case SQL_PAUSE_SINK:
        put_on_sink(r, "ALTER SINK ", s, " PAUSE");
        return;
    case SQL_RESUME_SINK:
        put_on_sink(r, "ALTER SINK ", s, " RESUME");
        return;
    case SQL_DROP_SINK:
        put_on_sink(r, s->if_exists ? "DROP SINK IF EXISTS " : "DROP SINK ", s, "");
        return;
    case SQL_SHOW_SINK:
        put_on_sink(r, "SHOW SINK ", s, "");
        return;
    case SQL_SHOW_DEAD_LETTERS:
        put_letters(r, "SHOW DEAD LETTERS", s);
        return;
    case SQL_REPLAY_DEAD_LETTERS:
        put_letters(r, "REPLAY DEAD LETTERS", s);
        return;
    case SQL_REPAIR_DEAD_LETTER:
        put_letters(r, "REPAIR DEAD LETTER", s);
        return;
    case SQL_DROP_DEAD_LETTERS:
        put_letters(r, "DROP DEAD LETTERS", s);
        return;
    case SQL_CREATE_USER:
    case SQL_SET_PASSWORD:
        put_user(r, s);
        return;
    case SQL_GRANT:
    case SQL_REVOKE:
        put_rights(r, s);
        return;
    case SQL_DROP_USER:
    case SQL_GRANT_ADMIN:
    case SQL_REVOKE_ADMIN:
    case SQL_CREATE_DATABASE:
    case SQL_DROP_DATABASE:
        put_named(r, fixed_text(s->kind), s->name);
        return;
    case SQL_SHOW_SINKS:
    case SQL_SHOW_LEDGER:
    case SQL_SHOW_USERS:
    case SQL_SHOW_DATABASES:
        put_text(r, fixed_text(s->kind));
        return;
    case SQL_UNSUPPORTED:
        put(r, s->words);
        return;
    }
}

enum err
sql_render(struct buf *out, const struct sql_statement *statement,
           const struct sql_render_options *options)
{
    static const struct sql_render_options masked = {.secrets = SQL_SECRETS_MASKED};
    struct render r = {out, statement, options == NULL ? &masked : options, ERR_OK};
    size_t before = buf_len(out);

    put_statement(&r, statement);
    if (r.err != ERR_OK)
        buf_cut(out, before);
    return r.err;
}
