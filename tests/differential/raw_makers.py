# SPDX-License-Identifier: MIT
"""Headers of text with plain data behind or beside them, by the letter of their specifications."""
import bz2
import gzip
import json
import os
import zlib

import harness
import numpy as np

from arrays import NUMBERS, Array, draw_numbers, draw_shape

JUNK = b"bytes of another\nprogram\n\n\x00\xff"  # three lines, and more


def name_of(path):
    """The name of the array: that of the file, up to its extension."""
    return os.path.basename(path).split(".")[0]


def as_text(d, stored):
    """Numbers with blanks, line ends or commas between them."""
    between = {"blank": " ", "line": "\n", "comma": ", ", "tab": "\t"}[d.pick("between", "blank", "line", "comma", "tab")]
    words = [str(item) if stored.dtype.kind in "iu" else repr(float(item)) for item in stored.ravel()]
    return (between.join(words) + "\n").encode()


def draw_steps(d, shape, names, must=False):
    """Coordinates of the dimensions, the slowest one first: {dimension: (name, first, step)}."""
    return {axis: (names[axis], float(d.pick(f"first of {axis}", 0, -2.5, 100)), float(d.pick(f"step of {axis}", 1, 0.25, 3)))
            for axis in range(len(shape)) if must or d.chance(f"coordinate {axis}", .5)}


def coordinates_of(steps, shape):
    return {name: Array(first + step * np.arange(shape[axis], dtype="f8")) for axis, (name, first, step) in steps.items()}


NRRD_NAMES = {"i1": ("int8", "signed char", "int8_t"), "u1": ("uint8", "uchar", "unsigned char", "uint8_t"),
              "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
              "u2": ("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"), "i4": ("int", "signed int", "int32", "int32_t"),
              "u4": ("uint", "unsigned int", "uint32", "uint32_t"),
              "i8": ("longlong", "long long", "long long int", "signed long long", "signed long long int", "int64", "int64_t"),
              "u8": ("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"),
              "f4": ("float",), "f8": ("double",), "V3": ("block",), "c8": ("float",), "c16": ("double",)}


def make_nrrd(d, path):
    """The data in the same file, in another one, or in several ones, each with a part of the slowest dimension."""
    dtype = np.dtype(d.pick("type", *NUMBERS, "c8", "c16", "V3"))
    stored = draw_numbers(d, dtype, draw_shape(d, 1, 5))
    place = d.pick("place", "attached", "beside", "list", "pattern")
    is_one = place in ("attached", "beside")
    encoding = d.pick("encoding", "raw", *["gzip", "gz", "bzip2", "bz2"] * is_one, *["ascii", "text", "txt"] * (is_one and dtype.kind in "iuf"))
    is_text, order = encoding in ("ascii", "text", "txt"), d.pick("order", "little", "big")
    sizes = [*[2] * (dtype.kind == "c"), *stored.shape[::-1]]
    fields = {"type": d.pick("name of the type", *NRRD_NAMES[dtype.str[1:]]), "dimension": len(sizes), "sizes": " ".join(map(str, sizes)), "encoding": encoding}
    if dtype.kind == "V":
        fields["block size"] = dtype.itemsize
    elif dtype.itemsize > 1 and not is_text:
        fields["endian"] = order
    if dtype.kind == "c":
        fields["kinds"] = " ".join(["complex", *["domain"] * stored.ndim])
    array, coordinates = Array(stored), add_nrrd_meaning(d, stored, len(sizes), fields)
    if "content" in fields:
        array.attributes["long_name"] = fields["content"]
    content = as_text(d, stored) if is_text else stored.astype(dtype.newbyteorder("<" if order == "little" else ">")).tobytes()
    put_nrrd(d, path, stored, fields, content)
    return {name_of(path): array} | coordinates


