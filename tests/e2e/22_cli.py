"""The commands that talk to a daemon: query and its shell, write, ping, export."""

import csv
import io
import json
import os
import pty
import re
import select
import time

from harness import *
from harness import command_line
from http_sink import HttpSink

TIME_LIMIT = 180


def at(d, *arguments, **more):
    """sinkd COMMAND -H URL ARGUMENTS"""
    return cli(arguments[0], "-H", d.url, *arguments[1:], **more)


@short
def test_query_formats():
    with Daemon() as d:
        d.query('CREATE SINK "a b" TYPE stdout; CREATE DATABASE "x,y"; CREATE DATABASE z')
        status, out, err = at(d, "query", "SHOW DATABASES")
        equal((status, err), (0, ""), "table")
        for part in ("name", "x,y", "z"):
            contains(out, part)
        status, out, _ = at(d, "query", "--format", "json", "SHOW DATABASES")
        equal(json.loads(out)["results"][0]["series"][0]["values"], [["x,y"], ["z"]], "json")
        status, out, _ = at(d, "query", "--format", "csv", "SHOW DATABASES")
        rows = list(csv.reader(io.StringIO(out)))
        equal([row[-1] for row in rows if row], ["name", "x,y", "z"], "csv")
        status, out, _ = at(d, "query", "--format", "csv", "SHOW SINKS")
        contains(out, "a b")


@short
def test_query_errors():
    with Daemon() as d:
        status, out, err = at(d, "query", "DROP SINK nope")
        equal(status, 1, "a statement that fails")
        contains(err, 'sink "nope" not found')
        status, out, err = at(d, "query", "DROP SNIK x")
        equal(status, 1, "a statement that is wrong")
        contains(err, "found SNIK")
        status, _, err = at(d, "query", "CREATE DATABASE a; DROP SINK x; CREATE DATABASE b")
        equal((status, d.rows("SHOW DATABASES")), (1, [{"name": "a"}]), "several")
        equal(at(d, "query", "--format", "xml", "SHOW SINKS")[0], 2, "a wrong option")
        equal(at(d, "query", "--nosuch")[0], 2, "an unknown option")
        equal(at(d, "query", "a", "b")[0], 2, "too many arguments")
    status, _, err = cli("query", "-H", "http://127.0.0.1:%d" % free_port(), "SHOW SINKS")
    equal(status, 1, "nobody listens")
    contains(err, "refused")
    equal(cli("query", "-H", "nonsense:", "SHOW SINKS")[0], 2, "a wrong URL")


@short
def test_query_from_standard_input():
    with Daemon() as d:
        script = (
            b"-- two sinks\nCREATE SINK a TYPE stdout;\nCREATE SINK b TYPE stdout;\nSHOW SINKS\n"
        )
        status, out, _ = at(d, "query", "-", stdin=script)
        equal(status, 0, "status")
        contains(out, "stdout")
        equal([row["name"] for row in d.rows("SHOW SINKS")], ["a", "b"], "sinks")


@short
def test_url_from_the_environment():
    with Daemon() as d:
        equal(cli("ping", env={"SINKD_URL": d.url})[0], 0, "SINKD_URL")
        equal(cli("ping", "-H", d.url, env={"SINKD_URL": "http://127.0.0.1:1"})[0], 0, "-H wins")


@short
def test_ping():
    with Daemon({"sink": {"max_lag_secs": 1}}) as d:
        equal(at(d, "ping")[0], 0, "well")
        d.query("CREATE SINK s TO 'http://127.0.0.1:%d/w' TYPE http_line" % free_port())
        d.write("m v=1")
        wait_until(lambda: at(d, "ping")[0] == 1, "ill")
    equal(at(d, "ping")[0], 1, "gone")


