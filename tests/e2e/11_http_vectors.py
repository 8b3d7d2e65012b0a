"""What a real InfluxDB 1.x answered to requests, byte for byte, against the running daemon.

http_api.jsonl: statuses, bodies, chosen headers, whether the connection is closed, and what is
stored afterwards. client_traces.jsonl: the requests of real clients in their order. Rows that
differ on purpose stand in http_api_deviations.txt and client_traces_deviations.txt, with a word
that docs/deviations.md explains; one that stands there without need fails.
"""

import base64
import gzip
import re
import time

import lineproto
from harness import *
from http_sink import HttpSink
from vectors import exceptions, rows

TIME_LIMIT = 240
HEADERS = (
    "content-type",
    "allow",
    "www-authenticate",
    "connection",
    "content-encoding",
    "x-influxdb-build",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-expose-headers",
)


class Row:
    """One row: what was sent, what came, and the differences."""

    def __init__(self, d, sink, row):
        self.d = d
        self.sink = sink
        self.row = row
        self.found = []

    def note(self, what, actual, expected):
        if actual != expected:
            self.found.append("%s: is %r, expected %r" % (what, actual, expected))

    def setup(self):
        """An empty daemon: all databases of the row before are dropped."""
        for name in databases(self.d):
            self.d.query('DROP DATABASE "%s"' % name.replace("\\", "\\\\").replace('"', '\\"'))
        self.sent = len(self.sink.taken())
        for step in self.row["setup"]:
            if "query" in step:
                self.d.query_raw(step["query"])
            else:
                self.d.write(step["write"]["body"], db=step["write"]["db"])

    def run(self):
        self.setup()
        parts = [base64.b64decode(p) for p in self.row.get("parts_b64", [self.row["request_b64"]])]
        with self.d.raw() as raw:
            answers = []
            for part in parts:
                raw.send_quietly(part)
                if len(parts) > 1 and part is not parts[-1]:
                    answers.append(raw.read())
            if self.row.get("half_close"):
                raw.half_close()
            method = "HEAD" if parts[0].startswith(b"HEAD") else "GET"
            while len(answers) < len(self.row["responses"]):
                answers.append(raw.read(method))
            for answer, wanted in zip(answers, self.row["responses"]):
                self.compare(answer, wanted)
            if self.row["server_closed"]:
                self.note("closed", raw.closed(2), True)
            elif not self.row.get("half_close"):
                self.note("open and quiet", raw.quiet(0.02), True)
        if self.row["server"] == "noauth":
            self.afterwards()
        return self.found

    def compare(self, answer, wanted):
        self.note("status", answer.status, wanted["status"])
        self.note("version", answer.version, wanted["version"])
        for name in HEADERS:
            if name == "x-influxdb-build" and name not in wanted["headers"]:
                continue  # the recorded server's library answers some requests by itself
            self.note(name, answer.headers.get(name), wanted["headers"].get(name))
        self.note("body", short_of(body_of(answer)), with_own_words(wanted_body(wanted)))
        self.compare_ids(answer, wanted)
        if "x-influxdb-error" in wanted["headers"]:
            text = "".join(
                c for c in wanted["headers"]["x-influxdb-error"] if c >= " " and c != "\x7f"
            )
            self.note(
                "error header",
                short_of(answer.headers.get("x-influxdb-error", "")),
                with_own_words(text),
            )

    def compare_ids(self, answer, wanted):
        identity = answer.headers.get("request-id", "")
        if wanted["headers"].get("request-id") == "<uuid1>":
            good = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", identity)
            self.note("request id is a UUID", bool(good), True)
            self.note("X-Request-Id", answer.headers.get("x-request-id"), identity)
        elif "request-id" in wanted["headers"]:
            self.note("request id", identity, wanted["headers"]["request-id"])

    def afterwards(self):
        """The databases, and the points that the destination got since the set-up began."""
        wanted = sorted(entry["db"] for entry in self.row["after"])
        self.note("databases", sorted(databases(self.d)), wanted)
        self.d.wait_ledger("s", pending=0)
        now_ns = time.time_ns()
        found = {}
        for request in self.sink.taken()[self.sent :]:
            points = (lineproto.read(line) for line in lineproto.lines_of(request.body))
            found.setdefault(request.query["db"], []).extend(points)
        for entry in self.row["after"]:
            points = lineproto.merged(near(p, now_ns) for p in found.get(entry["db"], []))
            self.note("points", points, lineproto.merged(point_of(p) for p in entry["points"]))


