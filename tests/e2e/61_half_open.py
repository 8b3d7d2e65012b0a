"""A link that swallows packets while a connection is open: noticed within the timeout, not in minutes.

The peer lives in a network namespace of its own. That takes root, or user namespaces; without either a
peer that stops reading stands for it (53_black_holes).
"""

import ctypes
import os
import subprocess
import sys
import time

import account
from harness import *
from harness import SLOW

NEW_NET, NEW_USER = 0x40000000, 0x10000000
HERE, THERE = "10.77.0.1", "10.77.0.2"

# Takes commands on standard input, answers "ok"; each body that was answered with 204 goes to the file `came`.
PEER = r"""
import ctypes, http.server, subprocess, sys, threading
assert ctypes.CDLL(None).unshare(0x40000000) == 0
print("ok", flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("came", "ab") as file:
            file.write(body)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *unused):
        pass
for line in sys.stdin:
    if line.strip() == "serve":
        server = http.server.ThreadingHTTPServer(("10.77.0.2", 8086), Handler)
        server.handle_error = lambda request, address: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
    else:
        subprocess.run(line.split(), check=True)
    print("ok", flush=True)
"""


class Peer:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", PEER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.expect()

    def expect(self):
        equal(self.process.stdout.readline(), "ok\n", "the peer's word")

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.expect()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


def ip(command):
    subprocess.run(["ip"] + command.split(), check=True)


def leave_the_network():
    """This process moves to a network namespace of its own; False where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = NEW_NET if os.geteuid() == 0 else NEW_NET | NEW_USER
    if libc.unshare(flags) != 0:
        return False
    ip("link set lo up")
    return True


def came():
    try:
        with open("came", "rb") as file:
            return file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def test_a_link_that_swallows_packets():
    if not leave_the_network():
        print("no network namespaces here")
        return
    with Peer() as peer, Daemon({"storage": {"cursor_delay_ms": 50}}) as d:
        ip("link add here type veth peer name there netns %d" % peer.process.pid)
        ip("addr add %s/30 dev here" % HERE)
        ip("link set here up")
        peer.do("ip addr add %s/30 dev there" % THERE)
        peer.do("ip link set there up")
        peer.do("serve")
        d.query("CREATE SINK s TO 'http://%s:8086/write' TYPE http_line FLUSH_INTERVAL 10ms "
                "WITH (timeout = '1s')" % THERE)
        d.write("m v=1i 1")
        account.balanced(d, "s", accepted=1, forwarded=1)
        peer.do("ip route add blackhole %s/32" % HERE)
        started = time.monotonic()
        d.write("m v=2i 2")
        d.wait_status("s", "backoff")
        noticed = time.monotonic() - started
        equal(noticed < 3 * SLOW, True, "noticed after %.1f s" % noticed)
        wait_until(lambda: account.errors(d, "s", "timeout") + account.errors(d, "s", "connect") >= 2,
                   "new connections fail too")
        account.balanced(d, "s", accepted=2, forwarded=1, pending=1)
        started = time.monotonic()
        peer.do("ip route del blackhole %s/32" % HERE)
        account.balanced(d, "s", accepted=2, forwarded=2)
        back = time.monotonic() - started
        equal(back < 5 * SLOW, True, "back after %.1f s" % back)
        equal(set(came()), {b"m v=1i 1", b"m v=2i 2"}, "what came")
        print("noticed after %.1f s, back %.1f s after the link" % (noticed, back))
