# SPDX-License-Identifier: MIT
"""What a mount takes of memory, and how often it decodes. Not for builds with sanitizers, which take more."""
import errno
import glob
import io
import json
import os
import shutil
import struct
import subprocess
import unittest
import zipfile
import zlib

import grib_messages
import h5py
import harness
import make
import numcodecs
import numpy as np
import zarr2 as zarr


def status_field(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise KeyError(field)


def family(pid):
    """The process and all below it."""
    children = " ".join(harness.read(path).decode() for path in glob.glob(f"/proc/{pid}/task/*/children"))
    return [pid] + [each for child in children.split() for each in family(int(child))]


class PromiseTest(harness.SourceTestCase):
    """The most memory that all processes of a mount take together, whatever the store has: the cache, 64 MiB, and 2 MiB a
    thread."""

    CACHE = 16  # MiB

    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source, "--cache-size", f"{self.CACHE}MiB", "--threads", "2", "--max-chunk-size", "64MiB")

    def tearDown(self):
        pids = family(self.mounted.process.pid)
        peak = sum(status_field(pid, "VmHWM") for pid in pids) / 1024
        threads = sum(status_field(pid, "Threads") for pid in pids)
        self.assertLessEqual(peak, self.CACHE + 64 + 2 * threads)
        super().tearDown()

    def inodes(self):
        return json.loads(harness.read(self.mounted.path, ".ndlfs/stats.json"))["inodes"]

    def size_by_reading(self, *name):
        """Of a file that is read to its end."""
        with open(self.mounted.join(*name), "rb") as file:
            return sum(len(part) for part in iter(lambda: file.read(1 << 20), b""))

    def test_a_document_of_many_messages(self):
        message = grib_messages.message(np.zeros((2, 2), "f4"))
        harness.write(f"{self.source}/many.grib2", message * 12_000)
        size = os.stat(self.mounted.join("many.grib2/.ndl.yaml")).st_size
        self.assertGreater(size, 12_000 * 1000)
        self.assertEqual(self.size_by_reading("many.grib2/.ndl.yaml"), size)

    def test_a_document_of_long_attributes(self):
        text = os.path.join(self.scratch, "attributes")
        harness.write(text, json.dumps({"history": "x" * 40_000}))
        harness.write(f"{self.source}/a.zarr/.zgroup", '{"zarr_format": 2}')
        for number in range(2000):
            harness.write(f"{self.source}/a.zarr/{number}/.zgroup", '{"zarr_format": 2}')
            os.link(text, f"{self.source}/a.zarr/{number}/.zattrs")
        size = self.size_by_reading("a.zarr/.ndl.yaml")
        self.assertGreater(size, 2000 * 40_000)
        with open(self.mounted.join("a.zarr/.ndl.yaml"), "rb") as file:
            file.seek(size - 45_000)
            self.assertIn(b"history: x", file.read())

    def write_npz(self, name, count):
        with io.BytesIO() as member, zipfile.ZipFile(f"{self.source}/{name}", "w") as archive:
            np.save(member, np.arange(4, dtype="f4"))
            for number in range(count):
                archive.writestr(f"a{number}.npy", member.getvalue())

    def test_a_file_of_more_arrays_than_can_be_held_is_refused(self):
        self.write_npz("m.npz", 20_000)
        with self.assertRaises(OSError) as raised:
            os.stat(self.mounted.join("m.npz/data.nc"))
        self.assertEqual(raised.exception.errno, errno.ENOMEM)
        self.assertEqual(self.size_by_reading("m.npz/a19999/data.raw"), 16)

    def test_a_file_of_many_arrays(self):
        self.write_npz("m.npz", 8_000)
        with open(self.mounted.join("m.npz/data.nc"), "rb") as file:
            self.assertEqual(file.read(3), b"CDF")
        self.assertGreater(self.size_by_reading("m.npz/data.nc"), 8_000 * 16)

    def test_names_that_were_looked_up(self):
        for number in range(30_000):
            harness.write(f"{self.source}/many/{number}", "")
        held = open(self.mounted.join("many/0"), "rb")
        self.addCleanup(held.close)
        for number in range(30_000):
            os.stat(self.mounted.join("many", str(number)))
        harness.wait_until(lambda: self.inodes() < 26_000, "forgetting")
        self.assertEqual(os.stat(self.mounted.join("many/7")).st_ino, os.stat(self.mounted.join("many/7")).st_ino)
        self.assertEqual(len(os.listdir(self.mounted.join("many"))), 30_000)
        self.assertEqual(held.read(), b"")

    def test_names_that_do_not_exist(self):
        os.mkdir(f"{self.source}/many")
        for number in range(30_000):
            self.assertFalse(os.path.exists(self.mounted.join("many", f"{number:0200}")))
        self.assertLess(self.inodes(), 10)

    def test_a_chunk_that_does_not_fit_is_refused_with_its_size(self):
        for name, size in (("large", 200 << 20), ("small", 1 << 20)):
            array = zarr.open_array(f"{self.source}/{name}.zarr", mode="w", shape=size, chunks=size, dtype="u1",
                                    compressor=numcodecs.Zlib(1))
            harness.write(os.path.join(array.store.path, "0"), zlib.compress(bytes(size), 1))
        self.assertIn("209715200", harness.read(self.mounted.path, "large.zarr/error.txt").decode())
        self.assertNotIn("data.raw", os.listdir(self.mounted.join("large.zarr")))
        self.assertEqual(self.size_by_reading("small.zarr/data.raw"), 1 << 20)
        self.assertIn("209715200", harness.read(self.mounted.path, ".ndlfs/errors.log").decode())


    def test_a_picture_whose_decoding_does_not_fit_is_refused(self):
        """By the headers of a codestream of JPEG 2000, which is nearly empty; libopenjp2 takes four bytes a pixel, and more."""
        def picture(edge):
            size = struct.pack(">HHHIIIIIIIIHBBB", 0xff51, 41, 0, edge, edge, 0, 0, edge, edge, 0, 0, 1, 7, 1, 1)
            coding = bytes.fromhex("ff52000c00000001000504040001ff5c0013" + 17 * "40")
            stream = b"\xff\x4f" + size + coding + bytes.fromhex("ff90000a0000000000000001ff93") + bytes(64) + b"\xff\xd9"
            tags = [(256, 4, edge), (257, 4, edge), (258, 3, 8), (259, 3, 34712), (262, 3, 1), (273, 4, 122), (277, 3, 1), (278, 4, edge),
                    (279, 4, len(stream))]
            entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
            return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + entries + bytes(4) + stream
        for name, edge in (("large", 8000), ("small", 1000)):
            harness.write(f"{self.source}/{name}.tif", picture(edge))
        self.assertEqual(self.size_by_reading("small.tif/image/data.raw"), 1000 * 1000)
        with self.assertRaises(OSError):
            self.size_by_reading("large.tif/image/data.raw")
        self.assertRegex(harness.read(self.mounted.path, ".ndlfs/errors.log").decode(), "decoding a chunk takes [0-9]{9} bytes")


