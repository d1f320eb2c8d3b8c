# SPDX-License-Identifier: MIT
"""Messages of GRIB edition 2, made by hand after the Manual on Codes (WMO-No. 306, volume I.2)."""
import struct

import numpy as np


def section(number, body):
    return struct.pack(">IB", len(body) + 5, number) + body


def signed(value):
    """Sign and magnitude, as all numbers of GRIB."""
    return value if value >= 0 else 1 << 31 | -value


def grid(ni, nj):
    """Points of whole degrees from 60 degrees north, 10 degrees east."""
    degree = 1000000
    return section(3, struct.pack(">BIBBHB15xII4xIIIBIIIIB", 0, ni * nj, 0, 0, 0, 6, ni, nj, 0xffffffff, 60 * degree,
                                  10 * degree, 0x30, signed(max(61 - nj, -90) * degree), min(9 + ni, 369) * degree, degree,
                                  degree, 0))


def field(values, category=0, number=0, surface=100, level=50000, hours=0, length=None, bits=None):
    """Sections 4 to 7. Values are IEEE floats, or of `bits` bits, which then are 0."""
    values = np.asarray(values, ">f4")
    product = struct.pack(">HHBBBBBHBBIBBIBBI", 0, 0 if length is None else 8, category, number, 2, 0, 0, 0, 0, 1, hours,
                          surface, 0, level, 255, 0, 0)
    if length is not None:
        end = hours + length
        product += struct.pack(">HBBBBBBIBBBIBI", 2025, 1, 1 + end // 24, end % 24, 0, 0, 1, 0, 1, 2, 1, length, 1, 0)
    packing = struct.pack(">IHB", values.size, 4, 1)
    data = values.tobytes()
    if bits is not None:
        packing = struct.pack(">IHfHHBB", values.size, 0, 0.0, 0, 0, bits, 0)
        data = bytes((values.size * bits + 7) // 8)
    return section(4, product) + section(5, packing) + section(6, b"\xff") + section(7, data)


def whole(sections, length=None):
    """A message of these sections, with its length or another one."""
    length = len(sections) + 20 if length is None else length
    return b"GRIB" + struct.pack(">HBBQ", 0, 0, 2, length) + sections + b"7777"


IDENTIFICATION = section(1, struct.pack(">HHBBBHBBBBBBB", 7, 0, 2, 1, 1, 2025, 1, 1, 0, 0, 0, 0, 1))


def message(values, **keys):
    values = np.asarray(values, "f4")
    nj, ni = values.shape
    return whole(IDENTIFICATION + grid(ni, nj) + field(values, **keys))


def packed_message(numbers, ni, nj, reference=0.0, scan=0):
    """A field of ni x nj points with simple packing, whose values are `reference` + numbers of 16 bits. Its grid begins at 50
    degrees north, and has steps of 2 degrees."""
    points = struct.pack(">BIBBH", 0, ni * nj, 0, 0, 0) + bytes([6]) + b"\xff" * 15
    points += struct.pack(">IIIIIIBIIIIB", ni, nj, 0, 0xffffffff, 50000000, 0, 0x30, 40000000, 14000000, 2000000, 2000000, scan)
    product = struct.pack(">HHBBBBBHBBIBBIBBI", 0, 0, 0, 0, 2, 255, 255, 0, 0, 1, 6, 103, 0, 2, 255, 255, 0xffffffff)
    origin = struct.pack(">HHBBBHBBBBBBB", 98, 0, 4, 0, 1, 2024, 3, 15, 6, 0, 0, 0, 1)
    packing = struct.pack(">IHfHHBB", ni * nj, 0, reference, 0, 0, 16, 0)
    return whole(section(1, origin) + section(3, points) + section(4, product) + section(5, packing) + section(6, b"\xff") +
                 section(7, struct.pack(f">{ni * nj}H", *numbers)))
