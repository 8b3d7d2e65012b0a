/*
 * test_sql_parse.c: every statement of the language, field by field; limits; memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sql/sql.h"
#include "support/guard.h"

static void
assert_slice(struct slice s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    if (s.n > 0)
        assert_memory_equal(s.p, expected, s.n);
}

/* Parse what must be good; the text is gone afterwards, so nothing may point into it. */
static void
parse(const char *text, struct sql_script *script)
{
    struct slice copy = guard_copy(slice_of(text));
    struct sql_error error;

    if (sql_parse(copy, script, &error) != ERR_OK)
        fail_msg("%s\n%s", text, error.text);
    guard_free(copy);
}

static void
assert_error(const char *text, const char *expected)
{
    struct slice copy = guard_copy(slice_of(text));
    struct sql_script script;
    struct sql_error error;

    assert_int_not_equal(sql_parse(copy, &script, &error), ERR_OK);
    assert_true(strncmp(error.text, "error parsing query: ", 21) == 0);
    assert_string_equal(error.text + 21, expected);
    assert_null(script.statements);
    guard_free(copy);
}

static void
front_page(void **state)
{
    static const char text[] = "CREATE SINK \"my_kafka\" TO \"kafka://broker:9092/topic-metrics\"\n"
                               "  USERNAME \"user\" PASSWORD \"pass\"\n"
                               "  TYPE kafka\n"
                               "  FORMAT line_protocol\n"
                               "  INCLUDE MEASUREMENTS cpu,mem\n"
                               "  BATCH_SIZE 1000\n"
                               "  FLUSH_INTERVAL 5s\n";
    struct sql_script script;
    const struct sql_sink *sink;

    (void)state;
    parse(text, &script);
    assert_int_equal(script.count, 1);
    assert_int_equal(script.statements[0].kind, SQL_CREATE_SINK);
    assert_slice(script.statements[0].name, "my_kafka");
    assert_false(script.statements[0].if_not_exists);
    sink = &script.statements[0].sink;
    assert_int_equal(sink->clauses, SQL_CLAUSE_TO | SQL_CLAUSE_USERNAME | SQL_CLAUSE_PASSWORD |
                                        SQL_CLAUSE_TYPE | SQL_CLAUSE_FORMAT | SQL_CLAUSE_INCLUDE |
                                        SQL_CLAUSE_BATCH_SIZE | SQL_CLAUSE_FLUSH_INTERVAL);
    assert_slice(sink->to, "kafka://broker:9092/topic-metrics");
    assert_slice(sink->username, "user");
    assert_slice(sink->password, "pass");
    assert_int_equal(sink->type, SQL_TYPE_KAFKA);
    assert_int_equal(sink->format, SQL_FORMAT_LINE_PROTOCOL);
    assert_false(sink->include_all);
    assert_int_equal(sink->include_count, 2);
    assert_int_equal(sink->include[1].kind, SQL_SELECT_NAME);
    assert_slice(sink->include[0].text, "cpu");
    assert_slice(sink->include[1].text, "mem");
    assert_int_equal(sink->batch_size, 1000);
    assert_int_equal(sink->flush_interval_ns, 5000000000);
    sql_free(&script);
}

static void
front_page_others(void **state)
{
    static const char http[] =
        "CREATE SINK \"my_http\" TO \"http://collector:8086/write?db=mydb\"\n"
        "  USERNAME \"u\" PASSWORD \"p\"\n"
        "  TYPE http_line\n"
        "  INCLUDE ALL\n";
    static const char mqtt[] = "CREATE SINK \"my_mqtt\" TO \"mqtt://broker:1883/hyperbyte\"\n"
                               "  USERNAME \"mqtt_user\" PASSWORD \"mqtt_pass\"\n"
                               "  TYPE mqtt\n"
                               "  FORMAT line_protocol\n";
    struct sql_script script;

    (void)state;
    parse(http, &script);
    assert_slice(script.statements[0].sink.to, "http://collector:8086/write?db=mydb");
    assert_int_equal(script.statements[0].sink.type, SQL_TYPE_HTTP_LINE);
    assert_true(script.statements[0].sink.include_all);
    assert_int_equal(script.statements[0].sink.include_count, 0);
    sql_free(&script);

    parse(mqtt, &script);
    assert_slice(script.statements[0].name, "my_mqtt");
    assert_slice(script.statements[0].sink.password, "mqtt_pass");
    assert_int_equal(script.statements[0].sink.type, SQL_TYPE_MQTT);
    sql_free(&script);

    parse("DROP SINK \"my_kafka\"\n", &script);
    assert_int_equal(script.statements[0].kind, SQL_DROP_SINK);
    assert_slice(script.statements[0].name, "my_kafka");
    sql_free(&script);

    parse("SHOW SINKS\n", &script);
    assert_int_equal(script.statements[0].kind, SQL_SHOW_SINKS);
    sql_free(&script);
}

