# SPDX-License-Identifier: MIT
"""Small stores of each format, made up by a seed, by the writers of other software where there are such. Each maker is a
function of a description (drawing.py) and a path, and returns the arrays that the store then has."""
import gzip
import os

import fits_makers as fits
import flat_makers as flat
import grib_makers as gribs
import hdf5_makers as hdf5
import legacy_makers as legacy
import netcdf_makers as netcdf
import raw_makers as raw
import zarr3_makers as zarrs3
import zarr_makers as zarrs
from drawing import Draw

# By format: the ending of a store, and what makes it.
MAKERS = {
    "zarr2": (".zarr", zarrs.make_zarr2),
    "zarr3": (".zarr", zarrs3.make_zarr3),
    "zarr2zip": (".zarr.zip", zarrs.zipped(zarrs.make_zarr2)),
    "zarr3zip": (".zarr.zip", zarrs.zipped(zarrs3.make_zarr3)),
    "kerchunk": (".json", zarrs.make_references),
    "n5": (".n5", zarrs.make_n5),
    "ndl": (".ndl.yaml", flat.make_ndl),
    "netcdf3": (".nc", netcdf.make_netcdf("NETCDF3_CLASSIC", ("i1", "i2", "i4", "f4", "f8"))),
    "netcdf2": (".nc", netcdf.make_netcdf("NETCDF3_64BIT_OFFSET", ("i1", "i2", "i4", "f4", "f8"))),
    "netcdf5": (".nc", netcdf.make_netcdf("NETCDF3_64BIT_DATA")),
    "netcdf4": (".nc", netcdf.make_netcdf("NETCDF4")),
    "hdf5": (".h5", hdf5.make_hdf5),
    "npy": (".npy", flat.make_npy),
    "npz": (".npz", flat.make_npz),
    "mrc": (".mrc", flat.make_mrc),
    "mrcgz": (".mrc.gz", flat.packed_by(gzip.compress, flat.make_mrc)),
    "fits": (".fits", fits.make_fits),
    "nifti": (".nii", flat.make_nifti),
    "niftigz": (".nii.gz", flat.packed_by(gzip.compress, flat.make_nifti)),
    "tiff": (".tif", flat.make_tiff),
    "geotiff": (".tif", flat.make_geotiff),
    "grib": (".grib", gribs.make_grib),
    "nrrd": (".nrrd", raw.make_nrrd),
    "metaimage": (".mha", raw.make_metaimage),
    "envi": (".hdr", raw.make_envi),
    "precomputed": ("", raw.make_precomputed),
    "hdf4": (".hdf", legacy.make_hdf4),
    "icechunk": ("", legacy.make_icechunk),
}


class Made:
    """A store, and the description that makes it again."""

    def __init__(self, kind, seed, folder, said=None, name=None):
        ending, make = MAKERS[kind]
        self.draw = Draw(seed, said)
        self.kind, self.seed = kind, seed
        self.name = name or f"{kind}-{seed}{ending}"
        self.arrays = make(self.draw, os.path.join(folder, self.name))
