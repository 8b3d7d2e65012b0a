"""The endpoints beside /write: /ping, /health, /metrics, /query's forms, definitions as JSON."""

import json
import socket

from harness import *
from http_sink import HttpSink, Reply

# product metrics, and the labels of each; those of the second list come with dead letters.
METRICS = {
    "hyperbytedb_sink_forwards_total": "counter",
    "hyperbytedb_sink_errors_total": "counter",
    "hyperbytedb_sink_duration_seconds": "histogram",
    "hyperbytedb_sink_queue_depth": "gauge",
    "hyperbytedb_sink_filtered_total": "counter",
    "hyperbytedb_sink_dropped_total": "counter",
    "hyperbytedb_sink_retries_total": "counter",
    "hyperbytedb_sink_oldest_pending_seconds": "gauge",
    "hyperbytedb_sink_last_success_timestamp_seconds": "gauge",
    "hyperbytedb_sink_status": "gauge",
    "hyperbytedb_write_requests_total": "counter",
    "hyperbytedb_write_errors_total": "counter",
    "hyperbytedb_ingestion_points_total": "counter",
    "hyperbytedb_rejected_lines_total": "counter",
    "hyperbytedb_suspicious_timestamps_total": "counter",
    "hyperbytedb_write_duration_seconds": "histogram",
    "hyperbytedb_commit_duration_seconds": "histogram",
    "hyperbytedb_storage_used_bytes": "gauge",
    "hyperbytedb_storage_size_bytes": "gauge",
    "hyperbytedb_storage_expired_points_total": "counter",
    "hyperbytedb_disk_free_bytes": "gauge",
    "hyperbytedb_uptime_seconds": "gauge",
    "hyperbytedb_info": "gauge",
}
LATER = ("hyperbytedb_sink_dead_letters_total", "hyperbytedb_sink_dead_letters")
KINDS = ("connect", "timeout", "auth", "throttled", "rejected", "target", "protocol")
DROPS = ("rejected", "full", "age", "dead_letter", "damaged")
STATES = (
    "starting",
    "connecting",
    "running",
    "backoff",
    "auth_failed",
    "blocked",
    "paused",
    "disabled",
)
BUCKETS = (
    "0.001",
    "0.0025",
    "0.005",
    "0.01",
    "0.025",
    "0.05",
    "0.1",
    "0.25",
    "0.5",
    "1",
    "2.5",
    "5",
    "10",
    "30",
    "+Inf",
)


@short
def test_ping():
    with Daemon() as d:
        for method in ("GET", "HEAD"):
            for path in ("/ping", "/status"):
                answer = d.http(method, path)
                equal((answer.status, answer.body), (204, b""), path)
                contains(answer.headers["x-influxdb-version"], "1.8.10-sinkd")
        answer = d.http("GET", "/ping?verbose=true")
        equal((answer.status, answer.json()), (200, {"version": "1.8.10-sinkd"}), "verbose")
        equal(d.http("GET", "/ping?verbose=false").status, 204, "verbose=false")
        answer = d.http("HEAD", "/ping?verbose=true")
        equal((answer.status, answer.body), (200, b""), "HEAD")
        for method, path, allow in (
            ("DELETE", "/ping", "GET, HEAD"),
            ("HEAD", "/metrics", "GET"),
            ("GET", "/write", "OPTIONS, POST"),
            ("POST", "/health", "GET"),
        ):
            answer = d.http(method, path)
            equal((answer.status, answer.headers["allow"]), (405, allow), "%s %s" % (method, path))


@short
def test_health():
    with Daemon() as d:
        answer = d.http("GET", "/health")
        equal(answer.status, 200, "/health")
        health = answer.json()
        equal((health["status"], health["name"]), ("pass", "sinkd"), "health")
        if not health["version"].startswith("1."):
            fail(health["version"])
        equal(d.http("GET", "/health/ready").status, 200, "/health/ready")
        equal(d.http("GET", "/health/ready?sink=x").status, 404, "no such sink")
        equal(d.http("GET", "/health/other").status, 404, "no such path")


