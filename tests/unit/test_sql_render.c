/*
 * test_sql_render.c: the canonical text of statements: exact forms, the way there and back, what is
 * refused, and full buffers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/sql.h"
#include "sql/sql_words.h"
#include "support/sql_equal.h"

static void
assert_text(const struct buf *b, const char *expected)
{
    struct slice s = buf_peek(b);

    if (!slice_eq(s, slice_of(expected)))
        fail_msg("got      %.*s\nexpected %s", SLICE_PRI(s), expected);
}

static bool
knows_gzip(const struct sql_statement *statement, struct slice key)
{
    assert_int_equal(statement->kind, SQL_CREATE_SINK);
    return slice_eq(key, SLICE("gzip")) || slice_eq(key, SLICE("timeout"));
}

static void
check(const char *text, const struct sql_render_options *options, const char *expected)
{
    struct sql_script script;
    struct sql_error error;
    struct buf out;

    if (sql_parse(slice_of(text), &script, &error) != ERR_OK)
        fail_msg("%s\n%s", text, error.text);
    buf_init(&out, 4096);
    assert_int_equal(sql_render(&out, &script.statements[0], options), ERR_OK);
    assert_text(&out, expected);
    buf_free(&out);
    sql_free(&script);
}

/* One statement of each shape, in its canonical form with its secrets. */
static const char *const canonical[] = {
    "CREATE SINK \"a\" TO 'kafka://u:p@h,i:1/t?x=1' TYPE kafka USERNAME 'u' PASSWORD 'p' "
    "FORMAT json ON d, \"select\", \"\" INCLUDE ALL EXCLUDE MEASUREMENTS cpu, \"a b\", "
    "\"x*\", /a\\/b\\.\\\\/ BATCH_SIZE 5 FLUSH_INTERVAL 1m30s START EARLIEST "
    "WITH (a = 'it\\'s \"\\\\\\n', b = 12, "
    "c = 1.5, d = 10s, e = true, f = all)",
    "CREATE SINK IF NOT EXISTS \"a b\" TYPE stdout FORMAT msgpack START LATEST WITH ()",
    "CREATE SINK \"if\" TO 'x' TYPE http_msgpack INCLUDE MEASUREMENTS type",
    "ALTER SINK \"a\" TO 'x' USERNAME '' PASSWORD '' ON d FLUSH_INTERVAL 0s",
    "ALTER SINK \"a\" PAUSE",
    "ALTER SINK \"a\" RESUME",
    "DROP SINK \"a\\\"\\\\\"",
    "DROP SINK IF EXISTS \"a\"",
    "SHOW SINKS",
    "SHOW SINK \"a\"",
    "SHOW LEDGER",
    "SHOW DEAD LETTERS",
    "SHOW DEAD LETTERS ON \"a\" ID 0 LIMIT 1",
    "REPLAY DEAD LETTERS ON \"a\" ID 18446744073709551615",
    "REPAIR DEAD LETTER ON \"a\" ID 1 WITH 'm f=\"x\"'",
    "DROP DEAD LETTERS ON \"a\"",
    "CREATE USER u WITH PASSWORD 'p'",
    "CREATE USER \"u v\" WITH PASSWORD 'p' WITH ALL PRIVILEGES",
    "DROP USER u",
    "SET PASSWORD FOR u = 'p'",
    "SHOW USERS",
    "GRANT ALL PRIVILEGES TO u",
    "REVOKE ALL PRIVILEGES FROM u",
    "GRANT READ ON d TO u",
    "GRANT ALL PRIVILEGES ON d TO u",
    "REVOKE WRITE ON \"from\" FROM u",
    "CREATE DATABASE d",
    "DROP DATABASE \"a\\nb\"",
    "SHOW DATABASES",
    "SHOW TAG KEYS",
};

static void
there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(canonical) / sizeof(canonical[0]); i++) {
        for (int multiline = 0; multiline < 2; multiline++) {
            struct sql_render_options options = {SQL_SECRETS_SHOWN, NULL, multiline != 0};
            struct sql_script script, again;
            struct sql_error error;
            struct buf out;

            assert_int_equal(sql_parse(slice_of(canonical[i]), &script, &error), ERR_OK);
            buf_init(&out, 4096);
            assert_int_equal(sql_render(&out, &script.statements[0], &options), ERR_OK);
            if (!multiline)
                assert_text(&out, canonical[i]);
            assert_int_equal(sql_parse(buf_peek(&out), &again, &error), ERR_OK);
            assert_true(sql_equal(&script.statements[0], &again.statements[0]));
            buf_free(&out);
            sql_free(&script);
            sql_free(&again);
        }
    }
}

