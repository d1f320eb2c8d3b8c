# SPDX-License-Identifier: MIT
"""Changes in the source: what is opened afterwards is the new content, and never a mix."""
import errno
import os
import random
import shutil
import threading
import time

import harness
import numcodecs
import numpy as np
import zarr2 as zarr

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

    def test_store_that_was_quiet_for_long_goes_and_comes_back_as_another_format(self):
        folder = self.mounted.join("store.zarr")
        mark = self.path("store.zarr", ".zgroup")
        time.sleep(2.1)  # the coarsest clock that a file system may have
        self.assertIn("values", os.listdir(folder))
        self.assertNotIn(".zattrs", os.listdir(folder))
        self.settle()
        self.assertIn("index.html", os.listdir(folder))
        os.rename(mark, mark + ".off")
        self.settle()
        self.assertEqual(sorted(os.listdir(folder)), sorted(os.listdir(self.path("store.zarr"))))
        os.rename(mark + ".off", mark)
        self.settle()
        self.assertIn("index.html", os.listdir(folder))
        time.sleep(2.1)
        self.assertIn("index.html", os.listdir(folder))
        os.unlink(mark)
        harness.write(self.path("store.zarr", "zarr.json"), '{"zarr_format": 3, "node_type": "group", "attributes": {"v": 3}}')
        self.settle()
        self.assertIn("v: 3", harness.read(folder, ".ndl.yaml").decode())

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


