# SPDX-License-Identifier: MIT
"""Stores of Zarr v2, Zarr v3 and N5. zarr-python 2 writes the first; the others are written by the letter of their
specifications, because no Debian package writes all that they have."""
import base64
import bz2
import gzip
import itertools
import json
import lzma
import os
import shutil
import struct
import zipfile

import harness
import numcodecs
import numpy as np
import zarr2 as zarr

from arrays import NUMBERS, TEXTS, draw_array, draw_arrays, draw_chunks, draw_numbers, draw_path, draw_shape

GROUPS = ("", "g", "g/h")
COMPRESSORS = {
    "none": lambda: None, "zlib": lambda: numcodecs.Zlib(1), "gzip": lambda: numcodecs.GZip(1), "bz2": lambda: numcodecs.BZ2(1),
    "lz4": numcodecs.LZ4, "zstd": lambda: numcodecs.Zstd(1), "lzma": lambda: numcodecs.LZMA(preset=0),
    **{f"blosc {name} {shuffle}": lambda name=name, shuffle=shuffle: numcodecs.Blosc(name, 5, shuffle)
       for name in ("lz4", "lz4hc", "zstd", "zlib", "blosclz") for shuffle in (0, 1, 2)},
}


def plain(value):
    """An attribute as JSON has it."""
    return value if isinstance(value, str) else np.asarray(value).tolist()


# Of objects: how they are stored.
OBJECTS = {"texts": numcodecs.VLenUTF8, "bytes": numcodecs.VLenBytes, "labels": lambda: numcodecs.Categorize(TEXTS, object),
           "documents": numcodecs.JSON, "lists": lambda: numcodecs.VLenArray("<i4")}
ZARR2_TYPES = (*NUMBERS, "?", "f2", "c8", "c16", "S5", "U4", "V3", "M8[h]", "m8[10us]", "struct", "arrays", "O")


def filters_of(d, dtype):
    """Filters, and whether they lose something."""
    kind = d.pick("filter", "none", "none", "delta", "shuffle", "crc32", "adler32", "fletcher32", "astype", "packbits", "base64", "loss")
    if kind == "delta" and dtype.kind in "iu":
        return [numcodecs.Delta(dtype)], False
    if kind == "shuffle" and dtype.itemsize > 1:
        return [numcodecs.Shuffle(dtype.itemsize)], False
    if kind == "fletcher32" and hasattr(numcodecs, "Fletcher32"):
        return [numcodecs.Fletcher32()], False
    if kind == "astype" and dtype.kind in "iu":
        return [numcodecs.AsType(d.pick("stored as", "<i8", ">f8", "<u8"), dtype)], True
    if kind == "packbits" and dtype.kind == "b":
        return [numcodecs.PackBits()], False
    if kind == "loss" and dtype.kind == "f" and dtype.itemsize >= 4:
        how = d.pick("loss", "bitround", "quantize", "fixed")
        if how == "bitround" and dtype.isnative:
            return [numcodecs.BitRound(d.whole("bits", 1, 20))], True
        if how != "fixed":
            return [numcodecs.Quantize(d.whole("digits", 0, 3), dtype)], True
        return [numcodecs.FixedScaleOffset(d.pick("offset", 0, 100), d.pick("scale", 10, 0.5), dtype, d.pick("scaled type", "<i2", "<i4", "<f8", "u1"))], True
    plain_ones = {"crc32": numcodecs.CRC32, "adler32": numcodecs.Adler32, "base64": numcodecs.Base64}
    return ([plain_ones[kind]()], False) if kind in plain_ones else (None, False)


def draw_objects(d, array):
    """How objects are stored; not all of them are text."""
    stored = array.stored
    kind = d.pick("objects", *(kind for kind in OBJECTS if stored.shape or kind != "documents"))
    r = d.random("objects")
    for index in np.ndindex(*stored.shape):
        if kind == "bytes":  # of no charset: shown as Latin-1
            stored[index] = bytes(r.integers(0, 256, int(r.integers(0, 5)), "u1"))
        elif kind == "lists":
            stored[index] = r.integers(-9, 99, int(r.integers(0, 4))).astype("i4")
        elif kind == "documents":
            stored[index] = [{"a": [1, None]}, "text", 2.5, True, None][int(r.integers(0, 5))]
    return kind, OBJECTS[kind]()


