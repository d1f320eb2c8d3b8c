# SPDX-License-Identifier: MIT
"""What is missing and what time it is, in every view of a mount; compared with NumPy, netCDF4-python, h5py and cftime."""
import csv
import datetime
import io
import os
import shutil
import subprocess

import h5py
import netCDF4
import numpy as np
import zarr2 as zarr

import harness


def create(group, name, data, fill, dimensions=None, **attributes):
    array = group.create_dataset(name, data=data, fill_value=fill)
    if dimensions:
        attributes["_ARRAY_DIMENSIONS"] = dimensions
    array.attrs.update(attributes)


class ValuesTestCase(harness.SourceTestCase):
    def values(self, mounted, *parts):
        return np.load(mounted.join(*parts))

    def texts(self, mounted, *parts):
        return [line.strip() for line in harness.read(mounted.path, *parts).decode().splitlines()]

    def rows(self, mounted, *parts):
        content = harness.read(mounted.path, *parts)
        self.assertEqual(os.stat(mounted.join(*parts)).st_size, len(content))
        return list(csv.reader(io.StringIO(content.decode())))


class MissingTest(ValuesTestCase):
    def test_the_fill_value_of_xarray_stores_is_missing_in_every_view(self):
        group = zarr.open_group(self.path("a.zarr"), "w")
        create(group, "temp", np.array([2150, -9999, 2200], "<i2"), -9999, ["station"], scale_factor=0.01)
        create(group, "plain", np.array([1.0, -9999.0, 3.0], "<f4"), -9999, ["station"])
        create(group, "label", np.array([0, 1, 2], "<u1"), 0)
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(self.values(mounted, "a.zarr/temp/values.npy"), [21.5, np.nan, 22.0])
            np.testing.assert_array_equal(self.values(mounted, "a.zarr/plain/values.npy"), [1, np.nan, 3])
            np.testing.assert_array_equal(self.values(mounted, "a.zarr/label/values.npy"), [0, 1, 2])
            for name in ("data.nc", "data.h5"):
                with netCDF4.Dataset(mounted.join("a.zarr", name)) as file:
                    np.testing.assert_array_equal(file["temp"][:].filled(np.nan), [21.5, np.nan, 22.0], name)
                    np.testing.assert_array_equal(file["plain"][:].mask, [False, True, False], name)
                    self.assertNotIn("_FillValue", file["label"].ncattrs(), name)
            self.assertEqual(
                self.rows(mounted, "a.zarr/values.csv"),
                [["label", "plain", "temp"], ["0", "1.0", "21.5"], ["1", "", ""], ["2", "3.0", "22.0"]],
            )
            self.assertEqual(self.rows(mounted, "a.zarr/data.csv")[2], ["1", "-9999.0", "-9999"])

    def test_a_coordinate_of_0_is_no_fill_value(self):
        group = zarr.open_group(self.path("a.zarr"), "w")
        create(group, "x", np.array([-1.0, 0.0, 1.0]), 0, ["x"])
        create(group, "v", np.array([5, 6, 7]), None, ["x"])
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(self.values(mounted, "a.zarr/x/values.npy"), [-1, 0, 1])
            self.assertEqual(self.values(mounted, "a.zarr/v/data[x=0].npy"), 6)

    def test_a_fill_value_in_base64_is_that_of_a_float(self):
        # As xarray writes it in Zarr v3.
        shutil.rmtree(self.path("a.zarr"), ignore_errors=True)
        os.makedirs(self.path("a.zarr/c"))
        with open(self.path("a.zarr/zarr.json"), "w", encoding="ascii") as file:
            file.write(
                """{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"float32","fill_value":0.0,
                "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},
                "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
                "attributes":{"_FillValue":"AAAAAACHw8A="}}"""
            )
        np.array([1, -9998, 3], "<f4").tofile(self.path("a.zarr/c/0"))
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(self.values(mounted, "a.zarr/values.npy"), [1, np.nan, 3])
            with netCDF4.Dataset(mounted.join("a.zarr/data.nc")) as file:
                self.assertEqual(file["a"]._FillValue, -9998)

    def test_a_valid_range_of_the_type_of_the_factor_is_unpacked(self):
        with netCDF4.Dataset(self.path("v.nc"), "w") as file:
            file.createDimension("x", 4)
            for name, limits in (("unpacked", np.array([0.01, 2.5])), ("packed", np.array([2, 300], "i2"))):
                variable = file.createVariable(name, "i2", ("x",))
                variable.set_auto_maskandscale(False)
                variable[:] = [1, 2, 300, 4]
                variable.scale_factor = 0.01
                variable.valid_range = limits
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(self.values(mounted, "v.nc/unpacked/values.npy"), [0.01, 0.02, np.nan, 0.04])
            np.testing.assert_array_equal(self.values(mounted, "v.nc/packed/values.npy"), [np.nan, 0.02, 3.0, 0.04])
            for name in ("data.nc", "data.h5"):
                with netCDF4.Dataset(mounted.join("v.nc", name)) as file:
                    self.assertEqual(file["unpacked"].valid_range.dtype, "f8", name)
                    self.assertEqual(file["packed"].valid_range.dtype, "i2", name)

    def test_the_fill_value_of_characters_is_in_data_nc(self):
        with netCDF4.Dataset(self.path("argo.nc"), "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("n", 2)
            file.createVariable("centre", "S1", ("n",), fill_value=" ")[:] = [b"A", b" "]
        with harness.Mount(self.source) as mounted:
            for name in ("data.nc", "data.h5"):
                with netCDF4.Dataset(mounted.join("argo.nc", name)) as file:
                    self.assertEqual(file["centre"]._FillValue, b" ", name)

    def test_numbers_without_attributes_are_their_values(self):
        data = {"i": np.arange(3), "f": np.array([1, np.inf, np.nan], "f2"), "c": np.array([1 + 2j]), "d": np.array(["2000-01", "NaT"], "M8[M]")}
        for name, array in data.items():
            np.save(self.path(name + ".npy"), array)
        with harness.Mount(self.source) as mounted:
            for name, array in data.items():
                np.testing.assert_array_equal(self.values(mounted, name + ".npy/values.npy"), array, name)
                self.assertFalse(any(entry.startswith("values") for entry in os.listdir(mounted.join(name + ".npy"))))
            np.testing.assert_array_equal(self.values(mounted, "i.npy/values[1:].npy"), [1, 2])
            self.assertEqual(self.texts(mounted, "d.npy/values.txt"), ["2000-01-01T00:00:00", "NaT"])


class TimeTest(ValuesTestCase):
    def test_the_mixed_calendar_becomes_the_true_moments(self):
        with netCDF4.Dataset(self.path("gap.nc"), "w") as file:
            file.createDimension("t", 3)
            for name, units in (("t", "days since 1582-10-03"), ("late", "days since 1582-10-15")):
                variable = file.createVariable(name, "i4", ("t",))
                variable.units = units
                variable[:] = [0, 1, 2]
            variable = file.createVariable("neg", "f8", ("t",))
            variable.setncatts({"units": "days since -0044-03-15", "calendar": "proleptic_gregorian"})
            variable[:] = [0, 1, 2]
        with harness.Mount(self.source) as mounted:
            self.assertEqual(self.texts(mounted, "gap.nc/t/values.txt"), ["1582-10-03T00:00:00", "1582-10-04T00:00:00", "1582-10-15T00:00:00"])
            expected = np.array(["1582-10-13", "1582-10-14", "1582-10-15"], "M8[us]")
            np.testing.assert_array_equal(self.values(mounted, "gap.nc/t/values.npy"), expected)
            self.assertEqual(self.values(mounted, "gap.nc/late/values.npy")[0], np.datetime64("1582-10-15"))
            self.assertEqual(self.texts(mounted, "gap.nc/neg/values.txt")[0], "-0044-03-15T00:00:00.000000")
            self.assertEqual(self.rows(mounted, "gap.nc/values.csv")[1], ["1582-10-03T00:00:00", "1582-10-15T00:00:00", "-0044-03-15T00:00:00"])

    def test_times_of_unsigned_integers_and_zones_without_a_sign(self):
        seconds = np.array([3527091337, 3527094936], "u4")
        with netCDF4.Dataset(self.path("ut.nc"), "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("time", 2)
            variable = file.createVariable("time", "i4", ("time",))
            variable.setncatts({"units": "seconds since 1904-01-01", "_Unsigned": "true"})
            variable.set_auto_maskandscale(False)
            variable[:] = seconds.view("i4")
            variable = file.createVariable("zone", "f8", ("time",))
            variable.units = "seconds since 1970-1-1 0:00:00 0:00"
            variable[:] = [1057473013.0, 1057473019.0]
        with netCDF4.Dataset(self.path("ut.nc")) as file:
            expected = [str(netCDF4.num2date(int(second), file["time"].units)).replace(" ", "T") for second in seconds]
            zone = [str(time).replace(" ", "T") for time in netCDF4.num2date(file["zone"][:], file["zone"].units)]
        with harness.Mount(self.source) as mounted:
            self.assertEqual(self.texts(mounted, "ut.nc/time/values.txt"), expected)
            np.testing.assert_array_equal(self.values(mounted, "ut.nc/time/values.npy"), np.array(expected, "M8[us]"))
            self.assertEqual([text.removesuffix(".000000") for text in self.texts(mounted, "ut.nc/zone/values.txt")], zone)
            self.assertEqual(self.values(mounted, f"ut.nc/zone/data[time={expected[1]}].npy"), 1057473019.0)

    def test_dates_of_every_unit_are_times_in_netcdf(self):
        dates = {
            "Y": np.array(["1500", "2000"], "M8[Y]"),
            "M": np.array(["1500-03", "2024-02"], "M8[M]"),
            "W": np.array(["1500-03-01", "2024-02-29"], "M8[W]"),
            "D": np.array(["1500-03-01", "NaT"], "M8[D]"),
            "us10": np.array(["1500-03-01", "2024-02-29T12:00"], "M8[10us]"),
        }
        group = zarr.open_group(self.path("d.zarr"), "w")
        for name, data in dates.items():
            create(group, name, data, 0, ["d"])
        create(group, "ps", np.array([1, 2], "M8[ps]"), 0, ["d"])
        create(group, "weeks", np.array([1, 2], "m8[W]"), 0, ["d"])
        create(group, "text", np.array(["é", "日本"], "<U2"), "", ["d"])
        with harness.Mount(self.source) as mounted:
            for name in ("data.nc", "data.h5"):
                with netCDF4.Dataset(mounted.join("d.zarr", name)) as file:
                    for key, data in dates.items():
                        self.assertEqual(file[key].calendar, "proleptic_gregorian")
                        times = netCDF4.num2date(file[key][:], file[key].units, file[key].calendar)
                        shown = np.array(["NaT" if time is np.ma.masked else time.isoformat() for time in times], "M8[us]")
                        np.testing.assert_array_equal(shown, data.astype("M8[us]"), f"{name} {key}")
                    self.assertEqual(file["ps"].units, "picoseconds since 1970-01-01")
                    np.testing.assert_array_equal(file["ps"][:], [1, 2])
                    self.assertEqual(file["weeks"].units, "days")
                    np.testing.assert_array_equal(file["weeks"][:], [7, 14])
                    self.assertEqual(file["text"]._Encoding, "UTF-8")
                    # netCDF4-python 1.6 decodes all rows as one text, which is wrong for these.
                    file.set_auto_chartostring(False)
                    rows = [b"".join(row).rstrip(b"\0").decode() for row in file["text"][:].filled(b"\0")]
                    self.assertEqual(rows, ["é", "日本"])


class ClassicTest(ValuesTestCase):
    """data.nc opens in what reads netCDF classic."""

    def test_integers_have_types_of_cdf_1_where_each_value_fits(self):
        group = zarr.open_group(self.path("a.zarr"), "w")
        columns = {
            "u1": np.array([0, 128, 255], "u1"), "u2": np.array([0, 40000, 65535], "u2"), "u4": np.array([0, 1, 4294967295], "u4"),
            "small": np.array([-5, 0, 2147483647]), "wide": np.array([2**53, -(2**62), 1]), "u8": np.array([2**63, 1, 0], "u8"),
        }
        for name, data in columns.items():
            create(group, name, data, None, ["x"])
        create(group, "time", np.arange(3), None, ["time"], units="days since 2000-01-01")
        with harness.Mount(self.source) as mounted:
            with open(mounted.join("a.zarr/data.nc"), "rb") as file:
                self.assertIn(file.read(4), (b"CDF\x01", b"CDF\x02"))
            with netCDF4.Dataset(mounted.join("a.zarr/data.nc")) as file:
                for name, data in columns.items():
                    variable = file[name]
                    variable.set_auto_mask(False)
                    self.assertEqual([int(value) for value in variable[:]], [int(value) for value in data], name)
                self.assertEqual([file[name].dtype for name in ("u1", "u2", "u4", "small", "wide", "time")], ["i2", "i4", "f8", "f8", "f8", "f8"])

    def test_numbers_that_no_double_holds_need_cdf_5(self):
        group = zarr.open_group(self.path("a.zarr"), "w")
        create(group, "odd", np.array([2**53 + 1, 0, 1]), None, ["x"])
        create(group, "u1", np.array([1, 2, 255], "u1"), None, ["x"])
        with harness.Mount(self.source) as mounted:
            with open(mounted.join("a.zarr/data.nc"), "rb") as file:
                self.assertEqual(file.read(4), b"CDF\x05")
            with netCDF4.Dataset(mounted.join("a.zarr/data.nc")) as file:
                self.assertEqual(file["odd"][0], 2**53 + 1)
                np.testing.assert_array_equal(file["u1"][:], [1, 2, 255])

    def make_year(self, year, kind):
        with netCDF4.Dataset(self.path(f"y{year}.nc"), "w", format=kind) as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            variable = file.createVariable("time", "f8", ("time",))
            variable.units = "days since 1995-01-01"
            variable[:] = np.arange(2) + 365 * (year - 1995)
            file.createVariable("p", "f4", ("time", "x"))[:] = np.arange(6).reshape(2, 3) + year
            file.createVariable("flag", "i1", ("time",))[:] = [1, 2]
            file.createVariable("fixed", "i2", ("x",))[:] = [1, 2, 3]

    def check_year(self, file, year):
        self.assertTrue(file.dimensions["time"].isunlimited())
        self.assertFalse(file.dimensions["x"].isunlimited())
        np.testing.assert_array_equal(file["time"][:], np.arange(2) + 365 * (year - 1995))
        np.testing.assert_array_equal(file["p"][:], np.arange(6).reshape(2, 3) + year)
        np.testing.assert_array_equal(file["flag"][:], [1, 2])
        np.testing.assert_array_equal(file["fixed"][:], [1, 2, 3])

    def test_unlimited_dimensions_stay_so(self):
        for kind in ("NETCDF4", "NETCDF3_CLASSIC"):
            self.make_year(1995, kind)
            with harness.Mount(self.source) as mounted:
                for name in ("data.nc", "data.h5", "data[x=#1:].nc"):
                    with netCDF4.Dataset(mounted.join("y1995.nc", name)) as file:
                        self.assertTrue(file.dimensions["time"].isunlimited(), (kind, name))
                        if name != "data[x=#1:].nc":
                            self.check_year(file, 1995)
                content = harness.read(mounted.path, "y1995.nc/data.nc")
                self.assertEqual(os.stat(mounted.join("y1995.nc/data.nc")).st_size, len(content))

    def test_records_are_the_same_in_parts_of_any_size(self):
        steps = 500
        with netCDF4.Dataset(self.path("r.nc"), "w") as file:
            file.createDimension("t", None)
            file.createDimension("x", 7)
            file.createVariable("a", "i1", ("t", "x"))[:] = np.arange(steps * 7).reshape(steps, 7) % 100
            file.createVariable("b", "f8", ("t",))[:] = np.arange(steps)
            file.createVariable("c", "i2", ("t", "x"))[:] = np.arange(steps * 7).reshape(steps, 7)
        with harness.Mount(self.source) as mounted:
            whole = harness.read(mounted.path, "r.nc/data.nc")
            with open(mounted.join("r.nc/data.nc"), "rb", buffering=0) as file:
                for size in (1, 13, 4097):
                    for at in range(0, len(whole) - size, 5003):
                        self.assertEqual(os.pread(file.fileno(), size, at), whole[at : at + size])
            with netCDF4.Dataset(mounted.join("r.nc/data.nc")) as file:
                np.testing.assert_array_equal(file["c"][:], np.arange(steps * 7).reshape(steps, 7))
                np.testing.assert_array_equal(file["b"][:], np.arange(steps))

    def test_a_single_record_variable_has_no_padding(self):
        with netCDF4.Dataset(self.path("one.nc"), "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("t", None)
            file.createVariable("a", "i2", ("t",))[:] = np.arange(9)
        with harness.Mount(self.source) as mounted, netCDF4.Dataset(mounted.join("one.nc/data.nc")) as file:
            np.testing.assert_array_equal(file["a"][:], np.arange(9))

    def test_ncrcat_joins_stores_that_are_shown_as_netcdf(self):
        if shutil.which("ncrcat") is None:
            self.skipTest("no ncrcat")
        for year in (1995, 1996):
            self.make_year(year, "NETCDF4")
        with harness.Mount(self.source, "--as", "nc") as mounted:
            joined = os.path.join(self.scratch, "joined.nc")
            subprocess.run(["ncrcat", "-O", mounted.join("y1995.nc"), mounted.join("y1996.nc"), joined], check=True)
            with netCDF4.Dataset(joined) as file:
                self.assertEqual(len(file.dimensions["time"]), 4)
                self.assertEqual(file["p"][2, 0], 1996)


class Hdf5Test(ValuesTestCase):
    def test_long_doubles_are_left_out_and_named(self):
        np.savez(self.path("l.npz"), l=np.arange(3, dtype=np.longdouble), a=np.arange(3, dtype="f4"))
        with harness.Mount(self.source) as mounted:
            with netCDF4.Dataset(mounted.join("l.npz/data.h5")) as file:
                self.assertEqual(list(file.variables), ["a"])
                self.assertIn("/l:", file.ndlfs_left_out)

    def test_an_unlimited_coordinate_has_its_elements(self):
        with netCDF4.Dataset(self.path("a.nc"), "w") as file:
            file.createDimension("time", None)
            file.createDimension("member", None)
            file.createVariable("time", "f8", ("time",))[:] = np.arange(1000) / 8
            file.createVariable("v", "i2", ("time", "member"))[:] = np.arange(3000).reshape(1000, 3)
        with harness.Mount(self.source) as mounted:
            with netCDF4.Dataset(mounted.join("a.nc/data.h5")) as file:
                self.assertEqual([dimension.isunlimited() for dimension in file.dimensions.values()], [True, True])
                np.testing.assert_array_equal(file["time"][:], np.arange(1000) / 8)
                np.testing.assert_array_equal(file["v"][:], np.arange(3000).reshape(1000, 3))
            with h5py.File(mounted.join("a.nc/data.h5")) as file:
                self.assertEqual(file["time"].maxshape, (None,))
                np.testing.assert_array_equal(file["time"][:], np.arange(1000) / 8)


class TextTest(ValuesTestCase):
    def test_control_characters_of_latin_1_are_question_marks(self):
        np.save(self.path("c1.npy"), np.array([b"a\x9bb\x85c\xe9", b"x\x07y"]))
        np.save(self.path("u.npy"), np.array(["a\x9bé", "x\x85y"]))
        with harness.Mount(self.source) as mounted:
            self.assertEqual(self.texts(mounted, "c1.npy/data.txt"), ["a?b?cé", "x?y"])
            self.assertEqual(self.texts(mounted, "u.npy/data.txt"), ["a?é", "x?y"])

    def test_calendars_of_models_have_dates_in_grads(self):
        for calendar in ("360_day", "noleap"):
            with netCDF4.Dataset(self.path(calendar + ".nc"), "w") as file:
                for name, size in (("time", 3), ("lat", 2), ("lon", 2)):
                    file.createDimension(name, size)
                variable = file.createVariable("time", "f8", ("time",))
                variable.setncatts({"units": "days since 1850-01-01", "calendar": calendar})
                variable[:] = [15, 45, 75]
                file.createVariable("tas", "f4", ("time", "lat", "lon"))[:] = 1
        with harness.Mount(self.source) as mounted:
            text = harness.read(mounted.path, "360_day.nc/tas/data.ctl").decode()
            self.assertIn("TDEF 3 LINEAR 00:00Z16jan1850 1mo", text)
            self.assertIn("* The data have the calendar 360_day", text)
            text = harness.read(mounted.path, "noleap.nc/tas/data.ctl").decode()
            self.assertIn("TDEF 3 LINEAR 00:00Z16jan1850 30dy", text)
            self.assertIn("OPTIONS little_endian 365_day_calendar", text)


class CsvTest(ValuesTestCase):
    def test_structs_flags_and_texts(self):
        data = np.zeros(3, [("id", "i4"), ("when", "M8[s]"), ("name", "U4"), ("x", "f4")])
        data["when"] = [np.datetime64("2000-01-01T06:00"), np.datetime64("NaT"), np.datetime64("1969-12-31")]
        data["name"] = ["a", 'b,"', "c\nd"]
        data["x"] = [1, np.nan, 0.1]
        np.save(self.path("s.npy"), data)
        with h5py.File(self.path("t.h5"), "w") as file:
            file["e"] = np.array([0, 1, 0], h5py.enum_dtype({"no": 0, "yes": 1}, basetype="i1"))
            file["t"] = np.array(["x", "long,er", ""], h5py.string_dtype())
            file["b"] = np.array([True, False, True])
        with harness.Mount(self.source) as mounted:
            self.assertEqual(
                self.rows(mounted, "s.npy/values.csv"),
                [["id", "when", "name", "x"], ["0", "2000-01-01T06:00:00", "a", "1.0"], ["0", "", 'b,"', ""], ["0", "1969-12-31T00:00:00", "c\nd", "0.1"]],
            )
            self.assertEqual(self.rows(mounted, "s.npy/values[1:].csv")[1], ["0", "", 'b,"', ""])
            self.assertEqual(self.rows(mounted, "t.h5/values.csv"), [["b", "e", "t"], ["TRUE", "no", "x"], ["FALSE", "yes", "long,er"], ["TRUE", "no", ""]])
            self.assertEqual(self.rows(mounted, "t.h5/data.csv")[1], ["1", "0", "x"])

    def test_large_tables_have_their_exact_size(self):
        numbers = np.random.default_rng(3).normal(size=200_000)
        with h5py.File(self.path("big.h5"), "w") as file:
            file.create_dataset("x", data=numbers, chunks=(5000,), compression="gzip")
            file["n"] = np.arange(200_000)
        with harness.Mount(self.source) as mounted:
            rows = self.rows(mounted, "big.h5/values.csv")
            self.assertEqual(len(rows), 200_001)
            np.testing.assert_array_equal([float(row[1]) for row in rows[1:]], numbers)
            whole = harness.read(mounted.path, "big.h5/table.csv")
            with open(mounted.join("big.h5/values.csv"), "rb", buffering=0) as file:
                for at in range(0, len(whole), 399_989):
                    self.assertEqual(os.pread(file.fileno(), 5000, at), whole[at : at + 5000])


if __name__ == "__main__":
    harness.main()
