# SPDX-License-Identifier: MIT
"""Writes GRIB 2 messages with simple packing, after the Manual on Codes (WMO-No. 306)."""
import struct


def section(number, body):
    return struct.pack(">IB", len(body) + 5, number) + body


def message(numbers, ni, nj, reference=0.0, scan=0):
    """A field of ni x nj points, whose values are `reference` + numbers of 16 bits."""
    grid = struct.pack(">BIBBH", 0, ni * nj, 0, 0, 0) + bytes([6]) + b"\xff" * 15
    grid += struct.pack(">IIIIIIBIIIIB", ni, nj, 0, 0xffffffff, 50000000, 0, 0x30, 40000000, 14000000, 2000000, 2000000, scan)
    product = struct.pack(">HHBBBBBHBBIBBIBBI", 0, 0, 0, 0, 2, 255, 255, 0, 0, 1, 6, 103, 0, 2, 255, 255, 0xffffffff)
    body = section(1, struct.pack(">HHBBBHBBBBBBB", 98, 0, 4, 0, 1, 2024, 3, 15, 6, 0, 0, 0, 1)) + section(3, grid)
    body += section(4, product) + section(5, struct.pack(">IHfHHBB", ni * nj, 0, reference, 0, 0, 16, 0))
    body += section(6, b"\xff") + section(7, struct.pack(f">{ni * nj}H", *numbers))
    return b"GRIB\0\0\0\2" + struct.pack(">Q", len(body) + 20) + body + b"7777"
