"""What a destination answers, and what becomes of the points: every class of answer and fault, each with
a sink and a peer of its own in one daemon; the ledger tells the outcome to the point."""

import email.utils
import re
import time

import account
from harness import *
from http_sink import HttpSink, Reply
from peers import Judge, bench, gaps, repeated

QUICK = {"storage": {"cursor_delay_ms": 50}}
LINES = ["m,host=h%d v=%di %d" % (i % 3, i, 1700000000000000000 + i) for i in range(20)]
BYTES = [line.encode() for line in LINES]


def in_two_seconds():
    return email.utils.formatdate(time.time() + 3, usegmt=True)


@short
def test_faults_that_pass():
    """Each fault happens first, once or twice; then all is delivered, once, in order."""
    faults = {
        "s500": [500], "s502": [502], "s504": [504], "s408": [408],
        "huge": [Reply(500, body=b"x" * 50000000)],
        "binary": [Reply(500, body=bytes(range(256)) * 40)],
        "endless": [Reply(500, endless=True)],
        "until_close": [Reply(500, body="sorry", until_close=True)],
        "chunked": [Reply(500, body="sorry", chunked=True, trailer={"X-Why": "none"})],
        "reset_half": [Reply(reset_after=400), Reply(reset_after=1)],
        "reset": [Reply(reset=True)],
        "closed": [Reply(raw=b"", close=True)],
        "nonsense": [Reply(raw=b"not HTTP at all\r\n\r\n", close=True)],
        "http09": [Reply(raw=b"\x00\x01\x02" * 1000, close=True)],
        "long_head": [Reply(raw=b"HTTP/1.1 204 No\r\n" + b"X: y\r\n" * 20000 + b"\r\n", close=True)],
        "half_head": [Reply(raw=b"HTTP/1.1 204 N", close=True)],
        "half_body": [Reply(raw=b"HTTP/1.1 500 E\r\nContent-Length: 99\r\n\r\nshort", close=True)],
        "silent": [Reply(hang=True)],
        "interim": [Reply(500, interim=[100, 102, 103])],
        "many_interim": [Reply(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 5000, close=True)],
    }
    with bench(Daemon(QUICK)) as b:
        for name, plan in faults.items():
            b.add(name, HttpSink(), options="timeout = '700ms'").plan(*plan)
        b.write(LINES)
        for name, peer in b.peers.items():
            account.balanced(b.d, name, accepted=20, forwarded=20)
            equal(peer.lines(), BYTES, "what came to " + name)
            if min(gaps(peer) + [9]) < 0.4 and "reset_half" != name:
                fail("%s was tried again after %.2f s" % (name, min(gaps(peer))))
            wait_until(lambda: b.d.sink(name)["errors"] >= len(faults[name]), "errors of " + name)
        for name, kind in (("silent", "timeout"), ("reset", "connect"), ("nonsense", "protocol"),
                           ("s500", "target"), ("reset_half", "connect")):
            equal(account.errors(b.d, name, kind), len(faults[name]), "%s counted as %s" % (name, kind))


