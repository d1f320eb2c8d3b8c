# SPDX-License-Identifier: MIT
"""Many readers at once."""
import bz2
import os
import subprocess
import threading

import harness
import numcodecs
import numpy as np
import zarr2 as zarr


class WalkTest(harness.TestCase):
    def test_two_walks_at_once_read_everything(self):
        mounted = self.mount(harness.DATA, "--cache-size", "1MiB")
        command = ["find", mounted.path, "-type", "f", "-not", "-path", "*/.ndlfs/*", "-exec", "sha256sum", "{}", "+"]
        walks = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) for _ in range(2)]
        outputs = [walk.communicate(timeout=harness.DEADLINE * 2) for walk in walks]
        self.assertEqual([walk.returncode for walk in walks], [0, 0], outputs)
        self.assertEqual(sorted(outputs[0][0].splitlines()), sorted(outputs[1][0].splitlines()))
        self.assertEqual(outputs[0][1] + outputs[1][1], "")


class SlowReadsTest(harness.TestCase):
    def test_reads_that_take_long_keep_nobody_from_looking_around(self):
        source = os.path.join(self.scratch, "source")
        size = 256 << 20
        slow = bz2.compress(bytes(size))
        for number in range(6):
            array = zarr.open_array(f"{source}/slow-{number}.zarr", mode="w", shape=size, chunks=size, dtype="u1",
                                    compressor=numcodecs.BZ2())
            harness.write(os.path.join(array.store.path, "0"), slow)
            harness.write(f"{source}/folder/{number}", "")
        mounted = self.mount(source, "--threads", "2", "--allow-other", "--timeout", "600")
        readers = [subprocess.Popen(["head", "-c1", mounted.join(f"slow-{number}.zarr/data.raw")],
                                    stdout=subprocess.PIPE) for number in range(6)]
        try:
            harness.wait_until(lambda: self.is_busy(mounted), "reading")
            self.assertEqual(len(os.listdir(mounted.join("folder"))), 6)
            for number in range(6):
                os.lstat(mounted.join(f"slow-{number}.zarr", "data.npy"))
            # Behind the reads in the queue, a look would have waited for all of them.
            self.assertIn(None, [reader.poll() for reader in readers], "readers that still wait")
        finally:
            contents = [reader.communicate()[0] for reader in readers]
        self.assertEqual(contents, [b"\0"] * 6)

    @staticmethod
    def is_busy(mounted):
        """One decodes; the others wait for memory, or for their turn."""
        folder = f"/proc/{mounted.process.pid}/task"
        states = [harness.read(folder, task, "stat").rsplit(b")", 1)[1].split()[0] for task in os.listdir(folder)]
        return b"R" in states


class ReadersTest(harness.SourceTestCase):
    ROUNDS = 300

    def setUp(self):
        super().setUp()
        self.array = np.random.default_rng(3).normal(size=(64, 128, 256)).astype("f4")
        for name, compressor in {"lz4": numcodecs.Blosc("lz4"), "zstd": numcodecs.Zstd(1), "plain": None}.items():
            stored = zarr.open_array(f"{self.source}/{name}.zarr", mode="w", shape=self.array.shape,
                                     chunks=(16, 64, 128), dtype="<f4", compressor=compressor)
            stored[...] = self.array
        np.save(f"{self.source}/file.npy", self.array)

    def test_readers_at_random_offsets_see_right_bytes_only(self):
        mounted = self.mount(self.source, "--cache-size", "1MiB", "--threads", "4")
        whole = harness.little_endian(self.array)
        wrong = []

        def reader(number):
            random = np.random.default_rng(number)
            name = ("lz4.zarr", "zstd.zarr", "plain.zarr", "file.npy")[number % 4]
            flags = os.O_RDONLY | (os.O_DIRECT if number % 2 else 0)
            file = os.open(mounted.join(name, "data.raw"), flags)
            try:
                for _ in range(self.ROUNDS):
                    offset, size = int(random.integers(0, len(whole))), int(random.integers(1, 200_000))
                    if os.pread(file, size, offset) != whole[offset:offset + size]:
                        wrong.append((name, offset, size))
            except OSError as error:
                wrong.append((name, error))
            finally:
                os.close(file)

        threads = [threading.Thread(target=reader, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_descriptors_are_given_back(self):
        mounted = self.mount(self.source)
        harness.digests(mounted.path)
        count = len(os.listdir(f"/proc/{mounted.process.pid}/fd"))
        for _ in range(3):
            harness.digests(mounted.path)
        self.assertLessEqual(len(os.listdir(f"/proc/{mounted.process.pid}/fd")), count + 2)

    def test_reader_that_is_killed_does_no_harm(self):
        mounted = self.mount(self.source, "--threads", "2")
        for _ in range(10):
            readers = [subprocess.Popen(["cat", mounted.join("zstd.zarr/data.raw")], stdout=subprocess.DEVNULL)
                       for _ in range(4)]
            for reader in readers:
                reader.kill()
                reader.wait()
        self.assertEqual(harness.read(mounted.path, "zstd.zarr/data.raw"), harness.little_endian(self.array))


if __name__ == "__main__":
    harness.main()
