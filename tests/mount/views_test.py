# SPDX-License-Identifier: MIT
"""Views whose size only decoding tells, and what is said of reads that fail."""
import contextlib
import errno
import json
import mmap
import os
import re
import random
import shutil
import signal
import stat
import threading
import time
import zlib

import h5py
import netCDF4
import numpy as np

import harness

PAGE = 4096
# netCDF-C 4.9.3 reads 4 MiB to see what a file is, and needs all of them.
OPENS_WITH_DAMAGE = tuple(map(int, re.findall(r"\d+", netCDF4.__netcdf4libversion__)[:3])) < (4, 9, 3)


def write_zarr(folder, data, chunks, damaged=(), **more):
    """A Zarr v2 array of `data`, zlib in each chunk; half of it is missing in those that are `damaged`."""
    os.makedirs(folder)
    metadata = {"zarr_format": 2, "shape": list(data.shape), "chunks": list(chunks), "dtype": data.dtype.str,
                "compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "filters": None, "order": "C", **more}
    harness.write(os.path.join(folder, ".zarray"), json.dumps(metadata))
    counts = [-(-size // chunk) for size, chunk in zip(data.shape, chunks)]
    for number, index in enumerate(np.ndindex(*counts)):
        block = np.zeros(chunks, data.dtype)
        part = data[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunks))]
        block[tuple(slice(0, size) for size in part.shape)] = part
        encoded = zlib.compress(block.tobytes(), 1)
        if number in damaged:
            encoded = encoded[:len(encoded) // 2]
        harness.write(os.path.join(folder, ".".join(map(str, index))), encoded)


def vlen_utf8(words):
    """A chunk of numcodecs' vlen-utf8."""
    encoded = [word.encode() for word in words]
    return len(encoded).to_bytes(4, "little") + b"".join(len(e).to_bytes(4, "little") + e for e in encoded)


def write_words(folder, words, per_chunk, damaged=()):
    """A Zarr v2 array of strings."""
    metadata = {"zarr_format": 2, "shape": [len(words)], "chunks": [per_chunk], "dtype": "|O",
                "compressor": {"id": "zlib", "level": 1}, "fill_value": "", "filters": [{"id": "vlen-utf8"}], "order": "C"}
    harness.write(os.path.join(folder, ".zarray"), json.dumps(metadata))
    for number, first in enumerate(range(0, len(words), per_chunk)):
        part = words[first:first + per_chunk]
        encoded = zlib.compress(vlen_utf8(part + [""] * (per_chunk - len(part))))
        if number in damaged:
            encoded = encoded[:-9]
        harness.write(os.path.join(folder, str(number)), encoded)


def lines_of(values):
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


class JsonLinesTest(harness.SourceTestCase):
    """data.jsonl has its size, and so is copied whole by whatever trusts sizes."""

    def setUp(self):
        super().setUp()
        store = os.path.join(self.source, "a.zarr")
        harness.write(os.path.join(store, ".zgroup"), '{"zarr_format": 2}')
        words = [f"wörd {i} " + "x" * (i % 50) for i in range(30_000)]
        write_words(os.path.join(store, "words"), words, 700)
        write_words(os.path.join(store, "none"), [], 10)
        self.numbers = np.arange(7_000, dtype="<i4").reshape(70, 100) * 999_983
        write_zarr(os.path.join(store, "numbers"), self.numbers, (30, 30))
        self.flags = np.arange(1000) % 3 == 0
        write_zarr(os.path.join(store, "flags"), self.flags, (77,), fill_value=False)
        self.expected = {"words": lines_of(words), "none": b""}

    def decoded(self, mounted):
        return json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))["cache_misses_total"]

    def expect_copy(self, folder):
        for name, text in self.expected.items():
            self.assertEqual(harness.read(folder, name, "data.jsonl"), text, folder)
        self.assertEqual(np.load(os.path.join(folder, "numbers/data.npy")).tolist(), self.numbers.tolist())

    def test_size_is_exact_and_every_offset_is_read(self):
        mounted = self.mount(self.source)
        path, text = mounted.join("a.zarr/words/data.jsonl"), self.expected["words"]
        self.assertEqual(os.stat(path).st_size, len(text))
        chance = random.Random(7)
        with open(path, "rb", buffering=0) as file:
            for _ in range(200):
                offset = chance.randrange(len(text))
                self.assertEqual(os.pread(file.fileno(), 700, offset), text[offset:offset + 700])
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                self.assertEqual(mapped[:], text)
        self.assertEqual(os.stat(mounted.join("a.zarr/none/data.jsonl")).st_size, 0)

    def test_listing_decodes_nothing(self):
        mounted = self.mount(self.source)
        for folder, _, names in os.walk(mounted.join("a.zarr")):
            self.assertEqual(sorted(os.listdir(folder)), sorted(entry.name for entry in os.scandir(folder)))
        self.run_ok("ls", mounted.join("a.zarr/words"))
        self.run_ok("find", mounted.join("a.zarr"))
        self.assertEqual(self.decoded(mounted), 0)
        os.stat(mounted.join("a.zarr/words/data.jsonl"))
        self.assertEqual(self.decoded(mounted), 43)
        time.sleep(1.5)
        os.stat(mounted.join("a.zarr/words/data.jsonl"))
        self.assertEqual(self.decoded(mounted), 43)

    def test_every_type_has_it_by_name(self):
        mounted = self.mount(self.source)
        folder = mounted.join("a.zarr/numbers")
        self.assertNotIn("data.jsonl", os.listdir(folder))
        self.assertEqual(harness.read(folder, "data.jsonl"), lines_of(self.numbers.ravel().tolist()))
        self.assertEqual(harness.read(mounted.path, "a.zarr/flags/data.jsonl"), lines_of(self.flags.tolist()))
        text = harness.read(mounted.path, "a.zarr/flags/data.txt")
        self.assertEqual([int(line) for line in text.splitlines()], self.flags.astype(int).tolist())

    def test_rsync_copies_it_whole(self):
        mounted = self.mount(self.source)
        self.run_ok("rsync", "-a", mounted.join("a.zarr/"), os.path.join(self.scratch, "copy"))
        self.expect_copy(os.path.join(self.scratch, "copy"))
        again = self.run_ok("rsync", "-a", "--itemize-changes", mounted.join("a.zarr/"), os.path.join(self.scratch, "copy"))
        self.assertEqual(again, "")

    def test_tar_cp_and_shutil_copy_it_whole(self):
        mounted = self.mount(self.source)
        self.run_ok("tar", "-cf", os.path.join(self.scratch, "a.tar"), "-C", mounted.path, "a.zarr")
        os.mkdir(os.path.join(self.scratch, "tar"))
        self.run_ok("tar", "-xf", os.path.join(self.scratch, "a.tar"), "-C", os.path.join(self.scratch, "tar"))
        self.expect_copy(os.path.join(self.scratch, "tar/a.zarr"))
        self.run_ok("cp", "-a", mounted.join("a.zarr"), os.path.join(self.scratch, "cp"))
        self.expect_copy(os.path.join(self.scratch, "cp"))
        shutil.copytree(mounted.join("a.zarr"), os.path.join(self.scratch, "shutil"), symlinks=True)
        self.expect_copy(os.path.join(self.scratch, "shutil"))

    def test_new_content_has_its_own_size(self):
        mounted = self.mount(self.source, "--revalidate", "0.2")
        path = mounted.join("a.zarr/words/data.jsonl")
        self.assertEqual(harness.read(path), self.expected["words"])
        changed = [f"other {i}" for i in range(30_000)]
        write_words(os.path.join(self.source, "a.zarr/words"), changed, 700)
        time.sleep(0.5)
        self.assertEqual(os.stat(path).st_size, len(lines_of(changed)))
        self.assertEqual(harness.read(path), lines_of(changed))

    def test_too_large_for_a_scan_it_is_not_there_and_error_txt_says_why(self):
        # Known by the number of elements, and only by decoding.
        for size in ("20000", "300000"):
            mounted = self.mount(self.source, "--max-scan", size)
            folder = mounted.join("a.zarr/words")
            with self.assertRaises(FileNotFoundError):
                os.stat(os.path.join(folder, "data.jsonl"))
            self.assertIn(b"data.jsonl: more than %s bytes" % size.encode(), harness.read(folder, "error.txt"))
            self.assertEqual(sorted(os.listdir(folder)), [".ndl.yaml", "error.txt"])
        mounted = self.mount(self.source, "--max-scan", "20000")
        # That of a file which no listing shows is told to those who look for it.
        folder = mounted.join("a.zarr/numbers")
        self.assertNotIn("error.txt", os.listdir(folder))
        self.assertFalse(os.path.exists(os.path.join(folder, "data.jsonl")))
        self.assertIn(b"--max-scan", harness.read(folder, "error.txt"))
        self.assertEqual(harness.read(folder, "data.raw"), self.numbers.tobytes())
        self.assertEqual(os.stat(mounted.join("a.zarr/flags/data.jsonl")).st_size, len(lines_of(self.flags.tolist())))
        self.assertIn("max-scan: 20000", harness.read(mounted.path, ".ndlfs/config.yaml").decode())
        cat = self.run_ok(harness.BINARY, "cat", os.path.join(self.source, "a.zarr"), "words", "--view", "jsonl")
        self.assertEqual(cat.encode(), self.expected["words"])

    def test_a_long_scan_holds_up_nobody_else(self):
        words = [f"word {i} " + "y" * 60 for i in range(600_000)]
        write_words(os.path.join(self.source, "a.zarr/many"), words, 50_000)
        mounted = self.mount(self.source, "--threads", "2", "--timeout", "600")
        os.listdir(mounted.join("a.zarr/many"))
        sizes = []
        path = mounted.join("a.zarr/many/data.jsonl")
        scan = threading.Thread(target=lambda: sizes.append(os.stat(path).st_size))
        scan.start()
        rounds = 0
        while True:
            os.stat(mounted.join("a.zarr/numbers/data.npy"))
            os.listdir(mounted.join("a.zarr/flags"))
            if not scan.is_alive():
                break
            rounds += 1
            time.sleep(0.01)
        scan.join()
        self.assertEqual(sizes, [len(lines_of(words))])
        # All of these were answered while the scan went on.
        self.assertGreater(rounds, 2, "rounds")

    def test_a_corrupt_chunk_fails_it_and_nothing_else(self):
        write_words(os.path.join(self.source, "a.zarr/bad"), [f"w{i}" for i in range(100)], 10, damaged={4})
        mounted = self.mount(self.source)
        folder = mounted.join("a.zarr/bad")
        self.assertEqual(sorted(os.listdir(folder)), [".ndl.yaml", "data.jsonl"])
        with self.assertRaises(OSError) as caught:
            os.stat(os.path.join(folder, "data.jsonl"))
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertIn(b"data.jsonl: chunk 4: ", harness.read(folder, "error.txt"))
        self.assertIn("error.txt", os.listdir(folder))
        self.assertIn(b"shape: [100]", harness.read(folder, ".ndl.yaml"))


