# SPDX-License-Identifier: MIT
"""Random sound stores that others write, or that are written by the specification, and every view of them.

NDLFS_RANDOM_STORES=500 makes so many of each kind, NDLFS_RANDOM_SEED=7 begins with another one, and
NDLFS_RANDOM_KINDS=zarr.zip,npz makes no others. A failure names the seed of its store; with that, and one store, it is
made again.
"""
import ctypes
import gzip
import io
import itertools
import json
import os
import struct
import unittest
import warnings
import zipfile

import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import yaml
import zarr2 as zarr
from crc32c import crc32c

STORES = int(os.environ.get("NDLFS_RANDOM_STORES", "20"))
SEED = int(os.environ.get("NDLFS_RANDOM_SEED", "1"))
OPTIONS = [(), ("--cache-size", "64KiB", "--threads", "1"), ("--cache-size", "1MiB"), ("--immutable",)]
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"]
NAMES = ["a", "b c", "\u00e4", "x.y", "q\"t", "r", "\u65e5", "yes"]


class Random(np.random.Generator):
    """What is drawn to make a store; `seed` says all of it."""

    def __init__(self, kind, seed):
        super().__init__(np.random.PCG64([kind, seed]))

    def pick(self, *choices):
        return choices[int(self.integers(len(choices)))]

    def chance(self, probability):
        return self.random() < probability

    def number(self):
        return np.dtype(self.pick("<", ">") + self.pick(*NUMBERS))

    def dtype(self, depth=0):
        """A number, text, bytes, or a struct of these, with subarrays."""
        kind = self.random()
        if kind < .6 or depth > 1:
            return self.number()
        if kind < .7:
            return np.dtype(f"S{self.integers(1, 9)}")
        if kind < .75:
            return np.dtype(f"V{self.integers(1, 9)}")
        return np.dtype([(NAMES[i], self.dtype(depth + 1), *([(2, 3)] if self.chance(.2) else []))
                         for i in range(int(self.integers(1, 4)))])

    def values(self, dtype, shape):
        """Any bits that are a value: NaN with payloads, infinities, denormals."""
        if dtype.names:
            array = np.zeros(shape, dtype)
            for name in dtype.names:
                field = dtype[name]
                array[name] = self.values(field.base, tuple(shape) + field.shape)
            return array
        count = int(np.prod(shape, dtype=int))
        if dtype.kind == "b":
            return self.integers(0, 2, shape).astype("?")
        if dtype.kind == "S" and self.chance(.2):
            return np.frombuffer(self.bytes(count * dtype.itemsize), dtype).reshape(shape)
        if dtype.kind == "S":
            return self.integers(32, 127, count * dtype.itemsize, "u1").view(dtype).reshape(shape)
        if self.chance(.3) and dtype.kind in "iuf":
            return self.integers(0, 100, shape).astype(dtype)
        return np.frombuffer(self.bytes(count * dtype.itemsize), dtype).reshape(shape)

    def shape(self, size=4000):
        rank = int(self.integers(0, 5))
        return tuple(int(n) for n in self.integers(1, int(size ** (1 / max(rank, 1))) + 1, rank))

    def chunks(self, shape):
        """Of any extents, but not too many."""
        chunks = [int(self.integers(1, n + 2)) for n in shape]
        while np.prod([-(-n // c) for n, c in zip(shape, chunks)]) > 150:
            chunks = [2 * c for c in chunks]
        return tuple(chunks)

    def box(self, shape):
        begin = [int(self.integers(0, n)) for n in shape]
        return tuple(slice(b, int(self.integers(b + 1, n + 1))) for b, n in zip(begin, shape))


def compressor(r):
    return None if r.chance(.4) else r.pick(
        numcodecs.Zlib(1), numcodecs.GZip(6), numcodecs.BZ2(1), numcodecs.Zstd(1), numcodecs.LZ4(),
        numcodecs.LZMA(preset=0), *[numcodecs.Blosc(name, 5, shuffle, blocksize) for name in ("lz4", "zstd", "blosclz")
                                    for shuffle in (0, 1, 2) for blocksize in (0, 1000)])


def write_zarr2(r, path):
    """Arrays of zarr-python; a part of them may not be written."""
    group, arrays = zarr.group(zarr.DirectoryStore(path)), {}
    for name in NAMES[:3]:
        dtype, shape = r.dtype(), r.shape()
        filters = r.pick(None, None, [numcodecs.CRC32()], [numcodecs.Shuffle(1)])
        if dtype.kind in "iu" and r.chance(.5):
            filters = [numcodecs.Delta(dtype)]
        fill = None if dtype.kind == "V" else r.values(dtype, (1,))[0]
        array = group.create_dataset(name, shape=shape, chunks=r.chunks(shape) or None, dtype=dtype, filters=filters,
                                     compressor=compressor(r), order=r.pick("C", "F"), fill_value=fill,
                                     dimension_separator=r.pick(".", "/"))
        values = r.values(dtype, shape)
        if fill is None or r.chance(.5):
            array[...] = values
        elif shape:
            box = r.box(shape)
            array[box] = values[box]
        arrays[name] = np.array(array[...], dtype)
    return arrays


def zarr3_chain(r, dtype, shape, depth=0):
    """Codecs for chunks of this shape, as metadata and as a function that encodes an array."""
    codecs, order = [], list(range(len(shape)))
    if r.chance(.3):
        order = [int(axis) for axis in r.permutation(len(shape))]
        codecs.append({"name": "transpose", "configuration": {"order": order}})
    shape = [shape[axis] for axis in order]
    if shape and depth < 2 and r.chance(.4):
        inner = [r.pick(*[c for c in range(1, n + 1) if n % c == 0]) for n in shape]
        inner_codecs, encode = zarr3_chain(r, dtype, inner, depth + 1)
        location = r.pick("start", "end")
        codecs.append({"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": inner_codecs, "index_location": location,
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}})

        def encode_shard(array):
            places = list(np.ndindex(*[n // c for n, c in zip(shape, inner)]))
            index, body = np.full((len(places), 2), 2**64 - 1, "<u8"), b""
            begin = index.nbytes + 4 if location == "start" else 0
            for number in r.permutation(len(places)):
                part = array[tuple(slice(i * c, i * c + c) for i, c in zip(places[number], inner))]
                if part.tobytes().strip(b"\0"):
                    encoded = encode(part)
                    index[number] = begin + len(body), len(encoded)
                    body += encoded
            table = index.tobytes() + crc32c(index.tobytes())
            return table + body if location == "start" else body + table
        return codecs, lambda array: encode_shard(array.transpose(order))
    endian = r.pick("little", "big")
    codecs.append({"name": "bytes", "configuration": {"endian": endian}})
    last = r.pick(None, ("gzip", {"level": 1}, gzip.compress), ("crc32c", {}, lambda data: data + crc32c(data)),
                  ("zstd", {"level": 1, "checksum": False}, numcodecs.Zstd().encode))
    if last:
        codecs.append({"name": last[0], "configuration": last[1]})
    stored = dtype.newbyteorder("<" if endian == "little" else ">")

    def encode_bytes(array):
        data = np.ascontiguousarray(array.transpose(order)).astype(stored).tobytes()
        return last[2](data) if last else data
    return codecs, encode_bytes


def write_zarr3(r, path):
    """Arrays by the letter of the specification, with nested shards; chunks of zeros may be absent."""
    arrays = {}
    harness.write(os.path.join(path, "zarr.json"), json.dumps({"zarr_format": 3, "node_type": "group"}))
    for name in NAMES[:3]:
        dtype, shape = r.number().newbyteorder("<"), r.shape(2000)
        chunks = r.chunks(shape)
        codecs, encode = zarr3_chain(r, dtype, chunks)
        v2, separator = r.chance(.3), r.pick(".", "/")
        fill = False if dtype.kind == "b" else [0, 0] if dtype.kind == "c" else 0
        harness.write(os.path.join(path, name, "zarr.json"), json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype.name, "fill_value": fill,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}, "codecs": codecs,
            "chunk_key_encoding": {"name": "v2" if v2 else "default", "configuration": {"separator": separator}}}))
        counts = [-(-n // c) for n, c in zip(shape, chunks)]
        whole = np.zeros([n * c for n, c in zip(counts, chunks)], dtype)
        if r.chance(.6):
            whole[...] = r.values(dtype, whole.shape)
        elif shape:
            box = r.box(whole.shape)
            whole[box] = r.values(dtype, whole[box].shape)
        for index in itertools.product(*map(range, counts)):
            part = whole[(*[slice(i * c, i * c + c) for i, c in zip(index, chunks)], ...)]
            if part.tobytes().strip(b"\0") or r.chance(.3):
                key = separator.join([*([] if v2 else ["c"]), *map(str, index)]) or "0"
                harness.write(os.path.join(path, name, key), encode(part))
        arrays[name] = whole[(*[slice(n) for n in shape], ...)]
    return arrays


def quoted(value):
    """A fill value as those write it who know no other numbers than those in quotes."""
    return [quoted(part) for part in value] if isinstance(value, list) else json.dumps(value)


def write_lenient3(r, path):
    """What breaks the specification and is read as it is meant; packbits of every type; groups without metadata."""
    arrays = {}
    harness.write(os.path.join(path, "zarr.json"), json.dumps({"zarr_format": 3, "node_type": "group"}))
    for name in NAMES[:3]:
        dtype, length, chunk = r.number().newbyteorder("<"), int(r.integers(1, 500)), int(r.integers(1, 200))
        number = int(r.integers(0, 2 if dtype.kind == "b" else 100))
        fill = [number, -number] if dtype.kind == "c" else number
        codecs = r.pick(None, ["packbits"], [{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}])
        metadata = {"zarr_format": 3, "node_type": "array", "shape": [length], "data_type": dtype.name,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk]}},
                    "chunk_key_encoding": {"name": "default"}, "fill_value": r.pick(fill, quoted(fill))}
        folder = os.path.join(path, *r.pick((), ("deep",), ("deep", "down")), name)
        harness.write(os.path.join(folder, "zarr.json"), json.dumps(metadata | ({"codecs": codecs} if codecs else {})))
        count = -(-length // chunk)
        whole = np.full(count * chunk, complex(*fill) if dtype.kind == "c" else fill, dtype)
        for index in range(count):
            if r.chance(.5):
                part = r.values(dtype, (chunk,))
                whole[index * chunk:(index + 1) * chunk] = part
                is_bits = codecs and dtype.kind == "b"
                data = np.packbits(part, bitorder="little").tobytes() if is_bits else part.tobytes()
                if codecs and codecs != ["packbits"]:
                    data = bytes([-chunk % 8 if is_bits else 0]) + data
                harness.write(os.path.join(folder, "c", str(index)), data)
        arrays[os.path.relpath(folder, path)] = whole[:length]
    return arrays


def json_value(r, depth=0):
    kind = int(r.integers(0, 6 if depth > 1 else 8))
    if kind == 6:
        return [json_value(r, depth + 1) for _ in range(int(r.integers(0, 4)))]
    if kind == 7:
        return {name: json_value(r, depth + 1) for name in NAMES[:int(r.integers(0, 4))]}
    return [None, r.chance(.5), int(r.integers(-2**62, 2**62)) * r.pick(1, 10**9), float(r.normal()),
            r.pick("true", "1", "null", "", "NaN", '"', "\u00e9\n"), r.pick(*NAMES)][kind]


def vlen_bytes(items):
    return struct.pack("<I", len(items)) + b"".join(struct.pack("<I", len(item)) + item for item in items)


def write_texts(r, path):
    """Elements of variable size, as lists of what `data.jsonl` holds: bytes as Latin-1, JSON as itself."""
    group = zarr.group(zarr.DirectoryStore(path))
    length = int(r.integers(1, 200))
    chunks = int(r.integers(1, length + 1))
    items = [r.pick("\u00e9", "a", "\u20ac").encode(r.pick("utf-8", "cp1252", "utf-16")) if r.chance(.5)
             else r.bytes(int(r.integers(0, 9))) for _ in range(length)]
    values = [json_value(r) for _ in range(length)]
    for name, codec, elements in (("bytes", numcodecs.VLenBytes(), items), ("json", numcodecs.JSON(), values)):
        array = group.create_dataset(name, shape=length, chunks=chunks, dtype=object, object_codec=codec,
                                     compressor=compressor(r))
        whole = np.empty(length, object)
        whole[:] = elements
        array[...] = whole
    return {"bytes": [item.decode("latin-1") for item in items], "json": values}


def write_fixed_texts(r, path):
    """Bytes of fixed length: those of the first chunk say whether all are UTF-8 or Latin-1."""
    group, arrays = zarr.group(zarr.DirectoryStore(path)), {}
    for name in NAMES[:3]:
        length, width = int(r.integers(1, 200)), int(r.integers(1, 6))
        chunk = int(r.integers(1, length + 1))
        make = r.pick(lambda: b"plain", lambda: r.pick("\u00e9", "a", "\u20ac").encode(),
                      lambda: r.pick("\u00e9", "a", "b").encode(r.pick("utf-8", "latin-1")), lambda: r.bytes(width))
        items = np.array([make()[:width] for _ in range(length)], f"S{width}")
        array = group.create_dataset(name, shape=length, chunks=chunk, dtype=items.dtype, compressor=compressor(r))
        array[...] = items
        is_utf8 = all(utf8_or_none(item) is not None for item in items[:chunk].tolist())
        texts = [(utf8_or_none(item) if is_utf8 else None) for item in items.tolist()]
        arrays[name] = [item.decode("latin-1") if text is None else text for item, text in zip(items.tolist(), texts)]
    return arrays


def utf8_or_none(item):
    try:
        return item.decode()
    except UnicodeDecodeError:
        return None


def write_bytes3(r, path):
    """Bytes of Zarr v3, by the letter of `vlen-bytes`."""
    length = int(r.integers(1, 100))
    items = [r.bytes(int(r.integers(0, 5))) if r.chance(.7) else "\u00e9".encode() for _ in range(length)]
    fill = r.bytes(2)
    harness.write(os.path.join(path, "zarr.json"), json.dumps({"zarr_format": 3, "node_type": "group"}))
    harness.write(os.path.join(path, "a", "zarr.json"), json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [2 * length], "fill_value": list(fill),
        "data_type": r.pick("bytes", "variable_length_bytes"), "codecs": ["vlen-bytes"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [length]}},
        "chunk_key_encoding": {"name": "default"}}))
    harness.write(os.path.join(path, "a", "c", "0"), vlen_bytes(items))
    return {"a": [item.decode("latin-1") for item in items + [fill] * length]}


