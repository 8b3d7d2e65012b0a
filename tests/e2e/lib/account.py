"""account.py: the books of a sink, checked to the point.

The ledger as SHOW LEDGER and as /metrics say it must agree, add up, and equal what the peer got.
"""

from harness import equal, wait_until

PARTS = ("forwarded", "filtered", "dead", "dropped", "pending")


def from_metrics(d, name):
    """The five figures of a sink from /metrics (dead letters only once there are any)."""
    metrics = d.metrics()
    prefix = "hyperbytedb_sink_"
    return {"forwarded": int(metrics.get(prefix + "forwards_total", sink=name)),
            "filtered": int(metrics.get(prefix + "filtered_total", sink=name)),
            "dead": int(metrics.get(prefix + "dead_letters", sink=name) or 0),
            "dropped": int(metrics.total(prefix + "dropped_total", sink=name)),
            "pending": int(metrics.get(prefix + "queue_depth", sink=name))}


def balanced(d, name, seconds=30, **figures):
    """Wait until the ledger of a sink has these figures; all others must be zero. /metrics says the
    same. Returns the row."""
    row = d.wait_ledger(name, seconds, **dict({"pending": 0}, **figures))
    for part in PARTS:
        equal(row[part], figures.get(part, 0), "%s of %s" % (part, name))
    same = {part: row[part] for part in PARTS}
    wait_until(lambda: from_metrics(d, name) == same, "/metrics agree with %r" % row)
    return row


def dropped(d, name, reason):
    return int(d.metrics().get("hyperbytedb_sink_dropped_total", sink=name, reason=reason))


def errors(d, name, kind):
    return int(d.metrics().get("hyperbytedb_sink_errors_total", sink=name, kind=kind))


def oldest_seconds(d, name):
    return int(d.metrics().get("hyperbytedb_sink_oldest_pending_seconds", sink=name))
