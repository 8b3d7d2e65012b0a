"""The forms of a point on the wire: golden bytes made with python3-msgpack and Python's json (tests/vectors/forms),
bodies cut, confirmed and sent again, and both MessagePack forms taken in."""

import json
import os
import struct

import mpack
from harness import *
from http_sink import HttpSink, Reply

VECTORS = os.path.join(SOURCE, "tests", "vectors", "forms")
COLUMNAR = "application/vnd.hyperbytedb.columnar-msgpack.v1"
ROWS = "application/msgpack"
BASE = 1700000000000000000


def vector(name):
    with open(os.path.join(VECTORS, name), "rb") as file:
        return file.read()


def reading(body):
    """The values of a body as this file's own decoder and, where it is installed, msgpack read them."""
    value = mpack.loads(body)
    try:
        import msgpack
    except ImportError:
        return value
    equal(repr(msgpack.unpackb(body)), repr(value), "what python3-msgpack reads")
    return value


def post(d, value, kind=ROWS, status=204, more=""):
    body = value if isinstance(value, bytes) else mpack.dumps(value)
    answer = d.http("POST", "/write?db=db" + more, body, {"Content-Type": kind})
    equal(answer.status, status, "status of %r: %r" % (body[:200], answer.body))
    return answer.body.decode()


@short
def test_json_on_standard_output():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FORMAT json FLUSH_INTERVAL 10ms")
        d.write(vector("points.txt").decode())
        d.wait_ledger("s", forwarded=5, pending=0)
        equal(d.output(), vector("points.jsonl"), "documents")
        for line in d.output().splitlines():
            json.loads(line)


@short
def test_json_is_valid_whatever_the_bytes():
    body = b'm,t=\xff\xfe s="\xc3",k\xed\xa0\x80=1,c="\x00\x01\x1f\x7f\xe2\x80\xa8",\xff=1,\xfe=2 1\n'
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FORMAT json FLUSH_INTERVAL 10ms")
        answer = d.http("POST", "/write?db=db", body)
        equal(answer.status, 204, "status")
        d.wait_ledger("s", forwarded=1, pending=0)
        document = json.loads(d.output(), object_pairs_hook=unique)
        equal(document["tags"], {"t": "\ufffd\ufffd"}, "tags")
        equal(document["fields"], {"s": "\ufffd", "k\ufffd\ufffd\ufffd": 1,
                                   "c": "\0\x01\x1f\x7f\u2028", "\ufffd": 2}, "fields")


def unique(pairs):
    equal(len(pairs), len(dict(pairs)), "names of %r" % (pairs,))
    return dict(pairs)


@short
def test_messagepack_on_standard_output():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FORMAT msgpack FLUSH_INTERVAL 10ms")
        d.write(vector("points.txt").decode())
        d.wait_ledger("s", forwarded=5, pending=0)
        with open(d.path(".out"), "rb") as file:
            equal(file.read(), vector("stream.msgpack"), "maps")


@short
def test_rows():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_msgpack FLUSH_INTERVAL 10ms WITH (layout = 'rows')"
                % sink.url("/write?rp=two"))
        d.write(vector("points.txt").decode(), db="my db")
        d.wait_ledger("s", forwarded=5, pending=0)
        equal(len(sink.requests), 1, "requests")
        equal(sink.requests[0].target, "/write?rp=two&db=my%20db", "target")
        equal(sink.requests[0].headers["content-type"], ROWS, "type")
        equal(sink.requests[0].body, vector("rows.msgpack"), "body")
        reading(sink.requests[0].body)