def write_zip(r, path):
    """Archives of zarr-python, in which what is written again is there twice."""
    arrays = {}
    with warnings.catch_warnings(), zarr.ZipStore(path, mode="w") as store:
        warnings.simplefilter("ignore")
        group = zarr.group(store)
        for name in NAMES[:2]:
            dtype, shape = r.number(), r.shape(1000)
            array = group.create_dataset(name, shape=shape, chunks=r.chunks(shape) or None, dtype=dtype,
                                         compressor=compressor(r), fill_value=0)
            for number in range(int(r.integers(1, 4))):
                box = r.box(shape) if shape and r.chance(.5) else ...
                array[box] = r.values(dtype, shape)[box]
                array.attrs[f"number{number}"] = number
            arrays[name] = np.array(array[...], dtype)
    return arrays


def write_hdf5(r, path):
    """Datasets of h5py in every layout, with every index of chunks, and filters."""
    arrays = {}
    with h5py.File(path, "w", libver=r.pick("earliest", "latest"), userblock_size=r.pick(0, 0, 512)) as file:
        for name in NAMES[:4]:
            dtype, shape = r.dtype(), r.shape()
            if r.chance(.1):
                dtype = h5py.enum_dtype({"A": 0, "B": 5}, r.pick(">i2", "<i4", "u1"))
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            extents = shape
            if r.chance(.15) and np.prod(shape) * dtype.itemsize < 60000:
                properties.set_layout(h5py.h5d.COMPACT)
            elif shape and r.chance(.8):
                properties.set_chunk(tuple(min(n, c) for n, c in zip(shape, r.chunks(shape))))
                extents = tuple(r.pick(n, h5py.h5s.UNLIMITED) for n in shape) if r.chance(.5) else shape
                if r.chance(.2):
                    properties.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL)
                others = [properties.set_shuffle, properties.set_fletcher32, lambda: properties.set_deflate(4),
                          lambda: properties.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)]
                for which in r.permutation(len(others))[:int(r.integers(0, 4))]:
                    others[which]()
            file_type = h5py.h5t.py_create(dtype, logical=True)
            dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), file_type,
                                                   h5py.h5s.create_simple(shape, extents) if shape else
                                                   h5py.h5s.create(h5py.h5s.SCALAR), properties))
            if r.chance(.6):
                dataset[...] = r.values(dtype, shape)
            elif shape:
                box = r.box(shape)
                dataset[box] = r.values(dtype, shape)[box]
            for axis, extent in enumerate(extents):
                if extent == h5py.h5s.UNLIMITED and r.chance(.3):
                    dataset.resize(int(r.integers(1, 2 * shape[axis] + 1)), axis)
            arrays[name] = np.array(dataset[...], dtype)
    return arrays