def add_nrrd_meaning(d, stored, axes, fields):
    """Fields about the dimensions, the fastest one first."""
    names = [f"{'abcde'[axis]}xis" for axis in range(stored.ndim)]
    form, own, steps = d.pick("form", "none", "spacings", "mins and maxs", "space"), axes - stored.ndim, {}
    if form != "none":
        steps = draw_steps(d, stored.shape, names, must=form == "space")
        fields["labels"] = " ".join(['""'] * own + [f'"{name}"' for name in names[::-1]])
    fastest = [None] * own + [steps.get(axis) for axis in range(stored.ndim)][::-1]
    sizes = [1] * own + [*stored.shape[::-1]]
    if form == "spacings":
        fields["spacings"] = " ".join("nan" if one is None else repr(one[2]) for one in fastest)
        fields["axis mins"] = " ".join("NaN" if one is None else repr(one[1]) for one in fastest)
    elif form == "mins and maxs":
        cell = d.chance("cells", .5) or 1 in stored.shape  # a single node has no step
        edge = .5 if cell else 0
        fields["axis mins"] = " ".join("nan" if one is None else repr(one[1] - edge * one[2]) for one in fastest)
        fields["axis maxs"] = " ".join("nan" if one is None else repr(one[1] + (n - 1 + edge) * one[2]) for one, n in zip(fastest, sizes))
        fields["centers"] = " ".join("???" if one is None else "cell" if cell else "node" for one in fastest)
    elif form == "space":
        fields["space dimension"] = stored.ndim
        unit = lambda axis, step: "(" + ",".join(repr(step if i == axis else 0.0) for i in range(stored.ndim)) + ")"
        fields["space directions"] = " ".join(["none"] * own + [unit(i, one[2]) for i, one in enumerate(fastest[own:])])
        fields["space origin"] = "(" + ",".join(repr(one[1]) for one in fastest[own:]) + ")"
    if d.chance("content", .3):
        fields["content"] = d.pick("what", "a", "two words", "a: b := c")
    return coordinates_of(steps, stored.shape)


def nrrd_header(d, fields, end=b""):
    """The lines in any order, with comments and keys between them. "dimension" comes before what has a word for each."""
    line_end = {"LF": "\n", "CR LF": "\r\n"}[d.pick("line end", "LF", "CR LF")]
    last = [f"data file: {fields.pop('data file')}"] if "data file" in fields else []
    lines = [f"{name.capitalize() if d.chance('capitals', .2) else name}: {value}" for name, value in fields.items()]
    if d.chance("more lines", .3):
        lines[1:1] = ["# a comment", "key:=value", "an other key:=sizes: 3 \\n"]
    return line_end.join([f"NRRD000{d.pick('version', 4, 5)}", *lines, *last, ""]).encode() + end.replace(b"\n", line_end.encode())


def put_nrrd(d, path, stored, fields, content):
    encoding, place = fields["encoding"], d.said["place"]
    packed = {"gz": gzip.compress, "bz": bz2.compress}.get(encoding.replace("gzip", "gz")[:2], bytes)
    is_raw, has_lines = encoding == "raw", place in ("attached", "beside") and d.chance("lines are skipped", .3)
    lines = JUNK[:JUNK.index(b"\n\n") + 2] if has_lines else b""
    if has_lines:
        fields["line skip"] = lines.count(b"\n")
    skip = d.pick("bytes are skipped", "none", "some", *["all before"] * (is_raw and place in ("attached", "beside"))) if encoding[:2] != "bz" else "none"
    before = JUNK if skip != "none" else b""
    if before:
        fields["byte skip"] = len(JUNK) if skip == "some" else -1
    if place in ("attached", "beside"):
        data = lines + packed(before + content)
        if place == "attached":
            harness.write(path, nrrd_header(d, fields, b"\n") + data)
        else:
            fields["data file"] = os.path.basename(path) + ".data"
            harness.write(path + ".data", data)
            harness.write(path, nrrd_header(d, fields))
        return
    # Several files: each has one place of the slowest dimension, or as many dimensions as the whole.
    rows = stored.shape[0]
    counts = [rows] + [n for n in range(1, rows) if rows % n == 0]
    count = d.pick("files", *counts)
    dimension = f" {fields['dimension']}" if count != rows or d.chance("all dimensions", .3) else ""
    first, step = d.whole("first", 0, 3), d.pick("step", 1, 2)
    names = [f"{os.path.basename(path)}.{first + step * i:03d}" for i in range(count)]
    for i, name in enumerate(names):
        part = len(content) // count
        harness.write(os.path.join(os.path.dirname(path), name), before + content[i * part:(i + 1) * part])
    if place == "list":
        fields["data file"] = f"LIST{dimension}"
        harness.write(path, nrrd_header(d, fields, "".join(name + "\n" for name in names).encode()))
    else:
        fields["data file"] = f"{os.path.basename(path)}.%03d {first} {first + step * (count - 1)} {step}{dimension}"
        harness.write(path, nrrd_header(d, fields))


