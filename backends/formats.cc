// SPDX-License-Identifier: MIT
#include "backends/formats.h"

#include <vector>

#include "backends/format/dmrpp/dmrpp.h"
#include "backends/format/foreign/foreign.h"
#include "backends/format/grib/grib.h"
#include "backends/format/hdf4/hdf4.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/format/icechunk/icechunk.h"
#include "backends/format/kerchunk/kerchunk.h"
#include "backends/format/mrc/mrc.h"
#include "backends/format/n5/n5.h"
#include "backends/format/ncml/ncml.h"
#include "backends/format/ndl/ndl.h"
#include "backends/format/netcdf3/netcdf3.h"
#include "backends/format/npy/npy.h"
#include "backends/format/precomputed/precomputed.h"
#include "backends/format/tiff/tiff.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/format/zip/zarr_zip.h"

namespace ndlfs::backends {

// In the order in which they are asked. Directories of kerchunk have a file that those of Zarr
// may have. NPZ comes before Zarr in archives, and HDF5 and GRIB after all others that are
// known by their first bytes: their signatures may stand behind the beginning of something
// else.
std::span<const Format* const> Formats() {
  static const std::vector<const Format*> formats = {
      &KerchunkFormat(), &ZarrFormat(),     &N5Format(),        &PrecomputedFormat(),
      &NpyFormat(),      &NpzFormat(),      &ZarrZipFormat(),   &NetCdf3Format(),
      &FitsFormat(),     &NrrdFormat(),     &MetaImageFormat(), &NiftiFormat(),
      &NcmlFormat(),     &IcechunkFormat(), &TiffFormat(),      &MrcFormat(),
      &Hdf4Format(),     &Hdf5Format(),     &GribFormat(),      &EnviFormat(),
      &GradsFormat(),    &BovFormat(),      &MitgcmFormat(),    &NdlFormat(),
      &DmrppFormat(),
  };
  return formats;
}

}  // namespace ndlfs::backends
