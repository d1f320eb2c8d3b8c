# SPDX-License-Identifier: MIT
"""What is not an array store: files, folders, links, and things that are none of these."""
import os
import socket
import stat

import harness
import numpy as np


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


if __name__ == "__main__":
    harness.main()
