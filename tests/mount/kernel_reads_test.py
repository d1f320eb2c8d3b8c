# SPDX-License-Identifier: MIT
"""Files that the kernel reads itself, without the daemon: the same bytes as in the ordinary way, for every way of reading."""
import errno
import gzip
import json
import mmap
import os
import shutil
import sys
import tempfile
import unittest

import h5py
import harness
import netCDF4
import numpy as np
import old_kernel

SIZE = (3 << 20) + 17
ALICE, BOB = 5001, 5002
WITHOUT = (sys.executable, "-B", old_kernel.__file__, "--without-passthrough")
IS_ROOT = os.geteuid() == 0


def is_offered():
    """Whether this kernel must read files itself. Where nobody can tell, no test asks how files were read."""
    try:
        with gzip.open("/proc/config.gz", "rt") as file:
            is_built_in = "CONFIG_FUSE_PASSTHROUGH=y\n" in file
        with open("/proc/self/uid_map", encoding="ascii") as file:
            is_first_namespace = file.read().split() == ["0", "0", "4294967295"]
    except OSError:
        return False
    return IS_ROOT and is_built_in and is_first_namespace


IS_OFFERED = is_offered()


def counts(mounted):
    """How many opens passed through so far, and how many reads the daemon was asked for."""
    with open(mounted.join(".ndlfs/stats.json"), "rb") as file:
        statistics = json.load(file)
    return statistics["opens_passed_through_total"], statistics["reads_total"]


def contents(size=SIZE):
    return np.random.default_rng(size).bytes(size)


def read_with_sendfile(fd, _):
    """By way of a pipe, which is what splice() does, too."""
    parts, offset = [], 0
    with tempfile.TemporaryFile() as to:
        while count := os.sendfile(to.fileno(), fd, offset, 1 << 20):
            offset += count
        to.seek(0)
        parts.append(to.read())
    return b"".join(parts)


def read_with_splice(fd, size):
    reader, writer = os.pipe()
    parts, done = [], 0
    try:
        while done < size:
            count = os.splice(fd, writer, 1 << 16, offset_src=done)
            if count == 0:
                break
            done += count
            parts.append(os.read(reader, count))
    finally:
        os.close(reader)
        os.close(writer)
    return b"".join(parts)


def read_mapped(flags):
    def read(fd, size):
        with mmap.mmap(fd, size, flags, mmap.PROT_READ) as mapped:
            return bytes(mapped)
    return read


def read_in_pieces(fd, size):
    pieces = {offset: os.pread(fd, 70_001, offset) for offset in reversed(range(0, size, 70_001))}
    return b"".join(pieces[offset] for offset in sorted(pieces))


def read_ahead(fd, size):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    os.posix_fadvise(fd, 0, size, os.POSIX_FADV_WILLNEED)
    return b"".join(iter(lambda: os.read(fd, 1 << 17), b""))


WAYS = {"pieces": read_in_pieces, "ahead": read_ahead, "sendfile": read_with_sendfile, "splice": read_with_splice,
        "shared map": read_mapped(mmap.MAP_SHARED), "private map": read_mapped(mmap.MAP_PRIVATE)}


