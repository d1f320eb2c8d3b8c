# SPDX-License-Identifier: MIT
"""data.ome.zarr: an array in several resolutions, held against NumPy and the rules of OME-Zarr 0.5 and GeoZarr."""
import json
import os
import subprocess

import h5py
import netCDF4
import numpy as np
import zarr2 as zarr
from osgeo import gdal

import harness
from zarr3_reader import read_zarr3

gdal.UseExceptions()

TREE = "data.ome.zarr"
UNITS = {"angstrom", "centimeter", "day", "hour", "kilometer", "meter", "micrometer", "millimeter", "minute", "nanometer",
         "second"}


def reduce_blocks(values, each, function):
    for axis, size in enumerate(each):
        if size > 1:
            values = function(values, np.arange(0, values.shape[axis], size), axis)
    return values


def mean_of_blocks(values, each, missing=None):
    """What a level should be: exact means of integers, halves to the even integer; missing elements left out."""
    is_float = values.dtype.kind == "f"
    left_out = np.zeros(values.shape, bool) if missing is None else values == missing
    if is_float:
        left_out |= np.isnan(values)
    wide = "f8" if is_float else object if values.itemsize == 8 else "i8"
    exact = np.where(left_out, 0, values.astype(wide))
    sums = reduce_blocks(exact, each, np.add.reduceat)
    counts = reduce_blocks((~left_out).astype(wide), each, np.add.reduceat)
    firsts = values[tuple(slice(None, None, size) for size in each)]
    safe = np.where(counts == 0, 1, counts)
    if is_float:
        means = sums / safe
    else:
        means, rest = sums // safe, sums % safe
        means = means + ((2 * rest > safe) | ((2 * rest == safe) & (means % 2 == 1)))
    return np.where(counts == 0, firsts, means.astype(values.dtype))


