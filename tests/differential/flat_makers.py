# SPDX-License-Identifier: MIT
"""NPY, NDL documents, MRC, NIfTI and TIFF."""
import json
import os
import struct
import warnings
import zipfile

import nibabel
import numpy as np
import tifffile
from osgeo import gdal, gdal_array

from arrays import INTEGERS, NUMBERS, TYPES, Array, draw_arrays, draw_numbers, draw_shape
from zarr3_makers import ZARR3_TYPES
from zarr_makers import plain

gdal.UseExceptions()
NPY_TYPES = (*NUMBERS, "?", "f2", "c8", "c16", "S5", "U3", "V4", "M8[D]", "m8[3h]", "struct", "arrays")


def draw_npy(d):
    kind = d.pick("type", *NPY_TYPES)
    stored = draw_numbers(d, TYPES.get(kind, kind), draw_shape(d))
    if kind not in TYPES:
        stored = stored.astype(stored.dtype.newbyteorder(d.pick("order", "<", ">")))
    return np.asfortranarray(stored) if stored.ndim and d.chance("fortran", .5) else stored


def make_npy(d, path):
    stored = draw_npy(d)
    with open(path, "wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.lib.format.write_array(file, stored, version={"1": (1, 0), "2": (2, 0), "3": (3, 0)}[d.pick("version", "1", "2", "3")])
    return {"": Array(stored)}


def make_npz(d, path):
    arrays = {}
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in d.parts("v", 1, 3).items():
            stored = draw_npy(part)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}[part.pick("method", "stored", "deflated")]
            with archive.open(info, "w", force_zip64=part.chance("zip64", .3)) as file:
                np.lib.format.write_array(file, stored)
            arrays[name] = Array(stored)
    return arrays


def make_ndl(d, path):
    """A document with its values. JSON is YAML, but for what is not finite."""
    arrays, _ = draw_arrays(d, types=(*INTEGERS, "f8"))
    found = {}
    for name, array in arrays.items():
        if not np.all(np.isfinite(array.stored)):
            array.stored = np.where(np.isfinite(array.stored), array.stored, 0)
        array.attributes = {key: value for key, value in array.attributes.items() if isinstance(value, str) or np.all(np.isfinite(value))}
        attributes = {key: value if isinstance(value, str) else
                      {"shape": list(np.shape(value)), "type": ZARR3_TYPES[np.asarray(value).dtype.str[1:]], "value": plain(value)}
                      for key, value in array.attributes.items()}
        found[name] = {"shape": list(array.stored.shape), "type": ZARR3_TYPES[array.stored.dtype.str[1:]],
                       "value": array.stored.tolist(), "attributes": attributes}
    with open(path, "w") as file:
        json.dump({"ndarrays": found}, file)
    return {name: Array(array.stored, [], array.attributes) for name, array in arrays.items()}


MRC_MODES = {0: "i1", 1: "i2", 2: "f4", 6: "u2", 12: "f2", 4: "c8", 3: np.dtype([("r", "<i2"), ("i", "<i2")])}


def make_mrc(d, path):
    """MRC2014: its axes are from the slowest to the fastest, as in C, whatever their names are. Stacks of volumes have a dimension more.
    Bytes of IMOD may have no sign."""
    mode = d.pick("mode", *MRC_MODES)
    dtype = np.dtype(MRC_MODES[mode])
    is_imod = mode == 0 and d.chance("without a sign", .3)
    kind = d.pick("kind", "volume", "images", "volumes")
    stored, order = draw_numbers(d, "u1" if is_imod else dtype, draw_shape(d, *((4, 4) if kind == "volumes" else (3, 3)))), d.pick("order", "<", ">")
    extended, sizes = 80 * d.whole("extended", 0, 3), (int(np.prod(stored.shape[:-2])), *stored.shape[-2:])
    header = bytearray(1024)
    struct.pack_into(order + "4i", header, 0, *sizes[::-1], mode)
    struct.pack_into(order + "3i", header, 16, *(d.whole(f"first {axis}", 0, 3) for axis in range(3)))
    struct.pack_into(order + "3i", header, 28, *stored.shape[-2:][::-1], 1 if kind == "images" else stored.shape[-3])
    struct.pack_into(order + "6f", header, 40, *(float(n) for n in sizes[::-1]), 90, 90, 90)
    struct.pack_into(order + "3i", header, 64, *map(int, d.pick("axes", "123", "132", "213", "231", "312", "321") if kind == "volume" else "123"))
    struct.pack_into(order + "2i", header, 88, {"volume": 1, "images": 0, "volumes": 401}[kind], extended)
    if is_imod:
        struct.pack_into(order + "2i", header, 152, 1146047817, 0)
    struct.pack_into(order + "3f", header, 196, *(d.pick(f"origin {axis}", 0.0, -2.5) for axis in "xyz"))
    header[208:216] = b"MAP " + (b"\x44\x44\0\0" if order == "<" else b"\x11\x11\0\0")
    with open(path, "wb") as file:
        file.write(header + b"e" * extended + stored.astype(stored.dtype.newbyteorder(order)).tobytes())
    return {"": Array(stored[0] if kind == "images" and len(stored) == 1 else stored)}


