# SPDX-License-Identifier: MIT
"""Called by run.sh: a sequential read of an array behind a link whose blocks an earlier mount has kept on disk, and a local one.
A bucket lists the versions of its objects; a web server is asked for that of each."""
import argparse
import itertools
import os
import shutil
import statistics
import tempfile

import clients
import link
import measure
import numcodecs
import numpy as np
import zarr

CHUNKS = (4, 512, 512)  # 4 MiB
COMPRESSORS = {"uncompressed": None, "zstd": numcodecs.Zstd(3)}


def make(folder, name, planes):
    """As link.make(), with any compressor."""
    array = zarr.open_group(folder + "/store.zarr", mode="a").create_dataset(
        name, shape=(planes, 512, 512), chunks=CHUNKS, dtype="<i4", compressor=COMPRESSORS[name])
    random = np.random.default_rng(1)
    for plane in range(0, planes, CHUNKS[0]):
        array[plane:plane + CHUNKS[0]] = random.integers(0, 1 << 24, CHUNKS, dtype="<i4")
    for entry in os.scandir(f"{folder}/store.zarr/{name}"):
        os.utime(entry.path, (entry.stat().st_mtime - 3600,) * 2)  # files that are young are not kept


def read(source, name, binary, *options):
    """Seconds of a fresh mount, and of its daemon's processor time."""
    with measure.Ndlfs(source, *options, binary=binary) as mounted:
        view = mounted.join("store.zarr", name, "data.raw")
        os.stat(view)
        before = measure.processor_seconds(mounted.process.pid)
        time = measure.dd(view)
        return time, measure.processor_seconds(mounted.process.pid) - before


def main():
    parser = argparse.ArgumentParser(prog="run.sh warm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", metavar="NDLFS", help="another ndlfs, measured in turn with this one")
    parser.add_argument("--rate", type=float, default=64, metavar="MB/S", help="of each connection")
    parser.add_argument("--planes", type=int, default=1024, help="of 1 MiB each")
    arguments = parser.parse_args()
    os.environ["no_proxy"] = "*"
    folder = tempfile.mkdtemp(prefix="ndlfs-bench-")
    try:
        for name in COMPRESSORS:
            make(folder, name, arguments.planes)
        zarr.consolidate_metadata(folder + "/store.zarr")
        with link.slow_link(folder, arguments.rate, script="slow_bucket.py") as (url, _):
            os.environ.update(clients.KEYS, AWS_ENDPOINT_URL=url.rstrip("/"))
            kept = ["--block-cache", folder + "/blocks"]
            servers = {"bucket": "s3://bucket/", "web server": url}
            binaries = {"ndlfs": None} | ({"before": arguments.before} if arguments.before else {})
            for name in COMPRESSORS:
                for source in servers.values():
                    for binary in binaries.values():
                        read(source, name, binary, *kept)
                figures = {}
                for _ in range(arguments.rounds):
                    for which, binary in binaries.items():
                        for kind, source in {"local": folder, **servers}.items():
                            options = [] if kind == "local" else kept
                            figures.setdefault((which, kind), []).append(read(source, name, binary, *options))
                for which, kind in itertools.product(binaries, servers):
                    (wall, processor), (kept_wall, kept_processor) = (
                        [statistics.median(each) for each in zip(*figures[which, of])] for of in ("local", kind))
                    print(f"{name}, {which}, {kind}: local {wall:.2f} s (processor {processor:.2f} s), "
                          f"kept {kept_wall:.2f} s ({kept_processor:.2f} s); of local's speed {wall / kept_wall:.2f}, "
                          f"of its processor time {kept_processor / processor:.2f}", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
