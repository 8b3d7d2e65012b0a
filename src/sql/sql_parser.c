/*
 * sql_parser.c: token cursor, errors and memory of the statement parsers. See sql_parser.h.
 *
 * Secrets in errors. An error shows one token: the first that does not fit. It is masked
 *   - where a secret is due or one has just been (hot);
 *   - when it is quoted, in or after a statement that takes secrets: a value in the wrong place;
 *   - when the quotes of a text that may hold secrets do not add up: then any token may be the
 *     inside of a value;
 *   - when it looks like a URL with user info or a query.
 */
#include "sql/sql_parser.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"
#include "base/text.h"

#define SHOWN_MAX 100 /* bytes of a token that an error shows */

/* Fill the error; the place is the current token's. */
PRINTF_LIKE(3, 0)
static bool
fail_at(struct sql_parser *p, enum err err, const char *format, va_list args)
{
    struct sql_error *error = p->error;
    size_t used;

    p->err = err;
    error->line = p->token.line;
    error->column = p->token.column;
    (void)snprintf(error->text, sizeof(error->text), "error parsing query: ");
    used = strlen(error->text);
    (void)vsnprintf(error->text + used, sizeof(error->text) - used, format, args);
    used = strlen(error->text);
    (void)snprintf(error->text + used, sizeof(error->text) - used, " at line %zu, char %zu",
                   error->line, error->column);
    return false;
}

bool
sql_parser_fail(struct sql_parser *p, enum err err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fail_at(p, err, format, args);
    va_end(args);
    return false;
}

static bool
fail_no_memory(struct sql_parser *p)
{
    p->err = ERR_NOMEM;
    *p->error = (struct sql_error){0};
    (void)snprintf(p->error->text, sizeof(p->error->text), "out of memory");
    return false;
}

static bool
holds(struct slice s, const char *word)
{
    struct slice part = slice_of(word);

    for (size_t i = 0; i + part.n <= s.n; i++)
        if (slice_eq_nocase(slice_make(s.p + i, part.n), part))
            return true;
    return false;
}

static bool
must_mask(const struct sql_parser *p)
{
    const struct sql_token *token = &p->token;
    bool quoted = token->kind == SQL_TOKEN_QUOTED || token->kind == SQL_TOKEN_STRING ||
                  token->kind == SQL_TOKEN_UNCLOSED || token->kind == SQL_TOKEN_ESCAPE;

    if (token->kind == SQL_TOKEN_EOF)
        return false;
    if (p->hot || (p->secretive && quoted))
        return true;
    if (holds(token->raw, "://") && (holds(token->raw, "@") || holds(token->raw, "?")))
        return true;
    return (holds(p->text, "password") || holds(p->text, "sink")) &&
           (token->kind == SQL_TOKEN_UNCLOSED || !sql_lexer_quotes_sound(p->text));
}

/* The current token as an error shows it; keywords in upper case, as in InfluxDB. */
static void
show_token(const struct sql_parser *p, char out[SHOWN_MAX + 4])
{
    const struct sql_token *token = &p->token;
    uint8_t *scratch = p->script->text + p->used; /* a token not kept yet always has room there */
    size_t n = sql_lexer_content(token, scratch);
    const char *fixed = NULL;

    if (token->kind == SQL_TOKEN_EOF)
        fixed = "EOF";
    else if (must_mask(p))
        fixed = SECRET_MASK;
    else if (token->kind == SQL_TOKEN_ILLEGAL && (n == 0 || scratch[0] == 0))
        fixed = n == 0 ? "ILLEGAL" : "NUL";
    else if (n == 0)
        fixed = token->raw.p[0] == '"' ? "IDENT" : "STRING";
    if (fixed != NULL) {
        (void)snprintf(out, SHOWN_MAX + 4, "%s", fixed);
        return;
    }
    if (token->kind == SQL_TOKEN_WORD && sql_lexer_is_reserved(token->raw))
        for (size_t i = 0; i < n; i++)
            if (scratch[i] >= 'a' && scratch[i] <= 'z')
                scratch[i] = (uint8_t)(scratch[i] - 'a' + 'A');
    if (n > SHOWN_MAX) {
        n = SHOWN_MAX;
        while (n > 0 && (scratch[n] & 0xc0) == 0x80) /* not through a code point */
            n--;
        (void)snprintf(out, SHOWN_MAX + 4, "%.*s...", (int)n, (const char *)scratch);
    } else {
        (void)snprintf(out, SHOWN_MAX + 4, "%.*s", (int)n, (const char *)scratch);
    }
}