META_NAMES = {"i1": ("MET_CHAR",), "u1": ("MET_UCHAR",), "i2": ("MET_SHORT",), "u2": ("MET_USHORT",), "i4": ("MET_INT", "MET_LONG"),
              "u4": ("MET_UINT", "MET_ULONG"), "i8": ("MET_LONG_LONG",), "u8": ("MET_ULONG_LONG",), "f4": ("MET_FLOAT",), "f8": ("MET_DOUBLE",)}


def make_metaimage(d, path):
    """The data in the same file, in another one, or in several ones."""
    dtype, shape = np.dtype(d.pick("type", *NUMBERS)), draw_shape(d, 1, 5)
    channels = d.pick("channels", 1, 1, 1, 2, 3)
    array = Array(draw_numbers(d, dtype, (*shape, channels) if channels > 1 else shape))
    place = d.pick("place", "attached", "beside", "list", "pattern")
    is_one = place in ("attached", "beside")
    form = d.pick("form", "raw", *["compressed", "text"] * is_one)
    name = d.pick("name of the type", *META_NAMES[dtype.str[1:]]) + ("_ARRAY" if channels > 1 and d.chance("is called an array", .5) else "")
    fields = {"ObjectType": "Image", "NDims": len(shape)}
    is_big = d.chance("big", .4)
    if form == "text":
        fields["BinaryData"] = "False"
    else:
        fields["BinaryData"] = "True"
        fields[d.pick("name of the order", "BinaryDataByteOrderMSB", "ElementByteOrderMSB")] = str(is_big)
    steps = {}
    if d.chance("has coordinates", .5):
        names = ["x", "y", "z", "t", "axis4"][:len(shape)][::-1]
        steps = draw_steps(d, shape, names, must=True)
        fastest = [steps[axis] for axis in range(len(shape))][::-1]
        fields[d.pick("name of the offset", "Offset", "Position", "Origin")] = " ".join(repr(one[1]) for one in fastest)
        fields[d.pick("name of the spacing", "ElementSpacing", "ElementSize")] = " ".join(repr(one[2]) for one in fastest)
        if d.chance("has a matrix", .5):
            fields["TransformMatrix"] = " ".join(str(int(i == j)) for i in range(len(shape)) for j in range(len(shape)))
    fields["DimSize"] = " ".join(map(str, shape[::-1]))
    if channels > 1 or d.chance("says one channel", .2):
        fields["ElementNumberOfChannels"] = channels
    if d.chance("scaled", .2):
        factor, offset = d.pick("factor", 2.0, 0.5), d.pick("offset", 0.0, 10.0)
        fields |= {"ElementToIntensityFunctionSlope": factor, "ElementToIntensityFunctionOffset": offset}
        array.attributes = {"scale_factor": factor, "add_offset": offset}
    content = as_text(d, array.stored) if form == "text" else array.stored.astype(dtype.newbyteorder(">" if is_big else "<")).tobytes()
    if form == "compressed":
        content = zlib.compress(content)
        fields["CompressedData"] = "True"
        if d.chance("says the size", .7):
            fields["CompressedDataSize"] = len(content)
    fields["ElementType"] = name
    put_metaimage(d, path, shape, fields, content)
    return {name_of(path): array} | coordinates_of(steps, shape)


