# SPDX-License-Identifier: MIT
"""A writer and readers at once: who opens a file sees one version of each chunk, and the new one soon after it was written;
never a part of both in a page, and never another size than it has."""
import errno
import os
import shutil
import threading
import time

import harness
import numcodecs
import numpy as np
import zarr2 as zarr

PASSING = {errno.ESTALE, errno.ENOENT, errno.ENOTDIR}
SECONDS = float(os.environ.get("NDLFS_WRITER_SECONDS", "6"))
ENOUGH = 20  # reads that got through
CHUNK = 32 * 1024  # elements
CHUNKS = 8


class WriterTest(harness.SourceTestCase):
    options = ("--revalidate", "0")
    passing = PASSING

    def setUp(self):
        super().setUp()
        self.stop = threading.Event()
        self.wrong = []
        self.opened = self.passed = 0

    def replace(self, path, content):
        """In one step, as careful writers do."""
        harness.write(path + ".part~", content)
        os.rename(path + ".part~", path)

    def run_with(self, write, read, readers=4):
        """`write(n)` again and again while readers call `read()`."""
        mounted = self.mounted = self.mount(self.source, *self.options)

        def writer():
            number = 0
            while not self.stop.is_set():
                number += 1
                write(number)
                time.sleep(0.002)

        def reader():
            while not self.stop.is_set():
                try:
                    read(mounted)
                    self.opened += 1
                except OSError as error:
                    self.passed += 1
                    if error.errno not in self.passing:
                        self.wrong.append(repr(error))
                except AssertionError as error:
                    self.wrong.append(str(error)[:500])

        threads = [threading.Thread(target=writer), *(threading.Thread(target=reader) for _ in range(readers))]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        try:
            harness.wait_until(lambda: self.opened > ENOUGH or self.wrong, f"{ENOUGH} reads that got through")
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(self.wrong[:5], [], mounted.log())
        self.assertGreater(self.opened, ENOUGH, f"{self.passed} did not get through")

    def make_array(self, name, compressor, chunks=CHUNKS):
        array = zarr.open_array(self.path(name), mode="w", shape=(chunks * CHUNK,), chunks=(CHUNK,), dtype="<u4",
                                compressor=compressor, fill_value=0)
        array[...] = 1
        return array

    def assert_whole_chunks(self, values):
        for chunk in np.split(values, len(values) // CHUNK):
            self.assertEqual(chunk.min(), chunk.max(), "two versions in one chunk")

    def read_values(self, mounted, name):
        path = mounted.join(name, "data.raw")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read()
        self.assertEqual(len(content), size)
        return np.frombuffer(content, "<u4")

    def check_rewritten(self, compressor, write):
        array = self.make_array("a.zarr", compressor)
        encoded = {}

        def rewrite(number):
            value = number % 250 + 1
            if value not in encoded:
                plain = np.full(CHUNK, value, "<u4").tobytes()
                encoded[value] = plain if compressor is None else bytes(compressor.encode(plain))
            write(self.path("a.zarr", str(number % CHUNKS)), encoded[value])

        self.run_with(rewrite, lambda mounted: self.assert_whole_chunks(self.read_values(mounted, "a.zarr")))
        array[...] = 77
        time.sleep(0.05)
        np.testing.assert_array_equal(self.read_values(self.mounted, "a.zarr"), np.full(CHUNKS * CHUNK, 77))

    def test_chunks_that_are_replaced(self):
        self.check_rewritten(numcodecs.Zstd(1), self.replace)

    def test_plain_chunks_that_are_replaced(self):
        self.check_rewritten(None, self.replace)

    def test_chunks_that_are_written_in_place(self):
        """Half of a chunk is not a chunk: whoever meets one is told that it is stale or, when nothing more seems to be
        coming, that it is corrupt."""
        self.passing = PASSING | {errno.EIO}
        self.check_rewritten(numcodecs.Zlib(1), lambda path, content: harness.write(path, content))

    def test_array_that_grows(self):
        array = self.make_array("a.zarr", numcodecs.Zstd(1), chunks=1)
        sizes = []

        def grow(number):
            # The array waits for its readers: on a busy machine they would see nothing but its last size.
            chunks = array.shape[0] // CHUNK
            if number % 10 == 0 and chunks < 64 and len(sizes) >= chunks:
                array.append(np.full(CHUNK, number, "<u4"))

        def read(mounted):
            values = self.read_values(mounted, "a.zarr")
            self.assertEqual(len(values) % CHUNK, 0)
            self.assertTrue((values[:CHUNK] == 1).all())
            sizes.append(len(values))

        self.run_with(grow, read, readers=2)
        time.sleep(0.05)
        self.assertEqual(len(self.read_values(self.mounted, "a.zarr")), array.shape[0])
        self.assertGreater(len(set(sizes)), 3)

    def test_store_that_is_replaced_and_deleted(self):
        """By another one of another shape: a reader sees one of them, or none."""
        for number in range(2):
            self.make_array(f"next{number}.zarr", None if number else numcodecs.Zstd(1), chunks=number + 1)
            zarr.open_array(self.path(f"next{number}.zarr"))[...] = number + 1

        def exchange(number):
            new = self.path(f"copy{number}~")
            shutil.copytree(self.path(f"next{number % 2}.zarr"), new)
            if os.path.exists(self.path("a.zarr")):
                os.rename(self.path("a.zarr"), self.path(f"old{number}~"))
            os.rename(new, self.path("a.zarr"))
            shutil.rmtree(self.path(f"old{number}~"), ignore_errors=True)

        def read(mounted):
            values = self.read_values(mounted, "a.zarr")
            self.assertIn(len(values), (CHUNK, 2 * CHUNK))
            number = len(values) // CHUNK
            # Chunks that are deleted with their store may be met as absent.
            self.assertLessEqual(set(np.unique(values)), {number, 0})

        self.run_with(exchange, read)

    def test_store_that_is_half_written(self):
        """Metadata first, then chunk after chunk: what is not there yet is the fill value."""
        def build(number):
            path = self.path(f"s{number % 5}.zarr")
            shutil.rmtree(path, ignore_errors=True)
            self.make_array(f"s{number % 5}.zarr", numcodecs.Zstd(1))

        def read(mounted):
            for number in range(5):
                values = self.read_values(mounted, f"s{number}.zarr")
                self.assertEqual(len(values), CHUNKS * CHUNK)
                self.assert_whole_chunks(values)
                self.assertLessEqual(set(np.unique(values)), {0, 1})

        for number in range(5):
            build(number)
        self.run_with(build, read, readers=2)


class WriterOfFilesTest(WriterTest):
    """Stores that are one file."""
    test_chunks_that_are_replaced = test_plain_chunks_that_are_replaced = None
    test_chunks_that_are_written_in_place = test_array_that_grows = None
    test_store_that_is_replaced_and_deleted = test_store_that_is_half_written = None

    def test_npy_that_is_replaced_by_another_length(self):
        def exchange(number):
            np.save(self.path("new~.npy"), np.full(CHUNK * (number % 3 + 1), number, "<u4"))
            os.rename(self.path("new~.npy"), self.path("a.npy"))

        def read(mounted):
            with open(mounted.join("a.npy", "data.npy"), "rb") as file:
                values = np.load(file)
            self.assertEqual(values.min(), values.max())
            self.assertEqual(len(values), CHUNK * (int(values[0]) % 3 + 1))

        exchange(1)
        self.run_with(exchange, read)


if __name__ == "__main__":
    harness.main()
