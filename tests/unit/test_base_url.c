/*
 * test_base_url.c: URLs of every sink type taken apart, what is refused, and what is never shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/url.h"
#include "support/guard.h"

static void
assert_slice(struct slice s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    if (s.n > 0)
        assert_memory_equal(s.p, expected, s.n);
}

static void
assert_host(const struct url_host *host, const char *name, unsigned port, bool ipv6)
{
    assert_slice(host->host, name);
    assert_int_equal(host->port, port);
    assert_int_equal(host->ipv6, ipv6);
}

static void
http_url(void **state)
{
    struct slice text = guard_copy(SLICE("HTTPS://us%40er:p:w@a-b.example:8086/w%20/x?db=a&p=1"));
    struct url url;

    (void)state;
    assert_int_equal(url_parse(text, &url, NULL), ERR_OK);
    assert_true(url_scheme_is(&url, "https"));
    assert_false(url_scheme_is(&url, "http"));
    assert_true(url.has_user && url.has_password);
    assert_slice(url.user, "us%40er");
    assert_slice(url.password, "p:w");
    assert_int_equal(url.host_count, 1);
    assert_host(&url.hosts[0], "a-b.example", 8086, false);
    assert_slice(url.path, "/w%20/x");
    assert_true(url.has_query);
    assert_slice(url.query, "db=a&p=1");
    guard_free(text);
}

static void
broker_urls(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(
        url_parse(SLICE("kafka://a:9092,b,[fe80::1%25eth0]:9094/{db}.{tag:x|y}"), &url, NULL),
        ERR_OK);
    assert_int_equal(url.host_count, 3);
    assert_host(&url.hosts[0], "a", 9092, false);
    assert_host(&url.hosts[1], "b", 0, false);
    assert_host(&url.hosts[2], "fe80::1%25eth0", 9094, true);
    assert_slice(url.path, "/{db}.{tag:x|y}");
    assert_false(url.has_query || url.has_user);

    assert_int_equal(url_parse(SLICE("mqtt://u@[::1]"), &url, NULL), ERR_OK);
    assert_true(url.has_user && !url.has_password);
    assert_slice(url.user, "u");
    assert_host(&url.hosts[0], "::1", 0, true);
    assert_slice(url.path, "");

    assert_int_equal(url_parse(SLICE("http://h?q"), &url, NULL), ERR_OK);
    assert_slice(url.path, "");
    assert_slice(url.query, "q");
    assert_int_equal(url_parse(SLICE("http://h/?"), &url, NULL), ERR_OK);
    assert_true(url.has_query && url.query.n == 0);
    assert_int_equal(url_parse(SLICE("http://:@h/"), &url, NULL), ERR_OK);
    assert_true(url.has_user && url.has_password && url.user.n == 0 && url.password.n == 0);
}

static void
refused(void **state)
{
    static const char *const texts[] = {
        "",
        "http",
        "http:",
        "http:/",
        "http:/h",
        "//h/x",
        "://h/x",
        "1http://h",
        "ht tp://h",
        "http://",
        "http:///x",
        "http://?x",
        "http://u@",
        "http://h:",
        "http://h:0",
        "http://h:65536",
        "http://h:x",
        "http://h:-1",
        "http://h:80:80",
        "http://::1/",
        "http://[::1",
        "http://[]",
        "http://[a]",
        "http://[::1]x",
        "http://[::1]:",
        "http://h,",
        "http://,h",
        "http://a,,b",
        "http://h/a b",
        "http://h/a\tb",
        "http://h/a\nb",
        "http://h/\x7f",
        "http://h/\xc3\xa9",
        "http://h/#f",
        "http://h/%",
        "http://h/%2",
        "http://h/%2x",
        "http://h%20x/",
        "http://h/\"",
        "http://h/<",
        "http://h/\\",
        "http://h!/",
        "http://{db}/",
        "http://u:%zz@h/",
        /* a password with an unencoded '/' or '?': its end would pass for a path */
        "http://u:1/CANARY@h/",
        "http://u:1?CANARY@h/",
        "http://u:CANARY#1@h/",
        "http://a@b/c@d",
    };
    struct url url = {.host_count = 77};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slice text = guard_copy(slice_of(texts[i]));
        struct errinfo info = {0};

        assert_int_equal(url_parse(text, &url, &info), ERR_BAD);
        assert_int_equal(info.code, ERR_BAD);
        assert_true(strncmp(info.text, "URL: ", 5) == 0);
        assert_null(strstr(info.text, "CANARY"));
        assert_int_equal(url.host_count, 77);
        guard_free(text);
    }
}