bool
sql_parser_found(struct sql_parser *p, const char *expected)
{
    char shown[SHOWN_MAX + 4];

    show_token(p, shown);
    return sql_parser_fail(p, ERR_BAD, "found %s, expected %s", shown, expected);
}

bool
sql_parser_init(struct sql_parser *p, struct slice text, struct sql_script *script,
                struct sql_error *error)
{
    *p = (struct sql_parser){.text = text, .script = script, .error = error};
    script->text = mem_alloc(text.n + 1);
    if (script->text == NULL)
        return fail_no_memory(p);
    script->text_size = text.n + 1;
    sql_lexer_init(&p->after, text);
    sql_parser_next(p);
    return true;
}

void
sql_parser_next(struct sql_parser *p)
{
    if (sql_parser_at_word(p, "PASSWORD"))
        p->secretive = true;
    p->before = p->after;
    p->token = sql_lexer_next(&p->after);
}

void
sql_parser_rescan_regex(struct sql_parser *p)
{
    p->after = p->before;
    p->token = sql_lexer_regex(&p->after);
}

bool
sql_parser_at_word(const struct sql_parser *p, const char *word)
{
    return p->token.kind == SQL_TOKEN_WORD && slice_eq_nocase(p->token.raw, slice_of(word));
}

bool
sql_parser_at_sign(const struct sql_parser *p, char sign)
{
    return p->token.kind == SQL_TOKEN_SIGN && p->token.raw.p[0] == (uint8_t)sign;
}

bool
sql_parser_at_end(const struct sql_parser *p)
{
    return p->token.kind == SQL_TOKEN_EOF || sql_parser_at_sign(p, ';');
}

bool
sql_parser_accept(struct sql_parser *p, const char *word)
{
    if (!sql_parser_at_word(p, word))
        return false;
    sql_parser_next(p);
    p->hot = false;
    return true;
}

bool
sql_parser_accept_sign(struct sql_parser *p, char sign)
{
    if (!sql_parser_at_sign(p, sign))
        return false;
    sql_parser_next(p);
    return true;
}

bool
sql_parser_expect(struct sql_parser *p, const char *word)
{
    return sql_parser_accept(p, word) || sql_parser_found(p, word);
}

bool
sql_parser_expect_sign(struct sql_parser *p, char sign)
{
    char expected[2] = {sign, 0};

    return sql_parser_accept_sign(p, sign) || sql_parser_found(p, expected);
}

bool
sql_parser_followed_by(const struct sql_parser *p, const char *word)
{
    struct sql_lexer ahead = p->after;
    struct sql_token token = sql_lexer_next(&ahead);

    return token.kind == SQL_TOKEN_WORD && slice_eq_nocase(token.raw, slice_of(word));
}

void
sql_parser_keep(struct sql_parser *p, struct slice *out)
{
    uint8_t *to = p->script->text + p->used;
    size_t n = sql_lexer_content(&p->token, to);

    p->used += n;
    *out = slice_make(to, n);
    sql_parser_next(p);
}

bool
sql_parser_identifier(struct sql_parser *p, struct slice *out)
{
    if (p->token.kind != SQL_TOKEN_QUOTED &&
        (p->token.kind != SQL_TOKEN_WORD || sql_lexer_is_reserved(p->token.raw)))
        return sql_parser_found(p, "identifier");
    sql_parser_keep(p, out);
    return true;
}

