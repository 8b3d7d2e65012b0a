/*
 * sql_parse_sink.c: the sink definition language. See sql_parse_sink.h.
 *
 * Clauses come in any order, each at most once. Only the shape is checked here: whether a type
 * takes a format or an option is for the sink type's own table.
 */
#include "sql/sql_parse_sink.h"
#include "sql/sql_words.h"

#include <stdio.h>

#include "base/num.h"

#define COUNT_MAX 2147483647 /* InfluxQL's limit on counts */

static bool
parse_to(struct sql_parser *p, struct sql_sink *sink)
{
    p->hot = true;
    if (!sql_parser_value(p, &sink->to))
        return false;
    p->hot = false;
    return true;
}

static bool
parse_type(struct sql_parser *p, struct sql_sink *sink)
{
    if (p->token.kind != SQL_TOKEN_WORD || !sql_words_find_type(p->token.raw, &sink->type))
        return sql_parser_found(p, "http_line, http_msgpack, mqtt, kafka, stdout");
    sql_parser_next(p);
    return true;
}

static bool
parse_username(struct sql_parser *p, struct sql_sink *sink)
{
    return sql_parser_value(p, &sink->username);
}

static bool
parse_password(struct sql_parser *p, struct sql_sink *sink)
{
    p->hot = true; /* and so it stays until the next clause: the rest of a value may follow */
    return sql_parser_value(p, &sink->password);
}

static bool
parse_format(struct sql_parser *p, struct sql_sink *sink)
{
    if (p->token.kind != SQL_TOKEN_WORD || !sql_words_find_format(p->token.raw, &sink->format))
        return sql_parser_found(p, "line_protocol, json, msgpack");
    sql_parser_next(p);
    return true;
}

static bool
parse_databases(struct sql_parser *p, struct sql_sink *sink)
{
    size_t slot;

    if (!sql_parser_list_open(p, &slot))
        return false;
    do {
        struct slice *names = sql_parser_list_add(p, slot, sink->database_count, sizeof(*names));

        if (names == NULL || !sql_parser_database(p, &names[sink->database_count]))
            return false;
        sink->databases = names;
        sink->database_count++;
    } while (sql_parser_accept_sign(p, ','));
    return true;
}

/* A name, a "glob*" or a /regular expression/. */
static bool
parse_selector(struct sql_parser *p, struct sql_selector *selector)
{
    bool quoted = p->token.kind == SQL_TOKEN_QUOTED;

    if (sql_parser_at_sign(p, '/')) {
        sql_parser_rescan_regex(p);
        if (p->token.kind != SQL_TOKEN_REGEX)
            return sql_parser_fail(p, ERR_BAD, "a regular expression without its closing '/'");
        if (p->token.raw.n == 2)
            return sql_parser_fail(p, ERR_BAD, "an empty regular expression");
        selector->kind = SQL_SELECT_REGEX;
        sql_parser_keep(p, &selector->text);
        return true;
    }
    if (!sql_parser_identifier(p, &selector->text))
        return false;
    selector->kind = quoted && slice_find(selector->text, '*') < selector->text.n ? SQL_SELECT_GLOB
                                                                                  : SQL_SELECT_NAME;
    return true;
}

static bool
parse_selectors(struct sql_parser *p, const struct sql_selector **list, size_t *count)
{
    size_t slot;

    if (!sql_parser_list_open(p, &slot))
        return false;
    do {
        struct sql_selector *items = sql_parser_list_add(p, slot, *count, sizeof(*items));

        if (items == NULL || !parse_selector(p, &items[*count]))
            return false;
        *list = items;
        ++*count;
    } while (sql_parser_accept_sign(p, ','));
    return true;
}

static bool
parse_include(struct sql_parser *p, struct sql_sink *sink)
{
    if (sql_parser_accept(p, "ALL")) {
        sink->include_all = true;
        return true;
    }
    if (!sql_parser_accept(p, "MEASUREMENTS"))
        return sql_parser_found(p, "ALL, MEASUREMENTS");
    return parse_selectors(p, &sink->include, &sink->include_count);
}

static bool
parse_exclude(struct sql_parser *p, struct sql_sink *sink)
{
    return sql_parser_expect(p, "MEASUREMENTS") &&
           parse_selectors(p, &sink->exclude, &sink->exclude_count);
}

static bool
parse_batch_size(struct sql_parser *p, struct sql_sink *sink)
{
    return sql_parser_integer(p, 1, COUNT_MAX, &sink->batch_size);
}

