"""A daemon that is told to end while writes and statements wait for a commit that comes too late."""

import signal
import socket
import time

from harness import *

# The committer waits so long for more writers that the daemon's 10 s are over before it commits.
SLOW_COMMIT = {"storage": {"commit_delay_us": 10000000}}


def begin(d, size):
    s = socket.create_connection(("127.0.0.1", d.port))
    s.sendall(b"POST /write?db=d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
    return s


@short
def test_a_write_that_waits_for_its_commit():
    body = b"m v=1i 1\n"
    with Daemon(SLOW_COMMIT) as d:
        d.query("CREATE DATABASE d")  # a new name would be stored at once, and the point with it
        write, other = begin(d, len(body)), begin(d, 100)
        wait_until(lambda: d.metrics().get("hyperbytedb_write_requests_total") == 2, "both have begun")
        d.signal(signal.SIGTERM)
        time.sleep(3)
        write.sendall(body)
        d.wait(0)
        contains(d.log(), "event=stop_late", "log")
        write.close()
        other.close()
        d.start()
        d.query("CREATE SINK s TYPE stdout START EARLIEST FLUSH_INTERVAL 1ms")
        wait_until(lambda: b"m v=1i 1" in d.output(), "the point that was committed at the end")
