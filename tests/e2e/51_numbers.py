"""A log that delivery left empty, a restart, new points: the numbers go on, none is taken for old."""

import account
from harness import *
from http_sink import HttpSink

QUICK = {"storage": {"cursor_delay_ms": 50}}


def empty(d, round_number):
    """The log holds nothing: a sink that starts at its first point finds none."""
    name = "probe%d" % round_number
    d.query("CREATE SINK %s TO 'http://127.0.0.1:1/w' TYPE http_line START EARLIEST" % name)
    held = d.ledger(name)["accepted"]
    d.query("DROP SINK %s" % name)
    return held == 0


@short
def test_numbers_go_on():
    with HttpSink() as one, HttpSink() as two, Daemon(QUICK) as d:
        for name, peer in (("one", one), ("two", two)):
            d.query("CREATE SINK %s TO '%s' TYPE http_line BATCH_SIZE 7 FLUSH_INTERVAL 10ms"
                    % (name, peer.url()))
        expected = []
        for n in range(10):
            lines = ["m,round=%d i=%di %d" % (n, i, n * 1000 + i) for i in range(n % 4 * 5 + 1)]
            d.write(lines)
            expected += [line.encode() for line in lines]
            for name, peer in (("one", one), ("two", two)):
                account.balanced(d, name, accepted=len(expected), forwarded=len(expected))
                equal(peer.lines(), expected, "what came to " + name)
            wait_until(lambda: empty(d, n), "the log is empty")
            d.restart(kill=n % 2 == 1)
            account.balanced(d, "one", accepted=len(expected), forwarded=len(expected))
        d.restart()
        d.restart(kill=True)
        account.balanced(d, "two", accepted=len(expected), forwarded=len(expected))


@short
def test_points_without_a_sink_survive_and_are_not_renumbered():
    with HttpSink() as peer, Daemon(QUICK) as d:
        d.write("m i=1i 1\nm i=2i 2")
        d.restart(kill=True)
        d.write("m i=3i 3")
        d.query("CREATE SINK late TO '%s' TYPE http_line FLUSH_INTERVAL 10ms START EARLIEST"
                % peer.url())
        account.balanced(d, "late", accepted=3, forwarded=3)
        equal(peer.lines(), [b"m i=1i 1", b"m i=2i 2", b"m i=3i 3"], "what came")
        d.query("CREATE SINK new TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % peer.url("/new"))
        account.balanced(d, "new", accepted=0)
        d.write("m i=4i 4")
        account.balanced(d, "new", accepted=1, forwarded=1)
