# SPDX-License-Identifier: MIT
"""What an array means, in the words of each format: a table of properties and formats. A cell is either said, which the
format's own reader checks, or in NO_WORD, with what the format's specification says. A row or a column is one more entry.
The last test prints how many."""
import datetime
import errno
import json
import os
import re
import subprocess
import warnings
import xml.etree.ElementTree

import astropy.io.fits
import astropy.wcs
import cftime
import mrcfile
import netCDF4
import nibabel
import numpy as np
import tifffile
import zarr
from osgeo import gdal, osr
from vtkmodules.vtkIOImage import vtkMetaImageReader

import harness
import serve_test
from zarr3_reader import read_zarr3

gdal.UseExceptions()
gdal.SetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "TRUE")  # no listing shows files of slices

# Dimensions: their coordinates and the attributes of these.
AXES = {
    "y": ([0.0, 1, 3], {}),
    "x": ([0.0, 1, 2, 3], {"units": "mm"}),
    "up": ([2.0, 4, 6], {"units": "mm"}),
    "down": ([9.0, 7, 5], {"units": "mm"}),
    "uneven": ([1.0, 2, 4], {"units": "mm"}),
    "dec": ([30.0, 30.5, 31], {"units": "deg"}),
    "ra": ([150.0, 149.5, 149, 148.5], {"units": "deg"}),
    "freq": ([1e9, 2e9, 3e9], {"units": "Hz"}),
    "day": ([0.0, 1, 2], {"units": "days since 2000-02-27", "calendar": "standard"}),
    "noleap": ([0.0, 1, 2], {"units": "days since 2000-02-27", "calendar": "noleap"}),
    "month": ([0.0, 1, 2], {"units": "months since 2000-01-01"}),
    "gap": ([0.0, 1, 5], {"units": "days since 2000-01-01"}),
    "edge": ([1.0, 3, 5], {"units": "mm", "bounds": "edge_bnds"}),
    "lat": ([50.0, 40, 30], {"units": "degrees_north", "standard_name": "latitude"}),
    "lon": ([0.0, 10, 20, 30], {"units": "degrees_east", "standard_name": "longitude"}),
    "north": ([5600200.0, 5600100, 5600000], {"units": "m", "standard_name": "projection_y_coordinate"}),
    "east": ([500000.0, 500100, 500200, 500300], {"units": "m", "standard_name": "projection_x_coordinate"}),
}
EDGES = [[0.0, 2], [2, 4], [4, 6]]
CURVED = {"lat2": [[50.0, 51, 52, 53], [40, 41, 42, 43], [30, 31, 32, 33]], "lon2": [[0.0, 1, 3, 6], [1, 2, 4, 7], [2, 3, 5, 8]]}
PLANE = ("y", "x")

