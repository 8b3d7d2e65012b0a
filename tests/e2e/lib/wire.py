"""wire.py: HTTP/1.1 from the client's side, by raw sockets, so that a test sees every byte.

Reads answers strictly: a status line, headers, a body by Content-Length, chunks or the end of the
connection, and nothing behind it that was not asked for.
"""

import json
import socket
import time


class Answer:
    def __init__(self, version, status, reason, headers, body, truncated=False):
        self.version = version
        self.status = status
        self.reason = reason
        self.headers = headers  # lower-case names; the values of repeated ones joined with ", "
        self.body = body
        self.truncated = truncated

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "<%d %r %r>" % (self.status, self.headers, self.body[:2000])


class Raw:
    """One connection. send() bytes, read() answers, closed() waits for the daemon's end."""

    def __init__(self, port, timeout=10, rcvbuf=None):
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.ended = False

    def send(self, data):
        self.sock.sendall(data)
        return self

    def send_quietly(self, data):
        """Send what may be refused half way: an error of the connection is no failure here."""
        try:
            self.sock.sendall(data)
        except OSError:
            pass
        return self

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)
        return self

    def more(self):
        """Receive once. False at the end of the connection."""
        if self.ended:
            return False
        try:
            got = self.sock.recv(65536)
        except ConnectionResetError:
            got = b""
        if not got:
            self.ended = True
            return False
        self.data += got
        return True

    def until(self, mark):
        while mark not in self.data:
            if not self.more():
                raise EOFError("connection ended within %r" % self.data[:500])
        head, self.data = self.data.split(mark, 1)
        return head

    def take(self, count):
        while len(self.data) < count:
            if not self.more():
                raise EOFError(
                    "connection ended %d bytes before the end of a body" % (count - len(self.data))
                )
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def read(self, method="GET"):
        """One answer; interim answers (1xx) are answers too."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, reason = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name = name.lower()
            value = value.strip(" \t")
            headers[name] = headers[name] + ", " + value if name in headers else value
        body = self.body(method, int(status), headers)
        return Answer(version, int(status), reason, headers, body)

    def body(self, method, status, headers):
        if method == "HEAD" or status < 200 or status in (204, 304):
            return b""
        if "chunked" in headers.get("transfer-encoding", ""):
            return self.chunks()
        if "content-length" in headers:
            return self.take(int(headers["content-length"]))
        while self.more():
            pass
        taken, self.data = self.data, b""
        return taken

    def chunks(self):
        parts = []
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                while self.until(b"\r\n"):
                    pass
                return b"".join(parts)
            parts.append(self.take(size))
            if self.take(2) != b"\r\n":
                raise ValueError("no CR LF behind a chunk")

    def quiet(self, seconds):
        """Nothing comes for a while and the connection stays open: True."""
        self.sock.settimeout(seconds)
        try:
            return bool(not self.data and self.sock.recv(1, socket.MSG_PEEK) and False)
        except socket.timeout:
            return not self.data
        except OSError:
            return False

    def closed(self, seconds=10):
        """The daemon closes within the time, with nothing more to read: True."""
        deadline = time.monotonic() + seconds
        while not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.sock.settimeout(left)
            try:
                self.more()
            except socket.timeout:
                return False
        return not self.data

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def request(port, method, target, body=None, headers=None, timeout=30):
    """One request on a connection of its own, `Connection: close`."""
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogateescape")
    lines = ["%s %s HTTP/1.1" % (method, target), "Host: 127.0.0.1:%d" % port, "Connection: close"]
    lines += ["%s: %s" % pair for pair in (headers or {}).items()]
    if body is not None:
        lines.append("Content-Length: %d" % len(body))
    with Raw(port, timeout) as raw:
        raw.send_quietly(
            "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + (body or b"")
        )
        return raw.read(method)
