/*
 * sql_parse_other.h: statements of InfluxQL that sinkd knows but does not have. Private to sql/.
 *
 * They are recognised so that a client gets a plain answer instead of a syntax error. What people
 * write by hand is checked as InfluxDB does it; the rest is skipped to the end of the statement.
 */
#ifndef SINKD_SQL_SQL_PARSE_OTHER_H
#define SINKD_SQL_SQL_PARSE_OTHER_H

#include <stdbool.h>

#include "sql/sql_parser.h"

/* Each starts behind ${words}, the one or two words that began the statement, in upper case; they,
 * and the keywords behind them, are kept in statement.words. */
bool sql_parse_other_skip(struct sql_parser *p, struct sql_statement *statement, const char *words);
bool sql_parse_other_select(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_other_policy(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_other_subscription(struct sql_parser *p, struct sql_statement *statement);

#endif
