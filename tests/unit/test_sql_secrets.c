/*
 * test_sql_secrets.c: whatever is wrong with a statement, no error and no masked text shows its
 * secrets.
 *
 * Each text holds the word CANARY where a secret stands, or where a slip put one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "sql/sql.h"
#include "support/guard.h"

static bool
holds(struct slice s, const char *word)
{
    struct slice part = slice_of(word);

    for (size_t i = 0; i + part.n <= s.n; i++)
        if (slice_eq_nocase(slice_make(s.p + i, part.n), part))
            return true;
    return false;
}

/* All of these are errors. */
static const char *const slips[] = {
    /* not quoted at all */
    "CREATE SINK a TYPE stdout PASSWORD CANARY",
    "CREATE SINK a TYPE stdout PASSWORD p@CANARY",
    "CREATE SINK a TYPE stdout PASSWORD CANARY@p",
    "CREATE SINK a TYPE stdout PASSWORD 1CANARY",
    "CREATE SINK a TYPE stdout PASSWORD $CANARY",
    "CREATE SINK a TYPE stdout PASSWORD = CANARY",
    "CREATE SINK a TYPE stdout PASSWORD='CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD: 'CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD (CANARY)",
    "CREATE SINK a TYPE stdout PASSWORD `CANARY`",
    "CREATE SINK a TYPE stdout PASSWORD /CANARY/",
    "CREATE SINK a TYPE stdout PASSWORD \303\251CANARY",
    "CREATE SINK a TO CANARY TYPE kafka",
    "CREATE SINK a TO http://u:CANARY@h/ TYPE http_line",
    "CREATE SINK a TO http_CANARY://h/ TYPE http_line",
    "CREATE USER u WITH PASSWORD CANARY",
    "CREATE USER u WITH PASSWORD a;CANARY",
    "CREATE USER u WITH CANARY",
    "CREATE USER u CANARY",
    "SET PASSWORD FOR u = CANARY",
    "SET PASSWORD FOR u CANARY",
    "SET PASSWORD CANARY",
    "SET PASSWORD CANARY FOR u",
    "SET PASSWORD = 'CANARY'",
    /* quotes that do not close, or close too early */
    "CREATE SINK a TYPE stdout PASSWORD 'CANARY",
    "CREATE SINK a TYPE stdout PASSWORD \"CANARY",
    "CREATE SINK a TYPE stdout PASSWORD 'CANARY\" TYPE kafka",
    "CREATE SINK a TYPE stdout PASSWORD 'a'CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a' CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a' CANARY",
    "CREATE SINK a TYPE stdout PASSWORD 'a' 'CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a''CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a', CANARY",
    "CREATE SINK a TYPE stdout PASSWORD 'a' + 'CANARY'",
    "CREATE SINK a PASSWORD 'a' TYPE CANARY'",
    "CREATE SINK a PASSWORD 'a' TYPE CANARY' x'",
    "CREATE SINK a PASSWORD 'a' FORMAT CANARY\"x\"",
    "CREATE SINK a TYPE stdout PASSWORD 'a' ON CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a' ON x CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a' START CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a'; CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a'; CANARY''",
    "CREATE SINK a TYPE stdout PASSWORD 'a'; SHOW CANARY\"",
    "CREATE SINK a TYPE stdout PASSWORD 'a'; 'CANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'CANARY\\q'",
    "CREATE SINK a TYPE stdout PASSWORD 'a\\qCANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'CANARY\nx'",
    "CREATE SINK a TYPE stdout PASSWORD 'x\nCANARY'",
    "CREATE SINK a TYPE stdout PASSWORD 'a' /* CANARY",
    "CREATE SINK \"a TO \"http://u:CANARY@h\" TYPE kafka",
    "CREATE SINK \"a PASSWORD \"CANARY\" TYPE kafka",
    "DROP SINK \"a; SET PASSWORD FOR u = \"CANARY\"",
    "SHOW SINKS '; SET PASSWORD FOR u = 'CANARY'",
    "CREATE DATABASE \"a; CREATE USER u WITH PASSWORD \"CANARY\"",
    "SELECT 'x FROM y; CREATE USER u WITH PASSWORD 'CANARY'",
    "SELECT a FROM b WHERE c =~ /; CREATE USER u WITH PASSWORD 'CANARY'",
    "CREATE USER u WITH PASSWORD 'CANARY",
    "CREATE USER u WITH PASSWORD 'a'; CANARY'",
    "CREATE USER u WITH PASSWORD 'a' CANARY",
    "CREATE USER u WITH PASSWORD 'a' WITH CANARY'",
    "CREATE USER u WITH PASSWORD 'a'CANARY",
    "SET PASSWORD FOR u = 'a' CANARY",
    "SET PASSWORD FOR u = 'CANARY",
    "SET PASSWORD FOR 'CANARY' = u",
    /* a value in the wrong place */
    "CREATE SINK 'CANARY' TYPE stdout",
    "CREATE SINK a 'http://u:CANARY@h/' TYPE http_line",
    "CREATE SINK a \"CANARY\" TYPE http_line",
    "CREATE SINK a USERNAME 'u' 'CANARY' TYPE stdout",
    "CREATE SINK a USERNAME 'u' PASSWRD 'CANARY' TYPE stdout",
    "CREATE SINK a TYPE 'CANARY'",
    "CREATE SINK a TYPE stdout FORMAT 'CANARY'",
    "CREATE SINK a TYPE stdout BATCH_SIZE 'CANARY'",
    "CREATE SINK a TYPE stdout INCLUDE 'CANARY'",
    "CREATE SINK a TYPE stdout ON 'CANARY'",
    "CREATE SINK a TO 'x' 'CANARY' TYPE stdout",
    "ALTER SINK a 'CANARY'",
    "ALTER SINK a SET PASSWORD 'CANARY'",
    "CREATE USER u 'CANARY'",
    "CREATE USER u WITH 'CANARY'",
    "CREATE USER u IDENTIFIED BY 'CANARY'",
    "CREATE USER u PASSWORD 'CANARY'",
    "ALTER USER u WITH PASSWORD 'CANARY'",
    "UPDATE u SET PASSWORD = 'CANARY'",
    "GRANT ALL TO u IDENTIFIED BY 'CANARY'",
    "PASSWORD 'CANARY'",
    "DROP USER PASSWORD 'CANARY'",
    /* WITH lists */
    "CREATE SINK a TYPE stdout WITH bearer_token = 'CANARY'",
    "CREATE SINK a TYPE stdout WITH (bearer_token = 'x' CANARY)",
    "CREATE SINK a TYPE stdout WITH (bearer_token = 'x' 'CANARY')",
    "CREATE SINK a TYPE stdout WITH (bearer_token = CANARY/x)",
    "CREATE SINK a TYPE stdout WITH (bearer_token = /CANARY/)",
    "CREATE SINK a TYPE stdout WITH (bearer_token = a-CANARY)",
    "CREATE SINK a TYPE stdout WITH (bearer_token = 'CANARY)",
    "CREATE SINK a TYPE stdout WITH (bearer_token 'CANARY')",
    "CREATE SINK a TYPE stdout WITH (bearer_token: 'CANARY')",
    "CREATE SINK a TYPE stdout WITH (bearer_token CANARY)",
    "CREATE SINK a TYPE stdout WITH ('bearer_token' = 'CANARY')",
    "CREATE SINK a TYPE stdout WITH ('CANARY')",
    "CREATE SINK a TYPE stdout WITH (a = 'x', 'CANARY' = b)",
    "CREATE SINK a TYPE stdout WITH (a = 'x', a = 'CANARY')",
    "CREATE SINK a TYPE stdout WITH (a = 9CANARY)",
    "CREATE SINK a TYPE stdout WITH (a = 1,CANARY)",
    "CREATE SINK a TYPE stdout WITH (a = 'x'; CANARY)",
    "CREATE SINK a TYPE stdout WITH (a = 'x'), CANARY'",
    "CREATE SINK a TYPE stdout WITH [a = 'CANARY']",
    "CREATE SINK a TYPE stdout WITH 'CANARY'",
    "REPAIR DEAD LETTER ON a ID 1 WITH CANARY",
    "REPAIR DEAD LETTER ON a ID 1 WITH 'x' CANARY'",
    "REPAIR DEAD LETTER ON a ID 1 'CANARY'",
    /* statements that sinkd does not have */
    "CREATE SUBSCRIPTION s ON d.r DESTINATIONS ALL 'http://h' 'http://u:CANARY@h'",
    "CREATE SUBSCRIPTION s ON d.r DESTINATIONS ALL \"http://h/?p=CANARY\"",
};