static void
masked(void **state)
{
    static const char text[] = "CREATE SINK a TO 'http://u:p@h/x?db=d&p=1' PASSWORD 'p' USERNAME "
                               "'u' TYPE http_line WITH (x='1', gzip=true, y=2, timeout=3s, z=4)";
    struct sql_render_options options = {SQL_SECRETS_MASKED, knows_gzip, false};

    (void)state;
    check(text, NULL,
          "CREATE SINK \"a\" TO 'http://h/x?db=d&p=****' TYPE http_line USERNAME 'u' "
          "PASSWORD '****' WITH (x = '****', gzip = '****', y = '****', timeout = '****', "
          "z = '****')");
    check(text, &options,
          "CREATE SINK \"a\" TO 'http://h/x?db=d&p=****' TYPE http_line USERNAME 'u' "
          "PASSWORD '****' WITH (x = '****', gzip = true, y = '****', timeout = 3s, z = '****')");
    options.secrets = SQL_SECRETS_OMITTED;
    options.multiline = true;
    check(text, &options,
          "CREATE SINK \"a\"\n"
          "  TO 'http://h/x?db=d' /* credentials in the URL left out */\n"
          "  TYPE http_line\n"
          "  USERNAME 'u'\n"
          "  /* PASSWORD left out */\n"
          "  WITH (/* x left out */ gzip = true /* y left out */, timeout = 3s /* z left out */)");
    check("CREATE SINK a TO 'http://h/x' TYPE http_line", &options,
          "CREATE SINK \"a\"\n  TO 'http://h/x'\n  TYPE http_line");
}

/* What was left out leaves a statement that still parses. */
static void
omitted_parses(void **state)
{
    static const char text[] = "CREATE SINK a TO 'http://u:p@h/x' PASSWORD 'p' TYPE http_line WITH "
                               "(x = '1', gzip = true, y = 2)";
    struct sql_render_options options = {SQL_SECRETS_OMITTED, knows_gzip, true};
    struct sql_script script, again;
    struct sql_error error;
    struct buf out;

    (void)state;
    assert_int_equal(sql_parse(slice_of(text), &script, &error), ERR_OK);
    buf_init(&out, 4096);
    assert_int_equal(sql_render(&out, &script.statements[0], &options), ERR_OK);
    assert_int_equal(sql_parse(buf_peek(&out), &again, &error), ERR_OK);
    assert_false(sql_sink_has(&again.statements[0].sink, SQL_CLAUSE_PASSWORD));
    assert_int_equal(again.statements[0].sink.option_count, 1);
    options.option_is_public = NULL;
    buf_clear(&out);
    sql_free(&again);
    assert_int_equal(sql_render(&out, &script.statements[0], &options), ERR_OK);
    assert_int_equal(sql_parse(buf_peek(&out), &again, &error), ERR_OK);
    assert_int_equal(again.statements[0].sink.option_count, 0);
    buf_free(&out);
    sql_free(&script);
    sql_free(&again);
}

static void
assert_refused(const struct sql_statement *statement)
{
    struct sql_render_options options = {.secrets = SQL_SECRETS_SHOWN};
    struct buf out;

    buf_init(&out, 4096);
    assert_int_equal(buf_add_text(&out, "kept"), ERR_OK);
    assert_int_equal(sql_render(&out, statement, &options), ERR_BAD);
    assert_text(&out, "kept");
    buf_free(&out);
}

