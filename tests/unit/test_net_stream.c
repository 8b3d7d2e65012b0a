/*
 * test_net_stream.c: addresses and streams over real loopback connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/addr.h"
#include "net/sock.h"
#include "net/stream.h"

static const struct stream_env plain_env = {.clock = &clock_system};

static int64_t
in_ms(int64_t ms)
{
    return clock_mono_ms(&clock_system) + ms;
}

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

/* A connected pair: a stream and the descriptor of its peer. */
static void
pair(struct stream **s, int *peer, const struct stream_env *env)
{
    int from = listener();
    struct stream_target to = {.host = SLICE("127.0.0.1"), .port = port_of(from)};

    assert_int_equal(stream_connect(s, env, &to, in_ms(5000), NULL), ERR_OK);
    *peer = accepted(from);
    (void)close(from);
}

static struct addr
made(const char *host)
{
    struct addr_list list;

    assert_int_equal(addr_resolve(&list, &plain_env, slice_of(host), 8086, in_ms(1000), NULL),
                     ERR_OK);
    assert_int_equal(list.count, 1);
    return list.list[0];
}

static void
numeric_addresses(void **state)
{
    static const struct {
        const char *host, *text;
        int loopback;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1:8086", 0},
        {"127.0.0.1", "127.0.0.1:8086", 1},
        {"127.255.0.9", "127.255.0.9:8086", 1},
        {"128.0.0.1", "128.0.0.1:8086", 0},
        {"2001:db8::1", "[2001:db8::1]:8086", 0},
        {"::1", "[::1]:8086", 1},
        {"::ffff:127.0.0.1", "[::ffff:127.0.0.1]:8086", 1},
        {"::ffff:10.0.0.1", "[::ffff:10.0.0.1]:8086", 0},
    };
    char text[ADDR_TEXT];
    struct addr a;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        a = made(cases[i].host);
        assert_string_equal(addr_text(text, &a), cases[i].text);
        assert_int_equal(addr_is_loopback(&a), cases[i].loopback);
    }
    memset(&a, 0, sizeof(a));
    assert_string_equal(addr_text(text, &a), "?");
    assert_int_equal(addr_is_loopback(&a), 0);
}

/* Waits for threads that were left behind: they let go of their memory when their look-up ends. */
static void
wait_for_no_memory(void)
{
    int i;

    for (i = 0; i < 3000 && mem_live() > 0; i++)
        assert_int_equal(stream_pause(&plain_env, in_ms(10)), ERR_TIMEOUT);
    assert_int_equal(mem_live(), 0);
}

static void
names_are_looked_up(void **state)
{
    struct addr_list list;
    struct errinfo info;
    char longest[300];
    size_t i;

    (void)state;
    assert_int_equal(addr_resolve(&list, &plain_env, SLICE("localhost"), 80, in_ms(10000), &info),
                     ERR_OK);
    assert_true(list.count > 0);
    for (i = 0; i < list.count; i++)
        assert_true(addr_is_loopback(&list.list[i]));
    assert_int_equal(addr_resolve(&list, &plain_env, SLICE(""), 80, in_ms(1000), &info), ERR_NAME);
    assert_int_equal(addr_resolve(&list, &plain_env, SLICE("a\0b"), 80, in_ms(1000), &info),
                     ERR_NAME);
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(
        addr_resolve(&list, &plain_env, slice_make(longest, 254), 80, in_ms(1000), &info),
        ERR_NAME);
    /* 253 bytes in one label: refused by every resolver without a question to a server */
    assert_int_equal(
        addr_resolve(&list, &plain_env, slice_make(longest, 253), 80, in_ms(10000), &info),
        ERR_NAME);
    wait_for_no_memory();
}

static void
a_look_up_can_be_left_behind(void **state)
{
    struct wake w;
    struct stream_env env = {.clock = &clock_system, .wake = &w};
    struct addr_list list;
    struct errinfo info;
    enum err err;
    int i;

    (void)state;
    assert_int_equal(wake_open(&w, NULL), ERR_OK);
    wake_signal(&w);
    for (i = 0; i < 50; i++) {
        /* woken: a stop wins over a result that is there already */
        assert_int_equal(addr_resolve(&list, &env, SLICE("localhost"), 80, in_ms(5000), &info),
                         ERR_STOP);
        /* out of time before it began: left behind, or taken up from the call before and done */
        err = addr_resolve(&list, &plain_env, SLICE("localhost"), 80, 0, &info);
        assert_true(err == ERR_TIMEOUT || err == ERR_OK);
    }
    assert_int_equal(addr_resolve(&list, &plain_env, SLICE("localhost"), 80, in_ms(5000), &info),
                     ERR_OK);
    wait_for_no_memory();
    wake_close(&w);
}

