"""Memory, start time, wake-ups: what a small device notices."""

import os
import re
import time

import account
import load
from harness import *
from harness import SLOW
from http_sink import HttpSink, Reply
from peers import bench

SHORT = os.environ.get("SINKD_E2E") == "short"
TIME_LIMIT = 120


def switches(d):
    """How often the threads have given up the processor: voluntarily, and not."""
    counts = {}
    for thread in os.listdir("/proc/%d/task" % d.pid):
        with open("/proc/%d/task/%s/status" % (d.pid, thread), encoding="ascii") as file:
            counts[thread] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))
    return counts


def private_kib(d):
    return d.memory("RssAnon") + d.memory("RssShmem")


def test_idle_with_three_sinks():
    """At rest: little memory, and no thread wakes up but for a timer."""
    with bench(Daemon({"storage": {"max_size_mb": 64}, "disk": {"check_interval_secs": 60}})) as b:
        for n in range(3):
            b.add("s%d" % n, HttpSink())
        b.write(["m v=%di %d" % (i, i) for i in range(100)])
        for n in range(3):
            account.balanced(b.d, "s%d" % n, accepted=100, forwarded=100)
        wait_until(lambda: quiet_for(b.d, 1.5), "nothing moves any more", 20)
        before = switches(b.d)
        time.sleep(3)
        after = switches(b.d)
        woken = {t: after[t] - before[t] for t in after if after[t] != before.get(t, 0)}
        resident = b.d.memory("VmRSS")
        print("idle with three sinks: VmRSS %d KiB (anonymous and shared memory %d KiB), "
              "%d wake-ups in 3 s" % (resident, private_kib(b.d), sum(woken.values())))
        if sum(woken.values()) > 3:
            fail("threads wake up for nothing: %r" % woken)
        if resident > 4096:
            fail("%d KiB resident" % resident)
        b.write(["m v=1i 1"])
        account.balanced(b.d, "s0", accepted=101, forwarded=101)


def quiet_for(d, seconds):
    before = switches(d)
    time.sleep(seconds)
    return switches(d) == before


def test_waiting_costs_nothing():
    """Sinks whose destination is down, throttled, denied or paused do not spin."""
    config = {"sink": {"backoff_base_secs": 60, "backoff_max_secs": 60}}
    with bench(Daemon(config)) as b:
        for name, reply in (("broken", Reply(500)), ("denied", Reply(401)),
                            ("later", Reply(429, {"Retry-After": "600"})), ("silent", Reply(hang=True))):
            b.add(name, HttpSink(reply), options="timeout = '60s'")
        b.d.query("CREATE SINK gone TO 'http://127.0.0.1:%d/w' TYPE http_line" % free_port())
        b.add("paused", HttpSink())
        b.d.query("ALTER SINK paused PAUSE")
        b.write(["m v=%di %d" % (i, i) for i in range(100)])
        wait_until(lambda: all(b.d.sink(n)["last_error"] for n in ("broken", "denied", "later", "gone")),
                   "all have failed")
        wait_until(lambda: quiet_for(b.d, 1.5), "nothing moves any more", 20)
        before = switches(b.d)
        time.sleep(2)
        woken = sum(switches(b.d).values()) - sum(before.values())
        print("six sinks that wait: %d wake-ups in 2 s" % woken)
        equal(woken <= 3, True, "%d wake-ups" % woken)
        b.d.query("DROP SINK silent")
        b.peers["silent"].release()


def test_a_queue_of_400_mb():
    """A start with a long queue reads next to nothing of it; the memory stays flat while it drains."""
    size = 20 if SHORT else 400
    config = {"storage": {"max_size_mb": size * 5 // 4, "sync": "none"},
              "server": {"max_inflight_bytes": 16777216}}
    with bench(Daemon(config)) as b:
        peer = b.add("s", HttpSink(), "BATCH_SIZE 5000", "max_batch_bytes = 1000000")
        b.d.query("ALTER SINK s PAUSE")
        body = "\n".join("m,pad=%s v=1 %d" % ("y" * 960, i) for i in range(1000)).encode()
        load.post_all(b.d.port, [body] * size, clients=2)
        full = private_kib(b.d)
        started = time.monotonic()
        b.d.restart()
        taken = time.monotonic() - started
        fresh = private_kib(b.d)
        used = b.d.metrics().get("hyperbytedb_storage_used_bytes")
        equal(b.d.ledger("s")["pending"], size * 1000, "pending")
        b.d.query("ALTER SINK s RESUME")
        most = 0
        while b.d.ledger("s")["pending"] > 0:
            most = max(most, private_kib(b.d))
            for request in peer.requests:
                request.raw = request.body = b""
            time.sleep(0.05)
        print("%d MB in the log: start (with the end before it) %.3f s; private memory %d KiB after "
              "filling, %d after the start, %d at most while draining"
              % (used // 1000000, taken, full, fresh, most))
        equal(used > size * 950000, True, "%d bytes in use" % used)
        if taken > 1 * SLOW:
            fail("the start took %.2f s" % taken)
        if fresh > 3000 or most > 12000:
            fail("memory is not flat")
        account.balanced(b.d, "s", accepted=size * 1000, forwarded=size * 1000)


@short
def test_bursts_of_tiny_writes():
    """30 writers, 300 tiny writes each, into a slow sink: the sum at the sink is the sum sent."""
    with bench(Daemon({"storage": {"cursor_delay_ms": 50}})) as b:
        peer = b.add("s", HttpSink(Reply(204, delay=0.02)), "BATCH_SIZE 500")
        rounds = 30 if SHORT else 300
        bodies = [b"m,w=%d i=%di %d" % (n % 30, n, n) for n in range(30 * rounds)]
        again = load.post_all(b.d.port, bodies, clients=30)
        account.balanced(b.d, "s", accepted=len(bodies), forwarded=len(bodies))
        equal(sorted(peer.lines()), sorted(bodies), "what came")
        print("%d tiny writes, %d refused at first" % (len(bodies), again))
