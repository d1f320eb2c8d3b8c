# SPDX-License-Identifier: MIT
"""Makes up small stores of each format, by a seed, with the writers of other software; knows what is in them."""
import dataclasses
import itertools
import json
import os
import struct

import astropy.io.fits
import cftime
import h5py
import netCDF4
import nibabel
import numcodecs
import numpy as np
import tifffile
import zarr2 as zarr

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f4", "f8"]
CALENDARS = ["standard", "proleptic_gregorian", "noleap", "360_day", "julian", "all_leap"]
UNITS = ["days", "hours", "minutes", "seconds"]
# Smaller stores, to find a small one that fails: the longest side of an array, and how many arrays.
MOST = int(os.environ.get("NDLFS_DIFFERENTIAL_MOST", "6"))
ARRAYS = int(os.environ.get("NDLFS_DIFFERENTIAL_ARRAYS", "3"))


@dataclasses.dataclass
class Array:
    """What a store has at one path."""
    stored: np.ndarray
    dims: list = dataclasses.field(default_factory=list)
    attributes: dict = dataclasses.field(default_factory=dict)

    def missing(self):
        """Where there is no value."""
        found = np.zeros(self.stored.shape, bool)
        for name in ("_FillValue", "missing_value"):
            if name in self.attributes:
                fill = self.attributes[name]
                found |= np.isnan(self.stored) if fill != fill else self.stored == fill
        if "valid_range" in self.attributes:
            least, most = self.attributes["valid_range"]
            found |= (self.stored < least) | (self.stored > most)
        return found

    def is_time(self):
        return "since" in self.attributes.get("units", "")

    def values(self):
        """What the numbers stand for by the CF conventions, as float64 with NaN; times as text, or None."""
        missing = self.missing()
        if self.is_time():
            moments = cftime.num2date(self.stored.astype("f8").ravel(), self.attributes["units"], self.attributes["calendar"])
            texts = [None if lacks else moment.isoformat() for moment, lacks in zip(moments, missing.ravel())]
            return np.array(texts, object).reshape(self.stored.shape)
        values = self.stored.astype("f8")
        values = values * float(self.attributes.get("scale_factor", 1)) + float(self.attributes.get("add_offset", 0))
        return np.where(missing, np.nan, values)

    def is_packed(self):
        return "scale_factor" in self.attributes or "add_offset" in self.attributes


class Random(np.random.Generator):
    """What is drawn for a store; `seed` says all of it."""

    def __init__(self, name, seed):
        super().__init__(np.random.PCG64([*name.encode(), seed]))

    def pick(self, *choices):
        return choices[int(self.integers(len(choices)))]

    def chance(self, probability):
        return self.random() < probability

    def shape(self, least=0, most=3):
        return tuple(int(n) for n in self.integers(1, MOST + 1, int(self.integers(least, most + 1))))

    def numbers(self, dtype, shape):
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return self.pick(self.normal(size=shape), self.integers(-50, 50, shape)).astype(dtype)
        if self.chance(.5):
            return self.integers(0, 100, shape).astype(dtype)
        limits = np.iinfo(dtype)
        return self.integers(limits.min, limits.max, shape, dtype.newbyteorder("="), endpoint=True)

    def array(self, dims, shape, types=(*INTEGERS, *FLOATS)):
        """Numbers that may be packed, or be times, or lack values."""
        dtype = np.dtype(self.pick(*types))
        attributes = {}
        stored = np.asarray(self.numbers(dtype, shape))
        if dtype.kind in "iu" and dtype.itemsize <= 2 and self.chance(.4):
            number = self.pick(np.float64, np.float32)
            attributes["scale_factor"] = number(self.pick(0.01, 0.5, 2.0, 0.1))
            if self.chance(.6):
                attributes["add_offset"] = number(self.pick(273.15, -10.0, 0.5))
            if self.chance(.3):
                attributes["valid_range"] = np.sort(self.numbers(dtype, (2,)))
        elif dtype.kind in "if" and dtype.itemsize >= 4 and self.chance(.25):
            attributes["units"] = f"{self.pick(*UNITS)} since {self.pick('2000-01-01', '1999-12-30 12:00:00', '1850-02-28')}"
            attributes["calendar"] = self.pick(*CALENDARS)
            stored = np.asarray(self.integers(0, 5000, shape).astype(dtype))
        else:
            attributes["units"] = self.pick("K", "m s-1", "1")
        if self.chance(.4):
            fill = dtype.type(self.pick(-99, 0, 127) if dtype.kind != "u" else self.pick(0, 99))
            attributes[self.pick("_FillValue", "_FillValue", "missing_value")] = fill
            stored[self.random(shape) < .2] = fill
        return Array(stored, list(dims), attributes)

    def arrays(self, count=ARRAYS, **more):
        """Arrays over common dimensions, with a coordinate or two."""
        sizes = {name: int(self.integers(1, MOST + 1)) for name in ("t", "y", "x")}
        found = {}
        for name in ("y", "x"):
            if self.chance(.7):
                step = float(self.pick(1, 0.25, -2))
                found[name] = Array(10 + step * np.arange(sizes[name], dtype="f8"), [name], {"units": "m"})
        for number in range(count):
            dims = list(sizes)[3 - int(self.integers(0, 4)):]
            found[f"v{number}"] = self.array(dims, tuple(sizes[dim] for dim in dims), **more)
        return found


