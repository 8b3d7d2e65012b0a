/*
 * port.c: what POSIX.1-2008 does not have. The one file that asks for extensions.
 * What is missing on a system does nothing or answers "not known", as port.h says.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#ifndef __BSD_VISIBLE
#define __BSD_VISIBLE 1
#endif
#ifndef _DARWIN_C_SOURCE
#define _DARWIN_C_SOURCE
#endif

#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "config.h"

#ifdef SINKD_HAVE_GETRANDOM
#include <sys/random.h>
#endif
#ifdef SINKD_HAVE_PRCTL
#include <sys/prctl.h>
#endif
#ifdef SINKD_HAVE_STATFS_TYPE
#include <sys/vfs.h>
#elif defined(SINKD_HAVE_STATFS_NAME)
#include <sys/mount.h>
#include <sys/param.h>
#endif

/* An old kernel below a new C library has no getrandom either: hence the file as well. */
static enum err
random_from_file(uint8_t *at, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return ERR_IO;
    while (n > 0) {
        ssize_t got = read(fd, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += got;
        n -= (size_t)got;
    }
    (void)close(fd);
    return n == 0 ? ERR_OK : ERR_IO;
}

enum err
port_random(void *p, size_t n)
{
    uint8_t *at = p;

#ifdef SINKD_HAVE_GETRANDOM
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += got;
        n -= (size_t)got;
    }
#endif
    return n == 0 ? ERR_OK : random_from_file(at, n);
}

#ifdef SINKD_HAVE_STATFS_TYPE

/* Numbers from statfs(2) of the Linux manual pages. */
static const struct {
    uint32_t type;
    const char *name;
} refused[] = {
    {0x6969, "nfs"},      {0x517b, "smb"},      {0xff534d42, "cifs"}, {0xfe534d42, "smb2"},
    {0x01021997, "9p"},   {0x72b6, "jffs2"},    {0x5346414f, "afs"},  {0x6b414653, "afs"},
    {0x00c36400, "ceph"}, {0x73757245, "coda"}, {0x564c, "ncp"},
};

bool
port_is_network_fs(const char *dir, const char **name)
{
    struct statfs fs;

    if (statfs(dir, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if ((uint32_t)fs.f_type == refused[i].type) { /* its width and sign differ by machine */
            *name = refused[i].name;
            return true;
        }
    return false;
}

#elif defined(SINKD_HAVE_STATFS_NAME)

bool
port_is_network_fs(const char *dir, const char **name)
{
    static const char *const refused[] = {"nfs", "smbfs", "cifs", "afs", "p9fs", "webdav"};
    struct statfs fs;

    if (statfs(dir, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(fs.f_fstypename, refused[i]) == 0) {
            *name = refused[i];
            return true;
        }
    return false;
}

#else

bool
port_is_network_fs(const char *dir, const char **name)
{
    (void)dir;
    (void)name;
    return false;
}

#endif

/* The limit alone does not stop a kernel that pipes images to a program. */
void
port_no_core_dumps(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
#ifdef SINKD_HAVE_PRCTL
    (void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
#endif
}

void
port_tcp_user_timeout(int fd, unsigned ms)
{
#ifdef TCP_USER_TIMEOUT
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
#else
    (void)fd;
    (void)ms;
#endif
}

void
port_quick_ack(int fd)
{
#ifdef TCP_QUICKACK
    const int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
#else
    (void)fd;
#endif
}

enum err
port_set_groups_none(void)
{
#ifdef SINKD_HAVE_SETGROUPS
    return setgroups(0, NULL) == 0 ? ERR_OK : ERR_IO;
#else
    return ERR_OK; /* a system without the call has no supplementary groups to drop */
#endif
}
