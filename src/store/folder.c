/*
 * folder.c: the folder that holds a store.
 *
 * The lock is a POSIX record lock: it goes with the process, however that ends. Files are made
 * 0600: definitions hold credentials.
 */
#include "store/folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/port.h"
#include "base/wire.h"

#define KEEP_ASIDE 3

struct path {
    char text[FOLDER_PATH_MAX + 64];
};

static struct path
path_of(const struct folder *f, const char *name)
{
    struct path p;

    (void)snprintf(p.text, sizeof(p.text), "%s/%s", f->dir, name);
    return p;
}

static enum err
refused(struct errinfo *info, int sys, const char *what, const char *path)
{
    if (sys == EACCES || sys == EPERM || sys == EROFS)
        return errinfo_sys(info, ERR_DENIED, sys,
                           "%s %.60s: make the folder belong to the user that sinkd runs as", what,
                           path);
    return errinfo_sys(info, ERR_IO, sys, "%s %.80s", what, path);
}

static enum err
write_all(int fd, struct slice bytes)
{
    ssize_t n;

    while (bytes.n > 0) {
        n = write(fd, bytes.p, bytes.n);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return ERR_IO;
        bytes = slice_from(bytes, (size_t)n);
    }
    return ERR_OK;
}

/* ---- the lock ---- */

static enum err
make(const struct folder *f, struct errinfo *info)
{
    struct stat st;
    char parent[FOLDER_PATH_MAX];
    char *slash;
    int fd;

    if (mkdir(f->dir, 0700) == -1) {
        if (errno != EEXIST)
            return refused(info, errno, "cannot make the folder", f->dir);
        if (stat(f->dir, &st) == -1)
            return refused(info, errno, "cannot look at", f->dir);
        if (!S_ISDIR(st.st_mode))
            return errinfo_set(info, ERR_CONFIG, "%.100s is not a folder: change data_dir", f->dir);
        return ERR_OK;
    }
    (void)snprintf(parent, sizeof(parent), "%s", f->dir);
    slash = strrchr(parent, '/');
    if (slash == NULL)
        (void)snprintf(parent, sizeof(parent), ".");
    else
        slash[slash == parent ? 1 : 0] = '\0';
    fd = open(parent, O_RDONLY | O_CLOEXEC);
    if (fd != -1) { /* best effort: some systems do not let a folder be synced */
        (void)fsync(fd);
        (void)close(fd);
    }
    return ERR_OK;
}

static enum err
taken(const struct folder *f, int fd, struct errinfo *info)
{
    char who[24] = "";
    ssize_t n = read(fd, who, sizeof(who) - 1);

    who[n > 0 ? n : 0] = '\0';
    who[strcspn(who, "\n")] = '\0';
    return errinfo_set(info, ERR_BUSY,
                       "%.80s is in use by process %s: stop it first, or use another data_dir",
                       f->dir, who[0] == '\0' ? "(unknown)" : who);
}

static enum err
take_lock(struct folder *f, struct errinfo *info)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct path p = path_of(f, "sinkd.lock");
    char who[24];
    int fd = open(p.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int n;

    if (fd == -1)
        return refused(info, errno, "cannot open", p.text);
    if (fcntl(fd, F_SETLK, &lock) == -1) {
        int sys = errno;
        enum err err;

        if (sys == EACCES || sys == EAGAIN)
            err = taken(f, fd, info);
        else
            err = errinfo_sys(info, ERR_CONFIG, sys, "the file system of %.60s cannot lock files",
                              f->dir);
        (void)close(fd);
        return err;
    }
    f->lock_fd = fd;
    n = snprintf(who, sizeof(who), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == -1 || write_all(fd, slice_make(who, (size_t)n)) != ERR_OK) {
        /* a full disk: the lock holds, it only cannot say who has it */
    }
    return ERR_OK;
}

/* ---- the probe: what one writes to a file must show in a shared map of it ---- */

static enum err
cannot_map(const struct folder *f, int sys, struct errinfo *info)
{
    return errinfo_sys(
        info, ERR_CONFIG, sys,
        "the file system of %.60s cannot map files shared (JFFS2 and some network ones "
        "cannot): set data_dir to another",
        f->dir);
}

