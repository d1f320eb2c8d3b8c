# SPDX-License-Identifier: MIT
"""What is known to be a store by its content; stores that are the source; and the source itself, beside its stores."""
import json
import os
import shutil
import stat
import subprocess
import time
import unittest
import zipfile

import h5py
import harness
import netCDF4
import numpy as np
import zarr2 as zarr

VALUES = np.arange(24, dtype="<i4").reshape(4, 6)
WRF = "wrfout_d01_2016-03-23_00:00:00"
# By these names alone nobody would take the files for stores.
HDF5_NAMES = ["session.nwb", "read.fast5", "brain.mnc", "mesh.cgns", "cells.h5mu", "sea.bag", "mesh.exo", "no_extension"]


def write_hdf5(path, userblock=0):
    with h5py.File(path, "w", userblock_size=userblock) as file:
        file["group/x"] = VALUES


def write_netcdf(path, kind):
    with netCDF4.Dataset(path, "w", format=kind) as dataset:
        for name, size in (("y", 4), ("x", 6)):
            dataset.createDimension(name, size)
        dataset.createVariable("v", "i4", ("y", "x"))[:] = VALUES


def write_docx(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("[Content_Types].xml", "_rels/.rels", "word/document.xml"):
            archive.writestr(name, "<xml/>" * 100)


class DetectCase(harness.SourceTestCase):
    def run_ndlfs(self, *words):
        return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def assert_array(self, *parts):
        np.testing.assert_array_equal(np.load(os.path.join(*parts, "data.npy")), VALUES)


class ContentTest(DetectCase):
    def setUp(self):
        super().setUp()
        self.arrays = {}  # by the path of the array in the mount
        for name in HDF5_NAMES:
            write_hdf5(self.path(name))
            self.arrays[name] = "group/x"
        write_hdf5(self.path("lab.mat"), userblock=512)
        write_hdf5(self.path("matlab7.3"), userblock=512)
        write_hdf5(self.path("block.bin"), userblock=4096)
        self.arrays |= {"lab.mat": "group/x", "matlab7.3": "group/x", "block.bin": "group/x"}
        for number, kind in enumerate(("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4")):
            name = WRF if number == 0 else f"{WRF}.{number}"
            write_netcdf(self.path(name), kind)
            self.arrays[name] = "v"
        with open(self.path("array.dat"), "wb") as file:
            np.save(file, VALUES)
        with open(self.path("arrays.dat"), "wb") as file:
            np.savez(file, x=VALUES)
        with zarr.ZipStore(self.path("zarr.dat"), mode="w") as store:
            zarr.open_group(store, "w").create_dataset("x", data=VALUES, chunks=(3, 3))
        self.arrays |= {"array.dat": "", "arrays.dat": "x", "zarr.dat": "x"}
        self.plain = ["report.docx", "text.txt", "code.jar", "head.bin", "user_block.bin", "empty", "list.json"]
        write_docx(self.path("report.docx"))
        write_docx(self.path("code.jar"))
        harness.write(self.path("text.txt"), "CDF is a word, and PK two letters\n" * 100)
        harness.write(self.path("head.bin"), b"\x89HDF\r\n\x1a\n")
        harness.write(self.path("user_block.bin"), b"text".ljust(1536) + b"\x89HDF\r\n\x1a\n" + bytes(1000))
        harness.write(self.path("empty"), b"")
        harness.write(self.path("list.json"), json.dumps(list(range(1000))))

    def test_stores_are_known_under_any_name_and_the_rest_is_plain(self):
        mounted = self.mount(self.source)
        for name, array in self.arrays.items():
            with self.subTest(name):
                self.assertTrue(stat.S_ISDIR(os.lstat(mounted.join(name)).st_mode))
                self.assert_array(mounted.path, name, array)
        for name in self.plain:
            with self.subTest(name):
                self.assertTrue(stat.S_ISREG(os.lstat(mounted.join(name)).st_mode))
                self.assertEqual(harness.read(mounted.path, name), harness.read(self.source, name))

    def test_listing_and_look_agree(self):
        mounted = self.mount(self.source)
        for _ in range(2):
            with os.scandir(mounted.path) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries if entry.name != ".ndlfs"}
            self.assertEqual(kinds, {name: name in self.arrays for name in (*self.arrays, *self.plain)})
        found = self.run_ok("find", mounted.path, "-mindepth", "1", "-maxdepth", "1", "-type", "f").split("\n")
        self.assertEqual(sorted(map(os.path.basename, found)), sorted(["", *self.plain]))

    def test_by_name_only_files_with_the_names_of_stores_are_looked_into(self):
        write_hdf5(self.path("named.h5"))
        for options in (["--detect", "name"], ["-o", "detect=name"], ["--detect=content", "--detect=name"]):
            with harness.Mount(self.source, *options) as mounted:
                for name in (*self.arrays, *self.plain):
                    with self.subTest(name):
                        is_store = name == "lab.mat"
                        self.assertEqual(os.path.isdir(mounted.join(name)), is_store)
                        if not is_store:
                            self.assertEqual(harness.read(mounted.path, name), harness.read(self.source, name))
                self.assert_array(mounted.path, "named.h5/group/x")
                self.assertIn(b"detect: name\n", harness.read(mounted.path, ".ndlfs/config.yaml"))

    def test_wrong_ways_to_detect_are_refused(self):
        for words in (["mount", self.source, self.scratch], ["check", self.source]):
            result = self.run_ndlfs(*words, "--detect", "nam")
            self.assertEqual(result.returncode, 2)
            self.assertIn('"nam" is not one of content, name (did you mean name?)', result.stderr)

    def test_check_finds_them_too(self):
        checked = json.loads(self.run_ndlfs("check", self.source, "--format", "json").stdout)
        found = {os.path.basename(store["store"]) for store in checked["stores"]}
        self.assertEqual(found, set(self.arrays))
        named = json.loads(self.run_ndlfs("check", self.source, "--format", "json", "--detect", "name").stdout)
        self.assertEqual([os.path.basename(store["store"]) for store in named["stores"]], ["lab.mat"])

    def test_a_store_that_is_named_is_known_by_its_content(self):
        mounted = self.mount(self.source, "--detect", "name")
        for folder in (self.source, mounted.path):
            for name, array in self.arrays.items():
                if folder == mounted.path and name == "lab.mat":
                    continue  # a folder there
                with self.subTest(folder=folder, name=name):
                    place = os.path.join(folder, name)
                    self.assertIn("type: int32", self.run_ok(harness.BINARY, "describe", place))
                    raw = subprocess.run([harness.BINARY, "cat", place, f"/{array}", "--view", "raw"], capture_output=True)
                    self.assertEqual(raw.stdout, VALUES.tobytes())
                    checked = self.run_ok(harness.BINARY, "check", place, "--detect", "name")
                    self.assertIn("1 store", checked)
        result = self.run_ndlfs("describe", self.path("report.docx"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("not an array store", result.stderr)


class ChangingTest(DetectCase):
    """Files that change what they are, and things that are no files."""

    def test_file_that_becomes_a_store_and_plain_again(self):
        path = self.path("changing.dat")
        mounted = self.mount(self.source, "--revalidate", "0.1")
        for _ in range(5):
            harness.write(path, b"plain" * 1000)
            harness.wait_until(lambda: os.path.isfile(mounted.join("changing.dat")), "a plain file")
            self.assertEqual(harness.read(mounted.path, "changing.dat"), b"plain" * 1000)
            write_hdf5(path)  # the same file, in place
            harness.wait_until(lambda: os.path.isdir(mounted.join("changing.dat")), "a store")
            self.assert_array(mounted.path, "changing.dat/group/x")
            os.unlink(path)

    def test_change_within_a_tick_of_the_clock_is_seen(self):
        """Of the same size, in place, with nothing but the bytes to tell."""
        path = self.path("changing.dat")
        with open(path, "wb") as file:
            np.save(file, VALUES)
        store = harness.read(path)
        mounted = self.mount(self.source, "--revalidate", "0")
        for round_ in range(20):
            with open(path, "r+b") as file:
                file.write(bytes(len(store)))
                file.flush()
                self.assertTrue(os.path.isfile(mounted.join("changing.dat")), round_)
                file.seek(0)
                file.write(store)
                file.flush()
                self.assertTrue(os.path.isdir(mounted.join("changing.dat")), round_)
                os.utime(path, (0, round_))  # what was a store is known to be one by its times

    def test_store_and_plain_file_that_change_places_all_the_time(self):
        """Whatever is seen is the one or the other."""
        write_hdf5(self.path("store"))
        harness.write(self.path("plain"), b"plain" * 1000)
        for name in ("store", "plain"):
            os.link(self.path(name), self.path(f"{name}.copy"))
        mounted = self.mount(self.source, "--revalidate", "0")
        seen = set()
        for number in range(300):
            os.link(self.path(("store", "plain")[number % 2]), self.path("next"))
            os.replace(self.path("next"), self.path("it"))
            try:
                mode = os.lstat(mounted.join("it")).st_mode
                if stat.S_ISREG(mode):
                    self.assertEqual(harness.read(mounted.path, "it"), b"plain" * 1000)
                else:
                    self.assert_array(mounted.path, "it/group/x")
                seen.add(stat.S_ISREG(mode))
            except OSError:
                pass  # it has just changed
        self.assertEqual(seen, {True, False})

    def test_things_that_are_no_files_are_never_opened(self):
        os.mkfifo(self.path("x.nc"))
        os.mkfifo(self.path("pipe"))
        os.symlink("x.nc", self.path("link.nc"))
        if os.getuid() == 0:
            os.mknod(self.path("null.h5"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
        mounted = self.mount(self.source)
        self.assertTrue(stat.S_ISFIFO(os.lstat(mounted.join("x.nc")).st_mode))
        self.assertTrue(stat.S_ISFIFO(os.lstat(mounted.join("pipe")).st_mode))
        if os.getuid() == 0:
            self.assertTrue(stat.S_ISCHR(os.lstat(mounted.join("null.h5")).st_mode))
        self.run_ok("find", mounted.path)
        for command in ("describe", "check"):
            result = self.run_ndlfs(command, self.path("x.nc"))
            self.assertEqual((result.returncode, "not an array store" in result.stderr), (1, True), result.stderr)
        result = self.run_ndlfs("mount", self.path("x.nc"), self.scratch)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not a directory", result.stderr)


class KnownPlainTest(DetectCase):
    COUNT = 500

    def setUp(self):
        super().setUp()
        for number in range(self.COUNT):
            harness.write(self.path(f"{number}.txt"), b"x" * (100 + number))
        time.sleep(2.1)  # until their times are past

    def statistics(self, mounted):
        return json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))

    def test_plain_files_are_looked_into_once(self):
        mounted = self.mount(self.source, "--revalidate", "0")
        self.run_ok("find", mounted.path, "-type", "f")
        first = self.statistics(mounted)["lookups_total"]
        self.run_ok("find", mounted.path, "-type", "f")
        self.assertLess(self.statistics(mounted)["lookups_total"] - first, 50)
        with open(self.path("7.txt"), "wb") as file:
            np.save(file, VALUES)
        found = self.run_ok("find", mounted.path, "-type", "d", "-name", "*.txt")
        self.assertEqual(found, mounted.join("7.txt") + "\n")


class OneFileTest(DetectCase):
    def test_one_file_is_the_root_of_the_mount(self):
        write_netcdf(self.path(WRF), "NETCDF3_CLASSIC")
        harness.write(self.path("secret.txt"), "secret")
        mounted = self.mount(self.path(WRF), "--detect", "name")
        self.assertEqual(sorted(os.listdir(mounted.path)), [".ndl.yaml", ".ndlfs", ".source", "data.nc", "index.html", "v"])
        self.assert_array(mounted.path, "v")
        self.assertEqual(os.readlink(mounted.join(".source")), f".ndlfs/source/{WRF}")
        self.assertEqual(harness.read(mounted.path, ".source"), harness.read(self.source, WRF))
        self.assertEqual(os.listdir(mounted.join(".ndlfs/source")), [WRF])
        for name in ("secret.txt", "..", "../secret.txt"):
            self.assertFalse(os.path.isfile(mounted.join(".ndlfs/source", name)), name)
        self.assertIn(WRF, self.run_ok("findmnt", "-n", "-o", "SOURCE", mounted.path))

    def test_mounted_beside_itself_by_relative_names(self):
        write_hdf5(self.path("x.h5"))
        os.mkdir(self.path("x"))
        result = subprocess.run([harness.BINARY, "mount", "x.h5", "x"], cwd=self.source, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.addCleanup(harness.unmount, self.path("x"), True)
        self.assert_array(self.path("x/group/x"))
        result = self.run_ndlfs("umount", self.path("x"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.path("x")), [])

    def test_what_it_refers_to_is_read_but_not_by_way_of_the_mount_itself(self):
        """References into the mount point would have the mount wait for itself."""
        harness.write(self.path("values.bin"), VALUES.tobytes())
        array = json.dumps({"zarr_format": 2, "shape": [4, 6], "chunks": [4, 6], "dtype": "<i4", "compressor": None,
                            "filters": None, "fill_value": 0, "order": "C"})
        os.mkdir(self.path("here"))
        references = {".zgroup": '{"zarr_format": 2}', "good/.zarray": array, "good/0.0": ["values.bin"],
                      "loop/.zarray": array, "loop/0.0": ["here/good/data.raw"]}
        harness.write(self.path("all.json"), json.dumps(references))
        with h5py.File(self.path("virtual.h5"), "w") as file:
            for name, target in (("good", "part.h5"), ("loop", "here/.ndlfs/source/virtual.h5")):
                layout = h5py.VirtualLayout((4, 6), "<i4")
                layout[:] = h5py.VirtualSource(target, "group/x", (4, 6))
                file.create_virtual_dataset(name, layout, fillvalue=-1)
        write_hdf5(self.path("part.h5"))
        for name in ("all.json", "virtual.h5"):
            with self.subTest(name):
                place = self.path("here")
                result = self.run_ndlfs("mount", self.path(name), place)
                self.assertEqual(result.returncode, 0, result.stderr)
                try:
                    self.assert_array(place, "good")
                    shown = subprocess.run(["timeout", "20", "cat", f"{place}/loop/data.raw"], capture_output=True)
                    self.assertNotEqual(shown.returncode, 124, "it hangs")
                    self.assertNotEqual(shown.stdout, VALUES.tobytes())
                finally:
                    self.assertEqual(harness.unmount(place).returncode, 0)
                harness.wait_until(lambda: harness.mount_type(place) is None, "unmounting")

    def test_store_that_is_a_directory_links_to_itself(self):
        zarr.save_array(self.path("a.zarr"), VALUES)
        mounted = self.mount(self.path("a.zarr"))
        self.assertEqual(os.readlink(mounted.join(".source")), ".ndlfs/source")
        self.assertEqual(harness.read(mounted.path, ".source/.zarray"), harness.read(self.source, "a.zarr/.zarray"))

    def test_file_that_is_no_store_is_refused(self):
        harness.write(self.path("notes.txt"), "notes")
        os.mkdir(self.path("here"))
        result = self.run_ndlfs("mount", self.path("notes.txt"), self.path("here"))
        self.assertEqual(result.returncode, 1)
        self.assertIn('notes.txt": not a directory, and not an array store', result.stderr)

    def test_file_that_only_has_the_name_of_a_store_is_refused(self):
        harness.write(self.path("notes.nc"), "notes")
        os.mkdir(self.path("here"))
        for command in (("mount", self.path("notes.nc"), self.path("here")),
                        ("run", self.path("notes.nc"), "--", "true")):
            result = self.run_ndlfs(*command)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), command)
            self.assertIn('ndlfs: source: notes.nc: not a readable HDF5 file', result.stderr)
            self.assertIn('it begins with "notes", like no array store', result.stderr)

    def test_damaged_store_is_mounted_and_says_what_is_wrong(self):
        harness.write(self.path("short.npy"), b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fort")
        mounted = self.mount(self.path("short.npy"))
        self.assertIn(b"short.npy", harness.read(mounted.path, "error.txt"))

    def test_file_that_breaks_or_goes_while_it_is_mounted(self):
        write_hdf5(self.path("x.dat"))
        mounted = self.mount(self.path("x.dat"), "--revalidate", "0.1")
        self.assert_array(mounted.path, "group/x")
        shutil.copy(self.path("x.dat"), self.path("copy"))
        harness.write(self.path("x.dat"), "no longer a store")
        harness.wait_until(lambda: os.listdir(mounted.path) == [".ndlfs", "error.txt"], "noticing it")
        self.assertEqual(harness.read(mounted.path, "error.txt"), b"x.dat: no longer an array store\n")
        self.assertEqual(harness.read(mounted.path, ".ndlfs/source/x.dat"), b"no longer a store")
        os.unlink(self.path("x.dat"))
        harness.wait_until(lambda: b"x.dat: x.dat" in harness.read(mounted.path, "error.txt"), "noticing that it is gone")
        os.rename(self.path("copy"), self.path("x.dat"))
        harness.wait_until(lambda: "group" in os.listdir(mounted.path), "noticing that it is back")
        self.assert_array(mounted.path, "group/x")

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_others_need_to_pass_its_directory(self):
        write_hdf5(self.path("x.h5"))
        os.chmod(self.scratch, 0o755)
        for mode, status in ((0o700, 1), (0o711, 0)):
            os.chmod(self.source, mode)
            with harness.Mount(self.path("x.h5"), "--allow-other") as mounted:
                command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat",
                           mounted.join("group/x/data.raw")]
                self.assertEqual(subprocess.run(command, capture_output=True).returncode, status, oct(mode))


class MirrorTest(DetectCase):
    def setUp(self):
        super().setUp()
        write_netcdf(self.path("tas.nc"), "NETCDF4")
        write_hdf5(self.path("tas_neighbour.h5"))
        harness.write(self.path("runs", "notes.txt"), "notes")
        zarr.save_array(self.path("runs", "a.zarr"), VALUES)
        os.symlink("../tas.nc", self.path("runs", "inside"))
        os.symlink("/etc/passwd", self.path("outside"))

    def test_mirror_is_the_source_byte_for_byte(self):
        mounted = self.mount(self.source)
        self.assertEqual(self.run_ok("diff", "-r", "--no-dereference", self.source, mounted.join(".ndlfs/source")), "")
        self.assertEqual(os.readlink(mounted.join(".ndlfs/source/outside")), "/etc/passwd")
        for name in ("tas.nc", "runs/a.zarr/.zarray"):
            ours, theirs = os.stat(mounted.join(".ndlfs/source", name)), os.stat(self.path(name))
            self.assertEqual((ours.st_size, ours.st_mtime_ns), (theirs.st_size, theirs.st_mtime_ns))
            self.assertEqual(ours.st_mode, theirs.st_mode & ~0o333)
            with self.assertRaises(OSError):
                open(mounted.join(".ndlfs/source", name), "ab").close()

    def test_links_lead_to_the_store_with_its_neighbours(self):
        mounted = self.mount(self.source)
        for store, up in (("tas.nc", ".."), ("runs/a.zarr", "../..")):
            link = mounted.join(store, ".source")
            self.assertEqual(os.readlink(link), f"{up}/.ndlfs/source/{store}")
            self.assertEqual(os.path.realpath(link), mounted.join(".ndlfs/source", store))
        self.assertEqual(harness.read(mounted.path, "tas.nc/.source"), harness.read(self.source, "tas.nc"))
        self.assertIn("tas_neighbour.h5", os.listdir(os.path.dirname(os.path.realpath(mounted.join("tas.nc/.source")))))
        with netCDF4.Dataset(mounted.join("tas.nc/.source")) as dataset:
            np.testing.assert_array_equal(dataset["v"][:], VALUES)
        np.testing.assert_array_equal(zarr.open(mounted.join("runs/a.zarr/.source"), "r")[:], VALUES)
        self.assertIn("v", self.run_ok(harness.BINARY, "describe", mounted.join("tas.nc/.source")))

    def test_whoever_walks_the_mount_does_not_walk_the_source_twice(self):
        mounted = self.mount(self.source)
        found = self.run_ok("find", mounted.path)
        self.assertIn("/.ndlfs/stats.json\n", found)
        self.assertNotIn("/.ndlfs/source", found)
        self.run_ok("rsync", "-a", mounted.path + "/", os.path.join(self.scratch, "copy"))
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "copy/.ndlfs/source")))
        self.assertEqual(os.readlink(os.path.join(self.scratch, "copy/tas.nc/.source")), "../.ndlfs/source/tas.nc")

    def test_inode_numbers_are_unique_and_stay(self):
        def numbers(mounted):
            found = {}
            for top in (mounted.path, mounted.join(".ndlfs/source")):
                for folder, folders, files in os.walk(top):
                    for name in (*folders, *files):
                        path = os.path.join(folder, name)
                        found[os.path.relpath(path, mounted.path)] = os.lstat(path).st_ino
            return found
        with harness.Mount(self.source) as mounted:
            first = numbers(mounted)
        self.assertEqual(len(set(first.values())), len(first))
        with harness.Mount(self.source) as mounted:
            self.assertEqual(numbers(mounted), first)

    def test_df_shows_the_figures_of_the_source(self):
        mounted = self.mount(self.source)
        ours, theirs = os.statvfs(mounted.path), os.statvfs(self.source)
        self.assertEqual(ours.f_blocks * ours.f_frsize, theirs.f_blocks * theirs.f_frsize)
        self.assertEqual(ours.f_files, theirs.f_files)
        free = [status.f_bavail * status.f_frsize for status in (ours, theirs)]
        self.assertGreater(free[0], 0)
        self.assertLess(abs(free[0] - free[1]), max(free) / 4)  # others write meanwhile


if __name__ == "__main__":
    harness.main()
