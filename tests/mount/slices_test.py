# SPDX-License-Identifier: MIT
"""Slices by name, and unpacked values, compared with NumPy and netCDF4. NDLFS_SLICES is how many of each are tried."""
import csv
import errno
import io
import os
import random
import subprocess

import h5py
import netCDF4
import numpy as np
import zarr2 as zarr

import harness

COUNT = int(os.environ.get("NDLFS_SLICES", "60"))


def random_item(rng, extent):
    """An index or a slice, as text and for NumPy."""
    if rng.random() < 0.3:
        index = rng.randrange(-extent, extent)
        return str(index), index
    ends = [rng.choice([None, rng.randrange(-extent - 2, extent + 3)]) for _ in range(2)]
    step = rng.choice([None, 1, 2, 3, 7, -1, -2, -5])
    text = ":".join("" if end is None else str(end) for end in ends)
    return text + ("" if step is None else f":{step}"), slice(*ends, step)


def random_slice(rng, names, shape):
    texts, items = [], []
    for name, extent in zip(names, shape):
        text, item = random_item(rng, extent)
        texts.append(text)
        items.append(item)
    if rng.random() < 0.3:  # some by name
        texts = [f"{name}=#{text}" if rng.random() < 0.5 else text for name, text in zip(names, texts)]
    elif rng.random() < 0.3:
        keep = rng.randrange(len(shape))
        texts, items = texts[:keep] + ["..."], items[:keep]
    return ",".join(texts), tuple(items)


class StoresTestCase(harness.SourceTestCase):
    """The same array, with coordinates where it can have them, in stores of several formats."""

    SHAPE = (11, 13, 17)
    NAMES = ("time", "lat", "lon")

    def setUp(self):
        super().setUp()
        self.data = np.random.default_rng(3).integers(-30000, 30000, self.SHAPE).astype("i2")
        self.time = np.arange(11) * 0.5 + 10
        self.lat = np.linspace(60, 30, 13)
        self.lon = np.linspace(0, 8, 17).astype("f4")
        coordinates = dict(zip(self.NAMES, (self.time, self.lat, self.lon)))
        group = zarr.open_group(os.path.join(self.source, "a.zarr"), mode="w")
        for name, values in {**coordinates, "t": self.data}.items():
            array = group.create_dataset(name, data=values, chunks=(3, 5, 4)[:values.ndim])
            array.attrs["_ARRAY_DIMENSIONS"] = list(self.NAMES) if name == "t" else [name]
            if name == "time":
                array.attrs["units"] = "days since 2020-01-01"
        for name, model, options in (("b.nc", "NETCDF4", {"zlib": True, "chunksizes": (2, 13, 9)}), ("c.nc", "NETCDF3_CLASSIC", {})):
            with netCDF4.Dataset(os.path.join(self.source, name), "w", format=model) as dataset:
                for dimension, values in coordinates.items():
                    dataset.createDimension(dimension, len(values))
                    variable = dataset.createVariable(dimension, values.dtype, (dimension,))
                    variable[:] = values
                    if dimension == "time":
                        variable.units = "days since 2020-01-01"
                dataset.createVariable("t", "i2", self.NAMES, **options)[:] = self.data
        with h5py.File(os.path.join(self.source, "d.h5"), "w") as file:  # neither chunks nor names
            file["t"] = self.data
        np.save(os.path.join(self.source, "e.npy"), self.data)
        self.folders = {"a.zarr/t": True, "b.nc/t": True, "c.nc/t": True, "d.h5/t": False, "e.npy": False}


