/*
 * test_sql_influx.c: texts that InfluxDB 1.6.7 was asked, and what sinkd says to them.
 *
 * Source: recorded answers of influxd 1.6.7~rc0-1+b13. Where no comment stands behind a row the
 * answer is the server's, word for word. The others differ on purpose:
 *   list    the statements of sinkd stand in the list of what was expected
 *   place   the server points one too far at an end, one too near at a single-quoted string
 *   masked  a token behind PASSWORD is not shown
 *   quotes  a value may stand in either kind of quotes
 *   NUL     a NUL is refused; the server takes it for the end of the text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "sql/sql.h"
#include "support/guard.h"

#define PREFIX "error parsing query: "
#define TEXT(literal) SLICE_INIT(literal)

#define TOP \
    "SELECT, DELETE, SHOW, CREATE, DROP, EXPLAIN, GRANT, REVOKE, ALTER, SET, KILL, REPLAY, REPAIR"
#define CREATE "CONTINUOUS, DATABASE, USER, RETENTION, SINK, SUBSCRIPTION"
#define SHOW                                                                                       \
    "CONTINUOUS, DATABASES, DEAD, DIAGNOSTICS, FIELD, GRANTS, LEDGER, MEASUREMENT, MEASUREMENTS, " \
    "QUERIES, RETENTION, SERIES, SHARD, SHARDS, SINK, SINKS, STATS, SUBSCRIPTIONS, TAG, USERS"
#define DROP \
    "CONTINUOUS, DATABASE, DEAD, MEASUREMENT, RETENTION, SERIES, SHARD, SINK, SUBSCRIPTION, USER"

struct row {
    struct slice text;
    const char *message; /* NULL: it parses */
};

