# SPDX-License-Identifier: MIT
"""Stores of Zarr v2, Zarr v3 and N5. zarr-python 2 writes the first; the others are written by the letter of their
specifications, because no Debian package writes all that they have."""
import bz2
import gzip
import itertools
import json
import lzma
import os
import struct
import zipfile

import numcodecs
import numpy as np
import zarr2 as zarr

from crc32c import crc32c
from arrays import FLOATS, INTEGERS, NUMBERS, draw_array, draw_arrays, draw_chunks, draw_path, draw_shape

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


def filters_of(d, dtype):
    kind = d.pick("filter", "none", "none", "delta", "shuffle", "crc32", "fletcher32")
    if kind == "delta" and dtype.kind in "iu":
        return [numcodecs.Delta(dtype)]
    if kind == "shuffle" and dtype.itemsize > 1:
        return [numcodecs.Shuffle(dtype.itemsize)]
    if kind == "fletcher32" and hasattr(numcodecs, "Fletcher32"):
        return [numcodecs.Fletcher32()]
    return [numcodecs.CRC32()] if kind == "crc32" else None


def make_zarr2(d, path):
    types = (*NUMBERS, "?", "f2", "c8", "c16", "S5", "U4", "V3")
    arrays, draws = draw_arrays(d, names=True, groups=GROUPS, types=types)
    group = zarr.open_group(path, mode="w")
    for name, array in arrays.items():
        part, attributes = draws[name], dict(array.attributes)
        dtype = array.stored.dtype.newbyteorder(part.pick("order", "<", ">"))
        fill = attributes.pop("_FillValue", None)
        created = group.create_dataset(
            name, shape=array.stored.shape, dtype=dtype, chunks=draw_chunks(part, array.stored.shape) or None, fill_value=fill,
            compressor=COMPRESSORS[part.pick("compressor", *COMPRESSORS)](), filters=filters_of(part, dtype),
            order=part.pick("memory", "C", "F"), dimension_separator=part.pick("separator", ".", "/"))
        created[...] = array.stored
        created.attrs.update({key: plain(value) for key, value in attributes.items()})
        created.attrs["_ARRAY_DIMENSIONS"] = array.dims
    if d.chance("consolidated", .3):
        zarr.consolidate_metadata(zarr.DirectoryStore(path))
    return arrays


def zipped(make):
    """The files of a folder in an archive."""
    def make_archive(d, path):
        folder = path + ".folder"
        arrays = make(d, folder)
        method = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}[d.pick("method", "stored", "deflated")]
        with zipfile.ZipFile(path, "w", method) as archive:
            for top, folders, files in os.walk(folder, topdown=False):
                for name in files:
                    archive.write(os.path.join(top, name), os.path.relpath(os.path.join(top, name), folder))
                    os.unlink(os.path.join(top, name))
                os.rmdir(top)
        return arrays
    return make_archive


ZARR3_TYPES = {"b1": "bool", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
               "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}


def cut(stored, shape, fill):
    """(index, chunk) of a regular grid; those at the edge are filled up."""
    for index in itertools.product(*(range(-(-n // size)) for n, size in zip(stored.shape, shape))):
        chunk = np.full(shape, fill, stored.dtype)
        part = stored[tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, shape))]
        chunk[tuple(slice(0, n) for n in part.shape)] = part
        yield index, chunk


def is_all(chunk, fill):
    return chunk.tobytes() == np.full(chunk.shape, fill, chunk.dtype).tobytes()


class Zarr3Chain:
    """Codecs of Zarr v3 for chunks of one type and shape, and what they make of a chunk."""

    def __init__(self, d, shape, dtype, fill, depth=0):
        self.fill, self.absent = fill, d.random("absent")
        self.order = [int(axis) for axis in d.random("order").permutation(len(shape))] if shape and d.chance("transposed", .3) else None
        shape = [shape[axis] for axis in self.order or range(len(shape))]
        self.inner = None
        if shape and depth < 2 and d.chance("sharded", .4 if depth == 0 else .2):
            self.inner = [[n for n in range(1, side + 1) if side % n == 0][d.whole(f"inner {axis}", 0, 9) % sum(
                side % n == 0 for n in range(1, side + 1))] for axis, side in enumerate(shape)]
            self.location = d.pick("index", "end", "start")
            self.index_endian = d.pick("index order", "little", "big")
            self.is_index_checked = d.chance("index checked", .7)
            self.chain = Zarr3Chain(d.part("chain"), self.inner, dtype, fill, depth + 1)
            return
        self.endian = d.pick("order of bytes", "little", "big")
        self.item = dtype.itemsize
        self.compressor = d.pick("compressor", "none", "gzip", "zstd", "blosc")
        self.has_checksum = d.chance("checked", .3)

    def metadata(self):
        codecs = [{"name": "transpose", "configuration": {"order": self.order}}] if self.order else []
        if self.inner:
            index_codecs = [{"name": "bytes", "configuration": {"endian": self.index_endian}}]
            return codecs + [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": self.inner, "codecs": self.chain.metadata(), "index_location": self.location,
                "index_codecs": index_codecs + [{"name": "crc32c"}] * self.is_index_checked}}]
        codecs.append({"name": "bytes"} if self.item == 1 else {"name": "bytes", "configuration": {"endian": self.endian}})
        if self.compressor == "gzip":
            codecs.append({"name": "gzip", "configuration": {"level": 1}})
        if self.compressor == "zstd":
            codecs.append({"name": "zstd", "configuration": {"level": 1, "checksum": False}})
        if self.compressor == "blosc":
            codecs.append({"name": "blosc", "configuration": {"cname": "lz4", "clevel": 3, "shuffle": "shuffle",
                                                              "typesize": self.item, "blocksize": 0}})
        return codecs + ([{"name": "crc32c"}] if self.has_checksum else [])

    def encode(self, chunk):
        chunk = chunk.transpose(self.order) if self.order else chunk
        if self.inner:
            return self.shard(chunk)
        encoded = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("<" if self.endian == "little" else ">")).tobytes()
        if self.compressor != "none":
            codec = {"gzip": numcodecs.GZip(1), "zstd": numcodecs.Zstd(1), "blosc": numcodecs.Blosc("lz4", 3, 1)}
            # Blosc goes by the size of the elements that it gets.
            given = np.frombuffer(encoded, f"V{self.item}") if self.compressor == "blosc" else encoded
            encoded = bytes(codec[self.compressor].encode(given))
        return encoded + (crc32c(encoded) if self.has_checksum else b"")

    def shard(self, chunk):
        """Chunks of nothing but the fill value may be absent."""
        data, parts = b"", list(cut(chunk, self.inner, self.fill))
        index = np.full((len(parts), 2), 2**64 - 1, "<u8" if self.index_endian == "little" else ">u8")
        begin = index.nbytes + 4 * self.is_index_checked if self.location == "start" else 0
        for number in self.absent.permutation(len(parts)):
            part = parts[number][1]
            if is_all(part, self.fill) and self.absent.random() < .8:
                continue
            encoded = self.chain.encode(part)
            index[number] = begin + len(data), len(encoded)
            data += encoded
        table = index.tobytes() + (crc32c(index.tobytes()) if self.is_index_checked else b"")
        return data + table if self.location == "end" else table + data