class SlicesTest(StoresTestCase):
    def check(self, mounted, folder, text, expected, stem="data"):
        name = os.path.join(folder, f"{stem}[{text}]")
        content = harness.read(mounted.path, name + ".npy")
        self.assertEqual(os.stat(mounted.join(name + ".npy")).st_size, len(content))
        found = np.load(mounted.join(name + ".npy"))
        self.assertEqual(found.dtype, expected.dtype, name)
        self.assertEqual(found.shape, expected.shape, name)
        np.testing.assert_array_equal(found, expected, err_msg=name)
        self.assertEqual(harness.read(mounted.path, name + ".raw"), harness.little_endian(expected), name)

    def test_random_slices_are_those_of_numpy(self):
        rng = random.Random(5)
        with harness.Mount(self.source) as mounted:
            for folder, has_names in self.folders.items():
                for _ in range(COUNT):
                    text, items = random_slice(rng, self.NAMES, self.SHAPE)
                    if not has_names and "=" in text:
                        continue
                    self.check(mounted, folder, text, self.data[items])

    def test_random_slices_by_coordinate_are_those_between_the_ends(self):
        rng = random.Random(6)
        axes = {"lat": self.lat, "lon": self.lon}
        with harness.Mount(self.source) as mounted:
            for folder in (folder for folder, has_names in self.folders.items() if has_names):
                for _ in range(COUNT):
                    texts, items = [], [slice(None)] * 3
                    for axis, (name, values) in enumerate(axes.items(), 1):
                        low, high = sorted(round(rng.uniform(values.min() - 2, values.max() + 2) * 4) / 4 for _ in range(2))
                        kind = rng.randrange(3)
                        if kind == 0:
                            texts.append(f"{name}={low}:{high}")
                            inside = np.flatnonzero((values >= low) & (values <= high))
                            items[axis] = slice(inside[0], inside[-1] + 1) if inside.size else slice(0, 0)
                        elif kind == 1:
                            value = rng.choice(list(values))
                            texts.append(f"{name}={value}")
                            items[axis] = int(np.flatnonzero(values == value)[0])
                        else:
                            texts.append(f"{name}=~{low + 0.01}")
                            items[axis] = int(np.argmin(np.abs(values.astype("f8") - low - 0.01)))
                    self.check(mounted, folder, ",".join(texts), self.data[tuple(items)])

    def test_times_are_dates(self):
        with harness.Mount(self.source) as mounted:
            for folder in ("a.zarr/t", "b.nc/t", "c.nc/t"):
                self.check(mounted, folder, "time=2020-01-12", self.data[2:4])
                self.check(mounted, folder, "time=2020-01-12T12:00", self.data[3])
                self.check(mounted, folder, "time=2020-01-12:2020-01-13,lat=45:60", self.data[2:6, :7])

    def test_what_is_no_slice_is_not_there(self):
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("a.zarr/t")
            for name in ("data[11].npy", "data[0,0,0,0].npy", "data[::0].npy", "data[x].npy", "data[].npy", "data[lat=31.7].npy",
                         "data[depth=0].npy", "data[0", "data[0].nonsense", "data[time=2019].npy"):
                with self.assertRaises(FileNotFoundError, msg=name):
                    os.stat(os.path.join(folder, name))
            with self.assertRaises(OSError) as caught:
                os.stat(os.path.join(folder, "data[" + "0" * 300 + "].npy"))
            self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)
            self.assertNotIn("error.txt", os.listdir(folder))
            self.assertIn("index 11 is outside of a dimension of 11", harness.read(mounted.path, ".ndlfs/errors.log").decode())

    def test_the_name_of_the_array_is_a_stem_too(self):
        with harness.Mount(self.source) as mounted:
            self.assertEqual(harness.read(mounted.path, "a.zarr/t/t[0].raw"), self.data[0].tobytes())

    def test_cat_writes_slices(self):
        command = [harness.BINARY, "cat", os.path.join(self.source, "b.nc"), "t", "--view", "raw", "--slice"]
        written = subprocess.run([*command, "1,lat=45:60"], capture_output=True, check=True).stdout
        self.assertEqual(written, self.data[1, :7].tobytes())
        wrong = harness.run(*command, "99")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("index 99 is outside of a dimension of 11", wrong.stderr)
        for text, message in (("order=C", "order=C: the only order is order=F; without it elements are in C order"),
                              ("median:lat=4", 'there is no "median:", only mean:, min:, max:, sum:, count:, axes:, chunks: and order=F')):
            wrong = harness.run(*command, text)
            self.assertEqual(wrong.returncode, 1)
            self.assertIn(message, wrong.stderr)


