# SPDX-License-Identifier: MIT
"""--decoded-cache: files that were read to their end are kept, and nobody ever sees wrong bytes of them.

NDLFS_KILLS says how often a daemon is killed while it keeps a file (2 unless set)."""
import json
import os
import random
import shutil
import sys
import time
import unittest
import zlib

import harness
import numpy as np
import old_kernel

ALICE, BOB = 5001, 5002
ROWS = 1024  # of 1 KiB each
WITHOUT = (sys.executable, "-B", old_kernel.__file__, "--without-passthrough")
KILLS = int(os.environ.get("NDLFS_KILLS", "2"))
IS_ROOT = os.geteuid() == 0


def write_array(folder, seed, chunk=64, with_metadata=True):
    """A Zarr v2 array of bytes, compressed, in chunks of `chunk` rows; returns its elements."""
    values = np.random.default_rng(seed).integers(0, 4, (ROWS, 1024), np.uint8)
    os.makedirs(folder, exist_ok=True)
    if with_metadata:
        harness.write(os.path.join(folder, ".zarray"), json.dumps({
            "zarr_format": 2, "shape": [ROWS, 1024], "chunks": [chunk, 1024], "dtype": "|u1", "order": "C",
            "fill_value": 0, "compressor": {"id": "zlib", "level": 1}, "filters": None}))
    for i in range(0, ROWS, chunk):
        harness.write(os.path.join(folder, f"{i // chunk}.0"), zlib.compress(values[i:i + chunk].tobytes(), 1))
    return values


class KeptCase(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.kept = os.path.join(self.scratch, "kept")

    def settle(self):
        """What was written just now is too young to be kept."""
        time.sleep(0.2)

    def keep(self, *options, prefix=()):
        return harness.Mount(self.source, "--decoded-cache", self.kept, *options, prefix=prefix)

    def counts(self, mounted):
        with open(mounted.join(".ndlfs/stats.json"), "rb") as file:
            statistics = json.load(file)
        return {name: statistics[f"kept_views_{name}_total"] for name in ("opened", "written", "damaged")}

    def wait_for(self, mounted, **expected):
        harness.wait_until(lambda: self.counts(mounted).items() >= expected.items(), f"{expected}")

    def files(self):
        """The kept files, without their seals, the largest first."""
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.kept) for name in names]
        return sorted((path for path in found if os.path.getsize(path) >= ROWS * 1024), key=os.path.getsize, reverse=True)

    def read_once(self, expected, name="a.zarr/data.raw"):
        """Reads a view in a mount of its own, which keeps it, unless one before has done so."""
        with self.keep() as mounted:
            self.assertTrue(harness.read(mounted.join(name)) == expected.tobytes())
            harness.wait_until(lambda: 1 in self.counts(mounted).values(), "keeping")

    def see(self, expected, name="a.zarr/data.raw", **counts):
        """Reads a view in a mount of its own; the counts are those before it is read a second time."""
        with self.keep() as mounted:
            with open(mounted.join(name), "rb") as file:
                self.wait_for(mounted, **counts)
                self.assertTrue(file.read() == expected.tobytes())


