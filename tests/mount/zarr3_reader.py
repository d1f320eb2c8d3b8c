# SPDX-License-Identifier: MIT
"""Reads the arrays of data.zarr by hand."""
import json

import numpy as np

import harness


def read_zarr3(folder):
    """The array in `folder`, read as the specification says, with nothing but NumPy."""
    document = json.loads(harness.read(folder, "zarr.json"))
    assert document["zarr_format"] == 3 and document["node_type"] == "array"
    codec, = document["codecs"]
    assert codec["name"] == "bytes" and codec.get("configuration", {}).get("endian", "little") == "little"
    dtype = np.dtype(document["data_type"]).newbyteorder("<")
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    array = np.zeros(shape, dtype)
    counts = [-(-extent // size) for extent, size in zip(shape, chunk)]
    for index in np.ndindex(*counts):
        key = "/".join(["c", *map(str, index)])
        values = np.frombuffer(harness.read(folder, key), dtype).reshape(chunk)
        place = tuple(slice(i * size, min((i + 1) * size, extent)) for i, size, extent in zip(index, chunk, shape))
        array[place] = values[tuple(slice(0, part.stop - part.start) for part in place)]
        outside = np.ones(chunk, bool)
        outside[tuple(slice(0, part.stop - part.start) for part in place)] = False
        assert not values[outside].size or len(np.unique(values[outside])) == 1, key
    return array
