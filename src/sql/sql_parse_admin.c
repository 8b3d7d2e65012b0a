/*
 * sql_parse_admin.c: the small statements. See sql_parse_admin.h.
 * Source: InfluxQL 1.x for users, rights and databases.
 */
#include "sql/sql_parse_admin.h"

#define COUNT_MAX 2147483647 /* InfluxQL's limit on counts */

bool
sql_parse_admin_drop_sink(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_DROP_SINK;
    if (sql_parser_at_word(p, "IF") && sql_parser_followed_by(p, "EXISTS")) {
        sql_parser_next(p);
        sql_parser_next(p);
        statement->if_exists = true;
    }
    return sql_parser_name(p, &statement->name);
}

bool
sql_parse_admin_show_sink(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_SHOW_SINK;
    return sql_parser_name(p, &statement->name);
}

bool
sql_parse_admin_show_sinks(struct sql_parser *p, struct sql_statement *statement)
{
    (void)p;
    statement->kind = SQL_SHOW_SINKS;
    return true;
}

bool
sql_parse_admin_show_ledger(struct sql_parser *p, struct sql_statement *statement)
{
    (void)p;
    statement->kind = SQL_SHOW_LEDGER;
    return true;
}

/* LETTERS, and LETTER as well: one of them is often meant. */
static bool
expect_letters(struct sql_parser *p)
{
    return sql_parser_accept(p, "LETTER") || sql_parser_expect(p, "LETTERS");
}

static bool
parse_id(struct sql_parser *p, struct sql_statement *statement)
{
    statement->has_id = true;
    return sql_parser_integer(p, 0, UINT64_MAX, &statement->id);
}

bool
sql_parse_admin_show_letters(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_SHOW_DEAD_LETTERS;
    if (!expect_letters(p))
        return false;
    if (sql_parser_accept(p, "ON") && !sql_parser_name(p, &statement->name))
        return false;
    if (sql_parser_accept(p, "ID") && !parse_id(p, statement))
        return false;
    if (sql_parser_accept(p, "LIMIT")) {
        statement->has_limit = true;
        return sql_parser_integer(p, 1, COUNT_MAX, &statement->limit);
    }
    return true;
}

/* LETTERS ON name [ID n]. */
static bool
parse_letters_on(struct sql_parser *p, struct sql_statement *statement)
{
    if (!expect_letters(p) || !sql_parser_expect(p, "ON") || !sql_parser_name(p, &statement->name))
        return false;
    return !sql_parser_accept(p, "ID") || parse_id(p, statement);
}

bool
sql_parse_admin_replay_letters(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_REPLAY_DEAD_LETTERS;
    return parse_letters_on(p, statement);
}

bool
sql_parse_admin_drop_letters(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_DROP_DEAD_LETTERS;
    return parse_letters_on(p, statement);
}

bool
sql_parse_admin_repair_letter(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_REPAIR_DEAD_LETTER;
    p->secretive = true; /* a point is no secret, but data: messages do not quote it */
    if (!parse_letters_on(p, statement))
        return false;
    if (!statement->has_id)
        return sql_parser_found(p, "ID");
    if (!sql_parser_expect(p, "WITH"))
        return false;
    p->hot = true;
    return sql_parser_value(p, &statement->line);
}

bool
sql_parse_admin_create_user(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_CREATE_USER;
    p->secretive = true;
    if (!sql_parser_name(p, &statement->name))
        return false;
    if (!sql_parser_accept(p, "WITH")) {
        p->hot = !sql_lexer_is_reserved(p->token.raw); /* a password in the wrong place */
        return sql_parser_found(p, "WITH");
    }
    p->hot = !sql_lexer_is_reserved(p->token.raw);
    if (!sql_parser_expect(p, "PASSWORD"))
        return false;
    p->hot = true;
    if (!sql_parser_value(p, &statement->password))
        return false;
    if (!sql_parser_accept(p, "WITH"))
        return true;
    statement->admin = true;
    return sql_parser_expect(p, "ALL") && sql_parser_expect(p, "PRIVILEGES");
}

