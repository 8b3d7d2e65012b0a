"""real.py: sinkd against Apache Kafka, one node, the newest 4.x and 3.9; kcat reads back what came."""

import atexit
import os
import threading
import time

from harness import *
from kafka_real import USERS, Kafka

MILLION = 1000000

# Of today: a broker forgets a producer whose last record is older than producer.id.expiration.ms (a day), by
# the record's own time, and with it what it needs to tell a batch that comes twice.
START = (int(time.time()) - 7200) * 1000000000
running = {}


def kafka(which):
    """A node of that version, which all tests share."""
    if which not in running:
        running[which] = Kafka(which).start()
        atexit.register(running[which].stop)
    return running[which]


def daemon(**storage):
    return Daemon({"storage": dict({"max_size_mb": 1024, "cursor_delay_ms": 200}, **storage),
                   "sink": {"backoff_max_secs": 2}})


def point(i):
    return b"cpu,host=h%03d,region=eu-west usage_user=%d.5,usage_system=%di,seq=%di %d" % (
        i % 97, i % 100, i % 7, i, START + i * 1000000)


def write(d, count, first=0, pace=0.0):
    for start in range(first, first + count, 10000):
        end = min(start + 10000, first + count)
        wait_until(lambda: d.http("POST", "/write?db=d", b"\n".join(point(i) for i in range(start, end))
                                  ).status == 204, "the write is taken", 60)
        time.sleep(pace)


def check(node, topic, count, keyed=False):
    """Exactly these points, byte for byte, in order in each partition, a key in one partition."""
    out = node.consume(topic, "%p|%k|%s\\n").split(b"\n")[:-1]
    seen, last, homes = bytearray(count), {}, {}
    for row in out:
        partition, key, value = row.split(b"|", 2)
        i = int(value.rsplit(b"seq=", 1)[1].split(b"i ")[0])
        if value != point(i) or seen[i] or last.get(partition, -1) >= i:
            fail("%s: %r in partition %r: changed, twice or out of order" % (topic, value, partition))
        if keyed and (key != b"h%03d" % (i % 97) or homes.setdefault(key, partition) != partition):
            fail("%s: key %r in partition %r" % (topic, key, partition))
        seen[i] = 1
        last[partition] = i
    equal(len(out), count, "records of " + topic)
    print("%s: %d records in %d partitions, %d keys, each once and in order" % (
        topic, count, len(last), len(homes)))
    return homes


def drained(d, names, count, seconds=120):
    for name in names:
        d.wait_ledger(name, seconds, pending=0, forwarded=count)


def test_a_million_points():
    """Keyed and not, gzip and not, all at the same time."""
    node = kafka("4")
    kinds = {"plain": "", "gz": "compression = 'gzip'", "keyed": "key = '{tag:host}'",
             "keyedgz": "key = '{tag:host}', compression = 'gzip'"}
    with daemon() as d:
        for name, options in kinds.items():
            node.create("m-" + name)
            d.query("CREATE SINK %s TO 'kafka://%s/m-%s' TYPE kafka BATCH_SIZE 10000 FLUSH_INTERVAL 300ms%s"
                    % (name, node.address, name, " WITH (%s)" % options if options else ""))
        start = time.monotonic()
        write(d, MILLION)
        drained(d, kinds, MILLION)
        print("%d points to each of four topics in %.1f s" % (MILLION, time.monotonic() - start))
    check(node, "m-plain", MILLION)
    check(node, "m-gz", MILLION)
    one = check(node, "m-keyed", MILLION, keyed=True)
    equal(check(node, "m-keyedgz", MILLION, keyed=True), one, "partitions of keys")
    other_producer(node, one)


def other_producer(node, homes):
    """librdkafka, told to do as Java does, puts each key where sinkd put it."""
    import subprocess
    node.create("m-other")
    rows = b"".join(b"h%03d\tx\n" % i for i in range(97))
    subprocess.run(["kcat", "-b", node.address, "-P", "-t", "m-other", "-K", "\t", "-X",
                    "topic.partitioner=murmur2_random"], input=rows, check=True)
    for row in node.consume("m-other", "%p|%k\\n").split(b"\n")[:-1]:
        partition, key = row.split(b"|")
        equal(homes[key], partition, "partition of %r" % key)


