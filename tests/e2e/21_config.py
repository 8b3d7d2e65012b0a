"""serve and check: configuration, environment, provisioning of a new store, logs."""

import json
import os
import signal
import time

from harness import *
from http_sink import HttpSink

BAD = """[server]
port = "8086"
prot = 1
max_body_size_bytes = 10

[nosuch]
x = 1

[storage]
on_full = "maybe"
max_size_mb = 1
max_size_mb = 16

[sink]
enabled = yes
backoff_base_secs = 30
backoff_max_secs = 1
"""
BAD_LINES = (2, 3, 4, 6, 10, 11, 12, 15)


def write_file(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.abspath(name)


@short
def test_check_lists_every_error():
    path = write_file("bad.toml", BAD)
    status, out, err = cli("check", "-c", path)
    equal(status, 2, "exit status")
    for line in BAD_LINES:
        contains(out + err, "%s:%d: " % (path, line), "check")
    equal(os.listdir("."), ["bad.toml"], "files: nothing is written")
    serve_status, _, serve_err = cli("serve", "-c", path)
    equal(serve_status, 2, "serve")
    for line in BAD_LINES:
        contains(serve_err, "%s:%d: " % (path, line), "serve")


@short
def test_check_of_a_good_file():
    path = write_file(
        "good.toml",
        "[server]\nport = 0 # any\n[sink]\nenabled = true\n"
        'allow_hosts = ["*.example", "10.*"]\n',
    )
    equal(cli("check", "-c", path)[0], 0, "exit status")
    equal(
        cli("check", "-c", os.path.join(SOURCE, "sinkd.toml"))[0], 0, "the file that is installed"
    )
    equal(cli("check", "-c", "missing.toml")[0], 2, "no such file")
    equal(cli("check")[0], 0, "no file at all")
    write_file("sinkd.toml", "[server]\nport = 70000\n")
    equal(cli("check")[0], 2, "./sinkd.toml is read")


@short
def test_swapped_pairs_warn():
    with Daemon({"sink": {"backoff_base_secs": 9, "backoff_max_secs": 2}}) as d:
        contains(d.log(), "warn")
        contains(d.log(), "backoff_base_secs")


@short
def test_parts_that_are_missing_fail_the_start():
    for section, key, value in (
        ("server", "tls_enabled", "true"),
        ("auth", "enabled", "true"),
        ("cluster", "follow_url", '"http://h:1"'),
    ):
        path = write_file("%s.toml" % key, "[%s]\n%s = %s\n" % (section, key, value))
        for command in ("check", "serve"):
            status, out, err = cli(command, "-c", path)
            equal(status, 2, "%s with %s.%s" % (command, section, key))
            contains(out + err, key)


@short
def test_environment():
    env = {"SINKD__SINK__DEFAULT_BATCH_SIZE": "77", "SINKD__SERVER__NODE_ID": "from-env"}
    with Daemon({"sink": {"default_batch_size": 5}}, env=env) as d:
        d.query("CREATE SINK s TYPE stdout")
        equal(d.sink("s")["batch_size"], 77, "the environment wins")
        contains(d.log(), "node from-env-")
    for name, value in (
        ("SINKD__SERVER__PORT", "x"),
        ("SINKD__SERVER__NOSUCH", "1"),
        ("SINKD__X__Y", "1"),
    ):
        status, out, err = cli("check", env={name: value})
        equal(status, 2, name)
        contains(out + err, name)


@short
def test_one_daemon_a_store():
    with Daemon() as d:
        other = Daemon({"storage": {"data_dir": d.data}}, name="other").launch()
        other.wait(1)
        contains(other.log(), d.data)
        equal(d.http("GET", "/ping").status, 204, "the first goes on")


@short
def test_port_in_use():
    with Daemon() as d:
        other = Daemon({"server": {"port": d.port}}, name="other").launch()
        other.wait(1)
        contains(other.log(), str(d.port))


@short
def test_data_folder_that_cannot_be():
    write_file("file", "x")
    d = Daemon({"storage": {"data_dir": os.path.abspath("file")}}).launch()
    d.wait(2)
    contains(d.log(), os.path.abspath("file"))


@short
def test_init_file():
    with HttpSink() as sink:
        path = write_file(
            "init.sql",
            "-- provisioning\nCREATE DATABASE tele;\n"
            "CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms;\n"
            "CREATE SINK t TYPE stdout\n" % sink.url(),
        )
        with Daemon({"sink": {"init_file": path}}) as d:
            equal([row["name"] for row in d.rows("SHOW SINKS")], ["s", "t"], "sinks")
            equal(d.rows("SHOW DATABASES"), [{"name": "tele"}], "databases")
            d.write("m v=1 1")
            d.wait_ledger("s", forwarded=1)
            d.query("DROP SINK t")
            d.restart()
            equal(
                [row["name"] for row in d.rows("SHOW SINKS")],
                ["s"],
                "only a new store is provisioned",
            )


@short
def test_init_file_with_an_error():
    """One transaction: nothing of it is kept, exit 2, the next start with a mended file runs it."""
    path = write_file("init.sql", "CREATE SINK a TYPE stdout; CREATE SINK a TYPE stdout")
    d = Daemon({"sink": {"init_file": path}}).launch()
    d.wait(2)
    contains(d.log(), "already exists")
    write_file("init.sql", "CREATE SINK a TYPE stdout; CREATE SNIK b TYPE stdout")
    d.launch().wait(2)
    contains(d.log(), "found SNIK")
    write_file("init.sql", "CREATE SINK a TYPE stdout; CREATE SINK b TYPE stdout")
    d.start()
    equal([row["name"] for row in d.rows("SHOW SINKS")], ["a", "b"], "sinks")
    d.stop()
    with HttpSink() as sink:
        path = write_file(
            "two.sql", ("CREATE SINK a TO '%s' TYPE http_line; " % sink.url()) * 2
        )
        twice = Daemon({"sink": {"init_file": path}}, name="twice").launch()
        twice.wait(2)
        equal(sink.connections, 0, "destinations of a file that fails are not contacted")
        twice.config["sink"]["init_file"] = ""
        del twice.config["sink"]["init_file"]
        twice.start()
        equal(twice.rows("SHOW SINKS"), [], "sinks that a file left behind")
        twice.stop()
    missing = Daemon(
        {"sink": {"init_file": os.path.abspath("missing.sql")}}, name="missing"
    ).launch()
    missing.wait(2)


@short
def test_log_as_json():
    """Every line is a document with the fixed names."""
    with HttpSink() as sink, Daemon({"logging": {"format": "json", "level": "debug"}}) as d:
        sink.plan(500)
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url())
        d.write("m v=1 1")
        d.wait_ledger("s", forwarded=1)
        d.stop()
        lines = [json.loads(line) for line in d.log().splitlines()]
    events = [line["event"] for line in lines]
    for event in ("started", "opened", "closed", "stopped"):
        if event not in events:
            fail("no event %s in %r" % (event, events))
    known = {"time", "level", "event", "sink", "seq", "attempt", "kind", "error", "msg"}
    for line in lines:
        if not set(line) <= known:
            fail("unknown names in %r" % line)


