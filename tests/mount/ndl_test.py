# SPDX-License-Identifier: MIT
"""NDL documents in the source: shown as stores, as plain files, or with an error."""
import json
import os
import time

import harness
import numpy as np

GRID = """\
/:
  attributes:
    title: Two days
  dimcoords:
    time:
      size: null
      type: float64
      value: [0.5, 1.5]
    lat: {size: 3, type: float32, value: [-30.0, 0.0, 30.0]}
/fields:
  ndarrays:
    tas:
      shape: [time, lat]
      type: float32
      value: [[280.5, 300.25, 281.0], [279.5, .nan, 1.0e-3]]
      attributes: {units: K}
    names: {shape: [2], type: string, value: [first, "second\\nday"]}
    later: {shape: [time, lat], type: float64}
"""
NO_VALUES = "ndarrays:\n  tas: {shape: [10], type: float32}\n"
MISTAKE = "ndarrays:\n  tas: {shape: [10], type: flaot32}\n"


def write_day(path, day, shift=0.0, **attributes):
    """A netCDF file with one day of `sst` on a grid of three latitudes."""
    import netCDF4
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("time", None)
        data.createDimension("lat", 3)
        time_variable = data.createVariable("time", "i4", ("time",))
        time_variable.units = "days since 1992-01-01"
        time_variable[:] = [day]
        data.createVariable("lat", "f4", ("lat",))[:] = np.array([1, 2, 3]) + shift
        sst = data.createVariable("sst", "i2", ("time", "lat"), zlib=True, fill_value=-1)
        sst.set_auto_maskandscale(False)
        sst.setncatts(attributes)
        sst[:] = [[10 * day, 10 * day + 1, 10 * day + 2]]