def put_metaimage(d, path, shape, fields, content):
    place, before = d.said["place"], b""
    skip = d.pick("header size", "none", *["some"] * (place != "attached"), *["all before"] * (d.said["form"] == "raw" and place in ("attached", "beside")))
    if skip != "none":
        before = JUNK if place != "attached" else b""
        fields["HeaderSize"] = len(JUNK) if skip == "some" else -1
    line_end = {"LF": "\n", "CR LF": "\r\n"}[d.pick("line end", "LF", "CR LF")]
    rows, name = shape[0], os.path.basename(path)
    parts = {f"{name}.data": before + content}
    if place == "attached":
        data_file = "LOCAL"
    elif place == "beside":
        data_file = f"{name}.data"
    else:
        count = rows
        part = len(content) // count
        first, step = d.whole("first", 0, 3), d.pick("step", 1, 2)
        parts = {f"{name}.{first + step * i:03d}": before + content[i * part:(i + 1) * part] for i in range(count)}
        data_file = "LIST" if place == "list" else f"{name}.%03d {first} {first + step * (count - 1)} {step}"
    header = line_end.join(f"{key} = {value}" for key, value in (fields | {"ElementDataFile": data_file}).items()) + line_end
    if place == "list":
        header += "".join(part + line_end for part in parts)
    harness.write(path, header.encode() + (content if place == "attached" else b""))
    for name, part in parts.items() if place != "attached" else ():
        harness.write(os.path.join(os.path.dirname(path), name), part)


ENVI_TYPES = {"u1": 1, "i2": 2, "i4": 3, "f4": 4, "f8": 5, "c8": 6, "c16": 9, "u2": 12, "u4": 13, "i8": 14, "u8": 15}
# (band, line, sample) in the order of the file.
INTERLEAVES = {"bsq": (0, 1, 2), "bil": (1, 0, 2), "bip": (1, 2, 0)}


def make_envi(d, path):
    """The data are beside the header."""
    dtype = np.dtype(d.pick("type", *ENVI_TYPES))
    shape = tuple(d.whole(name, 1, 6) for name in ("bands", "lines", "samples"))
    interleave = d.pick("interleave", *INTERLEAVES)
    sizes = tuple(shape[axis] for axis in INTERLEAVES[interleave])
    stored, is_big = draw_numbers(d, dtype, sizes), d.chance("big", .4)
    array, fields = Array(stored), {"samples": shape[2], "lines": shape[1], "bands": shape[0]}
    if shape[0] == 1 and d.chance("one band is not said", .3):
        del fields["bands"]
    fields |= {"file type": "ENVI Standard", "data type": ENVI_TYPES[dtype.str[1:]], "byte order": int(is_big)}
    word = {"lower": str.lower, "upper": str.upper, "capitalized": str.capitalize}[d.pick("case", "lower", "upper", "capitalized")](interleave)
    fields |= {"interleave": word} if interleave != "bsq" or d.chance("says bsq", .7) else {}
    if dtype.kind != "c":
        add_envi_meaning(d, array, shape[0], fields)
    content = array.stored.astype(dtype.newbyteorder(">" if is_big else "<"))
    content = in_frames(d, content, fields)
    offset = d.pick("offset", 0, len(JUNK))
    if offset or d.chance("says 0", .5):
        fields["header offset"] = offset
    content = JUNK[:offset] + content
    if "major frame offsets" not in fields and d.chance("compressed", .2):
        fields["file compression"] = 1
        content = gzip.compress(content)
    coordinates = place_envi(d, fields, shape)
    if array.stored.size and shape[0] == 1:
        array.stored = array.stored.reshape(shape[1:])
    values = [f"{key} = {value}" for key, value in fields.items()]
    if d.chance("in other lines", .3):
        values[1:1] = ["description = {\n  lines = 7,\n  x}", "; a comment", "band names = {a,\n b}"]
    harness.write(path, ("ENVI\n" + "\n".join(values) + "\n").encode())
    harness.write(path.removesuffix(".hdr") + d.pick("ending", ".img", "", ".dat", ".raw", f".{interleave}"), content)
    return {name_of(path): array} | coordinates


def add_envi_meaning(d, array, bands, fields):
    if d.chance("has missing", .3):
        fill = array.stored.dtype.type(d.pick("fill", 0, 99) if array.stored.dtype.kind == "u" else d.pick("fill", 0, -99))
        array.stored[d.random("missing").random(array.stored.shape) < .2] = fill
        fields["data ignore value"] = fill
        array.attributes["_FillValue"] = fill
    if d.chance("scaled", .2):
        factor, offset = d.pick("factor", 2.0, 0.5), d.pick("summand", 10.0, -0.5)
        in_words = lambda number: "{" + ", ".join([str(number)] * bands) + "}" if d.chance("for each band", .7) else str(number)
        fields |= {"data gain values": in_words(factor), "data offset values": in_words(offset)}
        array.attributes |= {"scale_factor": factor, "add_offset": offset}


