/*
 * sql_equal.h: whether two statements say the same. For tests only.
 */
#ifndef SINKD_SUPPORT_SQL_EQUAL_H
#define SINKD_SUPPORT_SQL_EQUAL_H

#include <stdbool.h>

#include "sql/statement.h"

/* sql_equal(a, b): every field that counts, texts byte for byte. */
bool sql_equal(const struct sql_statement *a, const struct sql_statement *b);

#endif
