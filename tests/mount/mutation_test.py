# SPDX-License-Identifier: MIT
"""Damaged copies of sound stores of every format, walked and read whole. The mount survives them, its memory stays in its
budget, and a sound neighbour reads the same all along.

NDLFS_MUTANTS is how many (the default takes half a minute). Copy N of NDLFS_MUTATION_SEED is always the same;
NDLFS_MUTATION_FIRST is the first one. NDLFS_MUTATION_KEEP is a folder for the copy at which something went wrong."""
import base64
import errno
import gzip
import json
import os
import random
import shutil
import stat
import struct
import time

import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import zarr2 as zarr
from crc32c import crc32c

COUNT = int(os.environ.get("NDLFS_MUTANTS", "600"))
FIRST = int(os.environ.get("NDLFS_MUTATION_FIRST", "0"))
SEED = int(os.environ.get("NDLFS_MUTATION_SEED", "1"))
KEEP = os.environ.get("NDLFS_MUTATION_KEEP", "")
BATCH = 50
CACHE = 16  # MiB
OPTIONS = []  # of the mount, in addition
NAME = 0.75  # KiB for each name that the kernel knows
SLOW = 300  # seconds for one copy, beyond which it counts as a hang
WHOLE = 4 << 20  # larger files are read in part
EXPECTED = {errno.EIO, errno.ENOENT, errno.ESTALE, errno.ENOMEM, errno.ENOTDIR, errno.EACCES, errno.ELOOP,
            errno.ENAMETOOLONG}
HDF4 = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "hdf4")
VALUES = np.arange(24 * 32, dtype="<i4").reshape(24, 32)


# Sound stores -------------------------------------------------------------------------------------------------------

def v2(path, **more):
    group = zarr.open_group(path, mode="w")
    group.attrs["title"] = "sound"
    for name, compressor in {"zlib": numcodecs.Zlib(1), "blosc": numcodecs.Blosc("lz4"), "lz4": numcodecs.LZ4(),
                             "zstd": numcodecs.Zstd(1), "bz2": numcodecs.BZ2(1), "lzma": numcodecs.LZMA(),
                             "plain": None}.items():
        group.create_dataset(name, data=VALUES, chunks=(8, 32), compressor=compressor, **more)


def v2_filters(path):
    group = zarr.open_group(path, mode="w")
    filters = {"delta": [numcodecs.Delta("<i4")], "shuffle": [numcodecs.Shuffle(4)],
               "crc32": [numcodecs.CRC32()], "packed": [numcodecs.FixedScaleOffset(0, 1, "<f8", "<i2")]}
    for name, chain in filters.items():
        data = VALUES.astype("<f8") if name == "packed" else VALUES
        group.create_dataset(name, data=data, chunks=(8, 32), filters=chain, compressor=numcodecs.Zlib(1))
    group.create_dataset("text", data=np.array([f"text {n}" for n in range(40)], object), chunks=10,
                         object_codec=numcodecs.VLenUTF8())
    group.create_dataset("bytes", data=np.array([b"x" * n for n in range(40)], object), chunks=10,
                         object_codec=numcodecs.VLenBytes())
    group.create_dataset("lists", data=np.array([np.arange(n) for n in range(20)] + [None], object)[:20], chunks=10,
                         object_codec=numcodecs.VLenArray("<i4"))


def v2_consolidated(path):
    v2(path)
    zarr.consolidate_metadata(path)


def v3(path):
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    crc = {"name": "crc32c"}
    grid = {"name": "regular", "configuration": {"chunk_shape": [8, 32]}}
    array = {"zarr_format": 3, "node_type": "array", "shape": [24, 32], "data_type": "int32", "fill_value": 0,
             "chunk_key_encoding": {"name": "default"}, "chunk_grid": grid, "attributes": {"units": "m"},
             "dimension_names": ["y", "x"]}
    harness.write(f"{path}/zarr.json", json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"a": [1, 2]}}))
    harness.write(f"{path}/checked/zarr.json", json.dumps({**array, "codecs": [little, crc]}))
    harness.write(f"{path}/gzip/zarr.json", json.dumps(
        {**array, "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, little,
                             {"name": "gzip", "configuration": {"level": 1}}]}))
    sharding = {"name": "sharding_indexed", "configuration": {
        "chunk_shape": [4, 32], "codecs": [little, crc], "index_codecs": [little, crc], "index_location": "end"}}
    harness.write(f"{path}/shards/zarr.json", json.dumps({**array, "codecs": [sharding]}))
    for row in range(3):
        plane = VALUES[8 * row:8 * row + 8]
        harness.write(f"{path}/checked/c/{row}/0", plane.tobytes() + crc32c(plane.tobytes()))
        harness.write(f"{path}/gzip/c/{row}/0", gzip.compress(plane.T.tobytes(), 1, mtime=0))
        halves = [half.tobytes() + crc32c(half.tobytes()) for half in (plane[:4], plane[4:])]
        index = struct.pack("<4Q", 0, len(halves[0]), len(halves[0]), len(halves[1]))
        harness.write(f"{path}/shards/c/{row}/0", b"".join(halves) + index + crc32c(index))


