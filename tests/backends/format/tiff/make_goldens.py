#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes goldens.h: small TIFF files of GDAL and tifffile, and the elements that were written.

Needs python3-numpy, python3-gdal and python3-tifffile.
"""
import base64
import os
import pathlib
import tempfile

import numpy as np
import tifffile
from osgeo import gdal

gdal.UseExceptions()
H, W = 18, 21
Y, X = np.mgrid[0:H, 0:W]
goldens = []


def add(name, path, array, elements):
    with open(path, "rb") as file:
        content = file.read()
    elements = np.ascontiguousarray(elements)
    goldens.append((name, array, base64.b64encode(content).decode(), ", ".join(map(str, elements.shape)),
                    base64.b64encode(elements.astype(elements.dtype.newbyteorder("<")).tobytes()).decode()))


def values(dtype, bands):
    """(band, y, x)"""
    planes = [(Y * 7 + X * 3 + 11 * b) % 251 for b in range(bands)]
    made = np.array(planes)
    if np.dtype(dtype).kind == "f":
        return (made / 4 - 20).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (made - 2j * made).astype(dtype)
    if np.dtype(dtype).itemsize > 1:
        made = made * (257 if np.dtype(dtype).itemsize == 2 else 65537)
    return made.astype(dtype)


def of_gdal(name, dtype, bands, *options, nbits=None, is_planar=False, hole=None):
    """Lossy compressions have the elements that GDAL reads. `hole`: a pixel without a value."""
    elements = values(dtype, bands)
    if hole:
        elements[..., hole[0], hole[1]] = np.nan
    if nbits:
        elements = elements % (1 << nbits)
    path = os.path.join(folder, "gdal.tif")
    codes = {"uint8": gdal.GDT_Byte, "uint16": gdal.GDT_UInt16, "int16": gdal.GDT_Int16, "uint32": gdal.GDT_UInt32,
             "float32": gdal.GDT_Float32, "float64": gdal.GDT_Float64, "complex64": gdal.GDT_CFloat32,
             "cint16": gdal.GDT_CInt16, "int64": gdal.GDT_Int64}
    options = list(options) + ([f"NBITS={nbits}"] if nbits else []) + (["INTERLEAVE=BAND"] if is_planar else [])
    dataset = gdal.GetDriverByName("GTiff").Create(path, W, H, bands, codes[dtype], options)
    dataset.WriteArray(elements if bands > 1 else elements[0])
    dataset = None
    if any(option.startswith(("COMPRESS=JPEG", "COMPRESS=WEBP")) for option in options):
        elements = gdal.Open(path).ReadAsArray().reshape(elements.shape)
    if bands == 1:
        elements = elements[0]
    elif not is_planar:
        elements = elements.transpose(1, 2, 0)
    add(name, path, "/image", elements)


def of_tifffile(name, elements, array="/image", expected=None, **keywords):
    path = os.path.join(folder, "tifffile.tif")
    tifffile.imwrite(path, elements, software=None, **keywords)
    add(name, path, array, elements if expected is None else expected)


TILED = ("TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16")
with tempfile.TemporaryDirectory() as folder:
    of_gdal("StripsOfBytes", "uint8", 1)
    of_gdal("LastStripIsShort", "uint16", 1, "BLOCKYSIZE=7", "COMPRESS=DEFLATE")
    of_gdal("InterleavedTiles", "uint8", 3, *TILED, "PHOTOMETRIC=RGB", "COMPRESS=LZW")
    of_gdal("TilesOfEachBand", "int16", 2, *TILED, "COMPRESS=DEFLATE", is_planar=True)
    of_gdal("StripsOfEachBand", "uint8", 2, "BLOCKYSIZE=5", is_planar=True)
    of_gdal("BigEndian", "uint16", 1, "ENDIANNESS=BIG")
    of_gdal("BigEndianPredictor2", "uint16", 3, "ENDIANNESS=BIG", "COMPRESS=LZW", "PREDICTOR=2")
    of_gdal("BigTiff", "float32", 1, "BIGTIFF=YES", "COMPRESS=ZSTD")
    of_gdal("BigTiffBigEndian", "int64", 1, "BIGTIFF=YES", "ENDIANNESS=BIG", "COMPRESS=LZMA")
    of_gdal("PackBits", "uint8", 1, "COMPRESS=PACKBITS")
    of_gdal("LzwPredictor2Bytes", "uint8", 4, "COMPRESS=LZW", "PREDICTOR=2")
    of_gdal("DeflatePredictor2Of32Bits", "uint32", 1, "COMPRESS=DEFLATE", "PREDICTOR=2", *TILED)
    of_gdal("ZstdPredictor2Of2Bands", "uint16", 2, "COMPRESS=ZSTD", "PREDICTOR=2")
    of_gdal("FloatPredictor", "float32", 1, "COMPRESS=DEFLATE", "PREDICTOR=3")
    of_gdal("FloatPredictorOf2Bands", "float64", 2, "COMPRESS=LZW", "PREDICTOR=3")
    of_gdal("OneBit", "uint8", 1, nbits=1)
    of_gdal("OneBitTiles", "uint8", 1, *TILED, "COMPRESS=DEFLATE", nbits=1)
    of_gdal("TwoBits", "uint8", 3, nbits=2)
    of_gdal("FourBits", "uint8", 1, nbits=4)
    of_gdal("TenBits", "uint16", 1, nbits=10)
    of_gdal("TwelveBitsBigEndian", "uint16", 2, "ENDIANNESS=BIG", nbits=12)
    of_gdal("Complex", "complex64", 1)
    of_gdal("ComplexBigEndianTiles", "complex64", 1, *TILED, "ENDIANNESS=BIG", "COMPRESS=DEFLATE")
    of_gdal("Jpeg", "uint8", 1, "COMPRESS=JPEG", "BLOCKYSIZE=8")
    of_gdal("JpegTilesOfYCbCr", "uint8", 3, *TILED, "COMPRESS=JPEG", "PHOTOMETRIC=YCBCR")
    of_gdal("JpegTilesOfRgb", "uint8", 3, *TILED, "COMPRESS=JPEG", "PHOTOMETRIC=RGB")
    of_gdal("JpegOfEachBand", "uint8", 2, *TILED, "COMPRESS=JPEG", is_planar=True)
    of_gdal("WebpLossless", "uint8", 4, *TILED, "COMPRESS=WEBP", "WEBP_LOSSLESS=YES", "PHOTOMETRIC=RGB", "ALPHA=YES")
    of_gdal("Lerc", "float32", 1, *TILED, "COMPRESS=LERC")
    of_gdal("LercDeflate", "uint16", 3, "COMPRESS=LERC_DEFLATE", "BLOCKYSIZE=7")
    of_gdal("LercZstd", "float64", 2, *TILED, "COMPRESS=LERC_ZSTD", is_planar=True)
    of_gdal("LercWithNan", "float32", 2, *TILED, "COMPRESS=LERC", hole=(3, 4))
    of_gdal("LercBigEndian", "int16", 2, *TILED, "COMPRESS=LERC", "ENDIANNESS=BIG")
    of_tifffile("Pages", values("uint16", 3), photometric="minisblack", metadata=None)
    of_tifffile("PagesCompressed", values("uint8", 3), photometric="minisblack", metadata=None, compression="zlib",
                rowsperstrip=5)
    of_tifffile("Volume", values("uint8", 3), photometric="minisblack", metadata=None, volumetric=True, tile=(2, 16, 16))
    of_tifffile("ImageJHyperstack", values("uint16", 6).reshape(2, 3, H, W)[..., :9], imagej=True,
                metadata={"axes": "TCYX"}, byteorder=">")
    of_tifffile("OmeTimesChannelsAndSections", values("uint8", 12).reshape(2, 3, 2, H, W)[..., :9], ome=True,
                photometric="minisblack", metadata={"axes": "TCZYX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "nm"})

here = pathlib.Path(__file__).resolve().parent


def quoted(text):
    lines = [text[i:i + 120] for i in range(0, len(text), 120)]
    return "\n     ".join(f'"{line}"' for line in lines)


with open(here / "goldens.h", "w") as out:
    out.write("""// SPDX-License-Identifier: MIT
//
// Written by make_goldens.py; not to be edited.
#pragma once

#include <cstdint>
#include <vector>

namespace ndlfs::backends {

// A file in Base64, and the elements of an array in it.
struct TiffGolden {
  const char* test_name;
  const char* array;
  const char* file;
  std::vector<uint64_t> shape;
  const char* elements;
};

// clang-format off
inline const TiffGolden kTiffGoldens[] = {
""")
    for name, array, content, shape, elements in goldens:
        out.write(f'    {{"{name}", "{array}",\n     {quoted(content)},\n     {{{shape}}},\n     {quoted(elements)}}},\n')
    out.write("};\n// clang-format on\n\n}  // namespace ndlfs::backends\n")
