# SPDX-License-Identifier: MIT
"""Pixels of several numbers: bands of any type, as they lie in scenes of satellites, in every view that knows them."""
import json
import os
import subprocess

import netCDF4
import numpy as np
import tifffile
from osgeo import gdal, osr

import harness

gdal.UseExceptions()
TRANSFORM = (500000, 10, 0, 4000000, 0, -10)
COUNTS = (2, 4, 7, 13)
RED, GREEN, BLUE, ALPHA = gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand, gdal.GCI_AlphaBand
OTHER = (gdal.GCI_Undefined, gdal.GCI_GrayIndex)


def scene(bands, kind="u2"):
    """(y, x, band), all numbers different."""
    return (np.arange(20 * 30 * bands).reshape(20, 30, bands) * 3 + 1).astype(kind)


def write_zarr(folder, values, names, **attributes):
    """A Zarr v2 array in one chunk, not compressed."""
    os.makedirs(folder)
    description = {"zarr_format": 2, "shape": values.shape, "chunks": values.shape, "dtype": values.dtype.str,
                   "compressor": None, "fill_value": None, "filters": None, "order": "C"}
    harness.write(os.path.join(folder, ".zarray"), json.dumps(description))
    harness.write(os.path.join(folder, ".zattrs"), json.dumps({"_ARRAY_DIMENSIONS": names, **attributes}))
    with open(os.path.join(folder, ".".join("0" * values.ndim)), "wb") as file:
        file.write(values.tobytes())


