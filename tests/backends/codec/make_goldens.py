#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes goldens.h: small chunks as encoded by other people's software.

Needs python3-numpy, python3-numcodecs, python3-h5py, python3-tables, python3-zfpy
and hdf5-filter-plugin-zfp-serial.
"""
import ctypes
import json
import lzma
import os
import pathlib
import struct

os.environ["HDF5_PLUGIN_PATH"] = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins"

import h5py
import numcodecs
import numpy as np
import tables  # registers LZO
import zfpy

SQUARES = (np.arange(64, dtype="<i4") ** 2)  # 256 bytes, compressible
with open("/proc/self/maps", encoding="utf-8") as maps:  # that of h5py, whatever its version
    LIBHDF5 = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5_serial.so" in line))
assert tables.which_lib_version("lzo")
goldens = []
array_goldens = []


def add(name, dialect, codec, configuration, decoded, encoded, spare=0):
    """`spare`: how many bytes at the end of `encoded` hold nothing."""
    goldens.append((name, dialect, codec, json.dumps(configuration),
                    bytes(decoded).hex(), bytes(encoded).hex(), spare))


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
    add_numcodecs("BloscLastBlockSmaller", np.resize(SQUARES, 400), id="blosc", cname="zstd",
                  clevel=5, shuffle=1, blocksize=512)
    add_numcodecs("BloscStoredBlocks", np.resize(SQUARES, 80), id="blosc", cname="lz4",
                  clevel=0, shuffle=2, blocksize=128)
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


def filters():
    floats = np.linspace(-3, 1e4, 61)
    for dtype in ("<i4", ">i4", "<u2", "<i8", "<f4", "<f8"):
        data = (np.arange(64) ** 2 - 1000).astype(dtype)
        name = "Delta" + np.dtype(dtype).name.capitalize() + ("Big" if dtype[0] == ">" else "")
        add_numcodecs(name, data, id="delta", dtype=dtype)
    for dtype in ("<f2", ">f2", "<f4", "<f8"):
        data = np.array([-0.0, 0.1, 0.3, 1000.1, -7.7, 2e-7, 65504, 3, np.inf, 1], dtype)
        codec = numcodecs.Delta(dtype=dtype)
        encoded = codec.encode(data)
        add("DeltaRounded" + np.dtype(dtype).name.capitalize() + ("Big" if dtype[0] == ">" else ""),
            "kNumcodecs", "delta", codec.get_config(), codec.decode(encoded).tobytes(), encoded.tobytes())
    add_numcodecs("DeltaNarrow", np.arange(100, 164, dtype="<i8"), id="delta", dtype="<i8",
                  astype="|i1")
    add_numcodecs("DeltaNarrowFloat", np.arange(1, 65, dtype="<f8"), id="delta", dtype="<f8",
                  astype="<f4")
    for astype in ("|u1", "<i2", ">i2", "<f4"):  # with float16 versions of NumPy differ
        data = np.round(1000 + np.linspace(0, 25, 61), 1)
        encoded = numcodecs.FixedScaleOffset(offset=1000, scale=10, dtype="<f8", astype=astype)
        add("FixedScaleOffset" + np.dtype(astype).name.capitalize()
            + ("Big" if astype[0] == ">" else ""), "kNumcodecs", "fixedscaleoffset",
            encoded.get_config(), encoded.decode(encoded.encode(data)).tobytes(),
            encoded.encode(data).tobytes())
    for decoded, encoded in (("<f8", "<f4"), ("<f8", "<f2"), ("<f4", "<f4"), (">f8", "<f4")):
        codec = numcodecs.Quantize(digits=1, dtype=decoded, astype=encoded)
        data = codec.encode(floats.astype(decoded))
        add(f"Quantize{np.dtype(decoded).name.capitalize()}As{np.dtype(encoded).name.capitalize()}"
            + ("Big" if decoded[0] == ">" else ""), "kNumcodecs", "quantize",
            codec.get_config(), codec.decode(data).tobytes(), data.tobytes())
    for decoded, encoded in (("<i2", "|i1"), ("<f4", "<i4"), ("<i4", "<f8"), ("|u1", "<i8"),
                             ("|b1", "<i2"), ("<f2", "<f8"), (">f4", ">u2"), ("<f4", "<u8")):
        codec = numcodecs.AsType(encode_dtype=encoded, decode_dtype=decoded)
        data = (np.arange(64) * 7 % 50).astype(encoded)
        add(f"AsType{np.dtype(decoded).name.capitalize()}From{np.dtype(encoded).name.capitalize()}"
            + ("Big" if decoded[0] == ">" else ""), "kNumcodecs", "astype", codec.get_config(),
            codec.decode(data).tobytes(), data.tobytes())
    for count in (64, 61, 1):
        add_numcodecs(f"PackBits{count}", np.arange(count) % 3 == 0, id="packbits")
    for size in (1, 2, 3, 4, 8, 12, 16):
        data = (np.arange(size * 37) * 31 % 251).astype("u1").view(f"V{size}")
        encoded = numcodecs.Shuffle(elementsize=size).encode(data)
        add(f"Shuffle{size}", "kNumcodecs", "shuffle", {"id": "shuffle", "elementsize": size},
            data.tobytes(), np.asarray(encoded).tobytes())
    add_numcodecs("BitRound", np.linspace(0, 1, 64).astype("<f4").view("<i4").view("<f4"),
                  id="bitround", keepbits=23)
    nans = np.array([0x7e00, 0xfe00, 0x7e01, 0xffff, 0x7c00, 0x8000], "<u2").view("<f2")
    for decoded, encoded in (("<f2", "<f4"), ("<f2", "<f8"), ("<f4", "<f2"), ("<f8", ">f2")):
        codec = numcodecs.AsType(encode_dtype=encoded, decode_dtype=decoded)
        data = nans.astype(encoded)
        add(f"AsTypeNan{np.dtype(decoded).name.capitalize()}From{np.dtype(encoded).name.capitalize()}",
            "kNumcodecs", "astype", codec.get_config(), codec.decode(data).tobytes(), data.tobytes())
    for name in ("crc32", "adler32"):
        add_numcodecs(name.capitalize(), SQUARES, id=name)
    for count in (0, 1, 2, 63):
        add_numcodecs(f"Base64Of{count}", SQUARES.view("u1")[:count], id="base64")
    texts = np.array(["male", "female", "", "male", "f\u00fcnf"] * 4, dtype="<U6")
    codec = numcodecs.Categorize(labels=["female", "male", "f\u00fcnf"], dtype="<U6")
    add("Categorize", "kNumcodecs", "categorize", codec.get_config(), texts.tobytes(),
        codec.encode(texts).tobytes())


def client_data_of(plist, number):
    """All client data of a filter; h5py's own get_filter() stops at 16."""
    values = (ctypes.c_uint * 256)()
    count = ctypes.c_size_t(len(values))
    flags = ctypes.c_uint()
    LIBHDF5.H5Pget_filter2(ctypes.c_int64(plist.id), ctypes.c_uint(number), ctypes.byref(flags),
                           ctypes.byref(count), values, ctypes.c_size_t(0), None, None)
    return list(values[:count.value])