class NamesTest(harness.SourceTestCase):
    """Which files there are, which of them are listed, and by what names they are found."""

    USUAL = sorted([*harness.ARRAY_FILES, *harness.BESIDE])
    VALUES = ["values" + name[len("data"):] for name in [*harness.VIEWS, *harness.HEADERS]]
    BY_NAME = ["data.jsonl", "data.ctl", "values.ctl", "data.hdr", "data.tif", "data.fits", "data.nii", "data.f77", "index.html", "thumbnail.png", *VALUES,
               "values.hdr", "values.tif", "values.fits", "values.nii", "values.f77"]

    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.source, "era5.zarr")
        harness.write(os.path.join(self.store, ".zgroup"), '{"zarr_format": 2}')
        self.numbers = np.arange(700, dtype="<i4").reshape(7, 100)
        write_zarr(os.path.join(self.store, "t2m"), self.numbers, (3, 30))

    def test_an_array_is_found_under_the_name_of_its_folder(self):
        mounted = self.mount(self.source)
        folder = mounted.join("era5.zarr/t2m")
        for extension in ("npy", "raw", "txt", "jsonl"):
            self.assertEqual(harness.read(folder, f"t2m.{extension}"), harness.read(folder, f"data.{extension}"))
        self.assertEqual(np.load(os.path.join(folder, "t2m.npy")).tolist(), self.numbers.tolist())
        self.assertEqual(sorted(os.listdir(folder)), self.USUAL)
        inodes = {os.stat(os.path.join(folder, name)).st_ino for name in ("t2m.npy", "data.npy")}
        self.assertEqual(len(inodes), 2)
        for name in ("t2m.pdf", "t2m", "era5.npy", "t2m.npy.npy"):
            self.assertFalse(os.path.exists(os.path.join(folder, name)), name)

    def test_a_store_that_is_an_array_is_found_under_its_own_name(self):
        np.save(os.path.join(self.source, "run.v2.npy"), self.numbers)
        mounted = self.mount(self.source)
        self.assertEqual(harness.read(mounted.path, "run.v2.npy/run.v2.raw"), self.numbers.tobytes())
        alone = self.mount(os.path.join(self.source, "run.v2.npy"))
        self.assertEqual(harness.read(alone.path, "run.v2.raw"), self.numbers.tobytes())
        folder = self.mount(os.path.join(self.store, "t2m"))
        self.assertEqual(harness.read(folder.path, "t2m.raw"), self.numbers.tobytes())

    def test_an_attribute_names_them_all(self):
        mounted = self.mount(self.source)
        names = os.getxattr(mounted.join("era5.zarr/t2m"), "user.ndl.views").decode()
        names = names.strip("[]").split(", ")
        self.assertEqual(names[:4], ["data.npy", "data.raw", "data.txt", "data.jsonl"])
        self.assertEqual(sorted([".ndl.yaml", *names]), sorted(self.USUAL + self.BY_NAME))
        for name in names:
            self.assertTrue(harness.read(mounted.path, "era5.zarr/t2m", name))

    def test_data_nc_has_the_arrays_of_the_group(self):
        attributes = {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K", "level": 2}
        harness.write(os.path.join(self.store, "t2m", ".zattrs"), json.dumps(attributes))
        metadata = json.loads(harness.read(self.store, "t2m", ".zarray"))
        harness.write(os.path.join(self.store, "t2m", ".zarray"), json.dumps({**metadata, "fill_value": None}))
        write_words(os.path.join(self.store, "words"), ["a", "b"], 1)
        mounted = self.mount(self.source)
        for name in ("data.nc", "era5.nc"):
            with netCDF4.Dataset(shutil.copy(mounted.join("era5.zarr", name), self.scratch)) as file:
                self.assertEqual(file.data_model, "NETCDF3_CLASSIC")
                self.assertEqual(file.variables["t2m"].dimensions, ("y", "x"))
                self.assertEqual(file.variables["t2m"][...].tolist(), self.numbers.tolist())
                self.assertEqual((file.variables["t2m"].units, file.variables["t2m"].level), ("K", 2))
                self.assertEqual(file.ndlfs_left_out, "words: netCDF classic has no type for string")
        self.assertIn("data.nc", os.listdir(mounted.join("era5.zarr")))

    def test_data_h5_is_the_whole_store(self):
        attributes = {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K", "level": 2, "_FillValue": -1}
        harness.write(os.path.join(self.store, "t2m", ".zattrs"), json.dumps(attributes))
        write_words(os.path.join(self.store, "words"), ["a", "b\u00e9"], 1)
        group = os.path.join(self.store, "forecast")
        harness.write(os.path.join(group, ".zgroup"), json.dumps({"zarr_format": 2}))
        shutil.copytree(os.path.join(self.store, "t2m"), os.path.join(group, "t2m"))
        mounted = self.mount(self.source)
        for name in ("data.h5", "era5.h5", "data.nc4", "era5.nc4"):
            with h5py.File(mounted.join("era5.zarr", name), "r") as file:
                for path in ("t2m", "forecast/t2m"):
                    self.assertEqual(file[path].dtype, self.numbers.dtype)
                    self.assertEqual(file[path][...].tolist(), self.numbers.tolist())
                    self.assertEqual(file[path].attrs["units"], b"K")
                self.assertEqual(file["words"].asstr()[...].tolist(), ["a", "b\u00e9"])
                self.assertNotIn("ndlfs_left_out", file.attrs)
            with netCDF4.Dataset(mounted.join("era5.zarr", name)) as file:
                self.assertEqual(file.data_model, "NETCDF4")
                self.assertEqual(file["t2m"].dimensions, ("y", "x"))
                self.assertEqual(file["forecast/t2m"][...].data.tolist(), self.numbers.tolist())
                self.assertEqual(file["words"][...].tolist(), ["a", "b\u00e9"])
                self.assertEqual((file["t2m"].units, file["t2m"].level), ("K", 2))
        # Its size is that of what is read; a copy is the same file.
        path = mounted.join("era5.zarr/data.h5")
        self.assertEqual(os.stat(path).st_size, len(harness.read(path)))
        with h5py.File(mounted.join("era5.zarr/forecast/data.h5"), "r") as file:
            self.assertEqual(file["t2m"][...].tolist(), self.numbers.tolist())

    def test_options_say_what_is_listed(self):
        for options, listed in ((("--views", "raw"), ["data.raw"]), (("--views", "jsonl,npy"), ["data.jsonl", "data.npy"]),
                                (("-o", "views=npy:txt"), ["data.npy", "data.txt"]),
                                (("--views", "all"), sorted(self.USUAL[1:] + self.BY_NAME))):
            with self.subTest(options):
                mounted = self.mount(self.source, *options)
                folder = mounted.join("era5.zarr/t2m")
                self.assertEqual(sorted(os.listdir(folder)), [".ndl.yaml", *listed])
                for name in ("data.npy", "data.raw", "data.txt", "data.jsonl"):
                    self.assertGreater(os.stat(os.path.join(folder, name)).st_size, 0)
        self.assertIn('views: "all"', harness.read(mounted.path, ".ndlfs/config.yaml").decode())


class WholeFilesTest(harness.SourceTestCase):
    """--as nc: a directory of stores is a directory of netCDF files."""

    def setUp(self):
        super().setUp()
        self.values = np.arange(24, dtype="f4").reshape(2, 3, 4)
        for year in (1992, 1993):
            store = os.path.join(self.source, "years", f"{year}.zarr")
            self.group(store)
            self.array(os.path.join(store, "time"), np.array([year * 10.0, year * 10.0 + 1]), ["time"],
                       units="days since 1900-01-01")
            self.array(os.path.join(store, "sst"), self.values + year, ["time", "lat", "lon"])
            self.group(os.path.join(store, "deep"))
            self.array(os.path.join(store, "deep", "ice"), np.array([1, 2], "i2"), ["time"])
        np.save(os.path.join(self.source, "years", "one.npy"), self.values)
        harness.write(os.path.join(self.source, "years", "notes.txt"), "hello")

    def group(self, path):
        harness.write(os.path.join(path, ".zgroup"), '{"zarr_format": 2}')

    def array(self, path, data, dims, chunks=None, damaged=(), **attributes):
        write_zarr(path, data, chunks or data.shape, damaged)
        harness.write(os.path.join(path, ".zattrs"), json.dumps({"_ARRAY_DIMENSIONS": dims, **attributes}))

    def test_a_script_for_netcdf_files_works_on_stores(self):
        mounted = self.mount(self.source, "--as", "nc")
        names = sorted(os.listdir(mounted.join("years")))
        self.assertEqual(names, ["1992.deep.nc", "1992.nc", "1993.deep.nc", "1993.nc", "notes.txt", "one.nc"])
        with netCDF4.MFDataset(mounted.join("years/199?.nc"), aggdim="time") as years:
            self.assertEqual(years.variables["time"][:].tolist(), [19920, 19921, 19930, 19931])
            expected = np.concatenate([self.values + 1992, self.values + 1993])
            self.assertEqual(years.variables["sst"][:].tolist(), expected.tolist())
        with netCDF4.Dataset(mounted.join("years/1992.deep.nc")) as file:
            self.assertEqual(file.variables["ice"][:].tolist(), [1, 2])
            self.assertEqual(file.variables["time"][:].tolist(), [19920, 19921], "coordinates of the outer group")
        with netCDF4.Dataset(mounted.join("years/one.nc")) as file:
            self.assertEqual(file.variables["one"][:].tolist(), self.values.tolist())
        self.assertEqual(harness.read(mounted.path, "years/notes.txt"), b"hello")
        self.assertTrue(os.path.isdir(mounted.join(".ndlfs/source/years/1992.zarr")))
        self.assertFalse(os.path.exists(mounted.join("years/1992.zarr")))

    def test_stores_without_such_a_file_are_folders(self):
        store = os.path.join(self.source, "image.ome.zarr")
        self.group(store)
        harness.write(os.path.join(store, ".zattrs"), json.dumps(
            {"multiscales": [{"version": "0.4", "axes": [{"name": name} for name in "yx"], "datasets": [{"path": "0"}]}]}))
        self.array(os.path.join(store, "0"), np.arange(6, dtype="u2").reshape(2, 3), ["y", "x"])
        mounted = self.mount(self.source, "--as", "ome.tif")
        self.assertEqual(sorted(os.listdir(mounted.path)), [".ndlfs", "image.ome.tif", "years"])
        for name in sorted(os.listdir(mounted.join("years"))):
            os.stat(mounted.join("years", name))
        self.assertEqual(sorted(os.listdir(mounted.join("years"))), ["1992.zarr", "1993.zarr", "notes.txt", "one.npy"])
        self.assertTrue(os.path.isdir(mounted.join("years/1992.zarr")))

    def test_a_store_of_which_one_file_fails_is_a_folder_beside_the_others(self):
        store = os.path.join(self.source, "image.ome.zarr")
        multiscales = {"version": "0.4", "axes": [{"name": name} for name in "yx"], "datasets": [{"path": "0"}, {"path": "1"}]}
        self.group(store)
        harness.write(os.path.join(store, ".zattrs"), json.dumps({"multiscales": [multiscales]}))
        self.array(os.path.join(store, "0"), np.arange(6, dtype="u2").reshape(2, 3), ["y", "x"])
        labels = os.path.join(store, "labels")
        self.group(labels)
        harness.write(os.path.join(labels, ".zattrs"), json.dumps({"multiscales": [{**multiscales, "datasets": [{"path": "0"}]}]}))
        self.array(os.path.join(labels, "0"), np.arange(6, dtype="u2").reshape(2, 3), ["y", "x"])
        mounted = self.mount(self.source, "--as", "ome.tif")
        for name in os.listdir(mounted.path):  # this is how the first one is found to fail
            with contextlib.suppress(FileNotFoundError):
                os.stat(mounted.join(name))
        self.assertEqual(sorted(os.listdir(mounted.path)), [".ndlfs", "image.ome.labels.ome.tif", "image.ome.zarr", "years"])
        self.assertIn('the resolution "1" is listed, but not there',
                      harness.read(mounted.path, "image.ome.zarr/error.txt").decode())

    def test_a_store_without_an_array_that_can_be_read_is_a_folder_with_its_error(self):
        store = os.path.join(self.source, "years", "broken.zarr")
        self.group(store)
        harness.write(os.path.join(store, "a", ".zarray"), "{")
        mounted = self.mount(self.source, "--as", "nc")
        self.assertIn("broken.zarr", os.listdir(mounted.join("years")))
        self.assertIn("error.txt", os.listdir(mounted.join("years/broken.zarr/a")))

    def test_links_to_stores_are_files_too(self):
        os.symlink("1993.zarr", os.path.join(self.source, "years/newest.zarr"))
        os.symlink("years/one.npy", os.path.join(self.source, "single"))
        mounted = self.mount(self.source, "--as", "nc")
        self.assertEqual(sorted(os.listdir(mounted.path)), [".ndlfs", "single.nc", "years"])
        for link, name in (("years/newest.nc", "years/1993.nc"), ("years/newest.deep.nc", "years/1993.deep.nc"),
                           ("single.nc", "years/one.nc")):
            self.assertTrue(os.path.isfile(mounted.join(link)))
            self.assertEqual(harness.read(mounted.path, link), harness.read(mounted.path, name))

    def test_one_store_is_a_directory_of_its_files(self):
        mounted = self.mount(os.path.join(self.source, "years/1992.zarr"), "-o", "as=nc")
        self.assertEqual(sorted(os.listdir(mounted.path)), [".ndlfs", "1992.deep.nc", "1992.nc"])
        self.assertEqual(harness.read(mounted.path, "1992.nc")[:3], b"CDF")

    def test_a_corrupt_chunk_is_an_error_in_its_blocks_and_only_there(self):
        block = 2 * PAGE  # of netCDF-C, which takes one that comes short for the end of the file
        chunk = 8 * 25446  # ends in the second page of a block
        store = os.path.join(self.source, "years/1992.zarr")
        big = np.arange(100_000, dtype="f8")
        for name, damaged in (("a", ()), ("b", {1}), ("c", ())):
            self.array(os.path.join(store, name), big, [name], (chunk // 8,), damaged)
        mounted = self.mount(self.source, "--as", "nc")
        with open(mounted.join("years/1992.nc"), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            bytes_of = big.astype(">f8").tobytes()
            end_of_a = os.pread(file.fileno(), 4 * block, 0).index(bytes_of[:800]) + len(bytes_of)
            damaged = end_of_a + -end_of_a % block + chunk
            for at in range(0, size, PAGE):
                if damaged - damaged % block <= at < damaged + chunk:
                    with self.assertRaises(OSError) as caught:
                        os.pread(file.fileno(), PAGE, at)
                    self.assertEqual(caught.exception.errno, errno.EIO, at)
                else:
                    self.assertEqual(len(os.pread(file.fileno(), PAGE, at)), min(PAGE, size - at), at)
        if OPENS_WITH_DAMAGE:
            with netCDF4.Dataset(mounted.join("years/1992.nc")) as file:
                for name in "ac":
                    self.assertEqual(file.variables[name][:].tolist(), big.tolist(), name)
                with self.assertRaises(RuntimeError):
                    file.variables["b"][:]

    def test_a_file_with_a_small_corrupt_array_can_be_opened(self):
        store = os.path.join(self.source, "years/1992.zarr")
        self.array(os.path.join(store, "damaged"), np.arange(10, dtype="f4"), ["damaged"], (5,), {1})
        mounted = self.mount(self.source, "--as", "nc")
        with open(mounted.join("years/1992.nc"), "rb", buffering=0) as file:
            self.assertEqual(len(os.pread(file.fileno(), 2 * PAGE, 0)), 2 * PAGE)
            with self.assertRaises(OSError):
                os.pread(file.fileno(), PAGE, os.fstat(file.fileno()).st_size - 10)
        if OPENS_WITH_DAMAGE:
            with netCDF4.Dataset(mounted.join("years/1992.nc")) as file:
                self.assertEqual(file.variables["damaged"].shape, (10,))
                with self.assertRaises(RuntimeError):
                    file.variables["damaged"][:]


class FailedReadTest(harness.SourceTestCase):
    """Pages with a byte of a damaged chunk are EIO, and no others; error.txt says why."""

    CHUNK = 10_000  # borders within pages
    SIZE = 1_000_000
    DAMAGED = {7, 30, 31, 62, 99}

    def setUp(self):
        super().setUp()
        data = np.random.default_rng(1).integers(0, 256, self.SIZE).astype("u1")
        self.bytes = data.tobytes()
        self.store = os.path.join(self.source, "d.zarr")
        write_zarr(self.store, data, (self.CHUNK,), self.DAMAGED)

    def is_damaged(self, begin, end):
        return any(begin < (chunk + 1) * self.CHUNK and chunk * self.CHUNK < end for chunk in self.DAMAGED)

    def pages(self):
        return [(at, min(at + PAGE, self.SIZE)) for at in range(0, self.SIZE, PAGE)]

    def expect_page(self, begin, end, read):
        if self.is_damaged(begin, end):
            with self.assertRaises(OSError) as caught:
                read(begin, end)
            self.assertEqual(caught.exception.errno, errno.EIO, begin)
        else:
            self.assertEqual(read(begin, end), self.bytes[begin:end], begin)

    def open(self, flags=0):
        mounted = self.mount(self.source)
        file = os.open(mounted.join("d.zarr/data.raw"), os.O_RDONLY | flags)
        self.addCleanup(os.close, file)
        return file

    def test_pages_one_after_the_other(self):
        file = self.open()
        for begin, end in self.pages():
            self.expect_page(begin, end, lambda b, e: os.pread(file, e - b, b))

    def test_pages_in_any_order(self):
        file = self.open()
        pages = self.pages()
        random.Random(3).shuffle(pages)
        for begin, end in pages:
            self.expect_page(begin, end, lambda b, e: os.pread(file, e - b, b))

    def read_around(self, file, size):
        """Reads all that can be read with requests of `size`; a page that fails is left out."""
        at = 0
        while at < self.SIZE:
            try:
                got = os.pread(file, size, at)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                page = at - at % PAGE
                self.assertTrue(self.is_damaged(page, min(page + PAGE, self.SIZE)), (at, size))
                at = page + PAGE
                continue
            self.assertEqual(got, self.bytes[at:at + len(got)], (at, size))
            self.assertTrue(got, (at, size))
            at += len(got)
        self.assertEqual(os.fstat(file).st_size, self.SIZE)

    def test_large_reads_end_before_what_is_damaged(self):
        for size in (4096, 12_345, 131_072, 999_999, 4 << 20):
            self.read_around(self.open(), size)

    def test_large_reads_past_the_pages_end_there_too(self):
        for size in (4096, 131_072, 1 << 20, 3 << 20):
            self.read_around(self.open(os.O_DIRECT), size)

    def expect_mapped(self, file):
        mapped = mmap.mmap(file, self.SIZE, prot=mmap.PROT_READ)
        self.addCleanup(mapped.close)
        for begin, end in self.pages():
            if not self.is_damaged(begin, end):
                self.assertEqual(mapped[begin:end], self.bytes[begin:end], begin)
                continue
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGBUS, signal.SIG_DFL)
                os._exit(mapped[begin] & 0)
            _, status = os.waitpid(child, 0)
            self.assertTrue(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS, begin)

    def test_mapped_pages(self):
        self.expect_mapped(self.open())

    def test_mapped_pages_of_a_file_that_is_read_past_them(self):
        file = self.open(os.O_DIRECT)
        self.expect_mapped(file)
        self.read_around(file, 1 << 20)
        self.expect_mapped(file)

    def test_error_txt_names_the_chunk_until_the_array_has_changed(self):
        mounted = self.mount(self.source, "--revalidate", "0.2")
        folder = mounted.join("d.zarr")
        error = os.path.join(folder, "error.txt")
        self.assertFalse(os.path.exists(error))
        self.assertNotIn("error.txt", os.listdir(folder))
        with open(os.path.join(folder, "data.raw"), "rb", buffering=0) as file:
            for chunk in (7, 62):
                with self.assertRaises(OSError):
                    os.pread(file.fileno(), 10, chunk * self.CHUNK + 5_000)
            self.assertIn("error.txt", os.listdir(folder))
            time.sleep(0.3)
            lines = harness.read(error).decode().splitlines()
            self.assertEqual([line.split(": ")[:2] for line in lines],
                             [["d.zarr", "chunk 7"], ["d.zarr", "chunk 62"]])
            self.assertIn("zlib", lines[0])
            self.assertEqual(os.stat(error).st_mode, os.stat(os.path.join(folder, "data.raw")).st_mode)
        for chunk in self.DAMAGED:
            part = self.bytes[chunk * self.CHUNK:(chunk + 1) * self.CHUNK]
            harness.write(os.path.join(self.store, str(chunk)), zlib.compress(part))
        time.sleep(0.5)
        self.assertNotIn("error.txt", os.listdir(folder))
        self.assertFalse(os.path.exists(error))
        self.assertEqual(harness.read(folder, "data.raw"), self.bytes)

    def test_error_txt_is_soon_there_also_where_nothing_is_looked_at_twice(self):
        for options in (["--immutable"], ["--revalidate", "60"]):
            mounted = self.mount(self.source, *options)
            folder = mounted.join("d.zarr")
            self.assertNotIn("error.txt", os.listdir(folder))
            self.assertFalse(os.path.exists(os.path.join(folder, "error.txt")))
            for chunk in (7, 62):
                with open(os.path.join(folder, "data.raw"), "rb", buffering=0) as file:
                    with self.assertRaises(OSError):
                        os.pread(file.fileno(), 10, chunk * self.CHUNK + 5_000)
                self.assertIn("error.txt", os.listdir(folder))
                time.sleep(1.2)
                self.assertIn(b"chunk %d: " % chunk, harness.read(folder, "error.txt"))

    def test_error_txt_is_as_closed_as_the_array(self):
        os.chmod(os.path.join(self.store, ".zarray"), 0o640)
        mounted = self.mount(self.source)
        with open(mounted.join("d.zarr/data.raw"), "rb", buffering=0) as file:
            with self.assertRaises(OSError):
                os.pread(file.fileno(), 10, 7 * self.CHUNK + 5_000)
        time.sleep(1.1)
        self.assertEqual(stat.S_IMODE(os.stat(mounted.join("d.zarr/error.txt")).st_mode), 0o440)


if __name__ == "__main__":
    harness.main()
