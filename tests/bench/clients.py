# SPDX-License-Identifier: MIT
"""Called by run.sh: one array in a bucket behind a slow link (slow_bucket.py), read into memory in several ways."""
import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile

import harness
import link
import measure

# A reader prints the seconds that it takes, without those of starting Python and opening the array.
FILE = """
import numpy, sys, time
start = time.perf_counter()
values = numpy.fromfile(sys.argv[1] + "/store.zarr/data/data.raw", "<i4")
"""
ZARR = """
import sys, time, zarr
array = zarr.open_consolidated(sys.argv[1] + "/store.zarr", mode="r")["data"]
start = time.perf_counter()
values = array[:]
"""
GDAL = """
import sys, time
from osgeo import gdal
array = gdal.OpenEx(sys.argv[1] + "/store.zarr", gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("data")
start = time.perf_counter()
values = array.ReadAsArray()
"""
END = """
seconds = time.perf_counter() - start
import hashlib
print(seconds, hashlib.sha1(values.tobytes()).hexdigest())
"""
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "no_proxy": "*"}


class Foreign:
    """A mount of the bucket by another program. `process` is its daemon."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="ndlfs-bench-")
        command = [self.path if part is None else part for part in self.command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_until(lambda: harness.mount_type(self.path) or self.process.poll() is not None, "mounting")
        return self

    def __exit__(self, *_):
        harness.unmount(self.path)
        self.process.wait(harness.DEADLINE)
        os.rmdir(self.path)


def rclone(host):
    return Foreign("rclone", "mount", f":s3,provider=Other,env_auth=true,region=us-east-1,endpoint='http://{host}':bucket",
                   None, "--read-only", "--config", "/dev/null")


def s3fs(host):
    return Foreign("s3fs", "bucket", None, "-f", "-o", f"url=http://{host},use_path_request_style,public_bucket=1,ro")


def ways(host):
    """Of each way to read: the mount that it needs, or None; the program; what that reads."""
    bucket = "s3://bucket"
    return {
        "ndlfs, data.raw": (lambda: measure.Ndlfs(bucket), FILE, None),
        "rclone mount, zarr-python": (lambda: rclone(host), ZARR, None),
        "s3fs mount, zarr-python": (lambda: s3fs(host), ZARR, None),
        "GDAL /vsis3": (None, GDAL, "/vsis3/bucket"),
        "zarr-python with fsspec's s3fs": (None, ZARR, bucket),
        "zarr-python with fsspec, no S3": (None, ZARR, f"http://{host}/bucket"),
    }


def read(way):
    """Seconds, seconds of processor of the reader and its daemon, and the checksum of what was read."""
    mount, program, target = way
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(mount()) if mount else None
        before = measure.processor_seconds(daemon.process.pid) if daemon else 0
        start = os.times()
        result = subprocess.run([measure.PYTHON, "-c", program + END, daemon.path if daemon else target],
                                capture_output=True, text=True)
        end = os.times()
        if result.returncode != 0:
            raise RuntimeError(result.stderr.strip().splitlines()[-1])
        seconds, checksum = result.stdout.split()
        processor = end.children_user - start.children_user + end.children_system - start.children_system
        if daemon:
            processor += measure.processor_seconds(daemon.process.pid) - before
        return float(seconds), processor, checksum


def main():
    parser = argparse.ArgumentParser(prog="run.sh clients")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=64, metavar="MB/S", help="of each connection")
    parser.add_argument("--total", type=float, default=1e6, metavar="MB/S", help="of all connections together")
    parser.add_argument("--planes", type=int, default=256, help="of 1 MiB each")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ndlfs-bench-")
    checksums, figures, problems = set(), {}, {}
    try:
        size, _ = link.make(folder, arguments.planes)
        with link.slow_link(folder, arguments.rate, arguments.total, script="slow_bucket.py") as (url, _):
            host = url.removeprefix("http://").rstrip("/")
            os.environ.pop("AWS_CA_BUNDLE", None)  # rclone 1.60 ends because of it
            os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://{host}", AWS_S3_ENDPOINT=host, AWS_HTTPS="NO",
                              AWS_VIRTUAL_HOSTING="FALSE")
            for _ in range(arguments.rounds):
                for name, way in ways(host).items():
                    try:
                        link.taken(url)
                        seconds, processor, checksum = read(way)
                    except (RuntimeError, FileNotFoundError) as error:
                        problems[name] = error
                        continue
                    checksums.add(checksum)
                    figures.setdefault(name, []).append((seconds, processor))
                    print(f"{name}: {seconds:.2f} s, {link.taken(url)}", flush=True)
    finally:
        shutil.rmtree(folder)
    if len(checksums) != 1:
        raise SystemExit("they have read different values")
    print(f"\n{size >> 20} MiB | seconds | MiB/s | processor seconds, startup included")
    for name, rounds in figures.items():
        seconds, processor = (statistics.median(values) for values in zip(*rounds))
        print(f"{name} | {seconds:.2f} | {(size >> 20) / seconds:.0f} | {processor:.2f}")
    for name, error in problems.items():
        print(f"{name}: not measured: {error}")


if __name__ == "__main__":
    main()