def killed_while_it_runs(which, kills):
    count = 30000 * kills
    with Kafka(which, folder="killed-" + which) as node, daemon() as d:
        node.create("k")
        for name in ("k",):
            d.query("CREATE SINK k TO 'kafka://%s/k' TYPE kafka BATCH_SIZE 500 FLUSH_INTERVAL 50ms "
                    "WITH (key = '{tag:host}', timeout = '5s')" % node.address)
        writer = threading.Thread(target=write, args=(d, count, 0, 0.15 * kills / 3))
        writer.start()
        for i in range(kills):
            time.sleep(0.7)
            node.kill()
            node.start()
        writer.join()
        drained(d, ("k",), count)
        check(node, "k", count, keyed=True)
        equal(d.log().count("event=not_idempotent"), 0, "idempotent all the time")


def test_killed_and_started_again():
    killed_while_it_runs("4", int(os.environ.get("KAFKA_KILLS", "3")))


def test_an_older_one():
    """3.9: the same, smaller, and the broker is killed once."""
    killed_while_it_runs("3", 1)


def test_sasl():
    node = kafka("4")
    node.create("s")
    user, password = list(USERS.items())[0]
    with daemon() as d:
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512"):
            d.query("CREATE SINK \"%s\" TO 'kafka://127.0.0.1:%d/s' TYPE kafka USERNAME '%s' PASSWORD '%s' "
                    "FLUSH_INTERVAL 50ms WITH (sasl = '%s')" % (mechanism, node.sasl, user, password, mechanism))
            d.query("CREATE SINK \"bad-%s\" TO 'kafka://127.0.0.1:%d/s' TYPE kafka USERNAME '%s' PASSWORD 'wrong-1' "
                    "FLUSH_INTERVAL 50ms WITH (sasl = '%s')" % (mechanism, node.sasl, user, mechanism))
        write(d, 100)
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512"):
            d.wait_ledger(mechanism, 30, pending=0, forwarded=100)
            d.wait_status("bad-" + mechanism, "auth_failed", 30)
            contains(d.sink("bad-" + mechanism)["last_error"], "check USERNAME and PASSWORD", "last_error")
            equal(d.log().count("sink=bad-%s event=failed" % mechanism), 1, "lines in the log")
        equal("wrong-1" in d.log(), False, "the password is in the log")
        equal(len(node.consume("s", "%s\\n").split(b"\n")) - 1, 300, "records")


def test_what_the_broker_refuses():
    """A topic that takes small messages only, one that is compacted, a clock that runs ahead, no such topic."""
    node = kafka("4")
    node.create("small", settings={"max.message.bytes": 3000})
    node.create("compact", settings={"cleanup.policy": "compact"})
    node.create("times")
    with daemon() as d:
        for topic in ("small", "compact", "times"):
            d.query("CREATE SINK %s TO 'kafka://%s/%s' TYPE kafka BATCH_SIZE 500 FLUSH_INTERVAL 50ms "
                    "WITH (on_reject = 'drop')" % (topic, node.address, topic))
        d.query("CREATE SINK named TO 'kafka://%s/no%%20such' TYPE kafka BATCH_SIZE 500 FLUSH_INTERVAL 50ms"
                % node.address)
        write(d, 1000)
        d.wait_ledger("small", 30, pending=0, forwarded=1000)
        check(node, "small", 1000)
        d.wait_ledger("times", 30, pending=0, forwarded=1000)
        d.wait_ledger("compact", 30, pending=0, dropped=1000)
        d.wait_status("named", "blocked", 30)
        contains(d.sink("named")["last_error"], "INVALID_TOPIC", "last_error")
        late = int(time.time() + 2 * 86400) * 1000000000
        d.write(["cpu,host=x seq=0i %d" % late, "cpu,host=y seq=1i 1000", 'cpu s="%s" 2000' % ("x" * 5000)], db="d")
        d.wait_ledger("times", 30, pending=0, forwarded=1002, dropped=1)
        d.wait_ledger("small", 30, pending=0, forwarded=1001, dropped=2)
