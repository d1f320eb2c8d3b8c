# SPDX-License-Identifier: MIT
"""Headers for data.raw, TIFF, FITS, NIfTI and Fortran records, as programs read them that were made for these formats."""
import errno
import json
import os
import subprocess
import time
import warnings

import astropy.io.fits
import astropy.wcs
import netCDF4
import nibabel
import numpy as np
import tifffile
from osgeo import gdal

import harness

gdal.UseExceptions()
TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
# What GDAL 3.6 cannot read.
NOT_ENVI = ("i1", "i8", "u8")
NOT_VRT = ("i1",)


def write_json(path, value):
    harness.write(path, json.dumps(value))


def write_array(folder, values, names, **attributes):
    """A Zarr v2 array in one chunk, not compressed."""
    values = np.asarray(values)
    write_json(os.path.join(folder, ".zarray"),
               {"zarr_format": 2, "shape": list(values.shape), "chunks": list(values.shape), "dtype": values.dtype.str,
                "compressor": None, "fill_value": None, "filters": None, "order": "C"})
    write_json(os.path.join(folder, ".zattrs"), {"_ARRAY_DIMENSIONS": names, **attributes})
    with open(os.path.join(folder, ".".join("0" * max(1, values.ndim))), "wb") as file:
        file.write(values.tobytes())