bool
sql_parser_database(struct sql_parser *p, struct slice *out)
{
    struct sql_token token = p->token;

    if (!sql_parser_identifier(p, out))
        return false;
    if (out->n > SQL_NAME_MAX) {
        p->token = token;
        return sql_parser_fail(p, ERR_RANGE, "a name of %zu bytes: at most %d are allowed", out->n,
                               SQL_NAME_MAX);
    }
    return true;
}

bool
sql_parser_name(struct sql_parser *p, struct slice *out)
{
    struct sql_token token = p->token;
    bool good;

    if (!sql_parser_database(p, out))
        return false;
    good = out->n > 0 && text_is_utf8(*out);
    for (size_t i = 0; i < out->n; i++)
        good = good && out->p[i] >= 0x20 && out->p[i] != 0x7f;
    if (!good) {
        p->token = token;
        return sql_parser_fail(p, ERR_BAD,
                               "invalid name: it must be UTF-8 text without control "
                               "characters, and not empty");
    }
    return true;
}

bool
sql_parser_value(struct sql_parser *p, struct slice *out)
{
    if (p->token.kind != SQL_TOKEN_QUOTED && p->token.kind != SQL_TOKEN_STRING)
        return sql_parser_found(p, "string");
    sql_parser_keep(p, out);
    return true;
}

bool
sql_parser_integer(struct sql_parser *p, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    char shown[SHOWN_MAX + 4];

    if (p->token.kind != SQL_TOKEN_INTEGER)
        return sql_parser_found(p, "integer");
    if (num_u64_max(p->token.raw, max, &value) != ERR_OK || value < min) {
        show_token(p, shown);
        return sql_parser_fail(p, ERR_BAD, "invalid value %s: must be %ju <= n <= %ju", shown,
                               (uintmax_t)min, (uintmax_t)max);
    }
    *out = value;
    sql_parser_next(p);
    return true;
}

bool
sql_parser_duration(struct sql_parser *p, int64_t *out)
{
    char shown[SHOWN_MAX + 4];
    enum err err;

    if (p->token.kind != SQL_TOKEN_DURATION)
        return sql_parser_found(p, "duration");
    err = num_duration_ns(p->token.raw, out);
    if (err == ERR_RANGE) {
        show_token(p, shown);
        return sql_parser_fail(p, ERR_BAD,
                               "overflowed duration %s: choose a smaller duration or INF", shown);
    }
    if (err != ERR_OK)
        return sql_parser_fail(p, ERR_BAD, "invalid duration");
    sql_parser_next(p);
    return true;
}

bool
sql_parser_lifetime(struct sql_parser *p)
{
    int64_t ignored;

    return sql_parser_accept(p, "INF") || sql_parser_duration(p, &ignored);
}

/* Room for one element more: arrays grow by doubling, from 4, each time they are full. */
static bool
grow(void **array, size_t count, size_t size)
{
    void *more;

    if (count != 0 && (count < 4 || (count & (count - 1)) != 0))
        return true;
    more = mem_resize(*array, (count == 0 ? 4 : count * 2) * size);
    if (more == NULL)
        return false;
    *array = more;
    return true;
}

bool
sql_parser_list_open(struct sql_parser *p, size_t *slot)
{
    struct sql_script *script = p->script;
    void *lists = script->lists;

    if (!grow(&lists, script->list_count, sizeof(script->lists[0])))
        return fail_no_memory(p);
    script->lists = lists;
    *slot = script->list_count++;
    script->lists[*slot] = NULL;
    return true;
}

void *
sql_parser_list_add(struct sql_parser *p, size_t slot, size_t count, size_t size)
{
    void **list = &p->script->lists[slot];

    if (count == SQL_LIST_MAX) {
        (void)sql_parser_fail(p, ERR_RANGE, "a list of more than %d", SQL_LIST_MAX);
        return NULL;
    }
    if (!grow(list, count, size)) {
        (void)fail_no_memory(p);
        return NULL;
    }
    return *list;
}
