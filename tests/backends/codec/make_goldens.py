#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes goldens.h: small chunks as encoded by other people's software.

Needs python3-numpy, python3-numcodecs and python3-h5py.
"""
import json
import lzma
import pathlib
import zlib

import numcodecs
import numpy as np

SQUARES = (np.arange(64, dtype="<i4") ** 2)  # 256 bytes, compressible
goldens = []


def add(name, dialect, codec, configuration, decoded, encoded):
    goldens.append((name, dialect, codec, json.dumps(configuration),
                    bytes(decoded).hex(), bytes(encoded).hex()))


def add_numcodecs(name, data, **config):
    encoded = numcodecs.get_codec(dict(config)).encode(data.copy())
    encoded = np.asarray(encoded).tobytes() if isinstance(encoded, np.ndarray) else encoded
    add(name, "kNumcodecs", config["id"], config, data.tobytes(), encoded)


def compressors():
    for cname in numcodecs.blosc.list_compressors():
        for shuffle, word in ((0, "None"), (1, "Byte"), (2, "Bit")):
            add_numcodecs(f"Blosc{cname.capitalize()}{word}", SQUARES, id="blosc", cname=cname,
                          clevel=5, shuffle=shuffle, blocksize=0)
    add_numcodecs("BloscStored", SQUARES, id="blosc", cname="lz4", clevel=0, shuffle=1)
    add_numcodecs("BloscBlocks", np.resize(SQUARES, 512), id="blosc", cname="lz4", clevel=9,
                  shuffle=1, blocksize=512)
    add_numcodecs("Zstd", SQUARES, id="zstd", level=3)
    add_numcodecs("Gzip", SQUARES, id="gzip", level=5)
    add_numcodecs("Zlib", SQUARES, id="zlib", level=9)
    add_numcodecs("ZlibStored", SQUARES, id="zlib", level=0)
    add_numcodecs("Lz4", SQUARES, id="lz4", acceleration=1)
    add_numcodecs("Bz2", SQUARES, id="bz2", level=1)
    add_numcodecs("LzmaXz", SQUARES, id="lzma", format=lzma.FORMAT_XZ, check=-1)
    add_numcodecs("LzmaAlone", SQUARES, id="lzma", format=lzma.FORMAT_ALONE, check=-1)
    add_numcodecs("LzmaRaw", SQUARES, id="lzma", format=lzma.FORMAT_RAW, check=-1,
                  filters=[{"id": lzma.FILTER_DELTA, "dist": 4},
                           {"id": lzma.FILTER_LZMA2, "preset": 1}])
    add_numcodecs("LzmaRaw1", SQUARES, id="lzma", format=lzma.FORMAT_RAW, check=-1,
                  filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 65536, "lc": 0, "lp": 2}])
    half = SQUARES.tobytes()[:128], SQUARES.tobytes()[128:]
    for name, codec in (("Gzip", numcodecs.GZip(1)), ("Bz2", numcodecs.BZ2(1)),
                        ("Zstd", numcodecs.Zstd(1))):
        add(name + "TwoMembers", "kNumcodecs", codec.codec_id, {"id": codec.codec_id},
            SQUARES.tobytes(), codec.encode(half[0]) + codec.encode(half[1]))


def write(path):
    lines = ["// SPDX-License-Identifier: MIT", "//",
             "// Written by make_goldens.py; not to be edited.", "#pragma once", "",
             "#include \"backends/codec/registry.h\"", "",
             "namespace ndlfs::backends {", "",
             "// One chunk, in hexadecimal, before and after encoding.",
             "struct Golden {", "  const char* test_name;", "  CodecDialect dialect;",
             "  const char* codec;", "  const char* configuration;", "  const char* decoded;",
             "  const char* encoded;", "};", "", "// clang-format off",
             "inline constexpr Golden kGoldens[] = {"]
    for name, dialect, codec, configuration, decoded, encoded in goldens:
        lines.append(f'    {{"{name}", CodecDialect::{dialect}, "{codec}", R"({configuration})",')
        lines.append(f'     "{decoded}",')
        lines.append(f'     "{encoded}"}},')
    lines += ["};", "// clang-format on", "", "}  // namespace ndlfs::backends", ""]
    path.write_text("\n".join(lines))


compressors()
write(pathlib.Path(__file__).with_name("goldens.h"))
