# SPDX-License-Identifier: MIT
"""Sixteen readers, a writer and a mutator at one mount, for as long as wanted: soak.py [SECONDS] (1800).

Readers read sound stores at random places and compare every byte; others open arrays that the writer rewrites all the
time, and see whole chunks or an honest error. The mutator puts damaged copies of stores beside them, which are walked. At
the end memory and descriptors of the daemon are compared with those at half time, when the kernel has forgotten the names
as it does every five minutes: what a mount takes must level off."""
import errno
import json
import multiprocessing
import os
import random
import shutil
import sys
import time

import harness
import mutation_test
import numcodecs
import numpy as np
import zarr2 as zarr

READERS = 16
CACHE = 32  # MiB
CHUNK = 32 * 1024  # elements of the array that is rewritten
CHUNKS = 8
PASSING = {errno.ESTALE, errno.ENOENT}
KEEPS = os.environ.get("NDLFS_SOAK_KEEPS")  # a directory for --decoded-cache, with room for not all that is read
PAUSE = float(os.environ.get("NDLFS_SOAK_PAUSE", "0.005"))


def read_sound(top, files, end, seed, results):
    rng = random.Random(seed)
    names = sorted(files)
    reads = size = 0
    wrong = []
    while time.monotonic() < end and not wrong:
        name = rng.choice(names)
        expected = files[name]
        offset, length = rng.randrange(len(expected) + 1), rng.randrange(1, 1 << 18)
        try:
            file = os.open(os.path.join(top, name), os.O_RDONLY | rng.choice([0, os.O_DIRECT]))
            try:
                seen = os.pread(file, length, offset)
            finally:
                os.close(file)
            right = expected[offset:offset + length]
            if seen != right:
                same = len(os.path.commonprefix((seen, right)))
                wrong.append(f"{name}: {offset} + {length}: from {same} on {seen[same:same + 60]} ({len(seen)} bytes) "
                             f"instead of {right[same:same + 60]} ({len(right)})")
        except OSError as error:
            wrong.append(f"{name}: {error}")
        reads += 1
        size += min(length, len(expected) - offset)
        time.sleep(PAUSE)
    results.put(("sound", reads, size, 0, wrong))


def read_whole(top, files, end, seed, results):
    """From the beginning to the end, which is what --decoded-cache keeps."""
    rng = random.Random(seed)
    reads = size = 0
    wrong = []
    while time.monotonic() < end and not wrong:
        name = rng.choice([name for name in files if name.startswith("large/")])
        try:
            if harness.read(top, name) != files[name]:
                wrong.append(f"{name}: not the same as a whole")
        except OSError as error:
            wrong.append(f"{name}: {error}")
        reads += 1
        size += len(files[name])
        time.sleep(rng.random())
    results.put(("whole", reads, size, 0, wrong))


def read_rewritten(top, end, seed, results):
    reads = size = passed = 0
    wrong = []
    while time.monotonic() < end and not wrong:
        try:
            values = np.frombuffer(harness.read(top, "written.zarr", "data.raw"), "<u4")
            if len(values) != CHUNK * CHUNKS:
                wrong.append(f"{len(values)} elements")
            for chunk in np.split(values, CHUNKS):
                if chunk.min() != chunk.max():
                    wrong.append("two versions in one chunk")
            size += values.nbytes
        except OSError as error:
            passed += 1
            if error.errno not in PASSING:
                wrong.append(repr(error))
        reads += 1
        time.sleep(4 * PAUSE)
    results.put(("rewritten", reads, size, passed, wrong))


def write(source, end, seed, results):
    compressor = numcodecs.Zstd(1)
    number = 0
    while time.monotonic() < end:
        number += 1
        path = os.path.join(source, "written.zarr", str(number % CHUNKS))
        harness.write(path + ".part~", bytes(compressor.encode(np.full(CHUNK, number, "<u4").tobytes())))
        os.rename(path + ".part~", path)
        time.sleep(0.02)
    results.put(("writer", number, number * CHUNK * 4, 0, []))


def mutate(test, end, seed, results):
    """Damaged copies, each walked and taken away again."""
    reader = mutation_test.Reader(random.Random(seed))
    number = 0
    wrong = []
    while time.monotonic() < end and not wrong:
        test.make_mutant(number)
        try:
            reader.walk(os.path.join(test.top, "copies", str(number)))
        except AssertionError as error:
            wrong.append(str(error))
        shutil.rmtree(os.path.join(test.source, "copies", str(number)))
        number += 1
        time.sleep(0.02)
    results.put(("mutator", number, reader.bytes, sum(reader.errors.values()), wrong))


class Stores(mutation_test.MutationTest):
    """What the mutation test mounts, for other use."""
    test_damaged_copies_do_no_harm = None

    def runTest(self):
        pass


