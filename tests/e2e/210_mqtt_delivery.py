"""MQTT through mosquitto to an independent subscriber: everything arrives, in order, byte for byte; brokers that
die, links that fall silent, sessions that go on.

MQTT_POINTS, MQTT_KILLS and MQTT_SILENCE (seconds) set how much; the defaults are for every day."""

import os
import time

from harness import *
from mosquitto import Gate, Mosquitto, Subscriber

TIME_LIMIT = 300
POINTS = int(os.environ.get("MQTT_POINTS", "10000"))
KILLS = int(os.environ.get("MQTT_KILLS", "3"))
CONFIG = {"storage": {"cursor_delay_ms": 50, "max_size_mb": 128}, "sink": {"max_retries": 1000}}
SQL = "CREATE SINK m TO '%s' TYPE mqtt BATCH_SIZE 500 FLUSH_INTERVAL 50ms WITH (%s)"


def lines_of(count, start=0):
    return ["cpu,host=h%d v=%d,s=\"%s\" %d" % (i % 10, i, "x" * (i % 40), 1700000000000000000 + i)
            for i in range(start, start + count)]


def write_all(d, lines):
    for at in range(0, len(lines), 5000):
        d.write(lines[at:at + 5000])


def plain(subscriber):
    return [payload.decode() for payload in subscriber.payloads()]


def expect(d, subscriber, lines, seconds=60):
    wait_until(lambda: len(subscriber.raw()) >= len(lines), "%d messages" % len(lines), seconds)
    got = plain(subscriber)
    equal(len(got), len(lines), "messages")
    if got != lines:
        at = next(i for i, pair in enumerate(zip(got, lines)) if pair[0] != pair[1])
        fail("message %d is %r, not %r" % (at, got[at], lines[at]))
    d.wait_ledger("m", forwarded=len(lines), pending=0, dropped=0)


def in_order(qos):
    with Mosquitto() as broker, Subscriber(broker, qos=qos) as sub, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("t"), "qos = %d" % qos))
        started = time.monotonic()
        lines = lines_of(POINTS)
        write_all(d, lines)
        expect(d, sub, lines)
        print("# QoS %d: %d points, each once, in order, in %.1f s" % (qos, POINTS, time.monotonic() - started))


@short
def test_qos_0_in_order():
    in_order(0)


@short
def test_qos_1_in_order():
    in_order(1)


@short
def test_qos_2_in_order():
    in_order(2)


