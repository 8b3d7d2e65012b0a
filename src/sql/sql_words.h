/*
 * sql_words.h: the words of the language that name sink types and formats.
 */
#ifndef SINKD_SQL_SQL_WORDS_H
#define SINKD_SQL_SQL_WORDS_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/slice.h"
#include "sql/statement.h"

/* In lower case: "http_line", "line_protocol". Static strings. */
const char *sql_words_type(enum sql_type type);
const char *sql_words_format(enum sql_format format);

/* sql_words_find_type(word, type), sql_words_find_format(word, format): in any case; false: no such
 * word. */
bool sql_words_find_type(struct slice word, enum sql_type *type) MUST_USE;
bool sql_words_find_format(struct slice word, enum sql_format *format) MUST_USE;

#endif