class RastersTest(harness.SourceTestCase):
    LATITUDES = np.array([60, 58, 56, 54, 52], "f4")
    LONGITUDES = 10 + np.arange(8, dtype="f4") / 4
    TRANSFORM = (9.875, 0.25, 0, 61, 0, -2)

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        self.arrays = {}
        with netCDF4.Dataset(os.path.join(self.source, "a.nc"), "w") as file:
            for name, count in ("time", 3), ("lat", 5), ("lon", 8):
                file.createDimension(name, count)
            harness.put_variable(file, "time", np.arange(3) * 6.0, ("time",), units="hours since 2000-01-01 00:00:00")
            harness.put_variable(file, "lat", self.LATITUDES, ("lat",), units="degrees_north")
            harness.put_variable(file, "lon", self.LONGITUDES, ("lon",), units="degrees_east")
            for kind in TYPES:
                values = np.frombuffer(random.bytes(120 * int(kind[1])), kind).reshape(3, 5, 8)
                if kind[0] == "f":
                    values = random.normal(size=(3, 5, 8)).astype(kind)
                harness.put_variable(file, kind, values, ("time", "lat", "lon"), units="K")
                self.arrays[kind] = values

    def expect_equal(self, found, expected, what):
        found = np.asarray(found)
        self.assertEqual(found.dtype.newbyteorder("="), expected.dtype, what)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected, str(what))

    def test_gdal_reads_envi_and_vrt(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            for name, refused in ("data.raw", NOT_ENVI), ("data.vrt", NOT_VRT):
                if kind in refused:
                    continue
                data = gdal.Open(mounted.join("a.nc", kind, name))
                self.expect_equal(data.ReadAsArray(), values, (kind, name))
                self.assertEqual(data.GetGeoTransform(), self.TRANSFORM)
                self.assertEqual(data.GetSpatialRef().GetAuthorityCode(None), "4326")

    def test_gdal_takes_no_other_file_for_the_one_of_the_header(self):
        mounted = self.mount(self.source)
        for name in "data.npy", "data.txt":
            with self.assertRaises(RuntimeError):
                gdal.Open(mounted.join("a.nc/f4", name))

    def test_gdal_and_tifffile_read_tiff(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            path = mounted.join("a.nc", kind, "data.tif")
            with tifffile.TiffFile(path) as file:
                self.assertEqual(len(file.pages), 3)
                self.assertTrue(file.is_imagej)
                self.expect_equal(file.asarray(), values, kind)
            pages = [gdal.Open(f"GTIFF_DIR:{page}:{path}") for page in (1, 2, 3)]
            self.expect_equal(np.stack([page.ReadAsArray() for page in pages]), values, kind)
            for page in pages:
                self.assertEqual(page.GetGeoTransform(), self.TRANSFORM)
                self.assertEqual(page.GetSpatialRef().GetAuthorityCode(None), "4326")

    def test_astropy_reads_fits(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            with warnings.catch_warnings(), astropy.io.fits.open(mounted.join("a.nc", kind, "data.fits")) as file:
                warnings.simplefilter("error")
                file.verify("exception")
                self.expect_equal(file[0].data, values, kind)
                self.assertEqual(file[0].header["BUNIT"], "K")
                axes = astropy.wcs.WCS(file[0].header).wcs
                self.assertEqual(list(axes.crval), [10, 60, 0])
                self.assertEqual(list(axes.cdelt), [0.25, -2, 6])
                self.assertEqual(list(axes.ctype), ["lon", "lat", "time"])

    def test_nibabel_reads_nifti(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            image = nibabel.load(mounted.join("a.nc", kind, "data.nii"))
            self.expect_equal(np.asanyarray(image.dataobj).T, values, kind)
            self.assertEqual(image.header.get_zooms(), (0.25, 2, 6))

    def test_teem_reads_nrrd(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            command = ["teem-unu", "save", "-f", "nrrd", "-e", "raw", "-i", mounted.join("a.nc", kind, "data.nhdr")]
            header, data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split(b"\n\n", 1)
            self.assertEqual(data, values.tobytes(), kind)
            self.assertIn(b"spacings: 0.25 2 6\naxis mins: 10 0 0\n", header)

    def test_fortran_reads_its_record(self):
        mounted = self.mount(self.source)
        program = self.path("read.f90")
        harness.write(program, "real(8) :: a(8, 5, 3)\ncharacter(1000) :: name\ncall get_command_argument(1, name)\n"
                      "open (10, file=name, form='unformatted', action='read')\nread (10) a\n"
                      "print '(3es24.16)', a(1, 1, 1), a(8, 5, 3), a(3, 2, 1)\nend\n")
        self.run_ok("gfortran", "-o", self.path("read"), program)
        found = self.run_ok(self.path("read"), mounted.join("a.nc/f8/data.f77")).split()
        values = self.arrays["f8"]
        self.assertEqual([float(number) for number in found], [values[0, 0, 0], values[-1, -1, -1], values[0, 1, 2]])

    def test_looking_at_headers_decodes_nothing(self):
        mounted = self.mount(self.source)
        names = os.listdir(mounted.join("a.nc/f4"))
        self.assertEqual({name for name in names if name in harness.HEADERS}, harness.HEADERS)
        self.assertEqual(set(os.listdir(mounted.join("a.nc/lat"))) & harness.HEADERS, set())
        sizes = {name: os.stat(mounted.join("a.nc/f4", name)).st_size
                 for name in (*names, "data.hdr", "data.tif", "data.fits", "data.nii", "data.f77")}
        statistics = json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))
        self.assertEqual(statistics["cache_misses_total"], 0)
        for name, size in sizes.items():
            self.assertEqual(len(harness.read(mounted.join("a.nc/f4", name))), size, name)
            if name.startswith("data."):
                command = [harness.BINARY, "cat", os.path.join(self.source, "a.nc"), "/f4", "--view", name[5:]]
                self.assertEqual(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout,
                                 harness.read(mounted.join("a.nc/f4", name)), name)


class CoordinatesTest(harness.SourceTestCase):
    """Headers depend on other arrays than the one that they are about."""

    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.source, "a.zarr")
        write_json(os.path.join(self.store, ".zgroup"), {"zarr_format": 2})
        write_array(os.path.join(self.store, "lat"), np.array([3.0, 2, 1]), ["lat"], units="degrees_north")
        write_array(os.path.join(self.store, "lon"), np.array([10.0, 11, 12, 13]), ["lon"], units="degrees_east")
        write_array(os.path.join(self.store, "t"), np.arange(12, dtype="<i2").reshape(3, 4), ["lat", "lon"])

    def test_changed_coordinates_change_the_file(self):
        mounted = self.mount(self.source)
        for name in ("data.vrt", "data.tif"):
            self.assertEqual(gdal.Open(mounted.join("a.zarr/t", name)).GetGeoTransform(), (9.5, 1, 0, 3.5, 0, -1))
        time.sleep(1.1)
        with open(os.path.join(self.store, "lat", "0"), "wb") as file:
            file.write(np.array([1.0, 2, 3]).tobytes())
        time.sleep(1.5)
        for name in ("data.vrt", "data.tif"):
            self.assertEqual(gdal.Open(mounted.join("a.zarr/t", name)).GetGeoTransform(), (9.5, 1, 0, 0.5, 0, 1))

    def test_damaged_coordinates_are_an_error_of_headers_only(self):
        os.truncate(os.path.join(self.store, "lat", "0"), 20)
        mounted = self.mount(self.source)
        for name in ("data.raw.hdr", "data.vrt", "data.nhdr", "data.mhd", "data.xmf", "data.bov", "data.ctl", "data.fits"):
            with self.assertRaises(OSError) as caught:
                harness.read(mounted.join("a.zarr/t", name))
            self.assertEqual(caught.exception.errno, errno.EIO, name)
        self.assertIn(b"a.zarr/t: /lat: a.zarr/lat/0: 20 bytes", harness.read(mounted.join("a.zarr/t/error.txt")))
        self.assertEqual(harness.read(mounted.join("a.zarr/t/data.raw")), np.arange(12, dtype="<i2").tobytes())

    def test_projected_maps_have_the_system_of_their_grid_mapping(self):
        store = os.path.join(self.source, "b.zarr")
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        write_array(os.path.join(store, "y"), np.array([30.0, 20, 10]), ["y"], units="km",
                    standard_name="projection_y_coordinate")
        write_array(os.path.join(store, "x"), np.array([4.0, 5, 6, 7]), ["x"], units="km",
                    standard_name="projection_x_coordinate")
        write_array(os.path.join(store, "crs"), np.int32(0), [], epsg_code="EPSG:3035")
        write_array(os.path.join(store, "t"), np.arange(12, dtype="<i2").reshape(3, 4), ["y", "x"], grid_mapping="crs")
        mounted = self.mount(self.source)
        for name in ("data.vrt", "data.tif"):
            data = gdal.Open(mounted.join("b.zarr/t", name))
            self.assertEqual(data.GetGeoTransform(), (3500, 1000, 0, 35000, 0, -10000), name)
            self.assertEqual(data.GetSpatialRef().GetAuthorityCode(None), "3035", name)
            # The system counts north first; the file does not.
            self.assertEqual(data.GetSpatialRef().GetDataAxisToSRSAxisMapping(), [2, 1], name)

    def test_levels_of_an_image_are_those_of_ome_tiff(self):
        store = os.path.join(self.source, "image.zarr")
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space", "unit": "micrometer"} for name in "zyx")]
        datasets = [{"path": path, "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 0.5, 0.5]}]}
                    for path in "01"]
        channels = [{"label": "DNA", "color": "0000FF"}, {"label": "Lamin \u03b1", "color": "00FF00"}]
        write_json(os.path.join(store, ".zattrs"), {"multiscales": [{"version": "0.4", "axes": axes, "datasets": datasets}],
                                                    "omero": {"channels": channels}})
        full = np.random.default_rng(1).integers(0, 60_000, (2, 3, 32, 48)).astype("<u2")
        write_array(os.path.join(store, "0"), full, list("czyx"))
        write_array(os.path.join(store, "1"), full[..., ::2, ::2], list("czyx"))
        mounted = self.mount(self.source)
        self.assertNotIn("data.ome.tif", os.listdir(mounted.join("image.zarr")))
        with tifffile.TiffFile(mounted.join("image.zarr/image.ome.tif")) as file:
            self.assertTrue(file.is_ome)
            series = file.series[0]
            self.assertEqual(series.axes, "CZYX")
            np.testing.assert_array_equal(series.levels[0].asarray(), full)
            np.testing.assert_array_equal(series.levels[1].asarray(), full[..., ::2, ::2])
            described = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]["Channel"]
            self.assertEqual([channel["Name"] for channel in described], ["DNA", "Lamin \u03b1"])
            self.assertEqual([channel["Color"] for channel in described], [0x0000FFFF, 0x00FF00FF])


if __name__ == "__main__":
    harness.main()
