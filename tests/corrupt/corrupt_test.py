# SPDX-License-Identifier: MIT
"""Mounts what make.py makes, and compares what is seen with its table."""
import errno
import os
import shutil
import stat
import subprocess
import tempfile
import unicodedata
import unittest

import harness
import make
import numpy as np


def setUpModule():
    global scratch, source
    scratch = tempfile.mkdtemp(prefix="ndlfs-corrupt-")
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    source = os.path.join(scratch, "source")
    make.make_all(source)


class CorruptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mounted = cls.enterClassContext(harness.Mount(source, "--cache-size", "8MiB"))

    def tearDown(self):
        """Whatever a test has touched, the neighbours are as they were, and the mount answers."""
        for name in make.GOOD:
            self.assertEqual(harness.read(self.mounted.path, name, "data.raw"), make.VALUES.tobytes(), name)

    def error_line(self, folder):
        """The text of `error.txt`: one line, no longer than anybody reads."""
        text = harness.read(folder, "error.txt").decode()
        self.assertTrue(text.endswith("\n"), text)
        self.assert_one_line(text[:-1])
        self.assertLess(len(text), 1000)
        return text

    def assert_one_line(self, text):
        controls = [character for character in text if unicodedata.category(character) == "Cc"]
        self.assertEqual(controls, [], text)

    def assert_words(self, words, text):
        for word in words:
            self.assertIn(word, text)

    def check_StoreError(self, case, folder, expectation):
        self.assertEqual(sorted(os.listdir(folder)), [".source", "error.txt"])
        self.assert_words((case.name, *expectation.words), self.error_line(folder))

    def check_ArrayError(self, case, folder, expectation):
        array = os.path.join(folder, expectation.path).rstrip("/")
        names = sorted(os.listdir(array))
        self.assertIn("error.txt", names)
        self.assertEqual([name for name in names if name.startswith("data.")], [])
        if expectation.described is not None:
            self.assertEqual(".ndl.yaml" in names, expectation.described, names)
        for view in harness.VIEWS:
            self.assertFalse(os.path.exists(os.path.join(array, view)))
        self.assertTrue(os.path.lexists(os.path.join(folder, ".source")))
        self.assert_words((case.name, *expectation.words), self.error_line(array))

    def check_PlainFolder(self, case, folder, expectation):
        self.assertEqual(sorted(os.listdir(folder)), sorted(expectation.names))

    def check_Shows(self, case, folder, expectation):
        array = os.path.join(folder, expectation.path).rstrip("/")
        np.testing.assert_array_equal(np.load(os.path.join(array, "data.npy")), expectation.values)
        self.assertEqual(harness.read(array, "data.raw"), expectation.values.tobytes())

    def check_BadText(self, case, folder, expectation):
        with self.assertRaises(OSError) as caught:
            harness.read(folder, "data.jsonl")
        self.assertEqual(caught.exception.errno, errno.EIO)
        log = harness.read(self.mounted.path, ".ndlfs", "errors.log").decode().splitlines()
        lines = [line for line in log if case.name in line]
        self.assertEqual(len(lines), 1, lines)
        self.assert_words(expectation.words, lines[0])

    def check_BadChunks(self, case, folder, expectation):
        array = os.path.join(folder, expectation.path).rstrip("/")
        self.assertEqual(os.stat(f"{array}/data.raw").st_size, make.VALUES.nbytes)
        whole = make.VALUES.tobytes()
        size = 4 * make.COUNT
        for index in range(make.CHUNKS):
            self.assert_range(f"{array}/data.raw", size * index, size, 0, whole, index in expectation.chunks)
        # The elements of data.npy do not begin at a page: only direct reads tell its chunks apart to the byte.
        start = os.stat(f"{array}/data.npy").st_size - len(whole)
        for index in range(make.CHUNKS):
            self.assert_range(f"{array}/data.npy", start + size * index, size, start, whole,
                              index in expectation.chunks, os.O_DIRECT)
        with self.assertRaises(OSError) as caught:
            harness.read(array, "data.raw")
        self.assertEqual(caught.exception.errno, errno.EIO)
        log = harness.read(self.mounted.path, ".ndlfs", "errors.log").decode().splitlines()
        for index, words in expectation.chunks.items():
            name = "" if expectation.ranges else f"chunk {index}"
            lines = [line for line in log if case.name in line and name in line]
            self.assertNotEqual(lines, [], f"chunk {index} is not in errors.log")
            self.assert_words(words, lines[0])

    def assert_range(self, path, offset, size, start, whole, broken, flags=0):
        """Reads `size` bytes at `offset` of a file whose elements begin at `start`: EIO if `broken`."""
        file = os.open(path, os.O_RDONLY | flags)
        try:
            if broken:
                with self.assertRaises(OSError, msg=f"offset {offset}") as caught:
                    os.pread(file, size, offset)
                self.assertEqual(caught.exception.errno, errno.EIO)
            else:
                self.assertEqual(os.pread(file, size, offset), whole[offset - start:offset - start + size])
        finally:
            os.close(file)

    def test_links_are_shown_and_never_followed_out_of_the_tree(self):
        for name in os.listdir(os.path.join(source, "links")):
            with self.subTest(name):
                self.assertEqual(os.readlink(self.mounted.join("links", name)),
                                 os.readlink(os.path.join(source, "links", name)))

    def test_names_never_break_a_line(self):
        folder = os.path.join(self.mounted.path.encode(), b"names")
        names = sorted(os.listdir(folder))
        self.assertEqual(names, sorted(os.listdir(os.path.join(source.encode(), b"names"))))
        for name in names:
            with self.subTest(name):
                if name.endswith(b" group.zarr"):
                    path = os.path.join(folder, name, name[:-len(b" group.zarr")], b"data.raw")
                    with self.assertRaises(OSError):
                        harness.read(path)
                else:
                    self.assertIn("pcodec9", self.error_line(os.fsdecode(os.path.join(folder, name))))
        for line in harness.read(self.mounted.path, ".ndlfs", "errors.log").decode().split("\n"):
            self.assert_one_line(line)

    def test_documents_of_all_stores_can_be_read(self):
        for name in os.listdir(source):
            document = self.mounted.join(name, ".ndl.yaml")
            if os.path.exists(document):
                with self.subTest(name):
                    self.assertEqual(len(harness.read(document)), os.stat(document).st_size)


