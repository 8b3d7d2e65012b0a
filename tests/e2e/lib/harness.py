"""harness.py: what the end-to-end tests share: a daemon under test, waiting, small checks.

Tests write `from harness import *`. Nothing here sleeps longer than one poll: tests wait for a
condition with wait_until. A daemon that a test leaves running is stopped behind it, and its end is
checked like any other (exit status 0, nothing from a sanitizer).
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time

from metrics import Metrics
from wire import Raw, request

__all__ = [
    "Daemon",
    "Raw",
    "SOURCE",
    "cli",
    "contains",
    "equal",
    "fail",
    "free_port",
    "short",
    "wait_until",
]

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SLOW = 4 if os.environ.get("SINKD_E2E") == "short" else 1
POLL = 0.02
REPORTS = re.compile(
    r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|"
    r"ERROR SUMMARY: [1-9]|Assertion `|Assertion failed"
)
daemons = []


def short(function):
    """Mark a test for SINKD_E2E=short: quick, and of use under a sanitizer."""
    function.short = True
    return function


def fail(text):
    raise AssertionError(text)


def equal(actual, expected, what="value"):
    if actual != expected:
        fail("%s:\n  is       %r\n  expected %r" % (what, actual, expected))


def contains(text, part, what="text"):
    if part not in text:
        fail("%s: no %r in %r" % (what, part, text))


def wait_until(condition, what="condition", seconds=15):
    """Poll until condition() is true and return what it returned; an exception counts as false."""
    deadline = time.monotonic() + seconds * SLOW
    problem = None
    while True:
        try:
            value = condition()
            if value:
                return value
            problem = None
        except (AssertionError, OSError, KeyError, IndexError, ValueError) as exception:
            problem = exception
        if time.monotonic() > deadline:
            fail(
                "not within %g s: %s%s"
                % (seconds * SLOW, what, " (%s)" % problem if problem else "")
            )
        time.sleep(POLL)


def free_port():
    """A port of the loopback interface where nothing listens (until somebody takes it)."""
    import socket

    with contextlib.closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def command_line(*arguments):
    return shlex.split(os.environ.get("RUNNER", "")) + [os.environ["SINKD"]] + list(arguments)


def cli(*arguments, stdin=b"", env=None, timeout=30, cwd=None):
    """Run `sinkd ARGUMENTS`. Returns its exit status, standard output and standard error (text)."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("SINKD_")}
    full.update(env or {})
    done = subprocess.run(
        command_line(*arguments),
        input=stdin,
        env=full,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=timeout * SLOW,
    )
    errors = done.stderr.decode("utf-8", "replace")
    if REPORTS.search(errors):
        fail("sinkd %s:\n%s" % (" ".join(arguments), errors))
    return done.returncode, done.stdout.decode("utf-8", "replace"), errors


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(toml_value(v) for v in value)
    if isinstance(value, int):
        return str(value)
    return '"%s"' % value.replace("\\", "\\\\").replace('"', '\\"')


def merged(*layers):
    total = {}
    for layer in layers:
        for section, pairs in layer.items():
            total.setdefault(section, {}).update(pairs)
    return total


