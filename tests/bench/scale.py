# SPDX-License-Identifier: MIT
"""Called by `run.sh scale`. What looking around costs where there is very much: time and memory by what is asked for."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

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


def timed(*command):
    """Milliseconds, and the lines that it printed."""
    start = time.perf_counter()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    return (time.perf_counter() - start) * 1e3, output.count(b"\n")


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor_ms(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def show(what, taken, lines, mounted, before, busy):
    inodes = mounted.statistics()["inodes"]
    grown = resident(mounted.process.pid) - before
    each = f"{grown / max(inodes, 1):8.0f}" if inodes > 1000 else ""
    print(f"  {what:20}{taken:12.1f} ms {busy:8.0f} ms busy {lines:9} lines {inodes:9.0f} known {grown / 2**20:8.1f} MiB more {each}", flush=True)


def look(title, source, looks):
    print(title)
    start = time.perf_counter()
    with measure.Ndlfs(source) as mounted:
        os.stat(mounted.path)
        before = resident(mounted.process.pid)
        show("mount", (time.perf_counter() - start) * 1e3, 0, mounted, before, processor_ms(mounted.process.pid))
        for what, command in looks:
            busy = processor_ms(mounted.process.pid)
            taken, lines = timed(*(word.replace("@", mounted.path) for word in command))
            show(what, taken, lines, mounted, before, processor_ms(mounted.process.pid) - busy)


def main():
    parser = argparse.ArgumentParser(prog="run.sh scale", description=__doc__.partition("\n")[0])
    parser.add_argument("--divide", type=int, default=1, help="by how much there is to be less of everything")
    divide = parser.parse_args().divide
    arrays, stores, chunks = 100_000 // divide, 100_000 // divide, 1_000_000 // divide
    with tempfile.TemporaryDirectory(prefix="ndlfs-scale-") as folder:
        print("making them", file=sys.stderr)
        os.mkdir(f"{folder}/plain")
        os.mkdir(f"{folder}/consolidated")
        os.mkdir(f"{folder}/v3")
        many_arrays(f"{folder}/plain/m.zarr", arrays, False)
        many_arrays(f"{folder}/consolidated/m.zarr", arrays, True)
        many_arrays_v3(f"{folder}/v3/m.zarr", arrays)
        many_stores(f"{folder}/stores", stores)
        os.mkdir(f"{folder}/chunks")
        many_chunks(f"{folder}/chunks/m.zarr", chunks)
        for kind, what in {"plain": "Zarr v2", "consolidated": "Zarr v2, consolidated metadata",
                           "v3": "Zarr v3, consolidated metadata"}.items():
            look(f"a store with {arrays} arrays, {what}", f"{folder}/{kind}", [
                ("stat of one array", ["stat", "-c", "%n", "@/m.zarr/a77/data.npy"]),
                ("first ls", ["ls", "-f", "@/m.zarr"]),
                ("again", ["ls", "-f", "@/m.zarr"]),
                ("find, one level", ["find", "@/m.zarr", "-maxdepth", "1", "-size", "+0"]),
                ("find, all files", ["find", "@/m.zarr", "-name", "data.npy"]),
                ("whole .ndl.yaml", ["wc", "-l", "@/m.zarr/.ndl.yaml"]),
            ])
        look(f"a directory with {stores} stores", f"{folder}/stores", [
            ("stat in one store", ["stat", "-c", "%n", "@/s77.zarr/data.npy"]),
            ("first ls", ["ls", "-f", "@"]),
            ("again", ["ls", "-f", "@"]),
            ("find, one level", ["find", "@", "-maxdepth", "1", "-size", "+0"]),
        ])
        look(f"an array with {chunks} chunk files", f"{folder}/chunks", [
            ("first ls", ["ls", "-f", "@/m.zarr"]),
            ("ls of the array", ["ls", "-l", "@/m.zarr/a"]),
            ("first bytes", ["head", "-c", "1", "@/m.zarr/a/data.raw"]),
            ("all bytes", ["dd", "if=@/m.zarr/a/data.raw", "of=/dev/null", "bs=1M", "status=none"]),
        ])


if __name__ == "__main__":
    main()
