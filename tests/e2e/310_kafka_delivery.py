"""What brokers answer, and what becomes of the points: nothing is lost, and nothing comes twice."""

import account
from harness import *
from kafka import *
from kafka_broker import Cluster

# Code: whether the batch was written before the answer.
RETRIED = {-1: 0, 2: 0, 3: 0, 5: 0, 6: 0, 7: 1, 8: 0, 9: 0, 13: 0, 14: 0, 15: 0, 16: 0, 19: 0, 20: 1, 44: 0, 45: 0,
           47: 0, 49: 0, 51: 0, 56: 0, 59: 0, 72: 0, 74: 0, 75: 0, 89: 0, 90: 0, 100: 0, 103: 0}
FATAL = {17: "blocked", 21: "blocked", 29: "auth_failed", 42: "blocked", 43: "blocked", 76: "blocked",
         999: "blocked"}


@short
def test_points_arrive():
    with producer("key = '{tag:host}'", topic="{db}-x", cluster=Cluster(topics={"db-x": 3})) as p:
        p.d.write(["cpu,host=h%d v=%di %d" % (i % 7, i, 1700000000123456789 + i) for i in range(50)])
        p.settled(forwarded=50)
        records = p.cluster.records("db-x")
        equal(len(records), 50, "records")
        for r in records:
            host = r.value.split(b"host=")[1].split(b" ")[0]
            equal((r.key, r.timestamp), (host, 1700000000123), "key and time")
            equal([h[0] for h in r.headers], ["sinkd-id"], "headers")
        equal(len({r.headers[0][1] for r in records}), 50, "ids")
        homes = {(r.key, n) for n in range(3) for r in p.cluster.records("db-x", n)}
        equal(len(homes), 7, "a key has one partition")
        equal(p.cluster.problems, [], "problems")


@short
def test_every_retriable_code():
    """A code for each of the first batches, one after the other."""
    with producer("timeout = '5s'", "BATCH_SIZE 5") as p:
        print("code  written  what happened             lost  twice")
        for code, written in RETRIED.items():
            left = [1]

            def judge(produce):
                if not left:
                    return None
                left.pop()
                if written:
                    p.cluster.append(produce)
                return code

            p.cluster.judge = judge
            p.write(5)
            p.settled()
            values = p.cluster.values()
            print("%4d  %-7s  sent again, delivered     %4d  %5d" % (
                code, bool(written), p.count - len(set(values)), len(values) - len(set(values))))
        p.complete()


@short
def test_every_fatal_code():
    """The queue waits, the status says why, and it goes on when the broker has changed its mind."""
    with producer("", "BATCH_SIZE 5") as p:
        print("code  status       text")
        for code, status in FATAL.items():
            p.cluster.judge = lambda produce: code
            p.write(5)
            p.d.wait_status("s", status)
            error = p.d.sink("s")["last_error"]
            contains(error, "error %d" % code, "last_error")
            print("%4d  %-11s  %s" % (code, status, error))
            equal(p.d.ledger("s")["pending"], 5, "pending")
            p.cluster.judge = lambda produce: None
            p.d.query("ALTER SINK s RESUME")
            p.settled()
        p.complete()


@short
def test_answers_that_are_lost():
    """Written, but the connection ends before the answer or in it: the same bytes go again."""
    with producer("", "BATCH_SIZE 10") as p:
        for i, kind in enumerate(["lose", "half", "close"] * 3):
            left = [kind]
            p.cluster.judge = lambda produce: left.pop() if left else None
            p.write(10)
            p.settled()
        p.complete()
        equal(p.cluster.out_of_order, 0, "gaps in sequence numbers")
        equal(p.cluster.repeated >= 6, True, "batches known from their sequence number")
        seen = {}
        for x in p.cluster.produced:
            key = (x.topic, x.partition, x.batch.producer, x.batch.epoch, x.batch.sequence)
            equal(seen.setdefault(key, x.batch.raw), x.batch.raw, "a batch that goes again")


@short
def test_one_partition_fails():
    """Others go on, and what they confirmed is not sent again."""
    with producer("key = '{tag:host}'") as p:
        bad = [8]

        def judge(produce):
            if produce.partition == 2 and bad[0] > 0:
                bad[0] -= 1
                return 56
            return None

        p.cluster.judge = judge
        p.d.write(["m,host=h%d v=%di %d" % (i, i, i + 1) for i in range(60)])
        p.settled(forwarded=60)
        equal(len(p.cluster.records()), 60, "records")
        equal([x.partition for x in p.cluster.produced if x.partition != 2].count(0), 1, "sent to partition 0")
        equal([x.partition for x in p.cluster.produced if x.partition != 2].count(1), 1, "sent to partition 1")
        equal(p.cluster.problems, [], "problems")