def near(point, now_ns):
    """A point whose time the server gave has the time None."""
    measurement, tags, fields, stamp = point
    return measurement, tags, fields, None if abs(stamp - now_ns) < 10**14 else stamp


def point_of(stored):
    fields = {
        key: (kind, repr(float(value)) if kind == "float" else value)
        for key, (kind, value) in stored["fields"].items()
    }
    return stored["measurement"], tuple(sorted(stored["tags"].items())), fields, stored["ts"]


def with_own_words(text):
    """The statements that only the daemon knows, in lists of what could stand here."""
    for before, behind in (
        ("SET, KILL at", "SET, KILL, REPLAY, REPAIR at"),
        ("RETENTION, SUBSCRIPTION at", "RETENTION, SINK, SUBSCRIPTION at"),
        ("expected RETENTION at", "expected RETENTION, SINK at"),
        ("DATABASE, MEASUREMENT,", "DATABASE, DEAD, MEASUREMENT,"),
        ("SHARD, SUBSCRIPTION,", "SHARD, SINK, SUBSCRIPTION,"),
        ("DATABASES, DIAGNOSTICS,", "DATABASES, DEAD, DIAGNOSTICS,"),
        ("GRANTS, MEASUREMENT,", "GRANTS, LEDGER, MEASUREMENT,"),
        ("SHARDS, STATS,", "SHARDS, SINK, SINKS, STATS,"),
    ):
        text = text.replace(before, behind)
    return text


def short_of(text):
    """Without what the daemon says beyond the recorded server: what the limit on a body is."""
    return re.sub(
        r"(Request Entity Too Large): the limit is 20000 bytes \(server.max_body_size_bytes is "
        r"20000, an eighth of the store is \d+\)",
        r"\1",
        text,
    )


def databases(d):
    return [row["name"] for row in d.rows("SHOW DATABASES")]


def body_of(answer):
    body = answer.body
    if answer.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return body.decode("utf-8", "replace")


def wanted_body(wanted):
    if "body_decoded" in wanted:
        return wanted["body_decoded"]
    if "body_b64" in wanted:
        return base64.b64decode(wanted["body_b64"]).decode("utf-8", "replace")
    return wanted["body"]


def judge(differences, listed):
    """Fail with all rows that differ unlisted, or stand in the list without need."""
    wrong = []
    for identity, (note, found) in differences.items():
        if found and identity not in listed:
            wrong.append("%s (%s)\n  %s" % (identity, note, "\n  ".join(found)))
        elif not found and identity in listed:
            wrong.append("%s (%s) no longer differs: take it from the list" % (identity, note))
    if wrong:
        fail("%d rows of %d:\n%s" % (len(wrong), len(differences), "\n".join(wrong)))


@short
def test_http_api():
    found = {}
    with HttpSink() as sink, Daemon(
        {"server": {"max_body_size_bytes": 20000}, "storage": {"cursor_delay_ms": 0}}
    ) as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url("/w?db={db}"))
        for row in rows("http_api.jsonl"):
            try:
                differences = Row(d, sink, row).run()
            except (OSError, EOFError, ValueError) as problem:
                differences = ["%s: %s" % (type(problem).__name__, problem)]
            found[row["id"]] = ("%s, %s" % (row["note"], " ".join(row["labels"])), differences)
    judge(found, exceptions("http_api_deviations.txt"))


class Recorded(Raw):
    """The bytes of a recorded answer, read as if they came in."""

    def __init__(self, data):
        self.data = data + b"\n"  # the recorder lost the last byte
        self.ended = True


@short
def test_client_traces():
    found = {}
    with Daemon() as d:
        for row in rows("client_traces.jsonl"):
            with d.raw() as raw:
                raw.send(base64.b64decode(row["request_b64"]))
                answer = raw.read()
            wanted = Recorded(base64.b64decode(row["real_response_b64"])).read()
            differences = []
            for what, a, b in (
                ("status", answer.status, wanted.status),
                ("body", body_of(answer), with_own_words(body_of(wanted))),
            ):
                if a != b:
                    differences.append("%s: is %r, expected %r" % (what, a, b))
            for name in ("content-type", "x-influxdb-build"):
                if answer.headers.get(name) != wanted.headers.get(name):
                    differences.append("%s: %r" % (name, answer.headers.get(name)))
            found[row["id"]] = (row["client"], differences)
        equal(sorted(databases(d)), ["clidb", "nodedb", "pydb"], "databases")
    judge(found, exceptions("client_traces_deviations.txt"))
