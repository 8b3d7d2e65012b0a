/*
 * test_net_sock.c: sockets and plain connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/addr.h"
#include "net/conn.h"
#include "net/sock.h"

static uint16_t
port_of(int fd)
{
    struct addr a;
    struct sockaddr_in four;

    assert_int_equal(sock_local(fd, &a, NULL), ERR_OK);
    memcpy(&four, &a.sa, sizeof(four));
    return ntohs(four.sin_port);
}

static int
listener(void)
{
    int fd;

    assert_int_equal(sock_listen(&fd, "127.0.0.1", 0, NULL), ERR_OK);
    return fd;
}

static int
accepted(int from)
{
    struct pollfd p = {from, POLLIN, 0};
    struct addr peer;
    int fd;

    assert_int_equal(poll(&p, 1, 5000), 1);
    assert_int_equal(sock_accept(from, &fd, &peer, NULL), ERR_OK);
    assert_true(addr_is_loopback(&peer));
    return fd;
}

static int
flag_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static void
sockets_are_tuned(void **state)
{
    int from = listener(), fd = -1;
    struct addr to, peer;
    enum err err;

    (void)state;
    assert_int_equal(sock_accept(from, &fd, &peer, NULL), ERR_AGAIN);
    assert_int_equal(sock_local(from, &to, NULL), ERR_OK);
    err = sock_connect(&fd, &to, NULL);
    assert_true(err == ERR_OK || err == ERR_AGAIN);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_not_equal(flag_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_not_equal(flag_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
#ifdef TCP_KEEPIDLE
    assert_int_equal(flag_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 60);
#endif
#ifdef TCP_USER_TIMEOUT
    assert_int_equal(flag_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
#endif
    (void)close(fd);
    fd = accepted(from);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_int_not_equal(flag_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    (void)close(fd);
    (void)close(from);
}

static void
listening_fails_in_words(void **state)
{
    struct errinfo info;
    int from = listener(), fd = -1;

    (void)state;
    assert_int_equal(sock_listen(&fd, "127.0.0.1", port_of(from), &info), ERR_IO);
    assert_int_equal(info.sys, EADDRINUSE);
    assert_non_null(strstr(info.text, "127.0.0.1"));
    assert_int_equal(sock_listen(&fd, "everywhere", 0, &info), ERR_CONFIG);
    assert_non_null(strstr(info.text, "everywhere"));
    assert_int_equal(sock_listen(&fd, "", 0, &info), ERR_CONFIG);
    assert_int_equal(fd, -1);
    assert_int_equal(sock_listen(&fd, "::", 0, &info), ERR_OK); /* with or without IPv6 */
    (void)close(fd);
    (void)close(from);
}

static void
a_connection_never_blocks(void **state)
{
    static uint8_t big[4000000];
    struct slice parts[2] = {{big, 0}, {big, sizeof(big)}};
    struct conn c;
    uint8_t in[8];
    size_t n;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_not_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), -1);
    conn_init(&c, ends[0]);
    assert_int_equal(conn_read(&c, in, sizeof(in), &n, NULL), ERR_AGAIN);
    assert_int_equal(n, 0);
    assert_int_equal(conn_wants(&c), POLLIN);
    assert_false(conn_pending(&c));
    assert_int_equal(conn_writev(&c, parts, 2, &n, NULL), ERR_OK);
    assert_true(n > 0 && n < sizeof(big));
    while (conn_write(&c, parts[1], &n, NULL) == ERR_OK)
        assert_true(n > 0);
    assert_int_equal(n, 0);
    assert_int_equal(conn_wants(&c), POLLOUT);
    (void)close(ends[1]);
    assert_int_equal(conn_write(&c, parts[1], &n, NULL), ERR_IO);
    conn_close(&c);
    conn_close(&c);
    assert_int_equal(c.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_are_tuned),
        cmocka_unit_test(listening_fails_in_words),
        cmocka_unit_test(a_connection_never_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