class PyramidTest(harness.SourceTestCase):
    def levels(self, tree):
        """The levels, after the group has been checked against the rules of OME-Zarr 0.5."""
        document = json.loads(harness.read(tree, "zarr.json"))
        self.assertEqual((document["zarr_format"], document["node_type"]), (3, "group"))
        ome = document["attributes"]["ome"]
        self.assertEqual(ome["version"], "0.5")
        image, = ome["multiscales"]
        axes = image["axes"]
        names = [axis["name"] for axis in axes]
        self.assertEqual(len(set(names)), len(names))
        kinds = [axis.get("type") for axis in axes]
        self.assertTrue(2 <= len(axes) <= 5 and 2 <= kinds.count("space") <= 3, kinds)
        rank_of = {"time": 0, "space": 2}
        ranks = [rank_of.get(kind, 1) for kind in kinds]
        self.assertEqual(ranks, sorted(ranks))
        self.assertTrue(ranks.count(0) <= 1 and ranks.count(1) <= 1, kinds)
        metadata = document["consolidated_metadata"]["metadata"]
        self.assertEqual(sorted(metadata), sorted(dataset["path"] for dataset in image["datasets"]))
        self.assertEqual(sorted(os.listdir(tree)), sorted([*metadata, "zarr.json"]))
        types = set()
        for dataset in image["datasets"]:
            scale, translation = dataset["coordinateTransformations"]
            self.assertEqual((scale["type"], translation["type"]), ("scale", "translation"))
            self.assertEqual((len(scale["scale"]), len(translation["translation"])), (len(axes), len(axes)))
            level = json.loads(harness.read(tree, dataset["path"], "zarr.json"))
            self.assertEqual(level, metadata[dataset["path"]])
            self.assertEqual(level["dimension_names"], names)
            types.add(level["data_type"])
        self.assertEqual(len(types), 1)
        return document, [read_zarr3(os.path.join(tree, dataset["path"])) for dataset in image["datasets"]]

    def test_levels_are_means_of_the_full_resolution(self):
        rng = np.random.default_rng(1)
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        arrays = {}
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            limits = np.iinfo(kind)
            values = rng.integers(limits.min, limits.max, (600, 301), kind, endpoint=True)
            values[:4, :4] = limits.max
            values[4:8, :4] = limits.min
            arrays[kind] = values
        for kind in ("f2", "f4", "f8"):
            arrays[kind] = rng.integers(-1000, 1000, (600, 301)).astype(kind)
        arrays["r8"] = rng.standard_normal((600, 301))
        for name, values in arrays.items():
            group.create_dataset(name, data=values, chunks=(100, 77), fill_value=None).attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
        mounted = self.mount(self.source)
        for name, values in arrays.items():
            with self.subTest(name):
                folder = mounted.join("a.zarr", name)
                document, levels = self.levels(os.path.join(folder, TREE))
                expected = values.astype("f4") if name == "f2" else values
                self.assertEqual([level.shape for level in levels], [(600, 301), (300, 151), (150, 76)])
                np.testing.assert_array_equal(levels[0], expected)
                for level, each in zip(levels[1:], (2, 4)):
                    self.assertEqual(level.dtype, expected.dtype)
                    if name == "r8":
                        same = np.load(os.path.join(folder, f"data[mean:y={each},x={each}].npy"))
                        np.testing.assert_array_equal(level, same)
                    else:
                        np.testing.assert_array_equal(level, mean_of_blocks(expected, (each, each)))
                self.assertEqual(document["attributes"]["ome"]["multiscales"][0]["type"], "mean")
        chunk = json.loads(harness.read(mounted.join("a.zarr/i2", TREE, "0/zarr.json")))["chunk_grid"]["configuration"]
        self.assertEqual(chunk, {"chunk_shape": [256, 256]})

    def test_chunks_of_the_source_are_those_of_all_levels(self):
        values = np.arange(40 * 700 * 600, dtype="i4").reshape(40, 700, 600)
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        group.create_dataset("v", data=values, chunks=(10, 128, 150), fill_value=None).attrs["_ARRAY_DIMENSIONS"] = ["time", "y", "x"]
        group.create_dataset("z", data=values, chunks=(7, 90, 100), fill_value=None).attrs["_ARRAY_DIMENSIONS"] = ["z", "y", "x"]
        mounted = self.mount(self.source, "--cache-size", "4MiB")
        for name, factors in (("v", ((1, 1, 1), (1, 2, 2), (1, 4, 4))), ("z", ((1, 1, 1), (1, 2, 2), (1, 4, 4)))):
            with self.subTest(name):
                tree = mounted.join("a.zarr", name, TREE)
                _, levels = self.levels(tree)
                self.assertEqual(len(levels), len(factors))
                for level, each in zip(levels, factors):
                    np.testing.assert_array_equal(level, mean_of_blocks(values, each))
                chunks = [json.loads(harness.read(tree, str(i), "zarr.json"))["chunk_grid"]["configuration"]["chunk_shape"]
                          for i in range(3)]
                stored = list(group[name].chunks)
                self.assertEqual(chunks[:2], [stored, stored])
        volume = np.random.default_rng(4).integers(0, 9999, (300, 280, 290)).astype("u2")
        zarr.save_array(self.path("cube.zarr"), volume, chunks=(64, 64, 64))
        with h5py.File(self.path("cube.h5"), "w") as file:
            file["cube"] = volume
            for dimension, label in zip(file["cube"].dims, "zyx"):
                dimension.label = label
        _, levels = self.levels(mounted.join("cube.h5/cube", TREE))
        self.assertEqual([level.shape for level in levels], [(300, 280, 290), (150, 140, 145)])
        np.testing.assert_array_equal(levels[1], mean_of_blocks(volume, (2, 2, 2)))

    def test_missing_elements_are_left_out(self):
        rng = np.random.default_rng(2)
        with netCDF4.Dataset(self.path("m.nc"), "w", format="NETCDF4") as dataset:
            for name, size in (("y", 400), ("x", 520)):
                dataset.createDimension(name, size)
            values = {"s": rng.integers(0, 50, (400, 520)).astype("i2"), "f": rng.integers(0, 50, (400, 520)).astype("f4")}
            for name, numbers in values.items():
                numbers[rng.random(numbers.shape) < 0.5] = -9
                numbers[:40, :40] = -9
                numbers[100:140, 100:140] = np.nan if name == "f" else -9
                variable = dataset.createVariable(name, numbers.dtype, ("y", "x"), fill_value=-9, chunksizes=(64, 64))
                variable.set_auto_maskandscale(False)
                variable[:] = numbers
        mounted = self.mount(self.source)
        for name, numbers in values.items():
            tree = mounted.join("m.nc", name, TREE)
            _, levels = self.levels(tree)
            self.assertEqual(len(levels), 3)
            for level, each in zip(levels[1:], (2, 4)):
                np.testing.assert_array_equal(level, mean_of_blocks(numbers, (each, each), -9))
            self.assertEqual(levels[2][0, 0], -9)
            _, unpacked = self.levels(mounted.join("m.nc", name, "values.ome.zarr"))
            expected = np.where(numbers == -9, np.nan, numbers).astype(unpacked[0].dtype)
            np.testing.assert_array_equal(unpacked[2], mean_of_blocks(expected, (4, 4)))
            fill = json.loads(harness.read(tree, "2/zarr.json"))["attributes"]["_FillValue"]
            self.assertTrue(fill == -9 or name == "f", fill)

    def test_numbers_that_are_names_have_no_mean(self):
        rng = np.random.default_rng(3)
        with h5py.File(self.path("l.h5"), "w") as file:
            file["flag"] = rng.random((300, 520)) < 0.5
            kinds = h5py.enum_dtype({"land": 1, "sea": 2, "ice": 40}, basetype="u1")
            file.create_dataset("kind", data=rng.choice([1, 2, 40], (300, 520)).astype("u1"), dtype=kinds)
            file["classes"] = rng.integers(0, 9, (300, 520)).astype("i2")
            file["classes"].attrs["flag_values"] = np.arange(9, dtype="i2")
            arrays = {name: file[name][...] for name in file}
        mounted = self.mount(self.source)
        for name, values in arrays.items():
            document, levels = self.levels(mounted.join("l.h5", name, TREE))
            self.assertEqual(document["attributes"]["ome"]["multiscales"][0]["type"], "nearest")
            for level, each in zip(levels, (1, 2, 4)):
                np.testing.assert_array_equal(level, values[::each, ::each], name)

    def test_axes_are_in_the_order_of_ome(self):
        rng = np.random.default_rng(5)
        picture = rng.integers(0, 255, (300, 520, 3)).astype("u1")
        np.save(self.path("rgb.npy"), picture)
        np.save(self.path("plain.npy"), picture[..., 0])
        np.save(self.path("flat.npy"), picture[:1, :, 0])
        np.save(self.path("small.npy"), picture[:1, :1, 0])
        for name, values in (("empty", np.zeros((0, 3))), ("line", np.zeros(5)), ("complex", np.zeros((300, 300), "c8")),
                             ("text", np.full((300, 300), b"a")), ("many", np.zeros((1,) * 30 + (300, 2))),
                             ("six", np.zeros((1,) * 6)), ("four", np.zeros((2, 2, 300, 2)))):
            np.save(self.path(f"{name}.npy"), values)
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        moved = rng.integers(0, 99, (3, 2, 280, 300)).astype("u2")
        group.create_dataset("m", data=moved, chunks=(1, 1, 280, 300), fill_value=None).attrs["_ARRAY_DIMENSIONS"] = ["member", "time", "lat", "lon"]
        group.create_group("data.ome.zarr").create_dataset("x", data=np.arange(4))
        mounted = self.mount(self.source)
        for name, kinds, shapes in (("rgb", ["channel", "space", "space"], [(3, 300, 520), (3, 150, 260), (3, 75, 130)]),
                                    ("plain", ["space", "space"], [(300, 520), (150, 260), (75, 130)]),
                                    ("flat", ["space", "space"], [(1, 520), (1, 260), (1, 130)]),
                                    ("small", ["space", "space"], [(1, 1)])):
            document, levels = self.levels(mounted.join(f"{name}.npy", TREE))
            axes = document["attributes"]["ome"]["multiscales"][0]["axes"]
            self.assertEqual([axis.get("type") for axis in axes], kinds)
            self.assertEqual([level.shape for level in levels], shapes)
        _, levels = self.levels(mounted.join("rgb.npy", TREE))
        np.testing.assert_array_equal(levels[0], np.moveaxis(picture, 2, 0))
        np.testing.assert_array_equal(levels[2], mean_of_blocks(np.moveaxis(picture, 2, 0), (1, 4, 4)))
        document, levels = self.levels(mounted.join("a.zarr/m", TREE))
        names = [axis["name"] for axis in document["attributes"]["ome"]["multiscales"][0]["axes"]]
        self.assertEqual(names, ["time", "member", "lat", "lon"])
        np.testing.assert_array_equal(levels[1], mean_of_blocks(moved.swapaxes(0, 1), (1, 1, 2, 2)))
        for name in ("empty", "line", "complex", "text", "many", "six", "four"):
            self.assertFalse(os.path.exists(mounted.join(f"{name}.npy", TREE)), name)
            self.assertFalse(os.path.exists(mounted.join(f"{name}.npy", "error.txt")), name)
        _, levels = self.levels(mounted.join("four.npy", "data[1].ome.zarr"))
        self.assertEqual(levels[0].shape, (2, 300, 2))
        # A group of that name is itself.
        np.testing.assert_array_equal(np.load(mounted.join("a.zarr/data.ome.zarr/x/data.npy")), np.arange(4))

    def test_it_is_listed_if_it_is_asked_for(self):
        np.save(self.path("a.npy"), np.zeros((300, 300), "u1"))
        np.save(self.path("b.npy"), np.zeros(300, "u1"))
        self.assertNotIn(TREE, os.listdir(self.mount(self.source, "--views", "all").join("a.npy")))
        mounted = self.mount(self.source, "--views", "pyramid,npy")
        self.assertIn(TREE, os.listdir(mounted.join("a.npy")))
        self.assertNotIn(TREE, os.listdir(mounted.join("b.npy")))
        text = subprocess.run([harness.BINARY, "cat", self.path("a.npy"), "--view", f"{TREE}/zarr.json"], check=True,
                              capture_output=True, stdin=subprocess.DEVNULL).stdout
        self.assertEqual(json.loads(text), json.loads(harness.read(mounted.join("a.npy", TREE, "zarr.json"))))

    def test_places(self):
        with netCDF4.Dataset(self.path("g.nc"), "w", format="NETCDF4") as dataset:
            for name, values, units in (("time", np.arange(3) * 6.0, "hours since 2000-01-01"),
                                        ("lat", 60 - np.arange(400) * 0.25, "degrees_north"),
                                        ("lon", 10 + np.arange(300) * 0.5, "degrees_east")):
                dataset.createDimension(name, len(values))
                dataset.createVariable(name, "f8", (name,))[:] = values
                dataset[name].units = units
            dataset.createDimension("uneven", 300)
            dataset.createVariable("uneven", "f8", ("uneven",))[:] = np.arange(300) ** 2
            values = np.random.default_rng(6).random((3, 400, 300))
            dataset.createVariable("t", "f8", ("time", "lat", "lon"), chunksizes=(1, 200, 150))[:] = values
            dataset.createVariable("u", "f8", ("uneven", "lon"))[:] = 1
        mounted = self.mount(self.source)
        document, levels = self.levels(mounted.join("g.nc/t", TREE))
        self.assertEqual([level.shape for level in levels], [(3, 400, 300), (3, 200, 150)])
        attributes = document["attributes"]
        image, = attributes["ome"]["multiscales"]
        self.assertEqual(image["axes"], [{"name": "time", "type": "time", "unit": "hour"},
                                         {"name": "lat", "type": "space"}, {"name": "lon", "type": "space"}])
        found = [[one[one["type"]] for one in dataset["coordinateTransformations"]] for dataset in image["datasets"]]
        self.assertEqual(found, [[[6, 0.25, 0.5], [0, 0, 10]], [[6, 0.5, 1], [0, 0.125, 10.25]]])
        self.assertEqual((attributes["proj:code"], attributes["spatial:dimensions"]), ("EPSG:4326", ["lat", "lon"]))
        first, second = attributes["multiscales"]["layout"]
        self.assertEqual(first["spatial:transform"], [0.5, 0, 9.75, 0, -0.25, 60.125])
        self.assertEqual(second["spatial:transform"], [1, 0, 9.75, 0, -0.5, 60.125])
        self.assertEqual(second["spatial:shape"], [200, 150])
        self.assertEqual(second["transform"], {"scale": [1, 2, 2], "translation": [0, 0.5, 0.5]})
        self.assertEqual((second["derived_from"], attributes["multiscales"]["resampling_method"]), ("0", "average"))
        document, levels = self.levels(mounted.join("g.nc/u", TREE))
        self.assertNotIn("multiscales", document["attributes"])
        axes = document["attributes"]["ome"]["multiscales"][0]["axes"]
        self.assertEqual([axis.get("unit") for axis in axes], [None, None])
        # A reader of both conventions: a second ndlfs.
        second = self.mount(mounted.join("g.nc/t", TREE))
        for level, step, corner in (("0", 0.5, 60.125), ("1", 1, 60.125)):
            picture = gdal.Open(second.join(level, "data.tif"))
            np.testing.assert_allclose(picture.GetGeoTransform(), (9.75, step, 0, corner, 0, -step / 2))
            self.assertEqual(picture.GetSpatialRef().GetAuthorityCode(None), "4326")
            np.testing.assert_array_equal(np.load(second.join(level, "data.npy")), levels_of(mounted, "g.nc/t")[int(level)])

    def test_levels_of_the_store_are_used(self):
        group = zarr.open_group(self.path("i.zarr"), mode="w")
        shapes = ((1, 600, 500), (1, 299, 250), (1, 20, 25))
        for i, shape in enumerate(shapes):
            group.create_dataset(str(i), data=np.full(shape, i + 10, "u1"), chunks=(1, 256, 256))
        group.attrs["multiscales"] = [{
            "version": "0.4", "axes": [{"name": "c", "type": "channel"}, *({"name": name, "type": "space", "unit": "nanometer"}
                                                                         for name in "yx")],
            "datasets": [{"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [1, 5 * 2**i, 5 * 2**i]}]}
                         for i in range(3)]}]
        group.attrs["omero"] = {"channels": [{"label": "cells", "color": "00FF00",
                                              "window": {"start": 0, "end": 9, "min": 0, "max": 255}}]}
        nested = zarr.open_group(self.path("n.zarr"), mode="w")
        for i in range(2):
            nested.create_group(f"scale{i}").create_dataset("image", data=np.full((40 // 2**i, 40 // 2**i), 5 * i, "u1"))
        nested.attrs["multiscales"] = [{
            "version": "0.4", "axes": [{"name": name, "type": "space"} for name in "yx"],
            "datasets": [{"path": path, "coordinateTransformations": [{"type": "scale", "scale": [2**i, 2**i]}]}
                         for i, path in enumerate(["scale0/image", "scale1/image", "../n.zarr/scale1/image", "scale1/image"])]}]
        made = gdal.GetDriverByName("MEM").Create("", 600, 520, 1, gdal.GDT_Byte)
        made.GetRasterBand(1).Fill(7)
        made.SetGeoTransform((100, 2, 0, 900, 0, -2))
        gdal.Translate(self.path("c.tif"), made, format="COG", creationOptions=["BLOCKSIZE=128", "OVERVIEW_RESAMPLING=MODE"])
        mounted = self.mount(self.source)
        document, levels = self.levels(mounted.join("i.zarr/0", TREE))
        ome = document["attributes"]["ome"]
        self.assertEqual([(level.shape, np.unique(level).tolist()) for level in levels],
                         [(shape, [i + 10]) for i, shape in enumerate(shapes)])
        self.assertEqual(ome["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]["scale"], [1, 10, 10])
        self.assertEqual((ome["omero"]["channels"][0]["label"], "type" in ome["multiscales"][0]), ("cells", False))
        _, levels = self.levels(mounted.join("i.zarr/1", TREE))
        self.assertEqual([level.shape for level in levels], list(shapes[1:]))
        # As multiscale-spatial-image writes them.
        _, levels = self.levels(mounted.join("n.zarr/scale0/image", TREE))
        self.assertEqual([np.unique(level).tolist() for level in levels], [[0], [5]])
        stored = sorted(os.listdir(mounted.join("c.tif/overviews")))
        overviews = [name for name in stored if name.isdigit()]
        document, levels = self.levels(mounted.join("c.tif/image", TREE))
        self.assertEqual(len(levels), 1 + len(overviews))
        for name, level in zip(overviews, levels[1:]):
            np.testing.assert_array_equal(level, np.load(mounted.join("c.tif/overviews", name, "data.npy")))
        layout = document["attributes"].get("multiscales", {}).get("layout", [])
        self.assertEqual([entry["spatial:transform"][0] for entry in layout], [2, 4, 8][:len(layout)])

    def test_arrays_that_are_larger_than_memory(self):
        array = zarr.open_array(self.path("huge.zarr"), mode="w", shape=(2**20, 2**20), chunks=(512, 512), dtype="u2", fill_value=3)
        array[:512, :512] = 7
        mounted = self.mount(self.source)
        tree = mounted.join("huge.zarr", TREE)
        document = json.loads(harness.read(tree, "zarr.json"))
        self.assertEqual(len(document["attributes"]["ome"]["multiscales"][0]["datasets"]), 13)
        corner = np.frombuffer(harness.read(tree, "3/c/0/0"), "<u2").reshape(512, 512)
        expected = np.full((512, 512), 3)
        expected[:64, :64] = 7
        np.testing.assert_array_equal(corner, expected)


def levels_of(mounted, folder):
    tree = mounted.join(folder, TREE)
    return [read_zarr3(os.path.join(tree, name)) for name in sorted(os.listdir(tree)) if name.isdigit()]


if __name__ == "__main__":
    harness.main()
