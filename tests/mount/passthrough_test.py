# SPDX-License-Identifier: MIT
"""What is not an array store: files, folders, links, and things that are none of these."""
import hashlib
import json
import os
import socket
import stat
import struct
import sys
import time
import unittest

import h5py
import harness
import numpy as np
import old_kernel
import scipy.io

KERNEL_OFFERS_IT = os.geteuid() == 0 and tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 9)


class PassthroughTest(harness.SourceTestCase):
    def test_files_of_every_size_are_shown_byte_for_byte(self):
        random = np.random.default_rng(2)
        sizes = [0, 1, 4095, 4096, 4097, 131072, 131073, 1 << 20, (1 << 20) + 17]
        for size in sizes:
            harness.write(self.path(f"{size}.bin"), random.bytes(size))
        mounted = self.mount(self.source)
        for size in sizes:
            self.assertEqual(os.stat(mounted.join(f"{size}.bin")).st_size, size)
            self.assertEqual(harness.read(mounted.path, f"{size}.bin"), harness.read(self.source, f"{size}.bin"))

    def test_sparse_file_keeps_its_size(self):
        with open(self.path("sparse"), "wb") as file:
            file.truncate(5 << 30)
            file.seek(4 << 30)
            file.write(b"here")
        mounted = self.mount(self.source)
        with open(mounted.join("sparse"), "rb") as file:
            self.assertEqual(os.fstat(file.fileno()).st_size, 5 << 30)
            self.assertEqual(os.pread(file.fileno(), 6, (4 << 30) - 1), b"\0here\0")

    def test_folders_are_mirrored_deep_down(self):
        deep = "/".join(f"d{i}" for i in range(60))
        harness.write(self.path(deep, "end.txt"), "end")
        os.mkdir(self.path("empty"))
        mounted = self.mount(self.source)
        self.assertEqual(harness.read(mounted.path, deep, "end.txt"), b"end")
        self.assertEqual(os.listdir(mounted.join("empty")), [])

    def test_links_are_shown_as_they_are(self):
        harness.write(self.path("folder", "file.txt"), "text")
        targets = {"inside": "folder/file.txt", "up": "folder/../folder", "dangling": "nowhere",
                   "absolute": "/etc/hostname", "outside": "../../secret", "loop": "loop", "long": "x" * 4000}
        for name, target in targets.items():
            os.symlink(target, self.path(name))
        mounted = self.mount(self.source)
        for name, target in targets.items():
            with self.subTest(name):
                self.assertEqual(os.readlink(mounted.join(name)), target)
                self.assertEqual(os.lstat(mounted.join(name)).st_size, len(target))
        self.assertEqual(harness.read(mounted.path, "inside"), b"text")
        self.assertEqual(os.listdir(mounted.join("up")), ["file.txt"])
        with self.assertRaises(OSError):
            os.stat(mounted.join("loop"))

    def test_fifos_and_sockets_never_block(self):
        os.mkfifo(self.path("fifo"))
        os.mkfifo(self.path("fifo.npy"))
        os.mkdir(self.path("store.zarr"))
        os.mkfifo(self.path("store.zarr", ".zgroup"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path("socket"))
        harness.write(self.path("file.txt"), "text")
        mounted = self.mount(self.source)
        result = harness.run("find", mounted.path, "-type", "f", "-not", "-path", "*/.ndlfs/*", "-exec", "cat", "{}",
                             "+")
        self.assertIn("text", result.stdout)
        for name in ("fifo", "fifo.npy", "socket"):
            with self.subTest(name):
                harness.run("stat", mounted.join(name))
                harness.run("timeout", "10", "dd", f"if={mounted.join(name)}", "iflag=nonblock", "count=1")
        self.assertEqual(harness.read(mounted.path, "file.txt"), b"text")

    def test_modes_and_times_come_from_the_source(self):
        harness.write(self.path("open.txt"), "open")
        harness.write(self.path("private.txt"), "private")
        harness.write(self.path("program"), "#!/bin/sh\n")
        os.chmod(self.path("open.txt"), 0o666)
        os.chmod(self.path("private.txt"), 0o600)
        os.chmod(self.path("program"), 0o755)
        os.utime(self.path("open.txt"), ns=(1, 1234567890123456789))
        mounted = self.mount(self.source)
        mode = {name: stat.S_IMODE(os.stat(mounted.join(name)).st_mode) for name in os.listdir(self.source)}
        self.assertEqual(mode["open.txt"], 0o444)
        self.assertEqual(mode["private.txt"], 0o400)
        self.assertEqual(mode["program"] & 0o222, 0)
        self.assertEqual(os.stat(mounted.join("open.txt")).st_mtime_ns, 1234567890123456789)

    def test_array_is_no_more_readable_than_its_files(self):
        np.save(self.path("private.npy"), np.arange(4))
        os.chmod(self.path("private.npy"), 0o640)
        mounted = self.mount(self.source)
        status = os.stat(mounted.join("private.npy", "data.npy"))
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o440)
        self.assertEqual(status.st_mtime_ns, os.stat(self.path("private.npy")).st_mtime_ns)
        self.assertEqual(stat.S_IMODE(os.stat(mounted.join("private.npy")).st_mode) & 0o227, 0)

    def test_a_file_that_only_looks_like_a_store_by_its_folder_name(self):
        harness.write(self.path("empty.zarr", "readme.txt"), "no metadata here")
        harness.write(self.path("plain.zarr"), "a file")
        mounted = self.mount(self.source)
        self.assertEqual(harness.read(mounted.path, "empty.zarr", "readme.txt"), b"no metadata here")
        self.assertEqual(harness.read(mounted.path, "plain.zarr"), b"a file")

    def test_many_files_are_listed_once_each(self):
        for number in range(5000):
            harness.write(self.path("many", f"{number:05}"), "")
        mounted = self.mount(self.source)
        self.assertEqual(sorted(os.listdir(mounted.join("many"))), [f"{number:05}" for number in range(5000)])


