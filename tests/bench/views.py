# SPDX-License-Identifier: MIT
"""Called by `run.sh views`. What the other views of an array take beside its data.raw: the seconds of a sequential read through
a fresh mount, and of the daemon's processor time."""
import argparse
import math
import os
import shutil
import statistics
import tempfile

import data
import measure
import numcodecs
import numpy as np
import zarr

COMPRESSORS = {"uncompressed": None, "lz4": numcodecs.Blosc("lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE)}
OF_ARRAY = ("data.npy", "data.tif", "data.fits", "data.nii", "data.f77")
OF_GROUP = ("data.nc", "data.h5")


def make(folder, shape, dtype):
    """A store for each compressor, with one array called v."""
    rng = np.random.default_rng(0)
    for name, compressor in COMPRESSORS.items():
        group = zarr.open_group(f"{folder}/{name}.zarr", mode="w")
        group.create_dataset("v", shape=shape, chunks=(data.DEPTH, shape[1] // 4, shape[2] // 4), dtype=dtype,
                             compressor=compressor)
    for plane in range(0, shape[0], data.DEPTH):
        values = data.field(shape, plane, data.DEPTH, rng).astype(dtype)
        for name in COMPRESSORS:
            zarr.open_group(f"{folder}/{name}.zarr", mode="r+")["v"][plane:plane + data.DEPTH] = values


def read(folder, *path):
    """Seconds, seconds of the daemon for a GiB, and the rate in bytes a second."""
    with measure.Ndlfs(folder) as mounted:
        file = mounted.join(*path)
        size = os.stat(file).st_size  # made by now
        before = measure.processor_seconds(mounted.process.pid)
        time = measure.dd(file)
        processor = measure.processor_seconds(mounted.process.pid) - before
    return time, processor * (1 << 30) / size, size / time


def main():
    parser = argparse.ArgumentParser(prog="run.sh views")
    parser.add_argument("--quick", action="store_true", help="arrays of 64 MiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="<f4")
    arguments = parser.parse_args()
    shape = (64, 512, 512) if arguments.quick else (256, 512, 512)
    folder = tempfile.mkdtemp(prefix="ndlfs-bench-")
    try:
        make(folder, shape, arguments.dtype)
        size = math.prod(shape) * np.dtype(arguments.dtype).itemsize
        print(f"{size >> 20} MiB of {arguments.dtype}, best of {arguments.rounds} rounds\n")
        print("| chunks | view | GB/s | of data.raw | daemon, s/GiB | data.raw, s/GiB |\n|---|---|---|---|---|---|")
        for name in COMPRESSORS:
            store = f"{name}.zarr"
            views = [(store, "v", view) for view in OF_ARRAY] + [(store, view) for view in OF_GROUP]
            figures = {path: [] for path in views}
            ratios = {path: [] for path in views}
            for _ in range(arguments.rounds):
                for path in views:  # each beside data.raw of the same moment
                    raw = read(folder, store, "v", "data.raw")
                    view = read(folder, *path)
                    figures[path].append((view, raw))
                    ratios[path].append(view[2] / raw[2])
            for path in views:
                best, raw = (min(times) for times in zip(*figures[path]))
                print(f"| {name} | {path[-1]} | {best[2] / 1e9:.2f} | {statistics.median(ratios[path]):.2f} | "
                      f"{min(f[0][1] for f in figures[path]):.2f} | {min(f[1][1] for f in figures[path]):.2f} |", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