@short
def test_ready_of_a_sink():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url())
        wait_until(lambda: d.http("GET", "/health/ready?sink=s").status == 200, "ready")
        d.query("ALTER SINK s PAUSE")
        wait_until(lambda: d.http("GET", "/health/ready?sink=s").status == 503, "paused")
        contains(d.http("GET", "/health/ready?sink=s").json()["error"], "paused")
        d.query("ALTER SINK s RESUME")
        wait_until(lambda: d.http("GET", "/health/ready?sink=s").status == 200, "ready again")


@short
def test_health_turns_red_when_points_wait():
    """OP06: the process lives and ships nothing."""
    with HttpSink(Reply(hang=True)) as sink, Daemon({"sink": {"max_lag_secs": 1}}) as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url())
        d.write("m v=1")
        equal(d.http("GET", "/health").status, 200, "at first")
        wait_until(lambda: d.http("GET", "/health").status == 503, "red")
        health = d.http("GET", "/health").json()
        equal(health["status"], "fail", "status")
        contains(health["message"], '"s"')
        d.query("ALTER SINK s PAUSE")
        equal(d.http("GET", "/health").status, 200, "a paused sink is no fault")
        d.query("ALTER SINK s RESUME")
        sink.default = Reply(204)
        sink.release()
        d.wait_ledger("s", pending=0)
        wait_until(lambda: d.http("GET", "/health").status == 200, "green")


@short
def test_every_metric():
    with HttpSink() as sink, Daemon() as d:
        d.query(
            "CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms INCLUDE MEASUREMENTS m"
            % sink.url()
        )
        d.write("m v=1 1700000000000000000\nother v=1 1700000000000000000")
        d.wait_ledger("s", forwarded=1, filtered=1, pending=0)
        m = d.metrics()
        for name, kind in METRICS.items():
            equal(m.types.get(name), kind, name)
        for name in LATER:
            equal(m.types.get(name), None, name)
        unknown = set(m.types) - set(METRICS)
        equal(unknown, set(), "metrics that the product does not name")
        for name, labels in (
            ("sink_errors_total", [{"kind": k} for k in KINDS]),
            ("sink_dropped_total", [{"reason": r} for r in DROPS]),
            ("sink_status", [{"status": s} for s in STATES]),
            ("sink_duration_seconds_bucket", [{"le": b} for b in BUCKETS]),
        ):
            for pair in labels:
                if m.get("hyperbytedb_" + name, sink="s", **pair) is None:
                    fail("no %s %r" % (name, pair))
        equal(m.total("hyperbytedb_sink_status", sink="s"), 1, "states at a time")
        equal(m.get("hyperbytedb_sink_status", sink="s", status="running"), 1, "running")
        figures(m)


def figures(m):
    """The figures after one point forwarded and one filtered."""
    for name, value in (
        ("forwards_total", 1),
        ("filtered_total", 1),
        ("queue_depth", 0),
        ("retries_total", 0),
        ("duration_seconds_count", 1),
        ("oldest_pending_seconds", 0),
    ):
        equal(m.get("hyperbytedb_sink_" + name, sink="s"), value, name)
    for name, value in (
        ("write_requests_total", 1),
        ("write_errors_total", 0),
        ("ingestion_points_total", 2),
        ("suspicious_timestamps_total", 0),
        ("write_duration_seconds_count", 1),
        ("storage_expired_points_total", 0),
    ):
        equal(m.get("hyperbytedb_" + name), value, name)
    equal(m.total("hyperbytedb_sink_errors_total"), 0, "errors")
    for name in ("storage_used_bytes", "storage_size_bytes", "commit_duration_seconds_count"):
        if not m.get("hyperbytedb_" + name) > 0:
            fail("%s is %r" % (name, m.get("hyperbytedb_" + name)))
    equal(m.total("hyperbytedb_info"), 1, "info")