@short
def test_quiet_while_a_sink_is_down():
    """At most 4 lines a minute; here: in a few seconds with a retry each, no more than 4."""
    with Daemon({"sink": {"max_retries": 0}}) as d:
        d.query(
            "CREATE SINK s TO 'http://127.0.0.1:%d/w' TYPE http_line FLUSH_INTERVAL 1ms"
            % free_port()
        )
        d.write("m v=1 1")
        wait_until(lambda: d.sink("s")["errors"] >= 4, "four errors")
        lines = [line for line in d.log().splitlines() if "sink=s" in line]
        if len(lines) > 5:
            fail("%d lines:\n%s" % (len(lines), "\n".join(lines)))
        contains(d.sink("s")["last_error"], "refused")


@short
def test_stdout_sink():
    with Daemon() as d:
        d.query("CREATE SINK s TYPE stdout FLUSH_INTERVAL 1ms WITH (precision = 's')")
        d.write("m,t=a v=1 1700000000123456789\nm v=2i 1")
        d.wait_ledger("s", forwarded=2, pending=0)
        equal(d.output(), b"m,t=a v=1 1700000000\nm v=2i 0\n", "standard output")


@short
def test_hangup_is_no_end():
    with Daemon() as d:
        d.signal(signal.SIGHUP)
        time.sleep(0.05)
        equal(d.http("GET", "/ping").status, 204, "/ping")
