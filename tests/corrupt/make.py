#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes stores that are broken on purpose, each named for what is wrong with it, and says what shall be seen of it.

    make.py DIRECTORY

CASES is the table: for each name a maker, which writes the store, and an expectation, one of the classes below. Beside
them DIRECTORY gets GOOD stores, which must stay readable byte for byte whatever stands next to them.

Arrays are one-dimensional, VALUES, in chunks of COUNT elements: 16 KiB, whole pages, so that what is wrong with one
chunk can be told from its neighbours through the page cache.
"""
import dataclasses
import gzip
import io
import json
import lzma
import os
import re
import struct
import sys
import warnings
import zipfile
import zlib

import h5py
import numcodecs
import numpy as np

import dmrpp_writer
import grib_messages
import icechunk_writer
import parquet
import tiff_files
import zarr3

CHUNKS = 4
COUNT = 4096
VALUES = (np.arange(CHUNKS * COUNT, dtype="<i4") * 3 + 1).astype("<i4")
FILL = 7
SECRET = b"what lies outside the source tree"


@dataclasses.dataclass
class StoreError:
    """The store cannot be opened: a folder with `error.txt`, one line with these words, and `.source`; nothing else."""
    words: tuple


@dataclasses.dataclass
class ArrayError:
    """The array cannot be decoded: a folder with `error.txt`, one line with these words, and no data views.

    `path` is the array in its store, "" for a store that is one array. With `described`, `.ndl.yaml` is there too.
    """
    words: tuple
    path: str = ""
    described: bool = True


@dataclasses.dataclass
class BadChunks:
    """EIO for reads that touch one of these chunks and no others; a line with the words in errors.log for each.

    The line names the chunk, unless the array has none: those that are `ranges` of a file.
    """
    chunks: dict
    path: str = ""
    ranges: bool = False


@dataclasses.dataclass
class BadText:
    """An array of texts whose first chunk is damaged: `data.jsonl` is EIO, and a line with the words is in errors.log."""
    words: tuple


@dataclasses.dataclass
class Shows:
    """Readable, with these values."""
    values: np.ndarray
    path: str = ""


@dataclasses.dataclass
class PlainFolder:
    """Not taken for a store: a plain directory with these names."""
    names: tuple


@dataclasses.dataclass
class Case:
    name: str
    make: object
    expectation: object


CASES = []


def case(name, expectation):
    def register(make):
        CASES.append(Case(name, make, expectation))
        return make
    return register


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def edit(path, change):
    with open(path, "rb") as file:
        content = file.read()
    write(path, change(content))


def flip(content, position):
    changed = bytearray(content)
    changed[position] ^= 0x55
    return bytes(changed)


# Zarr v2 -----------------------------------------------------------------------------------------------------------

ZARRAY = {"zarr_format": 2, "shape": [CHUNKS * COUNT], "chunks": [COUNT], "dtype": "<i4", "compressor": None,
          "fill_value": FILL, "order": "C", "filters": None}
GZIP = {"id": "gzip", "level": 5}


def chunk(index):
    return VALUES[index * COUNT:(index + 1) * COUNT].tobytes()


def v2(path, encode=lambda data: data, **changes):
    """A sound array, but for what `changes` says in its metadata; ... takes a key away."""
    metadata = {key: value for key, value in {**ZARRAY, **changes}.items() if value is not ...}
    write(f"{path}/.zarray", json.dumps(metadata))
    for index in range(CHUNKS):
        write(f"{path}/{index}", encode(chunk(index)))


def v2_codec(path, compressor):
    codec = numcodecs.get_codec(dict(compressor))
    v2(path, lambda data: bytes(codec.encode(np.frombuffer(data, "<i4"))), compressor=compressor)


# What is wrong in .zarray, and words of the reason.
V2_METADATA = {
    "shape-is-a-string": ({"shape": "16384"}, ("shape",)),
    "shape-is-negative": ({"shape": [-1]}, ("shape", "-1")),
    "shape-is-a-fraction": ({"shape": [1.5]}, ("shape", "1.5")),
    "shape-is-null": ({"shape": None}, ("shape",)),
    "shape-is-nested": ({"shape": [[4]]}, ("shape",)),
    "shape-beyond-64-bits": ({"shape": [2**64]}, ("shape",)),
    "shape-beyond-63-bits": ({"shape": [2**63]}, ("shape",)),
    "shape-missing": ({"shape": ...}, ("shape",)),
    "shape-product-overflows": ({"shape": [2**62, 2**62], "chunks": [16, 16]}, ()),
    "shape-times-element-overflows": ({"shape": [2**62], "dtype": "<f8"}, ()),
    "shape-of-a-thousand-dimensions": ({"shape": [1] * 1000, "chunks": [1] * 1000}, ("shape",)),
    "chunks-of-another-rank": ({"chunks": [64, 64]}, ("chunk",)),
    "chunks-of-no-extent": ({"chunks": [0]}, ("chunk", "0")),
    "chunks-negative": ({"chunks": [-4096]}, ("chunk", "-4096")),
    "chunks-missing": ({"chunks": ...}, ("chunks",)),
    "chunks-product-overflows": ({"shape": [10, 10], "chunks": [2**62, 2**62]}, ()),
    "chunks-larger-than-the-limit": ({"chunks": [2**40]}, ("max-chunk-size",)),
    "dtype-is-a-number": ({"dtype": 4}, ("dtype",)),
    "dtype-missing": ({"dtype": ...}, ("dtype",)),
    "dtype-unknown-letter": ({"dtype": "<q4"}, ("<q4",)),
    "dtype-of-impossible-size": ({"dtype": "<f3"}, ("<f3",)),
    "dtype-of-huge-text": ({"dtype": "|S99999999999999999999"}, ("dtype",)),
    "dtype-empty": ({"dtype": ""}, ("dtype",)),
    "dtype-struct-without-members": ({"dtype": []}, ("dtype",)),
    "dtype-struct-with-negative-subarray": ({"dtype": [["a", "<i4", [-1]]]}, ("dtype",)),
    "dtype-struct-with-huge-subarray": ({"dtype": [["a", "<i4", [2**40, 2**40]]]}, ("dtype",)),
    "dtype-struct-with-equal-names": ({"dtype": [["a", "<i4"], ["a", "<i4"]]}, ("dtype",)),
    "order-unknown": ({"order": "X"}, ("order", "X")),
    "fill-value-of-another-type": ({"fill_value": "many"}, ("fill_value", "many")),
    "fill-value-out-of-range": ({"fill_value": 2**40}, ("fill_value",)),
    "fill-value-of-a-million-digits": ({"fill_value": "9" * 1_000_000}, ("fill_value", "999")),
    "fill-value-out-of-range-in-quotes": ({"fill_value": str(2**40)}, ("fill_value",)),
    "format-of-another-version": ({"zarr_format": 9}, ("zarr_format", "9")),
    "compressor-is-a-string": ({"compressor": "zlib"}, ("compressor",)),
    "compressor-without-a-name": ({"compressor": {"level": 1}}, ("compressor",)),
    "filters-is-an-object": ({"filters": {"id": "delta"}}, ("filters",)),
}
for _name, (_changes, _words) in V2_METADATA.items():
    case(f"v2-{_name}.zarr", ArrayError((".zarray", *_words), described=None))(
        lambda path, changes=_changes: v2(path, **changes))

case("v2-codec-unknown.zarr", ArrayError((".zarray", "pcodec9")))(
    lambda path: v2(path, compressor={"id": "pcodec9", "level": 1}))
case("v2-filter-unknown.zarr", ArrayError((".zarray", "sorcery")))(
    lambda path: v2(path, filters=[{"id": "sorcery"}]))
case("v2-objects-in-pickles.zarr", ArrayError((".zarray", "pickle"), described=None))(
    lambda path: v2(path, dtype="|O", filters=[{"id": "pickle", "protocol": 5}], fill_value=None))


def v2_bytes(path, content):
    v2(path)
    write(f"{path}/.zarray", content)


# What stands in .zarray instead of metadata.
V2_CONTENTS = {
    "truncated": (json.dumps(ZARRAY)[:60], ()),
    "empty": ("", ()),
    "not-json": ("this is no JSON", ()),
    "a-list": ("[]", ("object",)),
    "nested-deep": ("[" * 200_000, ("deep",)),
    "nested-deep-in-a-key": (json.dumps(ZARRAY)[:-1] + ', "more": ' + '{"a":' * 50_000 + "1" + "}" * 50_001, ("deep",)),
    "not-utf8": (b'{"zarr_format": 2, "\xff\xfe": 1}', ()),
    "full-of-zeros": (b"\0" * 4096, ()),
    "with-a-number-of-a-million-digits": ('{"zarr_format": ' + "9" * 1_000_000 + "}", ()),
    "followed-by-something": (json.dumps(ZARRAY) + "}", ()),
}
for _name, (_content, _words) in V2_CONTENTS.items():
    case(f"v2-metadata-{_name}.zarr", StoreError((".zarray", *_words)))(
        lambda path, content=_content: v2_bytes(path, content))


@case("v2-metadata-of-a-terabyte.zarr", StoreError((".zarray",)))
def _(path):
    v2(path)
    os.truncate(f"{path}/.zarray", 1 << 40)


@case("v2-metadata-is-a-folder.zarr", PlainFolder((".zarray",)))
def _(path):
    os.makedirs(f"{path}/.zarray")


@case("v2-metadata-is-a-fifo.zarr", PlainFolder((".zarray",)))
def _(path):
    os.makedirs(path)
    os.mkfifo(f"{path}/.zarray")


@case("v2-group-metadata-truncated.zarr", StoreError((".zgroup",)))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_')
    v2(f"{path}/values")


@case("v2-group-with-a-truncated-array.zarr", ArrayError((".zarray",), "broken", described=False))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_format": 2}')
    v2_bytes(f"{path}/broken", json.dumps(ZARRAY)[:60])
    v2(f"{path}/sound")


@case("v2-group-with-an-array-of-an-unknown-codec.zarr", ArrayError(("pcodec9",), "broken"))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_format": 2}')
    v2(f"{path}/broken", compressor={"id": "pcodec9"})


@case("v2-group-whose-other-array-is-broken.zarr", Shows(VALUES, "sound"))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_format": 2}')
    v2_bytes(f"{path}/broken", "{")
    v2(f"{path}/sound")


@case("v2-attributes-truncated.zarr", Shows(VALUES))
def _(path):
    v2(path)
    write(f"{path}/.zattrs", '{"units": "K')


@case("v2-consolidated-metadata-truncated.zarr", Shows(VALUES, "sound"))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_format": 2}')
    v2(f"{path}/sound")
    write(f"{path}/.zmetadata", '{"zarr_consolidated_format": 1, "metadata": {')


@case("v2-consolidated-metadata-climbs-out.zarr", Shows(VALUES, "sound"))
def _(path):
    write(f"{path}/.zgroup", '{"zarr_format": 2}')
    v2(f"{path}/sound")
    keys = ["../outside", "../../secret", "/etc", "a/../../../secret", "a//b", "./a", "sound/../../../secret", "", ".."]
    metadata = {f"{key}/.zarray": ZARRAY for key in keys}
    write(f"{path}/.zmetadata", json.dumps({"zarr_consolidated_format": 1, "metadata": {
        ".zgroup": {"zarr_format": 2}, "sound/.zarray": ZARRAY, **metadata}}))


def v2_chunk(name, words, compressor=None):
    """A case in which chunk 1 of a sound array is replaced: the maker gets its path and encoded bytes."""
    def register(replace):
        def make(path):
            v2_codec(path, compressor) if compressor else v2(path)
            with open(f"{path}/1", "rb") as file:
                content = file.read()
            os.unlink(f"{path}/1")
            changed = replace(f"{path}/1", content)
            if changed is not None:
                write(f"{path}/1", changed)
        case(f"v2-{name}.zarr", BadChunks({1: words}))(make)
        return replace
    return register


v2_chunk("chunk-too-short", ())(lambda path, content: content[:-1])
v2_chunk("chunk-too-long", ())(lambda path, content: content + b"\0")
v2_chunk("chunk-empty", ())(lambda path, content: b"")
v2_chunk("chunk-link-outside", ())(lambda path, content: os.symlink("../../secret/chunk", path))
v2_chunk("chunk-absolute-link-outside", ())(lambda path, content: os.symlink("/etc/passwd", path))
v2_chunk("chunk-link-loop", ())(lambda path, content: os.symlink("1", path))
v2_chunk("chunk-is-a-fifo", ())(lambda path, content: os.mkfifo(path))
v2_chunk("chunk-of-a-terabyte", ())(lambda path, content: write(path, content) or os.truncate(path, 1 << 40))
v2_chunk("gzip-garbage", ("gzip",), GZIP)(lambda path, content: b"garbage" * 100)
v2_chunk("gzip-truncated", ("gzip",), GZIP)(lambda path, content: content[: len(content) // 2])
v2_chunk("gzip-empty", ("gzip",), GZIP)(lambda path, content: b"")
v2_chunk("gzip-checksum-wrong", ("gzip",), GZIP)(lambda path, content: flip(content, -5))
v2_chunk("gzip-bomb", ("gzip",), GZIP)(lambda path, content: gzip.compress(bytes(64 << 20), 9, mtime=0))
v2_chunk("gzip-one-byte-too-much", ("gzip",), GZIP)(lambda path, content: gzip.compress(chunk(1) + b"\0", mtime=0))
v2_chunk("gzip-one-byte-too-little", (), GZIP)(lambda path, content: gzip.compress(chunk(1)[:-1], mtime=0))
v2_chunk("gzip-of-a-hundred-empty-members-and-too-much", ("gzip",), GZIP)(
    lambda path, content: gzip.compress(b"", mtime=0) * 100 + gzip.compress(chunk(1) * 2, mtime=0))
v2_chunk("zlib-checksum-wrong", ("zlib",), {"id": "zlib", "level": 1})(lambda path, content: flip(content, -1))
v2_chunk("zlib-bomb", ("zlib",), {"id": "zlib", "level": 1})(lambda path, content: zlib.compress(bytes(64 << 20)))
v2_chunk("bz2-truncated", ("bz2",), {"id": "bz2", "level": 1})(lambda path, content: content[:-20])
v2_chunk("bz2-bomb", ("bz2",), {"id": "bz2", "level": 1})(
    lambda path, content: numcodecs.BZ2(9).encode(bytes(64 << 20)))
v2_chunk("zstd-truncated", ("zstd",), {"id": "zstd", "level": 1})(lambda path, content: content[:-3])
v2_chunk("zstd-garbage", ("zstd",), {"id": "zstd", "level": 1})(lambda path, content: b"\x28\xb5\x2f\xfd" + b"\xff" * 40)
v2_chunk("zstd-bomb", ("zstd",), {"id": "zstd", "level": 1})(
    lambda path, content: bytes(numcodecs.Zstd(1).encode(bytes(64 << 20))))
v2_chunk("zstd-too-little", (), {"id": "zstd", "level": 1})(
    lambda path, content: bytes(numcodecs.Zstd(1).encode(chunk(1)[:-4])))
# Single segment, an 8 byte content size of 2^62, and a block that says it is the last.
v2_chunk("zstd-header-lies-about-its-size", ("zstd",), {"id": "zstd", "level": 1})(
    lambda path, content: b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 62) + b"\x01\x00\x00")
v2_chunk("lz4-size-too-large", ("lz4",), {"id": "lz4", "acceleration": 1})(
    lambda path, content: struct.pack("<I", 0x7FFFFFFF) + content[4:])
v2_chunk("lz4-size-negative", ("lz4",), {"id": "lz4", "acceleration": 1})(
    lambda path, content: b"\xff\xff\xff\xff" + content[4:])
v2_chunk("lz4-size-too-small", ("lz4",), {"id": "lz4", "acceleration": 1})(
    lambda path, content: struct.pack("<I", 100) + content[4:])
v2_chunk("lz4-shorter-than-its-header", ("lz4",), {"id": "lz4", "acceleration": 1})(lambda path, content: b"\0\0")
v2_chunk("lzma-truncated", ("lzma",), {"id": "lzma"})(lambda path, content: content[:-10])


def v2_texts(name, filter_name, content, words=()):
    """Two texts in one chunk, which is `content`."""
    def make(path):
        write(f"{path}/.zarray", json.dumps(ZARRAY | {"shape": [2], "chunks": [2], "dtype": "|O", "fill_value": "",
                                                      "filters": [{"id": filter_name}]}))
        write(f"{path}/0", content)
    case(f"v2-{filter_name}-{name}.zarr", BadText((filter_name, *words)))(make)


v2_texts("truncated", "json2", b'["a", "b", "|O", [', ("JSON",))
v2_texts("of-another-shape", "json2", b'["a", "b", "|O", [3]]', ("expected [2]",))
v2_texts("with-a-length-of-four-billion", "msgpack2", b"\xdd\xff\xff\xff\xff", ("MessagePack",))
v2_texts("whose-shape-is-text-that-is-no-utf8", "msgpack2", b"\x92\xa1O\x91\xa1\xff", ("expected [2]",))
v2_texts("with-fewer-texts-than-it-says", "vlen-utf8", b"\2\0\0\0\1\0\0\0a")
v2_texts("with-a-text-longer-than-the-chunk", "vlen-utf8", b"\2\0\0\0\1\0\0\0a\xff\xff\xff\x7fb")


def lzma_with_dictionary(content, size_code):
    """The XZ stream `content`, asking its reader for the dictionary of `size_code` (40: 4 GiB)."""
    header_size = (content[12] + 1) * 4
    header = bytearray(content[12:12 + header_size - 4])
    header[header.index(b"\x21\x01") + 2] = size_code
    return content[:12] + bytes(header) + struct.pack("<I", zlib.crc32(header)) + content[12 + header_size:]


@case("v2-lzma-with-a-dictionary-of-4-GiB.zarr", BadChunks({1: ("lzma",)}))
def _(path):
    v2_codec(path, {"id": "lzma"})
    edit(f"{path}/1", lambda content: lzma_with_dictionary(content, 40))


# The header of blosc: version, format version, flags, type size, then decoded size, block size and encoded size.
def blosc_case(name, change, words=("blosc",)):
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    v2_chunk(f"blosc-{name}", words, compressor)(lambda path, content: change(content))


def with_field(content, offset, value):
    return content[:offset] + struct.pack("<I", value & 0xFFFFFFFF) + content[offset + 4:]


blosc_case("decoded-size-too-large", lambda content: with_field(content, 4, 1 << 30))
blosc_case("decoded-size-of-2-GiB", lambda content: with_field(content, 4, 0x7FFFFFFF))
blosc_case("decoded-size-negative", lambda content: with_field(content, 4, -1))
blosc_case("decoded-size-too-small", lambda content: with_field(content, 4, 1000))
blosc_case("decoded-size-zero", lambda content: with_field(content, 4, 0))
blosc_case("block-size-zero", lambda content: with_field(content, 8, 0))
blosc_case("block-size-huge", lambda content: with_field(content, 8, 0x7FFFFFFF))
blosc_case("block-size-one", lambda content: with_field(content, 8, 1))
blosc_case("encoded-size-beyond-the-end", lambda content: with_field(content, 12, len(content) + 1000))
blosc_case("encoded-size-negative", lambda content: with_field(content, 12, -1))
blosc_case("encoded-size-too-small", lambda content: with_field(content, 12, 16))
blosc_case("type-size-zero", lambda content: content[:3] + b"\0" + content[4:])
blosc_case("version-unknown", lambda content: b"\xff" + content[1:])
blosc_case("compressor-unknown", lambda content: content[:2] + bytes([content[2] | 0xE0]) + content[3:])
blosc_case("truncated", lambda content: content[: len(content) // 2])
blosc_case("shorter-than-its-header", lambda content: content[:15])
blosc_case("empty", lambda content: b"")
blosc_case("block-offsets-outside", lambda content: with_field(content, 16, 0x7FFFFFF0))
blosc_case("block-offsets-negative", lambda content: with_field(content, 16, -100))


def with_fill(*absent):
    values = VALUES.copy()
    for index in absent:
        values[index * COUNT:(index + 1) * COUNT] = FILL
    return values


@case("v2-chunks-absent.zarr", Shows(with_fill(1, 3)))
def _(path):
    v2(path)
    os.unlink(f"{path}/1")
    os.unlink(f"{path}/3")


@case("v2-chunks-absent-without-a-fill-value.zarr", Shows(np.zeros_like(VALUES)))
def _(path):
    v2(path, fill_value=None)
    for index in range(CHUNKS):
        os.unlink(f"{path}/{index}")


@case("v2-chunk-is-a-folder.zarr", Shows(with_fill(1)))  # as zarr-python sees it: there is no such chunk
def _(path):
    v2(path)
    os.unlink(f"{path}/1")
    os.mkdir(f"{path}/1")


@case("v2-chunk-linked-within-the-tree.zarr", Shows(VALUES))
def _(path):
    v2(path)
    os.rename(f"{path}/1", f"{path}/elsewhere")
    os.symlink("elsewhere", f"{path}/1")


@case("v2-metadata-links-outside.zarr", PlainFolder((".zarray", "0")))
def _(path):
    write(f"{path}/0", chunk(0))
    os.symlink("../../secret/.zarray", f"{path}/.zarray")


# Zarr v3 -----------------------------------------------------------------------------------------------------------

def v3(path, codecs=(zarr3.BYTES,), changes=None, chunks=(COUNT,)):
    """A sound array, but for what `changes` says in its metadata; ... takes a key away."""
    zarr3.write_array(path, VALUES, chunks=chunks, codecs=codecs, fill_value=FILL)
    with open(f"{path}/zarr.json", encoding="utf-8") as file:
        metadata = json.load(file)
    metadata.update(changes or {})
    write(f"{path}/zarr.json", json.dumps({key: value for key, value in metadata.items() if value is not ...}))


V3_METADATA = {
    "shape-is-a-string": ({"shape": "16384"}, ("shape",)),
    "shape-is-negative": ({"shape": [-1]}, ("shape", "-1")),
    "shape-missing": ({"shape": ...}, ("shape",)),
    "shape-product-overflows": (
        {"shape": [2**62, 2**62], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 16]}}}, ()),
    "node-type-missing": ({"node_type": ...}, ("node_type",)),
    "node-type-unknown": ({"node_type": "tree"}, ("node_type", "tree")),
    "format-of-another-version": ({"zarr_format": 4}, ("zarr_format", "4")),
    "unknown-field-that-must-be-understood": ({"fancy": {"must_understand": True}}, ("fancy",)),
    "unknown-field": ({"fancy": 1}, ("fancy",)),
    "storage-transformer": ({"storage_transformers": [{"name": "magic"}]}, ("storage transformer", "magic")),
    "data-type-missing": ({"data_type": ...}, ("data_type",)),
    "data-type-unknown": ({"data_type": "quaternion"}, ("quaternion",)),
    "data-type-is-a-number": ({"data_type": 32}, ("data_type",)),
    "raw-bits-not-whole-bytes": ({"data_type": "r17"}, ("r17",)),
    "struct-without-fields": ({"data_type": {"name": "struct", "configuration": {"fields": []}}}, ("fields",)),
    "chunk-grid-unknown": ({"chunk_grid": {"name": "hexagonal"}}, ("hexagonal",)),
    "chunk-grid-of-another-rank": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64, 64]}}}, ("chunk",)),
    "chunk-of-no-extent": ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}, ("chunk",)),
    "chunk-larger-than-the-limit": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**40]}}}, ("max-chunk-size",)),
    "chunk-keys-unknown": ({"chunk_key_encoding": {"name": "spiral"}}, ("spiral",)),
    "chunk-key-separator-unknown": (
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "../"}}}, ("separator",)),
    "fill-value-missing": ({"fill_value": ...}, ("fill_value",)),
    "fill-value-of-another-type": ({"fill_value": "many"}, ("fill_value", "many")),
    "fill-value-out-of-range": ({"fill_value": 2**40}, ("fill_value",)),
    "fill-value-is-null": ({"fill_value": None}, ("fill_value",)),
    "dimension-names-too-many": ({"dimension_names": ["x", "y"]}, ("dimension_names",)),
    "dimension-names-of-numbers": ({"dimension_names": [1]}, ("dimension_names",)),
    "codecs-empty": ({"codecs": []}, ("codecs",)),
    "codec-order-wrong": ({"codecs": [zarr3.gzip(), zarr3.BYTES]}, ("codecs",)),
    "codec-array-to-bytes-twice": ({"codecs": [zarr3.BYTES, zarr3.BYTES]}, ("codecs",)),
    "bytes-without-endian": ({"codecs": [zarr3.SINGLE_BYTES]}, ("endian",)),
    "bytes-with-an-unknown-endian": (
        {"codecs": [{"name": "bytes", "configuration": {"endian": "middle"}}]}, ("endian", "middle")),
    "transpose-not-a-permutation": ({"codecs": [zarr3.transpose(1), zarr3.BYTES]}, ("transpose",)),
    "transpose-of-another-rank": ({"codecs": [zarr3.transpose(1, 0), zarr3.BYTES]}, ("transpose",)),
    "shard-not-a-multiple": ({"codecs": [zarr3.sharding((1000,), [zarr3.BYTES])]}, ("chunk_shape", "1000")),
    "shard-of-another-rank": ({"codecs": [zarr3.sharding((64, 64), [zarr3.BYTES])]}, ("chunk_shape",)),
    "shard-with-chunks-of-no-extent": ({"codecs": [zarr3.sharding((0,), [zarr3.BYTES])]}, ("chunk_shape",)),
    "shard-index-of-unknown-size": (
        {"codecs": [zarr3.sharding((64,), [zarr3.BYTES], index_codecs=[zarr3.BYTES, zarr3.gzip()])]}, ("index",)),
    "shard-index-at-an-unknown-place": (
        {"codecs": [zarr3.sharding((64,), [zarr3.BYTES], index_location="middle")]}, ("index_location", "middle")),
    "shards-nested-without-end": (
        {"codecs": [(lambda f: f(f, 200))(lambda f, n: zarr3.sharding((COUNT,), [f(f, n - 1)] if n else [zarr3.BYTES]))]},
        ()),
}
for _name, (_changes, _words) in V3_METADATA.items():
    case(f"v3-{_name}.zarr", ArrayError(("zarr.json", *_words), described=None))(
        lambda path, changes=_changes: v3(path, changes=changes))

case("v3-codecs-missing.zarr", Shows(VALUES))(  # as early GDAL wrote it: the elements as they are
    lambda path: v3(path, changes={"codecs": ...}))
case("v3-codec-unknown.zarr", ArrayError(("zarr.json", "sorcery")))(
    lambda path: v3(path, changes={"codecs": [zarr3.BYTES, {"name": "sorcery", "configuration": {}}]}))
case("v3-unknown-field-that-need-not-be-understood.zarr", Shows(VALUES))(
    lambda path: v3(path, changes={"fancy": {"must_understand": False, "name": "x"}}))


def v3_bytes(path, content):
    v3(path)
    write(f"{path}/zarr.json", content)


for _name, _content in {"truncated": '{"zarr_format": 3, "node_type": "arr', "empty": "", "not-json": "no JSON",
                        "a-list": "[3]", "nested-deep": '{"a":' * 100_000}.items():
    case(f"v3-metadata-{_name}.zarr", StoreError(("zarr.json",)))(
        lambda path, content=_content: v3_bytes(path, content))


# No codec of bytes looks at the size of these chunks before an array codec takes them.
CAST = {"name": "cast_value", "configuration": {"data_type": "int64"}}


def v3_cast(name, change):
    def make(path):
        v3(path, [zarr3.BYTES], {"codecs": [CAST, zarr3.BYTES]})
        for index in range(CHUNKS):
            content = VALUES[COUNT * index:COUNT * (index + 1)].astype("<i8").tobytes()
            write(f"{path}/c/{index}", change(content) if index == 1 else content)
    case(f"v3-cast-value-{name}.zarr", BadChunks({1: ("32768",)}))(make)


v3_cast("chunk-too-short", lambda content: content[:-8])
v3_cast("chunk-too-long", lambda content: content + bytes(8))


def v2_fortran(name, change):
    """Chunks of two rows, column by column."""
    def make(path):
        write(f"{path}/.zarray", json.dumps(ZARRAY | {"shape": [2 * CHUNKS, COUNT // 2], "chunks": [2, COUNT // 2],
                                                      "order": "F"}))
        for index in range(CHUNKS):
            content = VALUES[COUNT * index:COUNT * (index + 1)].reshape(2, -1).tobytes("F")
            write(f"{path}/{index}.0", change(content) if index == 1 else content)
    case(f"v2-fortran-order-{name}.zarr", BadChunks({1: ("expected 16384",)}))(make)


v2_fortran("chunk-too-short", lambda content: content[:-4])
v2_fortran("chunk-of-one-element", lambda content: content[:4])


@case("v3-consolidated-metadata-climbs-out.zarr", Shows(VALUES, "sound"))
def _(path):
    zarr3.write_group(path)
    v3(f"{path}/sound")
    zarr3.consolidate(path)
    with open(f"{path}/zarr.json", encoding="utf-8") as file:
        group = json.load(file)
    inside = group["consolidated_metadata"]["metadata"]
    for key in ("../outside", "../../secret", "/etc", "a/../../../secret", "", "..", "sound/../../../secret"):
        inside[key] = inside["sound"]
    write(f"{path}/zarr.json", json.dumps(group))


@case("v3-group-with-a-truncated-array.zarr", ArrayError(("zarr.json",), "broken", described=False))
def _(path):
    zarr3.write_group(path)
    v3_bytes(f"{path}/broken", '{"zarr_format": 3')
    v3(f"{path}/sound")


def v3_chunk(name, words, codecs):
    """A case in which the stored chunk 1 of a sound array is changed."""
    def register(change):
        def make(path):
            v3(path, codecs)
            edit(f"{path}/c/1", change)
        case(f"v3-{name}.zarr", BadChunks({1: words}))(make)
        return change
    return register


v3_chunk("crc32c-wrong", ("crc32c",), [zarr3.BYTES, zarr3.CRC32C])(lambda content: flip(content, -1))
v3_chunk("crc32c-of-changed-data", ("crc32c",), [zarr3.BYTES, zarr3.CRC32C])(lambda content: flip(content, 1000))
v3_chunk("crc32c-missing", (), [zarr3.BYTES, zarr3.CRC32C])(lambda content: content[:-4])
v3_chunk("crc32c-of-nothing", (), [zarr3.BYTES, zarr3.CRC32C])(lambda content: b"\0")
v3_chunk("gzip-truncated", ("gzip",), [zarr3.BYTES, zarr3.gzip()])(lambda content: content[:100])
v3_chunk("zstd-truncated", ("zstd",), [zarr3.BYTES, zarr3.zstd()])(lambda content: content[:100])


def grib_chunks(path, change):
    """A sound array whose chunks are messages of GRIB, but for the change of chunk 1."""
    v3(path, changes={"codecs": [{"name": "gribberish"}]})
    for i in range(CHUNKS):
        message = grib_messages.packed_message(VALUES[i * COUNT:(i + 1) * COUNT], COUNT, 1)
        write(f"{path}/c/{i}", change(message) if i == 1 else message)


GRIB_CHANGES = {
    "truncated": (lambda content: content[:100], ("gribberish", "are left")),
    "of-fewer-points": (lambda content: grib_messages.packed_message([1], 1, 1), ("a field of 1 points",)),
    "with-a-length-that-overflows": (lambda content: content[:8] + b"\xff" * 8 + content[16:], ("a message of 18446744073709551615",)),
    "of-64-bits": (lambda content: content.replace(struct.pack(">HfHHB", 0, 0, 0, 0, 16), struct.pack(">HfHHB", 0, 0, 0, 0, 64)),
                   ("packed values of 64 bits",)),
    "that-is-text": (lambda content: b"no message of GRIB at all", ("no GRIB message",)),
}
for _name, (_change, _words) in GRIB_CHANGES.items():
    case(f"v3-grib-message-{_name}.zarr", BadChunks({1: _words}))(
        lambda path, change=_change: grib_chunks(path, change))


# One shard of CHUNKS inner chunks; entry i of its index is at 16 * i from the start of the index, and inner chunk i
# is chunk i of the array as far as a reader can tell.
INNER = [zarr3.sharding((COUNT,), [zarr3.BYTES, zarr3.CRC32C])]
PLAIN_INNER = [zarr3.sharding((COUNT,), [zarr3.BYTES])]
INDEX_BYTES = 16 * CHUNKS + 4


def shard_index(content):
    return [list(entry) for entry in struct.iter_unpack("<QQ", content[-INDEX_BYTES:-4])]


def with_index(content, entries):
    index = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    return content[:-INDEX_BYTES] + index + struct.pack("<I", zarr3.crc32c(index))


def shard_entry(name, change, words=(), codecs=INNER, expectation=None):
    """A case in which entry 1 of the index is changed; the index's own checksum is right."""
    def make(path):
        v3(path, codecs, chunks=(CHUNKS * COUNT,))
        def edited(content):
            entries = shard_index(content)
            entries[1] = list(change(entries, content))
            return with_index(content, entries)
        edit(f"{path}/c/0", edited)
    case(f"v3-shard-{name}.zarr", expectation or BadChunks({1: words}))(make)


