# SPDX-License-Identifier: MIT
"""What an array means, in the words of each format: a table of properties and formats. A cell is either said, which the
format's own reader checks, or in NO_WORD, with what the format's specification says. A row or a column is one more entry."""
import os
import warnings

import astropy.io.fits
import astropy.wcs
import netCDF4
import nibabel
import numpy as np
import zarr
from osgeo import gdal

import harness

gdal.UseExceptions()
TIMES = {"units": "days since 2000-01-01", "calendar": "noleap"}

# name: attributes of the variable, the dimensions, and the words that a reader of each format finds for it. The variable
# has stored numbers of `type`, which is i2 unless an attribute "type" says otherwise.
ROWS = {
    "plain": ({}, ("y", "x"), {}),
    "scale and offset": ({"scale_factor": 0.5, "add_offset": 10.0}, ("y", "x"), {"scale": 0.5, "offset": 10.0}),
    "negative scale": ({"scale_factor": -0.25}, ("y", "x"), {"scale": -0.25, "offset": 0.0}),
    "fill": ({"_FillValue": np.int16(-9)}, ("y", "x"), {"fill": -9}),
    "missing value": ({"missing_value": np.int16(7)}, ("y", "x"), {"fill": 7}),
    "unsigned, packed": ({"type": "u2", "scale_factor": 2.0, "add_offset": 1.0}, ("y", "x"), {"scale": 2.0, "offset": 1.0}),
    "read unsigned": ({"type": "i1", "_Unsigned": "true"}, ("y", "x"), {"unsigned": True}),
    "fill of unsigned": ({"type": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, ("y", "x"), {"fill": 255}),
    "unit": ({"units": "Pa"}, ("y", "x"), {"unit": "Pa"}),
    "several missing values": ({"_FillValue": np.int16(-9), "missing_value": np.int16([-9, 8])}, ("y", "x"), {"missing": [-9, 8]}),
    "valid range": ({"valid_range": np.int16([0, 5])}, ("y", "x"), {"valid": [0, 5]}),
    "cell methods": ({"cell_methods": "time: mean"}, ("y", "x"), {"methods": "time: mean"}),
    "descending coordinates": ({}, ("down", "x"), {"down": [9.0, 7.0, 5.0]}),
    "sky": ({}, ("dec", "ra"), {"sky": True}),
    "spectrum": ({}, ("freq", "ra"), {"spectrum": True}),
}
CARDS = "FITS 4.0, 4.4.2: no reserved keyword"
NO_WORD = {
    ("fits", "several missing values"): "FITS 4.0, 4.4.2.5: BLANK holds 'an integer'",
    ("fits", "valid range"): CARDS + "; DATAMIN and DATAMAX are 'the minimum valid physical value represented by the array'",
    ("fits", "cell methods"): CARDS,
    ("nii", "fill"): "nifti1.h has no field for missing voxels",
    ("nii", "missing value"): "nifti1.h has no field for missing voxels",
    ("nii", "fill of unsigned"): "nifti1.h has no field for missing voxels",
    ("nii", "several missing values"): "nifti1.h has no field for missing voxels",
    ("nii", "valid range"): "nifti1.h: cal_min and cal_max are the 'display intensity' range",
    ("nii", "cell methods"): "nifti1.h has no field for them",
    ("nii", "sky"): "nifti1.h: xyzt_units has lengths alone for the first three dimensions",
    ("nii", "spectrum"): "nifti1.h: xyzt_units has lengths alone for the first three dimensions",
    ("vrt", "several missing values"): "GDAL, VRT: NoDataValue is one value",
    ("vrt", "valid range"): "GDAL, VRT: no element for it",
    ("vrt", "cell methods"): "GDAL, VRT: no element for them",
    ("vrt", "descending coordinates"): "GDAL: GeoTransform belongs to a map",
    ("vrt", "sky"): "GDAL, VRT: SRS is a system of the earth",
    ("vrt", "spectrum"): "GDAL: GeoTransform belongs to a map",
    ("hdr", "unit"): "ENVI, header file format: no field for the unit of values",
    ("hdr", "several missing values"): "ENVI: 'data ignore value' is one value",
    ("hdr", "valid range"): "ENVI, header file format: no field for it",
    ("hdr", "cell methods"): "ENVI, header file format: no field for them",
    ("hdr", "descending coordinates"): "ENVI: map info belongs to a map",
    ("hdr", "sky"): "ENVI: map info is on the earth",
    ("hdr", "spectrum"): "ENVI: wavelength belongs to bands",
    **{(name, row): "CF, appendix A: no attribute; the coordinates say it" for name in ("nc", "nc4", "zarr2")
       for row in ("sky", "spectrum")},
}


def fits(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        header = astropy.io.fits.getheader(os.path.join(folder, "data.fits"))
        world = astropy.wcs.WCS(header)
    moved = {8: -128, 16: 2**15, 32: 2**31}.get(header["BITPIX"], 0)
    words = {"unit": header.get("BUNIT"), "sky": world.has_celestial, "spectrum": world.has_spectral, "unsigned": header["BITPIX"] == 8}
    scale, zero = header.get("BSCALE", 1), header.get("BZERO", 0)
    if (scale, zero) not in ((1, 0), (1, moved)):
        unsigned = os.getxattr(folder, "user.ndl.type").startswith(b"uint16")
        words.update(scale=scale, offset=zero - (moved * scale if unsigned else 0))
    if "BLANK" in header:
        words["fill"] = header["BLANK"]
    n = header["NAXIS"]
    axis = np.zeros((header[f"NAXIS{n}"], n))
    axis[:, n - 1] = np.arange(len(axis))
    words["down"] = world.wcs_pix2world(axis, 0)[:, n - 1].tolist()
    return words


def nifti(folder):
    image = nibabel.load(os.path.join(folder, "data.nii"))
    words = {"unit": bytes(image.header["descrip"]).rstrip(b"\0").decode() or None, "unsigned": image.get_data_dtype() == np.uint8}
    if (image.dataobj.slope, image.dataobj.inter) != (1, 0):
        words.update(scale=float(image.dataobj.slope), offset=float(image.dataobj.inter))
    step, first = image.affine[1, 1], image.affine[1, 3]
    words["down"] = (first + step * np.arange(image.shape[1])).tolist()
    sform, qform = image.get_sform(coded=True), image.get_qform(coded=True)
    assert sform[1] == qform[1], (sform, qform)
    if sform[1]:
        np.testing.assert_allclose(sform[0], qform[0], atol=1e-5)
    return words


def gdal_words(path):
    dataset = gdal.Open(path)
    band = dataset.GetRasterBand(1)
    words = {"unit": band.GetUnitType() or None, "fill": band.GetNoDataValue(), "unsigned": band.DataType == gdal.GDT_Byte}
    if (band.GetScale() or 1, band.GetOffset() or 0) != (1, 0):
        words.update(scale=band.GetScale(), offset=band.GetOffset() or 0)
    return words


def cf(attributes, down, dtype):
    def numbers(name):
        return np.atleast_1d(attributes[name]).tolist() if name in attributes else []
    words = {"unit": attributes.get("units"), "methods": attributes.get("cell_methods"), "valid": numbers("valid_range"),
             "unsigned": dtype == np.uint8 or attributes.get("_Unsigned") == "true", "missing": numbers("missing_value"),
             "down": down.tolist()}
    if "scale_factor" in attributes or "add_offset" in attributes:
        words.update(scale=attributes.get("scale_factor", 1.0), offset=attributes.get("add_offset", 0.0))
    fills = numbers("_FillValue") or numbers("missing_value")[:1]
    if fills:
        words["fill"] = fills[0] + 256 if words["unsigned"] and fills[0] < 0 else fills[0]
    return words


def netcdf(name):
    def read(folder):
        with netCDF4.Dataset(os.path.join(os.path.dirname(folder), name)) as file:
            variable = file[os.path.basename(folder)]
            return cf(variable.__dict__, file["down"][:].data, variable.dtype)
    return read


def zarr2(folder):
    group = zarr.open(os.path.join(os.path.dirname(folder), "data.zarr2"), "r")
    array = group[os.path.basename(folder)]
    attributes = dict(array.attrs)
    if array.fill_value is not None:
        attributes["_FillValue"] = array.fill_value
    return cf(attributes, group["down"][:], array.dtype)


COLUMNS = {"fits": fits, "nii": nifti, "vrt": lambda folder: gdal_words(os.path.join(folder, "data.vrt")),
           "hdr": lambda folder: gdal_words(os.path.join(folder, "data.raw")), "nc": netcdf("data.nc"),
           "nc4": netcdf("data.nc4"), "zarr2": zarr2}


class FieldTest(harness.SourceTestCase):
    """Every cell of the table."""

    def write(self):
        with netCDF4.Dataset(self.path("table.nc"), "w") as file:
            file.set_auto_maskandscale(False)
            axes = {"y": [0.0, 1, 3], "x": [0.0, 1, 2, 3], "down": [9.0, 7, 5], "dec": [30.0, 30.5, 31],
                    "ra": [150.0, 149.5, 149, 148.5], "freq": [1e9, 2e9, 3e9]}
            units = {"dec": "deg", "ra": "deg", "freq": "Hz", "down": "mm", "x": "mm"}
            for name, values in axes.items():
                file.createDimension(name, len(values))
                file.createVariable(name, "f8", (name,))[:] = values
                if name in units:
                    file[name].units = units[name]
            for name, (attributes, dims, _) in ROWS.items():
                own = dict(attributes)
                kind, fill = own.pop("type", "i2"), own.pop("_FillValue", False)
                variable = file.createVariable(name.replace(",", "").replace(" ", "_"), kind, dims, fill_value=fill)
                variable.set_auto_maskandscale(False)
                variable.setncatts(own)
                variable[:] = np.arange(12).reshape(3, 4)

    def test_each_format_says_what_it_has_words_for(self):
        self.write()
        mounted = self.mount(self.source)
        for column, read in COLUMNS.items():
            for row, (_, _, expected) in ROWS.items():
                with self.subTest(format=column, property=row):
                    words = read(mounted.join("table.nc", row.replace(",", "").replace(" ", "_")))
                    if (column, row) in NO_WORD:
                        for word, value in expected.items():
                            self.assertNotEqual(words.get(word), value, "a word that NO_WORD denies")
                        continue
                    for word, value in expected.items():
                        if isinstance(value, list):
                            np.testing.assert_allclose(words.get(word), value, err_msg=word)
                        else:
                            self.assertEqual(words.get(word), value, word)
                    if not expected:
                        self.assertFalse({"scale", "offset"} & words.keys(), words)


if __name__ == "__main__":
    harness.main()
