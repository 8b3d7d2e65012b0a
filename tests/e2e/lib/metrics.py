"""metrics.py: a strict reader of Prometheus text 0.0.4.

Refuses what a scraper would: samples without HELP and TYPE before them, series that come twice,
metrics that are not in one block, bad names, bad numbers, histograms that are not cumulative.
"""

import re

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Metrics:
    """self.values: {(name, frozenset of label pairs): number}; self.types: {metric: type}."""

    def __init__(self, text):
        assert text.endswith("\n"), "no newline at the end of the metrics"
        self.values = {}
        self.types = {}
        self.helps = {}
        self.current = None
        for line in text.split("\n")[:-1]:
            self.take(line)
        for name, kind in self.types.items():
            if kind == "histogram":
                self.check_histogram(name)

    def take(self, line):
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            assert name not in self.helps, "HELP twice: " + name
            assert words, "HELP without words: " + name
            self.helps[name] = words
            self.current = None
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name not in self.types, "TYPE twice: " + name
            assert name in self.helps, "TYPE without HELP: " + name
            assert kind in ("counter", "gauge", "histogram"), line
            self.types[name] = kind
            self.current = name
        else:
            self.sample(line)

    def sample(self, line):
        found = SAMPLE.fullmatch(line)
        assert found, "no sample: " + repr(line)
        name, labels, number = found.groups()
        base = name
        if self.types.get(self.current) == "histogram":
            base = re.sub("_(bucket|sum|count)$", "", name)
        assert base == self.current, "sample outside the block of its metric: " + line
        key = (name, frozenset(self.labels(labels or "", line)))
        assert key not in self.values, "series twice: " + line
        self.values[key] = float(number)

    @staticmethod
    def labels(text, line):
        pairs = []
        at = 0
        while at < len(text):
            found = LABEL.match(text, at)
            assert found, "bad labels: " + line
            value = re.sub(r'\\["\\n]', lambda m: UNESCAPED[m.group()], found.group(2))
            pairs.append((found.group(1), value))
            at = found.end()
        assert len(set(k for k, _ in pairs)) == len(pairs), "label twice: " + line
        return pairs

    def check_histogram(self, name):
        series = {}
        for (sample, labels), value in self.values.items():
            if sample == name + "_bucket":
                bound = float(dict(labels)["le"])
                rest = frozenset(p for p in labels if p[0] != "le")
                series.setdefault(rest, []).append((bound, value))
        for rest, buckets in series.items():
            buckets.sort()
            counts = [count for _, count in buckets]
            assert counts == sorted(counts), "histogram not cumulative: " + name
            assert buckets[-1][0] == float("inf"), "no +Inf bucket: " + name
            assert buckets[-1][1] == self.values[(name + "_count", rest)], "count differs: " + name
            assert (name + "_sum", rest) in self.values, "no sum: " + name

    def get(self, name, **labels):
        """The value of one series; None when there is none."""
        return self.values.get((name, frozenset(labels.items())))

    def total(self, name, **labels):
        """The sum of all series of a metric that have these labels."""
        wanted = set(labels.items())
        return sum(v for (n, l), v in self.values.items() if n == name and wanted <= l)
