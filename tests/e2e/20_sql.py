"""SQL against the running daemon: the statements of the product, changes under load, errors."""

import time

from harness import *
from http_sink import HttpSink, Reply

TIME_LIMIT = 180

# The first five statements that the product shows, character for character, and what they answer.
# Types that are not built yet are checked in full and then refused: NOT_YET shrinks as they come.
NOT_YET = ()
FIVE = [
    """CREATE SINK "my_kafka" TO "kafka://broker:9092/topic-metrics"
  USERNAME "user" PASSWORD "pass"
  TYPE kafka
  FORMAT line_protocol
  INCLUDE MEASUREMENTS cpu,mem
  BATCH_SIZE 1000
  FLUSH_INTERVAL 5s
""",
    """CREATE SINK "my_http" TO "http://collector:8086/write?db=mydb"
  USERNAME "u" PASSWORD "p"
  TYPE http_line
  INCLUDE ALL
""",
    """CREATE SINK "my_mqtt" TO "mqtt://broker:1883/hyperbyte"
  USERNAME "mqtt_user" PASSWORD "mqtt_pass"
  TYPE mqtt
  FORMAT line_protocol
""",
    """DROP SINK "my_kafka"
""",
    """SHOW SINKS
""",
]
COLUMNS = [
    "name",
    "type",
    "url",
    "username",
    "password",
    "format",
    "include",
    "batch_size",
    "flush_interval",
    "status",
    "queue_depth",
    "forwarded",
    "errors",
    "last_error",
    "last_success",
]


def not_yet(kind):
    return "sink type %s is not available in this version" % kind


def create(d, sink, name="s", clauses="", interval="1ms"):
    d.query(
        "CREATE SINK \"%s\" TO '%s' TYPE http_line FLUSH_INTERVAL %s %s"
        % (name, sink.url(), interval, clauses)
    )


@short
def test_the_five_statements():
    with Daemon() as d:
        for text, kind in ((FIVE[0], "kafka"), (FIVE[1], "http_line"), (FIVE[2], "mqtt")):
            if kind in NOT_YET:
                equal(d.query_error(text), not_yet(kind), text)
            else:
                equal(d.query(text), [{"statement_id": 0}], text)
        if "kafka" in NOT_YET:
            equal(d.query_error(FIVE[3]), 'sink "my_kafka" not found', FIVE[3])
        else:
            equal(d.query(FIVE[3]), [{"statement_id": 0}], FIVE[3])
        series = d.query(FIVE[4])[0]["series"]
        equal(
            (len(series), series[0]["name"], series[0]["columns"]),
            (1, "sinks", COLUMNS),
            "SHOW SINKS",
        )
        row = d.sink("my_http")
        for key, value in (
            ("type", "http_line"),
            ("url", "http://collector:8086/write?db=mydb"),
            ("username", "u"),
            ("password", "****"),
            ("format", "line_protocol"),
            ("include", "*"),
            ("batch_size", 1000),
            ("flush_interval", "10s"),
            ("queue_depth", 0),
            ("forwarded", 0),
            ("last_success", None),
        ):
            equal(row[key], value, key)


@short
def test_types_to_come_are_checked_in_full():
    """What is wrong is told first, what is right is refused as not available."""
    with Daemon() as d:
        for text, part in (
            ("TO 'kafka://h' TYPE kafka", "topic"),
            ("TO 'http://h/t' TYPE kafka", "kafka"),
            ("TO 'kafka://h/t' TYPE kafka WITH (acks = 'two')", "acks"),
            ("TO 'kafka://h/t' TYPE kafka WITH (qos = 1)", "partitioner"),
            ("TO 'mqtt://h/t' TYPE mqtt WITH (qos = 3)", "qos"),
            ("TO 'mqtt://h/a/#' TYPE mqtt", ""),
            ("TO 'mqtt://h/t' TYPE mqtt WITH (acks = 1)", "clean_session"),
            ("TO 'ftp://h/t' TYPE http_msgpack", "http"),
            ("TO 'http://h/t' TYPE http_msgpack WITH (layout = 'x')", "layout"),
        ):
            error = d.query_error("CREATE SINK s " + text)
            contains(error, part)
            for kind in NOT_YET:
                if error == not_yet(kind):
                    fail("%s: %s" % (text, error))
        for text, kind in (
            ("TO 'kafka://a:1,b:2/t' TYPE kafka WITH (acks = 'all')", "kafka"),
            ("TO 'mqtt://h/a/{measurement}' TYPE mqtt WITH (qos = 2)", "mqtt"),
            ("TO 'http://h/t?db=x' TYPE http_msgpack WITH (layout = 'rows')", "http_msgpack"),
        ):
            if kind in NOT_YET:
                equal(d.query_error("CREATE SINK s " + text), not_yet(kind), text)
        equal(d.rows("SHOW SINKS"), [], "nothing was created")