static void
all_clauses(void **state)
{
    struct sql_script script;
    const struct sql_sink *sink;

    (void)state;
    parse("create sink if not exists type with (Key = '{tag:host}', acks=all, qos = 1, x = 1.5,"
          " timeout = 1m30s, gzip = True) start earliest flush_interval 0s batch_size 2147483647 "
          "exclude measurements \"a b\", \"x*\" include measurements type, /^a\\/b\\.\\\\/ "
          "on db, \"d b\" format json password 'p\\'\\\"\\\\\\n' username \"u'\" type Mqtt to ''",
          &script);
    assert_true(script.statements[0].if_not_exists);
    assert_slice(script.statements[0].name, "type");
    sink = &script.statements[0].sink;
    assert_int_equal(sink->clauses, 0xfff);
    assert_slice(sink->to, "");
    assert_slice(sink->password, "p'\"\\\n");
    assert_slice(sink->username, "u'");
    assert_int_equal(sink->format, SQL_FORMAT_JSON);
    assert_int_equal(sink->database_count, 2);
    assert_slice(sink->databases[1], "d b");
    assert_int_equal(sink->include_count, 2);
    assert_slice(sink->include[0].text, "type");
    assert_int_equal(sink->include[1].kind, SQL_SELECT_REGEX);
    assert_slice(sink->include[1].text, "^a/b\\.\\\\");
    assert_int_equal(sink->exclude[0].kind, SQL_SELECT_NAME);
    assert_int_equal(sink->exclude[1].kind, SQL_SELECT_GLOB);
    assert_slice(sink->exclude[1].text, "x*");
    assert_int_equal(sink->start, SQL_START_EARLIEST);
    assert_int_equal(sink->option_count, 6);
    assert_slice(sink->options[0].key, "key");
    assert_int_equal(sink->options[0].kind, SQL_VALUE_STRING);
    assert_slice(sink->options[0].value, "{tag:host}");
    assert_int_equal(sink->options[1].kind, SQL_VALUE_WORD);
    assert_slice(sink->options[1].value, "all");
    assert_int_equal(sink->options[2].kind, SQL_VALUE_INTEGER);
    assert_int_equal(sink->options[3].kind, SQL_VALUE_NUMBER);
    assert_int_equal(sink->options[4].kind, SQL_VALUE_DURATION);
    assert_slice(sink->options[4].value, "1m30s");
    assert_int_equal(sink->options[5].kind, SQL_VALUE_BOOLEAN);
    assert_slice(sink->options[5].value, "true");
    sql_free(&script);
}

