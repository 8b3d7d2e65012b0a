"""load.py: writers that note what was acknowledged."""

import itertools
import socket
import threading
import time

from wire import Raw


class Writer(threading.Thread):
    """Writes bodies of `lines` lines over one kept connection, as fast as it can, until stop().

    Each line has an id that is never used again: "NAME,w=NUMBER i=COUNTi TIME". Bodies that were
    answered with 204 are in `acked`, those refused with 503 in `refused`, those without an answer in
    `unknown` (lists of ids). pace: seconds between two bodies.
    """

    def __init__(self, port, number, lines=20, names=("a", "b"), pace=0.0, database="db"):
        super().__init__(daemon=True)
        self.port = port
        self.number = number
        self.lines = lines
        self.names = itertools.cycle(names)
        self.pace = pace
        self.target = "/write?db=" + database
        self.count = 0
        self.ending = threading.Event()
        self.acked = []
        self.refused = []
        self.unknown = []
        self.problem = None

    def body(self):
        lines = []
        for _ in range(self.lines):
            self.count += 1
            lines.append(b"%s,w=%d i=%di %d" % (next(self.names).encode(), self.number, self.count,
                                                1700000000000000000 + self.count))
        return lines

    def run(self):
        raw = None
        while not self.ending.is_set():
            if raw is None:
                raw = self.connect()
                continue
            lines = self.body()
            try:
                status = self.post(raw, b"\n".join(lines))
            except (OSError, EOFError):
                self.unknown += lines
                raw.close()
                raw = None
                continue
            if status == 204:
                self.acked += lines
            elif status == 503:
                self.refused += lines
                time.sleep(0.01)
            else:
                self.problem = "status %d" % status
                break
            if self.pace:
                time.sleep(self.pace)
        if raw is not None:
            raw.close()

    def connect(self):
        try:
            return Raw(self.port, 30)
        except (OSError, socket.timeout):
            time.sleep(0.01)
            return None

    def post(self, raw, body):
        raw.send(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                 % (self.target.encode(), len(body)) + body)
        answer = raw.read("POST")
        return answer.status

    def stop(self):
        self.ending.set()


def finish(writers):
    """Stop them all; their problems fail the test."""
    for writer in writers:
        writer.stop()
    for writer in writers:
        writer.join(60)
        assert writer.problem is None, writer.problem
    return [line for w in writers for line in w.acked]


def post_all(port, bodies, database="db", clients=8, precision=None):
    """Write bodies through several kept connections; a body refused with 503 is written again until it
    is taken. Returns how often that was."""
    todo = iter(bodies)
    lock = threading.Lock()
    problems = []
    again = [0]
    target = "/write?db=%s" % database + ("&precision=" + precision if precision else "")

    def one():
        with Raw(port, 120) as raw:
            while not problems:
                with lock:
                    body = next(todo, None)
                if body is None:
                    return
                head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (
                    target.encode(), len(body))
                while True:
                    answer = raw.send(head + body).read("POST")
                    if answer.status != 503:
                        break
                    again[0] += 1
                    time.sleep(0.05)
                if answer.status != 204:
                    problems.append("%d: %s" % (answer.status, answer.text))

    def guarded():
        try:
            one()
        except Exception as exception:
            problems.append(repr(exception))

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not problems, problems[0]
    return again[0]