class Daemon:
    """A `sinkd serve` with a store and a config file of its own in the current folder.

    config: {section: {key: value}} over these defaults: any port, a store of 16 MB, forwarding on.
    `with Daemon() as d:` starts it and checks its end. `d.port` is the port in use. The log of all
    runs is in NAME.err (d.log()), standard output in NAME.out.
    """

    DEFAULTS = {
        "server": {"port": 0},
        "storage": {"max_size_mb": 16},
        "sink": {"enabled": True, "backoff_base_secs": 1, "backoff_max_secs": 1},
        "disk": {"warn_threshold_mb": 2, "readonly_threshold_mb": 1},
    }

    def __init__(self, config=None, name="sinkd", env=None, preexec=None):
        self.name = name
        self.folder = os.getcwd()
        if self.folder == SOURCE:
            fail("tests start daemons in a folder of their own, not in the source folder")
        self.data = os.path.join(self.folder, name + ".data")
        self.config = merged(self.DEFAULTS, {"storage": {"data_dir": self.data}}, config or {})
        self.env = env or {}
        self.preexec = preexec
        self.port = None
        self.process = None
        self.log_start = 0
        daemons.append(self)

    # ---- life ----

    def path(self, suffix):
        return os.path.join(self.folder, self.name + suffix)

    def write_config(self):
        with open(self.path(".toml"), "w", encoding="utf-8") as file:
            for section, pairs in self.config.items():
                file.write("[%s]\n" % section)
                for key, value in pairs.items():
                    file.write("%s = %s\n" % (key, toml_value(value)))

    def launch(self, *arguments):
        """Start the process without waiting for it to listen."""
        self.write_config()
        self.log_start = len(self.log())
        full = {k: v for k, v in os.environ.items() if not k.startswith("SINKD_")}
        full.update(self.env)
        with open(self.path(".out"), "ab") as out, open(self.path(".err"), "ab") as err:
            self.process = subprocess.Popen(
                command_line("serve", "-c", self.path(".toml"), *arguments),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=full,
                preexec_fn=self.preexec,
            )
        return self

    def start(self):
        self.launch()
        found = wait_until(self.listening, "%s listens" % self.name)
        self.port = int(found.group(1))
        return self

    def listening(self):
        found = re.search(r"listening on \S+ port (\d+)", self.log()[self.log_start :])
        if not found and self.process.poll() is not None:
            raise RuntimeError("sinkd ended with %s before it listened" % self.process.returncode)
        return found

    def stop(self, seconds=20):
        """SIGTERM, and check that it ends well."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.wait(0, seconds)

    def wait(self, status, seconds=20):
        """Wait for the end and check the exit status."""
        try:
            actual = self.process.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            fail("%s still runs %g s after it should have ended" % (self.name, seconds * SLOW))
        self.process = None
        self.check_log()
        equal(actual, status, "exit status of %s" % self.name)

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()
        self.process = None
        self.check_log()

    def restart(self, kill=False):
        """End the process (SIGTERM, or kill -9) and start it again on the same data."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def signal(self, number):
        self.process.send_signal(number)

    def check_log(self):
        found = REPORTS.search(self.log())
        if found:
            fail("%s reported: %s" % (self.name, self.log()[found.start() :][:4000]))

    def __enter__(self):
        return self.start() if self.process is None else self

    def __exit__(self, kind, value, trace):
        if self.process is not None and kind is None:
            self.stop()

    # ---- what it says ----

    @property
    def pid(self):
        return self.process.pid

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def log(self):
        return self.read(".err").decode("utf-8", "replace")

    def output(self):
        """What it wrote to standard output, bytes."""
        return self.read(".out")

    def read(self, suffix):
        try:
            with open(self.path(suffix), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def logged(self, text, seconds=15):
        """Wait until the log of this run has a text."""
        wait_until(lambda: text in self.log()[self.log_start :], "the log has %r" % text, seconds)

    def memory(self, key="VmRSS"):
        """A figure of /proc/PID/status, in KiB."""
        with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
            return int(re.search(r"^%s:\s+(\d+) kB" % key, file.read(), re.M).group(1))

    # ---- HTTP ----

    def http(self, method, target, body=None, headers=None, timeout=30):
        """One request on a connection of its own. Returns an Answer (wire.py)."""
        return request(self.port, method, target, body, headers, timeout * SLOW)

    def raw(self):
        """A raw connection (wire.py)."""
        return Raw(self.port, 10 * SLOW)

    def query(self, sql, **parameters):
        """Run statements and return the list of results; an error anywhere fails the test."""
        results = self.query_raw(sql, **parameters).json()
        for result in [results] + results.get("results", []):
            if "error" in result:
                fail("%s: %s" % (sql, result["error"]))
        return results["results"]

    def query_raw(self, sql, method="POST", **parameters):
        from urllib.parse import urlencode

        form = urlencode(dict(parameters, q=sql), encoding="utf-8", errors="surrogateescape")
        if method == "GET":
            return self.http("GET", "/query?" + form)
        return self.http(
            "POST", "/query", form, {"Content-Type": "application/x-www-form-urlencoded"}
        )

    def query_error(self, sql):
        """The error text of statements that must fail (of the first that failed)."""
        answer = self.query_raw(sql).json()
        for result in [answer] + answer.get("results", []):
            if "error" in result:
                return result["error"]
        fail("no error from %s: %r" % (sql, answer))

    def rows(self, sql):
        """The rows of the only series of one statement, as dictionaries; [] when there is none."""
        series = self.query(sql)[0].get("series", [])
        if not series:
            return []
        return [dict(zip(series[0]["columns"], row)) for row in series[0].get("values", [])]

    def sink(self, name):
        """The row of SHOW SINKS of one sink."""
        for row in self.rows("SHOW SINKS"):
            if row["name"] == name:
                return row
        fail("no sink %s" % name)

    def properties(self, name):
        """SHOW SINK name as a dictionary."""
        return {row["property"]: row["value"] for row in self.rows('SHOW SINK "%s"' % name)}

    def wait_status(self, name, status, seconds=15):
        wait_until(
            lambda: self.sink(name)["status"] == status, "%s is %s" % (name, status), seconds
        )

    def write(self, lines, db="db", status=204, headers=None, **parameters):
        """Write lines (text, bytes or a list of them) and check the status. Returns the Answer."""
        from urllib.parse import urlencode

        if isinstance(lines, (list, tuple)):
            lines = "\n".join(lines)
        body = lines.encode("utf-8", "surrogateescape") if isinstance(lines, str) else lines
        answer = self.http("POST", "/write?" + urlencode(dict(parameters, db=db)), body, headers)
        if answer.status != status:
            fail("write: %d instead of %d: %s" % (answer.status, status, answer.text))
        return answer

    def metrics(self):
        """All of /metrics, parsed and checked (metrics.py)."""
        answer = self.http("GET", "/metrics")
        equal(answer.status, 200, "/metrics")
        return Metrics(answer.text)

    def ledger(self, name):
        """The row of SHOW LEDGER of one sink; its figures must add up."""
        for row in self.rows("SHOW LEDGER"):
            if row["sink"] == name:
                parts = [row[k] for k in ("forwarded", "filtered", "dead", "dropped", "pending")]
                equal(sum(parts), row["accepted"], "sum of the ledger %r" % row)
                return row
        fail("no sink %s in the ledger" % name)

    def wait_ledger(self, name, seconds=15, **figures):
        """Wait until the ledger of a sink has these figures. Returns its row."""

        def reached():
            row = self.ledger(name)
            for key, value in figures.items():
                equal(row[key], value, key)
            return row

        return wait_until(reached, "ledger of %s has %r" % (name, figures), seconds)


def finish_all():
    """Stop the daemons that a test left running, checking their ends."""
    for daemon in daemons:
        if daemon.process is not None:
            daemon.stop()
        daemon.check_log()


def abandon_all():
    """Kill what still runs. Returns the ends of the logs."""
    logs = []
    for daemon in daemons:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        tail = daemon.log().splitlines()[-60:]
        logs.append(
            "---- log of %s, the last %d lines\n%s" % (daemon.name, len(tail), "\n".join(tail))
        )
    daemons.clear()
    return logs