static void
errors_show_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
        struct slice text = guard_copy(slice_of(slips[i]));
        struct sql_script script;
        struct sql_error error;

        if (sql_parse(text, &script, &error) != ERR_BAD)
            fail_msg("parsed: %s", slips[i]);
        if (holds(slice_of(error.text), "CANARY"))
            fail_msg("%s\nsaid: %s", slips[i], error.text);
        assert_true(error.line > 0 && error.column > 0);
        assert_int_equal(script.count, 0);
        sql_free(&script);
        guard_free(text);
    }
}

/* What is no secret is still shown: a message must help. */
static void
errors_still_help(void **state)
{
    static const char *const texts[][2] = {
        {"CREATE SINK a TO 'x' TYPE kafca", "found kafca, expected http_line, http_msgpack, mqtt, "
                                            "kafka, stdout at line 1, char 27"},
        {"CREATE SINK a PASSWORD 'x' TYPE kafca", "found kafca, expected http_line, http_msgpack, "
                                                  "mqtt, kafka, stdout at line 1, char 33"},
        {"CREATE SINK a PASSWORD 'x'", "found EOF, expected TYPE at line 1, char 27"},
        {"CREATE SINK a PASSWORD 'x';", "found ;, expected TYPE at line 1, char 27"},
        {"CREATE SINK a PASSWORD", "found EOF, expected string at line 1, char 23"},
        {"CREATE USER u PASSWORD 'x'", "found PASSWORD, expected WITH at line 1, char 15"},
        {"CREATE USER u WITH PASSWORD 'x'; FOO", "found FOO, expected SELECT, DELETE, SHOW, "
                                                 "CREATE, DROP, EXPLAIN, GRANT, REVOKE, ALTER, "
                                                 "SET, KILL, REPLAY, REPAIR at line 1, char 34"},
        {"CREATE SINK a TYPE stdout WITH (a = 'x') START now",
         "found now, expected EARLIEST, LATEST at line 1, char 48"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sql_script script;
        struct sql_error error;
        char expected[sizeof(error.text)];

        (void)snprintf(expected, sizeof(expected), "error parsing query: %s", texts[i][1]);
        assert_int_equal(sql_parse(slice_of(texts[i][0]), &script, &error), ERR_BAD);
        assert_string_equal(error.text, expected);
    }
}

static const char *const statements[] = {
    "CREATE SINK a TO 'http://u:CANARY@h/x?db=y' TYPE http_line",
    "CREATE SINK a TO 'http://CANARY@h/x?db=y' TYPE http_line",
    "CREATE SINK a TO 'http://h/x?db=y&p=CANARY&u=CANARY' TYPE http_line",
    "CREATE SINK a TO 'http://h/x?api-key=CANARY' TYPE http_line",
    "CREATE SINK a TO 'no url but CANARY' TYPE http_line",
    "CREATE SINK a TO 'http://u:1/CANARY@h/' TYPE http_line",
    "CREATE SINK a TO 'kafka://u:CANARY@b1:1,b2:2/t' TYPE kafka",
    "CREATE SINK a TYPE stdout USERNAME 'u' PASSWORD 'CANARY'",
    "CREATE SINK a TYPE stdout WITH (bearer_token = 'CANARY', hidden = CANARY)",
    "CREATE SINK a TYPE stdout WITH (headers = 'X: CANARY\\nY: CANARY')",
    "CREATE SINK a TYPE stdout WITH (shown = 1, typo_token = \"CANARY\")",
    "ALTER SINK a PASSWORD 'CANARY' TO 'mqtt://CANARY:CANARY@h/t'",
    "CREATE USER u WITH PASSWORD 'CANARY' WITH ALL PRIVILEGES",
    "SET PASSWORD FOR u = \"CANARY\"",
    "REPAIR DEAD LETTER ON a ID 1 WITH 'm f=\"CANARY\"'",
    "CREATE SUBSCRIPTION s ON d.r DESTINATIONS ALL 'http://u:CANARY@h'",
};

static bool
is_public(const struct sql_statement *statement, struct slice key)
{
    (void)statement;
    return slice_eq(key, SLICE("shown"));
}

static void
rendering_shows_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        struct sql_render_options options = {.option_is_public = is_public};
        struct sql_script script;
        struct sql_error error;
        struct buf out;

        assert_int_equal(sql_parse(slice_of(statements[i]), &script, &error), ERR_OK);
        buf_init(&out, 4096);
        assert_int_equal(sql_render(&out, &script.statements[0], NULL), ERR_OK);
        assert_int_equal(sql_render(&out, &script.statements[0], &options), ERR_OK);
        options.secrets = SQL_SECRETS_OMITTED;
        assert_int_equal(sql_render(&out, &script.statements[0], &options), ERR_OK);
        if (holds(buf_peek(&out), "CANARY"))
            fail_msg("%s\nshown as: %.*s", statements[i], SLICE_PRI(buf_peek(&out)));
        buf_free(&out);
        sql_free(&script);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_show_nothing),
        cmocka_unit_test(errors_still_help),
        cmocka_unit_test(rendering_shows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
