"""Sinks that are created, altered, paused and dropped while data flow and while the destination is down."""

import os
import time

import account
import load
from harness import *
from harness import SLOW
from http_sink import HttpSink, Reply
from peers import bench, repeated

QUICK = {"storage": {"cursor_delay_ms": 50}}
SHORT = os.environ.get("SINKD_E2E") == "short"


def quickly(d, sql, limit=2):
    started = time.monotonic()
    result = d.query(sql)
    taken = time.monotonic() - started
    if taken > limit * SLOW:
        fail("%s took %.2f s" % (sql, taken))
    return result


@short
def test_changes_while_data_flow():
    """Each point that was accepted while a sink existed comes once at least; others never notice."""
    with HttpSink() as steady, HttpSink() as first, HttpSink() as second, Daemon(QUICK) as d:
        d.query("CREATE SINK steady TO '%s' TYPE http_line BATCH_SIZE 200 FLUSH_INTERVAL 10ms"
                % steady.url())
        d.query("CREATE SINK s TO '%s' TYPE http_line BATCH_SIZE 50 FLUSH_INTERVAL 10ms" % first.url())
        writers = [load.Writer(d.port, n, 20, pace=0.003) for n in range(3)]
        for writer in writers:
            writer.start()
        for n in range(20):
            quickly(d, "ALTER SINK s TO '%s' BATCH_SIZE %d" % ((first, second)[n % 2].url(), 10 + n * 20))
            quickly(d, "ALTER SINK s PAUSE")
            equal(d.sink("s")["status"] in ("paused", "running", "connecting"), True, "status")
            quickly(d, "ALTER SINK s RESUME")
            time.sleep(0.03)
            if n % 5 == 4:
                quickly(d, "CREATE SINK brief TO '%s' TYPE http_line" % second.url("/brief"))
                quickly(d, "DROP SINK brief")
        acked = load.finish(writers)
        account.balanced(d, "steady", accepted=len(acked), forwarded=len(acked))
        account.balanced(d, "s", accepted=len(acked), forwarded=len(acked))
        equal(sorted(steady.lines()), sorted(acked), "what came to the steady one")
        got = [l for p in (first, second) for r in p.taken() if "brief" not in r.path for l in r.lines]
        equal(set(got) == set(acked), True, "everything came to the changed one")
        print("%d points, %d came again by 40 changes" % (len(acked), len(got) - len(set(got))))


@short
def test_pause_outlives_a_restart():
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink())
        b.d.query("ALTER SINK s PAUSE")
        b.write(["m v=1 1", "m v=2 2"])
        b.d.restart()
        b.write(["m v=3 3"])
        b.d.wait_status("s", "paused")
        account.balanced(b.d, "s", accepted=3, pending=3)
        equal(peer.requests, [], "requests")
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", accepted=3, forwarded=3)
        equal(peer.lines(), b.written, "what came")


@short
def test_an_altered_filter_judges_what_waits():
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink(), "INCLUDE MEASUREMENTS a")
        b.d.query("ALTER SINK s PAUSE")
        b.write(["%s v=%di %d" % ("abc"[i % 3], i, i) for i in range(30)])
        b.d.query("ALTER SINK s INCLUDE MEASUREMENTS b, c")
        account.balanced(b.d, "s", accepted=30, pending=30)
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", accepted=30, forwarded=20, filtered=10)
        equal(peer.lines(), [l for l in b.written if not l.startswith(b"a")], "what came")


def destinations_that_are_down():
    """Kinds of down: nobody listens, silence, errors, refusals."""
    return {"gone": None, "silent": HttpSink(Reply(hang=True)), "broken": HttpSink(Reply(500)),
            "denied": HttpSink(Reply(401)), "waits": HttpSink(Reply(429, {"Retry-After": "3600"}))}


