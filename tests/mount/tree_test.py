# SPDX-License-Identifier: MIT
"""What stands in a mounted tree, what its files hold, and that both stay the same from one mount to the next."""
import errno
import json
import os
import stat
import time

import harness
import numpy as np

import make_data


def expected_tree():
    """The tree of the example data, from what its maker says is in there."""
    paths = ["notes.txt", "arrays"]
    for store, arrays in make_data.expected().items():
        folders = {store}
        for name in arrays:
            while name:
                folders.add(f"{store}/{name}")
                name = os.path.dirname(name)
        holders = {os.path.dirname(f"{store}/{name}") for name in arrays if name}
        views = {f"{store}/{name}".rstrip("/") for name in arrays}
        for folder in folders:
            paths += [folder, f"{folder}/.ndl.yaml"]
            paths += [f"{folder}/{view}" for view in harness.VIEWS if folder in views]
        paths += [f"{folder}/data.nc" for folder in holders]
        paths += [f"{folder}/index.html" for folder in folders - views]
        paths.append(f"{store}/.source")
    return sorted(paths)


class TreeTest(harness.TestCase):
    def test_lists_exactly_what_the_example_data_hold(self):
        mounted = self.mount(harness.DATA)
        names = [name for name in harness.walk(mounted.path) if os.path.basename(name) not in harness.BESIDE]
        self.assertEqual(names, expected_tree())

    def test_folders_are_directories_and_the_rest_are_files(self):
        mounted = self.mount(harness.DATA)
        for name in harness.walk(mounted.path):
            mode = os.lstat(mounted.join(name)).st_mode
            with self.subTest(name):
                if name.endswith("/.source"):
                    self.assertTrue(stat.S_ISLNK(mode))
                elif os.path.basename(name) in (".ndl.yaml", "notes.txt", "data.nc", "data.h5", "index.html", *harness.VIEWS, *harness.BESIDE):
                    self.assertTrue(stat.S_ISREG(mode))
                else:
                    self.assertTrue(stat.S_ISDIR(mode))

    def test_nothing_can_be_written_or_run(self):
        mounted = self.mount(harness.DATA)
        for name in harness.walk(mounted.path):
            mode = os.lstat(mounted.join(name)).st_mode
            if not stat.S_ISLNK(mode):
                with self.subTest(name):
                    self.assertEqual(mode & (0o333 if stat.S_ISREG(mode) else 0o222), 0, oct(mode))

    def test_numbers_of_32_bits_are_unique_and_stay(self):
        numbers = []
        for _ in range(2):
            mounted = self.mount(harness.DATA, "--inode32")
            found = {name: os.lstat(mounted.join(name)).st_ino for name in harness.walk(mounted.path)}
            for folder in ("", "arrays"):
                for entry in os.scandir(mounted.join(folder)):
                    self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino, entry.path)
            self.assertLess(max(found.values()), 2**32)
            self.assertEqual(len(set(found.values())), len(found))
            numbers.append(found)
        self.assertEqual(*numbers)
        mounted = self.mount(harness.DATA)
        self.assertGreater(max(os.lstat(mounted.join(name)).st_ino for name in harness.walk(mounted.path)), 2**32)

    def test_control_folder_is_at_the_top_alone(self):
        mounted = self.mount(harness.DATA)
        self.assertEqual(sorted(os.listdir(mounted.join(".ndlfs"))),
                         ["config.yaml", "errors.log", "metrics", "stats.json"])
        self.assertFalse(os.path.exists(mounted.join("arrays", ".ndlfs")))

    def test_a_name_that_is_not_there_is_absent(self):
        mounted = self.mount(harness.DATA)
        for name in ("nothing", "arrays/nothing", "climate.zarr/nothing", "climate.zarr/t2m/nothing",
                     "climate.zarr/t2m/data.bmp", "climate.zarr/.zgroup", "climate.zarr/t2m/0.0.0",
                     "notes.txt/nothing", "climate.zarr/t2m/error.txt"):
            with self.subTest(name), self.assertRaises((FileNotFoundError, NotADirectoryError)):
                os.lstat(mounted.join(name))

    def test_listing_and_stat_agree_on_inode_numbers(self):
        mounted = self.mount(harness.DATA)
        for folder in ("", "arrays", "climate.zarr", "climate.zarr/t2m", "ocean.zarr/surface"):
            for entry in os.scandir(mounted.join(folder)):
                with self.subTest(entry.path):
                    self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino)

    def test_inode_numbers_are_unique_and_the_same_after_remounting(self):
        def inodes():
            with harness.Mount(harness.DATA) as mounted:
                return {name: os.lstat(mounted.join(name)).st_ino for name in [".", *harness.walk(mounted.path)]}
        first = inodes()
        self.assertEqual(len(set(first.values())), len(first))
        self.assertEqual(inodes(), first)

    def test_digests_are_the_same_after_remounting(self):
        with harness.Mount(harness.DATA) as mounted:
            everything = harness.digests(mounted.path)
            self.assertEqual(harness.digests(mounted.path), everything)
            first = harness.digests_but_pages(mounted.path)
        with harness.Mount(harness.DATA, "--threads", "1", "--cache-size", "1MiB") as mounted:
            self.assertEqual(harness.digests_but_pages(mounted.path), first)

    def test_two_mounts_of_one_source_show_the_same(self):
        one, two = self.mount(harness.DATA), self.mount(harness.DATA)
        self.assertEqual(harness.digests_but_pages(one.path), harness.digests_but_pages(two.path))


