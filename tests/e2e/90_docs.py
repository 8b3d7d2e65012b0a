"""What the README and docs/ show works: SQL, TOML and shell examples; the lists of the reference.

Every block marked sql must run; one with <!-- not available yet --> above it must parse and be
answered so. Every toml block passes "sinkd check". A sh block with <!-- run --> above it is run. The
blocks of one page run in order against one daemon.
"""

import glob
import re

from harness import *
import os
import subprocess

TIME_LIMIT = 120

BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)


def pages():
    names = [os.path.join(SOURCE, "README.md")]
    names += glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True)
    return sorted(names)


def blocks(page, language):
    """(mark above it or None, text, where) of each block in that language."""
    text = read(page)
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        where = "%s:%d" % (os.path.relpath(page, SOURCE), line)
        if found.group(2) == language:
            yield found.group(1), found.group(3), where


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def statements(text):
    """A block's statements: cut at each ; outside of quotes and comments."""
    pieces = re.findall(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|--[^\n]*|/\*.*?\*/|[^;]|;""", text, re.S)
    found = [""]
    for piece in pieces:
        if piece == ";":
            found.append("")
        elif not piece.startswith(("--", "/*")):
            found[-1] += piece
    return [statement.strip() for statement in found if statement.strip()]


def run_block(d, mark, text, where):
    if mark is None:
        answer = d.query_raw(text)
        problems = re.findall(r'"error":"((?:[^"\\]|\\.)*)"', answer.text)
        equal(problems, [], where)
        return
    equal(mark, "not available yet", "the mark at " + where)
    for statement in statements(text):
        error = d.query_error(statement)
        if not re.search(r"(is|are) not available in this version$", error):
            fail("%s: %s: %s" % (where, statement, error))


@short
def test_sql():
    count = 0
    for number, page in enumerate(pages()):
        # Forwarding is off: the hosts of the examples are nobody's business.
        with Daemon({"sink": {"enabled": False}}, name="page%d" % number) as d:
            for mark, text, where in blocks(page, "sql"):
                run_block(d, mark, text, where)
                count += 1
    if count < 10:
        fail("only %d blocks of SQL were found" % count)


@short
def test_configurations():
    count = 0
    for page in pages():
        for _, text, where in blocks(page, "toml"):
            with open("example.toml", "w", encoding="utf-8") as file:
                file.write(text)
            status, out, err = cli("check", "-c", "example.toml")
            equal((status, err), (0, ""), where + ": " + out)
            count += 1
    if count < 3:
        fail("only %d configurations were found" % count)


def test_shell():
    """As they stand, but that the daemon has another port than 8086."""
    count = 0
    os.mkdir("bin")
    with open("bin/sinkd", "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec "$SINKD" "$@"\n')
    os.chmod("bin/sinkd", 0o755)
    with Daemon() as d:
        env = dict(os.environ, SINKD_URL=d.url, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])
        d.query("CREATE SINK look TYPE stdout FLUSH_INTERVAL 10ms")
        for page in pages():
            for mark, text, where in blocks(page, "sh"):
                if mark != "run":
                    continue
                done = subprocess.run(["sh", "-e"], input=text.replace("8086", str(d.port)), env=env,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      universal_newlines=True, timeout=60)
                equal(done.returncode, 0, where + ": " + done.stdout)
                count += 1
        wait_until(lambda: b"cpu,host=gw-01" in d.output(), "the point of the quick start")
    if count < 3:
        fail("only %d marked blocks of shell were found" % count)


def test_telegraf_file():
    """Every line of the demo's points is good."""
    with open(os.path.join(SOURCE, "examples", "telegraf.lp"), "rb") as file:
        lines = file.read()
    with Daemon() as d:
        d.write(lines)
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), lines.count(b"\n"), "points")


def test_example_sinks():
    """As init_file, and once more by hand: IF NOT EXISTS."""
    path = os.path.join(SOURCE, "examples", "sinks.sql")
    with Daemon({"sink": {"enabled": False, "init_file": path}}) as d:
        equal([row["name"] for row in d.rows("SHOW SINKS")], ["alarms", "central", "look"], "sinks")
        status, out, err = cli("query", "-H", d.url, "-", stdin=read(path).encode())
        equal(status, 0, out + err)


# ---- the lists of the reference -------------------------------------------------------------------


def listed(mark):
    """The first column of the table behind a mark of the reference."""
    text = read(os.path.join(SOURCE, "docs", "user-guide", "reference.md"))
    table = text.split("<!-- %s -->\n" % mark)[1].split("\n\n")[0].splitlines()[2:]
    return [name for row in table for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def sources(pattern):
    return "".join(read(name) for name in sorted(glob.glob(os.path.join(SOURCE, "src", pattern))))


def test_metrics_are_listed():
    with Daemon() as d:
        equal(sorted(listed("metrics")), sorted(d.metrics().types), "metrics")


def test_events_are_listed():
    text = sources("*/*.c")
    found = set(re.findall(r'\blog_(?:error|warn|info|debug)\(\s*"(\w+)"', text))
    found |= set(re.findall(r'\bevent = "(\w+)"', text))
    equal(sorted(set(listed("events"))), sorted(found), "log events")


def test_paths_are_listed():
    found = set(re.findall(r'\.path = "([^"]+)"', sources("daemon/*.c")))
    named = set(name.split()[-1] for name in listed("paths") if "/" in name)
    equal(sorted(named), sorted(found), "paths")
