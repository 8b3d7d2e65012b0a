"""peers.py: HTTP destinations that judge what they get, for the tests of deliveries."""

import contextlib

from http_sink import HttpSink, Reply


class Judge(HttpSink):
    """judge(request, number) gives a Reply or a status, None for what was planned; number counts the
    requests from 0."""

    def __init__(self, judge):
        self.judge = judge
        self.judged_count = 0
        super().__init__()

    def judged(self, request, reply):
        with self.lock:
            number = self.judged_count
            self.judged_count += 1
        verdict = self.judge(request, number)
        if verdict is None:
            return super().judged(request, reply)
        return verdict if isinstance(verdict, Reply) else Reply(verdict)


class Bench:
    """A daemon with several sinks, each with a peer of its own; what is written goes to all.

    b = Bench(daemon); b.add("name", peer, 'BATCH_SIZE 5', "timeout = '1s'")
    """

    def __init__(self, daemon, stack):
        self.d = daemon
        self.stack = stack
        self.peers = {}
        self.written = []

    def add(self, name, peer, clauses="", options="", path="/write?db=mydb"):
        self.peers[name] = self.stack.enter_context(peer)
        with_clause = " WITH (%s)" % options if options else ""
        self.d.query("CREATE SINK %s TO '%s' TYPE http_line FLUSH_INTERVAL 20ms %s%s"
                     % (name, peer.url(path), clauses, with_clause))
        return peer

    def write(self, lines, **parameters):
        self.d.write(lines, **parameters)
        self.written += [line.encode() for line in lines]


@contextlib.contextmanager
def bench(daemon):
    """`with bench(Daemon(...)) as b:`"""
    with contextlib.ExitStack() as stack:
        yield Bench(stack.enter_context(daemon), stack)


def gaps(peer):
    """Seconds between the requests of a peer."""
    times = [r.time for r in peer.requests]
    return [b - a for a, b in zip(times, times[1:])]


def repeated(peer):
    """Lines that a peer confirmed more than once."""
    seen, twice = set(), []
    for line in peer.lines():
        if line in seen:
            twice.append(line)
        seen.add(line)
    return twice
