"""One bad sink never holds up another: nine sinks point at destinations that swallow everything."""

import contextlib
import socket
import threading
import time

import account
from harness import *
from harness import SLOW
from http_sink import HttpSink, Reply

POINTS = 50000
TIMEOUT = "3s"


class FullBacklog:
    """A listener whose queue is full and who never accepts: a connection to it never opens."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(("127.0.0.1", self.port))
            self.fillers.append(filler)

    def url(self):
        return "http://127.0.0.1:%d/write" % self.port

    def close(self):
        for sock in self.fillers + [self.listener]:
            sock.close()


class NeverReads:
    """Accepts connections and never reads from them."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.port = self.listener.getsockname()[1]
        self.accepted = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.accepted.append(self.listener.accept()[0])

    url = FullBacklog.url

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for sock in self.accepted + [self.listener]:
            sock.close()


class Silent(HttpSink):
    """Reads requests and never answers."""

    def __init__(self):
        super().__init__(Reply(hang=True))

    def close(self):
        self.stop()


def send_all(d, peer, name, first):
    """How long POINTS points take from the first write to the last one at the peer."""
    started = time.monotonic()
    before = len(peer.lines())
    for start in range(first, first + POINTS, 1000):
        d.write("\n".join("m i=%di %d" % (i, i) for i in range(start, start + 1000)))
    wait_until(lambda: len(peer.lines()) == before + POINTS, "all points", 30)
    return time.monotonic() - started


def slowest(d, calls):
    """The longest that any of these took, over and over."""
    longest = 0
    for call in calls * 5:
        started = time.monotonic()
        call()
        longest = max(longest, time.monotonic() - started)
    return longest


def answers_quickly(d):
    calls = [lambda: equal(d.http("GET", "/ping").status, 204, "/ping"),
             lambda: d.write("other v=1 1"),
             lambda: d.query("SHOW SINKS; SHOW LEDGER"),
             lambda: d.query("CREATE SINK extra TO 'http://127.0.0.1:1/w' TYPE http_line"),
             lambda: d.query("ALTER SINK hole0 BATCH_SIZE 77"),
             lambda: d.query("ALTER SINK hole4 PAUSE"),
             lambda: d.query("ALTER SINK hole4 RESUME"),
             lambda: d.query("DROP SINK extra"),
             lambda: d.http("GET", "/metrics")]
    longest = slowest(d, calls)
    if longest > 0.5 * SLOW:
        fail("something took %.2f s" % longest)
    return longest


@short
def test_nine_black_holes():
    holes = [kind() for kind in (FullBacklog, NeverReads, Silent) for _ in range(3)]
    with contextlib.ExitStack() as stack, HttpSink() as peer, \
            Daemon({"storage": {"max_size_mb": 128, "cursor_delay_ms": 50}}) as d:
        for hole in holes:
            stack.callback(hole.close)
        d.query("CREATE SINK good TO '%s' TYPE http_line INCLUDE MEASUREMENTS m FLUSH_INTERVAL 10ms"
                % peer.url())
        alone = min(send_all(d, peer, "good", n * POINTS) for n in range(3))
        for i, hole in enumerate(holes):
            d.query("CREATE SINK hole%d TO '%s' TYPE http_line FLUSH_INTERVAL 10ms "
                    "WITH (timeout = '%s')" % (i, hole.url(), TIMEOUT))
        crowd = min(send_all(d, peer, "good", n * POINTS) for n in range(3, 6))
        longest = answers_quickly(d)
        crowd = min(crowd, send_all(d, peer, "good", 6 * POINTS))
        print("%d points alone in %.3f s, beside nine black holes in %.3f s; slowest answer %.3f s"
              % (POINTS, alone, crowd, longest))
        if crowd > 2 * alone + 0.1:
            fail("beside black holes %.3f s, alone %.3f s" % (crowd, alone))
        wait_until(lambda: all(account.errors(d, "hole%d" % i, "connect") +
                               account.errors(d, "hole%d" % i, "timeout") > 0 for i in range(9)),
                   "every black hole is noticed", 15)
        for i in range(9):
            row = d.ledger("hole%d" % i)
            equal(row["pending"], row["accepted"], "all is kept for hole%d" % i)
        started = time.monotonic()
        d.stop()
        if time.monotonic() - started > 12 * SLOW:
            fail("the end took %.1f s" % (time.monotonic() - started))
