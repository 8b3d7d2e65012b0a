"""Into a real InfluxDB: every point of many clients arrives with its value; wrong databases, wrong
credentials, restarts and partial writes are told apart."""

import os
import threading
import time

import account
import load
from harness import *
from influxd import Influxd

TIME_LIMIT = 150
SHORT = os.environ.get("SINKD_E2E") == "short"
BODY = 5000
BASE = 1700000000000000000


def bodies_of(points):
    """Bodies of points, each of its own series and time, and what their values come to."""
    bodies = []
    for start in range(0, points, BODY):
        bodies.append("\n".join(
            "metric,host=h%d,region=r%d value=%di,load=%d.%02d %d"
            % (i % 50, i % 7, i * 2654435761 % 1000003, i % 900, i % 4 * 25, BASE + i * 1000000)
            for i in range(start, min(start + BODY, points))).encode())
    return bodies, {"count_value": points, "count_load": points,
                    "sum_value": sum(i * 2654435761 % 1000003 for i in range(points)),
                    "sum_load": sum(i % 900 + i % 4 * 0.25 for i in range(points))}


def totals(influx, database):
    return influx.row("SELECT count(*), sum(*) FROM metric", database)


def matches(influx, database, expected):
    found = totals(influx, database)
    return all(found[key] == value for key, value in expected.items())


@short
def test_a_million_points():
    points = 20000 if SHORT else 1000000
    bodies, expected = bodies_of(points)
    with Influxd() as influx, Daemon({"storage": {"max_size_mb": 256}}) as d:
        influx.query("CREATE DATABASE target")
        d.query("CREATE SINK influx TO '%s' TYPE http_line BATCH_SIZE 10000 FLUSH_INTERVAL 100ms "
                "WITH (gzip = true, max_batch_bytes = 2000000, timeout = '30s')"
                % influx.url("target"))
        started = time.monotonic()
        restart = threading.Thread(target=restart_in_the_middle, args=(influx, d, points), daemon=True)
        restart.start()
        again = load.post_all(d.port, bodies)
        written = time.monotonic() - started
        restart.join(60)
        account.balanced(d, "influx", 60, accepted=points, forwarded=points)
        arrived = time.monotonic() - started
        wait_until(lambda: matches(influx, "target", expected), "count and sums equal")
        print("%d points: written in %.1f s (%d bodies refused at first), arrived after %.1f s"
              % (points, written, again, arrived))


def restart_in_the_middle(influx, d, points):
    wait_until(lambda: d.ledger("influx")["forwarded"] >= points // 4, "a quarter is through", 60)
    influx.stop()
    wait_until(lambda: d.sink("influx")["last_error"] or d.ledger("influx")["pending"] == 0,
               "it is noticed, unless all is through already")
    influx.start()


@short
def test_wrong_database_and_credentials():
    lines = ["m,n=%d v=%di %d" % (i % 3, i, BASE + i) for i in range(100)]
    with Influxd(auth=True) as influx, Daemon() as d:
        influx.query("CREATE DATABASE good")
        sink = "CREATE SINK s TO '%s' USERNAME 'admin' PASSWORD '%s' TYPE http_line FLUSH_INTERVAL 10ms"
        d.query(sink % (influx.url("absent"), "adminpw"))
        d.write(lines)
        d.wait_status("s", "blocked")
        contains(d.sink("s")["last_error"], "404", "last_error")
        contains(d.sink("s")["last_error"], "database not found", "last_error")
        equal(d.ledger("s")["pending"], 100, "pending")
        d.query("ALTER SINK s TO '%s' PASSWORD 'wrong'" % influx.url("good"))
        d.wait_status("s", "auth_failed")
        equal(d.ledger("s")["pending"], 100, "pending")
        d.query("ALTER SINK s PASSWORD 'adminpw'")
        account.balanced(d, "s", accepted=100, forwarded=100)
        equal(influx.row("SELECT count(v), sum(v) FROM m", "good")["sum"], sum(range(100)), "sum")
        equal(account.errors(d, "s", "auth") >= 1, True, "counted as auth")
        equal(account.errors(d, "s", "target") >= 1, True, "counted as target")


@short
def test_partial_writes():
    """A field of the wrong type: InfluxDB stores the rest of the body and says so."""
    lines = ["m,n=%d v=%di %d" % (i % 3, i, BASE + i) for i in range(200)]
    for i in (3, 77, 78, 199):
        lines[i] = lines[i].replace("i ", " ").replace("v=", "v=0.5,w=")
        lines[i] = "m,n=9 v=\"text\" %d" % (BASE + i)
    with Influxd() as influx, Daemon() as d:
        influx.query("CREATE DATABASE db")
        d.query("CREATE SINK s TO '%s' TYPE http_line BATCH_SIZE 50 FLUSH_INTERVAL 10ms "
                "WITH (on_reject = 'drop')" % influx.url("db"))
        d.write(lines)
        account.balanced(d, "s", accepted=200, forwarded=196, dropped=4)
        equal(account.dropped(d, "s", "rejected"), 4, "dropped as rejected")
        found = influx.row("SELECT count(v), sum(v) FROM m", "db")
        equal((found["count"], found["sum"]),
              (196, sum(i for i in range(200) if i not in (3, 77, 78, 199))), "what arrived")


@short
def test_points_older_than_the_retention():
    now = int(time.time()) * 1000000000
    old = now - 30 * 86400 * 1000000000
    lines = ["m v=%di %d" % (i, (old if i % 2 else now) + i) for i in range(278)]
    with Influxd() as influx, Daemon() as d:
        influx.query("CREATE DATABASE db WITH DURATION 1d REPLICATION 1 SHARD DURATION 1h NAME day")
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms WITH (on_reject = 'drop')"
                % influx.url("db"))
        d.write(lines)
        account.balanced(d, "s", accepted=278, forwarded=139, dropped=139)
        found = influx.row("SELECT count(v), sum(v) FROM m", "db")
        equal((found["count"], found["sum"]), (139, sum(range(0, 278, 2))), "what arrived")
