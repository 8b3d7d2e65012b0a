/*
 * test_daemon_server.c: the listener and its connections over real loopback sockets, one loop
 * turned by hand. Scenarios: slow readers, clients that vanish, a crowd of idle ones with few
 * descriptors, a drain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/server.h"
#include "net/loop.h"
#include "support/fake_clock.h"

#define PING "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
#define WRITE(fields) "POST /write?db=d HTTP/1.1\r\nHost: x\r\n" fields "\r\n\r\n"
#define LATER "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
#define TIMEOUT_MS 30000

struct fixture {
    struct fake_clock clock;
    struct loop *loop;
    struct server *server;
    struct server_ticket ticket;
    char overs[400]; /* "204 " for each call of over() */
    int drained;
    size_t live;
};

static void
head_write(struct server_call *call)
{
    if (server_is_draining(server_of(call)))
        server_call_busy(call, 1, "shutting down");
    else
        server_call_accept(call, 100000);
}

static void
done_no_content(struct server_call *call)
{
    struct http_answer a = {.status = 204};

    assert_true(server_call_is_local(call));
    server_call_answer(call, &a);
}

static void
done_later(struct server_call *call)
{
    struct fixture *f = server_ctx(server_of(call));

    f->ticket = server_call_ticket(call);
    server_call_set_user(call, f);
    assert_true(server_call_user(call) == f);
    assert_true(slice_eq(http_request_body(server_call_request(call)), SLICE("hi")));
}

static void
done_big(struct server_call *call)
{
    static uint8_t body[4u << 20];
    struct http_answer a = {.status = 200, .type = "", .body = slice_make(body, sizeof(body))};

    server_call_answer(call, &a);
}

static void
count_over(struct server_call *call, int status)
{
    struct fixture *f = server_ctx(server_of(call));
    size_t used = strlen(f->overs);

    if (used + 8 < sizeof(f->overs))
        (void)snprintf(f->overs + used, sizeof(f->overs) - used, "%d ", status);
}

static const struct server_route routes[] = {
    {"/ping", HTTP_GET | HTTP_HEAD, SERVER_RATE_NONE, NULL, done_no_content, NULL},
    {"/write", HTTP_POST | HTTP_OPTIONS, SERVER_RATE_WRITE, head_write, done_no_content,
     count_over},
    {"/query", HTTP_GET | HTTP_POST, SERVER_RATE_QUERY, head_write, done_no_content, count_over},
    {"/later", HTTP_POST, SERVER_RATE_NONE, head_write, done_later, count_over},
    {"/big", HTTP_GET, SERVER_RATE_NONE, NULL, done_big, count_over},
};

static struct server_config
config_of(unsigned max_connections)
{
    return (struct server_config){.bind_address = "127.0.0.1",
                                  .max_connections = max_connections,
                                  .max_inflight_bytes = 1u << 20,
                                  .request_timeout_ms = TIMEOUT_MS,
                                  .idle_timeout_ms = 300000,
                                  .version = "1.8.10-sinkd",
                                  .build = "OSS"};
}

static void
begin(struct fixture *f, const struct server_config *config)
{
    struct errinfo info;

    memset(f, 0, sizeof(*f));
    f->live = mem_live();
    fake_clock_init(&f->clock, 1000, INT64_C(1700000000000000000));
    f->loop = loop_open(&f->clock.clock);
    assert_non_null(f->loop);
    assert_int_equal(server_open(&f->server, f->loop, config, routes, 5, f, &info), ERR_OK);
}

static void
end(struct fixture *f)
{
    server_close(f->server);
    loop_close(f->loop);
    assert_int_equal(mem_live(), f->live);
}

/* turn(f): some turns of the loop. The first waits a moment, in real time, for what was just
 * sent: the kernel may be late even on the loopback. */
static void
turn(struct fixture *f)
{
    int i;

    loop_turn(f->loop, f->clock.mono_ms + 2);
    for (i = 0; i < 5; i++)
        loop_turn(f->loop, f->clock.mono_ms);
}

static void
pass(struct fixture *f, int64_t ms)
{
    fake_clock_advance(&f->clock, ms);
    turn(f);
}

static void
dial_with(struct fixture *f, int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET};

    to.sin_port = htons(server_port(f->server));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static int
dial(struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    dial_with(f, fd);
    return fd;
}

static void
say(struct fixture *f, int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn(f);
}