class KeepingTest(KeptCase):
    def test_later_mount_decodes_nothing(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        for name in ("data.raw", "data.npy"):
            with self.keep() as mounted:
                harness.read(mounted.join("a.zarr", name))
                self.wait_for(mounted, written=1)
        for prefix in ((), WITHOUT):
            with self.subTest(prefix), self.keep(prefix=prefix) as mounted:
                self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
                np.testing.assert_array_equal(np.load(mounted.join("a.zarr/data.npy"), mmap_mode="r"), values)
                self.assertGreaterEqual(self.counts(mounted)["opened"], 2)
                with open(mounted.join(".ndlfs/stats.json"), "rb") as file:
                    self.assertEqual(json.load(file)["cache_misses_total"], 0)

    def test_pieces_in_any_order_of_several_open_files(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep() as mounted:
            path = mounted.join("a.zarr/data.raw")
            with open(path, "rb", buffering=0) as first, open(path, "rb", buffering=0) as second:
                size = values.size
                for offset in reversed(range(0, size, 70_001)):
                    file = first if offset % 2 else second
                    self.assertEqual(os.pread(file.fileno(), 70_001, offset), values.tobytes()[offset:offset + 70_001])
            self.wait_for(mounted, written=1)
        self.see(values, opened=1)

    def test_part_is_not_kept(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep() as mounted, open(mounted.join("a.zarr/data.raw"), "rb", buffering=0) as file:
            file.read(4096)
            self.assertEqual(self.counts(mounted)["written"], 0)
        self.assertEqual(self.files(), [])
        self.see(values, opened=0)

    def test_views_of_groups_are_kept(self):
        harness.write(self.path("g.zarr/.zgroup"), '{"zarr_format": 2}')
        write_array(self.path("g.zarr/x"), 1)
        write_array(self.path("g.zarr/y"), 2)
        self.settle()
        with harness.Mount(self.source) as mounted:
            expected = harness.read(mounted.join("g.zarr/data.nc"))
        self.read_once(np.frombuffer(expected, np.uint8), "g.zarr/data.nc")
        self.see(np.frombuffer(expected, np.uint8), "g.zarr/data.nc", opened=1)
        write_array(self.path("g.zarr/y"), 3)
        with harness.Mount(self.source) as mounted:
            expected = harness.read(mounted.join("g.zarr/data.nc"))
        self.see(np.frombuffer(expected, np.uint8), "g.zarr/data.nc", opened=0)

    def test_two_daemons_keep_the_same_view(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep() as one, self.keep() as other:
            with open(one.join("a.zarr/data.raw"), "rb") as first, open(other.join("a.zarr/data.raw"), "rb") as second:
                self.assertTrue(first.read() == second.read() == values.tobytes())
            self.wait_for(one, written=1)
            self.wait_for(other, written=1)
        self.assertEqual(len(self.files()), 1)
        for _ in range(2):
            self.see(values)

    def test_the_least_used_go_first(self):
        arrays = [write_array(self.path(f"{i}.zarr"), i) for i in range(4)]
        self.settle()
        with self.keep("--decoded-cache-size", "2500KiB") as mounted:
            for i, values in enumerate(arrays):
                self.assertTrue(harness.read(mounted.join(f"{i}.zarr/data.raw")) == values.tobytes())
                self.wait_for(mounted, written=i + 1)
            self.assertLessEqual(len(self.files()), 3)

    def test_beginning_of_a_file_removes_no_other(self):
        arrays = [write_array(self.path(f"{i}.zarr"), i) for i in range(4)]
        self.settle()
        with self.keep("--decoded-cache-size", "3500KiB") as mounted:
            for i, values in enumerate(arrays[:3]):
                self.assertTrue(harness.read(mounted.join(f"{i}.zarr/data.raw")) == values.tobytes())
                self.wait_for(mounted, written=i + 1)
            kept = self.files()
            self.assertEqual(len(kept), 3)
            with open(mounted.join("3.zarr/data.raw"), "rb", buffering=0) as file:
                self.assertEqual(file.read(4096), arrays[3].tobytes()[:4096])
                self.assertEqual(self.files(), kept, "nobody knows whether the rest will be read")
            # Pages of data.raw that the kernel has do not come to ndlfs again.
            self.assertTrue(harness.read(mounted.join("3.zarr/data.npy"))[-arrays[3].size:] == arrays[3].tobytes())
            self.wait_for(mounted, written=4)
            self.assertLessEqual(sum(map(os.path.getsize, self.files())), 3500 << 10)


class WarmTest(KeptCase):
    def warm(self, *paths):
        return harness.run(harness.BINARY, "warm", "--decoded", *paths)

    def state(self, mounted, name):
        return os.getxattr(mounted.join(name), "user.ndl.kept").decode()

    def test_files_are_kept_when_the_command_ends(self):
        harness.write(self.path("g.zarr/.zgroup"), '{"zarr_format": 2}')
        arrays = {name: write_array(self.path("g.zarr", name), seed) for seed, name in enumerate("xyz")}
        np.save(self.path("b.npy"), np.arange(50_000))
        harness.write(self.path("plain.txt"), "x" * 100_000)
        self.settle()
        with self.keep("--views", "raw,nc") as mounted:
            self.assertEqual(self.state(mounted, "g.zarr/x/data.raw"), "no")
            with open(mounted.join("g.zarr/x/data.raw"), "rb") as file:
                file.read()  # the kernel has its pages
            self.wait_for(mounted, written=1)
            result = self.warm(mounted.join("g.zarr"), mounted.join("g.zarr/x/data.npy"), mounted.join("b.npy/data.npy"),
                               mounted.join("plain.txt"))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            # Of y and z data.raw, data.nc, and x/data.npy.
            self.assertRegex(result.stdout, r"^4 files kept, 1 kept before, \d+ need no decoding; ")
            self.assertEqual(self.state(mounted, "g.zarr/y/data.raw"), "yes")
            self.assertEqual(self.state(mounted, "g.zarr/data.nc"), "yes")
            self.assertEqual(self.state(mounted, "b.npy/data.npy"), "never")
            again = self.warm(mounted.path)
            self.assertRegex(again.stdout, r"^\d files kept, 4 kept before, ")
            self.assertEqual(again.returncode, 0)
        for name, values in arrays.items():
            self.see(values, f"g.zarr/{name}/data.raw", opened=1)

    def test_files_that_cannot_be_kept_or_read(self):
        write_array(self.path("a.zarr"), 1)
        write_array(self.path("bad.zarr"), 1)
        harness.write(self.path("bad.zarr/3.0"), b"no zlib")
        self.settle()
        with self.keep("--decoded-cache-size", "1MiB") as mounted:
            result = self.warm(mounted.join("a.zarr/data.raw"))
            self.assertEqual(result.returncode, 4)
            self.assertIn("data.raw: not kept", result.stderr)
            self.assertIn("1 not kept", result.stdout)
            result = self.warm(mounted.join("bad.zarr/data.raw"))
            self.assertEqual(result.returncode, 1)
            self.assertIn("Input/output error", result.stderr)
            result = self.warm(mounted.join("missing"))
            self.assertEqual(result.returncode, 3)

    def test_paths_that_are_in_no_such_mount(self):
        write_array(self.path("a.zarr"), 1)
        with harness.Mount(self.source) as mounted:
            for path, reason in ((mounted.join("a.zarr/data.raw"), "keeps no files; mount it with --decoded-cache DIR"),
                                 (self.path("a.zarr"), "not in a mount of ndlfs")):
                result = self.warm(path)
                self.assertEqual(result.returncode, 1)
                self.assertIn(reason, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)
            with self.assertRaises(OSError):
                self.state(mounted, "a.zarr/data.raw")


class ChangesTest(KeptCase):
    def test_source_that_changed_is_shown(self):
        old = write_array(self.path("a.zarr"), 1)
        self.settle()
        self.read_once(old)
        new = write_array(self.path("a.zarr"), 2)
        self.see(new, opened=0)
        self.settle()
        self.read_once(new)
        os.remove(self.path("a.zarr/3.0"))
        new[3 * 64:4 * 64] = 0
        self.see(new, opened=0)

    def test_chunk_that_changes_after_its_view_was_read_from_a_kept_file(self):
        """The mount has decoded nothing: only the kept file tells which chunks the view is made of."""
        for store, prefix in (("a.zarr", ()), ("b.zarr", WITHOUT)):
            with self.subTest(prefix):
                self.change_a_chunk(store, prefix)

    def change_a_chunk(self, store, prefix):
        values = write_array(self.path(store, "x"), 1)
        harness.write(self.path(store, ".zgroup"), '{"zarr_format": 2}')
        self.settle()
        names = (f"{store}/x/data.raw", f"{store}/x/data.npy", f"{store}/data.nc")
        with self.keep() as mounted:
            for name in names:
                harness.read(mounted.join(name))
            self.wait_for(mounted, written=3)
        with self.keep("--revalidate", "0.1", prefix=prefix) as mounted:
            before = [harness.read(mounted.join(name)) for name in names]
            self.wait_for(mounted, opened=3)
            values[64:128] ^= 1
            with open(mounted.join(names[0]), "rb") as held:
                harness.write(self.path(store, "x/1.0"), zlib.compress(values[64:128].tobytes(), 1))
                time.sleep(0.3)
                self.assertTrue(harness.read(mounted.join(names[0])) == values.tobytes())
                self.assertTrue(held.read() == before[0], "an open file stays what it was")
            np.testing.assert_array_equal(np.load(mounted.join(names[1])), values)
            self.assertNotEqual(harness.read(mounted.join(names[2])), before[2])

    def test_chunk_that_changes_under_a_view_after_a_part_was_read_from_a_kept_file(self):
        """The part tells of some chunks only; the whole view has more of them."""
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        names = (f"a.zarr/data[0:{ROWS // 2}].raw", "a.zarr/data.raw")
        with self.keep() as mounted:
            for name in names:
                harness.read(mounted.join(name))
            self.wait_for(mounted, written=2)
        with self.keep("--revalidate", "0.1", prefix=WITHOUT) as mounted:
            for name in names:
                harness.read(mounted.join(name))
            self.wait_for(mounted, opened=2)
            before = os.stat(mounted.join(names[1])).st_mtime_ns
            values[-64:] ^= 1
            harness.write(self.path(f"a.zarr/{ROWS // 64 - 1}.0"), zlib.compress(values[-64:].tobytes(), 1))
            time.sleep(0.3)
            self.assertTrue(harness.read(mounted.join(names[1])) == values.tobytes())
            self.assertGreater(os.stat(mounted.join(names[1])).st_mtime_ns, before)

    def test_metadata_of_a_part_that_changed_are_shown(self):
        harness.write(self.path("g.zarr/.zgroup"), '{"zarr_format": 2}')
        for name in ("x", "y"):
            write_array(self.path("g.zarr", name), 1)
        for attributes in ({"units": "m"}, {"units": "K"}, {}):
            harness.write(self.path("g.zarr/y/.zattrs"), json.dumps(attributes))
            self.settle()
            with harness.Mount(self.source) as mounted:
                expected = np.frombuffer(harness.read(mounted.join("g.zarr/data.nc")), np.uint8)
            self.see(expected, "g.zarr/data.nc", opened=0)
            self.see(expected, "g.zarr/data.nc", opened=1)

    def test_kept_changed_and_kept_again(self):
        write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep("--revalidate", "0.1") as mounted:
            for seed in range(2, 5):
                harness.read(mounted.join("a.zarr/data.raw"))
                self.wait_for(mounted, written=seed - 1)
                values = write_array(self.path("a.zarr"), seed, with_metadata=False)
                time.sleep(0.3)
                self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
                self.wait_for(mounted, written=seed)
        self.see(values, opened=1, damaged=0)
        for seed in range(5, 8):
            values = write_array(self.path("a.zarr"), seed, with_metadata=False)
            self.settle()
            with self.keep() as mounted:
                self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
                self.wait_for(mounted, written=1, damaged=0)
            self.see(values, opened=1, damaged=0)
        self.assertEqual(len(self.files()), 1)

    def test_source_that_changes_in_the_course_is_not_kept(self):
        write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep() as mounted:
            try:
                with open(mounted.join("a.zarr/data.raw"), "rb", buffering=0) as file:
                    file.read(100_000)
                    new = write_array(self.path("a.zarr"), 2)
                    file.read()
            except OSError:
                pass
        self.see(new, opened=0)

    def test_what_is_young_is_not_kept(self):
        values = write_array(self.path("a.zarr"), 1)
        os.utime(self.path("a.zarr/0.0"), (time.time() + 1000, time.time() + 1000))
        with self.keep() as mounted:
            self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
        self.assertEqual(self.files(), [])


class DamageTest(KeptCase):
    def setUp(self):
        super().setUp()
        self.values = write_array(self.path("a.zarr"), 1)
        self.settle()
        self.read_once(self.values)
        (self.file,) = self.files()
        os.chmod(self.file, 0o600)

    def assert_mended(self):
        self.see(self.values, opened=0)
        self.read_again()
        self.see(self.values, opened=1)

    def read_again(self):
        """Until it is kept: a check in the background may come first."""
        def is_kept():
            with self.keep() as mounted, open(mounted.join("a.zarr/data.raw"), "rb") as file:
                self.assertTrue(file.read() == self.values.tobytes())
                return self.counts(mounted)["opened"] == 1
        harness.wait_until(is_kept, "keeping")

    def test_byte_is_exchanged(self):
        with open(self.file, "r+b") as file:
            file.seek(500_000)
            byte = file.read(1)
            file.seek(500_000)
            file.write(bytes([byte[0] ^ 1]))
        self.assert_mended()

    def test_byte_is_exchanged_and_the_time_put_back(self):
        before = os.stat(self.file)
        with open(self.file, "r+b") as file:
            file.write(b"\xff")
        os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assert_mended()

    def test_file_is_cut(self):
        os.truncate(self.file, 500_000)
        self.assert_mended()

    def test_file_is_longer(self):
        with open(self.file, "ab") as file:
            file.write(b"more")
        self.assert_mended()

    def test_file_is_another_one(self):
        shutil.copy(self.file, self.file + ".copy")
        with open(self.file + ".copy", "r+b") as file:
            file.write(b"\xff\xfe")
        os.replace(self.file + ".copy", self.file)
        self.assert_mended()

    def test_copy_is_as_good(self):
        shutil.copy(self.file, self.file + ".copy")
        os.replace(self.file + ".copy", self.file)
        with self.keep() as mounted:
            harness.read(mounted.join("a.zarr/data.raw"))
        self.read_again()

    def test_file_is_a_link_a_fifo_or_a_folder(self):
        secret = os.path.join(self.scratch, "secret")
        shutil.copy(self.file, secret)
        for make in (lambda: os.symlink(secret, self.file), lambda: os.mkfifo(self.file), lambda: os.mkdir(self.file)):
            os.remove(self.file)
            make()
            self.see(self.values, opened=0)
            if os.path.isdir(self.file):
                os.rmdir(self.file)
            elif not os.path.lexists(self.file):
                harness.write(self.file, "")

    @unittest.skipUnless(IS_ROOT, "only root gives files away")
    def test_file_belongs_to_another_user(self):
        os.chown(self.file, BOB, BOB)
        self.assert_mended()

    def test_file_is_deleted_while_it_is_open(self):
        self.read_again()
        with self.keep() as mounted, open(mounted.join("a.zarr/data.raw"), "rb") as file:
            self.assertEqual(self.counts(mounted)["opened"], 1)
            shutil.rmtree(self.kept)
            self.assertTrue(file.read() == self.values.tobytes())
            with open(mounted.join("a.zarr/data.raw"), "rb") as again:
                self.assertTrue(again.read() == self.values.tobytes())

    def test_seals_are_damaged_or_gone(self):
        for damage in (lambda path: os.truncate(path, 20), os.remove):
            for folder, _, names in os.walk(self.kept):
                for name in names:
                    if os.path.getsize(os.path.join(folder, name)) < ROWS * 1024 and name != "lock":
                        damage(os.path.join(folder, name))
            self.see(self.values, opened=0)
            self.read_again()


class PlacesTest(KeptCase):
    def test_quota_of_one_byte(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        with self.keep("--decoded-cache-size", "1") as mounted:
            self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
            self.assertEqual(self.counts(mounted)["written"], 0)
            self.assertIn("--decoded-cache-size 1: too small to keep anything", mounted.log())
        self.assertEqual(self.files(), [])

    def test_no_quota_is_a_mistake(self):
        result = harness.run(harness.BINARY, "mount", self.source, self.path("..", "m"), "--decoded-cache", self.kept,
                             "--decoded-cache-size", "0")
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, "^ndlfs: --decoded-cache-size: .*nothing would be kept; leave --decoded-cache out")
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(self.kept))

    @unittest.skipUnless(IS_ROOT, "only root makes a small disk")
    def test_full_disk(self):
        values = write_array(self.path("a.zarr"), 1)
        self.settle()
        os.mkdir(self.kept)
        self.run_ok("mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "none", self.kept)
        try:
            with self.keep() as mounted:
                self.assertTrue(harness.read(mounted.join("a.zarr/data.raw")) == values.tobytes())
                harness.wait_until(lambda: "nothing new is kept" in mounted.log(), "the log")
                self.assertTrue(harness.read(mounted.join("a.zarr/data.npy"))[-values.size:] == values.tobytes())
                self.assertEqual(self.counts(mounted)["written"], 0)
            self.assertEqual(self.files(), [])
        finally:
            harness.unmount(self.kept)

    def test_directory_must_be_private(self):
        os.mkdir(self.kept)
        os.chmod(self.kept, 0o755)
        os.mkdir(os.path.join(self.scratch, "mnt"))
        result = harness.run(harness.BINARY, "mount", self.source, os.path.join(self.scratch, "mnt"), "--decoded-cache",
                             self.kept)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("--decoded-cache", result.stderr)
        self.assertIn("chmod 700", result.stderr)

    def test_directory_must_be_outside_of_the_source(self):
        write_array(self.path("a.zarr"), 1)
        place = os.path.join(self.scratch, "mnt")
        os.mkdir(place)
        os.symlink(self.source, os.path.join(self.scratch, "link"))
        for option in ("--decoded-cache", "--block-cache"):
            for directory in (self.path("kept"), self.source, os.path.join(self.scratch, "link/kept"),
                              os.path.join(place, "../source/a.zarr/../new/kept")):
                with self.subTest(directory, option=option):
                    result = harness.run(harness.BINARY, "mount", self.source, place, option, directory)
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(f"{option}: ", result.stderr)
                    self.assertIn("is inside the source", result.stderr)
                    self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertEqual(os.listdir(self.source), ["a.zarr"])
        result = harness.run(harness.BINARY, "warm", self.source, "--block-cache", self.path("kept"))
        self.assertEqual((result.returncode, "is inside the source" in result.stderr), (1, True))
        # Files of --cache-dir have no names, and of one file nothing else is shown.
        os.mkdir(self.path("spilled"))
        with harness.Mount(self.source, "--cache-dir", self.path("spilled")) as mounted:
            harness.read(mounted.join("a.zarr/data.raw"))
            self.assertEqual(os.listdir(mounted.join("spilled")), [])
        np.save(self.path("b.npy"), np.arange(20_000))
        with harness.Mount(self.path("b.npy"), "--decoded-cache", self.path("kept")) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("data.npy")), np.arange(20_000))

    @unittest.skipUnless(IS_ROOT, "only root can be several users")
    def test_users_of_a_shared_mount_have_files_of_their_own(self):
        values = write_array(self.path("a.zarr"), 1)
        os.chown(self.path("a.zarr/0.0"), ALICE, ALICE)
        os.chmod(self.path("a.zarr/0.0"), 0o600)
        self.settle()
        def read_as(uid):
            return harness.run("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "cat",
                               mounted.join("a.zarr/data.raw"))
        with self.keep("--allow-other") as mounted:
            self.assertEqual(read_as(ALICE).returncode, 0)
            self.wait_for(mounted, written=1)
            self.assertEqual(read_as(ALICE).returncode, 0)
            self.assertEqual(self.counts(mounted)["opened"], 1)
            self.assertNotEqual(read_as(BOB).returncode, 0)
            self.assertEqual(self.counts(mounted)["opened"], 1)
        del values


class KilledTest(KeptCase):
    def test_killed_while_keeping(self):
        arrays = [write_array(self.path(f"{i}.zarr"), i) for i in range(4)]
        self.settle()
        moments = random.Random(4)
        for _ in range(KILLS):
            mounted = self.keep()
            mounted.__enter__()
            reader = os.fork()
            if reader == 0:
                try:
                    for i in range(4):
                        harness.read(mounted.join(f"{i}.zarr/data.raw"))
                finally:
                    os._exit(0)
            time.sleep(moments.random() * 0.1)
            mounted.process.kill()
            os.waitpid(reader, 0)
            mounted._kill()
            with self.keep() as again:
                for i, values in enumerate(arrays):
                    self.assertTrue(harness.read(again.join(f"{i}.zarr/data.raw")) == values.tobytes())
                self.assertEqual(self.counts(again)["damaged"], 0)


if __name__ == "__main__":
    harness.main()
