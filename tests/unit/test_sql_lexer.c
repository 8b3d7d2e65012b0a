/*
 * test_sql_lexer.c: tokens and their exact places, what they mean, and whether quotes add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/sql_lexer.h"
#include "support/guard.h"

struct expected {
    enum sql_token_kind kind;
    const char *raw;
    size_t line, column;
};

static void
check(struct slice text, const struct expected *tokens, size_t count)
{
    struct slice copy = guard_copy(text);
    struct sql_lexer lexer;

    sql_lexer_init(&lexer, copy);
    for (size_t i = 0; i < count; i++) {
        struct sql_token token = sql_lexer_next(&lexer);

        assert_int_equal(token.kind, tokens[i].kind);
        assert_true(slice_eq(token.raw, slice_of(tokens[i].raw)));
        assert_int_equal(token.line, tokens[i].line);
        assert_int_equal(token.column, tokens[i].column);
    }
    assert_int_equal(sql_lexer_next(&lexer).kind, SQL_TOKEN_EOF);
    assert_int_equal(sql_lexer_next(&lexer).kind, SQL_TOKEN_EOF);
    guard_free(copy);
}

#define CHECK(text, ...)                                       \
    check(SLICE(text), (const struct expected[]){__VA_ARGS__}, \
          sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void
words_and_signs(void **state)
{
    (void)state;
    CHECK("a _B9\tc;(x)", {SQL_TOKEN_WORD, "a", 1, 1}, {SQL_TOKEN_WORD, "_B9", 1, 3},
          {SQL_TOKEN_WORD, "c", 1, 7}, {SQL_TOKEN_SIGN, ";", 1, 8}, {SQL_TOKEN_SIGN, "(", 1, 9},
          {SQL_TOKEN_WORD, "x", 1, 10}, {SQL_TOKEN_SIGN, ")", 1, 11});
    CHECK("a\r\nb\rc\n\nd", {SQL_TOKEN_WORD, "a", 1, 1}, {SQL_TOKEN_WORD, "b", 2, 1},
          {SQL_TOKEN_WORD, "c", 3, 1}, {SQL_TOKEN_WORD, "d", 5, 1});
    CHECK("a--b\nc/*d\n*/e", {SQL_TOKEN_WORD, "a", 1, 1}, {SQL_TOKEN_WORD, "c", 2, 1},
          {SQL_TOKEN_WORD, "e", 3, 3});
    CHECK("$a @ \303\251 x", {SQL_TOKEN_ILLEGAL, "$a", 1, 1}, {SQL_TOKEN_ILLEGAL, "@", 1, 4},
          {SQL_TOKEN_ILLEGAL, "\303\251", 1, 6}, {SQL_TOKEN_WORD, "x", 1, 8});
    CHECK("\v\377", {SQL_TOKEN_ILLEGAL, "\v", 1, 1}, {SQL_TOKEN_ILLEGAL, "\377", 1, 2});
    CHECK("a /* b", {SQL_TOKEN_WORD, "a", 1, 1}, {SQL_TOKEN_ILLEGAL, "", 1, 3});
    CHECK("- / * /", {SQL_TOKEN_SIGN, "-", 1, 1}, {SQL_TOKEN_SIGN, "/", 1, 3},
          {SQL_TOKEN_SIGN, "*", 1, 5}, {SQL_TOKEN_SIGN, "/", 1, 7});
}

static void
numbers(void **state)
{
    (void)state;
    CHECK("12 1.5 .5 5.", {SQL_TOKEN_INTEGER, "12", 1, 1}, {SQL_TOKEN_NUMBER, "1.5", 1, 4},
          {SQL_TOKEN_NUMBER, ".5", 1, 8}, {SQL_TOKEN_INTEGER, "5", 1, 11},
          {SQL_TOKEN_SIGN, ".", 1, 12});
    CHECK("1h30m 10MB 1x_ 5\302\265 1h30", {SQL_TOKEN_DURATION, "1h30m", 1, 1},
          {SQL_TOKEN_DURATION, "10MB", 1, 7}, {SQL_TOKEN_DURATION, "1x_", 1, 12},
          {SQL_TOKEN_DURATION, "5\302\265", 1, 16}, {SQL_TOKEN_DURATION, "1h30", 1, 19});
    CHECK("1.5h", {SQL_TOKEN_NUMBER, "1.5", 1, 1}, {SQL_TOKEN_WORD, "h", 1, 4});
}

