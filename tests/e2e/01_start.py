"""The daemon starts, takes a point, delivers it and ends; its data outlive it."""

from harness import *
from http_sink import HttpSink


@short
def test_start_and_stop():
    with Daemon() as d:
        equal(d.http("GET", "/ping").status, 204, "/ping")
        d.stop()
        contains(d.log(), "event=stopped")


@short
def test_point_all_the_way():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % sink.url())
        d.write("cpu,host=a usage=1.5 1700000000000000000")
        wait_until(
            lambda: sink.lines() == [b"cpu,host=a usage=1.5 1700000000000000000"], "delivery"
        )
        equal(d.wait_ledger("s", forwarded=1, pending=0)["accepted"], 1, "accepted")
        wait_until(
            lambda: d.metrics().get("hyperbytedb_sink_forwards_total", sink="s") == 1, "metric"
        )


@short
def test_points_survive_a_kill():
    with HttpSink() as sink, Daemon() as d:
        d.query("CREATE SINK s TO '%s' TYPE http_line FLUSH_INTERVAL 10ms" % sink.url())
        d.query("ALTER SINK s PAUSE")
        d.write("m v=1 1\nm v=2 2")
        d.restart(kill=True)
        equal(d.ledger("s")["pending"], 2, "pending")
        d.query("ALTER SINK s RESUME")
        wait_until(lambda: sink.lines() == [b"m v=1 1", b"m v=2 2"], "delivery")
