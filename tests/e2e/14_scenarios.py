"""Faults that other tools had (line protocol and HTTP), each as a test named by its id.

What stands elsewhere: HT04 HT06 HT08 HT10 HT12 HT18 in 12_limits, HT14 OP06 in 13_endpoints, OP02
OP04 in 20_sql, SE01 SE03 in 30_canary, LP27 in 10_line_protocol.
"""

import gzip
import json

from harness import *
from http_sink import HttpSink


class Way:
    """A daemon with a destination: write, and see what arrives and what is answered."""

    def __init__(self, config=None):
        self.sink = HttpSink()
        self.d = Daemon(config or {"storage": {"cursor_delay_ms": 0}})

    def __enter__(self):
        self.d.start()
        self.d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % self.sink.url())
        return self

    def __exit__(self, *problem):
        self.d.__exit__(*problem)
        self.sink.stop()

    def send(self, body, status, **more):
        """Write; returns the error text (None with 204) and the lines that arrived by it."""
        before = len(self.sink.lines())
        answer = self.d.write(body, status=status, **more)
        self.d.wait_ledger("s", pending=0)
        return answer.json()["error"] if answer.body else None, self.sink.lines()[before:]

    def good(self, body, *lines, **more):
        """204, and these lines arrive."""
        equal(self.send(body, 204, **more)[1], list(lines), "lines of %r" % body)

    def bad(self, body, reason, *lines):
        """400 with the reason, and of the body these lines arrive."""
        error, arrived = self.send(body, 400)
        contains(error, reason, repr(body))
        equal(arrived, list(lines), "lines of %r" % body)


@short
def test_lp01_lp09_comma_in_names():
    with Way() as way:
        way.bad(b"foo,t,k=tv2 value=2", "missing tag value")
        way.bad(b"readings,readings2,fleet=A v=21.30 1577836800000000000", "missing tag value")


@short
def test_lp03_backslash_and_comma():
    with Way() as way:
        way.good(b"cpu,regions=east\\\\,west value=1.0 1", b"cpu,regions=east\\\\,west value=1.0 1")


@short
def test_lp05_lp07_windows_paths():
    """A tag value cannot end in a backslash; the neighbours of such a line are kept."""
    with Way() as way:
        way.bad(
            b"a v=1 1\nDisk,check=C:\\,host=h value=52.45 1453319535802451556\nb v=1 1",
            "invalid tag format (line 2) dropped=1",
            b"a v=1 1",
            b"b v=1 1",
        )
        way.bad(
            b"a v=1 1\nS,Disk=D:\\\\,host=x a=0i\nb v=1 1",
            "(line 2) dropped=1",
            b"a v=1 1",
            b"b v=1 1",
        )


@short
def test_lp11_names_twice():
    with Way() as way:
        way.good(b"t A=1,A=1 1", b"t A=1,A=1 1")
        way.good(b"t A=1,A=2 1", b"t A=1,A=2 1")
        way.bad(b"t A=1,A=1i 1", "field type conflict")
        way.bad(b"t,a=1,a=2 v=1 1", "duplicate tags")
        way.good(b"t,a=1 a=2 1", b"t,a=1 a=2 1")


@short
def test_lp13_lp15_ends_comments_and_blanks():
    with Way() as way:
        way.good(b"test,foo=bar v=1i 123456789", b"test,foo=bar v=1i 123456789")
        way.good(b"# c\n\n   \nm v=1 1\n", b"m v=1 1")
        way.good(b"# only\n# comments\n")
        way.good(b"")
        way.good(b"\r\n# c\r\nm v=1 1\r\n", b"m v=1 1")


@short
def test_lp17_integers():
    with Way() as way:
        way.good(b"m v=9223372036854775807i 1", b"m v=9223372036854775807i 1")
        way.bad(b"m v=9223372036854775808i 1", "value out of range")
        way.good(b"m v=-9223372036854775808i 1", b"m v=-9223372036854775808i 1")


@short
def test_lp19_timestamps():
    with Way() as way:
        way.good(b"m v=1 -1", b"m v=1 -1")
        way.good(b"m v=1 9223372036854775806", b"m v=1 9223372036854775806")
        way.bad(b"m v=1 9223372036854775807", "time outside range")
        way.bad(b"m v=1 9223372036854775808", "value out of range")


@short
def test_lp21_long_tags():
    """Up to InfluxDB's length it arrives byte for byte; beyond, the line is refused."""
    with Way() as way:
        long = b"m,t=" + b"x" * 65000 + b" v=1 1"
        way.good(long, long)
        error, lines = way.send(b"a v=1 1\nm,t=" + b"x" * 85000 + b" v=1 1\nb v=1 1", 400)
        contains(error, "max key length exceeded")
        equal(lines, [b"a v=1 1", b"b v=1 1"], "lines")
        if len(error) > 1000:
            fail("an error of %d bytes" % len(error))


