/*
 * test_daemon_sink_ddl.c: from a statement to a definition, and back to the statement.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/sink_ddl.h"
#include "sink/sink.h"
#include "sql/sql.h"

static const struct config_sink anywhere;

static enum err
create(struct sink_def *out, const char *sql, const struct config_sink *config,
       struct errinfo *info)
{
    struct sql_script script;
    struct sql_error error;
    enum err err;

    if (sql_parse(slice_of(sql), &script, &error) != ERR_OK)
        fail_msg("%s", sql);
    assert_int_equal(script.count, 1);
    err = sink_ddl_create(out, &script.statements[0], config, info);
    sql_free(&script);
    return err;
}

static void
creates(struct sink_def *out, const char *sql)
{
    struct errinfo info;

    if (create(out, sql, &anywhere, &info) != ERR_OK)
        fail_msg("%s", info.text);
}

static enum err
alter(struct sink_def *out, const struct sink_def *old, const char *sql, struct errinfo *info)
{
    struct sql_script script;
    struct sql_error error;
    enum err err;

    if (sql_parse(slice_of(sql), &script, &error) != ERR_OK)
        fail_msg("%s", sql);
    err = sink_ddl_alter(out, old, &script.statements[0], &anywhere, info);
    sql_free(&script);
    return err;
}

static void
puts_out(const struct sink_def *d, enum sql_secrets secrets, const char *text)
{
    struct buf out;

    buf_init(&out, 1 << 16);
    assert_int_equal(sink_ddl_put(d, secrets, &out), ERR_OK);
    assert_int_equal(buf_add_byte(&out, 0), ERR_OK);
    assert_string_equal((const char *)out.data + out.head, text);
    buf_free(&out);
}

static void
end(struct sink_def *d)
{
    sink_def_free(d);
    assert_int_equal(mem_live(), 0);
}

/* ---- statement to definition ---- */

static void
every_clause_is_taken_over(void **state)
{
    struct sink_def d;

    (void)state;
    creates(&d,
            "CREATE SINK \"my sink\" TO 'http://c:8086/write?db=mydb' USERNAME 'u' PASSWORD 'p' "
            "TYPE http_line ON a, \"b c\" INCLUDE MEASUREMENTS cpu, \"mem*\", /^x[0-9]+$/ EXCLUDE "
            "MEASUREMENTS y BATCH_SIZE 17 FLUSH_INTERVAL 1m30s "
            "WITH (gzip = true, timeout = 3s, max_batch_bytes = 2000, headers = 'X: y')");
    assert_string_equal(d.name, "my sink");
    assert_string_equal(d.type->name, "http_line");
    assert_string_equal(d.url, "http://c:8086/write?db=mydb");
    assert_string_equal(d.username, "u");
    assert_true(secret_equal(&d.password, SLICE("p")));
    assert_int_equal(d.databases.count, 2);
    assert_string_equal(d.databases.list[1].text, "b c");
    assert_int_equal(d.include.count, 3);
    assert_int_equal(d.include.list[1].kind, SELECTOR_GLOB);
    assert_int_equal(d.include.list[2].kind, SELECTOR_REGEX);
    assert_string_equal(d.include.list[2].text, "^x[0-9]+$");
    assert_string_equal(d.exclude.list[0].text, "y");
    assert_int_equal(d.batch_size, 17);
    assert_int_equal(d.flush_interval_ms, 90000);
    assert_true(sink_def_bool(&d, "gzip"));
    assert_int_equal(sink_def_number(&d, "timeout"), 3000);
    assert_int_equal(sink_def_number(&d, "max_batch_bytes"), 2000);
    assert_true(slice_eq(sink_def_text(&d, "headers"), SLICE("X: y")));
    end(&d);
}

static void
what_is_left_out_stays_open(void **state)
{
    struct sink_def d;

    (void)state;
    creates(&d, "CREATE SINK s TYPE stdout");
    assert_null(d.url);
    assert_int_equal(d.batch_size, 0);
    assert_int_equal(d.flush_interval_ms, -1);
    assert_int_equal(d.include.count + d.exclude.count + d.databases.count, 0);
    assert_false(d.paused);
    end(&d);
}

static void
clauses_win_over_the_urls_user_info(void **state)
{
    struct sink_def d;

    (void)state;
    creates(&d, "CREATE SINK s TO 'http://a:b@c/w' TYPE http_line USERNAME 'u'");
    assert_string_equal(d.url, "http://c/w");
    assert_string_equal(d.username, "u");
    assert_true(secret_equal(&d.password, SLICE("b")));
    end(&d);
}

