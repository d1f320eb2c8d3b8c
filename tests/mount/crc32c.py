# SPDX-License-Identifier: MIT
"""The checksum of Zarr's codec crc32c."""
import struct


def _entry(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data):
    """The four bytes that the codec adds."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 255] ^ value >> 8
    return struct.pack("<I", value ^ 0xFFFFFFFF)
