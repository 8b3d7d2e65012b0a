/*
 * load_http.c: how fast an HTTP server takes line protocol: so many clients, each with one request
 * on its way at a time, over connections that stay open.
 *
 *   load_http -p PORT [-u PATH] [-c CLIENTS] [-l LINES] [-w WARM_MS] [-m MEASURE_MS | -n REQUESTS]
 *             [-P PID] [-f FILE]
 *
 * Bodies are made beforehand; what changes from one to the next is the time of each line (and the
 * host, when there is one line), so that no point comes twice. With -f they are read from FILE, one
 * behind the other, which has lines of that same length. Prints one line of JSON. With -P also the
 * processor time that process took meanwhile. The latencies are those of a closed loop: a slow
 * server is asked less often.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#define CLIENTS_MAX 256
#define HOSTS 100
#define STEP_NS 1000000U
#define HEAD_MAX 512
#define ANSWER_MAX 4096
#define SERVER_STUCK_MS 30000

/* All lines are equally long: what varies is overwritten in place. */
static const char template[] = "cpu,host=server0000,region=us-west,rack=r00 usage_user=00.000,"
                               "usage_system=00.000,usage_idle=00.000 1700000000000000000\n";
enum { LINE = sizeof(template) - 1, TIME_DIGITS = 19, TIME_AT = LINE - 1 - TIME_DIGITS };
enum { HOST_AT = 15, RACK_AT = 41, USER_AT = 55, SYSTEM_AT = 75, IDLE_AT = 93 };

struct client {
    int fd;
    char *request;
    size_t head, size, sent;
    bool waits; /* an answer is outstanding */
    char answer[ANSWER_MAX];
    size_t got;
    int64_t began_us;
};

static struct {
    int port;
    const char *path;
    int clients, lines;
    int64_t warm_us, measure_us, requests, pid;
    int file;
} options = {0, "/write?db=bench", 1, 5000, 0, 3000000, 0, 0, -1};

static struct client clients[CLIENTS_MAX];
static struct pollfd fds[CLIENTS_MAX];
static uint64_t next_ns = UINT64_C(1700000000000000000), asked;

static struct {
    bool on;
    int64_t began_us;
    double own_cpu, server_cpu;
    uint64_t done, bad;
    uint32_t *latency_us;
    size_t latency_cap;
    char first_bad[160];
} window;