class MemoryTest(harness.TestCase):
    """Resident size: the cache, 64 MiB, and 2 MiB a thread."""

    def peak_while_reading(self, chunks):
        """MiB of the process, less 2 a thread, once four readers at once have read 256 MiB."""
        source = os.path.join(self.scratch, "source")
        stored = zarr.open_array(f"{source}/big.zarr", mode="w", shape=(64, 1024, 1024), chunks=chunks, dtype="<f4",
                                 compressor=numcodecs.Blosc("lz4"))
        for plane in range(0, 64, 16):
            stored[plane:plane + 16] = np.arange(1 << 24, dtype="f4").reshape(16, 1024, 1024)
        mounted = self.mount(source, "--cache-size", "32MiB", "--threads", "4")
        readers = [subprocess.Popen(["dd", f"if={mounted.join('big.zarr/data.npy')}", "of=/dev/null", "bs=1M",
                                     f"skip={skip}", "status=none"]) for skip in (0, 64, 128, 192)]
        for reader in readers:
            self.assertEqual(reader.wait(), 0)
        return status_field(mounted.process.pid, "VmHWM") / 1024 - 2 * status_field(mounted.process.pid, "Threads")

    def test_what_names_took_is_given_back_when_they_are_forgotten(self):
        """The kernel forgets what was below a folder that has gone."""
        source = os.path.join(self.scratch, "source")
        os.mkdir(source)
        mounted = self.mount(source, "--revalidate", "0")
        before = status_field(mounted.process.pid, "RssAnon")
        peaks = []
        for _ in range(3):
            for number in range(30_000):
                harness.write(f"{source}/many/file-{number:05}", "")
            self.assertEqual(len(harness.walk(mounted.path)), 30_001)
            for name in os.listdir(mounted.join("many")):
                os.lstat(mounted.join("many", name))
            peaks.append(status_field(mounted.process.pid, "RssAnon"))
            shutil.rmtree(f"{source}/many")
            self.assertFalse(os.path.exists(mounted.join("many")))
            harness.wait_until(lambda: json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))["inodes"] < 100,
                               "forgetting")
            harness.wait_until(lambda: status_field(mounted.process.pid, "RssAnon") - before < (peaks[0] - before) / 2,
                               "giving back")
        self.assertGreater(peaks[0] - before, 4 << 10)  # KiB
        self.assertLess(peaks[2] - before, (peaks[0] - before) * 1.2)

    def test_large_chunks_stay_inside_the_budget(self):
        self.assertLessEqual(self.peak_while_reading((4, 256, 256)), 32 + 64)

    def test_small_chunks_stay_inside_the_budget(self):
        self.assertLessEqual(self.peak_while_reading((4, 64, 64)), 32 + 64)


