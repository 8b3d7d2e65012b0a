/*
 * test_sink_def_check.c: which definitions of each type are accepted, and what is said of the
 * others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sink/sink.h"
#include "sink/sink_def.h"
#include "sink/sink_types.h"

static void
begin(struct sink_def *d, const char *type)
{
    assert_int_equal(sink_def_init(d, sink_types_find(slice_of(type))), ERR_OK);
}

static void
end(struct sink_def *d)
{
    sink_def_free(d);
    assert_int_equal(mem_live(), 0);
}

/* ---- checking ---- */

struct check {
    const char *type, *url;
    const char *options[5]; /* key, value, key, value; USERNAME and PASSWORD too */
    const char *text;       /* NULL: accepted */
};

static void
apply(struct sink_def *d, const char *key, const char *value)
{
    if (strcmp(key, "USERNAME") == 0) {
        d->username = mem_text(slice_of(value));
    } else if (strcmp(key, "PASSWORD") == 0) {
        assert_int_equal(secret_set(&d->password, slice_of(value)), ERR_OK);
    } else {
        struct errinfo info;

        if (sink_def_set_option(d, slice_of(key), slice_of(value), &info) != ERR_OK)
            fail_msg("%s", info.text);
    }
}

static void
run_checks(const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct check *c = &checks[i];
        struct sink_def d;
        struct errinfo info = {ERR_OK, 0, ""};

        begin(&d, c->type);
        if (c->url != NULL)
            assert_int_equal(sink_def_set_url(&d, slice_of(c->url), &info), ERR_OK);
        for (size_t o = 0; c->options[o] != NULL; o += 2)
            apply(&d, c->options[o], c->options[o + 1]);
        if (c->text == NULL) {
            if (sink_def_check(&d, &info) != ERR_OK)
                fail_msg("row %zu: %s", i, info.text);
        } else {
            assert_int_equal(sink_def_check(&d, &info), ERR_CONFIG);
            assert_string_equal(info.text, c->text);
            assert_int_equal(info.code, ERR_CONFIG);
        }
        end(&d);
    }
}

#define RUN(checks) run_checks(checks, sizeof(checks) / sizeof((checks)[0]))

static void
urls_of_each_type(void **state)
{
    static const struct check checks[] = {
        {"stdout", NULL, {NULL}, NULL},
        {"stdout", "http://c/w", {NULL}, "type stdout takes no TO"},
        {"stdout", NULL, {"USERNAME", "u", NULL}, "type stdout takes no USERNAME and no PASSWORD"},
        {"stdout", NULL, {"PASSWORD", "p", NULL}, "type stdout takes no USERNAME and no PASSWORD"},
        {"http_line", NULL, {NULL}, "type http_line needs TO with a URL"},
        {"http_line", "HTTP://c/w", {NULL}, NULL},
        {"http_line",
         "mqtt://c/w",
         {NULL},
         "type http_line takes a URL that starts with one of: http https"},
        {"http_line",
         "http://c",
         {NULL},
         "the URL of an HTTP sink needs a path, like http://host:8086/write?db=mydb"},
        {"http_line", "http://a,b/w", {NULL}, "the URL of an HTTP sink has one host"},
        {"http_line", "http://c/{db}?rp={rp}", {NULL}, NULL},
        {"http_line",
         "http://c/{measurement}",
         {NULL},
         "unknown placeholder {measurement}; known are {db} and {rp}"},
        {"http_msgpack", "http://c/w", {NULL}, NULL},
        {"mqtt", "mqtt://b/t", {NULL}, NULL},
        {"mqtt", "mqtt://b:8883/a/{measurement}/{tag:host|x}", {NULL}, NULL},
        {"mqtt",
         "mqtt://b",
         {NULL},
         "the URL of type mqtt needs a topic of 1 to 65535 bytes behind the host"},
        {"mqtt",
         "mqtt://b/",
         {NULL},
         "the URL of type mqtt needs a topic of 1 to 65535 bytes behind the host"},
        {"mqtt", "mqtt://a,b/t", {NULL}, "the URL of type mqtt has one host"},
        {"mqtt", "mqtt://b/t?x=1", {NULL}, "the URL of type mqtt takes no query"},
        {"mqtt",
         "mqtt://b/{x}",
         {NULL},
         "unknown placeholder {x}; known are {db}, {rp}, {measurement}, {tag:NAME} and {tag:NAME|default}"},
        {"kafka", "kafka://a:9092,b,c:1/t", {NULL}, NULL},
        {"kafka",
         "kafka://a/",
         {NULL},
         "the URL of type kafka needs a topic of 1 to 249 bytes behind the host"},
        {"kafka",
         "http://a/t",
         {NULL},
         "type kafka takes a URL that starts with one of: kafka kafkas"},
    };

    (void)state;
    RUN(checks);
}

