"""mpack.py: MessagePack as far as points need it, after the specification: what tests read and write without
the program's own code. Floats are 64 bits wide, lengths take their shortest form.
Source: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

import struct


def dumps(value):
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
        return length(len(value), 0xa0, 32, (0xd9, 0xda, 0xdb)) + value
    if isinstance(value, list):
        return length(len(value), 0x90, 16, (None, 0xdc, 0xdd)) + b"".join(map(dumps, value))
    pairs = b"".join(dumps(k) + dumps(v) for k, v in value.items())
    return length(len(value), 0x80, 16, (None, 0xde, 0xdf)) + pairs


def integer(n):
    for form, code, low, high in (
            (None, "b", -32, 127), (0xcc, "B", 0, 2**8 - 1), (0xcd, "H", 0, 2**16 - 1),
            (0xce, "I", 0, 2**32 - 1), (0xcf, "Q", 0, 2**64 - 1), (0xd0, "b", -2**7, -1),
            (0xd1, "h", -2**15, -1), (0xd2, "i", -2**31, -1), (0xd3, "q", -2**63, -1)):
        if low <= n <= high:
            return (b"" if form is None else bytes([form])) + struct.pack(">" + code, n)
    raise ValueError(n)


def length(n, fix, below, forms):
    if n < below:
        return bytes([fix + n])
    for form, code, top in zip(forms, "BHI", (2**8, 2**16, 2**32)):
        if form is not None and n < top:
            return bytes([form]) + struct.pack(">" + code, n)
    raise ValueError(n)


def loads(data):
    value, end = read(data, 0)
    if end != len(data):
        raise ValueError("bytes are left over")
    return value


SCALARS = {0xca: "f", 0xcb: "d", 0xcc: "B", 0xcd: "H", 0xce: "I", 0xcf: "Q", 0xd0: "b", 0xd1: "h",
           0xd2: "i", 0xd3: "q"}
SIZED = {0xd9: ("B", "str"), 0xda: ("H", "str"), 0xdb: ("I", "str"), 0xdc: ("H", "array"),
         0xdd: ("I", "array"), 0xde: ("H", "map"), 0xdf: ("I", "map")}


def read(data, at):
    byte = data[at]
    at += 1
    if byte < 0x80 or byte >= 0xe0:
        return byte if byte < 0x80 else byte - 256, at
    if byte < 0x90:
        return some(data, at, byte & 15, "map")
    if byte < 0xa0:
        return some(data, at, byte & 15, "array")
    if byte < 0xc0:
        return some(data, at, byte & 31, "str")
    if byte in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[byte], at
    if byte in SCALARS:
        form = ">" + SCALARS[byte]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    code, kind = SIZED[byte]
    n = struct.unpack_from(">" + code, data, at)[0]
    return some(data, at + struct.calcsize(">" + code), n, kind)


def some(data, at, n, kind):
    if kind == "str":
        if at + n > len(data):
            raise ValueError("it ends too early")
        return data[at:at + n].decode("utf-8", "surrogateescape"), at + n
    items = []
    for _ in range(n * (2 if kind == "map" else 1)):
        item, at = read(data, at)
        items.append(item)
    return (items if kind == "array" else dict(zip(items[::2], items[1::2]))), at
