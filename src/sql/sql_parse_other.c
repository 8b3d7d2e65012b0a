/*
 * sql_parse_other.c: InfluxQL statements that sinkd does not have. See sql_parse_other.h.
 */
#include "sql/sql_parse_other.h"

#include "base/mem.h"

#define COUNT_MAX 2147483647 /* InfluxQL's limit on counts */
#define WORDS_MAX 4          /* leading words kept: SHOW TAG VALUES CARDINALITY */

/* Keywords that belong to a statement's name. */
static bool
is_name_part(const struct sql_parser *p)
{
    static const char words[] = "CARDINALITY CONTINUOUS EXACT GROUPS KEY KEYS POLICIES POLICY"
                                " QUERIES QUERY VALUES";
    struct slice rest = slice_of(words), one;

    while (p->token.kind == SQL_TOKEN_WORD && slice_split(&rest, ' ', &one))
        if (slice_eq_nocase(one, p->token.raw))
            return true;
    return false;
}

static void
put(struct sql_parser *p, struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];

        p->script->text[p->used++] = c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
    }
}

/* Keep ${words} and what follows of the statement's name. There is room: each word stood in the
 * text, and so did something between two words. */
static void
keep_words(struct sql_parser *p, struct sql_statement *statement, const char *words)
{
    size_t start = p->used;

    statement->kind = SQL_UNSUPPORTED;
    put(p, slice_of(words));
    for (int i = 1; i < WORDS_MAX && is_name_part(p); i++) {
        put(p, SLICE(" "));
        put(p, p->token.raw);
        sql_parser_next(p);
    }
    statement->words = slice_make(p->script->text + start, p->used - start);
}

/* Whether a '/' behind this token divides. */
static bool
is_operand(const struct sql_token *token)
{
    switch (token->kind) {
    case SQL_TOKEN_WORD:
        return !sql_lexer_is_reserved(token->raw);
    case SQL_TOKEN_SIGN:
        return token->raw.p[0] == ')';
    case SQL_TOKEN_QUOTED:
    case SQL_TOKEN_STRING:
    case SQL_TOKEN_INTEGER:
    case SQL_TOKEN_NUMBER:
    case SQL_TOKEN_DURATION:
        return true;
    case SQL_TOKEN_EOF:
    case SQL_TOKEN_UNCLOSED:
    case SQL_TOKEN_ESCAPE:
    case SQL_TOKEN_REGEX:
    case SQL_TOKEN_ILLEGAL:
        return false;
    }
    return false;
}

/* Step over one token of what is not understood; false: it is no token. */
static bool
skip_token(struct sql_parser *p)
{
    struct sql_token before = p->token;
    bool bound = before.kind == SQL_TOKEN_ILLEGAL && before.raw.n > 1 && before.raw.p[0] == '$';

    if (before.kind == SQL_TOKEN_UNCLOSED || before.kind == SQL_TOKEN_ESCAPE ||
        (before.kind == SQL_TOKEN_ILLEGAL && !bound))
        return sql_parser_found(p, ";");
    sql_parser_next(p);
    if (sql_parser_at_sign(p, '/') && !is_operand(&before) && !bound)
        sql_parser_rescan_regex(p);
    return true;
}

static bool
skip_to_end(struct sql_parser *p)
{
    while (!sql_parser_at_end(p))
        if (!skip_token(p))
            return false;
    return true;
}

bool
sql_parse_other_skip(struct sql_parser *p, struct sql_statement *statement, const char *words)
{
    keep_words(p, statement, words);
    return skip_to_end(p);
}

/* Only that there is something to select and something to select it from. */
bool
sql_parse_other_select(struct sql_parser *p, struct sql_statement *statement)
{
    keep_words(p, statement, "SELECT");
    if (sql_parser_at_end(p))
        return sql_parser_found(p, "identifier, string, number, bool");
    while (!sql_parser_at_end(p) && !sql_parser_at_word(p, "FROM"))
        if (!skip_token(p))
            return false;
    if (!sql_parser_at_word(p, "FROM"))
        return sql_parser_found(p, "FROM");
    if (!skip_token(p))
        return false;
    if (sql_parser_at_end(p))
        return sql_parser_found(p, "identifier");
    return skip_to_end(p);
}

/* CREATE RETENTION POLICY name ON db DURATION d REPLICATION n [SHARD DURATION d] [DEFAULT]. */
bool
sql_parse_other_policy(struct sql_parser *p, struct sql_statement *statement)
{
    struct slice ignored;
    uint64_t count;

    keep_words(p, statement, "CREATE RETENTION");
    if (!slice_ends(statement->words, SLICE("POLICY")))
        return sql_parser_found(p, "POLICY");
    if (!sql_parser_identifier(p, &ignored) || !sql_parser_expect(p, "ON") ||
        !sql_parser_identifier(p, &ignored) || !sql_parser_expect(p, "DURATION") ||
        !sql_parser_lifetime(p) || !sql_parser_expect(p, "REPLICATION") ||
        !sql_parser_integer(p, 1, COUNT_MAX, &count))
        return false;
    if (sql_parser_accept(p, "SHARD") &&
        (!sql_parser_expect(p, "DURATION") || !sql_parser_lifetime(p)))
        return false;
    (void)sql_parser_accept(p, "DEFAULT");
    return true;
}

/* CREATE SUBSCRIPTION name ON db.rp DESTINATIONS ALL|ANY 'url', ... */
bool
sql_parse_other_subscription(struct sql_parser *p, struct sql_statement *statement)
{
    struct slice ignored;

    keep_words(p, statement, "CREATE SUBSCRIPTION");
    if (!sql_parser_identifier(p, &ignored) || !sql_parser_expect(p, "ON") ||
        !sql_parser_identifier(p, &ignored) || !sql_parser_expect_sign(p, '.') ||
        !sql_parser_identifier(p, &ignored) || !sql_parser_expect(p, "DESTINATIONS"))
        return false;
    if (!sql_parser_accept(p, "ALL") && !sql_parser_accept(p, "ANY"))
        return sql_parser_found(p, "ALL, ANY");
    do {
        if (p->token.kind != SQL_TOKEN_STRING) /* as InfluxDB: no double quotes here */
            return sql_parser_found(p, "string");
        sql_parser_next(p);
    } while (sql_parser_accept_sign(p, ','));
    return true;
}