static void
small_statements(void **state)
{
    static const struct {
        const char *text;
        enum sql_kind kind;
        const char *name;
    } rows[] = {
        {"ALTER SINK a PAUSE", SQL_PAUSE_SINK, "a"},
        {"alter sink \"a\" resume", SQL_RESUME_SINK, "a"},
        {"ALTER SINK pause PASSWORD ''", SQL_ALTER_SINK, "pause"},
        {"DROP SINK IF EXISTS a", SQL_DROP_SINK, "a"},
        {"DROP SINK if", SQL_DROP_SINK, "if"},
        {"SHOW SINK sinks", SQL_SHOW_SINK, "sinks"},
        {"SHOW LEDGER", SQL_SHOW_LEDGER, ""},
        {"SHOW DEAD LETTERS", SQL_SHOW_DEAD_LETTERS, ""},
        {"SHOW DEAD LETTERS ON a ID 0 LIMIT 5", SQL_SHOW_DEAD_LETTERS, "a"},
        {"REPLAY DEAD LETTERS ON a", SQL_REPLAY_DEAD_LETTERS, "a"},
        {"REPLAY DEAD LETTER ON a ID 7", SQL_REPLAY_DEAD_LETTERS, "a"},
        {"REPAIR DEAD LETTER ON a ID 18446744073709551615 WITH 'm f=1'", SQL_REPAIR_DEAD_LETTER,
         "a"},
        {"DROP DEAD LETTERS ON a ID 7", SQL_DROP_DEAD_LETTERS, "a"},
        {"CREATE USER u WITH PASSWORD 'p'", SQL_CREATE_USER, "u"},
        {"CREATE USER u WITH PASSWORD 'p' WITH ALL PRIVILEGES", SQL_CREATE_USER, "u"},
        {"DROP USER \"select\"", SQL_DROP_USER, "select"},
        {"SET PASSWORD FOR u = 'p'", SQL_SET_PASSWORD, "u"},
        {"SHOW USERS", SQL_SHOW_USERS, ""},
        {"GRANT ALL TO u", SQL_GRANT_ADMIN, "u"},
        {"GRANT ALL PRIVILEGES TO u", SQL_GRANT_ADMIN, "u"},
        {"REVOKE ALL FROM u", SQL_REVOKE_ADMIN, "u"},
        {"GRANT READ ON db TO u", SQL_GRANT, "u"},
        {"REVOKE ALL PRIVILEGES ON db FROM u", SQL_REVOKE, "u"},
        {"CREATE DATABASE sink", SQL_CREATE_DATABASE, "sink"},
        {"CREATE DATABASE d WITH DURATION 1d REPLICATION 1 SHARD DURATION INF NAME \"n\"",
         SQL_CREATE_DATABASE, "d"},
        {"DROP DATABASE \"\"", SQL_DROP_DATABASE, ""},
        {"SHOW DATABASES", SQL_SHOW_DATABASES, ""},
    };
    struct sql_script script;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse(rows[i].text, &script);
        assert_int_equal(script.count, 1);
        assert_int_equal(script.statements[0].kind, rows[i].kind);
        assert_slice(script.statements[0].name, rows[i].name);
        sql_free(&script);
    }
}

static void
small_fields(void **state)
{
    struct sql_script script;
    const struct sql_statement *s;

    (void)state;
    parse("SHOW DEAD LETTERS ON a ID 0 LIMIT 5; "
          "REPAIR DEAD LETTER ON a ID 18446744073709551615 WITH 'm f=1'; "
          "CREATE USER u WITH PASSWORD \"p\" WITH ALL PRIVILEGES; SET PASSWORD FOR u = 'q';"
          "GRANT WRITE ON db TO u; REVOKE ALL ON db FROM u; DROP SINK IF EXISTS a;"
          "SHOW DEAD LETTERS",
          &script);
    s = script.statements;
    assert_int_equal(script.count, 8);
    assert_true(s[0].has_id && s[0].id == 0 && s[0].has_limit && s[0].limit == 5);
    assert_true(s[1].has_id && s[1].id == UINT64_MAX && !s[1].has_limit);
    assert_slice(s[1].line, "m f=1");
    assert_true(s[2].admin);
    assert_slice(s[2].password, "p");
    assert_false(s[3].admin);
    assert_slice(s[3].password, "q");
    assert_int_equal(s[4].privilege, SQL_PRIVILEGE_WRITE);
    assert_slice(s[4].database, "db");
    assert_int_equal(s[5].privilege, SQL_PRIVILEGE_ALL);
    assert_true(s[6].if_exists);
    assert_false(s[7].has_id || s[7].has_limit);
    sql_free(&script);
}

