/*
 * sql_lexer.h: statement text to tokens, one at a time, without allocation.
 *
 * InfluxQL 1.x: blanks, comments (-- and slash-star), bare words, "names", 'strings', integers,
 * numbers, durations and signs. A regular expression is scanned on request, since only the parser
 * knows whether a '/' divides. Private to sql/.
 */
#ifndef SINKD_SQL_SQL_LEXER_H
#define SINKD_SQL_SQL_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum sql_token_kind {
    SQL_TOKEN_EOF,
    SQL_TOKEN_WORD,     /* [A-Za-z_][A-Za-z0-9_]*, keyword or not */
    SQL_TOKEN_QUOTED,   /* "..." */
    SQL_TOKEN_STRING,   /* '...' */
    SQL_TOKEN_UNCLOSED, /* a quoted token that meets the end, a line break or a NUL */
    SQL_TOKEN_ESCAPE,   /* an escape in a quoted token that does not exist; raw is the escape */
    SQL_TOKEN_INTEGER,  /* 12 */
    SQL_TOKEN_NUMBER,   /* 1.5, .5 */
    SQL_TOKEN_DURATION, /* a digit run with letters: 10s, and 10MB too */
    SQL_TOKEN_REGEX,    /* /.../ */
    SQL_TOKEN_SIGN,     /* one sign: , ; ( ) = . and so on */
    SQL_TOKEN_ILLEGAL   /* any other character; an unclosed comment has an empty raw */
};

struct sql_token {
    enum sql_token_kind kind;
    struct slice raw;    /* as written, quotes and slashes included */
    size_t line, column; /* of its first character; an ESCAPE's of the backslash */
    bool glued;          /* nothing stands between it and the token before */
};

struct sql_lexer {
    struct slice text; /* private */
    size_t at, line, column;
};

/* sql_lexer_init(lexer, text): ${text} is a loan for as long as the lexer and its tokens are used.
 * A copy of the struct remembers a place to go back to. */
void sql_lexer_init(struct sql_lexer *lexer, struct slice text);

/* sql_lexer_next(lexer): the next token. After UNCLOSED, ESCAPE and an unclosed comment the rest
 * makes no sense; calling on gives EOF. */
struct sql_token sql_lexer_next(struct sql_lexer *lexer);

/* sql_lexer_regex(lexer): as next, but a '/' that is not a comment starts a regular expression. */
struct sql_token sql_lexer_regex(struct sql_lexer *lexer);

/* sql_lexer_content(token, out): write what a QUOTED, STRING, UNCLOSED or REGEX token means, with
 * escapes resolved, to ${out} (token.raw.n bytes of room); others as they are. Returns how many. */
size_t sql_lexer_content(const struct sql_token *token, uint8_t *out);

/* sql_lexer_quotes_sound(text): whether every quoted token of ${text} is closed and stands apart
 * from its neighbours. Where not, a stray quote may have turned the inside of a value out. */
bool sql_lexer_quotes_sound(struct slice text);

/* sql_lexer_is_reserved(word): one of InfluxQL's reserved words, in any case: no bare name. */
bool sql_lexer_is_reserved(struct slice word);

#endif