# name: attributes of the variable, its dimensions, and the words that a reader of each format finds for it. The variable
# has stored numbers of `type`, which is i2 unless an attribute "type" says otherwise.
ROWS = {
    "plain": ({}, PLANE, {}),
    "scale and offset": ({"scale_factor": 0.5, "add_offset": 10.0}, PLANE, {"scale": 0.5, "offset": 10.0}),
    "negative scale": ({"scale_factor": -0.25}, PLANE, {"scale": -0.25, "offset": 0.0}),
    "fill": ({"_FillValue": np.int16(-9)}, PLANE, {"fill": -9}),
    "missing value": ({"missing_value": np.int16(7)}, PLANE, {"fill": 7}),
    "several missing values": ({"_FillValue": np.int16(-9), "missing_value": np.int16([-9, 8])}, PLANE, {"missing": [-9, 8]}),
    "valid range": ({"valid_range": np.int16([0, 5])}, PLANE, {"valid": [0, 5]}),
    "packed unsigned": ({"type": "u2", "scale_factor": 2.0, "add_offset": 1.0}, PLANE, {"scale": 2.0, "offset": 1.0}),
    "read unsigned": ({"type": "i1", "_Unsigned": "true"}, PLANE, {"unsigned": True}),
    "fill of unsigned": ({"type": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, PLANE, {"fill": 255}),
    "unit": ({"units": "Pa"}, PLANE, {"unit": "Pa"}),
    "long name": ({"long_name": "air pressure"}, PLANE, {"name": "air pressure"}),
    "cell methods": ({"cell_methods": "x: mean"}, PLANE, {"methods": "x: mean"}),
    "flags": ({"flag_values": np.int16([0, 1, 2]), "flag_meanings": "land sea ice"}, PLANE, {"flags": ["land", "sea", "ice"]}),
    "ascending coordinates": ({}, ("up", "x"), {"along": [2.0, 4, 6]}),
    "descending coordinates": ({}, ("down", "x"), {"along": [9.0, 7, 5]}),
    "uneven coordinates": ({}, ("uneven", "x"), {"along": [1.0, 2, 4]}),
    "unit of lengths": ({}, ("up", "x"), {"length": "mm"}),
    "bounds": ({}, ("edge", "x"), {"bounds": EDGES}),
    "sky": ({}, ("dec", "ra"), {"sky": True}),
    "spectrum": ({}, ("freq", "ra"), {"spectrum": True}),
    "days": ({}, ("day", "y", "x"), {"dates": ["2000-02-27", "2000-02-28", "2000-02-29"]}),
    "calendar": ({}, ("noleap", "y", "x"), {"dates": ["2000-02-27", "2000-02-28", "2000-03-01"]}),
    "months": ({}, ("month", "y", "x"), {"dates": ["2000-01-01", "2000-02-01", "2000-03-01"]}),
    "uneven times": ({}, ("gap", "y", "x"), {"dates": ["2000-01-01", "2000-01-02", "2000-01-06"]}),
    "latitudes": ({}, ("lat", "lon"), {"along": [50.0, 40, 30]}),
    "projection": ({"grid_mapping": "utm"}, ("north", "east"), {"epsg": 32633}),
    "curved coordinates": ({"coordinates": "lat2 lon2"}, ("j", "i"), {"curved": CURVED["lat2"]}),
    "unlimited": ({}, ("record", "x"), {"unlimited": True}),
}
NO_WORD = {}


def no_word(columns, rows, sentence):
    for column in columns.split():
        for row in rows.split(", "):
            NO_WORD[column, row] = sentence


CARDS = "FITS 4.0, 4.4.2: no reserved keyword"
no_word("fits", "several missing values", "FITS 4.0, 4.4.2.5: BLANK holds 'an integer'")
no_word("fits", "valid range", CARDS + "; DATAMIN and DATAMAX are 'the minimum valid physical value represented by the array'")
no_word("fits", "cell methods, flags, bounds, long name, unlimited", CARDS)
no_word("fits", "uneven coordinates, uneven times, curved coordinates", "FITS 4.0, 8.1: an axis is linear; -TAB needs a table beside the image")
no_word("fits", "months, calendar", "FITS 4.0, 9.3: units of time have no month; times are of the proleptic Gregorian calendar")
no_word("fits", "projection", "FITS 4.0, table 13: projections of the sky")
FIELDS = "nifti1.h has no field for it"
no_word("nii", "fill, missing value, fill of unsigned, several missing values, cell methods, flags, bounds, long name, unlimited", FIELDS)
no_word("nii", "valid range", "nifti1.h: cal_min and cal_max are the 'display intensity' range")
no_word("nii", "uneven coordinates, uneven times, curved coordinates", "nifti1.h: pixdim is the 'grid spacing', one number an axis")
no_word("nii", "days, calendar, months", "nifti1.h: xyzt_units has seconds, and the fourth dimension alone is time")
no_word("nii", "sky, spectrum", "nifti1.h: xyzt_units has lengths alone for the first three dimensions")
no_word("nii", "projection", "nifti1.h: xform_codes are those of scanners and atlases")
GDAL = "GDAL, raster data model: a band has no such property"
no_word("vrt tif hdr", "several missing values", "GDAL: no-data is one value of a band")
no_word("vrt tif hdr", "valid range, cell methods, bounds, unlimited", GDAL)
no_word("vrt tif hdr", "ascending coordinates, descending coordinates, uneven coordinates, unit of lengths, sky, spectrum", "GDAL: GeoTransform belongs to a map")
no_word("tif", "flags", "GDAL, GTiff: names of categories are in another file, .aux.xml")
no_word("tif", "days, calendar, months, uneven times", "TIFF 6.0: DateTime is the 'date and time of image creation'; GDAL takes pages for data sets")
no_word("vrt tif hdr", "curved coordinates", "GDAL: GEOLOCATION names two more rasters")
no_word("hdr", "unit", "ENVI, header file format: no field for the unit of values")
NRRD = "NRRD, definition of the format: no field for it"
no_word("nhdr", "fill, missing value, fill of unsigned, several missing values, valid range, cell methods, flags, bounds, sky, unlimited", NRRD)
no_word("nhdr", "scale and offset, negative scale", "NRRD: 'old min' and 'old max' are of numbers that nrrdQuantize() has made, which have no sign")
no_word("nhdr", "uneven coordinates, uneven times, curved coordinates", "NRRD: 'spacings' has one number an axis")
no_word("nhdr", "calendar", NRRD)
no_word("nhdr", "projection", "NRRD: 'space' names spaces of medicine alone")
META = "MetaIO, tags of MetaImage: no tag for it"
no_word("mhd", "fill, missing value, fill of unsigned, several missing values, unit, cell methods, flags, bounds, sky, spectrum, unlimited, projection", META)
no_word("mhd", "valid range", "MetaIO: ElementMin and ElementMax are those of the elements")
no_word("mhd", "uneven coordinates, uneven times, curved coordinates", "MetaIO: ElementSpacing has one number an axis")
no_word("mhd", "days, calendar, months", "MetaIO: DistanceUnits are um, mm and cm")
MRC = "MRC2014, table of the header: no word for it"
no_word("mrc", "scale and offset, negative scale, packed unsigned, fill, missing value, fill of unsigned, several missing values, unit, cell methods, "
        "flags, bounds, sky, spectrum, days, calendar, months, unlimited, projection, unit of lengths", MRC)
no_word("mrc", "valid range", "MRC2014: DMIN and DMAX are of the densities")
no_word("mrc", "uneven coordinates, uneven times, curved coordinates", "MRC2014: CELLA / MX is one number an axis")
no_word("mrc", "latitudes", "MRC2014: CELLA is in angstroms")
no_word("mrc", "read unsigned, fill of unsigned", "MRC2014, mode 0: '8-bit signed integer'")
no_word("mrc", "descending coordinates", "MRC2014: CELLA, 'cell dimensions in angstroms', are lengths")
no_word("ctl", "scale and offset, negative scale, packed unsigned", "GrADS, UNPACK: 'used with DTYPE netcdf or hdfsds'")
no_word("ctl", "several missing values", "GrADS, UNDEF: one value")
no_word("ctl", "uneven times", "GrADS, TDEF: 'The method by which times are assigned to T grid points is always LINEAR'")
no_word("ctl", "bounds, sky, spectrum, projection, curved coordinates, unlimited, valid range, flags, unit of lengths", "GrADS, elements of a data descriptor file: no entry for it")
CLASSIC = "nc nc4 zarr zarr2 dap2 dap4"
no_word(CLASSIC, "sky, spectrum", "CF, appendix A: no attribute; the coordinates say it")
no_word("dap2 zarr zarr2", "unlimited", "DAP 2 and Zarr: lengths of dimensions are numbers")


def fits(cell):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        header = astropy.io.fits.getheader(cell.file("fits"))
        world = astropy.wcs.WCS(header)
    moved = {8: -128, 16: 2**15, 32: 2**31}.get(header["BITPIX"], 0)
    words = {"unit": header.get("BUNIT"), "sky": world.has_celestial, "spectrum": world.has_spectral, "unsigned": header["BITPIX"] == 8}
    scale, zero = header.get("BSCALE", 1), header.get("BZERO", 0)
    if (scale, zero) not in ((1, 0), (1, moved)):
        unsigned = os.getxattr(cell.folder, "user.ndl.type").startswith(b"uint16")
        words.update(scale=scale, offset=zero - (moved * scale if unsigned else 0))
    if "BLANK" in header:
        words["fill"] = header["BLANK"]
    n = header["NAXIS"]
    axis = np.zeros((header[f"NAXIS{n}"], n))
    axis[:, n - 1] = np.arange(len(axis))
    along = world.wcs_pix2world(axis, 0)[:, n - 1]
    words["along"], words["length"] = along.tolist(), header.get(f"CUNIT{n}")
    if header.get(f"CTYPE{n}", "") in ("TIME", "UTC"):
        start = datetime.datetime.fromisoformat(header["DATEREF"])
        words["dates"] = [f"{start + datetime.timedelta(days=day):%Y-%m-%d}" for day in along]
    return words


def nifti(cell):
    image = nibabel.load(cell.file("nii"))
    header = image.header
    words = {"unit": bytes(header["descrip"]).rstrip(b"\0").decode() or None, "unsigned": image.get_data_dtype() == np.uint8,
             "length": header.get_xyzt_units()[0]}
    if (image.dataobj.slope, image.dataobj.inter) != (1, 0):
        words.update(scale=float(image.dataobj.slope), offset=float(image.dataobj.inter))
    step, first = image.affine[1, 1], image.affine[1, 3]
    words["along"] = (first + step * np.arange(image.shape[1])).tolist()
    sform, qform = image.get_sform(coded=True), image.get_qform(coded=True)
    assert sform[1] == qform[1], (sform, qform)
    if sform[1]:
        np.testing.assert_allclose(sform[0], qform[0], atol=1e-5)
    return words


def gdal_words(name):
    def read(cell):
        dataset = gdal.Open(cell.file(name).removesuffix(".hdr"))
        band = dataset.GetRasterBand(1)
        words = {"unit": band.GetUnitType() or None, "fill": band.GetNoDataValue(), "unsigned": band.DataType == gdal.GDT_Byte,
                 "name": band.GetDescription(), "flags": band.GetCategoryNames()}
        if (band.GetScale() or 1, band.GetOffset() or 0) != (1, 0):
            words.update(scale=band.GetScale(), offset=band.GetOffset() or 0)
        place = dataset.GetGeoTransform(can_return_null=True)
        if place:
            words["along"] = [place[3] + place[5] * (i + 0.5) for i in range(dataset.RasterYSize)]
        if dataset.GetSpatialRef() is not None:
            system = osr.SpatialReference(dataset.GetProjection())
            system.AutoIdentifyEPSG()
            words["epsg"] = int(system.GetAuthorityCode(None) or 0)
        if dataset.RasterCount > 1:
            names = [dataset.GetRasterBand(i + 1).GetDescription() for i in range(dataset.RasterCount)]
            counts = [re.fullmatch(r"\w+=(\S+) (\w+ since .*)", name) for name in names]
            words["dates"] = [dates([float(count[1])], count[2], None)[0] if count else name for count, name in zip(counts, names)]
        return words
    return read


def nrrd(cell):
    """As teem writes what it has read."""
    read = subprocess.run(["teem-unu", "save", "-f", "nrrd", "-e", "raw", "-i", cell.file("nhdr")], capture_output=True, check=True).stdout
    lines = (line.partition(": ") for line in read.partition(b"\n\n")[0].decode().split("\n"))
    fields = {name: value for name, _, value in lines}
    words = {"unit": fields.get("sample units", "").strip(chr(34)), "unsigned": fields["type"] in ("unsigned char", "uchar"), "name": fields["content"]}
    rank, count = int(fields["dimension"]), int(fields["sizes"].split()[-1])
    if "space directions" in fields:
        origin = [float(n) for n in fields["space origin"].strip("()").split(",")]
        step = [float(n) for n in fields["space directions"].split()[-1].strip("()").split(",")]
        first, step = origin[-1], step[-1]
        words["length"] = fields["space units"].split()[-1].strip('"')
    else:
        first, step = float(fields.get("axis mins", "nan").split()[-1]), float(fields.get("spacings", "nan").split()[-1])
        words["length"] = fields.get("units", '""').split('"')[-2]
    words["along"] = [first + i * step for i in range(count)]
    words["spectrum"] = words["length"] == "Hz"
    words["dates"] = dates(words["along"], words["length"], "standard") if rank == 3 and np.isfinite(step) else None
    if "old min" in fields:
        doubles = subprocess.run(["teem-unu", "unquantize", "-double", "-i", cell.file("nhdr")], capture_output=True, check=True).stdout
        values = subprocess.run(["teem-unu", "save", "-f", "text"], input=doubles, capture_output=True, check=True).stdout.split()
        scale = float(values[1]) - float(values[0])
        words.update(scale=scale, offset=float(values[0]) - scale * int(np.fromfile(cell.file("raw"), "<u2", 1)[0]))
    return words


def metaimage(cell):
    reader = vtkMetaImageReader()
    reader.SetFileName(cell.file("mhd"))
    reader.UpdateInformation()
    header = dict(line.split(" = ", 1) for line in harness.read(cell.file("mhd")).decode().rstrip().split("\n"))
    words = {"unsigned": header["ElementType"] == "MET_UCHAR", "length": reader.GetDistanceUnits(), "name": header.get("Name")}
    if (reader.GetRescaleSlope(), reader.GetRescaleOffset()) != (1, 0):
        words.update(scale=reader.GetRescaleSlope(), offset=reader.GetRescaleOffset())
    rank = int(header["NDims"])
    turned = float(header["TransformMatrix"].split()[-1])
    first, step = reader.GetDataOrigin()[rank - 1], reader.GetDataSpacing()[rank - 1] * turned
    words["along"] = [first + i * step for i in range(int(header["DimSize"].split()[-1]))]
    return words


def mrc(cell):
    with mrcfile.open(cell.file("mrc"), permissive=True) as file:
        header = file.header
        axis = "z" if file.data.ndim == 3 else "y"
        words = {"unsigned": file.data.dtype == np.uint8, "name": bytes(header.label[0]).decode().strip() or None}
        step = float(file.voxel_size[axis]) / 1e7
        words["along"] = [float(header.origin[axis]) / 1e7 + i * step for i in range(file.data.shape[0])]
    return words


def grads(cell):
    rank = len(cell.shape)
    axis = "t" if rank == 3 else "y"
    try:
        header = harness.read(cell.file("ctl")).decode()
    except OSError as error:
        if error.errno != errno.EIO:  # right ascensions and velocities may descend
            raise
        return {}
    script = cell.scratch("table.gs")
    asked = "".join(f"'set {axis} {i + 1}'\n'q dims'\nsay result\n" for i in range(cell.shape[0]))
    harness.write(script, f"'open {cell.file('ctl')}'\n'q ctlinfo'\nsay result\n'q attr'\nsay result\n{asked}'quit'\n".encode())
    said = subprocess.run(["grads", "-blcx", f"run {script}"], capture_output=True, text=True, check=True, timeout=60).stdout
    places = re.findall(r"^T is .*Time = (\S+)" if axis == "t" else r"^Y is .*Lat = (\S+)", said, re.M)
    attributes = dict(re.findall(r"^\w+ String (\w+) (.*)$", said, re.M))
    undef = float(re.search(r"^undef (\S+)", said, re.M)[1])
    words = {"fill": undef, "unit": attributes.get("units"), "name": attributes.get("long_name"), "methods": attributes.get("cell_methods"),
             "unsigned": "-1,40,1" in header}
    if axis == "y":
        turned = -1 if "yrev" in header else 1
        words["along"] = [float(place) for place in places][::turned]
    else:
        words["dates"] = [f"{datetime.datetime.strptime(place[3:], '%d%b%Y'):%Y-%m-%d}" for place in places]
    return words


def dates(numbers, units, calendar):
    if not units or " since " not in units:
        return None
    if units.startswith("months"):
        year, month, day = map(int, units.split()[2].split("-"))
        return [f"{year + (month - 1 + int(n)) // 12:04}-{(month - 1 + int(n)) % 12 + 1:02}-{day:02}" for n in numbers]
    return [f"{date:%Y-%m-%d}" for date in cftime.num2date(numbers, units, calendar or "standard", only_use_cftime_datetimes=True)]


def cf(attributes, dtype, dimension, find, unlimited=None):
    """By CF. `find` tells the attributes and the numbers of another variable."""
    def numbers(name):
        return np.atleast_1d(attributes[name]).tolist() if name in attributes else []
    words = {"unit": attributes.get("units"), "methods": attributes.get("cell_methods"), "valid": numbers("valid_range"),
             "unsigned": dtype == np.uint8 or attributes.get("_Unsigned") == "true", "missing": numbers("missing_value"),
             "name": attributes.get("long_name"), "unlimited": unlimited}
    if "scale_factor" in attributes or "add_offset" in attributes:
        words.update(scale=attributes.get("scale_factor", 1.0), offset=attributes.get("add_offset", 0.0))
    fills = numbers("_FillValue") or numbers("missing_value")[:1]
    if fills:
        words["fill"] = fills[0] + 256 if words["unsigned"] and fills[0] < 0 else fills[0]
    if "flag_meanings" in attributes:
        assert len(numbers("flag_values")) == len(attributes["flag_meanings"].split())
        words["flags"] = attributes["flag_meanings"].split()
    of_axis, values = find(dimension)
    if values is not None:
        words.update(along=values.tolist(), length=of_axis.get("units"), dates=dates(values, of_axis.get("units"), of_axis.get("calendar")))
        if "bounds" in of_axis:
            words["bounds"] = find(of_axis["bounds"])[1].tolist()
    if "grid_mapping" in attributes:
        system = osr.SpatialReference(find(attributes["grid_mapping"])[0]["crs_wkt"])
        words["epsg"] = int(system.GetAuthorityCode(None))
    if "coordinates" in attributes:
        words["curved"] = find(attributes["coordinates"].split()[0])[1].tolist()
    return words


def of_dataset(dataset, path):
    """A netCDF4.Dataset, in whose group `path` begins."""
    variable = dataset[path]
    variable.set_auto_maskandscale(False)

    def find(name):
        group = variable.group()
        while group is not None:
            if name in group.variables:
                return group[name].__dict__, np.ma.getdata(group[name][...])
            group = group.parent
        return {}, None
    dimension = next(group.dimensions[variable.dimensions[0]] for group in (variable.group(), dataset)
                     if variable.dimensions[0] in group.dimensions)
    return cf(variable.__dict__, variable.dtype, variable.dimensions[0], find, dimension.isunlimited())


def netcdf(extension):
    def read(cell):
        with netCDF4.Dataset(cell.group_file(extension)) as dataset:
            return of_dataset(dataset, cell.name)
    return read


def dap(suffix):
    def read(cell):
        with netCDF4.Dataset(cell.url + suffix) as dataset:
            words = of_dataset(dataset, cell.name)
            if not suffix:  # DAP 2 has no type for them: the numbers say it
                dataset[cell.name].set_auto_maskandscale(False)
                words["unsigned"] = bool((dataset[cell.name][:] >= 250).any())
            return words
    return read


def zarr2(cell):
    group = zarr.open(cell.group_file("zarr2"), "r")
    array = group[cell.name]
    attributes = dict(array.attrs)
    if array.fill_value is not None:
        attributes["_FillValue"] = array.fill_value

    def find(name):
        return (dict(group[name].attrs), group[name][...]) if name in group else ({}, None)
    return cf(attributes, array.dtype, attributes["_ARRAY_DIMENSIONS"][0], find)


def zarr3(cell):
    folder = cell.group_file("zarr")

    def find(name):
        if not os.path.exists(os.path.join(folder, name)):
            return {}, None
        document = json.loads(harness.read(folder, name, "zarr.json"))
        return document["attributes"], read_zarr3(os.path.join(folder, name)) if document["shape"] else None
    attributes, values = find(cell.name)
    names = json.loads(harness.read(folder, cell.name, "zarr.json"))["dimension_names"]
    return cf(attributes, values.dtype, names[0], find)


COLUMNS = {"fits": fits, "nii": nifti, "vrt": gdal_words("vrt"), "tif": gdal_words("tif"), "hdr": gdal_words("raw.hdr"), "nhdr": nrrd,
           "mhd": metaimage, "mrc": mrc, "ctl": grads, "nc": netcdf("nc"), "nc4": netcdf("nc4"), "zarr2": zarr2, "zarr": zarr3, "dap2": dap(""),
           "dap4": dap("#dap4")}
# Brackets: the words that they change, and how; None: these say nothing of a part. Other words are those of the whole array.
PARTS = {
    "": {},
    "[{first}=#1:]": {word: lambda value: value[1:] for word in ("along", "dates", "bounds", "curved")},
    "[mean:{last}=2]": {"methods": lambda value: value + " x: mean",
                        **dict.fromkeys(("fill", "missing", "valid", "unsigned", "flags", "curved"))},
    # Places are those of another axis; a map that lies on its side has none.
    "[axes:{turned}]": dict.fromkeys(("along", "dates", "bounds", "curved", "length", "epsg")),
}
# Files that have all elements, in the order of the store (man ndlfs): there is none of a mean.
OF_ELEMENTS = {"vrt", "hdr", "nhdr", "mhd", "mrc", "ctl"}
# These have no parts (man ndlfs); of DAP, a constraint is one.
OF_WHOLE = {"nc4", "dap2", "dap4"}
# Of the files with places, these have other orders; zarr and zarr2 have them of an array alone.
HAVE_ORDERS = {"fits", "nii", "tif"}


class Cell:
    """A variable of the source, or a part of it, where the mount shows it."""

    def __init__(self, test, group, row, part=""):
        _, self.dims, _ = ROWS[row]
        self.name = row.replace(",", "").replace(" ", "_")
        self.part = part.format(first=self.dims[0], last=self.dims[-1], turned=",".join(self.dims[::-1]))
        self.group = test.mounted.join("table.nc", *([group] if group else []))
        self.folder = os.path.join(self.group, self.name)
        self.url = test.url + "table.nc" + (f"/{group}" if group else "")
        self.scratch = test.path
        self.shape = [{"j": 3, "i": 4, "record": 3}.get(dim) or len(AXES[dim][0]) for dim in self.dims]
        if "#1:" in part:
            self.shape[0] -= 1

    def file(self, extension, folder=None):
        path = os.path.join(folder or self.folder, f"data{self.part}.{extension}")
        os.stat(path)
        return path

    def group_file(self, extension):
        return self.file(extension, self.group)


class FieldTest(harness.SourceTestCase):
    """Every cell of the table."""

    def setUp(self):
        super().setUp()
        system = osr.SpatialReference()
        system.ImportFromEPSG(32633)
        with netCDF4.Dataset(self.path("table.nc"), "w") as file:
            file.set_auto_maskandscale(False)
            for name, (values, attributes) in AXES.items():
                file.createDimension(name, len(values))
                file.createVariable(name, "f8", (name,))[:] = values
                file[name].setncatts(attributes)
            for name, size in {"j": 3, "i": 4, "two": 2, "record": None}.items():
                file.createDimension(name, size)
            file.createVariable("edge_bnds", "f8", ("edge", "two"))[:] = EDGES
            for name, values in CURVED.items():
                file.createVariable(name, "f8", ("j", "i"))[:] = values
                file[name].units = "degrees_north" if name == "lat2" else "degrees_east"
            file.createVariable("utm", "i4", ()).setncatts({"grid_mapping_name": "transverse_mercator", "crs_wkt": system.ExportToWkt()})
            for group in (file, file.createGroup("inner")):
                for row, (attributes, dims, _) in ROWS.items():
                    own = dict(attributes)
                    kind, fill = own.pop("type", "i2"), own.pop("_FillValue", False)
                    variable = group.createVariable(row.replace(",", "").replace(" ", "_"), kind, dims, fill_value=fill)
                    variable.set_auto_maskandscale(False)
                    variable.setncatts(own)
                    shape = (3, 3, 4) if len(dims) == 3 else (3, 4)
                    variable[:] = np.arange(np.prod(shape)).reshape(shape) - (6 if kind == "i1" else 0)
        self.mounted = self.mount(self.source)
        server = self.enter(serve_test.Server(self.source))
        self.url = server.url

    def enter(self, context):
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def check(self, column, row, words, changes):
        for word, value in ROWS[row][2].items():
            if (column, row) in NO_WORD:
                self.assertNotEqual(words.get(word), value, f"{word}: a word that NO_WORD denies")
                continue
            change = changes.get(word, lambda same: same)
            if change is None:
                continue
            if isinstance(value, list) and not isinstance(value[0], str):
                np.testing.assert_allclose(np.array(words.get(word), float), change(value), err_msg=word)
            else:
                self.assertEqual(words.get(word), change(value), word)
        if not ROWS[row][2]:
            self.assertFalse({"scale", "offset"} & words.keys(), words)

    def check_all(self, group, part):
        for column, read in COLUMNS.items():
            if (part and column in OF_WHOLE) or ("axes" in part and column not in HAVE_ORDERS):
                continue
            for row in ROWS:
                with self.subTest(format=column, property=row, part=part, group=group):
                    try:
                        words = read(Cell(self, group, row, part))
                    except FileNotFoundError:
                        self.assertTrue((column, row) in NO_WORD or ("mean" in part and column in OF_ELEMENTS), "no file")
                        continue
                    self.check(column, row, words, PARTS[part])

    def test_each_format_says_what_it_has_words_for(self):
        self.check_all("", "")

    def test_slices_say_it_too(self):
        self.check_all("", "[{first}=#1:]")

    def test_means_say_it_too(self):
        self.check_all("", "[mean:{last}=2]")

    def test_other_orders_say_it_too(self):
        self.check_all("", "[axes:{turned}]")

    def test_groups_in_groups_say_it_too(self):
        self.check_all("inner", "")

    def test_slices_of_groups_in_groups_say_it_too(self):
        self.check_all("inner", "[{first}=#1:]")

    def test_each_cell_without_words_is_in_the_table(self):
        self.assertEqual(set(NO_WORD) - {(column, row) for column in COLUMNS for row in ROWS}, set())
        for column in COLUMNS:
            denied = sum((column, row) in NO_WORD for row in ROWS)
            print(f"{column:6} says {len(ROWS) - denied:2}, has no word for {denied:2}")


if __name__ == "__main__":
    harness.main()