@short
def test_statements_to_come():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout")
        for text in (
            "SHOW DEAD LETTERS",
            "SHOW DEAD LETTERS ON s ID 5 LIMIT 3",
            "REPLAY DEAD LETTERS ON s",
            "DROP DEAD LETTERS ON s",
            "REPAIR DEAD LETTER ON s ID 1 WITH 'm v=1'",
            "CREATE USER u WITH PASSWORD 'p' WITH ALL PRIVILEGES",
            "DROP USER u",
            "SET PASSWORD FOR u = 'p'",
            "SHOW USERS",
            "GRANT ALL TO u",
            "REVOKE READ ON db FROM u",
        ):
            contains(d.query_error(text), "not available in this version", text)
        for text in ("SELECT * FROM m", "SHOW MEASUREMENTS", "DELETE FROM m"):
            contains(d.query_error(text), "sinkd forwards data and does not query it", text)


@short
def test_wrong_statements():
    """(statement behind CREATE SINK s, part of the error)"""
    cases = (
        (
            "TO 'http://h/w' TYPE http_line WITH (foo = 1)",
            "has no option foo; it has: gzip headers bearer_token",
        ),
        ("TO 'http://h/w' TYPE http_line WITH (timeout = '5')", "duration"),
        ("TO 'http://h/w' TYPE http_line WITH (gzip = 'maybe')", "gzip"),
        ("TO 'http://h/w' TYPE http_line WITH (gzip = true, gzip = false)", "twice"),
        ("TO 'http://h/w' TYPE http_line WITH (success_status = '99')", "success_status"),
        ("TO 'http://h/w' TYPE http_line WITH (on_full = 'x')", "inherit"),
        ("TO 'http://h/w' TYPE http_line WITH (precision = 'h')", "precision"),
        ("TO 'http://h/w?precision=s' TYPE http_line WITH (precision = 'ms')", "precision"),
        ("TO 'http://h/w?precision=h' TYPE http_line", "precision"),
        ("TO 'http:///w' TYPE http_line", ""),
        ("TO 'http://h:99999/w' TYPE http_line", ""),
        ("TO 'h/w' TYPE http_line", "scheme"),
        ("TYPE http_line", "expected TO"),
        ("TO 'http://h/w'", "expected TYPE"),
        ("TO 'http://h/w' TYPE stdout", "TO"),
        ("TO 'http://h/w' TYPE nosuch", ""),
        ("TYPE stdout TYPE stdout", "TYPE is given twice"),
        ("TYPE stdout BATCH_SIZE 0", "must be 1"),
        ("TYPE stdout BATCH_SIZE -1", "expected integer"),
        ("TYPE stdout FLUSH_INTERVAL 5", "found 5, expected duration"),
        ("TYPE stdout FLUSH_INTERVAL 5x", "duration"),
        ("TYPE stdout START 5", "EARLIEST"),
        ("TYPE stdout INCLUDE MEASUREMENTS /a(/", "regular expression"),
        ("TYPE stdout INCLUDE", ""),
        ("TYPE stdout FORMAT xml", ""),
        ("TO 'http://h/w' TYPE http_line FORMAT json", "json"),
    )
    with Daemon() as d:
        for text, part in cases:
            contains(d.query_error("CREATE SINK s " + text), part, text)
        contains(d.query_error('CREATE SINK "" TYPE stdout'), "name")
        contains(d.query_error('CREATE SINK "%s" TYPE stdout' % ("x" * 201)), "200")
        d.query('CREATE SINK "%s" TYPE stdout' % ("x" * 200))
        equal(len(d.rows("SHOW SINKS")), 1, "sinks")