def hdf5_chunk(data, filters=(), **options):
    """The stored chunk of a dataset, and the client data of its last filter."""
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(data.shape)
        for code, values in filters:
            plist.set_filter(code, h5py.h5z.FLAG_MANDATORY, values)
        if "fill" in options:
            plist.set_fill_value(np.array(options["fill"], data.dtype))
        if options.get("undefined_fill"):
            plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        file_type = options.get("file_type", h5py.h5t.py_create(data.dtype))
        dataset = h5py.h5d.create(file.id, b"d", file_type, h5py.h5s.create_simple(data.shape),
                                  plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        file.flush()
        dataset = h5py.h5d.open(file.id, b"d")
        stored = dataset.get_create_plist()
        mask, chunk = dataset.read_direct_chunk((0,) * data.ndim)
        assert mask == 0
        count = stored.get_nfilters()
        values = client_data_of(stored, count - 1)
        decoded = np.empty_like(data)
        dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, decoded)
        return chunk, values, decoded


def add_hdf5(name, code, data, values=(), spare=0, **options):
    chunk, client_data, decoded = hdf5_chunk(data, [(code, tuple(values))], **options)
    if code == 32013:
        spare = fill_of(chunk)
    spare = spare or (1 if code == 6 else 0)  # scaleoffset adds a byte for safety
    add(name, "kHdf5", str(code), {"cd_values": client_data}, decoded.tobytes(), chunk, spare)