static void
unsupported(void **state)
{
    static const char *const rows[][2] = {
        {"SELECT mean(x) FROM /it's;/ WHERE t =~ /;/ AND y = ';' AND $p > 1 / 2", "SELECT"},
        {"select a into b from c", "SELECT"},
        {"DELETE FROM cpu", "DELETE"},
        {"SHOW MEASUREMENTS ON db LIMIT 1", "SHOW MEASUREMENTS"},
        {"SHOW MEASUREMENT EXACT CARDINALITY", "SHOW MEASUREMENT EXACT CARDINALITY"},
        {"show retention policies on \"db\"", "SHOW RETENTION POLICIES"},
        {"SHOW TAG KEYS FROM x", "SHOW TAG KEYS"},
        {"SHOW TAG VALUES WITH KEY IN (a, b)", "SHOW TAG VALUES"},
        {"SHOW FIELD KEYS", "SHOW FIELD KEYS"},
        {"SHOW SERIES", "SHOW SERIES"},
        {"SHOW GRANTS FOR u", "SHOW GRANTS"},
        {"EXPLAIN ANALYZE SELECT 1", "EXPLAIN"},
        {"CREATE RETENTION POLICY r ON d DURATION INF REPLICATION 1 DEFAULT",
         "CREATE RETENTION POLICY"},
        {"ALTER RETENTION POLICY r ON d DEFAULT", "ALTER RETENTION POLICY"},
        {"CREATE CONTINUOUS QUERY q ON d BEGIN SELECT 1 INTO x FROM y END",
         "CREATE CONTINUOUS QUERY"},
        {"CREATE SUBSCRIPTION s ON d.r DESTINATIONS ANY 'a', 'b'", "CREATE SUBSCRIPTION"},
        {"DROP SHARD 1", "DROP SHARD"},
        {"KILL QUERY 3", "KILL QUERY"},
    };
    struct sql_script script;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse(rows[i][0], &script);
        assert_int_equal(script.count, 1);
        assert_int_equal(script.statements[0].kind, SQL_UNSUPPORTED);
        assert_slice(script.statements[0].words, rows[i][1]);
        sql_free(&script);
    }
}

static void
several(void **state)
{
    struct sql_script script;
    struct sql_error error;

    (void)state;
    parse("", &script);
    assert_int_equal(script.count, 0);
    sql_free(&script);
    parse(" ;; -- nothing ; at all\n/* ; */ ;", &script);
    assert_int_equal(script.count, 0);
    sql_free(&script);
    parse(";SHOW SINKS;;DROP SINK \"a;b\"--;\n;SHOW/**/LEDGER;", &script);
    assert_int_equal(script.count, 3);
    assert_slice(script.statements[1].name, "a;b");
    assert_int_equal(script.statements[2].kind, SQL_SHOW_LEDGER);
    sql_free(&script);
    /* one bad statement: none is kept */
    assert_error("SHOW SINKS; SHOW SINKS x", "found x, expected ; at line 1, char 24");
    assert_int_equal(sql_parse(slice_make(NULL, 0), &script, &error), ERR_OK);
    assert_int_equal(script.count, 0);
    sql_free(&script);
}