def write_netcdf4(r, path):
    """Variables of netCDF-C with fewer records than their unlimited dimensions have, or none; in groups, too."""
    with netCDF4.Dataset(path, "w") as file:
        inside = file.createGroup("g")
        around = {"t": None, "u": None, "x": int(r.integers(1, 6))}
        below = {"w": None, "y": int(r.integers(1, 6))}
        for group, sizes in ((file, around), (inside, below)):
            for name, size in sizes.items():
                group.createDimension(name, size)
        for group, sizes in ((file, around), (inside, {**around, **below})):
            names = list(sizes)
            for number in range(int(r.integers(1, 6))):
                dims = [names[i] for i in r.permutation(len(names))[:int(r.integers(1, 4))]]
                name = r.pick(dims[0], f"v{number}") if len(dims) == 1 and dims[0] in group.dimensions else f"v{number}"
                if name not in group.variables:
                    write_netcdf4_variable(r, group, name, {dim: sizes[dim] for dim in dims})
    with netCDF4.Dataset(path) as file:
        return {name: values for group in (file, file["g"]) for name, values in netcdf4_values(group)}


def write_netcdf4_variable(r, group, name, sizes):
    dtype = np.dtype(r.pick("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))
    fill = r.pick(None, None, None if name in sizes else False, r.values(dtype, (1,))[0])
    chunks = [int(r.integers(1, (size or 7) + 1)) for size in sizes.values()]
    variable = group.createVariable(
        name, dtype, tuple(sizes), zlib=r.chance(.4), shuffle=r.chance(.5), fletcher32=r.chance(.3), fill_value=fill,
        chunksizes=chunks if None in sizes.values() else None, endian=r.pick("native", "little", "big"))
    variable.set_auto_maskandscale(False)
    # Without a fill value there is none for what lies between, either.
    for _ in range(1 if fill is False else int(r.integers(0, 4))):
        box = tuple(slice(0, size if fill is False and size else int(r.integers(1, (size or 9) + 1)))
                    for size in sizes.values())
        if fill is not False and r.chance(.3):
            box = tuple(slice(part.stop - 1, part.stop) for part in box)
        variable[box] = r.values(dtype, [part.stop - part.start for part in box])


def netcdf4_values(group):
    """Row by row: netCDF-C puts what it reads of several unlimited dimensions at once in the wrong places."""
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(False)
        values = np.empty(variable.shape, variable.dtype)
        for index in np.ndindex(*variable.shape[:-1]):
            values[index] = variable[index]
        yield group.path.strip("/") + "/" * (group.path != "/") + name, values


def number_of_bits(r):
    """An integer type in some bits of its bytes, and what makes its numbers of raw bytes."""
    size, signed, order = int(r.integers(1, 9)), r.chance(.5), r.pick("little", "big")
    bits = int(r.integers(1, 8 * size + 1))
    offset = int(r.integers(0, 8 * size - bits + 1))
    kind = (h5py.h5t.STD_I64LE if signed else h5py.h5t.STD_U64LE).copy()
    kind.set_order(h5py.h5t.ORDER_LE if order == "little" else h5py.h5t.ORDER_BE)
    kind.set_precision(bits)
    kind.set_offset(offset)
    kind.set_size(size)

    def number(raw):
        value = int.from_bytes(raw, order) >> offset & (1 << bits) - 1
        return value - (1 << bits) if signed and value >> bits - 1 else value
    shown = np.dtype("<%s%d" % ("i" if signed else "u", 1 << (size - 1).bit_length()))
    return kind, shown, lambda raws: np.array([number(raw) for raw in raws], shown)


def float_of_bits(r):
    """A float of one byte, which NumPy has no name for, or of two: the first half of a float32."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    if r.chance(.5):
        exponent = int(r.integers(2, 6))
        kind.set_fields(7, 7 - exponent, exponent, 0, 7 - exponent)
        kind.set_size(1)
        kind.set_ebias((1 << exponent - 1) - 1)
        return kind, np.dtype("V1"), lambda raws: np.frombuffer(b"".join(raws), "V1")
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_ebias(127)
    return kind, np.dtype("<f4"), lambda raws: np.frombuffer(b"".join(b"\0\0" + raw for raw in raws), "<f4")


def access_of_any_number(libver):
    """How to open an HDF5 file for it. HDF5 1.14.4 and later refuse numbers that use few of their bits, unless told not to,
    for which h5py has no function."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST if libver == "earliest" else h5py.h5f.LIBVER_LATEST,
                             h5py.h5f.LIBVER_LATEST)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        library = next(line.split()[-1] for line in maps if "/libhdf5" in line and "_hl" not in line)
    relax = getattr(ctypes.CDLL(library), "H5Pset_relax_file_integrity_checks", None)
    if relax:
        assert relax(ctypes.c_int64(access.id), ctypes.c_uint64(1)) >= 0
    return access


def write_hdf5_bits(r, path):
    """Numbers in some bits of their bytes, alone, in structs and arrays, with any bits around them, with nbit or not."""
    arrays = {}
    access = access_of_any_number(r.pick("earliest", "latest"))
    with h5py.File(h5py.h5f.create(path.encode(), fapl=access)) as file:
        for name in NAMES[:4]:
            parts = [float_of_bits(r) if r.chance(.2) else number_of_bits(r) for _ in range(r.pick(1, 1, 2, 3))]
            count, repeats = int(r.integers(1, 40)), r.pick(1, 1, 3)
            if len(parts) > 1:
                repeats, at, places = 1, 0, []
                for kind, _, _ in parts:
                    at += int(r.integers(0, 3))
                    places.append(at)
                    at += kind.get_size()
                whole = h5py.h5t.create(h5py.h5t.COMPOUND, at + int(r.integers(0, 3)))
                for i, (kind, _, _) in enumerate(parts):
                    whole.insert(b"m%d" % i, places[i], kind)
            else:
                whole = h5py.h5t.array_create(parts[0][0], (repeats,)) if repeats > 1 else parts[0][0]
                places = [0]
            size = whole.get_size()
            # NaN has other bits after a conversion, so there is none in floats.
            raws = [r.bytes(size) if all(shown.kind != "f" for _, shown, _ in parts) else
                    bytes(b & 0x3f for b in r.bytes(size)) for _ in range(count)]
            columns = [convert([raw[place + i * kind.get_size():place + (i + 1) * kind.get_size()]
                                for raw in raws for i in range(repeats)])
                       for place, (kind, _, convert) in zip(places, parts)]
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if r.chance(.5):
                properties.set_chunk((int(r.integers(1, count + 1)),))
                for add in (lambda: properties.set_filter(h5py.h5z.FILTER_NBIT), properties.set_shuffle,
                            lambda: properties.set_deflate(4)):
                    if r.chance(.5):
                        add()
            elif r.chance(.3):
                properties.set_layout(h5py.h5d.COMPACT)
            dataset = h5py.h5d.create(file.id, name.encode(), whole, h5py.h5s.create_simple((count,)), properties)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.frombuffer(b"".join(raws), f"V{size}").copy(), mtype=whole)
            if len(parts) > 1:
                want = np.zeros(count, [(f"m{i}", shown) for i, (_, shown, _) in enumerate(parts)])
                for i, column in enumerate(columns):
                    want[f"m{i}"] = column
            else:
                want = columns[0].reshape((count, repeats) if repeats > 1 else (count,))
            arrays[name] = want
    return arrays


