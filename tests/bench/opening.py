# SPDX-License-Identifier: MIT
"""Called by `run.sh opening`. What the first read of data.nc and data.h5 takes where a store has very many arrays: seconds from open()
to the first bytes in a fresh mount, processor time and memory of the daemon and of its helpers."""
import argparse
import json
import os
import re
import tempfile
import time

import h5py
import measure
import netCDF4
import numpy as np

SHAPE = [4, 5]
DIMENSIONS = ["y", "x"]


def attributes(number):
    return {"long_name": f"variable number {number}", "units": "m s-1", "valid_range": [0.0, 100.0], "scale": 2}


def write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def zarr_v2(folder, count, consolidated=False, bare=False):
    array = {"zarr_format": 2, "shape": SHAPE, "chunks": SHAPE, "dtype": "<f4", "compressor": None, "fill_value": 0, "order": "C",
             "filters": None}
    os.mkdir(folder)
    write(f"{folder}/.zgroup", {"zarr_format": 2})
    metadata = {".zgroup": {"zarr_format": 2}}
    for number in range(count):
        os.mkdir(f"{folder}/a{number}")
        documents = {".zarray": array}
        if not bare:
            documents[".zattrs"] = attributes(number) | {"_ARRAY_DIMENSIONS": DIMENSIONS}
        for name, content in documents.items():
            write(f"{folder}/a{number}/{name}", content)
            metadata[f"a{number}/{name}"] = content
    if consolidated:
        write(f"{folder}/.zmetadata", {"zarr_consolidated_format": 1, "metadata": metadata})


def zarr_v3(folder, count):
    array = {"zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "float32", "fill_value": 0,
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": SHAPE}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
             "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "dimension_names": DIMENSIONS}
    os.mkdir(folder)
    write(f"{folder}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    for number in range(count):
        os.mkdir(f"{folder}/a{number}")
        write(f"{folder}/a{number}/zarr.json", array | {"attributes": attributes(number)})


def n5(folder, count):
    array = {"dimensions": SHAPE[::-1], "blockSize": SHAPE[::-1], "dataType": "float32", "compression": {"type": "raw"}}
    os.mkdir(folder)
    write(f"{folder}/attributes.json", {"n5": "2.5.0"})
    for number in range(count):
        os.mkdir(f"{folder}/a{number}")
        write(f"{folder}/a{number}/attributes.json", array | attributes(number))


def netcdf4(path, count):
    with netCDF4.Dataset(path, "w") as file:
        for name, length in zip(DIMENSIONS, SHAPE):
            file.createDimension(name, length)
            file.createVariable(name, "f8", (name,))[:] = np.arange(length)
        for number in range(count):
            file.createVariable(f"a{number}", "f4", DIMENSIONS).setncatts(attributes(number))


def hdf5(path, count):
    with h5py.File(path, "w") as file:
        for number in range(count):
            file.create_dataset(f"a{number}", data=np.zeros(SHAPE, "f4")).attrs.update(attributes(number))


STORES = {
    "v2.zarr": zarr_v2,
    "consolidated.zarr": lambda folder, count: zarr_v2(folder, count, consolidated=True),
    "bare.zarr": lambda folder, count: zarr_v2(folder, count, bare=True),
    "v3.zarr": zarr_v3,
    "a.n5": n5,
    "netcdf4.nc": netcdf4,
    "hdf5.h5": hdf5,
}


def helpers(pid):
    """Any thread may have started one."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found


def peak(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) * 1024


def first_read(folder, store, view, binary):
    """Seconds of wall, of the daemon, of its helpers; peaks of memory."""
    with measure.Ndlfs(folder, binary=binary) as mounted:
        os.stat(mounted.path)
        pid = mounted.process.pid
        before = measure.processor_seconds(pid)
        start = time.perf_counter()
        with open(mounted.join(store, view), "rb") as file:
            file.read(65536)
        wall = time.perf_counter() - start
        daemon = measure.processor_seconds(pid) - before
        others = helpers(pid)
        return wall, daemon, sum(map(measure.processor_seconds, others)), peak(pid), max(map(peak, others), default=0)


def main():
    parser = argparse.ArgumentParser(prog="run.sh opening", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arrays", type=int, default=10_000)
    parser.add_argument("--only", choices=STORES)
    parser.add_argument("--before", help="another executable, measured in turn with this one")
    arguments = parser.parse_args()
    binaries = {"before": arguments.before} if arguments.before else {}
    binaries["now"] = None
    print(f"{arguments.arrays} arrays, best of {arguments.rounds} rounds\n")
    print("| store | view | | s | s of the daemon | s of helpers | peak, MB | of a helper, MB |\n|---|---|---|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else STORES:
        with tempfile.TemporaryDirectory(prefix="ndlfs-opening-") as folder:
            STORES[name](f"{folder}/{name}", arguments.arrays)
            for view in "data.nc", "data.h5":
                taken = {which: [] for which in binaries}
                for _ in range(arguments.rounds):
                    for which, binary in binaries.items():
                        taken[which].append(first_read(folder, name, view, binary))
                for which, rounds in taken.items():
                    wall, daemon, others, memory, helper_memory = (min(figures) for figures in zip(*rounds))
                    print(f"| {name} | {view} | {which} | {wall:.2f} | {daemon:.2f} | {others:.2f} | {memory / 1e6:.0f} | "
                          f"{helper_memory / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
