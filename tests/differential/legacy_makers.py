# SPDX-License-Identifier: MIT
"""Files of HDF4 by libhdf4, and repositories of Icechunk by the schemas of the reader."""
import hdf4_writer
import icechunk_writer
import numpy as np

from arrays import Array, draw_chunks, draw_numbers, draw_shape

HDF4_TYPES = ("i4", "i1", "u1", "i2", "u2", "u4", "f4", "f8")
CODINGS = {"none": None, "deflate": hdf4_writer.DEFLATE, "rle": hdf4_writer.RLE, "skphuff": hdf4_writer.SKPHUFF}


def make_hdf4(d, path):
    arrays = {}
    with hdf4_writer.File(path) as file:
        for name, part in d.parts("v", 1, 3).items():
            dtype, shape = np.dtype(part.pick("type", *HDF4_TYPES)), draw_shape(part, 1)
            stored = draw_numbers(part, dtype, shape)
            kind = dtype.newbyteorder("<")
            coding = part.pick("coding", *CODINGS)
            attributes = {}
            if part.chance("has fill", .3):
                attributes["_FillValue"] = dtype.type(part.whole("fill", 0, 9))
            file.dataset(name, stored.astype(kind), chunk=draw_chunks(part, shape) if part.chance("chunked", .5) else None, coding=CODINGS[coding],
                         option=dtype.itemsize if coding == "skphuff" else 6, order=hdf4_writer.LITTLE if part.chance("little", .3) else 0,
                         attributes={key: np.array([value], kind) for key, value in attributes.items()})
            arrays[name] = Array(stored, attributes=attributes)
    return arrays


def make_icechunk(d, path):
    """A later snapshot of a branch takes the place of those before it."""
    repository = icechunk_writer.Repository(path, d.pick("version", 2, 1))
    dtype, shape = np.dtype(d.pick("type", "i4", "i1", "u1", "i2", "u2", "u4", "i8", "u8", "f4", "f8")), draw_shape(d, 1)
    for number in range(d.whole("snapshots", 1, 3)):
        stored = draw_numbers(d.part(f"snapshot {number}"), dtype, shape)
        repository.commit(stored, d.whole(f"rows {number}", 1, shape[0]))
    return {"v": Array(stored)}
