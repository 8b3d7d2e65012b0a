"""mqtt_broker.py: an MQTT 3.1.1 broker for tests that does as it is told, also what is wrong.

    broker = MqttBroker(play)     # play(connection) runs in a thread of its own for each connection
    broker.messages               # Publish(topic, payload, qos, dup, id, connection), in order

play(c) uses: c.hello() (reads CONNECT, answers), c.packet() (the next packet: type, flags, body),
c.publish(packet), c.send(bytes), c.serve(n) (answer n messages; None: all), c.close(), c.reset().
"""

import collections
import socket
import struct
import threading
import time

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 1, 2, 3, 4, 5, 6, 7
PINGREQ, PINGRESP, DISCONNECT = 12, 13, 14
Publish = collections.namedtuple("Publish", "topic payload qos dup retain id connection")


class Connection:
    def __init__(self, broker, sock, number):
        self.broker = broker
        self.sock = sock
        self.number = number
        self.held = {}

    def take(self, count):
        data = b""
        while len(data) < count:
            piece = self.sock.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def packet(self):
        """type, flags, body; checks the fixed header."""
        first = self.take(1)[0]
        length = 0
        for shift in (0, 7, 14, 21):
            byte = self.take(1)[0]
            length |= (byte & 127) << shift
            if byte < 128:
                break
        else:
            self.broker.problem("a remaining length of five bytes")
        kind, flags = first >> 4, first & 15
        if kind != PUBLISH and flags != (2 if kind == PUBREL else 0):
            self.broker.problem("flags %d of type %d" % (flags, kind))
        return kind, flags, self.take(length)

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, kind, number):
        self.send(struct.pack(">BBH", kind << 4 | (2 if kind == PUBREL else 0), 2, number))

    def hello(self, code=0, present=False):
        kind, _, body = self.packet()
        if kind != CONNECT or body[:7] != b"\0\4MQTT\4":
            self.broker.problem("no CONNECT of 3.1.1: %d %r" % (kind, body))
        self.clean = bool(body[7] & 2)
        self.keepalive = struct.unpack(">H", body[8:10])[0]
        length = struct.unpack(">H", body[10:12])[0]
        self.client_id = body[12:12 + length].decode()
        self.send(bytes([CONNACK << 4, 2, 1 if present else 0, code]))

    def publish(self, flags, body):
        length = struct.unpack(">H", body[:2])[0]
        topic = body[2:2 + length]
        qos = flags >> 1 & 3
        rest = body[2 + length:]
        number = 0
        if qos:
            number = struct.unpack(">H", rest[:2])[0]
            rest = rest[2:]
            if number == 0:
                self.broker.problem("identifier 0")
        try:
            text = topic.decode("utf-8")
        except UnicodeDecodeError:
            text = ""
        if not text or any(c in text for c in "+#\0") or qos == 3:
            self.broker.problem("illegal PUBLISH to %r" % topic)
        message = Publish(text, rest, qos, bool(flags & 8), bool(flags & 1), number, self.number)
        self.broker.messages.append(message)
        return message

    def serve(self, count=None, pace=0.0):
        """Answer as a broker should, until `count` messages are taken; None: until the end."""
        taken = 0
        while count is None or taken < count:
            kind, flags, body = self.packet()
            if kind == PUBLISH:
                message = self.publish(flags, body)
                if pace:
                    time.sleep(pace)
                if message.qos == 1:
                    self.answer(PUBACK, message.id)
                elif message.qos == 2:
                    self.answer(PUBREC, message.id)
                taken += 1
            elif kind == PUBREL:
                self.answer(PUBCOMP, struct.unpack(">H", body)[0])
            elif kind == PINGREQ:
                self.send(bytes([PINGRESP << 4, 0]))
            elif kind == DISCONNECT:
                raise EOFError

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def whole(connection):
    connection.hello()
    connection.serve()


class MqttBroker:
    """play: what it does with the first, second, ... connection; the last one is for all that follow."""

    def __init__(self, *plays):
        self.plays = plays or (whole,)
        self.messages = []
        self.problems = []
        self.connections = 0
        self.times = []
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def problem(self, text):
        self.problems.append(text)

    def url(self, topic="t"):
        return "mqtt://127.0.0.1:%d/%s" % (self.port, topic)

    def accept(self):
        while True:
            try:
                sock = self.sock.accept()[0]
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            play = self.plays[min(self.connections, len(self.plays) - 1)]
            self.connections += 1
            self.times.append(time.monotonic())
            connection = Connection(self, sock, self.connections)
            threading.Thread(target=self.run, args=(play, connection), daemon=True).start()

    @staticmethod
    def run(play, connection):
        try:
            play(connection)
        except (EOFError, OSError):
            pass
        connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.sock.close()
        assert not self.problems, self.problems