def hdf5():
    add_hdf5("Hdf5Deflate", 1, SQUARES, (6,))
    add_hdf5("Hdf5Shuffle", 2, SQUARES)
    add_hdf5("Hdf5Fletcher32", 3, SQUARES)
    add_hdf5("Hdf5Fletcher32Odd", 3, SQUARES.view("u1")[:55])
    add_hdf5("Hdf5Lzf", 32000, SQUARES)
    noise = (np.arange(300) * 7919 % 251).astype("u1")
    add_hdf5("Hdf5LzfLong", 32000, np.concatenate([np.zeros(400, "u1"), noise]))
    nn, ec = 32, 4
    for dtype in ("|u1", "<u2", "<i4", ">i4", "<f4", "<f8"):
        data = (np.arange(128) // 5).astype(dtype)  # szip fails on data that it enlarges
        suffix = np.dtype(dtype).name.capitalize() + ("Big" if dtype[0] == ">" else "")
        add_hdf5("Hdf5SzipNn" + suffix, 4, data, (nn, 8))
        add_hdf5("Hdf5SzipEc" + suffix, 4, data, (ec, 16))
    add_hdf5("Hdf5SzipPadded", 4, np.arange(51, dtype="<i2").reshape(3, 17), (nn, 8), spare=1)
    integers = (np.arange(64) ** 2 % 97)
    for dtype in ("|i1", "|u1", "<i2", "<u4", ">i4", "<i8", ">u2"):
        suffix = np.dtype(dtype).name.capitalize() + ("Big" if dtype[0] == ">" else "")
        add_hdf5("Hdf5ScaleOffset" + suffix, 6, (integers + 5).astype(dtype), (2, 0))
    add_hdf5("Hdf5ScaleOffsetNegative", 6, (integers - 60).astype("<i4"), (2, 0), fill=-9)
    add_hdf5("Hdf5ScaleOffsetFill", 6, np.where(integers % 5 == 0, 77777, integers).astype("<i4"),
             (2, 0), fill=77777)
    add_hdf5("Hdf5ScaleOffsetWide", 6, np.array([0, 2**31 - 1, -2**31, 5], dtype=">i4"), (2, 0))
    add_hdf5("Hdf5ScaleOffsetSameValue", 6, np.full(40, 12, "<i4"), (2, 0))
    add_hdf5("Hdf5ScaleOffsetAllBits", 6, integers.astype("<i2"), (2, 16))
    for dtype in ("<f4", "<f8", ">f4", ">f8"):
        suffix = np.dtype(dtype).name.capitalize() + ("Big" if dtype[0] == ">" else "")
        data = np.round(np.linspace(-4, 9, 64), 2)
        add_hdf5("Hdf5ScaleOffset" + suffix, 6, data.astype(dtype), (0, 2))
        add_hdf5("Hdf5ScaleOffsetFill" + suffix, 6, np.where(data > 5, 99, data).astype(dtype),
                 (0, 2), fill=99)
    nbit()
    frames()


def nbit():
    h5t = h5py.h5t
    for name, base, precision, offset in (
            ("Hdf5NBit12Of16", h5t.STD_U16LE, 12, 0), ("Hdf5NBit12Of16Big", h5t.STD_U16BE, 12, 0),
            ("Hdf5NBit17Of32At7", h5t.STD_U32LE, 17, 7),
            ("Hdf5NBit17Of32At7Big", h5t.STD_U32BE, 17, 7),
            ("Hdf5NBit3Of8At2", h5t.STD_U8LE, 3, 2), ("Hdf5NBit33Of64", h5t.STD_U64LE, 33, 0)):
        file_type = base.copy()
        file_type.set_precision(precision)
        file_type.set_offset(offset)
        add_nbit(name, file_type, np.arange(40) * 5 % 8 if precision == 3 else
                 np.arange(40) * 37 % (1 << 12))
    small = h5t.STD_I16LE.copy()
    small.set_precision(10)
    compound = h5t.create(h5t.COMPOUND, 15)
    compound.insert(b"a", 0, small)
    compound.insert(b"b", 3, h5t.array_create(small, (2, 2)))
    compound.insert(b"c", 11, h5t.array_create(h5t.STD_U8LE, (4,)))
    add_nbit("Hdf5NBitCompound", compound, None)
    # Of these libhdf5 keeps no description: three parameters in all.
    add_hdf5("Hdf5NBitOpaque", 5, np.arange(24, dtype="u1").view("V3"))
    add_hdf5("Hdf5NBitEnum", 5, np.array([1, 0, 1, 7], "i1"),
             file_type=h5py.h5t.py_create(h5py.enum_dtype({"A": 0, "B": 1}, "i1"), logical=1))
    text = h5t.C_S1.copy()
    text.set_size(3)
    mixed = h5t.create(h5t.COMPOUND, 5)
    mixed.insert(b"a", 0, small)
    mixed.insert(b"t", 2, text)
    add_nbit("Hdf5NBitText", mixed, None)


def add_nbit(name, file_type, values):
    """What nbit keeps of elements whose unused bits are 0 are these elements."""
    size = file_type.get_size()
    if values is None:
        members = {"Hdf5NBitCompound": [("a", "<i2", 0), ("b", "<i2", 3), ("b1", "<i2", 5),
                                        ("b2", "<i2", 7), ("b3", "<i2", 9), ("c", "<u4", 11)],
                   "Hdf5NBitText": [("a", "<i2", 0), ("t", "S3", 2)]}[name]
        dtype = np.dtype({"names": [m[0] for m in members], "formats": [m[1] for m in members],
                          "offsets": [m[2] for m in members], "itemsize": size})
        data = np.zeros(20, dtype)
        for number, (member, form, _) in enumerate(members):
            if form == "S3":
                data[member] = b"xyz"
            else:
                data[member] = (np.arange(20) * 29 + number) % 1024
    else:
        order = ">" if file_type.get_order() == h5py.h5t.ORDER_BE else "<"
        data = (values.astype(f"{order}u{size}") << file_type.get_offset()).astype(
            f"{order}u{size}")
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(data.shape)
        plist.set_filter(5, h5py.h5z.FLAG_MANDATORY, ())
        dataset = h5py.h5d.create(file.id, b"d", file_type, h5py.h5s.create_simple(data.shape),
                                  plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=file_type)
        file.flush()
        dataset = h5py.h5d.open(file.id, b"d")
        client_data = client_data_of(dataset.get_create_plist(), 0)
        _, chunk = dataset.read_direct_chunk((0,))
    add(name, "kHdf5", "5", {"cd_values": client_data}, data.tobytes(), chunk, 1)


def bit_shuffle(data, size):
    """By the definition: bit k of all elements, then bit k + 1."""
    bits = np.unpackbits(np.frombuffer(data, "u1").reshape(-1, size), axis=1, bitorder="little")
    return np.packbits(bits.T.reshape(-1), bitorder="little").tobytes()


def frames():
    """Framings of plugins that Debian has no package of, by their descriptions."""
    lz4 = lambda data: numcodecs.LZ4().encode(data)[4:]
    zstd = numcodecs.Zstd(1).encode
    data = SQUARES.tobytes()
    header = len(data).to_bytes(8, "big")
    blocks = b"".join(len(lz4(data[i:i + 100])).to_bytes(4, "big") + lz4(data[i:i + 100])
                      for i in range(0, 200, 100))
    rest = len(data[200:]).to_bytes(4, "big") + data[200:]  # a block stored as it is
    add("Hdf5Lz4", "kHdf5", "32004", {"cd_values": [100]}, data,
        header + (100).to_bytes(4, "big") + blocks + rest)
    for size in (1, 2, 4, 8, 3):
        values = (np.arange(size * 203) * 31 % 251 // 7).astype("u1").tobytes()
        pieces = [values[i * size * 64:(i + 1) * size * 64] for i in range(3)]
        pieces.append(values[3 * size * 64:size * 200])
        tail = values[size * 200:]
        shuffled = [bit_shuffle(piece, size) for piece in pieces]
        add(f"Hdf5Bitshuffle{size}", "kHdf5", "32008", {"cd_values": [0, 3, size, 64]}, values,
            b"".join(shuffled) + tail)
        header = len(values).to_bytes(8, "big") + (64 * size).to_bytes(4, "big")
        for number, word, compress in ((2, "Lz4", lz4), (3, "Zstd", zstd)):
            blocks = [compress(piece) for piece in shuffled]
            add(f"Hdf5Bitshuffle{size}{word}", "kHdf5", "32008",
                {"cd_values": [0, 3, size, 0, number]}, values,
                header + b"".join(len(b).to_bytes(4, "big") + b for b in blocks) + tail)
    add("Hdf5Zstd", "kHdf5", "32015", {"cd_values": [3]}, data, zstd(data))
    add("Hdf5Bzip2", "kHdf5", "307", {"cd_values": [9]}, data, numcodecs.BZ2(9).encode(data))
    add("Hdf5Blosc", "kHdf5", "32001", {"cd_values": [2, 2, 4, 256, 5, 1, 0]}, data,
        numcodecs.Blosc("lz4", 5, 1).encode(SQUARES))


def zfp_modes():
    """What zfpy calls the modes, and H5Z-ZFP."""
    pack = lambda number: struct.unpack("2I", struct.pack("d", number))
    return (("Rate", {"mode": zfpy.mode_fixed_rate, "rate": 9.5}, (1, 0, *pack(9.5))),
            ("Precision", {"mode": zfpy.mode_fixed_precision, "precision": 20}, (2, 0, 20)),
            ("Accuracy", {"mode": zfpy.mode_fixed_accuracy, "tolerance": 0.5}, (3, 0, *pack(0.5))),
            ("Reversible", {}, (5,)))


def zfp():
    ramp = (np.arange(7 * 5 * 6) ** 2 % 1009 - 300)
    modes = zfp_modes()
    for number, dtype in enumerate(("<i4", "<i8", "<f4", "<f8")):
        word = np.dtype(dtype).name.capitalize()
        integer = dtype[1] == "i"
        for rank, shape in enumerate(((6,), (7, 5), (2, 7, 5), (2, 1, 5, 6)), 1):
            data = (ramp[:np.prod(shape)].reshape(shape) / (1 if integer else 7)).astype(dtype)
            for offset in (0, 1):  # not every combination
                mode, options, _ = modes[(number + rank + 2 * offset) % len(modes)]
                if integer and mode == "Accuracy":
                    continue
                add_zfp_array(f"Zfp{word}{mode}{rank}d", data, mode, options)
                if offset == 0 or mode == "Reversible":  # of mostly whole blocks
                    whole = ramp[:192].reshape(((192,), (24, 8), (3, 8, 8), (3, 4, 4, 4))[rank - 1])
                    add_zfpy(f"Zfpy{word}{mode}{rank}d", (whole[..., :7] / 7).astype(dtype), options)
    for mode, _, client in modes:
        add_hdf5("Hdf5ZfpFloat64" + mode, 32013, ramp[:60].reshape(3, 1, 4, 5) / 7, client)
    for dtype in ("<i4", "<i8", "<f4"):
        add_hdf5("Hdf5Zfp" + np.dtype(dtype).name.capitalize(), 32013, ramp[:60].astype(dtype), (5,))
    add_hdf5("Hdf5ZfpExpert", 32013, ramp[:60] / 7, (4, 0, 30, 300, 40, 2**32 - 20))
    add_zfp_array("ZfpConstant", np.full((4, 8), 2.5, "<f4"), "Reversible", {})
    narrow()


def add_zfpy(name, data, options):
    encoded = zfpy.compress_numpy(data, write_header=True, **zfpy_options(options))
    decoded = zfpy.decompress_numpy(encoded)
    config = {"id": "zfpy", **options}
    add(name, "kNumcodecs", "zfpy", config, decoded.tobytes(), encoded, fill_of(encoded))


def zfpy_options(options):
    return {key: value for key, value in options.items() if key != "mode"}


def fill_of(encoded):
    """zfp fills its last word of 64 bits; zero bytes at the end may be that."""
    return min(7, len(encoded) - len(encoded.rstrip(b"\0")))


def add_zfp_array(name, data, mode, options, dtype=None, stored=None):
    """A chunk of Zarr v3: no header. `stored`, if the array is of another `dtype`."""
    words = {"Rate": "fixed_rate", "Precision": "fixed_precision", "Accuracy": "fixed_accuracy",
             "Reversible": "reversible"}
    encoded = zfpy.compress_numpy(data, write_header=False, **zfpy_options(options))
    full = zfpy.compress_numpy(data, write_header=True, **zfpy_options(options))
    decoded = stored if stored is not None else zfpy.decompress_numpy(full)
    codec = {"name": "zfp", "configuration": {"mode": words[mode], **zfpy_options(options)}}
    array_goldens.append((name, dtype or data.dtype.name, data.shape, json.dumps([codec]),
                          decoded.tobytes().hex(), encoded.hex()))


def narrow():
    """Integers of less than 32 bits, as the specification of Zarr's codec promotes them."""
    numbers = np.arange(35).reshape(5, 7) * 7 % 31
    for dtype, shift in (("i1", 23), ("u1", 23), ("i2", 15), ("u2", 15)):
        half = 0 if dtype[0] == "i" else 1 << (8 * int(dtype[1]) - 1)
        stored = (numbers - (12 if dtype[0] == "i" else 0)).astype(dtype)
        wide = ((stored.astype("<i4") - half) << shift).astype("<i4")
        add_zfp_array("ZfpNarrow" + np.dtype(dtype).name.capitalize(), wide, "Reversible", {},
                      stored.dtype.name, stored)
    half_floats = (numbers / 4).astype("<f2")
    add_zfp_array("ZfpNarrowFloat16", half_floats.astype("<f4"), "Reversible", {}, "float16",
                  half_floats)
    for dtype, wide in (("u4", "<i4"), ("u8", "<i8")):
        add_zfp_array("Zfp" + np.dtype(dtype).name.capitalize(), numbers.astype(wide),
                      "Reversible", {}, np.dtype(dtype).name, numbers.astype(dtype))


def lzo():
    # The filter fails on data that it enlarges.
    add_hdf5("Hdf5Lzo", 305, np.tile(SQUARES[:40], 3), (1, 23, 0))
    noise = (np.arange(700) * 7919 % 251).astype("u1")
    add_hdf5("Hdf5LzoLong", 305, np.concatenate([np.zeros(2000, "u1"), noise, noise]))


def stream_vbyte(values, has_differences, has_halves):
    """StreamVByte by its description: codes of 2 bits, then as many bytes, or halves, as they say."""
    numbers = values.astype("i4").view("u4") if values.dtype.kind == "i" else values.astype("u4")
    if has_differences:
        steps = np.diff(numbers, prepend=np.uint32(0)).astype("u4").view("i4")
        numbers = ((steps << 1) ^ (steps >> 31)).view("u4")
    codes, halves = [], []
    for number in map(int, numbers):
        if has_halves:
            code = 0 if number == 0 else 1 if number < 16 else 2 if number < 256 else 3
            count = (0, 1, 2, 4)[code]
        else:
            code = max(0, (number.bit_length() + 7) // 8 - 1)
            count = 2 * (code + 1)
        codes.append(code)
        halves += [number >> (4 * i) & 15 for i in range(count)]
    codes += [0] * (-len(codes) % 4)
    halves += [0] * (len(halves) % 2)
    keys = [sum(code << (2 * i) for i, code in enumerate(codes[at:at + 4])) for at in range(0, len(codes), 4)]
    return bytes(keys) + bytes(low | high << 4 for low, high in zip(halves[::2], halves[1::2]))


def vbz():
    signal = np.concatenate([np.arange(40) ** 2 % 61 - 30, [-30000, 30000, 0, 1]])
    for version, dtypes in ((0, ("i1", "<i2")), (1, ("i1", "u1", "<i2", "<u2", "<i4", "<u4"))):
        for data in map(signal.astype, dtypes):
            for differences in (0, 1):
                stream = stream_vbyte(data, differences, version == 1 and data.itemsize == 1)
                add(f"Hdf5Vbz{version}{data.dtype.name.capitalize()}"
                    + ("Differences" if differences else ""), "kHdf5", "32020",
                    {"cd_values": [version, data.itemsize, differences, 1]}, data.tobytes(),
                    data.nbytes.to_bytes(4, "little") + numcodecs.Zstd(1).encode(stream))
    data = SQUARES.tobytes()
    size = len(data).to_bytes(4, "little")
    add("Hdf5VbzBytes", "kHdf5", "32020", {"cd_values": [0, 0, 0]}, data,
        size + numcodecs.Zstd(1).encode(data))
    add("Hdf5VbzStored", "kHdf5", "32020", {"cd_values": [0, 0, 1, 0]}, data, size + data)
    # From the tests of Oxford Nanopore's library.
    add("Hdf5VbzPublished", "kHdf5", "32020", {"cd_values": [0, 4, 1, 0]},
        np.arange(5, 0, -1, "<i4").tobytes(), bytes([20, 0, 0, 0, 0, 0, 10, 1, 1, 1, 1]))


class PcoWriter:
    """Writes pcodec as its specification (docs/format.md of pcodec) says, for chunks of a few numbers. No library writes
    every mode on demand; this one takes the bins as they are given."""

    def __init__(self):
        self.bits = []

    def put(self, value, bits):
        assert 0 <= value < 1 << bits, (value, bits)
        self.bits += [value >> i & 1 for i in range(bits)]

    def pad(self):
        self.bits += [0] * (-len(self.bits) % 8)

    def bytes(self):
        assert len(self.bits) % 8 == 0
        return np.packbits(np.array(self.bits, "u1"), bitorder="little").tobytes()

    def put_bins(self, variable):
        self.put(variable.table_log, 4)
        self.put(len(variable.bins), 15)
        for weight, lower, offset_bits in variable.bins:
            self.put(weight - 1, variable.table_log)
            self.put(lower, variable.width)
            self.put(offset_bits, variable.width.bit_length())


class PcoVariable:
    """Latents of `width` bits in bins of (weight, lower, bits of offsets). `state`: what a page has before them."""

    def __init__(self, width, bins, latents, state=()):
        self.width, self.bins, self.latents, self.state = width, bins, [int(x) for x in latents], list(state)
        size = sum(weight for weight, _, _ in bins) or 1
        self.table_log = size.bit_length() - 1
        assert size == 1 << self.table_log
        stride = size * 3 // 5 | 1
        spread = [i for i, (weight, _, _) in enumerate(bins) for _ in range(weight)]
        occurrences = [[] for _ in bins]
        table = [None] * size
        for step, symbol in enumerate(spread):
            table[stride * step % size] = symbol
        for index, symbol in enumerate(table):
            if symbol is not None:  # there is no bin
                occurrences[symbol].append(index)
        self.steps, states = [], [0, 0, 0, 0]
        for i in reversed(range(len(self.latents))):
            latent = self.latents[i]
            symbol = next(k for k, (_, lower, bits) in enumerate(bins) if lower <= latent < lower + (1 << bits))
            x, weight, bits = states[i % 4] + size, bins[symbol][0], 0
            while x >> bits >= 2 * weight:
                bits += 1
            self.steps.append((x & (1 << bits) - 1, bits, latent - bins[symbol][1], bins[symbol][2]))
            states[i % 4] = occurrences[symbol][(x >> bits) - weight]
        self.steps.reverse()
        self.states = states


def pco_chunk(kind, count, metadata, variables):
    """`metadata(writer)` writes mode and delta encoding."""
    chunk = PcoWriter()
    chunk.put(kind, 8)
    chunk.put(count - 1, 24)
    metadata(chunk)
    for variable in variables:
        chunk.put_bins(variable)
    chunk.pad()
    for variable in variables:
        for value in variable.state:
            chunk.put(int(value), variable.width)
        for state in variable.states:
            chunk.put(state, variable.table_log)
    chunk.pad()
    for begin in range(0, count, 256):
        for variable in variables:
            steps = variable.steps[begin:begin + 256]
            for low, bits, _, _ in steps:
                chunk.put(low, bits)
            for _, _, offset, bits in steps:
                chunk.put(offset, bits)
    chunk.pad()
    return chunk.bytes()


def pco_file(*chunks, header=bytes([3, 0, 0, 4, 1])):
    return b"pco!" + header + b"".join(chunks) + b"\0"


def pco_ordered(data):
    """The latents of numbers, in their order."""
    width = 8 * data.itemsize
    raw = [int(x) for x in data.view(f"u{data.itemsize}")]
    top = 1 << (width - 1)
    if data.dtype.kind == "u":
        return raw
    if data.dtype.kind == "i":
        return [x ^ top for x in raw]
    return [x ^ (2 * top - 1) if x & top else x ^ top for x in raw]


def pco_fitting(width, latents, parts=4):
    """Bins of different weights that hold all latents."""
    ordered = sorted(set(latents))
    step = -(-len(ordered) // parts)
    groups = [ordered[i:i + step] for i in range(0, len(ordered), step)]
    weights = {1: [1], 2: [5, 3], 3: [9, 2, 5], 4: [7, 20, 4, 1]}[len(groups)]
    return PcoVariable(width, [(weight, group[0], (group[-1] - group[0]).bit_length())
                               for weight, group in zip(weights, groups)], latents)


PCO_KINDS = {"u4": 1, "u8": 2, "i4": 3, "i8": 4, "f4": 5, "f8": 6, "u2": 7, "i2": 8, "f2": 9, "u1": 10, "i1": 11}


def add_pco(name, data, mode, delta, variables):
    def metadata(writer):
        for value, bits in mode + delta:
            writer.pad() if bits is None else writer.put(value, bits)

    encoded = pco_file(pco_chunk(PCO_KINDS[data.dtype.str[1:]], data.size, metadata, variables))
    add("Pcodec" + name, "kNumcodecs", "pcodec", {"id": "pcodec", "level": 8}, data.tobytes(), encoded)


PCO_CLASSIC, PCO_AS_IT_IS = [(0, 4)], [(0, 4)]


def pco_modes():
    noise = np.arange(60) ** 2 * 37 % 1009
    for dtype in ("<u4", "<i8", "<f8", "<f4", "<f2", "<i2", "|u1"):
        data = (noise - 500 * (dtype[1] != "u")).astype(dtype)
        add_pco(f"Classic{data.dtype.name.capitalize()}", data, PCO_CLASSIC, PCO_AS_IT_IS,
                [pco_fitting(8 * data.itemsize, pco_ordered(data))])
    data = np.array([0, 2**64 - 1, 2**63, 12345678901234567890, 1], "<u8")
    add_pco("WideOffsets", data, PCO_CLASSIC, PCO_AS_IT_IS, [PcoVariable(64, [(1, 0, 64)], data)])
    data = np.array([7] * 260, "<i4")
    add_pco("Constant", data, PCO_CLASSIC, PCO_AS_IT_IS, [PcoVariable(32, [(1, 7 ^ 1 << 31, 0)], pco_ordered(data))])
    data = (noise // 100 * 1000 + noise % 3).astype("<u4")
    add_pco("IntMult", data, [(1, 4), (1000, 32)], PCO_AS_IT_IS,
            [pco_fitting(32, [int(x) // 1000 for x in data]), pco_fitting(32, [int(x) % 1000 for x in data])])
    for dtype in ("<f4", "<f8", "<f2"):
        pco_float_mult(dtype, noise)
    data = (noise - 500).astype("<f8")
    data[::7] = np.nextafter(data[::7], 1e6)
    ordered = pco_ordered(data)
    quanta = [x >> 40 for x in ordered]
    rest = [(x & 2**40 - 1) if q << 40 >= 2**63 else 2**40 - 1 - (x & 2**40 - 1) for x, q in zip(ordered, quanta)]
    add_pco("FloatQuant", data, [(3, 4), (40, 8)], PCO_AS_IT_IS, [pco_fitting(64, quanta), pco_fitting(64, rest)])
    for dtype in ("<i2", "<f8"):
        entries = np.array([-3, 1000, 7, 0], dtype)
        index = noise % 4
        add_pco(f"Dict{np.dtype(dtype).name.capitalize()}", entries[index],
                [(4, 4), (4, 25), (0, None)] + [(x, 8 * entries.itemsize) for x in pco_ordered(entries)],
                PCO_AS_IT_IS, [pco_fitting(32, index.tolist())])


def pco_float_mult(dtype, noise):
    factors = np.concatenate([noise[:40] - 500, [2**12, -2**12]]).astype(dtype)
    base = np.array([0.1], dtype)
    width, top = 8 * base.itemsize, 1 << (8 * base.itemsize - 1)
    dense = 2 ** {2: 11, 4: 24, 8: 53}[base.itemsize]

    def latent(factor):
        size = abs(int(factor))
        if size >= dense:
            size = dense + int(np.abs(factor).view(f"u{base.itemsize}")) - int(
                np.array(dense, dtype).view(f"u{base.itemsize}"))
        return top - 1 - size if np.signbit(factor) else top + size

    products = factors * base
    data = products.copy()
    data[::5] = np.nextafter(data[::5], np.array(np.inf, dtype))
    steps = [(x - y + top) % (2 * top) for x, y in zip(pco_ordered(data), pco_ordered(products))]
    add_pco(f"FloatMult{base.dtype.name.capitalize()}", data, [(2, 4), (pco_ordered(base)[0], width)], PCO_AS_IT_IS,
            [pco_fitting(width, [latent(x) for x in factors]), pco_fitting(width, steps)])


def pco_differences(latents, order, width):
    """The first of each order, and what is stored: 0 is in the middle."""
    state = []
    for _ in range(order):
        state.append(latents[0])
        latents = [(b - a) % (1 << width) for a, b in zip(latents, latents[1:])]
    return state, [x ^ 1 << (width - 1) for x in latents]


def with_state(variable, state):
    variable.state = state
    return variable


def pco_deltas():
    walk = (np.arange(270) ** 2 % 97 + 3 * np.arange(270)).astype("<u4")
    for order in (1, 2, 7):
        for dtype in ("<u4", "<f8"):
            data = walk.astype(dtype)
            width = 8 * data.itemsize
            state, stored = pco_differences(pco_ordered(data), order, width)
            add_pco(f"Consecutive{order}{data.dtype.name.capitalize()}", data, PCO_CLASSIC,
                    [(1, 4), (order, 3), (0, 1)], [with_state(pco_fitting(width, stored), state)])
    state, stored = pco_differences([int(x) // 5 for x in walk], 1, 32)
    state2, stored2 = pco_differences([int(x) % 5 for x in walk], 1, 32)
    add_pco("ConsecutiveOfBoth", walk, [(1, 4), (5, 32)], [(1, 4), (1, 3), (1, 1)],
            [with_state(pco_fitting(32, stored), state), with_state(pco_fitting(32, stored2), state2)])
    add_pco("FewerThanTheState", np.array([5, 9], "<u4"), PCO_CLASSIC, [(1, 4), (3, 3), (0, 1)],
            [PcoVariable(32, [], [], [5, 4, 0])])
    data = np.tile(np.arange(40) ** 2 % 83, 7).astype("<i2")
    ordered = pco_ordered(data)
    distances = [4 if i < 40 else 40 - i % 2 * 3 for i in range(4, 280)]
    stored = [(ordered[i] - ordered[i - distance]) % 65536 ^ 32768 for i, distance in enumerate(distances, 4)]
    add_pco("Lookback", data, PCO_CLASSIC, [(2, 4), (6, 5), (2, 4), (0, 1)],
            [pco_fitting(32, distances), with_state(pco_fitting(16, stored), ordered[:4])])
    for dtype, weights, bias, shift in (("<u2", [-3, 7], 40, 2), ("<u4", [1, -2, 5], -90000, 2), ("|u1", [1], 3, 0)):
        data = walk[:40].astype(dtype)
        width, order = 8 * data.itemsize, len(weights)
        values = [int(x) for x in data]
        stored = [(values[i] - (max(0, bias + sum(w * x for w, x in zip(weights, values[i - order:i]))) >> shift))
                  % (1 << width) ^ 1 << (width - 1) for i in range(order, len(values))]
        delta = [(3, 4), (shift, 5), (bias + 2**63, 64), (order - 1, 5)] + [(w + 2**31, 32) for w in weights]
        add_pco(f"Convolution{data.dtype.name.capitalize()}", data, PCO_CLASSIC, delta,
                [with_state(pco_fitting(width, stored), values[:order])])


def pcodec():
    pco_modes()
    pco_deltas()
    data = np.arange(12, dtype="<u4")
    variable = PcoVariable(32, [(1, 0, 4)], data[:6])
    chunk = pco_chunk(1, 6, lambda writer: writer.put(0, 8), [variable])
    second = pco_chunk(1, 6, lambda writer: writer.put(0, 8), [PcoVariable(32, [(1, 6, 4)], data[6:])])
    for version, header in (("2", bytes([2, 0, 3])), ("3", bytes([3, 1, 0, 4, 0]))):
        add("PcodecTwoChunksVersion" + version, "kNumcodecs", "pcodec", {"id": "pcodec"}, data.tobytes(),
            pco_file(chunk, second, header=header))
    old = pco_chunk(1, 6, lambda writer: writer.put(0, 7), [variable])  # three bits for the order of differences
    add("PcodecVersion1", "kNumcodecs", "pcodec", {"id": "pcodec"}, data[:6].tobytes(), pco_file(old, header=bytes([1])))

class Blosc2:
    """Writes frames of Blosc 2 as README_CFRAME_FORMAT, README_CHUNK_FORMAT and README_B2ND_METALAYER of c-blosc2 say.
    Debian 12 has no library that does."""

    CODECS = {"blosclz": 0, "lz4": 1, "zlib": 3, "zstd": 4}
    NONE, SHUFFLE, BITSHUFFLE, DELTA, TRUNCATED = range(5)

    def __init__(self, size, codec="lz4", filters=(), block=64, split=False):
        """`size` of an element; `filters` are (number, meta)."""
        self.size, self.codec, self.filters, self.block, self.split = size, codec, filters, block, split

    def compress(self, data):
        if self.codec == "blosclz":  # from a container of Blosc 1 with one block of one stream
            container = numcodecs.Blosc("blosclz", 9, 0).encode(data)
            assert int.from_bytes(container[8:12], "little") == len(data)
            return container[24:] if not container[2] & 2 else data
        encoders = {"lz4": lambda x: numcodecs.LZ4().encode(x)[4:], "zlib": numcodecs.Zlib(6).encode,
                    "zstd": numcodecs.Zstd(3).encode}
        return encoders[self.codec](data)

    def stream(self, data):
        if len(set(data)) == 1:
            return (-data[0]).to_bytes(4, "little", signed=True) + (b"\1" if data[0] else b"")
        encoded = self.compress(data)
        encoded = encoded if len(encoded) < len(data) else data
        return len(encoded).to_bytes(4, "little") + encoded

    def filtered(self, chunk, begin, block):
        for number, meta in self.filters:
            size = meta or self.size
            if number == self.SHUFFLE:
                whole = len(block) // size * size
                block = np.frombuffer(block[:whole], "u1").reshape(-1, size).T.tobytes() + block[whole:]
            elif number == self.BITSHUFFLE:
                whole = len(block) // size // 8 * 8 * size
                block = bit_shuffle(block[:whole], size) + block[whole:]
            elif number == self.DELTA:
                width = size if size in (1, 2, 4, 8) else 8 if size % 8 == 0 else 1
                other = chunk[:len(block)] if begin else bytes(width) + block[:-width]
                block = bytes(a ^ b for a, b in zip(block, other))
        return block

    def header(self, size, encoded_size, flags, special=0):
        filters = [number for number, _ in self.filters] + [0] * (6 - len(self.filters))
        metas = [meta for _, meta in self.filters] + [0] * (6 - len(self.filters))
        return (bytes([5, 1, flags, self.size]) + struct.pack("<III", size, min(size, self.block), encoded_size)
                + bytes(filters + [0, 0] + metas + [0, special << 4]))

    def chunk(self, data):
        starts, streams = [], b""
        count = -(-len(data) // self.block)
        for begin in range(0, len(data), self.block):
            block = self.filtered(data, begin, data[begin:begin + self.block])
            starts.append(32 + 4 * count + len(streams))
            pieces = self.size if self.split and len(block) == self.block else 1
            step = len(block) // pieces
            streams += b"".join(self.stream(block[i:i + step]) for i in range(0, len(block), step))
        body = struct.pack(f"<{count}I", *starts) + streams
        flags = 5 | (0 if self.split else 0x10) | self.CODECS[self.codec] << 5
        return self.header(len(data), 32 + len(body), flags) + body

    def stored(self, data):
        return self.header(len(data), 32 + len(data), 7) + data

    def special(self, size, kind, value=b""):
        return self.header(size, 32 + len(value), 5, kind) + value

    def frame(self, chunks, sizes, offsets=None, grid=None):
        """`sizes` that the chunks decode to; `offsets` if they are not one after the other."""
        if offsets is None:
            offsets = [sum(map(len, chunks[:i])) for i in range(len(chunks))]
        index = struct.pack(f"<{len(offsets)}Q", *offsets)
        index = Blosc2(8).stored(index)
        layers = {"b2nd": self.grid(*grid)} if grid else {}
        at = 0x57 + 3 + 4 + sum(6 + len(name) for name in layers) + 3
        names, contents = b"", b""
        for name, content in layers.items():
            names += bytes([0xa0 + len(name)]) + name.encode() + b"\xd2" + struct.pack(">i", at + len(contents))
            contents += b"\xc6" + struct.pack(">I", len(content)) + content
        metalayers = (b"\x93\xcd" + struct.pack(">H", 7 + len(names)) + b"\xde" + struct.pack(">H", len(layers)) + names
                      + b"\xdc" + struct.pack(">H", len(layers)) + contents)
        body = b"".join(chunks)
        trailer = (bytes.fromhex("940193cd0006de0000dc0000ce00000023d800") + bytes(16))
        header_size = 0x57 + len(metalayers)
        frame_size = header_size + len(body) + len(index) + len(trailer)
        filters = [number for number, _ in self.filters] + [0] * (8 - len(self.filters))
        header = (b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", header_size) + b"\xcf" + struct.pack(">Q", frame_size)
                  + bytes([0xa4, 0x12, 0, 0x51, 3]) + b"\xd3" + struct.pack(">q", sum(sizes))
                  + b"\xd3" + struct.pack(">q", len(body)) + b"\xd2" + struct.pack(">i", self.size)
                  + b"\xd2" + struct.pack(">i", self.block) + b"\xd2" + struct.pack(">i", max(sizes, default=0))
                  + b"\xd1\0\1\xd1\0\1\xc2\xd8\6" + bytes(filters) + bytes(8))
        assert len(header) == 0x57
        return header + metalayers + body + index + trailer

    @staticmethod
    def grid(shape, chunk, block):
        rank = len(shape)
        pack = lambda kind, code, numbers: bytes([0x90 + rank]) + b"".join(
            bytes([code]) + struct.pack(kind, number) for number in numbers)
        return (bytes([0x97, 0, rank]) + pack(">q", 0xd3, shape) + pack(">i", 0xd2, chunk) + pack(">i", 0xd2, block)
                + b"\0\xdb" + struct.pack(">I", 3) + b"<i4")

    def array(self, data, chunk, block):
        """`data` in chunks and blocks, whose edges are padded."""
        rank, chunks = data.ndim, []
        self.block = int(np.prod(block)) * data.itemsize
        padded = [-(-c // b) * b for c, b in zip(chunk, block)]
        for at in np.ndindex(*[-(-s // c) for s, c in zip(data.shape, chunk)]):
            part = data[tuple(slice(i * c, (i + 1) * c) for i, c in zip(at, chunk))]
            whole = np.zeros(padded, data.dtype)
            whole[tuple(slice(0, n) for n in part.shape)] = part
            cut = whole.reshape([n for p, b in zip(padded, block) for n in (p // b, b)])
            order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]
            chunks.append(self.chunk(cut.transpose(order).tobytes()))
        size = int(np.prod(padded)) * data.itemsize
        return self.frame(chunks, [size] * len(chunks), grid=(data.shape, chunk, block))


def add_blosc2(name, data, encoded):
    add("Hdf5Blosc2" + name, "kHdf5", "32026", {"cd_values": [1, 0, 4, len(data), 5, 1, 1]}, data, encoded)


def blosc2():
    data = SQUARES.tobytes()
    for codec in Blosc2.CODECS:
        for word, filters in (("None", ()), ("Byte", ((Blosc2.SHUFFLE, 0),)), ("Bit", ((Blosc2.BITSHUFFLE, 0),))):
            writer = Blosc2(4, codec, filters, 256)
            add_blosc2(codec.capitalize() + word, data, writer.frame([writer.chunk(data)], [len(data)]))
    shuffle, bits, delta = (Blosc2.SHUFFLE, 0), (Blosc2.BITSHUFFLE, 0), (Blosc2.DELTA, 0)
    steps = (1000 + 3 * np.arange(75)).astype("<i4").tobytes()
    for name, size, filters in (("Delta", 4, (delta,)), ("DeltaByte", 4, (delta, shuffle)), ("Delta2Bit", 2, (delta, bits)),
                                ("Delta12", 12, (delta,)), ("Truncated", 4, ((Blosc2.TRUNCATED, 20), shuffle)),
                                ("TwoShuffles", 4, ((Blosc2.SHUFFLE, 2), bits)),
                                ("ThreeShuffles", 4, (shuffle, bits, shuffle))):
        writer = Blosc2(size, "zstd", filters, 96)
        add_blosc2(name, steps, writer.frame([writer.chunk(steps)], [len(steps)]))
    for codec in ("lz4", "blosclz"):
        writer = Blosc2(4, codec, (shuffle,), 128, split=True)  # streams of zeros, and of other bytes
        odd = steps[:260]  # the last block is not split
        add_blosc2("Split" + codec.capitalize(), odd, writer.frame([writer.chunk(odd)], [len(odd)]))
    writer = Blosc2(4, block=64)
    add_blosc2("Stored", data, writer.frame([writer.stored(data)], [len(data)]))
    pieces = [data[:100], data[100:200], data[200:]]
    sizes = list(map(len, pieces))
    add_blosc2("ThreeChunks", data, writer.frame(list(map(writer.chunk, pieces)), sizes))
    chunks = [writer.chunk(pieces[i]) for i in (1, 2, 0)]
    offsets = [len(chunks[0]) + len(chunks[1]), 0, len(chunks[0])]
    add_blosc2("ChunksInAnyOrder", data, writer.frame(chunks, sizes, offsets))
    value = bytes([1, 2, 3, 4])
    for name, kind, element in (("Zeros", 1, bytes(4)), ("Nan", 2, np.float32("nan").tobytes()), ("Value", 3, value),
                                ("Uninitialized", 4, bytes(4))):
        chunk = writer.special(100, kind, value if kind == 3 else b"")
        add_blosc2(name, element * 25, writer.frame([chunk], [100]))
        if kind != 3:
            add_blosc2(name + "Offset", data[:100] + element * 5,
                       writer.frame([writer.chunk(data[:100])], [100, 20], [0, (128 + kind) << 56]))
    wide = Blosc2(8)
    add_blosc2("Nan8", np.full(8, np.nan).tobytes(), wide.frame([wide.special(64, 2)], [64]))
    for name, shape, chunk, block in (("Grid1", (75,), (75,), (20,)), ("Grid2", (7, 9), (7, 9), (4, 4)),
                                      ("Grid3", (3, 5, 4), (3, 5, 4), (2, 2, 4)), ("GridOfChunks", (7, 9), (4, 5), (2, 3)),
                                      ("GridLargerThanTheArray", (3, 2), (4, 4), (2, 2)), ("GridOfRank0", (), (), ())):
        values = (np.arange(np.prod(shape, dtype=int)) ** 2).astype("<i4").reshape(shape)
        writer = Blosc2(4, "zstd", (shuffle,))
        add_blosc2(name, values.tobytes(), writer.array(values, chunk, block))



def conditional():
    """By README.md of the codec in zarr-extensions; no library writes it."""
    data = SQUARES.tobytes()
    shuffled = np.frombuffer(data, "u1").reshape(-1, 4).T.tobytes()
    codecs = [{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, {"name": "zstd", "configuration": {"level": 3}}]
    zstd = numcodecs.Zstd(3).encode
    for mask, encoded in enumerate((data, shuffled, zstd(data), zstd(shuffled))):
        add(f"Conditional{mask}", "kZarr3", "conditional", {"codecs": codecs}, data, bytes([mask]) + encoded)


def write(path):
    lines = ["// SPDX-License-Identifier: MIT", "//",
             "// Written by make_goldens.py; not to be edited.", "#pragma once", "",
             "#include <array>", "#include <cstdint>", "",
             "#include \"backends/codec/registry.h\"", "",
             "namespace ndlfs::backends {", "",
             "// One chunk, in hexadecimal, before and after encoding.",
             "struct Golden {", "  const char* test_name;", "  CodecDialect dialect;",
             "  const char* codec;", "  const char* configuration;", "  const char* decoded;",
             "  const char* encoded;",
             "  int spare;  // bytes at the end of it that hold nothing", "};", "", "// clang-format off",
             "inline constexpr Golden kGoldens[] = {"]
    for name, dialect, codec, configuration, decoded, encoded, spare in goldens:
        lines.append(f'    {{"{name}", CodecDialect::{dialect}, "{codec}", R"({configuration})",')
        lines.append(f'     "{decoded}",')
        lines.append(f'     "{encoded}", {spare}}},')
    lines += ["};", "",
              "// A chunk of a Zarr v3 array.",
              "struct ArrayGolden {", "  const char* test_name;", "  const char* dtype;",
              "  std::array<uint64_t, 4> shape;  // zeros after the last", "  const char* codecs;",
              "  const char* decoded;", "  const char* encoded;", "};", ""]
    lines.append("inline constexpr ArrayGolden kZfpGoldens[] = {")
    for name, dtype, shape, codecs, decoded, encoded in array_goldens:
        extents = ", ".join(map(str, shape))
        lines.append(f'    {{"{name}", "{dtype}", {{{extents}}}, R"({codecs})",')
        lines.append(f'     "{decoded}",')
        lines.append(f'     "{encoded}"}},')
    lines += ["};", "// clang-format on", "", "}  // namespace ndlfs::backends", ""]
    path.write_text("\n".join(lines))


compressors()
filters()
hdf5()
zfp()
lzo()
vbz()
pcodec()
blosc2()
conditional()
write(pathlib.Path(__file__).with_name("goldens.h"))