def read_all(path, way, flags=0):
    fd = os.open(path, os.O_RDONLY | flags)
    try:
        return WAYS[way](fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def read_directly(path, offset, size):
    """With O_DIRECT, into memory that begins with a page."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, size) as memory:
            count = os.preadv(fd, [memory], offset)
            return memory[:count]
    finally:
        os.close(fd)


class ReadingTest(harness.SourceTestCase):
    """Both ways show the same."""

    def each_way(self):
        for name, prefix in (("itself", ()), ("refused", WITHOUT)):
            with self.subTest(name):
                with harness.Mount(self.source, "--revalidate", "0", prefix=prefix) as mounted:
                    yield mounted

    def test_every_way_of_reading(self):
        data = contents()
        harness.write(self.path("a.bin"), data)
        for mounted in self.each_way():
            for name in WAYS:
                self.assertTrue(read_all(mounted.join("a.bin"), name) == data, name)

    def test_direct_reads_of_any_place_and_length(self):
        data = contents()
        harness.write(self.path("a.bin"), data)
        for mounted in self.each_way():
            for offset, size in ((0, 1 << 20), (4096, 1 << 16), (3, 5), (1_000_001, 77_777), (SIZE - 9, 4096), (SIZE + 1, 8)):
                self.assertEqual(read_directly(mounted.join("a.bin"), offset, size), data[offset:offset + size])

    def test_all_opens_of_one_file_live_together(self):
        data = contents()
        harness.write(self.path("a.bin"), data)
        for mounted in self.each_way():
            path = mounted.join("a.bin")
            with open(path, "rb") as kept, mmap.mmap(kept.fileno(), SIZE, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
                self.assertEqual(read_directly(path, 4096, 4096), data[4096:8192])
                for name in WAYS:
                    self.assertTrue(read_all(path, name) == data, name)
                self.assertTrue(bytes(mapped) == data)

    def test_holes_are_found(self):
        with open(self.path("sparse"), "wb") as file:
            file.truncate(8 << 20)
            file.seek(4 << 20)
            file.write(b"here")
        for mounted in self.each_way():
            fd = os.open(mounted.join("sparse"), os.O_RDONLY)
            self.assertEqual(os.lseek(fd, 0, os.SEEK_DATA), 4 << 20)
            self.assertEqual(os.pread(fd, 4, 4 << 20), b"here")
            os.close(fd)

    def test_open_file_keeps_what_was_replaced_or_deleted(self):
        for mounted in self.each_way():
            harness.write(self.path("a.txt"), "old text")
            harness.write(self.path("b.txt"), "deleted")
            with open(mounted.join("a.txt"), "rb") as old, open(mounted.join("b.txt"), "rb") as deleted:
                harness.write(self.path("new"), "another text")
                os.replace(self.path("new"), self.path("a.txt"))
                os.remove(self.path("b.txt"))
                self.assertEqual(harness.read(mounted.join("a.txt")), b"another text")
                self.assertEqual(old.read(), b"old text")
                self.assertEqual(deleted.read(), b"deleted")
                self.assertFalse(os.path.exists(mounted.join("b.txt")))

    def test_log_that_grows_is_followed(self):
        for mounted in self.each_way():
            harness.write(self.path("log"), "one\n")
            with open(self.path("log"), "ab", buffering=0) as log, open(mounted.join("log"), "rb", buffering=0) as seen:
                self.assertEqual(seen.read(), b"one\n")
                log.write(b"two\n")
                os.stat(mounted.join("log"))
                self.assertEqual(seen.read(), b"two\n")
                self.assertEqual(harness.read(mounted.join("log")), b"one\ntwo\n")


@unittest.skipUnless(IS_OFFERED, "this kernel does not read files itself")
class WithoutDaemonTest(harness.SourceTestCase):
    def assert_passes(self, mounted, name, times=1):
        """Whether reading a file passes through, and asks the daemon for nothing."""
        data = harness.read(self.path(name.removeprefix(".ndlfs/source/")))
        opens, reads = counts(mounted)
        with open(mounted.join(name), "rb") as file:
            for way in WAYS.values():
                self.assertTrue(way(file.fileno(), len(data)) == data, name)
        now_opens, now_reads = counts(mounted)
        self.assertEqual(now_opens - opens, times, name)
        # A look at the counts takes some reads of its own, and a file of MiB many more.
        if times:
            self.assertLess(now_reads - reads, 10, name)

    def test_files_of_the_source_pass_through(self):
        harness.write(self.path("a.bin"), contents())
        np.save(self.path("a.npy"), np.arange(100_000))
        mounted = self.mount(self.source)
        for _ in range(2):
            self.assert_passes(mounted, "a.bin")
        self.assert_passes(mounted, ".ndlfs/source/a.npy")

    def test_stores_that_are_the_files_of_a_view_pass_through(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file["x"] = np.arange(100_000)
        with netCDF4.Dataset(self.path("b.nc"), "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("n", 1000)
            file.createVariable("x", "i4", ("n",))[:] = np.arange(1000)
        with harness.Mount(self.source, "--as", "h5") as mounted:
            self.assert_passes(mounted, "a.h5")
        with harness.Mount(self.source, "--as", "nc") as mounted:
            self.assert_passes(mounted, "b.nc")

    def test_what_is_open_in_the_ordinary_way_stays_so(self):
        harness.write(self.path("a.bin"), contents())
        with harness.Mount(self.source, prefix=WITHOUT) as mounted:
            self.assert_passes(mounted, "a.bin", times=0)

    def test_file_of_another_mount_is_read_in_the_ordinary_way(self):
        harness.write(self.path("a.bin"), contents())
        below = self.mount(self.source)
        with harness.Mount(below.path) as mounted:
            self.assert_passes(mounted, "a.bin", times=0)

    def test_file_of_an_overlay_is_read_in_the_ordinary_way(self):
        harness.write(self.path("a.bin"), contents())
        place = os.path.join(self.scratch, "overlay")
        folders = [os.path.join(self.scratch, name) for name in ("upper", "work", "empty")]
        for folder in [place, *folders]:
            os.mkdir(folder)
        if harness.run("mount", "-t", "overlay", "-o", f"lowerdir={self.source}:{folders[2]}", "none", place).returncode != 0:
            self.skipTest("no overlays here")
        try:
            with harness.Mount(place) as mounted:
                self.assert_passes(mounted, "a.bin", times=0)
        finally:
            harness.unmount(place)

    def test_overlay_on_a_mount(self):
        harness.write(self.path("a.bin"), contents())
        mounted = self.mount(self.source)
        place, empty = os.path.join(self.scratch, "overlay"), os.path.join(self.scratch, "empty")
        os.mkdir(place)
        os.mkdir(empty)
        if harness.run("mount", "-t", "overlay", "-o", f"lowerdir={mounted.path}:{empty}", "none", place).returncode != 0:
            self.skipTest("no overlays here")
        try:
            self.assertTrue(harness.read(place, "a.bin") == contents())
        finally:
            harness.unmount(place)

    def test_command_with_a_mount_of_its_own(self):
        harness.write(self.path("a.bin"), contents())
        result = harness.run(harness.BINARY, "run", self.source, "--", "sh", "-c",
                             'cmp "$0/a.bin" "$NDLFS_MOUNTPOINT/a.bin"', self.source)
        self.assertEqual(result.returncode, 0, result.stderr)


@unittest.skipUnless(IS_ROOT, "only root can be several users")
class OtherUsersTest(harness.SourceTestCase):
    def read_as(self, uid, path):
        return harness.run("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "cat", path)

    def test_open_file_opens_no_door(self):
        harness.write(self.path("secret.txt"), "for alice")
        os.chown(self.path("secret.txt"), ALICE, ALICE)
        os.chmod(self.path("secret.txt"), 0o600)
        os.mkdir(self.path("closed"), 0o700)
        harness.write(self.path("closed/open.txt"), "for alice")
        os.chmod(self.path("closed/open.txt"), 0o666)
        os.chown(self.path("closed"), ALICE, ALICE)
        mounted = self.mount(self.source, "--allow-other")
        with open(mounted.join("secret.txt"), "rb") as first, open(mounted.join("closed/open.txt"), "rb") as second:
            for name, file in (("secret.txt", first), ("closed/open.txt", second)):
                self.assertEqual(self.read_as(ALICE, mounted.join(name)).stdout, "for alice")
                self.assertNotEqual(self.read_as(BOB, mounted.join(name)).returncode, 0)
                self.assertEqual(file.read(), b"for alice")
        if IS_OFFERED:
            self.assertEqual(counts(mounted)[0], 4)


if __name__ == "__main__":
    harness.main()