shard_entry("points-beyond-its-end", lambda entries, content: (len(content), 16388))
shard_entry("points-far-outside", lambda entries, content: (1 << 62, 16388))
shard_entry("ends-beyond-its-end", lambda entries, content: (len(content) - 100, 16388))
shard_entry("offset-plus-size-overflows", lambda entries, content: (2**64 - 100, 16388))
shard_entry("size-huge", lambda entries, content: (0, 1 << 50))
shard_entry("size-huge-without-a-checksum", lambda entries, content: (0, 1 << 50), codecs=PLAIN_INNER)
shard_entry("size-zero", lambda entries, content: (0, 0))
shard_entry("size-one-less", lambda entries, content: (entries[1][0], entries[1][1] - 1))
shard_entry("size-one-less-without-a-checksum", lambda entries, content: (entries[1][0], entries[1][1] - 1),
            codecs=PLAIN_INNER)
shard_entry("half-empty-offset", lambda entries, content: (2**64 - 1, 16388))
shard_entry("half-empty-size", lambda entries, content: (0, 2**64 - 1))
shard_entry("overlaps-its-neighbour", lambda entries, content: (entries[0][0] + 100, entries[0][1]),
            expectation=BadChunks({0: ("overlap",), 1: ("overlap",)}))  # which of them is wrong, none can say