def killed(qos):
    """Only once the subscriber is back may the sink come, and it subscribes with QoS 0: what a broker has taken
    and keeps in its memory for a subscriber dies with it."""
    with Mosquitto() as broker, Subscriber(broker, qos=0) as sub, Daemon(CONFIG) as d, \
            Gate(broker.port) as gate:
        d.query(SQL % (broker.url("t", gate.port), "qos = %d, timeout = 2s" % qos))
        lines = lines_of(POINTS)
        part = len(lines) // (KILLS + 1)
        write_all(d, lines[:part])
        for n in range(1, KILLS + 1):
            seen = len(sub.raw())
            write_all(d, lines[part * n:part * (n + 1)])
            wait_until(lambda: len(sub.raw()) > seen + part // 10, "some more arrived", 30)
            gate.shut()
            broker.kill()
            sub.settle()
            sub.stop()
            broker.start()
            sub.start()
            gate.let()
        write_all(d, lines[part * (KILLS + 1):])
        d.wait_ledger("m", 60, forwarded=len(lines), pending=0)
        wait_until(lambda: set(plain(sub)) == set(lines), "none is missing")
        again = len(plain(sub)) - len(lines)
        print("# QoS %d: %d points, %d kills, %d came twice" % (qos, len(lines), KILLS, again))
        if again > 20 * KILLS:
            fail("%d duplicates, more than a window for each kill" % again)


def test_broker_killed_qos_1():
    killed(1)


def test_broker_killed_qos_2():
    killed(2)


def test_session_goes_on():
    """QoS 2 over connections that are cut, the broker staying: none twice, none missing."""
    with Mosquitto() as broker, Subscriber(broker, qos=2) as sub, Daemon(CONFIG) as d, \
            Gate(broker.port) as gate:
        d.query(SQL % (broker.url("t", gate.port), "qos = 2, timeout = 2s"))
        lines = lines_of(POINTS)
        part = len(lines) // (KILLS + 1)
        for n in range(KILLS + 1):
            seen = len(sub.raw())
            write_all(d, lines[part * n:part * (n + 1)] if n < KILLS else lines[part * n:])
            if n < KILLS:
                wait_until(lambda: len(sub.raw()) > seen + part // 10, "some more arrived", 30)
                gate.shut()
                time.sleep(0.2)
                gate.let()
        d.wait_ledger("m", 60, forwarded=len(lines), pending=0)
        wait_until(lambda: len(sub.raw()) >= len(lines), "all arrived")
        got = plain(sub)
        equal(len(got), len(lines), "messages")
        equal(sorted(got), sorted(lines), "what came")
        print("# QoS 2: %d points, %d cuts, none twice" % (len(lines), KILLS))


def silent_cut(qos, keepalive, timeout, silence):
    with Mosquitto() as broker, Subscriber(broker, qos=qos) as sub, Daemon(CONFIG) as d, \
            Gate(broker.port) as gate:
        d.query(SQL % (broker.url("t", gate.port),
                       "qos = %d, keepalive = %ds, timeout = %ds" % (qos, keepalive, timeout)))
        lines = lines_of(POINTS)
        write_all(d, lines)
        wait_until(lambda: len(sub.raw()) > 200, "the drain is under way")
        gate.hold()
        cut = time.monotonic()
        wait_until(lambda: d.sink("m")["status"] == "backoff" or d.sink("m")["errors"] > 0,
                   "the dead link is noticed", 1.5 * keepalive + 1)
        print("# QoS %d: dead link noticed after %.1f s, keep-alive %d s" % (qos, time.monotonic() - cut, keepalive))
        confirmed = d.ledger("m")["forwarded"]
        while time.monotonic() - cut < silence:
            time.sleep(0.1)
        gate.let()
        d.wait_ledger("m", 60, forwarded=len(lines), pending=0)
        wait_until(lambda: set(plain(sub)) == set(lines), "all arrived")
        got = plain(sub)
        again = len(got) - len(lines)
        if again > 20 or (qos == 2 and again):
            fail("%d messages came twice; at most a window may" % again)
        if len(set(got[:confirmed])) != confirmed:
            fail("a confirmed point came again")


def test_silent_link():
    cut = int(os.environ.get("MQTT_SILENCE", "4"))
    silent_cut(1, max(2, cut // 3), 30, cut)


def test_silent_link_with_session():
    cut = int(os.environ.get("MQTT_SILENCE", "4"))
    silent_cut(2, max(2, cut // 3), 30, cut)


@short
def test_idle_link_falls_silent():
    """Without anything to send the keep-alive alone notices, and the sink comes back by itself."""
    with Mosquitto() as broker, Daemon(CONFIG) as d, Gate(broker.port) as gate:
        d.query(SQL % (broker.url("t", gate.port), "keepalive = 2s"))
        d.wait_status("m", "running")
        time.sleep(2.5)
        equal(d.sink("m")["errors"], 0, "errors of a quiet connection")
        gate.hold()
        cut = time.monotonic()
        wait_until(lambda: d.sink("m")["errors"] > 0, "the dead link is noticed", 4)
        if time.monotonic() - cut > 3.2:
            fail("noticed after %.1f s only" % (time.monotonic() - cut))
        contains(d.sink("m")["last_error"], "PINGREQ")
        gate.let()
        d.wait_status("m", "running")


@short
def test_drain_starts_by_itself():
    """Ten queued, the broker comes, no new data."""
    with Daemon(CONFIG) as d:
        broker = Mosquitto()
        d.query(SQL % (broker.url("t"), "qos = 1"))
        lines = lines_of(10)
        d.write(lines)
        d.wait_status("m", "backoff")
        equal(d.ledger("m")["forwarded"], 0, "forwarded without a broker")
        with broker, Subscriber(broker, qos=1) as sub:
            expect(d, sub, lines)


@short
def test_nothing_counts_without_a_broker():
    with Daemon(CONFIG) as d, Mosquitto() as broker:
        d.query(SQL % (broker.url("t"), "qos = 1"))
        d.wait_status("m", "running")
        broker.kill()
        d.write(lines_of(50))
        d.wait_status("m", "backoff")
        equal(d.ledger("m")["forwarded"], 0, "QoS 1 forwarded without a broker")
        broker.start()
        d.wait_ledger("m", forwarded=50, pending=0)


def test_daemon_killed():
    """What was not confirmed comes again, the rest does not; an old session is purged first."""
    with Mosquitto() as broker, Subscriber(broker, qos=2) as sub, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("t"), "qos = 2"))
        lines = lines_of(POINTS)
        for n in range(2):
            write_all(d, lines[n * POINTS // 2:(n + 1) * POINTS // 2])
            wait_until(lambda: len(sub.raw()) > n * POINTS // 2 + 100, "it is under way")
            d.restart(kill=True)
        d.wait_ledger("m", 60, forwarded=len(lines), pending=0)
        wait_until(lambda: set(plain(sub)) == set(lines), "all arrived")