class Terminal:
    """A command on a pseudo terminal."""

    def __init__(self, arguments, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            full = {k: v for k, v in os.environ.items() if not k.startswith("SINKD_")}
            full.update(env or {}, TERM="xterm")
            command = command_line(*arguments)
            os.execvpe(command[0], command, full)
        self.text = ""

    def expect(self, pattern, seconds=15):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                fail("no %r within %g s in %r" % (pattern, seconds, self.text))
            self.read(pattern)

    def read(self, pattern):
        try:
            self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
        except OSError:
            if not re.search(pattern, self.text):
                fail("the end, and no %r in %r" % (pattern, self.text))

    def type(self, text):
        self.text = ""
        os.write(self.fd, text.encode())

    def end(self):
        """Wait for the end; the exit status."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.02)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    pass
        os.kill(self.pid, 9)
        fail("no end: %r" % self.text)


@short
def test_shell():
    with Daemon() as d:
        shell = Terminal(["query", "-H", d.url])
        shell.expect(r"> $")
        shell.type("CREATE DATABASE abc;\n")
        shell.expect(r"> $")
        shell.type("SHOW DATABASES;\n")
        shell.expect(r"abc[\s\S]*> $")
        shell.type("DROP SINK nope;\n")
        shell.expect(r'sink "nope" not found[\s\S]*> $')
        shell.type("SHOW\n")
        shell.expect(r"\n\S*.*> $")
        shell.type("DATABASES;\n")
        shell.expect(r"abc")
        shell.type("\x04")
        shell.end()
        equal(d.rows("SHOW DATABASES"), [{"name": "abc"}], "databases")


@short
def test_write():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 1ms" % sink.url("/w?db={db}"))
        text = "".join("m,host=h%d v=%d %d\n" % (n % 3, n, n + 1) for n in range(12345))
        with open("points.lp", "w", encoding="utf-8") as file:
            file.write(text)
        status, out, err = at(d, "write", "--db", "tele", "points.lp")
        equal(status, 0, "status: %s%s" % (out, err))
        d.wait_ledger("s", forwarded=12345, pending=0)
        equal(b"\n".join(sink.lines()) + b"\n", text.encode(), "lines, in order")
        equal(sink.taken()[0].query["db"], "tele", "database")
        status, _, _ = at(
            d, "write", "--db", "tele", "--precision", "s", stdin=b"m v=1 1\n# c\n\nm v=2 2"
        )
        equal(status, 0, "from standard input")
        d.wait_ledger("s", forwarded=12347, pending=0)
        equal(sink.lines()[-2:], [b"m v=1 1000000000", b"m v=2 2000000000"], "precision")


@short
def test_write_with_bad_lines():
    """The good ones are kept, the bad ones shown with their number in the file, exit 1."""
    with Daemon() as d:
        lines = ["m v=%d" % n for n in range(6000)]
        lines[5499] = "bad"
        lines[10] = "worse v="
        status, out, err = at(d, "write", "--db", "db", "-", stdin="\n".join(lines).encode())
        equal(status, 1, "status")
        for part in ("11", "worse", "5500", "bad"):
            contains(out + err, part)
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 5998, "points")


@short
def test_write_errors():
    with Daemon() as d:
        equal(at(d, "write", stdin=b"m v=1")[0], 2, "no --db")
        status, _, err = at(d, "write", "--db", "db", "missing.lp")
        equal(status in (1, 2), True, "a missing file")
        contains(err, "missing.lp")
        equal(at(d, "write", "--db", "db", "--precision", "x", stdin=b"m v=1")[0], 2, "precision")
        equal(at(d, "write", "--db", "db", stdin=b"")[0], 0, "nothing to write")
    equal(at(d, "write", "--db", "db", stdin=b"m v=1", timeout=60)[0], 1, "nobody listens")


@short
def test_write_waits_when_the_daemon_is_busy():
    with Daemon({"rate_limit": {"enabled": True, "max_requests_per_second": 2}}) as d:
        for _ in range(3):
            d.http("POST", "/write?db=db", "m v=1")
        text = "\n".join("m v=%d %d" % (n, n) for n in range(20000)).encode()
        before = d.metrics().get("hyperbytedb_ingestion_points_total")
        equal(at(d, "write", "--db", "db", stdin=text)[0], 0, "status")
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), before + 20000, "points")


def test_write_shows_progress_on_a_terminal():
    with Daemon({"storage": {"max_size_mb": 64}}) as d:
        with open("points.lp", "w", encoding="utf-8") as file:
            for n in range(200000):
                file.write("m,host=h%d v=%d %d\n" % (n % 3, n, n + 1))
        terminal = Terminal(["write", "-H", d.url, "--db", "db", "points.lp"])
        terminal.expect("200,?000")
        equal(terminal.end(), 0, "status")
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 200000, "points")
        contains(terminal.text, "\r")


DEFINITIONS = (
    "CREATE SINK plain TYPE stdout",
    "CREATE SINK \"odd \\\" \\\\ name\" TO 'http://h:1/w?db=it\\'s' TYPE http_line",
    "CREATE SINK full TO 'http://h:1/w?db=x&precision=s' USERNAME 'u\\\\\\'' "
    "PASSWORD 'p\\'\"w\\\\' TYPE http_line "
    'ON a, "b c" INCLUDE MEASUREMENTS cpu, "d*", /^m\\/x/ EXCLUDE MEASUREMENTS "we ird" '
    "BATCH_SIZE 7 "
    "FLUSH_INTERVAL 1m30s WITH (gzip = true, headers = 'X-A: b\\nX-C: d', "
    "success_status = '200,299', on_full = 'drop_oldest', on_reject = 'block', timeout = '1500ms', "
    "precision = 's', "
    "verbose = true, user_agent = 'me')",
    "CREATE SINK tokened TO 'http://h:1/w?token=t1' TYPE http_line WITH (bearer_token = 't2')",
    "CREATE SINK info TO 'http://me:secret@h:1/w' TYPE http_line",
)


def described(d):
    """All that can be told apart of the sinks: the properties, without what the run adds."""
    found = {}
    for row in d.rows("SHOW SINKS"):
        name = row["name"].replace("\\", "\\\\").replace('"', '\\"')
        properties = {r["property"]: r["value"] for r in d.rows('SHOW SINK "%s"' % name)}
        for key in (
            "created",
            "status",
            "queue_depth",
            "forwarded",
            "errors",
            "last_error",
            "last_success",
        ):
            properties.pop(key, None)
        found[row["name"]] = properties
    secret = json.loads(d.http("GET", "/internal/sync/metadata?secrets=1").body)
    return found, secret["entries"]


@short
def test_export_and_back():
    with Daemon(name="one") as one, Daemon(name="two") as two:
        for text in DEFINITIONS:
            one.query(text)
        one.query("ALTER SINK tokened PAUSE")
        status, script, err = at(one, "export", "--with-secrets")
        equal(status, 0, err)
        status, out, err = at(two, "query", "-", stdin=script.encode())
        equal(status, 0, "the statements run elsewhere: %s%s\n%s" % (out, err, script))
        equal(described(two), described(one), "sinks")
        equal(at(two, "export", "--with-secrets")[1], script, "exported again")


@short
def test_export_without_secrets():
    with Daemon(name="one") as one, Daemon(name="two") as two:
        for text in DEFINITIONS:
            one.query(text)
        status, script, _ = at(one, "export")
        equal(status, 0, "status")
        for secret in ("p'\"w", "t1", "t2", "secret"):
            if secret in script:
                fail("%s in:\n%s" % (secret, script))
        contains(script, "PASSWORD left out")
        contains(script, "TO 'http://h:1/w' /* credentials in the URL left out */")
        if "****" in script:
            fail("a mask that would be sent as a password in:\n%s" % script)
        status, out, err = at(two, "query", "-", stdin=script.encode())
        equal(status, 0, "the statements run elsewhere: %s%s\n%s" % (out, err, script))
        equal(
            [r["name"] for r in two.rows("SHOW SINKS")],
            [r["name"] for r in one.rows("SHOW SINKS")],
            "names",
        )


@short
def test_usage():
    status, out, _ = cli()
    contains(out, "sinkd serve")
    equal(status, 0 if status == 0 else 2, "sinkd alone")
    status, out, _ = cli("--help")
    equal(status, 0, "--help")
    if len(out.splitlines()) > 24 or max(len(line) for line in out.splitlines()) > 80:
        fail("the help does not fit one screen:\n" + out)
    equal(cli("nosuch")[0], 2, "an unknown command")
    status, out, _ = cli("version")
    equal(status, 0, "version")
    contains(out, "LMDB")
    for command in (
        "serve",
        "check",
        "query",
        "write",
        "ping",
        "export",
        "backup",
        "restore",
        "version",
    ):
        equal(cli(command, "--help")[0], 0, command + " --help")
