# SPDX-License-Identifier: MIT
"""data.zarr: small trees as views, read by hand, by tools, and by a second ndlfs."""
import json
import os
import subprocess
import tempfile

import h5py
import netCDF4
import numpy as np
import zarr2 as zarr

import harness

SHAPE = (7, 5, 9)


def read_zarr3(folder):
    """The array in `folder`, read as the specification says, with nothing but NumPy."""
    document = json.loads(harness.read(folder, "zarr.json"))
    assert document["zarr_format"] == 3 and document["node_type"] == "array"
    codec, = document["codecs"]
    assert codec["name"] == "bytes" and codec.get("configuration", {}).get("endian", "little") == "little"
    dtype = np.dtype(document["data_type"]).newbyteorder("<")
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    array = np.zeros(shape, dtype)
    counts = [-(-extent // size) for extent, size in zip(shape, chunk)]
    for index in np.ndindex(*counts):
        key = "/".join(["c", *map(str, index)])
        values = np.frombuffer(harness.read(folder, key), dtype).reshape(chunk)
        place = tuple(slice(i * size, min((i + 1) * size, extent)) for i, size, extent in zip(index, chunk, shape))
        array[place] = values[tuple(slice(0, part.stop - part.start) for part in place)]
        outside = np.ones(chunk, bool)
        outside[tuple(slice(0, part.stop - part.start) for part in place)] = False
        assert not values[outside].size or len(np.unique(values[outside])) == 1, key
    return array


class ZarrViewTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        self.arrays = {"t": rng.integers(-30000, 30000, SHAPE).astype("i2"), "x": rng.random(11),
                       "flag": rng.random((3, 4)) < 0.5, "z": rng.random((2, 3)).astype("c8")}
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        inner = group.create_group("inner")
        for name, values in self.arrays.items():
            array = (inner if name == "x" else group).create_dataset(name, data=values, chunks=(3, 2, 4)[:values.ndim])
            array.attrs["note"] = "of " + name
        with netCDF4.Dataset(self.path("b.nc"), "w", format="NETCDF4") as dataset:
            for name, size in zip("tyx", SHAPE):
                dataset.createDimension(name, size)
            dataset.createVariable("t", "i2", tuple("tyx"), zlib=True, chunksizes=(2, 5, 4))[:] = self.arrays["t"]
        with h5py.File(self.path("d.h5"), "w") as file:
            file["t"] = self.arrays["t"]
        np.save(self.path("e.npy"), self.arrays["t"])
        np.save(self.path("scalar.npy"), np.float64(2.5))
        np.save(self.path("empty.npy"), np.zeros((0, 3)))
        self.folders = ("a.zarr/t", "b.nc/t", "d.h5/t", "e.npy")

    def test_chunks_hold_the_array(self):
        mounted = self.mount(self.source)
        for folder in self.folders:
            tree = mounted.join(folder, "data.zarr")
            with self.subTest(folder):
                np.testing.assert_array_equal(read_zarr3(tree), self.arrays["t"])
        self.assertEqual(sorted(os.listdir(mounted.join("a.zarr/t/data.zarr"))), ["c", "zarr.json"])
        self.assertEqual(sorted(os.listdir(mounted.join("a.zarr/t/data.zarr/c"))), ["0", "1", "2"])
        self.assertEqual(read_zarr3(mounted.join("scalar.npy/data.zarr"))[()], 2.5)
        self.assertEqual(read_zarr3(mounted.join("empty.npy/data.zarr")).shape, (0, 3))
        document = json.loads(harness.read(mounted.join("a.zarr/t/data.zarr/zarr.json")))
        self.assertEqual(document["attributes"], {"note": "of t"})
        self.assertEqual(document["chunk_grid"]["configuration"]["chunk_shape"], [3, 2, 4])
        part = read_zarr3(mounted.join("a.zarr/t/data[1:6:2,:,3].zarr"))
        np.testing.assert_array_equal(part, self.arrays["t"][1:6:2, :, 3])

    def test_second_ndlfs_shows_the_same(self):
        mounted = self.mount(self.source)
        for folder in self.folders:
            with self.subTest(folder):
                second = self.mount(mounted.join(folder, "data.zarr"))
                self.assertEqual(harness.read(second.join("data.npy")), harness.read(mounted.join(folder, "data.npy")))
        second = self.mount(mounted.join("a.zarr", "data.zarr"))
        for name in ("t", "inner/x", "flag", "z"):
            self.assertEqual(harness.read(second.join(name, "data.npy")),
                             harness.read(mounted.join("a.zarr", name, "data.npy")), name)
        self.assertIn("note: of x", harness.read(second.join("inner/x/.ndl.yaml")).decode())
        # And once more, from the second.
        third = self.mount(second.join("data.zarr"))
        self.assertEqual(harness.read(third.join("t", "data.npy")), harness.read(mounted.join("a.zarr/t/data.npy")))

    def test_tools_walk_and_copy_it(self):
        mounted = self.mount(self.source)
        tree = mounted.join("a.zarr", "data.zarr")
        found = self.run_ok("find", tree, "-type", "f").split()
        self.assertEqual(len(found), 2 + 4 + 3 * 3 * 3 + 4 + 1 * 2 + 1 * 2)
        sizes = sum(os.path.getsize(path) for path in found)
        self.assertEqual(self.run_ok("du", "-sb", tree).split()[0],
                         str(sizes + sum(os.stat(top).st_size for top, _, _ in os.walk(tree))))
        inodes = {path: os.stat(path).st_ino for path in found}
        self.assertEqual(len(set(inodes.values())), len(inodes))
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy.zarr")
            self.run_ok("cp", "-r", tree, copy)
            self.assertEqual(harness.digests(copy), harness.digests(tree))
            np.testing.assert_array_equal(read_zarr3(os.path.join(copy, "t")), self.arrays["t"])
            second = self.mount(copy)
            self.assertEqual(harness.read(second.join("t/data.raw")), harness.read(mounted.join("a.zarr/t/data.raw")))
        again = self.mount(self.source)
        for path, number in inodes.items():
            self.assertEqual(os.stat(again.path + path[len(mounted.path):]).st_ino, number)

    def test_it_is_found_by_name_only(self):
        mounted = self.mount(self.source)
        for folder in ("a.zarr", "a.zarr/t", "e.npy"):
            self.assertNotIn("data.zarr", os.listdir(mounted.join(folder)))
        np.testing.assert_array_equal(read_zarr3(mounted.join("a.zarr/t/t.zarr")), self.arrays["t"])
        with self.assertRaises(OSError):
            os.mkdir(mounted.join("a.zarr/t/data.zarr/new"))
        for missing in ("x", "c/3", "c/00", "c/0/0/0/0", "zarr.json/x"):
            self.assertFalse(os.path.exists(mounted.join("a.zarr/t/data.zarr", missing)), missing)
        everything = self.mount(self.source, "--views", "all")
        self.assertNotIn("data.zarr", os.listdir(everything.join("a.zarr/t")))
        named = self.mount(self.source, "--views", "npy,zarr")
        with os.scandir(named.join("a.zarr/t")) as entries:
            kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        self.assertEqual({name: kinds[name] for name in kinds if name.startswith("data.")},
                         {"data.npy": False, "data.zarr": True})
        self.assertIn('href="data.zarr/"', harness.read(mounted.join("a.zarr/t/index.html")).decode())

    def test_changed_array_has_other_chunks(self):
        mounted = self.mount(self.source, "--revalidate", "0")
        tree = mounted.join("e.npy/data.zarr")
        np.testing.assert_array_equal(read_zarr3(tree), self.arrays["t"])
        number = os.stat(tree).st_ino
        other = self.arrays["t"][:4] + 1
        np.save(self.path("new.npy"), other)
        os.replace(self.path("new.npy"), self.path("e.npy"))
        np.testing.assert_array_equal(read_zarr3(tree), other)
        self.assertEqual(os.stat(tree).st_ino, number)

    def test_cat_writes_a_file_of_it(self):
        store = self.path("a.zarr")

        def cat(*arguments):
            return subprocess.run([harness.BINARY, "cat", *arguments], capture_output=True, stdin=subprocess.DEVNULL)
        mounted = self.mount(self.source)
        for view in ("data.zarr/zarr.json", "zarr/zarr.json", "zarr/c/0/1/2"):
            result = cat(store, "t", "--view", view)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, harness.read(mounted.join("a.zarr/t/data.zarr", view.split("/", 1)[1])))
        part = cat(store, "t", "--view", "zarr/c/0/0/0", "--slice", "2:4")
        self.assertEqual(part.stdout, self.arrays["t"][2:4].tobytes())
        whole = cat(store, "/", "--view", "zarr/inner/zarr.json")
        self.assertEqual(json.loads(whole.stdout)["node_type"], "group")
        for view, message in (("zarr", b"data.zarr/ is a directory; name a file in it, such as zarr.json"),
                              ("zarr/c/1", b"data.zarr/c/1 is a directory; name a file in it, such as c/1/0"),
                              ("zarr/c/9", b"data.zarr/c/9: 9"), ("npy/x", b"data.npy is a file")):
            result = cat(store, "t", "--view", view)
            self.assertEqual(result.returncode, 1, view)
            self.assertIn(message, result.stderr)
        wrong = cat(store, "t", "--view", "zar/zarr.json")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn(b'"zar" is not one of', wrong.stderr)

    def test_damage_is_told_beside_it(self):
        damaged = self.path("a.zarr/t/1.0.0")
        if not os.path.exists(damaged):
            self.skipTest("chunks have other keys")
        harness.write(damaged, b"no chunk")
        mounted = self.mount(self.source)
        tree = mounted.join("a.zarr/t/data.zarr")
        self.assertTrue(harness.read(tree, "c/0/0/0"))
        with self.assertRaises(OSError):
            harness.read(tree, "c/1/0/0")
        self.assertIn("chunk 1.0.0", harness.read(mounted.join("a.zarr/t/error.txt")).decode())


if __name__ == "__main__":
    harness.main()