@short
def test_leaders_move():
    with producer("", "BATCH_SIZE 5") as p:
        for i in range(12):
            p.cluster.move("t", i % 3, 101 + (i + i // 3) % 3)
            p.write(5)
            p.settled()
        equal(p.d.sink("s")["errors"], 0, "errors: all of it within one try")
        for partition in range(3):
            p.cluster.move("t", partition, -1)
        p.write(5)
        p.d.wait_status("s", "backoff")
        contains(p.d.sink("s")["last_error"], "has no leader", "last_error")
        for partition in range(3):
            p.cluster.move("t", partition, 103)
        p.settled()
        p.complete()


@short
def test_a_broker_goes_down():
    """The leader dies; the others say who leads now, whichever of them is asked."""
    with producer("", "BATCH_SIZE 5") as p:
        p.write(20)
        p.settled()
        dead = p.cluster.nodes[0]
        dead.down = True
        dead.socket.close()
        dead.drop()
        for partition in range(3):
            p.cluster.move("t", partition, 102 + partition % 2)
        p.write(20)
        p.settled()
        p.complete()


@short
def test_too_large_for_the_broker():
    """Halved, and the smaller size is remembered; a point that is too large alone is refused."""
    with producer("on_reject = 'drop'", "BATCH_SIZE 200") as p:
        p.cluster.max_batch = 2000
        p.write(200)
        p.settled()
        p.complete()
        before = len(p.cluster.produced)
        large = [x for x in p.cluster.produced if len(x.batch.raw) > 2000]
        p.write(200)
        p.settled()
        p.complete()
        equal([x for x in p.cluster.produced[before:] if len(x.batch.raw) > 2000], [], "too large again")
        equal(len(large) < 10, True, "refused only while it learns")
        p.d.write(lines(3, p.count) + ['m s="%s" 7' % ("x" * 3000)] + lines(3, p.count + 3))
        p.count += 6
        p.d.wait_ledger("s", 30, pending=0, dropped=1)
        p.complete()


@short
def test_a_point_over_max_message_bytes():
    """Refused before anything is sent; the points around it arrive."""
    with producer("on_reject = 'drop', max_message_bytes = 1000", "BATCH_SIZE 7") as p:
        p.d.write(lines(3) + ['m s="%s" 7' % ("x" * 2000)] + lines(3, 3))
        p.count = 6
        p.d.wait_ledger("s", 30, pending=0, dropped=1)
        p.complete()
        p.create("max_message_bytes = 1000", "BATCH_SIZE 1", name="blocks")
        p.d.write('m s="%s" 7' % ("x" * 2000))
        p.d.wait_status("blocks", "blocked")
        contains(p.d.sink("blocks")["last_error"], "max_message_bytes", "last_error")


@short
def test_records_refused():
    """The broker names records: those are refused, the rest of their batch arrives."""
    with producer("on_reject = 'drop'", "BATCH_SIZE 40") as p:
        p.cluster.refused_records = lambda produce: [
            i for i, r in enumerate(produce.batch.records) if r.value.startswith(b"m v=7i")]
        p.write(40)
        p.d.wait_ledger("s", 30, pending=0, forwarded=39, dropped=1)
        equal(len(p.cluster.records()), 39, "records")
        equal(p.cluster.out_of_order, 0, "gaps")


@short
def test_unnamed_refusals_are_found():
    """INVALID_TIMESTAMP without a name: halved until the point stands alone."""
    with producer("on_reject = 'drop'", "BATCH_SIZE 40") as p:
        p.write(5)
        p.settled()
        p.cluster.judge = lambda produce: 32 if any(
            r.value.startswith(b"m v=17i") for r in produce.batch.records) else None
        p.write(40)
        p.d.wait_ledger("s", 30, pending=0, forwarded=44, dropped=1)
        equal(len(p.cluster.records()), 44, "records")


@short
def test_a_topic_that_is_not_there():
    """Visible with what to do, other sinks unharmed; taken up when somebody makes it."""
    with producer("", "BATCH_SIZE 5", topic="missing") as p:
        p.create(name="good")
        p.write(5)
        p.settled(name="good")
        p.d.wait_status("s", "blocked", 30)
        contains(p.d.sink("s")["last_error"], "create the topic", "last_error")
        p.cluster.create("missing", 3)
        p.d.query("ALTER SINK s RESUME")
        p.settled()
        equal(len(p.cluster.records("missing")), 5, "records")
        p.cluster.topic_errors["closed"] = 29
        p.create(name="denied", topic="closed")
        p.d.wait_status("denied", "auth_failed")
        contains(p.d.sink("denied")["last_error"], "right to write", "last_error")


@short
def test_a_topic_is_made_anew():
    """Deleted and made again with fewer partitions, while points wait."""
    with producer("", "BATCH_SIZE 5") as p:
        p.write(20)
        p.settled()
        with p.cluster.lock:
            for partition in range(3):
                del p.cluster.leaders["t", partition]
        p.write(20)
        p.d.wait_status("s", "backoff")
        p.cluster.create("t", 1)
        p.settled()
        p.complete()


@short
def test_without_producer_ids():
    """Old brokers: one line in the log, and it goes on without."""
    with producer(cluster=Cluster(nodes=3, versions={22: None, 0: (0, 3), 3: (0, 4)})) as p:
        p.write(20)
        p.settled()
        p.complete()
        equal({x.batch.producer for x in p.cluster.produced}, {-1}, "producers")
        equal(p.d.log().count("event=not_idempotent"), 1, "lines in the log")


@short
def test_producer_ids_are_not_allowed():
    """A user without the right to them: the same."""
    cluster = Cluster(nodes=3)
    cluster.producer_error = 31
    with producer(cluster=cluster) as p:
        p.write(20)
        p.settled()
        p.complete()


@short
def test_acks():
    with producer("acks = '0'", "BATCH_SIZE 5") as p:
        p.create("acks = '1', compression = 'gzip'", "BATCH_SIZE 50", topic="u", name="one")
        p.cluster.create("u", 3)
        for _ in range(10):
            p.write(5)
        p.settled()
        wait_until(lambda: len(p.cluster.records()) == 50, "all came")
        p.settled(name="one")
        equal(sorted(p.cluster.values("u")), sorted(x.encode() for x in lines(50)), "with acks 1")
        p.complete()


@short
def test_throttled():
    with producer("", "BATCH_SIZE 5") as p:
        p.cluster.throttle_ms = 1500
        start = time_of()
        p.write(5)
        p.settled()
        p.cluster.throttle_ms = 0
        for _ in range(6):
            p.write(5)
        p.settled()
        equal(time_of() - start > 1.4, True, "waited since the first answer")
        equal(account.errors(p.d, "s", "throttled") > 0, True, "counted")
        p.complete()


def time_of():
    import time
    return time.monotonic()


@short
def test_a_listener_that_leads_nowhere():
    cluster = Cluster(nodes=1)
    cluster.nodes[0].host = "no-such-broker.invalid"
    with producer(cluster=cluster) as p:
        wait_until(lambda: p.d.sink("s")["last_error"], "an error")
        contains(p.d.sink("s")["last_error"], "advertised as no-such-broker.invalid", "last_error")
        p.write(5)
        cluster.nodes[0].host = "127.0.0.1"
        p.settled()
        p.complete()


@short
def test_credentials():
    with producer("", "USERNAME 'u' PASSWORD 'right'", cluster=Cluster(nodes=3, users={"u": "right"})) as p:
        p.write(5)
        p.settled()
        p.d.query("CREATE SINK bad TO '%s' TYPE kafka USERNAME 'u' PASSWORD 'wrong-secret'" % p.cluster.url())
        p.d.query("CREATE SINK other TO '%s' TYPE kafka USERNAME 'u' PASSWORD 'x' "
                  "WITH (sasl = 'scram-sha-256')" % p.cluster.url())
        p.d.wait_status("bad", "auth_failed")
        p.d.wait_status("other", "auth_failed")
        contains(p.d.sink("other")["last_error"], "offers SASL PLAIN", "last_error")
        p.write(5)
        p.settled()
        equal("wrong-secret" in p.d.log(), False, "the password is in the log")
        p.complete()


@short
def test_joined_messages():
    with producer("batch_mode = 'lines', key = '{tag:k}', max_message_bytes = 1000", "BATCH_SIZE 60") as p:
        p.d.write([line(i, tags=",k=%d" % (i // 20)) for i in range(60)])
        p.settled(forwarded=60)
        records = p.cluster.records()
        got = [(r.key, v) for r in records for v in r.value.split(b"\n")]
        equal(len(got), 60, "points")
        for key, value in got:
            contains(value, b",k=" + key + b" ", "a point with its key")
        equal(len(records) < 20, True, "joined")
        equal(max(len(r.value) for r in records) <= 1000, True, "size")
        equal(p.cluster.problems, [], "problems")


@short
def test_refused_at_create():
    with Daemon(QUICK) as d:
        contains(d.query_error("CREATE SINK s TO 'kafkas://h/t' TYPE kafka"), "no TLS")
        contains(d.query_error("CREATE SINK s TO 'kafka://h/t' TYPE kafka USERNAME 'u'"), "PASSWORD")
        contains(d.query_error("CREATE SINK s TO 'kafka://h/t' TYPE kafka WITH (batch_mode = 'json_array')"),
                 "FORMAT json")