bool
sql_parse_admin_drop_user(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_DROP_USER;
    return sql_parser_name(p, &statement->name);
}

bool
sql_parse_admin_set_password(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_SET_PASSWORD;
    p->secretive = true;
    p->hot = true;
    if (!sql_parser_expect(p, "FOR") || !sql_parser_name(p, &statement->name))
        return false;
    p->hot = true;
    return sql_parser_expect_sign(p, '=') && sql_parser_value(p, &statement->password);
}

bool
sql_parse_admin_show_users(struct sql_parser *p, struct sql_statement *statement)
{
    (void)p;
    statement->kind = SQL_SHOW_USERS;
    return true;
}

/* ALL [PRIVILEGES] TO|FROM name, or READ|WRITE|ALL [PRIVILEGES] ON db TO|FROM name. */
static bool
parse_rights(struct sql_parser *p, struct sql_statement *statement, const char *direction,
             enum sql_kind admin, enum sql_kind database)
{
    bool all = sql_parser_accept(p, "ALL");

    statement->kind = database;
    if (all) {
        statement->privilege = SQL_PRIVILEGE_ALL;
        (void)sql_parser_accept(p, "PRIVILEGES");
    } else if (sql_parser_accept(p, "READ")) {
        statement->privilege = SQL_PRIVILEGE_READ;
    } else if (sql_parser_accept(p, "WRITE")) {
        statement->privilege = SQL_PRIVILEGE_WRITE;
    } else {
        return sql_parser_found(p, "READ, WRITE, ALL [PRIVILEGES]");
    }
    if (sql_parser_accept(p, "ON")) {
        if (!sql_parser_database(p, &statement->database))
            return false;
    } else if (all && sql_parser_at_word(p, direction)) {
        statement->kind = admin;
    } else {
        return sql_parser_found(p, !all ? "ON" : direction[0] == 'T' ? "ON, TO" : "ON, FROM");
    }
    return sql_parser_expect(p, direction) && sql_parser_name(p, &statement->name);
}

bool
sql_parse_admin_grant(struct sql_parser *p, struct sql_statement *statement)
{
    return parse_rights(p, statement, "TO", SQL_GRANT_ADMIN, SQL_GRANT);
}

bool
sql_parse_admin_revoke(struct sql_parser *p, struct sql_statement *statement)
{
    return parse_rights(p, statement, "FROM", SQL_REVOKE_ADMIN, SQL_REVOKE);
}

bool
sql_parse_admin_create_database(struct sql_parser *p, struct sql_statement *statement)
{
    bool any = false;

    statement->kind = SQL_CREATE_DATABASE;
    if (!sql_parser_database(p, &statement->name))
        return false;
    if (!sql_parser_accept(p, "WITH"))
        return true;
    for (;;) {
        struct slice ignored;
        uint64_t count;
        bool good;

        if (sql_parser_accept(p, "DURATION"))
            good = sql_parser_lifetime(p);
        else if (sql_parser_accept(p, "REPLICATION"))
            good = sql_parser_integer(p, 1, COUNT_MAX, &count);
        else if (sql_parser_accept(p, "SHARD"))
            good = sql_parser_expect(p, "DURATION") && sql_parser_lifetime(p);
        else if (sql_parser_accept(p, "NAME"))
            good = sql_parser_identifier(p, &ignored);
        else
            return any || sql_parser_found(p, "DURATION, NAME, REPLICATION, SHARD");
        if (!good)
            return false;
        any = true;
    }
}

bool
sql_parse_admin_drop_database(struct sql_parser *p, struct sql_statement *statement)
{
    statement->kind = SQL_DROP_DATABASE;
    return sql_parser_database(p, &statement->name);
}

bool
sql_parse_admin_show_databases(struct sql_parser *p, struct sql_statement *statement)
{
    (void)p;
    statement->kind = SQL_SHOW_DATABASES;
    return true;
}