static void
die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t
now_us(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double
own_cpu(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* User and system time of process -P, of all its threads; 0 where there is no /proc. */
static double
server_cpu(void)
{
    char path[64], text[1024], *at;
    unsigned long user = 0, system = 0;
    size_t n;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)options.pid);
    file = options.pid > 0 ? fopen(path, "r") : NULL;
    if (file == NULL)
        return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    at = strrchr(text, ')'); /* behind the name, which may hold anything */
    if (at == NULL ||
        sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* ---- bodies ---- */

static void
put_digits(char *p, int n, uint64_t v)
{
    while (n-- > 0) {
        p[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

/* ${thousandths} of 00.000 to 99.999 */
static void
put_value(char *p, uint32_t thousandths)
{
    put_digits(p, 2, thousandths / 1000);
    put_digits(p + 3, 3, thousandths % 1000);
}

static uint32_t
next_random(void)
{
    static uint32_t x = 77;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void
make_line(char *p, uint32_t host)
{
    uint32_t r = next_random(), user = r % 50000, system = (r >> 9) % 40000;

    memcpy(p, template, LINE);
    put_digits(p + HOST_AT, 4, host);
    put_digits(p + RACK_AT, 2, host % 40);
    put_value(p + USER_AT, user);
    put_value(p + SYSTEM_AT, system);
    put_value(p + IDLE_AT, 99999 - user - system);
}

static void
make_request(struct client *c)
{
    size_t body = (size_t)options.lines * LINE;
    int head, i;

    c->request = malloc(HEAD_MAX + body);
    if (c->request == NULL)
        die("malloc");
    head = snprintf(c->request, HEAD_MAX,
                    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: text/plain\r\n"
                    "Content-Length: %zu\r\n\r\n",
                    options.path, options.port, body);
    if (head < 0 || head >= HEAD_MAX)
        die("the path is too long");
    c->head = (size_t)head;
    c->size = c->head + body;
    for (i = 0; i < options.lines; i++)
        make_line(c->request + c->head + (size_t)i * LINE, (uint32_t)i % HOSTS);
}

static void
read_body(struct client *c)
{
    size_t body = c->size - c->head, got = 0;
    ssize_t n;

    for (; got < body; got += (size_t)n)
        if ((n = read(options.file, c->request + c->head + got, body - got)) <= 0)
            die("the file ends too soon");
}

/* New times: one for as many lines as there are hosts. */
static void
renew(struct client *c)
{
    char digits[TIME_DIGITS], *line = c->request + c->head;
    int i;

    if (options.lines == 1)
        put_digits(line + HOST_AT, 4, asked % HOSTS);
    for (i = 0; i < options.lines; i++, line += LINE) {
        if (i % HOSTS == 0) {
            put_digits(digits, TIME_DIGITS, next_ns);
            next_ns += STEP_NS;
        }
        memcpy(line + TIME_AT, digits, TIME_DIGITS);
    }
}

/* ---- connections ---- */

static int
dial(int port)
{
    struct sockaddr_in a = {0};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    a.sin_family = AF_INET;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd == -1 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
        die("fcntl");
    return fd;
}

static void
send_more(struct client *c)
{
    ssize_t n;

    while (c->sent < c->size) {
        n = send(c->fd, c->request + c->sent, c->size - c->sent, MSG_NOSIGNAL);
        if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n == -1)
            die("send");
        c->sent += (size_t)n;
    }
}

static void
ask(struct client *c)
{
    asked++;
    if (options.file != -1)
        read_body(c);
    else
        renew(c);
    c->sent = c->got = 0;
    c->waits = true;
    c->began_us = now_us();
    send_more(c);
}

/* The length of a whole answer, or 0. Its body must come with a length. */
static size_t
answer_length(const struct client *c)
{
    const char *end = strstr(c->answer, "\r\n\r\n"), *line = c->answer;
    uint64_t body = 0;

    if (end == NULL)
        return 0;
    for (; line < end; line = strstr(line, "\r\n") + 2) {
        if (strncasecmp(line, "Content-Length:", 15) == 0) {
            line += 15;
            line += strspn(line, " ");
            if (num_u64(slice_make(line, strcspn(line, " \r")), &body) != ERR_OK)
                return 0;
        }
    }
    return (size_t)(end - c->answer) + 4 + (size_t)body;
}

static void
note(const struct client *c)
{
    size_t i = (size_t)window.done;
    bool good = strncmp(c->answer, "HTTP/1.1 2", 10) == 0;

    if (!good && window.bad++ == 0) /* even before the window begins: it must not happen */
        (void)snprintf(window.first_bad, sizeof(window.first_bad), "%.*s",
                       (int)strcspn(c->answer, "\r\"\\"), c->answer);
    if (!window.on || !good)
        return;
    if (i == window.latency_cap) {
        window.latency_cap = i == 0 ? 65536 : i * 2;
        window.latency_us =
            realloc(window.latency_us, window.latency_cap * sizeof(*window.latency_us));
        if (window.latency_us == NULL)
            die("realloc");
    }
    window.latency_us[i] = (uint32_t)(now_us() - c->began_us);
    window.done++;
}

/* True when the answer is complete. */
static bool
receive(struct client *c)
{
    ssize_t n = recv(c->fd, c->answer + c->got, sizeof(c->answer) - 1 - c->got, 0);
    size_t whole;

    if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (n <= 0)
        die("the server closed a connection");
    c->got += (size_t)n;
    c->answer[c->got] = '\0';
    whole = answer_length(c);
    if (whole == 0 || c->got < whole)
        return false;
    c->waits = false;
    note(c);
    return true;
}

/* ---- the loop ---- */

static void
begin_window(void)
{
    window.on = true;
    window.own_cpu = own_cpu();
    window.server_cpu = server_cpu();
    window.began_us = now_us();
}

/* Whether another request is to be sent. */
static bool
goes_on(void)
{
    int64_t now = now_us();

    if (options.requests > 0)
        return asked < (uint64_t)options.requests;
    if (!window.on && now >= options.warm_us)
        begin_window();
    return !window.on || now < window.began_us + options.measure_us;
}

static bool
anybody_waits(void)
{
    bool any = false;
    int i;

    for (i = 0; i < options.clients; i++) {
        fds[i].events = POLLIN;
        if (clients[i].sent < clients[i].size)
            fds[i].events |= POLLOUT;
        any = any || clients[i].waits;
    }
    return any;
}

static void
serve(struct client *c, short ready)
{
    if ((ready & POLLOUT) != 0)
        send_more(c);
    if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 && receive(c) && goes_on())
        ask(c);
}

static int
compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void
report(double seconds, double own, double server)
{
    double points = (double)window.done * options.lines;
    uint32_t p50 = 0, p99 = 0, most = 0;

    if (window.done > 0) {
        qsort(window.latency_us, (size_t)window.done, sizeof(*window.latency_us), compare);
        p50 = window.latency_us[window.done / 2];
        p99 = window.latency_us[window.done * 99 / 100];
        most = window.latency_us[window.done - 1];
    }
    (void)printf("{\"clients\":%d,\"lines\":%d,\"line_bytes\":%d,\"requests\":%llu,\"bad\":%llu,"
                 "\"first_bad\":\"%s\",\"seconds\":%.3f,\"points_per_s\":%.0f,"
                 "\"requests_per_s\":%.1f,\"p50_us\":%u,\"p99_us\":%u,\"max_us\":%u,"
                 "\"own_cpu_s\":%.3f,\"server_cpu_s\":%.3f}\n",
                 options.clients, options.lines, (int)LINE, (unsigned long long)window.done,
                 (unsigned long long)window.bad, window.first_bad, seconds, points / seconds,
                 (double)window.done / seconds, p50, p99, most, own, server);
}

static void
run(void)
{
    double own, server;
    int64_t ended;
    int i;

    options.warm_us += now_us();
    if (options.requests > 0)
        begin_window();
    for (i = 0; i < options.clients && goes_on(); i++)
        ask(&clients[i]);
    ended = 0;
    while (anybody_waits()) {
        if (poll(fds, (nfds_t)options.clients, SERVER_STUCK_MS) <= 0)
            die("no answer");
        for (i = 0; i < options.clients; i++)
            if (fds[i].revents != 0)
                serve(&clients[i], fds[i].revents);
        if (ended == 0 && options.requests == 0 && !goes_on()) {
            ended = now_us(); /* what is still under way does not count */
            window.on = false;
            own = own_cpu() - window.own_cpu;
            server = server_cpu() - window.server_cpu;
            break;
        }
    }
    if (ended == 0) {
        ended = now_us();
        own = own_cpu() - window.own_cpu;
        server = server_cpu() - window.server_cpu;
    }
    report((double)(ended - window.began_us) / 1e6, own, server);
}

static int64_t
number(const char *text)
{
    uint64_t v;

    if (num_u64(slice_of(text), &v) != ERR_OK || v > 1000000000) {
        (void)fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return (int64_t)v;
}

static void
read_options(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "p:u:c:l:w:m:n:P:f:")) != -1) {
        switch (c) {
        case 'p':
            options.port = (int)number(optarg);
            break;
        case 'u':
            options.path = optarg;
            break;
        case 'c':
            options.clients = (int)number(optarg);
            break;
        case 'l':
            options.lines = (int)number(optarg);
            break;
        case 'w':
            options.warm_us = number(optarg) * 1000;
            break;
        case 'm':
            options.measure_us = number(optarg) * 1000;
            break;
        case 'n':
            options.requests = number(optarg);
            break;
        case 'P':
            options.pid = number(optarg);
            break;
        case 'f':
            if ((options.file = open(optarg, O_RDONLY)) == -1)
                die(optarg);
            break;
        default:
            exit(2);
        }
    }
    if (options.port == 0 || options.clients < 1 || options.clients > CLIENTS_MAX ||
        options.lines < 1) {
        (void)fprintf(stderr, "load_http: see the head of load_http.c for its options\n");
        exit(2);
    }
}

int
main(int argc, char **argv)
{
    int i;

    read_options(argc, argv);
    for (i = 0; i < options.clients; i++) {
        make_request(&clients[i]);
        clients[i].fd = fds[i].fd = dial(options.port);
    }
    run();
    for (i = 0; i < options.clients; i++) {
        (void)close(clients[i].fd);
        free(clients[i].request);
    }
    free(window.latency_us);
    return window.bad == 0 ? 0 : 1;
}
