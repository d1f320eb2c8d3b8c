# SPDX-License-Identifier: MIT
"""Names of arrays as file names: one-to-one, whatever bytes they are made of."""
import os
import re

import harness
import numpy as np

import zarr3

# Names of arrays in a store, and of their folders.
AS_THEY_ARE = [
    b"plain", b"with blank", b" leading", b"trailing ", b"50%", b"%", b"%zz", b"100%4", b"~", b"a~b", b".hidden",
    b"-rf", b"*", b"a\\b", b"quote'\"", b"tab\tand\nnewline", b"\x01\x7f", b"caf\xc3\xa9", b"\xe6\xb8\xa9\xe5\xba\xa6",
    b"\xff\xfe not UTF-8", b"data", b"database", b"Data.npy", b".error", b"error", b"values", b"index.htm", b".ndl.yml", b".ndlfs", b"x" * 255,
]
ESCAPED = {
    b"data.npy": b"%64ata.npy",
    b"data.raw": b"%64ata.raw",
    b"data.anything": b"%64ata.anything",
    b"data[0].npy": b"%64ata[0].npy",
    b"values.npy": b"%76alues.npy",
    b"values[1:]": b"%76alues[1:]",
    b"error.txt": b"%65rror.txt",
    b"preview.png": b"%70review.png",
    b"thumbnail.png": b"%74humbnail.png",
    b"index.html": b"%69ndex.html",
    b"table.csv": b"%74able.csv",
    b".source": b"%2Esource",
    b".ndl.yaml": b"%2Endl.yaml",
    b"a%2Fb": b"a%252Fb",
    b"%2fb": b"%252fb",
    b"%25": b"%2525",
    b"%64ata.npy": b"%2564ata.npy",
    b"%00": b"%2500",
    b"%41" * 51: b"%2541" * 51,
}
SHORTENED = [b"%41" * 60, b"%41" * 60 + b"x", b"%41" * 85, b"data." + b"y" * 250,
             b"looks shortened~0123456789abcdef"]


class NamesTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.values = {}
        zarr3.write_group(os.path.join(self.source, "names.zarr"))
        for number, name in enumerate([*AS_THEY_ARE, *ESCAPED, *SHORTENED]):
            self.values[name] = np.full(3, number, np.int16)
            path = os.path.join(self.source.encode(), b"names.zarr", name)
            zarr3.write_array(os.fsdecode(path), self.values[name], chunks=(3,), codecs=[zarr3.BYTES],
                              fill_value=-1, attributes={"number": number})

    def folders(self, mounted):
        return [name for name in os.listdir(os.path.join(mounted.path.encode(), b"names.zarr"))
                if name not in (b".ndl.yaml", b".source", b"data.nc", b"index.html")]

    def value(self, mounted, folder):
        path = os.path.join(mounted.path.encode(), b"names.zarr", folder, b"data.npy")
        return np.load(os.fsdecode(path))

    def test_names_that_can_be_file_names_are_kept(self):
        mounted = self.mount(self.source)
        for name in AS_THEY_ARE:
            with self.subTest(name):
                np.testing.assert_array_equal(self.value(mounted, name), self.values[name])

    def test_names_that_cannot_or_may_not_are_escaped(self):
        mounted = self.mount(self.source)
        for name, folder in ESCAPED.items():
            with self.subTest(name):
                np.testing.assert_array_equal(self.value(mounted, folder), self.values[name])

    def test_every_name_has_a_folder_of_its_own(self):
        mounted = self.mount(self.source)
        folders = self.folders(mounted)
        self.assertEqual(len(folders), len(self.values))
        numbers = sorted(int(self.value(mounted, folder)[0]) for folder in folders)
        self.assertEqual(numbers, list(range(len(self.values))))

    def test_names_that_are_too_long_end_in_a_hash(self):
        mounted = self.mount(self.source)
        known = set(AS_THEY_ARE) | set(ESCAPED.values())
        shortened = [folder for folder in self.folders(mounted) if folder not in known]
        self.assertEqual(len(shortened), len(SHORTENED))
        for folder in shortened:
            with self.subTest(folder):
                self.assertLessEqual(len(folder), 255)
                self.assertTrue(re.search(rb"~[0-9a-f]{16}$", folder))

    def test_shortened_names_open_without_a_listing_first(self):
        with harness.Mount(self.source) as mounted:
            folders = self.folders(mounted)
        mounted = self.mount(self.source)
        for folder in folders:
            if re.search(rb"~[0-9a-f]{16}$", folder):
                self.assertEqual(self.value(mounted, folder).shape, (3,))

    def test_a_spelling_that_stands_for_no_name_is_absent(self):
        mounted = self.mount(self.source)
        for folder in (b"%70lain", b"plain~0123456789abcdef", b"%2Fplain", b"%00", b"%2E%2E", b"PLAIN"):
            with self.subTest(folder), self.assertRaises(FileNotFoundError):
                os.stat(os.path.join(mounted.path.encode(), b"names.zarr", folder))

    def test_the_document_shows_the_true_names(self):
        mounted = self.mount(self.source)
        document = harness.read(mounted.path, "names.zarr", ".ndl.yaml").decode()
        for name in ("data.npy:", "a%2Fb:", ".source:", "caf\u00e9:", "\u6e29\u5ea6:"):
            self.assertIn(name, document)

    def test_plain_files_keep_their_names(self):
        names = [b"a%2Fb", b"data.txt", b"error.txt", b"new\nline", b"\xff\xfe", b"y" * 255]
        for name in names:
            harness.write(os.path.join(self.source.encode(), b"plain", name), name)
        mounted = self.mount(self.source)
        folder = os.path.join(mounted.path.encode(), b"plain")
        self.assertEqual(sorted(os.listdir(folder)), sorted(names))
        for name in names:
            self.assertEqual(harness.read(folder, name), name)

    def test_stores_may_have_any_name_too(self):
        names = [b"new\nline.npy", b"\xff\xfe.npy", b"a%2Fb.npy", b"50% of it.npy", b".ndl.yaml.npy"]
        for number, name in enumerate(names):
            with open(os.path.join(self.source.encode(), name), "wb") as file:
                np.save(file, np.arange(number))
        mounted = self.mount(self.source)
        for number, name in enumerate(names):
            path = os.path.join(mounted.path.encode(), name, b"data.npy")
            with self.subTest(name):
                np.testing.assert_array_equal(np.load(os.fsdecode(path)), np.arange(number))

    def test_a_control_folder_of_the_source_is_hidden_by_the_mounts_own(self):
        harness.write(os.path.join(self.source, ".ndlfs", "mine.txt"), "mine")
        mounted = self.mount(self.source)
        self.assertIn("stats.json", os.listdir(mounted.join(".ndlfs")))
        self.assertEqual(os.listdir(mounted.path).count(".ndlfs"), 1)


if __name__ == "__main__":
    harness.main()