static enum err
probe_map(const struct folder *f, int fd, struct errinfo *info)
{
    static const char first[] = "sinkd probe 1", second[] = "sinkd probe 2";
    bool same = true;
    char *map;

    if (pwrite(fd, first, sizeof(first), 0) != (ssize_t)sizeof(first))
        return ERR_OK; /* a full disk is no reason to refuse: what is there can be drained */
    map = mmap(NULL, sizeof(first), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return cannot_map(f, errno, info);
    same = memcmp(map, first, sizeof(first)) == 0;
    if (pwrite(fd, second, sizeof(second), 0) == (ssize_t)sizeof(second))
        same = same && memcmp(map, second, sizeof(second)) == 0;
    (void)munmap(map, sizeof(first));
#ifdef __OpenBSD__
    same = true; /* known: LMDB then writes through the map */
#endif
    return same ? ERR_OK : cannot_map(f, 0, info);
}

static enum err
probe(const struct folder *f, struct errinfo *info)
{
    struct path p = path_of(f, "probe.tmp");
    const char *name = "";
    enum err err;
    int fd;

    if (port_is_network_fs(f->dir, &name))
        return errinfo_set(
            info, ERR_CONFIG,
            "%.60s is on %.20s, which cannot hold a log safely: set data_dir to a local file "
            "system",
            f->dir, name);
    fd = open(p.text, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd == -1)
        return errno == ENOSPC ? ERR_OK : refused(info, errno, "cannot make files in", f->dir);
    err = probe_map(f, fd, info);
    (void)close(fd);
    (void)unlink(p.text);
    return err;
}

enum err
folder_open(struct folder *f, const char *dir, struct errinfo *info)
{
    enum err err;

    f->lock_fd = -1;
    if (strlen(dir) == 0 || strlen(dir) >= sizeof(f->dir))
        return errinfo_set(info, ERR_CONFIG, "data_dir is empty or longer than %u bytes",
                           FOLDER_PATH_MAX - 1);
    (void)snprintf(f->dir, sizeof(f->dir), "%s", dir);
    if ((err = make(f, info)) != ERR_OK || (err = take_lock(f, info)) != ERR_OK)
        return err;
    err = probe(f, info);
    if (err != ERR_OK)
        folder_close(f);
    return err;
}

void
folder_close(struct folder *f)
{
    if (f->lock_fd != -1)
        (void)close(f->lock_fd);
    f->lock_fd = -1;
}

/* ---- data.mdb ---- */

/* Where LMDB 0.9 keeps its magic number: behind a page header of two words. */
#define LMDB_MAGIC 0xBEEFC0DEu
#define LMDB_FORMAT 1u

static enum err
judge(const struct folder *f, const uint8_t head[24], enum folder_data *what, struct errinfo *info)
{
    const uint16_t one = 1;
    const bool little = *(const uint8_t *)&one == 1;
    const size_t native = sizeof(size_t) == 8 ? 16 : 12;
    size_t at;

    *what = FOLDER_DATA_WRONG;
    for (at = 12; at <= 16; at += 4) {
        bool as_little = load_le32(head + at) == LMDB_MAGIC;
        bool as_big = load_be32(head + at) == LMDB_MAGIC;
        uint32_t format = little ? load_le32(head + at + 4) : load_be32(head + at + 4);

        if (!as_little && !as_big)
            continue;
        if (at != native || as_little != little)
            return errinfo_set(
                info, ERR_CONFIG,
                "%.60s/data.mdb was written on a %s-bit %s-endian machine: drain and "
                "export it there",
                f->dir, at == 16 ? "64" : "32", as_little ? "little" : "big");
        if (format != LMDB_FORMAT)
            return errinfo_set(
                info, ERR_CONFIG,
                "%.60s/data.mdb was written by another LMDB (format %lu): drain and export "
                "it with that sinkd",
                f->dir, (unsigned long)format);
        *what = FOLDER_DATA_OURS;
        return ERR_OK;
    }
    return ERR_OK;
}

enum err
folder_peek(const struct folder *f, enum folder_data *what, struct errinfo *info)
{
    struct path p = path_of(f, "data.mdb");
    uint8_t head[24] = {0};
    ssize_t n;
    int fd = open(p.text, O_RDONLY | O_CLOEXEC);

    if (fd == -1 && errno == ENOENT) {
        *what = FOLDER_DATA_NONE;
        return ERR_OK;
    }
    if (fd == -1)
        return refused(info, errno, "cannot open", p.text);
    do
        n = read(fd, head, sizeof(head));
    while (n == -1 && errno == EINTR);
    if (n == -1) {
        int sys = errno;

        (void)close(fd);
        return refused(info, sys, "cannot read", p.text);
    }
    (void)close(fd);
    *what = FOLDER_DATA_EMPTY;
    return n == 0 ? ERR_OK : judge(f, head, what, info);
}

enum err
folder_move_aside(const struct folder *f, char name[32], struct errinfo *info)
{
    struct path from = path_of(f, "data.mdb"), to;
    struct stat st;
    int i;

    for (i = 1;; i++) {
        (void)snprintf(name, 32, "data.mdb.damaged-%d", i);
        to = path_of(f, name);
        if (i == KEEP_ASIDE || (stat(to.text, &st) == -1 && errno == ENOENT))
            break;
    }
    if (rename(from.text, to.text) == -1)
        return refused(info, errno, "cannot move aside", from.text);
    return folder_sync(f, info);
}

enum err
folder_sync(const struct folder *f, struct errinfo *info)
{
    int fd = open(f->dir, O_RDONLY | O_CLOEXEC);
    int sys;

    if (fd == -1)
        return refused(info, errno, "cannot open", f->dir);
    sys = fsync(fd) == -1 ? errno : 0;
    (void)close(fd);
    if (sys != 0 && sys != EINVAL) /* EINVAL: a file system that cannot, and need not */
        return refused(info, sys, "cannot sync", f->dir);
    return ERR_OK;
}

/* ---- small files ---- */

enum err
folder_write(const struct folder *f, const char *name, struct slice bytes, struct errinfo *info)
{
    struct path to = path_of(f, name), from = to;
    size_t length = strlen(from.text);
    int fd, sys = 0;

    assert(length + 5 < sizeof(from.text));
    memcpy(from.text + length, ".tmp", 5);
    (void)unlink(from.text); /* so that its mode is ours */
    fd = open(from.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd == -1)
        return refused(info, errno, "cannot make", from.text);
    if (write_all(fd, bytes) != ERR_OK || fsync(fd) == -1)
        sys = errno;
    if (close(fd) == -1 && sys == 0)
        sys = errno;
    if (sys == 0 && rename(from.text, to.text) == -1)
        sys = errno;
    if (sys != 0) {
        (void)unlink(from.text);
        return refused(info, sys, "cannot write", to.text);
    }
    return folder_sync(f, info);
}

enum err
folder_read(const struct folder *f, const char *name, struct buf *out, struct errinfo *info)
{
    struct path p = path_of(f, name);
    enum err err = ERR_OK;
    uint8_t *room;
    ssize_t n = 1;
    int fd = open(p.text, O_RDONLY | O_CLOEXEC);

    if (fd == -1 && errno == ENOENT)
        return ERR_EOF;
    if (fd == -1)
        return refused(info, errno, "cannot open", p.text);
    while (err == ERR_OK && n != 0) {
        room = buf_reserve(out, 4096);
        if (room == NULL) {
            err =
                errinfo_set(info, ERR_NOMEM, "no memory to read %.80s, or it is too large", p.text);
            break;
        }
        n = read(fd, room, 4096);
        if (n > 0)
            buf_commit(out, (size_t)n);
        else if (n == -1 && errno != EINTR)
            err = refused(info, errno, "cannot read", p.text);
    }
    (void)close(fd);
    return err;
}

enum err
folder_set_aside(const struct folder *f, uint64_t seq, struct slice bytes)
{
    char name[48];
    struct path p;
    enum err err;
    int fd;

    (void)snprintf(name, sizeof(name), "damaged-%llu.chunk", (unsigned long long)seq);
    p = path_of(f, name);
    fd = open(p.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd == -1)
        return errno == EEXIST ? ERR_BUSY : ERR_IO;
    err = write_all(fd, bytes);
    return close(fd) == -1 ? ERR_IO : err;
}

uint64_t
folder_free_bytes(const struct folder *f)
{
    struct statvfs fs;

    if (statvfs(f->dir, &fs) == -1)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}