class ListedAttributesTest(harness.SourceTestCase):
    """Programs that look up the files that they list get their attributes with the listing."""
    ARRAYS = 60
    FILES = 5  # of each

    def setUp(self):
        super().setUp()
        harness.write(self.path("m.zarr/.zgroup"), '{"zarr_format": 2}')
        for number in range(self.ARRAYS):
            self.write_array(f"a{number}", 4)

    def write_array(self, name, length):
        metadata = {"zarr_format": 2, "shape": [length], "chunks": [length], "dtype": "<f4", "compressor": None,
                    "fill_value": 0, "order": "C", "filters": None}
        harness.write(self.path("m.zarr", name, ".zarray"), json.dumps(metadata))

    def statistics(self, mounted):
        return json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))

    def test_du_looks_up_hardly_any_file(self):
        mounted = self.mount(self.source)
        shown = self.run_ok("du", "-a", mounted.join("m.zarr"))
        self.assertGreater(len(shown.splitlines()), self.FILES * self.ARRAYS)
        self.assertLess(self.statistics(mounted)["lookups_total"], 2 * self.ARRAYS)

    def test_find_neither_looks_up_files_nor_makes_them(self):
        mounted = self.mount(self.source)
        shown = self.run_ok("find", mounted.join("m.zarr"))
        self.assertGreater(len(shown.splitlines()), self.FILES * self.ARRAYS)
        statistics = self.statistics(mounted)
        self.assertLess(statistics["lookups_total"], self.ARRAYS + 20)
        self.assertEqual(statistics["document_bytes"], 0)

    def test_a_listing_does_not_wait_for_the_files_of_a_group(self):
        mounted = self.mount(self.source)
        for entry in os.scandir(mounted.join("m.zarr/a0")):
            entry.stat()  # so this thread looks up what it lists
        before = self.statistics(mounted)["document_bytes"]
        self.assertGreater(before, 0)
        names = os.listdir(mounted.join("m.zarr"))
        self.assertIn(".ndl.yaml", names)
        self.assertEqual(self.statistics(mounted)["document_bytes"], before)

    def test_attributes_and_contents_are_those_of_a_lookup(self):
        def everything(top):
            found = {}
            for folder, folders, files in os.walk(top):
                if ".ndlfs" in folders:
                    folders.remove(".ndlfs")
                for name in files:
                    path = os.path.join(folder, name)
                    status = os.lstat(path)
                    found[os.path.relpath(path, top)] = (
                        status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns,
                        name != "data.npy" or status.st_size == len(harness.read(path)))
            return found
        for source in (self.source, harness.DATA):
            listed = self.mount(source)
            looked_up = self.mount(source, "--revalidate", "0")  # the kernel keeps no attributes
            self.assertEqual(everything(listed.path), everything(looked_up.path))

    def test_files_that_were_listed_are_read_also_after_their_arrays_left_memory(self):
        arrays = 1100  # more than stay in memory
        for number in range(arrays):
            self.write_array(f"a{number}", 4)
            harness.write(self.path("m.zarr", f"a{number}", "0"), bytes([number % 256]) * 16)
        mounted = self.mount(self.source, "--revalidate", "60")  # the kernel believes the listing
        self.run_ok("du", "-a", mounted.join("m.zarr"))
        for number in (0, 1, 500, arrays - 1):
            folder = mounted.join("m.zarr", f"a{number}")
            before = os.stat(os.path.join(folder, "data.raw"))
            self.assertEqual(harness.read(folder, "data.raw"), bytes([number % 256]) * 16)
            self.assertEqual(harness.read(folder, "data.npy")[-16:], bytes([number % 256]) * 16)
            self.assertIn(f" a{number}:".encode(), harness.read(folder, ".ndl.yaml"))
            after = os.stat(os.path.join(folder, "data.raw"))
            self.assertEqual((before.st_ino, before.st_size), (after.st_ino, after.st_size))

    def test_a_change_is_seen_by_the_next_listing_after_a_second(self):
        mounted = self.mount(self.source)

        def sizes():
            return [entry.stat().st_size for number in range(self.ARRAYS)
                    for entry in os.scandir(mounted.join("m.zarr", f"a{number}")) if entry.name == "data.raw"]
        self.assertEqual(sizes(), [4 * 4] * self.ARRAYS)
        for number in range(self.ARRAYS):
            self.write_array(f"a{number}", 7)
        time.sleep(1.1)
        self.assertEqual(sizes(), [4 * 7] * self.ARRAYS)
        self.assertEqual(harness.read(mounted.join("m.zarr/a50/data.raw")), bytes(4 * 7))


