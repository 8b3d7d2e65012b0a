"""MQTT at its edges: topics from tags, sizes over the broker's limit, credentials, two clients of one identifier,
brokers that do what they should not."""

import os
import struct
import time

from harness import *
from mosquitto import Gate, Mosquitto, Subscriber
from mqtt_broker import MqttBroker, PINGREQ, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, whole

TIME_LIMIT = 200
CONFIG = {"storage": {"cursor_delay_ms": 50}, "sink": {"max_retries": 1000}}
SQL = "CREATE SINK m TO '%s' TYPE mqtt BATCH_SIZE 100 FLUSH_INTERVAL 50ms WITH (%s)"


@short
def test_topics_from_tags():
    """Never an illegal PUBLISH; each value by the rule."""
    long = "x" * 60000
    lines = [b"m,h=a+b v=1i 1", b"m,h=# v=2i 2", b"m,h=x/y v=3i 3", b"m,other=a v=4i 4",
             b"m,h=n\0l v=5i 5", b"m,h=\xff\xfe v=6i 6", "m,h=\u00e4\u20ac v=7i 7".encode(),
             b"m,h=" + long.encode() + b" v=8i 8", b"m,h=t\x01b v=9i 9", b"m,h=a\\ b v=10i 10"]
    topics = ["t/a_b/z", "t/_/z", "t/x_y/z", "t/none/z", "t/n_l/z", "t/__/z", "t/\u00e4\u20ac/z",
              "t/%s/z" % long, "t/t_b/z", "t/a b/z"]
    for url_of in ("broker", "mosquitto"):
        with MqttBroker() as strict, Mosquitto() as real, Subscriber(real) as sub, \
                Daemon(CONFIG, name=url_of) as d:
            broker = strict if url_of == "broker" else real
            d.query(SQL % (broker.url("t/{tag:h|none}/z"), "qos = 1"))
            for line in lines:
                d.write(line)
            d.wait_ledger("m", forwarded=len(lines), pending=0)
            if broker is strict:
                got = [(m.topic, m.payload) for m in strict.messages]
            else:
                wait_until(lambda: len(sub.raw()) == len(lines), "all arrived")
                got = sub.messages()
            equal(got, list(zip(topics, lines)), "messages")


@short
def test_a_topic_that_is_too_long_is_a_reject():
    with MqttBroker() as broker, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("t/{tag:h}/{tag:h}"), "on_reject = drop"))
        d.write([b"m,h=a v=1i 1".decode(), "m,h=%s v=2i 2" % ("x" * 40000), "m,h=b v=3i 3"])
        d.wait_ledger("m", forwarded=2, dropped=1, pending=0)
        equal([m.topic for m in broker.messages], ["t/a/a", "t/b/b"], "topics")


@short
def test_a_leading_slash_is_kept():
    with Mosquitto() as broker, Subscriber(broker) as sub, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("/i/i0/hq"), "retain = true"))
        d.write("m v=1i 1")
        wait_until(lambda: sub.messages() == [("/i/i0/hq", b"m v=1i 1")], "it arrived")
        with Subscriber(broker, "/i/#") as late:
            wait_until(lambda: [m[0] for m in late.raw()] == ["1"], "it was retained")


def sized(total, number, qos=1):
    """A line whose PUBLISH to topic t has a remaining length of `total`."""
    head, tail = "m s=\"", "\" %d" % number
    return head + "x" * (total - 3 - 2 - len(head) - len(tail)) + tail


def test_sizes_around_the_limit_of_the_broker():
    """mosquitto 2.0 allows a remaining length of max_packet_size - 1."""
    limit = 2048
    lines = [sized(limit - 2, 1), sized(limit - 1, 2), sized(limit, 3), "m v=4i 4", sized(5000, 5)]
    with Mosquitto("max_packet_size %d" % limit) as broker, Subscriber(broker) as sub, Daemon(CONFIG) as d, \
            Gate(broker.port) as gate:
        d.query(SQL % (broker.url("t", gate.port), "on_reject = drop"))
        d.write(lines)
        d.wait_ledger("m", 40, forwarded=3, dropped=2, pending=0)
        equal([p.decode() for p in sub.payloads() if len(p) < limit], [lines[0], lines[1], lines[3]], "messages")
        print("# %d bytes sent over %d connections for %d bytes of lines"
              % (gate.forwarded, gate.connections, sum(map(len, lines))))
        d.write([sized(6000 + n, 10 + n) for n in range(20)])
        d.wait_ledger("m", 60, forwarded=3, dropped=22, pending=0)
        if gate.forwarded > 60000:
            fail("%d bytes were sent for 140,000 bytes of hopeless lines" % gate.forwarded)
        d.write("m v=6i 6")
        d.wait_ledger("m", forwarded=4, pending=0)


def test_joined_messages_shrink():
    with Mosquitto("max_packet_size 2048") as broker, Subscriber(broker) as sub, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("t"), "batch_mode = lines"))
        lines = ["m,h=%04d v=%di %d" % (n, n, n) for n in range(500)]
        d.write(lines)
        d.wait_ledger("m", 40, forwarded=500, pending=0, dropped=0)
        equal(b"\n".join(sub.payloads()).decode().split("\n"), lines, "lines")


