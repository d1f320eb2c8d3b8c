# SPDX-License-Identifier: MIT
"""ndlfs join: documents that join stores, and what a mount makes of them."""
import io
import os
import pty
import subprocess
import time

import harness
import netCDF4
import numpy as np
import yaml
import zarr2 as zarr


def values_of(day):
    return np.arange(6, dtype="f4").reshape(2, 3) + 10 * day


def write_netcdf(path, day, units="K", form="NETCDF4"):
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("lat", 3)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [day, day + 0.5]
        file.createVariable("lat", "f8", ("lat",))[:] = [10, 20, 30]
        sst = file.createVariable("sst", "f4", ("time", "lat"))
        sst.units = units
        sst[:] = values_of(day)


def write_aggregation(path, files, form):
    """An aggregation by CFA 0.6 of files with two times each."""
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.Conventions = "CF-1.10 CFA-0.6.2"
        is_new = form == "NETCDF4"
        for name, size in (("time", 2 * len(files)), ("lat", 3), ("f_time", len(files)), ("f_lat", 1), ("i", 2),
                           ("j", len(files)), ("length", 10)):
            file.createDimension(name, size)
        dims = ("f_time", "f_lat")
        text = (lambda name, dims: file.createVariable(name, str, dims)) if is_new else (
            lambda name, dims: file.createVariable(name, "S1", (*dims, "length")))
        char = (lambda texts: np.array(texts, object)) if is_new else (
            lambda texts: netCDF4.stringtochar(np.array(texts, "S10")))
        for name, dims_of, kind in (("sst", "time lat", "f4"), ("time", "time", "f8")):
            variable = file.createVariable(name, kind, ())
            variable.aggregated_dimensions = dims_of
            suffix = "" if name == "sst" else "_1"
            variable.aggregated_data = f"location: location{suffix} file: file{suffix} format: format address: {name}_in"
            variable.units = "K" if name == "sst" else "days since 2000-01-01"
            location = file.createVariable(f"location{suffix}", "i4", ("i", "j") if name == "sst" else ("f_lat", "j"))
            location[:] = [[2] * len(files), [3] + [-1] * (len(files) - 1)][:location.shape[0]]
            of_name = dims if name == "sst" else dims[:1]
            shape = (len(files), 1) if name == "sst" else (len(files),)
            text(f"file{suffix}", of_name)[:] = char(np.reshape(files, shape))
            text(f"{name}_in", of_name)[:] = char(np.full(shape, name))
        text("format", ())[...] = np.array("nc", object) if is_new else np.array([*"nc" + 8 * "\0"], "S1")
        file.createVariable("lat", "f8", ("lat",))[:] = [10, 20, 30]


def write_zarr(path, day):
    group = zarr.open_group(path, mode="w")
    for name, dims, values in (("time", ["time"], [day, day + 0.5]), ("lat", ["lat"], [10.0, 20.0, 30.0]),
                               ("sst", ["time", "lat"], values_of(day))):
        array = group.array(name, np.asarray(values, "f4" if name == "sst" else "f8"), fill_value=None)
        array.attrs["_ARRAY_DIMENSIONS"] = dims
    group["time"].attrs["units"] = "days since 2000-01-01"
    group["sst"].attrs["units"] = "K"


class JoinTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("days"))
        os.makedirs(self.path("out"))

    def join(self, *arguments, status=0):
        result = harness.run(harness.BINARY, "join", *arguments, "--along", "time")
        self.assertEqual(result.returncode, status, result)
        return result

    def days(self, *days, **more):
        """The files of some days, written if they are not there."""
        files = [self.path(f"days/{day}.nc") for day in days]
        for day, file in zip(days, files):
            if not os.path.exists(file):
                write_netcdf(file, day, **more)
        return files

    def test_stores_of_several_formats_are_joined_in_the_order_of_their_times(self):
        files = self.days(3) + self.days(0, form="NETCDF3_CLASSIC")
        files += [self.path("days/2.zarr"), self.path("days/1.zarr")]
        write_zarr(files[2], 2)
        write_zarr(files[3], 1)
        result = self.join(*files, "-o", self.path("out/all.yaml"), "--check")
        self.assertEqual(result.stderr, "")
        self.assertIn("all.yaml: ok, 3 arrays", result.stdout)
        source = yaml.safe_load(harness.read(self.path("out/all.yaml")))["/"]["x-source"]
        self.assertEqual(source, {"join": ["../days/0.nc", "../days/1.zarr", "../days/2.zarr", "../days/3.nc"],
                                  "along": "time", "sizes": 2})
        expected = np.concatenate([values_of(day) for day in range(4)])
        mount = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mount.join("out/all.yaml/sst/data.npy")), expected)
        with netCDF4.Dataset(mount.join("out/all.yaml/data.nc")) as file:
            np.testing.assert_array_equal(file["sst"][:], expected)
            np.testing.assert_array_equal(file["time"][:], np.arange(0, 4, 0.5))
            np.testing.assert_array_equal(file["lat"][:], [10, 20, 30])

    def test_slices_by_date_follow_changes_of_the_files(self):
        """The times of all files are read once. Later slices look only at the files that decide them."""
        for form in "NETCDF3_CLASSIC", "NETCDF4":
            days = range(8)
            files = [self.path(f"days/{form}.{day}.nc") for day in days]
            for day, file in zip(days, files):
                write_netcdf(file, day, form=form)
            self.join(*files, "-o", self.path(f"out/{form}.yaml"))
            mount = self.mount(self.source, "--revalidate", "0")

            def slice_of(text, form=form, mount=mount):
                return np.fromfile(mount.join(f"out/{form}.yaml/sst/data[time={text}].raw"), "f4").reshape(-1, 3)

            for day in (5, 2, 0, 7):
                np.testing.assert_array_equal(slice_of(f"2000-01-{day + 1:02}T12"), values_of(day)[1:])
            np.testing.assert_array_equal(slice_of("2000-01-02:2000-01-03"), np.concatenate([values_of(1), values_of(2)]))
            # Other times, and numbers, in one file.
            write_netcdf(self.path("new.nc"), 3.125, form=form)
            os.rename(self.path("new.nc"), files[3])
            with self.assertRaises(FileNotFoundError):
                slice_of("2000-01-04T12")
            np.testing.assert_array_equal(slice_of("2000-01-04T15"), values_of(3.125)[1:])
            np.testing.assert_array_equal(slice_of("2000-01-07T12"), values_of(6)[1:])
            # Times that are in no order are noticed as soon as one of them decides.
            write_netcdf(self.path("new.nc"), 9, form=form)
            os.rename(self.path("new.nc"), files[5])
            with self.assertRaises(FileNotFoundError):
                slice_of("2000-01-06T12")
            with self.assertRaises(FileNotFoundError):
                slice_of("2000-01-07T12")
            self.assertIn("the coordinates neither ascend nor descend", mount.log())
            write_netcdf(self.path("new.nc"), 5, form=form)
            os.rename(self.path("new.nc"), files[5])
            np.testing.assert_array_equal(slice_of("2000-01-06T12"), values_of(5)[1:])
            os.remove(files[5])
            with self.assertRaises(OSError):
                slice_of("2000-01-06T00")

    def test_commands_read_documents_that_name_stores_around_their_folder(self):
        self.join(*self.days(0, 1), "-o", self.path("out/all.yaml"))
        for folder, document in ((".", self.path("out/all.yaml")), (self.path("out"), "all.yaml")):
            command = [harness.BINARY, "cat", document, "/sst", "--view", "raw"]
            result = subprocess.run(command, cwd=folder, capture_output=True, timeout=harness.DEADLINE)
            self.assertEqual(result.stderr, b"")
            self.assertEqual(np.frombuffer(result.stdout, "<f4").tolist(),
                             np.concatenate([values_of(0), values_of(1)]).ravel().tolist())
            described = harness.run(harness.BINARY, "describe", document, "/sst", cwd=folder)
            self.assertEqual((described.returncode, described.stderr), (0, ""))
            self.assertIn("units: K", described.stdout)
        self.assertEqual(harness.run(harness.BINARY, "check", self.path("out/all.yaml")).returncode, 0)

    def test_gaps_and_duplicates_are_said(self):
        result = self.join(*self.days(0, 1, 3, 4), "-o", self.path("all.yaml"))
        self.assertEqual(result.stderr, "gap: days/1.nc and days/3.nc\n")
        result = self.join(*self.days(0, 1, 2), *self.days(1), "-o", self.path("all.yaml"), status=1)
        self.assertEqual(result.stderr, "duplicate: days/1.nc and days/1.nc\n")

    def test_a_gap_of_months_is_said(self):
        for year, months in (1990, range(12)), (1991, range(12)), (1993, range(12)):
            with netCDF4.Dataset(self.path(f"{year}.nc"), "w") as file:
                file.createDimension("time", None)
                time = file.createVariable("time", "f8", ("time",))
                time.units = "days since 1990-01-01"
                time[:] = [(np.datetime64(f"{year}-01") + month).astype("M8[D]").astype(int) - 7305 for month in months]
        files = [self.path(f"{year}.nc") for year in (1990, 1991, 1993)]
        self.assertEqual(self.join(*files, "-o", self.path("all.yaml")).stderr, "gap: 1991.nc and 1993.nc\n")

    def test_a_dimension_that_no_array_has_is_an_error_with_a_cure(self):
        files = self.days(0, 1)
        result = harness.run(harness.BINARY, "join", *files, "--along", "tim")
        self.assertEqual(result.stderr, 'ndlfs: no array has the dimension "tim" (did you mean time?)\n')
        result = harness.run(harness.BINARY, "join", *files, "--along", "member", "-o", self.path("all.yaml"))
        self.assertIn("`--new member` makes each store one element along a new dimension", result.stderr)
        self.assertFalse(os.path.exists(self.path("all.yaml")))
        self.assertEqual(harness.run(harness.BINARY, "join", *files).returncode, 2)

    def write_member(self, name, seed, orography=0.0, size=3):
        with netCDF4.Dataset(self.path(name), "w") as file:
            for dimension, count in ("time", 2), ("lat", size):
                file.createDimension(dimension, count)
            file.createVariable("lat", "f8", ("lat",))[:] = np.arange(size)
            tas = file.createVariable("tas", "f4", ("time", "lat"))
            tas.units = "K"
            tas[:] = np.full((2, size), seed)
            file.createVariable("orog", "f8", ("lat",))[:] = np.full(size, orography)
        return self.path(name)

    def test_a_scalar_coordinate_is_a_dimension_of_one_element(self):
        for day in 2, 1:
            with netCDF4.Dataset(self.path(f"{day}.nc"), "w") as file:
                file.createDimension("lat", 3)
                group = file.createGroup("g")
                time = group.createVariable("time", "f8", ())
                time.units = "days since 2000-01-01"
                time[...] = day
                group.createVariable("lat", "f8", ("lat",))[:] = [10, 20, 30]
                sst = group.createVariable("sst", "f4", ("lat",))
                sst.coordinates = "time"
                sst[:] = values_of(day)[0]
                if day == 2:
                    group.createVariable("more", "f4", ("lat",))[:] = 0
        done = self.join(self.path("2.nc"), self.path("1.nc"), "-o", self.path("join.ndl.yaml"))
        self.assertIn("2.nc: /g/more is not in 1.nc, and so not in the join", done.stderr)
        mount = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mount.join("join.ndl.yaml/g/time/data.npy")), [1, 2])
        np.testing.assert_array_equal(np.load(mount.join("join.ndl.yaml/g/sst/data.npy")), [values_of(1)[0], values_of(2)[0]])

    def test_members_of_an_ensemble_are_stacked_along_a_new_dimension(self):
        files = [self.write_member(f"run{i}.nc", i) for i in range(3)]
        document = self.path("ensemble.yaml")
        result = harness.run(harness.BINARY, "join", *files, "--new", "member", "-o", document, "--check")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        mount = self.mount(self.source)
        tas = np.load(mount.join("ensemble.yaml/tas/data.npy"))
        self.assertEqual(tas.tolist(), [np.full((2, 3), i).tolist() for i in range(3)])
        self.assertEqual(np.load(mount.join("ensemble.yaml/orog/data.npy")).tolist(), [0, 0, 0])
        self.assertEqual(np.load(mount.join("ensemble.yaml/tas/data[member=run1].npy")).tolist(), np.full((2, 3), 1).tolist())
        with netCDF4.Dataset(mount.join("ensemble.yaml/data.nc")) as file:
            self.assertEqual(file["tas"].dimensions, ("member", "time", "lat"))
        # What differs is of each member, too.
        self.write_member("run2.nc", 2, orography=5.0)
        self.assertEqual(harness.run(harness.BINARY, "join", *files, "--new", "member", "-o", document).returncode, 0)
        result = subprocess.run([harness.BINARY, "cat", document, "/orog", "--view", "raw"], capture_output=True, check=True)
        self.assertEqual(np.frombuffer(result.stdout).tolist(), [0] * 6 + [5] * 3)

    def test_attributes_of_members_are_kept_where_they_are_the_same(self):
        files = [self.write_member(f"run{i}.nc", i) for i in range(2)]
        for i, path in enumerate(files):
            with netCDF4.Dataset(path, "a") as file:
                file.title, file.history = "an ensemble", f"run {i}"
        result = harness.run(harness.BINARY, "join", *files, "--new", "member", "-o", self.path("ensemble.yaml"))
        self.assertEqual((result.returncode, result.stderr), (0, "attributes that differ are left out: history\n"))
        with open(self.path("ensemble.yaml"), encoding="utf-8") as file:
            self.assertEqual(yaml.safe_load(file)["/"]["attributes"], {"title": "an ensemble"})

    def test_members_that_are_packed_otherwise_are_stacked_unpacked(self):
        for i in range(2):
            with netCDF4.Dataset(self.path(f"packed{i}.nc"), "w") as file:
                file.createDimension("x", 3)
                packed = file.createVariable("p", "i2", ("x",))
                packed.scale_factor = 0.5 * (i + 1)
                packed.set_auto_maskandscale(False)
                packed[:] = [10, 20, 30]
        files = [self.path(f"packed{i}.nc") for i in range(2)]
        result = harness.run(harness.BINARY, "join", *files, "--new", "run", "--unpack", "-o", self.path("runs.yaml"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = subprocess.run([harness.BINARY, "cat", self.path("runs.yaml"), "--view", "npy"], capture_output=True, check=True)
        self.assertEqual(np.load(io.BytesIO(result.stdout)).tolist(), [[5, 10, 15], [10, 20, 30]])

    def write_year(self, year, form):
        """Bounds have no units of their own, and their dimension has no coordinates."""
        with netCDF4.Dataset(self.path(f"{year}.nc"), "w", format=form) as file:
            file.createDimension("time", None)
            file.createDimension("bnds", 2)
            time = file.createVariable("time", "f8", ("time",))
            time.units, time.calendar, time.bounds = f"days since {year}-01-01", "standard", "time_bnds"
            time[:] = [0.5, 1.5]
            file.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = [[0, 1], [1, 2]]
        return self.path(f"{year}.nc")

    def test_bounds_of_times_are_unpacked_as_the_times_are(self):
        for forms in (("NETCDF4", "NETCDF4"), ("NETCDF4", "NETCDF3_CLASSIC"), ("NETCDF3_CLASSIC", "NETCDF4")):
            with self.subTest(forms):
                files = [self.write_year(year, form) for year, form in zip((2001, 2002), forms)]
                document = self.path("years.yaml")
                self.join(*files, "--unpack", "-o", document)
                for array, expected in (("time", [0.5, 1.5, 365.5, 366.5]),
                                        ("time_bnds", [[0, 1], [1, 2], [365, 366], [366, 367]])):
                    result = subprocess.run([harness.BINARY, "cat", document, array, "--view", "npy"],
                                            capture_output=True, check=True)
                    self.assertEqual(np.load(io.BytesIO(result.stdout)).tolist(), expected, array)

    def test_without_unpack_other_units_name_the_cure(self):
        files = [self.write_year(year, "NETCDF4") for year in (2001, 2002)]
        self.assertIn("ndlfs join --unpack", self.join(*files, "-o", self.path("years.yaml"), status=1).stderr)

    def test_a_document_stays_a_store_beside_a_file_of_its_name(self):
        files = [self.write_year(year, "NETCDF4") for year in (2001, 2002)]
        document = self.path("years.yaml")
        self.join(*files, "--unpack", "-o", document)
        with open(self.path("years.nc"), "wb") as out:
            subprocess.run([harness.BINARY, "cat", document, "--view", "nc"], stdout=out, check=True)
        with netCDF4.Dataset(self.path("years.nc")) as file:
            self.assertEqual(file["time"].shape, (4,))
        self.assertIn("years.yaml", os.listdir(self.mount(self.source).path))
        self.assertEqual(harness.run(harness.BINARY, "describe", document).returncode, 0)

    def test_members_that_differ_in_units_are_not_stacked(self):
        files = [self.write_member(f"run{i}.nc", i) for i in range(2)]
        with netCDF4.Dataset(files[1], "a") as file:
            file["tas"].units = "degC"
        result = harness.run(harness.BINARY, "join", *files, "--new", "member", "-o", self.path("ensemble.yaml"))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "units is degC in run1.nc: /tas, but K in run0.nc: /tas")
        self.assertFalse(os.path.exists(self.path("ensemble.yaml")))

    def test_a_large_array_that_differs_is_an_error_that_names_both(self):
        size = 150_000  # more than what a mount compares
        files = [self.write_member(f"run{i}.nc", i, orography=i, size=size) for i in range(2)]
        result = self.join(*files, "-o", self.path("all.yaml"), status=1)
        self.assertRegex(result.stderr, r"/orog: .*element \[0\] is 1.0 in run1.nc: /orog, but 0.0 in run0.nc: /orog")

    def test_a_fill_value_that_one_part_does_not_tell_is_no_difference(self):
        for name, day, fill in ("0.nc", 0, None), ("1.nc", 1, 1e20):
            with netCDF4.Dataset(self.path(name), "w") as file:
                file.createDimension("time", 2)
                time = file.createVariable("time", "f8", ("time",))
                time.units = "days since 2000-01-01"
                time[:] = [day, day + 0.5]
                file.createVariable("s", "f4", ("time",), fill_value=fill)[:] = [day, fill or 0.5]
        group = zarr.open_group(self.path("2.zarr"), mode="w")
        for name, values in ("time", [2.0, 2.5]), ("s", np.array([2, 2.5], "f4")):
            group.array(name, values, fill_value=None if name == "time" else np.nan).attrs["_ARRAY_DIMENSIONS"] = ["time"]
        group["time"].attrs["units"] = "days since 2000-01-01"
        files = [self.path(name) for name in ("0.nc", "1.nc", "2.zarr")]
        self.assertEqual(self.join(*files, "-o", self.path("all.yaml")).stderr, "")
        result = subprocess.run([harness.BINARY, "cat", self.path("all.yaml"), "/s", "--view", "raw"], capture_output=True, check=True)
        np.testing.assert_array_equal(np.frombuffer(result.stdout, "f4"), np.array([0, 0.5, 1, np.nan, 2, 2.5], "f4"))

    def test_a_slice_by_date_sees_a_part_that_has_changed(self):
        self.join(*self.days(0, 1, 2), "-o", self.path("all.yaml"))
        mount = self.mount(self.source)
        named = mount.join("all.yaml/sst/data[time=2000-01-02T12:00].npy")
        self.assertEqual(np.load(named).tolist(), values_of(1)[1].tolist())
        self.assertEqual(np.load(named.replace("12:00", "00:00")).tolist(), values_of(1)[0].tolist())
        with netCDF4.Dataset(self.path("days/1.nc"), "a") as file:
            file["time"][:] = [1.25, 1.75]
        time.sleep(2.5)
        with self.assertRaises(FileNotFoundError):
            np.load(named)
        self.assertEqual(np.load(named.replace("12:00", "18:00")).tolist(), values_of(1)[1].tolist())

    def test_arrays_that_differ_are_said_and_have_an_error_in_the_mount(self):
        files = self.days(0) + self.days(1, units="degC")
        result = self.join(*files, "-o", self.path("all.yaml"), status=1)
        self.assertRegex(result.stderr, r"^/sst: .*units is degC in .*days/1.nc: /sst, but K in .*days/0.nc: /sst\n$")
        mount = self.mount(self.source)
        self.assertIn(b"units is degC", harness.read(mount.join("all.yaml/sst/error.txt")))
        self.assertEqual(np.load(mount.join("all.yaml/time/data.npy")).tolist(), [0, 0.5, 1, 1.5])

    def test_a_document_goes_to_standard_output(self):
        files = self.days(0, 1)
        result = harness.run(harness.BINARY, "join", *files, "--along", "time", cwd=self.path("out"))
        self.assertEqual(yaml.safe_load(result.stdout)["/"]["x-source"]["join"], ["../days/0.nc", "../days/1.nc"])
        harness.write(self.path("written.yaml"), result.stdout)
        self.assertEqual(harness.run(harness.BINARY, "validate", self.path("written.yaml")).returncode, 0)

    def test_ncml_is_a_store(self):
        self.days(0)
        self.days(1, form="NETCDF3_CLASSIC")
        os.makedirs(self.path("days/more"))
        write_netcdf(self.path("days/more/2.nc"), 2)
        harness.write(self.path("all.ncml"), """<?xml version="1.0" encoding="UTF-8"?>
<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">
  <variable name="sst" type="float"><attribute name="long_name" value="temperature"/></variable>
  <aggregation type="joinExisting" dimName="time"><scan location="days" suffix=".nc"/></aggregation>
</netcdf>
""")
        harness.write(self.path("one.ncml"), harness.run("ncdump", "-x", "days/1.nc", cwd=self.source).stdout)
        harness.write(self.path("wrong.ncml"), "<netcdf><explicit/></netcdf>")
        mount = self.mount(self.source)
        with netCDF4.Dataset(mount.join("all.ncml/data.nc")) as file:
            np.testing.assert_array_equal(file["sst"][:], np.concatenate([values_of(day) for day in range(3)]))
            self.assertEqual((file["sst"].units, file["sst"].long_name), ("K", "temperature"))
        np.testing.assert_array_equal(np.load(mount.join("one.ncml/sst/data.npy")), values_of(1))
        self.assertIn(b"<explicit> is not supported", harness.read(mount.join("wrong.ncml/error.txt")))

    def test_an_aggregation_variable_of_netcdf_is_the_array_of_its_fragments(self):
        for form in ("NETCDF4", "NETCDF3_CLASSIC"):
            for day in (0, 1, 2):
                write_netcdf(self.path(f"days/{day}.nc"), day)
            write_aggregation(self.path("all.nc"), ["days/0.nc", "days/1.nc", "days/2.nc"], form)
            with harness.Mount(self.source) as mount:
                expected = np.concatenate([values_of(day) for day in range(3)])
                np.testing.assert_array_equal(np.load(mount.join("all.nc/sst/data.npy")), expected)
                with netCDF4.Dataset(mount.join("all.nc/data.nc")) as file:
                    self.assertEqual(file["sst"].dimensions, ("time", "lat"))
                    self.assertNotIn("aggregated_data", file["sst"].ncattrs())
                    np.testing.assert_array_equal(file["sst"][:], expected)
                    np.testing.assert_array_equal(file["time"][:], np.arange(0, 3, 0.5))
            os.remove(self.path("days/1.nc"))
            with harness.Mount(self.source) as mount:
                self.assertRegex(harness.read(mount.join("all.nc/sst/error.txt")), b"is missing: days/1.nc")

    def test_what_cannot_be_joined_is_one_clear_line(self):
        files = self.days(0)
        for arguments, message in (([self.path("none.nc")], "none.nc: no such file"),
                                   ([*files, self.path("notes.txt")], "notes.txt: not a store"),
                                   (["s3://bucket/a.nc"], "s3://bucket/a.nc: join takes no URLs")):
            harness.write(self.path("notes.txt"), "no store")
            result = self.join(*arguments, status=1)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, f"^ndlfs: .*{message}\n$")
        result = harness.run(harness.BINARY, "join", *files, "--along", "depth")
        self.assertIn('no array has the dimension "depth"', result.stderr)
        self.assertEqual(self.join(*files, "--check", status=2).stdout, "")

    def test_progress_is_for_terminals_only(self):
        files = self.days(0, 1)
        control, terminal = pty.openpty()
        try:
            subprocess.run([harness.BINARY, "join", *files, "--along", "time"], stdout=subprocess.DEVNULL,
                           stderr=terminal, check=True, timeout=harness.DEADLINE)
            self.assertIn(b"of 2 stores opened", os.read(control, 10000))
        finally:
            os.close(control)
            os.close(terminal)
        self.assertEqual(self.join(*files).stderr, "")


if __name__ == "__main__":
    harness.main()