/* Hand-made statements that no text says. */
static void
hand_made(void **state)
{
    static const struct sql_option options[] = {
        {SLICE_INIT("a b"), SQL_VALUE_INTEGER, SLICE_INIT("1")},
        {SLICE_INIT("a"), SQL_VALUE_INTEGER, SLICE_INIT("1) PASSWORD 'x'")},
        {SLICE_INIT("a"), SQL_VALUE_INTEGER, SLICE_INIT("")},
        {SLICE_INIT("a"), SQL_VALUE_INTEGER, SLICE_INIT("1.5")},
        {SLICE_INIT("a"), SQL_VALUE_NUMBER, SLICE_INIT("1")},
        {SLICE_INIT("a"), SQL_VALUE_NUMBER, SLICE_INIT("1.")},
        {SLICE_INIT("a"), SQL_VALUE_DURATION, SLICE_INIT("1")},
        {SLICE_INIT("a"), SQL_VALUE_BOOLEAN, SLICE_INIT("yes")},
        {SLICE_INIT("a"), SQL_VALUE_WORD, SLICE_INIT("a-b")},
        {SLICE_INIT("a"), SQL_VALUE_WORD, SLICE_INIT("True")},
        {SLICE_INIT("a"), SQL_VALUE_STRING, SLICE_INIT("a\r")},
    };
    static const struct sql_selector selectors[] = {
        {SQL_SELECT_NAME, SLICE_INIT("a*")},   {SQL_SELECT_GLOB, SLICE_INIT("a")},
        {SQL_SELECT_REGEX, SLICE_INIT("")},    {SQL_SELECT_REGEX, SLICE_INIT("*a")},
        {SQL_SELECT_REGEX, SLICE_INIT("a\\")}, {SQL_SELECT_REGEX, SLICE_INIT("a\nb")},
        {SQL_SELECT_NAME, SLICE_INIT("a\0b")},
    };
    struct sql_statement s = {.kind = SQL_CREATE_SINK, .name = SLICE_INIT("a")};

    (void)state;
    assert_refused(&s); /* no TYPE */
    s.sink.clauses = SQL_CLAUSE_TYPE;
    s.sink.type = SQL_TYPE_MQTT;
    assert_refused(&s); /* no TO */
    s.sink.type = SQL_TYPE_STDOUT;
    s.sink.clauses = SQL_CLAUSE_TYPE | SQL_CLAUSE_WITH;
    s.sink.option_count = 1;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        s.sink.options = &options[i];
        assert_refused(&s);
    }
    s.sink.clauses = SQL_CLAUSE_TYPE | SQL_CLAUSE_EXCLUDE;
    assert_refused(&s); /* an empty list */
    s.sink.exclude_count = 1;
    for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        s.sink.exclude = &selectors[i];
        assert_refused(&s);
    }
    s.sink.clauses = SQL_CLAUSE_TYPE | SQL_CLAUSE_ON;
    assert_refused(&s);
    s.kind = SQL_ALTER_SINK;
    s.sink.clauses = 0;
    assert_refused(&s);
    s.sink.clauses = SQL_CLAUSE_START;
    assert_refused(&s);
    s = (struct sql_statement){.kind = SQL_DROP_SINK, .name = SLICE_INIT("a\0b")};
    assert_refused(&s);
    s = (struct sql_statement){.kind = SQL_REPAIR_DEAD_LETTER, .name = SLICE_INIT("a")};
    assert_refused(&s); /* no ID */
    s = (struct sql_statement){.kind = SQL_DROP_DEAD_LETTERS};
    assert_refused(&s); /* no sink: it would mean all */
}

/* Too little room, at every size, and every allocation failing: nothing is left in the buffer. */
static void
no_room(void **state)
{
    struct sql_render_options options = {.secrets = SQL_SECRETS_OMITTED};
    struct sql_script script;
    struct sql_error error;
    struct buf whole, out;
    enum err err;
    size_t n = 0;

    (void)state;
    assert_int_equal(sql_parse(slice_of(canonical[0]), &script, &error), ERR_OK);
    buf_init(&whole, 4096);
    assert_int_equal(sql_render(&whole, &script.statements[0], &options), ERR_OK);
    for (size_t max = 1; max <= buf_len(&whole); max++) {
        buf_init(&out, max);
        err = sql_render(&out, &script.statements[0], &options);
        assert_int_equal(err, max < buf_len(&whole) ? ERR_NOMEM : ERR_OK);
        assert_int_equal(buf_len(&out), err == ERR_OK ? max : 0);
        buf_free(&out);
    }
    do {
        buf_init(&out, 4096);
        mem_fail_at(++n);
        err = sql_render(&out, &script.statements[0], &options);
        mem_fail_at(0);
        assert_true(err == ERR_OK || (err == ERR_NOMEM && buf_len(&out) == 0));
        buf_free(&out);
    } while (err != ERR_OK);
    assert_true(n > 2);
    buf_free(&whole);
    sql_free(&script);
    assert_int_equal(mem_live(), 0);
}

static void
words(void **state)
{
    enum sql_type type = SQL_TYPE_STDOUT;
    enum sql_format format = SQL_FORMAT_JSON;

    (void)state;
    assert_true(sql_words_find_type(SLICE("HTTP_msgpack"), &type));
    assert_int_equal(type, SQL_TYPE_HTTP_MSGPACK);
    assert_string_equal(sql_words_type(type), "http_msgpack");
    assert_false(sql_words_find_type(SLICE("http"), &type));
    assert_true(sql_words_find_format(SLICE("line_protocol"), &format));
    assert_string_equal(sql_words_format(format), "line_protocol");
    assert_false(sql_words_find_format(SLICE(""), &format));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(masked),
        cmocka_unit_test(omitted_parses), cmocka_unit_test(hand_made),
        cmocka_unit_test(no_room),        cmocka_unit_test(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
