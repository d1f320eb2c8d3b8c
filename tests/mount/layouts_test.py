# SPDX-License-Identifier: MIT
"""Names that choose the order of dimensions and elements, and numbers of blocks, compared with NumPy."""
import errno
import json
import os
import random
import warnings

import netCDF4
import numpy as np
import zarr2 as zarr

import harness
import slices_test

FUNCTIONS = {"mean": np.nanmean, "sum": np.nansum, "min": np.nanmin, "max": np.nanmax}


def coarse(values, blocks, word):
    """What `word` is of blocks of `values`, in which NaN is missing."""
    values = np.asarray(values, float)
    counts = [-(-extent // block) for extent, block in zip(values.shape, blocks)]
    out = np.zeros(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for index in np.ndindex(*counts):
            part = values[tuple(slice(i * block, (i + 1) * block) for i, block in zip(index, blocks))]
            is_missing = np.isnan(part).all()
            if word == "count":
                out[index] = np.count_nonzero(~np.isnan(part))
            else:
                out[index] = np.nan if is_missing else FUNCTIONS[word](part)
    return out


class LayoutsTest(slices_test.StoresTestCase):
    def load(self, *path):
        return np.load(self.mounted.join(*path))

    def setUp(self):
        super().setUp()
        packed = self.data.copy()
        packed[self.data < -10000] = -32768
        group = zarr.open_group(os.path.join(self.source, "p.zarr"), mode="w")
        array = group.create_dataset("t", data=packed, chunks=(3, 5, 4))
        array.attrs.update({"_ARRAY_DIMENSIONS": list(self.NAMES), "_FillValue": -32768, "scale_factor": 0.5})
        self.physical = np.where(packed == -32768, np.nan, packed * 0.5)
        self.mounted = self.mount(self.source)

    def test_random_orders_are_those_of_numpy(self):
        rng = random.Random(5)
        for store in ("a.zarr", "c.nc"):
            for _ in range(slices_test.COUNT):
                text, items = slices_test.random_slice(rng, self.NAMES, self.SHAPE)
                expected = np.asarray(self.data[items])
                names = [name for name, item in zip(self.NAMES, items + (slice(None),) * 3)
                         if isinstance(item, slice)]
                order = rng.sample(range(len(names)), len(names))
                axes = ",".join(names[d] for d in order)
                is_fortran = rng.random() < 0.5
                brackets = f"{text},axes:{axes}" if names else text
                brackets += ",order=F" if is_fortran else ""
                with self.subTest(store=store, brackets=brackets):
                    found = self.load(store, "t", f"data[{brackets}].npy")
                    np.testing.assert_array_equal(found, expected.transpose(order))
                    if found.ndim > 1 and min(found.shape) > 1:
                        self.assertEqual(found.flags.f_contiguous, is_fortran)
                    raw = np.fromfile(self.mounted.join(store, "t", f"data[{brackets}].raw"), "<i2")
                    np.testing.assert_array_equal(
                        raw, expected.transpose(order).flatten("F" if is_fortran else "C"))

    def test_blocks_are_those_of_numpy(self):
        rng = random.Random(6)
        for _ in range(slices_test.COUNT):
            blocks = [rng.choice([1, 2, 3, 4, 7, 20]) for _ in self.NAMES]
            word = rng.choice([*FUNCTIONS, "count"])
            named = ",".join(f"{name}={block}" for name, block in zip(self.NAMES, blocks))
            with self.subTest(word=word, blocks=blocks):
                found = self.load("p.zarr/t", f"values[{word}:{named}].npy")
                np.testing.assert_allclose(found, coarse(self.physical, blocks, word), rtol=1e-12)
                turned = self.load("p.zarr/t", f"values[{word}:{named},axes:lon,time,lat].npy")
                np.testing.assert_array_equal(turned, found.transpose(2, 0, 1))
                stored = self.load("p.zarr/t", f"data[{word}:{named}].npy")
                scale = 1 if word == "count" else 0.5
                packed = np.where(stored == -32768, np.nan, stored) if word in ("min", "max") else stored
                np.testing.assert_allclose(packed * scale, found, rtol=1e-12)
        self.assertEqual(self.load("a.zarr/t", "data[max:3].npy").dtype, "i2")
        self.assertEqual(self.load("a.zarr/t", "data[mean:3].npy").dtype, "f8")
        self.assertEqual(self.load("a.zarr/t", "data[count:3].npy").dtype, "i8")
        part = self.load("a.zarr/t", "data[time=10.5:13,lat=#::-1,mean:lat=2].npy")
        np.testing.assert_allclose(part, coarse(self.data[1:7, ::-1], (1, 2, 1), "mean"))

    def test_coordinates_of_a_group_are_the_centres(self):
        with netCDF4.Dataset(self.mounted.join("a.zarr", "data[time=#2:8,max:lat=4,time=3].nc")) as dataset:
            np.testing.assert_array_equal(dataset["t"][:], coarse(self.data[2:8], (3, 4, 1), "max"))
            np.testing.assert_allclose(dataset["lat"][:], coarse(self.lat, (4,), "mean"))
            np.testing.assert_allclose(dataset["time"][:], coarse(self.time[2:8], (3,), "mean"))
            np.testing.assert_allclose(dataset["lon"][:], self.lon)
        tree = self.mounted.join("a.zarr", "data[mean:lat=4,lon=3].zarr")
        second = self.mount(tree)
        np.testing.assert_allclose(np.load(second.join("t/data.npy")), coarse(self.data, (1, 4, 3), "mean"))
        np.testing.assert_allclose(np.load(second.join("lat/data.npy")), coarse(self.lat, (4,), "mean"))

    def test_zarr_has_the_order_and_chunks(self):
        tree = self.mounted.join("a.zarr/t", "data[1:,mean:lat=2,axes:lon,lat,time,chunks:time=-1].zarr")
        with open(os.path.join(tree, "zarr.json"), encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["shape"], [17, 7, 10])
        self.assertEqual(document["dimension_names"], ["lon", "lat", "time"])
        self.assertEqual(document["chunk_grid"]["configuration"]["chunk_shape"], [4, 3, 10])
        second = self.mount(tree)
        np.testing.assert_allclose(np.load(second.join("data.npy")),
                                   coarse(self.data[1:], (1, 2, 1), "mean").transpose(2, 1, 0))

    def test_names_that_make_no_sense_do_not_exist(self):
        names = ["axes:time,lat", "axes:time,lat,lat", "axes:time,lat,x", "axes:", "axes:time,lat,lon,#3", "order=f",
                 "mean:lat=0", "mean:lat=-2", "mean:depth=2", "mean:lat=2,3", "mean:1,1,1,1", "mean:lat=2,max:lat=2",
                 "axes:lat,lon,time,axes:lon,lat,time", "order=F,order=F", "chunks:lat=2", "mean:" + "1," * 40]
        for brackets in names:
            self.assertFalse(os.path.exists(self.mounted.join("a.zarr/t", f"data[{brackets}].npy")), brackets)
        for name in ("data[order=F].txt", "data[order=F].tif", "data[mean:2].jsonl", "data[order=F].zarr"):
            self.assertFalse(os.path.exists(self.mounted.join("a.zarr/t", name)), name)
        for brackets in ("axes:lon,lat,time", "mean:lat=2,depth=3", "order=F", "mean:3"):
            self.assertFalse(os.path.exists(self.mounted.join("a.zarr", f"data[{brackets}].nc")), brackets)
        self.assertEqual(self.load("a.zarr/t", f"data[mean:lat={2**40}].npy").shape, (11, 1, 17))
        longest = "data[mean:lat=" + "9" * (255 - len("data[mean:lat=].npy")) + "].npy"
        self.assertEqual(self.load("a.zarr/t", longest).shape, (11, 1, 17))
        with self.assertRaises(OSError) as caught:
            os.stat(self.mounted.join("a.zarr/t", longest.replace("9]", "99]")))
        self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)

    def test_an_open_file_shows_one_version(self):
        path = os.path.join(self.source, "e.npy")
        mounted = self.mount(self.source, "--revalidate", "0")
        name = mounted.join("e.npy", "data[mean:1,2,2,axes:#2,#1,#0].npy")
        blocks = (1, 2, 2)
        np.testing.assert_array_equal(np.load(name), coarse(self.data, blocks, "mean").T)
        with open(name, "rb", buffering=0) as file:
            np.save(path + ".new.npy", self.data + 1)
            os.replace(path + ".new.npy", path)
            try:
                found = np.frombuffer(file.read()[128:]).reshape(9, 7, 11)
                np.testing.assert_array_equal(found, coarse(self.data, blocks, "mean").T)
            except OSError as error:
                self.assertEqual(error.errno, errno.ESTALE)
        np.testing.assert_array_equal(np.load(name), coarse(self.data + 1, blocks, "mean").T)

    def test_children_that_are_called_like_views(self):
        group = zarr.open_group(os.path.join(self.source, "n.zarr"), mode="w")
        for name in ("data.zarr", "data[order=F].npy"):
            group.create_dataset(name, data=self.lat)
        mounted = self.mount(self.source)
        second = self.mount(mounted.join("n.zarr", "data.zarr"))
        for name in ("%64ata.zarr", "%64ata[order=F].npy"):
            np.testing.assert_array_equal(np.load(mounted.join("n.zarr", name, "data.npy")), self.lat)
            np.testing.assert_array_equal(np.load(second.join(name, "data.npy")), self.lat)


class AcrossTheGrainTest(harness.SourceTestCase):
    """Reads across the chunks of an array that the cache has no room for."""

    SHAPE = (48, 128, 128)

    def decoded(self, mounted):
        stats = os.getxattr(mounted.join("a.zarr/t"), "user.ndl.stats").decode()
        return int(stats.split("decoded: ")[1].split(",")[0])

    def test_each_chunk_is_decoded_once(self):
        data = np.random.default_rng(7).integers(1, 9, self.SHAPE).astype("f4")
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        group.create_dataset("t", data=data, chunks=(1,) + self.SHAPE[1:]).attrs["_ARRAY_DIMENSIONS"] = list("tyx")
        for name, expected in (("data[axes:y,x,t].npy", data.transpose(1, 2, 0)), ("data[order=F].npy", data),
                               ("data[mean:t=-1].npy", data.mean(0, "f8", keepdims=True))):
            with self.subTest(name):
                mounted = self.mount(self.source, "--cache-size", "1MiB", "--cache-dir", self.path())
                np.testing.assert_allclose(np.load(mounted.join("a.zarr/t", name)), expected)
                self.assertLessEqual(self.decoded(mounted), 2 * self.SHAPE[0])
                cost = os.getxattr(mounted.join("a.zarr/t", name), "user.ndl.cost").decode()
                self.assertIn(f"{{chunks: {self.SHAPE[0]}, kept: ", cost)
                self.assertIn(f", decoded-bytes: {data.nbytes}}}", cost)
        with self.subTest("chunks"):
            mounted = self.mount(self.source, "--cache-size", "1MiB", "--cache-dir", self.path())
            tree = mounted.join("a.zarr/t/data[chunks:t=-1,y=32,x=48].zarr")
            for y, x in np.ndindex(4, 3):
                chunk = np.fromfile(os.path.join(tree, f"c/0/{y}/{x}"), "<f4").reshape(48, 32, 48)
                expected = data[:, 32 * y:32 * (y + 1), 48 * x:48 * (x + 1)]
                np.testing.assert_array_equal(chunk[..., :expected.shape[2]], expected)
            self.assertLessEqual(self.decoded(mounted), 2 * self.SHAPE[0])
            stored = sum(os.stat(os.path.join(self.path("a.zarr/t"), name)).st_size
                         for name in os.listdir(self.path("a.zarr/t")) if not name.startswith("."))
            for name in (tree, mounted.join("a.zarr/t/data.npy"), mounted.join("a.zarr/data.nc")):
                self.assertIn(f"fetched-bytes: {stored},", os.getxattr(name, "user.ndl.cost").decode())
            part = os.getxattr(mounted.join("a.zarr/t/data[3:5,mean:x=2].npy"), "user.ndl.cost").decode()
            self.assertIn("{chunks: 2,", part)
            self.assertNotIn("user.ndl.cost", os.listxattr(mounted.join("a.zarr/t/data.npy")))
            group.create_dataset("many", shape=(2**40,), chunks=(16,), dtype="i1")
            # The whole array is summed by ranges; what a part takes would be looked for one by one.
            for name in ("data.npy", "data.zarr"):
                cost = os.getxattr(mounted.join("a.zarr/many", name), "user.ndl.cost").decode()
                self.assertIn(f"{{chunks: {2**36}, kept: 0, fetched-bytes: 0,", cost)
            for name in ("data[::2].npy", "data[mean:2].npy"):
                with self.assertRaises(OSError) as caught:
                    os.getxattr(mounted.join("a.zarr/many", name), "user.ndl.cost")
                self.assertEqual(caught.exception.errno, errno.EFBIG, name)

    def test_chunks_on_disk_lie_in_the_order_of_the_file(self):
        """The file is made in several windows, all but the first of which come from there."""
        shape = (23, 160, 1100)
        data = np.random.default_rng(8).integers(1, 9, shape).astype("f8")
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        group.create_dataset("t", data=data, chunks=(5, 70, 130)).attrs["_ARRAY_DIMENSIONS"] = list("tyx")
        for name, expected in (("data[order=F].npy", data), ("data[axes:x,t,y].npy", data.transpose(2, 0, 1)),
                               ("data[axes:y,x,t].npy", data.transpose(1, 2, 0)),
                               ("data[::-1,3:159,::-2,axes:x,y,t].npy", data[::-1, 3:159, ::-2].transpose(2, 1, 0))):
            with self.subTest(name):
                mounted = self.mount(self.source, "--cache-size", "2MiB", "--cache-dir", self.path())
                np.testing.assert_array_equal(np.load(mounted.join("a.zarr/t", name)), expected)
                chunks = 5 * 3 * 9
                self.assertLessEqual(self.decoded(mounted), 2 * chunks)
                # A reader in C order meanwhile does not take them for its own.
                with open(mounted.join("a.zarr/t", name), "rb") as file:
                    file.seek(expected.nbytes // 2)
                    file.read(1 << 20)
                    np.testing.assert_array_equal(np.load(mounted.join("a.zarr/t/data.npy")), data)


if __name__ == "__main__":
    harness.main()
