"""The log when it is full, old, kept, without sinks, and in the other sync modes; full disks."""

import os
import subprocess
import time

import account
import load
from harness import *
from harness import SLOW
from http_sink import HttpSink, Reply
from peers import Judge, bench, repeated

SHORT = os.environ.get("SINKD_E2E") == "short"
BASE = 1700000000000000000


def config(**storage):
    return {"storage": dict({"max_size_mb": 4, "cursor_delay_ms": 50}, **storage)}


def body_of(start, count=1000):
    return "\n".join("m,pad=%s i=%di %d" % ("x" * 50, i, i) for i in range(start, start + count))


def fill(d, start=0):
    """Write until it is refused. Returns how many points were taken in all."""
    while True:
        answer = d.http("POST", "/write?db=db", body_of(start))
        if answer.status != 204:
            equal(answer.status, 503, "status of a full log")
            equal(int(answer.headers["retry-after"]) > 0, True, "Retry-After")
            contains(answer.json()["error"], "full", "error")
            return start
        start += 1000


def ids(lines):
    return [int(line.split(b"i=")[1].split(b"i ")[0]) for line in lines]


@short
def test_reject():
    """Refused with Retry-After; all that was acknowledged arrives, in order, over a kill too."""
    with bench(Daemon(config())) as b:
        peer = b.add("s", HttpSink(Reply(500)), "BATCH_SIZE 5000")
        b.d.query("CREATE SINK paused TO 'http://127.0.0.1:1/w' TYPE http_line")
        b.d.query("ALTER SINK paused PAUSE")
        count = fill(b.d)
        equal(b.d.http("GET", "/health/ready").status, 503, "/health/ready")
        equal(b.d.http("GET", "/ping").status, 204, "/ping")
        contains(b.d.log(), "event=log_full", "log")
        b.d.query("SHOW SINKS")
        b.d.query("ALTER SINK s BATCH_SIZE 4000")
        account.balanced(b.d, "s", accepted=count, pending=count)
        b.d.restart(kill=True)
        equal(b.d.http("POST", "/write?db=db", body_of(count)).status, 503, "still full")
        peer.default = Reply(204)
        account.balanced(b.d, "s", accepted=count, forwarded=count)
        equal(ids(peer.lines()), list(range(count)), "what came")
        equal(b.d.http("POST", "/write?db=db", body_of(count)).status, 503, "the paused sink holds it")
        b.d.query("DROP SINK paused")
        wait_until(lambda: b.d.http("POST", "/write?db=db", body_of(count)).status == 204, "room")
        account.balanced(b.d, "s", accepted=count + 1000, forwarded=count + 1000)


@short
def test_full_again_and_again():
    """Filling and draining over and over: the same room each time, nothing lost, nothing wedged."""
    with bench(Daemon(config())) as b:
        peer = b.add("s", HttpSink(), "BATCH_SIZE 2000")
        count, taken = 0, []
        for n in range(4 if SHORT else 12):
            b.d.query("ALTER SINK s PAUSE")
            before = count
            count = fill(b.d, count)
            taken.append(count - before)
            if n % 3 == 2:
                b.d.restart(kill=True)
            b.d.query("ALTER SINK s RESUME")
            account.balanced(b.d, "s", accepted=count, forwarded=count)
        equal(len(set(peer.lines())), count, "what came")
        if min(taken) < max(taken) * 0.8:
            fail("room shrinks: %r" % taken)


