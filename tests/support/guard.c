/*
 * guard.c: the pages of a guarded copy: as many as the bytes need (at least one), then a closed
 * one. Nothing is remembered: the place of the pages follows from where the bytes end.
 */
#include "support/guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void
give_up(const char *what)
{
    perror(what);
    abort();
}

static size_t
page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);

    if (size <= 0)
        give_up("sysconf");
    return (size_t)size;
}

/* The open part of the mapping: ${n} rounded up to whole pages. */
static size_t
open_bytes(size_t n, size_t page)
{
    return n == 0 ? page : (n + page - 1) / page * page;
}

struct slice
guard_copy(struct slice s)
{
    size_t page = page_size(), room = open_bytes(s.n, page);
    /* Anonymous mappings are no part of POSIX.1-2008; a private one of /dev/zero is the same. */
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    uint8_t *base, *copy;

    if (fd < 0)
        give_up("/dev/zero");
    base = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
        give_up("mmap");
    close(fd);
    if (mprotect(base + room, page, PROT_NONE) != 0)
        give_up("mprotect");
    copy = base + room - s.n;
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    return slice_make(copy, s.n);
}

void
guard_free(struct slice s)
{
    size_t page = page_size(), room = open_bytes(s.n, page);
    uintptr_t base = (uintptr_t)(s.p + s.n) - room;

    if (munmap((void *)base, room + page) != 0)
        give_up("munmap");
}