@short
def test_names_that_are_taken_or_missing():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout BATCH_SIZE 5")
        equal(d.query_error("CREATE SINK s TYPE stdout"), 'sink "s" already exists', "taken")
        d.query("CREATE SINK IF NOT EXISTS s TYPE stdout BATCH_SIZE 7")
        equal(d.sink("s")["batch_size"], 5, "batch size")
        for text in (
            "DROP SINK x",
            "ALTER SINK x PAUSE",
            "ALTER SINK x BATCH_SIZE 3",
            "SHOW SINK x",
        ):
            equal(d.query_error(text), 'sink "x" not found', text)
        d.query("DROP SINK IF EXISTS x")
        d.query("DROP SINK IF EXISTS s; DROP SINK IF EXISTS s")
        equal(d.rows("SHOW SINKS"), [], "sinks")
        for text in ("ALTER SINK s TYPE stdout", "ALTER SINK s START EARLIEST"):
            contains(d.query_error(text), "cannot change")


@short
def test_words_are_contextual():
    """Keywords in any case; sinks, databases and measurements may be called like keywords."""
    with HttpSink() as sink, Daemon() as d:
        d.query(
            "create sink TYPE to '%s' type HTTP_LINE "
            "include measurements type, format flush_interval 1ms"
            % sink.url()
        )
        d.query("CREATE DATABASE sink")
        d.write("type v=1 1\nformat v=1 1\nother v=1 1")
        d.wait_ledger("TYPE", forwarded=2, filtered=1)
        d.query("-- a comment; with a semicolon\nDROP /* ; */ SINK TYPE;;")
        equal(d.rows("SHOW SINKS"), [], "sinks")


@short
def test_every_property_is_shown():
    with HttpSink() as sink, Daemon() as d:
        create(
            d,
            sink,
            clauses="USERNAME 'u' PASSWORD 'p' ON a, b INCLUDE MEASUREMENTS cpu, \"d*\", /^m/ "
            "EXCLUDE MEASUREMENTS disk WITH (gzip = true, timeout = '1m30s', headers = 'X-A: b', "
            "on_reject = 'drop', precision = 'ns')",
            interval="1m30s",
        )
        shown = d.properties("s")
        for key, value in (
            ("name", "s"),
            ("type", "http_line"),
            ("username", "u"),
            ("password", "****"),
            ("flush_interval", "1m30s"),
            ("batch_size", "1000"),
            ("gzip", "true"),
            ("timeout", "1m30s"),
            ("on_reject", "drop"),
            ("precision", "ns"),
            ("success_status", "200,201,202,204"),
            ("max_batch_bytes", "1000000"),
        ):
            equal(shown.get(key), value, key)


@short
def test_warning_when_forwarding_is_off():
    with HttpSink() as sink, Daemon({"sink": {"enabled": False}}) as d:
        contains(d.log(), "enabled is false")
        result = d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url())[0]
        equal(result["messages"][0]["level"], "warning", "level")
        equal(d.sink("s")["status"], "disabled", "status")
        d.write("m v=1 1")
        equal(d.ledger("s")["pending"], 1, "pending")
        equal(sink.connections, 0, "connections")
        d.stop()
        d.config["sink"]["enabled"] = True
        d.start()
        d.wait_ledger("s", forwarded=1, pending=0)
        equal(sink.lines(), [b"m v=1 1"], "lines")


@short
def test_start_earliest_and_latest():
    with HttpSink() as first, HttpSink() as late, HttpSink() as early, Daemon(
        {"storage": {"keep_delivered_mb": 4}}
    ) as d:
        create(d, first, "first")
        d.write("m v=1 1\nm v=2 2")
        d.wait_ledger("first", forwarded=2, pending=0)
        create(d, late, "late")
        create(d, early, "early", "START EARLIEST")
        d.wait_ledger("early", accepted=2, forwarded=2)
        equal(d.ledger("late")["accepted"], 0, "accepted by the late one")
        d.write("m v=3 3")
        for name, count in (("first", 3), ("late", 1), ("early", 3)):
            d.wait_ledger(name, forwarded=count, accepted=count)
        equal(early.lines(), [b"m v=1 1", b"m v=2 2", b"m v=3 3"], "early")
        equal(late.lines(), [b"m v=3 3"], "late")


