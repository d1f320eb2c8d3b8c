# SPDX-License-Identifier: MIT
"""Called by run.sh. Cold and warm sequential reads through the mount, beside what zarr-python needs for `z[:]`.

Cold is a new mount: nothing in its page cache or chunk cache, the store itself in the page cache. Warm is the next read.
Rounds are interleaved, so that what else the machine does falls on all alike; the figures are medians.
"""
import argparse
import contextlib
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import harness
import numcodecs
import numpy as np
import zarr

CHUNKS = (16, 256, 256)
COMPRESSORS = {
    "uncompressed": None,
    "blosc-lz4": numcodecs.Blosc("lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE),
    "zstd-3": numcodecs.Zstd(3),
    "gzip-5": numcodecs.GZip(5),
}
READ_WITH_ZARR = """
import sys, time, zarr
z = zarr.open_array(sys.argv[1], mode="r")
start = time.perf_counter()
a = z[:]
print(time.perf_counter() - start)
"""


def note(text):
    print(text, file=sys.stderr, flush=True)


def band(shape, number, rng):
    """One band of chunks of a field as models make them: smooth, with noise in the last bits that are kept."""
    planes = np.arange(number * CHUNKS[0], (number + 1) * CHUNKS[0], dtype=np.float32)
    y, x = (np.linspace(0, 12, n, dtype=np.float32) for n in shape[1:])
    field = 280 + planes[:, None, None] / 16 + 8 * np.sin(y)[None, :, None] * np.cos(x)[None, None, :]
    field += rng.integers(0, 16, field.shape).astype(np.float32) / 64
    return (np.round(field * 64) / 64).astype("<f4")


def make_stores(folder, shape):
    """One store per compressor with the same elements, and the elements alone in a plain file."""
    stores = {name: zarr.open_array(f"{folder}/{name}.zarr", mode="w", shape=shape, chunks=CHUNKS, dtype="<f4",
                                    compressor=compressor) for name, compressor in COMPRESSORS.items()}
    rng = np.random.default_rng(0)
    with open(f"{folder}/plain.raw", "wb") as plain:
        for number in range(shape[0] // CHUNKS[0]):
            field = band(shape, number, rng)
            field.tofile(plain)
            for store in stores.values():
                store[number * CHUNKS[0]:(number + 1) * CHUNKS[0]] = field


def load_into_page_cache(folder):
    subprocess.run(f"find '{folder}' -type f -exec cat {{}} + >/dev/null", shell=True, check=True)


def dd_seconds(path):
    start = time.perf_counter()
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"], check=True)
    return time.perf_counter() - start


def zarr_seconds(path):
    result = subprocess.run(["/usr/bin/python3", "-c", READ_WITH_ZARR, path], check=True, capture_output=True, text=True)
    return float(result.stdout)


def measure(folder, rounds):
    """Seconds by (name, what), one per round."""
    seconds = {}

    def add(name, what, value):
        seconds.setdefault((name, what), []).append(value)

    for number in range(rounds):
        note(f"round {number + 1} of {rounds}")
        add("plain file", "warm", dd_seconds(f"{folder}/plain.raw"))
        for name in COMPRESSORS:
            with harness.Mount(folder) as mounted:
                view = mounted.join(f"{name}.zarr", "data.raw")
                add(name, "cold", dd_seconds(view))
                add(name, "warm", dd_seconds(view))
            add(name, "zarr", zarr_seconds(f"{folder}/{name}.zarr"))
    return seconds


def show(seconds, size):
    def rate(name, what):
        return size / statistics.median(seconds[name, what]) / 1e9

    plain = rate("plain file", "warm")
    print(f"{'':14}{'cold GB/s':>12}{'warm GB/s':>12}{'z[:] GB/s':>12}{'cold / z[:]':>14}{'warm / plain':>14}")
    print(f"{'plain file':14}{'':12}{plain:12.2f}")
    for name in COMPRESSORS:
        cold, warm, library = (rate(name, what) for what in ("cold", "warm", "zarr"))
        print(f"{name:14}{cold:12.2f}{warm:12.2f}{library:12.2f}{cold / library:14.2f}{warm / plain:14.2f}")


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description="Reading through the mount, beside the alternatives.")
    parser.add_argument("--quick", action="store_true", help="64 MiB an array instead of 1 GiB")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes, whatever ends the run
    shape = (64, 512, 512) if arguments.quick else (256, 1024, 1024)
    size = 4 * int(np.prod(shape))
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="ndlfs-bench-")
        stack.callback(shutil.rmtree, folder)
        if shutil.disk_usage(folder).free < 6 * size:
            sys.exit(f"run.sh: {6 * size >> 20} MiB are needed in {os.path.dirname(folder)}")
        note(f"making {len(COMPRESSORS)} arrays of {size >> 20} MiB")
        make_stores(folder, shape)
        load_into_page_cache(folder)
        seconds = measure(folder, arguments.rounds)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, zarr-python {zarr.__version__}; "
          f"float32 {shape}, chunks {CHUNKS}, medians of {arguments.rounds} rounds")
    show(seconds, size)


if __name__ == "__main__":
    main()
