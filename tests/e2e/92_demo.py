"""scripts/demo, with the program that is under test: it shows all of it, and leaves nothing behind."""

import glob
import os
import signal
import subprocess

from harness import *

DEMO = os.path.join(SOURCE, "scripts", "demo")


def start():
    env = dict(os.environ, TMPDIR=os.getcwd(), SINKD=os.path.abspath(os.environ["SINKD"]))
    return subprocess.Popen(["sh", DEMO], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True)


def left_processes():
    """Those whose command line names the demo's folder."""
    found = []
    for name in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(name, "rb") as file:
                line = file.read()
        except OSError:
            continue
        if os.getcwd().encode() + b"/sinkd-demo." in line:
            found.append(line)
    return found


def nothing_is_left():
    equal(left_processes(), [], "processes")
    equal(glob.glob("sinkd-demo.*"), [], "folders")


def test_runs():
    demo = start()
    output = demo.communicate(timeout=100)[0]
    equal(demo.returncode, 0, output)
    for part in ("4000 of 4000 points arrived", "== SHOW SINKS", "== SHOW LEDGER", "event=retry",
                 'hyperbytedb_sink_forwards_total{sink="to_collector"} 4000', "sh scripts/check"):
        contains(output, part)
    nothing_is_left()


def test_ended_in_the_middle():
    for number, at in ((signal.SIGTERM, "collector"), (signal.SIGINT, "gateway"),
                       (signal.SIGHUP, "link goes down")):
        demo = start()
        for line in demo.stdout:
            if at in line:
                break
        demo.send_signal(number)
        demo.communicate(timeout=60)
        equal(demo.returncode, 128 + number, "exit status after %s" % number)
        nothing_is_left()
