"""kafka_broker.py: brokers for tests that are stricter than a real one, and fail as they are told.

They check every frame, length, checksum, offset and sequence number; what is wrong with a request goes into
cluster.problems. ApiVersions 0, Metadata 1-8, Produce 3-8, InitProducerId 0-1, SaslHandshake 1,
SaslAuthenticate 0-1 (PLAIN).

    cluster = Cluster(nodes=3, topics={"t": 3}); cluster.judge = lambda produce: None
    `with cluster:` ... cluster.records("t")

judge(Produce) is asked before anything is written. It gives None (go on), an error code for the partition, or one of
"close" (without writing), "lose" (write, then close without an answer), "half" (write, then half an
answer).
"""

import collections
import gzip
import socket
import struct
import threading
import time

Record = collections.namedtuple("Record", "key value headers timestamp")
Batch = collections.namedtuple("Batch", "raw producer epoch sequence records")
Produce = collections.namedtuple("Produce", "node topic partition batch number acks")

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Wrong(Exception):
    """A request that no broker may be sent."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n < 0 or self.at + n > len(self.data):
            raise Wrong("a length of %d with %d bytes left" % (n, len(self.data) - self.at))
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def text(self):
        n = self.number("h")
        return None if n == -1 else self.take(n).decode()

    def blob(self):
        n = self.number("i")
        return None if n == -1 else self.take(n)

    def array(self, read):
        n = self.number("i")
        return None if n == -1 else [read() for _ in range(n)]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value >> 1 ^ -(value & 1)

    def varblob(self):
        n = self.varint()
        return None if n == -1 else self.take(n)

    def end(self):
        if self.at != len(self.data):
            raise Wrong("%d bytes too many" % (len(self.data) - self.at))


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def read_record(reader, index, first):
    inner = Reader(reader.take(reader.varint()))
    if inner.number("b") != 0:
        raise Wrong("attributes of a record")
    stamp = first + inner.varint()
    if inner.varint() != index:
        raise Wrong("offset delta of record %d" % index)
    key, value = inner.varblob(), inner.varblob()
    headers = [(inner.take(inner.varint()).decode(), inner.varblob()) for _ in range(inner.varint())]
    inner.end()
    return Record(key, value, headers, stamp)


def read_batch(data):
    r = Reader(data)
    base, length, _, magic, crc = r.number("q"), r.number("i"), r.number("i"), r.number("b"), r.number("I")
    if base != 0 or length != len(data) - 12 or magic != 2:
        raise Wrong("head of a batch: offset %d length %d magic %d" % (base, length, magic))
    if crc != crc32c(data[21:]):
        raise Wrong("checksum of a batch")
    attributes, last, first, largest = r.number("h"), r.number("i"), r.number("q"), r.number("q")
    producer, epoch, sequence, count = r.number("q"), r.number("h"), r.number("i"), r.number("i")
    if attributes not in (0, 1) or count < 1 or last != count - 1:
        raise Wrong("batch: attributes %d count %d last %d" % (attributes, count, last))
    inside = Reader(gzip.decompress(r.data[r.at:]) if attributes == 1 else r.data[r.at:])
    records = [read_record(inside, i, first) for i in range(count)]
    inside.end()
    if records[0].timestamp != first or max(x.timestamp for x in records) != largest:
        raise Wrong("times of a batch")
    if (producer < 0) != (sequence < 0) or (producer < 0) != (epoch < 0):
        raise Wrong("producer %d epoch %d sequence %d" % (producer, epoch, sequence))
    return Batch(data, producer, epoch, sequence, records)


class Node(threading.Thread):
    def __init__(self, cluster, number):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.host = "127.0.0.1"
        self.connections = []
        self.down = False

    def run(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            if self.down:
                connection.close()
                continue
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        state = {"user": None, "shaken": False}
        try:
            while True:
                head = receive(connection, 4)
                size = struct.unpack(">i", head)[0]
                if not 8 <= size <= 104857600:
                    raise Wrong("a frame of %d bytes" % size)
                answer = self.cluster.answer(self, receive(connection, size), state)
                if answer is None:
                    continue
                if isinstance(answer, tuple):
                    connection.sendall(answer[1])
                    break
                connection.sendall(answer)
        except Wrong as problem:
            self.cluster.problems.append(str(problem))
        except (OSError, EOFError, ValueError):
            pass
        connection.close()

    def drop(self):
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.connections = []


def receive(connection, n):
    data = b""
    while len(data) < n:
        more = connection.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Cluster:
    VERSIONS = {0: (0, 8), 3: (0, 12), 17: (0, 1), 18: (0, 3), 22: (0, 4), 36: (0, 2)}

    def __init__(self, nodes=1, topics=None, users=None, versions=None):
        self.lock = threading.RLock()
        self.versions = dict(self.VERSIONS)
        self.versions.update(versions or {})
        self.versions = {k: v for k, v in self.versions.items() if v is not None}
        self.users = users
        self.nodes = [Node(self, 101 + i) for i in range(nodes)]
        self.leaders, self.logs, self.producers = {}, {}, {}
        self.topic_errors = {}
        self.problems, self.requests, self.produced = [], [], []
        self.out_of_order = self.repeated = 0
        self.next_producer = 4000
        self.producer_error = 0
        self.throttle_ms = 0
        self.delay = 0
        self.max_batch = 1048588
        self.judge = lambda produce: None
        self.refused_records = lambda produce: []
        for name, count in (topics or {"t": 3}).items():
            self.create(name, count)

    def create(self, name, count):
        for partition in range(count):
            self.leaders[name, partition] = self.nodes[partition % len(self.nodes)].number
            self.logs.setdefault((name, partition), [])

    def __enter__(self):
        for node in self.nodes:
            node.start()
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.socket.close()
            node.drop()

    def url(self, topic="t"):
        return "kafka://%s/%s" % (",".join("127.0.0.1:%d" % n.port for n in self.nodes), topic)

    def records(self, topic="t", partition=None):
        with self.lock:
            return [r for (name, p), log in sorted(self.logs.items()) if name == topic
                    and (partition is None or p == partition) for r in log]

    def values(self, topic="t", partition=None):
        return [r.value for r in self.records(topic, partition)]

    def move(self, topic, partition, number):
        with self.lock:
            self.leaders[topic, partition] = number

    # ---- requests ----

    def answer(self, node, frame, state):
        r = Reader(frame)
        key, version, correlation, client = r.number("h"), r.number("h"), r.number("i"), r.text()
        low, high = self.versions.get(key, (0, -1))
        if not low <= version <= high or (key == 0 and version < 3):
            raise Wrong("api %d version %d" % (key, version))
        self.requests.append((node.number, key, version, client))
        if self.users is not None and state["user"] is None and key not in (17, 18, 36):
            return ("close", b"")
        with self.lock:
            result = {0: self.produce, 3: self.metadata, 17: self.handshake, 18: self.api_versions,
                      22: self.init_producer, 36: self.authenticate}[key](node, r, version, state)
        if self.delay:
            time.sleep(self.delay)
        if result is None:
            return None
        kind, body = result if isinstance(result, tuple) else ("", result)
        whole = struct.pack(">ii", len(body) + 4, correlation) + body
        if kind in ("close", "lose"):
            return ("close", b"")
        if kind == "half":
            return ("close", whole[:len(whole) // 2])
        return ("close", whole) if kind == "last" else whole

    def api_versions(self, node, r, version, state):
        if version > 2:
            return struct.pack(">h", 35) + array([])
        r.end()
        rows = [struct.pack(">hhh", k, low, high) for k, (low, high) in sorted(self.versions.items())]
        return struct.pack(">h", 0) + array(rows) + (struct.pack(">i", 0) if version > 0 else b"")

    def metadata(self, node, r, version, state):
        names = r.array(r.text)
        if version >= 4:
            r.number("?")
        if version >= 8:
            r.take(2)
        r.end()
        brokers = [struct.pack(">i", n.number) + text(n.host) + struct.pack(">i", n.port) + text(None)
                   for n in self.nodes if not n.down]
        topics = [self.topic(name, version) for name in names]
        return (struct.pack(">i", 0) if version >= 3 else b"") + array(brokers) + (
            text("test") if version >= 2 else b"") + struct.pack(">i", self.nodes[0].number) + array(
                topics) + (struct.pack(">i", 0) if version >= 8 else b"")

    def topic(self, name, version):
        mine = [(p, leader) for (topic, p), leader in sorted(self.leaders.items(), reverse=True) if topic == name]
        error = self.topic_errors.get(name, 0 if mine else 3)
        rows = []
        for partition, leader in mine if error == 0 else []:
            row = struct.pack(">hii", 5 if leader < 0 else 0, partition, leader)
            row += struct.pack(">i", 1) if version >= 7 else b""
            row += array([]) * (3 if version >= 5 else 2)
            rows.append(row)
        return struct.pack(">h", error) + text(name) + b"\0" + array(rows) + (
            struct.pack(">i", 0) if version >= 8 else b"")

    def handshake(self, node, r, version, state):
        state["shaken"] = r.text() == "PLAIN"
        r.end()
        return struct.pack(">h", 0 if state["shaken"] else 33) + array([text("PLAIN")])

    def authenticate(self, node, r, version, state):
        parts = r.blob().split(b"\0")
        r.end()
        good = state["shaken"] and len(parts) == 3 and (self.users or {}).get(parts[1].decode()) == parts[2].decode()
        body = struct.pack(">h", 0 if good else 58) + text(None if good else "no") + struct.pack(">i", 0)
        state["user"] = parts[1] if good else None
        body += struct.pack(">q", 0) if version >= 1 else b""
        return body if good else ("last", body)

    def init_producer(self, node, r, version, state):
        if r.text() is not None:
            raise Wrong("a transactional id")
        r.number("i")
        r.end()
        self.next_producer += 1
        return struct.pack(">ihqh", 0, self.producer_error, self.next_producer, 0)

    def produce(self, node, r, version, state):
        if r.text() is not None:
            raise Wrong("a transactional id")
        acks, _ = r.number("h"), r.number("i")
        parts = r.array(lambda: (r.text(), r.array(lambda: (r.number("i"), r.blob()))))
        r.end()
        kind, answers, seen = "", [], set()
        for name, list_of in parts:
            rows = []
            for partition, data in list_of:
                if (name, partition) in seen:
                    raise Wrong("partition %d of %s twice in a request" % (partition, name))
                seen.add((name, partition))
                what, row = self.one(node, name, partition, data, acks, version)
                kind = what or kind
                rows.append(row)
            answers.append(text(name) + array(rows[::-1]))
        if acks == 0:
            return ("close", b"") if kind else None
        return kind, array(answers) + struct.pack(">i", self.throttle_ms)

    def one(self, node, name, partition, data, acks, version):
        batch = read_batch(data)
        produce = Produce(node.number, name, partition, batch, len(self.produced), acks)
        self.produced.append(produce)
        verdict = self.judge(produce)
        refused = self.refused_records(produce)
        if isinstance(verdict, int):
            error = verdict
        elif (name, partition) not in self.leaders:
            error = 3
        elif self.leaders[name, partition] != node.number:
            error = 6
        elif len(data) > self.max_batch:
            error = 10
        elif refused:
            error = 87
        else:
            error = 0 if verdict == "close" else self.append(produce)
        row = struct.pack(">ihqq", partition, error, 0 if error == 0 else -1, -1)
        if version >= 5:
            row += struct.pack(">q", 0)
        if version >= 8:
            row += array([struct.pack(">i", i) + text("refused") for i in refused]) + text(None)
        return verdict if isinstance(verdict, str) else "", row

    def append(self, produce):
        batch, where = produce.batch, (produce.topic, produce.partition)
        if batch.producer >= 0:
            if produce.acks != -1:
                raise Wrong("idempotent with acks %d" % produce.acks)
            known = self.producers.get((batch.producer,) + where)
            last = (batch.sequence + len(batch.records) - 1) & 0x7FFFFFFF
            if known is not None and batch.epoch == known[0]:
                if (batch.sequence, last) in known[2]:
                    self.repeated += 1
                    return 0
                if batch.sequence != (known[1] + 1) & 0x7FFFFFFF:
                    self.out_of_order += 1
                    return 45
            elif batch.sequence != 0:
                self.out_of_order += 1
                return 45
            five = (known[2] if known is not None and batch.epoch == known[0] else [])[-4:]
            self.producers[(batch.producer,) + where] = (batch.epoch, last, five + [(batch.sequence, last)])
        self.logs[where] += batch.records
        return 0