@short
def test_changes_while_the_destination_is_down():
    """Everything returns at once, and the end is clean."""
    with bench(Daemon(QUICK)) as b:
        gone = "http://127.0.0.1:%d/write" % free_port()
        for name, peer in destinations_that_are_down().items():
            url = gone
            if peer is not None:
                b.stack.enter_context(peer)
                url = peer.url()
            b.d.query("CREATE SINK %s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms "
                      "WITH (timeout = '3s')" % (name, url))
        names = list(destinations_that_are_down())
        b.write(["m v=%di %d" % (i, i) for i in range(10)])
        for name in names:
            wait_until(lambda: name == "silent" or b.d.sink(name)["last_error"], name + " fails")
            b.d.signal(1)
            for sql in ("ALTER SINK %s BATCH_SIZE 9", "ALTER SINK %s PAUSE", "ALTER SINK %s RESUME",
                        "ALTER SINK %s WITH (timeout = '2s')", "SHOW SINK %s"):
                quickly(b.d, sql % name)
            account.balanced(b.d, name, accepted=10, pending=10)
        quickly(b.d, "DROP SINK silent")
        quickly(b.d, "DROP SINK gone")
        started = time.monotonic()
        b.d.stop()
        if time.monotonic() - started > 12 * SLOW:
            fail("the end took %.1f s" % (time.monotonic() - started))
        contains(b.d.log(), "event=stopped", "log")
        b.d.start()
        equal([row["name"] for row in b.d.rows("SHOW SINKS")], ["broken", "denied", "waits"], "sinks")
        for name in ("broken", "denied", "waits"):
            account.balanced(b.d, name, accepted=10, pending=10)


@short
def test_the_end_is_quick_when_nothing_is_under_way():
    with bench(Daemon(QUICK)) as b:
        for name, reply in (("broken", 500), ("denied", 401), ("fine", 204)):
            b.add(name, HttpSink(Reply(reply)))
        b.d.query("CREATE SINK gone TO 'http://127.0.0.1:%d/w' TYPE http_line" % free_port())
        b.write(["m v=1 1"])
        wait_until(lambda: b.d.sink("denied")["last_error"] and b.d.sink("broken")["last_error"], "errors")
        started = time.monotonic()
        b.d.stop()
        if time.monotonic() - started > 2 * SLOW:
            fail("the end took %.1f s" % (time.monotonic() - started))


@short
def test_an_open_request_may_end_at_shutdown():
    """A round under way when SIGTERM comes is finished and counted: nothing comes again."""
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink())
        peer.plan(Reply(204, delay=1.0))
        b.write(["m v=%di %d" % (i, i) for i in range(10)])
        wait_until(lambda: peer.requests, "the request")
        b.d.restart()
        account.balanced(b.d, "s", accepted=10, forwarded=10)
        equal(peer.lines(), b.written, "what came")


@short
def test_a_second_signal_ends_at_once():
    with bench(Daemon(QUICK)) as b:
        b.add("s", HttpSink(Reply(hang=True)))
        b.write(["m v=1 1"])
        wait_until(lambda: b.peers["s"].requests, "the request")
        b.d.signal(15)
        b.d.logged("event=stopping")
        started = time.monotonic()
        b.d.signal(15)
        b.d.process.wait(3 * SLOW)
        equal(time.monotonic() - started < 2 * SLOW, True, "ends at once")
        b.d.process = None
        b.d.start()
        account.balanced(b.d, "s", accepted=1, pending=1)
        b.d.query("DROP SINK s")


@short
def test_a_new_sink_of_an_old_name_waits():
    """DROP while a request is under way, CREATE of the same name: it starts when the old one has gone."""
    with bench(Daemon(QUICK)) as b:
        old = b.add("s", HttpSink(Reply(hang=True)), options="timeout = '2s'")
        b.write(["m v=1 1"])
        wait_until(lambda: old.requests, "the request")
        quickly(b.d, "DROP SINK s")
        new = b.add("s", HttpSink())
        equal(b.d.sink("s")["status"], "starting", "status")
        b.d.write("m v=2 2")
        equal(new.requests, [], "requests while the old one is there")
        old.release()
        account.balanced(b.d, "s", accepted=1, forwarded=1)
        equal(new.lines(), [b"m v=2 2"], "what came")