def write_zarr2(r, path):
    group, arrays = zarr.open_group(path, mode="w"), r.arrays()
    for name, array in arrays.items():
        chunks = tuple(int(r.integers(1, n + 1)) for n in array.stored.shape) or None
        compressor = r.pick(None, numcodecs.Zlib(1), numcodecs.Blosc("lz4"), numcodecs.Zstd(1))
        attributes = dict(array.attributes)
        fill = attributes.pop("_FillValue", None)
        created = group.create_dataset(name, data=array.stored.astype(array.stored.dtype.newbyteorder(r.pick("<", ">"))),
                                       chunks=chunks, compressor=compressor, fill_value=fill)
        created.attrs.update({key: value if isinstance(value, str) else np.asarray(value).tolist()
                              for key, value in attributes.items()})
        created.attrs["_ARRAY_DIMENSIONS"] = array.dims
    return arrays


def plain(value):
    """An attribute as JSON has it."""
    return value if isinstance(value, str) else np.asarray(value).tolist()


ZARR3_TYPES = {"i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
               "u8": "uint64", "f4": "float32", "f8": "float64"}


class Zarr3Chain:
    """Codecs of Zarr v3 for chunks of one type, and what they make of a chunk."""

    def __init__(self, r, rank, item):
        self.order = [int(axis) for axis in r.permutation(rank)] if rank and r.chance(.3) else None
        self.endian = r.pick("little", "big")
        self.item = item
        self.compressor = r.pick(None, "gzip", "zstd", "blosc")
        self.has_checksum = r.chance(.3)

    def metadata(self):
        codecs = [{"name": "transpose", "configuration": {"order": self.order}}] if self.order else []
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
        encoded = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("<" if self.endian == "little" else ">")).tobytes()
        if self.compressor:
            codec = {"gzip": numcodecs.GZip(1), "zstd": numcodecs.Zstd(1), "blosc": numcodecs.Blosc("lz4", 3, 1)}
            # Blosc goes by the size of the elements that it gets.
            given = np.frombuffer(encoded, f"V{self.item}") if self.compressor == "blosc" else encoded
            encoded = bytes(codec[self.compressor].encode(given))
        return encoded + (struct.pack("<I", crc32c(encoded)) if self.has_checksum else b"")


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def cut(stored, shape, fill):
    """(index, chunk) of a regular grid; those at the edge are filled up."""
    for index in itertools.product(*(range(-(-n // size)) for n, size in zip(stored.shape, shape))):
        chunk = np.full(shape, fill, stored.dtype)
        part = stored[tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, shape))]
        chunk[tuple(slice(0, n) for n in part.shape)] = part
        yield index, chunk


def zarr3_shard(r, chunk, inner, chain, fill):
    """A shard with its index at the end; chunks of nothing but the fill value may be absent."""
    data, index = b"", []
    for _, part in cut(chunk, inner, fill):
        if np.all(part == fill) and r.chance(.8):
            index += [0xffffffffffffffff] * 2
            continue
        encoded = chain.encode(part)
        index += [len(data), len(encoded)]
        data += encoded
    index = struct.pack(f"<{len(index)}Q", *index)
    return data + index + struct.pack("<I", crc32c(index))


def write_zarr3_array(r, path, array):
    stored, attributes = array.stored, dict(array.attributes)
    fill = attributes.pop("_FillValue", stored.dtype.type(0))
    attributes |= {"_FillValue": fill} if "_FillValue" in array.attributes else {}
    inner = tuple(int(r.integers(1, n + 1)) for n in stored.shape)
    chain = Zarr3Chain(r, stored.ndim, stored.dtype.itemsize)
    is_sharded = stored.ndim > 0 and r.chance(.4)
    chunks = tuple(size * int(r.integers(1, 4)) for size in inner) if is_sharded else inner
    codecs = chain.metadata()
    if is_sharded:
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": codecs, "index_location": "end",
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]
    separator = r.pick("/", ".")
    metadata = {"zarr_format": 3, "node_type": "array", "shape": stored.shape, "data_type": ZARR3_TYPES[stored.dtype.str[1:]],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
                "fill_value": "NaN" if fill != fill else np.asarray(fill).tolist(), "codecs": codecs,
                "attributes": {key: plain(value) for key, value in attributes.items()}}
    if array.dims:
        metadata["dimension_names"] = array.dims
    os.makedirs(path)
    with open(os.path.join(path, "zarr.json"), "w") as file:
        json.dump(metadata, file)
    for index, chunk in cut(stored, chunks, fill):
        if np.all(chunk == fill) and r.chance(.8):
            continue
        key = os.path.join(path, separator.join(["c", *map(str, index)]))
        os.makedirs(os.path.dirname(key), exist_ok=True)
        with open(key, "wb") as file:
            file.write(zarr3_shard(r, chunk, inner, chain, fill) if is_sharded else chain.encode(chunk))


def write_zarr3(r, path):
    arrays = r.arrays()
    for name, array in arrays.items():
        write_zarr3_array(r, os.path.join(path, name), array)
    with open(os.path.join(path, "zarr.json"), "w") as file:
        json.dump({"zarr_format": 3, "node_type": "group", "attributes": {}}, file)
    return arrays


def write_ndl(r, path):
    """A document with its values. JSON is YAML, but for what is not finite."""
    arrays = r.arrays(types=(*INTEGERS, "f8"))
    found = {}
    for name, array in arrays.items():
        attributes = {key: value if isinstance(value, str) else
                      {"shape": list(np.shape(value)), "type": ZARR3_TYPES[np.asarray(value).dtype.str[1:]], "value": plain(value)}
                      for key, value in array.attributes.items()}
        found[name] = {"shape": list(array.stored.shape), "type": ZARR3_TYPES[array.stored.dtype.str[1:]],
                       "value": array.stored.tolist(), "attributes": attributes}
    with open(path, "w") as file:
        json.dump({"ndarrays": found}, file)
    return {name: Array(array.stored, [], array.attributes) for name, array in arrays.items()}


def write_mrc(r, path):
    """MRC2014: its axes are from the slowest to the fastest, as in C."""
    mode, dtype = r.pick((0, "i1"), (1, "i2"), (2, "f4"), (6, "u2"))
    stored, order = r.numbers(dtype, r.shape(3, 3)), r.pick("<", ">")
    header = bytearray(1024)
    struct.pack_into(order + "4i", header, 0, *stored.shape[::-1], mode)
    struct.pack_into(order + "3i", header, 28, *stored.shape[::-1])
    struct.pack_into(order + "6f", header, 40, *(float(n) for n in stored.shape[::-1]), 90, 90, 90)
    struct.pack_into(order + "3i", header, 64, 1, 2, 3)
    struct.pack_into(order + "i", header, 88, 1)
    header[208:216] = b"MAP " + (b"\x44\x44\0\0" if order == "<" else b"\x11\x11\0\0")
    with open(path, "wb") as file:
        file.write(header + stored.astype(stored.dtype.newbyteorder(order)).tobytes())
    return {"": Array(stored)}


def write_netcdf(form, types=(*INTEGERS, *FLOATS)):
    def write(r, path):
        arrays = r.arrays(types=types)
        with netCDF4.Dataset(path, "w", format=form) as file:
            for array in arrays.values():
                for dim, size in zip(array.dims, array.stored.shape):
                    if dim not in file.dimensions:
                        file.createDimension(dim, None if dim == "t" and r.chance(.5) else size)
            for name, array in arrays.items():
                attributes = dict(array.attributes)
                variable = file.createVariable(name, array.stored.dtype, array.dims,
                                               fill_value=attributes.pop("_FillValue", None),
                                               zlib=form == "NETCDF4" and r.chance(.5))
                variable.set_auto_maskandscale(False)
                variable.setncatts(attributes)
                variable[...] = array.stored
        return arrays
    return write


def write_hdf5(r, path):
    arrays = {f"v{number}": r.array([], r.shape()) for number in range(ARRAYS)}
    with h5py.File(path, "w", libver=r.pick("earliest", "latest")) as file:
        for name, array in arrays.items():
            more = {}
            if array.stored.ndim and r.chance(.6):
                more = {"chunks": tuple(int(r.integers(1, n + 1)) for n in array.stored.shape),
                        "compression": r.pick(None, "gzip", "lzf"), "shuffle": r.chance(.5)}
            dataset = file.create_dataset(name, data=array.stored.astype(array.stored.dtype.newbyteorder(r.pick("<", ">"))),
                                          **more)
            dataset.attrs.update(array.attributes)
    return arrays


def write_npy(r, path):
    stored = r.numbers(r.pick(*INTEGERS, *FLOATS), r.shape())
    np.save(path, np.asfortranarray(stored) if stored.ndim and r.chance(.5) else stored)
    return {"": Array(stored)}


def write_n5(r, path):
    group, arrays = zarr.group(zarr.N5Store(path), overwrite=True), {}
    for number in range(min(ARRAYS, 2)):
        shape = r.shape(1)
        stored = r.numbers(r.pick(*INTEGERS, *FLOATS), shape)
        chunks = tuple(int(r.integers(1, n + 1)) for n in shape)
        group.create_dataset(f"v{number}", data=stored, chunks=chunks, compressor=r.pick(None, numcodecs.GZip(1)))
        arrays[f"v{number}"] = Array(stored)
    return arrays


def write_fits(r, path):
    """Integers without a sign are signed ones with an offset."""
    stored = r.numbers(r.pick("u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"), r.shape(1))
    astropy.io.fits.PrimaryHDU(stored).writeto(path)
    return {"": Array(stored)}


def write_nifti(r, path):
    stored = r.numbers(r.pick(*INTEGERS, *FLOATS), r.shape(2))
    affine = np.diag([*(float(step) for step in r.integers(1, 4, 3)), 1.0])
    r.pick(nibabel.Nifti1Image, nibabel.Nifti2Image)(stored.T, affine, dtype=stored.dtype).to_filename(path)
    return {"": Array(stored)}


def write_tiff(r, path):
    stored = r.numbers(r.pick(*INTEGERS, *FLOATS), r.shape(2, 2))
    tifffile.imwrite(path, stored, photometric="minisblack", byteorder=r.pick("<", ">"),
                     compression=r.pick(None, "zlib"), rowsperstrip=int(r.integers(1, 4)))
    return {"": Array(stored)}


# By format: the ending of a store, and what writes it.
WRITERS = {
    "zarr2": (".zarr", write_zarr2),
    "zarr3": (".zarr", write_zarr3),
    "ndl": (".ndl.yaml", write_ndl),
    "mrc": (".mrc", write_mrc),
    "netcdf3": (".nc", write_netcdf("NETCDF3_CLASSIC", ("i1", "i2", "i4", "f4", "f8"))),
    "netcdf5": (".nc", write_netcdf("NETCDF3_64BIT_DATA")),
    "netcdf4": (".nc", write_netcdf("NETCDF4")),
    "hdf5": (".h5", write_hdf5),
    "npy": (".npy", write_npy),
    "n5": (".n5", write_n5),
    "fits": (".fits", write_fits),
    "nifti": (".nii", write_nifti),
    "tiff": (".tif", write_tiff),
}


def write(kind, seed, folder):
    """(name, arrays by path) of the store number `seed` of a format."""
    ending, writer = WRITERS[kind]
    name = f"{kind}-{seed}{ending}"
    return name, writer(Random(kind, seed), os.path.join(folder, name))