@short
def test_databases_and_selections():
    with HttpSink() as sink, Daemon() as d:
        create(
            d,
            sink,
            "one",
            'ON a INCLUDE MEASUREMENTS cpu, "mem*", /^d.sk[0-9]+$/ '
            "EXCLUDE MEASUREMENTS memory, /9$/",
        )
        names = [
            "cpu",
            "cpu2",
            "mem",
            "memx",
            "memory",
            "disk1",
            "dusk22",
            "disk",
            "disk9",
            "xdisk1",
        ]
        for db in ("a", "b"):
            d.write(["%s v=1 1" % name for name in names], db=db)
        d.wait_ledger("one", pending=0, forwarded=5, filtered=15)
        equal(
            sink.lines(),
            [b"cpu v=1 1", b"mem v=1 1", b"memx v=1 1", b"disk1 v=1 1", b"dusk22 v=1 1"],
            "lines",
        )


@short
def test_alter_keeps_cursor_and_counters():
    with HttpSink() as one, HttpSink() as two, Daemon() as d:
        create(d, one)
        d.write("m v=1 1")
        d.wait_ledger("s", forwarded=1, pending=0)
        d.query(
            "ALTER SINK s TO '%s' INCLUDE MEASUREMENTS n BATCH_SIZE 3 FLUSH_INTERVAL 2ms"
            % two.url()
        )
        d.write("m v=2 2\nn v=3 3")
        d.wait_ledger("s", accepted=3, forwarded=2, filtered=1, pending=0)
        equal((one.lines(), two.lines()), ([b"m v=1 1"], [b"n v=3 3"]), "lines")
        row = d.sink("s")
        equal(
            (row["include"], row["batch_size"], row["flush_interval"], row["forwarded"]),
            ("n", 3, "2ms", 2),
            "row",
        )
        contains(d.query_error("ALTER SINK s WITH (foo = 1)"), "has no option foo")
        contains(d.query_error("ALTER SINK s TO 'ftp://h'"), "http")
        equal(d.sink("s")["url"], two.url(), "a wrong ALTER changes nothing")


@short
def test_pause_and_resume():
    with HttpSink() as sink, Daemon() as d:
        create(d, sink)
        d.query("ALTER SINK s PAUSE")
        d.wait_status("s", "paused")
        d.write("m v=1 1\nm v=2 2")
        d.restart()
        equal(d.sink("s")["status"], "paused", "kept across a restart")
        equal(d.ledger("s")["pending"], 2, "pending")
        equal(sink.lines(), [], "lines")
        d.query("ALTER SINK s BATCH_SIZE 1")
        equal(d.sink("s")["status"], "paused", "ALTER does not resume")
        d.query("ALTER SINK s RESUME")
        d.wait_ledger("s", forwarded=2, pending=0)
        equal([len(r.lines) for r in sink.taken()], [1, 1], "requests")


@short
def test_resume_and_alter_retry_at_once():
    with HttpSink(Reply(500)) as sink, Daemon(
        {"sink": {"backoff_base_secs": 20, "backoff_max_secs": 20}}
    ) as d:
        create(d, sink)
        d.write("m v=1 1")
        d.wait_status("s", "backoff")
        sink.default = Reply(204)
        d.query("ALTER SINK s BATCH_SIZE 5")
        d.wait_ledger("s", forwarded=1, pending=0, seconds=5)


@short
def test_changes_while_data_flows():
    """CREATE, ALTER, PAUSE, RESUME and DROP of one sink; the other gets all points, in order."""
    with HttpSink() as steady, HttpSink() as other, Daemon({"storage": {"max_size_mb": 64}}) as d:
        create(d, steady, "steady")
        sent = 0
        for n in range(30):
            step = (
                "CREATE SINK x TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % other.url(),
                "ALTER SINK x BATCH_SIZE %d" % (n + 1),
                "ALTER SINK x PAUSE",
                "ALTER SINK x RESUME",
                "DROP SINK x",
            )[n % 5]
            d.write(["m v=%d %d" % (i, i + 1) for i in range(sent, sent + 50)])
            sent += 50
            d.query(step)
        d.wait_ledger("steady", accepted=sent, forwarded=sent, pending=0)
        equal(
            steady.lines(),
            [b"m v=%d %d" % (i, i + 1) for i in range(sent)],
            "lines of the steady sink",
        )
        equal([row["name"] for row in d.rows("SHOW SINKS")], ["steady"], "sinks")


