/*
 * null_http.c: a server that takes any request with a body, throws it away and answers 204.
 *
 *   null_http
 *
 * Prints its port. GET answers, as JSON, the requests and body bytes since the last GET and when
 * the first head and the last body among them had come (by the monotonic clock). It ends when
 * killed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#define CLIENTS_MAX 300
#define HEAD_MAX 16384

struct client {
    char head[HEAD_MAX];
    size_t got;
    uint64_t left; /* of the body */
};

/* The first one listens. */
static struct pollfd fds[1 + CLIENTS_MAX];
static struct client *clients[1 + CLIENTS_MAX];
static int used = 1;

static struct {
    uint64_t requests, bytes;
    int64_t first_us, last_us;
} sum;

static int64_t
now_us(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void
hang_up(int i)
{
    (void)close(fds[i].fd);
    fds[i] = (struct pollfd){-1, POLLIN, 0};
    free(clients[i]);
    clients[i] = NULL;
}

static void
let_in(void)
{
    int fd = accept(fds[0].fd, NULL, NULL), one = 1, i;

    if (fd == -1)
        return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (i = 1; i < used && clients[i] != NULL; i++)
        ;
    if (i > CLIENTS_MAX || (clients[i] = calloc(1, sizeof(*clients[i]))) == NULL) {
        (void)close(fd);
        return;
    }
    fds[i] = (struct pollfd){fd, POLLIN, 0};
    if (i == used)
        used++;
}

static void
say(int i, const char *text, size_t n)
{
    if (send(fds[i].fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        hang_up(i);
}

static void
end_of_body(int i)
{
    static const char done[] = "HTTP/1.1 204 No Content\r\n\r\n";

    sum.requests++;
    sum.last_us = now_us();
    say(i, done, sizeof(done) - 1);
}

static void
tell(int i)
{
    char text[512], body[256];
    int n = snprintf(body, sizeof(body),
                     "{\"requests\":%llu,\"bytes\":%llu,\"first_us\":%lld,\"last_us\":%lld}\n",
                     (unsigned long long)sum.requests, (unsigned long long)sum.bytes,
                     (long long)sum.first_us, (long long)sum.last_us);

    memset(&sum, 0, sizeof(sum));
    n = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", n, body);
    say(i, text, (size_t)n);
}

static uint64_t
length_of(const char *head, const char *end)
{
    const char *line = head;
    uint64_t length = 0;

    for (; line < end; line = strstr(line, "\r\n") + 2) {
        if (strncasecmp(line, "Content-Length:", 15) == 0) {
            line += 15 + strspn(line + 15, " ");
            if (num_u64(slice_make(line, strcspn(line, " \r")), &length) != ERR_OK)
                length = 0;
        }
    }
    return length;
}

static void
read_head(int i)
{
    struct client *c = clients[i];
    ssize_t n = recv(fds[i].fd, c->head + c->got, sizeof(c->head) - 1 - c->got, 0);
    const char *end;
    size_t body;

    if (n <= 0) {
        hang_up(i);
        return;
    }
    c->got += (size_t)n;
    c->head[c->got] = '\0';
    end = strstr(c->head, "\r\n\r\n");
    if (end == NULL)
        return;
    if (strncmp(c->head, "GET ", 4) == 0) {
        c->got = 0;
        tell(i);
        return;
    }
    if (sum.first_us == 0)
        sum.first_us = now_us();
    c->left = length_of(c->head, end);
    body = c->got - (size_t)(end + 4 - c->head);
    c->got = 0;
    sum.bytes += body;
    c->left = body < c->left ? c->left - body : 0;
    if (c->left == 0)
        end_of_body(i);
}

static void
read_body(int i)
{
    static char dust[1 << 20];
    struct client *c = clients[i];
    size_t most = c->left < sizeof(dust) ? (size_t)c->left : sizeof(dust);
    ssize_t n = recv(fds[i].fd, dust, most, 0);

    if (n <= 0) {
        hang_up(i);
        return;
    }
    sum.bytes += (uint64_t)n;
    c->left -= (uint64_t)n;
    if (c->left == 0)
        end_of_body(i);
}

static void
start(void)
{
    struct sockaddr_in a = {0};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd == -1 || bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, 100) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0) {
        perror("null_http");
        exit(1);
    }
    fds[0] = (struct pollfd){fd, POLLIN, 0};
    (void)printf("%u\n", (unsigned)ntohs(a.sin_port));
    (void)fflush(stdout);
}

int
main(void)
{
    int i;

    start();
    for (;;) {
        if (poll(fds, (nfds_t)used, -1) < 0)
            return 1;
        for (i = 1; i < used; i++) {
            if (clients[i] == NULL || fds[i].revents == 0)
                continue;
            if (clients[i]->left > 0)
                read_body(i);
            else
                read_head(i);
        }
        if (fds[0].revents != 0)
            let_in();
    }
}
