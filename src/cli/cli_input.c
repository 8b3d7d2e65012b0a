/*
 * cli_input.c: reads with poll, so that a slow pipe can be seen to be slow.
 */
#include "cli/cli_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536

enum err
cli_input_open(struct cli_input *in, const char *file, size_t max, struct errinfo *info)
{
    *in = (struct cli_input){.fd = STDIN_FILENO, .name = "standard input"};
    buf_init(&in->data, max);
    if (file == NULL || strcmp(file, "-") == 0)
        return ERR_OK;
    in->name = file;
    in->fd = open(file, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return errinfo_sys(info, ERR_CONFIG, errno, "cannot open %s", file);
    return ERR_OK;
}

void
cli_input_close(struct cli_input *in)
{
    if (in->fd > STDIN_FILENO)
        (void)close(in->fd);
    in->fd = -1;
    buf_free(&in->data);
}

enum err
cli_input_fill(struct cli_input *in, int wait_ms, struct errinfo *info)
{
    struct pollfd ready = {.fd = in->fd, .events = POLLIN};
    size_t room = in->data.max - buf_len(&in->data);
    uint8_t *to;
    ssize_t n;
    int polled;

    if (in->end)
        return ERR_OK;
    room = room < READ_BYTES ? room : READ_BYTES;
    to = room == 0 ? NULL : buf_reserve(&in->data, room);
    if (to == NULL)
        return errinfo_set(info, ERR_NOMEM, "%s: more than %zu bytes at once", in->name,
                           buf_len(&in->data));
    do {
        polled = poll(&ready, 1, wait_ms);
    } while (polled < 0 && errno == EINTR);
    if (polled == 0)
        return ERR_TIMEOUT;
    do {
        n = read(in->fd, to, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errinfo_sys(info, ERR_IO, errno, "cannot read %s", in->name);
    in->end = n == 0;
    buf_commit(&in->data, (size_t)n);
    return ERR_OK;
}

enum err
cli_input_all(struct cli_input *in, struct errinfo *info)
{
    enum err err = ERR_OK;

    while (!in->end && err == ERR_OK)
        err = cli_input_fill(in, -1, info);
    if (err == ERR_NOMEM)
        err = errinfo_set(info, ERR_RANGE, "%s is longer than %zu bytes", in->name, in->data.max);
    return err;
}

enum err
cli_input_line(struct cli_input *in, struct slice *line, struct errinfo *info)
{
    size_t n = slice_find(buf_peek(&in->data), '\n');
    enum err err = ERR_OK;

    while (err == ERR_OK && n == buf_len(&in->data) && !in->end) {
        err = cli_input_fill(in, -1, info);
        n = slice_find(buf_peek(&in->data), '\n');
    }
    if (err != ERR_OK)
        return err == ERR_NOMEM ? errinfo_set(info, ERR_RANGE, "a line is too long") : err;
    if (buf_len(&in->data) == 0)
        return ERR_EOF;
    *line = slice_to(buf_peek(&in->data), n);
    /* The bytes stay where they are until the buffer is filled again. */
    buf_consume(&in->data, n < buf_len(&in->data) ? n + 1 : n);
    if (slice_ends(*line, SLICE("\r")))
        line->n--;
    return ERR_OK;
}
