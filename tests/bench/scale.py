# SPDX-License-Identifier: MIT
"""Called by `run.sh scale`. What looking around costs where there is very much, and how it grows: each store is made in two
sizes, and the exponent of a cost is 1 where ten times as much costs ten times as much."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import h5py

import measure

ARRAY = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4", "compressor": None, "fill_value": 0, "order": "C",
         "filters": None}

ARRAY_V3 = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}


def write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def many_arrays(folder, count, consolidated):
    """A store with `count` arrays in its root."""
    os.mkdir(folder)
    write(f"{folder}/.zgroup", '{"zarr_format": 2}')
    text = json.dumps(ARRAY)
    for number in range(count):
        os.mkdir(f"{folder}/a{number}")
        write(f"{folder}/a{number}/.zarray", text)
    if consolidated:
        metadata = {".zgroup": {"zarr_format": 2}} | {f"a{number}/.zarray": ARRAY for number in range(count)}
        write(f"{folder}/.zmetadata", json.dumps({"zarr_consolidated_format": 1, "metadata": metadata}))


def many_arrays_v3(folder, count):
    """The same in Zarr v3, with consolidated metadata."""
    os.mkdir(folder)
    metadata = {f"a{number}": ARRAY_V3 for number in range(count)}
    write(f"{folder}/zarr.json", json.dumps({
        "zarr_format": 3, "node_type": "group", "attributes": {},
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": metadata}}))
    text = json.dumps(ARRAY_V3)
    for name in metadata:
        os.mkdir(f"{folder}/{name}")
        write(f"{folder}/{name}/zarr.json", text)


def many_stores(folder, count):
    os.mkdir(folder)
    for number in range(count):
        os.mkdir(f"{folder}/s{number}.zarr")
        write(f"{folder}/s{number}.zarr/.zarray", json.dumps(ARRAY))


def many_chunks(folder, count):
    """A store with one array of `count` chunk files."""
    os.makedirs(f"{folder}/a")
    write(f"{folder}/.zgroup", '{"zarr_format": 2}')
    write(f"{folder}/a/.zarray", json.dumps(ARRAY | {"shape": [4 * count]}))
    for number in range(count):
        with open(f"{folder}/a/{number}", "wb") as file:
            file.write(b"abcdefghijklmnop")


def chunks_of_hdf5(folder, count):
    """A file with `count` chunks of 256 bytes."""
    os.mkdir(folder)
    with h5py.File(f"{folder}/m.h5", "w", libver="latest") as file:
        dataset = file.create_dataset("a", shape=(64 * count,), chunks=(64,), dtype="f4")
        for number in range(count):
            dataset.id.write_direct_chunk((64 * number,), bytes(range(256)))


def groups_in_groups(folder, depth):
    os.mkdir(folder)
    with h5py.File(f"{folder}/m.h5", "w") as file:
        group = file
        for _ in range(depth):
            group = group.create_group("g")
        group["a"] = [1.0, 2.0]


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def family(pid):
    """The daemon, and its helpers."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [pid] + [int(child) for child in file.read().split()]


