"""lineproto.py: read good lines of line protocol, to compare them by meaning."""

import base64


def text_of(raw):
    """A name or string as the vectors write it: text, or $b64:... when it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "$b64:" + base64.b64encode(raw).decode()


def split(raw, stops):
    """Cut at the first byte of `stops` that no backslash precedes."""
    for at in range(len(raw)):
        if raw[at : at + 1] in stops and raw[at - 1 : at] != b"\\":
            return raw[:at], raw[at : at + 1], raw[at + 1 :]
    return raw, b"", b""


def unescape(raw, special):
    out = bytearray()
    at = 0
    while at < len(raw):
        if raw[at : at + 1] == b"\\" and raw[at + 1 : at + 2] in special and at + 1 < len(raw):
            at += 1
        out += raw[at : at + 1]
        at += 1
    return bytes(out)


LETTERS = [bytes([b]) for b in b", ="]
QUOTED = LETTERS + [b'"']


def value_of(raw):
    if raw[:1] == b'"':
        return ("string", text_of(unescape(raw[1:-1], [b'"', b"\\"])))
    if raw[-1:] == b"i":
        return ("integer", int(raw[:-1]))
    if raw[-1:] == b"u":
        return ("unsigned", int(raw[:-1]))
    if raw[:1] in b"tTfF":
        return ("boolean", raw[:1] in b"tT")
    return ("float", repr(float(raw)))


def value_end(raw):
    """Where a value ends: behind its closing quote, or before a comma or a blank."""
    if raw[:1] == b'"':
        at = 1
        while raw[at : at + 1] != b'"':
            at += 2 if raw[at : at + 1] == b"\\" else 1
        return at + 1
    return next((at for at in range(len(raw)) if raw[at : at + 1] in (b",", b" ")), len(raw))


def read_fields(raw):
    """The fields in order, and what is behind them."""
    found = []
    while True:
        at = 0
        while raw[at : at + 1] != b"=":
            at += 2 if raw[at : at + 1] == b"\\" else 1
        end = at + 1 + value_end(raw[at + 1 :])
        found.append((text_of(unescape(raw[:at], QUOTED)), value_of(raw[at + 1 : end])))
        if raw[end : end + 1] != b",":
            return found, raw[end:]
        raw = raw[end + 1 :]


def read(line):
    """(measurement, tags as a sorted tuple, fields {key: (type, value)}, time or None)."""
    key, _, rest = split(line, [b" "])
    fields, stamp = read_fields(rest.lstrip(b" \t\0"))
    name, stop, tags = split(key, [b","])
    pairs = []
    while stop:
        tag, stop, tags = split(tags, [b","])
        tag_key, _, tag_value = split(tag, [b"="])
        pairs.append((text_of(unescape(tag_key, LETTERS)), text_of(unescape(tag_value, LETTERS))))
    return (
        text_of(unescape(name, QUOTED)),
        tuple(sorted(pairs)),
        dict(fields),
        int(stamp) if stamp.strip() else None,
    )


def lines_of(body):
    """Split a body of good lines at the LFs that end lines."""
    found = []
    start = at = 0
    inside = False
    blanks = equals = commas = 0
    while at < len(body):
        byte = body[at : at + 1]
        if byte == b"\\" and at + 1 < len(body):
            at += 2
            continue
        if byte == b" ":
            blanks += 1
        elif blanks and byte == b'"' and equals > commas:
            inside = not inside
        elif blanks and not inside and byte == b"=":
            equals += 1
        elif blanks and not inside and byte == b",":
            commas += 1
        elif byte == b"\n" and not inside:
            found.append(body[start:at])
            start = at + 1
            blanks = equals = commas = 0
        at += 1
    if start < len(body):
        found.append(body[start:])
    return [line for line in found if line]


def merged(points):
    """{(measurement, tags, time): {field: value}}: points of one series and time, the last wins."""
    total = {}
    for measurement, tags, fields, stamp in points:
        total.setdefault((measurement, tags, stamp), {}).update(fields)
    return total
