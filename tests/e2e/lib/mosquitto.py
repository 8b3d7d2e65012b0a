"""mosquitto.py: Debian's MQTT broker and its subscriber on a loopback port, and a gate in front of it.

    with Mosquitto("max_packet_size 2048") as broker, Subscriber(broker, "#") as sub: ...

`broker.port`; broker.kill(), broker.start() on the same port; sub.messages() are (topic, payload) in the
order in which they came. Gate(port) forwards connections: hold() swallows what is sent both ways without
a word, as a link that drops packets does; shut() refuses and cuts; let() ends both.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import fail, free_port, wait_until

BINARY = next((p for p in ("/usr/sbin/mosquitto", shutil.which("mosquitto") or "")
               if p and os.path.exists(p)), None)
numbers = iter(range(1000000))


class Mosquitto:
    """A broker in the current folder. lines: more of its configuration."""

    def __init__(self, *lines, anonymous=True):
        if BINARY is None or shutil.which("mosquitto_sub") is None:
            fail("mosquitto and mosquitto_sub are needed: Debian packages mosquitto, mosquitto-clients")
        self.port = free_port()
        self.name = "mosquitto%d" % next(numbers)
        self.process = None
        # Nothing is thrown away for a slow subscriber.
        text = ["listener %d 127.0.0.1" % self.port, "max_queued_messages 0",
                "allow_anonymous %s" % ("true" if anonymous else "false")]
        if os.getuid() == 0:
            text.append("user root")  # else it drops its rights and cannot read the files of the test
        with open(self.name + ".conf", "w", encoding="ascii") as file:
            file.write("\n".join(text + list(lines)) + "\n")

    def start(self):
        with open(self.name + ".log", "ab") as log:
            self.process = subprocess.Popen([BINARY, "-v", "-c", self.name + ".conf"], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        wait_until(self.listens, "mosquitto listens")
        return self

    def listens(self):
        if self.process.poll() is not None:
            raise RuntimeError("mosquitto ended: " + self.log()[-2000:])
        with socket.create_connection(("127.0.0.1", self.port), 1):
            return True

    def log(self):
        with open(self.name + ".log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
            self.process = None

    def url(self, topic, port=None):
        return "mqtt://127.0.0.1:%d/%s" % (port or self.port, topic)

    def __enter__(self):
        return self.start() if self.process is None else self

    def __exit__(self, *unused):
        if self.process is not None:
            self.kill()


class Subscriber:
    """mosquitto_sub, which notes topic, retain flag and payload (in hexadecimal) of all that comes."""

    def __init__(self, broker, topic="#", qos=0, options=()):
        self.broker = broker
        self.path = "subscriber%d.out" % next(numbers)
        self.command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(broker.port), "-q", str(qos),
                        "-t", topic, "-F", "%r %x %t"] + list(options)
        self.process = None

    def start(self):
        before = self.broker.log().count("Sending SUBACK")
        with open(self.path, "ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stdin=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
        wait_until(lambda: self.broker.log().count("Sending SUBACK") > before, "it is subscribed")
        return self

    def raw(self):
        with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        return [line.split(" ", 2) for line in text[:text.rfind("\n") + 1].split("\n")[:-1]]

    def messages(self):
        return [(topic, bytes.fromhex(payload)) for _, payload, topic in self.raw()]

    def payloads(self):
        return [payload for _, payload in self.messages()]

    def settle(self):
        """Wait until it has written all that it got: its end would take the rest along."""
        size = -1
        while os.path.getsize(self.path) != size:
            size = os.path.getsize(self.path)
            time.sleep(0.3)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def __enter__(self):
        return self.start() if self.process is None else self

    def __exit__(self, *unused):
        self.stop()


class Gate(threading.Thread):
    """A port in front of another one. `forwarded` counts the bytes from the clients, `connections` those let in."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.pairs = {}
        self.clients = set()
        self.holding = False
        self.open = True
        self.ending = False
        self.forwarded = 0
        self.connections = 0
        self.start()

    def run(self):
        while not self.ending:
            ready = select.select([self.listener] + list(self.pairs), [], [], 0.02)[0]
            for sock in ready:
                if sock is self.listener:
                    self.accept()
                elif sock in self.pairs:
                    self.move(sock)
            if not self.open:
                for sock in list(self.pairs):
                    self.drop(sock)

    def accept(self):
        client = self.listener.accept()[0]
        try:
            if not self.open:
                raise OSError
            server = socket.create_connection(("127.0.0.1", self.target), 1)
        except OSError:
            client.close()
            return
        self.connections += 1
        self.pairs[client] = server
        self.pairs[server] = client
        self.clients.add(client)

    def move(self, sock):
        try:
            data = sock.recv(65536)
            if self.holding:
                if not data:
                    del self.pairs[sock]
                return
            if not data:
                raise OSError
            self.pairs[sock].sendall(data)
        except (OSError, KeyError):
            self.drop(sock)
            return
        if sock in self.clients:
            self.forwarded += len(data)

    def drop(self, sock):
        other = self.pairs.pop(sock, None)
        self.pairs.pop(other, None)
        for one in (sock, other):
            self.clients.discard(one)
            if one is not None:
                one.close()

    def hold(self):
        self.holding = True

    def shut(self):
        self.open = False

    def let(self):
        """A link that is back: what was under way over the old connections stays lost."""
        if self.holding:
            self.open = False
            time.sleep(0.1)
        self.holding = False
        self.open = True

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.ending = True
        self.join(5)