static void *
look_up_often(void *arg)
{
    struct addr_list list;
    int i;

    for (i = 0; i < 40; i++) {
        enum err err = addr_resolve(&list, &plain_env, SLICE("localhost"), 80,
                                    in_ms(i % 2 == 0 ? 0 : 5000), NULL);

        if (err != ERR_OK && err != ERR_TIMEOUT)
            *(int *)arg = 1;
    }
    return NULL;
}

static void
look_ups_from_many_threads(void **state)
{
    pthread_t t[4];
    int bad[4] = {0};
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, look_up_often, &bad[i]), 0);
    for (i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(t[i], NULL), 0);
        assert_int_equal(bad[i], 0);
    }
    wait_for_no_memory();
}

static void
bytes_go_both_ways(void **state)
{
    struct stream *s;
    struct slice parts[] = {SLICE("one "), SLICE(""), SLICE("two "), SLICE("three")};
    uint8_t in[64];
    size_t got;
    int peer;

    (void)state;
    pair(&s, &peer, &plain_env);
    assert_int_equal(stream_write(s, parts, 4, in_ms(1000), NULL), ERR_OK);
    assert_int_equal(stream_write(s, parts, 0, in_ms(1000), NULL), ERR_OK);
    assert_int_equal(recv(peer, in, sizeof(in), 0), 13);
    assert_memory_equal(in, "one two three", 13);

    assert_int_equal(stream_wait(s, 0, NULL), ERR_TIMEOUT);
    assert_int_equal(stream_read(s, in, sizeof(in), &got, in_ms(20), NULL), ERR_TIMEOUT);
    assert_int_equal(send(peer, "answer", 6, 0), 6);
    assert_int_equal(stream_wait(s, in_ms(1000), NULL), ERR_OK);
    assert_int_equal(stream_read(s, in, 4, &got, 0, NULL), ERR_OK);
    assert_int_equal(got, 4);
    assert_int_equal(stream_read(s, in, 4, &got, 0, NULL), ERR_OK);
    assert_int_equal(got, 2);
    (void)close(peer);
    assert_int_equal(stream_wait(s, in_ms(1000), NULL), ERR_OK);
    assert_int_equal(stream_read(s, in, 4, &got, in_ms(1000), NULL), ERR_EOF);
    stream_close(s);
    stream_close(NULL);
    assert_int_equal(mem_live(), 0);
}

static void *
read_slowly(void *arg)
{
    static uint8_t piece[30000];
    int fd = *(int *)arg;
    size_t total = 0;
    ssize_t n = 1;

    while (n != 0) {
        struct pollfd p = {fd, POLLIN, 0};

        (void)poll(&p, 1, 5000);
        n = recv(fd, piece, sizeof(piece), 0);
        if (n > 0)
            total += (size_t)n;
        else if (n == -1 && errno != EAGAIN)
            break;
    }
    *(int *)arg = (int)total;
    return NULL;
}

static void
a_large_write_waits_for_a_slow_reader(void **state)
{
    static uint8_t big[1500000];
    struct slice parts[3];
    struct stream *s;
    pthread_t t;
    int peer, fd;
    size_t i;

    (void)state;
    pair(&s, &peer, &plain_env);
    fd = peer;
    for (i = 0; i < 3; i++)
        parts[i] = slice_make(big, sizeof(big));
    assert_int_equal(pthread_create(&t, NULL, read_slowly, &peer), 0);
    assert_int_equal(stream_write(s, parts, 3, in_ms(20000), NULL), ERR_OK);
    stream_close(s);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(peer, 3 * (int)sizeof(big));
    (void)close(fd);
}

static void
a_write_to_nobody_times_out(void **state)
{
    static uint8_t big[32000000];
    struct slice part = {big, sizeof(big)};
    struct errinfo info;
    struct stream *s;
    int peer;

    (void)state;
    pair(&s, &peer, &plain_env);
    assert_int_equal(stream_write(s, &part, 1, in_ms(50), &info), ERR_TIMEOUT);
    assert_non_null(strstr(info.text, "127.0.0.1:"));
    stream_close(s);
    (void)close(peer);
}