static void
limits(void **state)
{
    struct buf text;
    struct url url;

    (void)state;
    buf_init(&text, 1 << 16);
    assert_int_equal(buf_add_text(&text, "http://h/"), ERR_OK);
    while (buf_len(&text) < URL_TEXT_MAX)
        assert_int_equal(buf_add_byte(&text, 'x'), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_OK);
    assert_int_equal(buf_add_byte(&text, 'x'), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_RANGE);

    buf_clear(&text);
    assert_int_equal(buf_add_text(&text, "kafka://h"), ERR_OK);
    for (int i = 1; i < URL_HOSTS_MAX; i++)
        assert_int_equal(buf_add_text(&text, ",h"), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_OK);
    assert_int_equal(url.host_count, URL_HOSTS_MAX);
    assert_int_equal(buf_add_text(&text, ",h"), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_RANGE);

    buf_clear(&text);
    assert_int_equal(buf_add_text(&text, "http://"), ERR_OK);
    for (int i = 0; i < URL_HOST_MAX; i++)
        assert_int_equal(buf_add_byte(&text, 'h'), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_OK);
    assert_int_equal(buf_add_byte(&text, 'h'), ERR_OK);
    assert_int_equal(url_parse(buf_peek(&text), &url, NULL), ERR_RANGE);
    buf_free(&text);
}

static void
check_mask(const char *text, const char *expected)
{
    struct buf out;

    buf_init(&out, 4096);
    assert_int_equal(buf_add_text(&out, "url="), ERR_OK);
    assert_int_equal(url_mask(&out, slice_of(text)), ERR_OK);
    assert_slice(slice_from(buf_peek(&out), 4), expected);
    buf_free(&out);
}

static void
masked(void **state)
{
    (void)state;
    check_mask("http://h:1/x?db=a&precision=s", "http://h:1/x?db=a&precision=s");
    check_mask("http://user:secret@h/x", "http://h/x");
    check_mask("kafka://user:s@a:1,b:2/{db}", "kafka://a:1,b:2/{db}");
    check_mask("mqtt://[::1]:9/t", "mqtt://[::1]:9/t");
    check_mask("http://h/?u=a&p=b&db=c", "http://h/?u=****&p=****&db=c");
    check_mask("http://h/?Token=a=b&x=1", "http://h/?Token=****&x=1");
    check_mask("http://h/?X-Amz-Signature=a&api-key=b&api_key=c&client_secret=d&sig=e",
               "http://h/?X-Amz-Signature=****&api-key=****&api_key=****&client_secret=****"
               "&sig=****");
    check_mask("http://h/?%70assword=a", "http://h/?%70assword=****");
    check_mask("http://h/?password", "http://h/?password");
    check_mask("http://h/?db=a;p=b;c=d&e=f", "http://h/?db=a;p=****&e=f");
    check_mask("http://h/?p=a;b&e=f", "http://h/?p=****&e=f");
    check_mask("http://h/?p=", "http://h/?p=");
    check_mask("http://h/?&a&&p=b&&", "http://h/?&a&&p=****&&");
    check_mask("not a url: secret", "****");
    check_mask("http://u:1/secret@h/", "****");
}

static void
secrets_found(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(url_parse(SLICE("http://h/x?db=a"), &url, NULL), ERR_OK);
    assert_false(url_has_secret(&url));
    assert_int_equal(url_parse(SLICE("http://u@h/x?db=a"), &url, NULL), ERR_OK);
    assert_true(url_has_secret(&url));
    assert_int_equal(url_parse(SLICE("http://h/x?db=a&token=b"), &url, NULL), ERR_OK);
    assert_true(url_has_secret(&url));
    assert_true(url_key_is_secret(SLICE("U")));
    assert_true(url_key_is_secret(SLICE("bearer_token")));
    assert_false(url_key_is_secret(SLICE("precision")));
    assert_false(url_key_is_secret(SLICE("org")));
    assert_false(url_key_is_secret(SLICE("")));
}

