/*
 * sql_parse_sink.h: CREATE SINK, ALTER SINK and the clauses of a sink. Private to sql/.
 * Each function starts behind the words of its name and leaves the end of the statement unread.
 */
#ifndef SINKD_SQL_SQL_PARSE_SINK_H
#define SINKD_SQL_SQL_PARSE_SINK_H

#include <stdbool.h>

#include "sql/sql_parser.h"

bool sql_parse_sink_create(struct sql_parser *p, struct sql_statement *statement);
bool sql_parse_sink_alter(struct sql_parser *p, struct sql_statement *statement);

#endif