def fill_words(fill):
    if isinstance(fill, complex):
        return [fill_words(fill.real), fill_words(fill.imag)]
    return "NaN" if fill != fill else fill


def make_zarr3_array(d, path, array):
    stored, attributes = array.stored, array.attributes
    fill = attributes.get("_FillValue", stored.dtype.type(0))
    chunks = tuple(d.whole(f"chunk {axis}", 1, n + 2) for axis, n in enumerate(stored.shape))
    chain = Zarr3Chain(d.part("chain"), chunks, stored.dtype, fill)
    separator, is_v2 = d.pick("separator", "/", "."), d.chance("keys of v2", .2)
    metadata = {"zarr_format": 3, "node_type": "array", "shape": stored.shape, "data_type": ZARR3_TYPES[stored.dtype.str[1:]],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                "chunk_key_encoding": {"name": "v2" if is_v2 else "default", "configuration": {"separator": separator}},
                "fill_value": fill_words(np.asarray(fill).tolist()), "codecs": chain.metadata(),
                "attributes": {key: plain(value) for key, value in attributes.items()}}
    if array.dims:
        metadata["dimension_names"] = array.dims
    os.makedirs(path)
    with open(os.path.join(path, "zarr.json"), "w") as file:
        json.dump(metadata, file)
    absent = d.random("absent chunks")
    for index, chunk in cut(stored, chunks, fill):
        if is_all(chunk, fill) and absent.random() < .8:
            continue
        key = os.path.join(path, separator.join([*([] if is_v2 else ["c"]), *map(str, index)]) or "0")
        os.makedirs(os.path.dirname(key), exist_ok=True)
        with open(key, "wb") as file:
            file.write(chain.encode(chunk))


def make_zarr3(d, path):
    arrays, draws = draw_arrays(d, names=True, groups=GROUPS, types=(*NUMBERS, "?", "f2", "c8", "c16"))
    for name, array in arrays.items():
        make_zarr3_array(draws[name], os.path.join(path, name), array)
    for group in {"", *(part for name in arrays for part in itertools.accumulate(name.split("/")[:-1], os.path.join))}:
        with open(os.path.join(path, group, "zarr.json"), "w") as file:
            json.dump({"zarr_format": 3, "node_type": "group", "attributes": {}}, file)
    return arrays


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
    """Dimensions, and the extents of blocks, are named from the fastest one on; those at the edge are cut off."""
    arrays = {}
    os.makedirs(path)
    with open(os.path.join(path, "attributes.json"), "w") as file:
        json.dump({"n5": "2.5.0"}, file)
    for key, part in d.parts("v", 1, 3).items():
        name = draw_path(part, key[1:], True, GROUPS)
        array = draw_array(part, [], draw_shape(part, 1))
        array.attributes.clear()
        stored, chunks = array.stored, draw_chunks(part, array.stored.shape)
        compression, encode = N5_COMPRESSIONS[part.pick("compression", *N5_COMPRESSIONS)]
        has_length, is_cut = part.chance("length in the header", .3), part.chance("cut at the edge", .7)
        folder = os.path.join(path, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "attributes.json"), "w") as file:
            json.dump({"dimensions": stored.shape[::-1], "blockSize": chunks[::-1], "dataType": N5_TYPES[stored.dtype.str[1:]],
                       "compression": compression, "note": "x"}, file)
        for index, block in cut(stored, chunks, 0):
            if is_cut:
                block = stored[tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, chunks))]
            if is_all(block, 0) and part.random(f"absent {index}").random() < .8:
                continue
            header = struct.pack(f">HH{block.ndim}I", has_length, block.ndim, *block.shape[::-1])
            header += struct.pack(">I", block.size) if has_length else b""
            place = os.path.join(folder, *map(str, index[::-1]))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(header + encode(np.ascontiguousarray(block, block.dtype.newbyteorder(">")).tobytes()))
        arrays[name] = array
    return arrays
