# SPDX-License-Identifier: MIT
"""Files of HDF4 as folders: data sets, grids of HDF-EOS2 with their place, and files that are damaged."""
import os
import shutil
import unittest

import netCDF4
import numpy as np
from osgeo import gdal

import harness
import hdf4_writer
from hdf4_writer import counted

gdal.UseExceptions()
GOLDENS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "hdf4")


@unittest.skipIf(hdf4_writer.SD is None, "libhdf4 is not installed")
class Hdf4Test(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        for name in os.listdir(GOLDENS):
            shutil.copy(os.path.join(GOLDENS, name), self.source)

    def put(self, name, content):
        harness.write(self.path(name), content)

    def golden(self, name):
        return harness.read(GOLDENS, name)

    def test_grid_has_its_place_in_every_view(self):
        with harness.Mount(self.source) as mounted:
            fields = mounted.join("grid.hdf", "MOD_Grid", "Data Fields")
            band = counted((4, 6), "<i2")
            np.testing.assert_array_equal(np.load(os.path.join(fields, "b01", "data.npy")), band)
            copy = gdal.Open(os.path.join(fields, "b01", "data.tif"))
            self.assertEqual(copy.GetGeoTransform(), (-1000, 200, 0, 2000, 0, -200))
            self.assertIn("Sinusoidal", copy.GetProjection())
            np.testing.assert_array_equal(copy.ReadAsArray(), band)
            np.testing.assert_array_equal(np.load(mounted.join("grid.hdf", "MOD_Grid", "XDim", "data.npy")),
                                          -900 + 200.0 * np.arange(6))
            self.assertTrue(os.path.islink(mounted.join("grid.hdf", "again", "b01")))
            np.testing.assert_array_equal(np.load(mounted.join("grid.hdf", "again", "b01", "data.npy")), band)
            with netCDF4.Dataset(mounted.join("grid.hdf", "MOD_Grid", "Data Fields", "data.nc")) as copy:
                copy.set_auto_maskandscale(False)
                np.testing.assert_array_equal(copy["b01"][:], band)

    def test_every_coding_is_decoded(self):
        expected = counted((5, 7), "<i4", 3)
        with harness.Mount(self.source) as mounted:
            for name in ("plain", "deflate", "rle", "skphuff", "whole_deflate", "whole_rle", "whole_nbit", "grows", "after"):
                with self.subTest(name):
                    np.testing.assert_array_equal(np.load(mounted.join("chunks.hdf", name, "data.npy")), expected)
            self.assertEqual(harness.read(mounted.join("chunks.hdf", "rle", "data.raw")), expected.tobytes())

    def test_chunks_that_were_written_again_are_in_several_pieces(self):
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("rewritten.hdf")
            np.testing.assert_array_equal(np.load(os.path.join(folder, "deflate", "data.npy")),
                                          hdf4_writer.noise_of_rewritten())
            np.testing.assert_array_equal(np.load(os.path.join(folder, "other", "data.npy")), counted((4, 200), "<i2"))

    def test_values_are_calibrated_as_hdf4_means_it(self):
        with harness.Mount(self.source) as mounted:
            values = np.load(mounted.join("types.hdf", "packed", "values.npy"))
            np.testing.assert_array_equal(values, 0.5 * (np.arange(4) - -10))
            with netCDF4.Dataset(mounted.join("types.hdf", "data.nc")) as copy:
                np.testing.assert_array_equal(copy["packed"][:], values)

    def test_factor_of_modis_is_no_divisor_here_as_in_gdal(self):
        with hdf4_writer.File(self.path("ndvi.hdf")) as file:
            file.dataset("NDVI", np.full((4, 5), 7000, "<i2"), attributes={
                "scale_factor": np.array([10000.0]), "add_offset": np.array([0.0]), "calibrated_nt": np.array([5], "<i4")})
        dataset = gdal.Open(self.path("ndvi.hdf"))
        self.assertEqual(dataset.GetRasterBand(1).GetScale(), 10000)
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("ndvi.hdf", "NDVI", "values.npy")), np.full((4, 5), 7e7))

    def test_what_is_not_shown_is_named(self):
        checked = harness.run(harness.BINARY, "check", self.path("grid.hdf"))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn('tables (Vdata) are not shown: "a table"', checked.stdout + checked.stderr)

    def test_damaged_file_is_one_error_and_the_others_stay(self):
        sound = self.golden("types.hdf")
        self.put("cut.hdf", sound[:100])
        self.put("ring.hdf", sound[:6] + b"\0\0\0\4" + sound[10:])
        self.put("far.hdf", sound[:6] + b"\x7f\xff\xff\xff" + sound[10:])
        self.put("text.he4", b"GROUP=GridStructure\n" * 20)
        # No data set is a group any more, and names of elements lead into other ones.
        self.put("tags.hdf", sound.replace(b"\x02\xd0\0", b"\x07\xaa\0"))
        with harness.Mount(self.source) as mounted:
            for name, words in {"cut.hdf": "more than the file",
                                "ring.hdf": "comes back", "far.hdf": "behind the end",
                                "text.he4": "does not begin as a file of HDF4"}.items():
                with self.subTest(name):
                    error = harness.read(mounted.join(name, "error.txt")).decode()
                    self.assertIn(words, error)
                    self.assertEqual(error.count("\n"), 1)
                    self.assertEqual(harness.read(mounted.join(name, ".source")), harness.read(self.path(name)))
            os.listdir(mounted.join("tags.hdf"))
            np.testing.assert_array_equal(np.load(mounted.join("types.hdf", "int16", "data.npy")),
                                          counted((2, 3), "<i2", 40))

    def test_file_that_changes_is_read_anew(self):
        with harness.Mount(self.source, "--revalidate", "0") as mounted:
            path = mounted.join("new.hdf")
            hdf4_writer.write_grid(self.path("new.hdf"))
            self.assertIn("MOD_Grid", os.listdir(path))
            hdf4_writer.write_images(self.path("newer.hdf"))
            os.replace(self.path("newer.hdf"), self.path("new.hdf"))
            self.assertIn("grey", os.listdir(path))
            np.testing.assert_array_equal(np.load(os.path.join(path, "grey", "data.npy")), counted((3, 4), "|u1"))

    def test_raster_image_is_an_array(self):
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("images.hdf", "colours", "data.npy")),
                                          counted((3, 4, 3), "<u2"))

    def test_image_of_jpeg_is_what_the_library_decodes(self):
        shape = (16, 24, 3)
        ramp = np.add.outer(np.add.outer(np.arange(16) * 8, np.arange(24) * 4), np.arange(3) * 10).astype("u1")
        path = self.path("jpeg.hdf")
        with hdf4_writer.File(path):
            pass
        with hdf4_writer.Groups(path) as groups:
            groups.image("photo", np.ascontiguousarray(ramp), compress="jpeg")
        with hdf4_writer.Groups(path) as groups:
            expected = groups.read_image(0, shape)
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("jpeg.hdf", "photo", "data.npy")), expected)

    def test_sets_that_grew_in_turn_are_read_from_their_blocks(self):
        with harness.Mount(self.source) as mounted:
            for name in ("first", "second"):
                np.testing.assert_array_equal(np.load(mounted.join("blocks.hdf", name, "data.npy")), counted((160, 10), "<i4"))

    def test_coding_with_parameters_that_make_no_sense_is_named(self):
        content = bytearray(self.golden("chunks.hdf"))
        # The header of an element of 140 bytes that is compressed as a whole: deflate becomes szip.
        head = content.index(b"\0\3\0\0\0\0\0\x8c")
        self.assertEqual(content[head + 12:head + 14], b"\0\4")
        content[head + 13] = hdf4_writer.SZIP
        self.put("szip.hdf", bytes(content))
        with harness.Mount(self.source) as mounted:
            self.assertIn("szip", harness.read(mounted.join("szip.hdf", "whole_deflate", "error.txt")).decode())


if __name__ == "__main__":
    harness.main()
