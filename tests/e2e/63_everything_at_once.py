"""Writers, faults, refusals, filters, changes, kills and restarts, all at once and by chance; at the end each
sink's ledger and what its peer got agree to the point. CHAOS_SEED chooses the chance, CHAOS_SECONDS how long."""

import os
import random
import time

import account
import load
from harness import *
from http_sink import HttpSink, Reply
from peers import Judge

TIME_LIMIT = 100
SHORT = os.environ.get("SINKD_E2E") == "short"
SECONDS = int(os.environ.get("CHAOS_SECONDS", "4" if SHORT else "12"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
NAMES = ("a", "b", "c", "bad")


def confirms(reply):
    return reply.status == 204 and not (reply.reset or reply.hang or reply.raw is not None)


class Chaos:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.calm = False

    def fault(self, request, number):
        """One request of six goes wrong, until calm."""
        if self.calm or self.chance.random() > 0.17:
            return None
        return self.chance.choice([500, 503, 408, 404, 401, Reply(429, {"Retry-After": "0"}),
                                   Reply(reset=True), Reply(raw=b"", close=True), Reply(hang=True),
                                   Reply(204, close=True), Reply(204, delay=0.1),
                                   Reply(500, body=b"x" * 100000), Reply(raw=b"HTTP/1.1 5", close=True)])

    def picky(self, request, number):
        """Refuses bad lines and large bodies."""
        fault = self.fault(request, number)
        if fault is not None and not (isinstance(fault, Reply) and confirms(fault)):
            return fault
        if len(request.lines) > 60:
            return 413
        bad = sum(line.startswith(b"bad,") for line in request.lines)
        return Reply(400, body="unable to parse: %d lines" % bad) if bad else None


def sinks(chaos):
    """name: (peer, clauses, options, path)."""
    return {
        "plain": (Judge(chaos.fault), "BATCH_SIZE 200", "timeout = '400ms'", "/write?db=x"),
        "picky": (Judge(chaos.picky), "BATCH_SIZE 100", "timeout = '400ms', on_reject = 'drop'", "/write"),
        "some": (Judge(chaos.fault), "INCLUDE MEASUREMENTS a, c BATCH_SIZE 50",
                 "timeout = '400ms', gzip = true", "/write?db={db}"),
        "changed": (Judge(chaos.fault), "BATCH_SIZE 70", "timeout = '400ms'", "/write?db=y"),
    }


def disturb(chaos, d):
    """One thing happens."""
    what = chaos.chance.choice(["kill", "stop", "pause", "alter", "retry", "extra", "nothing", "nothing"])
    if what == "kill":
        d.restart(kill=True)
    elif what == "stop":
        d.restart()
    elif what == "pause":
        d.query("ALTER SINK changed PAUSE")
    elif what == "alter":
        d.query("ALTER SINK changed RESUME; ALTER SINK changed BATCH_SIZE %d" % chaos.chance.randint(1, 300))
    elif what == "retry":
        d.query("ALTER SINK plain RESUME; ALTER SINK some RESUME; ALTER SINK picky RESUME")
    elif what == "extra":
        d.query("CREATE SINK extra TO 'http://127.0.0.1:1/w' TYPE http_line START EARLIEST")
        time.sleep(0.05)
        d.query("DROP SINK extra")


def everything_at_once(seed, **storage):
    chaos = Chaos(seed)
    port = free_port()
    config = {"server": {"port": port}, "storage": dict({"max_size_mb": 16, "cursor_delay_ms": 100}, **storage)}
    made = sinks(chaos)
    with Daemon(config) as d:
        for name, (peer, clauses, options, path) in made.items():
            d.query("CREATE SINK %s TO '%s' TYPE http_line FLUSH_INTERVAL 15ms %s WITH (%s)"
                    % (name, peer.url(path), clauses, options))
        writers = [load.Writer(port, n, 12, NAMES, 0.01, "db%d" % n) for n in range(3)]
        for writer in writers:
            writer.start()
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            time.sleep(chaos.chance.random() * 0.3)
            disturb(chaos, d)
            for name in made:
                d.ledger(name)
        acked = load.finish(writers)
        chaos.calm = True
        d.query("; ".join("ALTER SINK %s RESUME" % name for name in made))
        check(d, made, acked)
    for peer, _, _, _ in made.values():
        peer.stop()


def check(d, made, acked):
    for name in made:
        d.wait_ledger(name, 30, pending=0)
    came = {name: set(peer.lines()) for name, (peer, _, _, _) in made.items()}
    every = came["plain"]
    missing = set(acked) - every
    equal(missing, set(), "%d acknowledged points are missing" % len(missing))
    equal(came["changed"] == every, True, "the changed sink got all")
    bad = {line for line in every if line.startswith(b"bad,")}
    some = {line for line in every if line[:2] in (b"a,", b"c,")}
    equal((sorted(every - bad - came["picky"])[:5], sorted(came["picky"] - every | came["picky"] & bad)[:5]),
          ([], []), "what the picky one did not get, and should not have got")
    equal(came["some"] == some, True, "the filtered one got its part")
    for request in made["some"][0].taken():
        equal(request.query["db"], "db%d" % int(request.lines[0].split(b"w=")[1].split()[0]), "database")
    total = len(every)
    account.balanced(d, "plain", accepted=total, forwarded=total)
    account.balanced(d, "changed", accepted=total, forwarded=total)
    account.balanced(d, "picky", accepted=total, forwarded=total - len(bad), dropped=len(bad))
    account.balanced(d, "some", accepted=total, forwarded=len(some), filtered=total - len(some))
    print("%d points, %d acknowledged" % (total, len(acked)))


@short
def test_everything_at_once():
    everything_at_once(SEED)


def test_everything_at_once_in_a_small_log():
    everything_at_once(SEED + 1, max_size_mb=4, cursor_delay_ms=0)