static void
credentials_of_each_type(void **state)
{
    static const struct check checks[] = {
        {"http_line", "http://u:p@c/w", {NULL}, NULL},
        {"http_line", "http://u@c/w", {"password_file", "/x", NULL}, NULL},
        {"http_line",
         "http://c/w",
         {"PASSWORD", "p", NULL},
         "a password needs a USERNAME beside it"},
        {"http_line",
         "http://c/w",
         {"password_file", "/x", NULL},
         "a password needs a USERNAME beside it"},
        {"http_line",
         "http://u:p@c/w",
         {"password_file", "/x", NULL},
         "PASSWORD and password_file exclude each other"},
        {"http_line",
         "http://u:p@c/w",
         {"bearer_token", "t", NULL},
         "USERNAME and a bearer token exclude each other"},
        {"http_line",
         "http://c/w",
         {"bearer_token", "t", "bearer_token_file", "f", NULL},
         "bearer_token and bearer_token_file exclude each other"},
        {"http_line",
         "http://c/w",
         {"bearer_token", "a\nb", NULL},
         "a header value must not hold control bytes"},
        {"http_line",
         "http://c/w",
         {"user_agent", "a\x7f", NULL},
         "a header value must not hold control bytes"},
        {"http_line",
         "http://c/w",
         {"USERNAME", "a:b", NULL},
         "a USERNAME for HTTP must not hold a colon"},
        {"http_line",
         "http://u:p@c/w",
         {"headers", "X: y\nauthorization: z", NULL},
         "option headers must not set Authorization beside USERNAME or a bearer token"},
        {"http_line", "http://c/w", {"headers", "Authorization: Token z", NULL}, NULL},
        {"mqtt", "mqtt://c/w", {"PASSWORD", "p", NULL}, "a password needs a USERNAME beside it"},
        {"kafka", "kafka://c/w", {"PASSWORD", "p", NULL}, "a password needs a USERNAME beside it"},
        {"mqtt", "mqtt://u:p@c/w", {NULL}, NULL},
    };

    (void)state;
    RUN(checks);
}

static void
options_of_http(void **state)
{
    static const struct check checks[] = {
        {"http_line", "http://c/w", {"headers", "A: b\r\nC:d\n\n", NULL}, NULL},
        {"http_line",
         "http://c/w",
         {"headers", "A: b\nno colon", NULL},
         "option headers takes lines like 'Name: value'; line 2 is none"},
        {"http_line",
         "http://c/w",
         {"headers", "A b: c", NULL},
         "option headers takes lines like 'Name: value'; line 1 is none"},
        {"http_line",
         "http://c/w",
         {"headers", ": c", NULL},
         "option headers takes lines like 'Name: value'; line 1 is none"},
        {"http_line",
         "http://c/w",
         {"headers", "A: c\x01", NULL},
         "option headers takes lines like 'Name: value'; line 1 is none"},
        {"http_line",
         "http://c/w",
         {"headers", "CONTENT-length: 1", NULL},
         "option headers must not set CONTENT-length"},
        {"http_line",
         "http://c/w",
         {"headers", "User-Agent: 1", NULL},
         "option headers must not set User-Agent"},
        {"http_line",
         "http://c/w",
         {"headers", "Connection: x", NULL},
         "option headers must not set Connection"},
        {"http_line",
         "http://c/w",
         {"success_status", "100", NULL},
         "option success_status takes statuses from 200 to 599 with commas between, like 200,204"},
        {"http_line",
         "http://c/w?precision=ms",
         {NULL},
         "the URL says precision ms, the option precision says ns: make them agree"},
        {"http_line",
         "http://c/w",
         {"precision", "s", NULL},
         "the URL says precision ns, the option precision says s: make them agree"},
        {"http_line", "http://c/w?precision=u", {"precision", "us", NULL}, NULL},
        {"http_line", "http://c/w?precision=n", {NULL}, NULL},
        {"http_line", "http://c/w?precision=", {NULL}, NULL},
        {"http_line",
         "http://c/w?precision=d",
         {NULL},
         "the URL's precision is none of ns, us, ms, s"},
        {"http_msgpack", "http://c/w?precision=s", {"precision", "s", NULL}, NULL},
    };

    (void)state;
    RUN(checks);
}

