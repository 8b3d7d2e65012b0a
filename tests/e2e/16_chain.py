"""One sinkd feeding another: columnar, then rows, then line protocol into a real InfluxDB: the same points as
those sent there directly. CHAIN_POINTS sets how many. A body is a column of one series, and each costs a commit:
so rounds are large here."""

import os
import time

import account
import load
from harness import *
from influxd import Influxd

SHORT = os.environ.get("SINKD_E2E") == "short"
POINTS = int(os.environ.get("CHAIN_POINTS", "4000" if SHORT else "40000"))
TIME_LIMIT = 600
BODY = 5000
LIMIT = 60 + POINTS // 400
BASE = 1700000000000000000


def line(i):
    series = "m%d\\ %s,host=h%d,zo\\ ne=a\\,b\\=%d" % (i % 3, "x\\,y" if i % 2 else "z", i % 50, i % 7)
    fields = ["f=%r" % (i * 1.1 / 7), "whole=%d" % i, "tiny=%de-%d" % (i % 9 + 1, i % 300)]
    if i % 2:
        fields += ["n=%di" % (i * 2654435761 - 2**52)]
    if i % 3 == 0:
        fields += ['s="v \\"%d\\" \\\\ ,= é"' % i, "ok=%s" % ("true" if i % 2 else "F")]
    if i % 5 == 0:
        fields += ["a\\,b=%d.5" % i, "a\\ c=-0"]
    if i % 11 == 0:
        fields = fields[-1:]
    return "%s %s %d" % (series, ",".join(fields), BASE + i * 1000003)


def contents(influx, database):
    """Every series with its values, in order."""
    found = {}
    names = [row[0] for row in influx.query("SHOW MEASUREMENTS", database)[0]["values"]]
    for name in names:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        for series in influx.query('SELECT * FROM "%s" GROUP BY *' % quoted, database):
            columns = series["columns"]
            found[name, tuple(sorted(series["tags"].items()))] = [
                sorted((c, repr(v)) for c, v in zip(columns, row) if v is not None)
                for row in series["values"]]
    return found


@short
def test_three_daemons_in_a_row():
    bodies = ["\n".join(line(i) for i in range(start, min(start + BODY, POINTS))).encode()
              for start in range(0, POINTS, BODY)]
    size = {"storage": {"max_size_mb": 256}}
    with Influxd() as influx, Daemon(size, name="c") as c, Daemon(size, name="b") as b, \
            Daemon(size, name="a") as a:
        influx.query("CREATE DATABASE chain")
        influx.query("CREATE DATABASE direct")
        common = "BATCH_SIZE 50000 FLUSH_INTERVAL 500ms WITH (timeout = '30s', max_batch_bytes = 20000000"
        c.query("CREATE SINK line TO '%s' TYPE http_line %s)" % (influx.url("chain"), common))
        b.query("CREATE SINK rows TO '%s/write' TYPE http_msgpack %s, layout = 'rows')" % (c.url, common))
        a.query("CREATE SINK columns TO '%s/write' TYPE http_msgpack %s, layout = 'columnar')"
                % (b.url, common))
        started = time.monotonic()
        load.post_all(a.port, bodies, database="chain")
        load.post_all(influx.port, bodies, database="direct")
        account.balanced(a, "columns", LIMIT, accepted=POINTS, forwarded=POINTS)
        parts = b.ledger("rows")["accepted"]
        account.balanced(b, "rows", LIMIT, forwarded=parts)
        account.balanced(c, "line", LIMIT, accepted=parts, forwarded=parts)
        took = time.monotonic() - started
        expected = contents(influx, "direct")
        equal(sum(map(len, expected.values())), POINTS, "points in the database")
        found = contents(influx, "chain")
        equal(sorted(found), sorted(expected), "series")
        for series in expected:
            equal(found[series], expected[series], "values of %r" % (series,))
        print("%d points, %d series, cut into %d on the way: the same at the end, after %.1f s"
              % (POINTS, len(expected), parts, took))
