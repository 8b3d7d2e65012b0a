/*
 * test_cli_commands.c: whole commands against a small server that answers as it was told and keeps
 * what it was sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli_export.h"
#include "cli/cli_ping.h"
#include "cli/cli_query.h"
#include "cli/cli_write.h"

#define REQUESTS 8

struct peer {
    int listener;
    char url[64];
    pthread_t thread;
    const char *const *answers; /* NULL behind the last: then the connection is closed */
    size_t count;               /* requests that came */
    char *requests[REQUESTS];
};

static char folder[] = "/tmp/sinkd-cli-XXXXXX";

/* One request, head and body, into ${request}; false when the client closed. */
static bool
take_request(int fd, struct buf *request)
{
    uint64_t length = 0;
    const char *head_end = NULL, *field;
    size_t whole = 0;

    buf_clear(request);
    while (head_end == NULL || buf_len(request) < whole) {
        uint8_t *room = buf_reserve(request, 4096);
        ssize_t n = room == NULL ? -1 : read(fd, room, 4095);

        if (n <= 0)
            return false;
        room[n] = '\0';
        buf_commit(request, (size_t)n);
        head_end = strstr((const char *)buf_peek(request).p, "\r\n\r\n");
        field = strstr((const char *)buf_peek(request).p, "Content-Length: ");
        if (head_end == NULL)
            continue;
        if (field != NULL && field < head_end) {
            struct slice digits = slice_of(field + 16);

            if (num_u64(slice_to(digits, slice_find(digits, '\r')), &length) != ERR_OK)
                return false;
        }
        whole = (size_t)(head_end - (const char *)buf_peek(request).p) + 4 + (size_t)length;
    }
    return true;
}

static bool
answer_one(struct peer *p, int fd, struct buf *request)
{
    const char *answer = p->answers[p->count];

    if (!take_request(fd, request) || p->count == REQUESTS)
        return false;
    p->requests[p->count++] = mem_text(buf_peek(request));
    return answer != NULL && write(fd, answer, strlen(answer)) == (ssize_t)strlen(answer) &&
           strstr(answer, "Connection: close") == NULL;
}

static void *
serve(void *arg)
{
    struct peer *p = arg;
    struct buf request;
    int fd;

    buf_init(&request, (size_t)4 << 20);
    while ((fd = accept(p->listener, NULL, NULL)) >= 0) {
        while (answer_one(p, fd, &request))
            continue;
        (void)close(fd);
    }
    buf_free(&request);
    return NULL;
}