class Taken:
    """What the commands of one look took."""

    def __init__(self, mounted, command):
        pid = mounted.process.pid
        busy = sum(map(measure.processor_seconds, family(pid)))
        start = time.perf_counter()
        words = [word.replace("@", mounted.path) for word in command]
        output = subprocess.run(words, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
        self.wall = time.perf_counter() - start
        self.busy = sum(map(measure.processor_seconds, family(pid))) - busy
        self.lines = output.count(b"\n")
        self.resident = resident(pid)


def exponent(small, large, times):
    """Of what `times` as much costs; nothing where the costs are too small to tell."""
    if small < 0.05:
        return "     "
    return f"{math.log(max(large, 0.01) / small, times):5.2f}"


def look(title, make, count, looks):
    """Each of `looks` is a name and a command. All of them in one mount of each size."""
    sizes = [count // 10, count]
    taken = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="ndlfs-scale-") as folder:
            make(f"{folder}/data", size)
            with measure.Ndlfs(f"{folder}/data") as mounted:
                os.stat(mounted.path)
                before = resident(mounted.process.pid)
                taken.append([Taken(mounted, command) for _, command in looks])
    print(f"{title.format(count)}; a tenth of it beside")
    for number, (what, _) in enumerate(looks):
        small, large = (each[number] for each in taken)
        print(f"  {what:28}{large.busy:8.2f} s of processor {small.busy:8.2f} s   exponent {exponent(small.busy, large.busy, 10)}"
              f" {large.wall:8.2f} s of wall {large.lines:9} lines {(large.resident - before) / 2**20:8.1f} MiB", flush=True)


# Each look begins with what earlier ones have left in the memory of the daemon and of the kernel.
ALL_FILES = [
    ("first ls", ["ls", "-f", "@/m.zarr"]),
    ("ls again", ["ls", "-f", "@/m.zarr"]),
    ("ls -l", ["ls", "-l", "@/m.zarr"]),
    ("find", ["find", "@/m.zarr"]),
    ("du", ["du", "@/m.zarr"]),
    ("rsync -an", ["rsync", "-an", "@/m.zarr/", "@.copy/"]),
    ("document of each", ["find", "@/m.zarr", "-name", ".ndl.yaml", "-exec", "cat", "{}", "+"]),
    ("document of each, again", ["find", "@/m.zarr", "-name", ".ndl.yaml", "-exec", "cat", "{}", "+"]),
    ("document of the group", ["cat", "@/m.zarr/.ndl.yaml"]),
    ("document of it, again", ["cat", "@/m.zarr/.ndl.yaml"]),
]


def zarr_v2(folder, count):
    os.mkdir(folder)
    many_arrays(f"{folder}/m.zarr", count, False)


def zarr_v2_consolidated(folder, count):
    os.mkdir(folder)
    many_arrays(f"{folder}/m.zarr", count, True)


def zarr_v3(folder, count):
    os.mkdir(folder)
    many_arrays_v3(f"{folder}/m.zarr", count)


def one_array(folder, count):
    os.mkdir(folder)
    many_chunks(f"{folder}/m.zarr", count)


def main():
    parser = argparse.ArgumentParser(prog="run.sh scale", description=__doc__.partition("\n")[0])
    parser.add_argument("--divide", type=int, default=1, help="by how much there is to be less of everything")
    divide = parser.parse_args().divide
    arrays, chunks = 100_000 // divide, 1_000_000 // divide
    look("{} arrays, Zarr v2", zarr_v2, arrays, ALL_FILES)
    look("{} arrays, Zarr v2, consolidated", zarr_v2_consolidated, arrays, ALL_FILES)
    look("{} arrays, Zarr v3, consolidated", zarr_v3, arrays, ALL_FILES)
    look("a directory of {} stores", many_stores, arrays, [
        ("stat in one of them", ["stat", "-c", "%n", "@/s77.zarr/data.npy"]),
        ("first ls", ["ls", "-f", "@"]),
        ("ls again", ["ls", "-f", "@"]),
        ("find, one level", ["find", "@", "-maxdepth", "1", "-size", "+0"]),
    ])
    look("{} chunk files", one_array, chunks, [
        ("first ls", ["ls", "-f", "@/m.zarr"]),
        ("ls of the array", ["ls", "-l", "@/m.zarr/a"]),
        ("first bytes", ["head", "-c", "1", "@/m.zarr/a/data.raw"]),
        ("all bytes", ["dd", "if=@/m.zarr/a/data.raw", "of=/dev/null", "bs=1M", "status=none"]),
    ])
    look("{} chunks of an HDF5 file", chunks_of_hdf5, chunks, [
        ("first bytes", ["head", "-c", "1", "@/m.h5/a/data.raw"]),
        ("all bytes", ["dd", "if=@/m.h5/a/data.raw", "of=/dev/null", "bs=1M", "status=none"]),
    ])
    look("{} HDF5 groups, each in the one before", groups_in_groups, 1000 // divide, [
        ("find", ["find", "@/m.h5"]),
        ("find again", ["find", "@/m.h5"]),
    ])


if __name__ == "__main__":
    main()