def make_nifti(d, path):
    version, order = d.pick("version", 1, 2), d.pick("order", "<", ">")
    shape = draw_shape(d, 1, 7)
    shape = shape if len(shape) < 6 else tuple(min(n, 2) for n in shape)
    colours = d.pick("colours", 0, 0, 0, 0, 3, 4)
    stored = draw_numbers(d, "u1" if colours else d.pick("type", *NUMBERS, "c8", "c16"), (*shape, colours) if colours else shape)
    array = Array(stored)
    affine = np.diag([*(float(d.whole(f"step {axis}", 1, 3)) for axis in range(3)), 1.0])
    if d.chance("moved", .4):
        affine[:3, 3] = [-5, 10, 0.5]
    if d.chance("rotated", .3):
        affine[:3, :3] = affine[:3, :3] @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    kind, header = {1: (nibabel.Nifti1Image, nibabel.Nifti1Header), 2: (nibabel.Nifti2Image, nibabel.Nifti2Header)}[version]
    header = header(endianness=order)
    pixels = stored.dtype.newbyteorder(order)
    if colours:
        pixels = np.dtype([(name, "u1") for name in "RGBA"[:colours]])
    header.set_data_dtype(pixels)
    if d.chance("intent", .3):
        header.set_intent(d.pick("intent code", "t test", "vector", "label"), (3,) if d.said["intent code"] == "t test" else ())
    for number in range(d.whole("extensions", 0, 2)):
        header.extensions.append(nibabel.nifti1.Nifti1Extension(d.pick(f"extension {number}", "comment", "afni"), b"x" * d.whole(f"bytes {number}", 1, 40)))
    image = kind(np.ascontiguousarray(stored).view(pixels)[..., 0].T if colours else stored.T, affine, header)
    image.to_filename(path)
    if stored.dtype.kind in "iu" and not colours and d.chance("scaled", .3):
        factor, offset = d.pick("factor", 2.0, 0.5), d.pick("offset", 0.0, 10.0)
        with open(path, "r+b") as file:
            file.seek(112 if version == 1 else 176)
            file.write(struct.pack(order + ("2f" if version == 1 else "2d"), factor, offset))
        array.attributes = {"scale_factor": factor} | ({"add_offset": offset} if offset else {})
    return {"": array}


def packed_by(compress, make):
    """The file as a whole, compressed."""
    def make_packed(d, path):
        part = path.removesuffix(".gz")
        arrays = make(d, part)
        with open(part, "rb") as file, open(path, "wb") as packed:
            packed.write(compress(file.read()))
        os.unlink(part)
        return arrays
    return make_packed


def make_tiff(d, path):
    """By tifffile: pages, colours, planes, tiles that stand over the edge, predictors."""
    dtype = np.dtype(d.pick("type", "u1", *NUMBERS, "f2", "c8", "?"))
    form = d.pick("form", "grey", "grey", "pages", "colours", "planes")
    shape = draw_shape(d.part("picture"), 2, 2)
    if d.chance("larger", .3):
        shape = tuple(n * 7 for n in shape)
    more = {"photometric": "minisblack", "metadata": None}
    if form == "pages":
        shape = (d.whole("pages", 2, 4), *shape)
    elif form == "colours":
        shape, more["photometric"] = (*shape, 3), "rgb"
    elif form == "planes":
        shape, more["planarconfig"], more["photometric"] = (3, *shape), "separate", "rgb"
    if dtype.kind in "cb" and form in ("colours", "planes"):
        dtype = np.dtype("u2")
    stored = draw_numbers(d, dtype, shape)
    if d.chance("tiled", .4):
        more["tile"] = (16 * d.whole("tile rows", 1, 2), 16 * d.whole("tile columns", 1, 2))
    else:
        more["rowsperstrip"] = d.whole("rows", 1, 3)
    if dtype.kind != "b":
        more["compression"] = {"none": None, "zlib": "zlib"}[d.pick("compression", "none", "zlib")]
        if more["compression"] and dtype.kind in "iu" and d.chance("predictor", .5):
            more["predictor"] = 2
    with tifffile.TiffWriter(path, byteorder=d.pick("order", "<", ">"), bigtiff=d.chance("big", .3)) as file:
        for picture in stored if form == "pages" else [stored]:
            file.write(picture, contiguous=False, **more)
    return {"": Array(stored)}


GEOTIFF_TYPES = ("u1", "u2", "i2", "u4", "i4", "i8", "u8", "f4", "f8", "c8", "c16")