@short
def test_columns():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_msgpack FLUSH_INTERVAL 10ms" % sink.url("/write?db=x"))
        d.write(vector("points.txt").decode())
        d.wait_ledger("s", forwarded=5, pending=0)
        columns = [r.body for r in sink.requests if r.headers["content-type"] == COLUMNAR]
        rows = [r.body for r in sink.requests if r.headers["content-type"] == ROWS]
        equal(b"".join(columns), vector("columns.msgpack"), "columns")
        equal(rows, [vector("rest.msgpack")], "rows")
        equal({r.target for r in sink.requests}, {"/write?db=x"}, "targets")
        equal(len({r.connection for r in sink.requests}), 1, "connections")
        for body in columns:
            reading(body)


def contents(requests):
    """How often each (series, field, time) is in the bodies that were taken."""
    count = {}
    for r in requests:
        body = reading(r.body)
        for one in body if isinstance(body, list) else [body]:
            series = (one["measurement"],) + tuple(sorted(one["tags"].items()))
            if "field" in one:
                equal(len(one["values"]), len(one["timestamps"]), "lengths")
                parts = [(one["field"], t) for t in one["timestamps"]]
            else:
                parts = [(f, one["timestamp"]) for f in one["fields"]]
            for part in parts:
                count[series + part] = count.get(series + part, 0) + 1
    return count


def lines_of(points):
    return ["m,t=%d f=%d.5,g=2,i=%di %d" % (i % 40, i, i, BASE + i * 1000000) for i in range(points)]


@short
def test_what_is_confirmed_is_not_sent_again():
    with HttpSink() as sink, Daemon({"sink": {"backoff_base_secs": 1}}) as d:
        sink.plan(204, 204, 500, 204, Reply(204, close=True), 204, Reply(reset=True), 204, 503)
        d.query("CREATE SINK s TO '%s' TYPE http_msgpack FLUSH_INTERVAL 10ms" % sink.url())
        d.write(lines_of(500))
        d.wait_ledger("s", 30, forwarded=500, pending=0)
        count = contents(sink.taken())
        equal(len(count), 1500, "parts")
        equal(set(count.values()), {1}, "how often each came")


@short
def test_a_refused_point_alone():
    with HttpSink() as sink, Daemon() as d:
        sink.refuse = b"poison"
        d.query("CREATE SINK s TO '%s' TYPE http_msgpack FLUSH_INTERVAL 10ms WITH (on_reject = 'drop')"
                % sink.url())
        d.write(lines_of(100) + ['m,t=1 f=1.5,s="poison" 7'] + lines_of(200)[100:])
        d.wait_ledger("s", 30, forwarded=200, dropped=1, pending=0)
        count = contents(sink.taken())
        equal({k: n for k, n in count.items() if n > 1 or k[-1] == 7 and k[-2] != "f"}, {}, "twice or bad")
        equal(len(count), 601, "parts")


