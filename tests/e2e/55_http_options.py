"""What is sent: templates, compression, headers, credentials, precision, limits of a request."""

import base64
import gzip
import random

import account
from harness import *
from http_sink import HttpSink, Reply
from peers import Judge, bench, repeated

QUICK = {"storage": {"cursor_delay_ms": 50}}
BASE = 1700000000000000000


@short
def test_a_target_for_each_database():
    """{db}: points go where they belong; what one target confirmed is not sent again when another fails."""
    names = ["a", "b", "c", "d e:f&g=%?+", "\u00fc"]
    chance = random.Random(3)

    def judge(request, number):
        return 500 if request.query.get("db") == "b" and number < 4 else None

    with bench(Daemon(QUICK)) as b:
        b.d.query("CREATE SINK held TO 'http://127.0.0.1:1/x' TYPE http_line")
        peer = b.add("s", Judge(judge), "BATCH_SIZE 100", path="/w?db={db}&x=1")
        path = b.add("p", HttpSink(), "BATCH_SIZE 10", path="/w/{db}/{rp}")
        b.d.query("ALTER SINK s PAUSE")
        expected = {name: [] for name in names}
        for i in range(60):
            name = chance.choice(names)
            b.d.write("m i=%di %d" % (i, i), db=name)
            expected[name].append(b"m i=%di %d" % (i, i))
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", accepted=60, forwarded=60)
        equal(repeated(peer), [], "sent again")
        for name in names:
            got = [line for r in peer.taken() if r.query["db"] == name for line in r.lines]
            equal(got, expected[name], "what came for %r" % name)
        equal({r.query["x"] for r in peer.taken()}, {"1"}, "the rest of the query")
        account.balanced(b.d, "p", accepted=60, forwarded=60)
        targets = {r.target for r in path.requests}
        equal("/w/a/_" in targets and "/w/%C3%BC/_" in targets, True, "targets %r" % targets)
        equal("/w/d%20e%3Af%26g%3D%25%3F%2B/_" in targets, True, "targets %r" % targets)


@short
def test_one_target_refused_for_good():
    """One of three targets does not exist: the sink blocks, and nothing that is confirmed goes again."""
    def judge(request, number):
        return 404 if request.query["db"] == "b" and number < 2 else None

    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", Judge(judge), "BATCH_SIZE 12", "on_reject = 'drop'", path="/w?db={db}")
        for i in range(12):
            b.d.write("m i=%di %d" % (i, i), db="abc"[i % 3])
        b.d.wait_status("s", "blocked")
        account.balanced(b.d, "s", accepted=12, forwarded=1, pending=11)
        account.balanced(b.d, "s", accepted=12, forwarded=12)
        equal(repeated(peer), [], "sent again")
        equal(len(peer.lines()), 12, "what came")


