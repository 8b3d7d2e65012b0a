/*
 * sink_peer.c: a destination on loopback that behaves as it is told, and HTTP for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sink_peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "base/slice.h"
#include "msgpack/msgpack_read.h"

#define REQUEST_MAX (1u << 20)

/* ---- one request ---- */

static size_t
find(struct slice in, const char *what)
{
    struct slice needle = slice_of(what);

    for (size_t i = 0; i + needle.n <= in.n; i++) {
        if (memcmp(in.p + i, needle.p, needle.n) == 0)
            return i;
    }
    return in.n;
}

static size_t
whole_request(struct slice in)
{
    size_t head = find(in, "\r\n\r\n"), at = find(in, "Content-Length: ");
    struct slice digits;
    uint64_t n = 0;

    if (head == in.n)
        return 0;
    if (at < head) {
        digits = slice_from(in, at + 16);
        digits = slice_to(digits, slice_find(digits, '\r'));
        if (num_u64(digits, &n) != ERR_OK)
            return 0;
    }
    if (in.n < head + 4 + n)
        return 0;
    return head + 4 + (size_t)n;
}

static void
take_rows(struct sink_peer *p, struct slice body)
{
    static const char before[] = "\xa1v\x81\xa7Integer";

    for (size_t at; (at = find(body, before)) < body.n;) {
        struct rd r;
        int64_t value;

        body = slice_from(body, at + sizeof(before) - 1);
        rd_init(&r, body);
        value = msgpack_read_i64(&r);
        if (r.err == ERR_OK && value >= 0 && value < SINK_PEER_VALUES)
            p->taken[value]++;
    }
}

static void
take(struct sink_peer *p, struct slice body)
{
    struct slice line;

    if (body.n > 0 && (body.p[0] & 0x80) != 0) { /* an array or a map, no text */
        take_rows(p, body);
        return;
    }

    while (slice_split(&body, '\n', &line)) {
        struct slice digits = slice_from(line, find(line, "v=") + 2);
        uint64_t value = 0;

        digits = slice_to(digits, slice_find(digits, 'i'));
        if (num_u64(digits, &value) == ERR_OK && value < SINK_PEER_VALUES)
            p->taken[value]++;
    }
}

enum contract_mood
sink_peer_judge(struct sink_peer *p, struct slice body)
{
    enum contract_mood mood;

    (void)pthread_mutex_lock(&p->lock);
    mood = p->after > 0 ? CONTRACT_CONFIRMS : p->mood;
    p->after -= p->after > 0;
    if (mood == CONTRACT_CONFIRMS)
        take(p, body);
    (void)pthread_mutex_unlock(&p->lock);
    return mood;
}

static bool
answer_request(struct sink_peer *p, int fd, struct slice request)
{
    static const char yes[] = "HTTP/1.1 204 No Content\r\n\r\n";
    struct slice body = slice_from(request, find(request, "\r\n\r\n") + 4);

    switch (sink_peer_judge(p, body)) {
    case CONTRACT_CONFIRMS:
        return send(fd, yes, sizeof(yes) - 1, MSG_NOSIGNAL) > 0;
    case CONTRACT_SILENT:
        return true;
    case CONTRACT_BREAKS:
    case CONTRACT_ABSENT:
        break;
    }
    return false;
}

void
sink_peer_http(struct sink_peer *p)
{
    memset(p, 0, sizeof(*p));
    p->whole = whole_request;
    p->answer = answer_request;
}

/* ---- the thread ---- */

static bool
wait_for(struct sink_peer *p, int fd)
{
    struct pollfd set[2] = {{fd, POLLIN, 0}, {p->quit[0], POLLIN, 0}};

    return poll(set, 2, -1) > 0 && set[1].revents == 0;
}

static void
serve(struct sink_peer *p, int fd, uint8_t *bytes)
{
    size_t have = 0;

    while (wait_for(p, fd)) {
        ssize_t got = recv(fd, bytes + have, REQUEST_MAX - have, 0);
        size_t n;

        if (got <= 0)
            return;
        have += (size_t)got;
        while ((n = p->whole(slice_make(bytes, have))) > 0) {
            if (!p->answer(p, fd, slice_make(bytes, n)))
                return;
            have -= n;
            memmove(bytes, bytes + n, have);
        }
    }
}

static bool
is_absent(struct sink_peer *p)
{
    bool absent;

    (void)pthread_mutex_lock(&p->lock);
    absent = p->mood == CONTRACT_ABSENT;
    (void)pthread_mutex_unlock(&p->lock);
    return absent;
}

static void *
run(void *arg)
{
    struct sink_peer *p = arg;
    uint8_t *bytes = malloc(REQUEST_MAX);

    assert(bytes != NULL);
    while (wait_for(p, p->listener)) {
        int fd = accept(p->listener, NULL, NULL);

        if (fd < 0)
            continue;
        if (!is_absent(p))
            serve(p, fd, bytes);
        (void)close(fd);
    }
    free(bytes);
    return NULL;
}

/* ---- from outside ---- */

static int
listen_at(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    assert_true(fd >= 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void
start_thread(struct sink_peer *p)
{
    assert_int_equal(pipe(p->quit), 0);
    assert_int_equal(listen(p->listener, 16), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
}

static void
stop_thread(struct sink_peer *p)
{
    assert_int_equal(write(p->quit[1], "x", 1), 1);
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    (void)close(p->quit[0]);
    (void)close(p->quit[1]);
    (void)close(p->listener);
}

void
sink_peer_start(struct sink_peer *p)
{
    assert_non_null(p->whole);
    (void)pthread_mutex_init(&p->lock, NULL);
    p->listener = listen_at(&p->port);
    start_thread(p);
}

void
sink_peer_stop(struct sink_peer *p)
{
    if (p->mood != CONTRACT_ABSENT)
        stop_thread(p);
    else
        (void)close(p->listener);
    (void)pthread_mutex_destroy(&p->lock);
}

unsigned
sink_peer_port(const struct sink_peer *p)
{
    return p->port;
}

/* Absent: the port stays bound, so nobody else gets it, but nobody listens. */
void
sink_peer_set_mood(struct sink_peer *p, enum contract_mood mood, unsigned after)
{
    bool was_absent = p->mood == CONTRACT_ABSENT, absent = mood == CONTRACT_ABSENT;

    if (absent && !was_absent) {
        stop_thread(p);
        p->listener = listen_at(&p->port);
    }
    (void)pthread_mutex_lock(&p->lock);
    p->mood = mood;
    p->after = after;
    (void)pthread_mutex_unlock(&p->lock);
    if (was_absent && !absent)
        start_thread(p);
}

unsigned
sink_peer_taken(struct sink_peer *p, uint64_t value)
{
    unsigned n;

    (void)pthread_mutex_lock(&p->lock);
    n = p->taken[value];
    (void)pthread_mutex_unlock(&p->lock);
    return n;
}