class ArrayTest(harness.TestCase):
    def for_each_array(self, check):
        """Calls check(folder, array) with every array of the example data."""
        mounted = self.mount(harness.DATA)
        for store, arrays in make_data.expected().items():
            for name, array in arrays.items():
                with self.subTest(f"{store}/{name}"):
                    check(os.path.join(mounted.path, store, name).rstrip("/"), array)

    def test_data_npy_loads_as_the_array(self):
        def check(folder, array):
            loaded = np.load(f"{folder}/data.npy")
            self.assertEqual(loaded.dtype, array.dtype.newbyteorder("<"))
            self.assertTrue(loaded.flags.c_contiguous)
            np.testing.assert_array_equal(loaded, array)
        self.for_each_array(check)

    def test_data_npy_can_be_mapped_into_memory(self):
        def check(folder, array):
            mapped = np.load(f"{folder}/data.npy", mmap_mode="r")
            self.assertIsInstance(mapped, np.memmap)
            self.assertEqual(mapped.offset % 64, 0)
            np.testing.assert_array_equal(mapped, array)
        self.for_each_array(check)

    def test_data_raw_is_the_little_endian_bytes(self):
        self.for_each_array(lambda folder, array: self.assertEqual(harness.read(folder, "data.raw"),
                                                                   harness.little_endian(array)))

    def test_sizes_are_exact_before_anything_is_read(self):
        def check(folder, array):
            self.assertEqual(os.stat(f"{folder}/data.raw").st_size, array.nbytes)
            for name in ("data.npy", ".ndl.yaml"):
                size = os.stat(f"{folder}/{name}").st_size
                self.assertEqual(size, len(harness.read(folder, name)))
        self.for_each_array(check)

    def test_reads_at_any_offset_give_the_same_bytes(self):
        mounted = self.mount(harness.DATA)
        whole = harness.little_endian(make_data.climate()["t2m"])
        random = np.random.default_rng(1)
        with open(mounted.join("climate.zarr/t2m/data.raw"), "rb", buffering=0) as file:
            for _ in range(500):
                offset, size = int(random.integers(0, len(whole) + 100)), int(random.integers(0, 5000))
                self.assertEqual(os.pread(file.fileno(), size, offset), whole[offset:offset + size])

    def test_direct_reads_give_the_same_bytes(self):
        mounted = self.mount(harness.DATA)
        copy = os.path.join(self.scratch, "copy")
        self.run_ok("dd", f"if={mounted.join('climate.zarr/t2m/data.raw')}", f"of={copy}", "bs=1M", "iflag=direct")
        self.assertEqual(harness.read(copy), harness.little_endian(make_data.climate()["t2m"]))