def n5(path):
    group = zarr.group(zarr.N5Store(path), overwrite=True)
    group.create_dataset("gzip", data=VALUES, chunks=(8, 32), compressor=numcodecs.GZip(1))
    group.create_dataset("raw", data=VALUES, chunks=(8, 32), compressor=None)


def zarr_zip(path):
    with zarr.ZipStore(path, mode="w") as store:
        group = zarr.group(store)
        group.create_dataset("a", data=VALUES, chunks=(8, 32), compressor=numcodecs.Zlib(1))
        group.create_dataset("b", data=VALUES, chunks=(8, 32), compressor=None)


def npy(path):
    np.save(path, VALUES)


def npy_structs(path):
    np.save(path, np.zeros(50, [("a", "<i4"), ("b", [("x", "<f8", (2, 2)), ("t", "S5")]), ("d", "<M8[s]")]))


def npz(path):
    np.savez_compressed(path, first=VALUES, second=np.arange(5.0))


def npz_stored(path):
    np.savez(path, first=VALUES, second=np.array(["a", "bc"]))


def netcdf(kind):
    def make(path):
        with netCDF4.Dataset(path, "w", format=kind) as file:
            file.title = "sound"
            file.createDimension("time", None)
            file.createDimension("x", 32)
            file.createVariable("x", "f8", ("x",))[:] = np.arange(32)
            more = {"zlib": True, "fletcher32": True} if kind == "NETCDF4" else {}
            for name in ("t", "u"):
                variable = file.createVariable(name, "i4", ("time", "x"), **more)
                variable[:] = VALUES
                variable.units = "K"
    return make


def hdf5(version):
    def make(path):
        with h5py.File(path, "w", libver=version) as file:
            file.create_dataset("chunked", data=VALUES, chunks=(8, 32), compression="gzip", shuffle=True, fletcher32=True)
            file.create_dataset("lzf", data=VALUES, chunks=(8, 32), compression="lzf")
            file.create_dataset("grows", data=VALUES, chunks=(8, 32), maxshape=(None, None), scaleoffset=10)
            file.create_dataset("flat", data=VALUES)
            file.create_dataset("strings", data=np.array([f"text {n}" for n in range(20)], object),
                                dtype=h5py.string_dtype())
            file.create_dataset("structs", data=np.zeros(5, [("a", "<i4"), ("b", "<f8", 3)]))
            group = file.create_group("group/below")
            group.attrs["list"] = np.arange(20)
            group["link"] = h5py.SoftLink("/flat")
            group["again"] = file["flat"]
            group["other"] = h5py.ExternalLink("elsewhere.h5", "/x")
    return make


def kerchunk(path):
    """References to a file beside it, which stays sound, and inline ones."""
    array = {"zarr_format": 2, "shape": [24, 32], "chunks": [8, 32], "dtype": "<i4", "compressor": None,
             "filters": None, "fill_value": 0, "order": "C"}
    references = {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(array),
                  "a/0.0": ["bytes.bin", 0, 1024], "a/1.0": ["bytes.bin", 1024, 1024],
                  "a/2.0": "base64:" + base64.b64encode(VALUES[16:].tobytes()).decode()}
    harness.write(path, json.dumps({"version": 1, "refs": references}))


SEEDS = {"v2.zarr": v2, "filters.zarr": v2_filters, "consolidated.zarr": v2_consolidated, "v3.zarr": v3, "a.n5": n5,
         "store.zarr.zip": zarr_zip, "a.npy": npy, "structs.npy": npy_structs, "a.npz": npz, "stored.npz": npz_stored,
         "classic.nc": netcdf("NETCDF3_CLASSIC"), "offset.nc": netcdf("NETCDF3_64BIT_OFFSET"),
         "data.nc": netcdf("NETCDF3_64BIT_DATA"), "four.nc": netcdf("NETCDF4"), "old.h5": hdf5("earliest"),
         "new.h5": hdf5("latest"), "refs.json": kerchunk}


def hdf4(name):
    def make(path):
        shutil.copyfile(os.path.join(HDF4, name), path)
    return make


SEEDS |= {name: hdf4(name) for name in ("types.hdf", "chunks.hdf", "grid.hdf", "images.hdf", "blocks.hdf",
                                             "old_sets.hdf", "old_images.hdf")}