static bool
parse_flush_interval(struct sql_parser *p, struct sql_sink *sink)
{
    return sql_parser_duration(p, &sink->flush_interval_ns);
}

static bool
parse_start(struct sql_parser *p, struct sql_sink *sink)
{
    if (sql_parser_accept(p, "EARLIEST"))
        sink->start = SQL_START_EARLIEST;
    else if (sql_parser_accept(p, "LATEST"))
        sink->start = SQL_START_LATEST;
    else
        return sql_parser_found(p, "EARLIEST, LATEST");
    return true;
}

/* ASCII lower case in place: the bytes are the script's own, which parsing has just filled. */
static void
lower_kept(const struct sql_parser *p, struct slice s)
{
    uint8_t *bytes = p->script->text + (s.p - p->script->text);

    for (size_t i = 0; i < s.n; i++)
        if (bytes[i] >= 'A' && bytes[i] <= 'Z')
            bytes[i] = (uint8_t)(bytes[i] - 'A' + 'a');
}

/* What kind of value the current token is; false: none. */
static bool
value_kind(struct sql_parser *p, enum sql_value_kind *kind)
{
    int64_t ignored;

    if (p->token.kind == SQL_TOKEN_QUOTED || p->token.kind == SQL_TOKEN_STRING)
        *kind = SQL_VALUE_STRING;
    else if (p->token.kind == SQL_TOKEN_INTEGER)
        *kind = SQL_VALUE_INTEGER;
    else if (p->token.kind == SQL_TOKEN_NUMBER)
        *kind = SQL_VALUE_NUMBER;
    else if (p->token.kind == SQL_TOKEN_WORD)
        *kind = sql_parser_at_word(p, "true") || sql_parser_at_word(p, "false") ? SQL_VALUE_BOOLEAN
                                                                                : SQL_VALUE_WORD;
    else if (p->token.kind != SQL_TOKEN_DURATION)
        return sql_parser_found(p, "string, word, number, duration");
    else if (num_duration_ns(p->token.raw, &ignored) != ERR_OK)
        return sql_parser_fail(p, ERR_BAD, "invalid duration");
    else
        *kind = SQL_VALUE_DURATION;
    return true;
}

/* key = value. */
static bool
parse_option(struct sql_parser *p, struct sql_option *options, size_t count)
{
    struct sql_option *option = &options[count];
    struct sql_token token = p->token;

    if (token.kind != SQL_TOKEN_WORD)
        return sql_parser_found(p, "an option's name");
    sql_parser_keep(p, &option->key);
    lower_kept(p, option->key);
    for (size_t i = 0; i < count; i++) {
        if (!slice_eq(options[i].key, option->key))
            continue;
        p->token = token;
        return sql_parser_fail(p, ERR_BAD, "an option of WITH is given twice");
    }
    if (!sql_parser_expect_sign(p, '=') || !value_kind(p, &option->kind))
        return false;
    sql_parser_keep(p, &option->value);
    if (option->kind == SQL_VALUE_BOOLEAN)
        lower_kept(p, option->value);
    return true;
}

static bool
parse_with(struct sql_parser *p, struct sql_sink *sink)
{
    size_t slot;

    p->hot = true; /* any value may be a secret, and a slip may leave one anywhere in the list */
    if (!sql_parser_expect_sign(p, '(') || !sql_parser_list_open(p, &slot))
        return false;
    if (!sql_parser_at_sign(p, ')')) {
        do {
            struct sql_option *options =
                sql_parser_list_add(p, slot, sink->option_count, sizeof(*options));

            if (options == NULL || !parse_option(p, options, sink->option_count))
                return false;
            sink->options = options;
            sink->option_count++;
        } while (sql_parser_accept_sign(p, ','));
    }
    if (!sql_parser_accept_sign(p, ')'))
        return sql_parser_found(p, ",, )");
    p->hot = false;
    return true;
}

struct clause {
    const char *word;
    enum sql_clause bit;
    bool (*parse)(struct sql_parser *, struct sql_sink *);
};