static void
start(struct peer *p, const char *const *answers)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);

    *p = (struct peer){.answers = answers};
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(p->listener >= 0);
    assert_int_equal(bind(p->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(p->listener, 8), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(setenv("SINKD_URL", p->url, 1), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

/* Without ${count} requests the test fails. */
static void
stop(struct peer *p, size_t count)
{
    (void)shutdown(p->listener, SHUT_RDWR);
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    (void)close(p->listener);
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->requests[i]);
    assert_int_equal(p->count, count);
    assert_int_equal(mem_live(), 0);
}

static void
put_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void
get_file(const char *name, char text[8192])
{
    FILE *f = fopen(name, "r");

    assert_non_null(f);
    text[fread(text, 1, 8191, f)] = '\0';
    assert_int_equal(fclose(f), 0);
}

struct run {
    int code;
    char out[8192], err[8192];
};

/* Run a command with its output kept and standard input from the file "in". */
static void
run(struct run *r, int (*command)(int, char **), int argc, char **argv)
{
    static const char *const names[] = {"in", "out", "err"};
    int saved[3];

    for (int fd = 0; fd < 3; fd++) {
        int file = open(names[fd], fd == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);

        saved[fd] = dup(fd);
        if (saved[fd] < 0 || dup2(file, fd) != fd)
            abort();
        (void)close(file);
    }
    r->code = command(argc, argv);
    for (int fd = 0; fd < 3; fd++) {
        if (dup2(saved[fd], fd) != fd)
            abort();
        (void)close(saved[fd]);
    }
    get_file("out", r->out);
    get_file("err", r->err);
}

static void
expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

#define W(text) \
    (char[])    \
    {           \
        text    \
    }
#define ANSWER(status, fields, body, length) \
    "HTTP/1.1 " status "\r\n" fields "Content-Length: " length "\r\n\r\n" body

static const char no_content[] = "HTTP/1.1 204 No Content\r\n\r\n";

static void
test_write_waits_and_names_refused_lines(void **state)
{
    static const char *const answers[] = {
        ANSWER("503 Service Unavailable", "Retry-After: 0\r\n", "{\"error\":\"full\"}", "16"),
        ANSWER(
            "400 Bad Request", "",
            "{\"error\":\"partial write: unable to parse 'bad': missing fields (line 3) dropped=1\"}",
            "83"),
        NULL,
    };
    char *argv[] = {W("write"), W("--db"), W("d b"), W("--precision=s"), W("points"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    put_file("points", "# one\nm f=1 1\nbad\nm f=2 2\n");
    start(&p, answers);
    run(&r, cli_write_main, 5, argv);
    assert_int_equal(r.code, 1);
    expect_part(p.requests[0], "POST /write?db=d%20b&precision=s HTTP/1.1\r\n");
    expect_part(p.requests[1], "\r\n\r\n# one\nm f=1 1\nbad\nm f=2 2\n");
    expect_part(r.err, "sinkd: waiting: full\n");
    expect_part(r.err, "sinkd: points:3: partial write: unable to parse 'bad': missing fields\n");
    expect_part(r.err, "1 point was refused");
    expect_part(r.out, "2 points written in ");
    stop(&p, 2);
}

static void
test_write_goes_on_after_a_refusal(void **state)
{
    static const char *const answers[] = {
        ANSWER(
            "400 Bad Request", "",
            "{\"error\":\"partial write: unable to parse 'x': missing fields (line 2) dropped=2\"}",
            "81"),
        no_content,
        NULL,
    };
    char *argv[] = {W("write"), W("--db"), W("d"), W("-"), NULL};
    struct peer p;
    struct run r;
    struct buf in;

    (void)state;
    buf_init(&in, (size_t)1 << 20);
    for (int i = 0; i < 5001; i++)
        assert_int_equal(buf_add_text(&in, i == 1 || i == 9 ? "x\n" : "m f=1\n"), ERR_OK);
    assert_int_equal(buf_add_byte(&in, '\0'), ERR_OK);
    put_file("in", (const char *)buf_peek(&in).p);
    buf_free(&in);
    start(&p, answers);
    run(&r, cli_write_main, 4, argv);
    assert_int_equal(r.code, 1);
    expect_part(p.requests[1], "\r\n\r\nm f=1\n");
    expect_part(r.err, "standard input:2: ");
    expect_part(r.err, "(the first of 2 refused points)");
    expect_part(r.out, "4999 points written in ");
    stop(&p, 2);
}

static void
test_write_stops_where_it_must(void **state)
{
    static const char *const answers[] = {
        ANSWER("401 Unauthorized", "", "{\"error\":\"authorization failed\"}", "32"),
        NULL,
    };
    char *argv[] = {W("write"), W("--db"), W("d"), W("-u"), W("me"), W("points"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    put_file("points", "m f=1\n");
    assert_int_equal(setenv("SINKD_PASSWORD", "CANARY", 1), 0);
    start(&p, answers);
    run(&r, cli_write_main, 6, argv);
    assert_int_equal(unsetenv("SINKD_PASSWORD"), 0);
    assert_int_equal(r.code, 1);
    expect_part(p.requests[0], "\r\nAuthorization: Basic bWU6Q0FOQVJZ\r\n");
    expect_part(r.err, "sinkd: authorization failed\n");
    expect_part(r.err, "begins at line 1 is not confirmed");
    assert_null(strstr(r.err, "CANARY"));
    expect_part(r.out, "0 points written");
    stop(&p, 1);
}

static void
test_write_of_a_lost_answer_is_not_repeated(void **state)
{
    static const char *const answers[] = {NULL};
    char *argv[] = {W("write"), W("--db"), W("d"), W("points"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    put_file("points", "m f=1\n");
    start(&p, answers);
    run(&r, cli_write_main, 4, argv);
    assert_int_equal(r.code, 1);
    expect_part(r.err, "line 1 is not confirmed");
    stop(&p, 1);
}

static void
test_query(void **state)
{
    static const char *const answers[] = {
        ANSWER("200 OK", "Content-Type: application/json\r\n",
               "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"databases\",\"columns\":"
               "[\"name\"],\"values\":[[\"d\"]]}]},{\"statement_id\":1,\"error\":\"no\"}]}",
               "132"),
        NULL,
    };
    char *argv[] = {W("query"), W("SHOW DATABASES; X+Y"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    start(&p, answers);
    run(&r, cli_query_main, 2, argv);
    assert_int_equal(r.code, 1);
    expect_part(p.requests[0], "POST /query HTTP/1.1\r\n");
    expect_part(p.requests[0], "\r\n\r\nq=SHOW%20DATABASES%3B%20X%2BY");
    assert_string_equal(r.out, "name: databases\nname\n----\nd\n");
    assert_string_equal(r.err, "sinkd: no\n");
    stop(&p, 1);
}

static void
test_query_of_something_else(void **state)
{
    static const char *const answers[] = {
        ANSWER("404 Not Found", "Connection: close\r\n", "404 page \x1b[2J not here\nmore", "27"),
        NULL,
    };
    char *argv[] = {W("query"), W("SHOW SINKS"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    start(&p, answers);
    run(&r, cli_query_main, 2, argv);
    assert_int_equal(r.code, 1);
    assert_string_equal(r.err, "sinkd: 404 page \\x1b[2J not here\n");
    stop(&p, 1);
}

static void
test_ping(void **state)
{
    static const char *const answers[] = {
        ANSWER("200 OK", "", "{\"message\":\"ready\",\"status\":\"pass\"}", "35"),
        ANSWER("503 Service Unavailable", "", "{\"message\":\"full\",\"status\":\"fail\"}", "34"),
        NULL,
    };
    char *argv[] = {W("ping"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    start(&p, answers);
    run(&r, cli_ping_main, 1, argv);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "pass: ready\n");
    run(&r, cli_ping_main, 1, argv);
    assert_int_equal(r.code, 1);
    assert_string_equal(r.err, "sinkd: fail: full\n");
    stop(&p, 2);
    run(&r, cli_ping_main, 1, argv);
    assert_int_equal(r.code, 1);
    expect_part(r.err, "cannot connect");
}

static void
test_export(void **state)
{
    static const char *const answers[] = {
        ANSWER("200 OK", "",
               "{\"results\":[{\"series\":[{\"name\":\"sinks\",\"columns\":[\"name\"],\"values\":"
               "[[\"a\\\"b\"],[\"gone\"]]}]}]}",
               "91"),
        ANSWER("200 OK", "",
               "{\"results\":[{\"series\":[{\"columns\":[\"property\",\"value\"],\"values\":"
               "[[\"name\",\"a\"],[\"create\",\"CREATE SINK a;\\n\"]]}]}]}",
               "113"),
        ANSWER("200 OK", "", "{\"results\":[{\"error\":\"sink not found\"}]}", "40"),
        NULL,
    };
    char *argv[] = {W("export"), NULL};
    struct peer p;
    struct run r;

    (void)state;
    start(&p, answers);
    run(&r, cli_export_main, 1, argv);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    expect_part(p.requests[1], "q=SHOW%20SINK%20%22a%5C%22b%22");
    expect_part(r.out, "CREATE SINK a;\n");
    stop(&p, 3);
}

static int
set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    put_file("in", "");
    return unsetenv("SINKD_USER");
}

static int
tear_down(void **state)
{
    (void)state;
    (void)unlink("in");
    (void)unlink("out");
    (void)unlink("err");
    (void)unlink("points");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_waits_and_names_refused_lines),
        cmocka_unit_test(test_write_goes_on_after_a_refusal),
        cmocka_unit_test(test_write_stops_where_it_must),
        cmocka_unit_test(test_write_of_a_lost_answer_is_not_repeated),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_query_of_something_else),
        cmocka_unit_test(test_ping),
        cmocka_unit_test(test_export),
    };

    return cmocka_run_group_tests_name("cli commands", tests, set_up, tear_down);
}