@short
def test_answers_that_confirm():
    answers = {"s200": Reply(200, body="fine"), "s201": Reply(201), "s202": Reply(202),
               "chunked": Reply(200, body="fine" * 5000, chunked=True, trailer={"X-A": "b"}),
               "interim": Reply(204, interim=[100, 103]),
               "until_close": Reply(200, body="fine", until_close=True),
               "closing": Reply(204, close=True),
               "large": Reply(200, body=b"y" * 3000000)}
    with bench(Daemon(QUICK)) as b:
        for name, answer in answers.items():
            b.add(name, HttpSink(answer), "BATCH_SIZE 5")
        extra = b.add("extra_body", Judge(lambda r, n: Reply(
            raw=b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")), "BATCH_SIZE 5")
        b.write(LINES)
        for name, peer in b.peers.items():
            account.balanced(b.d, name, accepted=20, forwarded=20)
            equal([line for r in peer.requests for line in r.lines], BYTES, "what came to " + name)
            equal(b.d.sink(name)["errors"], 0, "errors of " + name)
        equal(len(extra.requests), 4, "requests")


@short
def test_waiting_as_told():
    """Retry-After is honoured; without it, or with nonsense in it, the wait is one's own, never 0."""
    at_least = {
        "bare": ([429, 429], 0.45), "zero": ([Reply(429, {"Retry-After": "0"})] * 2, 0.45),
        "nonsense": ([Reply(429, {"Retry-After": "soon"})], 0.45),
        "negative": ([Reply(429, {"Retry-After": "-5"})], 0.45),
        "past": ([Reply(429, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"})], 0.45),
        "seconds": ([Reply(429, {"Retry-After": "3"})], 2.9),
        "unavailable": ([Reply(503, {"Retry-After": "3"})], 2.9),
        "plain503": ([503], 0.45),
        "error": ([Reply(500, {"Retry-After": "3"})], 2.9),
        "date": ([Reply(429, {"Retry-After": in_two_seconds()})], 1.4),
    }
    with bench(Daemon(QUICK)) as b:
        for name, (plan, _) in at_least.items():
            b.add(name, HttpSink()).plan(*plan)
        b.write(LINES)
        for name, (plan, wait) in at_least.items():
            account.balanced(b.d, name, accepted=20, forwarded=20)
            peer = b.peers[name]
            equal(len(peer.requests), len(plan) + 1, "requests of " + name)
            if min(gaps(peer)) < wait or max(gaps(peer)) > wait + 2.5:
                fail("%s waited %r, not %r" % (name, gaps(peer), wait))
        for name in ("bare", "seconds", "unavailable", "date"):
            wait_until(lambda: account.errors(b.d, name, "throttled") == len(at_least[name][0]),
                       name + " counts as throttled")


@short
def test_a_very_long_wait_can_be_cut_short():
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink())
        peer.plan(Reply(429, {"Retry-After": "99999999999999999999"}),
                  Reply(503, {"Retry-After": "2000000"}))
        b.write(LINES)
        b.d.wait_status("s", "backoff")
        b.d.query("ALTER SINK s RESUME")
        wait_until(lambda: len(peer.requests) == 2, "tried again")
        b.d.wait_status("s", "backoff")
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", accepted=20, forwarded=20)


@short
def test_refusals_of_the_whole_keep_everything():
    """Whatever is not about points blocks the sink and costs none, whatever on_reject says."""
    others = {"s206": 206, "s302": Reply(302, {"Location": "/elsewhere"}), "s304": 304, "s307":
              Reply(307, {"Location": "/elsewhere"}), "s404": 404, "s405": 405, "s410": 410, "s418": 418}
    with bench(Daemon(QUICK)) as b:
        for name, answer in others.items():
            peer = HttpSink(answer if isinstance(answer, Reply) else Reply(answer))
            b.add(name, peer, options="on_reject = 'drop'")
        for name in ("s401", "s403"):
            b.add(name, HttpSink(Reply(int(name[1:]), body="who are you, CANARY")))
        b.add("all400", HttpSink(Reply(400, body="no")), options="on_reject = 'drop'")
        b.add("all422", HttpSink(Reply(422)), options="on_reject = 'drop'")
        b.add("lone400", HttpSink(Reply(400)), "BATCH_SIZE 1", "on_reject = 'drop'")
        b.write(LINES)
        for name, peer in b.peers.items():
            b.d.wait_status(name, "auth_failed" if name in ("s401", "s403") else "blocked")
            account.balanced(b.d, name, accepted=20, pending=20)
            error = b.d.sink(name)["last_error"]
            contains(error, name[-3:], "last_error of " + name)
            equal("CANARY" in error, False, "an answer to credentials is quoted")
            equal({r.target for r in peer.requests}, {"/write?db=mydb"}, "a redirect was followed")
        for name, peer in b.peers.items():
            peer.default = Reply(204)
            b.d.query("ALTER SINK %s RESUME" % name)
            account.balanced(b.d, name, accepted=20, forwarded=20)
            equal(peer.lines()[-20:], BYTES, "what came to " + name)


@short
def test_order_is_kept_over_a_refusal():
    """The second of three batches is refused for a while: the third waits for it."""
    with bench(Daemon(QUICK)) as b:
        for name, status in (("auth", 403), ("gone", 404), ("broken", 500), ("slow", 429)):
            b.add(name, HttpSink(), "BATCH_SIZE 7").plan(204, status, status)
        b.write(LINES[:14])
        b.write(LINES[14:])
        for name in ("auth", "gone"):
            wait_until(lambda: len(b.peers[name].requests) == 2, "second batch of " + name)
            wait_until(lambda: b.d.ledger(name)["forwarded"] == 7, "first batch of " + name)
            account.balanced(b.d, name, accepted=20, forwarded=7, pending=13)
            b.d.query("ALTER SINK %s RESUME" % name)
            wait_until(lambda: len(b.peers[name].requests) == 3, "third try of " + name)
            b.d.query("ALTER SINK %s RESUME" % name)
        for name, peer in b.peers.items():
            account.balanced(b.d, name, accepted=20, forwarded=20)
            equal(peer.lines(), BYTES, "what came to " + name)


@short
def test_bad_points_stand_alone():
    """400 for a body with bad lines: halves, until only these are left; all others arrive once."""
    bad = {3, 4, 11, 19}
    lines = [l.replace("m,", "bad,") if i in bad else l for i, l in enumerate(LINES)]
    good = [l.encode() for i, l in enumerate(lines) if i not in bad]
    with bench(Daemon(QUICK)) as b:
        for name, options in (("drops", "on_reject = 'drop'"), ("blocks", "on_reject = 'block'")):
            b.add(name, HttpSink(), options=options).refuse = rb"^bad"
        unprocessable = b.add("s422", Judge(lambda r, n: 422 if b"bad" in r.body else None),
                              "BATCH_SIZE 8", "on_reject = 'drop'")
        partial = b.add("partial", HttpSink(), options="on_reject = 'drop'")
        partial.refuse, partial.partial = rb"^bad", True
        b.write(lines)
        for name in ("drops", "s422", "partial"):
            account.balanced(b.d, name, accepted=20, forwarded=16, dropped=4)
            equal(account.dropped(b.d, name, "rejected"), 4, "dropped as rejected")
            equal(account.errors(b.d, name, "rejected") >= 0, True, "errors")
        equal(sorted(b.peers["drops"].lines()), sorted(good), "what came")
        equal(sorted(unprocessable.lines()), sorted(good), "what came")
        equal(set(partial.lines()), set(good), "what came in parts")
        b.d.wait_status("blocks", "blocked")
        blocks = b.peers["blocks"]
        equal(sorted(blocks.lines()), sorted(good), "what came past the block")
        account.balanced(b.d, "blocks", accepted=20, forwarded=3, pending=17)
        blocks.refuse = None
        account.balanced(b.d, "blocks", accepted=20, forwarded=20)
        equal(sorted(blocks.lines()), sorted(good + [lines[i].encode() for i in bad]), "each came once")


@short
def test_the_last_bad_point_alone():
    """A lone refused point is believed once the destination has taken something."""
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", Judge(lambda r, n: 400 if b"bad" in r.body else None),
                     options="on_reject = 'drop'")
        b.write(["bad v=1 1"])
        b.d.wait_status("s", "blocked")
        account.balanced(b.d, "s", accepted=1, pending=1)
        b.write(["m v=1 2"])
        b.d.query("ALTER SINK s RESUME")
        account.balanced(b.d, "s", accepted=2, forwarded=1, dropped=1)
        b.write(["bad v=1 3"])
        account.balanced(b.d, "s", accepted=3, forwarded=1, dropped=2)
        b.d.restart()
        b.write(["bad v=1 4"])
        account.balanced(b.d, "s", accepted=4, forwarded=1, dropped=3)
        equal(peer.lines(), [b"m v=1 2"], "what came")


@short
def test_too_large():
    """413: halves, and the smaller size is remembered, over a restart too."""
    def at_most(count):
        return lambda request, n: 413 if len(request.lines) > count else None

    lines = LINES + ["m text=\"%s\" 5" % ("x" * 5000)]
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", Judge(at_most(3)))
        fat = b.add("fat", Judge(lambda r, n: 413 if len(r.body) > 4000 else None),
                    options="on_reject = 'drop'")
        b.write(LINES)
        account.balanced(b.d, "s", accepted=20, forwarded=20)
        equal(peer.lines(), BYTES, "what came")
        refused = [r.status for r in peer.requests].count(413)
        equal(refused > 0, True, "something was too large")
        b.d.restart()
        b.write(lines)
        account.balanced(b.d, "s", accepted=41, forwarded=41)
        equal([r.status for r in peer.requests].count(413), refused, "too large once more")
        account.balanced(b.d, "fat", accepted=41, forwarded=40, dropped=1)


@short
def test_a_permanent_429_with_input_going_on():
    """Nothing is lost before the log is full; then writes are refused; all that was taken arrives."""
    config = {"storage": {"max_size_mb": 4, "cursor_delay_ms": 50}}
    with bench(Daemon(config)) as b:
        peer = b.add("s", HttpSink(Reply(429)), "BATCH_SIZE 5000")
        count = 0
        while True:
            body = "\n".join("m i=%di %d" % (i, i) for i in range(count, count + 1000))
            if b.d.http("POST", "/write?db=db", body).status == 503:
                break
            count += 1000
        account.balanced(b.d, "s", accepted=count, pending=count)
        equal(len(peer.requests) <= 3, True, "requests")
        peer.default = Reply(204)
        account.balanced(b.d, "s", accepted=count, forwarded=count)
        equal(repeated(peer), [], "repeated")
        equal(len(peer.lines()), count, "what came")
        b.d.write("m i=-1i 1")


@short
def test_a_kept_connection_that_the_peer_closed():
    """It is replaced without a failure, between rounds and right when a request is sent."""
    with bench(Daemon(QUICK)) as b:
        peer = b.add("s", HttpSink())
        for n in range(5):
            b.write([LINES[n]])
            account.balanced(b.d, "s", accepted=n + 1, forwarded=n + 1)
            for sock in list(peer.open):
                sock.shutdown(2)
        equal(peer.lines(), BYTES[:5], "what came")
        equal(b.d.sink("s")["errors"], 0, "errors")
        peer.plan(204, Reply(reset=True))
        b.write([LINES[5]])
        wait_until(lambda: len(peer.lines()) == 6, "delivery")
        b.write([LINES[6]])
        account.balanced(b.d, "s", accepted=7, forwarded=7)
        equal(peer.lines(), BYTES[:7], "what came")


@short
def test_few_words_in_the_log():
    """A sink that is down, or up and down, does not fill the log."""
    with bench(Daemon(QUICK)) as b:
        b.add("flaps", Judge(lambda r, n: 500 if n % 2 else 204), "BATCH_SIZE 1")
        b.add("down", HttpSink(Reply(500)))
        b.write(LINES[:5])
        account.balanced(b.d, "flaps", accepted=5, forwarded=5)
        for name in ("flaps", "down"):
            lines = re.findall(r"sink=%s .*event=(retry|failed|recovered)" % name, b.d.log())
            if len(lines) > 6:
                fail("%d lines in a few seconds: %r" % (len(lines), lines))
