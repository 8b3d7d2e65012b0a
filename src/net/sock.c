/*
 * sock.c: sockets made the way we want them.
 *
 * Plain POSIX: no accept4 and no SOCK_CLOEXEC. The gap between socket() and fcntl() matters to
 * nobody, since this program starts no other.
 */
#include "net/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "base/port.h"

#define BACKLOG 128

/* A dead link is noticed after 60 s + 3 x 10 s of silence, or 30 s after data that nobody confirms;
 * and a probe a minute keeps the entry in a NAT gateway alive (some forget after 350 s). */
#define KEEP_IDLE_S 60
#define KEEP_INTERVAL_S 10
#define KEEP_COUNT 3
#define UNACKNOWLEDGED_MS 30000u

static int
set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Options that make a connection better but whose lack breaks nothing are set without a check. */
static void
set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

static void
tune(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
#endif
#ifdef TCP_KEEPINTVL
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S);
#endif
#ifdef TCP_KEEPCNT
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
#endif
#ifdef SO_NOSIGPIPE
    set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    port_tcp_user_timeout(fd, UNACKNOWLEDGED_MS);
}

/* close_with(fd, sys): close and give ${sys} back, which close may have overwritten in errno. */
static int
close_with(int fd, int sys)
{
    (void)close(fd);
    return sys;
}

/* listen_on(fd, a): 0, or the errno value. */
static int
listen_on(int *fd, const struct addr *a)
{
    int s = socket(a->sa.ss_family, SOCK_STREAM, 0);

    if (s == -1)
        return errno;
    set_option(s, SOL_SOCKET, SO_REUSEADDR, 1);
#ifdef IPV6_V6ONLY
    if (a->sa.ss_family == AF_INET6)
        set_option(s, IPPROTO_IPV6, IPV6_V6ONLY, 0);
#endif
    if (set_flags(s) == -1 || bind(s, (const struct sockaddr *)&a->sa, a->len) == -1 ||
        listen(s, BACKLOG) == -1)
        return close_with(s, errno);
    *fd = s;
    return 0;
}

/* numeric(out, address, port): false when ${address} is none in figures. */
static bool
numeric(struct addr *out, const char *address, uint16_t port)
{
    char service[NUM_TEXT] = {0};
    struct addrinfo hints, *list = NULL;

    memset(&hints, 0, sizeof(hints));
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    (void)num_put_u64((uint8_t *)service, port);
    if (address[0] == '\0' || getaddrinfo(address, service, &hints, &list) != 0 || list == NULL)
        return false;
    memcpy(&out->sa, list->ai_addr, list->ai_addrlen);
    out->len = list->ai_addrlen;
    freeaddrinfo(list);
    return true;
}

enum err
sock_listen(int *fd, const char *address, uint16_t port, struct errinfo *info)
{
    struct addr a;
    int sys;

    memset(&a, 0, sizeof(a));
    if (!numeric(&a, address, port))
        return errinfo_set(info, ERR_CONFIG,
                           "cannot listen on \"%s\": not an IP address; use for example "
                           "\"127.0.0.1\", \"0.0.0.0\" or \"::\"",
                           address);
    sys = listen_on(fd, &a);
    /* "::" means everybody; on a machine without IPv6 that is every IPv4 address. */
    if (sys == EAFNOSUPPORT && strcmp(address, "::") == 0 && numeric(&a, "0.0.0.0", port))
        sys = listen_on(fd, &a);
    if (sys != 0)
        return errinfo_sys(info, ERR_IO, sys, "cannot listen on %s port %u", address,
                           (unsigned)port);
    return ERR_OK;
}

enum err
sock_local(int fd, struct addr *out, struct errinfo *info)
{
    struct addr a;

    memset(&a, 0, sizeof(a));
    a.len = sizeof(a.sa);
    if (getsockname(fd, (struct sockaddr *)&a.sa, &a.len) == -1)
        return errinfo_sys(info, ERR_IO, errno, "cannot ask for a socket's address");
    *out = a;
    return ERR_OK;
}

/* accept_error(sys, info): POSIX and Linux hand network errors of the new connection to accept: the
 * connection is lost, the listener is fine. */
static enum err
accept_error(int sys, struct errinfo *info)
{
    if (sys == EMFILE || sys == ENFILE || sys == ENOBUFS || sys == ENOMEM)
        return errinfo_sys(info, ERR_BUSY, sys, "cannot accept a connection");
    if (sys == EBADF || sys == EINVAL || sys == ENOTSOCK || sys == EFAULT)
        return errinfo_sys(info, ERR_IO, sys, "cannot accept connections");
    return ERR_AGAIN;
}

enum err
sock_accept(int listener, int *fd, struct addr *peer, struct errinfo *info)
{
    struct addr a;
    int s;

    memset(&a, 0, sizeof(a));
    a.len = sizeof(a.sa);
    do
        s = accept(listener, (struct sockaddr *)&a.sa, &a.len);
    while (s == -1 && errno == EINTR);
    if (s == -1)
        return accept_error(errno, info);
    if (set_flags(s) == -1)
        return errinfo_sys(info, ERR_BUSY, close_with(s, errno), "cannot set up a connection");
    tune(s);
    *fd = s;
    *peer = a;
    return ERR_OK;
}

static enum err
connect_error(int sys, const struct addr *to, struct errinfo *info)
{
    char text[ADDR_TEXT];

    return errinfo_sys(info, ERR_IO, sys, "cannot connect to %s", addr_text(text, to));
}

enum err
sock_connect(int *fd, const struct addr *to, struct errinfo *info)
{
    int s = socket(to->sa.ss_family, SOCK_STREAM, 0);

    if (s == -1)
        return connect_error(errno, to, info);
    if (set_flags(s) == -1)
        return connect_error(close_with(s, errno), to, info);
    tune(s);
    if (connect(s, (const struct sockaddr *)&to->sa, to->len) == 0) {
        *fd = s;
        return ERR_OK;
    }
    /* An interrupted connect goes on by itself, just as one that would block. */
    if (errno != EINPROGRESS && errno != EINTR)
        return connect_error(close_with(s, errno), to, info);
    *fd = s;
    return ERR_AGAIN;
}

enum err
sock_connected(int fd, struct errinfo *info)
{
    int sys = 0;
    socklen_t size = sizeof(sys);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &size) == -1)
        sys = errno;
    if (sys != 0)
        return errinfo_sys(info, ERR_IO, sys, "cannot connect");
    return ERR_OK;
}
