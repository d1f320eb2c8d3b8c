# SPDX-License-Identifier: MIT
"""A source that fails, and a mount that is treated badly: the errno that readers get, a line in the log once, and
everything as before when the fault is gone. NDLFS_FAULTS_LIBRARY is faults.cc, preloaded into the daemon."""
import errno
import hashlib
import json
import os
import resource
import signal
import subprocess
import threading
import time

import h5py
import harness
import numcodecs
import numpy as np
import zarr2 as zarr

LIBRARY = os.environ["NDLFS_FAULTS_LIBRARY"]
SHAPE = (8, 64, 1024)  # 8 chunks of 256 KiB, one a plane
PLANE = 64 * 1024 * 4


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    """MiB."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


class FaultsCase(harness.SourceTestCase):
    options = ("--revalidate", "0")

    def setUp(self):
        super().setUp()
        self.values = np.random.default_rng(1).integers(0, 1000, SHAPE).astype("<i4")
        for name, compressor in (("zstd.zarr", numcodecs.Zstd(1)), ("raw.zarr", None), ("good.zarr", numcodecs.Zstd(1))):
            array = zarr.open_array(f"{self.source}/{name}", mode="w", shape=SHAPE, chunks=(1, 64, 1024), dtype="<i4",
                                    compressor=compressor)
            array[...] = self.values
        np.save(f"{self.source}/file.npy", self.values)
        with h5py.File(f"{self.source}/file.h5", "w") as file:
            file.create_dataset("x", data=self.values, chunks=(1, 64, 1024), compression="gzip", compression_opts=1)
        harness.write(f"{self.source}/notes.txt", "plain")
        self.control = os.path.join(self.scratch, "faults")
        harness.write(self.control, "")
        self.changes = 0

    def mount_faulty(self, *options):
        os.environ.update(LD_PRELOAD=LIBRARY, NDLFS_FAULTS=self.control)
        try:
            self.mounted = self.mount(self.source, *self.options, *options)
        finally:
            del os.environ["LD_PRELOAD"]
        self.assert_sound("good.zarr")
        return self.mounted

    def inject(self, *lines):
        """Each a rule of faults.cc. None: the fault is gone."""
        self.changes += 1
        new = self.control + ".new"
        harness.write(new, "".join(line + "\n" for line in lines))
        os.utime(new, ns=(self.changes, self.changes))
        os.rename(new, self.control)

    def raw(self, name, *inside):
        return self.mounted.join(name, *inside, "data.raw")

    def read_errno(self, path, offset=0, size=PLANE):
        """0 if that range can be read and is right. Past the page cache."""
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError as error:
            return error.errno
        try:
            seen = os.pread(file, size, offset)
        except OSError as error:
            return error.errno
        finally:
            os.close(file)
        self.assertEqual(seen, self.values.tobytes()[offset:offset + size])
        return 0

    def assert_sound(self, name, *inside):
        for plane in range(SHAPE[0]):
            self.assertEqual(self.read_errno(self.raw(name, *inside), plane * PLANE), 0, (name, plane))

    def log_lines(self, *words):
        lines = harness.read(self.mounted.path, ".ndlfs", "errors.log").decode().splitlines()
        return [line for line in lines if all(word in line for word in words)]

    def assert_told_once(self, *words):
        """In errors.log, and in the log of the daemon."""
        self.assertEqual(len(self.log_lines(*words)), 1, "\n".join(self.log_lines()))
        log = [line for line in self.mounted.log().splitlines() if all(word in line for word in words)]
        self.assertEqual(len(log), 1, self.mounted.log())


class SourceFaultsTest(FaultsCase):
    """What the files under a store can do."""

    def check(self, rule, error, *words, name="zstd.zarr", plane=2, inside=()):
        """The plane that `rule` hits fails with `error` and `words` in the log; the others, and the neighbour, read on;
        no descriptor is lost; and all is well when the fault is gone."""
        self.mount_faulty()
        self.inject(rule)
        path = self.raw(name, *inside)
        self.assertEqual(self.read_errno(path, plane * PLANE), error)
        before = descriptors(self.mounted.process.pid)
        for _ in range(20):
            self.assertEqual(self.read_errno(path, plane * PLANE), error)
        # The daemon hears that a file was closed after the program has gone on.
        harness.wait_until(lambda: descriptors(self.mounted.process.pid) <= before + 2, "descriptors are lost")
        self.assertEqual(self.read_errno(path, (plane + 1) * PLANE), 0)
        self.assert_sound("good.zarr")
        self.assert_told_once(f"chunk {plane}.0.0", *words)
        self.inject()
        self.assert_sound(name, *inside)

    def test_eio_while_reading_a_chunk(self):
        self.check(f"read {errno.EIO} zstd.zarr/2.0.0", errno.EIO, "zstd.zarr/2.0.0", "Input/output error")

    def test_eio_while_opening_a_chunk(self):
        self.check(f"open {errno.EIO} zstd.zarr/2.0.0", errno.EIO, "zstd.zarr/2.0.0", "Input/output error")

    def test_eacces_on_a_chunk(self):
        self.check(f"open {errno.EACCES} zstd.zarr/2.0.0", errno.EACCES, "zstd.zarr/2.0.0", "Permission denied")

    def test_estale_on_a_chunk(self):
        self.check(f"read {errno.ESTALE} zstd.zarr/2.0.0", errno.ESTALE, "zstd.zarr/2.0.0", "Stale file handle")

    def test_chunk_that_ends_while_it_is_read(self):
        self.check("end 1000 zstd.zarr/2.0.0", errno.EIO, "zstd.zarr/2.0.0", "cut short while being read")

    def test_out_of_memory_while_decoding(self):
        # Chunks larger than any before, so that no memory is left that could be used again.
        large = zarr.open_array(f"{self.source}/large.zarr", mode="w", shape=SHAPE, chunks=(6, 64, 1024), dtype="<i4",
                                compressor=numcodecs.Zstd(1))
        large[...] = self.values
        self.mount_faulty("--cache-size", "1MiB")
        self.inject("memory 1200000 *")  # more than libfuse takes for a request
        for _ in range(5):
            self.assertEqual(self.read_errno(self.raw("large.zarr"), 0), errno.ENOMEM)
        self.assertEqual(harness.read(self.mounted.path, "notes.txt"), b"plain")
        self.assert_told_once("Cannot allocate memory", "chunk 0.0.0")
        self.inject()
        self.assert_sound("large.zarr")

    def test_short_reads_are_read_on(self):
        self.mount_faulty()
        self.inject("short 777 *")
        for name in ("zstd.zarr", "raw.zarr", "file.npy"):
            self.assert_sound(name)
        self.assertEqual(self.log_lines(), [])

    def test_chunk_that_goes_is_the_fill_value_or_stale_and_comes_back(self):
        """To a reader that has the file open it is stale; who opens it anew sees the fill value."""
        self.mount_faulty()
        self.inject(f"find {errno.ENOENT} zstd.zarr/2.0.0", f"open {errno.ENOENT} zstd.zarr/2.0.0")
        with open(self.raw("zstd.zarr"), "rb", buffering=0) as file:
            seen = os.pread(file.fileno(), PLANE, 2 * PLANE)
        self.assertEqual(seen, bytes(PLANE))
        self.inject()
        self.assert_sound("zstd.zarr")

    def test_eio_on_a_file_hits_its_arrays_only(self):
        self.mount_faulty()
        for name, inside in (("file.npy", ()), ("file.h5", ("x",))):
            with self.subTest(name):
                self.assert_sound(name, *inside)
                self.inject(f"read {errno.EIO} {name}")
                self.assertEqual(self.read_errno(self.mounted.join(name, ".source"), 0), errno.EIO)
                for _ in range(3):
                    self.assertIn(self.read_errno(self.raw(name, *inside), 3 * PLANE), (0, errno.EIO))
                self.assert_sound("good.zarr")
                self.inject()
                self.assert_sound(name, *inside)

    def test_metadata_that_cannot_be_read_for_a_while(self):
        """error.txt while it lasts, and the array again afterwards."""
        self.mount_faulty()
        for error, words in ((errno.EIO, b"Input/output error"), (errno.EACCES, b"Permission denied")):
            for call in ("open", "read"):
                with self.subTest(call=call, error=error):
                    self.inject(f"{call} {error} zstd.zarr/.zarray")
                    os.utime(f"{self.source}/zstd.zarr/.zarray")
                    self.assertIn(self.read_errno(self.raw("zstd.zarr")), (errno.ENOENT, errno.ESTALE, error))
                    self.assertIn(words, harness.read(self.mounted.path, "zstd.zarr", "error.txt"))
                    self.assert_sound("good.zarr")
                    self.inject()
                    time.sleep(1.1)  # a failure is believed for a second
                    self.assert_sound("zstd.zarr")

    def test_document_has_its_values_again_when_a_fault_is_gone(self):
        """It does not come without them because of a fault that passes, nor stays without them after any."""
        zarr.open_array(f"{self.source}/scalar.zarr", mode="w", shape=(), dtype="<i4")[...] = 42
        self.mount_faulty()
        for number, error in enumerate((errno.EIO, errno.EACCES, errno.ESTALE, errno.EMFILE, errno.ENOMEM)):
            with self.subTest(error=errno.errorcode[error]):
                self.inject(f"open {error} scalar.zarr/0")
                os.utime(f"{self.source}/scalar.zarr/.zarray", (number, number))
                time.sleep(1.1)  # what is known is believed for a second
                if error in (errno.EIO, errno.EACCES):
                    self.assertNotIn(b"value: 42", harness.read(self.mounted.path, "scalar.zarr", ".ndl.yaml"))
                else:
                    with self.assertRaises(OSError):
                        harness.read(self.mounted.path, "scalar.zarr", ".ndl.yaml")
                self.inject()
                time.sleep(1.1)
                self.assertIn(b"value: 42", harness.read(self.mounted.path, "scalar.zarr", ".ndl.yaml"))

    def test_folder_that_cannot_be_listed_for_a_while(self):
        os.makedirs(f"{self.source}/folder/below")
        self.mount_faulty()
        self.inject(f"list {errno.EIO} source/folder")
        for _ in range(3):
            with self.assertRaises(OSError) as caught:
                os.listdir(self.mounted.join("folder"))
            self.assertEqual(caught.exception.errno, errno.EIO)
        self.assert_told_once("folder", "Input/output error")
        self.inject()
        self.assertEqual(os.listdir(self.mounted.join("folder")), ["below"])

    def test_everything_fails_and_comes_back(self):
        """As when a network file system is away: nothing hangs, the log is not flooded, nothing is lost."""
        self.mount_faulty()
        before = descriptors(self.mounted.process.pid)
        for call in ("find", "open", "read", "stat"):
            self.inject(f"{call} {errno.EIO} *")
            for _ in range(50):
                for name in ("zstd.zarr", "raw.zarr", "file.npy", "file.h5/x", "good.zarr"):
                    self.assertNotEqual(self.read_errno(self.raw(name)), errno.EINVAL)
            self.assertLess(len(self.mounted.log().splitlines()), 150)
            self.inject()
            time.sleep(1.1)
            for name in ("zstd.zarr", "raw.zarr", "file.npy", "good.zarr"):
                self.assert_sound(name)
            self.assert_sound("file.h5", "x")
        self.assertLessEqual(descriptors(self.mounted.process.pid), before + 70)  # 64 are kept open


class ReplacedTest(FaultsCase):
    def test_file_replaced_or_cut_while_it_is_read(self):
        """A reader sees one version to its end, or ESTALE; never a mix."""
        self.mount_faulty()
        first, second = self.values.tobytes(), (self.values + 5000).tobytes()
        stop = threading.Event()

        def replace():
            number = 0
            while not stop.is_set():
                number += 1
                np.save(f"{self.scratch}/new.npy", self.values + 5000 * (number % 2))
                os.rename(f"{self.scratch}/new.npy", f"{self.source}/file.npy")
                time.sleep(0.02)

        writer = threading.Thread(target=replace)
        writer.start()
        try:
            whole = 0
            for _ in range(200):
                try:
                    seen = harness.read(self.raw("file.npy"))
                except OSError as error:
                    self.assertIn(error.errno, (errno.ESTALE, errno.ENOENT))
                    continue
                whole += 1
                self.assertIn(seen, (first, second))
            self.assertGreater(whole, 50)
        finally:
            stop.set()
            writer.join()

    def test_file_cut_while_it_is_open(self):
        self.mount_faulty()
        with open(self.raw("file.npy"), "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 4096, 0), self.values.tobytes()[:4096])
            os.truncate(f"{self.source}/file.npy", 5000)
            with self.assertRaises(OSError) as caught:
                os.pread(file.fileno(), 4096, 4 * PLANE)
            self.assertIn(caught.exception.errno, (errno.ESTALE, errno.EIO))
        self.assertIn(b"file.npy", harness.read(self.mounted.path, "file.npy", "error.txt"))
        np.save(f"{self.source}/file.npy", self.values)
        self.assert_sound("file.npy")


class ListingTest(FaultsCase):
    def test_files_that_appear_and_go_during_a_listing(self):
        """What was there all the time is listed, once."""
        steady = {f"steady-{number:04}" for number in range(2000)}
        for name in steady:
            harness.write(f"{self.source}/many/{name}", "")
        self.mount_faulty()
        stop = threading.Event()

        def come_and_go():
            number = 0
            while not stop.is_set():
                number += 1
                harness.write(f"{self.source}/many/passing-{number % 500}", "")
                if number % 3 == 0:
                    try:
                        os.unlink(f"{self.source}/many/passing-{number * 7 % 500}")
                    except FileNotFoundError:
                        pass

        writer = threading.Thread(target=come_and_go)
        writer.start()
        try:
            for _ in range(20):
                names = os.listdir(self.mounted.join("many"))
                self.assertEqual(sorted(name for name in names if name.startswith("steady")), sorted(steady))
        finally:
            stop.set()
            writer.join()


class DescriptorsTest(FaultsCase):
    COUNT = 10_000

    def test_ten_thousand_stores_with_256_descriptors(self):
        metadata = json.dumps({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None,
                               "filters": None, "fill_value": 0, "order": "C"})
        for number in range(self.COUNT):
            folder = f"{self.source}/many/{number:05}.zarr"
            os.makedirs(folder)
            with open(f"{folder}/.zarray", "w") as file:
                file.write(metadata)
            with open(f"{folder}/0", "wb") as file:
                file.write(number.to_bytes(4, "little") * 4)
        mounted = self.mounted = self.mount(self.source, prefix=("prlimit", "--nofile=256:256"))
        with open(f"/proc/{mounted.process.pid}/limits") as file:
            self.assertRegex(file.read(), r"Max open files +256 +256")
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(12_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
                                                    resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        opened = [os.open(f"{mounted.path}/many/{number:05}.zarr/data.raw", os.O_RDONLY)
                  for number in range(self.COUNT)]
        try:
            for number, file in enumerate(opened):
                self.assertEqual(os.pread(file, 16, 0), number.to_bytes(4, "little") * 4)
            self.assertLess(descriptors(mounted.process.pid), 256)
            self.assert_sound("file.npy")
            self.assert_sound("file.h5", "x")
        finally:
            for file in opened:
                os.close(file)
        self.assertEqual(self.log_lines(), [])

    def test_plain_files_beyond_the_limit_are_emfile_and_others_read_on(self):
        for number in range(300):
            harness.write(f"{self.source}/plain/{number}", str(number))
        mounted = self.mounted = self.mount(self.source, prefix=("prlimit", "--nofile=256:256"))
        opened, refused = [], 0
        for number in range(300):
            try:
                opened.append(open(f"{mounted.path}/plain/{number}", "rb"))
            except OSError as error:
                self.assertEqual(error.errno, errno.EMFILE)
                refused += 1
        self.assertGreater(refused, 0)
        for file in opened:
            file.close()
        for number in range(300):
            self.assertEqual(harness.read(f"{mounted.path}/plain/{number}"), str(number).encode())
        self.assert_sound("zstd.zarr")


def is_stopped(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


class LifeTest(FaultsCase):
    """What is done to the daemon and its readers."""

    def readers(self, count, name="zstd.zarr"):
        command = f"while :; do cat {self.raw(name)} >/dev/null || exit 3; done"
        return [subprocess.Popen(["sh", "-c", command], start_new_session=True, stderr=subprocess.DEVNULL)
                for _ in range(count)]

    def stop(self, readers):
        for reader in readers:
            os.killpg(reader.pid, signal.SIGKILL)
            reader.wait()

    def start_background(self, *options):
        """A mount that the harness does not end: returns the process id."""
        self.point = os.path.join(self.scratch, "mnt")
        os.makedirs(self.point, exist_ok=True)
        self.run_ok(harness.BINARY, "mount", self.source, self.point, *self.options, *options)
        self.addCleanup(lambda: harness.mount_type(self.point) and harness.unmount(self.point, lazy=True))
        for line in harness.read(self.point, ".ndlfs", "config.yaml").decode().splitlines():
            if line.startswith("pid: "):
                return int(line.split()[1])
        raise AssertionError("no pid")

    def test_readers_that_are_killed_leave_nothing_behind(self):
        self.mount_faulty("--cache-size", "1MiB")
        before = descriptors(self.mounted.process.pid)
        for _ in range(10):
            readers = self.readers(4)
            time.sleep(0.05)
            self.stop(readers)
        harness.wait_until(lambda: descriptors(self.mounted.process.pid) <= before + 16, "closing")
        memory = resident(self.mounted.process.pid)
        for _ in range(20):
            readers = self.readers(4)
            time.sleep(0.05)
            self.stop(readers)
        self.assertLess(resident(self.mounted.process.pid), memory + 16)
        self.assert_sound("zstd.zarr")

    def test_sigterm_under_load_unmounts(self):
        pid = self.start_background("--cache-size", "1MiB")
        command = f"while cat {self.point}/zstd.zarr/data.raw >/dev/null; do :; done"
        readers = [subprocess.Popen(["sh", "-c", command], start_new_session=True, stderr=subprocess.DEVNULL)
                   for _ in range(4)]
        time.sleep(0.5)
        os.kill(pid, signal.SIGTERM)
        harness.wait_until(lambda: harness.mount_type(self.point) is None, "unmounting", 20)
        harness.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "ending", 20)
        self.stop(readers)
        self.assertEqual(os.listdir(self.point), [])

    def test_forced_unmount_under_load_ends_the_daemon(self):
        pid = self.start_background()
        with open(f"{self.point}/zstd.zarr/data.raw", "rb", buffering=0) as file:
            file.read(4096)
            self.assertEqual(harness.unmount(self.point, lazy=True).returncode, 0)
            self.assertIsNone(harness.mount_type(self.point))
            # Who has a file open still reads it.
            self.assertEqual(os.pread(file.fileno(), PLANE, PLANE), self.values.tobytes()[PLANE:2 * PLANE])
        harness.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "ending", 20)

    def test_suspended_daemon_goes_on_where_it_was(self):
        pid = self.start_background()
        self.assertEqual(harness.read(self.point, "zstd.zarr", "data.raw"), self.values.tobytes())
        os.kill(pid, signal.SIGSTOP)
        # kill() does not wait until all threads have stopped.
        harness.wait_until(lambda: all(is_stopped(pid, thread) for thread in os.listdir(f"/proc/{pid}/task")), "stopping", 20)
        reader = subprocess.Popen(["sha256sum", f"{self.point}/raw.zarr/data.raw"], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        self.assertIsNone(reader.poll())
        os.kill(pid, signal.SIGCONT)
        out, _ = reader.communicate(timeout=harness.DEADLINE)
        self.assertEqual(out.split()[0], hashlib.sha256(self.values.tobytes()).hexdigest())
        self.run_ok(harness.BINARY, "umount", self.point)

    def test_killed_daemon_leaves_a_mount_that_umount_takes_away(self):
        pid = self.start_background()
        os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "ending", 20)
        with self.assertRaises(OSError) as caught:
            os.listdir(self.point)
        self.assertEqual(caught.exception.errno, errno.ENOTCONN)
        self.run_ok(harness.BINARY, "umount", self.point)
        self.start_background()
        self.assertEqual(harness.read(self.point, "zstd.zarr", "data.raw"), self.values.tobytes())
        self.run_ok(harness.BINARY, "umount", self.point)


if __name__ == "__main__":
    harness.main()
