# SPDX-License-Identifier: MIT
"""Writes tables of Parquet, after parquet.thrift and Encodings.md of apache/parquet-format: Debian has no library that does.

    table({"path": ("text", ["a", None]), "size": ("i8", [1, 2])}, codec="zstd", encoding="dictionary")
"""
import struct
import zlib

import numcodecs

TYPES = {"bool": 0, "i4": 1, "i8": 2, "f4": 4, "f8": 5, "text": 6, "fixed": 7}
CODECS = {"none": 0, "snappy": 1, "gzip": 2, "lzo": 3, "zstd": 6}
STOP, TRUE, FALSE, I32, I64, BINARY, LIST, STRUCT = 0, 1, 2, 5, 6, 8, 9, 12


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & 2**64 - 1)


def encoded(kind, value):
    if kind in (I32, I64):
        return zigzag(value)
    if kind == BINARY:
        value = value.encode() if isinstance(value, str) else value
        return varint(len(value)) + value
    if kind == STRUCT:
        return struct_of(value)
    kind, values = value  # a list
    head = bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xf0 | kind]) + varint(len(values))
    return head + b"".join(encoded(kind, item) for item in values)


def struct_of(fields):
    """`fields`: number of a field to type and value; None leaves it out."""
    out, last = b"", 0
    for number, field in sorted(fields.items()):
        if field is None:
            continue
        kind, value = field
        if kind == TRUE:  # the type is the value
            kind, value = (TRUE if value else FALSE), None
        out += bytes([(number - last) << 4 | kind]) + (encoded(kind, value) if value is not None else b"")
        last = number
    return out + b"\0"