static void
a_reset_is_an_error_and_no_signal(void **state)
{
    static const struct linger reset = {1, 0};
    struct slice part = SLICE("x");
    struct errinfo info;
    struct stream *s;
    uint8_t in[4];
    size_t got;
    enum err err;
    int peer;

    (void)state;
    pair(&s, &peer, &plain_env);
    assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    (void)close(peer);
    assert_int_equal(stream_read(s, in, sizeof(in), &got, in_ms(5000), &info), ERR_IO);
    assert_int_equal(info.sys, ECONNRESET);
    err = stream_write(s, &part, 1, in_ms(1000), &info); /* would be SIGPIPE */
    assert_true(err == ERR_EOF || err == ERR_IO);
    stream_close(s);
}

static bool answer_stop, answer_abort;
static int asked;

static bool
stopped(void *arg)
{
    (void)arg;
    asked++;
    return answer_stop;
}

static bool
aborted(void *arg)
{
    (void)arg;
    return answer_abort;
}

static void
a_wake_ends_waits_as_its_owner_says(void **state)
{
    static uint8_t big[32000000];
    struct slice part = {big, sizeof(big)};
    struct wake w;
    struct stream_env env = {.clock = &clock_system, .wake = &w};
    struct stream *s;
    uint8_t in[4];
    size_t got;
    int peer;

    (void)state;
    assert_int_equal(wake_open(&w, NULL), ERR_OK);
    pair(&s, &peer, &env);
    wake_signal(&w);
    assert_int_equal(stream_read(s, in, sizeof(in), &got, in_ms(5000), NULL), ERR_STOP);
    assert_int_equal(stream_wait(s, in_ms(5000), NULL), ERR_STOP); /* nobody drained it */
    assert_int_equal(stream_pause(&env, in_ms(5000)), ERR_STOP);
    assert_int_equal(stream_write(s, &part, 1, in_ms(50), NULL), ERR_TIMEOUT); /* not interrupted */
    wake_drain(&w);
    assert_int_equal(stream_pause(&env, in_ms(10)), ERR_TIMEOUT);

    env.stopped = stopped;
    env.aborted = aborted;
    answer_stop = answer_abort = false;
    wake_signal(&w);
    asked = 0;
    assert_int_equal(stream_wait(s, in_ms(30), NULL), ERR_TIMEOUT); /* woken, asked, waited on */
    assert_int_equal(asked, 2);
    answer_stop = true; /* a stop whose wake is gone already is seen too */
    assert_int_equal(stream_read(s, in, sizeof(in), &got, in_ms(5000), NULL), ERR_STOP);
    assert_int_equal(stream_write(s, &part, 1, in_ms(30), NULL), ERR_TIMEOUT);
    answer_abort = true;
    wake_signal(&w);
    assert_int_equal(stream_write(s, &part, 1, in_ms(5000), NULL), ERR_STOP);
    stream_close(s);
    (void)close(peer);
    wake_close(&w);
}

static bool
aborted_when_asked_again(void *arg)
{
    (void)arg;
    asked++;
    return asked > 2;
}

static bool
counts_and_goes_on(void *arg)
{
    (void)arg;
    asked++;
    return false;
}

/*
 * A write while the owner wants every wake for itself: what the wake was about is the owner's to
 * see when the write is over, so it stays in the pipe; an abort is seen all the same, even when its
 * own wake meets a pipe that is readable already, and the wait for it takes no turns in between.
 */
static void
a_write_leaves_the_wakes_of_an_idle_owner(void **state)
{
    static uint8_t big[32000000];
    struct slice part = {big, sizeof(big)};
    struct wake w;
    struct stream_env env = {.clock = &clock_system, .wake = &w, .aborted = aborted};
    struct stream *s;
    int64_t start;
    int peer;

    (void)state;
    assert_int_equal(wake_open(&w, NULL), ERR_OK);
    pair(&s, &peer, &env);
    answer_abort = false;
    wake_signal(&w);
    assert_int_equal(stream_write(s, &part, 1, in_ms(30), NULL), ERR_TIMEOUT);
    assert_int_equal(stream_pause(&env, in_ms(5000)), ERR_STOP);
    env.aborted = aborted_when_asked_again; /* when the write starts, at the old wake, and later */
    asked = 0;
    start = clock_mono_ms(&clock_system);
    assert_int_equal(stream_write(s, &part, 1, in_ms(20000), NULL), ERR_STOP);
    assert_true(clock_mono_ms(&clock_system) - start < 5000);
    assert_int_equal(stream_pause(&env, in_ms(5000)), ERR_STOP);
    env.aborted = counts_and_goes_on;
    asked = 0;
    assert_int_equal(stream_write(s, &part, 1, in_ms(300), NULL), ERR_TIMEOUT);
    assert_in_range(asked, 3, 40);
    stream_close(s);
    (void)close(peer);
    wake_close(&w);
}

