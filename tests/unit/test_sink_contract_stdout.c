/*
 * test_sink_contract_stdout.c: stdout keeps the contract of sinks, before readers of all kinds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sink/stdout_sink.h"
#include "support/sink_contract.h"
#include "support/sink_drive.h"
#include "support/stdout_peer.h"

static struct stdout_peer peer;

/* ---- the contract ---- */

static void
define(void *p, struct sink_def *def)
{
    (void)p;
    sink_drive_def(def, "stdout", NULL, NULL);
}

static void
begin(void *p)
{
    stdout_peer_start(p);
}

static void
end(void *p)
{
    stdout_peer_stop(p);
}

/* A pipe takes without a word what fits into it: "after" has no meaning here. */
static void
set_mood(void *p, enum contract_mood mood, unsigned after)
{
    switch (mood) {
    case CONTRACT_CONFIRMS:
        stdout_peer_back(p);
        stdout_peer_silence(p, false);
        break;
    case CONTRACT_BREAKS:
        if (after == 0)
            stdout_peer_leave(p);
        break;
    case CONTRACT_SILENT:
        stdout_peer_silence(p, true);
        break;
    case CONTRACT_ABSENT:
        break;
    }
}

static unsigned
taken(void *p, uint64_t value)
{
    char needle[32];

    (void)snprintf(needle, sizeof(needle), " v=%llui ", (unsigned long long)value);
    return stdout_peer_lines(p, needle);
}

/* ---- what is its own ---- */

struct stage {
    struct sink_def def;
    struct sink_env env;
    struct wake wake;
    struct sink *sink;
    struct round round;
    struct outcome outcome;
    struct errinfo info;
    bool stop;
};

static bool
stopped(void *arg)
{
    return ((struct stage *)arg)->stop;
}

static void
raise_curtain(struct stage *s, const char *const *options)
{
    memset(s, 0, sizeof(*s));
    stdout_peer_start(&peer);
    sink_drive_def(&s->def, "stdout", NULL, options);
    assert_int_equal(wake_open(&s->wake, NULL), ERR_OK);
    s->env.stream.clock = &clock_system;
    s->env.stream.wake = &s->wake;
    s->env.stream.stopped = s->env.stream.aborted = stopped;
    s->env.stream.arg = s;
    round_init(&s->round);
    assert_int_equal(stdout_sink.open(&s->sink, &s->def, &s->env, &s->info), ERR_OK);
}

static void
drop_curtain(struct stage *s)
{
    stdout_sink.close(s->sink);
    sink_def_free(&s->def);
    round_free(&s->round);
    wake_close(&s->wake);
    stdout_peer_stop(&peer);
    assert_int_equal(mem_live(), 0);
}

static enum err
deliver(struct stage *s)
{
    return stdout_sink.deliver(s->sink, &s->round, 0, s->round.points.count, &s->outcome, &s->info);
}

static void
lines_with_their_timestamps(void **state)
{
    static const char *const options[] = {"precision", "s", NULL};
    struct stage s;

    (void)state;
    raise_curtain(&s, options);
    sink_drive_add(&s.round, 5, "db", "", "m", "m,a=b f=\"x y\"");
    sink_drive_add(&s.round, 6, "db", "", "m", "m v=1");
    assert_int_equal(deliver(&s), ERR_OK);
    assert_int_equal(stdout_peer_lines(&peer, "m,a=b f=\"x y\" 5"), 1);
    assert_int_equal(stdout_peer_size(&peer), strlen("m,a=b f=\"x y\" 5\nm v=1 6\n"));
    drop_curtain(&s);
}

static void
a_reader_that_left_blocks_the_sink(void **state)
{
    struct stage s;

    (void)state;
    raise_curtain(&s, NULL);
    sink_drive_round(&s.round, 1, 3);
    stdout_peer_leave(&peer);
    assert_int_equal(deliver(&s), ERR_IO);
    assert_int_equal(s.outcome.what, DELIVERY_TARGET);
    assert_non_null(strstr(s.info.text, "cannot write to standard output: "));
    assert_int_equal(round_count(&s.round, 0, 3, VERDICT_OPEN), 3);
    stdout_peer_back(&peer);
    assert_int_equal(deliver(&s), ERR_OK);
    assert_int_equal(stdout_peer_lines(&peer, "m,t=a"), 3);
    drop_curtain(&s);
}

static bool
stops_when_the_pipe_is_full(void *arg)
{
    struct stage *s = arg;

    return ++s->info.sys > 14; /* each piece asks once: some were written by then */
}

/* A line that is longer than a pipe, whose reader stalls in its middle. */
static void
begin_a_long_line(struct stage *s, char *line, size_t n)
{
    memset(line, 'x', n);
    memcpy(line, "m s=\"", 5);
    memcpy(line + n - 2, "\"", 2);
    sink_drive_add(&s->round, 1, "db", "", "m", line);
    sink_drive_add(&s->round, 2, "db", "", "m", "m v=2");
    stdout_peer_silence(&peer, true);
    s->env.stream.aborted = stops_when_the_pipe_is_full;
}

static void
half_a_line_is_completed_not_repeated(void **state)
{
    static char line[200000];
    struct stage s;

    (void)state;
    raise_curtain(&s, NULL);
    begin_a_long_line(&s, line, sizeof(line));
    assert_int_equal(deliver(&s), ERR_STOP);
    assert_in_range(stdout_peer_size(&peer), 1, sizeof(line) - 1);
    s.sink->type->disconnect(s.sink);
    s.env.stream.aborted = stopped;
    stdout_peer_silence(&peer, false);
    assert_int_equal(deliver(&s), ERR_OK);
    assert_int_equal(stdout_peer_size(&peer),
                     strlen(line) + strlen(" 1000000000\nm v=2 2000000000\n"));
    assert_int_equal(stdout_peer_lines(&peer, ""), 2);
    drop_curtain(&s);
}

static void
half_a_line_whose_point_is_gone_is_ended(void **state)
{
    static char line[200000];
    struct stage s;

    (void)state;
    raise_curtain(&s, NULL);
    begin_a_long_line(&s, line, sizeof(line));
    assert_int_equal(deliver(&s), ERR_STOP);
    round_skip_to(&s.round, 1);
    s.env.stream.aborted = stopped;
    stdout_peer_silence(&peer, false);
    assert_int_equal(deliver(&s), ERR_OK);
    assert_int_equal(stdout_peer_lines(&peer, "m v=2 2000000000"), 1);
    assert_int_equal(stdout_peer_lines(&peer, ""), 2);
    drop_curtain(&s);
}

int
main(void)
{
    const struct sink_contract contract = {
        .name = "stdout",
        .peer = &peer,
        .connects = false,
        .begin = begin,
        .end = end,
        .define = define,
        .set_mood = set_mood,
        .taken = taken,
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_with_their_timestamps),
        cmocka_unit_test(a_reader_that_left_blocks_the_sink),
        cmocka_unit_test(half_a_line_is_completed_not_repeated),
        cmocka_unit_test(half_a_line_whose_point_is_gone_is_ended),
    };
    int failed;

    (void)signal(SIGPIPE, SIG_IGN); /* a runner's thread has it blocked */
    failed = sink_contract_run(&contract);
    return failed + cmocka_run_group_tests_name("stdout, its own", tests, NULL, NULL);
}
