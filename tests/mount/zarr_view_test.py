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
from zarr3_reader import read_zarr3

SHAPE = (7, 5, 9)


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

    def test_zarr_python_reads_version_2(self):
        if not zarr.IS_ZARR_PYTHON:
            self.skipTest("needs zarr-python 2")
        record = np.dtype([("a", "u1"), ("b", "<f8", (2,)), ("name", "S3")], align=True)
        more = {"dates": np.array([0, -5, 2**40], "M8[ms]"), "bytes": np.array([b"ab", b"", b"abc"]),
                "text": np.array(["\u00e9t\u00e9", "", "x"]), "records": np.zeros(5, record), "raw": np.array([b"ab"], "V2")}
        more["records"]["b"] = np.arange(10).reshape(5, 2)
        more["records"]["name"] = b"xyz"
        folder = self.path("npy")
        os.mkdir(folder)
        for name, values in more.items():
            np.save(os.path.join(folder, name + ".npy"), values)
        np.savez(self.path("all.npz"), **more)
        with h5py.File(self.path("text.h5"), "w") as file:
            words = np.array(["\u00e9t\u00e9", "", "x"], object)
            file.create_dataset("words", data=words, chunks=(3,), dtype=h5py.string_dtype())
        mounted = self.mount(self.source)
        for name, values in more.items():
            for tree in (f"npy/{name}.npy/data.zarr2", f"all.npz/data.zarr2/{name}"):
                found = zarr.open(mounted.join(tree), mode="r")[...]
                self.assertEqual(found.dtype.names, values.dtype.names)
                for field in values.dtype.names or [...]:
                    np.testing.assert_array_equal(found[field], values[field], tree)
        for group, names in (("a.zarr", ("t", "inner/x", "flag", "z")), ("b.nc", ("t",)), ("d.h5", ("t",))):
            for tree in (zarr.open_consolidated(mounted.join(group, "data.zarr2"), mode="r"),
                         zarr.open(mounted.join(group, "data.zarr2"), mode="r")):
                for name in names:
                    np.testing.assert_array_equal(tree[name][...], self.arrays[os.path.basename(name)])
        attributes = zarr.open(mounted.join("b.nc/data.zarr2"), mode="r")["t"].attrs
        self.assertEqual(attributes["_ARRAY_DIMENSIONS"], list("tyx"))
        words = zarr.open(mounted.join("text.h5/data.zarr2"), mode="r")["words"][...]
        self.assertEqual(list(words), ["\u00e9t\u00e9", "", "x"])
        second = self.mount(mounted.join("text.h5/data.zarr"))
        self.assertEqual(harness.read(second.join("words/data.jsonl")),
                         harness.read(mounted.join("text.h5/words/data.jsonl")))
        self.assertEqual(os.stat(mounted.join("text.h5/words/data.zarr/c/0")).st_size,
                         4 + 3 * 4 + len("\u00e9t\u00e9x".encode()))

    def test_absent_chunks_are_absent(self):
        group = zarr.open_group(self.path("s.zarr"), mode="w")
        array = group.create_dataset("s", shape=(7, 5), chunks=(3, 2), dtype="i2", fill_value=-1)
        array[3:6, 2:4] = 7
        mounted = self.mount(self.source, "--revalidate", "0")
        for view, listed, there, gone in (("data.zarr", "c/1", "c/1/1", "c/1/0"), ("data.zarr2", "", "1.1", "0.0")):
            for top in ("s.zarr/s/" + view, "s.zarr/" + view + "/s"):
                with self.subTest(top):
                    found = [name for name in os.listdir(mounted.join(top, listed)) if name[0].isdigit()]
                    self.assertEqual(found, [there.rsplit("/", 1)[-1]])
                    self.assertFalse(os.path.exists(mounted.join(top, gone)))
                    self.assertEqual(harness.read(mounted.join(top, there)), np.full(6, 7, "<i2").tobytes())
        if zarr.IS_ZARR_PYTHON:
            found = zarr.open(mounted.join("s.zarr/s/data.zarr2"), mode="r")
            np.testing.assert_array_equal(found[...], array[...])
            self.assertEqual(found.fill_value, -1)
        second = self.mount(mounted.join("s.zarr/data.zarr"))
        self.assertEqual(harness.read(second.join("s/data.npy")), harness.read(mounted.join("s.zarr/s/data.npy")))
        array[0, 0] = 5
        self.assertEqual(harness.read(mounted.join("s.zarr/s/data.zarr/c/0/0"))[:4], np.array([5, -1], "<i2").tobytes())

    def test_values_are_unpacked(self):
        with netCDF4.Dataset(self.path("p.nc"), "w", format="NETCDF4") as dataset:
            dataset.createDimension("x", 5)
            variable = dataset.createVariable("p", "i2", ("x",), fill_value=-9, chunksizes=(2,))
            variable.set_auto_maskandscale(False)
            variable.scale_factor = np.float32(0.5)
            variable[:] = [2, -9, 4, 6, 8]
        mounted = self.mount(self.source)
        for tree in ("p.nc/values.zarr/p", "p.nc/p/values.zarr"):
            np.testing.assert_array_equal(read_zarr3(mounted.join(tree)), np.array([1, np.nan, 2, 3, 4], "f4"))
        document = json.loads(harness.read(mounted.join("p.nc/data.zarr2/p/.zarray")))
        self.assertEqual((document["dtype"], document["fill_value"], document["chunks"]), ("<i2", -9, [2]))
        self.assertNotIn("_FillValue", json.loads(harness.read(mounted.join("p.nc/data.zarr2/p/.zattrs"))))
        document = json.loads(harness.read(mounted.join("p.nc/values.zarr2/p/.zarray")))
        self.assertEqual((document["dtype"], document["fill_value"]), ("<f4", "NaN"))

    def test_names_choose_other_chunks(self):
        mounted = self.mount(self.source, "--cache-size", "1MiB")
        for brackets, shape, chunk in (("chunks:t=-1,y=2,x=3", SHAPE, [7, 2, 3]), ("chunks:7,2", SHAPE, [7, 2, 4]),
                                       ("chunks:,,99999999999", SHAPE, [2, 5, 9]),
                                       ("1:6:2,:,chunks:x=5", (3, 5, 9), [1, 5, 5])):
            with self.subTest(brackets):
                tree = mounted.join("b.nc/t", f"data[{brackets}].zarr")
                found = json.loads(harness.read(tree, "zarr.json"))
                self.assertEqual((tuple(found["shape"]), found["chunk_grid"]["configuration"]["chunk_shape"]), (shape, chunk))
                np.testing.assert_array_equal(read_zarr3(tree), self.arrays["t"][1:6:2] if ":2" in brackets else self.arrays["t"])
        for brackets in ("chunks:0", "chunks:q=1", "chunks:1,1,1,1", "chunks:t=1,2", "chunks:t=1,t=1", "chunks:",
                         "chunks:" + ",".join("1" * 40), "chunks:t=" + "1" * 230):
            found = os.path.exists(mounted.join("b.nc/t", f"data[{brackets}].zarr"))
            self.assertEqual(found, brackets in ("chunks:", "chunks:t=" + "1" * 230), brackets)
        self.assertFalse(os.path.exists(mounted.join("b.nc/t", "data[chunks:2].npy")))
        result = subprocess.run([harness.BINARY, "cat", self.path("b.nc"), "t", "--view", "data[chunks:q=1].zarr/zarr.json"],
                                capture_output=True, stdin=subprocess.DEVNULL)
        self.assertNotEqual(result.returncode, 0)

    def test_stores_are_shown_as_zarr(self):
        for version, group, array in (("zarr", "zarr.json", "zarr.json"), ("zarr2", ".zgroup", ".zarray")):
            mounted = self.mount(self.source, "--as", version)
            with os.scandir(mounted.path) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries if entry.name[0] != "."}
            self.assertEqual(kinds, {f"{name}.{version}": True for name in ("a", "b", "d", "e", "scalar", "empty")})
            for name in kinds:
                marker = group if name[0] in "abd" else array
                self.assertTrue(os.path.exists(mounted.join(name, marker)), name)
        one = self.mount(self.path("b.nc"), "--as", "zarr")
        self.assertIn("t", os.listdir(one.join("b.zarr")))
        mounted = self.mount(self.source, "--as", "zarr")
        np.testing.assert_array_equal(read_zarr3(mounted.join("a.zarr/t")), self.arrays["t"])
        np.testing.assert_array_equal(read_zarr3(mounted.join("b.zarr/t")), self.arrays["t"])
        document = json.loads(harness.read(mounted.join("a.zarr/zarr.json")))
        self.assertEqual(sorted(document["consolidated_metadata"]["metadata"]), ["flag", "inner", "inner/x", "t", "z"])

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
        self.assertEqual(part.stdout, self.arrays["t"][2:4, :2, :4].tobytes())
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