class OpenFileTest(harness.SourceTestCase):
    """A file that is open while its array changes: what the source held at one time, or ESTALE."""
    CHUNKS, CHUNK = 32, 1 << 14  # elements of 4 bytes

    def setUp(self):
        super().setUp()
        self.write_array("a.zarr", "<i4", 1)
        self.mounted = self.mount(self.source, "--cache-size=0")  # so that nothing is loaded ahead

    def write_array(self, store, dtype, value, **options):
        array = zarr.open_group(self.path(store), mode="w").create_dataset(
            "v", shape=self.CHUNKS * self.CHUNK, chunks=self.CHUNK, dtype=dtype, fill_value=0, **options)
        array[...] = value
        return array

    def open_file(self, name, *group):
        for _ in range(100):  # an array that changes just now may be stale before it is open
            try:
                file = open(self.mounted.join("a.zarr", *group, name), "rb", buffering=0)
                break
            except OSError as error:
                self.assertEqual(error.errno, errno.ESTALE)
        self.addCleanup(file.close)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)  # the kernel reads nothing ahead
        return file.fileno()

    def read(self, file, chunk):
        """The values of a chunk of data.raw that is open, each once; None if it is stale."""
        try:
            return set(np.frombuffer(os.pread(file, self.CHUNK * 4, chunk * self.CHUNK * 4), "<i4"))
        except OSError as error:
            self.assertEqual(error.errno, errno.ESTALE)
            return None

    def check_noticed(self, file, what):
        """Looks that times of files do not ask for take a share of the time: each comes soon, also under load."""
        for chunk in range(20, self.CHUNKS):
            time.sleep(0.1)
            if self.read(file, chunk) is None:
                return
        self.fail(f"{what} is not noticed")

    def array(self):
        return zarr.open_group(self.path("a.zarr"), mode="r+")["v"]

    def test_array_of_another_type_in_its_place(self):
        for name, group in (("data.npy", ["v"]), ("data.nc", []), ("data.h5", []), ("data.raw", ["v"])):
            with self.subTest(name):
                self.write_array("a.zarr", "<i4", 1)
                time.sleep(REVALIDATE + 0.3)
                file = self.open_file(name, *group)
                self.write_array("a.zarr", "<f4", 1.5)
                with self.assertRaises(OSError, msg="a header of one array and values of another") as caught:
                    for offset in range(0, os.fstat(file).st_size, 1 << 16):
                        os.pread(file, 1 << 16, offset)
                self.assertEqual(caught.exception.errno, errno.ESTALE)

    def test_another_store_moved_to_its_place_with_older_files(self):
        self.write_array("b", "<i4", 2)
        time.sleep(REVALIDATE + 0.3)
        file = self.open_file("data.raw", "v")
        self.assertEqual(self.read(file, 0), {1})
        os.rename(self.path("a.zarr"), self.path("old"))
        os.rename(self.path("b"), self.path("a.zarr"))
        self.check_noticed(file, "another store in its place")

    def test_array_written_again_from_either_end(self):
        for order in (range(self.CHUNKS), reversed(range(self.CHUNKS))):
            file = self.open_file("data.raw", "v")
            before = self.read(file, 0)
            for chunk in range(1, 16):
                self.assertEqual(self.read(file, chunk), before)
            array, value = self.array(), next(iter(before)) + 1
            for chunk in order:
                array[chunk * self.CHUNK:(chunk + 1) * self.CHUNK] = value
            self.assertIsNone(self.read(file, 20))
            time.sleep(REVALIDATE + 0.3)

    def test_array_copied_to_its_place_with_its_old_times(self):
        self.write_array("b", "<i4", 2)
        for chunk in range(self.CHUNKS):
            os.utime(self.path("b", "v", str(chunk)), (10**9, 10**9))
        file = self.open_file("data.raw", "v")
        self.assertEqual(self.read(file, 0), {1})
        for chunk in range(self.CHUNKS):  # as rsync does
            os.rename(self.path("b", "v", str(chunk)), self.path("a.zarr", "v", str(chunk)))
        self.assertIsNone(self.read(file, 20))

    def test_chunk_that_is_empty_now(self):
        file = self.open_file("data.raw", "v")
        self.assertEqual(self.read(file, 0), {1})
        self.array()[: self.CHUNK] = 2
        for chunk in range(20, self.CHUNKS):
            os.unlink(self.path("a.zarr", "v", str(chunk)))
        self.check_noticed(file, "a chunk that has gone")

    def test_array_that_shrinks(self):
        file = self.open_file("data.raw", "v")
        self.assertEqual(self.read(file, 0), {1})
        self.array().resize(self.CHUNKS // 2 * self.CHUNK)
        self.check_noticed(file, "a chunk that has gone")

    def test_readers_beside_a_writer_see_what_there_was_at_one_time(self):
        """The writer writes version after version, chunk after chunk. At each moment the first chunks of its order have the
        latest version, and the others the one before: whoever read another mix read at two times."""
        for order in (range(self.CHUNKS), range(self.CHUNKS - 1, -1, -1)):
            written, over = [], threading.Event()

            def write():
                while not over.is_set():
                    written.append(len(written) + 2)
                    for chunk in order:
                        new = self.path("new")
                        harness.write(new, np.full(self.CHUNK, written[-1], "<i4").tobytes())
                        os.rename(new, self.path("a.zarr", "v", str(chunk)))
                        time.sleep(0.002)

            self.write_array("a.zarr", "<i4", 1, compressor=None)
            time.sleep(REVALIDATE + 0.3)
            writer = threading.Thread(target=write)
            writer.start()
            whole = reading = 0
            try:
                while whole < 10 or len(written) < 5:
                    reading += 1
                    chunks = list(order) if reading % 3 else random.Random(reading).sample(order, len(order))
                    file = self.open_file("data.raw", "v")
                    seen = {}
                    for chunk in chunks:
                        seen[chunk] = self.read(file, chunk)
                        if seen[chunk] is None:
                            break
                    if None in seen.values():
                        continue
                    whole += 1
                    self.assertTrue(all(len(values) == 1 for values in seen.values()))
                    versions = [seen[chunk].pop() for chunk in order]
                    self.assertEqual(versions, sorted(versions, reverse=True))
                    self.assertLessEqual(versions[0] - versions[-1], 1)
            finally:
                over.set()
                writer.join()

    def test_array_that_is_filled_while_it_is_read(self):
        for chunk in range(8, self.CHUNKS):
            os.unlink(self.path("a.zarr", "v", str(chunk)))
        file = self.open_file("data.raw", "v")
        for chunk in range(8):
            self.assertEqual(self.read(file, chunk), {1})
        array = self.array()
        for chunk in range(8, 16):
            array[chunk * self.CHUNK:(chunk + 1) * self.CHUNK] = chunk
            self.assertEqual(self.read(file, chunk), {chunk})


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
