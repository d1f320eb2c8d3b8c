# SPDX-License-Identifier: MIT
"""Reads the arrays of data.zarr by hand; zarr-python 3 is in no Debian that the tests run on."""
import base64
import json
import os

import numpy as np

import harness


def dtype_of(words):
    """Elements of a data type in metadata, little-endian; texts of any length are objects, and what NumPy has not is bytes."""
    name = words if isinstance(words, str) else words["name"]
    given = {} if isinstance(words, str) else words.get("configuration", {})
    if name == "struct":
        return np.dtype([(field["name"], dtype_of(field["data_type"])) for field in given["fields"]])
    if name in ("numpy.datetime64", "numpy.timedelta64"):
        return np.dtype(f"<{'M' if 'date' in name else 'm'}8[{given['scale_factor']}{given['unit']}]")
    if "length_bytes" in given:
        size = given["length_bytes"]
        return np.dtype({"fixed_length_utf32": f"<U{size // 4}", "null_terminated_bytes": f"S{size}"}.get(name, f"V{size}"))
    if name in ("string", "bytes"):
        return np.dtype("O")
    if name[0] == "r" and name[1:].isdigit():
        return np.dtype(f"V{int(name[1:]) // 8}")
    return np.dtype(name if isinstance(words, str) else "V1").newbyteorder("<")


def fill_of(dtype, words):
    """A fill value in metadata."""
    if dtype.names:
        return np.array(tuple(fill_of(dtype[name], words[name]) for name in dtype.names), dtype)[()]
    if dtype.kind in "mM":
        return np.array(np.iinfo("i8").min if words == "NaT" else words, "<i8").view(dtype)[()]
    if dtype.kind in "SV":
        return np.array(base64.b64decode(words) if isinstance(words, str) else bytes(words), dtype)[()]
    if dtype.kind == "c":
        return complex(*map(float, words))
    if dtype.kind == "f" and str(words).startswith("0x"):
        return np.frombuffer(int(words, 16).to_bytes(dtype.itemsize, "little"), dtype)[0]
    return float(words) if dtype.kind == "f" else words


def texts_of(encoded):
    """Of vlen-utf8 and vlen-bytes: a count, and then lengths and bytes."""
    found, at = [], 4
    for _ in range(int.from_bytes(encoded[:4], "little")):
        size = int.from_bytes(encoded[at:at + 4], "little")
        found.append(encoded[at + 4:at + 4 + size])
        at += 4 + size
    assert at == len(encoded)
    return found


def read_zarr3(folder, fill=None):
    """The array in `folder`, read as the specification says, with nothing but NumPy. `fill`: of absent chunks; None: all are there."""
    document = json.loads(harness.read(folder, "zarr.json"))
    assert document["zarr_format"] == 3 and document["node_type"] == "array"
    codec, = document["codecs"]
    assert codec["name"] in ("bytes", "vlen-utf8", "vlen-bytes") and codec.get("configuration", {}).get("endian", "little") == "little"
    dtype = dtype_of(document["data_type"])
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    array = np.zeros(shape, dtype) if fill is None else np.full(shape, fill, dtype)
    counts = [-(-extent // size) for extent, size in zip(shape, chunk)]
    for index in np.ndindex(*counts):
        key = "/".join(["c", *map(str, index)])
        if fill is not None and not os.path.exists(os.path.join(folder, key)):
            continue
        encoded = harness.read(folder, key)
        if dtype == object:
            encoding = {"vlen-utf8": "utf-8", "vlen-bytes": "latin-1"}[codec["name"]]
            values = np.array([text.decode(encoding) for text in texts_of(encoded)], object).reshape(chunk)
        else:
            values = np.frombuffer(encoded, dtype).reshape(chunk)
        place = tuple(slice(i * size, min((i + 1) * size, extent)) for i, size, extent in zip(index, chunk, shape))
        array[place] = values[tuple(slice(0, part.stop - part.start) for part in place)]
        outside = np.ones(chunk, bool)
        outside[tuple(slice(0, part.stop - part.start) for part in place)] = False
        # The same bytes: two NaN in structs are not equal.
        assert len({one if dtype == object else one.tobytes() for one in values[outside]}) <= 1, key
    return array
