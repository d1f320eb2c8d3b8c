"""data.nc of stores of many kinds, as netCDF-C and SciPy read it, against what the stores hold."""
import os

import h5py
import netCDF4
import numpy as np
import zarr2 as zarr

import compare_netcdf
import harness

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i2", ">f8"]


def numbers(dtype, *shape):
    values = np.random.default_rng(5).integers(0, 100, shape)
    return values.astype(dtype)


def write_zarr(path):
    group = zarr.open_group(path, mode="w")
    group.attrs.update({"title": "été", "list": [1.5, 2.5], "nested": {"a": [1, {"b": None}]}, "flag": True, "none": None})

    def add(where, name, data, dims, **attributes):
        array = where.create_dataset(name, data=data, shape=data.shape, chunks=tuple(max(1, n // 2) for n in data.shape))
        array.attrs.update({"_ARRAY_DIMENSIONS": dims, **attributes})

    add(group, "time", np.arange(5.0), ["time"], units="days since 2000-01-01")
    add(group, "lat", np.linspace(-1, 1, 3), ["lat"], units="degrees_north")
    add(group, "t2m", numbers("i2", 5, 3), ["time", "lat"], scale_factor=0.5, add_offset=270.0, _FillValue=-999)
    for dtype in NUMBERS:
        add(group, f"n_{dtype.replace('>', 'big_')}", numbers(dtype, 5, 3), ["time", "lat"])
    add(group, "flags", np.array([True, False, True]), ["lat"])
    add(group, "names", np.array(["añ", "b", "€uro"]), ["lat"])
    add(group, "bytes", np.array([b"abc", b"d", b""]), ["lat"])
    add(group, "dates", np.array(["2020-01-01", "NaT", "1999-12-31"], "M8[s]"), ["lat"])
    add(group, "complex", np.array([1 + 2j]), ["one"])
    add(group, "record", np.zeros(2, [("a", "i4"), ("b", "f8")]), ["two"])
    add(group, "no elements", np.zeros((0, 3), "f4"), ["nothing", "lat"])
    add(group, "nothing at all", np.zeros((0,), "i2"), ["nothing"])
    inner = group.create_group("forecast")
    add(inner, "wind", numbers("f4", 5, 3), ["time", "lat"])
    add(inner, "lat", numbers("f4", 5, 5), ["y", "x"])


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file.attrs["numbers"] = np.arange(4, dtype="u8")
        file.attrs["texts"] = ["a", "b"]
        for dtype in NUMBERS:
            file.create_dataset(f"g/{dtype}", data=numbers(dtype, 7), chunks=(4,), compression="gzip")
        file["g/enum"] = np.array([0, 1, 7], h5py.enum_dtype({"LAND": 0, "SEA ICE": 1, "LAKE": 7}, "u1"))
        file["g/text"] = np.array(["x", "yz"], h5py.string_dtype())
        file["g/fixed"] = np.array([b"x", b"yz"])
        file["g/array"] = np.zeros(3, np.dtype(("f4", (2, 2))))
        file["g/scalar"] = 3.5
        file["g/a long name " + "n" * 250] = np.arange(3)
        file["g/" + "é" * 140] = np.arange(3)
        file["g/e\u0301te\u0301"] = np.arange(3)
        file["g/-odd: name"] = np.arange(3)
        file["g/_odd: name"] = np.arange(3)
        file["g"].attrs["big"] = np.frombuffer(b"h" * 40_000, "i1")


def write_netcdf(path, data_model):
    with netCDF4.Dataset(path, "w", format=data_model) as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        file.createDimension("strlen", 3)
        file.Conventions = "CF-1.8"
        file.createVariable("time", "f8", ("time",))[:] = np.arange(3)
        file.createVariable("packed", "i2", ("time", "x"), fill_value=-1)[:] = numbers("i2", 3, 4)
        file.createVariable("words", "S1", ("x", "strlen"))[:] = np.full((4, 3), b"w")
        file.createVariable("crs", "S1", ())
        file.variables["packed"].setncatts({"valid_range": np.array([0, 100], "i2"), "note": "", "level": np.int32(3)})


class DataNcTest(harness.SourceTestCase):
    def check(self, stores):
        with harness.Mount(self.source) as mounted:
            comparison = compare_netcdf.compare(self.source, mounted.path, {})
        self.assertEqual(comparison.problems, [])
        self.assertEqual(len(comparison.stores), stores)
        return comparison.counts

    def test_zarr(self):
        write_zarr(self.path("a.zarr"))
        counts = self.check(1)
        self.assertEqual(counts["left out"], 2, "a struct and a complex number")
        self.assertEqual(counts["variables"], 24)

    def test_hdf5(self):
        write_hdf5(self.path("a.h5"))
        self.assertEqual(self.check(1)["left out"], 1, "text of variable length")

    def test_netcdf(self):
        for data_model in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"):
            write_netcdf(self.path(f"{data_model}.nc"), data_model)
        self.assertEqual(self.check(4)["left out"], 0)

    def test_npz(self):
        np.savez(self.path("a.npz"), a=numbers("f4", 3, 4), b=np.array(["text"]), c=numbers("i8", 3), f=numbers("f4", 3, 4).T)
        self.check(1)

    def test_dimensions_are_those_of_the_source(self):
        write_zarr(self.path("a.zarr"))
        with harness.Mount(self.source) as mounted:
            with netCDF4.Dataset(os.path.join(mounted.path, "a.zarr/forecast/forecast.nc")) as file:
                self.assertEqual(list(file.variables), ["time", "lat_2", "lat", "wind"])
                self.assertEqual(file.variables["wind"].dimensions, ("time", "lat_2"))
                self.assertEqual(file.variables["lat_2"].units, "degrees_north")
                self.assertEqual(file.variables["lat_2"].ndlfs_name, "lat")

    def test_an_array_that_changes_is_one_version_or_stale(self):
        write_zarr(self.path("a.zarr"))
        with harness.Mount(self.source, "--revalidate", "0") as mounted:
            path = os.path.join(mounted.path, "a.zarr/data.nc")
            before = harness.read(path)
            group = zarr.open_group(self.path("a.zarr"), mode="r+")
            group["t2m"][...] = 77
            after = harness.read(path)
            self.assertNotEqual(before, after)
            self.assertEqual(len(before), len(after))
            group.create_dataset("more", data=np.arange(1000.0), shape=(1000,), chunks=(1000,))
            self.assertGreater(len(harness.read(path)), len(after) + 7000)


if __name__ == "__main__":
    harness.main()
