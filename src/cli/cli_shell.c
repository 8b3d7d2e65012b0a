/*
 * cli_shell.c: read, run, print.
 */
#include "cli/cli_shell.h"

#include "base/buf.h"
#include "cli/cli_input.h"
#include "cli/cli_out.h"
#include "cli/cli_run.h"
#include "sql/sql.h"

static const char help[] =
    "Statements end with ; or with an empty line. Examples:\n"
    "  CREATE SINK \"s\" TO 'http://host:8086/write?db=d' TYPE http_line INCLUDE ALL;\n"
    "  SHOW SINKS;   SHOW SINK \"s\";   SHOW LEDGER;   SHOW DEAD LETTERS;\n"
    "  ALTER SINK \"s\" PAUSE;   ALTER SINK \"s\" RESUME;   DROP SINK \"s\";\n"
    "format table|json|csv changes how answers are shown; exit or ^D leaves.\n";

/* Bytes of the comment or quoted text at the start of ${s}; 0: neither. ${quoted} says which. */
static size_t
skip_opaque(struct slice s, bool *quoted)
{
    size_t i = 1;

    *quoted = s.p[0] == '"' || s.p[0] == '\'';
    if (*quoted) {
        while (i < s.n && s.p[i] != s.p[0])
            i += s.p[i] == '\\' ? 2 : 1;
        return i + 1 < s.n ? i + 1 : s.n;
    }
    if (slice_starts(s, SLICE("--")))
        return slice_find(s, '\n');
    if (!slice_starts(s, SLICE("/*")))
        return 0;
    for (i = 2; i < s.n && !slice_starts(slice_from(s, i), SLICE("*/")); i++)
        continue;
    return i + 2 < s.n ? i + 2 : s.n;
}

bool
cli_shell_complete(struct slice text)
{
    bool complete = false, quoted;

    while (text.n > 0) {
        uint8_t c = text.p[0];
        size_t n = skip_opaque(text, &quoted);

        if (n == 0)
            n = 1;
        else if (!quoted)
            c = ' ';
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            complete = c == ';';
        text = slice_from(text, n);
    }
    return complete;
}

struct shell {
    struct cli_http *http;
    enum cli_format format;
    struct buf text; /* what is gathered */
    bool leave;
};

/* Words that are the shell's own, at the start of a statement. */
static bool
own_word(struct shell *s, struct slice line)
{
    line = slice_trim(line);
    if (slice_ends(line, SLICE(";")))
        line = slice_trim(slice_to(line, line.n - 1));
    if (slice_eq_nocase(line, SLICE("exit")) || slice_eq_nocase(line, SLICE("quit")))
        s->leave = true;
    else if (slice_eq_nocase(line, SLICE("help")) || slice_eq(line, SLICE("?")))
        (void)!cli_out_put(slice_of(help));
    else if (slice_eq_nocase(line, SLICE("format table")))
        s->format = CLI_FORMAT_TABLE;
    else if (slice_eq_nocase(line, SLICE("format json")))
        s->format = CLI_FORMAT_JSON;
    else if (slice_eq_nocase(line, SLICE("format csv")))
        s->format = CLI_FORMAT_CSV;
    else
        return false;
    return true;
}

static void
take_line(struct shell *s, struct slice line)
{
    bool empty = slice_trim(line).n == 0;

    if (buf_len(&s->text) == 0 && (empty || own_word(s, line)))
        return;
    if (buf_add(&s->text, line) != ERR_OK || buf_add_byte(&s->text, '\n') != ERR_OK) {
        cli_out_say("the statement is longer than %zu bytes: it is dropped", SQL_TEXT_MAX);
        buf_wipe(&s->text);
        return;
    }
    if (!empty && !cli_shell_complete(buf_peek(&s->text)))
        return;
    (void)cli_run_show(s->http, buf_peek(&s->text), s->format);
    buf_wipe(&s->text); /* it may hold a password */
}

int
cli_shell_run(struct cli_http *http, enum cli_format format)
{
    struct shell s = {.http = http, .format = format};
    struct cli_input in;
    struct errinfo info;
    struct slice line;
    enum err err;

    buf_init(&s.text, SQL_TEXT_MAX);
    err = cli_input_open(&in, NULL, SQL_TEXT_MAX, &info);
    (void)!cli_out_put(SLICE("Type help for help, exit to leave.\n"));
    while (err == ERR_OK && !s.leave) {
        bool more = buf_len(&s.text) > 0;

        err = cli_out_put(more ? SLICE("  ...> ") : SLICE("sinkd> "));
        if (err == ERR_OK)
            err = cli_input_line(&in, &line, &info);
        if (err == ERR_OK)
            take_line(&s, line);
    }
    if (err == ERR_EOF)
        (void)!cli_out_put(SLICE("\n"));
    else if (err != ERR_OK && err != ERR_IO)
        cli_out_say("%s", info.text);
    buf_wipe(&s.text);
    buf_wipe(&in.data);
    cli_input_close(&in);
    return err == ERR_OK || err == ERR_EOF ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}