@short
def test_metrics_count_what_goes_wrong():
    with HttpSink() as sink, Daemon() as d:
        sink.plan(500, 503, Reply(reset=True), 429, 401)
        d.query(
            "CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms WITH (timeout = '1s')"
            % sink.url()
        )
        d.write("a v=1 1440089182\nb\nc,x= v=1\nd v=1 xx", status=400)
        d.write("nothing", status=400)
        d.http("POST", "/write", "m v=1")
        m = d.metrics()
        equal(m.get("hyperbytedb_write_requests_total"), 3, "requests")
        equal(m.get("hyperbytedb_write_errors_total"), 3, "errors")
        equal(m.get("hyperbytedb_ingestion_points_total"), 1, "points")
        equal(m.get("hyperbytedb_suspicious_timestamps_total"), 1, "a second taken for nanoseconds")
        for reason, count in (
            ("missing_fields", 2),
            ("missing_tag_value", 1),
            ("bad_timestamp", 1),
        ):
            equal(m.get("hyperbytedb_rejected_lines_total", reason=reason), count, reason)
        equal(m.total("hyperbytedb_rejected_lines_total"), 4, "rejected")
        wait_until(
            lambda: d.metrics().get("hyperbytedb_sink_errors_total", sink="s", kind="auth") == 1,
            "all five answers",
            60,
        )
        m = d.metrics()
        equal(
            m.get("hyperbytedb_sink_errors_total", sink="s", kind="throttled") >= 1,
            True,
            "throttled",
        )
        equal(m.total("hyperbytedb_sink_errors_total", sink="s"), 5, "errors of the sink")
        equal(d.sink("s")["errors"], 5, "SHOW SINKS")


@short
def test_labels_are_escaped():
    name = 'a"b\\c d'
    with Daemon() as d:
        d.query('CREATE SINK "a\\"b\\\\c d" TYPE stdout')
        equal(d.metrics().get("hyperbytedb_sink_queue_depth", sink=name), 0, "queue depth")
        equal([row["name"] for row in d.rows("SHOW SINKS")], [name], "SHOW SINKS")


@short
def test_counters_survive_restarts():
    with HttpSink() as sink, Daemon() as d:
        d.query(
            "CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms EXCLUDE MEASUREMENTS x"
            % sink.url()
        )
        d.write("m v=1\nm v=2\nx v=1")
        d.wait_ledger("s", forwarded=2, filtered=1, pending=0)
        d.restart()
        m = d.metrics()
        equal(m.get("hyperbytedb_sink_forwards_total", sink="s"), 2, "forwarded")
        equal(m.get("hyperbytedb_sink_filtered_total", sink="s"), 1, "filtered")
        equal(len(sink.lines()), 2, "nothing is sent twice")


@short
def test_forms_of_an_answer():
    with Daemon() as d:
        d.query("CREATE DATABASE one; CREATE DATABASE two")
        plain = d.query_raw("SHOW DATABASES; SHOW SINKS")
        equal(plain.headers["content-type"], "application/json", "type")
        equal(plain.text.count("\n"), 1, "lines")
        pretty = d.query_raw("SHOW DATABASES; SHOW SINKS", pretty="true")
        equal(pretty.json(), plain.json(), "pretty")
        equal(pretty.text, json.dumps(plain.json(), indent=4) + "\n", "pretty")
        chunks = d.query_raw("SHOW DATABASES; SHOW SINKS", chunked="true").text.splitlines()
        equal([json.loads(c)["results"][0]["statement_id"] for c in chunks], [0, 1], "documents")
        equal([json.loads(c)["results"][0] for c in chunks], plain.json()["results"], "chunked")
        for accept in ("application/csv", "text/csv"):
            answer = d.http("GET", "/query?q=SHOW+DATABASES", headers={"Accept": accept})
            equal(answer.headers["content-type"], "text/csv", "type")
            equal(answer.text, "name,tags,name\ndatabases,,one\ndatabases,,two\n", "CSV")
        packed = d.http("GET", "/query?q=SHOW+SINKS", headers={"Accept-Encoding": "gzip"})
        import gzip

        equal(packed.headers.get("content-encoding"), "gzip", "encoding")
        equal(json.loads(gzip.decompress(packed.body))["results"][0]["statement_id"], 0, "gzip")


