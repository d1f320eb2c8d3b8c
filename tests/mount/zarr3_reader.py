# SPDX-License-Identifier: MIT
"""Reads the arrays of data.zarr by hand; zarr-python 3 is in no Debian that the tests run on."""
import json
import os

import numpy as np

import harness


def read_zarr3(folder, fill=None):
    """The array in `folder`, read as the specification says, with nothing but NumPy. `fill`: of absent chunks; None: all are there."""
    document = json.loads(harness.read(folder, "zarr.json"))
    assert document["zarr_format"] == 3 and document["node_type"] == "array"
    codec, = document["codecs"]
    assert codec["name"] == "bytes" and codec.get("configuration", {}).get("endian", "little") == "little"
    kind = document["data_type"]
    dtype = np.dtype(kind if isinstance(kind, str) else "V1").newbyteorder("<")
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    array = np.zeros(shape, dtype) if fill is None else np.full(shape, fill, dtype)
    counts = [-(-extent // size) for extent, size in zip(shape, chunk)]
    for index in np.ndindex(*counts):
        key = "/".join(["c", *map(str, index)])
        if fill is not None and not os.path.exists(os.path.join(folder, key)):
            continue
        values = np.frombuffer(harness.read(folder, key), dtype).reshape(chunk)
        place = tuple(slice(i * size, min((i + 1) * size, extent)) for i, size, extent in zip(index, chunk, shape))
        array[place] = values[tuple(slice(0, part.stop - part.start) for part in place)]
        outside = np.ones(chunk, bool)
        outside[tuple(slice(0, part.stop - part.start) for part in place)] = False
        assert not values[outside].size or len(np.unique(values[outside])) == 1, key
    return array
