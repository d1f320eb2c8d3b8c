# SPDX-License-Identifier: MIT
"""Called by run.sh: a sequential read of an array behind a slow link (slow_link.py), and its chunks by curl."""
import argparse
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import urllib.request

import measure
import numcodecs
import numpy as np
import zarr

PLANE = (512, 512)
CHUNKS = {"row": (4, 512, 512), "planes": (16, 256, 256)}  # of 4 MiB: one after the other, or four again and again
WIDTH = 64


def make(folder, planes, chunks=CHUNKS["row"], compressor=numcodecs.Zstd(3)):
    """An array whose chunks zstd makes a little smaller, as it does with measured data."""
    array = zarr.open_group(folder + "/store.zarr", mode="w").create_dataset(
        "data", shape=(planes, *PLANE), chunks=chunks, dtype="<i4", compressor=compressor)
    random = np.random.default_rng(1)
    depth = chunks[0]
    for plane in range(0, planes, depth):
        array[plane:plane + depth] = random.integers(0, 1 << 24, (depth, *PLANE), dtype="<i4")
    zarr.consolidate_metadata(folder + "/store.zarr")
    return array.nbytes, [f"store.zarr/data/{name}" for name in sorted(os.listdir(folder + "/store.zarr/data"))
                          if not name.startswith(".")]


@contextlib.contextmanager
def slow_link(folder, *rates, script="slow_link.py"):
    """The URL of a server, and the seconds of processor that it has taken."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
    process = subprocess.Popen([measure.PYTHON, script, folder, *map(str, rates)], stdout=subprocess.PIPE, text=True)
    try:
        yield (f"http://127.0.0.1:{process.stdout.readline().strip()}/",
               lambda: measure.processor_seconds(process.pid))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def taken(url):
    """Requests since the last call, and how many were under way at once at most."""
    with urllib.request.urlopen(url + ".statistics") as answer:
        figures = json.load(answer)
    return f"{figures['count'] - 1} requests, {figures['most']} at once"


def curl(url, names, folder):
    with open(folder + "/curl", "w", encoding="utf-8") as config:
        for name in names:
            config.write(f'url = "{url}{name}"\noutput = /dev/null\n')
    return measure.seconds("curl", "-sS", "--no-progress-meter", "-Z", "--parallel-immediate", "--parallel-max", str(WIDTH), "-K",
                           folder + "/curl")


def through_mount(url, binary, *options):
    with measure.Ndlfs(url, *options, binary=binary) as mounted:
        view = mounted.join("store.zarr", "data", "data.raw")
        os.stat(view)
        taken(url)
        before = measure.processor_seconds(mounted.process.pid)
        time = measure.dd(view)
        return time, mounted.peak_memory(), measure.processor_seconds(mounted.process.pid) - before


def main():
    parser = argparse.ArgumentParser(prog="run.sh link")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", metavar="NDLFS", help="another ndlfs, measured in turn with this one")
    parser.add_argument("--rate", type=float, default=64, metavar="MB/S", help="of each connection")
    parser.add_argument("--total", type=float, default=1e6, metavar="MB/S", help="of all connections together")
    parser.add_argument("--planes", type=int, default=1024, help="of 1 MiB each")
    parser.add_argument("--cache-size", default="512MiB", metavar="SIZE", help="of ndlfs")
    parser.add_argument("--plain", action="store_true", help="chunks that are not encoded")
    parser.add_argument("--chunks", choices=CHUNKS, default="row",
                        help="one after the other, or 16 planes deep, which a reader of planes comes back to")
    arguments = parser.parse_args()
    os.environ["no_proxy"] = "*"
    folder = tempfile.mkdtemp(prefix="ndlfs-bench-")
    try:
        size, names = make(folder, arguments.planes, CHUNKS[arguments.chunks],
                           None if arguments.plain else numcodecs.Zstd(3))
        binaries = {"ndlfs": None} | ({"before": arguments.before} if arguments.before else {})
        figures = {name: [] for name in ("curl", *binaries)}
        with slow_link(folder, arguments.rate, arguments.total) as (url, server):
            for number in range(arguments.rounds):
                before, mine = server(), resource.getrusage(resource.RUSAGE_CHILDREN)
                figures["curl"].append(curl(url, names, folder))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                processor = after.ru_utime + after.ru_stime - mine.ru_utime - mine.ru_stime
                shown = [f"curl {figures['curl'][-1]:.2f} s ({taken(url)}; processor: {processor:.2f} s, "
                         f"server {server() - before:.2f} s)"]
                for name, binary in binaries.items():
                    before = server()
                    time, memory, processor = through_mount(url, binary, "--cache-size", arguments.cache_size)
                    figures[name].append(time)
                    shown.append(f"{name} {time:.2f} s ({taken(url)}, {memory >> 20} MiB; processor: {processor:.2f} s, "
                                 f"server {server() - before:.2f} s)")
                print(f"round {number + 1}: " + ", ".join(shown), flush=True)
    finally:
        shutil.rmtree(folder)
    medians = {name: statistics.median(seconds) for name, seconds in figures.items()}
    print(f"{size >> 20} MiB: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items()) +
          "; of curl's speed " + ", ".join(f"{name} {medians['curl'] / medians[name]:.2f}" for name in binaries))


if __name__ == "__main__":
    main()