static void
a_wrong_definition_is_refused_whole(void **state)
{
    static const struct {
        const char *sql, *text;
    } rows[] = {
        {"CREATE SINK s TO 'http://c/w' TYPE http_line WITH (qos = 1)",
         "type http_line has no option qos; it has: gzip headers bearer_token bearer_token_file "},
        {"CREATE SINK s TO 'http://c/w' TYPE http_line WITH (gzip = 1)",
         "option gzip takes true or false"},
        {"CREATE SINK s TO 'http://c/w' TYPE stdout", "type stdout takes no TO"},
        {"CREATE SINK s TO 'http://c/w' TYPE http_line FORMAT json",
         "format json is not available for type http_line"},
        {"CREATE SINK s TO 'http://c/w' TYPE http_line INCLUDE MEASUREMENTS /a(/", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sink_def d;
        struct errinfo info;

        assert_int_equal(create(&d, rows[i].sql, &anywhere, &info), ERR_CONFIG);
        if (rows[i].text != NULL)
            assert_ptr_equal(strstr(info.text, rows[i].text), info.text);
        assert_int_equal(mem_live(), 0);
    }
}

/* ---- ALTER ---- */

static void
alter_replaces_the_clauses_it_has(void **state)
{
    struct sink_def old, d;
    struct errinfo info;

    (void)state;
    creates(&old, "CREATE SINK s TO 'http://u:p@c/w' TYPE http_line ON a INCLUDE MEASUREMENTS x "
                  "EXCLUDE MEASUREMENTS y BATCH_SIZE 5 WITH (gzip = true, timeout = 3s)");
    old.id = 9;
    old.paused = true;
    assert_int_equal(alter(&d, &old, "ALTER SINK s INCLUDE ALL", &info), ERR_OK);
    assert_int_equal(d.include.count, 0);
    assert_int_equal(d.exclude.count, 1);
    assert_int_equal(d.databases.count, 1);
    assert_int_equal(d.id, 9);
    assert_true(d.paused);
    assert_string_equal(d.username, "u");
    sink_def_free(&d);
    assert_int_equal(alter(&d, &old, "ALTER SINK s WITH (timeout = 4s)", &info), ERR_OK);
    assert_int_equal(sink_def_number(&d, "timeout"), 4000);
    assert_false(sink_def_bool(&d, "gzip")); /* the whole clause is replaced */
    sink_def_free(&d);
    assert_int_equal(alter(&d, &old,
                           "ALTER SINK s TO 'http://d/w' USERNAME '' PASSWORD '' FLUSH_INTERVAL 7s",
                           &info),
                     ERR_OK);
    assert_string_equal(d.url, "http://d/w");
    assert_null(d.username);
    assert_false(secret_is_set(&d.password));
    assert_int_equal(d.flush_interval_ms, 7000);
    assert_int_equal(d.batch_size, 5);
    sink_def_free(&d);
    assert_int_equal(alter(&d, &old, "ALTER SINK s TO 'mqtt://d/w'", &info), ERR_CONFIG);
    assert_string_equal(old.url, "http://c/w"); /* untouched */
    end(&old);
}

/* ---- where sinks may go ---- */

static void
host_lists(void **state)
{
    static char *allow[] = {(char *)(uintptr_t) "*.example.com", (char *)(uintptr_t) "10.0.0.*"};
    static char *deny[] = {(char *)(uintptr_t) "Bad.example.com", (char *)(uintptr_t) "127.*"};
    static const struct {
        const char *host;
        bool by_allow, by_deny;
    } rows[] = {
        {"a.example.com", true, true},     {"example.com", false, true},
        {"10.0.0.7", true, true},          {"10.0.1.7", false, true},
        {"bad.example.com", true, false},  {"BAD.EXAMPLE.COM", true, false},
        {"bad.example.com.", true, false}, {"127.0.0.1", false, false},
        {"A.Example.Com", true, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct config_sink allowed = {.allow_hosts = {allow, 2}};
        const struct config_sink denied = {.deny_hosts = {deny, 2}};
        struct sink_def d;
        struct errinfo info;
        char sql[200];

        (void)strcpy(sql, "CREATE SINK s TO 'http://");
        (void)strcat(sql, rows[i].host);
        (void)strcat(sql, "/w' TYPE http_line");
        assert_int_equal(create(&d, sql, &allowed, &info), rows[i].by_allow ? ERR_OK : ERR_CONFIG);
        if (rows[i].by_allow)
            sink_def_free(&d);
        assert_int_equal(create(&d, sql, &denied, &info), rows[i].by_deny ? ERR_OK : ERR_CONFIG);
        if (rows[i].by_deny)
            sink_def_free(&d);
        else
            assert_non_null(strstr(
                info.text, "sink.allow_hosts and sink.deny_hosts do not let sinks send to "));
    }
    assert_int_equal(mem_live(), 0);
}

static void
every_host_of_a_list_must_be_allowed(void **state)
{
    static char *deny[] = {(char *)(uintptr_t) "b"};
    const struct config_sink denied = {.deny_hosts = {deny, 1}};
    struct sink_def d;
    struct errinfo info;

    (void)state;
    assert_int_equal(
        create(&d, "CREATE SINK s TO 'kafka://a,b:9092,c/t' TYPE kafka", &denied, &info),
        ERR_CONFIG);
    assert_int_equal(create(&d, "CREATE SINK s TO 'kafka://a,c/t' TYPE kafka", &denied, &info),
                     ERR_OK);
    end(&d);
}

/* ---- definition to statement ---- */

static const char *const statements[] = {
    "CREATE SINK s TYPE stdout",
    "CREATE SINK \"a \\\"b\\\"\" TO 'http://u:p%40@c/write?db=a&p=x' TYPE http_line",
    "CREATE SINK s TO 'http://c/w' TYPE http_line ON a, \"b c\" INCLUDE MEASUREMENTS cpu, \"m*\", "
    "/^x\\/y/ EXCLUDE MEASUREMENTS \"type\", /z$/ BATCH_SIZE 17 FLUSH_INTERVAL 1m30s WITH (gzip = true, "
    "timeout = 3s, headers = 'X: it\\'s', max_batch_bytes = 2000, on_full = 'drop_oldest')",
    "CREATE SINK s TO 'mqtt://b/t/{measurement}' TYPE mqtt FORMAT json FLUSH_INTERVAL 0s WITH (qos = 2)",
    "CREATE SINK s TO 'kafka://a,b:9/t' TYPE kafka USERNAME 'u' PASSWORD 'p' WITH (acks = '1')",
};

static void
a_definition_makes_the_statement_that_makes_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        struct sink_def first, second;
        struct buf one, two;

        creates(&first, statements[i]);
        buf_init(&one, 1 << 16);
        buf_init(&two, 1 << 16);
        assert_int_equal(sink_ddl_put(&first, SQL_SECRETS_SHOWN, &one), ERR_OK);
        assert_int_equal(buf_add_byte(&one, 0), ERR_OK);
        creates(&second, (const char *)one.data + one.head);
        assert_int_equal(sink_ddl_put(&second, SQL_SECRETS_SHOWN, &two), ERR_OK);
        assert_int_equal(buf_add_byte(&two, 0), ERR_OK);
        assert_string_equal((const char *)one.data + one.head, (const char *)two.data + two.head);
        assert_string_equal(first.name, second.name);
        assert_int_equal(first.include.count, second.include.count);
        assert_true(slice_eq(secret_reveal(&first.password), secret_reveal(&second.password)));
        buf_free(&one);
        buf_free(&two);
        sink_def_free(&first);
        end(&second);
    }
}