class DocumentTest(harness.TestCase):
    def test_document_names_coordinates_attributes_and_values(self):
        mounted = self.mount(harness.DATA)
        document = harness.read(mounted.path, "climate.zarr/.ndl.yaml").decode()
        for text in ("dimcoords:", "ndarrays:", "t2m:", "shape: [time, lat, lon]", "type: float32",
                     "units: degrees_north", "title: Made-up climate"):
            self.assertIn(text, document)

    def test_document_of_a_store_has_all_its_groups(self):
        mounted = self.mount(harness.DATA)
        document = harness.read(mounted.path, "ocean.zarr/.ndl.yaml").decode()
        for group in ("/", "/profiles", "/stations", "/surface"):
            self.assertRegex(document, rf"(?m)^{group}:$")

    def test_document_of_an_array_is_about_that_array_alone(self):
        mounted = self.mount(harness.DATA)
        document = harness.read(mounted.path, "climate.zarr/t2m/.ndl.yaml").decode()
        self.assertIn("t2m:", document)
        self.assertNotIn("rain:", document)

    def test_document_of_an_npy_file_is_called_as_the_file(self):
        mounted = self.mount(harness.DATA)
        document = harness.read(mounted.path, "arrays/c_order.npy/.ndl.yaml").decode()
        self.assertIn("c_order:", document)
        self.assertIn("shape: [3, 4, 5]", document)

    def test_source_of_a_file_leads_to_the_file_itself(self):
        mounted = self.mount(harness.DATA)
        for name in make_data.arrays():
            self.assertEqual(harness.read(mounted.path, f"arrays/{name}.npy/.source"),
                             harness.read(harness.DATA, f"arrays/{name}.npy"))

    def test_source_of_a_directory_leads_to_its_files(self):
        mounted = self.mount(harness.DATA)
        for store in ("climate.zarr", "ocean.zarr"):
            self.assertEqual(os.readlink(mounted.join(store, ".source")), f"../.ndlfs/source/{store}")
            self.assertEqual(self.run_ok("diff", "-r", mounted.join(store, ".source"), os.path.join(harness.DATA, store)), "")

    def test_plain_file_is_shown_unchanged(self):
        mounted = self.mount(harness.DATA)
        self.assertEqual(harness.read(mounted.path, "notes.txt"), harness.read(harness.DATA, "notes.txt"))
        ours, theirs = os.stat(mounted.join("notes.txt")), os.stat(os.path.join(harness.DATA, "notes.txt"))
        self.assertEqual(ours.st_mtime_ns, theirs.st_mtime_ns)
        self.assertEqual((ours.st_uid, ours.st_gid), (theirs.st_uid, theirs.st_gid))


class SparseFilesTest(harness.SourceTestCase):
    """Holes of plain files are holes in the mount."""

    def test_holes_of_plain_files_are_kept(self):
        path = self.path("sparse.bin")
        with open(path, "wb") as file:
            file.truncate(3 << 30)
            file.seek(1 << 20)
            file.write(b"x" * 4096)
        with open(self.path("full.bin"), "wb") as file:
            file.write(b"y" * 100_000)
        np.save(self.path("a.npy"), np.arange(10))
        mounted = self.mount(self.source)
        for name in ("sparse.bin", "full.bin"):
            with self.subTest(name):
                self.assertEqual(os.stat(mounted.join(name)).st_blocks, os.stat(self.path(name)).st_blocks)
                shown, real = os.open(mounted.join(name), os.O_RDONLY), os.open(self.path(name), os.O_RDONLY)
                try:
                    for whence in (os.SEEK_DATA, os.SEEK_HOLE):
                        for offset in (0, 5000, (1 << 20) + 5):
                            self.assertEqual(self.seek(shown, offset, whence), self.seek(real, offset, whence))
                finally:
                    os.close(shown)
                    os.close(real)
        copy = os.path.join(self.scratch, "copy.bin")
        harness.run("cp", "--sparse=auto", mounted.join("sparse.bin"), copy, check=True)
        self.assertLess(os.stat(copy).st_blocks, 1000)
        self.assertEqual(os.stat(copy).st_size, 3 << 30)

    def test_views_have_no_holes(self):
        np.save(self.path("a.npy"), np.zeros(1000))
        mounted = self.mount(self.source)
        fd = os.open(mounted.join("a.npy/data.raw"), os.O_RDONLY)
        try:
            self.assertEqual([self.seek(fd, offset, os.SEEK_DATA) for offset in (0, 7999, 8000)], [0, 7999, None])
            self.assertEqual([self.seek(fd, offset, os.SEEK_HOLE) for offset in (0, 7999, 8000)], [8000, 8000, None])
        finally:
            os.close(fd)

    @staticmethod
    def seek(fd, offset, whence):
        try:
            return os.lseek(fd, offset, whence)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return None


if __name__ == "__main__":
    harness.main()
