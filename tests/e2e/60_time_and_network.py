"""Clocks that jump, links that flap, names that move, sinks that lag."""

import contextlib
import ctypes
import os
import random
import subprocess
import time

import account
import load
from harness import *
from harness import SLOW
from http_sink import HttpSink, Reply
from peers import Judge, bench, repeated

QUICK = {"storage": {"cursor_delay_ms": 50}}

# Adds the seconds in the file $CLOCK_STEP to the wall clock of the process.
STEPPED_CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long long step(void)
{
    char text[32] = {0};
    int fd = open(getenv("CLOCK_STEP"), O_RDONLY);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof(text) - 1) < 0) text[0] = 0;
    close(fd);
    return atoll(text);
}
int clock_gettime(clockid_t id, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, id, t);
    if (rc == 0 && id == CLOCK_REALTIME) t->tv_sec += step();
    return (int)rc;
}
time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}
int gettimeofday(struct timeval *v, void *zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    v->tv_sec = t.tv_sec;
    v->tv_usec = t.tv_nsec / 1000;
    return 0;
}
"""


def stepped_clock():
    """The environment of a daemon whose wall clock set_clock() sets; None where the loader has no say."""
    with open("clock.c", "w", encoding="ascii") as file:
        file.write(STEPPED_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", "clock.so", "clock.c"], check=True)
    set_clock(0)
    return {"LD_PRELOAD": os.path.abspath("clock.so"), "CLOCK_STEP": os.path.abspath("clock.step")}


def set_clock(seconds):
    with open("clock.new", "w", encoding="ascii") as file:
        file.write("%d" % seconds)
    os.rename("clock.new", "clock.step")


def is_dynamic():
    with open(os.environ["SINKD"], "rb") as file:
        return b"ld-linux" in file.read(4096) or b"ld-musl" in file.read(4096)


def test_the_wall_clock_jumps():
    """Three months ahead, a day back, to 1970: connections stay, waits stay, nothing expires."""
    if not is_dynamic():
        print("a static binary: its clock cannot be set")
        return
    config = {"storage": {"cursor_delay_ms": 50, "max_age_secs": 3600},
              "sink": {"backoff_base_secs": 1, "backoff_max_secs": 1, "max_lag_secs": 3600}}
    with bench(Daemon(config, env=stepped_clock())) as b:
        peer = b.add("s", HttpSink())
        down = b.add("down", HttpSink(Reply(500)))
        count = 0
        for jump in (0, 90 * 86400, -86400, -int(time.time()) + 100, 0, 10 * 365 * 86400):
            set_clock(jump)
            b.write(["m v=%di %d" % (count, count)])
            b.d.write("m,own=time v=1i")
            count += 2
            account.balanced(b.d, "s", accepted=count, forwarded=count)
            before = len(down.requests)
            wait_until(lambda: len(down.requests) > before, "the next try", 4)
            equal(b.d.http("GET", "/health").status, 200, "/health")
            stamp = int([l for l in peer.lines() if b"own" in l][-1].split()[-1])
            if abs(stamp / 1e9 - (time.time() + jump)) > 60:
                fail("a point is stamped %d after a jump of %d s" % (stamp, jump))
        equal(peer.connections, 1, "connections")
        equal(b.d.sink("s")["errors"], 0, "errors")
        account.balanced(b.d, "down", accepted=count, pending=count)
        down.default = Reply(204)
        account.balanced(b.d, "down", accepted=count, forwarded=count)


def test_age_over_a_restart_in_1970():
    """What an earlier run accepted does not expire because the clock was wrong at boot."""
    if not is_dynamic():
        print("a static binary: its clock cannot be set")
        return
    config = {"storage": {"cursor_delay_ms": 50, "max_age_secs": 1000}}
    with bench(Daemon(config, env=stepped_clock())) as b:
        b.add("s", HttpSink(Reply(500)))
        set_clock(-int(time.time()) + 5)
        b.d.restart()
        b.write(["m v=%di %d" % (i, i) for i in range(10)])
        set_clock(0)
        b.d.restart()
        b.write(["m v=%di %d" % (i, i) for i in range(10, 20)])
        set_clock(-int(time.time()) + 5)
        b.d.restart()
        set_clock(0)
        time.sleep(1.5)
        account.balanced(b.d, "s", accepted=20, pending=20)
        b.peers["s"].default = Reply(204)
        account.balanced(b.d, "s", accepted=20, forwarded=20)
        equal(b.peers["s"].lines(), b.written, "what came")


@short
def test_an_unstable_link():
    """A backlog over a link that breaks all the time: nothing is lost or counted twice."""
    chance = random.Random(5)
    faults = [Reply(reset=True), Reply(reset_after=100), Reply(500), Reply(503), Reply(204, close=True),
              Reply(204, delay=0.05), Reply(hang=True), Reply(raw=b"HTTP/1.1 2", close=True)]

    def judge(request, number):
        return chance.choice(faults) if chance.random() < 0.25 else None

    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", Judge(judge), "BATCH_SIZE 300", "timeout = '300ms'")
        b.d.query("ALTER SINK s PAUSE")
        for start in range(0, 6000, 1000):
            b.write(["m i=%di %d" % (i, i) for i in range(start, start + 1000)])
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", 40, accepted=6000, forwarded=6000)
        equal(list(dict.fromkeys(peer.lines())), b.written, "what came, in order")


@short
def test_a_destination_that_comes_and_goes():
    """Stopped and started again: the first point comes within one pause, all come once."""
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink())
        for n in range(4):
            b.write(["m n=%di %d" % (n, n)])
            wait_until(lambda: len(peer.lines()) == n + 1, "delivery")
            peer.stop()
            b.write(["m n=%di %d" % (n + 100, n)])
            b.d.wait_status("s", "backoff")
            started = time.monotonic()
            peer.start()
            wait_until(lambda: b.written[-1] in peer.lines(), "the point of the outage")
            if time.monotonic() - started > 2 * SLOW:
                fail("%.1f s after the return" % (time.monotonic() - started))
            b.written.pop()
            peer.requests = [r for r in peer.requests if b"n=%di" % (n + 100) not in r.body]
        account.balanced(b.d, "s", accepted=8, forwarded=8)


@short
def test_health_turns_red_when_a_sink_lags():
    config = {"storage": {"cursor_delay_ms": 50}, "sink": {"max_lag_secs": 1}}
    with bench(Daemon(config)) as b:
        peer = b.add("s", HttpSink(Reply(hang=True)), options="timeout = '60s'")
        b.add("fine", HttpSink())
        b.add("off", HttpSink())
        b.d.query("ALTER SINK off PAUSE")
        equal(b.d.http("GET", "/health").status, 200, "/health")
        b.write(["m v=1i 1"])
        wait_until(lambda: b.d.http("GET", "/health").status == 503, "/health is red", 6)
        answer = b.d.http("GET", "/health")
        contains(answer.text, "sink \\\"s\\\"", "/health")
        equal(cli("ping", "-H", b.d.url)[0] != 0, True, "sinkd ping")
        wait_until(lambda: account.oldest_seconds(b.d, "s") >= 1, "the age of the oldest")
        peer.default = Reply(204)
        peer.release()
        account.balanced(b.d, "s", accepted=1, forwarded=1)
        equal(b.d.http("GET", "/health").status, 200, "/health")
        equal(cli("ping", "-H", b.d.url)[0], 0, "sinkd ping")


def names_of_its_own():
    """preexec for a daemon that has its own /etc/hosts: the file `hosts` here. None where it cannot."""
    if os.geteuid() != 0:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    hosts = os.path.abspath("hosts").encode()
    clone_newns, ms_bind, ms_rec, ms_private = 0x20000, 4096, 16384, 1 << 18

    def preexec():
        if libc.unshare(clone_newns) != 0 or libc.mount(b"none", b"/", None, ms_rec | ms_private, None) != 0 \
                or libc.mount(hosts, b"/etc/hosts", None, ms_bind, None) != 0:
            raise OSError(ctypes.get_errno(), "no namespace")
    return preexec if works_in_a_child(preexec) else None


def works_in_a_child(preexec):
    """Containers and chroots may forbid namespaces to root too."""
    pid = os.fork()
    if pid == 0:
        try:
            preexec()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def write_hosts(address):
    """Only the content changes: it is a mount of this very file."""
    with open("hosts", "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n%s collector.test\n" % address)


def test_a_name_that_moves():
    """When the address behind a name changes, the next connection goes to the new one."""
    write_hosts("127.0.0.77")
    preexec = names_of_its_own()
    if preexec is None:
        print("no mount namespace to be had: names cannot be moved")
        return
    with bench(Daemon(QUICK, preexec=preexec)) as b:
        peer = b.stack.enter_context(HttpSink())
        b.d.query("CREATE SINK s TO 'http://collector.test:%d/write' TYPE http_line FLUSH_INTERVAL 10ms"
                  % peer.port)
        b.write(["m v=1i 1"])
        b.d.wait_status("s", "backoff")
        contains(b.d.sink("s")["last_error"], "127.0.0.77", "last_error")
        write_hosts("127.0.0.1")
        account.balanced(b.d, "s", accepted=1, forwarded=1)
        equal(peer.lines(), b.written, "what came")
        write_hosts("")
        peer.stop()
        b.write(["m v=2i 2"])
        wait_until(lambda: "collector.test" in (b.d.sink("s")["last_error"] or ""), "it does not resolve")
        peer.start()
        write_hosts("127.0.0.1")
        account.balanced(b.d, "s", accepted=2, forwarded=2)