@short
def test_drop_gives_room_back():
    """A full log takes writes again when the sink that held it is dropped."""
    config = {"storage": {"max_size_mb": 4, "cursor_delay_ms": 50}}
    with bench(Daemon(config)) as b:
        good = b.add("good", HttpSink(), "BATCH_SIZE 5000")
        b.d.query("CREATE SINK dead TO 'http://127.0.0.1:%d/w' TYPE http_line" % free_port())
        count = 0
        while b.d.http("POST", "/write?db=db", body_of(count)).status == 204:
            count += 1000
        wait_until(lambda: b.d.ledger("good")["pending"] == 0, "the good one is through")
        equal(b.d.http("GET", "/health/ready").status, 503, "/health/ready")
        b.d.query("DROP SINK dead")
        wait_until(lambda: b.d.http("POST", "/write?db=db", body_of(count)).status == 204, "writes", 5)
        equal(b.d.http("GET", "/health/ready").status, 200, "/health/ready")
        for n in range(5):
            b.d.write(body_of(count + 1000 * (n + 1)))
        account.balanced(b.d, "good", accepted=count + 6000, forwarded=count + 6000)
        equal(repeated(good), [], "repeated")


def body_of(start):
    return "\n".join("m i=%di %d" % (i, i) for i in range(start, start + 1000))


def threads(d):
    with open("/proc/%d/status" % d.pid, encoding="ascii") as file:
        return int([line for line in file if line.startswith("Threads:")][0].split()[1])


def descriptors(d):
    return len(os.listdir("/proc/%d/fd" % d.pid))


@short
def test_many_sinks_come_and_go():
    rounds = 60 if SHORT else 1000
    with bench(Daemon(QUICK)) as b:
        steady = b.add("steady", HttpSink())
        hole = b.stack.enter_context(HttpSink(Reply(500)))

        def come_and_go(count):
            for n in range(count):
                url = hole.url() if n % 2 else "http://127.0.0.1:1/write"
                b.d.query("CREATE SINK s%d TO '%s' TYPE http_line FLUSH_INTERVAL 10ms; "
                          "ALTER SINK s%d BATCH_SIZE 5; DROP SINK s%d" % (n, url, n, n))
                if n % 10 == 0:
                    b.write(["m n=%di %d" % (n, n)])

        at_rest = threads(b.d)
        come_and_go(rounds // 4)
        wait_until(lambda: threads(b.d) == at_rest, "threads have ended")
        before = descriptors(b.d), b.d.memory("RssAnon")
        come_and_go(rounds)
        wait_until(lambda: threads(b.d) == at_rest, "threads have ended")
        wait_until(lambda: descriptors(b.d) <= before[0], "descriptors are given back")
        after = descriptors(b.d), b.d.memory("RssAnon")
        print("%d sinks: descriptors %d, then %d; RssAnon %d KiB, then %d KiB"
              % (rounds, before[0], after[0], before[1], after[1]))
        if not SHORT and after[1] > before[1] + 300:
            fail("memory grew from %d to %d KiB" % (before[1], after[1]))
        written = len(b.written)
        account.balanced(b.d, "steady", accepted=written, forwarded=written)
        equal(steady.lines(), b.written, "what came")


@short
def test_all_sinks_that_there_can_be():
    with bench(Daemon(QUICK)) as b:
        peer = b.stack.enter_context(HttpSink())
        for n in range(256):
            b.d.query("CREATE SINK s%d TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % (n, peer.url("/%d" % n)))
        contains(b.d.query_error("CREATE SINK more TO 'http://127.0.0.1:1/w' TYPE http_line"), "256")
        b.d.write("m v=1 1")
        wait_until(lambda: len(peer.lines()) == 256, "each got the point", 20)
        b.d.restart()
        b.d.write("m v=2 2")
        wait_until(lambda: len(peer.lines()) == 512, "each got the next point", 20)
        equal(sorted(r.path for r in peer.requests), sorted(["/%d" % n for n in range(256)] * 2),
              "who got it")
