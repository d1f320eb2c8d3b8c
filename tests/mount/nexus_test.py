# SPDX-License-Identifier: MIT
"""NeXus: attributes that say which array a plot shows, and along which others, in HDF5 and in Zarr."""
import json
import os

import h5py
import netCDF4
import numpy as np

import harness

COUNTS = np.arange(12, dtype="i4").reshape(3, 4)
ENERGY = np.linspace(1, 2, 4)
ANGLE = np.array([10.0, 20.0, 30.0])


def write_json(path, value):
    harness.write(path, json.dumps(value))


class NexusTest(harness.SourceTestCase):
    def create(self, name):
        return h5py.File(os.path.join(self.source, name), "w")

    @staticmethod
    def group(parent, name, kind, **attributes):
        made = parent.create_group(name)
        made.attrs["NX_class"] = kind
        for key, value in attributes.items():
            made.attrs[key] = value
        return made

    def write_present(self, file):
        """The attributes of groups, as they have been since 2014."""
        file.attrs["NX_class"], file.attrs["default"] = "NXroot", "entry"
        entry = self.group(file, "entry", "NXentry", default="plot")
        self.group(entry, "other", "NXdata", signal="y")["y"] = np.arange(3)
        plot = self.group(entry, "plot", "NXdata", signal="counts", axes=["angle", "energy"], angle_indices=0,
                          energy_indices=1, temperature_indices=[0])
        plot["counts"], plot["energy"], plot["angle"] = COUNTS, ENERGY, ANGLE
        plot["temperature"], plot["counts_errors"] = ANGLE + 273, COUNTS ** 0.5
        plot["energy"].attrs["units"] = "eV"
        return plot

    def test_dimensions_are_those_of_the_axes(self):
        with self.create("a.nxs") as file:
            self.write_present(file)
        folder = self.mount(self.source).join("a.nxs/entry/plot")
        with netCDF4.Dataset(os.path.join(folder, "data.nc")) as data:
            self.assertEqual(data["counts"].dimensions, ("angle", "energy"))
            self.assertEqual(data["counts_errors"].dimensions, ("angle", "energy"))
            self.assertEqual(data["temperature"].dimensions, ("angle",))
            np.testing.assert_array_equal(data["counts"], COUNTS)
            np.testing.assert_array_equal(data["energy"], ENERGY)
        np.testing.assert_array_equal(np.load(os.path.join(folder, "counts", "data[angle=20].npy")), COUNTS[1])
        self.assertEqual(np.load(os.path.join(folder, "counts", "data[angle=20,energy=2].npy")), 7)

    def test_pages_show_the_default(self):
        with self.create("a.nxs") as file:
            self.write_present(file)
        mounted = self.mount(self.source)
        for group, url in ("", "entry/plot/counts/"), ("entry", "../entry/plot/counts/"), ("entry/plot", "../../entry/plot/counts/"):
            page = harness.read(mounted.join("a.nxs", group), "index.html").decode()
            self.assertIn(f'<figure><a href="{url}index.html"><img src="{url}preview.png"', page)
        page = harness.read(mounted.join("a.nxs/entry/other"), "index.html").decode()
        self.assertIn("other/y/preview.png", page)

    def test_signal_may_be_a_link(self):
        with self.create("a.nxs") as file:
            entry = self.group(file, "entry", "NXentry")
            detector = self.group(entry, "detector", "NXdetector")
            detector["data"], detector["energy"] = COUNTS, ENERGY
            plot = self.group(entry, "plot", "NXdata", signal="data", axes=[".", "energy"])
            plot["data"] = h5py.SoftLink("/entry/detector/data")
            plot["energy"] = detector["energy"]
            loop = self.group(entry, "loop", "NXdata", signal="x")
            loop["x"] = h5py.SoftLink("/entry/loop/x")
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/detector/data/data[:,energy=2].npy")), COUNTS[:, 3])
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/plot/data/data.npy")), COUNTS)
        page = harness.read(mounted.join("a.nxs/entry"), "index.html").decode()
        self.assertNotIn("<figure>", page.split("Arrays")[0])  # the first plot has no data
        page = harness.read(mounted.join("a.nxs/entry/plot"), "index.html").decode()
        self.assertIn('<img src="../../entry/detector/data/preview.png"', page)

    def test_links_are_no_problems(self):
        with self.create("a.nxs") as file:
            plot = self.write_present(file)
            file["shortcut"] = h5py.SoftLink("/entry/plot")
            detector = self.group(file["entry"], "detector", "NXdetector")
            detector["counts"] = plot["counts"]
            linked = self.group(file["entry"], "linked", "NXdata", signal="counts", axes=["angle", "energy"])
            for name in "counts", "angle", "energy":
                linked[name] = h5py.SoftLink("/entry/plot/" + name)
        mounted = self.mount(self.source)
        for folder, _, names in os.walk(mounted.join("a.nxs")):
            for name in names:
                if name in ("index.html", "data.nc", ".ndl.yaml"):
                    harness.read(folder, name)
        self.assertEqual(harness.read(mounted.path, ".ndlfs/errors.log"), b"")

    def test_arrays_may_say_it_themselves(self):
        with self.create("old.nxs") as file:
            file.attrs["NeXus_version"] = "4.3.0"
            plot = self.group(self.group(file, "entry", "NXentry"), "data", "NXdata")
            plot["counts"], plot["energy"], plot["angle"] = COUNTS, ENERGY, ANGLE
            plot["counts"].attrs["signal"], plot["counts"].attrs["axes"] = 1, "angle:energy"
        with self.create("oldest.nxs") as file:
            plot = self.group(self.group(file, "entry", "NXentry"), "data", "NXdata")
            plot["counts"], plot["energy"], plot["bins"], plot["angle"] = COUNTS, ENERGY, np.arange(4.0), ANGLE
            plot["counts"].attrs["signal"] = "1"
            plot["bins"].attrs["axis"] = plot["energy"].attrs["axis"] = 2
            plot["energy"].attrs["primary"], plot["angle"].attrs["axis"] = 1, "1"
        mounted = self.mount(self.source)
        for name in "old.nxs", "oldest.nxs":
            with netCDF4.Dataset(mounted.join(name, "entry/data/data.nc")) as data:
                self.assertEqual(data["counts"].dimensions, ("angle", "energy"), name)
            self.assertEqual(np.load(mounted.join(name, "entry/data/counts/data[angle=30,energy=1].npy")), 8)
            self.assertIn("counts/preview.png", harness.read(mounted.join(name, "entry"), "index.html").decode())
        self.assertIn("counts/preview.png", harness.read(mounted.join("old.nxs"), "index.html").decode())

    def test_edges_of_bins_are_no_coordinates(self):
        with self.create("a.nxs") as file:
            plot = self.group(self.group(file, "entry", "NXentry"), "data", "NXdata", signal="counts", axes="edges")
            plot["counts"], plot["edges"] = np.arange(4), np.arange(5.0)
        mounted = self.mount(self.source)
        with netCDF4.Dataset(mounted.join("a.nxs/entry/data/data.nc")) as data:
            self.assertEqual(data["counts"].shape, (4,))
            self.assertEqual(data["edges"].shape, (5,))
            self.assertNotEqual(data["counts"].dimensions, data["edges"].dimensions)

    def test_what_cannot_be_is_not_believed(self):
        with self.create("a.nxs") as file:
            entry = self.group(file, "entry", "NXentry", default="nothing")
            plot = self.group(entry, "data", "NXdata", signal="counts", axes=["a", "b", "c"], a_indices=-1, b_indices=7,
                              c_indices=[0, 1, 2])
            plot["counts"], plot["a"] = COUNTS, ANGLE
            self.group(entry, "scalar", "NXdata", signal="x", axes="y")["x"] = 5
            self.group(entry, "group", "NXdata", signal="x").create_group("x")
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/data/counts/data.npy")), COUNTS)
        for group in "entry", "entry/data", "entry/scalar", "entry/group":
            harness.read(mounted.join("a.nxs", group), "index.html")
        self.assertEqual(harness.read(mounted.join("a.nxs/entry/scalar/x"), "data.txt").strip(), b"5")

    def test_indices_say_where_axes_are(self):
        square = np.arange(9.0).reshape(3, 3)
        with self.create("a.nxs") as file:
            entry = self.group(file, "entry", "NXentry")
            plots = {"turned": {"a_indices": 1, "b_indices": 0}, "twice": {"a_indices": 0, "b_indices": 0}, "beyond": {"a_indices": 2},
                     "one": {"a_indices": 1}, "both": {"a_indices": [0, 1], "b_indices": [0, 1]}}
            for name, indices in plots.items():
                plot = self.group(entry, name, "NXdata", signal="c", axes=["a", "b"], **indices)
                plot["c"], plot["a"], plot["b"] = square, np.array([1.0, 2, 3]), np.array([7.0, 8, 9])
        mounted = self.mount(self.source)
        dims = {"turned": ("b", "a"), "both": ("a", "b")}
        for name in plots:
            with netCDF4.Dataset(mounted.join("a.nxs/entry", name, "data.nc")) as data:
                if name in dims:
                    self.assertEqual(data["c"].dimensions, dims[name], name)
                else:
                    self.assertFalse({"a", "b"} & set(data["c"].dimensions), name)
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/turned/c/data[a=2].npy")), square[:, 1])
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/turned/c/data[b=8].npy")), square[1])
        for name in "twice", "beyond", "one":
            self.assertFalse(os.path.exists(mounted.join("a.nxs/entry", name, "c/data[a=2].npy")), name)

    def test_axis_may_be_a_link_of_another_name(self):
        with self.create("a.nxs") as file:
            entry = self.group(file, "entry", "NXentry")
            detector = self.group(entry, "detector", "NXdetector")
            detector["y"] = ANGLE
            plot = self.group(entry, "plot", "NXdata", signal="c", axes=["t", "."])
            plot["c"], plot["t"] = COUNTS, h5py.SoftLink("/entry/detector/y")
            # What it leads to is along an axis of its own.
            other = self.group(entry, "signal", "NXdata", signal="y", axes=["x"])
            other["y"], other["x"] = ANGLE, np.arange(3.0)
            last = self.group(entry, "last", "NXdata", signal="c", axes=["t", "."])
            last["c"], last["t"] = COUNTS, h5py.SoftLink("/entry/signal/y")
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mounted.join("a.nxs/entry/plot/c/data[t=20].npy")), COUNTS[1])
        for name in "data.nc", "data.h5":
            with netCDF4.Dataset(mounted.join("a.nxs/entry/plot", name)) as data:
                self.assertEqual((data["c"].dimensions[0], data["t"].dimensions), ("t", ("t",)), name)
                np.testing.assert_array_equal(data["t"], ANGLE)
                np.testing.assert_array_equal(data["c"], COUNTS)
        with netCDF4.Dataset(mounted.join("a.nxs/entry/signal/data.nc")) as data:
            self.assertEqual(data["y"].dimensions, ("x",))
        with netCDF4.Dataset(mounted.join("a.nxs/entry/last/data.nc")) as data:
            self.assertEqual(data["c"].dimensions[0], "t")
            self.assertNotIn("t", data.variables)

    def test_signal_names_no_dimension_of_itself(self):
        with self.create("a.nxs") as file:
            entry = self.group(file, "entry", "NXentry")
            plot = self.group(entry, "plot", "NXdata", signal="c", axes=["c", "energy"])
            plot["c"], plot["energy"] = COUNTS, ENERGY
        with netCDF4.Dataset(self.mount(self.source).join("a.nxs/entry/plot/data.nc")) as data:
            self.assertNotEqual(data["c"].dimensions[0], "c")
            self.assertEqual(data["c"].dimensions[1], "energy")
            np.testing.assert_array_equal(data["c"], COUNTS)

    def test_zarr_has_the_same_rules(self):
        store = os.path.join(self.source, "a.zarr")
        for path, attributes in (("", {"NX_class": "NXroot", "default": "entry"}), ("entry", {"NX_class": "NXentry", "default": "data"}),
                                 ("entry/data", {"NX_class": "NXdata", "signal": "counts", "axes": ["angle", "energy"]})):
            write_json(os.path.join(store, path, ".zgroup"), {"zarr_format": 2})
            write_json(os.path.join(store, path, ".zattrs"), attributes)
        for name, values in ("counts", COUNTS), ("angle", ANGLE), ("energy", ENERGY):
            folder = os.path.join(store, "entry/data", name)
            write_json(os.path.join(folder, ".zarray"),
                       {"zarr_format": 2, "shape": list(values.shape), "chunks": list(values.shape), "dtype": values.dtype.str,
                        "compressor": None, "fill_value": None, "filters": None, "order": "C"})
            with open(os.path.join(folder, ".".join("0" * values.ndim)), "wb") as file:
                file.write(values.tobytes())
        mounted = self.mount(self.source)
        folder = mounted.join("a.zarr/entry/data")
        np.testing.assert_array_equal(np.load(os.path.join(folder, "counts", "data[angle=20].npy")), COUNTS[1])
        self.assertIn("counts/preview.png", harness.read(mounted.join("a.zarr"), "index.html").decode())
        write_json(os.path.join(store, "entry/data", ".zattrs"), {"NX_class": "NXdata", "signal": "counts", "axes": ["angle", "."]})
        harness.wait_until(lambda: not os.path.exists(os.path.join(folder, "counts", "data[energy=2].npy")), "the new axes")


if __name__ == "__main__":
    harness.main()
