# SPDX-License-Identifier: MIT
"""Called by `run.sh soak`. Many readers at random places of many stores, with little memory; every byte is compared.

Each reader is a process that picks a store, opens a view, and either reads pieces at random places or goes forward from
one, sometimes by plane. What it reads is compared with the elements as NumPy wrote them.
"""
import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time

import h5py
import harness
import measure
import netCDF4
import numcodecs
import numpy as np
import zarr

STORES = 50
READERS = 16
CACHE = "32MiB"
DTYPES = ["<f4", ">f4", "<f8", "<i2", "|u1", ">i8", "<c8"]
CODECS = [None, numcodecs.Zstd(3), numcodecs.GZip(1), numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZ4(),
          numcodecs.Blosc("lz4", shuffle=1), numcodecs.Blosc("zstd", shuffle=2), numcodecs.Blosc("blosclz")]


def make_array(rng, dtype):
    shape = tuple(int(n) for n in rng.integers(30, 130, rng.integers(2, 4)))
    if len(shape) == 2:
        shape = tuple(20 * n for n in shape)
    steps = rng.integers(0, 7, shape).cumsum(axis=-1)
    return steps.astype(dtype)


def make_store(folder, number, rng):
    """The path of the view's folder in the mount; the elements are in a file beside the stores."""
    values = make_array(rng, DTYPES[number % len(DTYPES)])
    values.astype(values.dtype.newbyteorder("<")).tofile(f"{folder}/expected/{number}")
    chunks = tuple(int(rng.integers(max(2, n // 6), n + 5)) for n in values.shape)
    kind = number % 10
    if kind == 7 and values.dtype.kind == "f":
        with h5py.File(f"{folder}/source/{number}.h5", "w") as file:
            file.create_dataset("data", data=values, chunks=tuple(map(min, chunks, values.shape)), compression="gzip",
                                shuffle=True)
        return f"{number}.h5/data"
    if kind == 8 and values.dtype in ("<f4", ">f4", "<i2"):
        with netCDF4.Dataset(f"{folder}/source/{number}.nc", "w", format="NETCDF3_CLASSIC") as file:
            names = [file.createDimension(f"d{i}", n).name for i, n in enumerate(values.shape)]
            file.createVariable("data", values.dtype.newbyteorder("="), names)[:] = values
        return f"{number}.nc/data"
    if kind == 9:
        np.save(f"{folder}/source/{number}.npy", values)
        return f"{number}.npy"
    array = zarr.open_array(f"{folder}/source/{number}.zarr", mode="w", shape=values.shape, chunks=chunks,
                            dtype=values.dtype, compressor=CODECS[number % len(CODECS)], order="CF"[number % 4 == 3])
    array[:] = values
    return f"{number}.zarr"


class Reader:
    def __init__(self, mountpoint, folder, paths, seed, until):
        self.mountpoint, self.folder, self.paths, self.until = mountpoint, folder, paths, until
        self.random = random.Random(seed)
        self.bytes = 0

    def run(self):
        while time.monotonic() < self.until:
            number = self.random.randrange(len(self.paths))
            expected = np.memmap(f"{self.folder}/expected/{number}", np.uint8, "r")
            fd = os.open(f"{self.mountpoint}/{self.paths[number]}/data.raw", os.O_RDONLY)
            try:
                # So that the mount is asked, and not the page cache.
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                if os.fstat(fd).st_size != expected.size:
                    sys.exit(f"{self.paths[number]}: {os.fstat(fd).st_size} bytes, expected {expected.size}")
                self.random.choice([self.at_random, self.forward, self.strided])(fd, expected)
            finally:
                os.close(fd)
        return self.bytes

    def compare(self, fd, expected, offset, size):
        found = os.pread(fd, size, offset)
        if found != expected[offset:offset + size].tobytes():
            sys.exit(f"{os.readlink(f'/proc/self/fd/{fd}')}: bytes {offset} + {size} differ")
        self.bytes += len(found)

    def at_random(self, fd, expected):
        for _ in range(40):
            offset = self.random.randrange(expected.size)
            self.compare(fd, expected, offset, min(self.random.choice([1, 100, 4096, 70000]), expected.size - offset))

    def forward(self, fd, expected):
        offset = self.random.choice([0, self.random.randrange(expected.size)])
        size = self.random.choice([1 << 16, 1 << 20])
        for offset in range(offset, expected.size, size):
            self.compare(fd, expected, offset, min(size, expected.size - offset))

    def strided(self, fd, expected):
        step = self.random.randrange(10000, 1 << 20)
        for offset in range(self.random.randrange(min(step, expected.size)), expected.size, step):
            self.compare(fd, expected, offset, min(self.random.randrange(1, step), expected.size - offset))


def read(mountpoint, folder, paths, seed, until, total):
    count = Reader(mountpoint, folder, paths, seed, until).run()
    with total.get_lock():
        total.value += count


def main():
    parser = argparse.ArgumentParser(prog="run.sh soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="ndlfs-soak-") as folder:
        os.mkdir(f"{folder}/source")
        os.mkdir(f"{folder}/expected")
        rng = np.random.default_rng(arguments.seed)
        paths = [make_store(folder, number, rng) for number in range(STORES)]
        with measure.Ndlfs(f"{folder}/source", "--cache-size", CACHE, "--cache-dir", folder) as mounted:
            total = multiprocessing.Value("q", 0)
            until = time.monotonic() + 60 * arguments.minutes
            readers = [multiprocessing.Process(target=read, args=(mounted.path, folder, paths, arguments.seed + seed,
                                                                  until, total)) for seed in range(READERS)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            statistics = mounted.statistics()
            peak = mounted.peak_memory() >> 20
    failed = sum(reader.exitcode != 0 for reader in readers)
    print(f"{total.value / 1e9:.1f} GB compared by {READERS} readers of {STORES} stores in {arguments.minutes:g} minutes, "
          f"--cache-size {CACHE}: {failed} readers found a difference; peak {peak} MiB")
    print(", ".join(f"{name} {statistics[name]:g}" for name in (
        "reads_total", "read_bytes_total", "cache_misses_total", "cache_hits_total", "cache_evictions_total",
        "prefetched_chunks_total", "spill_written_total", "spill_reads_total", "failed_requests_total")))
    sys.exit(failed != 0 or statistics["failed_requests_total"] != 0)


if __name__ == "__main__":
    main()