static void
one_of_several_streams_is_ready(void **state)
{
    struct stream *s[3];
    size_t ready = 9;
    int peer[3], i;

    (void)state;
    for (i = 0; i < 3; i++)
        pair(&s[i], &peer[i], &plain_env);
    assert_int_equal(stream_wait_any(s, 3, &ready, in_ms(20), NULL), ERR_TIMEOUT);
    assert_int_equal(ready, 9);
    assert_int_equal(send(peer[2], "x", 1, 0), 1);
    assert_int_equal(stream_wait_any(s, 3, &ready, in_ms(5000), NULL), ERR_OK);
    assert_int_equal(ready, 2);
    (void)close(peer[1]);
    assert_int_equal(stream_wait_any(s, 3, &ready, in_ms(5000), NULL), ERR_OK);
    assert_int_equal(ready, 1);
    for (i = 0; i < 3; i++)
        stream_close(s[i]);
    (void)close(peer[0]);
    (void)close(peer[2]);
}

static void
connecting_fails_in_words(void **state)
{
    int from = listener();
    struct stream_target to = {.host = SLICE("127.0.0.1"), .port = port_of(from)};
    struct stream *s = NULL;
    struct errinfo info;

    (void)state;
    (void)close(from); /* nobody listens there now */
    assert_int_equal(stream_connect(&s, &plain_env, &to, in_ms(5000), &info), ERR_IO);
    assert_int_equal(info.sys, ECONNREFUSED);
    assert_non_null(strstr(info.text, "127.0.0.1:"));
    to.host = SLICE("localhost"); /* every address of it is tried */
    assert_int_equal(stream_connect(&s, &plain_env, &to, in_ms(5000), &info), ERR_IO);
    assert_non_null(strstr(info.text, "localhost:"));
    to.host = SLICE("");
    assert_int_equal(stream_connect(&s, &plain_env, &to, in_ms(5000), &info), ERR_NAME);
    assert_null(s);
    wait_for_no_memory();
}

static void
a_full_backlog_times_out(void **state)
{
    struct stream *s[300];
    struct stream_target to;
    struct errinfo info;
    int from = listener();
    enum err err = ERR_OK;
    size_t n = 0;

    (void)state;
    assert_int_equal(listen(from, 0), 0);
    to = (struct stream_target){.host = SLICE("127.0.0.1"), .port = port_of(from)};
    while (err == ERR_OK && n < 300) {
        err = stream_connect(&s[n], &plain_env, &to, in_ms(100), &info);
        n += err == ERR_OK;
    }
    assert_int_equal(err, ERR_TIMEOUT);
    assert_non_null(strstr(info.text, "too long"));
    while (n > 0)
        stream_close(s[--n]);
    (void)close(from);
}

static void
connecting_survives_any_failed_allocation(void **state)
{
    int from = listener();
    struct stream_target to = {.host = SLICE("localhost"), .port = port_of(from)};
    struct stream *s = NULL;
    enum err err = ERR_NOMEM;
    size_t n;

    (void)state;
    for (n = 1; err != ERR_OK; n++) {
        mem_fail_at(n);
        err = stream_connect(&s, &plain_env, &to, in_ms(5000), NULL);
        mem_fail_at(0);
        assert_true(err == ERR_OK || err == ERR_NOMEM);
        if (err != ERR_OK)
            wait_for_no_memory();
    }
    assert_true(n > 2);
    stream_close(s);
    wait_for_no_memory();
    (void)close(from);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_addresses),
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(a_look_up_can_be_left_behind),
        cmocka_unit_test(look_ups_from_many_threads),
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(a_large_write_waits_for_a_slow_reader),
        cmocka_unit_test(a_write_to_nobody_times_out),
        cmocka_unit_test(a_reset_is_an_error_and_no_signal),
        cmocka_unit_test(a_wake_ends_waits_as_its_owner_says),
        cmocka_unit_test(a_write_leaves_the_wakes_of_an_idle_owner),
        cmocka_unit_test(one_of_several_streams_is_ready),
        cmocka_unit_test(connecting_fails_in_words),
        cmocka_unit_test(a_full_backlog_times_out),
        cmocka_unit_test(connecting_survives_any_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
