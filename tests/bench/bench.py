# SPDX-License-Identifier: MIT
"""Called by run.sh; see README.md."""
import argparse
import contextlib
import fnmatch
import math
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import data
import measure
import zarr

MIB = 1 << 20
SMALL_CACHE = 64 * MIB
OPENS = 5000
LATENCY_READS = 2000  # a thread


class Row:
    """One line of the table: `ours` and `other` are figures of one round each, compared as `compare` says.

    faster   both are seconds: other / ours
    rate     both are bytes a second: ours / other
    """

    def __init__(self, name, ours, other, against, required, compare="faster", size=None):
        self.name, self.ours, self.other, self.against = name, ours, other, against
        self.required, self.compare, self.size = required, compare, size
        self.figures = {"ours": [], "other": [], "before": []}
        self.processor = {"ours": [], "before": []}  # seconds of the daemons
        self.calls = {}

    def ratio(self, which="other"):
        ours, other = (statistics.median(self.figures[key]) for key in ("ours", which))
        return ours / other if self.compare == "rate" else other / ours

    def rate(self, which):
        figure = statistics.median(self.figures[which])
        return (figure if self.compare == "rate" else self.size / figure) / 1e9


class Bench:
    """Measures one folder of data with one ndlfs, or with two in turn."""

    def __init__(self, folder, sizes, before):
        self.folder, self.sizes, self.before = folder, sizes, before
        self.binary = None  # of the round: None is the one under test
        self.cost = measure.Cost()
        self.prefix = ()
        self.latencies = {}
        self.first_bytes = []
        self.memory = {}
        with self.mount() as mounted:
            with open(mounted.join(*self.view("plain.npy")), "rb") as file:
                file.read(1)  # it is raised when the first file is opened
            self.window = measure.read_ahead(mounted.path)

    def mount(self, *options):
        return measure.Ndlfs(self.folder, *options, binary=self.binary, cost=self.cost, prefix=self.prefix)

    def measure(self, row, which):
        """Measures one of the two executables once."""
        self.binary = self.before if which == "before" else None
        self.cost = measure.Cost()
        row.figures[which].append(row.ours())
        row.processor[which].append(self.cost.processor)
        self.binary = None

    def count_calls(self, row, which):
        """In a pass of its own, as counting them takes time."""
        self.binary = self.before if which == "before" else None
        with tempfile.NamedTemporaryFile(prefix="ndlfs-bench-") as table:
            self.prefix = ("strace", "-f", "-c", "-o", table.name)
            row.ours()
            row.calls[which] = measure.total_calls(table.name)
        self.prefix = ()
        self.binary = None

    def cold(self, store, block="1M"):
        with self.mount() as mounted:
            return measure.dd(mounted.join(*self.view(store)), block)

    @staticmethod
    def view(store):
        """Where a store's array has its bytes."""
        single = store.endswith((".zarr", ".npy"))
        return (store, "data.raw") if single else (store, "data", "data.raw")

    def warm(self, store):
        with self.mount() as mounted:
            view = mounted.join(*self.view(store))
            measure.dd(view)
            return measure.dd(view)

    def reference(self, mode):
        with measure.Reference(mode, f"{self.folder}/plain.bin", self.window) as mounted:
            return measure.dd(mounted.data)

    def in_process(self, store, planes=0):
        return measure.in_process(f"{self.folder}/{store}", planes)

    def planes_rate(self):
        """Bytes a second, one plane a read, in order."""
        plane = self.sizes.bytes // self.sizes.shape[0]
        return self.sizes.bytes / self.cold("zstd.zarr", str(plane))

    def planes_rate_in_process(self):
        planes = 2 * data.DEPTH
        return self.sizes.bytes / self.sizes.shape[0] * planes / self.in_process("zstd.zarr", planes)

    def readers(self, at_once, *options):
        parts = [f"part{number}.zarr" for number in range(data.READERS)]
        with self.mount(*options) as mounted:
            self.touch_memory(mounted)
            views = [mounted.join(part, "data.raw") for part in parts]
            return measure.dd_at_once(views) if at_once else sum(measure.dd(view) for view in views)

    def touch_memory(self, mounted):
        """Fills the cache with chunks that nobody has gone past. Readers side by side need more memory at once than one after
        the other, and what a virtual machine takes for memory that is used for the first time differs from run to run."""
        plane = self.sizes.bytes // self.sizes.shape[0]
        row = plane // self.sizes.shape[1]
        with open(mounted.join(*self.view("zstd.zarr")), "rb", buffering=0) as file:
            for band in reversed(range(0, self.sizes.shape[0], self.sizes.chunks[0])):
                for first_row in reversed(range(0, self.sizes.shape[1], self.sizes.chunks[1])):
                    file.seek(band * plane + first_row * row)
                    file.read(row)

    def readers_of_one(self, number):
        """All chunks of an HDF5 file in no order, each of `number` readers a part of them."""
        rows, depth = self.sizes.chunks[1], self.sizes.chunks[0]
        size = rows * self.sizes.shape[2] * 4
        places = range(0, self.sizes.bytes, self.sizes.bytes // self.sizes.shape[0] * depth)
        per_band = range(0, self.sizes.shape[1] // rows * size, size)
        offsets = [band + row for band in places for row in per_band]
        # No chunk is needed twice: memory that is touched for the first time would be most of the noise.
        with self.mount("--cache-size", "256MiB") as mounted:
            return measure.shuffled(mounted.join(*self.view("gzip.h5")), size, offsets, number)

    def opening(self, *options):
        """An array opened, read a little, and closed again and again."""
        with self.mount(*options) as mounted:
            return measure.opened(mounted.join("rows.zarr", "data.raw"), OPENS)

    def rows(self):
        """The table of figures that are compared with something else."""
        size = self.sizes.bytes
        z, h5 = "zarr-python z[:]", "h5py d[:]"

        def row(name, store, other, against, required):
            return Row(name, lambda: self.cold(store), other, against, required, size=size)

        def passed_through():
            return min(self.reference("copy"), self.reference("splice"))

        rows = [row(f"cold, {label}", f"{name}.zarr", lambda name=name: self.in_process(f"{name}.zarr"), z, 1.5)
                for name, label in (("zstd", "zstd-3"), ("gzip", "gzip-5"))]
        rows += [row(f"cold, {label}", f"{name}.zarr", lambda: self.reference("memory"), "daemon, from memory", 0.85)
                 for name, label in (("lz4", "blosc-lz4"), ("none", "uncompressed chunks"))]
        rows.append(row("cold, HDF5 gzip+shuffle", "gzip.h5", lambda: self.in_process("gzip.h5"), h5, 1.8))
        rows += [row(f"cold, {label}", store, passed_through, "pass-through daemon", 0.95)
                 for label, store in (("NPY", "plain.npy"), ("netCDF classic", "classic.nc"),
                                      ("HDF5 contiguous", "contiguous.h5"))]
        return rows + [
            Row("second read, zstd-3", lambda: self.warm("zstd.zarr"),
                lambda: measure.dd(f"{self.folder}/plain.bin"), "dd of a plain file", 0.9, size=size),
            Row("plane after plane, zstd-3", self.planes_rate, lambda: size / self.cold("zstd.zarr"),
                "sequential read", 0.67, "rate", size),
            Row("plane after plane, zstd-3", self.planes_rate, self.planes_rate_in_process,
                "zarr-python z[i]", 5, "rate", size),
            Row(f"{data.READERS} readers of {data.READERS} arrays", lambda: self.readers(True),
                lambda: self.readers(False), "one after the other", 1.0, size=size),
            Row(f"{data.READERS} readers, cache of 1 GiB", lambda: self.readers(True, "--cache-size", "1GiB"),
                lambda: self.readers(False, "--cache-size", "1GiB"), "one after the other", 1.0, size=size),
            Row("open, 4 KiB, close; --immutable", lambda: self.opening("--immutable"), self.opening, "default", 0,
                size=OPENS * 4096),
            Row("open, 4 KiB, close; --immutable", lambda: self.opening("--immutable"),
                lambda: self.opening("--revalidate", "0"), "--revalidate 0", 0, size=OPENS * 4096),
            Row("reference, notify_store", lambda: self.reference("push"), lambda: self.reference("memory"),
                "reference, replies", 0, size=size),
            Row(f"{data.READERS} readers of one HDF5", lambda: self.readers_of_one(data.READERS),
                lambda: self.readers_of_one(1), "one reader, no order", 1.0, size=size),
        ]

    def measure_latency(self):
        """4 KiB at random, two threads: on decoded chunks, and on none; what is decoded for a read."""
        for store, chunks in (("lz4.zarr", self.sizes.chunks), ("rows.zarr", self.sizes.row_chunks)):
            name = "blosc-lz4 " + "x".join(str(extent) for extent in chunks)
            for cache, label in ((SMALL_CACHE, "cache 64 MiB"), (2 * self.sizes.bytes, "cache for all")):
                self.note_cold_latency(f"{name}, {label}", store, chunks, cache)
                if self.before:
                    self.binary = self.before
                    self.note_cold_latency(f"{name}, {label}, before", store, chunks, cache)
                    self.binary = None
        with self.mount("--cache-size", f"{2 * self.sizes.bytes}") as mounted:
            # A reader that goes forward leaves no chunks behind; this one decodes all.
            measure.latency(mounted.join("rows.zarr", "data.raw"), 2, 8 * LATENCY_READS, 4)
            # data.npy is another file: its pages are not there, the chunks are.
            warm = measure.latency(mounted.join("rows.zarr", "data.npy"), 2, LATENCY_READS, 2)
            self.latencies.setdefault("all chunks decoded", []).append([*warm, 0])

    def note_cold_latency(self, name, store, chunks, cache):
        """Nothing is decoded at the beginning; the last figure is KiB decoded a read."""
        with self.mount("--cache-size", str(cache)) as mounted:
            taken = measure.latency(mounted.join(store, "data.raw"), 2, LATENCY_READS, 1)
            seen = mounted.statistics()
        whole = seen["cache_misses_total"] * 4 * math.prod(chunks)
        decoded = seen.get("cache_loaded_bytes_total", whole)
        self.latencies.setdefault(name, []).append([*taken, decoded / 1024 / (2 * LATENCY_READS)])

    def measure_first_byte(self):
        with self.mount() as mounted:
            view = mounted.join("rows.zarr", "data.raw")
            taken = measure.seconds("dd", f"if={view}", "of=/dev/null", "bs=1", "count=1", "status=none")
            self.first_bytes.append((taken * 1e3, mounted.statistics()["cache_misses_total"]))

    def measure_memory(self):
        """With a small cache: the largest size of the process, chunks decoded per chunk, bytes a second."""
        for store in ("zstd.zarr", "gzip.zarr", "lz4.zarr", "none.zarr", "gzip.h5", "plain.npy", "classic.nc",
                      "contiguous.h5", "rows.zarr", "deep.zarr", "cubes.zarr"):
            with self.mount("--cache-size", str(SMALL_CACHE)) as mounted:
                taken = measure.dd(mounted.join(*self.view(store)))
                self.note_memory(store, mounted, taken, chunks_of(f"{self.folder}/{store}"), self.sizes.bytes)
        with self.mount("--cache-size", str(SMALL_CACHE)) as mounted:
            parts = [f"part{number}.zarr" for number in range(data.READERS)]
            taken = measure.dd_at_once([mounted.join(part, "data.raw") for part in parts])
            chunks = sum(chunks_of(f"{self.folder}/{part}") for part in parts)
            self.note_memory(f"{data.READERS} readers", mounted, taken, chunks, self.sizes.bytes)
        with self.mount("--cache-size", str(SMALL_CACHE)) as mounted:
            measure.latency(mounted.join("rows.zarr", "data.raw"), 2, 1000, 3)
            self.note_memory("4 KiB at random", mounted, None, None, None)

    def note_memory(self, name, mounted, taken, chunks, size):
        decoded = mounted.statistics()["cache_misses_total"]
        self.memory.setdefault(name, []).append((mounted.peak_memory() / MIB, decoded / chunks if chunks else None,
                                                 size / taken / 1e9 if taken else None))


def chunks_of(path):
    """How many chunks the array of a store has, or None where nothing is decoded."""
    return zarr.open_array(path, mode="r").nchunks if path.endswith(".zarr") else None


def note(text):
    print(text, file=sys.stderr, flush=True)


def run_rounds(bench, rows, rounds, extras):
    for number in range(rounds):
        note(f"round {number + 1} of {rounds}")
        for row in rows:
            bench.measure(row, "ours")
            row.figures["other"].append(row.other())
            if bench.before:
                bench.measure(row, "before")
        for extra in extras:
            extra()


def show_cost(rows, with_before):
    """Of the reference daemons there is nothing to show."""
    executables = ["ours", "before"] if with_before else ["ours"]
    rows = [row for row in rows if row.processor["ours"] and max(row.processor["ours"]) > 0]
    if not rows:
        return
    print(f"\n{'the daemon':32}" + "".join(f"{text:>16}" for which in executables
                                           for text in (f"{which}: seconds", "a GiB", "calls")))
    for row in rows:
        line = f"{row.name:32}"
        for which in executables:
            seconds = min(row.processor[which])
            line += f"{seconds:16.2f}{seconds / row.size * (1 << 30):16.2f}{row.calls.get(which, '-'):>16}"
        print(line)


def show_rows(rows, with_before):
    print(f"\n{'':32}{'GB/s':>8}  {'beside':22}{'GB/s':>8}{'ratio':>8}{'at least':>10}"
          + (f"{'before':>10}{'ratio':>8}" if with_before else ""))
    for row in rows:
        ratio = row.ratio()
        mark = "" if ratio >= row.required else "  <"
        print(f"{row.name:32}{row.rate('ours'):8.2f}  {row.against:22}{row.rate('other'):8.2f}{ratio:8.2f}"
              f"{row.required:10.2f}" + (f"{row.rate('before'):10.2f}{row.ratio('before'):8.2f}" if with_before else "")
              + mark)


def show_extras(bench):
    if bench.latencies:
        print(f"\n{'4 KiB at random, 2 threads':48}{'median us':>12}{'p99 us':>10}{'longest us':>12}{'decoded KiB':>13}")
        for name, rounds in bench.latencies.items():
            figures = [statistics.median(column) for column in zip(*rounds)]
            print(f"{name:48}" + "".join(f"{figure:{width}.1f}" for figure, width in zip(figures, (12, 10, 12, 13))))
    if bench.first_bytes:
        taken, chunks = (statistics.median(column) for column in zip(*bench.first_bytes))
        print(f"\nfirst byte after the mount: {taken:.1f} ms, {chunks:.0f} chunks decoded or begun ahead")
    if bench.memory:
        print(f"\n{'with --cache-size 64MiB':24}{'peak MiB':>10}{'decoded/chunk':>15}{'GB/s':>8}")
        for name, rounds in bench.memory.items():
            peak = max(figures[0] for figures in rounds)
            share, rate = (statistics.median(column) if column[0] is not None else None
                           for column in list(zip(*rounds))[1:])
            print(f"{name:24}{peak:10.0f}{'' if share is None else f'{share:.2f}':>15}"
                  f"{'' if rate is None else f'{rate:.2f}':>8}")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description="Reading through the mount, beside the alternatives.")
    parser.add_argument("--quick", action="store_true", help="64 MiB an array instead of 1 GiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="rows whose name matches, and nothing else")
    parser.add_argument("--data", metavar="DIR", help="make the data there, or use them, and keep them")
    parser.add_argument("--before", metavar="NDLFS", help="another ndlfs, measured in turn with this one")
    return parser.parse_args()


def prepare(folder, sizes):
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/complete") and shutil.disk_usage(folder).free < sizes.needed:
        sys.exit(f"run.sh: {sizes.needed // MIB} MiB are needed in {folder}")
    note(f"making arrays of {sizes.bytes // MIB} MiB")
    data.make(folder, sizes)
    # Into the page cache.
    subprocess.run(f"find '{folder}' -type f -exec cat {{}} + >/dev/null", shell=True, check=True)


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes, whatever ends the run
    sizes = data.Sizes(arguments.quick)
    with contextlib.ExitStack() as stack:
        folder = arguments.data or tempfile.mkdtemp(prefix="ndlfs-bench-")
        if not arguments.data:
            stack.callback(shutil.rmtree, folder)
        prepare(folder, sizes)
        bench = Bench(folder, sizes, arguments.before)
        rows = [row for row in bench.rows() if fnmatch.fnmatch(row.name, arguments.only)]
        extras = {"latency": bench.measure_latency, "first byte": bench.measure_first_byte,
                  "memory": bench.measure_memory}
        chosen = [extra for name, extra in extras.items() if fnmatch.fnmatch(name, arguments.only)]
        run_rounds(bench, rows, arguments.rounds, chosen)
        if measure.can_count_calls():
            note("counting system calls")
            for row in rows:
                for which in ["ours", "before"] if arguments.before else ["ours"]:
                    bench.count_calls(row, which)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, zarr-python {zarr.__version__}; "
          f"float32 {sizes.shape}, chunks {sizes.chunks}, medians of {arguments.rounds} rounds, "
          f"read-ahead {bench.window} KiB")
    if rows:
        show_rows(rows, arguments.before is not None)
        show_cost(rows, arguments.before is not None)
    show_extras(bench)


if __name__ == "__main__":
    main()
