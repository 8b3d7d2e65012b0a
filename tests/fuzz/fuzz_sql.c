/*
 * fuzz_sql.c: any text as statements.
 *
 * What parses is rendered and parses back to an equal statement; masked texts parse too. A password
 * set before or behind the input is in no error and in no masked text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sql/sql.h"
#include "support/sql_equal.h"

#define CANARY "q7CANARYq7"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_sql: %s\n", what);
    abort();
}

static bool
holds_canary(struct slice s)
{
    struct slice canary = SLICE(CANARY);

    for (size_t i = 0; i + canary.n <= s.n; i++)
        if (slice_starts(slice_from(s, i), canary))
            return true;
    return false;
}

static bool
all_public(const struct sql_statement *statement, struct slice key)
{
    (void)statement;
    (void)key;
    return true;
}

/* Render in one way; what comes out parses, and with its secrets says the same. */
static void
check_rendering(const struct sql_statement *statement, struct sql_render_options options,
                bool canary)
{
    struct sql_script again;
    struct sql_error error;
    struct buf out;

    buf_init(&out, 8 << 20);
    must(sql_render(&out, statement, &options) == ERR_OK, "a parsed statement has no text");
    if (options.secrets != SQL_SECRETS_SHOWN && canary)
        must(!holds_canary(buf_peek(&out)), "a rendering shows a secret");
    /* The words of an unsupported statement need not be a whole one, nor the rest of an ALTER. */
    if (statement->kind != SQL_UNSUPPORTED && buf_len(&out) <= SQL_TEXT_MAX &&
        (statement->kind != SQL_ALTER_SINK || options.secrets != SQL_SECRETS_OMITTED)) {
        must(sql_parse(buf_peek(&out), &again, &error) == ERR_OK, "a rendering does not parse");
        must(again.count == 1, "a rendering is not one statement");
        if (options.secrets == SQL_SECRETS_SHOWN)
            must(sql_equal(statement, &again.statements[0]), "a rendering says something else");
        sql_free(&again);
    }
    buf_free(&out);
}

static void
check_text(struct slice text, bool canary)
{
    struct sql_script script;
    struct sql_error error;

    if (sql_parse(text, &script, &error) != ERR_OK) {
        must(strlen(error.text) > 0 && script.count == 0, "an error without a text");
        if (canary)
            must(!holds_canary(slice_of(error.text)), "an error shows a secret");
    }
    for (size_t i = 0; i < script.count; i++) {
        const struct sql_statement *s = &script.statements[i];

        check_rendering(s, (struct sql_render_options){SQL_SECRETS_SHOWN, NULL, true}, false);
        check_rendering(s, (struct sql_render_options){SQL_SECRETS_MASKED, NULL, false}, canary);
        check_rendering(s, (struct sql_render_options){SQL_SECRETS_OMITTED, all_public, true},
                        false);
        check_rendering(s, (struct sql_render_options){SQL_SECRETS_OMITTED, NULL, true}, canary);
    }
    sql_free(&script);
}

static void
check_around(const char *before, struct slice middle, const char *behind)
{
    struct buf text;

    buf_init(&text, 8 << 20);
    must(buf_add_text(&text, before) == ERR_OK && buf_add(&text, middle) == ERR_OK &&
             buf_add_text(&text, behind) == ERR_OK,
         "no room");
    check_text(buf_peek(&text), true);
    buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice input = slice_make(data, size);

    check_text(input, false);
    if (holds_canary(input))
        return 0; /* it may stand where nothing is secret */
    check_around("CREATE SINK a PASSWORD '" CANARY "'", input, "");
    check_around("CREATE SINK a TO 'http://u:" CANARY "@h/x'", input, "");
    check_around("CREATE SINK a TYPE stdout WITH (bearer_token = '" CANARY "'", input, "");
    check_around("", input, " PASSWORD '" CANARY "'");
    /* Without a quote or another statement in between it is the password that was not quoted. */
    if (slice_find(input, '\'') == size && slice_find(input, '"') == size &&
        slice_find(input, ';') == size) {
        check_around("CREATE USER u WITH PASSWORD ", input, " " CANARY);
        check_around("SET PASSWORD FOR u = ", input, CANARY "'");
    }
    must(mem_live() == 0, "memory is left over");
    return 0;
}
