"""Limits: sizes of bodies, bytes in flight, connections, time, rate, disk; the end under load."""

import gzip
import resource
import signal
import time

from harness import *

TIME_LIMIT = 180


def chunked(path):
    return ("POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" % path).encode()


def sized(length, extra=""):
    return (
        "POST /write?db=db HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n%s\r\n" % (length, extra)
    ).encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def lines(count, start=0):
    return b"".join(
        b"m,host=h%d value=%d %d\n" % (n % 7, n, n + 1) for n in range(start, start + count)
    )


def check_busy(answer, status=503):
    """Back-pressure: a JSON error, Retry-After, no word that makes Telegraf drop a batch."""
    equal(answer.status, status, "status")
    text = answer.json()["error"]
    if not 1 <= int(answer.headers["retry-after"]) <= 60:
        fail("Retry-After: %r" % answer.headers["retry-after"])
    for word in (
        "partial write",
        "unable to parse",
        "points beyond retention policy",
        "retention policy not found",
        "hinted handoff queue not empty",
        "database not found",
    ):
        if word in text:
            fail("%r in %r" % (word, text))


def nothing_stored(d):
    equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 0, "points stored")


@short
def test_body_over_the_limit():
    body = lines(1000)
    with Daemon({"server": {"max_body_size_bytes": len(body) - 1}}) as d:
        answer = d.write(body, status=413)
        contains(answer.json()["error"], "limit is %d bytes" % (len(body) - 1))
        contains(answer.json()["error"], "eighth of the store is")
        d.write(gzip.compress(body), status=413, headers={"Content-Encoding": "gzip"})
        nothing_stored(d)
        d.write(body[:-1])
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 1000, "points stored")


@short
def test_limit_of_chunked_bodies():
    """HT08: 413 as soon as the limit is passed, however long the body would go on; then closed."""
    with Daemon({"server": {"max_body_size_bytes": 50000}}) as d, d.raw() as raw:
        raw.send(chunked("/write?db=db"))
        for _ in range(5):
            raw.send(chunk(b"#" * 9999 + b"\n"))
        if not raw.quiet(0.2):
            fail("an answer before the limit was passed")
        raw.send(chunk(b"# one more\n"))
        equal(raw.read().status, 413, "status")
        equal(raw.closed(), True, "closed")
        nothing_stored(d)


@short
def test_limit_to_the_byte():
    """Exactly the limit passes and one byte more does not, however the body comes."""
    body = lines(100)
    with Daemon({"server": {"max_body_size_bytes": len(body)}}) as d:
        for more, status in ((b"", 204), (b"\n", 413)):
            whole = body + more
            d.write(whole, status=status)
            d.write(gzip.compress(whole), status=status, headers={"Content-Encoding": "gzip"})
            with d.raw() as raw:
                raw.send_quietly(chunked("/write?db=db") + chunk(whole) + b"0\r\n\r\n")
                equal(raw.read().status, status, "in chunks")
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 300, "points")


@short
def test_gzip_bomb():
    """100 MB of one byte in 100 kB: refused at the limit, and not much more was ever held."""
    packed = gzip.compress(b"#" + b"x" * (100 << 20), 9)
    with Daemon({"server": {"max_body_size_bytes": 1 << 20}}) as d:
        d.write("m v=1")
        before = d.memory("VmHWM")
        d.write(packed, status=413, headers={"Content-Encoding": "gzip"})
        if d.memory("VmHWM") - before > 8192:
            fail("memory rose from %d to %d kB" % (before, d.memory("VmHWM")))


@short
def test_gzip_cut_at_the_limit():
    """HT04: a body whose limit falls in front of its last field is refused whole."""
    line = b"b,A=" + b"A" * 2000 + b" B=42\n"
    with Daemon({"server": {"max_body_size_bytes": len(line) - len(b" B=42\n")}}) as d:
        d.write(gzip.compress(line), status=413, headers={"Content-Encoding": "gzip"})
        nothing_stored(d)


