"""What the log says of a sink's life, as text and as JSON."""

import json
import re

from harness import *
from http_sink import HttpSink


def live(d, sink):
    """Created, delivers, in trouble, recovered, dropped."""
    sink.plan(503)
    d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms WITH (verbose = true)" % sink.url())
    d.write("m v=1 1\nm v=2 2\nm v=3 3")
    d.wait_ledger("s", forwarded=3)
    d.query("DROP SINK s")
    d.logged("closed")


def test_text():
    with HttpSink() as sink, Daemon() as d:
        live(d, sink)
        time, retry = re.search(r"^(\S+) (warn .*event=retry.*)$", d.log(), re.M).groups()
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time):
            fail("the time of a line: " + time)
        contains(retry, "sink=s event=retry attempt=1 kind=target error=")
        contains(retry, 'msg="next try in ')
        contains(d.log(), 'info  sink=s event=opened msg="type http_line"')
        contains(d.log(), "event=batch seq=3 msg=\"3 points, delivered, ")
        contains(d.log(), "sink=s event=recovered")


def test_json():
    with HttpSink() as sink, Daemon({"logging": {"format": "json"}}) as d:
        live(d, sink)
        d.stop()
        lines = [json.loads(line) for line in d.log().splitlines()]
        events = [line["event"] for line in lines if line.get("sink") == "s"]
        equal(events, ["opened", "batch", "retry", "batch", "recovered", "closed"], "events")
        retry = next(line for line in lines if line["event"] == "retry")
        equal((retry["level"], retry["attempt"], retry["kind"]), ("warn", 1, "target"), "retry")
        equal(lines[-1]["event"], "stopped", "last event")