shard_entry("overlaps-the-index", lambda entries, content: (len(content) - 16388, 16388))
shard_entry("empty-entry", lambda entries, content: (2**64 - 1, 2**64 - 1), expectation=Shows(with_fill(1)))


def whole_shard(name, change, words=()):
    def make(path):
        v3(path, INNER, chunks=(CHUNKS * COUNT,))
        edit(f"{path}/c/0", change)
    case(f"v3-shard-{name}.zarr", BadChunks({index: words for index in range(CHUNKS)}))(make)


whole_shard("index-checksum-wrong", lambda content: flip(content, -1), ("index",))
whole_shard("index-changed", lambda content: flip(content, -40), ("index",))
whole_shard("shorter-than-its-index", lambda content: content[-30:], ())
whole_shard("empty-file", lambda content: b"", ())


@case("v3-shard-with-more-entries-than-the-limit.zarr", ArrayError(("zarr.json",), described=None))
def _(path):
    v3(path, changes={"shape": [2**45], "codecs": [zarr3.sharding((1,), [zarr3.BYTES])],
                      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**45]}}})


# NPY ---------------------------------------------------------------------------------------------------------------

def npy(header, data=VALUES.tobytes(), version=(1, 0)):
    header = header.encode("latin-1") + b"\n"
    size = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + size + header + data