# Damage -------------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
JSON_VALUES = [*NUMBERS, -1, 1e308, None, True, "", "/", "..", "../../etc/passwd", "\x00", "<i4", ">f8", "|O", "|V9999999",
               "NaN", [], {}, [[]], [0], [2**40, 2**40], [{}], "a" * 5000]


def flip_bits(data, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)


def cut(data, rng):
    del data[rng.randrange(len(data)):]


def write_number(data, rng):
    """A length, an offset or a count that is something else."""
    width, order = rng.choice([1, 2, 4, 8]), rng.choice(["little", "big"])
    at = rng.randrange(len(data))
    data[at:at + width] = (rng.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, order)


def swap(data, rng):
    """Two fields that change places."""
    width = rng.choice([2, 4, 8, 16])
    if len(data) < 2 * width:
        return cut(data, rng)
    a, b = (rng.randrange(len(data) - width) for _ in range(2))
    data[a:a + width], data[b:b + width] = data[b:b + width], data[a:a + width]


def splice(data, rng):
    """A part of it in another place."""
    length = rng.randrange(1, min(len(data), 200) + 1)
    source, at = rng.randrange(len(data)), rng.randrange(len(data))
    if rng.random() < 0.5:
        data[at:at + length] = data[source:source + length]
    else:
        data[at:at] = data[source:source + length]


def pad(data, rng):
    data += bytes(rng.choice([1, 7, 1000])) if rng.random() < 0.5 else rng.randbytes(50)