static void
a_paused_sink_is_paused_again(void **state)
{
    struct sink_def d;

    (void)state;
    creates(&d, "CREATE SINK s TYPE stdout");
    d.paused = true;
    puts_out(&d, SQL_SECRETS_SHOWN,
             "CREATE SINK \"s\"\n  TYPE stdout\n  INCLUDE ALL;\nALTER SINK \"s\" PAUSE;\n");
    end(&d);
}

static void
no_secret_without_being_asked(void **state)
{
    static const enum sql_secrets forms[] = {SQL_SECRETS_MASKED, SQL_SECRETS_OMITTED};
    struct sink_def d;

    (void)state;
    creates(&d, "CREATE SINK s TO 'http://u:canary@c/w?db=a&token=canary' TYPE http_line "
                "WITH (headers = 'X-Key: canary')");
    for (size_t i = 0; i < 2; i++) {
        struct buf out;

        buf_init(&out, 1 << 16);
        assert_int_equal(sink_ddl_put(&d, forms[i], &out), ERR_OK);
        assert_int_equal(buf_add_byte(&out, 0), ERR_OK);
        assert_null(strstr((const char *)out.data + out.head, "canary"));
        if (forms[i] == SQL_SECRETS_OMITTED) /* it would be sent as the password */
            assert_null(strstr((const char *)out.data + out.head, "****"));
        assert_non_null(strstr((const char *)out.data + out.head, "CREATE SINK \"s\""));
        buf_free(&out);
    }
    end(&d);
}

static void
memory_runs_out_cleanly(void **state)
{
    struct sql_script script;
    struct sql_error error;
    size_t live;

    (void)state;
    assert_int_equal(sql_parse(slice_of(statements[2]), &script, &error), ERR_OK);
    live = mem_live();
    for (size_t n = 1;; n++) {
        struct sink_def d;
        struct errinfo info = {ERR_OK, 0, ""};
        struct buf out;
        enum err err;

        assert_in_range(n, 1, 200);
        buf_init(&out, 1 << 16);
        mem_fail_at(n);
        err = sink_ddl_create(&d, &script.statements[0], &anywhere, &info);
        if (err == ERR_OK) {
            err = sink_ddl_put(&d, SQL_SECRETS_SHOWN, &out);
            sink_def_free(&d);
        }
        mem_fail_at(0);
        buf_free(&out);
        assert_int_equal(mem_live(), live);
        if (err == ERR_OK)
            break;
        assert_int_equal(err, ERR_NOMEM);
    }
    sql_free(&script);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_clause_is_taken_over),
        cmocka_unit_test(what_is_left_out_stays_open),
        cmocka_unit_test(clauses_win_over_the_urls_user_info),
        cmocka_unit_test(a_wrong_definition_is_refused_whole),
        cmocka_unit_test(alter_replaces_the_clauses_it_has),
        cmocka_unit_test(host_lists),
        cmocka_unit_test(every_host_of_a_list_must_be_allowed),
        cmocka_unit_test(a_definition_makes_the_statement_that_makes_it),
        cmocka_unit_test(a_paused_sink_is_paused_again),
        cmocka_unit_test(no_secret_without_being_asked),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
