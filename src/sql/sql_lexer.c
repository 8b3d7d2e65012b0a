/*
 * sql_lexer.c: statement text to tokens. See sql_lexer.h.
 *
 * Columns count code points, a tab is one, CR LF is one line break. Unlike in InfluxDB positions
 * are exact, a NUL is an error and not the end, and a bad escape is reported at its backslash.
 */
#include "sql/sql_lexer.h"

#include "base/text.h"

void
sql_lexer_init(struct sql_lexer *lexer, struct slice text)
{
    *lexer = (struct sql_lexer){.text = text, .line = 1, .column = 1};
}

/* The byte ${ahead} places on, or 0 at the end; a NUL is told apart by is_end. */
static uint8_t
peek(const struct sql_lexer *lexer, size_t ahead)
{
    return ahead < lexer->text.n - lexer->at ? lexer->text.p[lexer->at + ahead] : 0;
}

static bool
is_end(const struct sql_lexer *lexer)
{
    return lexer->at == lexer->text.n;
}

/* Step over one character: a code point, or CR LF. */
static void
step(struct sql_lexer *lexer)
{
    uint8_t c = peek(lexer, 0);
    size_t n = text_utf8(slice_from(lexer->text, lexer->at));

    if (c == '\r' && peek(lexer, 1) == '\n')
        n = 2;
    lexer->at += n == 0 ? 1 : n;
    lexer->column++;
    if (c == '\n' || c == '\r') {
        lexer->line++;
        lexer->column = 1;
    }
}

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word_start(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_word(uint8_t c)
{
    return is_word_start(c) || is_digit(c);
}

/* Blanks and closed comments. False: an unclosed comment, nothing of it is skipped. */
static bool
skip_blanks(struct sql_lexer *lexer)
{
    while (!is_end(lexer)) {
        if (is_blank(peek(lexer, 0))) {
            step(lexer);
        } else if (peek(lexer, 0) == '-' && peek(lexer, 1) == '-') {
            while (!is_end(lexer) && peek(lexer, 0) != '\n' && peek(lexer, 0) != '\r')
                step(lexer);
        } else if (peek(lexer, 0) == '/' && peek(lexer, 1) == '*') {
            struct sql_lexer start = *lexer;

            step(lexer);
            step(lexer);
            while (!is_end(lexer) && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'))
                step(lexer);
            if (is_end(lexer)) {
                *lexer = start;
                return false;
            }
            step(lexer);
            step(lexer);
        } else {
            break;
        }
    }
    return true;
}

static bool
is_escape(uint8_t c)
{
    return c == 'n' || c == '\\' || c == '"' || c == '\'';
}

/* A quoted token from its opening quote on. */
static void
scan_quoted(struct sql_lexer *lexer, struct sql_token *token)
{
    uint8_t quote = peek(lexer, 0);

    step(lexer);
    for (;;) {
        uint8_t c = peek(lexer, 0);

        if (is_end(lexer) || c == '\n' || c == '\r' || c == 0) {
            token->kind = SQL_TOKEN_UNCLOSED;
            return;
        }
        if (c == '\\' && !is_escape(peek(lexer, 1))) {
            size_t start = lexer->at;

            token->kind = SQL_TOKEN_ESCAPE;
            token->line = lexer->line;
            token->column = lexer->column;
            step(lexer);
            if (!is_end(lexer))
                step(lexer);
            token->raw.p = lexer->text.p + start;
            return;
        }
        step(lexer);
        if (c == '\\')
            step(lexer);
        if (c == quote)
            break;
    }
    token->kind = quote == '"' ? SQL_TOKEN_QUOTED : SQL_TOKEN_STRING;
}

/* The micro sign, U+00B5: a letter of durations. */
static bool
is_micro(const struct sql_lexer *lexer)
{
    return peek(lexer, 0) == 0xc2 && peek(lexer, 1) == 0xb5;
}

static void
scan_number(struct sql_lexer *lexer, struct sql_token *token)
{
    token->kind = SQL_TOKEN_INTEGER;
    while (is_digit(peek(lexer, 0)))
        step(lexer);
    if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
        token->kind = SQL_TOKEN_NUMBER;
        step(lexer);
        while (is_digit(peek(lexer, 0)))
            step(lexer);
    } else if (is_word_start(peek(lexer, 0)) || is_micro(lexer)) {
        token->kind = SQL_TOKEN_DURATION;
        while (is_word(peek(lexer, 0)) || is_micro(lexer))
            step(lexer);
    }
}

static void
scan_regex(struct sql_lexer *lexer, struct sql_token *token)
{
    token->kind = SQL_TOKEN_UNCLOSED;
    step(lexer);
    while (!is_end(lexer)) {
        uint8_t c = peek(lexer, 0);

        if (c == '\n' || c == '\r' || c == 0)
            return;
        step(lexer);
        if (c == '/') {
            token->kind = SQL_TOKEN_REGEX;
            return;
        }
        if (c == '\\' && !is_end(lexer) && peek(lexer, 0) != '\n' && peek(lexer, 0) != '\r' &&
            peek(lexer, 0) != 0)
            step(lexer);
    }
}

/* A word, a bound parameter, one sign, or a character that starts nothing. */
static void
scan_rest(struct sql_lexer *lexer, struct sql_token *token)
{
    uint8_t c = peek(lexer, 0);

    step(lexer);
    if (is_word_start(c) || (c == '$' && is_word_start(peek(lexer, 0)))) {
        token->kind = c == '$' ? SQL_TOKEN_ILLEGAL : SQL_TOKEN_WORD;
        while (is_word(peek(lexer, 0)))
            step(lexer);
    } else {
        token->kind =
            c != 0 && strchr(",;()=.+-*/%<>!~&|^:", c) != NULL ? SQL_TOKEN_SIGN : SQL_TOKEN_ILLEGAL;
    }
}

static struct sql_token
scan(struct sql_lexer *lexer, bool regex)
{
    size_t before = lexer->at;
    bool closed = skip_blanks(lexer);
    struct sql_token token = {.raw = slice_make(lexer->text.p + lexer->at, 0),
                              .line = lexer->line,
                              .column = lexer->column,
                              .glued = before == lexer->at && before > 0};
    uint8_t c = peek(lexer, 0);

    if (!closed) {
        token.kind = SQL_TOKEN_ILLEGAL;
        lexer->at = lexer->text.n;
        return token;
    }
    if (is_end(lexer))
        token.kind = SQL_TOKEN_EOF;
    else if (c == '"' || c == '\'')
        scan_quoted(lexer, &token);
    else if (regex && c == '/')
        scan_regex(lexer, &token);
    else if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
        scan_number(lexer, &token);
    else
        scan_rest(lexer, &token);
    token.raw.n = (size_t)(lexer->text.p + lexer->at - token.raw.p);
    if (token.kind == SQL_TOKEN_UNCLOSED || token.kind == SQL_TOKEN_ESCAPE)
        lexer->at = lexer->text.n;
    return token;
}

struct sql_token
sql_lexer_next(struct sql_lexer *lexer)
{
    return scan(lexer, false);
}

struct sql_token
sql_lexer_regex(struct sql_lexer *lexer)
{
    return scan(lexer, true);
}

size_t
sql_lexer_content(const struct sql_token *token, uint8_t *out)
{
    struct slice raw = token->raw;
    uint8_t quote = raw.n > 0 ? raw.p[0] : 0;
    bool closed = token->kind != SQL_TOKEN_UNCLOSED;
    bool regex = quote == '/';
    size_t n = 0;

    if (token->kind != SQL_TOKEN_QUOTED && token->kind != SQL_TOKEN_STRING &&
        token->kind != SQL_TOKEN_REGEX && token->kind != SQL_TOKEN_UNCLOSED) {
        for (n = 0; n < raw.n; n++)
            out[n] = raw.p[n];
        return n;
    }
    for (size_t i = 1; i < raw.n - (closed ? 1 : 0); i++) {
        uint8_t c = raw.p[i];

        if (c == '\\' && i + 1 < raw.n) {
            c = raw.p[++i];
            if (regex && c != '/') /* only the slash is escaped; the rest is the expression's own */
                out[n++] = '\\';
            else if (!regex && c == 'n')
                c = '\n';
        }
        out[n++] = c;
    }
    return n;
}

static bool
stands_apart(const struct sql_token *a, const struct sql_token *b)
{
    return !b->glued || a->kind == SQL_TOKEN_SIGN || b->kind == SQL_TOKEN_SIGN ||
           b->kind == SQL_TOKEN_EOF;
}

static bool
is_quoted(const struct sql_token *token)
{
    return token->kind == SQL_TOKEN_QUOTED || token->kind == SQL_TOKEN_STRING;
}

bool
sql_lexer_quotes_sound(struct slice text)
{
    struct sql_lexer lexer;
    struct sql_token before = {.kind = SQL_TOKEN_SIGN}, token;

    sql_lexer_init(&lexer, text);
    do {
        token = sql_lexer_next(&lexer);
        if (token.kind == SQL_TOKEN_UNCLOSED || token.kind == SQL_TOKEN_ESCAPE ||
            (token.kind == SQL_TOKEN_ILLEGAL && token.raw.n == 0))
            return false;
        if ((is_quoted(&before) || is_quoted(&token)) && !stands_apart(&before, &token))
            return false;
        before = token;
    } while (token.kind != SQL_TOKEN_EOF);
    return true;
}

bool
sql_lexer_is_reserved(struct slice word)
{
    /* InfluxQL 1.x without FUTURE, PAST and VERBOSE, which only some versions reserve. */
    static const char words[] =
        " ALL ALTER ANALYZE AND ANY AS ASC BEGIN BY CARDINALITY CONTINUOUS CREATE DATABASE"
        " DATABASES DEFAULT DELETE DESC DESTINATIONS DIAGNOSTICS DISTINCT DROP DURATION END EVERY"
        " EXACT EXPLAIN FALSE FIELD FOR FROM GRANT GRANTS GROUP GROUPS IN INF INSERT INTO KEY KEYS"
        " KILL LIMIT MEASUREMENT MEASUREMENTS NAME OFFSET ON OR ORDER PASSWORD POLICIES POLICY"
        " PRIVILEGES QUERIES QUERY READ REPLICATION RESAMPLE RETENTION REVOKE SELECT SERIES SET"
        " SHARD SHARDS SHOW SLIMIT SOFFSET STATS SUBSCRIPTION SUBSCRIPTIONS TAG TO TRUE USER USERS"
        " VALUES WHERE WITH WRITE ";
    struct slice rest = slice_of(words), one;

    while (slice_split(&rest, ' ', &one))
        if (one.n > 0 && slice_eq_nocase(one, word))
            return true;
    return false;
}