@short
def test_drop_oldest():
    """The oldest points go, counted for each sink that still needed them; the rest arrives."""
    with bench(Daemon(config(on_full="drop_oldest"))) as b:
        slow = b.add("slow", HttpSink(Reply(500)), "BATCH_SIZE 5000")
        fast = b.add("fast", HttpSink(), "BATCH_SIZE 500")
        total = 90000
        for start in range(0, total, 1000):
            b.d.write(body_of(start))
        wait_until(lambda: b.d.ledger("fast")["pending"] == 0, "the fast one is through")
        lost = b.d.ledger("fast")["dropped"]
        account.balanced(b.d, "fast", accepted=total, forwarded=total - lost, dropped=lost)
        equal(len(set(fast.lines())), total - lost, "what came to the fast one")
        row = b.d.ledger("slow")
        equal(row["dropped"] > 0 and row["forwarded"] == 0, True, "the slow one lost some")
        equal(account.dropped(b.d, "slow", "full"), row["dropped"], "dropped as full")
        b.d.restart(kill=True)
        slow.default = Reply(204)
        wait_until(lambda: b.d.ledger("slow")["pending"] == 0, "the slow one is through")
        row = b.d.ledger("slow")
        account.balanced(b.d, "slow", accepted=total, forwarded=total - row["dropped"],
                         dropped=row["dropped"])
        equal(ids(slow.lines()), list(range(row["dropped"], total)), "the newest came, in order")


@short
def test_one_sink_may_lose_and_another_not():
    """on_full of a sink goes before that of the log: only those lose who may."""
    with bench(Daemon(config())) as b:
        b.add("keeps", HttpSink(Reply(500)), "BATCH_SIZE 5000")
        b.add("loses", HttpSink(Reply(500)), "BATCH_SIZE 5000", "on_full = 'drop_oldest'")
        count = fill(b.d)
        account.balanced(b.d, "loses", accepted=count, pending=count)
        b.peers["keeps"].default = Reply(204)
        account.balanced(b.d, "keeps", accepted=count, forwarded=count)
        for start in range(count, count + 40000, 1000):
            wait_until(lambda: b.d.http("POST", "/write?db=db", body_of(start)).status == 204, "room")
        account.balanced(b.d, "keeps", accepted=count + 40000, forwarded=count + 40000)
        row = b.d.ledger("loses")
        equal((row["accepted"], row["dropped"] > 0), (count + 40000, True), "the ledger")


def drop_oldest_while_delivering(delay):
    """Points are dropped under a sink whose round is under way: what came is forwarded, or dropped."""
    with bench(Daemon(config(on_full="drop_oldest", cursor_delay_ms=delay))) as b:
        peer = b.add("s", Judge(lambda r, n: Reply(204, delay=0.15)), "BATCH_SIZE 700")
        total = 90000
        for start in range(0, total, 1000):
            b.d.write(body_of(start))
        peer.judge = lambda r, n: 204
        wait_until(lambda: b.d.ledger("s")["pending"] == 0, "all is through", 30)
        lost = b.d.ledger("s")["dropped"]
        account.balanced(b.d, "s", accepted=total, forwarded=total - lost, dropped=lost)
        came = len(set(peer.lines()))
        equal(lost > 0, True, "something was lost")
        # A round under way whose points are dropped meanwhile may arrive, though it counts as dropped.
        equal(0 <= came - (total - lost) <= 700 * 20, True, "%d came, %d forwarded" % (came, total - lost))
        equal(repeated(peer), [], "repeated")


@short
def test_drop_oldest_while_delivering():
    drop_oldest_while_delivering(50)


@short
def test_drop_oldest_while_delivering_without_delay():
    drop_oldest_while_delivering(0)


@short
def test_without_sinks():
    """Points stay; the oldest go when room is needed, and that is counted."""
    with bench(Daemon(config())) as b:
        total = 90000
        for start in range(0, total, 1000):
            b.d.write(body_of(start))
        expired = int(b.d.metrics().get("hyperbytedb_storage_expired_points_total"))
        equal(expired > 0, True, "some expired")
        b.d.restart(kill=True)
        equal(b.d.metrics().get("hyperbytedb_storage_expired_points_total"), expired, "expired")
        peer = b.add("s", HttpSink(), "START EARLIEST BATCH_SIZE 5000")
        account.balanced(b.d, "s", accepted=total - expired, forwarded=total - expired)
        equal(ids(peer.lines()), list(range(expired, total)), "what came")