class WholeTreeTest(unittest.TestCase):
    def test_two_walks_at_once_end_and_find_no_secret(self):
        with harness.Mount(source, "--cache-size", "8MiB") as mounted:
            command = ["find", mounted.path, "-type", "f", "-exec", "cat", "{}", "+"]
            walks = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL) for _ in range(2)]
            outputs = harness.outputs_of(walks)
            for output in outputs:
                self.assertGreater(len(output), make.VALUES.nbytes)
                self.assertEqual(output.count(make.SECRET), 0)
            for name in make.GOOD:
                self.assertEqual(harness.read(mounted.path, name, "data.raw"), make.VALUES.tobytes())

    def test_every_attribute_can_be_asked_for(self):
        with harness.Mount(source) as mounted:
            for name in harness.walk(mounted.path):
                path = mounted.join(name)
                try:
                    mode = os.lstat(path).st_mode
                except OSError as error:  # only decoding tells how large it is
                    self.assertEqual((error.errno, os.path.basename(path)), (errno.EIO, "data.jsonl"))
                    self.assertIn("chunk", harness.read(os.path.dirname(path), "error.txt").decode())
                    continue
                if not stat.S_ISLNK(mode):
                    for attribute in os.listxattr(path):
                        os.getxattr(path, attribute)

    def test_log_is_no_flood(self):
        with harness.Mount(source) as mounted:
            path = mounted.join("v2-chunk-too-short.zarr", "data.raw")
            for _ in range(200):
                with self.assertRaises(OSError):
                    harness.read(path)
            for log in (harness.read(mounted.path, ".ndlfs", "errors.log").decode(), mounted.log()):
                self.assertIn("v2-chunk-too-short.zarr", log)
                self.assertLess(log.count("v2-chunk-too-short.zarr"), 20)


def add_tests():
    for case in make.CASES:
        def test(self, case=case):
            check = getattr(self, f"check_{type(case.expectation).__name__}")
            check(case, self.mounted.join(case.name), case.expectation)
        name = case.name.rsplit(".", 1)[0].replace("-", "_")
        assert not hasattr(CorruptTest, f"test_{name}"), case.name
        setattr(CorruptTest, f"test_{name}", test)


add_tests()

if __name__ == "__main__":
    harness.main()