@short
def test_requests_as_the_options_say():
    lines = ["m,host=a v=%di %d" % (i, BASE + i * 1234567890) for i in range(50)]
    with bench(Daemon(QUICK)) as b:
        add = b.add
        packed = add("packed", HttpSink(), "BATCH_SIZE 20", "gzip = true")
        plain = add("plain", HttpSink(), "BATCH_SIZE 20")
        basic = add("basic", HttpSink(), "USERNAME 'us\u00e9r' PASSWORD 'p:w \"x'")
        token = add("token", HttpSink(), options="bearer_token = 'secret-token'")
        token.auth = "secret-token"
        words = add("words", HttpSink(), options="headers = 'X-One: 1\\nX-Two: b c', user_agent = 'me/2'")
        odd = add("odd", HttpSink(Reply(299)), options="success_status = '299'")
        small = add("small", HttpSink(), options="max_batch_bytes = 1000")
        for unit in ("us", "ms", "s"):
            add("in_" + unit, HttpSink(), options="precision = '%s'" % unit,
                path="/write?db=x&precision=" + unit)
        b.write(lines)
        for name, peer in b.peers.items():
            account.balanced(b.d, name, accepted=50, forwarded=50)
            if not name.startswith("in_"):
                equal(peer.lines(), b.written, "what came to " + name)
        check_requests(packed, plain, basic, words, odd, small)
        for unit, divisor in (("us", 1000), ("ms", 1000000), ("s", 1000000000)):
            times = [int(line.split()[-1]) for line in b.peers["in_" + unit].lines()]
            equal(times, [(BASE + i * 1234567890) // divisor for i in range(50)], "times in " + unit)


def check_requests(packed, plain, basic, words, odd, small):
    for request in packed.requests:
        equal(request.headers["content-encoding"], "gzip", "content-encoding")
        equal(gzip.decompress(request.raw), request.body, "gzip")
    equal([r.lines for r in packed.requests], [r.lines for r in plain.requests], "batches")
    equal([len(r.lines) for r in plain.requests], [20, 20, 10], "sizes of batches")
    equal({r.method for r in plain.requests}, {"POST"}, "method")
    equal("authorization" in plain.requests[0].headers, False, "credentials that nobody gave")
    equal(plain.connections, 1, "connections")
    given = "Basic " + base64.b64encode("us\u00e9r:p:w \"x".encode()).decode()
    equal({r.headers["authorization"] for r in basic.requests}, {given}, "basic")
    equal((words.requests[0].headers["x-one"], words.requests[0].headers["x-two"]), ("1", "b c"), "headers")
    equal(words.requests[0].headers["user-agent"], "me/2", "user agent")
    equal(odd.requests[0].status, 299, "status")
    equal(max(len(r.body) for r in small.requests) <= 1000, True, "max_batch_bytes")


@short
def test_a_point_larger_than_a_batch_goes_alone():
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink(), options="max_batch_bytes = 1000")
        lines = ["m v=%di %d" % (i, i) for i in range(9)]
        lines[4] = "m text=\"%s\" 4" % ("x" * 200000)
        b.write(lines)
        account.balanced(b.d, "s", accepted=9, forwarded=9)
        equal(peer.lines(), b.written, "what came")
        equal([r.lines for r in peer.requests if len(r.body) > 1000], [[b.written[4]]], "large ones")


@short
def test_a_batch_when_it_is_full_or_old():
    with bench(Daemon(QUICK)) as b:
        full = b.add("full", HttpSink(), "BATCH_SIZE 10")
        b.d.query("ALTER SINK full FLUSH_INTERVAL 1h")
        old = b.add("old", HttpSink(), "BATCH_SIZE 1000")
        b.d.query("ALTER SINK old FLUSH_INTERVAL 700ms")
        b.write(["m v=%di %d" % (i, i) for i in range(25)])
        account.balanced(b.d, "full", accepted=25, forwarded=20, pending=5)
        equal(len(old.requests), 0, "requests before the interval")
        account.balanced(b.d, "old", accepted=25, forwarded=25)
        equal([len(r.lines) for r in full.requests], [10, 10], "batches")
        equal([len(r.lines) for r in old.requests], [25], "batches")
        b.write(["m v=%di %d" % (i, i) for i in range(25, 30)])
        account.balanced(b.d, "full", accepted=30, forwarded=30)


@short
def test_filters_count_what_they_leave():
    with bench(Daemon(QUICK)) as b:
        chosen = {"names": ("INCLUDE MEASUREMENTS cpu, mem", {"cpu", "mem"}),
                  "glob": ('INCLUDE MEASUREMENTS "cpu*"', {"cpu", "cpu_load"}),
                  "regex": ("INCLUDE MEASUREMENTS /^(mem|disk)$/ EXCLUDE MEASUREMENTS disk", {"mem"}),
                  "none": ("INCLUDE MEASUREMENTS nothing", set()),
                  "but": ("INCLUDE ALL EXCLUDE MEASUREMENTS cpu", {"cpu_load", "mem", "disk"}),
                  "dbs": ("ON other", None)}
        for name, (clauses, _) in chosen.items():
            b.add(name, HttpSink(), clauses + " BATCH_SIZE 7")
        kinds = ["cpu", "cpu_load", "mem", "disk"]
        for start in range(0, 200, 20):
            b.write(["%s i=%di %d" % (kinds[i % 4], i, i) for i in range(start, start + 20)])
            b.d.write("other i=%di %d" % (start, start), db="other")
        for name, (_, kept) in chosen.items():
            wanted = 10 if kept is None else 50 * len(kept) + (10 if name == "but" else 0)
            account.balanced(b.d, name, accepted=210, forwarded=wanted, filtered=210 - wanted)
            equal(len(b.peers[name].lines()), wanted, "what came to " + name)
