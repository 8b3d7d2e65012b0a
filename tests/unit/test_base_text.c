/*
 * test_base_text.c: base64, percent-encoding, UTF-8, JSON strings and globs, both ways and bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "support/guard.h"

typedef enum err encoder(struct buf *out, struct slice s);

static void
check_encoded(encoder *encode, struct slice in, const char *expected)
{
    struct slice s = guard_copy(in);
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(encode(&out, s), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), slice_of(expected)));
    buf_free(&out);

    /* One byte less room: nothing is added. */
    if (expected[0] != '\0') {
        buf_init(&out, strlen(expected) + 1);
        assert_int_equal(buf_add_text(&out, "ab"), ERR_OK);
        assert_int_equal(encode(&out, s), ERR_NOMEM);
        assert_true(slice_eq(buf_peek(&out), SLICE("ab")));
        buf_free(&out);
    }
    guard_free(s);
}

static void
check_refused(encoder *decode, const char *text)
{
    struct slice s = guard_copy(slice_of(text));
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(buf_add_text(&out, "ab"), ERR_OK);
    assert_int_equal(decode(&out, s), ERR_BAD);
    assert_true(slice_eq(buf_peek(&out), SLICE("ab")));
    buf_free(&out);
    guard_free(s);
}

/* RFC 4648 section 10. */
static void
base64(void **state)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xff\xef\xbe", "/+++"}};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        check_encoded(text_base64, slice_of(pairs[i][0]), pairs[i][1]);
        check_encoded(text_unbase64, slice_of(pairs[i][1]), pairs[i][0]);
    }
}

