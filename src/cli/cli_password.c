/*
 * cli_password.c: a line from a file or from the terminal.
 */
#include "cli/cli_password.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"

#define PASSWORD_MAX 4096

static enum err
read_first_line(int fd, char text[PASSWORD_MAX], size_t *length)
{
    size_t n = 0;
    ssize_t got = 1;

    while (got != 0 && n < PASSWORD_MAX && memchr(text, '\n', n) == NULL) {
        got = read(fd, text + n, PASSWORD_MAX - n);
        if (got < 0 && errno != EINTR)
            return ERR_IO;
        if (got > 0)
            n += (size_t)got;
    }
    *length = slice_find(slice_make(text, n), '\n');
    if (*length == PASSWORD_MAX)
        return ERR_RANGE;
    if (*length > 0 && text[*length - 1] == '\r')
        --*length;
    return ERR_OK;
}

enum err
cli_password_file(struct secret *out, const char *file, struct errinfo *info)
{
    char text[PASSWORD_MAX];
    size_t n = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    enum err err;

    if (fd < 0)
        return errinfo_sys(info, ERR_CONFIG, errno, "cannot open the password file %s", file);
    err = read_first_line(fd, text, &n);
    if (err == ERR_IO)
        err = errinfo_sys(info, ERR_CONFIG, errno, "cannot read the password file %s", file);
    else if (err == ERR_RANGE)
        err = errinfo_set(info, ERR_CONFIG, "the first line of %s is too long", file);
    else if (secret_set(out, slice_make(text, n)) != ERR_OK)
        err = errinfo_set(info, ERR_NOMEM, "no memory");
    (void)close(fd);
    mem_wipe(text, sizeof(text));
    return err;
}

/* One byte a turn, so that every key is seen; ERR_STOP on ^C. */
static enum err
read_keys(int tty, char text[PASSWORD_MAX], size_t *length)
{
    size_t n = 0;
    char key = 0;

    for (;;) {
        ssize_t got = read(tty, &key, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || key == 0x03 || (key == 0x04 && n == 0))
            return ERR_STOP;
        if (key == '\n' || key == '\r' || key == 0x04)
            break;
        if (key == 0x7f || key == '\b')
            n -= n > 0;
        else if (key == 0x15) /* ^U */
            n = 0;
        else if (n < PASSWORD_MAX)
            text[n++] = key;
    }
    *length = n;
    return ERR_OK;
}

/* Signals from the keyboard are off as well: one would leave the terminal without its echo. */
static enum err
ask(int tty, const char *user, char text[PASSWORD_MAX], size_t *length)
{
    static const char prompt[] = "Password of ", end[] = ": ", line[] = "\n";
    struct termios before, quiet;
    enum err err;

    if (tcgetattr(tty, &before) != 0)
        return ERR_IO;
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    if (tcsetattr(tty, TCSAFLUSH, &quiet) != 0)
        return ERR_IO;
    (void)!write(tty, prompt, sizeof(prompt) - 1);
    (void)!write(tty, user, strlen(user));
    (void)!write(tty, end, sizeof(end) - 1);
    err = read_keys(tty, text, length);
    (void)!write(tty, line, 1);
    (void)tcsetattr(tty, TCSAFLUSH, &before);
    return err;
}

static enum err
from_terminal(struct secret *out, const char *user, struct errinfo *info)
{
    char text[PASSWORD_MAX];
    size_t n = 0;
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    enum err err = tty < 0 ? ERR_IO : ask(tty, user, text, &n);

    if (tty >= 0)
        (void)close(tty);
    if (err == ERR_STOP)
        err = errinfo_set(info, ERR_STOP, "no password was given");
    else if (err != ERR_OK)
        err = errinfo_set(info, ERR_CONFIG,
                          "a user needs a password: set SINKD_PASSWORD or give --password-file");
    else if (secret_set(out, slice_make(text, n)) != ERR_OK)
        err = errinfo_set(info, ERR_NOMEM, "no memory");
    mem_wipe(text, sizeof(text));
    return err;
}

enum err
cli_password_get(struct secret *out, const char *user, const char *file, struct errinfo *info)
{
    const char *variable = getenv("SINKD_PASSWORD");

    if (file != NULL)
        return cli_password_file(out, file, info);
    if (variable == NULL)
        return from_terminal(out, user, info);
    if (secret_set(out, slice_of(variable)) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory");
    return ERR_OK;
}