@short
def test_precision_and_limit():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_msgpack FLUSH_INTERVAL 10ms WITH (precision = 'ms', "
                "max_batch_bytes = 1000, gzip = true)" % sink.url("/write?db=x&precision=ms"))
        d.write(["m f=%d,i=1i %d" % (i, BASE + i * 1000000 + 999999) for i in range(300)])
        d.wait_ledger("s", forwarded=300, pending=0)
        equal(max(len(r.body) for r in sink.requests) <= 1000, True, "size of bodies")
        count = contents(sink.taken())
        equal(sorted(k[-1] for k in count if k[-2] == "f"), [BASE // 1000000 + i for i in range(300)], "times")
        equal(set(count.values()), {1}, "how often each came")


ROW = {"measurement": "m", "tags": {"a": "b"}, "fields": {"f": {"Float": 1.5}}, "timestamp": 1}


@short
def test_rows_are_taken():
    odd = {"measurement": 'm,= x\\"y', "tags": {"a b": "c,d=e\\f"}, "timestamp": None,
           "fields": {'k,= "x': {"Integer": -3}, "s": {"String": 'a"\\ b'}, "u": {"UInteger": 2**64 - 1},
                      "t": {"Boolean": True}, "z": {"Float": -0.0}, "n": {"Float": 7}}, "other": [1, {}]}
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % sink.url())
        post(d, [ROW, odd])
        post(d, ROW | {"tags": None}, "application/x-msgpack", more="&precision=s")
        post(d, [])
        post(d, vector("rows.msgpack"))
        d.wait_ledger("s", forwarded=8, pending=0)
        lines = sink.lines()
        equal(lines[0], b"m,a=b f=1.5 1", "first line")
        equal(lines[1][:lines[1].rindex(b" ")],
              b'm\\,=\\ x\\\\"y,a\\ b=c\\,d\\=e\\f '
              b'k\\,\\=\\ \\"x=-3i,s="a\\"\\\\ b",u=18446744073709551615u,t=true,z=-0.0,n=7', "odd line")
        equal(lines[2], b"m f=1.5 1000000000", "one map, in seconds")


@short
def test_columns_are_taken():
    column = {"measurement": "cpu", "tags": {"host": "h1"}, "field": "idle", "values": [1.0, 2.0],
              "timestamps": [1700000000000, 1700000001000]}
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % sink.url())
        post(d, column, COLUMNAR, more="&precision=ms")
        del column["tags"]
        post(d, column | {"timestamps": None, "values": [3]}, COLUMNAR)
        d.wait_ledger("s", forwarded=3, pending=0)
        equal(sink.lines()[:2], [b"cpu,host=h1 idle=1 1700000000000000000",
                                 b"cpu,host=h1 idle=2 1700000001000000000"], "lines")
        contains(sink.lines()[2], b"cpu idle=3 ", "line")


@short
def test_points_that_are_refused():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FLUSH_INTERVAL 10ms")
        nan = struct.unpack(">d", b"\x7f\xf8\0\0\0\0\0\0")[0]
        for bad, reason in (({"measurement": ""}, "missing measurement"), ({"fields": {}}, "missing fields"),
                            ({"fields": {"f": {"Float": nan}}}, "invalid number"),
                            ({"tags": {"a": "x\\"}}, "line protocol cannot hold"),
                            ({"measurement": "#m"}, "line protocol cannot hold"),
                            ({"tags": {"time": "x"}}, "invalid tag key"), ({"tags": {"a": ""}}, "missing tag value"),
                            ({"timestamp": 2**63}, "out of range"), ({"measurement": "x" * 70000}, "max key length")):
            text = post(d, [ROW, ROW | bad, ROW], status=400)
            contains(text, "partial write: ", "answer")
            contains(text, reason, "answer")
            contains(text, "(line 2) dropped=1", "answer")
        d.wait_ledger("s", forwarded=18, pending=0)


@short
def test_bodies_that_are_broken():
    column = {"measurement": "m", "field": "f", "values": [1.0], "timestamps": [1]}
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FLUSH_INTERVAL 10ms")
        for body in (b"", b"\xc1", b"\x91\x84", b"\x90\0", 5, [ROW, 5], [ROW, ROW | {"fields": {"f": 1}}],
                     [ROW, ROW | {"fields": {"f": {"Foo": 1}}}], [ROW, ROW | {"fields": {"f": {"Integer": "1"}}}],
                     [ROW | {"measurement": 1}], [ROW | {"timestamp": 1.5}], b"\xdd\xff\xff\xff\xff",
                     b"\x91" * 1000):
            contains(post(d, body, status=400), "invalid MessagePack body: ", "answer")
        for body in ([column], column | {"field": ""}, column | {"timestamps": []}, column | {"values": ["x"]},
                     column | {"tags": []}, {"field": "f"}):
            contains(post(d, body, COLUMNAR, status=400), "invalid MessagePack body: ", "answer")
        equal(d.ledger("s")["accepted"], 0, "accepted")


@short
def test_a_small_body_cannot_grow_without_bound():
    column = {"measurement": "m", "tags": {"t": "x" * 60000}, "field": "f", "values": [1.0] * 3000}
    with Daemon() as d:
        contains(post(d, column, COLUMNAR, status=413), "as line protocol", "answer")
