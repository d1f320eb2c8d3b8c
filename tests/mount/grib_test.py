# SPDX-License-Identifier: MIT
"""GRIB files as folders: levels and steps, and files that are joined along the step."""
import itertools
import os
import unittest

import netCDF4
import numpy as np

import grib_messages
import harness

T = np.arange(12, dtype="f4").reshape(3, 4)


class GribTest(harness.SourceTestCase):
    def put(self, name, *messages):
        with open(os.path.join(self.source, name), "wb") as file:
            file.write(b"".join(messages))

    def test_arrays_have_the_levels_that_they_have(self):
        self.put("a.grib2", grib_messages.message(T + 1, level=50000), grib_messages.message(T, level=100000),
                 grib_messages.message(T + 2, category=2, number=2, level=85000))
        with harness.Mount(self.source) as mounted:
            group = mounted.join("a.grib2", "isobaricInhPa", "instant")
            np.testing.assert_array_equal(np.load(os.path.join(group, "t", "data.npy")), [T, T + 1])
            np.testing.assert_array_equal(np.load(os.path.join(group, "u", "data.npy")), T + 2)
            with netCDF4.Dataset(os.path.join(group, "data.nc")) as file:
                self.assertEqual(file["t"].dimensions, ("isobaricInhPa", "latitude", "longitude"))
                np.testing.assert_array_equal(file["isobaricInhPa"][:], [1000, 500])
                np.testing.assert_array_equal(file["latitude"][:], [60, 59, 58])
                self.assertEqual(file["t"].GRIB_shortName, "t")
                self.assertEqual(file["u"].standard_name, "eastward_wind")

    def test_truncated_file_shows_what_is_there_and_says_what_is_not(self):
        first = grib_messages.message(T)
        self.put("a.grib2", first, first[:-20])
        with harness.Mount(self.source) as mounted:
            text = harness.read(mounted.path, "a.grib2", "error.txt").decode()
            self.assertIn(f"the message at byte {len(first)}", text)
            np.testing.assert_array_equal(
                np.load(mounted.join("a.grib2", "isobaricInhPa", "instant", "t", "data.npy")), T)

    def test_files_of_one_step_join_along_it(self):
        for hours in 0, 6, 12:
            self.put(f"f{hours:03d}.grib2", grib_messages.message(T + hours, hours=hours))
        document = os.path.join(self.source, "run.ndl.yaml")
        files = [os.path.join(self.source, f"f{hours:03d}.grib2") for hours in (12, 0, 6)]
        self.run_ok(harness.BINARY, "join", *files, "--along", "step", "-o", document)
        with harness.Mount(self.source) as mounted:
            group = mounted.join("run.ndl.yaml", "isobaricInhPa", "instant")
            np.testing.assert_array_equal(np.load(os.path.join(group, "t", "data.npy")), [T, T + 6, T + 12])
            np.testing.assert_array_equal(np.load(os.path.join(group, "step", "data.npy")), [0, 6, 12])
            self.assertEqual(np.load(os.path.join(group, "valid_time", "data.npy")).shape, (3,))
            with netCDF4.Dataset(os.path.join(group, "data.nc")) as file:
                self.assertEqual(file["t"].dimensions, ("valid_time", "latitude", "longitude"))

    def test_bulletins_under_any_name_are_stores(self):
        self.put("bulletin.bin", b"\x01\r\r\n123 \r\r\nTTXX01 KWBC 010000\r\r\n", grib_messages.message(T))
        with harness.Mount(self.source) as mounted:
            self.assertEqual(os.listdir(mounted.join("bulletin.bin", "isobaricInhPa")).count("instant"), 1)


FAKE_ECCODES = os.environ.get("NDLFS_FAKE_ECCODES")


@unittest.skipUnless(FAKE_ECCODES, "without the library that takes the place of libeccodes")
class LocalNamesTest(harness.SourceTestCase):
    """Parameters of local tables, with a library whose answers depend on their numbers (fake_eccodes.cc)."""

    def setUp(self):
        super().setUp()
        self.definitions = self.path("definitions")
        os.mkdir(self.definitions)
        with open(os.path.join(self.definitions, "names.def"), "w") as file:
            file.write("my own file\n")

    def names(self, *numbers, own_definitions=False, level=0):
        """The long_name of each array of a file of these parameters."""
        with open(self.path("a.grib2"), "wb") as file:
            for number, height in itertools.product(numbers, level if isinstance(level, range) else [level]):
                file.write(grib_messages.message(T, number=number, surface=1, level=height))
        variables = [f"LD_LIBRARY_PATH={FAKE_ECCODES}"]
        if own_definitions:
            variables.append(f"ECCODES_DEFINITION_PATH={self.definitions}")
        with harness.Mount(self.source, prefix=("env", *variables)) as mounted:
            self.notes = harness.read(mounted.path, "a.grib2/surface/instant/.ndl.yaml").decode()
            with netCDF4.Dataset(mounted.join("a.grib2/surface/instant/data.nc")) as file:
                return {name: (getattr(variable, "long_name", None), getattr(variable, "units", None))
                        for name, variable in file.variables.items() if "GRIB_gridType" in variable.ncattrs()}

    def check(self):
        """What `ndlfs check` says about the file."""
        return harness.run("env", f"LD_LIBRARY_PATH={FAKE_ECCODES}", harness.BINARY, "check", self.path("a.grib2")).stdout

    def test_library_names_what_the_tables_lack(self):
        names = self.names(0, 220, 225, level=7)
        self.assertEqual(names, {"t": ("Temperature", "K"), "local220": ("defined in closed, level 7", None),
                                 "parameter_0_0_225": (None, None)})
        self.assertIn("GRIB_paramId: 900220", self.notes)

    def test_own_definitions_are_read_and_name_everything(self):
        names = self.names(0, 220, own_definitions=True)
        self.assertEqual(names, {"local0": ("defined in my own file, level 0", None),
                                 "local220": ("defined in my own file, level 0", None)})

    def test_library_reaches_no_other_file(self):
        names = self.names(223, 224, own_definitions=True)
        self.assertEqual([name for name, _ in names.values()], ["closed", "closed"])
        self.assertEqual(os.listdir(self.definitions), ["names.def"])

    def test_crash_costs_the_name_of_one_message(self):
        names = self.names(218, 219, 220, 221, 226)
        self.assertEqual(sorted(names), ["local218", "local219", "local220", "local226", "parameter_0_0_221"])
        self.assertIn("libeccodes could not be asked for the names of 1 of 5 parameters: it crashes; they have",
                      self.check())

    def test_library_that_crashes_at_everything_is_not_asked_for_ever(self):
        self.names(221, level=range(60))
        self.assertRegex(
            self.check(),
            "libeccodes could not be asked for the names of [0-9]+ of 60 parameters: it ended badly in 32 processes, "
            "and is not asked again; they have the names that ndlfs knows itself")


if __name__ == "__main__":
    harness.main()
