# SPDX-License-Identifier: MIT
"""Programs that trust sizes copy every view of a store of each format: what they copy has the bytes of the view."""
import itertools
import json
import os
import shutil
import struct
import sys

import harness
import netCDF4
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "faults"))
import stores  # noqa: E402

# No listing shows these folders.
TREES = "data.zarr", "data.zarr2", "values.zarr", "data[chunks:].zarr"


def texts_of_netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("st", str, ("x",))[:] = np.array(["a", "b", "cc"], object)


def texts_of_zarr(path):
    """By hand: writers need another library for texts."""
    harness.write(f"{path}/.zarray", json.dumps({
        "zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|O", "order": "C", "compressor": None, "fill_value": "",
        "filters": [{"id": "vlen-utf8"}]}))
    for chunk, texts in enumerate([(b"a", b""), (b"ccc", b"")]):
        elements = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        harness.write(f"{path}/{chunk}", struct.pack("<I", len(texts)) + elements)


STORES = stores.STORES + [("texts.nc", texts_of_netcdf, "st"), ("texts.zarr", texts_of_zarr, "")]
# Each copies a folder, or a file, to a place that is not there yet.
PROGRAMS = {
    "cp": lambda source, target: [["cp", "-r", source, target]],
    "rsync": lambda source, target: [["rsync", "-a", source + "/", target]],
    "tar": lambda source, target: [["mkdir", target], ["sh", "-c", 'tar -C "$1" -cf - . | tar -C "$2" -xf -', "sh", source,
                                                       target]],
}
if shutil.which("rclone"):
    PROGRAMS["rclone"] = lambda source, target: [["rclone", "copy", source, target]]


def files_below(top):
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            if not os.path.islink(os.path.join(folder, name)):
                yield os.path.relpath(os.path.join(folder, name), top)


class CopiesTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        for name, write, _ in STORES:
            write(self.path(name))
        self.other = self.mount(self.source)

    def copy(self, program, source):
        target = os.path.join(self.scratch, "copy")
        for command in PROGRAMS[program](source, target):
            self.run_ok(*command)
        return target

    def compare(self, program, mounted, *parts):
        """Copies a folder, and returns how many files were compared with those of a mount that has listed nothing: the
        kernel believes sizes for a while that a listing has told."""
        source, other = mounted.join(*parts), self.other.join(*parts)
        target = self.copy(program, source)
        # Pages name the mount point.
        copied = [name for name in files_below(target) if os.path.basename(name) != "index.html"]
        for name in copied:
            with self.subTest(program=program, source=source, file=name):
                self.assertEqual(harness.read(target, name), harness.read(other, name))
        shutil.rmtree(target)
        return len(copied)

    def test_all_files_that_a_listing_may_show(self):
        """The programs take turns: there are thousands of files."""
        with harness.Mount(self.source, "--views", "all") as mounted:
            for program, (name, _, _) in zip(itertools.cycle(PROGRAMS), STORES):
                self.assertGreater(self.compare(program, mounted, name), 4)

    def test_folders_that_are_found_by_their_names(self):
        for program in PROGRAMS:
            compared = 0
            with self.subTest(program=program), harness.Mount(self.source) as mounted:
                for name, _, array in STORES:
                    for tree in TREES:
                        if os.path.isdir(mounted.join(name, array, tree)):
                            compared += self.compare(program, mounted, name, array, tree)
            self.assertGreater(compared, 4 * len(STORES))

    def test_stores_that_stand_as_folders_of_another_format(self):
        self.other = self.mount(self.source, "--as", "zarr2")
        for program in PROGRAMS:
            with self.subTest(program=program), harness.Mount(self.source, "--as", "zarr2") as mounted:
                self.assertGreater(self.compare(program, mounted, "texts.nc.zarr2"), 2)


if __name__ == "__main__":
    harness.main()