def npy_header(descr="'<i4'", order="False", shape=f"({VALUES.size},)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


NPY = {
    "empty": (b"", ()),
    "not-an-npy-file": (b"a text that is called so\n", ()),
    "magic-alone": (b"\x93NUMPY", ()),
    "version-9": (npy(npy_header(), version=(9, 0)), ("9",)),
    "header-truncated": (npy(npy_header(), b"")[:40], ()),
    "header-size-beyond-the-end": (b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFF0) + b"{", ()),
    "header-of-no-size": (b"\x93NUMPY\x01\x00\x00\x00", ()),
    "header-not-a-literal": (npy("__import__('os').system('true')"), ()),
    "header-a-list": (npy("[1, 2, 3]"), ()),
    "header-nested-deep": (npy("(" * 60_000), ()),
    "header-nested-deep-in-descr": (npy(npy_header("[('a', " * 9_000)), ()),
    "header-full-of-zeros": (npy("\0" * 100), ()),
    "header-unterminated-string": (npy("{'descr': '<i4"), ()),
    "header-with-an-unknown-key": (npy(npy_header()[:-1] + "'more': 1}"), ("more",)),
    "header-without-shape": (npy("{'descr': '<i4', 'fortran_order': False}"), ("shape",)),
    "header-without-descr": (npy("{'fortran_order': False, 'shape': (4,)}"), ("descr",)),
    "header-followed-by-something": (npy(npy_header() + " + {}"), ()),
    "descr-unknown": (npy(npy_header("'<q4'")), ("<q4",)),
    "descr-of-huge-text": (npy(npy_header("'|S99999999999999999999'")), ()),
    "descr-struct-with-a-huge-subarray": (
        npy(npy_header("[('a', '<i4', (4294967296, 4294967296))]", shape="(1,)")), ()),
    "fortran-order-is-a-number": (npy(npy_header(order="1")), ("fortran_order",)),
    "shape-negative": (npy(npy_header(shape="(-1,)")), ("shape",)),
    "shape-of-fractions": (npy(npy_header(shape="(1.5,)")), ("shape",)),
    "shape-not-a-tuple": (npy(npy_header(shape="16384")), ("shape",)),
    "shape-product-overflows": (npy(npy_header(shape="(4611686018427387904, 4611686018427387904)")), ()),
    "shape-beyond-64-bits": (npy(npy_header(shape="(99999999999999999999999,)")), ("shape",)),
    "shorter-than-its-shape": (npy(npy_header(), VALUES.tobytes()[:-1]), ()),
    "shorter-than-its-huge-shape": (npy(npy_header(shape="(1152921504606846976,)")), ()),
    "of-objects": (saved(np.array([{"a": 1}, None], object)), ("object",)),
}
for _name, (_content, _words) in NPY.items():
    case(f"npy-{_name}.npy", ArrayError(_words, described=None))(
        lambda path, content=_content: write(path, content))

case("npy-longer-than-its-shape.npy", Shows(VALUES))(
    lambda path: write(path, npy(npy_header(), VALUES.tobytes() + b"more")))


# Headers of other programs -----------------------------------------------------------------------------------------

NRRD = f"NRRD0004\ntype: int\ndimension: 1\nsizes: {VALUES.size}\nendian: little\nencoding: raw\n"
METAIMAGE = f"ObjectType = Image\nNDims = 2\nDimSize = {COUNT} {CHUNKS}\nElementType = MET_INT\nElementDataFile = "
ENVI = f"ENVI\nsamples = {COUNT}\nlines = {CHUNKS}\nbands = 1\ndata type = 3\nbyte order = 0\n"
GRADS = "dset ^a.dat\nundef -1\nxdef 4 linear 0 1\nydef 4 linear 0 1\nzdef 1 levels 1\ntdef 1 linear jan2000 1dy\n"


def fits(*cards):
    return b"".join(card.encode().ljust(80) for card in ("SIMPLE  =                    T", *cards)).ljust(2880)


