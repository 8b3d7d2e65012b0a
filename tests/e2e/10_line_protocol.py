"""Every body of the line protocol vectors through the running daemon, as the destination gets it.

Compared: the status, the error text and the points. The rows on which the daemon differs on purpose
stand in tests/vectors/line_protocol_deviations.txt (the parser's test reads the same list) and,
when it is not the parser that differs but the answer, in line_protocol_answers.txt. A row that
stands there without need fails.
"""

import base64
import os
import re
import time
from urllib.parse import urlencode

import lineproto
from harness import *
from http_sink import HttpSink
from vectors import exceptions, rows

TIME_LIMIT = 240
UNIT_NS = {
    None: 1,
    "n": 1,
    "ns": 1,
    "u": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def deviations():
    return {**exceptions("line_protocol_deviations.txt"), **exceptions("line_protocol_answers.txt")}


def expected_error(row):
    """What the daemon says for a row: the first bad line, its number and the count of all."""
    error = row["error"]
    if "storage_reserved_time" in row["labels"]:
        return re.sub(r" dropped=(\d+)$", r" (line %d) dropped=\1" % bad_line(row), error)
    if row["stage"] not in ("parse", "parse_partial"):
        return error
    partial = row["stage"] == "parse_partial"
    text = error[len("partial write: ") : -len(" dropped=0")] if partial else error
    parts = text.split("\nunable to parse '")
    if not partial and len(parts) == 1:
        return parts[0]
    return "%s%s (line %d) dropped=%d" % (
        "partial write: " if partial else "",
        parts[0],
        first_line(row, parts[0]),
        len(parts),
    )


def bad_line(row):
    """The number of the line that storage refused, by what it complains of."""
    name, measurement = re.search(
        r'input \w+ "(\w+)" on measurement "(\w+)"', row["error"]
    ).groups()
    lines = base64.b64decode(row["body_b64"]).decode("utf-8", "replace").split("\n")
    return next(
        n
        for n, line in enumerate(lines, 1)
        if line.startswith(measurement) and re.search(r"[ ,]%s=" % name, line)
    )


def first_line(row, part):
    """The number of the first bad line, from its echo."""
    body = "\n" + base64.b64decode(row["body_b64"]).decode("utf-8", "replace")
    line = part[len("unable to parse '") : part.rindex("': ")]
    at = body.find("\n" + line)
    return body[: at + 1 if at >= 0 else body.index(line)].count("\n")


def same_error(actual, expected):
    """Equal, but that the daemon cuts the echo of a long line."""
    if actual == expected or actual is None or expected is None or "...': " not in actual:
        return actual == expected
    head, tail = actual.split("...': ", 1)
    return len(head) > 380 and expected.startswith(head) and expected.endswith("': " + tail)


def point_of(stored):
    fields = {}
    for key, (kind, value) in stored["fields"].items():
        fields[key] = (kind, repr(float(value)) if kind == "float" else value)
    return (stored["measurement"], tuple(sorted(stored["tags"].items())), fields, stored["ts"])


def wanted_points(row):
    if row["stage"] == "storage" and row.get("parsed_if_schemaless"):
        lines = [line for body in row["forwarded"] for line in lineproto.lines_of(body.encode())]
        return lineproto.merged(lineproto.read(line) for line in lines)
    return lineproto.merged(point_of(s) for s in row["stored"])


def normal(points, row, now_ns):
    """Times that the server gave become None, when they are near now and cut to the precision."""

    def stamp(ns):
        near = row_has_now(row) and abs(ns - now_ns) < 3700 * 10**9
        return None if near and ns % UNIT_NS.get(row["precision"], 1) == 0 else ns

    return lineproto.merged((m, t, f, stamp(ns)) for (m, t, ns), f in points.items())


def row_has_now(row):
    return any(s.get("ts_now") for s in row["stored"])


def difference(row, answer, bodies, now_ns):
    """What differs between an answer with its delivered lines and the vector; None: nothing."""
    schemaless = row["stage"] == "storage" and row.get("parsed_if_schemaless")
    status = 204 if schemaless else row["status"]
    error = None if schemaless else expected_error(row)
    if answer.status != status:
        return "status %d instead of %d (%s)" % (answer.status, status, answer.text)
    actual = answer.json()["error"] if answer.body else None
    if not same_error(actual, error):
        return "error\n  is       %r\n  expected %r" % (actual, error)
    header = answer.headers.get("x-influxdb-error", "")
    if (error is None) != (header == "") or any(
        c < " " and c != "\t" or c == "\x7f" for c in header
    ):
        return "X-Influxdb-Error: %r" % header
    lines = [line for body in bodies for line in lineproto.lines_of(body)]
    points = normal(lineproto.merged(lineproto.read(line) for line in lines), row, now_ns)
    if points != wanted_points(row):
        return "points\n  are      %r\n  expected %r" % (points, wanted_points(row))
    return None


def test_vectors_end_to_end():
    cases = rows("line_protocol.jsonl")
    listed = deviations()
    with HttpSink() as sink, Daemon({"storage": {"max_size_mb": 256}}) as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % sink.url("/w?db={db}"))
        answers = {row["id"]: send(d, row) for row in cases}
        now_ns = time.time_ns()
        d.wait_ledger("s", pending=0, seconds=60)
        bodies = {}
        for request in sink.taken():
            bodies.setdefault(request.query["db"], []).append(request.body)
    wrong = []
    for row in cases:
        found = difference(row, answers[row["id"]], bodies.get(row["id"], []), now_ns)
        if found and row["id"] not in listed:
            wrong.append("%s (%s): %s" % (row["id"], " ".join(row["labels"]), found))
        elif not found and row["id"] in listed and "\n" not in (row["error"] or ""):
            # (Of several bad lines the answer names the first; the others' faults do not show.)
            wrong.append("%s no longer differs: take it from the list" % row["id"])
    if wrong:
        fail("%d rows:\n%s" % (len(wrong), "\n".join(wrong)))


def send(d, row):
    parameters = {"db": row["id"]}
    if row["precision"] is not None:
        parameters["precision"] = row["precision"]
    return d.http("POST", "/write?" + urlencode(parameters), base64.b64decode(row["body_b64"]))