static void
quotes(void **state)
{
    (void)state;
    CHECK("\"a\\\"'\" 'b\\'\"' x", {SQL_TOKEN_QUOTED, "\"a\\\"'\"", 1, 1},
          {SQL_TOKEN_STRING, "'b\\'\"'", 1, 8}, {SQL_TOKEN_WORD, "x", 1, 15});
    CHECK("'\303\251' x", {SQL_TOKEN_STRING, "'\303\251'", 1, 1}, {SQL_TOKEN_WORD, "x", 1, 5});
    CHECK("'a''b'", {SQL_TOKEN_STRING, "'a'", 1, 1}, {SQL_TOKEN_STRING, "'b'", 1, 4});
    CHECK("x 'ab", {SQL_TOKEN_WORD, "x", 1, 1}, {SQL_TOKEN_UNCLOSED, "'ab", 1, 3});
    CHECK("'ab\nc'", {SQL_TOKEN_UNCLOSED, "'ab", 1, 1});
    CHECK("'ab\\n\\q'", {SQL_TOKEN_ESCAPE, "\\q", 1, 6});
    CHECK("'ab\\", {SQL_TOKEN_ESCAPE, "\\", 1, 4});
    CHECK("\"", {SQL_TOKEN_UNCLOSED, "\"", 1, 1});
}

static void
check_content(const char *text, const char *expected)
{
    struct sql_lexer lexer;
    struct sql_token token;
    uint8_t out[64];
    size_t n;

    sql_lexer_init(&lexer, slice_of(text));
    token = sql_lexer_regex(&lexer);
    n = sql_lexer_content(&token, out);
    assert_true(slice_eq(slice_make(out, n), slice_of(expected)));
}

static void
contents(void **state)
{
    (void)state;
    check_content("abc", "abc");
    check_content("\"a\\\"\\'\\\\\\nb\"", "a\"'\\\nb");
    check_content("''", "");
    check_content("'a b", "a b");
    check_content("/a\\/b/", "a/b");
    check_content("/a\\.\\\\/", "a\\.\\\\");
    check_content("/\\\303\251\\//", "\\\303\251/");
    check_content("/a", "a");
    check_content("5s", "5s");
}

static void
regex(void **state)
{
    struct sql_lexer lexer;
    struct sql_token token;

    (void)state;
    sql_lexer_init(&lexer, SLICE(" /a'\\/b/ c /x\n/"));
    token = sql_lexer_regex(&lexer);
    assert_int_equal(token.kind, SQL_TOKEN_REGEX);
    assert_true(slice_eq(token.raw, SLICE("/a'\\/b/")));
    assert_int_equal(sql_lexer_next(&lexer).kind, SQL_TOKEN_WORD);
    assert_int_equal(sql_lexer_regex(&lexer).kind, SQL_TOKEN_UNCLOSED);
}

static void
soundness(void **state)
{
    static const char *const sound[] = {
        "",        "a",         "'a'",           "f('a',\"b\")", "a='b';",
        "'a' 'b'", "'a'--x'\n", "'a'/* ' */'b'", "\"it's\"",
    };
    static const char *const unsound[] = {
        "'", "a'", "'a'b", "b'a'", "'a''b'", "'a'\"b\"", "5'a'", "'a\n'", "'\\q'", "'a' /*",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
        assert_true(sql_lexer_quotes_sound(slice_of(sound[i])));
    for (size_t i = 0; i < sizeof(unsound) / sizeof(unsound[0]); i++)
        assert_false(sql_lexer_quotes_sound(slice_of(unsound[i])));
}

static void
reserved(void **state)
{
    (void)state;
    assert_true(sql_lexer_is_reserved(SLICE("select")));
    assert_true(sql_lexer_is_reserved(SLICE("WRITE")));
    assert_true(sql_lexer_is_reserved(SLICE("All")));
    assert_false(sql_lexer_is_reserved(SLICE("sink")));
    assert_false(sql_lexer_is_reserved(SLICE("type")));
    assert_false(sql_lexer_is_reserved(SLICE("selec")));
    assert_false(sql_lexer_is_reserved(SLICE("ALL ALTER")));
    assert_false(sql_lexer_is_reserved(SLICE("")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_signs), cmocka_unit_test(numbers), cmocka_unit_test(quotes),
        cmocka_unit_test(contents),        cmocka_unit_test(regex),   cmocka_unit_test(soundness),
        cmocka_unit_test(reserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