def draw_fill2(d, array, kind, is_coordinate):
    """The fill value of an array that has none by its attributes; a part of it may be nothing else."""
    stored = array.stored
    # A coordinate lacks nothing, and times do not take every number.
    is_kept = stored.dtype.kind == "O" or array.is_time() or is_coordinate
    if is_kept or not d.chance("fill is any", .3):
        # zarr-python 2 puts it into texts that are not stored.
        return "" if stored.dtype.kind == "O" and kind in ("texts", "labels") else None
    fill = draw_numbers(d.part("fill of the store"), stored.dtype, ())[()]
    if stored.dtype.kind in "iuf" and stored.dtype != np.float16:
        # By the convention of xarray it is the missing value of numbers.
        array.attributes.pop("missing_value", None)
        array.attributes["_FillValue"] = fill
    if stored.shape and d.chance("a part is fill", .5):
        stored[tuple(slice(0, -(-n // 2)) for n in stored.shape)] = fill
    return fill


def put_fill(d, path, array, fill):
    """A struct or bytes as the fill value, which zarr-python 2 cannot compare; some chunks of nothing else go."""
    with open(os.path.join(path, ".zarray"), encoding="utf-8") as file:
        metadata = json.load(file)
    metadata["fill_value"] = base64.b64encode(np.asarray(fill).tobytes()).decode()
    with open(os.path.join(path, ".zarray"), "w", encoding="utf-8") as file:
        json.dump(metadata, file)
    for index, chunk in pieces(array[...], regular(array.shape, array.chunks), fill):
        if is_all(chunk, fill) and d.random(f"absent {index}").random() < .8:
            os.unlink(os.path.join(path, metadata["dimension_separator"].join(map(str, index)) or "0"))


def make_zarr2(d, path):
    arrays, draws = draw_arrays(d, names=True, groups=GROUPS, types=ZARR2_TYPES)
    group = zarr.open_group(path, mode="w")
    for name, array in arrays.items():
        part, kind, codec, loses = draws[name], "", None, False
        if array.stored.dtype.kind == "O":
            kind, codec = draw_objects(part, array)
            array.is_json = kind == "documents"
        fill = array.attributes.get("_FillValue")
        fill = draw_fill2(part, array, kind, name in ("x", "y")) if fill is None else fill
        attributes = {key: value for key, value in array.attributes.items() if key != "_FillValue"}
        dtype = array.stored.dtype
        if dtype.names is None and dtype.kind != "O":
            dtype = dtype.newbyteorder(part.pick("order", "<", ">"))
        filters, loses = filters_of(part, dtype) if kind == "" else (None, False)
        created = group.create_dataset(
            name, shape=array.stored.shape, dtype=dtype, chunks=draw_chunks(part, array.stored.shape) or None,
            fill_value=None if isinstance(fill, np.void) else fill,
            compressor=COMPRESSORS[part.pick("compressor", *COMPRESSORS)](), filters=filters, object_codec=codec,
            order=part.pick("memory", "C", "F"), dimension_separator=part.pick("separator", ".", "/"),
            write_empty_chunks=part.chance("empty chunks", .5))
        created[...] = array.stored
        if isinstance(fill, np.void):
            put_fill(part, os.path.join(path, name), created, fill)
        if loses:
            array.stored = np.asarray(created[...]).astype(dtype.newbyteorder("="))
        if kind == "bytes":
            array.stored = np.vectorize(lambda item: item.decode("latin-1"), otypes="O")(array.stored)
        created.attrs.update({key: plain(value) for key, value in attributes.items()})
        created.attrs["_ARRAY_DIMENSIONS"] = array.dims
    if d.chance("consolidated", .3):
        zarr.consolidate_metadata(zarr.DirectoryStore(path))
    return arrays


def taken(folder):
    """(name, content) of all files below a folder, which is removed."""
    found = []
    for top, _, files in os.walk(folder):
        found += [(os.path.relpath(os.path.join(top, name), folder), harness.read(top, name)) for name in sorted(files)]
    shutil.rmtree(folder)
    return found


def make_references(d, path):
    """A hierarchy of Zarr v2 whose chunks are in the document of Kerchunk, or parts of a file beside it."""
    data, beside = b"", os.path.basename(path) + ".data"
    arrays = make_zarr2(d, path + ".folder")
    url = d.pick("url", beside, "{{u}}")
    inline, references = d.random("inline"), {}
    for key, content in taken(path + ".folder"):
        if os.path.basename(key).startswith(".z"):
            references[key] = content.decode()
        elif inline.random() < .3:
            references[key] = "base64:" + base64.b64encode(content).decode()
        else:
            data += b"x" * d.whole(f"before {key}", 0, 5)
            references[key] = [url, len(data), len(content)]
            data += content
    harness.write(path + ".data", data)
    harness.write(path, json.dumps({"version": 1, "refs": references} | ({} if url == beside else {"templates": {"u": beside}})))
    return arrays


def zipped(make):
    """The files of a folder in an archive."""
    def make_archive(d, path):
        arrays = make(d, path + ".folder")
        method = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}[d.pick("method", "stored", "deflated")]
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in taken(path + ".folder"):
                archive.writestr(name, content)
        return arrays
    return make_archive


def regular(shape, chunk):
    """The extents of all chunks of a regular grid along each axis."""
    return [[size] * -(-n // size) for n, size in zip(shape, chunk)]


def pieces(stored, edges, fill):
    """(index, chunk) of a grid, given the extents of chunks along each axis; those that stand over the edge are filled up."""
    begins = [list(itertools.accumulate(sizes, initial=0)) for sizes in edges]
    for index in itertools.product(*(range(len(sizes)) for sizes in edges)):
        shape = tuple(sizes[i] for i, sizes in zip(index, edges))
        chunk = np.full(shape, fill, stored.dtype)
        part = stored[(..., *(slice(begin[i], begin[i] + n) for i, begin, n in zip(index, begins, shape)))]
        chunk[(..., *(slice(0, n) for n in part.shape))] = part
        yield index, chunk


def groups_of(names):
    """The groups around arrays, the top one included."""
    return {"", *(part for name in names for part in itertools.accumulate(name.split("/")[:-1], os.path.join))}


def is_all(chunk, fill):
    if chunk.dtype.kind == "O":
        return all(item == fill for item in chunk.ravel())
    return chunk.tobytes() == np.full(chunk.shape, fill, chunk.dtype).tobytes()


N5_TYPES = {"i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
            "u8": "uint64", "f4": "float32", "f8": "float64"}
N5_COMPRESSIONS = {
    "raw": ({"type": "raw"}, bytes), "gzip": ({"type": "gzip", "level": 1, "useZlib": False}, gzip.compress),
    "zlib": ({"type": "gzip", "level": 1, "useZlib": True}, lambda data: numcodecs.Zlib(1).encode(data)),
    "bzip2": ({"type": "bzip2", "blockSize": 9}, bz2.compress), "xz": ({"type": "xz", "preset": 6}, lzma.compress),
    "zstd": ({"type": "zstd", "level": 1}, lambda data: numcodecs.Zstd(1).encode(data)),
    "blosc": ({"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, "nthreads": 1},
              lambda data: numcodecs.Blosc("lz4", 5, 1).encode(np.frombuffer(data, "u1"))),
}


def make_n5(d, path):
    """Dimensions, and the extents of blocks, are named from the fastest one on; those at the edge are cut off, and others may be smaller
    than the rest: zeros follow."""
    arrays = {}
    for key, part in d.parts("v", 1, 3).items():
        name = draw_path(part, key[1:], True, GROUPS)
        arrays[name] = array = draw_array(part, [], draw_shape(part, 1, 4))
        make_n5_dataset(part, os.path.join(path, name), array)
    for group in groups_of(arrays):
        if not group or d.chance(f"attributes of {group}".replace("/", " "), .5):
            with open(os.path.join(path, group, "attributes.json"), "w") as file:
                json.dump({"title": "x"} | ({} if group else {"n5": "2.5.0"}), file)
    return arrays


def make_n5_dataset(d, folder, array):
    stored, chunks = array.stored, draw_chunks(d, array.stored.shape)
    compression, encode = N5_COMPRESSIONS[d.pick("compression", *N5_COMPRESSIONS)]
    has_length, is_cut, are_small = d.chance("length in the header", .3), d.chance("cut at the edge", .7), d.chance("small blocks", .2)
    os.makedirs(folder)
    with open(os.path.join(folder, "attributes.json"), "w") as file:
        json.dump({"dimensions": stored.shape[::-1], "blockSize": chunks[::-1], "dataType": N5_TYPES[stored.dtype.str[1:]],
                   "compression": compression} | {key: plain(value) for key, value in array.attributes.items()}, file)
    for index, block in pieces(stored.copy(), regular(stored.shape, chunks), 0):
        box = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, chunks))
        if is_cut:
            block = stored[box].copy()
        if are_small:
            sizes = [int(d.random(f"small {index} {axis}").integers(1, n + 1)) for axis, n in enumerate(block.shape)]
            corner = tuple(slice(0, n) for n in sizes)
            whole = np.zeros_like(block)
            whole[corner] = block[corner]
            stored[box] = whole[tuple(slice(0, n) for n in stored[box].shape)]
            block = block[corner]
        if is_all(block, 0) and d.random(f"absent {index}").random() < .8:
            continue
        header = struct.pack(f">HH{block.ndim}I", has_length, block.ndim, *block.shape[::-1])
        header += struct.pack(">I", block.size) if has_length else b""
        place = os.path.join(folder, *map(str, index[::-1]))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(header + encode(np.ascontiguousarray(block, block.dtype.newbyteorder(">")).tobytes()))
