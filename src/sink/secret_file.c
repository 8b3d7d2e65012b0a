/*
 * secret_file.c: see secret_file.h.
 */
#include "sink/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"

#define SECRET_MAX 8192

/* The content's first SECRET_MAX + 1 bytes. */
static enum err
read_all(int fd, uint8_t *bytes, size_t *n, const char *path, struct errinfo *info)
{
    *n = 0;
    while (*n <= SECRET_MAX) {
        ssize_t got = read(fd, bytes + *n, SECRET_MAX + 1 - *n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errinfo_sys(info, ERR_CONFIG, errno, "cannot read %s", path);
        if (got == 0)
            break;
        *n += (size_t)got;
    }
    return ERR_OK;
}

static enum err
take_line(struct slice content, const char *path, struct secret *out, struct errinfo *info)
{
    struct slice line = slice_to(content, slice_find(content, '\n'));

    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0)
        return errinfo_set(info, ERR_CONFIG, "%s is empty: its first line is to be the secret",
                           path);
    if (line.n > SECRET_MAX)
        return errinfo_set(info, ERR_CONFIG, "the first line of %s is longer than %d bytes", path,
                           SECRET_MAX);
    if (secret_set(out, line) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for a secret");
    return ERR_OK;
}

enum err
secret_file_read(struct slice path, struct secret *out, struct errinfo *info)
{
    char name[1024];
    uint8_t bytes[SECRET_MAX + 1];
    size_t n;
    enum err err;
    int fd;

    if (path.n >= sizeof(name))
        return errinfo_set(info, ERR_CONFIG, "a file name is longer than %zu bytes",
                           sizeof(name) - 1);
    slice_copy_text(path, name, sizeof(name));
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not hold us up */
    if (fd < 0)
        return errinfo_sys(info, ERR_CONFIG, errno, "cannot open %s", name);
    err = read_all(fd, bytes, &n, name, info);
    close(fd);
    if (err == ERR_OK)
        err = take_line(slice_make(bytes, n), name, out, info);
    mem_wipe(bytes, sizeof(bytes));
    return err;
}
