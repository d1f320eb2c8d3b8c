# SPDX-License-Identifier: MIT
"""Readers of a mounted URL whose server fails now and then, by hand: soak.py [SECONDS [http|gs|az]] (600 http).

Of the server's answers one in ten is a status 503, and others are cut in the middle, reset or late. Stubs of gs and az fail
less often, and their tokens and signatures end after ten seconds. Every byte that is read is compared with what NumPy has written.
Memory and descriptors of the daemon are shown at the beginning and at the end. Needs NDLFS_BINARY, and tests/mount on the
PYTHONPATH.
"""
import contextlib
import multiprocessing
import os
import random
import sys
import tempfile
import time

import h5py
import harness
import lying_server
import numcodecs
import numpy as np
import zarr2 as zarr
from azure_stub import AzureStub
from gs_stub import GsStub
from stub_server import Directory

READERS = 6
SHAPE, CHUNKS = (64, 256, 256), (8, 128, 128)  # 16 MiB, chunks of 512 KiB
CACHE = "8MiB"  # less than an array: chunks are read again and again
PAUSE = 0.02  # seconds between reads, so that others can work on this machine
FAULTS = {"503": 0.10, "cut": 0.03, "reset": 0.02, "late": 0.05}  # shares of all requests
BUCKET_FAULTS = {"503": 0.02, "reset": 0.01, "late": 0.05}


def fill(folder):
    """Stores of several formats; the bytes of the elements of each, by the path of its view."""
    values = np.random.default_rng(1).integers(0, 1 << 20, SHAPE, dtype="<i4")
    bytes_of = {}
    group = zarr.open_group(folder + "/store.zarr", mode="w")
    for number, codec in enumerate([numcodecs.Zstd(3), numcodecs.GZip(1), numcodecs.Blosc("lz4"), None]):
        group.create_dataset(f"a{number}", data=values + number, chunks=CHUNKS, compressor=codec)
        bytes_of[f"store.zarr/a{number}"] = (values + number).tobytes()
    zarr.consolidate_metadata(folder + "/store.zarr")
    with h5py.File(folder + "/file.h5", "w") as file:
        file.create_dataset("packed", data=values + 5, chunks=CHUNKS, compression="gzip", compression_opts=1)
        file.create_dataset("plain", data=values + 6)
    bytes_of["file.h5/packed"] = (values + 5).tobytes()
    bytes_of["file.h5/plain"] = (values + 6).tobytes()
    np.save(folder + "/file.npy", values + 7)
    bytes_of["file.npy"] = (values + 7).tobytes()
    return bytes_of


TOKENS_LIVE = 10  # seconds


class Faults:
    """What the server is told to do instead of answering; counts it."""

    def __init__(self, shares=None):
        self.random = random.Random(2)
        self.shares = shares or FAULTS
        self.count = {name: 0 for name in self.shares}
        self.requests = 0

    def __call__(self, path, handler):
        with handler.owner.lock:
            handler.owner.requests.clear()
            self.requests += 1
            chosen = self.choose()
        if chosen == "503":
            handler.answer(503)
        elif chosen == "reset":
            handler.reset()
        elif chosen == "cut":
            whole = handler.answer
            handler.answer = lambda status, body=b"", length=None, **headers: whole(status, body[:len(body) // 2],
                                                                                  len(body), **headers)
            handler.serve(path)
            del handler.answer
        elif chosen == "late":
            time.sleep(0.5)
        return chosen not in (None, "late")

    def choose(self):
        number = self.random.random()
        for name, share in self.shares.items():
            number -= share
            if number < 0:
                self.count[name] += 1
                return name
        return None


class BucketFaults(Faults):
    """The same as the fault of a stub."""

    def __init__(self, stub):
        super().__init__(BUCKET_FAULTS)
        self.stub = stub

    def __call__(self, _):
        self.stub.take_requests()
        with self.stub.lock:
            self.requests += 1
            chosen = self.choose()
        if chosen == "late":
            time.sleep(0.5)
        return {"503": (503, {}, b""), "reset": "reset"}.get(chosen)


@contextlib.contextmanager
def serve(kind, folder):
    """The URL of a server of this kind, options of the mount, and the server's faults."""
    if kind == "http":
        server = lying_server.Server(folder)
        server.lie = faults = Faults()
        yield server.url, (), faults
        server.stop()
        return
    with {"gs": GsStub, "az": AzureStub}[kind](Directory(folder)) as stub:
        os.environ.update(stub.environment())
        stub.life = TOKENS_LIVE
        stub.fault = faults = BucketFaults(stub)
        if kind == "gs":
            keys = folder + ".keys.json"
            stub.make_user(keys)
            os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = keys
        else:
            os.environ["PC_SDK_SAS_URL"] = stub.top + "/sas"
        yield f"{kind}://bucket", ("--endpoint", stub.url), faults
        print(f"{stub.tokens_given if kind == 'gs' else stub.given} tokens were given")


def read(top, bytes_of, end, seed, results):
    rng = random.Random(seed)
    compared = size = 0
    failed, wrong = [], []
    while time.monotonic() < end and not wrong:
        name = rng.choice(sorted(bytes_of))
        expected = bytes_of[name]
        length = rng.choice([4096, 1 << 16, 1 << 20])
        offset = rng.randrange(len(expected))
        try:
            with open(os.path.join(top, name, "data.raw"), "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # the daemon is asked again
                for begin in range(offset, offset + rng.randrange(1, 4) * length, length):
                    seen = os.pread(file.fileno(), length, begin)
                    if seen != expected[begin:begin + length]:
                        wrong.append(f"{name}: {begin} + {length}")
                    compared += 1
                    size += len(seen)
        except OSError as error:
            failed.append(f"{name}: {error}")
        time.sleep(PAUSE)
    results.put((compared, size, failed, wrong))


def taken(pid):
    """MiB of memory, and descriptors."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return f"{memory >> 10} MiB, {len(os.listdir(f'/proc/{pid}/fd'))} descriptors"


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    os.environ["no_proxy"] = "*"
    kind = sys.argv[2] if len(sys.argv) > 2 else "http"
    with tempfile.TemporaryDirectory() as top:
        folder = top + "/source"
        os.mkdir(folder)
        bytes_of = fill(folder)
        with serve(kind, folder) as (url, options, faults), harness.Mount(url, *options, "--cache-size", CACHE) as mount:
            results = multiprocessing.Queue()
            begin = time.monotonic()
            readers = [multiprocessing.Process(target=read, args=(mount.path, bytes_of, begin + seconds, seed, results))
                       for seed in range(READERS)]
            for reader in readers:
                reader.start()
            while any(reader.is_alive() for reader in readers) and results.qsize() < READERS:
                passed = time.monotonic() - begin
                print(f"{passed:.0f} s: {taken(mount.process.pid)}; {faults.requests} requests, {faults.count}", flush=True)
                time.sleep(min(30, max(1, seconds - passed)))
            ends = [results.get(timeout=harness.DEADLINE) for _ in readers]
            for reader in readers:
                reader.join()
            print(f"at the end: {taken(mount.process.pid)}")
    compared, size, failed, wrong = (sum(part, type(part[0])()) for part in zip(*ends))
    print(f"{compared} reads compared, {size >> 20} MiB; {len(failed)} failed, {len(wrong)} were wrong; "
          f"{faults.requests} requests, of them {faults.count}")
    for line in [*wrong, *failed[:20]]:
        print(line)
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