def in_frames(d, content, fields):
    """The bytes, with others around each place of the two slower dimensions of the file."""
    if not d.chance("frames", .2):
        return content.tobytes()
    major = d.whole("before major", 0, 5), d.whole("behind major", 0, 5)
    minor = d.whole("before minor", 0, 5), d.whole("behind minor", 0, 5)
    fields |= {"major frame offsets": "{%d, %d}" % major, "minor frame offsets": "{%d, %d}" % minor}
    frame = lambda data, sizes: b"P" * sizes[0] + data + b"S" * sizes[1]
    return b"".join(frame(b"".join(frame(row.tobytes(), minor) for row in outer), major) for outer in content)


def place_envi(d, fields, shape):
    found = {}
    if d.chance("on a map", .4):
        pixel, corner, step = d.pick("pixel", 1.0, 1.5), (10.0, 50.0), (0.5, 0.25)
        is_geographic = d.chance("geographic", .5)
        words = ["Geographic Lat/Lon" if is_geographic else "Arbitrary", pixel, pixel, *corner, *step]
        fields["map info"] = "{" + ", ".join(map(str, words)) + "}"
        middle = 1.5 - pixel  # pixel (1, 1) is the outer corner
        found["lon" if is_geographic else "x"] = Array(corner[0] + (np.arange(shape[2]) + middle) * step[0])
        found["lat" if is_geographic else "y"] = Array(corner[1] - (np.arange(shape[1]) + middle) * step[1])
    if shape[0] > 1 and d.chance("wavelengths", .4):
        waves = 400 + 12.5 * np.arange(shape[0])
        fields["wavelength"] = "{" + ",\n ".join(map(str, waves)) + "}"
        fields["wavelength units"] = "Nanometers"
        found["wavelength"] = Array(waves, attributes={"units": "Nanometers"})
    return found


PRECOMPUTED_TYPES = {"u1": "uint8", "i1": "int8", "u2": "uint16", "i2": "int16", "u4": "uint32", "i4": "int32", "u8": "uint64", "f4": "float32"}


def make_precomputed(d, path):
    """Neuroglancer's volumes of one scale: files of raw chunks, in which x is the fastest dimension, and channels are the slowest."""
    dtype, channels = np.dtype(d.pick("type", *PRECOMPUTED_TYPES)), d.pick("channels", 1, 1, 3)
    sizes = [d.whole(f"size {axis}", 1, 6) for axis in "xyz"]
    chunk = [d.whole(f"chunk {axis}", 1, 4) for axis in "xyz"]
    offset = [d.pick(f"offset {axis}", 0, 7) for axis in "xyz"]
    steps = [d.pick(f"step {axis}", 1, 4, 2.5) for axis in "xyz"]
    stored = draw_numbers(d, dtype, (channels, *sizes[::-1]))
    harness.write(os.path.join(path, "info"), json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": PRECOMPUTED_TYPES[dtype.str[1:]], "num_channels": channels,
        "scales": [{"key": "s0", "size": sizes, "chunk_sizes": [chunk], "resolution": steps, "encoding": "raw", "voxel_offset": offset}]}).encode())
    packed = d.chance("packed", .3)
    for index in np.ndindex(*(-(-size // side) for size, side in zip(sizes, chunk))):
        begins = [i * side for i, side in zip(index, chunk)]
        ends = [min(begin + side, size) for begin, side, size in zip(begins, chunk, sizes)]
        part = stored[(slice(None), *(slice(begin, end) for begin, end in zip(begins[::-1], ends[::-1])))]
        if not part.tobytes().strip(b"\0") and d.chance("absent", .5):
            continue  # what is absent is 0
        content = np.ascontiguousarray(part, dtype.newbyteorder("<")).tobytes()
        name = "_".join(f"{first + begin}-{first + end}" for first, begin, end in zip(offset, begins, ends))
        harness.write(os.path.join(path, "s0", name + (".gz" if packed else "")), gzip.compress(content) if packed else content)
    return {"s0": Array(stored, ["channel", "z", "y", "x"]) if channels > 1 else Array(stored[0], ["z", "y", "x"])}