def make_geotiff(d, path):
    """By GDAL: its compressions, interleavings, numbers of bits, tiles that are not stored, masks of numbers."""
    dtype = np.dtype(d.pick("type", *GEOTIFF_TYPES))
    rows, columns, bands = 5 * d.whole("rows", 1, 8), 5 * d.whole("columns", 1, 8), d.whole("bands", 1, 3)
    stored = draw_numbers(d, dtype, (bands, rows, columns))
    compression = d.pick("compression", "NONE", "DEFLATE", "LZW", "PACKBITS", "ZSTD", "LZMA", "LERC", "LERC_ZSTD", "LERC_DEFLATE", *["JPEG"] * (dtype == "u1"))
    if dtype.kind == "c" or dtype.itemsize == 8 and dtype.kind != "f":
        compression = compression.replace("LERC_", "").replace("LERC", "NONE")
    interleave = d.pick("interleave", "BAND", "PIXEL")
    options = [f"COMPRESS={compression}", f"INTERLEAVE={interleave}", f"ENDIANNESS={d.pick('order', 'LITTLE', 'BIG')}",
               f"BIGTIFF={d.pick('big', 'NO', 'YES')}"]
    if d.chance("tiled", .5):
        options += ["TILED=YES", f"BLOCKXSIZE={16 * d.whole('tile columns', 1, 2)}", f"BLOCKYSIZE={16 * d.whole('tile rows', 1, 2)}"]
    else:
        options.append(f"BLOCKYSIZE={d.whole('strip', 1, 9)}")
    if compression in ("DEFLATE", "LZW", "ZSTD") and dtype.kind != "c":
        # GDAL 3.6 itself reads other floats than it wrote with predictor 3 in big-endian files.
        can_be_3 = dtype.kind == "f" and "ENDIANNESS=LITTLE" in options
        options.append(f"PREDICTOR={d.pick('predictor', 1, 2, *[3] * can_be_3)}")
    bits = 8 * dtype.itemsize
    if dtype.kind == "u" and bits <= 32 and "PREDICTOR=2" not in options and compression[:4] not in ("LERC", "JPEG") and d.chance("some bits", .3):
        bits = d.whole("bits", bits // 2 + 1 if bits > 8 else 1, bits)
        stored = (stored & dtype.type((1 << bits) - 1)).astype(dtype)
        options.append(f"NBITS={bits}")
    if d.chance("white is zero", .1) and bands == 1 and dtype.kind == "u":
        options.append("PHOTOMETRIC=MINISWHITE")
    is_sparse = d.chance("sparse", .2)
    options += ["SPARSE_OK=TRUE"] * is_sparse
    file = gdal.GetDriverByName("GTiff").Create(path, columns, rows, bands, gdal_array.NumericTypeCodeToGDALTypeCode(dtype)
                                                if dtype.str[1:] not in ("i8", "u8") else {"i8": gdal.GDT_Int64, "u8": gdal.GDT_UInt64}[dtype.str[1:]], options)
    if d.chance("on the earth", .5):
        file.SetGeoTransform((10.0, 0.5, 0.0, 50.0, 0.0, -0.5))
    array = Array(stored)
    if d.chance("nodata", .3) and dtype.kind in "uif" and dtype.itemsize < 8:
        fill = dtype.type(d.whole("nodata", 0, 1))
        array.attributes["_FillValue"] = fill
        for band in range(bands):
            file.GetRasterBand(band + 1).SetNoDataValue(float(fill))
    if bands == 1 and dtype.kind in "ui" and bits == 8 * dtype.itemsize and d.chance("scaled", .2):
        array.attributes |= {"scale_factor": d.pick("factor", 2.0, 0.5), "add_offset": d.pick("offset", 10.0, -1.0)}
        file.GetRasterBand(1).SetScale(array.attributes["scale_factor"])
        file.GetRasterBand(1).SetOffset(array.attributes["add_offset"])
    if bands == 1 and dtype.str[1:] in ("u1", "u2") and d.chance("palette", .2):
        table = gdal.ColorTable()
        for number in range(4):
            table.SetColorEntry(number, (number * 60, 10, 255 - number, 255))
        file.GetRasterBand(1).SetColorTable(table)
    if compression[:4] == "LERC" and dtype.kind == "f" and bands > 1:
        # libtiff itself does not read pixels of which some samples are missing.
        stored = np.clip(np.nan_to_num(stored), -1000, 1000)
    for band in range(bands):
        if is_sparse and band == 0:
            file.GetRasterBand(1).WriteArray(stored[0, :3, :3])
        else:
            file.GetRasterBand(band + 1).WriteArray(stored[band])
    if d.chance("overviews", .2) and min(rows, columns) > 4:
        file.FlushCache()
        file.BuildOverviews("NEAREST", [2])
    file.FlushCache()
    del file
    # GDAL reads JPEG with the same library, and loses some floats of big-endian files by LERC: swapped, they are NaN.
    if is_sparse or compression == "JPEG" or (compression[:4] == "LERC" and dtype.kind == "f"):
        stored = np.asarray(gdal.Open(path).ReadAsArray()).reshape(stored.shape)
        array.stored = stored
    if bands == 1:
        array.stored = stored[0]
    elif interleave == "PIXEL":
        array.stored = np.moveaxis(stored, 0, -1)
    return {"": array}
