# SPDX-License-Identifier: MIT
"""Headers for data.raw, TIFF, FITS, NIfTI and Fortran records, as programs read them that were made for these formats."""
import base64
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
from osgeo import gdal, osr

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

    def test_gdal_names_bands_by_their_times(self):
        mounted = self.mount(self.source)
        for name in "data.tif", "data.vrt":
            data = gdal.Open(mounted.join("a.nc/f4", name))
            self.assertEqual([data.GetRasterBand(band).GetDescription() for band in (1, 2, 3)],
                             ["2000-01-01", "2000-01-01T06:00:00", "2000-01-01T12:00:00"], name)

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
                self.expect_equal(file.asarray(), values, kind)
            data = gdal.Open(path)
            self.expect_equal(data.ReadAsArray(), values, kind)
            self.assertEqual(data.GetGeoTransform(), self.TRANSFORM)
            self.assertEqual(data.GetSpatialRef().GetAuthorityCode(None), "4326")

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
                self.assertEqual(list(axes.ctype), ["lon", "lat", "TIME"])

    def test_nibabel_reads_nifti(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            image = nibabel.load(mounted.join("a.nc", kind, "data.nii"))
            self.expect_equal(np.asanyarray(image.dataobj).T, values, kind)
            self.assertEqual(image.header.get_zooms(), (0.25, 2, 6))
            expected = np.diag([0.25, -2, 6, 1])
            expected[:2, 3] = [10, 60]
            np.testing.assert_array_equal(image.affine, expected)

    def test_teem_reads_nrrd(self):
        mounted = self.mount(self.source)
        for kind, values in self.arrays.items():
            command = ["teem-unu", "save", "-f", "nrrd", "-e", "raw", "-i", mounted.join("a.nc", kind, "data.nhdr")]
            header, data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split(b"\n\n", 1)
            self.assertEqual(data, values.tobytes(), kind)
            self.assertIn(b"spacings: nan nan 6\n", header)
            self.assertIn(b"space directions: (0.25,0) (0,-2) none\n", header)
            self.assertIn(b"space origin: (10,60)", header)

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


class ImagesTest(harness.SourceTestCase):
    """Left and right stay where they are, and pixels keep their size."""

    DIAGONAL = np.array([2, 2.5, 3, 1])
    AFFINES = {"ras": np.diag(DIAGONAL), "las": np.diag(DIAGONAL * [-1, 1, 1, 1]),
               "sagittal": np.array([[0, 0, 3, 0], [-2, 0, 0, 0], [0, 2.5, 0, 0], [0, 0, 0, 1.0]]),
               "oblique": np.array([[1.9, 0.3, 0, 0], [-0.3, 2.4, 0.2, 0], [0, -0.2, 3, 0], [0, 0, 0, 1.0]])}

    def write_images(self):
        for name, affine in self.AFFINES.items():
            affine[:3, 3] = [-40, -50, -60]
            image = nibabel.Nifti1Image(np.arange(24, dtype="i2").reshape(2, 3, 4), affine)
            if name == "sagittal":
                image.set_qform(affine, 1)
                image.set_sform(None, 0)
            nibabel.save(image, os.path.join(self.source, f"{name}.nii"))

    def test_affine_is_that_of_the_source(self):
        self.write_images()
        mounted = self.mount(self.source)
        for name in self.AFFINES:
            stored = nibabel.load(os.path.join(self.source, f"{name}.nii"))
            image = nibabel.load(mounted.join(f"{name}.nii", name, "data.nii"))
            np.testing.assert_array_equal(image.affine, stored.affine, name)
            np.testing.assert_array_equal(np.asanyarray(image.dataobj), np.asanyarray(stored.dataobj), name)
            np.testing.assert_array_equal(image.header["xyzt_units"], stored.header["xyzt_units"], name)
            np.testing.assert_allclose(image.header["pixdim"][1:], stored.header["pixdim"][1:], rtol=1e-6, err_msg=name)
            codes = int(stored.header["qform_code"]), int(stored.header["sform_code"])
            for own, (form, code) in zip(codes, (image.get_qform(coded=True), image.get_sform(coded=True))):
                self.assertIn(code, (own, own or max(codes)), name)  # each reader goes by one of them
                if code:
                    np.testing.assert_allclose(form, stored.affine, atol=1e-4, err_msg=name)
            part = nibabel.load(mounted.join(f"{name}.nii", name, "data[1:,::-1,1].nii"))
            np.testing.assert_array_equal(np.asanyarray(part.dataobj).squeeze(),
                                          np.asanyarray(stored.dataobj)[1, ::-1, 1:], name)
            np.testing.assert_allclose(part.affine @ [0, 0, 0, 1], stored.affine @ [1, 2, 1, 1], rtol=1e-6, err_msg=name)
            np.testing.assert_allclose(part.affine @ [1, 1, 0, 1], stored.affine @ [1, 1, 2, 1], rtol=1e-6, err_msg=name)

    def test_header_of_nifti_zarr_places_all_levels(self):
        affine = self.AFFINES["oblique"].copy()
        affine[:3, 3] = [-40, -50, -60]
        values = np.arange(4 * 6 * 8, dtype="<i2").reshape(4, 6, 8)
        header = nibabel.Nifti1Image(values.T, affine).header.binaryblock
        store = os.path.join(self.source, "brain.nii.zarr")
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        datasets = [{"path": str(level), "coordinateTransformations": [
            {"type": "scale", "scale": [3 * 2 ** level, 2.5 * 2 ** level, 2 * 2 ** level]},
            {"type": "translation", "translation": [3 * shift, 2.5 * shift, 2 * shift]}]} for level, shift in ((0, 0), (1, 0.5))]
        axes = [{"name": name, "type": "space", "unit": "millimeter"} for name in "zyx"]
        write_json(os.path.join(store, ".zattrs"), {"multiscales": [{"version": "0.4", "axes": axes, "datasets": datasets}]})
        write_array(os.path.join(store, "0"), values, list("zyx"))
        write_array(os.path.join(store, "1"), values[::2, ::2, ::2], list("zyx"))
        write_array(os.path.join(store, "nifti"), np.frombuffer(header, "u1"), ["byte"])
        mounted = self.mount(self.source)
        stored = nibabel.Nifti1Header(header).get_best_affine()
        np.testing.assert_array_equal(nibabel.load(mounted.join("brain.nii.zarr/0/data.nii")).affine, stored)
        half = stored @ np.array([[2, 0, 0, 0.5], [0, 2, 0, 0.5], [0, 0, 2, 0.5], [0, 0, 0, 1]])
        np.testing.assert_allclose(nibabel.load(mounted.join("brain.nii.zarr/1/data.nii")).affine, half, rtol=1e-6)

    def write_nifti_zarr(self, name, values, **attributes):
        """An image of one level, without its header."""
        store = os.path.join(self.source, name)
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0] * values.ndim}]}]
        axes = [{"name": name} for name in "tczyx"[-values.ndim:]]
        write_json(os.path.join(store, ".zattrs"),
                   {"multiscales": [{"version": "0.4", "axes": axes, "datasets": datasets}], **attributes})
        write_array(os.path.join(store, "0"), values, [axis["name"] for axis in axes])
        return store

    @staticmethod
    def full_header(values, kind=nibabel.Nifti1Header, **keywords):
        """One with more than a place."""
        header = kind(**keywords)
        header.set_data_dtype(values.dtype.newbyteorder(header.endianness))
        header.set_data_shape(values.T.shape)
        header.set_sform(np.diag([2, 3, 4, 1.0]), 2)
        header["scl_slope"], header["scl_inter"], header["descrip"] = 0.5, -3, b"a scan"
        header["cal_max"], header["slice_duration"], header["toffset"] = 90, 0.25, 7
        header["intent_code"], header["intent_name"], header["dim_info"] = 1001, b"waves", 0x39
        return header

    def check_header(self, file, header, values):
        """That a file has these elements and that header, with all fields but where the elements are."""
        with open(file, "rb") as opened:
            content = opened.read()
        stored = header.as_byteswapped("<")
        self.assertEqual(len(content), stored.single_vox_offset + values.nbytes)
        found = type(header)(content[:stored.sizeof_hdr])
        for field in stored.keys():
            expected = stored.single_vox_offset if field == "vox_offset" else stored[field]
            np.testing.assert_array_equal(found[field], expected, field)
        image = nibabel.load(file)
        np.testing.assert_array_equal(np.asanyarray(image.dataobj), values.T * 0.5 - 3)

    def test_header_of_nifti_zarr_is_kept_whole(self):
        values = np.arange(4 * 6 * 8, dtype="<i2").reshape(4, 6, 8)
        first = self.full_header(values)
        swapped = self.full_header(values, endianness=">")
        second = self.full_header(values, nibabel.Nifti2Header)
        swapped2 = self.full_header(values, nibabel.Nifti2Header, endianness=">")
        for name, header in ("first", first), ("swapped", swapped), ("second", second), ("swapped2", swapped2):
            store = self.write_nifti_zarr(name + ".zarr", values)
            write_array(os.path.join(store, "nifti"), np.frombuffer(header.binaryblock, "u1"), ["byte"])
        draft = base64.b64encode(first.binaryblock).decode()
        self.write_nifti_zarr("draft.zarr", values, nifti={"base64": draft})
        mounted = self.mount(self.source)
        for name, header in ("first", first), ("swapped", swapped), ("second", second), ("swapped2", swapped2), ("draft", first):
            self.check_header(mounted.join(name + ".zarr/0/data.nii"), header, values)
            part = nibabel.load(mounted.join(name + ".zarr/0/data[1:3].nii"))
            np.testing.assert_array_equal(np.asanyarray(part.dataobj), values[1:3].T * 0.5 - 3, name)
            self.assertEqual((part.header["descrip"], part.header["intent_name"], part.header["intent_code"], part.header["cal_max"]),
                             (b"a scan", b"waves", 1001, 90), name)
            self.assertEqual(part.affine[2, 3], 4)

    def test_scale_that_does_not_fit_the_header_of_a_part_is_an_error(self):
        values = np.arange(24, dtype="<i2").reshape(2, 3, 4)
        header = self.full_header(values, nibabel.Nifti2Header)
        header["scl_slope"] = 1e-60
        store = self.write_nifti_zarr("a.zarr", values)
        write_array(os.path.join(store, "nifti"), np.frombuffer(header.binaryblock, "u1"), ["byte"])
        mounted = self.mount(self.source)
        self.assertEqual(nibabel.load(mounted.join("a.zarr/0/data.nii")).dataobj.slope, 1e-60)
        with self.assertRaises(OSError), open(mounted.join("a.zarr/0/data[1].nii"), "rb") as file:
            file.read()

    def test_values_are_not_scaled_again(self):
        """Neither those that the array's own attributes scale, nor those that only the header of the store would scale."""
        for name, values, packing in (("own", np.arange(1.0, 25).reshape(2, 3, 4), {"scale_factor": 2.0, "add_offset": 10.0}),
                                      ("header", np.arange(1, 25, dtype="<i2").reshape(2, 3, 4), {})):
            store = self.write_nifti_zarr(name + ".zarr", values)
            header = self.full_header(values)
            write_array(os.path.join(store, "nifti"), np.frombuffer(header.binaryblock, "u1"), ["byte"])
            write_json(os.path.join(store, "0", ".zattrs"), {"_ARRAY_DIMENSIONS": list("zyx"), **packing})
        mounted = self.mount(self.source)
        for name in "own", "header":
            for part in "values", "values[1]":
                image = nibabel.load(mounted.join(name + ".zarr/0", part + ".nii"))
                expected = np.load(mounted.join(name + ".zarr/0", part + ".npy"))
                np.testing.assert_array_equal(np.asanyarray(image.dataobj), expected.T, f"{name} {part}")
                self.assertEqual((image.header["descrip"], image.header["cal_max"]), (b"a scan", 0))
        np.testing.assert_array_equal(np.load(mounted.join("own.zarr/0/values.npy")).ravel()[:2], [12, 14])

    def test_header_with_times_and_channels_in_another_order_is_not_kept_whole(self):
        values = np.arange(2 * 2 * 2 * 3 * 4, dtype="<i2").reshape(2, 2, 2, 3, 4)
        header = self.full_header(values)
        header["pixdim"][4] = 5  # of times
        store = self.write_nifti_zarr("a.zarr", values)
        write_array(os.path.join(store, "nifti"), np.frombuffer(header.binaryblock, "u1"), ["byte"])
        one = self.write_nifti_zarr("one.zarr", values[:, :1])
        short = self.full_header(values[:, 0])
        short["pixdim"][4] = 5
        write_array(os.path.join(one, "nifti"), np.frombuffer(short.binaryblock, "u1"), ["byte"])
        mounted = self.mount(self.source)
        image = nibabel.load(mounted.join("a.zarr/0/data.nii"))
        self.assertEqual(image.header["pixdim"][4], 1)  # channels
        np.testing.assert_array_equal(np.asanyarray(image.dataobj), values.T * 0.5 - 3)
        np.testing.assert_array_equal(image.affine, np.diag([2, 3, 4, 1]))
        self.assertEqual(nibabel.load(mounted.join("one.zarr/0/data.nii")).header["pixdim"][4], 5)

    def test_extensions_of_nifti_zarr_are_kept(self):
        values = np.arange(24, dtype="<i2").reshape(2, 3, 4)
        note = nibabel.nifti1.Nifti1Extension("comment", b"as it was seen")
        image = nibabel.Nifti1Image(values.T, np.eye(4))
        image.header.extensions.append(note)
        whole = image.to_bytes()
        stored = whole[:int(nibabel.Nifti1Header(whole[:348])["vox_offset"])]
        store = self.write_nifti_zarr("a.zarr", values)
        write_array(os.path.join(store, "nifti"), np.frombuffer(stored, "u1"), ["byte"])
        mounted = self.mount(self.source)
        with open(mounted.join("a.zarr/0/data.nii"), "rb") as file:
            self.assertEqual(file.read(), whole)
        self.assertEqual(nibabel.load(mounted.join("a.zarr/0/data.nii")).header.extensions[0].get_content(), b"as it was seen")

    def test_header_of_other_elements_gives_its_place_alone(self):
        values = np.arange(24, dtype="<i2").reshape(2, 3, 4)
        for name, other in ("type", values.astype("<f4")), ("shape", values[:1]):
            store = self.write_nifti_zarr(name + ".zarr", values)
            header = self.full_header(other).binaryblock
            write_array(os.path.join(store, "nifti"), np.frombuffer(header, "u1"), ["byte"])
        store = self.write_nifti_zarr("none.zarr", values)
        write_array(os.path.join(store, "nifti"), np.full(400, 255, "u1"), ["byte"])
        mounted = self.mount(self.source)
        for name in "type", "shape", "none":
            image = nibabel.load(mounted.join(name + ".zarr/0/data.nii"))
            self.assertEqual(image.shape, (4, 3, 2))
            slope = 0.5 if name == "shape" else 1
            np.testing.assert_array_equal(np.asanyarray(image.dataobj), values.T * slope - (3 if name == "shape" else 0))
            np.testing.assert_array_equal(np.diag(image.affine), [1, 1, 1, 1] if name == "none" else [2, 3, 4, 1])

    def test_channels_do_not_hide_the_unit_of_pixels(self):
        store = os.path.join(self.source, "flat.zarr")
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space", "unit": "micrometer"} for name in "yx")]
        datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 0.5]}]}]
        write_json(os.path.join(store, ".zattrs"), {"multiscales": [{"version": "0.4", "axes": axes, "datasets": datasets}]})
        write_array(os.path.join(store, "0"), np.arange(24, dtype="<u2").reshape(2, 3, 4), list("cyx"))
        header = nibabel.load(self.mount(self.source).join("flat.zarr/0/data.nii")).header
        self.assertEqual((header.get_xyzt_units()[0], *header["pixdim"][1:3]), ("micron", 0.5, 0.5))

    def test_pixels_of_ome_have_a_size_in_every_header(self):
        store = os.path.join(self.source, "cells04.ome.zarr")
        write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
        axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space", "unit": "micrometer"} for name in "zyx")]
        datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 0.65, 0.65]}]}]
        write_json(os.path.join(store, ".zattrs"), {"multiscales": [{"version": "0.4", "axes": axes, "datasets": datasets}]})
        values = np.arange(120, dtype="<u2").reshape(2, 3, 4, 5)
        write_array(os.path.join(store, "0"), values, list("czyx"))
        mounted = self.mount(self.source)
        folder = mounted.join("cells04.ome.zarr/0")
        self.assertIn(b"spacings: 0.65 0.65 2 nan\n", harness.read(folder, "data.nhdr"))
        header = harness.read(folder, "data.mhd")
        self.assertIn(b"NDims = 3\n", header)
        self.assertIn(b"ElementSpacing = 0.65 0.65 2\nDistanceUnits = um\nDimSize = 5 4 6\n", header)
        image = nibabel.load(os.path.join(folder, "data.nii"))
        np.testing.assert_allclose(np.diag(image.affine), [0.65, 0.65, 2, 1], rtol=1e-6)
        self.assertEqual(image.header.get_xyzt_units()[0], "micron")
        with tifffile.TiffFile(os.path.join(folder, "data.tif")) as file:
            self.assertEqual(file.series[0].axes, "ZCYX")
            np.testing.assert_array_equal(file.asarray(), values.transpose(1, 0, 2, 3))
            described = file.imagej_metadata
            self.assertEqual((described["channels"], described["slices"]), (2, 3))
            self.assertEqual((described["unit"], described["spacing"]), ("micron", 2))
            self.assertEqual(file.pages[0].tags["XResolution"].value, (1_000_000, 650_000))
        self.assertTrue(os.path.isfile(mounted.join("cells04.ome.zarr/cells04.ome.tif")))
        with harness.Mount(self.source, "--as", "ome.tif") as other:
            self.assertIn("cells04.ome.tif", os.listdir(other.path))


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

    def test_systems_of_gdal_and_geozarr_are_read(self):
        values = np.arange(12, dtype="<i2").reshape(3, 4)
        for name in "gdal.zarr", "geo.zarr":
            write_json(os.path.join(self.source, name, ".zgroup"), {"zarr_format": 2})
        store = os.path.join(self.source, "gdal.zarr")
        write_array(os.path.join(store, "x"), 600005.0 + 10 * np.arange(4), ["x"])
        write_array(os.path.join(store, "y"), 5099995.0 - 10 * np.arange(3), ["y"])
        write_array(os.path.join(store, "band"), values, ["y", "x"],
                    _CRS={"url": "http://www.opengis.net/def/crs/EPSG/0/32632"})
        attributes = {"proj:code": "EPSG:32632", "spatial:dimensions": ["y", "x"],
                      "spatial:transform": [10, 0, 600000, 0, -10, 5100000]}
        write_array(os.path.join(self.source, "geo.zarr/band"), values, ["y", "x"], **attributes)
        mounted = self.mount(self.source)
        for store in "gdal.zarr", "geo.zarr":
            for name in "data.tif", "data.vrt", "data.raw":
                data = gdal.Open(mounted.join(store, "band", name))
                np.testing.assert_array_equal(data.GetGeoTransform(), (600000, 10, 0, 5100000, 0, -10), (store, name))
                self.assertIn("+proj=utm +zone=32 ", data.GetSpatialRef().ExportToProj4(), (store, name))

    # A projection by its parameters alone, and where the middle of the second pixel of the second line is.
    PROJECTIONS = {
        "laea": ({"grid_mapping_name": "lambert_azimuthal_equal_area", "longitude_of_projection_origin": 10.0,
                  "latitude_of_projection_origin": 52.0, "false_easting": 4321000.0, "false_northing": 3210000.0,
                  "semi_major_axis": 6378137.0, "inverse_flattening": 298.257222101}, True),
        "lcc": ({"grid_mapping_name": "lambert_conformal_conic", "longitude_of_central_meridian": 265.0,
                 "latitude_of_projection_origin": 25.0, "standard_parallel": 25.0, "earth_radius": 6371200.0}, True),
        "stere": ({"grid_mapping_name": "polar_stereographic", "latitude_of_projection_origin": 90.0,
                   "straight_vertical_longitude_from_pole": -45.0, "standard_parallel": 70.0,
                   "semi_major_axis": 6378273.0, "semi_minor_axis": 6356889.449}, True),
        "rotated": ({"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25,
                     "grid_north_pole_longitude": -162.0}, False),
    }

    def test_projections_by_their_parameters_are_those_of_gdal(self):
        for name, (parameters, _) in self.PROJECTIONS.items():
            store = os.path.join(self.source, f"{name}.zarr")
            is_rotated = name == "rotated"
            write_json(os.path.join(store, ".zgroup"), {"zarr_format": 2})
            step = 0.5 if is_rotated else 1000.0
            for axis, count, sign, word in ("x", 4, 1, "longitude"), ("y", 3, -1, "latitude"):
                standard_name = f"grid_{word}" if is_rotated else f"projection_{axis}_coordinate"
                write_array(os.path.join(store, axis), sign * step * (1 + np.arange(count)), [axis],
                            units="degrees" if is_rotated else "m", standard_name=standard_name)
            write_array(os.path.join(store, "crs"), np.int32(0), [], **parameters)
            write_array(os.path.join(store, "t"), np.arange(12, dtype="<i2").reshape(3, 4), ["y", "x"], grid_mapping="crs")
        mounted = self.mount(self.source)
        for name, (parameters, has_tiff) in self.PROJECTIONS.items():
            expected = self.geographic(self.by_parameters(parameters), *((1.0, -1.0) if name == "rotated" else (2000.0, -2000.0)))
            for view in ("data.vrt", "data.tif") if has_tiff else ("data.vrt",):
                data = gdal.Open(mounted.join(f"{name}.zarr/t", view))
                origin_x, step_x, _, origin_y, _, step_y = data.GetGeoTransform()
                found = self.geographic(data.GetSpatialRef(), origin_x + 1.5 * step_x, origin_y + 1.5 * step_y)
                np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=f"{name} {view}")

    def by_parameters(self, parameters):
        """The system as the netCDF driver of GDAL understands it; it knows no rotated pole."""
        system = osr.SpatialReference()
        if parameters["grid_mapping_name"] == "rotated_latitude_longitude":
            system.SetFromUserInput("+proj=ob_tran +o_proj=longlat +lon_0=18 +o_lon_p=0 +o_lat_p=39.25 +datum=WGS84")
            return system
        path = self.path("reference.nc")
        with netCDF4.Dataset(path, "w") as file:
            for axis in "x", "y":
                file.createDimension(axis, 3)
                harness.put_variable(file, axis, np.arange(3) * 1000.0, (axis,), units="m",
                                     standard_name=f"projection_{axis}_coordinate")
            harness.put_variable(file, "t", np.zeros((3, 3), "i2"), ("y", "x"), grid_mapping="crs")
            harness.put_variable(file, "crs", np.int32(0), (), **parameters)
        return gdal.Open(f"NETCDF:{path}:t").GetSpatialRef()

    def geographic(self, system, x, y):
        degrees = osr.SpatialReference()
        degrees.SetFromUserInput("+proj=longlat +datum=WGS84")
        system = system.Clone()
        for one in system, degrees:
            one.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
        return osr.CoordinateTransformation(system, degrees).TransformPoint(x, y)[:2]

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
