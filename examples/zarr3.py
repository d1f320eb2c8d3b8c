# SPDX-License-Identifier: MIT
"""A small writer of Zarr v3 hierarchies, for data that the installed zarr library is too old to write.

It follows the Zarr v3 core specification and the registered `struct` data type and `zstd` codec, and shares no code
with any reader. Only NumPy and numcodecs (for the compressors) are needed.

    write_group("ocean.zarr", attributes={"title": "..."})
    write_array("ocean.zarr/sst", data, chunks=(8, 16), codecs=[BYTES, zstd(3)], fill_value="NaN")
    consolidate("ocean.zarr")
"""
import itertools
import json
import math
import os
import struct
import zlib

import numcodecs
import numpy as np

numcodecs.blosc.use_threads = False  # the same bytes on every machine

EMPTY = 2**64 - 1  # offset and size of an inner chunk that a shard leaves out

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
BIG_BYTES = {"name": "bytes", "configuration": {"endian": "big"}}
SINGLE_BYTES = {"name": "bytes"}
CRC32C = {"name": "crc32c"}


def zstd(level=3, checksum=False):
    return {"name": "zstd", "configuration": {"level": level, "checksum": checksum}}


def gzip(level=5):
    return {"name": "gzip", "configuration": {"level": level}}


def blosc(cname="lz4", clevel=5, shuffle="shuffle", typesize=4, blocksize=0):
    return {"name": "blosc", "configuration": {"cname": cname, "clevel": clevel, "shuffle": shuffle,
                                               "typesize": typesize, "blocksize": blocksize}}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def sharding(chunk_shape, codecs, index_location="end", index_codecs=(BYTES, CRC32C)):
    return {"name": "sharding_indexed",
            "configuration": {"chunk_shape": list(chunk_shape), "codecs": list(codecs),
                              "index_codecs": list(index_codecs), "index_location": index_location}}


def _crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C_TABLE = _crc32c_table()