def figures(pid, top):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    def mebibytes(key):
        return int(fields[key].split()[0]) / 1024
    with open(os.path.join(top, ".ndlfs", "stats.json"), encoding="utf-8") as file:
        names = json.load(file)["inodes"]
    return {"resident": mebibytes("VmRSS"), "largest": mebibytes("VmHWM"), "threads": int(fields["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "names": names}


def forget_names():
    """Has the kernel forget the names that nobody uses, and the daemon with it."""
    if os.getuid() == 0:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2")
        time.sleep(5)


def tell(what, numbers):
    print(f"{what}: resident {numbers['resident']:.1f} MiB, largest {numbers['largest']:.1f} MiB, "
          f"{numbers['threads']} threads, {numbers['descriptors']} descriptors, {numbers['names']} names", flush=True)


def soak(test, seconds):
    array = zarr.open_array(f"{test.source}/written.zarr", mode="w", shape=(CHUNK * CHUNKS,), chunks=(CHUNK,), dtype="<u4",
                            compressor=numcodecs.Zstd(1))
    array[...] = 0
    large = np.random.default_rng(1).integers(0, 1000, (64, 256, 256)).astype("<i4")
    for name, compressor in (("zstd", numcodecs.Zstd(1)), ("blosc", numcodecs.Blosc("lz4")), ("raw", None)):
        zarr.open_array(f"{test.source}/large/{name}.zarr", mode="w", shape=large.shape, chunks=(4, 128, 128), dtype="<i4",
                        compressor=compressor)[...] = large
    np.save(f"{test.source}/large/copy.npy", large)
    test.top = test.mounted.path
    files = {f"large/{name}.zarr/data.raw": large.tobytes() for name in ("zstd", "blosc", "raw")}
    for name in ("large/copy.npy/data.npy", "large/zstd.zarr/data.npy"):
        files[name] = harness.read(f"{test.source}/large/copy.npy")
    for name in harness.walk(test.mounted.join("neighbours")):
        path = test.mounted.join("neighbours", name)
        if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0:
            files[f"neighbours/{name}"] = harness.read(path)
    results = multiprocessing.Queue()
    begin = time.monotonic()
    end = begin + seconds
    jobs = [(read_sound, (test.top, files)) for _ in range(READERS - 4)] + [(read_rewritten, (test.top,))] * 4
    jobs += [(write, (test.source,)), (mutate, (test,)), (read_whole, (test.top, files)), (read_whole, (test.top, files))]
    workers = [multiprocessing.Process(target=job, args=(*arguments, end, seed, results))
               for seed, (job, arguments) in enumerate(jobs)]
    for worker in workers:
        worker.start()
    pid = test.mounted.process.pid
    settled = None
    names = 0
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 60))
        passed = time.monotonic() - begin
        now = figures(pid, test.top)
        names = max(names, now["names"])
        tell(f"after {passed / 60:.0f} min", now)
        half = settled is None and passed >= seconds / 2
        if half or round(passed / 60) % 5 == 0:
            forget_names()
            tell("  when names are forgotten", now := figures(pid, test.top))
        if half:
            settled = now
    wrong = []
    sums = {}
    for _ in workers:
        what, count, size, passed, mistakes = results.get(timeout=120)
        row = sums.setdefault(what, [0, 0, 0, 0])
        for index, value in enumerate((1, count, size, passed)):
            row[index] += value
        wrong += mistakes
    for worker in workers:
        worker.join()
    for what, (many, count, size, passed) in sums.items():
        print(f"{what} ({many}): {count} times, {size >> 20} MiB compared, {passed} honest errors")
    before = figures(pid, test.top)
    tell("before the kernel forgets names", before)
    forget_names()
    last = figures(pid, test.top)
    tell(f"at the end, after {(time.monotonic() - begin) / 60:.1f} min", last)
    if last["resident"] > settled["resident"] + 24 or last["descriptors"] > settled["descriptors"] + 32:
        wrong.append("memory or descriptors have grown")
    if last["largest"] > CACHE + 64 + 2 * last["threads"] + max(names, before["names"]) * mutation_test.NAME / 1024:
        wrong.append("more memory than the budget")
    print("\n".join(wrong) or "every byte was right")
    return not wrong


if __name__ == "__main__":
    mutation_test.CACHE = CACHE
    if KEEPS:
        mutation_test.OPTIONS = ["--decoded-cache", KEEPS, "--decoded-cache-size", "60MiB"]
    stores = Stores()
    stores.setUp()
    try:
        good = soak(stores, float(sys.argv[1]) if len(sys.argv) > 1 else 1800)
    finally:
        stores.doCleanups()
    sys.exit(not good)