@short
def test_formats_and_modes():
    import json
    with Mosquitto() as broker, Subscriber(broker) as sub, Daemon(CONFIG) as d:
        for name, rest in (("lines", "WITH (batch_mode = lines)"), ("json", "FORMAT json"),
                           ("array", "FORMAT json WITH (batch_mode = json_array)"), ("pack", "FORMAT msgpack")):
            d.query("CREATE SINK %s TO '%s' TYPE mqtt BATCH_SIZE 3 FLUSH_INTERVAL 50ms %s"
                    % (name, broker.url(name + "/{tag:h}"), rest))
        d.write(["m,h=a v=1i 1", "m,h=b v=2i 2", "m,h=a v=3i 3"])
        wait_until(lambda: len(sub.raw()) == 10, "all arrived")
        by_topic = {}
        for topic, payload in sub.messages():
            by_topic.setdefault(topic, []).append(payload)
        equal(by_topic["lines/a"], [b"m,h=a v=1i 1\nm,h=a v=3i 3"], "lines")
        first = {"measurement": "m", "tags": {"h": "a"}, "fields": {"v": 1}, "timestamp": 1}
        third = {"measurement": "m", "tags": {"h": "a"}, "fields": {"v": 3}, "timestamp": 3}
        equal([json.loads(p) for p in by_topic["json/a"]], [first, third], "documents")
        equal([json.loads(p) for p in by_topic["array/a"]], [[first, third]], "array")
        equal(by_topic["pack/b"][0][:1], b"\x84", "a map of four")
        for sql in ("FORMAT msgpack WITH (batch_mode = lines)", "WITH (batch_mode = json_array)"):
            contains(d.query_error("CREATE SINK x TO 'mqtt://b/t' TYPE mqtt " + sql), "batch_mode")
        contains(d.query_error("CREATE SINK x TO 'mqtts://b/t' TYPE mqtt"), "no TLS")
        contains(d.query_error("CREATE SINK x TO 'mqtt://b/t' TYPE mqtt WITH (tls_alpn = 'x-amzn-mqtt-ca')"), "no TLS")
        contains(d.query_error("CREATE SINK x TO 'mqtt://b/a%2Bb' TYPE mqtt"), "topic")


def test_credentials():
    import subprocess
    open("passwd", "w").close()
    subprocess.run(["mosquitto_passwd", "-b", "passwd", "gateway", "good"], check=True)
    os.chmod("passwd", 0o644)
    with open("acl", "w", encoding="ascii") as file:
        file.write("user gateway\ntopic write ok/#\ntopic read #\n")
    with Mosquitto("password_file %s/passwd" % os.getcwd(), anonymous=False) as broker, Daemon(CONFIG) as d, \
            Subscriber(broker, options=["-u", "gateway", "-P", "good"]) as sub:
        d.query("CREATE SINK m TO '%s' USERNAME 'gateway' PASSWORD 'wrong' TYPE mqtt FLUSH_INTERVAL 50ms"
                % broker.url("t"))
        d.write("m v=1i 1")
        d.wait_status("m", "auth_failed")
        contains(d.sink("m")["last_error"], "not authorized")
        equal(d.ledger("m")["pending"], 1, "pending")
        d.query("ALTER SINK m USERNAME 'gateway' PASSWORD 'good'")
        d.wait_ledger("m", forwarded=1, pending=0)
        wait_until(lambda: sub.messages() == [("t", b"m v=1i 1")], "it arrived")


def test_two_clients_of_one_identifier():
    """They kick each other: seen soon, a long pause, an error that names the cause, nothing lost."""
    import subprocess
    with Mosquitto() as broker, Daemon(CONFIG) as d:
        d.query(SQL % (broker.url("t"), "client_id = 'same'"))
        d.wait_status("m", "running")
        other = subprocess.Popen(["sh", "-c", "while :; do mosquitto_sub -h 127.0.0.1 -p %d -i same -t none "
                                  "-W 30 2>/dev/null; sleep 0.1; done" % broker.port], start_new_session=True,
                                 stdout=subprocess.DEVNULL)
        try:
            d.wait_status("m", "blocked", 40)
            contains(d.sink("m")["last_error"], "client_id 'same'")
        finally:
            os.killpg(other.pid, 9)
            other.wait()
        d.write("m v=1i 1")
        d.wait_ledger("m", 40, forwarded=1, pending=0)


