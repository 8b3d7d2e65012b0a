/*
 * sql.h: text to statements and back. Pure: nothing is run here.
 *
 * The language is that of InfluxQL 1.x for databases and users, and the sink statements beside it;
 * docs/user-guide/reference.md lists them all. Positions in errors are exact: 1-based lines and
 * code points, counted from the first byte that is not blank.
 */
#ifndef SINKD_SQL_SQL_H
#define SINKD_SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "sql/statement.h"

/* The statements of one request. All slices in them point into memory of the script. */
struct sql_script {
    struct sql_statement *statements;
    size_t count; /* 0: only blanks, comments and ';' */
    /* private: resolved names and values, secrets among them; the arrays of the statements */
    uint8_t *text;
    size_t text_size;
    void **lists;
    size_t list_count;
};

struct sql_error {
    size_t line, column; /* 1-based; column in code points; both 0 when it is not about a place */
    char text[512];      /* "error parsing query: found X, expected Y at line L, char C" */
};

/*
 * sql_parse(text, script, error):
 * Parse all statements of a request; either all are good or nothing is kept. ${text} is copied.
 * Owns:   ${script} is the caller's, to be given to sql_free (also harmless after an error).
 * Errors: ERR_BAD (not a statement, ${error} says why), ERR_RANGE (over a limit of statement.h),
 *         ERR_NOMEM. ${error} is filled in all of them. It never holds a secret: where one could
 *         stand the token is shown as "****".
 */
enum err sql_parse(struct slice text, struct sql_script *script, struct sql_error *error) MUST_USE;

/* sql_free(script): wipe and give back; ${script} is then empty. */
void sql_free(struct sql_script *script);

enum sql_secrets {
    SQL_SECRETS_MASKED,  /* shown as '****'; for logs, messages and listings */
    SQL_SECRETS_OMITTED, /* left out, a comment in their place; for export */
    SQL_SECRETS_SHOWN    /* as they are; the text parses back to an equal statement */
};

struct sql_render_options {
    enum sql_secrets secrets;
    /* Whether everyone may see the value of this WITH key; the sink types' option tables know.
     * NULL: no value may be seen. */
    bool (*option_is_public)(const struct sql_statement *statement, struct slice key);
    bool multiline; /* one clause a line, indented; for export */
};

/*
 * sql_render(out, statement, options):
 * Append the canonical text of ${statement}, without a ';'. ${options} may be NULL: masked, on
 * one line.
 * Secrets are passwords, user info and credential-like query values of the URL, values of WITH that
 * are not public, and the line of REPAIR (data, not for logs). User info in a URL is left out
 * unless secrets are shown.
 * Errors: ERR_NOMEM (or at the maximum of ${out}), ERR_BAD (a hand-made statement that cannot be
 *         written down: a NUL, a missing clause); nothing is then added.
 */
enum err sql_render(struct buf *out, const struct sql_statement *statement,
                    const struct sql_render_options *options) MUST_USE;

/* sql_quote_name(out, name), sql_quote_value(out, value): append with "..." or '...' and escapes.
 * ERR_NOMEM. */
enum err sql_quote_name(struct buf *out, struct slice name) MUST_USE;
enum err sql_quote_value(struct buf *out, struct slice value) MUST_USE;

#endif
