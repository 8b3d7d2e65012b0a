"""kill -9 under load: nothing acknowledged is lost, the books stay exact, duplicates stay within their
bound: the round in flight and what was confirmed in the last cursor_delay_ms."""

import os
import random
import time

import account
import load
from harness import *
from http_sink import HttpSink

TIME_LIMIT = 150
SHORT = os.environ.get("SINKD_E2E") == "short"
WRITERS = 4


def by_run(peer, starts):
    """The lines that a peer got, in order, as one list of (line, time, request number) a run."""
    runs = [[] for _ in starts]
    for number, request in enumerate(peer.taken()):
        at = sum(1 for start in starts if request.time >= start) - 1
        runs[at] += [(line, request.time, number) for line in request.lines]
    return runs


def check_duplicates(peer, starts, kills, delay):
    """Every line that came again came first in the run before, as late as the bound says."""
    seen = {}
    total = 0
    for run, lines in enumerate(by_run(peer, starts)):
        again = [(line, seen[line]) for line, _, _ in lines if line in seen]
        total += len(again)
        for line, (first_run, when, number) in again:
            if first_run == run:
                fail("%r came twice within run %d" % (line, run))
            if first_run != run - 1:
                fail("%r of run %d came again in run %d" % (line, first_run, run))
            late = kills[run - 1] - when
            if delay > 0 and late > delay + 0.5 and number != last:
                fail("%r came again, though it was confirmed %.2f s before the kill" % (line, late))
            if delay == 0 and number != last:
                fail("%r came again, though it was not of the round in flight" % line)
        for line, when, number in lines:
            seen[line] = (run, when, number)
            last = number
    return total


def check_ledger(d, name, peer, acked, state):
    """Right after a start: all that was acknowledged is there, and only what came is forwarded."""
    row = d.ledger(name)
    if row["accepted"] < acked or row["accepted"] < state.get("accepted", 0):
        fail("%d accepted, %d acknowledged, %r before" % (row["accepted"], acked, state))
    if row["forwarded"] < state.get("forwarded", 0):
        fail("forwarded went back: %r after %r" % (row, state))
    if row["forwarded"] > len(set(peer.lines())):
        fail("%r, but only %d points came" % (row, len(set(peer.lines()))))
    equal(row["dropped"] + row["dead"], 0, "lost")
    state.update(row)


def kill_often(kills_wanted, delay_ms, seed):
    chance = random.Random(seed)
    port = free_port()
    config = {"server": {"port": port}, "storage": {"max_size_mb": 64, "cursor_delay_ms": delay_ms}}
    with HttpSink() as whole, HttpSink() as half, Daemon(config) as d:
        starts, kills = [time.monotonic()], []
        states = {"whole": {}, "half": {}}
        d.query("CREATE SINK whole TO '%s' TYPE http_line BATCH_SIZE 500 FLUSH_INTERVAL 20ms"
                % whole.url())
        d.query("CREATE SINK half TO '%s' TYPE http_line INCLUDE MEASUREMENTS a BATCH_SIZE 100 "
                "FLUSH_INTERVAL 5ms" % half.url())
        writers = [load.Writer(port, n, 20, pace=0.002) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(kills_wanted):
            time.sleep(chance.choice([0.02, 0.1, 0.2, 0.3, 0.4, 1.3 if chance.random() < 0.2 else 0.3])
                       * chance.random() * 2)
            acked = sum(len(w.acked) for w in writers)
            kills.append(time.monotonic())
            d.kill()
            wait_until(lambda: not whole.open and not half.open, "connections end")
            starts.append(time.monotonic())
            d.start()
            check_ledger(d, "whole", whole, acked, states["whole"])
            check_ledger(d, "half", half, acked, states["half"])
        acked = load.finish(writers)
        got = wait_for_all(d, whole, half)
        missing = set(acked) - got
        if missing:
            fail("%d acknowledged points are missing, as %r" % (len(missing), min(missing)))
        twice = [check_duplicates(p, starts, kills, delay_ms / 1000) for p in (whole, half)]
        print("%d kills, cursor_delay_ms = %d: %d acknowledged, %d accepted, %d and %d came again"
              % (len(kills), delay_ms, len(acked), len(got), twice[0], twice[1]))


def wait_for_all(d, whole, half):
    d.wait_ledger("whole", 30, pending=0)
    d.wait_ledger("half", 30, pending=0)
    got = set(whole.lines())
    chosen = {line for line in got if line.startswith(b"a,")}
    equal(set(half.lines()) == chosen, True, "the second sink got the same points")
    account.balanced(d, "whole", accepted=len(got), forwarded=len(got))
    row = d.ledger("half")
    equal((row["accepted"], row["forwarded"], row["filtered"]),
          (len(got), len(chosen), len(got) - len(chosen)), "ledger of the second sink")
    return got


@short
def test_kills():
    kill_often(5 if SHORT else 50, 1000, 1)


@short
def test_kills_without_delay():
    kill_often(5 if SHORT else 50, 0, 2)