class GroupSlicesTest(StoresTestCase):
    """data[...].nc, compared with the same slices of the arrays by NumPy."""

    def open(self, content):
        return netCDF4.Dataset("memory", memory=content)

    def check_group(self, mounted, store, text, time, lat, lon):
        with self.open(harness.read(mounted.path, store, f"data[{text}].nc")) as dataset:
            np.testing.assert_array_equal(dataset["t"][:], self.data[time][..., lat, :][..., lon])
            for name, items in (("time", time), ("lat", lat), ("lon", lon)):
                np.testing.assert_array_equal(dataset[name][...], getattr(self, name)[items])
            shape = {name: len(dimension) for name, dimension in dataset.dimensions.items()}
            self.assertEqual(dataset["t"].dimensions, tuple(name for name in self.NAMES if name in shape))

    def test_all_arrays_are_cut(self):
        everything = slice(None)
        with harness.Mount(self.source) as mounted:
            for store in ("a.zarr", "b.nc", "c.nc"):
                self.check_group(mounted, store, "lat=45:60,time=2020-01-12", slice(2, 4), slice(0, 7), everything)
                self.check_group(mounted, store, "lon=#::-2", everything, everything, slice(None, None, -2))
                self.check_group(mounted, store, "time=2020-01-12T12:00", 3, everything, everything)
                name = "data[lon=#2:5].nc"
                with self.open(harness.read(mounted.path, store, store.split(".")[0] + name[4:])) as dataset:
                    self.assertEqual(dataset.dimensions["lon"].size, 3)

    def test_other_slices_are_not_there(self):
        with harness.Mount(self.source) as mounted:
            for name in ("data[depth=3].nc", "data[3].nc", "data[lat=#99].nc", "data[lat=#1].h5"):
                with self.assertRaises(FileNotFoundError, msg=name):
                    os.stat(mounted.join("a.zarr", name))
            self.assertNotIn("error.txt", os.listdir(mounted.join("a.zarr")))
            self.assertIn('no array has a dimension called "depth"', harness.read(mounted.path, ".ndlfs/errors.log").decode())

    def test_a_slice_follows_its_coordinates(self):
        with harness.Mount(self.source, "--revalidate", "0") as mounted:
            name = "a.zarr/data[lat=45:60].nc"
            with self.open(harness.read(mounted.path, name)) as dataset:
                self.assertEqual(dataset.dimensions["lat"].size, 7)
            zarr.open(self.path("a.zarr"), mode="a")["lat"][:] = np.linspace(60, 48, 13)
            with self.open(harness.read(mounted.path, name)) as dataset:
                self.assertEqual(dataset.dimensions["lat"].size, 13)

    def test_cat_writes_slices_of_groups(self):
        command = [harness.BINARY, "cat", self.path("b.nc"), "/", "--view", "nc", "--slice"]
        with self.open(subprocess.run([*command, "time=#1"], capture_output=True, check=True).stdout) as dataset:
            np.testing.assert_array_equal(dataset["t"][:], self.data[1])
        wrong = harness.run(*command, "1")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("does not name a dimension", wrong.stderr)

    def test_one_array_has_the_files_of_a_group(self):
        with harness.Mount(self.source) as mounted:
            views = os.getxattr(mounted.join("e.npy"), "user.ndl.views").decode()
            self.assertIn("data.nc", views)
            self.assertNotIn("data.nc", os.listdir(mounted.join("e.npy")))
            content = harness.read(mounted.path, "e.npy/data.nc")
        with harness.Mount(self.source, "--views", "nc") as mounted:
            self.assertIn("data.nc", os.listdir(mounted.join("e.npy")))
        command = [harness.BINARY, "cat", self.path("e.npy"), "/", "--view", "nc"]
        self.assertEqual(subprocess.run(command, capture_output=True, check=True).stdout, content)
        with self.open(content) as dataset:
            np.testing.assert_array_equal(dataset["e"][:], self.data)