def crc32c(data):
    """CRC-32C (Castagnoli) of `data`, as in RFC 3720."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def data_type(dtype):
    """The `data_type` member that stands for a NumPy dtype."""
    if dtype.names:
        fields = [{"name": name, "data_type": data_type(dtype[name])} for name in dtype.names]
        return {"name": "struct", "configuration": {"fields": fields}}
    return dtype.name


def fill_element(dtype, fill_value):
    """One element of `dtype` from the JSON form of a fill value."""
    if dtype.names:
        element = np.zeros((), dtype)
        for name in dtype.names:
            element[name] = fill_element(dtype[name], fill_value[name])
        return element
    if dtype.kind == "c":
        return np.array(complex(*(float(part) for part in fill_value)), dtype)
    if dtype.kind == "V":
        return np.frombuffer(bytes(fill_value), dtype)[0]
    if isinstance(fill_value, str) and fill_value.startswith("0x"):
        return np.frombuffer(bytes.fromhex(fill_value[2:])[::-1], dtype.newbyteorder("<"))[0].astype(dtype)
    if isinstance(fill_value, str):
        fill_value = float(fill_value)
    return np.array(fill_value, dtype)


def _grid(shape, chunk_shape):
    return itertools.product(*(range(math.ceil(n / c)) for n, c in zip(shape, chunk_shape)))


def _cut(data, index, chunk_shape, fill):
    """The chunk at `index`: always of the full shape, with the fill value beyond the edge."""
    box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape))
    piece = data[box]
    chunk = np.full(chunk_shape, fill, data.dtype)
    chunk[tuple(slice(0, n) for n in piece.shape)] = piece
    return chunk


def _is_fill(chunk, fill):
    return chunk.tobytes() == np.full(chunk.shape, fill, chunk.dtype).tobytes()


def cut_into_chunks(data, chunk_shape, fill):
    """The index of each chunk and the chunk, without those that hold nothing but the fill value."""
    for index in _grid(data.shape, chunk_shape):
        chunk = _cut(data, index, tuple(chunk_shape), fill)
        if not _is_fill(chunk, fill):
            yield index, chunk


def _compress(codec, data):
    name, config = codec["name"], codec.get("configuration", {})
    if name == "gzip":
        return zlib.compress(data, config["level"], 31)  # the same header from every Python
    if name == "zstd":
        return bytes(numcodecs.Zstd(level=config["level"]).encode(data))
    if name == "blosc":
        shuffle = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[config["shuffle"]]
        typed = np.frombuffer(data, f"V{config['typesize']}")
        return bytes(numcodecs.Blosc(config["cname"], config["clevel"], shuffle, config["blocksize"]).encode(typed))
    if name == "crc32c":
        return data + struct.pack("<I", crc32c(data))
    raise ValueError(f"this writer has no codec {name!r}")


def encode(chunk, codecs, fill):
    """The bytes of one chunk."""
    data = None
    for codec in codecs:
        name, config = codec["name"], codec.get("configuration", {})
        if name == "transpose":
            chunk = np.transpose(chunk, config["order"])
        elif name == "bytes":
            order = ">" if config.get("endian") == "big" else "<"
            data = chunk.astype(chunk.dtype.newbyteorder(order)).tobytes()
        elif name == "sharding_indexed":
            data = _encode_shard(chunk, config, fill)
        else:
            data = _compress(codec, data)
    return data


def _encode_shard(chunk, config, fill):
    at_start = config.get("index_location", "end") == "start"
    pieces, entries = [], []
    inner_shape = tuple(config["chunk_shape"])
    counts = [n // c for n, c in zip(chunk.shape, inner_shape)]
    index_bytes = 16 * math.prod(counts) + (4 if config["index_codecs"][-1]["name"] == "crc32c" else 0)
    offset = index_bytes if at_start else 0
    for index in _grid(chunk.shape, inner_shape):
        inner = _cut(chunk, index, inner_shape, fill)
        if _is_fill(inner, fill):
            entries.append((EMPTY, EMPTY))
            continue
        pieces.append(encode(inner, config["codecs"], fill))
        entries.append((offset, len(pieces[-1])))
        offset += len(pieces[-1])
    index = encode(np.array(entries, np.uint64).reshape(*counts, 2), config["index_codecs"], np.uint64(EMPTY))
    return b"".join([index, *pieces] if at_start else [*pieces, index])


def chunk_key(index, encoding):
    separator = encoding.get("configuration", {}).get("separator", "/" if encoding["name"] == "default" else ".")
    parts = [str(i) for i in index]
    if encoding["name"] == "default":
        return separator.join(["c", *parts])
    return separator.join(parts) or "0"


def _write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write_group(path, attributes=None):
    os.makedirs(path, exist_ok=True)
    _write_json(os.path.join(path, "zarr.json"),
                {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}})


def write_array(path, data, *, chunks, codecs, fill_value=0, dimension_names=None, attributes=None,
                chunk_key_encoding=None, type_name=None, extra=None):
    """Writes `data` at `path`. Chunks that hold nothing but the fill value are left out."""
    os.makedirs(path, exist_ok=True)
    encoding = chunk_key_encoding or {"name": "default", "configuration": {"separator": "/"}}
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(data.shape),
        "data_type": type_name or data_type(data.dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": encoding,
        "fill_value": fill_value,
        "codecs": list(codecs),
        "attributes": attributes or {},
    }
    if dimension_names is not None:
        metadata["dimension_names"] = list(dimension_names)
    metadata.update(extra or {})
    _write_json(os.path.join(path, "zarr.json"), metadata)
    fill = fill_element(data.dtype, fill_value)
    for index, chunk in cut_into_chunks(data, chunks, fill):
        file_name = os.path.join(path, chunk_key(index, encoding))
        os.makedirs(os.path.dirname(file_name), exist_ok=True)
        with open(file_name, "wb") as file:
            file.write(encode(chunk, codecs, fill))


def consolidate(path):
    """Gathers the metadata of all nodes below the group at `path` into its own."""
    metadata = {}
    for folder, names, files in sorted(os.walk(path)):
        if "zarr.json" in files and folder != path:
            with open(os.path.join(folder, "zarr.json"), encoding="utf-8") as file:
                metadata[os.path.relpath(folder, path)] = json.load(file)
    root = os.path.join(path, "zarr.json")
    with open(root, encoding="utf-8") as file:
        group = json.load(file)
    group["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": metadata}
    _write_json(root, group)
