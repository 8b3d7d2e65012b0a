"""http_sink.py: an HTTP destination for tests, as bad as needed.

    sink = HttpSink()                      # listens on a free port of the loopback interface
    sink.plan(503, Reply(429, {"Retry-After": "1"}), Reply(reset_after=10))   # one a request
    sink.default = Reply(204)              # what all later requests get
    sink.refuse = rb"bad"                  # 400 for a body with a line that matches
    sink.lines()                           # the lines of all requests answered with 2xx

Used from tests; it can also run alone: `python3 http_sink.py [PORT]` prints what comes in.
"""

import base64
import gzip
import re
import socket
import struct
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit


class Reply:
    """What one request gets.

    status, headers, body   the answer; body may be a function of the Request
    delay                   seconds before it
    hang                    no answer; the connection stays open
    reset_after             reset the connection after so many bytes of the request's body
    reset                   reset the connection instead of answering
    close                   close behind the answer (and say so)
    interim                 statuses of interim answers before it: [100, 103]
    chunked                 the body in chunks; trailer: headers behind them
    endless                 after the body, go on sending bytes until the peer is tired of it
    until_close             no Content-Length: the body ends with the connection
    raw                     send exactly these bytes instead
    """

    def __init__(
        self,
        status=204,
        headers=None,
        body=b"",
        delay=0,
        hang=False,
        reset_after=None,
        reset=False,
        close=False,
        interim=(),
        chunked=False,
        trailer=None,
        endless=False,
        until_close=False,
        raw=None,
    ):
        self.status = status
        self.headers = headers or {}
        self.body = body.encode() if isinstance(body, str) else body
        self.delay = delay
        self.hang = hang
        self.reset_after = reset_after
        self.reset = reset
        self.close = close
        self.interim = interim
        self.chunked = chunked
        self.trailer = trailer
        self.endless = endless
        self.until_close = until_close
        self.raw = raw


class Request:
    """method, target, path, query {key: value}, headers (lower-case names), raw (the body as sent),
    body (decoded), lines (of the body), connection (its number), status (what it got or
    None), time (monotonic, when it was complete)."""

    def __init__(self, method, target, headers, raw, connection):
        self.method = method
        self.target = target
        self.path = urlsplit(target).path
        self.query = {k: v[0] for k, v in parse_qs(urlsplit(target).query).items()}
        self.headers = headers
        self.raw = raw
        self.body = gzip.decompress(raw) if headers.get("content-encoding") == "gzip" else raw
        self.lines = [line for line in self.body.split(b"\n") if line]
        self.connection = connection
        self.status = None
        self.time = time.monotonic()


class Gone(Exception):
    pass


