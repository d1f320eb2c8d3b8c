# SPDX-License-Identifier: MIT
"""Zarr v3, by NumPy and numcodecs."""
import base64
import itertools
import json
import os

import numcodecs
import numpy as np

from crc32c import crc32c
from arrays import NUMBERS, draw_arrays, draw_numbers
from zarr_makers import GROUPS, groups_of, is_all, pieces, plain, regular

ZARR3_TYPES = {"b1": "bool", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
               "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
COMPRESSORS = {
    "gzip": ({"name": "gzip", "configuration": {"level": 1}}, numcodecs.GZip(1)),
    "zstd": ({"name": "zstd", "configuration": {"level": 1, "checksum": False}}, numcodecs.Zstd(1)),
    "zlib": ({"name": "numcodecs.zlib", "configuration": {"level": 1}}, numcodecs.Zlib(1)),
    "bz2": ({"name": "numcodecs.bz2", "configuration": {"level": 1}}, numcodecs.BZ2(1)),
    "lzma": ({"name": "numcodecs.lzma", "configuration": {"format": 1, "check": -1, "preset": 0, "filters": None}}, numcodecs.LZMA(preset=0)),
    "lz4": ({"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}, numcodecs.LZ4()),
    "crc32": ({"name": "numcodecs.crc32"}, numcodecs.CRC32()),
    "adler32": ({"name": "numcodecs.adler32"}, numcodecs.Adler32()),
}


def words_of_type(d, dtype):
    """A data type in metadata."""
    named = lambda name, **configuration: {"name": name, "configuration": configuration}
    if dtype.names:
        fields = [(name, words_of_type(d.part(name), dtype[name])) for name in dtype.names]
        if d.pick("struct", "struct", "structured") == "structured":
            return named("structured", fields=fields)
        return named("struct", fields=[{"name": name, "data_type": kind} for name, kind in fields])
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        return named({"M": "numpy.datetime64", "m": "numpy.timedelta64"}[dtype.kind], unit=unit, scale_factor=count)
    if dtype.kind == "V" and d.chance("core word", .5):
        return f"r{8 * dtype.itemsize}"
    words = {"U": "fixed_length_utf32", "S": "null_terminated_bytes", "V": "raw_bytes"}
    if dtype.kind in words:
        return named(words[dtype.kind], length_bytes=dtype.itemsize)
    return "string" if dtype.kind == "O" else ZARR3_TYPES[dtype.str[1:]]


def words_of_fill(d, fill, words, endian):
    """A fill value in metadata; `words` are those of its type."""
    dtype = np.asarray(fill).dtype
    if dtype.names and words["name"] == "structured":
        return base64.b64encode(np.asarray(fill).astype(dtype.newbyteorder("<" if endian == "little" else ">")).tobytes()).decode()
    if dtype.names:
        return {field["name"]: words_of_fill(d, fill[field["name"]], field["data_type"], endian) for field in words["configuration"]["fields"]}
    if dtype.kind in "mM":
        return "NaT" if np.isnat(fill) and d.chance("NaT", .5) else int(fill.view("i8"))
    if dtype.kind == "c":
        return [words_of_fill(d, part, None, endian) for part in (fill.real, fill.imag)]
    if dtype.kind == "f":
        if d.chance("bits", .2):
            return "0x" + np.asarray(fill).astype(dtype.newbyteorder(">")).tobytes().hex()
        return "NaN" if fill != fill else f"{'-' * bool(fill < 0)}Infinity" if np.isinf(fill) else float(fill)
    if dtype.kind == "S" or (dtype.kind == "V" and not isinstance(words, str)):
        return base64.b64encode(np.asarray(fill).tobytes()).decode()
    if dtype.kind == "V":
        return list(np.asarray(fill).tobytes())
    return str(fill) if dtype.kind in "UO" else fill.item()


class Zarr3Chain:
    """Codecs of Zarr v3 for chunks of one type and shape (or of many shapes, with `is_regular` false), and what they make of a chunk."""

    def __init__(self, d, shape, dtype, fill, is_regular=True, depth=0):
        self.absent, self.steps, self.inner, self.dtype, self.fill = d.random("absent"), [], None, dtype, fill
        if dtype.kind in "iu" and dtype.itemsize <= 4 and d.chance("cast", .15):
            self.dtype = np.dtype(d.pick("cast type", "i8", "f8"))
            self.add("cast_value", lambda chunk: chunk.astype(self.dtype), data_type=ZARR3_TYPES[self.dtype.str[1:]])
            self.fill = self.dtype.type(fill)
        if shape and d.chance("transposed", .3):
            order = [int(axis) for axis in d.random("order").permutation(len(shape))]
            self.add("transpose", lambda chunk: chunk.transpose(order), order=order)
            shape = [shape[axis] for axis in order]
        if len(shape) > 1 and d.chance("reshaped", .15):
            words = d.pick("to shape", "all", "first two")
            self.add("reshape", lambda chunk: chunk.reshape(-1 if words == "all" else (-1, *chunk.shape[2:])),
                     shape=[-1] if words == "all" else [[0, 1], *([axis] for axis in range(2, len(shape)))])
            shape = [int(np.prod(shape))] if words == "all" else [shape[0] * shape[1], *shape[2:]]
        if self.dtype.kind in "iu" and is_regular and d.chance("differences", .15):
            kind = self.dtype.str[1:]
            self.add("numcodecs.delta", lambda chunk: numcodecs.Delta(kind).encode(np.ascontiguousarray(chunk)).reshape(chunk.shape), dtype=f"<{kind}")
            self.fill = None  # what an absent chunk inside would stand for
        if shape and is_regular and self.fill is not None and depth < 2 and d.chance("sharded", .4 if depth == 0 else .2):
            self.inner = [[n for n in range(1, side + 1) if side % n == 0][d.whole(f"inner {axis}", 0, 9) % sum(
                side % n == 0 for n in range(1, side + 1))] for axis, side in enumerate(shape)]
            self.location = d.pick("index", "end", "start")
            self.index_endian = d.pick("index order", "little", "big")
            self.is_index_checked = d.chance("index checked", .7)
            self.chain = Zarr3Chain(d.part("chain"), self.inner, self.dtype, self.fill, True, depth + 1)
            self.endian = self.chain.endian
            return
        self.endian = d.pick("order of bytes", "little", "big")
        self.is_packed = self.dtype.kind == "b" and d.chance("packed", .3)
        self.padding = d.pick("padding", "none", "first_byte", "last_byte") if self.is_packed else ""
        self.compressor = d.pick("compressor", "none", *COMPRESSORS, "blosc")
        self.has_checksum = d.chance("checked", .3)

    def add(self, name, encode, **configuration):
        self.steps.append(({"name": name, "configuration": configuration}, encode))

    def metadata(self):
        codecs = [words for words, _ in self.steps]
        if self.inner:
            index_codecs = [{"name": "bytes", "configuration": {"endian": self.index_endian}}]
            return codecs + [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": self.inner, "codecs": self.chain.metadata(), "index_location": self.location,
                "index_codecs": index_codecs + [{"name": "crc32c"}] * self.is_index_checked}}]
        if self.dtype.kind == "O":
            codecs.append({"name": "vlen-utf8"})
        elif self.is_packed:
            codecs.append({"name": "packbits", "configuration": {"padding_encoding": self.padding}})
        else:
            codecs.append({"name": "bytes"} if self.dtype.itemsize == 1 else {"name": "bytes", "configuration": {"endian": self.endian}})
        if self.compressor == "blosc":
            codecs.append({"name": "blosc", "configuration": {"cname": "lz4", "clevel": 3, "shuffle": "shuffle",
                                                              "typesize": self.item(), "blocksize": 0}})
        elif self.compressor != "none":
            codecs.append(COMPRESSORS[self.compressor][0])
        return codecs + ([{"name": "crc32c"}] if self.has_checksum else [])

    def item(self):
        return 1 if self.dtype.kind == "O" or self.is_packed else min(self.dtype.itemsize, 255)

    def encode(self, chunk):
        for _, encode in self.steps:
            chunk = encode(chunk)
        if self.inner:
            return self.shard(chunk)
        if self.dtype.kind == "O":
            encoded = bytes(numcodecs.VLenUTF8().encode(np.ascontiguousarray(chunk)))
        elif self.is_packed:
            encoded, unused = np.packbits(chunk, bitorder="little").tobytes(), bytes([-chunk.size % 8])
            encoded = {"none": encoded, "first_byte": unused + encoded, "last_byte": encoded + unused}[self.padding]
        else:
            encoded = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("<" if self.endian == "little" else ">")).tobytes()
        if self.compressor == "blosc":
            # Blosc goes by the size of the elements that it gets.
            is_whole = len(encoded) % self.item() == 0
            encoded = bytes(numcodecs.Blosc("lz4", 3, 1).encode(np.frombuffer(encoded, f"V{self.item()}" if is_whole else "u1")))
        elif self.compressor != "none":
            encoded = bytes(COMPRESSORS[self.compressor][1].encode(encoded))
        return encoded + (crc32c(encoded) if self.has_checksum else b"")

    def shard(self, chunk):
        """Chunks of nothing but the fill value may be absent."""
        data, parts = b"", list(pieces(chunk, regular(chunk.shape, self.inner), self.fill))
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


