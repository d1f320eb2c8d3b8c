# SPDX-License-Identifier: MIT
"""The data that run.sh measures with: the same elements in every store, made once."""
import os

import h5py
import netCDF4
import numcodecs
import numpy as np
import zarr

COMPRESSORS = {
    "zstd": numcodecs.Zstd(3),
    "gzip": numcodecs.GZip(5),
    "lz4": numcodecs.Blosc("lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE),
    "none": None,
}
DEPTH = 16
READERS = 8


class Sizes:
    """The shape of the arrays, and how their chunks cut it."""

    def __init__(self, quick):
        self.shape = (64, 512, 512) if quick else (256, 1024, 1024)
        self.bytes = 4 * int(np.prod(self.shape))
        self.chunks = (DEPTH, self.shape[1] // 4, self.shape[2] // 4)
        # Of whole rows, so that no page of a file lies in two of them.
        self.row_chunks = (DEPTH // 4, self.shape[1] // 16, self.shape[2])
        # One band of chunks is the array itself.
        self.deep_chunks = (self.shape[0], self.shape[1] // 16, self.shape[2] // 16)
        self.part_shape = (self.shape[0] // READERS, *self.shape[1:])
        self.cubes = (64, 64, 64)

    @property
    def needed(self):
        """Bytes of disk for all of it."""
        return 9 * self.bytes


def field(shape, first_plane, planes, rng):
    """Planes of a field as models make them: smooth, with noise in the last bits that are kept."""
    t = np.arange(first_plane, first_plane + planes, dtype=np.float32)
    y, x = (np.linspace(0, 12, n, dtype=np.float32) for n in shape[1:])
    values = 280 + t[:, None, None] / 16 + 8 * np.sin(y)[None, :, None] * np.cos(x)[None, None, :]
    values += rng.integers(0, 16, values.shape).astype(np.float32) / 64
    return (np.round(values * 64) / 64).astype("<f4")


def make(folder, sizes):
    """Below `folder`; leaves what is there already."""
    done = f"{folder}/complete"
    if os.path.exists(done):
        return
    with h5py.File(f"{folder}/gzip.h5", "w") as gzip, h5py.File(f"{folder}/contiguous.h5", "w") as contiguous, \
            netCDF4.Dataset(f"{folder}/classic.nc", "w", format="NETCDF3_64BIT_OFFSET") as classic:
        write_bands(folder, sizes, _targets(folder, sizes, gzip, contiguous, classic))
    write_parts(folder, sizes)
    with open(done, "wb"):
        pass


def _targets(folder, sizes, gzip, contiguous, classic):
    """What each band of planes is assigned to."""
    def store(name, chunks, compressor):
        return zarr.open_array(f"{folder}/{name}.zarr", mode="w", shape=sizes.shape, chunks=chunks, dtype="<f4",
                               compressor=compressor)

    targets = [store(name, sizes.chunks, compressor) for name, compressor in COMPRESSORS.items()]
    targets.append(store("rows", sizes.row_chunks, COMPRESSORS["lz4"]))
    targets.append(gzip.create_dataset("data", sizes.shape, "<f4", chunks=sizes.chunks, compression="gzip",
                                       compression_opts=4, shuffle=True))
    targets.append(contiguous.create_dataset("data", sizes.shape, "<f4"))
    for name, extent in zip("tyx", sizes.shape):
        classic.createDimension(name, extent)
    targets.append(classic.createVariable("data", "f4", tuple("tyx")))
    targets.append(np.lib.format.open_memmap(f"{folder}/plain.npy", "w+", "<f4", sizes.shape))
    return targets


def write_bands(folder, sizes, targets):
    rng = np.random.default_rng(0)
    with open(f"{folder}/plain.bin", "wb") as plain:
        for first in range(0, sizes.shape[0], DEPTH):
            values = field(sizes.shape, first, DEPTH, rng)
            values.tofile(plain)
            for target in targets:
                target[first:first + DEPTH] = values
    whole = np.memmap(f"{folder}/plain.bin", "<f4", "r", shape=sizes.shape)
    for name, chunks in (("deep", sizes.deep_chunks), ("cubes", sizes.cubes)):
        array = zarr.open_array(f"{folder}/{name}.zarr", mode="w", shape=sizes.shape, chunks=chunks, dtype="<f4",
                                compressor=COMPRESSORS["zstd"])
        array[:] = whole


def write_parts(folder, sizes):
    rng = np.random.default_rng(1)
    for number in range(READERS):
        part = zarr.open_array(f"{folder}/part{number}.zarr", mode="w", shape=sizes.part_shape, chunks=sizes.chunks,
                               dtype="<f4", compressor=COMPRESSORS["zstd"])
        part[:] = field(sizes.shape, number * sizes.part_shape[0], sizes.part_shape[0], rng)