static const struct row rows[] = {
    {TEXT("CREATE DATABASE x1"), NULL},
    {TEXT("CREATE DATABASE \"x1\""), NULL},
    {TEXT("SELECT * FROM cpu"), NULL},
    {TEXT("SELECT value FROM cpu GROUP BY host"), NULL},
    {TEXT("SELECT * FROM nothing"), NULL},
    {TEXT("SHOW DATABASES; SELECT value FROM cpu; SHOW MEASUREMENTS"), NULL},
    {TEXT("SHOW DATABASES; DROP MEASUREMENT nope; SHOW MEASUREMENTS"), NULL},
    {TEXT(";;SHOW DATABASES;;"), NULL},
    {TEXT("SHOW DATABASES"), NULL},
    {TEXT("SHOW RETENTION POLICIES ON db0"), NULL},
    {TEXT("SHOW MEASUREMENTS ON db0"), NULL},
    {TEXT("SHOW TAG KEYS ON db0"), NULL},
    {TEXT("SHOW TAG VALUES ON db0 WITH KEY = host"), NULL},
    {TEXT("SHOW FIELD KEYS ON db0"), NULL},
    {TEXT("SHOW SERIES ON db0"), NULL},
    {TEXT("SHOW SUBSCRIPTIONS"), NULL},
    {TEXT("DROP DATABASE db0"), NULL},
    {TEXT("CREATE DATABASE db0"), NULL},
    {TEXT("CREATE DATABASE IF NOT EXISTS db0"), "found NOT, expected ; at line 1, char 20"},
    {TEXT("CREATE DATABASE \"a\\nb\""), NULL},
    {TEXT("CREATE DATABASE 'x'"), "found x, expected identifier at line 1, char 17"}, /* place */
    {TEXT("ALTER RETENTION POLICY autogen ON db0 DURATION 2h SHARD DURATION 1h"), NULL},
    {TEXT("CREATE RETENTION POLICY r ON nope DURATION 1h REPLICATION 1"), NULL},
    {TEXT("CREATE RETENTION POLICY autogen ON db0 DURATION 1h REPLICATION 1"), NULL},
    {TEXT("CREATE SUBSCRIPTION \"s0\" ON \"db0\".\"autogen\" DESTINATIONS ALL "
          "'http://127.0.0.1:9', 'udp://h.example:1'"),
     NULL},
    {TEXT("CREATE SUBSCRIPTION \"s0\" ON \"db0\".\"autogen\" DESTINATIONS ALL 'bla'"), NULL},
    {TEXT("CREATE USER \"u\" WITH PASSWORD 'p'"), NULL},
    {TEXT("CREATE USER \"u\" WITH PASSWORD \"p\""), NULL}, /* quotes */
    {TEXT("SELECT 1"), "found EOF, expected FROM at line 1, char 9"},
    {TEXT("DROP SERIES FROM cpu"), NULL},
    {TEXT("DELETE FROM cpu"), NULL},
    {TEXT("KILL QUERY 99999"), NULL},
    {TEXT("CREATE"), "found EOF, expected " CREATE " at line 1, char 7"},     /* list, place */
    {TEXT("CREATE FOO"), "found FOO, expected " CREATE " at line 1, char 8"}, /* list */
    {TEXT("CREATE DATABASE"), "found EOF, expected identifier at line 1, char 16"}, /* place */
    {TEXT("CREATE DATABASE 1"), "found 1, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE select"), "found SELECT, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE \"select\""), NULL},
    {TEXT("CREATE DATABASE x;;"), NULL},
    {TEXT("CREATE\r\nDATABASE\r\n  1"), "found 1, expected identifier at line 3, char 3"},
    {TEXT("CREATE DATABASE \"a\\\"b\""), NULL},
    {TEXT("CREATE DATABASE \"a\\tb\""),
     "found \\t, expected identifier at line 1, char 19"}, /* place */
    {TEXT("CREATE DATABASE a.b"), "found ., expected ; at line 1, char 18"},
    {TEXT("CREATE DATABASE \303\251"), "found \303\251, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE _x"), NULL},
    {TEXT("CREATE DATABASE x1y_2"), NULL},
    {TEXT("CREATE DATABASE 1x"), "found 1x, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE $x"), "found $x, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE @"), "found @, expected identifier at line 1, char 17"},
    {TEXT("-- c\nCREATE DATABASE x"), NULL},
    {TEXT("/* unterminated"), "found ILLEGAL, expected " TOP " at line 1, char 1"}, /* list */
    {TEXT("CREATE -- x\nDATABASE x"), NULL},
    {TEXT("SHOW DATABASE"), "found DATABASE, expected " SHOW " at line 1, char 6"}, /* list */
    {TEXT("SHOW"), "found EOF, expected " SHOW " at line 1, char 5"},         /* list, place */
    {TEXT("DROP"), "found EOF, expected " DROP " at line 1, char 5"},         /* list, place */
    {TEXT("ALTER"), "found EOF, expected RETENTION, SINK at line 1, char 6"}, /* list, place */
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 5 REPLICATION 1"),
     "found 5, expected duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 5q REPLICATION 1"),
     "invalid duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1.5h REPLICATION 1"),
     "found 1.5, expected duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1H REPLICATION 1"),
     "invalid duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h REPLICATION 0"),
     "invalid value 0: must be 1 <= n <= 2147483647 at line 1, char 58"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h REPLICATION 99999999999"),
     "invalid value 99999999999: must be 1 <= n <= 2147483647 at line 1, char 58"},
    {TEXT("CREATE RETENTION POLICY r ON db0 REPLICATION 1"),
     "found REPLICATION, expected DURATION at line 1, char 34"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h REPLICATION 1 DEFAULT"), NULL},
    {TEXT("CREATE RETENTION POLICY \"r\" ON \"db0\" DURATION 1 h REPLICATION 1"),
     "found 1, expected duration at line 1, char 47"},
    {TEXT("CREATE USER u WITH PASSWORD 'it\\'s'"), NULL},
    {TEXT("CREATE USER u WITH PASSWORD 'a\nb'"),
     "found ****, expected string at line 1, char 29"},                          /* masked */
    {TEXT("CREATE DATABASE x\000"), "found NUL, expected ; at line 1, char 18"}, /* NUL */
    {TEXT("CREATE DATABASE x WITH FOO"),
     "found FOO, expected DURATION, NAME, REPLICATION, SHARD at line 1, char 24"},
    {TEXT("SELECT"),
     "found EOF, expected identifier, string, number, bool at line 1, char 7"},   /* place */
    {TEXT("SELECT * FROM"), "found EOF, expected identifier at line 1, char 14"}, /* place */
    {TEXT("SELECT \"a\\\"b\" FROM \"m\\\\x\""), NULL},
    {TEXT("x"), "found x, expected " TOP " at line 1, char 1"},                      /* list */
    {TEXT("'x'"), "found x, expected " TOP " at line 1, char 1"},                    /* list */
    {TEXT("123"), "found 123, expected " TOP " at line 1, char 1"},                  /* list */
    {TEXT("5s"), "found 5s, expected " TOP " at line 1, char 1"},                    /* list */
    {TEXT(".5"), "found .5, expected " TOP " at line 1, char 1"},                    /* list */
    {TEXT(";FOO"), "found FOO, expected " TOP " at line 1, char 2"},                 /* list */
    {TEXT(";\n;\nFOO"), "found FOO, expected " TOP " at line 3, char 1"},            /* list */
    {TEXT("SHOW DATABASES; FOO"), "found FOO, expected " TOP " at line 1, char 17"}, /* list */
    {TEXT("\tFOO"), "found FOO, expected " TOP " at line 1, char 1"},                /* list */
    {TEXT("\303\251"), "found \303\251, expected " TOP " at line 1, char 1"},        /* list */
    {TEXT("SHOW\302\240DATABASES"),
     "found \302\240, expected " SHOW " at line 1, char 5"}, /* list */
    {TEXT("CREATE SUBSCRIPTION s ON db0.autogen DESTINATIONS ALL \"http://h:1\""),
     "found http://h:1, expected string at line 1, char 55"},
    {TEXT("CREATE SUBSCRIPTION s ON db0.autogen DESTINATIONS ALL"),
     "found EOF, expected string at line 1, char 54"}, /* place */
    {TEXT("CREATE SUBSCRIPTION s ON db0.autogen DESTINATIONS FOO 'x'"),
     "found FOO, expected ALL, ANY at line 1, char 51"},
    {TEXT("CREATE SUBSCRIPTION s ON db0.autogen DESTINATIONS ALL 'http://h:1' 'http://h:2'"),
     "found http://h:2, expected ; at line 1, char 68"}, /* place */
    {TEXT("CREATE SUBSCRIPTION 's' ON db0.autogen DESTINATIONS ALL 'http://h:1'"),
     "found s, expected identifier at line 1, char 21"}, /* place */
    {TEXT("CREATE SUBSCRIPTION \"a\\nb\" ON db0.autogen DESTINATIONS any 'http://h:1'"), NULL},
    {TEXT("create subscription s on db0.autogen destinations all '' "), NULL},
    {TEXT("CREATE DATABASE ''"),
     "found STRING, expected identifier at line 1, char 17"}, /* place */
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 60us REPLICATION 1"),
     "invalid duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 10MB REPLICATION 1"),
     "invalid duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h30 REPLICATION 1"),
     "invalid duration at line 1, char 43"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 0s REPLICATION 1"), NULL},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h REPLICATION 1.5"),
     "found 1.5, expected integer at line 1, char 58"},
    {TEXT("CREATE RETENTION POLICY r ON db0 DURATION 1h REPLICATION 1h"),
     "found 1h, expected integer at line 1, char 58"},
    {TEXT("CREATE DATABASE x;CREATE DATABASE y;CREATE DATABASE z"), NULL},
    {TEXT("CREATE DATABASE x -- c ; FOO\n; CREATE DATABASE y"), NULL},
    {TEXT("CREATE DATABASE x /* ; */ ; CREATE DATABASE y"), NULL},
    {TEXT("CREATE DATABASE \"a;b\""), NULL},
    {TEXT("CREATE DATABASE x\000 FOO"), "found NUL, expected ; at line 1, char 18"}, /* NUL */
    {TEXT("CREATE DATABASE \303\251\303\251 1"),
     "found \303\251, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE \"\303\251\303\251\" 1"), "found 1, expected ; at line 1, char 22"},
    {TEXT("-- c\r\nFOO"), "found FOO, expected " TOP " at line 2, char 1"}, /* list */
    {TEXT("CREATE DATABASE \"a\\'b\""), NULL},
    {TEXT("CREATE USER u WITH PASSWORD 'a\\\"b\\\\c\\nd'"), NULL},
    {TEXT("CREATE USER u WITH PASSWORD 'a\"b'"), NULL},
    {TEXT("CREATE DATABASE all"), "found ALL, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE sink"), NULL},
    {TEXT("CREATE DATABASE inf"), "found INF, expected identifier at line 1, char 17"},
    {TEXT("CREATE DATABASE true"), "found TRUE, expected identifier at line 1, char 17"},
};

static void
answers_as_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice text = guard_copy(rows[i].text);
        struct sql_script script;
        struct sql_error error;
        enum err err = sql_parse(text, &script, &error);
        char expected[sizeof(error.text)] = "";

        if (rows[i].message != NULL)
            (void)snprintf(expected, sizeof(expected), PREFIX "%s", rows[i].message);
        assert_string_equal(error.text, expected);
        assert_int_equal(err, rows[i].message == NULL ? ERR_OK : ERR_BAD);
        sql_free(&script);
        guard_free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