def slots(value, found):
    """Every place in JSON that holds something."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            slots(value[key], found)
    return found


def change_json(data, rng):
    try:
        document = json.loads(bytes(data))
        found = slots(document, [])
    except (ValueError, TypeError, RecursionError):
        return flip_bits(data, rng)
    for _ in range(rng.choice([1, 1, 2, 3]) if found else 0):
        holder, key = rng.choice(found)
        other, other_key = rng.choice(found)
        try:
            if rng.random() < 0.2 and isinstance(holder, dict):
                holder.pop(key, None)
            elif rng.random() < 0.3:
                holder[key] = json.loads(json.dumps(other[other_key]))  # what stands elsewhere
            else:
                holder[key] = rng.choice(JSON_VALUES)
        except (IndexError, KeyError):
            pass
    data[:] = json.dumps(document).encode()


def damage_file(path, rng):
    data = bytearray(harness.read(path))
    if not data:
        data += b"x"
    ways = [flip_bits, cut, write_number, write_number, swap, splice, pad]
    is_json = data[:1] == b"{"
    for _ in range(rng.choice([1, 1, 2])):
        (change_json if is_json and rng.random() < 0.7 else rng.choice(ways))(data, rng)
        if not data:
            break
    with open(path, "wb") as file:
        file.write(data)


def damage_folder(path, rng):
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    files = [name for name in files if stat.S_ISREG(os.lstat(name).st_mode)]
    metadata = [name for name in files if os.path.basename(name).startswith((".z", "zarr.json", "attributes.json"))]
    chosen = rng.choice(metadata if rng.random() < 0.6 else files)
    way = rng.random()
    if way < 0.85:
        damage_file(chosen, rng)
    elif way < 0.9:
        os.unlink(chosen)
    elif way < 0.95:
        content = harness.read(rng.choice(files))
        harness.write(chosen, content)
    else:
        os.unlink(chosen)
        rng.choice([os.mkdir, os.mkfifo, lambda name: os.symlink("../" * rng.randrange(4) + "v2.zarr", name),
                    lambda name: os.symlink(os.path.basename(name), name)])(chosen)


# The test -----------------------------------------------------------------------------------------------------------

class Reader:
    """Walks a folder of the mount, and reads what is in it; counts what comes of it."""

    def __init__(self, rng):
        self.rng = rng
        self.errors = {}
        self.files = self.bytes = 0

    def attempt(self, call, *arguments):
        try:
            return call(*arguments)
        except OSError as error:
            self.errors[error.errno] = self.errors.get(error.errno, 0) + 1
            if error.errno not in EXPECTED:
                raise AssertionError(f"{arguments}: {error}") from error
            return None

    def walk(self, path, depth=0):
        status = self.attempt(os.lstat, path)
        if status is None or depth > 12:
            return
        if stat.S_ISREG(status.st_mode):
            self.attempt(self.read, path, status.st_size)
        elif stat.S_ISLNK(status.st_mode):
            self.attempt(os.readlink, path)
        elif stat.S_ISDIR(status.st_mode):
            for name in self.attempt(os.listxattr, path) or []:
                self.attempt(os.getxattr, path, name)
            for name in (self.attempt(os.listdir, path) or [])[:300]:
                self.walk(os.path.join(path, name), depth + 1)

    def read(self, path, size):
        self.files += 1
        with open(path, "rb", buffering=0) as file:
            offsets = range(0, WHOLE, 1 << 20) if size <= WHOLE else [
                0, size - 4096, *(self.rng.randrange(size) for _ in range(4))]
            for offset in offsets:
                seen = self.attempt(os.pread, file.fileno(), 1 << 20 if size <= WHOLE else 4096, offset)
                if seen == b"":
                    break
                self.bytes += len(seen or b"")


class MutationTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.good = os.path.join(self.scratch, "good")
        os.mkdir(self.good)
        for name, make in SEEDS.items():
            make(os.path.join(self.good, name))
        harness.write(os.path.join(self.good, "bytes.bin"), VALUES.tobytes())
        shutil.copytree(self.good, os.path.join(self.source, "neighbours"))
        self.mounted = self.mount(self.source, "--cache-size", f"{CACHE}MiB", "--threads", "4", "--max-chunk-size", "8MiB",
                                  "--revalidate", "0", *OPTIONS)
        self.sound = harness.digests(self.mounted.join("neighbours"))
        self.largest = self.names = 0

    def status(self, field):
        with open(f"/proc/{self.mounted.process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith(field + ":")).split()[1])

    def threads(self):
        return self.status("Threads")

    def budget(self):
        """MiB. What the kernel remembers of names, of copies that are long gone too, the daemon has to remember as well."""
        with open(self.mounted.join(".ndlfs", "stats.json"), encoding="utf-8") as file:
            self.names = max(self.names, json.load(file)["inodes"])
        return CACHE + 64 + 2 * self.threads() + self.names * NAME / 1024

    def make_mutant(self, number):
        """The `number`th copy of this seed: its path in the source."""
        rng = random.Random(f"{SEED}-{number}")
        name = rng.choice(sorted(SEEDS))
        path = os.path.join(self.source, "copies", str(number), name)
        os.makedirs(os.path.dirname(path))
        original = os.path.join(self.good, name)
        if os.path.isdir(original):
            shutil.copytree(original, path)
            for _ in range(rng.choice([1, 1, 2])):
                damage_folder(path, rng)
        else:
            shutil.copy(original, path)
            damage_file(path, rng)
        if name == "refs.json":
            shutil.copy(os.path.join(self.good, "bytes.bin"), os.path.dirname(path))
        return path

    def look_at(self, number, reader):
        begin = time.monotonic()
        try:
            reader.walk(self.mounted.join("copies", str(number)))
            self.assertIsNone(self.mounted.process.poll(), "the daemon has ended")
        except AssertionError:
            self.keep(number)
            raise
        seconds = time.monotonic() - begin
        if seconds > SLOW:
            self.keep(number)
            self.fail(f"copy {number} of seed {SEED} takes {seconds:.0f} s")
        return seconds

    def keep(self, number):
        if KEEP:
            shutil.copytree(os.path.join(self.source, "copies", str(number)), os.path.join(KEEP, f"{SEED}-{number}"),
                            symlinks=True, dirs_exist_ok=True)

    def assert_well(self, numbers):
        self.assertEqual(harness.digests(self.mounted.join("neighbours")), self.sound, f"after copies {numbers}")
        self.largest = max(self.largest, self.status("VmHWM") / 1024)
        if not os.environ.get("NDLFS_SANITIZED"):
            self.assertLess(self.largest, self.budget(), f"MiB, after copies {numbers}")

    def test_damaged_copies_do_no_harm(self):
        reader, slowest, hungriest = Reader(random.Random(SEED)), (0, 0), (0, 0)
        for first in range(FIRST, FIRST + COUNT, BATCH):
            numbers = range(first, min(first + BATCH, FIRST + COUNT))
            for number in numbers:
                self.make_mutant(number)
            for number in numbers:
                before = self.status("VmHWM")
                slowest = max(slowest, (self.look_at(number, reader), number))
                hungriest = max(hungriest, ((self.status("VmHWM") - before) >> 10, number))
            self.assert_well(numbers)
            shutil.rmtree(os.path.join(self.source, "copies"))
        descriptors = len(os.listdir(f"/proc/{self.mounted.process.pid}/fd"))
        print(f"{COUNT} copies of seed {SEED}: {reader.files} files, {reader.bytes >> 20} MiB read; errors: "
              f"{ {errno.errorcode[key]: count for key, count in sorted(reader.errors.items())} }; largest resident size "
              f"{self.largest:.0f} of {self.budget():.0f} MiB ({self.names} names); {descriptors} descriptors; slowest copy "
              f"{slowest[1]}: {slowest[0]:.1f} s; hungriest copy {hungriest[1]}: {hungriest[0]} MiB")
        self.assertGreater(reader.errors.get(errno.EIO, 0), 0)
        self.assertLess(descriptors, 200)


if __name__ == "__main__":
    harness.main()