# The store cannot be opened, with these words.
for _name, _content, _words in (
        ("nrrd-header-without-an-end.nrrd", NRRD, ("no end",)),
        ("nrrd-of-a-million-axes.nrrd", NRRD.replace("dimension: 1", "dimension: 1000000") + "\n", ("dimension",)),
        ("nrrd-sizes-for-another-dimension.nrrd", NRRD.replace("dimension: 1", "dimension: 2") + "\n", ("sizes",)),
        ("nrrd-without-a-byte-order.nrrd", NRRD.replace("endian: little\n", "") + "\n", ("endian",)),
        ("metaimage-cut-before-its-data-file.mhd", METAIMAGE[:-18], ("ElementDataFile",)),
        ("metaimage-scene.mha", METAIMAGE.replace("Image", "Scene") + "LOCAL\n", ("Scene",)),
        ("envi-without-lines.hdr", ENVI.replace(f"lines = {CHUNKS}\n", ""), ("lines",)),
        ("grads-fewer-variables-than-it-says.ctl", GRADS + "vars 3\na 0 99 a\nendvars\n", ("1 variables instead of 3",)),
        ("grads-time-without-a-date.ctl", GRADS.replace("jan2000", "soon") + "vars 1\na 0 99 a\nendvars\n", ("soon",)),
        ("bov-without-a-size.bov", "DATA_FILE: a.raw\nDATA_FORMAT: INT\n", ("DATA_SIZE",)),
        ("mitgcm-tile-outside-its-grid.meta",
         " nDims = [ 1 ];\n dimList = [ 4, 3, 9 ];\n dataprec = [ 'float32' ];\n nrecords = [ 1 ];\n", ("3 to 9 of 4",)),
        ("nifti-cut-in-its-header.nii", b"\x5c\x01\0\0" + bytes(100), ("header of NIfTI",)),
        ("fits-header-without-an-end.fits", fits("BITPIX  = 32", "NAXIS   = 0"), ("END",)),
        ("fits-axes-that-overflow.fits", fits("BITPIX  = 32", "NAXIS   = 2", "NAXIS1  = 4294967296", "NAXIS2  = 4294967296",
                                              "END"), ("more data than any file",))):
    case(_name, StoreError(_words))(lambda path, content=_content: write(path, content))

# Its array has no data.
for _name, _content, _words in (
        ("nrrd-data-outside-the-source.nhdr", NRRD + "data file: ../../secret\n", ("outside of the source",)),
        ("nrrd-data-that-are-not-there.nhdr", NRRD + "data file: nothing.raw\n", ("no data file", "nothing.raw")),
        ("nrrd-shorter-than-its-sizes.nrrd", NRRD + "\nfew", ("the header needs",)),
        ("nrrd-sizes-that-overflow.nrrd",
         NRRD.replace("dimension: 1", "dimension: 2").replace(str(VALUES.size), "4294967296 4294967296") + "\n", ("too many",)),
        ("nrrd-gzip-that-cannot-be-so-large.nrrd", (NRRD.replace("raw", "gzip").replace(
            str(VALUES.size), "1000000000000") + "\n").encode() + gzip.compress(b"little"), ("cannot inflate",)),
        ("metaimage-of-a-billion-files.mhd", METAIMAGE + "slice%d.raw 0 1000000000 1\n", ("more than 100000",)),
        ("envi-without-data.hdr", ENVI, ("no data file",)),
        ("fits-shorter-than-its-axes.fits", fits("BITPIX  = 32", "NAXIS   = 1", "NAXIS1  = 1000", "END"), ("the header needs",))):
    case(_name, ArrayError(_words, path=_name[:_name.rindex(".")]))(
        lambda path, content=_content: write(path, content))

case("nrrd-whole.nrrd", Shows(VALUES, path="nrrd-whole"))(
    lambda path: write(path, (NRRD + "\n").encode() + VALUES.tobytes()))


# GRIB --------------------------------------------------------------------------------------------------------------

GRID = np.arange(8, dtype="f4").reshape(2, 4)
MESSAGE = grib_messages.message(GRID)
GRIB_ARRAY = "isobaricInhPa/instant/t"


def grib_of(grid=grib_messages.grid(4, 2), field=grib_messages.field(GRID), length=None):
    return grib_messages.whole(grib_messages.IDENTIFICATION + grid + field, length)


for _name, _content, _words in (
        ("grib-of-nothing.grib2", b"", ("no GRIB message",)),
        ("grib-longer-than-its-file.grib2", grib_of(length=1 << 40), ("bytes",)),
        ("grib-length-that-overflows.grib2", grib_of(length=(1 << 64) - 1), ("bytes",)),
        ("grib-without-an-end.grib2", MESSAGE[:-4] + b"7778", ("7777",)),
        ("grib-section-beyond-its-message.grib2", MESSAGE.replace(struct.pack(">IB", 34, 4), struct.pack(">IB", 1 << 31, 4)),
         ("section 4",))):
    case(_name, StoreError(_words))(lambda path, content=_content: write(path, content))

# A constant field of 2^32 - 1 points, which takes no bit.
POINTS = struct.pack(">I", (1 << 32) - 1)
case("grib-of-4-billion-points.grib2", ArrayError(("chunks of 17179869180 bytes",), path=GRIB_ARRAY))(
    lambda path: write(path, grib_of(
        grib_messages.grid(65535, 65537), grib_messages.field(np.zeros(0), bits=0).replace(
            struct.pack(">IBIH", 21, 5, 0, 0), struct.pack(">IB", 21, 5) + POINTS + bytes(2)))))
# Units of billions of degrees: a part of a reduced grid goes around the earth 10^16 times.
case("grib-of-many-turns.grib2", Shows(np.zeros(7, "f4"), path=GRIB_ARRAY))(
    lambda path: write(path, grib_of(
        grib_messages.section(3, struct.pack(
            ">BIBBHB15xIIIIIIBIIIIB64H", 0, 7, 2, 1, 40, 6, 0xffffffff, 64, 0xfffffffe, 1, 80, 0x7fffffff, 0, 1 << 31 | 80,
            0xffffffff, 0xffffffff, 32, 0, *[20] * 64)), grib_messages.field(np.zeros(7)))))
# The message that encloses the other is none.
case("grib-within-a-grib.grib2", Shows(GRID, path=GRIB_ARRAY))(
    lambda path: write(path, grib_of(field=grib_messages.section(4, MESSAGE))))
case("grib-whole.grib2", Shows(GRID, path=GRIB_ARRAY))(lambda path: write(path, b"junk" * 20 + MESSAGE + b"GRIB\0\0\0\2"))


# TIFF --------------------------------------------------------------------------------------------------------------

SCENE = VALUES.reshape(128, 128)
STRIPS = tiff_files.image(SCENE, 32, zlib.compress, t259=(3, [8]))


def tiff_with(**fields):
    return tiff_files.image(SCENE, 32, zlib.compress, **{"t259": (3, [8]), **fields})


def looping_tiff():
    writer = tiff_files.Writer()
    position = writer.directory(tiff_files.fields_of(SCENE, [writer.data(SCENE.tobytes())], [SCENE.nbytes], 128))
    writer.lead_to(position)
    return bytes(writer.content)


for _name, _content, _words in (
        ("tiff-of-nothing.tif", b"II\x2a\0" + bytes(60), ("there is no directory",)),
        ("tiff-directory-in-its-header.tif", b"II\x2a\0\2\0\0\0" + bytes(60), ("directory 0", "in the header")),
        ("tiff-directory-outside-of-the-file.tif", b"MM\0\x2a\x7f\0\0\0" + bytes(60), ("directory 0", "not in the file")),
        ("tiff-without-a-width.tif", tiff_files.image(SCENE, t256=(4, [0])), ("ImageWidth",)),
        ("tiff-sizes-that-overflow.tif", tiff_files.image(SCENE, t256=(16, [1 << 61]), t257=(16, [1 << 61])), ("pixels",)),
        ("tiff-width-that-is-a-text.tif", tiff_files.image(SCENE, t256=(2, b"128\0")), ("ImageWidth", "type 2"))):
    case(_name, StoreError(_words))(lambda path, content=_content: write(path, content))

for _name, _content, _words in (
        ("tiff-compression-that-is-none.tif", tiff_with(t259=(3, [44510])), ("compression 44510",)),
        ("tiff-fax.tif", tiff_with(t259=(3, [4])), ("CCITT fax 4",)),
        ("tiff-offsets-that-are-missing.tif", tiff_with(t273=(4, [8])), ("the offsets of 1 strips, expected 4",)),
        ("tiff-offsets-that-overflow.tif", tiff_with(t273=(4, b"\x08\0\0\0", 0xFFFFFFFF)), ("StripOffsets", "not in the file")),
        ("tiff-predictor-of-odd-size.tif", tiff_with(t317=(3, [3])), ("predictor 3",)),
        ("tiff-tiles-of-a-terabyte.tif", tiff_with(t322=(4, [1 << 19]), t323=(4, [1 << 19]), t324=(4, [8]), t325=(4, [9])),
         ("tiles of 1099511627776 bytes",))):
    case(_name, ArrayError(_words, path="image"))(lambda path, content=_content: write(path, content))

case("tiff-strip-that-is-damaged.tif", BadChunks({0: ("zlib",)}, path="image"))(
    lambda path: write(path, STRIPS[:20] + b"\xff\xff" + STRIPS[22:]))
case("tiff-strip-outside-of-the-file.tif", BadChunks({1: ("not in the file",)}, path="image"))(
    lambda path: write(path, tiff_with(t273=(4, [8, 0x7FFFFFFF, *tiff_offsets()[2:]]))))
case("tiff-strip-in-the-header.tif", BadChunks({2: ("in the header",)}, path="image"))(
    lambda path: write(path, tiff_with(t273=(4, [*tiff_offsets()[:2], 4, tiff_offsets()[3]]))))
case("tiff-whole.tif", Shows(SCENE, path="image"))(lambda path: write(path, STRIPS))
case("tiff-that-leads-back.tif", Shows(SCENE, path="image"))(lambda path: write(path, looping_tiff()))


def tiff_offsets():
    """Where the strips of STRIPS are."""
    offsets = [8]
    for at in range(0, 128, 32):
        offsets.append(offsets[-1] + len(zlib.compress(SCENE[at:at + 32].tobytes())))
    return offsets[:4]


# MRC ---------------------------------------------------------------------------------------------------------------