def runs(values, width):
    """RLE for equal numbers, and packed groups of eight for the others."""
    out, at = b"", 0
    while at < len(values):
        run = 1
        while at + run < len(values) and values[at + run] == values[at]:
            run += 1
        if run >= 8 or at + run == len(values):
            out += varint(run << 1) + values[at].to_bytes((width + 7) // 8, "little")
            at += run
            continue
        group = (values[at:at + 8] + [0] * 8)[:8]
        out += varint(1 << 1 | 1) + sum(v << width * i for i, v in enumerate(group)).to_bytes(width, "little")
        at += 8
    return out


def deltas(values, block=128, parts=4):
    out = varint(block) + varint(parts) + varint(len(values)) + zigzag(values[0] if values else 0)
    differences = [(b - a + 2**63) % 2**64 - 2**63 for a, b in zip(values, values[1:])]
    for begin in range(0, len(differences), block):
        chunk = differences[begin:begin + block]
        least = min(chunk)
        widths, bodies = [], b""
        for at in range(0, block, block // parts):
            part = [d - least for d in chunk[at:at + block // parts]]
            width = max(part, default=0).bit_length()
            widths.append(width)
            packed = sum(v << width * i for i, v in enumerate(part))
            bodies += packed.to_bytes(width * (block // parts) // 8, "little") if part else b""
        out += zigzag(least) + bytes(widths) + bodies
    return out


def plain(kind, values):
    if kind == "text":
        return b"".join(struct.pack("<I", len(v)) + v for v in values)
    if kind == "fixed":
        return b"".join(values)
    if kind == "bool":
        return sum(v << i for i, v in enumerate(values)).to_bytes((len(values) + 7) // 8, "little")
    return b"".join(struct.pack({"i4": "<i", "i8": "<q", "f4": "<f", "f8": "<d"}[kind], v) for v in values)


def snappy(data):
    """Literals alone, of 60 bytes at most."""
    return varint(len(data)) + b"".join(bytes([len(data[i:i + 60]) - 1 << 2]) + data[i:i + 60]
                                        for i in range(0, len(data), 60))


def compress(codec, data):
    if codec == "snappy":
        return snappy(data)
    if codec == "gzip":
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()
    return numcodecs.Zstd(3).encode(data) if codec == "zstd" else data


def page_header(kind, size, stored, number, header, checksum):
    return struct_of({1: (I32, kind), 2: (I32, size), 3: (I32, len(stored)),
                      4: (I32, struct.unpack("<i", struct.pack("<I", zlib.crc32(stored)))[0]) if checksum else None,
                      number: (STRUCT, header)})


def data_page(kind, values, optional, codec, encoding, dictionary, version, checksum):
    there = [v for v in values if v is not None]
    levels = runs([int(v is not None) for v in values], 1) if optional else b""
    if encoding == "dictionary":
        width = max(len(dictionary) - 1, 0).bit_length()
        number, body = 8, bytes([width]) + runs([dictionary.index(v) for v in there], width)
    elif encoding == "delta" and kind in ("i4", "i8"):
        number, body = 5, deltas(there)
    elif encoding == "delta" and kind == "text":
        number, body = 6, deltas([len(v) for v in there]) + b"".join(there)
    elif encoding == "runs" and kind == "bool":
        body = runs([int(v) for v in there], 1)
        number, body = 3, struct.pack("<I", len(body)) + body
    else:
        number, body = 0, plain(kind, there)
    if version == 1:
        body = (struct.pack("<I", len(levels)) + levels if optional else b"") + body
        stored = compress(codec, body)
        header = {1: (I32, len(values)), 2: (I32, number), 3: (I32, 3), 4: (I32, 3)}
        return page_header(0, len(body), stored, 5, header, checksum) + stored
    stored = levels + compress(codec, body)
    header = {1: (I32, len(values)), 2: (I32, len(values) - len(there)), 3: (I32, len(values)), 4: (I32, number),
              5: (I32, len(levels)), 6: (I32, 0)}
    return page_header(3, len(levels) + len(body), stored, 8, header, checksum) + stored


def column_pages(kind, values, optional, codec, encoding, version, page_rows, checksum):
    """Pages, and the size of the dictionary page before them."""
    dictionary = sorted({v for v in values if v is not None}) if encoding == "dictionary" else None
    pages = first = b""
    if dictionary is not None:
        body = plain(kind, dictionary)
        stored = compress(codec, body)
        first = page_header(2, len(body), stored, 7, {1: (I32, len(dictionary)), 2: (I32, 0)}, checksum) + stored
    for at in range(0, len(values), page_rows):
        pages += data_page(kind, values[at:at + page_rows], optional, codec, encoding, dictionary, version, checksum)
    return first + pages, len(first)


def table(columns, codec="none", encoding="plain", version=1, page_rows=1000, group_rows=1000, optional=True,
          checksum=False, fixed=0, nested=()):
    """`columns`: name to type and values. `nested`: names of columns within a group, which have no values."""
    rows = len(next(iter(columns.values()))[1]) if columns else 0
    out, groups = b"PAR1", []
    as_bytes = lambda v: v.encode() if isinstance(v, str) else v
    for begin in range(0, rows, group_rows):
        chunks, count = [], min(group_rows, rows - begin)
        for name, (kind, values) in columns.items():
            part = [as_bytes(v) for v in values[begin:begin + group_rows]]
            pages, first = column_pages(kind, part, optional, codec, encoding, version, page_rows, checksum)
            meta = {1: (I32, TYPES[kind]), 2: (LIST, (I32, [0, 3])), 3: (LIST, (BINARY, [name])), 4: (I32, CODECS[codec]),
                    5: (I64, count), 6: (I64, len(pages)), 7: (I64, len(pages)), 9: (I64, len(out) + first),
                    11: (I64, len(out)) if first else None}
            chunks.append({2: (I64, len(out)), 3: (STRUCT, meta)})
            out += pages
        chunks += [{3: (STRUCT, {4: (I32, 0), 5: (I64, 0), 7: (I64, 0), 9: (I64, 4)})} for _ in nested]
        groups.append({1: (LIST, (STRUCT, chunks)), 2: (I64, 0), 3: (I64, count)})
    schema = [{4: (BINARY, "schema"), 5: (I32, len(columns) + bool(nested))}]
    for name, (kind, _) in columns.items():
        schema.append({1: (I32, TYPES[kind]), 2: (I32, fixed) if kind == "fixed" else None, 3: (I32, int(optional)),
                       4: (BINARY, name), 6: (I32, 0) if kind == "text" else None})
    if nested:
        schema.append({3: (I32, 1), 4: (BINARY, "group"), 5: (I32, len(nested))})
        schema += [{1: (I32, 2), 3: (I32, 1), 4: (BINARY, name)} for name in nested]
    footer = struct_of({1: (I32, 2), 2: (LIST, (STRUCT, schema)), 3: (I64, rows), 4: (LIST, (STRUCT, groups)),
                        6: (BINARY, "tests of ndlfs")})
    return out + footer + struct.pack("<I", len(footer)) + b"PAR1"
