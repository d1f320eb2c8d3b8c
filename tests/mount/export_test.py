# SPDX-License-Identifier: MIT
"""Mounts that are shown on: file handles as NFS uses them, bind mounts, overlayfs."""
import ctypes
import errno
import os
import re
import shutil
import unittest

import harness

AT_FDCWD = -100
MAX_HANDLE = 128
LIBC = ctypes.CDLL(None, use_errno=True)


class FileHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * MAX_HANDLE)]


def handle_of(path):
    handle = FileHandle(bytes=MAX_HANDLE)
    mount_id = ctypes.c_int()
    if LIBC.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return handle


@unittest.skipIf(os.getuid() != 0, "takes root, to open files by their handles")
class HandlesTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(harness.DATA, self.source, dirs_exist_ok=True)
        self.mounted = self.mount(self.source, "--revalidate", "0")
        self.top = os.open(self.mounted.path, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, self.top)

    def open_handle(self, handle, flags=os.O_RDONLY):
        fd = LIBC.open_by_handle_at(self.top, ctypes.byref(handle), flags)
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return fd

    def content(self, handle):
        with os.fdopen(self.open_handle(handle), "rb") as file:
            return file.read()

    def inodes(self):
        """Those that the daemon knows."""
        text = harness.read(self.mounted.path, ".ndlfs", "metrics").decode()
        return int(re.search(r"\nndlfs_inodes{.*} (\d+)\n", text)[1])

    def forget(self, name):
        """Has the kernel forget what is at `name` and below, which then is there again."""
        before = self.inodes()
        away = os.path.join(self.scratch, "away")
        os.rename(self.path(name), away)
        self.assertFalse(os.path.exists(self.mounted.join(name)))
        harness.wait_until(lambda: self.inodes() < before, "forgetting")
        os.rename(away, self.path(name))

    def test_files_and_folders_are_found_by_handle(self):
        for name in ("notes.txt", "climate.zarr/t2m/data.npy", "climate.zarr/.ndl.yaml"):
            expected = harness.read(self.mounted.path, name)
            self.assertEqual(self.content(handle_of(self.mounted.join(name))), expected)
        fd = self.open_handle(handle_of(self.mounted.join("climate.zarr")), os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.assertIn("t2m", os.listdir(fd))
            self.assertIn("notes.txt", os.listdir(f"/proc/self/fd/{fd}/.."))
        finally:
            os.close(fd)

    def test_handles_outlive_what_the_kernel_keeps(self):
        names = ("climate.zarr/t2m/data.raw", "climate.zarr/lat/data.txt")
        handles = {name: handle_of(self.mounted.join(name)) for name in names}
        folder = handle_of(self.mounted.join("climate.zarr/t2m"))
        expected = {name: harness.read(self.mounted.path, name) for name in names}
        inode = os.stat(self.mounted.join(names[0])).st_ino
        self.forget("climate.zarr")
        for name in names:
            self.assertEqual(self.content(handles[name]), expected[name])
        fd = self.open_handle(handles[names[0]])
        self.assertEqual(os.fstat(fd).st_ino, inode)
        os.close(fd)
        fd = self.open_handle(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.assertIn("data.raw", os.listdir(fd))
        self.assertIn("lat", os.listdir(f"/proc/self/fd/{fd}/.."))
        os.close(fd)

    def test_handle_of_what_is_gone_is_stale(self):
        handle = handle_of(self.mounted.join("notes.txt"))
        os.remove(self.path("notes.txt"))
        self.assertFalse(os.path.exists(self.mounted.join("notes.txt")))

        def is_stale():
            try:
                os.close(self.open_handle(handle))
            except OSError as error:
                # While the kernel still has the inode, it is opening it that fails.
                self.assertIn(error.errno, (errno.ESTALE, errno.ENOENT))
                return error.errno == errno.ESTALE
            return False
        harness.wait_until(is_stale, "a stale handle")

    def test_handle_shows_what_is_there_now(self):
        handle = handle_of(self.mounted.join("notes.txt"))
        self.forget("notes.txt")
        harness.write(self.path("notes.txt"), "other notes, and longer ones than before")
        self.assertEqual(self.content(handle), b"other notes, and longer ones than before")

    def test_made_up_handles_are_stale(self):
        handle = handle_of(self.mounted.join("notes.txt"))
        for byte in range(4):
            handle.data[byte] ^= 0x55
        with self.assertRaises(OSError) as caught:
            self.open_handle(handle)
        self.assertEqual(caught.exception.errno, errno.ESTALE)


@unittest.skipIf(os.getuid() != 0, "takes root, to mount")
class MountedOnTest(harness.TestCase):
    def mount_there(self, *arguments):
        path = os.path.join(self.scratch, "there")
        os.mkdir(path)
        self.run_ok("mount", *arguments, path)
        self.addCleanup(harness.run, "umount", "-l", path)
        return path

    def test_bind_mount(self):
        mounted = self.mount(harness.DATA)
        there = self.mount_there("--bind", mounted.join("climate.zarr"))
        self.assertEqual(harness.digests(there), harness.digests(mounted.join("climate.zarr")))

    def test_lower_layer_of_overlayfs(self):
        mounted = self.mount(harness.DATA)
        layers = []
        for name in ("upper", "work"):
            layers.append(os.path.join(self.scratch, name))
            os.mkdir(layers[-1])
        there = self.mount_there("-t", "overlay", "-o",
                                 f"lowerdir={mounted.path},upperdir={layers[0]},workdir={layers[1]}", "overlay")
        expected = harness.digests(mounted.path)
        self.assertEqual({name: digest for name, digest in harness.digests(there).items()
                          if not name.startswith(".ndlfs")}, expected)
        # A changed file is in the upper layer; the source stays as it is.
        harness.write(os.path.join(there, "climate.zarr/t2m/note.txt"), "mine")
        self.assertEqual(harness.read(layers[0], "climate.zarr/t2m/note.txt"), b"mine")
        self.assertEqual(harness.digests(mounted.path), expected)


if __name__ == "__main__":
    harness.main()
