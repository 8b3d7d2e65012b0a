/*
 * test_cli_cut.c: where a stream of line protocol may be cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/cli_cut.h"
#include "support/guard.h"

static void
test_whole_lines(void **state)
{
    static const struct {
        const char *text;
        enum cli_cut_when when;
        size_t bytes; /* 0: more is wanted */
        uint64_t lines, points, first;
    } rows[] = {
        {"", CLI_CUT_END, 0, 0, 0, 0},
        {"a b=1", CLI_CUT_LINES, 0, 0, 0, 0},
        {"a b=1", CLI_CUT_END, 5, 1, 1, 1},
        {"a b=1\n", CLI_CUT_FULL, 0, 0, 0, 0},
        {"a b=1\n", CLI_CUT_LINES, 6, 1, 1, 1},
        {"a b=1\nc d=", CLI_CUT_LINES, 6, 1, 1, 1},
        {"a b=1\nc d=", CLI_CUT_END, 10, 2, 2, 1},
        {"# x\n\n \t\r\n a b=1\n", CLI_CUT_LINES, 16, 4, 1, 4},
        {"# \"x\n", CLI_CUT_END, 5, 1, 0, 0},
        /* a line feed in a string does not end the line, nor does one behind a backslash */
        {"a b=\"1\n2\"\n", CLI_CUT_LINES, 10, 2, 1, 1},
        {"a b=\"1\n2", CLI_CUT_LINES, 0, 0, 0, 0},
        {"a b=\"1\n2", CLI_CUT_END, 8, 2, 1, 1},
        {"a b=1\\\n", CLI_CUT_LINES, 0, 0, 0, 0},
        {"a b=1\\\n", CLI_CUT_END, 7, 1, 1, 1},
        {"a b=1\\\nc\n", CLI_CUT_LINES, 9, 2, 1, 1},
        /* a quote in a tag is no string */
        {"a,t=\"x b=1\nc d=2\n", CLI_CUT_LINES, 17, 2, 2, 1},
    };
    struct cli_cut cut;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice s = guard_copy(slice_of(rows[i].text));
        enum err err = cli_cut_next(s, rows[i].when, &cut);

        assert_int_equal(err, rows[i].bytes == 0 ? ERR_SHORT : ERR_OK);
        if (err == ERR_OK && (cut.bytes != rows[i].bytes || cut.lines != rows[i].lines ||
                              cut.points != rows[i].points || cut.first != rows[i].first))
            fail_msg("row %zu: %zu bytes, %llu lines, %llu points, first %llu", i, cut.bytes,
                     (unsigned long long)cut.lines, (unsigned long long)cut.points,
                     (unsigned long long)cut.first);
        guard_free(s);
    }
}

static void
fill(struct buf *text, const char *line, size_t count)
{
    buf_init(text, (size_t)8 << 20);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_add_text(text, line), ERR_OK);
}

static void
test_limits(void **state)
{
    static char line[1001];
    struct buf text;
    struct cli_cut cut;

    (void)state;
    fill(&text, "m f=1\n", CLI_CUT_POINTS + 1);
    assert_int_equal(cli_cut_next(buf_peek(&text), CLI_CUT_LINES, &cut), ERR_OK);
    assert_int_equal(cut.points, CLI_CUT_POINTS);
    buf_free(&text);
    memset(line, 'x', 1000);
    memcpy(line, "m f=1,", 6);
    line[999] = '\n';
    fill(&text, line, 1500); /* 1,000 of them are the most */
    assert_int_equal(cli_cut_next(buf_peek(&text), CLI_CUT_FULL, &cut), ERR_OK);
    assert_int_equal(cut.bytes, CLI_CUT_BYTES);
    buf_consume(&text, 999000); /* fewer than the limit: nothing is full */
    buf_cut(&text, 999999);
    if (buf_len(&text) < CLI_CUT_BYTES)
        assert_int_equal(cli_cut_next(buf_peek(&text), CLI_CUT_FULL, &cut), ERR_SHORT);
    buf_free(&text);
    assert_int_equal(mem_live(), 0);
}

static void
test_a_line_over_the_limit_goes_alone(void **state)
{
    struct buf text;
    struct cli_cut cut;

    (void)state;
    fill(&text, "m f=\"", 1);
    for (size_t i = 0; i < CLI_CUT_BYTES / 10; i++)
        assert_int_equal(buf_add_text(&text, "0123456789"), ERR_OK);
    assert_int_equal(cli_cut_next(buf_peek(&text), CLI_CUT_FULL, &cut), ERR_SHORT);
    assert_int_equal(buf_add_text(&text, "\"\nm f=1\n"), ERR_OK);
    assert_int_equal(cli_cut_next(buf_peek(&text), CLI_CUT_FULL, &cut), ERR_OK);
    assert_int_equal(cut.points, 1);
    assert_int_equal(cut.bytes, CLI_CUT_BYTES + 7);
    buf_free(&text);
}

/* Cut anywhere, the bodies put together are the text. */
static void
test_bodies_add_up(void **state)
{
    static const char text[] = "a b=1\n# c\nd e=\"x\ny\",f=2\n\ng h=3";
    struct cli_cut cut;

    (void)state;
    for (size_t fed = 1; fed < sizeof(text); fed++) {
        size_t at = 0;
        uint64_t points = 0, lines = 0;

        while (cli_cut_next(slice_make(text + at, fed - at), CLI_CUT_LINES, &cut) == ERR_OK) {
            at += cut.bytes;
            points += cut.points;
            lines += cut.lines;
        }
        while (cli_cut_next(slice_make(text + at, sizeof(text) - 1 - at), CLI_CUT_END, &cut) ==
               ERR_OK) {
            at += cut.bytes;
            points += cut.points;
            lines += cut.lines;
        }
        assert_int_equal(at, sizeof(text) - 1);
        assert_int_equal(points, 3);
        assert_int_equal(lines, 6);
    }
}

static void
test_verdicts(void **state)
{
    static const struct {
        const char *text, *before;
        uint64_t line, dropped;
    } rows[] = {
        {"partial write: unable to parse 'x': missing fields (line 3) dropped=2",
         "partial write: unable to parse 'x': missing fields", 3, 2},
        {"unable to parse '(line 9) dropped=7': missing fields",
         "unable to parse '(line 9) dropped=7': missing fields", 0, 0},
        {"partial write: x dropped=1", "partial write: x", 0, 1},
        {"", "", 0, 0},
        {" dropped=", " dropped=", 0, 0},
    };
    uint64_t line, dropped;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(slice_eq(cli_cut_verdict(slice_of(rows[i].text), &line, &dropped),
                             slice_of(rows[i].before)));
        assert_int_equal(line, rows[i].line);
        assert_int_equal(dropped, rows[i].dropped);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_lines),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_a_line_over_the_limit_goes_alone),
        cmocka_unit_test(test_bodies_add_up),
        cmocka_unit_test(test_verdicts),
    };

    return cmocka_run_group_tests_name("cli_cut", tests, NULL, NULL);
}