class BandsTest(harness.SourceTestCase):
    def create(self, name, values, *options, names=()):
        """A file of GDAL with a place in zone 32 of UTM; `values` are (y, x, band)."""
        kinds = {"uint16": gdal.GDT_UInt16, "float32": gdal.GDT_Float32, "uint8": gdal.GDT_Byte}
        length, width, bands = values.shape
        dataset = gdal.GetDriverByName("GTiff").Create(
            os.path.join(self.source, name), width, length, bands, kinds[values.dtype.name], list(options))
        dataset.SetGeoTransform(TRANSFORM)
        zone = osr.SpatialReference()
        zone.ImportFromEPSG(32632)
        dataset.SetSpatialRef(zone)
        for band, text in enumerate(names):
            dataset.GetRasterBand(band + 1).SetDescription(text)
        dataset.GetRasterBand(1).SetNoDataValue(7)
        dataset.WriteArray(values.transpose(2, 0, 1))

    def expect_scene(self, path, values):
        """`path` is a raster of GDAL that has the same numbers and the same place."""
        found = gdal.Open(path)
        np.testing.assert_array_equal(found.ReadAsArray(), values.transpose(2, 0, 1), path)
        self.assertEqual(found.ReadAsArray().dtype, values.dtype)
        self.assertEqual(found.GetGeoTransform(), TRANSFORM, path)
        self.assertEqual(found.GetSpatialRef().GetUTMZone(), 32, path)
        return found

    def test_scenes_are_those_of_gdal(self):
        for bands in COUNTS:
            for interleave in "PIXEL", "BAND":
                self.create(f"{interleave}{bands}.tif", scene(bands), "INTERLEAVE=" + interleave,
                            "PHOTOMETRIC=MINISBLACK")
        mounted = self.mount(self.source)
        for bands in COUNTS:
            values = scene(bands)
            for interleave in "PIXEL", "BAND":
                folder = mounted.join(f"{interleave}{bands}.tif", "image")
                for view in "data.tif", "data.vrt", "data.raw":
                    found = self.expect_scene(os.path.join(folder, view), values)
                    for number in range(1, bands + 1):
                        band = found.GetRasterBand(number)
                        self.assertEqual(band.GetNoDataValue(), 7)
                        self.assertIn(band.GetColorInterpretation(), OTHER)
                    if view != "data.vrt":
                        stored = found.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE")
                        self.assertEqual(stored, interleave, (bands, view))
                    found = band = None  # closes the file

    def test_tifffile_teem_and_metaimage_take_bands_for_one_pixel(self):
        self.create("seven.tif", scene(7), "INTERLEAVE=PIXEL", "PHOTOMETRIC=MINISBLACK")
        folder = self.mount(self.source).join("seven.tif", "image")
        with tifffile.TiffFile(os.path.join(folder, "data.tif")) as file:
            page = file.pages[0]
            self.assertEqual((page.samplesperpixel, page.planarconfig, page.photometric), (7, 1, 1))
            self.assertEqual(page.extrasamples, (0,) * 6)
            np.testing.assert_array_equal(page.asarray(), scene(7))
        command = ["teem-unu", "save", "-f", "nrrd", "-e", "raw", "-i", os.path.join(folder, "data.nhdr")]
        header, data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split(b"\n\n", 1)
        self.assertEqual(data, scene(7).tobytes())
        self.assertIn(b"sizes: 7 30 20\n", header)
        self.assertIn(b"kinds: vector domain domain\n", header)
        text = harness.read(folder, "data.mhd").decode()
        self.assertIn("DimSize = 30 20\nElementNumberOfChannels = 7\nElementType = MET_USHORT\n", text)
        for name in "data.ctl", "data.mrc":  # GrADS and MRC know no bands
            self.assertFalse(os.path.exists(os.path.join(folder, name)), name)

    def test_names_of_bands_go_on(self):
        names = ["blue", "green", "red", "near infrared"]
        for interleave in "PIXEL", "BAND":
            self.create(interleave + ".tif", scene(4), "INTERLEAVE=" + interleave, "PHOTOMETRIC=MINISBLACK", names=names)
        mounted = self.mount(self.source)
        for interleave in "PIXEL", "BAND":
            for view in "data.tif", "data.vrt":
                found = gdal.Open(mounted.join(interleave + ".tif", "image", view))
                self.assertEqual([found.GetRasterBand(n).GetDescription() for n in (1, 2, 3, 4)],
                                 names, (interleave, view))
                found = None  # closes the file

    def test_colours_are_those_of_the_file(self):
        for kind in "u2", "u1", "f4":
            for interleave in "PIXEL", "BAND":
                self.create(f"{kind}{interleave}.tif", scene(5, kind), "INTERLEAVE=" + interleave, "PHOTOMETRIC=RGB",
                            "ALPHA=NO")
        self.create("alpha.tif", scene(4), "PHOTOMETRIC=RGB", "ALPHA=YES")
        mounted = self.mount(self.source)
        for kind in "u2", "u1", "f4":
            for interleave in "PIXEL", "BAND":
                for view in "data.tif", "data.vrt":
                    path = mounted.join(f"{kind}{interleave}.tif", "image", view)
                    found = self.expect_scene(path, scene(5, kind))
                    colours = [found.GetRasterBand(n).GetColorInterpretation() for n in range(1, 6)]
                    self.assertEqual(colours[:3], [RED, GREEN, BLUE], path)
                    self.assertIn(colours[3], OTHER, path)
                    self.assertIn(colours[4], OTHER, path)
                    found = None  # closes the file
        for view in "data.tif", "data.vrt":
            found = self.expect_scene(mounted.join("alpha.tif", "image", view), scene(4))
            self.assertEqual(found.GetRasterBand(4).GetColorInterpretation(), ALPHA)
            found = None  # closes the file

    def test_parts_have_their_place(self):
        values = scene(7)
        self.create("seven.tif", values, "INTERLEAVE=PIXEL", "PHOTOMETRIC=MINISBLACK")
        mounted = self.mount(self.source)

        def read(name):
            found = gdal.Open(mounted.join("seven.tif", "image", name))
            return found.ReadAsArray(), found.GetGeoTransform(), found.GetSpatialRef().GetAuthorityCode(None)

        some, transform, system = read("data[4:,5:25,1:6:2].tif")
        np.testing.assert_array_equal(some.transpose(1, 2, 0), values[4:, 5:25, 1:6:2])
        self.assertEqual((transform, system), ((500050, 10, 0, 3999960, 0, -10), "32632"))
        one, transform, system = read("data[:,:,3].tif")
        np.testing.assert_array_equal(one, values[:, :, 3])
        self.assertEqual((transform, system), (TRANSFORM, "32632"))
        mean = np.load(mounted.join("seven.tif", "image", "data[mean:y=2,x=2].npy"))
        known = np.where(values == 7, np.nan, values).reshape(10, 2, 15, 2, 7)
        np.testing.assert_allclose(mean, np.nanmean(known, axis=(1, 3)))

    def test_netcdf_has_the_place_by_names(self):
        self.create("seven.tif", scene(7), "INTERLEAVE=PIXEL", "PHOTOMETRIC=MINISBLACK")
        mounted = self.mount(self.source)
        with netCDF4.Dataset(mounted.join("seven.tif", "data.nc")) as file:
            file.set_auto_mask(False)
            self.assertEqual(file["image"].dimensions, ("y", "x", "band"))
            np.testing.assert_array_equal(file["image"][:], scene(7))
            mapping = file[file["image"].grid_mapping]
            self.assertEqual(mapping.grid_mapping_name, "transverse_mercator")
            np.testing.assert_array_equal(file["x"][:], 500005 + 10 * np.arange(30))
            np.testing.assert_array_equal(file["y"][:], 3999995 - 10 * np.arange(20))

    def test_arrays_of_other_stores(self):
        values = scene(6, "f4")
        write_zarr(self.path("s.zarr", "bands"), values, ["lat", "lon", "band"])
        write_zarr(self.path("s.zarr", "channels"), values, ["y", "x", "channel"])
        write_zarr(self.path("s.zarr", "electrodes"), values, ["trial", "time", "channel"])
        write_zarr(self.path("s.zarr", "series"), np.stack([values, values + 1]), ["time", "y", "x", "band"])
        harness.write(self.path("s.zarr", ".zgroup"), '{"zarr_format": 2}')
        mounted = self.mount(self.source)
        for name in "bands", "channels":
            for view in "data.tif", "data.vrt", "data.raw":
                found = gdal.Open(mounted.join("s.zarr", name, view))
                np.testing.assert_array_equal(found.ReadAsArray(), values.transpose(2, 0, 1), view)
                found = None  # closes the file
        with tifffile.TiffFile(mounted.join("s.zarr", "electrodes", "data.tif")) as file:
            self.assertEqual([page.shape for page in file.pages], [(30, 6)] * 20)
        with tifffile.TiffFile(mounted.join("s.zarr", "series", "data.tif")) as file:
            self.assertEqual(len(file.pages), 2)
            np.testing.assert_array_equal(file.pages[1].asarray(), values + 1)
        found = gdal.Open(mounted.join("s.zarr", "series", "data.vrt"))
        np.testing.assert_array_equal(found.ReadAsArray()[6:], (values + 1).transpose(2, 0, 1))
        found = None  # closes the file


if __name__ == "__main__":
    harness.main()
