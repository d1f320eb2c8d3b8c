# SPDX-License-Identifier: MIT
"""TIFF files made by hand: directories with any fields, right or wrong."""
import struct

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 11: 4, 12: 8, 13: 4, 16: 8}
CODES = {1: "B", 3: "H", 4: "I", 11: "f", 12: "d", 13: "I", 16: "Q"}


class Writer:
    """A little-endian file: `data` appends bytes, `directory` appends fields and links them."""

    def __init__(self):
        self.content = bytearray(b"II\x2a\0\0\0\0\0")
        self.link = 4

    def data(self, content):
        self.content += content
        return len(self.content) - len(content)

    def directory(self, fields, linked=True):
        """`fields`: by tag, (type, values); values may be bytes, then a count may follow."""
        entries = struct.pack("<H", len(fields))
        for tag, (kind, values, *count) in sorted(fields.items()):
            if isinstance(values, bytes):
                content, number = values, count[0] if count else len(values)
            else:
                content = b"".join(struct.pack("<" + CODES[kind], value) for value in values)
                number = len(values)
            if len(content) > 4:
                content = struct.pack("<I", self.data(content))
            entries += struct.pack("<HHI", tag, kind, number) + content.ljust(4, b"\0")
        offset = self.data(entries)
        if linked:
            self.lead_to(offset)
            self.link = len(self.content)
        self.content += bytes(4)
        return offset

    def lead_to(self, offset):
        struct.pack_into("<I", self.content, self.link, offset)


def fields_of(array, offsets, counts, rows, **more):
    """The fields of an image in strips of so many rows, by tag; those of `more` are called t256, t257 ..."""
    kind = {"u": 1, "i": 2, "f": 3}[array.dtype.kind]
    fields = {256: (4, [array.shape[1]]), 257: (4, [array.shape[0]]), 258: (3, [array.itemsize * 8]), 259: (3, [1]),
              262: (3, [1]), 273: (4, offsets), 277: (3, [1]), 278: (4, [rows]), 279: (4, counts), 339: (3, [kind])}
    fields.update({int(name[1:]): field for name, field in more.items()})
    return fields


def image(array, rows=None, compress=bytes, **more):
    """A file with one image of a 2-D array; `compress` encodes a strip."""
    writer = Writer()
    rows = rows or len(array)
    strips = [compress(array[at:at + rows].tobytes()) for at in range(0, len(array), rows)]
    offsets = [writer.data(strip) for strip in strips]
    writer.directory(fields_of(array, offsets, [len(strip) for strip in strips], rows, **more))
    return bytes(writer.content)


PLACE = {"t33550": (12, [10.0, 10.0, 0.0]), "t33922": (12, [0.0, 0.0, 0.0, 500000.0, 4000000.0, 0.0]),
         "t34735": (3, [1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32632, 3076, 0, 1, 9001])}