def write_hdf5_text(r, path):
    """Text of fixed length that is UTF-8, Latin-1 or anything, whatever it says it is."""
    arrays = {}
    with h5py.File(path, "w") as file:
        for name in NAMES[:4]:
            width, shape = int(r.integers(1, 12)), r.shape(3000)
            make = r.pick(lambda: "\u00e4\u65e5x"[:int(r.integers(0, 4))].encode(),
                          lambda: "gr\u00fc\u00df"[:int(r.integers(0, 5))].encode("latin-1"),
                          lambda: r.bytes(width).replace(b"\0", b"."), lambda: b"plain")
            count = int(np.prod(shape, dtype=int))
            values = np.array([make()[:width] for _ in range(count)], f"S{width}").reshape(shape)
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(width)
            kind.set_strpad(h5py.h5t.STR_NULLPAD)
            kind.set_cset(r.pick(h5py.h5t.CSET_ASCII, h5py.h5t.CSET_UTF8))
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if shape and r.chance(.5):
                properties.set_chunk(tuple(min(n, c) for n, c in zip(shape, r.chunks(shape))))
            dataset = h5py.h5d.create(file.id, name.encode(), kind, space, properties)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=kind)
            arrays[name] = values
    return arrays


def write_npz(r, path):
    """Members as NumPy writes them, in archives as zipfile does: ZIP64, comments, stored and deflated."""
    arrays = {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = r.pick(b"", b"PK\x05\x06 in a comment")
        for name in NAMES[:4]:
            array = r.values(r.dtype(), r.shape())
            array = np.asfortranarray(array) if r.chance(.4) else array
            content = io.BytesIO()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.lib.format.write_array(content, array, version=r.pick(None, (3, 0)))
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = r.pick(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            with archive.open(info, "w", force_zip64=r.chance(.3)) as member:
                member.write(content.getvalue())
            arrays[name] = array
    return arrays


KINDS = [("zarr", write_zarr2), ("zarr3.zarr", write_zarr3), ("h5", write_hdf5), ("npz", write_npz),
         ("nc", write_netcdf4), ("bits.h5", write_hdf5_bits), ("text.h5", write_hdf5_text),
         ("lenient.zarr", write_lenient3), ("texts.zarr", write_texts), ("bytes3.zarr", write_bytes3),
         ("zarr.zip", write_zip), ("fixed.zarr", write_fixed_texts)]
ONLY = os.environ.get("NDLFS_RANDOM_KINDS")  # "zarr.zip,texts.zarr"; all of them otherwise


def field_bytes(array):
    """The bytes of all fields, little-endian, one after the other: padding is nobody's business."""
    if array.dtype.names:
        return b"".join(field_bytes(np.atleast_1d(array)[name]) for name in array.dtype.names)
    return harness.little_endian(array) if array.dtype.kind not in "SV" else array.tobytes()


class RandomStoresTest(harness.TestCase):
    def test_views_are_what_others_read(self):
        rounds = [(kind, seed) for seed in range(SEED, SEED + STORES) for kind in range(len(KINDS))
                  if not ONLY or KINDS[kind][0] in ONLY.split(",")]
        for number, some in enumerate(rounds[i:i + 80] for i in range(0, len(rounds), 80)):
            folder = os.path.join(self.scratch, str(number))
            os.mkdir(folder)
            stores = {}
            for kind, seed in some:
                name = f"{seed}.{KINDS[kind][0]}"
                with np.errstate(all="ignore"):
                    stores[name] = seed, KINDS[kind][1](Random(kind, seed), os.path.join(folder, name))
            with harness.Mount(folder, *OPTIONS[number % len(OPTIONS)]) as mounted:
                for store, (seed, arrays) in stores.items():
                    for name, want in arrays.items():
                        if isinstance(want, list):
                            with self.subTest(store=store, seed=seed, array=name):
                                self.check_lines(mounted.join(store, name), want)
                            continue
                        with self.subTest(store=store, seed=seed, array=name, dtype=want.dtype, shape=want.shape):
                            self.check_views(mounted.join(store, name), want, Random(len(KINDS), seed))
                self.check_documents(mounted)
            self.run_ok(harness.BINARY, "check", folder)

    def check_documents(self, mounted):
        """What ndlfs writes is what `ndlfs validate` accepts."""
        names = [mounted.join(name) for name in harness.walk(mounted.path) if name.endswith(".ndl.yaml")]
        self.assertEqual(self.run_ok(harness.BINARY, "validate", *names), "")

    def check_lines(self, folder, want):
        self.assertNotIn("error.txt", os.listdir(folder))
        yaml.load(harness.read(folder, ".ndl.yaml"), yaml.CSafeLoader)
        lines = harness.read(folder, "data.jsonl").decode().split("\n")[:-1]
        self.assertEqual([json.dumps(json.loads(line), sort_keys=True) for line in lines],
                         [json.dumps(value, sort_keys=True) for value in want])

    def check_views(self, folder, want, r):
        self.assertNotIn("error.txt", os.listdir(folder))
        yaml.load(harness.read(folder, ".ndl.yaml"), yaml.CSafeLoader)
        got = np.load(os.path.join(folder, "data.npy"))
        self.assertEqual(got.shape, want.shape)
        self.assertEqual(got.dtype.names, want.dtype.names)
        self.assertEqual(field_bytes(got), field_bytes(want))
        for view in os.listdir(folder):
            path = os.path.join(folder, view)
            content = harness.read(path)
            self.assertEqual(os.stat(path).st_size, len(content), view)
            if view == "data.txt":
                content.decode()
            with open(path, "rb", buffering=0) as file:
                for _ in range(4):
                    begin, size = int(r.integers(0, len(content) + 1)), int(r.integers(1, r.pick(20, 100000)))
                    self.assertEqual(os.pread(file.fileno(), size, begin), content[begin:begin + size], view)
        self.assertTrue(harness.read(folder, "data.npy").endswith(harness.read(folder, "data.raw")))


if __name__ == "__main__":
    harness.main()