static void
query_pairs(void **state)
{
    struct slice rest = SLICE("a=1&b&=c&d=e=f"), key, value;

    (void)state;
    assert_true(url_query_next(&rest, &key, &value));
    assert_slice(key, "a");
    assert_slice(value, "1");
    assert_true(url_query_next(&rest, &key, &value));
    assert_slice(key, "b");
    assert_slice(value, "");
    assert_true(url_query_next(&rest, &key, &value));
    assert_slice(key, "");
    assert_slice(value, "c");
    assert_true(url_query_next(&rest, &key, &value));
    assert_slice(key, "d");
    assert_slice(value, "e=f");
    assert_false(url_query_next(&rest, &key, &value));
}

static void
written_back(void **state)
{
    static const char *const texts[] = {
        "http://h",    "http://h/", "http://h:1?x", "http://h/?", "kafka://a:1,[::1]:2,c/t",
        "x+y://h/%20",
    };
    struct buf out;
    struct url url;

    (void)state;
    buf_init(&out, 64);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        buf_clear(&out);
        assert_int_equal(url_parse(slice_of(texts[i]), &url, NULL), ERR_OK);
        assert_int_equal(url_write(&out, &url, URL_SECRETS_SHOWN), ERR_OK);
        assert_slice(buf_peek(&out), texts[i]);
    }
    buf_free(&out);
}

/* What is left is in its order, with valid separators, and holds nothing to hide. */
static void
written_without_secrets(void **state)
{
    static const struct {
        const char *text, *left;
    } rows[] = {
        {"http://h/w", "http://h/w"},
        {"http://u:x@h/w", "http://h/w"},
        {"http://h/w?", "http://h/w?"},
        {"http://h/w?p=x", "http://h/w"},
        {"http://h/w?u=x&p=x", "http://h/w"},
        {"http://h/w?u=x&db=d&p=x", "http://h/w?db=d"},
        {"http://h/w?db=d&u=x&p=x", "http://h/w?db=d"},
        {"http://h/w?u=x&p=x&rp={rp}&db=d", "http://h/w?rp={rp}&db=d"},
        {"http://h/w?db=d&%70=x&precision=s", "http://h/w?db=d&precision=s"},
        {"http://h/w?a&p=x&&b=", "http://h/w?a&&b="},
        {"http://h/w?p=", "http://h/w?p="}, /* nothing in it */
        {"http://h/w?db=d;p=x;y&b=1", "http://h/w?db=d&b=1"},
        {"http://h/w?p=x;db=d&b=1", "http://h/w?b=1"},
        {"http://h?token=x", "http://h"},
    };
    struct buf out;
    struct url url;

    (void)state;
    buf_init(&out, 64);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_clear(&out);
        assert_int_equal(url_parse(slice_of(rows[i].text), &url, NULL), ERR_OK);
        assert_int_equal(url_write(&out, &url, URL_SECRETS_OMITTED), ERR_OK);
        assert_slice(buf_peek(&out), rows[i].left);
        assert_int_equal(url_parse(buf_peek(&out), &url, NULL), ERR_OK);
        assert_false(url_has_secret(&url));
    }
    buf_free(&out);
}

/* A buffer that is too small, at every size: an error, and nothing is left in it. */
static void
no_room(void **state)
{
    struct slice text = SLICE("kafka://u:p@a:1,[::1]:2/x?db=1&token=2");
    struct slice whole = SLICE("kafka://a:1,[::1]:2/x?db=1&token=****");

    (void)state;
    for (size_t max = 1; max <= whole.n; max++) {
        struct buf out;

        buf_init(&out, max);
        assert_int_equal(url_mask(&out, text), max < whole.n ? ERR_NOMEM : ERR_OK);
        assert_int_equal(buf_len(&out), max < whole.n ? 0 : whole.n);
        buf_free(&out);
    }
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_url),
        cmocka_unit_test(broker_urls),
        cmocka_unit_test(refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(masked),
        cmocka_unit_test(secrets_found),
        cmocka_unit_test(query_pairs),
        cmocka_unit_test(written_back),
        cmocka_unit_test(written_without_secrets),
        cmocka_unit_test(no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