static void
messages(void **state)
{
    static const char *const rows[][2] = {
        {"CREATE SINK", "found EOF, expected identifier at line 1, char 12"},
        {"CREATE SINK a", "found EOF, expected TYPE at line 1, char 14"},
        {"CREATE SINK a TYPE mqtt", "found EOF, expected TO at line 1, char 24"},
        {"CREATE SINK a TYPE stdout TYPE stdout", "TYPE is given twice at line 1, char 27"},
        {"CREATE SINK a TYPE stdout FORMAT xml",
         "found xml, expected line_protocol, json, msgpack at line 1, char 34"},
        {"CREATE SINK a TYPE stdout BATCH_SIZE 0",
         "invalid value 0: must be 1 <= n <= 2147483647 at line 1, char 38"},
        {"CREATE SINK a TYPE stdout BATCH_SIZE 10MB",
         "found 10MB, expected integer at line 1, char 38"},
        {"CREATE SINK a TYPE stdout FLUSH_INTERVAL 5",
         "found 5, expected duration at line 1, char 42"},
        {"CREATE SINK a TYPE stdout FLUSH_INTERVAL 5q", "invalid duration at line 1, char 42"},
        {"CREATE SINK a TYPE stdout FLUSH_INTERVAL 99999999w",
         "overflowed duration 99999999w: choose a smaller duration or INF at line 1, char 42"},
        {"CREATE SINK a TYPE stdout INCLUDE cpu",
         "found cpu, expected ALL, MEASUREMENTS at line 1, char 35"},
        {"CREATE SINK a TYPE stdout INCLUDE MEASUREMENTS cpu,",
         "found EOF, expected identifier at line 1, char 52"},
        {"CREATE SINK a TYPE stdout INCLUDE MEASUREMENTS cpu*",
         "found *, expected TO, USERNAME, PASSWORD, FORMAT, ON, EXCLUDE, BATCH_SIZE, "
         "FLUSH_INTERVAL, START, WITH at line 1, char 51"},
        {"CREATE SINK a TYPE stdout INCLUDE MEASUREMENTS /a",
         "a regular expression without its closing '/' at line 1, char 48"},
        {"CREATE SINK a TYPE stdout INCLUDE MEASUREMENTS //",
         "an empty regular expression at line 1, char 48"},
        {"CREATE SINK a TYPE stdout WITH (a = 1, A = 2)",
         "an option of WITH is given twice at line 1, char 40"},
        {"CREATE SINK a TYPE stdout WITH (a = 1,)",
         "found ****, expected an option's name at line 1, char 39"},
        {"ALTER SINK a TYPE stdout", "ALTER SINK cannot change TYPE: drop the sink and create it "
                                     "again at line 1, char 14"},
        {"ALTER SINK a BATCH_SIZE 1 START LATEST",
         "ALTER SINK cannot change START: drop the sink and create it again at line 1, char 27"},
        {"ALTER SINK a PAUSE RESUME", "found RESUME, expected ; at line 1, char 20"},
        {"CREATE SINK \"\" TYPE stdout", "invalid name: it must be UTF-8 text without control "
                                         "characters, and not empty at line 1, char 13"},
        {"DROP USER \"a\\nb\"", "invalid name: it must be UTF-8 text without control "
                                "characters, and not empty at line 1, char 11"},
        {"SHOW SINK \"\xff\"", "invalid name: it must be UTF-8 text without control "
                               "characters, and not empty at line 1, char 11"},
        {"REPAIR DEAD LETTER ON a WITH 'x'", "found WITH, expected ID at line 1, char 25"},
        {"SHOW DEAD LETTERS ID -1", "found -, expected integer at line 1, char 22"},
        {"SHOW DEAD LETTERS ID 18446744073709551616",
         "invalid value 18446744073709551616: must be 0 <= n <= 18446744073709551615 "
         "at line 1, char 22"},
        {"GRANT READ TO u", "found TO, expected ON at line 1, char 12"},
        {"GRANT ALL FROM u", "found FROM, expected ON, TO at line 1, char 11"},
        {"REVOKE x", "found x, expected READ, WRITE, ALL [PRIVILEGES] at line 1, char 8"},
        {"\n\n SHOW\r\n\tSINKS \xc3\xa9", "found \xc3\xa9, expected ; at line 2, char 8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_error(rows[i][0], rows[i][1]);
}

/* ${before}, ${unit} as often as asked, ${after}: what parsing it gives. */
static enum err
parse_many(const char *before, const char *unit, size_t count, const char *after,
           struct sql_error *error)
{
    struct buf text;
    struct sql_script script;
    enum err err;

    buf_init(&text, 4 << 20);
    assert_int_equal(buf_add_text(&text, before), ERR_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_add_text(&text, unit), ERR_OK);
    assert_int_equal(buf_add_text(&text, after), ERR_OK);
    err = sql_parse(buf_peek(&text), &script, error);
    sql_free(&script);
    buf_free(&text);
    return err;
}

static void
limits(void **state)
{
    struct sql_error e;

    (void)state;
    assert_int_equal(parse_many("SHOW SINK ", "x", SQL_NAME_MAX, "", &e), ERR_OK);
    assert_int_equal(parse_many("SHOW SINK ", "x", SQL_NAME_MAX + 1, "", &e), ERR_RANGE);
    assert_string_equal(e.text, "error parsing query: a name of 201 bytes: at most 200 are allowed "
                                "at line 1, char 11");
    assert_int_equal(parse_many("", "SHOW SINKS;", SQL_STATEMENTS_MAX, "", &e), ERR_OK);
    assert_int_equal(parse_many("", "SHOW SINKS;", SQL_STATEMENTS_MAX + 1, "", &e), ERR_RANGE);
    assert_int_equal(parse_many("CREATE SINK a TYPE stdout ON ", "d,", SQL_LIST_MAX - 1, "d", &e),
                     ERR_OK);
    assert_int_equal(parse_many("CREATE SINK a TYPE stdout ON ", "d,", SQL_LIST_MAX, "d", &e),
                     ERR_RANGE);
    assert_int_equal(parse_many("SHOW SINKS", " ", 1000, "--", &e), ERR_OK);
    assert_int_equal(parse_many("--", "x", SQL_TEXT_MAX - 2, "", &e), ERR_OK);
    assert_int_equal(parse_many("--", "x", SQL_TEXT_MAX - 1, "", &e), ERR_RANGE);
    assert_true(strlen(e.text) > 0);
    /* what an error echoes is cut, between code points */
    assert_int_equal(parse_many("SHOW SINKS \"", "\xc3\xa9", 1000, "\"", &e), ERR_BAD);
    assert_true(strlen(e.text) < 200);
    assert_non_null(strstr(e.text, "\xc3\xa9..., expected ;"));
}

/* Every allocation fails once: an error, and nothing is left over. */
static void
no_memory(void **state)
{
    struct slice text = SLICE("CREATE SINK a TYPE stdout ON a,b,c,d,e INCLUDE MEASUREMENTS a,b "
                              "EXCLUDE MEASUREMENTS c WITH (a=1,b=2,c=3,d=4,e=5); SHOW SINKS;"
                              "SHOW SINKS;SHOW SINKS;SHOW SINKS");
    size_t live = mem_live();
    size_t n = 0;
    enum err err;

    (void)state;
    do {
        struct sql_script script;
        struct sql_error error;

        mem_fail_at(++n);
        err = sql_parse(text, &script, &error);
        mem_fail_at(0);
        assert_int_equal(script.count, err == ERR_OK ? 5 : 0);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_NOMEM);
            assert_string_equal(error.text, "out of memory");
            assert_int_equal(mem_live(), live);
        }
        sql_free(&script);
        assert_int_equal(mem_live(), live);
    } while (err != ERR_OK);
    assert_true(n > 8);
}

