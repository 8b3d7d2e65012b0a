/*
 * sql_parser.h: what all statement parsers share: the current token, expectations, errors, memory.
 *
 * Every function that can fail returns false after it filled the error; callers pass that on. Which
 * tokens an error may show is decided here alone. Private to sql/.
 */
#ifndef SINKD_SQL_SQL_PARSER_H
#define SINKD_SQL_SQL_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "sql/sql.h"
#include "sql/sql_lexer.h"

struct sql_parser {
    struct slice text;
    struct sql_lexer before; /* at the current token, to scan it in another way */
    struct sql_lexer after;
    struct sql_token token; /* the current one */
    struct sql_script *script;
    size_t used; /* bytes of script->text in use */
    struct sql_error *error;
    enum err err; /* why the parser stopped */
    /*
     * What an error may show. secretive: a statement that takes secrets has begun, so no quoted
     * token is shown from here on. hot: the current token stands where a secret may.
     */
    bool secretive, hot;
};

/* sql_parser_init(p, text, script, error): ${text} without blanks around it; reads a token. */
bool sql_parser_init(struct sql_parser *p, struct slice text, struct sql_script *script,
                     struct sql_error *error) MUST_USE;

/* sql_parser_next(p): go on to the next token. */
void sql_parser_next(struct sql_parser *p);

/* sql_parser_rescan_regex(p): the current token is a '/': read it as a regular expression. */
void sql_parser_rescan_regex(struct sql_parser *p);

/* sql_parser_at_word(p, word), sql_parser_at_sign(p, sign): whether the current token is that word
 * (in any case) or sign. sql_parser_at_end: the end of the statement. */
bool sql_parser_at_word(const struct sql_parser *p, const char *word);
bool sql_parser_at_sign(const struct sql_parser *p, char sign);
bool sql_parser_at_end(const struct sql_parser *p);

/* sql_parser_accept(p, word), ..._sign: step over it if it is there. A word that was accepted ends
 * what made the place hot. */
bool sql_parser_accept(struct sql_parser *p, const char *word);
bool sql_parser_accept_sign(struct sql_parser *p, char sign);

/* The same, but it must be there. */
bool sql_parser_expect(struct sql_parser *p, const char *word) MUST_USE;
bool sql_parser_expect_sign(struct sql_parser *p, char sign) MUST_USE;

/* sql_parser_followed_by(p, word): whether the token after the current one is that word. */
bool sql_parser_followed_by(const struct sql_parser *p, const char *word);

/* sql_parser_keep(p, out): resolve the current token into the script's text; steps on. */
void sql_parser_keep(struct sql_parser *p, struct slice *out);

/* sql_parser_identifier(p, out): a bare word that is not reserved, or "...". */
bool sql_parser_identifier(struct sql_parser *p, struct slice *out) MUST_USE;

/* sql_parser_name(p, out): an identifier fit to name a sink or user: 1 to SQL_NAME_MAX bytes of
 * UTF-8 without control characters. sql_parser_database: only the length counts here. */
bool sql_parser_name(struct sql_parser *p, struct slice *out) MUST_USE;
bool sql_parser_database(struct sql_parser *p, struct slice *out) MUST_USE;

/* sql_parser_value(p, out): '...' or "...". */
bool sql_parser_value(struct sql_parser *p, struct slice *out) MUST_USE;

/* sql_parser_integer(p, min, max, out): decimal digits in that range. */
bool sql_parser_integer(struct sql_parser *p, uint64_t min, uint64_t max, uint64_t *out) MUST_USE;

/* sql_parser_duration(p, out): 5s, 1m30s. */
bool sql_parser_duration(struct sql_parser *p, int64_t *out) MUST_USE;

/* sql_parser_lifetime(p): a duration or INF, checked and dropped. */
bool sql_parser_lifetime(struct sql_parser *p) MUST_USE;

/*
 * sql_parser_list_open(p, slot), sql_parser_list_add(p, slot, count, size):
 * An array that the script owns. add returns it with room for one element more than the ${count}
 * it has; NULL: an error was filled (too many, no memory).
 */
bool sql_parser_list_open(struct sql_parser *p, size_t *slot) MUST_USE;
void *sql_parser_list_add(struct sql_parser *p, size_t slot, size_t count, size_t size) MUST_USE;

/* sql_parser_found(p, expected): "found X, expected ${expected} at line L, char C"; gives false. */
bool sql_parser_found(struct sql_parser *p, const char *expected);

/* sql_parser_fail(p, err, format, ...): any other message about the current token's place. The text
 * must not quote a token that could hold a secret. Returns false. */
bool sql_parser_fail(struct sql_parser *p, enum err err, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