@short
def test_bad_gzip():
    """HT06: what is no gzip, cut, or damaged is refused; several members are one body."""
    import zlib

    body = lines(300)
    good = gzip.compress(body)
    bad = [
        zlib.compress(body),
        zlib.compress(body)[2:-4],
        good[:-1],
        good[: len(good) // 2],
        good[:5],
        good[:-8] + bytes([good[-8] ^ 1]) + good[-7:],
        good[:-1] + bytes([good[-1] ^ 1]),
        good + b"trailing",
    ]
    with Daemon() as d:
        for packed in bad:
            answer = d.write(packed, status=400, headers={"Content-Encoding": "gzip"})
            if not answer.json()["error"]:
                fail("no error text")
            nothing_stored(d)
        half = body.index(b"\n", len(body) // 2) - 3
        d.write(
            gzip.compress(body[:half]) + gzip.compress(body[half:]),
            headers={"Content-Encoding": "gzip"},
        )
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 300, "points of two members")


@short
def test_limit_is_an_eighth_of_the_store():
    with Daemon({"storage": {"max_size_mb": 4}}) as d:
        size = int(d.metrics().get("hyperbytedb_storage_size_bytes"))
        error = d.write(b"#" * (size // 8 + 1), status=413).json()["error"]
        contains(error, "26214400")
        contains(error, "eighth of the store is %d" % (size // 8))
        d.write(b"#" * (size // 8))


@short
def test_bytes_in_flight():
    """While half a body is there, one that does not fit gets 503, and small ones go through."""
    body = lines(4000)
    with Daemon({"server": {"max_inflight_bytes": len(body) + 1000}}) as d:
        with d.raw() as slow, d.raw() as stream:
            slow.send(sized(len(body)) + body[: len(body) // 2])
            wait_until(lambda: d.http("POST", "/write?db=db", body).status == 503, "503")
            check_busy(d.http("POST", "/write?db=db", body))
            check_busy(
                d.http("POST", "/write?db=db", gzip.compress(body), {"Content-Encoding": "gzip"})
            )
            stream.send_quietly(
                chunked("/write?db=db") + chunk(body[:-10]) + chunk(body[-10:]) + b"0\r\n\r\n"
            )
            check_busy(stream.read())
            nothing_stored(d)
            d.write(lines(200))
            slow.send(body[len(body) // 2 :])
            equal(slow.read().status, 204, "the slow one")
        d.write(body)
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 8200, "points")


@short
def test_one_body_alone_is_always_admitted():
    body = lines(5000)
    with Daemon({"server": {"max_inflight_bytes": 65536}}) as d:
        d.write(body)
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 5000, "points")


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def crowd(d, idle):
    """Many idle keep-alive clients and 50 that write; all writes must go through."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 0 or hard > 4096 else soft, hard))
    clients = []
    try:
        for _ in range(idle):
            raw = Raw(d.port)
            clients.append(raw)
            raw.send(b"GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
        writers = [Raw(d.port) for _ in range(50)]
        clients += writers
        body = lines(5)
        for _ in range(10):
            for raw in writers:
                raw.send(sized(len(body)) + body)
            for raw in writers:
                equal(raw.read().status, 204, "a writer")
        started, used = time.monotonic(), cpu_seconds(d.pid)
        time.sleep(0.5)
        if cpu_seconds(d.pid) - used > (time.monotonic() - started) / 2:
            fail("the daemon is busy while nobody asks for anything")
        closed = sum(raw.closed(0.001) or raw.ended for raw in clients[:idle])
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 2500, "points")
        return closed
    finally:
        for raw in clients:
            raw.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_many_idle_clients():
    """HT12: the oldest idle ones are closed, those that work are not."""
    with Daemon() as d:
        closed = crowd(d, 2000)
        if closed < 2000 - 256:
            fail("%d of 2000 closed" % closed)


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


def test_more_clients_than_files():
    """HT12 with max_connections beyond RLIMIT_NOFILE: the same, and no loop of failing accepts."""
    with Daemon({"server": {"max_connections": 5000}}, preexec=few_files) as d:
        closed = crowd(d, 2000)
        if closed < 2000 - 1024:
            fail("%d of 2000 closed" % closed)


@short
def test_slow_head_and_body():
    """A client that sends a byte now and then has the total time and no more."""
    with Daemon({"server": {"request_timeout_secs": 1}}) as d, d.raw() as head, d.raw() as body:
        body.send(sized(100) + b"m v=1")
        for byte in b"GET /ping HTTP/1.1\r\nX: " + b"a" * 200:
            head.send_quietly(bytes([byte]))
            body.send_quietly(b" ")
            if head.ended or (head.sock.setblocking(False), not quiet_now(head))[1]:
                break
            time.sleep(0.02)
        for raw in (head, body):
            raw.sock.settimeout(10)
        equal(head.read().status, 408, "the slow head")
        equal(head.closed(), True, "closed")
        equal(body.read().status, 408, "the slow body")
        equal(body.closed(), True, "closed")
        nothing_stored(d)


def quiet_now(raw):
    try:
        return raw.sock.recv(1, 2) is None
    except BlockingIOError:
        raw.sock.settimeout(5)
        return True
    except OSError:
        return False


@short
def test_client_that_does_not_read():
    """HT10 without TLS: asks for much, reads nothing. Others are served, it is closed."""
    with Daemon({"server": {"request_timeout_secs": 2}}) as d, Raw(d.port, rcvbuf=4096) as raw:
        raw.sock.setblocking(False)
        try:
            for _ in range(4000):
                raw.sock.send(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n" * 10)
        except BlockingIOError:
            pass
        used = cpu_seconds(d.pid)
        started = time.monotonic()
        for _ in range(20):
            equal(d.http("GET", "/ping").status, 204, "another client")
            time.sleep(0.02)
        if cpu_seconds(d.pid) - used > 0.8 * (time.monotonic() - started):
            fail("the daemon spins")
        raw.sock.settimeout(10)
        wait_until(lambda: peer_gone(raw), "the client is put out")


def peer_gone(raw):
    """Whether the daemon has closed, without reading: sending to it fails in the end."""
    try:
        raw.sock.setblocking(False)
        raw.sock.send(b"x")
    except BlockingIOError:
        return False
    except OSError:
        return True
    return False


@short
def test_rate_limit():
    with Daemon({"rate_limit": {"enabled": True, "max_requests_per_second": 2}}) as d:
        answers = [d.http("POST", "/write?db=db", "m v=1") for _ in range(20)]
        limited = [a for a in answers if a.status != 204]
        if not 10 <= len(limited) <= 19:
            fail("%d of 20 writes over the limit of 2 a second" % len(limited))
        for answer in limited:
            check_busy(answer)
        answers = [d.http("POST", "/api/v2/write?bucket=db", "m v=1") for _ in range(20)]
        check_busy([a for a in answers if a.status != 204][0])
        answers = [d.query_raw("SHOW DATABASES") for _ in range(20)]
        check_busy([a for a in answers if a.status != 200][0], 429)
        for _ in range(20):
            equal(d.http("GET", "/ping").status, 204, "/ping")
        wait_until(lambda: d.http("POST", "/write?db=db", "m v=1").status == 204, "the next second")


@short
def test_disk_nearly_full():
    high = 16000000  # MB: more than a disk here has free
    with Daemon({"disk": {"warn_threshold_mb": high, "readonly_threshold_mb": high}}) as d:
        for path in ("/write?db=db", "/api/v2/write?bucket=db"):
            check_busy(d.http("POST", path, "m v=1"), 507)
        nothing_stored(d)
        equal(d.http("GET", "/health/ready").status, 503, "/health/ready")
        equal(d.http("GET", "/health").status, 200, "/health")
        equal(d.query_raw("SHOW DATABASES").status, 200, "/query")


@short
def test_disk_low_only_warns():
    with Daemon({"disk": {"warn_threshold_mb": 16000000, "readonly_threshold_mb": 1}}) as d:
        d.write("m v=1")
        contains(d.log(), "warn")
        equal(d.http("GET", "/health/ready").status, 200, "/health/ready")


@short
def test_end_lets_open_requests_finish():
    body = lines(1000)
    with Daemon() as d, d.raw() as idle, d.raw() as open_one:
        idle.send(b"GET /ping HTTP/1.1\r\nHost: h\r\n\r\n").read()
        open_one.send(sized(len(body)) + body[:100])
        wait_until(lambda: d.http("GET", "/ping").status == 204, "both are known")
        d.signal(signal.SIGTERM)
        equal(idle.closed(), True, "the idle connection")
        try:
            Raw(d.port).close()
            fail("the daemon still listens")
        except ConnectionRefusedError:
            pass
        open_one.send(body[100:])
        answer = open_one.read()
        # The head came before the end began: the body is taken.
        equal(answer.status, 204, "the open request")
        equal(answer.headers.get("connection"), "close", "Connection")
        open_one.close()
        d.wait(0)


@short
def test_end_does_not_wait_for_ever():
    with Daemon() as d, d.raw() as raw:
        raw.send(sized(100) + b"m v=1")
        wait_until(lambda: d.http("GET", "/ping").status == 204, "it is known")
        started = time.monotonic()
        d.signal(signal.SIGTERM)
        d.wait(0)
        if time.monotonic() - started > 15:
            fail("it took %g s" % (time.monotonic() - started))


@short
def test_second_signal_ends_at_once():
    with Daemon() as d, d.raw() as raw:
        raw.send(sized(100) + b"m v=1")
        wait_until(lambda: d.http("GET", "/ping").status == 204, "it is known")
        d.signal(signal.SIGTERM)
        d.logged("event=stopping")
        started = time.monotonic()
        d.signal(signal.SIGINT)
        d.process.wait(10)
        d.process = None
        if time.monotonic() - started > 2:
            fail("it took %g s" % (time.monotonic() - started))


@short
def test_bad_line_in_a_long_stream():
    """HT18: exactly one answer to 5 MB in chunks with one bad line, and the connection goes on."""
    with Daemon({"storage": {"max_size_mb": 64}}) as d, d.raw() as raw:
        raw.send(chunked("/write?db=db"))
        piece = lines(1500)
        count = 5 * 1024 * 1024 // len(piece)
        for n in range(count):
            raw.send(chunk(piece if n != count // 2 else b"bad line here\n" + piece))
        raw.send(b"0\r\n\r\n")
        answer = raw.read()
        equal(answer.status, 400, "status")
        contains(answer.json()["error"], "(line %d) dropped=1" % (1500 * (count // 2) + 1))
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 1500 * count, "points")
        raw.send(b"GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
        equal(raw.read().status, 204, "the connection goes on")
        equal(raw.quiet(0.1), True, "nothing more")


@short
def test_pipelining():
    """Requests sent at once are answered in their order."""
    body = lines(3)
    with Daemon() as d, d.raw() as raw:
        one = (
            b"GET /ping HTTP/1.1\r\nHost: h\r\nX-Request-Id: %d-a\r\n\r\n"
            b"POST /write?db=db HTTP/1.1\r\nHost: h\r\nX-Request-Id: %d-b\r\n"
            b"Content-Length: %d\r\n\r\n%s"
            b"HEAD /ping HTTP/1.1\r\nHost: h\r\nX-Request-Id: %d-c\r\n\r\n"
        )
        raw.send(b"".join(one % (n, n, len(body), body, n) for n in range(100)))
        for n in range(100):
            for letter, method in (("a", "GET"), ("b", "POST"), ("c", "HEAD")):
                answer = raw.read(method)
                equal(
                    (answer.status, answer.headers["x-request-id"]),
                    (204, "%d-%s" % (n, letter)),
                    "answer",
                )
        equal(raw.quiet(0.05), True, "nothing more")
        equal(d.metrics().get("hyperbytedb_ingestion_points_total"), 300, "points")