/* gather(f, fd, text, size, closed): all that comes until a moment passes without anything. */
static size_t
gather(struct fixture *f, int fd, char *text, size_t size, bool *closed)
{
    size_t used = 0;
    ssize_t got = -1;
    int quiet;

    for (quiet = 0; quiet < 20; quiet++) {
        got = recv(fd, text + used, size - used, 0);
        if (got == 0 || (got == -1 && errno == ECONNRESET))
            break;
        if (got > 0) {
            used += (size_t)got;
            quiet = 15;
        }
        turn(f);
    }
    *closed = quiet < 20;
    return used;
}

/* hear(f, fd, closed): the statuses of the answers that came, as "204 204 ". */
static const char *
hear(struct fixture *f, int fd, bool *closed)
{
    static char text[65536], out[400];
    size_t n = 0, i, used;
    bool is_closed;

    used = gather(f, fd, text, sizeof(text), &is_closed);
    if (closed != NULL)
        *closed = is_closed;
    for (i = 0; i + 12 < used && n < 390; i++)
        if (memcmp(text + i, "HTTP/1.1 ", 9) == 0) {
            memcpy(out + n, text + i + 9, 4);
            n += 4;
        }
    out[n] = '\0';
    return out;
}

static bool
is_closed(struct fixture *f, int fd)
{
    bool closed;

    (void)hear(f, fd, &closed);
    return closed;
}

