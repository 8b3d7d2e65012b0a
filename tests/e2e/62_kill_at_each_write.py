"""kill -9 right before and right after each write and sync of the store: whatever was acknowledged is there,
the cursors are valid, and at most the round in flight and the last cursor_delay_ms come again."""

import os
import subprocess

import account
from harness import *
from http_sink import HttpSink
from peers import bench

# Kills the process at the call number $KILL_AT of those that change the disk; odd numbers before
# it, even ones behind it. Zeros that are written ahead of the file's end change nothing.
KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls, at = -1;
static void count(const unsigned char *p, size_t n)
{
    static const unsigned char zeros[16];
    if (n >= 16 && memcmp(p, zeros, 16) == 0) return;
    pthread_mutex_lock(&mutex);
    if (at < 0) at = getenv("KILL_AT") ? atol(getenv("KILL_AT")) : 0;
    if (++calls == at) kill(getpid(), SIGKILL);
    pthread_mutex_unlock(&mutex);
}
#define AROUND(type, name, args, pass, data, size) \
    type name args { \
        static type (*next) args; \
        type result; \
        if (!next) next = (type (*) args)dlsym(RTLD_NEXT, #name); \
        count(data, size); result = next pass; count(data, size); \
        return result; }
AROUND(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t o), (fd, p, n, o), p, n)
AROUND(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t o), (fd, p, n, o), p, n)
AROUND(ssize_t, pwritev, (int fd, const struct iovec *p, int n, off_t o), (fd, p, n, o), p->iov_base, p->iov_len)
AROUND(int, fdatasync, (int fd), (fd), NULL, 0)
AROUND(int, fsync, (int fd), (fd), NULL, 0)
AROUND(int, rename, (const char *a, const char *b), (a, b), NULL, 0)
"""


def killer():
    with open("killer.c", "w", encoding="ascii") as file:
        file.write(KILLER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", "killer.so", "killer.c", "-ldl"], check=True)
    return os.path.abspath("killer.so")


def is_dynamic():
    with open(os.environ["SINKD"], "rb") as file:
        return b"ld-linux" in file.read(4096) or b"ld-musl" in file.read(4096)


def one_life(b, number, state):
    """Write until the daemon dies. state: lines acknowledged, and all that were sent."""
    b.d.env = {"LD_PRELOAD": state["library"], "KILL_AT": str(number)}
    try:
        b.d.start()
        for _ in range(200):
            state["count"] += 1
            line = "m i=%di %d" % (state["count"], state["count"])
            state["sent"].add(line.encode())
            b.d.write(line)
            state["acked"].add(line.encode())
            if state["count"] % 7 == 0:
                b.d.query("ALTER SINK s BATCH_SIZE %d" % (state["count"] % 5 + 1))
    except (OSError, EOFError, RuntimeError):
        pass
    else:
        fail("it did not die at call %d" % number)
    b.d.process.wait(10)
    equal(b.d.process.returncode, -9, "how it ended")
    b.d.process = None


def test_kill_at_each_write():
    if not is_dynamic():
        print("a static binary: no library can be put before it")
        return
    config = {"storage": {"cursor_delay_ms": 5}}
    state = {"library": killer(), "count": 0, "acked": set(), "sent": set()}
    with bench(Daemon(config)) as b:
        peer = b.add("s", HttpSink(), "BATCH_SIZE 3")
        b.d.stop()
        accepted = 0
        for number in range(1, 101):
            one_life(b, number, state)
            b.d.env = {}
            b.d.start()
            row = b.d.ledger("s")
            if row["accepted"] < max(accepted, len(state["acked"])) or row["accepted"] > len(state["sent"]):
                fail("call %d: %r, but %d acknowledged and %d sent"
                     % (number, row, len(state["acked"]), len(state["sent"])))
            accepted = row["accepted"]
            b.d.wait_ledger("s", pending=0)
            missing = state["acked"] - set(peer.lines())
            equal(missing, set(), "missing after a kill at call %d" % number)
            b.d.stop()
        b.d.start()
        account.balanced(b.d, "s", accepted=accepted, forwarded=accepted)
        equal(len(set(peer.lines())), accepted, "what came")
        print("100 kills: %d acknowledged, %d accepted, %d came again"
              % (len(state["acked"]), accepted, len(peer.lines()) - accepted))