@short
def test_change_by_get():
    """Works, as ever, and is told to use POST; what only reads is not."""
    with Daemon() as d:
        results = d.query_raw("CREATE DATABASE a; SHOW DATABASES", method="GET").json()["results"]
        equal(results[0]["messages"][0]["level"], "warning", "level")
        contains(results[0]["messages"][0]["text"], "please use a POST request instead")
        equal("messages" in results[1], False, "a message for SHOW")
        equal("messages" in d.query("CREATE DATABASE b")[0], False, "a message for POST")
        text = d.query_raw(
            "CREATE SINK s TO 'http://h/w' USERNAME 'u' PASSWORD 'CANARY' TYPE http_line",
            method="GET",
        ).text
        contains(text, "PASSWORD '****'")
        if "CANARY" in text:
            fail(text)


@short
def test_parameters_of_a_write():
    with Daemon() as d:
        for query, status, part in (
            ("db=db&consistency=Quorum&rp=&precision=&epoch=x", 204, None),
            ("db=db&consistency=some", 400, "invalid consistency level"),
            ("db=db&precision=x", 400, 'invalid precision "x"'),
            ("db=", 400, "database is required"),
            ("", 400, "database is required"),
            ("db=%00", 400, "invalid name of a database"),
            ("db=" + "x" * 5000, 400, "invalid name of a database"),
        ):
            answer = d.http("POST", "/write?" + query, "m v=1")
            equal(answer.status, status, query[:80])
            if part:
                contains(answer.json()["error"], part)
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 1, "points")


@short
def test_telegraf_starts():
    """HT14"""
    with Daemon() as d:
        answer = d.http(
            "POST",
            "/query",
            "q=CREATE+DATABASE+%22telegraf%22",
            {"Content-Type": "application/x-www-form-urlencoded"},
        )
        equal((answer.status, answer.text), (200, '{"results":[{"statement_id":0}]}\n'), "answer")
        equal(d.rows("SHOW DATABASES"), [{"name": "telegraf"}], "databases")


@short
def test_definitions_as_json():
    with Daemon() as d:
        empty = d.http("GET", "/internal/sync/metadata")
        equal(empty.json()["entries"], [], "entries")
        d.query(
            "CREATE SINK s TO 'http://h:1/w?db=x&token=CANARY' USERNAME 'u' PASSWORD 'CANARY' "
            'TYPE http_line ON db1, db2 INCLUDE MEASUREMENTS cpu, /^m.*/ EXCLUDE MEASUREMENTS "d*" '
            "BATCH_SIZE 7 FLUSH_INTERVAL 1m30s WITH (gzip = true)"
        )
        answer = d.http("GET", "/internal/sync/metadata")
        equal(answer.headers["content-type"], "application/json", "type")
        if "CANARY" in answer.text:
            fail(answer.text)
        document = answer.json()
        equal(answer.headers["etag"].strip('"'), document["revision"], "ETag")
        if document["revision"] == empty.json()["revision"]:
            fail("a change did not change the revision")
        entry = document["entries"][0]
        equal(entry["key"], "meta_sink:s", "key")
        equal((entry["value"]["name"], entry["value"]["type"]), ("s", "http_line"), "entry")
        for clause in (
            'CREATE SINK "s"',
            "ON db1, db2",
            "INCLUDE MEASUREMENTS cpu, /^m.*/",
            "gzip = true",
            'EXCLUDE MEASUREMENTS "d*"',
            "BATCH_SIZE 7",
            "FLUSH_INTERVAL 1m30s",
        ):
            contains(entry["value"]["create"], clause)
        equal(
            d.http("GET", "/internal/sync/metadata").headers["etag"],
            answer.headers["etag"],
            "again",
        )
        contains(d.http("GET", "/internal/sync/metadata?secrets=1").text, "CANARY", "secrets=1")


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
            return sock.getsockname()[0]
        except OSError:
            return None


@short
def test_internal_is_for_loopback():
    """Without users the internal paths answer this machine only. (Needs an address of it.)"""
    address = own_address()
    if address is None or address.startswith("127."):
        return
    with Daemon({"server": {"bind_address": "0.0.0.0"}}) as d:
        with socket.create_connection((address, d.port), 10) as sock:
            sock.sendall(
                b"GET /internal/sync/metadata HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
            )
            contains(sock.makefile("rb").readline(), b" 403 ")
        equal(d.http("GET", "/internal/sync/metadata").status, 200, "from loopback")
