# SPDX-License-Identifier: MIT
"""The digests of ndlfs-digest(5), computed a second time: with hashlib and NumPy, from arrays in memory."""
import hashlib
import json
import struct

import numpy as np

BLOCK = 2**18  # elements


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def type_of(dtype):
    if dtype.subdtype:
        return ["array", type_of(dtype.subdtype[0]), list(dtype.subdtype[1])]
    if dtype.names:
        return ["struct", [[name, type_of(dtype[name])] for name in dtype.names]]
    if dtype.kind == "V":
        return ["opaque", dtype.itemsize]
    return "string" if dtype.kind in "SUO" else dtype.newbyteorder("=").name


def element(value, dtype):
    if dtype.subdtype:
        return b"".join(element(item, dtype.subdtype[0]) for item in value.reshape(-1))
    if dtype.names:
        return b"".join(element(value[name], dtype[name]) for name in dtype.names)
    if dtype.kind in "SUO":
        text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        return struct.pack("<I", len(text)) + text
    return np.asarray(value, dtype.newbyteorder("<")).tobytes()


def array_digest(array):
    flat = array.reshape(-1)
    is_plain = array.dtype.kind in "biufcmMV" and not array.dtype.names
    total = hashlib.sha256(as_json(["ndlfs-array-1", type_of(array.dtype), list(array.shape)]).encode() + b"\n")
    for begin in range(0, flat.size, BLOCK):
        block = flat[begin:begin + BLOCK]
        total.update(hashlib.sha256(block.astype(array.dtype.newbyteorder("<")).tobytes() if is_plain else
                                    b"".join(element(item, array.dtype) for item in block)).digest())
    return total.hexdigest()


def value(item):
    if isinstance(item, (list, tuple, np.ndarray)):
        return value(item[0]) if len(item) == 1 else [value(part) for part in item]
    if isinstance(item, (float, np.floating)):
        return {"float": struct.pack(">d", float("nan") if item != item else item).hex()}
    return int(item) if isinstance(item, (int, np.integer)) and not isinstance(item, bool) else item


def attributes_digest(attributes, dimensions=()):
    return sha256("".join(["ndlfs-attributes-1\n", *(f"dimension {as_json(name)}\n" for name in dimensions),
                           *(f"attribute {as_json(name)} {as_json(value(attributes[name]))}\n"
                             for name in sorted(attributes))]).encode())


def group_digest(attributes, members):
    """`members`: lines "array NAME DIGEST DIGEST", "group NAME DIGEST", "link NAME TARGET" by name."""
    return sha256("".join(["ndlfs-group-1\n", f"attributes {attributes}\n",
                           *(members[name] + "\n" for name in sorted(members))]).encode())