static void
requests_are_routed_and_answered(void **state)
{
    struct server_config config = config_of(10);
    struct fixture f;
    int fd;

    (void)state;
    begin(&f, &config);
    fd = dial(&f);
    say(&f, fd,
        PING WRITE("Content-Length: 5") "m f=1"
                                        "GET /nope HTTP/1.1\r\nHost: x\r\n\r\n"
                                        "PUT /write HTTP/1.1\r\nHost: x\r\n\r\n"
                                        "OPTIONS /write HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(hear(&f, fd, NULL), "204 204 404 405 200 ");
    assert_string_equal(f.overs, "204 ");
    say(&f, fd, WRITE("Content-Length: 100001"));
    assert_string_equal(hear(&f, fd, NULL), "413 ");
    assert_string_equal(f.overs, "204 413 ");
    assert_int_equal(server_connections(f.server), 1);
    assert_int_equal(server_inflight(f.server)->used, 0);
    (void)close(fd);
    end(&f);
}

static void
a_parked_call_is_answered_later(void **state)
{
    struct server_config config = config_of(10);
    struct http_answer a = {.status = 204};
    struct server_call *call;
    struct fixture f;
    int fd;

    (void)state;
    begin(&f, &config);
    fd = dial(&f);
    say(&f, fd, LATER PING);
    assert_string_equal(hear(&f, fd, NULL), "");
    assert_int_equal(server_inflight(f.server)->used, 2);
    pass(&f, 10 * TIMEOUT_MS); /* waiting for us is no fault of the client */
    call = server_call_find(f.server, f.ticket);
    assert_non_null(call);
    server_call_answer(call, &a);
    assert_null(server_call_find(f.server, f.ticket));
    assert_string_equal(hear(&f, fd, NULL), "204 204 ");
    assert_string_equal(f.overs, "204 ");
    assert_int_equal(server_inflight(f.server)->used, 0);
    say(&f, fd, LATER); /* the same slot, another call: the old ticket finds nothing */
    f.ticket.generation--;
    assert_null(server_call_find(f.server, f.ticket));
    f.ticket.generation++;
    assert_non_null(server_call_find(f.server, f.ticket));
    assert_null(server_call_find(f.server, (struct server_ticket){999, 1}));
    server_cut(f.server);
    assert_null(server_call_find(f.server, f.ticket));
    (void)close(fd);
    end(&f);
    assert_string_equal(f.overs, "204 0 ");
}

/* reset(fd): vanish the hard way. */
static void
reset(int fd)
{
    struct linger hard = {1, 0};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
    (void)close(fd);
}

static void
a_vanished_client_ends_its_parked_call(void **state)
{
    struct server_config config = config_of(10);
    struct http_answer a = {.status = 204};
    struct fixture f;
    int fd;

    (void)state;
    begin(&f, &config);
    fd = dial(&f);
    say(&f, fd, LATER);
    reset(fd);
    turn(&f);
    assert_null(server_call_find(f.server, f.ticket));
    assert_string_equal(f.overs, "0 ");
    assert_int_equal(server_connections(f.server), 0);

    fd = dial(&f); /* one that half closes still wants its answer */
    say(&f, fd, LATER);
    (void)shutdown(fd, SHUT_WR);
    turn(&f);
    assert_non_null(server_call_find(f.server, f.ticket));
    server_call_answer(server_call_find(f.server, f.ticket), &a);
    assert_string_equal(hear(&f, fd, NULL), "204 ");
    (void)close(fd);
    turn(&f);
    assert_int_equal(server_connections(f.server), 0);
    end(&f);
}

static void
slow_clients_get_408_and_are_closed(void **state)
{
    struct server_config config = config_of(10);
    struct fixture f;
    bool closed;
    int head, body, i;

    (void)state;
    begin(&f, &config);
    head = dial(&f);
    body = dial(&f);
    say(&f, body, WRITE("Content-Length: 50"));
    for (i = 0; i < 29; i++) { /* a byte now and then does not help */
        say(&f, head, "G");
        say(&f, body, "m");
        pass(&f, 1000);
    }
    assert_false(is_closed(&f, head));
    assert_false(is_closed(&f, body));
    pass(&f, 1001);
    assert_string_equal(hear(&f, head, &closed), "408 ");
    assert_true(closed);
    assert_string_equal(hear(&f, body, &closed), "408 ");
    assert_true(closed);
    assert_string_equal(f.overs, "408 ");
    pass(&f, 2001); /* nobody lingers for ever */
    assert_int_equal(server_connections(f.server), 0);
    (void)close(head), (void)close(body);
    end(&f);
}

static void
the_idle_are_closed_in_the_end(void **state)
{
    struct server_config config = config_of(10);
    struct fixture f;
    int fd;

    (void)state;
    begin(&f, &config);
    fd = dial(&f);
    turn(&f);
    pass(&f, 299000);
    say(&f, fd, PING);
    assert_string_equal(hear(&f, fd, NULL), "204 ");
    pass(&f, 299000);
    assert_int_equal(server_connections(f.server), 1);
    pass(&f, 1001);
    assert_int_equal(server_connections(f.server), 0);
    (void)close(fd);
    end(&f);
}

static void
a_client_that_does_not_read_holds_up_nobody(void **state)
{
    struct server_config config = config_of(10);
    struct fixture f;
    int slow, other, i;

    (void)state;
    begin(&f, &config);
    slow = dial(&f);
    other = dial(&f);
    for (i = 0; i < 8; i++)
        say(&f, slow, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    say(&f, other, PING);
    assert_string_equal(hear(&f, other, NULL), "204 ");
    assert_true(mem_live() < f.live + 60);
    pass(&f, TIMEOUT_MS + 1); /* no progress */
    assert_int_equal(server_connections(f.server), 1);
    (void)close(slow);
    (void)close(other);
    end(&f);
}

static void
the_oldest_idle_makes_room(void **state)
{
    struct server_config config = config_of(2);
    struct fixture f;
    int fd[4];

    (void)state;
    begin(&f, &config);
    fd[0] = dial(&f);
    turn(&f);
    fd[1] = dial(&f);
    turn(&f);
    say(&f, fd[0], PING); /* now fd[1] has been idle for longer */
    assert_string_equal(hear(&f, fd[0], NULL), "204 ");
    fd[2] = dial(&f);
    turn(&f);
    assert_true(is_closed(&f, fd[1]));
    say(&f, fd[0], LATER);
    say(&f, fd[2], LATER);
    fd[3] = dial(&f); /* none is idle: it waits in the queue, and nothing spins */
    say(&f, fd[3], PING);
    assert_string_equal(hear(&f, fd[3], NULL), "");
    assert_int_equal(server_connections(f.server), 2);
    (void)close(fd[2]);
    reset(fd[0]);
    turn(&f);
    assert_string_equal(hear(&f, fd[3], NULL), "204 ");
    (void)close(fd[1]);
    (void)close(fd[3]);
    end(&f);
}

/* Idle clients come and stay while others write, with descriptors for 100 connections of 256:
 * our own ends are made before the limit is set. */
static void
a_crowd_of_idle_clients_does_not_stop_the_active(void **state)
{
    enum { ACTIVE = 20, CROWD = 300 };
    struct server_config config = config_of(256);
    struct rlimit old, few;
    struct fixture f;
    int fd[ACTIVE + CROWD], i, j;

    (void)state;
    begin(&f, &config);
    for (i = 0; i < ACTIVE + CROWD; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_true(fd[i] >= 0);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)fd[ACTIVE + CROWD - 1] + 101;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (i = 0; i < ACTIVE + CROWD; i++) {
        dial_with(&f, fd[i]);
        turn(&f);
        if (i < ACTIVE)
            say(&f, fd[i], WRITE("Content-Length: 5") "m f");
        if (i % 40 != 39)
            continue;
        for (j = 0; j < ACTIVE; j++) {
            say(&f, fd[j], "=1");
            assert_string_equal(hear(&f, fd[j], NULL), "204 ");
            say(&f, fd[j], WRITE("Content-Length: 5") "m f");
        }
    }
    assert_in_range(server_connections(f.server), 90, 100);
    assert_true(is_closed(&f, fd[ACTIVE]));
    assert_false(is_closed(&f, fd[ACTIVE + CROWD - 1]));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (i = 0; i < ACTIVE + CROWD; i++)
        (void)close(fd[i]);
    end(&f);
}

static void
the_rate_is_limited_as_clients_can_bear(void **state)
{
    struct server_config config = config_of(10);
    struct fixture f;
    int fd;

    (void)state;
    config.rate_per_second = 2;
    begin(&f, &config);
    fd = dial(&f);
    say(&f, fd,
        WRITE("Content-Length: 0") WRITE("Content-Length: 0") WRITE("Content-Length: 0") PING);
    assert_string_equal(hear(&f, fd, NULL), "204 204 503 204 ");
    say(&f, fd,
        "GET /query HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /query HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /query HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(hear(&f, fd, NULL), "204 204 429 ");
    pass(&f, 500);
    say(&f, fd, WRITE("Content-Length: 0") WRITE("Content-Length: 0"));
    assert_string_equal(hear(&f, fd, NULL), "204 503 ");
    (void)close(fd);
    end(&f);
}

static void
note_drained(void *arg)
{
    struct fixture *f = arg;

    f->drained++;
}

static void
a_drain_finishes_what_is_open(void **state)
{
    struct server_config config = config_of(10);
    struct http_answer a = {.status = 204};
    struct fixture f;
    int idle, parked, half;
    bool closed;

    (void)state;
    begin(&f, &config);
    idle = dial(&f);
    parked = dial(&f);
    half = dial(&f);
    say(&f, idle, PING);
    (void)hear(&f, idle, NULL);
    say(&f, parked, LATER);
    say(&f, half, "POST /wri");
    server_drain(f.server, note_drained, &f);
    assert_true(server_is_draining(f.server));
    assert_true(is_closed(&f, idle));
    say(&f, half, "te HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assert_string_equal(hear(&f, half, &closed), "503 ");
    assert_true(closed);
    (void)close(half);
    assert_int_equal(f.drained, 0);
    server_call_answer(server_call_find(f.server, f.ticket), &a);
    assert_string_equal(hear(&f, parked, &closed), "204 ");
    assert_true(closed);
    (void)close(parked);
    turn(&f);
    assert_int_equal(f.drained, 1);
    (void)close(idle);
    end(&f);
}

static void
an_address_in_use_is_said_so(void **state)
{
    struct server_config config = config_of(10);
    struct server *second = NULL;
    struct errinfo info;
    struct fixture f;
    size_t n;
    enum err err;

    (void)state;
    begin(&f, &config);
    config.port = server_port(f.server);
    assert_int_equal(server_open(&second, f.loop, &config, routes, 5, &f, &info), ERR_IO);
    assert_non_null(strstr(info.text, "127.0.0.1"));
    config.port = 0;
    for (n = 1, err = ERR_NOMEM; err != ERR_OK && n < 50; n++) {
        mem_fail_at(n);
        err = server_open(&second, f.loop, &config, routes, 5, &f, &info);
    }
    mem_fail_at(0);
    assert_int_equal(err, ERR_OK);
    assert_in_range(n, 4, 20);
    server_close(second);
    end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_routed_and_answered),
        cmocka_unit_test(a_parked_call_is_answered_later),
        cmocka_unit_test(a_vanished_client_ends_its_parked_call),
        cmocka_unit_test(slow_clients_get_408_and_are_closed),
        cmocka_unit_test(the_idle_are_closed_in_the_end),
        cmocka_unit_test(a_client_that_does_not_read_holds_up_nobody),
        cmocka_unit_test(the_oldest_idle_makes_room),
        cmocka_unit_test(a_crowd_of_idle_clients_does_not_stop_the_active),
        cmocka_unit_test(the_rate_is_limited_as_clients_can_bear),
        cmocka_unit_test(a_drain_finishes_what_is_open),
        cmocka_unit_test(an_address_in_use_is_said_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