/* The first bytes of a statement are another statement, or an error; never a crash or a leak. */
static void
prefixes(void **state)
{
    struct slice text = SLICE("CREATE SINK IF NOT EXISTS \"a\" TO 'http://h/x' TYPE http_line "
                              "USERNAME 'u' PASSWORD 'p\\'' FORMAT json ON d, e INCLUDE "
                              "MEASUREMENTS a, \"b*\", /c\\/d/ EXCLUDE MEASUREMENTS e BATCH_SIZE 1 "
                              "FLUSH_INTERVAL 1m30s START LATEST WITH (a = 1.5, b = 'c') /* x */");

    (void)state;
    for (size_t n = 0; n <= text.n; n++) {
        struct slice copy = guard_copy(slice_to(text, n));
        struct sql_script script;
        struct sql_error error;

        if (sql_parse(copy, &script, &error) != ERR_OK)
            assert_null(strstr(error.text, "p'"));
        sql_free(&script);
        guard_free(copy);
    }
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front_page),   cmocka_unit_test(front_page_others),
        cmocka_unit_test(all_clauses),  cmocka_unit_test(small_statements),
        cmocka_unit_test(small_fields), cmocka_unit_test(unsupported),
        cmocka_unit_test(several),      cmocka_unit_test(messages),
        cmocka_unit_test(limits),       cmocka_unit_test(no_memory),
        cmocka_unit_test(prefixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
