# SPDX-License-Identifier: MIT
"""One small store of each format, for tests that let every system call fail in its turn."""
import gzip
import json
import os
import struct

import astropy.io.fits
import grib_messages
import harness
import joins_test
import mutation_test
import nibabel
import numpy as np
import tiff_files

VALUES = np.arange(4 * 6, dtype="<f4").reshape(4, 6)


def fits(path):
    astropy.io.fits.PrimaryHDU(VALUES).writeto(path)


def nifti(path):
    nibabel.Nifti1Image(VALUES.T, np.diag([2.0, 2, 2, 1])).to_filename(path)


def text_header(lines, data=b""):
    return "".join(line + "\n" for line in lines).encode() + data


def nrrd(path):
    harness.write(path, text_header(["NRRD0004", "type: float", "dimension: 2", "sizes: 6 4", "endian: little",
                                     "encoding: raw", ""], VALUES.tobytes()))


def meta_image(path):
    """A header beside its data."""
    harness.write(path, text_header(["ObjectType = Image", "NDims = 2", "DimSize = 6 4", "ElementType = MET_FLOAT",
                                     "ElementDataFile = a.raw"]))
    harness.write(os.path.join(os.path.dirname(path), "a.raw"), VALUES.tobytes())


def envi(path):
    harness.write(path, text_header(["ENVI", "samples = 6", "lines = 4", "bands = 1", "data type = 4",
                                     "interleave = bsq", "byte order = 0", "header offset = 0"]))
    harness.write(path.removesuffix(".hdr"), VALUES.tobytes())


def grib(path):
    harness.write(path, grib_messages.message(VALUES) + grib_messages.message(VALUES + 1, hours=6))


def tiff(path):
    harness.write(path, tiff_files.image(VALUES, rows=2))


def mrc(path):
    """Without an extension: only the content tells."""
    header = bytearray(1024)
    struct.pack_into("<10i", header, 0, 6, 4, 1, 2, 0, 0, 0, 6, 4, 1)
    struct.pack_into("<6f", header, 40, 6, 4, 1, 90, 90, 90)
    struct.pack_into("<3i", header, 64, 1, 2, 3)
    header[208:216] = b"MAP DD\0\0"
    harness.write(path, bytes(header) + VALUES.tobytes())


def precomputed(path):
    harness.write(f"{path}/info", json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "float32", "num_channels": 1,
        "scales": [{"key": "one", "size": [6, 4, 1], "chunk_sizes": [[6, 2, 1]], "resolution": [1, 1, 1],
                    "encoding": "raw", "voxel_offset": [0, 0, 0]}]}))
    harness.write(f"{path}/one/0-6_0-2_0-1", VALUES[:2].tobytes())
    harness.write(f"{path}/one/0-6_2-4_0-1.gz", gzip.compress(VALUES[2:].tobytes()))


def joined(path):
    """A document that joins two stores beside it."""
    folder = os.path.dirname(path)
    joins_test.write_netcdf(f"{folder}/part0.nc", 0, form="NETCDF3_CLASSIC")
    joins_test.write_zarr(f"{folder}/part1.zarr", 1)
    result = harness.run(harness.BINARY, "join", f"{folder}/part0.nc", f"{folder}/part1.zarr", "--along", "time", "--output",
                         path)
    assert result.returncode == 0, result.stderr


def kerchunk(path):
    mutation_test.kerchunk(path)
    harness.write(os.path.join(os.path.dirname(path), "bytes.bin"), mutation_test.VALUES.tobytes())


# The name of a store, what writes it, and an array in it ("": the only one).
STORES = [
    ("a.npy", mutation_test.npy, ""),
    ("v2.zarr", mutation_test.v2, "zlib"),
    ("filters.zarr", mutation_test.v2_filters, "delta"),
    ("consolidated.zarr", mutation_test.v2_consolidated, "blosc"),
    ("v3.zarr", mutation_test.v3, "shards"),
    ("a.n5", mutation_test.n5, "gzip"),
    ("store.zarr.zip", mutation_test.zarr_zip, "a"),
    ("a.npz", mutation_test.npz, "first"),
    ("classic.nc", mutation_test.netcdf("NETCDF3_CLASSIC"), "t"),
    ("four.nc", mutation_test.netcdf("NETCDF4"), "t"),
    ("new.h5", mutation_test.hdf5("latest"), "chunked"),
    ("refs.json", kerchunk, "a"),
    ("a.fits", fits, ""),
    ("a.nii", nifti, ""),
    ("a.nrrd", nrrd, ""),
    ("a.mhd", meta_image, ""),
    ("image.hdr", envi, ""),
    ("a.grib", grib, "isobaricInhPa/instant/t"),
    ("a.tif", tiff, "image"),
    ("map", mrc, ""),
    ("volume", precomputed, "one"),
    ("joined.ndl.yaml", joined, "sst"),
]