class OriginalTest(harness.SourceTestCase):
    """Views that are files of the source: the kernel reads those, where it can."""

    def passed_through(self, mounted):
        with open(mounted.join(".ndlfs/stats.json"), "rb") as file:
            return json.load(file)["opens_passed_through_total"]

    def write_odd_files(self):
        """NPY files that are not what ndlfs writes, by the reason, or not as a whole."""
        values = np.arange(60_000, dtype="<i4").reshape(200, 300)
        np.save(self.path("big.npy"), values.astype(">i4"))
        np.save(self.path("fortran.npy"), np.asfortranarray(values))
        with open(self.path("version2.npy"), "wb") as file:
            np.lib.format.write_array(file, values, version=(2, 0))
        with open(self.path("longer.npy"), "wb") as file:
            np.save(file, values)
            np.save(file, values)
        text = f"{{'shape': (200, 300), 'fortran_order': False, 'descr': '<i4'}}".ljust(117) + "\n"
        harness.write(self.path("unsorted.npy"), b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text.encode() + values.tobytes())
        text = "{'descr': '<i4', 'fortran_order': False, 'shape': (200, 300), }".ljust(103) + "\n"
        harness.write(self.path("unaligned.npy"), b"\x93NUMPY\1\0" + struct.pack("<H", 104) + text.encode() + values.tobytes())
        return values

    def test_npy_file_is_its_data_npy(self):
        arrays = {"float": np.arange(100_000, dtype="<f8").reshape(100, 1000), "empty": np.zeros((0, 3)),
                  "scalar": np.array(3.5), "bool": np.frombuffer(bytes([0, 1, 2, 255]) * 5000, np.bool_),
                  "struct": np.zeros(999, [("a", "<i2"), ("b", "<f8", (2,))]), "text": np.array(["one", "twö"]),
                  "date": np.arange(50_000).astype("<M8[s]"), "bytes": np.array([b"one", b"tw\xff"])}
        for name, values in arrays.items():
            np.save(self.path(f"{name}.npy"), values)
        with harness.Mount(self.source) as mounted:
            before = self.passed_through(mounted)
            for name in arrays:
                with self.subTest(name):
                    expected = harness.read(self.path(f"{name}.npy"))
                    seen = harness.read(mounted.join(f"{name}.npy/data.npy"))
                    self.assertEqual(len(seen), os.path.getsize(mounted.join(f"{name}.npy/data.npy")))
                    if name in ("float", "empty", "scalar", "struct", "date"):
                        self.assertEqual(seen, expected)
            if KERNEL_OFFERS_IT:
                self.assertGreaterEqual(self.passed_through(mounted), before + 5)
            np.testing.assert_array_equal(np.load(mounted.join("float.npy/data.npy"), mmap_mode="r"), arrays["float"])

    def test_the_same_bytes_where_the_kernel_does_not_read_them(self):
        values = {"bool": np.frombuffer(bytes([0, 1, 2, 255]) * 5000, np.bool_), "text": np.array(["one", "twö"]),
                  "float": np.arange(100_000.), "bytes": np.array([b"one", b"tw\xff"])}
        for name in values:
            np.save(self.path(f"{name}.npy"), values[name])
        seen = []
        for prefix in ((), (sys.executable, "-B", old_kernel.__file__, "--without-passthrough")):
            with harness.Mount(self.source, prefix=prefix) as mounted:
                seen.append({name: harness.read(mounted.join(f"{name}.npy/data.npy")) for name in values})
        self.assertEqual(seen[0], seen[1])

    def test_other_npy_files_are_read_in_the_ordinary_way(self):
        values = self.write_odd_files()
        with harness.Mount(self.source) as mounted:
            before = self.passed_through(mounted)
            for name in ("big", "fortran", "version2", "longer", "unsorted", "unaligned"):
                with self.subTest(name):
                    seen = np.load(mounted.join(f"{name}.npy/data.npy"))
                    np.testing.assert_array_equal(seen, values)
                    self.assertEqual(seen.dtype.str, "<i4")
                    self.assertEqual(os.path.getsize(mounted.join(f"{name}.npy/data.npy")), 128 + values.nbytes)
            self.assertEqual(self.passed_through(mounted), before)

    def test_npy_file_that_is_replaced_or_written_again(self):
        np.save(self.path("a.npy"), np.arange(50_000))
        with harness.Mount(self.source, "--revalidate", "0.1") as mounted:
            name = mounted.join("a.npy/data.npy")
            held = np.load(name, mmap_mode="r")
            np.testing.assert_array_equal(held, np.arange(50_000))
            np.save(self.path("new.npy"), np.arange(50_000)[::-1])
            os.rename(self.path("new.npy"), self.path("a.npy"))
            time.sleep(0.3)
            np.testing.assert_array_equal(held, np.arange(50_000), "an open file stays what it was")
            del held
            np.testing.assert_array_equal(np.load(name), np.arange(50_000)[::-1])
            with open(self.path("a.npy"), "r+b") as file:
                file.seek(-8, 2)
                file.write(struct.pack("<q", 7))
            time.sleep(0.3)
            self.assertEqual(np.load(name)[-1], 7)
            self.assertEqual(np.load(name)[0], 49_999)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be several users")
    def test_only_who_may_read_the_file_gets_it(self):
        np.save(self.path("a.npy"), np.arange(50_000))
        os.chmod(self.path("a.npy"), 0o600)
        os.chown(self.path("a.npy"), 5001, 5001)
        with harness.Mount(self.source, "--allow-other") as mounted:
            for uid, status in ((5001, 0), (5002, 1), (5001, 0), (5002, 1)):
                result = harness.run("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sha256sum",
                                     mounted.join("a.npy/data.npy"))
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn("" if status else hashlib.sha256(harness.read(self.path("a.npy"))).hexdigest(),
                              result.stdout)

    def test_netcdf_and_hdf5_files_of_as(self):
        with scipy.io.netcdf_file(self.path("a.nc"), "w") as file:
            file.createDimension("x", 50_000)
            file.createVariable("v", "f8", ("x",))[:] = np.arange(50_000)
        with h5py.File(self.path("b.h5"), "w") as file:
            file["v"] = np.arange(50_000)
        for view, name in (("nc", "a.nc"), ("h5", "b.h5")):
            with self.subTest(view), harness.Mount(self.source, "--as", view) as mounted:
                before = self.passed_through(mounted)
                self.assertEqual(harness.read(mounted.join(name)), harness.read(self.path(name)))
                if KERNEL_OFFERS_IT:
                    self.assertEqual(self.passed_through(mounted), before + 1)


if __name__ == "__main__":
    harness.main()
