# SPDX-License-Identifier: MIT
"""Changes in the source: what is opened afterwards is the new content, and never a mix."""
import errno
import os
import shutil
import time

import harness
import numcodecs
import numpy as np
import zarr

REVALIDATE = 1  # the default, seconds


class ChangesTest(harness.SourceTestCase):
    options = ()

    def settle(self):
        time.sleep(REVALIDATE + 0.3)

    def setUp(self):
        super().setUp()
        harness.write(self.path("plain.txt"), "first")
        np.save(self.path("array.npy"), np.arange(100_000, dtype=np.int32))
        self.group = zarr.open_group(self.path("store.zarr"), mode="w")
        self.array = self.group.create_dataset("values", shape=(8, 1 << 16), chunks=(1, 1 << 16), dtype="<f4",
                                               fill_value=-1, compressor=numcodecs.Zstd(1))
        self.array[...] = 1
        self.mounted = self.mount(self.source, *self.options)

    def values(self):
        return np.load(self.mounted.join("store.zarr", "values", "data.npy"))

    def test_rewritten_chunk(self):
        self.assertEqual(self.values().sum(), 8 << 16)
        self.array[3] = 5
        self.settle()
        np.testing.assert_array_equal(self.values()[:, 0], [1, 1, 1, 5, 1, 1, 1, 1])

    def test_rewritten_whole_array_again_and_again(self):
        for value in range(2, 6):
            self.array[...] = value
            self.settle()
            np.testing.assert_array_equal(self.values(), np.full((8, 1 << 16), value, "f4"))

    def test_chunk_that_appears_or_goes(self):
        os.unlink(self.path("store.zarr", "values", "2.0"))
        self.settle()
        self.assertEqual(self.values()[2, 0], -1)
        self.array[2] = 9
        self.settle()
        self.assertEqual(self.values()[2, 0], 9)

    def test_array_that_grows_and_shrinks(self):
        size = os.stat(self.mounted.join("store.zarr", "values", "data.raw")).st_size
        self.array.resize(12, 1 << 16)
        self.settle()
        self.assertEqual(os.stat(self.mounted.join("store.zarr", "values", "data.raw")).st_size, size // 8 * 12)
        self.assertEqual(self.values().shape, (12, 1 << 16))
        self.assertEqual(self.values()[11, 0], -1)
        self.array.resize(2, 1 << 16)
        self.settle()
        self.assertEqual(self.values().shape, (2, 1 << 16))

    def test_attributes_that_change(self):
        document = ("store.zarr", "values", ".ndl.yaml")
        self.assertNotIn(b"colour", harness.read(self.mounted.path, *document))
        self.array.attrs["colour"] = "green"
        self.settle()
        self.assertIn(b"colour: green", harness.read(self.mounted.path, *document))
        self.assertIn(b"colour: green", harness.read(self.mounted.path, "store.zarr", ".ndl.yaml"))
        self.assertEqual(os.getxattr(self.mounted.join("store.zarr", "values"), "user.attr.colour"), b"green")

    def test_array_that_appears_in_a_store_or_goes(self):
        self.assertFalse(os.path.exists(self.mounted.join("store.zarr", "other")))
        self.group.create_dataset("other", data=np.arange(5))
        self.settle()
        self.assertIn("other", os.listdir(self.mounted.join("store.zarr")))
        np.testing.assert_array_equal(np.load(self.mounted.join("store.zarr", "other", "data.npy")), np.arange(5))
        del self.group["other"]
        self.settle()
        self.assertNotIn("other", os.listdir(self.mounted.join("store.zarr")))
        self.assertFalse(os.path.exists(self.mounted.join("store.zarr", "other", "data.npy")))

    def test_npy_file_rewritten_in_place_and_replaced(self):
        name = self.mounted.join("array.npy", "data.npy")
        np.testing.assert_array_equal(np.load(name), np.arange(100_000))
        with open(self.path("array.npy"), "r+b") as file:
            np.save(file, np.arange(100_000, dtype=np.int32)[::-1])
        self.settle()
        np.testing.assert_array_equal(np.load(name), np.arange(100_000)[::-1])
        np.save(self.path("new.tmp.npy"), np.arange(10, dtype=np.float64))
        os.rename(self.path("new.tmp.npy"), self.path("array.npy"))
        self.settle()
        np.testing.assert_array_equal(np.load(name), np.arange(10.0))
        self.assertEqual(os.stat(name).st_mtime_ns, os.stat(self.path("array.npy")).st_mtime_ns)

    def test_plain_file_changed_appended_and_removed(self):
        self.assertEqual(harness.read(self.mounted.path, "plain.txt"), b"first")
        harness.write(self.path("plain.txt"), "other")
        self.settle()
        self.assertEqual(harness.read(self.mounted.path, "plain.txt"), b"other")
        with open(self.path("plain.txt"), "a") as file:
            file.write(" and more")
        self.settle()
        self.assertEqual(harness.read(self.mounted.path, "plain.txt"), b"other and more")
        os.unlink(self.path("plain.txt"))
        self.settle()
        self.assertFalse(os.path.exists(self.mounted.join("plain.txt")))

    def test_store_that_appears_goes_and_comes_back_as_something_else(self):
        path, seen = self.path("late.zarr"), self.mounted.join("late.zarr")
        self.assertFalse(os.path.exists(seen))
        zarr.save_array(path, np.arange(7))
        self.settle()
        np.testing.assert_array_equal(np.load(os.path.join(seen, "data.npy")), np.arange(7))
        shutil.rmtree(path)
        self.settle()
        self.assertFalse(os.path.exists(seen))
        harness.write(path, "now a plain file")
        self.settle()
        self.assertEqual(harness.read(seen), b"now a plain file")
        os.unlink(path)
        os.mkdir(path)
        harness.write(os.path.join(path, "inside.txt"), "now a plain folder")
        self.settle()
        self.assertEqual(os.listdir(seen), ["inside.txt"])

    def test_folder_that_becomes_a_store(self):
        harness.write(self.path("becoming.zarr", "readme.txt"), "nothing yet")
        self.assertEqual(os.listdir(self.mounted.join("becoming.zarr")), ["readme.txt"])
        zarr.open_group(self.path("becoming.zarr"), mode="a").create_dataset("x", data=np.arange(3))
        self.settle()
        self.assertIn("x", os.listdir(self.mounted.join("becoming.zarr")))
        np.testing.assert_array_equal(np.load(self.mounted.join("becoming.zarr", "x", "data.npy")), np.arange(3))

    def test_store_that_breaks_and_is_mended(self):
        path = self.path("store.zarr", "values", ".zarray")
        good = harness.read(path)
        harness.write(path, good[: len(good) // 2])
        self.settle()
        folder = self.mounted.join("store.zarr", "values")
        self.assertIn(b".zarray", harness.read(folder, "error.txt"))
        self.assertFalse(os.path.exists(os.path.join(folder, "data.npy")))
        harness.write(path, good)
        self.settle()
        self.assertEqual(self.values().sum(), 8 << 16)
        self.assertFalse(os.path.exists(os.path.join(folder, "error.txt")))

    def test_corrupt_chunk_that_is_mended(self):
        path = self.path("store.zarr", "values", "1.0")
        good = harness.read(path)
        harness.write(path, b"garbage")
        self.settle()
        with self.assertRaises(OSError) as caught:
            harness.read(self.mounted.path, "store.zarr", "values", "data.raw")
        self.assertEqual(caught.exception.errno, errno.EIO)
        harness.write(path, good)
        self.settle()
        self.assertEqual(self.values().sum(), 8 << 16)

    def test_file_that_stays_open_shows_one_version_of_a_chunk_or_is_stale(self):
        with open(self.mounted.join("store.zarr", "values", "data.raw"), "rb", buffering=0) as file:
            self.assertEqual(len(file.read(1 << 18)), 1 << 18)
            self.array[...] = 7
            self.settle()
            np.testing.assert_array_equal(self.values(), np.full((8, 1 << 16), 7, "f4"))
            for plane in range(8):
                try:
                    seen = os.pread(file.fileno(), 1 << 18, plane << 18)
                    # Of a chunk that was read ahead while it changed, it may be either; never of both.
                    self.assertIn(seen, [np.full(1 << 16, value, "f4").tobytes() for value in (1, 7)])
                except OSError as error:
                    self.assertEqual(error.errno, errno.ESTALE)


class CheckedAtEveryOpenTest(ChangesTest):
    """The same with --revalidate 0: nothing to wait for but the clock of the source."""
    options = ("--revalidate", "0")

    def settle(self):
        time.sleep(0.02)


class ImmutableTest(harness.TestCase):
    def test_reads_are_right_with_the_promise_that_nothing_changes(self):
        mounted = self.mount(harness.DATA, "--immutable")
        everything = harness.digests(mounted.path)
        self.assertEqual(harness.digests(mounted.path), everything)
        first = harness.digests_but_pages(mounted.path)
        with harness.Mount(harness.DATA) as checked:
            self.assertEqual(harness.digests_but_pages(checked.path), first)


if __name__ == "__main__":
    harness.main()