static void
base64_that_is_malformed(void **state)
{
    static const char *const texts[] = {"Z",    "Zg",   "Zg=",      "Zg=x",   "=g==",
                                        "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm9-",
                                        "Zh==", "Zm9=", "Zm 8"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_refused(text_unbase64, texts[i]);
}

static enum err
unpercent(struct buf *out, struct slice s)
{
    return text_unpercent(out, s, false);
}

static enum err
unpercent_form(struct buf *out, struct slice s)
{
    return text_unpercent(out, s, true);
}

static void
percent(void **state)
{
    (void)state;
    check_encoded(text_percent, SLICE("aZ09-._~"), "aZ09-._~");
    check_encoded(text_percent, SLICE("a b/\xc3\xa4\0+"), "a%20b%2F%C3%A4%00%2B");
    check_encoded(unpercent, SLICE("a%20b%2f%C3%a4+%25"), "a b/\xc3\xa4+%");
    check_encoded(unpercent_form, SLICE("a+b%2B"), "a b+");
    check_refused(unpercent, "a%");
    check_refused(unpercent, "a%2");
    check_refused(unpercent, "%2g");
    check_refused(unpercent, "%g2");
    check_refused(unpercent, "%%20");
}

static void
every_byte_comes_back(void **state)
{
    uint8_t all[256];
    struct buf coded, plain;

    (void)state;
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (uint8_t)i;
    buf_init(&coded, 1000);
    buf_init(&plain, 1000);
    assert_int_equal(text_percent(&coded, slice_make(all, sizeof(all))), ERR_OK);
    assert_int_equal(buf_len(&coded), 66 + 3 * (256 - 66)); /* 66 bytes stand for themselves */
    assert_int_equal(text_unpercent(&plain, buf_peek(&coded), true), ERR_OK);
    assert_true(slice_eq(buf_peek(&plain), slice_make(all, sizeof(all))));
    for (size_t shift = 0; shift < 3; shift++) {
        struct slice s = slice_make(all + shift, sizeof(all) - shift);
        buf_clear(&coded);
        buf_clear(&plain);
        assert_int_equal(text_base64(&coded, s), ERR_OK);
        assert_int_equal(text_unbase64(&plain, buf_peek(&coded)), ERR_OK);
        assert_true(slice_eq(buf_peek(&plain), s));
    }
    buf_free(&coded);
    buf_free(&plain);
}

static size_t
sequence(const char *text)
{
    struct slice s = guard_copy(slice_of(text));
    size_t n = text_utf8(s);

    guard_free(s);
    return n;
}

static void
utf8(void **state)
{
    (void)state;
    assert_int_equal(sequence("a"), 1);
    assert_int_equal(sequence("\xc2\x80"), 2);
    assert_int_equal(sequence("\xdf\xbfx"), 2);
    assert_int_equal(sequence("\xe0\xa0\x80"), 3);
    assert_int_equal(sequence("\xed\x9f\xbf"), 3);
    assert_int_equal(sequence("\xef\xbf\xbf"), 3);
    assert_int_equal(sequence("\xf0\x90\x80\x80"), 4);
    assert_int_equal(sequence("\xf4\x8f\xbf\xbf"), 4);
    assert_int_equal(text_utf8(SLICE("\0")), 1);
    assert_true(text_is_utf8(SLICE("a\xc3\xa4\xe2\x82\xac")));
    assert_true(text_is_utf8(SLICE("")));
    assert_false(text_is_utf8(SLICE("a\xc3")));
}

static void
utf8_that_is_malformed(void **state)
{
    static const char *const texts[] = {
        "",                 /* nothing */
        "\x80",             /* a continuation */
        "\xc0\x80",         /* overlong */
        "\xc1\xbf",         /* overlong */
        "\xe0\x9f\xbf",     /* overlong */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* over U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc2",
        "\xc2\x41",
        "\xe2\x82",
        "\xe2\x82\x41",
        "\xf0\x9f\x98",
        "\xf0\x9f\x98\x41",
        "\xf0\x9f\xc0\x80",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(sequence(texts[i]), 0);
}

static void
json(void **state)
{
    (void)state;
    check_encoded(text_json, SLICE(""), "\"\"");
    check_encoded(text_json, SLICE("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f"),
                  "\"plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f\"");
    check_encoded(text_json, SLICE("\"\\/\n\r\t\b\0\x1f"),
                  "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\"");
    check_encoded(text_json, SLICE("<a>&"), "\"\\u003ca\\u003e\\u0026\"");
    check_encoded(text_json, SLICE("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"),
                  "\"\\u2028\\u2029\xe2\x80\xaa\"");
    check_encoded(text_json, SLICE("a\xff\xe2\x82"), "\"a\\ufffd\\ufffd\\ufffd\"");
}

static void
check_glob(const char *pattern, const char *text, bool expected)
{
    struct slice p = guard_copy(slice_of(pattern)), s = guard_copy(slice_of(text));

    assert_int_equal(text_glob(p, s), expected);
    guard_free(p);
    guard_free(s);
}

static void
globs(void **state)
{
    (void)state;
    check_glob("", "", true);
    check_glob("", "a", false);
    check_glob("*", "", true);
    check_glob("cpu", "cpu", true);
    check_glob("cpu", "cpus", false);
    check_glob("cpus", "cpu", false);
    check_glob("cpu*", "cpu", true);
    check_glob("cpu*", "cpu_total", true);
    check_glob("*.local", "a.b.local", true);
    check_glob("*.local", "local", false);
    check_glob("a*b*c", "a_b_b_c", true);
    check_glob("a*b*c", "acb", false);
    check_glob("**a", "ba", true);
    check_glob("?[a]", "xa", false);
    check_glob("?[a]", "?[a]", true);
    check_glob("*aab", "aaaab", true);
}

static void
no_memory_at_any_step(void **state)
{
    encoder *const all[] = {text_base64, text_percent, text_json};
    size_t before = mem_live();

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        enum err err = ERR_NOMEM;
        for (size_t n = 1; err != ERR_OK; n++) {
            static const char text[200] = "<x>";
            struct buf out;
            buf_init(&out, 10000);
            mem_fail_at(n);
            err = all[i](&out, slice_make(text, sizeof(text)));
            mem_fail_at(0);
            assert_true(err == ERR_OK || (err == ERR_NOMEM && buf_len(&out) == 0));
            assert_true(n < 20);
            buf_free(&out);
        }
    }
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64),
        cmocka_unit_test(base64_that_is_malformed),
        cmocka_unit_test(percent),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_that_is_malformed),
        cmocka_unit_test(json),
        cmocka_unit_test(globs),
        cmocka_unit_test(no_memory_at_any_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
