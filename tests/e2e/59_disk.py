"""A disk that fills up, files that are not what they should be, two daemons on one store."""

import contextlib
import os
import random
import subprocess

import account
from harness import *
from http_sink import HttpSink, Reply
from peers import bench, repeated

QUICK = {"storage": {"cursor_delay_ms": 50}}


def body_of(start, count=1000):
    return "\n".join("m,pad=%s i=%di %d" % ("x" * 900, i, i) for i in range(start, start + count))


def ids(lines):
    return [int(line.split(b"i=")[1].split(b"i ")[0]) for line in lines]


@contextlib.contextmanager
def small_disk(megabytes):
    """A file system of its own, in memory; None where that is not allowed (it takes root)."""
    folder = os.path.abspath("disk")
    os.mkdir(folder)
    command = ["mount", "-t", "tmpfs", "-o", "size=%dm" % megabytes, "none", folder]
    if os.geteuid() != 0 or subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk():
    """Refused with 503, then 507 when the watch sees it; what was acknowledged stays and arrives; when
    there is room again all goes on."""
    with small_disk(12) as disk:
        if disk is None:
            print("no file system of its own: a limit on the size of files stands for it")
            return
        config = {"storage": {"data_dir": disk + "/data", "max_size_mb": 1000, "cursor_delay_ms": 50},
                  "disk": {"check_interval_secs": 1}}
        with bench(Daemon(config)) as b:
            contains(b.d.log(), "max_size_mb", "a warning that the disk is smaller than the log may be")
            peer = b.add("s", HttpSink(Reply(500)), "BATCH_SIZE 5000")
            with open(disk + "/ballast", "wb") as file:
                file.write(bytes(3000000))
            taken = []

            def status():
                answer = b.d.http("POST", "/write?db=db", body_of(len(taken), 300))
                if answer.status == 204:
                    taken.extend(range(len(taken), len(taken) + 300))
                else:
                    equal("retry-after" in answer.headers, True, "Retry-After")
                return answer.status

            wait_until(lambda: status() == 503, "503")
            wait_until(lambda: status() == 507, "507", 5)
            equal(b.d.http("GET", "/health/ready").status, 503, "/health/ready")
            equal(b.d.http("GET", "/ping").status, 204, "/ping")
            equal(b.d.ledger("s")["accepted"], len(taken), "accepted")
            b.d.restart(kill=True)
            equal(b.d.ledger("s")["accepted"], len(taken), "accepted after a kill on a full disk")
            os.unlink(disk + "/ballast")
            wait_until(lambda: status() == 204, "room again", 10)
            peer.default = Reply(204)
            account.balanced(b.d, "s", accepted=len(taken), forwarded=len(taken))
            equal(ids(peer.lines()), taken, "what came")
            b.d.stop()


@short
def test_files_that_cannot_grow():
    """The same by a limit on the size of files: no signal kills it, nothing acknowledged is lost."""
    def limit():
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000000, resource.RLIM_INFINITY))

    with bench(Daemon(QUICK, preexec=limit)) as b:
        peer = b.add("s", HttpSink(Reply(500)), "BATCH_SIZE 5000")
        count = 0
        while True:
            answer = b.d.http("POST", "/write?db=db", body_of(count, 100))
            if answer.status != 204:
                break
            count += 100
        equal(answer.status, 503, "status")
        equal("retry-after" in answer.headers, True, "Retry-After")
        wait_until(lambda: b.d.http("GET", "/health").status == 503, "/health")
        contains(b.d.log(), "event=commit_failed", "log")
        equal(b.d.ledger("s")["accepted"], count, "accepted")
        b.d.kill()
        b.d.preexec = None
        b.d.start()
        b.d.write(body_of(count, 100))
        peer.default = Reply(204)
        account.balanced(b.d, "s", accepted=count + 100, forwarded=count + 100)
        equal(set(ids(peer.lines())), set(range(count + 100)), "what came")
        equal(b.d.http("GET", "/health").status, 200, "/health")


@short
def test_a_damaged_file_is_moved_aside():
    """Truncated, emptied or overwritten: it starts, says so, keeps the sinks and its bytes."""
    def spoil_empty(path):
        os.truncate(path, 0)

    def spoil_page(path):
        os.truncate(path, 4096)

    def spoil_half(path):
        os.truncate(path, os.path.getsize(path) // 2 // 4096 * 4096)

    def spoil_noise(path):
        with open(path, "r+b") as file:
            file.write(random.Random(1).randbytes(20000))

    for spoil in (spoil_empty, spoil_page, spoil_half, spoil_noise):
        with bench(Daemon(QUICK, name=spoil.__name__)) as b:
            peer = b.add("s", HttpSink())
            b.write(["m v=%di %d" % (i, i) for i in range(100)])
            account.balanced(b.d, "s", accepted=100, forwarded=100)
            b.d.query("ALTER SINK s PAUSE")
            for n in range(5):
                b.d.write(body_of(n * 100, 100))
            b.d.stop()
            spoil(b.d.data + "/data.mdb")
            b.d.start()
            contains(b.d.log(), "event=damaged", "log")
            b.d.query("ALTER SINK s RESUME")
            b.d.write("m v=7i 7")
            wait_until(lambda: b"m v=7i 7" in peer.lines(), "the sink is still there and works")
            aside = [n for n in os.listdir(b.d.data) if n not in ("data.mdb", "lock.mdb", "meta.bak")]
            equal(len(aside) >= 1, True, "the damaged file is kept: %r" % aside)
            b.d.ledger("s")


@short
def test_two_daemons_on_one_store():
    with bench(Daemon(QUICK)) as b:
        b.add("s", HttpSink())
        for _ in range(10):
            code, _, err = cli("serve", "-c", b.d.path(".toml"))
            equal(code != 0, True, "exit status")
            contains(err, "data", "what it says")
        b.write(["m v=1i 1"])
        account.balanced(b.d, "s", accepted=1, forwarded=1)
        for _ in range(10):
            b.d.restart(kill=True)
        b.write(["m v=2i 2"])
        account.balanced(b.d, "s", accepted=2, forwarded=2)
        equal(b.peers["s"].lines(), b.written, "what came")
