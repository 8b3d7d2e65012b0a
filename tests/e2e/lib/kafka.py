"""kafka.py: a daemon with one Kafka sink, for the tests of its deliveries."""

import contextlib

from harness import Daemon, equal
from kafka_broker import Cluster

QUICK = {"storage": {"cursor_delay_ms": 50}}


def line(i, measurement="m", tags=""):
    return "%s%s v=%di %d" % (measurement, tags, i, 1700000000000000000 + i * 1000000)


def lines(count, first=0, **how):
    return [line(i, **how) for i in range(first, first + count)]


class Producer:
    def __init__(self, daemon, cluster):
        self.d, self.cluster, self.count = daemon, cluster, 0

    def create(self, options="", clauses="", topic="t", name="s"):
        with_clause = " WITH (%s)" % options if options else ""
        self.d.query("CREATE SINK %s TO '%s' TYPE kafka FLUSH_INTERVAL 20ms %s%s"
                     % (name, self.cluster.url(topic), clauses, with_clause))

    def write(self, count):
        self.d.write(lines(count, self.count))
        self.count += count

    def settled(self, seconds=30, name="s", forwarded=None):
        forwarded = self.count if forwarded is None else forwarded
        self.d.wait_ledger(name, seconds, pending=0, forwarded=forwarded)

    def complete(self, topic="t"):
        """Every point is there once, byte for byte, in order in each partition; the brokers found nothing wrong."""
        expected = [x.encode() for x in lines(self.count)]
        equal(sorted(self.cluster.values(topic)), sorted(expected), "records")
        place = {value: i for i, value in enumerate(expected)}
        for partition in range(3):
            order = [place[v] for v in self.cluster.values(topic, partition)]
            equal(order, sorted(order), "order in partition %d" % partition)
        equal(self.cluster.problems, [], "problems")


@contextlib.contextmanager
def producer(options="", clauses="", topic="t", cluster=None, config=None):
    """`with producer() as p:` a cluster of three nodes with topic t of three partitions, and sink s."""
    with cluster or Cluster(nodes=3) as brokers, Daemon(config or QUICK) as daemon:
        p = Producer(daemon, brokers)
        p.create(options, clauses, topic)
        yield p