def test_the_bridge_of_the_user_guide():
    import json
    import re
    import subprocess
    with open(os.path.join(SOURCE, "docs", "user-guide", "sinks.md"), encoding="utf-8") as page:
        sql = re.search(r"^CREATE SINK \"bridge\".*?(?=^```)", page.read(), re.M | re.S).group(0)
    open("passwd", "w").close()
    subprocess.run(["mosquitto_passwd", "-b", "passwd", "gateway", "secret"], check=True)
    with Mosquitto("password_file %s/passwd" % os.getcwd(), anonymous=False) as broker, Daemon(CONFIG) as d, \
            Subscriber(broker, options=["-u", "gateway", "-P", "secret"]) as sub:
        contains(sql, "broker.example.net:1883")
        d.query(sql.replace("broker.example.net:1883", "127.0.0.1:%d" % broker.port)
                + " FLUSH_INTERVAL 50ms")
        d.write(["cpu,host=a v=1 1", "mem v=2i 2"])
        wait_until(lambda: len(sub.raw()) == 2, "both arrived")
        equal([(t, json.loads(p)) for t, p in sub.messages()],
              [("plant/cpu/a", {"measurement": "cpu", "tags": {"host": "a"}, "fields": {"v": 1}, "timestamp": 1}),
               ("plant/mem/unknown", {"measurement": "mem", "tags": {}, "fields": {"v": 2}, "timestamp": 2})],
              "messages")


# ---- brokers that do what they should not ----

def faulty(*plays, options="qos = 1, timeout = 1s", count=5, seconds=30, name="sinkd"):
    with MqttBroker(*plays) as broker, Daemon(CONFIG, name=name) as d:
        d.query(SQL % (broker.url(), options))
        lines = ["m v=%di %d" % (n, n) for n in range(count)]
        d.write(lines)
        d.wait_ledger("m", seconds, forwarded=count, pending=0, dropped=0)
        return [line.encode() for line in lines], broker.messages


def half_a_packet(c):
    c.hello()
    c.packet()
    c.send(b"\x40\x02\x00")
    c.close()


def wrong_identifiers(c):
    c.hello()
    for _ in range(5):
        kind, flags, body = c.packet()
        c.answer(PUBACK, c.publish(flags, body).id + 1000)
    c.serve(0)
    time.sleep(3)


def taken_then_cut(c):
    c.hello()
    for _ in range(5):
        kind, flags, body = c.packet()
        message = c.publish(flags, body)
        c.answer(PUBREC, message.id)
        c.held[message.id] = message
    c.packet()
    c.reset()


def silent(c):
    c.hello()
    while True:
        kind, flags, body = c.packet()
        if kind == PUBLISH:
            c.publish(flags, body)


def back(c):
    c.hello(present=True)
    c.serve()


def garbage(c):
    c.hello()
    c.packet()
    c.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    time.sleep(1)


def chatty(c):
    """QoS 0, 1 and 2 messages that nobody asked for, and answers one byte at a time."""
    c.hello()
    c.send(b"\x30\x05\0\1xhi" + b"\x32\x06\0\1x\0\7!" + b"\xd0\0" + b"\x40\x02\x77\x77")
    while True:
        kind, flags, body = c.packet()
        if kind == PUBLISH:
            message = c.publish(flags, body)
            for byte in struct.pack(">BBH", PUBACK << 4, 2, message.id):
                c.send(bytes([byte]))
        elif kind == PINGREQ:
            c.send(b"\xd0\0")


@short
def test_half_a_packet():
    lines, messages = faulty(half_a_packet, whole)
    equal([m.payload for m in messages], lines, "messages")


@short
def test_wrong_identifiers():
    lines, messages = faulty(wrong_identifiers, whole)
    equal([m.payload for m in messages], lines + lines, "messages")
    equal([m.dup for m in messages], [False] * 10, "DUP without a session")


@short
def test_taken_then_cut():
    """PUBREC, then the end: with the session only PUBRELs follow, without it all comes again."""
    lines, messages = faulty(whole, taken_then_cut, back, options="qos = 2, timeout = 1s")
    equal([m.payload for m in messages], lines, "messages")
    lines, messages = faulty(whole, taken_then_cut, whole, options="qos = 2, timeout = 1s", name="second")
    equal([m.payload for m in messages], lines + lines, "messages")


@short
def test_silence_then_the_session():
    """Not answered in time: sent again with the same identifiers, marked DUP, in order."""
    lines, messages = faulty(whole, silent, back, options="qos = 2, timeout = 1s")
    equal([m.payload for m in messages], lines + lines, "messages")
    equal([m.dup for m in messages], [False] * 5 + [True] * 5, "DUP")
    equal([m.id for m in messages[:5]], [m.id for m in messages[5:]], "identifiers")


@short
def test_garbage_and_chatter():
    lines, messages = faulty(garbage, chatty)
    equal([m.payload for m in messages], lines, "messages")


def test_window():
    """Never more without an answer than max_inflight."""
    most = []

    def slow(c):
        c.hello()
        waiting = []
        c.sock.settimeout(0.05)
        while True:
            try:
                kind, flags, body = c.packet()
                if kind == PUBLISH:
                    waiting.append(c.publish(flags, body).id)
            except OSError:
                if waiting:
                    most.append(len(waiting))
                    c.answer(PUBACK, waiting.pop(0))

    lines, messages = faulty(slow, options="qos = 1, max_inflight = 5", count=25)
    equal([m.payload for m in messages], lines, "messages")
    equal(max(most), 5, "most in flight")