class HttpSink:
    """auth: None, ("user", "password") or "token" (Bearer): others get 401.
    refuse: None or a pattern; a body with a matching line gets 400. partial: the other lines of
    such a body count as taken, as with InfluxDB 1.x (the answer says so); else all is refused."""

    def __init__(self, default=None, port=0):
        self.lock = threading.Lock()
        self.default = default or Reply(204)
        self.planned = []
        self.requests = []
        self.connections = 0
        self.open = set()
        self.auth = None
        self.refuse = None
        self.partial = False
        self.released = threading.Event()
        self.listener = None
        self.port = port
        self.start()

    # ---- life ----

    def start(self):
        """Listen (again, on the same port)."""
        self.released.clear()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self

    def stop(self):
        """Stop listening and reset all connections."""
        self.released.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            left = list(self.open)
        for sock in left:
            reset(sock)

    def release(self):
        """Let requests that hang end: their connections are closed without an answer."""
        self.released.set()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    def url(self, path="/write?db=mydb"):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def plan(self, *replies):
        """What the next requests get, one each: Reply objects or bare statuses."""
        with self.lock:
            self.planned += [r if isinstance(r, Reply) else Reply(r) for r in replies]

    # ---- what came ----

    def taken(self):
        """The requests that got 2xx."""
        with self.lock:
            return [r for r in self.requests if r.status is not None and 200 <= r.status < 300]

    def lines(self):
        """The lines of the bodies that were taken (`partial`: of the others too, less the bad)."""
        with self.lock:
            requests = list(self.requests)
        found = []
        for r in requests:
            if r.status is not None and 200 <= r.status < 300:
                found += r.lines
            elif r.status == 400 and self.partial and self.refuse:
                found += [line for line in r.lines if not re.search(self.refuse, line)]
        return found

    # ---- serving ----

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.add(sock)
            threading.Thread(target=self.serve, args=(sock, number), daemon=True).start()

    def serve(self, sock, number):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = Reader(sock)
            while self.one(sock, reader, number):
                pass
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.open.discard(sock)
            sock.close()

    def one(self, sock, reader, number):
        head = reader.head()
        method, target, _ = head[0].split(" ")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        with self.lock:
            reply = self.planned.pop(0) if self.planned else self.default
        if reply.reset_after is not None:
            reader.take(reply.reset_after)
            reset(sock)
            return False
        if headers.get("expect", "").lower() == "100-continue":
            sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding") == "chunked":
            raw = reader.chunks()
        else:
            raw = reader.take(int(headers.get("content-length", "0")))
        request = Request(method, target, headers, raw, number)
        with self.lock:
            self.requests.append(request)
        return self.answer(sock, request, self.judged(request, reply))

    def judged(self, request, reply):
        given = request.headers.get("authorization", "")
        if isinstance(self.auth, tuple):
            wanted = "Basic " + base64.b64encode(":".join(self.auth).encode()).decode()
        else:
            wanted = "Bearer %s" % self.auth
        if self.auth is not None and given != wanted:
            return Reply(401, body='{"error":"authorization failed"}\n')
        bad = [n for n in request.lines if self.refuse and re.search(self.refuse, n)]
        if bad:
            words = "partial write: " if self.partial else ""
            return Reply(
                400, body='{"error":"%sunable to parse: bad line dropped=%d"}\n' % (words, len(bad))
            )
        return reply

    def answer(self, sock, request, reply):
        if reply.delay:
            self.released.wait(reply.delay)
        if reply.hang:
            self.released.wait()
            return False
        if reply.reset:
            reset(sock)
            return False
        if reply.raw is not None:
            request.status = 0
            sock.sendall(reply.raw)
            return not reply.close
        for status in reply.interim:
            sock.sendall(b"HTTP/1.1 %d Interim\r\n\r\n" % status)
        # Before the bytes: a test that sees their effect must find the request counted.
        request.status = reply.status
        sock.sendall(self.bytes_of(reply, request))
        while reply.endless:
            sock.sendall(b"x" * 65536)
        return not (reply.close or reply.until_close)

    @staticmethod
    def bytes_of(reply, request):
        lines = ["HTTP/1.1 %d Status" % reply.status]
        lines += ["%s: %s" % pair for pair in reply.headers.items()]
        body = reply.body(request) if callable(reply.body) else reply.body
        if reply.chunked:
            lines.append("Transfer-Encoding: chunked")
            trailer = "".join("%s: %s\r\n" % pair for pair in (reply.trailer or {}).items())
            chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            body = chunk + b"0\r\n" + trailer.encode() + b"\r\n"
        elif reply.status != 204 and not reply.until_close:
            length = 1 << 40 if reply.endless else len(body)
            lines.append("Content-Length: %d" % length)
        if reply.close or reply.until_close:
            lines.append("Connection: close")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Reader:
    def __init__(self, sock):
        self.sock = sock
        self.data = b""

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise Gone()
        self.data += got

    def until(self, mark):
        while mark not in self.data:
            self.more()
        found, self.data = self.data.split(mark, 1)
        return found

    def head(self):
        return self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")

    def take(self, count):
        while len(self.data) < count:
            self.more()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def chunks(self):
        parts = []
        while True:
            size = int(self.until(b"\r\n"), 16)
            if size == 0:
                while self.until(b"\r\n"):
                    pass
                return b"".join(parts)
            parts.append(self.take(size))
            self.take(2)


def reset(sock):
    """Close with RST."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    try:
        sock.close()
    except OSError:
        pass


def main():
    sink = HttpSink(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("listening on %s" % sink.url(), flush=True)
    shown = 0
    while True:
        time.sleep(0.1)
        for request in sink.requests[shown:]:
            print("%s %s (connection %d)" % (request.method, request.target, request.connection))
            print(request.body.decode("utf-8", "replace"), flush=True)
            shown += 1


if __name__ == "__main__":
    main()
