"""kafka_real.py: a real Apache Kafka of one node, for tests: fetched, started, killed, started again.

    python3 tests/peers/kafka_real.py fetch            both versions into the cache
    python3 tests/peers/kafka_real.py run VERSION      until standard input ends; prints the port

The jars come from Maven Central by mvn, with their dependencies, and are kept in $SINKD_CACHE (default:
~/.cache/sinkd), outside of the tree. Needs Java 17 and mvn to fetch; Java alone to run.
"""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

VERSIONS = {"4": "4.3.0", "3": "3.9.1"}
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>sinkd</groupId><artifactId>peers</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version>
</dependency></dependencies></project>
"""
USERS = {"alice": "alice-secret"}
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"


def cache():
    return os.environ.get("SINKD_CACHE") or os.path.expanduser("~/.cache/sinkd")


def jars(version):
    """The folder with the jars of a version, fetched if they are not there yet."""
    folder = os.path.join(cache(), "kafka", version)
    if os.path.exists(os.path.join(folder, "complete")):
        return os.path.join(folder, "libs")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "pom.xml"), "w", encoding="utf-8") as file:
        file.write(POM % version)
    subprocess.run(["mvn", "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime",
                    "-DoutputDirectory=libs"], cwd=folder, check=True)
    with open(os.path.join(folder, "complete"), "w", encoding="utf-8"):
        pass
    return os.path.join(folder, "libs")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


PROPERTIES = """process.roles=broker,controller
node.id=7
controller.quorum.voters=7@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl.plain.sasl.jaas.config={plain}
listener.name.sasl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
log.dirs={folder}/data
num.partitions=3
auto.create.topics.enable=true
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
log.flush.scheduler.interval.ms=1000
"""


class Kafka:
    """`with Kafka("4") as kafka:` one node in a folder of its own; kafka.port takes plain clients, kafka.sasl
    those with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (USERS)."""

    def __init__(self, which="4", folder=None, settings=None):
        self.version = VERSIONS.get(which, which)
        self.folder = os.path.abspath(folder or "kafka-" + self.version)
        self.settings = settings or {}
        self.port, self.sasl, self.controller = free_ports(3)
        self.process = None
        self.libs = jars(self.version)

    def java(self, *arguments):
        return ["java", "-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-cp", self.libs + "/*"] + list(arguments)

    def format(self):
        os.makedirs(self.folder, exist_ok=True)
        users = "".join(' user_%s="%s"' % pair for pair in USERS.items())
        plain = ("org.apache.kafka.common.security.plain.PlainLoginModule required" + users + ";")
        with open(self.folder + "/server.properties", "w", encoding="utf-8") as file:
            file.write(PROPERTIES.format(port=self.port, sasl=self.sasl, controller=self.controller,
                                         folder=self.folder, plain=plain))
            for pair in self.settings.items():
                file.write("%s=%s\n" % pair)
        scram = []
        for name, password in USERS.items():
            for bits in ("256", "512"):
                scram += ["--add-scram", "SCRAM-SHA-%s=[name=%s,password=%s]" % (bits, name, password)]
        with open(self.folder + "/format.log", "wb") as log:
            subprocess.run(self.java("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c",
                                     self.folder + "/server.properties", *scram),
                           stdout=log, stderr=log, check=True)

    def start(self, wait=True):
        if not os.path.exists(self.folder + "/data/meta.properties"):
            self.format()
        with open(self.folder + "/broker.log", "ab") as log:
            self.process = subprocess.Popen(
                self.java("kafka.Kafka", self.folder + "/server.properties"), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=90):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("Kafka ended, see " + self.folder + "/broker.log")
            done = subprocess.run(["kcat", "-b", self.address, "-L", "-m", "2"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            if done.returncode == 0 and b"broker 7 at" in done.stdout:
                return
            time.sleep(0.2)
        raise RuntimeError("Kafka is not ready after %d s" % seconds)

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def create(self, topic, partitions=3, settings=None):
        """Make a topic (CreateTopics, version 2); others are made when they are first asked for."""
        def text(value):
            return struct.pack(">h", len(value)) + value.encode()

        body = struct.pack(">i", 1) + text(topic) + struct.pack(">ihi", partitions, 1, 0)
        body += struct.pack(">i", len(settings or {}))
        for name, value in (settings or {}).items():
            body += text(name) + text(str(value))
        frame = struct.pack(">hhi", 19, 2, 1) + text("tests") + body + struct.pack(">i?", 10000, False)
        with socket.create_connection(("127.0.0.1", self.port), 20) as sock:
            sock.sendall(struct.pack(">i", len(frame)) + frame)
            answer = sock.makefile("rb")
            answer = answer.read(struct.unpack(">i", answer.read(4))[0])
        error = struct.unpack(">h", answer[14 + len(topic):16 + len(topic)])[0]
        if error not in (0, 36):
            raise RuntimeError("topic %s: error %d" % (topic, error))

    def kill(self):
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def consume(self, topic, form="%p %k %s\\n"):
        """All records of a topic, as kcat prints them: bytes. An independent reader that checks checksums."""
        done = subprocess.run(["kcat", "-b", self.address, "-C", "-t", topic, "-o", "beginning", "-e", "-q",
                               "-X", "check.crcs=true", "-f", form], stdout=subprocess.PIPE, check=True,
                              timeout=120)
        return done.stdout

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def main():
    if sys.argv[1:] == ["fetch"]:
        for version in VERSIONS.values():
            print(version, jars(version))
    elif len(sys.argv) == 3 and sys.argv[1] == "run":
        with Kafka(sys.argv[2]) as kafka:
            print(kafka.port, kafka.sasl, flush=True)
            sys.stdin.read()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