static void
options_of_brokers(void **state)
{
    static const struct check checks[] = {
        {"mqtt", "mqtt://c/w", {"will_topic", "t", "will_payload", "x", NULL}, NULL},
        {"mqtt",
         "mqtt://c/w",
         {"will_payload", "x", NULL},
         "option will_payload needs will_topic beside it"},
        {"kafka", "kafka://c/w", {"key", "{measurement}", NULL}, NULL},
        {"kafka",
         "kafka://c/w",
         {"key", "{measure}", NULL},
         "unknown placeholder {measure}; known are {db}, {rp}, {measurement}, {tag:NAME} and {tag:NAME|default}"},
    };

    (void)state;
    RUN(checks);
}

static void
formats_of_each_type(void **state)
{
    static const struct {
        const char *type, *url;
        enum sink_format format;
        bool good;
    } rows[] = {
        {"http_line", "http://c/w", SINK_JSON, false},
        {"http_line", "http://c/w", SINK_LINE_PROTOCOL, true},
        {"http_msgpack", "http://c/w", SINK_JSON, false},
        {"mqtt", "mqtt://c/w", SINK_JSON, true},
        {"kafka", "kafka://c/w", SINK_MSGPACK, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sink_def d;
        struct errinfo info;

        begin(&d, rows[i].type);
        assert_int_equal(sink_def_set_url(&d, slice_of(rows[i].url), NULL), ERR_OK);
        d.format = rows[i].format;
        assert_int_equal(sink_def_check(&d, &info) == ERR_OK, rows[i].good);
        if (!rows[i].good)
            assert_non_null(strstr(info.text, "format json is not available for type "));
        end(&d);
    }
}

/*
 * What is more than an HTTP sink can keep out of the answers that it quotes is refused. ${keys}
 * credentials in the URL, one value each, and ${lines} header lines.
 */
static enum err
check_with_secrets(const char *type, size_t keys, size_t lines, struct errinfo *info)
{
    struct buf url, headers;
    struct sink_def d;
    enum err err;

    begin(&d, type);
    buf_init(&url, 8192);
    buf_init(&headers, 8192);
    assert_int_equal(buf_add_text(&url, "http://u:p@c/w?db=x&token="), ERR_OK);
    for (size_t i = 0; i < keys; i++)
        assert_int_equal(buf_printf(&url, "&token=%zu", i), ERR_OK);
    assert_int_equal(buf_add_text(&headers, "X-Empty:\n"), ERR_OK);
    for (size_t i = 0; i < lines; i++)
        assert_int_equal(buf_printf(&headers, "X-A: %zu\n", i), ERR_OK);
    assert_int_equal(sink_def_set_url(&d, buf_peek(&url), info), ERR_OK);
    assert_int_equal(sink_def_set_option(&d, SLICE("headers"), buf_peek(&headers), info), ERR_OK);
    err = sink_def_check(&d, info);
    buf_free(&url);
    buf_free(&headers);
    end(&d);
    return err;
}

static void
no_more_secrets_than_can_be_masked(void **state)
{
    static const char *const types[] = {"http_line", "http_msgpack"};
    struct errinfo info;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(check_with_secrets(types[i], 62, 0, &info), ERR_OK);
        assert_int_equal(check_with_secrets(types[i], 32, 30, &info), ERR_OK);
        assert_int_equal(check_with_secrets(types[i], 63, 0, &info), ERR_CONFIG);
        assert_int_equal(check_with_secrets(types[i], 33, 30, &info), ERR_CONFIG);
        assert_string_equal(
            info.text, "the URL's query, option headers and the credentials hold 65 secret "
                       "values; an HTTP sink can keep at most 64 out of what it shows: use fewer");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_of_each_type),
        cmocka_unit_test(credentials_of_each_type),
        cmocka_unit_test(options_of_http),
        cmocka_unit_test(options_of_brokers),
        cmocka_unit_test(formats_of_each_type),
        cmocka_unit_test(no_more_secrets_than_can_be_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
