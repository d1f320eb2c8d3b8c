# SPDX-License-Identifier: MIT
"""Mounts, and seconds that reading through them takes."""
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness

PYTHON = "/usr/bin/python3"
TOOLS = os.environ["NDLFS_BENCH_TOOLS"]

IN_PROCESS = """
import sys, time
path, planes = sys.argv[1], int(sys.argv[2])
if path.endswith(".zarr"):
    import zarr
    array = zarr.open_array(path, mode="r")
else:
    import h5py
    array = h5py.File(path, "r")["data"]
start = time.perf_counter()
if planes == 0:
    values = array[:]
else:
    for plane in range(planes):
        values = array[plane]
print(time.perf_counter() - start)
"""


def processor_seconds(pid):
    """Of all threads of a process, by its clock: see clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


class Cost:
    """What the daemons of some mounts have taken together, from when they answered to their end."""

    def __init__(self):
        self.processor = 0  # seconds


class Ndlfs(harness.Mount):
    """A fresh mount: nothing in its page cache, nothing decoded. What its daemon takes is added to `cost`."""

    def __init__(self, folder, *options, binary=None, cost=None, prefix=()):
        super().__init__(folder, *options, prefix=prefix)
        self.cost = cost
        if binary:
            self.command[-3] = binary

    def __enter__(self):
        super().__enter__()
        self.begin = processor_seconds(self.process.pid)
        return self

    def __exit__(self, kind, *more):
        if self.cost and kind is None:
            self.cost.processor += processor_seconds(self.process.pid) - self.begin
        return super().__exit__(kind, *more)

    def statistics(self):
        with open(self.join(".ndlfs", "stats.json"), encoding="utf-8") as file:
            return json.load(file)

    def peak_memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) * 1024


class Reference:
    """A mount that shows a file as `data`; see reference.cc. `window` is the kernel's read-ahead, in KiB."""

    def __init__(self, mode, path, window):
        self.mode, self.source, self.window = mode, path, window

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="ndlfs-bench-")
        self.process = subprocess.Popen([f"{TOOLS}/bench_reference", self.mode, self.source, self.path])
        harness.wait_until(lambda: harness.mount_type(self.path) or self.process.poll() is not None, "mounting")
        set_read_ahead(self.path, self.window)
        self.data = f"{self.path}/data"
        os.stat(self.data)
        return self

    def __exit__(self, *_):
        harness.unmount(self.path)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            harness.unmount(self.path, lazy=True)
        os.rmdir(self.path)


def can_count_calls():
    return shutil.which("strace") is not None


def total_calls(table):
    """The system calls that `strace -c` has counted."""
    with open(table, encoding="ascii") as file:
        return next((int(line.split()[3]) for line in file if line.endswith(" total\n")), 0)


def _read_ahead_file(mountpoint):
    device = os.stat(mountpoint).st_dev
    return f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"


def read_ahead(mountpoint):
    with open(_read_ahead_file(mountpoint), encoding="ascii") as file:
        return int(file.read())


def set_read_ahead(mountpoint, window):
    if read_ahead(mountpoint) != window:
        with open(_read_ahead_file(mountpoint), "w", encoding="ascii") as file:
            file.write(str(window))


def seconds(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def dd(path, block="1M"):
    return seconds("dd", f"if={path}", "of=/dev/null", f"bs={block}", "status=none")


def dd_at_once(paths):
    start = time.perf_counter()
    running = [subprocess.Popen(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"]) for path in paths]
    if any([process.wait() for process in running]):
        raise RuntimeError("dd failed")
    return time.perf_counter() - start


def _read_at(path, size, offsets):
    file = os.open(path, os.O_RDONLY)
    for offset in offsets:
        if len(os.pread(file, size, offset)) != size:
            raise RuntimeError(f"{path}: a short read at {offset}")
    os.close(file)


def shuffled(path, size, offsets=None, readers=1):
    """Seconds to read `size` bytes at each of `offsets`, or all of the file, in no order, by readers at once."""
    offsets = list(offsets or range(0, os.stat(path).st_size, size))
    os.stat(path)  # opening the store is not counted
    random.Random(1).shuffle(offsets)
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        running = [pool.submit(_read_at, path, size, offsets[part::readers]) for part in range(readers)]
        for reader in running:
            reader.result()
    return time.perf_counter() - start


def opened(path, times):
    """Seconds to open a file, read its first 4 KiB and close it, so many times."""
    start = time.perf_counter()
    for _ in range(times):
        file = os.open(path, os.O_RDONLY)
        os.pread(file, 4096, 0)
        os.close(file)
    return time.perf_counter() - start


def in_process(path, planes=0):
    """What the usual library takes in a Python process, opening not counted: all at once, or some planes in turn."""
    result = subprocess.run([PYTHON, "-c", IN_PROCESS, path, str(planes)], check=True, capture_output=True, text=True)
    return float(result.stdout)


def latency(path, threads, reads, seed):
    """Microseconds of reads of 4 KiB: median, 99th percentile, longest."""
    result = subprocess.run([f"{TOOLS}/bench_latency", path, str(threads), str(reads), str(seed)], check=True,
                            capture_output=True, text=True)
    return [float(number) for number in result.stdout.split()]