@short
def test_dropped_sink_frees_what_it_held():
    with Daemon({"storage": {"max_size_mb": 4}}) as d:
        d.query("CREATE SINK s TO 'http://127.0.0.1:%d/w' TYPE http_line" % free_port())
        body = "\n".join("m,host=h%d value=%d" % (n, n) for n in range(2000))
        for _ in range(200):
            if d.http("POST", "/write?db=db", body).status == 503:
                break
        else:
            fail("the store never got full")
        d.query("DROP SINK s")
        wait_until(lambda: d.http("POST", "/write?db=db", body).status == 204, "room again")


@short
def test_same_name_again():
    """A sink created again under an old name starts with nothing."""
    with HttpSink() as sink, Daemon() as d:
        create(d, sink)
        d.write("m v=1 1")
        d.wait_ledger("s", forwarded=1, pending=0)
        d.query("DROP SINK s; CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url())
        equal(d.ledger("s")["accepted"], 0, "accepted")
        d.write("m v=2 2")
        d.wait_ledger("s", accepted=1, forwarded=1, pending=0)
        equal(sink.lines(), [b"m v=1 1", b"m v=2 2"], "lines")


def test_many_sinks_come_and_go():
    """OP04: nothing leaks: descriptors, memory, room."""
    with HttpSink() as sink, Daemon() as d:

        def cycle(count):
            for n in range(count):
                d.query(
                    "CREATE SINK x%d TO '%s' TYPE http_line; DROP SINK x%d" % (n, sink.url(), n)
                )

        cycle(50)
        wait_until(lambda: len(descriptors(d)) < 40, "closed descriptors")
        files, memory = len(descriptors(d)), d.memory("RssAnon")
        used = d.metrics().get("hyperbytedb_storage_used_bytes")
        cycle(500)
        wait_until(lambda: len(descriptors(d)) <= files + 2, "closed descriptors")
        if d.memory("RssAnon") > memory + 2048:
            fail("memory rose from %d to %d kB" % (memory, d.memory("RssAnon")))
        if d.metrics().get("hyperbytedb_storage_used_bytes") > used + 65536:
            fail("the store grew")


def descriptors(d):
    import os

    return os.listdir("/proc/%d/fd" % d.pid)


@short
def test_reload_and_changes_while_the_output_is_down():
    """OP02: SIGHUP, ALTER, DROP and SIGTERM are prompt with a destination that is down or hangs."""
    import signal

    with HttpSink(Reply(hang=True)) as hangs, Daemon() as d:
        create(d, hangs, "hangs")
        d.query(
            "CREATE SINK down TO 'http://127.0.0.1:%d/w' TYPE http_line FLUSH_INTERVAL 1ms"
            % free_port()
        )
        d.query("CREATE SINK nowhere TO 'http://192.0.2.1/w' TYPE http_line FLUSH_INTERVAL 1ms")
        d.write("m v=1 1")
        wait_until(lambda: hangs.requests, "the request")
        for step in (
            lambda: d.signal(signal.SIGHUP),
            lambda: d.query("ALTER SINK hangs BATCH_SIZE 3"),
            lambda: d.query("ALTER SINK down BATCH_SIZE 3"),
            lambda: d.query("DROP SINK hangs"),
            lambda: d.query("DROP SINK nowhere"),
            lambda: d.rows("SHOW SINKS"),
        ):
            started = time.monotonic()
            step()
            if time.monotonic() - started > 2:
                fail("a step took %.1f s" % (time.monotonic() - started))
        started = time.monotonic()
        d.stop()
        if time.monotonic() - started > 12:
            fail("the end took %.1f s" % (time.monotonic() - started))


@short
def test_several_statements():
    with Daemon() as d:
        results = d.query_raw("CREATE DATABASE a; DROP SINK x; CREATE DATABASE b").json()["results"]
        equal(
            results,
            [
                {"statement_id": 0},
                {"statement_id": 1, "error": 'sink "x" not found'},
                {"statement_id": 2, "error": "not executed"},
            ],
            "results",
        )
        equal(d.query_raw("CREATE DATABASE c; FOO").status, 400, "a parse error")
        equal(d.rows("SHOW DATABASES"), [{"name": "a"}], "nothing runs when one cannot be parsed")