class ValuesTest(harness.SourceTestCase):
    """values.* by the rules of CF, as netCDF4 unpacks them."""

    def add(self, dataset, name, dtype, numbers, fill=None, **attributes):
        variable = dataset.createVariable(name, dtype, ("n",), fill_value=fill)
        variable.set_auto_maskandscale(False)
        for attribute, value in attributes.items():
            variable.setncattr(attribute, value)
        variable[:] = numbers

    def test_values_are_those_of_netcdf4(self):
        path = os.path.join(self.source, "p.nc")
        rng = np.random.default_rng(8)
        numbers = rng.integers(-100, 100, 500)
        with netCDF4.Dataset(path, "w") as dataset:
            dataset.createDimension("n", 500)
            self.add(dataset, "scaled", "i2", numbers, fill=np.int16(7), scale_factor=0.01, add_offset=273.15)
            self.add(dataset, "single", "i2", numbers, scale_factor=np.float32(0.1))
            self.add(dataset, "limited", "i2", numbers, valid_range=np.array([-50, 50], "i2"))
            self.add(dataset, "least", "i4", numbers, valid_min=np.int32(-9), scale_factor=2.0)
            self.add(dataset, "missing", "f4", numbers, missing_value=np.float32(3))
            self.add(dataset, "several", "f8", numbers, missing_value=np.array([3, 4, 5], "f8"))
            self.add(dataset, "unsigned", "i1", numbers, fill=np.int8(-1), _Unsigned="true", scale_factor=0.5)
        with harness.Mount(self.source) as mounted, netCDF4.Dataset(path) as dataset:
            for name, variable in dataset.variables.items():
                expected = np.ma.filled(variable[:].astype("f8"), np.nan)
                found = np.load(mounted.join("p.nc", name, "values.npy"))
                np.testing.assert_allclose(found, expected, rtol=2e-7, err_msg=name)
                part = np.load(mounted.join("p.nc", name, "values[400:10:-3].npy"))
                np.testing.assert_array_equal(part, found[400:10:-3], err_msg=name)
            self.assertEqual(np.load(mounted.join("p.nc/single/values.npy")).dtype, np.float32)

    def test_times_are_those_of_every_calendar(self):
        path = os.path.join(self.source, "t.nc")
        calendars = ("standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day")
        numbers = np.random.default_rng(9).integers(-300_000, 300_000, 200) + 0.25
        with netCDF4.Dataset(path, "w") as dataset:
            dataset.createDimension("n", 200)
            for calendar in calendars:
                self.add(dataset, calendar, "f8", numbers, units="days since 1900-01-01", calendar=calendar)
        with harness.Mount(self.source) as mounted:
            for calendar in calendars:
                expected = [date.strftime("%4Y-%m-%dT%H:%M:%S").replace(" ", "0")
                            for date in netCDF4.num2date(numbers, "days since 1900-01-01", calendar)]
                lines = harness.read(mounted.path, "t.nc", calendar, "values.txt").decode().splitlines()
                self.assertEqual([line.strip().replace(".000000", "") for line in lines], expected, calendar)
                self.assertEqual(os.path.exists(mounted.join("t.nc", calendar, "values.npy")), "greg" in calendar or calendar == "standard")

    def test_values_are_not_listed(self):
        np.save(os.path.join(self.source, "a.npy"), np.arange(3))
        with harness.Mount(self.source) as mounted:
            self.assertTrue(os.path.exists(mounted.join("a.npy/values.npy")))
            self.assertFalse(any(name.startswith("values") for name in os.listdir(mounted.join("a.npy"))))


class TableTest(harness.SourceTestCase):
    """table.csv, read back by Python's csv."""

    def rows(self, mounted, *parts):
        content = harness.read(mounted.path, *parts)
        self.assertEqual(os.stat(mounted.join(*parts)).st_size, len(content))
        return list(csv.reader(io.StringIO(content.decode())))

    def test_arrays_of_one_dimension_are_columns(self):
        numbers = np.random.default_rng(2).normal(size=1000)
        names = np.array([f'n,"{i}"' if i % 3 == 0 else f"n{i}" for i in range(1000)], "S8")
        with h5py.File(os.path.join(self.source, "a.h5"), "w") as file:
            file["x"] = numbers
            file["n"] = np.arange(1000)
            file["name"] = names
        with harness.Mount(self.source) as mounted:
            header, *rows = self.rows(mounted, "a.h5/table.csv")
            self.assertEqual(header, ["n", "name", "x"])
            self.assertEqual([int(row[0]) for row in rows], list(range(1000)))
            self.assertEqual([row[1].rstrip() for row in rows], [name.decode() for name in names])
            self.assertEqual([float(row[2]) for row in rows], list(numbers))
            self.assertNotIn("table.csv", os.listdir(mounted.join("a.h5")))

    def test_structs_are_rows(self):
        data = np.zeros(5, [("id", "i4"), ("place", [("lat", "f4"), ("lon", "f4")])])
        data["id"] = range(5)
        data["place"]["lon"] = 0.5
        np.save(os.path.join(self.source, "a.npy"), data)
        with harness.Mount(self.source) as mounted:
            header, *rows = self.rows(mounted, "a.npy/table.csv")
            self.assertEqual(header, ["id", "place.lat", "place.lon"])
            self.assertEqual([(int(row[0]), float(row[2])) for row in rows], [(i, 0.5) for i in range(5)])

    def test_other_groups_have_none(self):
        with h5py.File(os.path.join(self.source, "a.h5"), "w") as file:
            file["x"] = np.arange(3)
            file["y"] = np.arange(4)
        with harness.Mount(self.source) as mounted:
            self.assertFalse(os.path.exists(mounted.join("a.h5/table.csv")))


if __name__ == "__main__":
    harness.main()