@short
def test_what_is_kept_after_delivery():
    """keep_delivered_mb: a sink made later with START EARLIEST gets what is still there."""
    with bench(Daemon(config(max_size_mb=16, keep_delivered_mb=2))) as b:
        b.add("s", HttpSink(), "BATCH_SIZE 5000")
        total = 100000
        for start in range(0, total, 1000):
            b.d.write(body_of(start))
        account.balanced(b.d, "s", accepted=total, forwarded=total)

        def settled():
            used = b.d.metrics().get("hyperbytedb_storage_used_bytes")
            return 1200000 < used < 3500000

        wait_until(settled, "about 2 MB are kept")
        late = b.add("late", HttpSink(), "START EARLIEST BATCH_SIZE 5000")
        kept = b.d.ledger("late")["accepted"]
        equal(10000 < kept < total, True, "%d points are kept" % kept)
        account.balanced(b.d, "late", accepted=kept, forwarded=kept)
        equal(ids(late.lines()), list(range(total - kept, total)), "what came")
        new = b.add("new", HttpSink(), "START LATEST")
        b.d.write(body_of(total, 10))
        account.balanced(b.d, "new", accepted=10, forwarded=10)


@short
def test_points_that_wait_too_long():
    """max_age_secs: dropped and counted, for the sinks that wait; the others have theirs."""
    with bench(Daemon(config(max_age_secs=2))) as b:
        b.add("down", HttpSink(Reply(500)))
        b.add("fine", HttpSink())
        b.d.write(body_of(0, 500))
        account.balanced(b.d, "fine", accepted=500, forwarded=500)
        equal(b.d.ledger("down")["pending"], 500, "pending at first")
        account.balanced(b.d, "down", accepted=500, dropped=500)
        equal(account.dropped(b.d, "down", "age"), 500, "dropped for their age")
        b.d.write(body_of(500, 5))
        b.peers["down"].default = Reply(204)
        b.d.query("ALTER SINK down RESUME")
        account.balanced(b.d, "down", accepted=505, dropped=500, forwarded=5)


def loses_nothing_by_a_stop(**storage):
    with bench(Daemon(config(max_size_mb=16, **storage))) as b:
        peer = b.add("s", HttpSink(), "BATCH_SIZE 100")
        written = []
        for n in range(6):
            for _ in range(5):
                b.d.write(body_of(len(written), 50))
                written += range(len(written), len(written) + 50)
            b.d.restart()
            equal(b.d.ledger("s")["accepted"], len(written), "accepted after a restart")
        account.balanced(b.d, "s", accepted=len(written), forwarded=len(written))
        equal(ids(peer.lines()), written, "what came")


@short
def test_sync_interval_loses_nothing_by_a_stop():
    loses_nothing_by_a_stop(sync="interval", sync_interval_ms=60000)


@short
def test_sync_none_loses_nothing_by_a_stop():
    loses_nothing_by_a_stop(sync="none")


@short
def test_sync_interval_loses_at_most_the_interval():
    """A kill costs at most what was written within sync_interval_ms; the books stay exact."""
    with bench(Daemon(config(max_size_mb=16, sync="interval", sync_interval_ms=200))) as b:
        peer = b.add("s", HttpSink(), "BATCH_SIZE 100")
        count, safe = 0, 0
        for n in range(8):
            for _ in range(10):
                b.d.write(body_of(count, 10))
                count += 10
            if n % 2 == 0:
                safe = count
                time.sleep(0.4)
            b.d.restart(kill=True)
            equal(b.d.ledger("s")["dropped"], 0, "dropped")
        wait_until(lambda: b.d.ledger("s")["pending"] == 0, "all is through")
        came = set(ids(peer.lines()))
        row = b.d.ledger("s")
        equal(row["forwarded"], row["accepted"], "forwarded")
        equal(row["accepted"] >= 400, True, "what had been synced: %r" % row)
        equal(row["accepted"] <= len(came), True, "%r, %d came" % (row, len(came)))
        equal(safe > 0, True, "tested something")