class NdlSourceTest(harness.SourceTestCase):
    """Documents whose data are in other files."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.source, "1992"))
        for day in (0, 1, 3, 4):
            write_day(self.day(day), day)

    def day(self, number):
        return os.path.join(self.source, "1992", "%03d.nc" % number)

    def write(self, text):
        harness.write(os.path.join(self.source, "all.ndl.yaml"), text)

    def test_days_are_one_array_and_one_netcdf_file(self):
        import netCDF4
        self.write('/: {x-source: {join: "1992/*.nc", along: time}}')
        mounted = self.mount(self.source)
        folder = mounted.join("all.ndl.yaml")
        expected = np.array([[10 * d, 10 * d + 1, 10 * d + 2] for d in (0, 1, 3, 4)], np.int16)
        np.testing.assert_array_equal(np.load(os.path.join(folder, "sst/data.npy")), expected)
        self.assertEqual(np.load(os.path.join(folder, "time/data.npy")).tolist(), [0, 1, 3, 4])
        with netCDF4.Dataset(os.path.join(folder, "data.nc")) as data:
            np.testing.assert_array_equal(data["sst"][:], expected)
            self.assertEqual(data["time"].units, "days since 1992-01-01")
            np.testing.assert_array_equal(data["lat"][:], [1, 2, 3])

    def test_a_missing_day_is_fill_values_if_the_document_says_so(self):
        join = '{files: "1992/%03d.nc", from: 0, to: 4}'
        self.write("ndarrays: {sst: {x-source: {join: %s, along: time, sizes: 1%s}}}" % (join, ", missing: fill"))
        mounted = self.mount(self.source, "--revalidate", "0")
        folder = mounted.join("all.ndl.yaml/sst")
        np.testing.assert_array_equal(np.load(os.path.join(folder, "data.npy"))[1:4],
                                      [[10, 11, 12], [-1, -1, -1], [30, 31, 32]])
        self.write("ndarrays: {sst: {x-source: {join: %s, along: time, sizes: 1}}}" % join)
        error = harness.read(folder, "error.txt").decode()
        self.assertIn("part 3 of 5 is missing", error)
        self.assertIn("1992/002.nc", error)

    def test_days_that_differ_are_not_joined(self):
        write_day(self.day(3), 3, scale_factor=0.5)
        self.write('/: {x-source: {join: "1992/*.nc", along: time}}')
        mounted = self.mount(self.source)
        folder = mounted.join("all.ndl.yaml/sst")
        error = harness.read(folder, "error.txt").decode()
        for words in ("scale_factor is 0.5", "1992/003.nc", "1992/000.nc"):
            self.assertIn(words, error)
        self.assertNotIn("data.npy", os.listdir(folder))
        self.assertEqual(np.load(mounted.join("all.ndl.yaml/time/data.npy")).tolist(), [0, 1, 3, 4])

    def test_two_packings_become_one_float(self):
        write_day(self.day(3), 3, scale_factor=0.5, add_offset=1.0)
        self.write('/: {x-source: {join: "1992/*.nc", along: time, unpack: true}}')
        mounted = self.mount(self.source)
        values = np.load(mounted.join("all.ndl.yaml/sst/data.npy"))
        np.testing.assert_array_equal(values[1:3], [[10, 11, 12], [16, 16.5, 17]])
        self.assertEqual(values.dtype.kind, "f")

    def test_a_day_that_comes_or_changes_is_seen(self):
        self.write('/: {x-source: {join: "1992/*.nc", along: time}}')
        mounted = self.mount(self.source, "--revalidate", "0")
        path = mounted.join("all.ndl.yaml/time/data.npy")
        self.assertEqual(np.load(path).tolist(), [0, 1, 3, 4])
        write_day(self.day(2), 2)
        self.assertEqual(np.load(path).tolist(), [0, 1, 2, 3, 4])
        os.rename(self.day(2), os.path.join(self.source, "away"))
        write_day(self.day(4), 7)
        self.assertEqual(np.load(path).tolist(), [0, 1, 3, 7])


class NdlStoreTest(harness.SourceTestCase):
    def write(self, name, content):
        harness.write(os.path.join(self.source, name), content)

    def test_a_document_is_a_folder_like_any_store(self):
        for name in ("grid.ndl.yaml", "grid2.yaml", "grid3.yml"):
            self.write(name, GRID)
        mounted = self.mount(self.source)
        for name in ("grid.ndl.yaml", "grid2.yaml", "grid3.yml"):
            folder = mounted.join(name)
            self.assertEqual(sorted(os.listdir(folder)), [".ndl.yaml", ".source", "data.nc", "fields", "index.html", "lat", "time"])
            self.assertEqual(harness.read(folder, ".source").decode(), GRID)
            self.assertEqual(sorted(set(os.listdir(os.path.join(folder, "fields/tas"))) - harness.BESIDE),
                             harness.ARRAY_FILES)
            tas = np.load(os.path.join(folder, "fields/tas/data.npy"))
            np.testing.assert_array_equal(
                tas, np.array([[280.5, 300.25, 281.0], [279.5, np.nan, 1e-3]], np.float32))
            self.assertEqual(np.load(os.path.join(folder, "time/data.npy")).tolist(), [0.5, 1.5])
            self.assertEqual(harness.read(folder, "lat/data.txt").decode().split(), ["-30.0", "0.0", "30.0"])
            words = harness.read(folder, "fields/names/data.jsonl").decode().splitlines()
            self.assertEqual([json.loads(word) for word in words], ["first", "second\nday"])
            self.assertEqual(os.listdir(os.path.join(folder, "fields/later")), [".ndl.yaml"])
            self.assertEqual(os.getxattr(os.path.join(folder, "fields/tas"), "user.attr.units"), b"K")
            self.assertEqual(os.getxattr(os.path.join(folder, "fields/tas"), "user.ndl.shape"), b"[2, 3]")

    def test_its_description_is_valid_and_describes_it(self):
        self.write("grid.ndl.yaml", GRID)
        mounted = self.mount(self.source)
        shown = mounted.join("grid.ndl.yaml/.ndl.yaml")
        self.assertEqual(self.run_ok(harness.BINARY, "validate", shown), "")
        text = harness.read(shown).decode()
        self.assertIn("value: [[280.5, 300.25, 281.0], [279.5, .nan, 0.001]]", text)
        self.assertIn("storage:\n        size: 2\n", text)
        # What describes itself once more is the same.
        self.write("again.ndl.yaml", text)
        self.assertEqual(harness.read(mounted.join("again.ndl.yaml/.ndl.yaml")).decode(), text)

    def test_what_is_no_store_is_a_plain_file(self):
        self.write("compose.yaml", "version: 3\nservices: {web: {image: nginx}}\n")
        self.write("description.yaml", NO_VALUES)
        self.write("mistake.yaml", MISTAKE)
        self.write("empty.yaml", "")
        self.write("deep/.ndl.yaml", GRID)
        np.save(os.path.join(self.source, "example.npy"), np.arange(3))
        self.write("example.yaml", GRID)
        self.write("example.ndl.yaml", GRID)
        mounted = self.mount(self.source)
        for name in ("compose.yaml", "description.yaml", "mistake.yaml", "empty.yaml", "deep/.ndl.yaml",
                     "example.yaml", "example.ndl.yaml"):
            self.assertTrue(os.path.isfile(mounted.join(name)), name)
            self.assertEqual(harness.read(mounted.join(name)), harness.read(self.source, name), name)

    def test_a_bad_document_has_an_error(self):
        bad = {"mistake": (MISTAKE, ":2:28: /tas: type: unknown datatype \"flaot32\" (did you mean float32?)"),
               "empty": ("", ":1:1: the document is empty"),
               "nul": ("ndarrays:\n  \0", ":2:3: the control character 0x00"),
               "latin": (b"attributes: {a: caf\xe9}\n", ":1:20: the byte 0xe9 is not UTF-8"),
               "two": (NO_VALUES + "---\n" + NO_VALUES, ":3:1: a second document begins"),
               "deep": ("a: " + "[" * 10_000, "nested more than 400 deep"),
               "laughs": ("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
                   f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi")),
                          "aliases expand to more than 700000 values"),
               "long": (" " * 17_000_000, "a document of more than 16777216 bytes")}
        for name, (text, _) in bad.items():
            self.write(name + ".ndl.yaml", text)
        mounted = self.mount(self.source)
        for name, (_, words) in bad.items():
            folder = mounted.join(name + ".ndl.yaml")
            self.assertEqual(sorted(os.listdir(folder)), [".source", "error.txt"], name)
            error = harness.read(folder, "error.txt").decode()
            self.assertIn(name + ".ndl.yaml:", error)
            self.assertIn(words, error)
            self.assertEqual(error.count("\n"), 1, error)

    def test_a_document_that_changes_is_shown_as_it_is_now(self):
        self.write("a.ndl.yaml", "ndarrays: {x: {shape: [2], type: int8, value: [1, 2]}}\n")
        mounted = self.mount(self.source, "--revalidate", "0")
        self.assertEqual(harness.read(mounted.join("a.ndl.yaml/x/data.raw")), b"\1\2")
        self.write("a.ndl.yaml", "ndarrays: {x: {shape: [3], type: int8, value: [3, 4, 5]}}\n")
        harness.wait_until(lambda: os.path.getsize(mounted.join("a.ndl.yaml/x/data.raw")) == 3, "the new size")
        self.assertEqual(harness.read(mounted.join("a.ndl.yaml/x/data.raw")), b"\3\4\5")

    def test_long_files_do_not_hold_up_a_listing(self):
        for i in range(20):
            for name in (f"long{i}.yaml", f"long{i}.ndl.yaml"):
                self.write(name, GRID)
                os.truncate(os.path.join(self.source, name), 100_000_000 if i else 1 << 40)
        mounted = self.mount(self.source)
        start = time.monotonic()
        self.run_ok("ls", "-lF", mounted.path)
        self.assertLess(time.monotonic() - start, 2)
        self.assertTrue(os.path.isfile(mounted.join("long0.yaml")))
        self.assertIn(b"more than 16777216 bytes", harness.read(mounted.join("long0.ndl.yaml/error.txt")))


if __name__ == "__main__":
    harness.main()