def mrc_of(**words):
    """A volume of 128 x 128 x 1 elements of float32 with VALUES; words by their number: w4=99."""
    header = bytearray(1024)
    defaults = {"w1": 128, "w2": 128, "w3": 1, "w4": 2, "w17": 1, "w18": 2, "w19": 3, "w23": 1}
    for word, value in {**defaults, **words}.items():
        struct.pack_into("<i", header, 4 * (int(word[1:]) - 1), value)
    header[208:216] = b"MAP DD\0\0"
    return bytes(header) + VALUES.astype("<f4").tobytes()


for _name, _content, _words in (
        ("mrc-mode-that-does-not-exist.mrc", mrc_of(w4=99), ("MODE: 99",)),
        ("mrc-axes-that-are-twice.mrc", mrc_of(w18=1), ("no axes",)),
        ("mrc-extended-header-of-less-than-nothing.mrc", mrc_of(w24=-1), ("NSYMBT",)),
        ("mrc-volumes-of-half-a-section.mrc", mrc_of(w3=3, w10=2, w23=401), ("no whole number",))):
    case(_name, StoreError(_words))(lambda path, content=_content: write(path, content))
for _name, _content, _words in (
        ("mrc-sizes-that-overflow.mrc", mrc_of(w1=0x7FFFFFFF, w2=0x7FFFFFFF, w3=0x7FFFFFFF), ("more data than any file has",)),
        ("mrc-shorter-than-its-sizes.mrc", mrc_of(w3=2), ("the header needs",))):
    case(_name, ArrayError(_words, path=_name[:-4]))(lambda path, content=_content: write(path, content))
case("mrc-whole.mrc", Shows(VALUES.astype("f4").reshape(1, 128, 128), path="mrc-whole"))(lambda path: write(path, mrc_of()))


# Precomputed volumes -----------------------------------------------------------------------------------------------

def volume(path, data=None, shard=None, **changes):
    """VALUES as 128 x 32 x 4 voxels in four chunks along z; `changes` are members of the scale."""
    scale = {"key": "1_1_1", "size": [128, 32, 4], "chunk_sizes": [[128, 32, 1]], "resolution": [1, 1, 1],
             "encoding": "raw", "voxel_offset": [0, 0, 0], **changes}
    write(os.path.join(path, "info"), json.dumps({
        "@type": "neuroglancer_multiscale_volume", "data_type": "int32", "num_channels": 1, "type": "image", "scales": [scale]}))
    for i in range(CHUNKS):
        chunk = (data or {}).get(i, VALUES[i * COUNT:(i + 1) * COUNT].tobytes())
        write(os.path.join(path, "1_1_1", f"0-128_0-32_{i}-{i + 1}"), chunk)
    if shard is not None:
        write(os.path.join(path, "1_1_1", "0.shard"), shard)


SHARDED = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0, "minishard_bits": 0, "shard_bits": 0}
for _name, _changes, _words in (
        ("precomputed-key-that-climbs-out", {"key": "../secret"}, ("key", "no path below the volume")),
        ("precomputed-size-of-nothing", {"size": [128, 0, 1]}, ("size",)),
        ("precomputed-shards-of-too-many-bits", {"sharding": {**SHARDED, "minishard_bits": 64}}, ("bits are too many",)),
        ("precomputed-offset-that-is-no-integer", {"voxel_offset": [0.5, 0, 0]}, ("voxel_offset",))):
    case(_name, StoreError(_words))(lambda path, changes=_changes: volume(path, **changes))
for _name, _changes, _words in (
        ("precomputed-sizes-that-overflow", {"size": [1 << 60, 1 << 60, 1]}, ("too many elements",)),
        ("precomputed-chunks-of-a-terabyte", {"size": [1 << 20, 1 << 20, 1], "chunk_sizes": [[1 << 19, 1 << 19, 1]]}, ("chunks of",)),
        ("precomputed-encoding-that-is-unknown", {"encoding": "fractal"}, ("fractal",))):
    case(_name, ArrayError(_words, path="1_1_1"))(lambda path, changes=_changes: volume(path, **changes))
case("precomputed-chunk-that-is-short", BadChunks({1: ("100",)}, path="1_1_1"))(
    lambda path: volume(path, data={1: bytes(100)}))
case("precomputed-chunk-that-is-no-gzip", BadChunks({2: ("gzip",)}, path="1_1_1"))(
    lambda path: (volume(path), os.rename(os.path.join(path, "1_1_1", "0-128_0-32_2-3"),
                                          os.path.join(path, "1_1_1", "0-128_0-32_2-3.gz"))))
case("precomputed-shard-whose-index-is-behind-its-end", BadChunks({i: ("index of a minishard",) for i in range(4)}, path="1_1_1"))(
    lambda path: volume(path, sharding=SHARDED, shard=struct.pack("<QQ", 1 << 40, (1 << 40) + 24)))
case("precomputed-shard-whose-index-ends-before-it-begins", BadChunks({i: ("from 9 to 8",) for i in range(4)}, path="1_1_1"))(
    lambda path: volume(path, sharding=SHARDED, shard=struct.pack("<QQ", 9, 8)))
case("precomputed-shard-whose-index-overlaps-a-chunk", BadChunks({3: ("overlaps the index of its minishard",)}, path="1_1_1"))(
    lambda path: volume(path, sharding=SHARDED, shard=struct.pack("<QQ", 12 * COUNT, 12 * COUNT + 96) + VALUES[:3 * COUNT].tobytes()
                        + struct.pack("<12Q", 0, 1, 1, 1, 0, 0, 0, 0, *[4 * COUNT] * 4) + bytes(4 * COUNT)))
case("precomputed-shard-with-a-chunk-twice", BadChunks({i: ("chunk 0 behind chunk 0",) for i in range(1, 4)}, path="1_1_1"))(
    lambda path: volume(path, sharding=SHARDED, shard=struct.pack("<QQ", 4 * COUNT, 4 * COUNT + 48)
                        + VALUES[:COUNT].tobytes() + struct.pack("<6Q", 0, 0, 0, 0, 4 * COUNT, 0)))
case("precomputed-whole", Shows(VALUES.reshape(4, 32, 128), path="1_1_1"))(volume)


# ZIP ---------------------------------------------------------------------------------------------------------------

# A Zarr array, member by member; with `deflated`, each deflated.
def zipped(members, compression=zipfile.ZIP_STORED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there already
        for name, data in members:
            archive.writestr(name, data)
    return content.getvalue()


ZIP_MEMBERS = [(".zarray", json.dumps(ZARRAY)), *((str(index), chunk(index)) for index in range(CHUNKS))]
ZIP_ENTRY = b"PK\x01\x02"  # of the directory: version made by, version needed, flags, method, time, date, CRC-32, sizes


def directory_entry(content, number):
    """Where the entry of member `number` stands in the directory."""
    place = -1
    for _ in range(number + 1):
        place = content.index(ZIP_ENTRY, place + 1)
    return place


def repeated(content, times):
    """The archive with so many entries in its directory for each member."""
    begin, end = content.index(ZIP_ENTRY), content.rindex(b"PK\x05\x06")
    directory = content[begin:end] * times
    count = directory.count(ZIP_ENTRY)
    return content[:begin] + directory + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), begin, 0)


def with_bits(content, place, bits):
    return content[:place] + bytes([content[place] | bits]) + content[place + 1:]


case("zip-name-that-climbs-out.zarr.zip", Shows(VALUES))(
    lambda path: write(path, zipped([*ZIP_MEMBERS, ("../evil", b"x")])))
case("zip-absolute-name.zarr.zip", Shows(VALUES))(
    lambda path: write(path, zipped([*ZIP_MEMBERS, ("/etc/evil", b"x")])))
case("zip-truncated.zarr.zip", StoreError(()))(
    lambda path: write(path, zipped(ZIP_MEMBERS)[:-30]))
case("zip-chunk-of-a-name-again.zarr.zip", BadChunks({2: ("bytes",)}))(
    lambda path: write(path, zipped([*ZIP_MEMBERS, ("2", b"another")])))
case("zip-each-member-a-thousand-times.zarr.zip", Shows(VALUES))(
    lambda path: write(path, repeated(zipped(ZIP_MEMBERS), 1000)))
case("zip-encrypted-chunk.zarr.zip", BadChunks({1: ("encrypted",)}))(
    lambda path: write(path, with_bits(content := zipped(ZIP_MEMBERS), directory_entry(content, 2) + 8, 1)))
case("zip-wrong-checksum.zarr.zip", BadChunks({1: ("crc32",)}))(
    lambda path: write(path, flip(content := zipped(ZIP_MEMBERS, zipfile.ZIP_DEFLATED),
                                  directory_entry(content, 2) + 16)))
case("zip-member-beyond-the-end.zarr.zip", StoreError(("outside of the archive",)))(
    lambda path: write(path, flip(content := zipped(ZIP_MEMBERS), directory_entry(content, 2) + 45)))


# netCDF classic ------------------------------------------------------------------------------------------------------

def netcdf(extent=VALUES.size, begin=512, version=1, records=0):
    """The header of a file with one int variable v(x), big-endian like all of it."""
    name = struct.pack(">I4s", 1, b"v")
    return (b"CDF" + bytes([version]) + struct.pack(">I", records)
            + struct.pack(">II", 10, 1) + struct.pack(">I4sI", 1, b"x", extent)
            + bytes(8)
            + struct.pack(">II", 11, 1) + name + struct.pack(">II", 1, 0) + bytes(8)
            + struct.pack(">III", 4, (4 * extent) & 0xffffffff, begin))


def netcdf_file(header, data=VALUES.astype(">i4").tobytes()):
    return header.ljust(512, b"\0") + data


NETCDF = {
    "empty": (b"", ()),
    "magic-alone": (b"CDF\x01", ()),
    "version-9": (netcdf_file(netcdf(version=9)), ("version 9",)),
    "header-truncated": (netcdf()[:50], ()),
    "many-dimensions-announced": (netcdf().replace(struct.pack(">II", 10, 1), struct.pack(">II", 10, 0x7fffffff)), ()),
    "unknown-tag": (netcdf_file(netcdf().replace(struct.pack(">II", 11, 1), struct.pack(">II", 13, 1))), ()),
}
for _name, (_content, _words) in NETCDF.items():
    case(f"netcdf-{_name}.nc", StoreError(_words))(
        lambda path, content=_content: write(path, content))

