/*
 * sql_parse_admin.h: the small statements: sinks by name, dead letters, users, rights, databases.
 * Private to sql/. Each function starts behind the first two words of its statement (GRANT, REVOKE:
 * the first) and leaves the end of the statement unread.
 */
#ifndef SINKD_SQL_SQL_PARSE_ADMIN_H
#define SINKD_SQL_SQL_PARSE_ADMIN_H

#include <stdbool.h>

#include "sql/sql_parser.h"

bool sql_parse_admin_drop_sink(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_show_sink(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_show_sinks(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_show_ledger(struct sql_parser *p, struct sql_statement *statement);

bool sql_parse_admin_show_letters(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_replay_letters(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_repair_letter(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_drop_letters(struct sql_parser *p, struct sql_statement *statement);

bool sql_parse_admin_create_user(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_drop_user(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_set_password(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_show_users(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_grant(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_revoke(struct sql_parser *p, struct sql_statement *statement);

bool sql_parse_admin_create_database(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_drop_database(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_admin_show_databases(struct sql_parser *p, struct sql_statement *statement);

#endif
