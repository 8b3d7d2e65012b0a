/*
 * cli_out.c: printing.
 */
#include "cli/cli_out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static enum err
write_all(int fd, struct slice s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);

        if (n < 0 && errno != EINTR)
            return ERR_IO;
        if (n > 0)
            s = slice_from(s, (size_t)n);
    }
    return ERR_OK;
}

enum err
cli_out_put(struct slice s)
{
    return write_all(STDOUT_FILENO, s);
}

enum err
cli_out_clean(struct buf *out, struct slice s)
{
    enum err err = ERR_OK;

    while (s.n > 0 && err == ERR_OK) {
        size_t n = text_utf8(s);
        uint8_t c = s.p[0];

        if (c == '\n' || c == '\t' || c == '\r')
            err = buf_add_text(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (n == 0 || c < 0x20 || c == 0x7f)
            err = buf_printf(out, "\\x%02x", c);
        else if (n == 2 && c == 0xC2 && s.p[1] < 0xA0) /* the second set of control characters */
            err = buf_printf(out, "\\u00%02x", s.p[1]);
        else
            err = buf_add(out, slice_to(s, n));
        s = slice_from(s, n == 0 ? 1 : n);
    }
    return err;
}

void
cli_out_say(const char *format, ...)
{
    char text[2048];
    struct buf line;
    va_list args;
    enum err err;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_init(&line, 4 * sizeof(text));
    err = buf_add_text(&line, "sinkd: ");
    if (err == ERR_OK)
        err = cli_out_clean(&line, slice_of(text));
    if (err == ERR_OK)
        err = buf_add_byte(&line, '\n');
    if (err == ERR_OK)
        (void)write_all(STDERR_FILENO, buf_peek(&line));
    buf_free(&line);
}

int
cli_out_usage(const char *command, const struct errinfo *info)
{
    cli_out_say("%s: %s", command, info->text);
    cli_out_say("\"sinkd %s --help\" shows how to use it", command);
    return CLI_EXIT_USAGE;
}

int
cli_out_fail(const struct errinfo *info)
{
    cli_out_say("%s", info->text);
    return info->code == ERR_CONFIG ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}