case("netcdf-data-inside-the-header.nc", ArrayError(("inside the header",), path="v"))(
    lambda path: write(path, netcdf_file(netcdf(begin=16))))
case("netcdf-ends-before-its-data.nc", Shows(np.zeros(VALUES.size, "<i4"), path="v"))(
    lambda path: write(path, netcdf()))
case("netcdf-cut-short.nc", BadChunks({3: ()}, path="v", ranges=True))(
    lambda path: write(path, netcdf_file(netcdf())[:-4 * COUNT]))


# HDF5 ----------------------------------------------------------------------------------------------------------------

def hdf5(path, change=lambda content: content, **options):
    """VALUES as /v, and what is made of the file."""
    with h5py.File(f"{path}.tmp", "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(COUNT,), **options)
    with open(f"{path}.tmp", "rb") as file:
        write(path, change(file.read()))
    os.unlink(f"{path}.tmp")


def hdf5_chunk(path, **options):
    """Offset of chunk 1 in the file that hdf5() makes."""
    with h5py.File(f"{path}.probe", "w") as file:
        place = file.create_dataset("v", data=VALUES, chunks=(COUNT,), **options).id.get_chunk_info(1)
    os.unlink(f"{path}.probe")
    return place.byte_offset


case("hdf5-truncated.h5", StoreError(("truncated",)))(
    lambda path: hdf5(path, lambda content: content[: len(content) // 2]))
case("hdf5-superblock-broken.h5", StoreError(()))(
    lambda path: hdf5(path, lambda content: content[:8] + b"\xff" * 88 + content[96:]))
case("hdf5-checksum-wrong.h5", BadChunks({1: ("fletcher32",)}, path="v"))(
    lambda path: hdf5(path, lambda content: flip(content, hdf5_chunk(path, fletcher32=True) + 7), fletcher32=True))
case("hdf5-zlib-garbage.h5", BadChunks({1: ("zlib",)}, path="v"))(
    lambda path: hdf5(path, lambda content: flip(content, hdf5_chunk(path, compression="gzip")), compression="gzip"))


def hdf5_blosc2(path, change):
    """VALUES in frames of Blosc 2 with one stored chunk each, and what `change` makes of the second one."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((COUNT,))
    plist.set_filter(32026, h5py.h5z.FLAG_OPTIONAL, (1, 0, 4, 4 * COUNT, 5, 0, 1))
    with h5py.File(path, "w") as file:
        dataset = h5py.h5d.create(file.id, b"v", h5py.h5t.py_create(VALUES.dtype), h5py.h5s.create_simple(VALUES.shape), plist)
        for index in range(CHUNKS):
            data = VALUES[COUNT * index:COUNT * (index + 1)].tobytes()
            frame = blosc2_frame(blosc2_stored(data, 4), len(data))
            dataset.write_direct_chunk((COUNT * index,), change(frame) if index == 1 else frame)


def blosc2_stored(data, size):
    return struct.pack("<4B3I16x", 5, 1, 7, size, len(data), len(data), 32 + len(data)) + data


def blosc2_frame(chunk, size):
    tail = blosc2_stored(bytes(8), 8) + bytes.fromhex("940193cd0006de0000dc0000ce00000023d800") + bytes(16)
    end = 97 + len(chunk) + len(tail)
    return (b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", 97) + b"\xcf" + struct.pack(">Q", end) + bytes([0xa4, 0x12, 0, 0x51, 3])
            + b"\xd3" + struct.pack(">q", size) + b"\xd3" + struct.pack(">q", len(chunk)) + b"\xd2" + struct.pack(">i", 4)
            + b"\xd2" + struct.pack(">i", size) + b"\xd2" + struct.pack(">i", size) + b"\xd1\0\1\xd1\0\1\xc2\xd8\6" + bytes(16)
            + bytes.fromhex("93cd0007de0000dc0000") + chunk + tail)


def blosc2_case(name, words, change):
    case(f"hdf5-blosc2-{name}.h5", BadChunks({1: words}, path="v"))(lambda path: hdf5_blosc2(path, change))


blosc2_case("truncated", ("the header says",), lambda frame: frame[:200])
blosc2_case("frame-of-another-kind", ("frame of the kind",), lambda frame: frame[:26] + b"\1" + frame[27:])
blosc2_case("decodes-to-2-GiB", ("decodes to 2147483647 bytes",), lambda frame: frame[:34] + b"\x7f\xff\xff\xff" + frame[38:])
blosc2_case("chunk-larger-than-the-frame", ("the header says 2147483647",),
            lambda frame: frame[:97 + 12] + b"\xff\xff\xff\x7f" + frame[97 + 16:])
blosc2_case("dictionary", ("dictionary",), lambda frame: frame[:97 + 31] + b"\1" + frame[97 + 32:])
blosc2_case("chunk-of-every-byte", ("chunks",), lambda frame: frame[:58] + b"\0\0\0\1" + frame[62:])


@case("hdf5-external-file-outside.h5", ArrayError(("outside",), path="v"))
def _(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("v", (4 * COUNT,), "u1", external=[("../secret/chunk", 0, 4 * COUNT)])


# DMR++ documents -----------------------------------------------------------------------------------------------------

def dmrpp(path, change, **options):
    """The document of a file with VALUES as /v in `NAME.bin`, and what is made of it."""
    data = os.path.basename(path) + ".bin"
    place = os.path.join(os.path.dirname(path), data)
    with h5py.File(place, "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(COUNT,), **options)
    text = dmrpp_writer.describe(place, href=data)
    # With the signature of HDF4 there is no sound store beside the document.
    edit(place, lambda content: b"\x0e\x03\x13\x01" + content[4:])
    write(path, change(text))


def dmrpp_case(name, expectation, old, new, **options):
    def change(text):
        changed = re.sub(old, new, text, count=1)
        assert changed != text, name
        return changed
    case(f"dmrpp-{name}.dmrpp", expectation)(lambda path: dmrpp(path, change, **options))


case("dmrpp-whole.dmrpp", Shows(VALUES, path="v"))(lambda path: dmrpp(path, lambda text: text))
for _name, _words, _old, _new in (
        ("chunk-beyond-the-file", ("ends at", "the data file"), r'offset="\d+"', 'offset="1000000"'),
        ("negative-offset", ("is no number",), r'offset="\d', 'offset="-'),
        ("offset-that-overflows", ("beyond any file",), r'offset="\d+"', 'offset="18446744073709551615"'),
        ("chunk-of-another-size", ("16380 bytes, expected 16384",), 'nBytes="16384"', 'nBytes="16380"'),
        ("chunks-that-overlap", ("two chunks have the bytes",), r'offset="\d+"(.*)\n(.*)offset="(\d+)"', r'offset="\3"\1\n\2offset="\3"'),
        ("chunk-at-a-wrong-position", ("no chunk begins at [5]",), r'="\[4096\]"', '="[5]"'),
        ("two-chunks-at-one-position", ("more than one chunk",), r'="\[4096\]"', '="[0]"'),
        ("chunk-without-a-position", ("different ranks",), r' chunkPositionInArray="\[4096\]"', ""),
        ("chunks-of-another-rank", ("chunks of 2 dimensions",), "Sizes>4096", "Sizes>4096 1"),
        ("unknown-attribute", ("unknown attribute", "moved"), r'offset="', 'moved="1" offset="'),
        ("unknown-element", ("unknown element <moved>",), "<dmrpp:chunks", "<dmrpp:moved/><dmrpp:chunks"),
        ("unknown-filter", ("the filter", "szip"), "<dmrpp:chunks", '<dmrpp:chunks compressionType="szip"'),
        ("no-byte-order", ("byte order",), ' byteOrder="LE"', ""),
        ("no-dimension", ("no dimension",), '<Dim size="16384"/>', '<Dim name="/none"/>'),
        ("data-file-missing", ("nowhere.bin", "not there"), r'dmrpp:href="[^"]*"', 'dmrpp:href="nowhere.bin"'),
        ("data-file-outside", ("outside the source tree",), r'dmrpp:href="[^"]*"', 'dmrpp:href="../secret/chunk"'),
        ("data-file-remote", ("remote reference",), r'dmrpp:href="[^"]*"', 'dmrpp:href="https://example.invalid/a.h5"')):
    dmrpp_case(_name, ArrayError(_words, path="v"), _old, _new)
case("dmrpp-checksum-wrong.dmrpp", BadChunks({1: ("fletcher32",)}, path="v"))(
    lambda path: (dmrpp(path, lambda text: text, fletcher32=True),
                  edit(f"{path}.bin", lambda content: flip(content, content.index(VALUES[COUNT:COUNT + 64].tobytes()))),
                  edit(path, lambda text: text)))  # or it would be older than the file
for _name, _words, _old, _new in (
        ("entity-bomb", ("DOCTYPE",), "<Dataset", '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><Dataset'),
        ("too-deep", ("levels",), "</Dataset>", '<Group name="g">' * 20 + "</Group>" * 20 + "</Dataset>"),
        ("truncated", ("no valid XML",), "</Dataset>", ""),
        ("of-something-else", ("no DMR",), r"(?s)<Dataset.*", "<html/>")):
    dmrpp_case(_name, StoreError(_words), _old, _new)


# Kerchunk references and N5 ------------------------------------------------------------------------------------------

def kerchunk(path, change):
    """References to the chunks in a file beside, and what is made of them."""
    data = os.path.basename(path) + ".bin"
    write(os.path.join(os.path.dirname(path), data), VALUES.tobytes())
    refs = {".zgroup": json.dumps({"zarr_format": 2}), "v/.zarray": json.dumps(ZARRAY)}
    refs |= {f"v/{index}": [data, 4 * COUNT * index, 4 * COUNT] for index in range(CHUNKS)}
    write(path, json.dumps({"version": 1, "refs": change(refs)}))


case("kerchunk-chunk-outside.json", BadChunks({1: ("outside the source tree",)}, path="v"))(
    lambda path: kerchunk(path, lambda refs: refs | {"v/1": ["../secret/chunk"]}))
case("kerchunk-file-missing.json", BadChunks({1: ("nowhere.bin", "not there")}, path="v"))(
    lambda path: kerchunk(path, lambda refs: refs | {"v/1": ["nowhere.bin", 0, 4 * COUNT]}))
case("kerchunk-beyond-the-end.json", BadChunks({1: ()}, path="v"))(
    lambda path: kerchunk(path, lambda refs: refs | {"v/1": [os.path.basename(path) + ".bin", 1 << 60, 4 * COUNT]}))
case("kerchunk-all-outside.json", ArrayError(("outside the source tree",), path="v"))(
    lambda path: kerchunk(path, lambda refs: {key: ["../secret/chunk"] if key[-1].isdigit() else value
                                              for key, value in refs.items()}))


def kerchunk_parquet(path, change_row=lambda row: row, change=lambda table: table):
    """The same in a table of Parquet, in a directory: what is made of the row of chunk 1, and of the table."""
    write(f"{path}/data.bin", VALUES.tobytes())
    metadata = {".zgroup": {"zarr_format": 2}, "v/.zarray": ZARRAY}
    write(f"{path}/.zmetadata", json.dumps({"metadata": metadata, "record_size": 10000}))
    rows = [("data.bin", 4 * COUNT * index, 4 * COUNT) for index in range(CHUNKS)]
    rows[1] = change_row(rows[1])
    columns = {name: (kind, [row[i] for row in rows])
               for i, (name, kind) in enumerate((("path", "text"), ("offset", "i8"), ("size", "i8")))}
    write(f"{path}/v/refs.0.parq", change(parquet.table(columns, encoding="dictionary", codec="zstd")))


def parquet_case(name, words, chunks=range(CHUNKS), **changes):
    case(f"kerchunk-parquet-{name}.parq", BadChunks({index: words for index in chunks}, path="v"))(
        lambda path: kerchunk_parquet(path, **changes))


parquet_case("chunk-outside", ("outside the source tree",), [1], change_row=lambda row: ("../../../secret/chunk", 0, 4 * COUNT))
parquet_case("file-missing", ("nowhere.bin", "not there"), [1], change_row=lambda row: ("nowhere.bin", 0, 4 * COUNT))
parquet_case("offset-negative", ("offset is -1",), [1], change_row=lambda row: (row[0], -1, row[2]))
parquet_case("beyond-the-end", (), [1], change_row=lambda row: (row[0], 1 << 60, row[2]))
parquet_case("truncated", ("cut short",), change=lambda table: table[:-9])
parquet_case("footer-of-4-GiB", ("metadata of 4294967295 bytes",), change=lambda table: table[:-8] + b"\xff" * 4 + b"PAR1")
parquet_case("no-table", ("no table",), change=lambda table: b"PAR1")
parquet_case("page-expands-without-end", ("pages of more than",), change=lambda table: table[:7] + b"\xfe\xff\xff\xff\x0f" + table[8:])
parquet_case("more-rows-than-the-record-size", ("rows, more than 10000",), change=lambda table: parquet.table(
    {"path": ("text", [None] * 10001)}, page_rows=20000, group_rows=20000))


# Icechunk ----------------------------------------------------------------------------------------------------------

def icechunk(path, change_references=lambda references: references, extents=((0, CHUNKS),), nodes="/v"):
    """VALUES as the array `v`, with one manifest for each of `extents`; returns the repository."""
    repository = icechunk_writer.Repository(path)
    references = change_references(repository.references(VALUES, COUNT))
    manifests = [(repository.write_manifest(references), [extent]) for extent in extents]
    document = icechunk_writer.array_document(VALUES, COUNT)
    repository.add(repository.write_snapshot([icechunk_writer.node("/", 1, icechunk_writer.GROUP),
                                              icechunk_writer.node(nodes, 2, document, manifests)]))
    return repository


def damage(path, folder, change):
    """Of a sound repository, the first file in `folder`, or the one called so."""
    icechunk(path)
    target = os.path.join(path, folder)
    if os.path.isdir(target):
        target = os.path.join(target, sorted(os.listdir(target))[0])
    edit(target, change)


def second_reference(**fields):
    """References of which the second has other fields."""
    return lambda references: [{**reference, **fields} if reference["index"] == [1] else reference
                               for reference in references]


case("icechunk-good", Shows(VALUES, path="v"))(icechunk)
case("icechunk-repo-cut", StoreError(("repo",)))(lambda path: damage(path, "repo", lambda file: file[:60]))
case("icechunk-repo-of-version-9", StoreError(("version 9",)))(
    lambda path: damage(path, "repo", lambda file: file[:36] + b"\x09" + file[37:]))
case("icechunk-repo-bomb", StoreError(("more than 268435456 bytes",)))(
    lambda path: damage(path, "repo", lambda file: file[:38] + b"\x01" + bytes.fromhex("28b52ffde0ffffffffffffff00")))
case("icechunk-snapshot-cut", StoreError(("snapshots/",)))(
    lambda path: damage(path, "snapshots", lambda file: file[:100]))
case("icechunk-snapshot-is-manifest", StoreError(("no snapshot",)))(
    lambda path: damage(path, "snapshots", lambda file: file[:37] + b"\x02" + file[38:]))
case("icechunk-node-climbs-out", StoreError(("no path of a node",)))(lambda path: icechunk(path, nodes="/../secret"))
case("icechunk-chunk-cut", BadChunks({0: ("beyond the end",)}, path="v"))(
    lambda path: damage(path, "chunks", lambda file: file[:100]))
case("icechunk-reference-beyond-the-end", BadChunks({1: ("beyond the end",)}, path="v"))(
    lambda path: icechunk(path, second_reference(offset=1 << 60)))
case("icechunk-reference-overflows", BadChunks({1: ("out of range",)}, path="v"))(
    lambda path: icechunk(path, second_reference(offset=2 ** 64 - 1)))
case("icechunk-chunk-lost", BadChunks({1: ("not there",)}, path="v"))(
    lambda path: icechunk(path, second_reference(chunk_id={"bytes": [255] * 12})))
case("icechunk-reference-with-two-places", BadChunks({1: ("2 places",)}, path="v"))(
    lambda path: icechunk(path, second_reference(location="file:///etc/passwd")))
case("icechunk-manifests-overlap", BadChunks({1: ("two manifests",), 2: ("two manifests",)}, path="v"))(
    lambda path: icechunk(path, extents=((0, 3), (1, 4))))


def n5(path, change):
    """VALUES in blocks, of which `change` makes something of block 1."""
    write(f"{path}/attributes.json", json.dumps({"n5": "2.5.1"}))
    write(f"{path}/v/attributes.json", json.dumps({
        "dimensions": [CHUNKS * COUNT], "blockSize": [COUNT], "dataType": "int32", "compression": {"type": "raw"}}))
    for index in range(CHUNKS):
        block = struct.pack(">HHI", 0, 1, COUNT) + VALUES[COUNT * index:COUNT * (index + 1)].astype(">i4").tobytes()
        write(f"{path}/v/{index}", change(block) if index == 1 else block)


case("n5-block-of-two-dimensions.n5", BadChunks({1: ("2 dimensions",)}, path="v"))(
    lambda path: n5(path, lambda block: block[:3] + b"\2" + block[4:]))
case("n5-block-too-large.n5", BadChunks({1: ("extent",)}, path="v"))(
    lambda path: n5(path, lambda block: block[:4] + b"\x7f" + block[5:]))
case("n5-block-cut-short.n5", BadChunks({1: ()}, path="v"))(lambda path: n5(path, lambda block: block[:-1]))
case("n5-block-of-objects.n5", BadChunks({1: ("mode 2",)}, path="v"))(
    lambda path: n5(path, lambda block: b"\0\2" + block[2:]))


# The directory around them -------------------------------------------------------------------------------------------

GOOD = {"good-v2.zarr": lambda path: v2_codec(path, GZIP),
        "good-grib.zarr": lambda path: grib_chunks(path, lambda content: content),
        "good-v3.zarr": lambda path: v3(path, INNER, chunks=(CHUNKS * COUNT,)),
        "good.npy": lambda path: write(path, saved(VALUES))}


def make_links(top):
    """Links that loop or leave the tree, where files, folders and stores are looked for."""
    for name, target in {"loop": "loop", "loop.npy": "loop.npy", "loop.zarr": "loop.zarr", "here": ".", "up": "..",
                         "one": "two", "two": "one", "outside.npy": "../secret/array.npy", "outside.zarr": "../secret",
                         "absolute.npy": os.path.abspath(f"{top}/../secret/array.npy")}.items():
        os.symlink(target, f"{top}/links/{name}")


def make_names(top):
    """Stores and arrays with names that would break a line of a log, or a document."""
    for name in (b"new\nline", b"\x1b[31mred", b"\xff\xfe\xfd", b"quote\"'", b"\xe2\x80\xa8line separator"):
        folder = os.path.join(os.fsencode(top), b"names", name + b".zarr")
        v2(os.fsdecode(folder), compressor={"id": "pcodec9"})
        folder = os.path.join(os.fsencode(top), b"names", name + b" group.zarr")
        write(os.fsdecode(folder + b"/.zgroup"), '{"zarr_format": 2}')
        v2(os.fsdecode(folder + b"/" + name))
        write(os.fsdecode(folder + b"/" + name + b"/1"), b"too short")


def make_all(top):
    """Everything below `top`, and what must never be seen in `top`/../secret."""
    secret = os.path.join(os.path.dirname(os.path.abspath(top)), "secret")
    write(f"{secret}/text", SECRET)
    write(f"{secret}/chunk", (SECRET * COUNT)[:4 * COUNT])
    write(f"{secret}/array.npy", saved(np.frombuffer(SECRET, "u1")))
    v2(secret, fill_value=int.from_bytes(SECRET[:3], "little"))
    write(f"{secret}/0", (SECRET * COUNT)[:4 * COUNT])
    os.makedirs(f"{top}/links")
    make_links(top)
    make_names(top)
    for name, make in GOOD.items():
        make(f"{top}/{name}")
    for entry in CASES:
        entry.make(f"{top}/{entry.name}")


if __name__ == "__main__":
    make_all(sys.argv[1])
