/*
 * cli_cut.c: lines are told apart by the parser's own rule, so that both see the same ones.
 */
#include "cli/cli_cut.h"

#include <stdbool.h>

#include "base/num.h"
#include "point/lineproto_exact.h"

struct line {
    size_t bytes;   /* with its line feed */
    uint64_t feeds; /* line feeds in it: a string may hold some */
    bool whole;     /* its end is certain */
    bool point;
};

static uint64_t
count_feeds(struct slice s)
{
    uint64_t count = 0;

    for (size_t i = slice_find(s, '\n'); i < s.n; i = slice_find(s, '\n')) {
        count++;
        s = slice_from(s, i + 1);
    }
    return count;
}

static struct line
first_line(struct slice text)
{
    struct slice start = text;
    struct line line;
    size_t n;

    while (start.n > 0 && (start.p[0] == ' ' || start.p[0] == '\t'))
        start = slice_from(start, 1);
    line.point = start.n > 0 && start.p[0] != '#' && start.p[0] != '\n' && start.p[0] != '\r';
    n = line.point ? lineproto_exact_split(text) : slice_find(text, '\n');
    line.whole = n < text.n;
    /* A line feed right behind a backslash ends the line only if it is the last byte of all. */
    if (line.point && n + 1 == text.n && n > 0 && text.p[n - 1] == '\\')
        line.whole = false;
    line.bytes = n < text.n ? n + 1 : n;
    line.feeds = count_feeds(slice_to(text, line.bytes));
    return line;
}

enum err
cli_cut_next(struct slice text, enum cli_cut_when when, struct cli_cut *cut)
{
    struct cli_cut c = {0, 0, 0, 0};
    bool full = false;

    if (text.n == 0 || (when == CLI_CUT_FULL && text.n < CLI_CUT_BYTES))
        return ERR_SHORT;
    while (c.bytes < text.n && !full) {
        struct line line = first_line(slice_from(text, c.bytes));

        if (!line.whole && when != CLI_CUT_END)
            break;
        full = c.bytes > 0 && c.bytes + line.bytes > CLI_CUT_BYTES;
        if (full)
            break;
        if (line.point && c.points++ == 0)
            c.first = c.lines + 1;
        c.bytes += line.bytes;
        c.lines += line.feeds;
        full = c.points == CLI_CUT_POINTS || c.bytes >= CLI_CUT_BYTES;
    }
    if (c.bytes == text.n && when == CLI_CUT_END && text.p[text.n - 1] != '\n')
        c.lines++;
    if (c.bytes == 0)
        return ERR_SHORT;
    *cut = c;
    return ERR_OK;
}

/* Take "${before}DIGITS${after}" off the end of ${text}; false when it does not end so. */
static bool
take_figure(struct slice *text, const char *before, const char *after, uint64_t *figure)
{
    struct slice head = slice_of(before), tail = slice_of(after), s = *text;
    size_t digits = 0;

    if (!slice_ends(s, tail))
        return false;
    s.n -= tail.n;
    while (digits < s.n && s.p[s.n - 1 - digits] >= '0' && s.p[s.n - 1 - digits] <= '9')
        digits++;
    if (num_u64(slice_from(s, s.n - digits), figure) != ERR_OK)
        return false;
    s.n -= digits;
    if (!slice_ends(s, head))
        return false;
    s.n -= head.n;
    *text = s;
    return true;
}

struct slice
cli_cut_verdict(struct slice text, uint64_t *line, uint64_t *dropped)
{
    if (!take_figure(&text, " dropped=", "", dropped))
        *dropped = 0;
    if (!take_figure(&text, " (line ", ")", line))
        *line = 0;
    return text;
}