static const struct clause clauses[] = {
    {"TO", SQL_CLAUSE_TO, parse_to},
    {"TYPE", SQL_CLAUSE_TYPE, parse_type},
    {"USERNAME", SQL_CLAUSE_USERNAME, parse_username},
    {"PASSWORD", SQL_CLAUSE_PASSWORD, parse_password},
    {"FORMAT", SQL_CLAUSE_FORMAT, parse_format},
    {"ON", SQL_CLAUSE_ON, parse_databases},
    {"INCLUDE", SQL_CLAUSE_INCLUDE, parse_include},
    {"EXCLUDE", SQL_CLAUSE_EXCLUDE, parse_exclude},
    {"BATCH_SIZE", SQL_CLAUSE_BATCH_SIZE, parse_batch_size},
    {"FLUSH_INTERVAL", SQL_CLAUSE_FLUSH_INTERVAL, parse_flush_interval},
    {"START", SQL_CLAUSE_START, parse_start},
    {"WITH", SQL_CLAUSE_WITH, parse_with},
};

#define CLAUSE_COUNT (sizeof(clauses) / sizeof(clauses[0]))
#define ALTER_REFUSES ((unsigned)SQL_CLAUSE_TYPE | (unsigned)SQL_CLAUSE_START)

/* No clause is here: the error names those that may still come. */
static bool
found_no_clause(struct sql_parser *p, const char *first, unsigned not_these)
{
    char expected[200];
    size_t used = strlen(first);

    (void)snprintf(expected, sizeof(expected), "%s", first);
    for (size_t i = 0; i < CLAUSE_COUNT; i++) {
        if ((not_these & (unsigned)clauses[i].bit) != 0)
            continue;
        (void)snprintf(expected + used, sizeof(expected) - used, "%s%s", used == 0 ? "" : ", ",
                       clauses[i].word);
        used = strlen(expected);
    }
    return sql_parser_found(p, used == 0 ? ";" : expected);
}

/* One clause; ${refused} are those that the statement does not take. */
static bool
parse_clause(struct sql_parser *p, struct sql_sink *sink, const char *first, unsigned refused)
{
    size_t i = 0;

    while (i < CLAUSE_COUNT && !sql_parser_at_word(p, clauses[i].word))
        i++;
    if (i == CLAUSE_COUNT)
        return found_no_clause(p, first, sink->clauses | refused);
    if ((refused & (unsigned)clauses[i].bit) != 0)
        return sql_parser_fail(p, ERR_BAD,
                               "ALTER SINK cannot change %s: drop the sink and create "
                               "it again",
                               clauses[i].word);
    if (sql_sink_has(sink, clauses[i].bit))
        return sql_parser_fail(p, ERR_BAD, "%s is given twice", clauses[i].word);
    (void)sql_parser_accept(p, clauses[i].word);
    sink->clauses |= (unsigned)clauses[i].bit;
    return clauses[i].parse(p, sink);
}

bool
sql_parse_sink_create(struct sql_parser *p, struct sql_statement *statement)
{
    struct sql_sink *sink = &statement->sink;

    p->secretive = true;
    statement->kind = SQL_CREATE_SINK;
    if (sql_parser_at_word(p, "IF") && sql_parser_followed_by(p, "NOT")) {
        sql_parser_next(p);
        sql_parser_next(p);
        if (!sql_parser_expect(p, "EXISTS"))
            return false;
        statement->if_not_exists = true;
    }
    if (!sql_parser_name(p, &statement->name))
        return false;
    while (!sql_parser_at_end(p))
        if (!parse_clause(p, sink, "", 0))
            return false;
    if (!sql_sink_has(sink, SQL_CLAUSE_TYPE)) {
        p->hot = false; /* the end is no secret */
        return sql_parser_found(p, "TYPE");
    }
    if (!sql_sink_has(sink, SQL_CLAUSE_TO) && sink->type != SQL_TYPE_STDOUT) {
        p->hot = false;
        return sql_parser_found(p, "TO");
    }
    return true;
}

bool
sql_parse_sink_alter(struct sql_parser *p, struct sql_statement *statement)
{
    p->secretive = true;
    statement->kind = SQL_ALTER_SINK;
    if (!sql_parser_name(p, &statement->name))
        return false;
    if (sql_parser_accept(p, "PAUSE")) {
        statement->kind = SQL_PAUSE_SINK;
        return true;
    }
    if (sql_parser_accept(p, "RESUME")) {
        statement->kind = SQL_RESUME_SINK;
        return true;
    }
    if (!parse_clause(p, &statement->sink, "PAUSE, RESUME", ALTER_REFUSES))
        return false;
    while (!sql_parser_at_end(p))
        if (!parse_clause(p, &statement->sink, "", ALTER_REFUSES))
            return false;
    return true;
}
