#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes grib_goldens.h: small GRIB messages, and their values.

Most are written and read by eccodes, some written by GDAL and read by eccodes; needs python3-numpy,
python3-eccodes and python3-gdal. What neither writes is packed here, by hand, after the Manual on Codes
(WMO-No. 306, volume I.2), and has the values that were packed.
"""
import math
import os
import pathlib
import struct
import tempfile
import zlib

import eccodes as ec
import numpy as np
from osgeo import gdal

NI, NJ = 8, 6
Y, X = np.mgrid[0:NJ, 0:NI]
WAVES = 270 + 12 * np.sin(X / 2.0) + 7 * np.cos(Y) + 0.37 * X * Y
HOLES = ((X + 2 * Y) % 5 == 0) | (Y == 3)
goldens = []


def add(name, message, values):
    """`values`: of all fields, one after the other."""
    goldens.append((name, bytes(message).hex(), np.asarray(values, "<f8").ravel().tobytes().hex()))


# Messages of eccodes.

def grid(handle, edition):
    for key, value in {"Ni": NI, "Nj": NJ, "latitudeOfFirstGridPointInDegrees": 50, "longitudeOfFirstGridPointInDegrees": 0,
                       "latitudeOfLastGridPointInDegrees": 40, "longitudeOfLastGridPointInDegrees": 14,
                       "iDirectionIncrementInDegrees": 2, "jDirectionIncrementInDegrees": 2}.items():
        ec.codes_set(handle, key, value)
    assert ec.codes_get(handle, "edition") == edition


def read(message):
    handle = ec.codes_new_from_message(message)
    ec.codes_set(handle, "missingValue", 1e30)
    values = ec.codes_get_values(handle)
    ec.codes_release(handle)
    return np.where(values == 1e30, np.nan, values)


def eccodes(name, edition, packing, bits=16, values=WAVES, holes=None, keys=None, expected=None):
    handle = ec.codes_grib_new_from_samples(f"regular_ll_pl_grib{edition}")
    grid(handle, edition)
    if holes is not None:
        ec.codes_set(handle, "bitmapPresent", 1)
        ec.codes_set(handle, "missingValue", 1e30)
        values = np.where(holes, 1e30, values)
    ec.codes_set_values(handle, values.ravel())
    if packing != "grid_simple":
        ec.codes_set(handle, "packingType", packing)
    for key, value in (keys or {}).items():
        ec.codes_set(handle, key, value)
    if bits:
        ec.codes_set(handle, "bitsPerValue", bits)
    if bits or packing == "grid_ieee":
        ec.codes_set_values(handle, values.ravel())
    message = ec.codes_get_message(handle)
    assert ec.codes_get(handle, "packingType").startswith(packing[:14]), ec.codes_get(handle, "packingType")
    ec.codes_release(handle)
    add(name, message, read(message) if expected is None else expected)
    return message


def written_by_eccodes():
    for bits in (1, 8, 11, 16, 24, 31):
        eccodes(f"Simple{bits}Bits", 2, "grid_simple", bits)
    eccodes("SimpleDecimal", 2, "grid_simple", 0, keys={"changeDecimalPrecision": 2})
    eccodes("SimpleHoles", 2, "grid_simple", 12, holes=HOLES)
    eccodes("SimpleAllMissing", 2, "grid_simple", 12, holes=np.ones((NJ, NI), bool))
    eccodes("Logarithm", 2, "grid_simple_log_preprocessing", 16)
    eccodes("Ieee32", 2, "grid_ieee", 0)
    eccodes("Ieee64", 2, "grid_ieee", 0, keys={"precision": 2})
    eccodes("Ieee32Holes", 2, "grid_ieee", 0, holes=HOLES)
    eccodes("Complex", 2, "grid_complex", 12)
    eccodes("ComplexHoles", 2, "grid_complex", 12, holes=HOLES)
    for bits in (7, 12, 16, 20):
        eccodes(f"Ccsds{bits}Bits", 2, "grid_ccsds", bits)
    eccodes("CcsdsHoles", 2, "grid_ccsds", 16, holes=HOLES)
    for bits in (7, 12, 16):
        eccodes(f"Jpeg2000Of{bits}Bits", 2, "grid_jpeg", bits)
    eccodes("Jpeg2000Holes", 2, "grid_jpeg", 12, holes=HOLES)
    eccodes("SecondOrder", 2, "grid_second_order", 12)
    eccodes("SecondOrderHoles", 2, "grid_second_order", 12, holes=HOLES)
    eccodes("Edition1Simple", 1, "grid_simple", 16)
    eccodes("Edition1SimpleHoles", 1, "grid_simple", 11, holes=HOLES)
    eccodes("Edition1Constant", 1, "grid_simple", 0, values=np.full((NJ, NI), 273.25))
    eccodes("Edition1Ieee64", 1, "grid_ieee", 0)
    for order in ("no_SPD", "SPD1", "SPD2", "SPD3", "no_boustrophedonic"):
        eccodes("Edition1SecondOrder" + order.title().replace("_", ""), 1, "grid_second_order_" + order, 12)
    eccodes("Edition1SecondOrderHoles", 1, "grid_second_order", 12, holes=HOLES)
    for scan in (0x10, 0x20, 0x40, 0x80, 0x90, 0xe0):
        keys = {"iScansNegatively": scan >> 7, "jScansPositively": scan >> 6 & 1, "jPointsAreConsecutive": scan >> 5 & 1,
                "alternativeRowScanning": scan >> 4 & 1}
        eccodes(f"Scan{scan:02x}", 2, "grid_simple", 12, keys=keys)


def gdal_message(options, holes):
    source = gdal.GetDriverByName("MEM").Create("", NI, NJ, 1, gdal.GDT_Float32)
    source.SetGeoTransform([0, 2, 0, 51, 0, -2])
    source.SetProjection('GEOGCS["x",DATUM["x",SPHEROID["x",6371229,0]],PRIMEM["Greenwich",0],'
                         'UNIT["degree",0.0174532925199433]]')
    source.GetRasterBand(1).WriteArray(np.where(HOLES & holes, -1, WAVES))
    if holes:
        source.GetRasterBand(1).SetNoDataValue(-1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.grib2")
        gdal.GetDriverByName("GRIB").CreateCopy(path, source, options=options)
        return pathlib.Path(path).read_bytes()


def written_by_gdal():
    for order in range(3):
        for holes in (False, True):
            message = gdal_message(["DATA_ENCODING=COMPLEX_PACKING", "NBITS=9", f"SPATIAL_DIFFERENCING_ORDER={order}"], holes)
            add(f"Differences{order}" + ("Missing" if holes else ""), message, read(message))
    for width in (8, 16):
        message = gdal_message(["DATA_ENCODING=PNG", f"NBITS={width}"], False)
        add(f"Png{width}Bits", message, read(message))


# Messages by hand.

def bits(numbers, width):
    """Numbers of `width` bits, highest first, to a whole byte."""
    text = "".join(format(int(number), f"0{width}b") if width else "" for number in numbers)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def signed(number, octets):
    return (abs(number) | (1 << (8 * octets - 1) if number < 0 else 0)).to_bytes(octets, "big")


def section(number, body):
    return struct.pack(">IB", len(body) + 5, number) + body


def latlon(ni=NI, nj=NJ, scan=0):
    return section(3, struct.pack(">BIBBH", 0, ni * nj, 0, 0, 0) + bytes([6]) + b"\xff" * 15 +
                   struct.pack(">IIII", ni, nj, 0, 0xffffffff) + signed(50000000, 4) + signed(0, 4) + bytes([0x30]) +
                   signed(40000000, 4) + signed(14000000, 4) + struct.pack(">IIB", 2000000, 2000000, scan))


IDENTIFICATION = section(1, struct.pack(">HHBBBHBBBBBBB", 98, 0, 4, 0, 1, 2024, 3, 15, 6, 0, 0, 0, 1))
PRODUCT = section(4, struct.pack(">HHBBBBBHBBIBBIBBI", 0, 0, 0, 0, 2, 255, 255, 0, 0, 1, 6, 103, 0, 2, 255, 255, 0xffffffff))
NO_BITMAP = section(6, b"\xff")


def message2(*sections):
    body = IDENTIFICATION + b"".join(sections)
    return b"GRIB\0\0\0\2" + struct.pack(">Q", len(body) + 20) + body + b"7777"


def packing(template, values, width, reference=250.0, e=-1, d=1, more=b""):
    return section(5, struct.pack(">IHf", values, template, reference) + signed(e, 2) + signed(d, 2) + bytes([width, 0]) + more)


def scaled(numbers, reference=250.0, e=-1, d=1):
    return (reference + np.asarray(numbers, float) * 2.0 ** e) / 10.0 ** d


NUMBERS = (np.arange(NI * NJ) * 37 % 64)


def complex_packing(template, width, groups, missing=0, differences=b"", order=0, octets=0, count=NI * NJ):
    """`groups`: references, and numbers above it with their width."""
    widths = [w for _, w, _ in groups]
    lengths = [len(numbers) for _, _, numbers in groups]
    more = struct.pack(">BBIIIBBIBIB", 1, missing, 0xffffffff, 0xfffffffe, len(groups), min(widths), 4, 2, 3, lengths[-1], 5)
    if template == 3:
        more += bytes([order, octets])
    data = differences + bits([r for r, _, _ in groups], width) + bits([w - min(widths) for w in widths], 4)
    data += bits([(n - 2) // 3 for n in lengths[:-1]] + [0], 5)
    data += bits_of_groups(groups)
    assert all((n - 2) % 3 == 0 for n in lengths[:-1]), lengths
    return packing(template, count, width, more=more), section(7, data)


def bits_of_groups(groups):
    text = "".join(format(int(n), f"0{w}b") for _, w, numbers in groups for n in numbers if w)
    return bits([int(c) for c in text], 1)


def missing_values():
    # Primary and secondary missing values in groups with numbers, and whole groups of them.
    groups = [(3, 4, [0, 15, 14, 13, 7]), (63, 0, [0] * 8), (62, 0, [0] * 2), (9, 0, [0] * 5), (0, 6, range(28))]
    five, data = complex_packing(2, 6, groups, missing=2)
    numbers = [3, np.nan, np.nan, 16, 10] + [np.nan] * 10 + [9.0] * 5 + list(range(28))
    add("TwoMissingValues", message2(latlon(), PRODUCT, five, NO_BITMAP, data), scaled(numbers))
    # Differences leave out what is missing.
    values = [None, 20, None, 23, 22, None, 30, 31] + [30 - i % 3 * 5 for i in range(39)] + [None]
    here = [v for v in values if v is not None]
    second = [0, 0] + [here[i] - 2 * here[i - 1] + here[i - 2] for i in range(2, len(here))]
    bias = min(second)
    left = iter(second[:2] + [s - bias for s in second[2:]])
    packed = [63 if v is None else next(left) for v in values]
    groups = [(0, 6, packed[:20]), (0, 6, packed[20:])]
    head = struct.pack(">HH", here[0], here[1]) + signed(bias, 2)
    five, data = complex_packing(3, 6, groups, missing=1, differences=head, order=2, octets=2)
    add("DifferencesBetweenMissing", message2(latlon(), PRODUCT, five, NO_BITMAP, data),
        scaled([np.nan if v is None else v for v in values]))


def png(width, height, depth, colour, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def pictures():
    for depth in (1, 2, 4):
        numbers = NUMBERS % (1 << depth)
        rows = [bits(numbers[at:at + 6], depth) for at in range(0, 48, 6)]  # rows end within a byte
        add(f"PngGrey{depth}", message2(latlon(), PRODUCT, packing(41, 48, depth), NO_BITMAP,
                                        section(7, png(6, 8, depth, 0, rows))), scaled(numbers))
    numbers = NUMBERS * 12345
    rows = [bits(numbers[at:at + 8], 24) for at in range(0, 48, 8)]
    add("PngRgb", message2(latlon(), PRODUCT, packing(40010, 48, 24), NO_BITMAP, section(7, png(8, 6, 8, 2, rows))),
        scaled(numbers))


def run_lengths():
    levels = [10, 20, 35, 50, 90]  # with a decimal scale of 1
    runs = [(1, 3), (0, 20), (5, 1), (2, 7), (3, 1), (4, 16)]
    most, width = 5, 3
    base = (1 << width) - 1 - most
    numbers = []
    for level, length in runs:
        numbers.append(level)
        rest = length - 1
        while rest:
            numbers.append(most + 1 + rest % base)
            rest //= base
    five = section(5, struct.pack(">IHBHHB", 48, 200, width, most, len(levels), 1) + struct.pack(">5H", *levels))
    values = [np.nan if level == 0 else levels[level - 1] / 10 for level, length in runs for _ in range(length)]
    assert len(values) == 48
    add("RunLength", message2(latlon(), PRODUCT, five, NO_BITMAP, section(7, bits(numbers, width))), values)


def submessages():
    five = packing(0, 48, 6)
    seven = section(7, bits(NUMBERS, 6))
    few = 48 - int(HOLES.sum())
    bitmap = section(6, b"\0" + bits((~HOLES).ravel().astype(int), 1))
    again = section(6, b"\xfe")
    holed = np.full(48, np.nan)
    holed[~HOLES.ravel()] = scaled(NUMBERS[:few])
    other = holed * 1.0
    other[~HOLES.ravel()] = scaled(NUMBERS[:few], reference=-3)
    add("SubmessagesShareABitmap", message2(
        latlon(), PRODUCT, packing(0, few, 6), bitmap, section(7, bits(NUMBERS[:few], 6)),
        PRODUCT, packing(0, few, 6, reference=-3), again, section(7, bits(NUMBERS[:few], 6)),
        latlon(6, 8), PRODUCT, five, NO_BITMAP, seven), [holed, other, scaled(NUMBERS)])


def constants():
    # eccodes reads these without the decimal scale.
    for template, more in ((0, b""), (40, b"\0\xff"), (41, b""), (42, struct.pack(">BBH", 14, 32, 128))):
        add(f"Constant{template}", message2(latlon(), PRODUCT, packing(template, 48, 0, 22343, 0, 2, more), NO_BITMAP,
                                            section(7, b"")), np.full(48, 223.43))
    five, data = complex_packing(2, 0, [(0, 0, [0] * 48)])
    add("ConstantComplex", message2(latlon(), PRODUCT, five, NO_BITMAP, data), scaled([0] * 48))
    # No group at all, as ecCodes leaves it where it cannot pack; every value is the reference.
    for template in (2, 3):
        more = struct.pack(">BBIIIBBIBIB", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + bytes([1, 0] if template == 3 else [])
        add(f"NoGroups{template}", message2(latlon(), PRODUCT, packing(template, 48, 0, 22343, 0, 0, more), NO_BITMAP,
                                            section(7, b"")), np.full(48, 22343.0))


def ibm(number):
    exponent = max(0, math.ceil(math.log(abs(number), 16))) if number else 0
    fraction = round(abs(number) / 16.0 ** exponent * 2 ** 24)
    return struct.pack(">I", (0x80000000 if number < 0 else 0) | (exponent + 64) << 24 | fraction)


def message1(data, flags, width, bitmap=b"", reference=-250.5, e=-1, d=1, unused=0):
    product = bytes([0, 0, 28, 128, 98, 1, 255, 0x80 | (0x40 if bitmap else 0), 11, 105, 0, 2, 24, 3, 15, 6, 0, 1, 6, 0, 0, 0, 0,
                     0, 21, 0]) + signed(d, 2)
    area = struct.pack(">HH", NI, NJ) + signed(50000, 3) + signed(0, 3) + bytes([0x80]) + signed(40000, 3) + signed(14000, 3)
    grid1 = bytes([0, 0, 32, 0, 255, 0]) + area + struct.pack(">HHB", 2000, 2000, 0) + bytes(4)
    body = signed(e, 2) + ibm(reference) + bytes([width]) + data
    data4 = (len(body) + 4).to_bytes(3, "big") + bytes([flags << 4 | unused]) + body
    body = product + grid1 + bitmap + data4
    return b"GRIB" + (len(body) + 12).to_bytes(3, "big") + b"\1" + body + b"7777"


def second_order():
    """The second order packings of edition 1 that eccodes reads and does not write."""
    def head(flags, groups, values):
        return struct.pack(">HBHHHB", 0, flags, 0, groups, values, 0)
    rows = [(10 + row, row % 4, [(row + i) % (1 << row % 4) for i in range(NI)]) for row in range(NJ)]
    numbers = [reference + n for reference, _, row in rows for n in row]
    widths = bytes(width for _, width, _ in rows)
    first = bits([reference for reference, _, _ in rows], 5)
    message = message1(head(0x10, NJ, 48) + widths + first + bits_of_groups(rows), 4, 5)
    add("Edition1RowByRow", message, scaled(numbers, -250.5))
    here = [[n for n, hole in zip(row, HOLES[j]) if not hole] for j, (_, _, row) in enumerate(rows)]
    shown = [(r, w, numbers) for (r, w, _), numbers in zip(rows, here)]
    bitmap = (~HOLES).ravel().astype(int)
    bitmap = bytes([0, 0, 12, 0, 0, 0]) + bits(bitmap, 1)
    holed = np.full(48, np.nan)
    holed[~HOLES.ravel()] = scaled([r + n for r, _, numbers in shown for n in numbers], -250.5)
    add("Edition1RowByRowHoles", message1(head(0x10, NJ, 40) + widths + first + bits_of_groups(shown), 4, 5, bitmap), holed)
    groups = [(7, 3, [1, 2, 7]), (0, 0, [0] * 30), (31, 1, [0, 1] * 7), (4, 6, [63])]
    starts = [int(i == 0) for _, _, numbers in groups for i in range(len(numbers))]
    numbers = [reference + n for reference, _, group in groups for n in group]
    first = bits([reference for reference, _, _ in groups], 5)
    widths = bytes(width for _, width, _ in groups)
    message = message1(head(0x30, 4, 48) + widths + bits(starts, 1) + first + bits_of_groups(groups), 4, 5)
    add("Edition1General", message, scaled(numbers, -250.5))
    same = [(r, 3, [n % 8 for n in numbers]) for r, _, numbers in groups]
    numbers = [reference + n for reference, _, group in same for n in group]
    message = message1(head(0x20, 4, 48) + b"\3" + bits(starts, 1) + first + bits_of_groups(same), 4, 5)
    add("Edition1ConstantWidth", message, scaled(numbers, -250.5))


def compare_with_eccodes(names):
    """What eccodes also reads."""
    for name, message, values in goldens:
        if name in names:
            values = np.frombuffer(bytes.fromhex(values), "<f8")
            np.testing.assert_allclose(read(bytes.fromhex(message)), values, rtol=1e-14, err_msg=name)


def write(path):
    lines = ["// SPDX-License-Identifier: MIT", "//", "// Written by make_grib_goldens.py; not to be edited.", "#pragma once", "",
             "namespace ndlfs::backends {", "",
             "// A message of fields of 8 x 6 points in hexadecimal, and their float64 values in stored order.",
             "struct GribGolden {", "  const char* test_name;", "  const char* message;", "  const char* values;", "};", "",
             "// clang-format off", "inline constexpr GribGolden kGribGoldens[] = {"]
    for name, message, values in goldens:
        lines += [f'    {{"{name}",', f'     "{message}",', f'     "{values}"}},']
    lines += ["};", "// clang-format on", "", "}  // namespace ndlfs::backends", ""]
    path.write_text("\n".join(lines))


written_by_eccodes()
written_by_gdal()
missing_values()
pictures()
run_lengths()
submessages()
constants()
second_order()
compare_with_eccodes({"TwoMissingValues", "DifferencesBetweenMissing", "ConstantComplex", "NoGroups2", "NoGroups3",
                      "Edition1RowByRow",
                      "Edition1RowByRowHoles", "Edition1General", "Edition1ConstantWidth"})
write(pathlib.Path(__file__).with_name("grib_goldens.h"))