@short
def test_lp23_invalid_utf8():
    """Bytes pass as they are, and every answer about them is valid JSON."""
    with Way() as way:
        way.good(b"m,t=\xff\xfe v=1 1\na v=1 1", b"m,t=\xff\xfe v=1 1", b"a v=1 1")
        error, _ = way.send(b"m,t=\xff\xfe v=", 400)
        contains(error, "\ufffd")
        equal(
            way.d.http("POST", "/write?db=caf%E9", "m v=1").status,
            400,
            "a database that is not UTF-8",
        )


@short
def test_lp25_seconds_as_nanoseconds():
    with Way() as way:
        way.good(b"m v=1 1440089182", b"m v=1 1440089182")
        way.good(b"m v=1 1440089182000000000", b"m v=1 1440089182000000000")
        equal(way.d.metrics().get("hyperbytedb_suspicious_timestamps_total"), 1, "suspicious")


@short
def test_ht02_precisions():
    with Way() as way:
        for unit, factor in (
            ("n", 1),
            ("ns", 1),
            ("u", 1000),
            ("us", 1000),
            ("ms", 10**6),
            ("s", 10**9),
            ("m", 60 * 10**9),
            ("h", 3600 * 10**9),
        ):
            way.good(b"m v=1 7", b"m v=1 %d" % (7 * factor), precision=unit)
        for unit in ("banana", "d", "M", "ns2"):
            error, lines = way.send(b"m v=1 7", 400, precision=unit)
            contains(error, 'invalid precision "%s"' % unit)
            equal(lines, [], "lines")


@short
def test_ht16_no_type_guard():
    """Types are not compared between lines: both arrive."""
    with Way() as way:
        way.good(
            b"test value=1 1\ntest value=1i 2\ntest2 value=1 3",
            b"test value=1 1",
            b"test value=1i 2",
            b"test2 value=1 3",
        )


@short
def test_order_and_bytes_are_kept():
    """The order of tags and fields, escapes and odd spacing of a line reach the destination."""
    with Way() as way:
        line = b'we\\ ird,z=1,a=\\=x\\,y b="q\\"uo\\\\te",a=1.50,c=1e3,d=T,e=-0 1'
        way.good(line, line)
        way.good(b"m   v=1   5", b"m v=1 5")


@short
def test_a_body_is_stored_whole_or_not_at_all():
    """A body that is cut on the way, by its length or its chunks, leaves nothing."""
    with Way() as way:
        for head, body in (
            (b"Content-Length: 100", b"m v=1 1\nm v=2 2\n"),
            (b"Transfer-Encoding: chunked", b"10\r\nm v=1 1\nm v=2 2\n\r\n"),
            (b"Transfer-Encoding: chunked", b"10\r\nm v=1 1\nm v="),
            (b"Transfer-Encoding: chunked", b"10\r\nm v=1 1\nm v=2 2\n\r\nzz\r\n"),
        ):
            with way.d.raw() as raw:
                raw.send(b"POST /write?db=db HTTP/1.1\r\nHost: h\r\n" + head + b"\r\n\r\n" + body)
                raw.half_close()
                answer = raw.read()
                equal(answer.status, 400, repr(body))
        equal(way.d.metrics().get("hyperbytedb_ingestion_points_total"), 0, "points")


@short
def test_write_of_version_2():
    with Way() as way:
        d = way.d
        for bucket in ("db", "db%2Frp"):
            answer = d.http(
                "POST",
                "/api/v2/write?org=o&precision=ms&bucket=" + bucket,
                gzip.compress(b"m v=1u 7"),
                {"Content-Encoding": "gzip", "Authorization": "Token t"},
            )
            equal(answer.status, 204, bucket)
        d.wait_ledger("s", forwarded=2, pending=0)
        equal(way.sink.lines(), [b"m v=1u 7000000"] * 2, "lines")
        equal(d.rows("SHOW DATABASES"), [{"name": "db"}], "databases")
        answer = d.http("POST", "/api/v2/write?org=o&bucket=", "m v=1")
        equal(answer.status in (400, 404), True, "no bucket")
        json.loads(answer.body)


@short
def test_messagepack_is_not_taken_for_lines():
    with Way() as way:
        answer = way.d.http(
            "POST", "/write?db=db", b"\x81\xa1m\x01", {"Content-Type": "application/msgpack"}
        )
        equal(answer.status in (400, 415), True, "status")
        equal(way.d.metrics().get("hyperbytedb_ingestion_points_total"), 0, "points")
