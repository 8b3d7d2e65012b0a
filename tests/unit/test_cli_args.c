/*
 * test_cli_args.c: command lines, and the daemon's URL out of options and environment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/cli_args.h"
#include "cli/cli_server.h"

struct line {
    const char *url, *format;
    bool force;
    struct cli_operands operands;
    struct errinfo info;
};

#define WORDS(...)                           \
    (char *[])                               \
    {                                        \
        (char[]){"query"}, __VA_ARGS__, NULL \
    }
#define W(text) \
    (char[])    \
    {           \
        text    \
    }

static enum err
parse(struct line *l, char **argv)
{
    int argc = 0;

    *l = (struct line){.operands = {.max = 1}};
    while (argv[argc] != NULL)
        argc++;
    const struct cli_arg args[] = {{'H', "url", &l->url, NULL},
                                   {0, "format", &l->format, NULL},
                                   {'f', "force", NULL, &l->force}};
    return cli_args_parse(argc, argv, args, 3, &l->operands, &l->info);
}

static void
test_forms(void **state)
{
    struct line l;

    (void)state;
    assert_int_equal(parse(&l, WORDS(W("-H"), W("a"), W("SHOW SINKS"), W("--format=json"))),
                     ERR_OK);
    assert_string_equal(l.url, "a");
    assert_string_equal(l.format, "json");
    assert_string_equal(l.operands.list[0], "SHOW SINKS");
    assert_false(l.force);
    assert_int_equal(parse(&l, WORDS(W("-Ha"), W("--format"), W("csv"), W("-"), W("--force"))),
                     ERR_OK);
    assert_string_equal(l.url, "a");
    assert_string_equal(l.operands.list[0], "-");
    assert_true(l.force);
    assert_int_equal(parse(&l, WORDS(W("--"), W("-H"))), ERR_OK);
    assert_string_equal(l.operands.list[0], "-H");
    assert_int_equal(parse(&l, WORDS(W("--url="), W("-f"))), ERR_OK);
    assert_string_equal(l.url, "");
    assert_int_equal(l.operands.count, 0);
}

static void
test_errors(void **state)
{
    struct line l;

    (void)state;
    assert_int_equal(parse(&l, WORDS(W("-x"))), ERR_CONFIG);
    assert_string_equal(l.info.text, "unknown option -x");
    assert_int_equal(parse(&l, WORDS(W("--nope=1"))), ERR_CONFIG);
    assert_string_equal(l.info.text, "unknown option --nope");
    assert_int_equal(parse(&l, WORDS(W("--password=CANARY"))), ERR_CONFIG);
    assert_null(strstr(l.info.text, "CANARY"));
    assert_int_equal(parse(&l, WORDS(W("-H"))), ERR_CONFIG);
    assert_string_equal(l.info.text, "option -H needs a value");
    assert_int_equal(parse(&l, WORDS(W("--force=1"))), ERR_CONFIG);
    assert_string_equal(l.info.text, "option --force takes no value");
    assert_int_equal(parse(&l, WORDS(W("-H"), W("a"), W("--url"), W("b"))), ERR_CONFIG);
    assert_int_equal(parse(&l, WORDS(W("a"), W("b"))), ERR_CONFIG);
    assert_string_equal(l.info.text, "too many arguments");
}

static void
test_help_is_seen(void **state)
{
    (void)state;
    assert_true(cli_args_want_help(2, WORDS(W("--help"))));
    assert_true(cli_args_want_help(3, WORDS(W("a"), W("-h"))));
    assert_false(cli_args_want_help(3, WORDS(W("--"), W("-h"))));
}

static enum err
resolve(struct cli_server *s, const char *url, const char *user, struct errinfo *info)
{
    *s = (struct cli_server){.url = url, .user = user};
    return cli_server_resolve(s, info);
}

static void
test_the_url(void **state)
{
    static const struct {
        const char *url, *host, *path;
        uint16_t port;
    } rows[] = {
        {"http://gw:9000", "gw", "", 9000},
        {"gw:9000", "gw", "", 9000},
        {"http://gw/", "gw", "", 80},
        {"HTTP://[::1]:1/a/b/", "::1", "/a/b", 1},
    };
    struct cli_server s;
    struct errinfo info;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(resolve(&s, rows[i].url, NULL, &info), ERR_OK);
        assert_true(slice_eq(s.host, slice_of(rows[i].host)));
        assert_true(slice_eq(s.path, slice_of(rows[i].path)));
        assert_int_equal(s.port, rows[i].port);
        cli_server_free(&s);
    }
    assert_int_equal(resolve(&s, NULL, NULL, &info), ERR_OK);
    assert_true(slice_eq(s.host, SLICE("127.0.0.1")));
    assert_int_equal(s.port, 8086);
    cli_server_free(&s);
    assert_int_equal(setenv("SINKD_URL", "http://hub:1", 1), 0);
    assert_int_equal(resolve(&s, NULL, NULL, &info), ERR_OK);
    assert_true(slice_eq(s.host, SLICE("hub")));
    cli_server_free(&s);
    assert_int_equal(unsetenv("SINKD_URL"), 0);
    assert_int_equal(mem_live(), 0);
}

static void
test_wrong_urls(void **state)
{
    static const char *const urls[] = {"https://gw",         "ftp://gw",   "http://u:CANARY@gw",
                                       "http://gw?p=CANARY", "http://a,b", "http://",
                                       "http://gw:99999"};
    struct cli_server s;
    struct errinfo info;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_int_equal(resolve(&s, urls[i], NULL, &info), ERR_CONFIG);
        assert_null(strstr(info.text, "CANARY"));
        cli_server_free(&s);
    }
    assert_int_equal(mem_live(), 0);
}

static void
test_passwords(void **state)
{
    char file[] = "/tmp/sinkd-password-XXXXXX";
    int fd = mkstemp(file);
    struct cli_server s;
    struct errinfo info;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "from file\r\nmore\n", 16), 16);
    assert_int_equal(close(fd), 0);
    assert_int_equal(setenv("SINKD_PASSWORD", "from variable", 1), 0);
    assert_int_equal(resolve(&s, "gw", "me", &info), ERR_OK);
    assert_true(secret_equal(&s.password, SLICE("from variable")));
    cli_server_free(&s);
    assert_int_equal(unsetenv("SINKD_PASSWORD"), 0);
    s = (struct cli_server){.url = "gw", .user = "me", .password_file = file};
    assert_int_equal(cli_server_resolve(&s, &info), ERR_OK);
    assert_true(secret_equal(&s.password, SLICE("from file")));
    cli_server_free(&s);
    assert_int_equal(unlink(file), 0);
    s = (struct cli_server){.url = "gw", .user = "me", .password_file = file};
    assert_int_equal(cli_server_resolve(&s, &info), ERR_CONFIG);
    cli_server_free(&s);
    s = (struct cli_server){.url = "gw", .password_file = file};
    assert_int_equal(cli_server_resolve(&s, &info), ERR_CONFIG);
    cli_server_free(&s);
    assert_int_equal(mem_live(), 0);
}

static int
set_up(void **state)
{
    (void)state;
    return unsetenv("SINKD_URL") != 0 || unsetenv("SINKD_USER") != 0 ||
           unsetenv("SINKD_PASSWORD") != 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_help_is_seen), cmocka_unit_test(test_the_url),
        cmocka_unit_test(test_wrong_urls),   cmocka_unit_test(test_passwords),
    };

    return cmocka_run_group_tests_name("cli_args", tests, set_up, NULL);
}