def draw_grid(d, shape):
    """The grid in metadata, and the extents of all chunks along each axis."""
    if not shape or not d.chance("rectilinear", .2):
        sizes = tuple(d.whole(f"chunk {axis}", 1, n + 2) for axis, n in enumerate(shape))
        return {"name": "regular", "configuration": {"chunk_shape": sizes}}, regular(shape, sizes)
    words, edges = [], []
    for axis, n in enumerate(shape):
        if d.chance(f"the same {axis}", .3):
            words.append(d.whole(f"chunk {axis}", 1, n + 2))
            edges.append([words[-1]] * -(-n // words[-1]))
            continue
        sizes = []
        while sum(sizes) < n:
            sizes.append(d.whole(f"chunk {axis} {len(sizes)}", 1, n - sum(sizes)))
        runs = [(size, len(list(run))) for size, run in itertools.groupby(sizes)]
        words.append([size if count == 1 else [size, count] for size, count in runs])
        edges.append(sizes)
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": words}}, edges


def draw_fill(d, array):
    stored = array.stored
    if not array.is_time() and d.chance("fill is any", .3):
        found = draw_numbers(d.part("fill of the store"), stored.dtype, ())
        fill = found[()] if found.dtype.kind != "O" else found.item()
        if stored.shape and d.chance("a part is fill", .5):
            stored[tuple(slice(0, -(-n // 2)) for n in stored.shape)] = fill
        return fill
    return array.attributes.get("_FillValue", "" if stored.dtype.kind == "O" else np.zeros((), stored.dtype)[()])


def make_zarr3_array(d, path, array):
    fill, attributes = draw_fill(d, array), array.attributes
    stored = array.stored
    grid, edges = draw_grid(d, stored.shape)
    is_regular = grid["name"] == "regular"
    chain = Zarr3Chain(d.part("chain"), grid["configuration"].get("chunk_shape", stored.shape), stored.dtype, fill, is_regular)
    separator, is_v2 = d.pick("separator", "/", "."), d.chance("keys of v2", .2)
    words = words_of_type(d.part("data type"), stored.dtype)
    metadata = {"zarr_format": 3, "node_type": "array", "shape": stored.shape, "data_type": words, "chunk_grid": grid,
                "chunk_key_encoding": {"name": "v2" if is_v2 else "default", "configuration": {"separator": separator}},
                "fill_value": words_of_fill(d, fill, words, chain.endian), "codecs": chain.metadata(),
                "attributes": {key: plain(value) for key, value in attributes.items()}}
    if array.dims:
        metadata["dimension_names"] = array.dims
    os.makedirs(path)
    with open(os.path.join(path, "zarr.json"), "w") as file:
        json.dump(metadata, file)
    absent = d.random("absent chunks")
    for index, chunk in pieces(stored, edges, fill):
        if is_all(chunk, fill) and absent.random() < .8:
            continue
        key = os.path.join(path, separator.join([*([] if is_v2 else ["c"]), *map(str, index)]) or "0")
        os.makedirs(os.path.dirname(key), exist_ok=True)
        with open(key, "wb") as file:
            file.write(chain.encode(chunk))
    return metadata


def make_zarr3(d, path):
    arrays, draws = draw_arrays(d, names=True, groups=GROUPS, types=(*NUMBERS, "?", "f2", "c8", "c16", "U4", "S5", "V3", "M8[h]", "m8[10us]", "struct", "O"))
    nodes = {name: make_zarr3_array(draws[name], os.path.join(path, name), array) for name, array in arrays.items()}
    groups = groups_of(arrays)
    nodes |= {group: {"zarr_format": 3, "node_type": "group", "attributes": {}} for group in groups}
    if d.chance("consolidated", .3):
        inside = {name: node for name, node in nodes.items() if name}
        nodes[""] |= {"consolidated_metadata": {"must_understand": False, "kind": "inline", "metadata": inside}}
    for group in groups:
        with open(os.path.join(path, group, "zarr.json"), "w") as file:
            json.dump(nodes[group], file)
    return arrays