class RandomTest(harness.TestCase):
    """A little here and there of large chunks."""

    def test_only_the_blocks_that_are_read_are_decoded(self):
        source = os.path.join(self.scratch, "source")
        values = (np.arange(1 << 24, dtype="f4") % 1000).reshape(64, 512, 512)
        stored = zarr.open_array(f"{source}/large.zarr", mode="w", shape=values.shape, chunks=(16, 256, 256), dtype="<f4",
                                 compressor=numcodecs.Blosc("lz4"))
        stored[:] = values
        expected = values.tobytes()
        with harness.Mount(source) as mounted:
            descriptor = os.open(mounted.join("large.zarr/data.raw"), os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
                for step in range(1, 40):  # far from one another, and no two by the same distance
                    offset = (step * step * 1_300_021 % (60 << 20)) & ~4095 | 1 << 20
                    self.assertTrue(os.pread(descriptor, 4096, offset) == expected[offset:offset + 4096], offset)
            finally:
                os.close(descriptor)
            seen = json.loads(harness.read(mounted.join(".ndlfs/stats.json")))
        self.assertEqual(seen["cache_misses_total"], 0)
        self.assertGreater(seen["cache_parts_total"], 39)
        self.assertLess(seen["cache_loaded_bytes_total"], 39 * 4 * (4 << 20) / 4)


class BandTest(harness.TestCase):
    """A band of chunks that is larger than the cache: a reader comes back to each of them."""

    def read_through(self, *options):
        """Statistics of one pass over an array whose only band is 32 MiB, and what was read."""
        source = os.path.join(self.scratch, "source")
        values = np.arange(1 << 23, dtype="f4").reshape(32, 512, 512)
        stored = zarr.open_array(f"{source}/deep.zarr", mode="w", shape=values.shape, chunks=(32, 64, 64), dtype="<f4",
                                 compressor=numcodecs.Blosc("lz4"))
        stored[:] = values
        with harness.Mount(source, "--cache-size", "4MiB", *options) as mounted:
            self.assertTrue(harness.read(mounted.join("deep.zarr/data.raw")) == values.tobytes())
            return json.loads(harness.read(mounted.join(".ndlfs/stats.json")))

    def test_each_chunk_is_decoded_once(self):
        seen = self.read_through("--cache-dir", self.scratch)
        self.assertLessEqual(seen["cache_misses_total"], 64 + 3)  # a read may come just as a chunk is leaving
        self.assertGreater(seen["spill_written_total"], 32)
        self.assertEqual(os.listdir(self.scratch), ["source"])

    def test_without_disk_space_chunks_are_decoded_again(self):
        seen = self.read_through("--cache-dir-size", "0")
        self.assertGreater(seen["cache_misses_total"], 64 * 2)
        self.assertEqual(seen["failed_requests_total"], 0)

    def test_with_little_disk_space_some_are(self):
        seen = self.read_through("--cache-dir-size", "8MiB")
        self.assertGreater(seen["spill_refused_total"], 0)
        self.assertEqual(seen["spill_written_total"], 16)
        self.assertEqual(seen["failed_requests_total"], 0)

    def test_a_directory_on_a_full_disk_does_no_harm(self):
        full = os.path.join(self.scratch, "full")
        os.mkdir(full)
        # The limit on the size of files does what a full disk does, for any user.
        source_limit = ("prlimit", "--fsize=1048576")
        source = os.path.join(self.scratch, "source")
        self.read_through()
        with harness.Mount(source, "--cache-size", "4MiB", "--cache-dir", full, prefix=source_limit) as mounted:
            read = harness.read(mounted.join("deep.zarr/data.raw"))
            self.assertTrue(read == np.arange(1 << 23, dtype="f4").tobytes())
            seen = json.loads(harness.read(mounted.join(".ndlfs/stats.json")))
            self.assert_told_once(mounted, full + ": File too large: chunks that find no room in memory are decoded again")
        self.assertGreater(seen["spill_refused_total"], 0)
        self.assertEqual(seen["failed_requests_total"], 0)

    def assert_told_once(self, mounted, words):
        for log in (mounted.log(), harness.read(mounted.join(".ndlfs/errors.log")).decode()):
            self.assertEqual(log.count(words), 1, log)

    @unittest.skipIf(os.getuid() != 0, "only root can mount a small file system")
    def test_a_file_system_that_is_full_and_has_room_again(self):
        source = os.path.join(self.scratch, "source")
        small = os.path.join(self.scratch, "small")
        self.read_through("--cache-dir-size", "0")
        shutil.copytree(f"{source}/deep.zarr", f"{source}/later.zarr")
        values = np.arange(1 << 23, dtype="f4").tobytes()
        os.mkdir(small)
        self.run_ok("mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", small)
        self.addCleanup(harness.unmount, small)
        with open(f"{small}/ballast", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 80 << 20)
        with harness.Mount(source, "--cache-size", "4MiB", "--cache-dir", small) as mounted:
            statistics = lambda: json.loads(harness.read(mounted.join(".ndlfs/stats.json")))
            descriptors = lambda: len(os.listdir(f"/proc/{mounted.process.pid}/fd"))
            before = descriptors()
            self.assertTrue(harness.read(mounted.join("deep.zarr/data.raw")) == values)
            full = statistics()
            self.assertGreater(full["spill_refused_total"], 0)
            self.assertEqual(full["spill_written_total"], 0)
            self.assert_told_once(mounted, small + ": No space left on device: chunks")
            os.unlink(f"{small}/ballast")
            self.assertTrue(harness.read(mounted.join("later.zarr/data.raw")) == values)
            roomy = statistics()
            self.assertGreater(roomy["spill_written_total"], 32)
            self.assertEqual(roomy["spill_refused_total"], full["spill_refused_total"])
            self.assertEqual(roomy["failed_requests_total"], 0)
            self.assert_told_once(mounted, small + ": No space left on device: chunks")
            harness.wait_until(lambda: statistics()["spill_used_bytes"] == 0, "giving the space back")
            self.assertEqual(os.statvfs(small).f_bfree, os.statvfs(small).f_blocks)
            self.assertLessEqual(descriptors(), before + 8)  # both stores, and their chunks


class HostileMemoryTest(harness.TestCase):
    """Bombs, and sizes that lie."""

    def test_texts_that_claim_a_lot_are_decoded_one_by_one(self):
        source = os.path.join(self.scratch, "source")
        claims = zlib.compress(struct.pack("<I", 1) + bytes(200 << 20), 1)  # an empty text, and a lot behind it
        for number in range(8):
            array = zarr.open_array(f"{source}/{number}.zarr", mode="w", shape=1, dtype=object,
                                    object_codec=numcodecs.VLenUTF8(), compressor=numcodecs.Zlib(1))
            harness.write(os.path.join(array.store.path, "0"), claims)
        # On a busy machine eight of them one after the other take longer than the default.
        mounted = self.mount(source, "--cache-size", "32MiB", "--threads", "8", "--max-chunk-size", "256MiB",
                             "--timeout", "300")
        readers = [subprocess.Popen(["cat", mounted.join(f"{number}.zarr/data.jsonl")], stderr=subprocess.PIPE)
                   for number in range(8)]
        for reader in readers:
            self.assertIn(b"Input/output error", reader.communicate()[1])
        threads = 2 * status_field(mounted.process.pid, "Threads")
        self.assertLess(status_field(mounted.process.pid, "VmHWM") / 1024, 32 + 64 + threads)

    def test_broken_stores_take_no_more_memory_than_sound_ones(self):
        source = os.path.join(self.scratch, "source")
        make.make_all(source)
        mounted = self.mount(source, "--cache-size", "16MiB", "--threads", "4")
        harness.run("find", mounted.path, "-type", "f", "-exec", "cat", "{}", "+")
        threads = status_field(mounted.process.pid, "Threads")
        self.assertLessEqual(status_field(mounted.process.pid, "VmHWM") / 1024, 16 + 64 + 2 * threads)

    def resident_after(self, source, names):
        """MiB of the process, less 2 a thread, when all of them have been read."""
        mounted = self.mount(source, "--cache-size", "16MiB", "--threads", "2")
        for name in names:
            harness.read(mounted.join(name))
        return status_field(mounted.process.pid, "VmRSS") / 1024 - 2 * status_field(mounted.process.pid, "Threads")

    def test_large_attributes_of_many_groups_are_not_all_kept(self):
        source = os.path.join(self.scratch, "source")
        attributes = os.path.join(self.scratch, "attributes")
        harness.write(attributes, json.dumps({"x": [1] * 500_000}))
        harness.write(f"{source}/a.zarr/.zgroup", '{"zarr_format": 2}')
        for number in range(40):
            harness.write(f"{source}/a.zarr/{number}/.zgroup", '{"zarr_format": 2}')
            os.link(attributes, f"{source}/a.zarr/{number}/.zattrs")
        names = [f"a.zarr/{number}/.ndl.yaml" for number in range(40)]
        self.assertLessEqual(self.resident_after(source, names), 16 + 64 + 160)  # those of a few groups

    def test_open_folders_of_many_arrays_have_one_list(self):
        source = os.path.join(self.scratch, "source")
        references = {f"a{number}/.zgroup": '{"zarr_format": 2}' for number in range(50_000)}
        harness.write(f"{source}/a.json", json.dumps({".zgroup": '{"zarr_format": 2}', **references}))
        mounted = self.mount(source, "--cache-size", "16MiB", "--threads", "2")
        folders = [os.open(mounted.join("a.json"), os.O_RDONLY | os.O_DIRECTORY) for _ in range(40)]
        try:
            self.assertLessEqual(status_field(mounted.process.pid, "VmRSS") / 1024, 16 + 64)
            for folder in folders[::20]:
                self.assertEqual(len(os.listdir(folder)), 50_003)
        finally:
            for folder in folders:
                os.close(folder)

    def test_large_indexes_of_many_stores_are_not_all_kept(self):
        source = os.path.join(self.scratch, "source")
        references = {".zgroup": '{"zarr_format": 2}'}
        references.update({f"a/{number}": ["x", number, 1] for number in range(200_000)})
        harness.write(f"{source}/0.json", json.dumps({"version": 1, "refs": references}))
        for number in range(1, 40):
            os.link(f"{source}/0.json", f"{source}/{number}.json")
        self.assertLessEqual(self.resident_after(source, [f"{number}.json/.ndl.yaml" for number in range(40)]), 16 + 64 + 80)


class BombTest(harness.TestCase):
    """Metadata of some MiB that would take hundreds of MiB as objects. What does not fit is left out, and error.txt says so;
    the data, and stores beside them, are shown."""

    CACHE = 16  # MiB

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)
        self.array = zarr.open_array(f"{self.source}/sound.zarr", mode="w", shape=(64,), chunks=(16,), dtype="<i4",
                                     compressor=None)
        self.array[:] = np.arange(64)
        self.array.attrs["units"] = "K"

    def read_all(self, stores, *files):
        """Opens files of all stores at once. The mount takes at most the MiB of the promise."""
        mounted = self.mount(self.source, "--cache-size", f"{self.CACHE}MiB")
        readers = [subprocess.Popen(["cat", *(mounted.join(store, file) for file in files)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for store in stores]
        for reader in readers:
            reader.wait()
        self.assertEqual(harness.read(mounted.path, "sound.zarr/data.raw"), np.arange(64, dtype="<i4").tobytes())
        self.assertIn("units: K", harness.read(mounted.path, "sound.zarr/.ndl.yaml").decode())
        peak = status_field(mounted.process.pid, "VmHWM") / 1024 - 2 * status_field(mounted.process.pid, "Threads")
        self.assertLessEqual(peak, self.CACHE + 64)
        return mounted

    def copies(self, name, extension):
        names = [name + extension] + [f"{name}{number}{extension}" for number in range(12)]
        for other in names[1:]:
            os.link(f"{self.source}/{names[0]}", f"{self.source}/{other}")
        return names

    def test_json_of_zarr_v2(self):
        names = []
        for name, bomb in {"lists": "[" + "[]," * 500_000 + "0]", "objects": "[" + "{}," * 500_000 + "0]",
                           "numbers": "[" + "1," * 700_000 + "0]", "texts": "[" + '"",' * 500_000 + '""]'}.items():
            shutil.copytree(f"{self.source}/sound.zarr", f"{self.source}/{name}.zarr")
            harness.write(f"{self.source}/{name}.zarr/.zattrs", f'{{"units": "K", "bomb": {bomb}}}')
            names.append(f"{name}.zarr")
        mounted = self.read_all(names * 4, ".ndl.yaml", "data.raw", "error.txt")
        for name in names:
            self.assertIn('attribute "bomb" is not shown', harness.read(mounted.path, name, "error.txt").decode())
            self.assertIn("units: K", harness.read(mounted.path, name, ".ndl.yaml").decode())
            self.assertEqual(len(harness.read(mounted.path, name, "data.raw")), 256)

    def test_many_keys(self):
        shutil.copytree(f"{self.source}/sound.zarr", f"{self.source}/keys.zarr")
        harness.write(f"{self.source}/keys.zarr/.zattrs", "{" + ",".join(f'"{i:x}":1' for i in range(400_000)) + "}")
        mounted = self.read_all(["keys.zarr"] * 8, ".ndl.yaml", "data.raw")
        self.assertIn("members", harness.read(mounted.path, "keys.zarr/error.txt").decode())

    def test_zarr_v3_and_n5(self):
        bomb = "[" + "[]," * 500_000 + "0]"
        harness.write(f"{self.source}/three.zarr/zarr.json",
                      '{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1, "bomb": ' + bomb + "}}")
        harness.write(f"{self.source}/five.n5/attributes.json", '{"n5": "2.5.0", "a": 1, "bomb": ' + bomb + "}")
        mounted = self.read_all(["three.zarr", "five.n5"] * 6, ".ndl.yaml")
        for name in ("three.zarr", "five.n5"):
            self.assertIn('"bomb"', harness.read(mounted.path, name, "error.txt").decode())
            self.assertIn("a: 1", harness.read(mounted.path, name, ".ndl.yaml").decode())

    def test_netcdf_classic(self):
        def name_of(text):
            return struct.pack(">I", len(text)) + text + bytes(-len(text) % 4)
        header = b"CDF\1" + struct.pack(">III", 0, 10, 1) + name_of(b"x") + struct.pack(">III", 4, 12, 6)
        for number in range(5):
            header += name_of(b"a%d" % number) + struct.pack(">II", 1, 1_000_000) + bytes(1_000_000)
        header += name_of(b"units") + struct.pack(">II", 2, 1) + b"K\0\0\0"
        header += struct.pack(">II", 11, 1) + name_of(b"v") + struct.pack(">IIIIIII", 1, 0, 0, 0, 1, 4, 0)
        harness.write(f"{self.source}/c.nc", header + bytes(8))
        mounted = self.read_all(self.copies("c", ".nc"), ".ndl.yaml", "error.txt")
        self.assertRegex(harness.read(mounted.path, "c.nc/error.txt").decode(), 'attribute "a[0-4]" is not shown')
        self.assertIn("units: K", harness.read(mounted.path, "c.nc/.ndl.yaml").decode())

    def test_hdf5(self):
        with h5py.File(f"{self.source}/h.h5", "w", libver="latest") as file:
            data = file.create_dataset("x", data=np.arange(4))
            data.attrs["units"] = "K"
            for number in range(4):
                data.attrs.create(f"a{number}", np.zeros(1_000_000, "i1"))
            for number in range(20_000):
                file.attrs[f"b{number}"] = number
        mounted = self.read_all([name + "/x" for name in self.copies("h", ".h5")], ".ndl.yaml", "../.ndl.yaml", "data.raw")
        self.assertIn("is not shown", harness.read(mounted.path, "h.h5/x/error.txt").decode())
        self.assertIn("is not shown", harness.read(mounted.path, "h.h5/error.txt").decode())
        self.assertIn("units: K", harness.read(mounted.path, "h.h5/x/.ndl.yaml").decode())

    def test_headers_of_other_programs(self):
        raw = bytes(16)
        fits = [f"{card:<80}" for card in ("SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 16")]
        fits += [f"{f'K{number:07}= {number}':<80}" for number in range(60_000)] + [f"{'END':<80}"]
        harness.write(f"{self.source}/f.fits", "".join(fits).ljust(-(-len(fits) * 80 // 2880) * 2880).encode() + raw.ljust(2880, b"\0"))
        pairs = "".join(f"k{number}:={number}\n" for number in range(100_000))
        harness.write(f"{self.source}/n.nrrd", ("NRRD0004\ntype: uchar\ndimension: 1\nsizes: 16\nencoding: raw\n" + pairs + "\n").encode() + raw)
        lines = "".join(f"K{number} = {number}\n" for number in range(60_000))
        harness.write(f"{self.source}/m.mhd", "ObjectType = Image\nNDims = 1\nDimSize = 16\n" + lines
                      + "ElementType = MET_UCHAR\nElementDataFile = m.raw\n")
        harness.write(f"{self.source}/m.raw", raw)
        harness.write(f"{self.source}/e.hdr", "ENVI\nsamples = 16\nlines = 1\nbands = 1\ndata type = 1\nband names = {"
                      + "x," * 300_000 + "x}\n")
        harness.write(f"{self.source}/e", raw)
        levels = "\n".join(str(number) for number in range(100_000))
        harness.write(f"{self.source}/g.ctl", f"DSET ^e\nUNDEF -1\nXDEF 4 LINEAR 0 1\nYDEF 1 LINEAR 0 1\nZDEF 100000 LEVELS {levels}\n"
                      "TDEF 1 LINEAR 00Z01JAN2000 1DY\nVARS 1\nv 0 99 v\nENDVARS\n")
        nifti = bytearray(352)
        struct.pack_into("<i", nifti, 0, 348)
        struct.pack_into("<8h2h", nifti, 40, 1, 16, 1, 1, 1, 1, 1, 1, 0, 0)
        struct.pack_into("<2h", nifti, 70, 2, 8)
        struct.pack_into("<f", nifti, 108, 352 + (8 << 20))
        nifti[344:352] = b"n+1\0\1\0\0\0"
        harness.write(f"{self.source}/i.nii", bytes(nifti) + struct.pack("<ii", 8 << 20, 6) + bytes((8 << 20) - 8) + raw)
        fields = "[" + ", ".join(f"('f{number}', '|u1')" for number in range(40_000)) + "]"
        header = f"{{'descr': {fields}, 'fortran_order': False, 'shape': (1,), }}\n".encode()
        harness.write(f"{self.source}/p.npy", b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + bytes(40_000))
        references = {".zgroup": '{"zarr_format": 2}', **{f"a/{number}": "x" for number in range(30_000)}}
        harness.write(f"{self.source}/k.json", json.dumps({"version": 1, "refs": references}))
        stores = ["f.fits", "n.nrrd", "m.mhd", "e.hdr", "g.ctl", "i.nii", "p.npy", "k.json"]
        mounted = self.read_all(stores * 4, ".ndl.yaml", "error.txt")
        for store in ("e.hdr", "g.ctl", "i.nii", "k.json"):
            self.assertNotIn("error.txt", os.listdir(mounted.join(store)), store)
        for store in ("f.fits", "n.nrrd", "m.mhd", "p.npy"):
            self.assertIn("more than", harness.read(mounted.path, store, "error.txt").decode(), store)

    def test_documents(self):
        harness.write(f"{self.source}/arrays.ndl.yaml", "/:\n  ndarrays:\n" + "".join(
            f"    a{number}: {{shape: [1], type: int32, value: [1]}}\n" for number in range(30_000)))
        harness.write(f"{self.source}/values.ndl.yaml", "/: {ndarrays: {a: {shape: [750001], type: int8, value: ["
                      + "1," * 750_000 + "1]}}}\n")
        harness.write(f"{self.source}/attributes.ncml",
                      '<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">'
                      + "".join(f'<attribute name="a{number}" value="1"/>' for number in range(120_000)) + "</netcdf>")
        mounted = self.read_all(["arrays.ndl.yaml", "values.ndl.yaml", "attributes.ncml"] * 3, "error.txt")
        for name in ("arrays.ndl.yaml", "values.ndl.yaml", "attributes.ncml"):
            self.assertIn("more than", harness.read(mounted.path, name, "error.txt").decode())


if __name__ == "__main__":
    harness.main()
