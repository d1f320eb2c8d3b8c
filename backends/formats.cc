// SPDX-License-Identifier: MIT
//
// The one list of formats, and how a store's format is found out.
#include <fcntl.h>

#include <vector>

#include "backends/file_name.h"
#include "backends/hdf5/hdf5.h"
#include "backends/hierarchy.h"
#include "backends/kerchunk/kerchunk.h"
#include "backends/n5/n5.h"
#include "backends/ndl/ndl.h"
#include "backends/netcdf3/netcdf3.h"
#include "backends/npy/npy.h"
#include "backends/npy/npz.h"
#include "backends/zarr/zarr_format.h"
#include "backends/zip/zarr_zip.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kHeadSize = 1024;  // as Format::ProbeFile promises

// The beginning of the file at `path`. Empty where it cannot be read: then its
// name has to tell.
Bytes ReadHead(const SourceRoot& root, std::string_view path) {
  Bytes head(kHeadSize);
  const auto fd = root.OpenBeneath(path);
  if (!fd) return {};
  head.Shrink(ReadFully(fd->get(), 0, head.span()).value_or(0));
  return head;
}

}  // namespace

std::span<const Format* const> Formats() {
  static const std::vector<const Format*> formats = {
      &ZarrFormat(),    &N5Format(),      &NpyFormat(),      &NpzFormat(),
      &ZarrZipFormat(), &NetCdf3Format(), &KerchunkFormat(),
#ifdef NDLFS_WITH_HDF5
      &Hdf5Format(),
#endif
      &NdlFormat(),
  };
  return formats;
}

bool MayBeStoreFile(std::string_view file_name) {
  for (const Format* format : Formats()) {
    if (format->MatchesFileName(file_name)) return true;
  }
  return false;
}

const Format* DetectDirectory(const SourceRoot& root, std::string_view path) {
  for (const Format* format : Formats()) {
    if (format->ProbeDirectory(root, path)) return format;
  }
  return nullptr;
}

const Format* DetectFile(const SourceRoot& root, std::string_view path) {
  const std::string_view name = FileNameOf(path);
  if (!MayBeStoreFile(name)) return nullptr;
  const auto status = root.Stat(path);
  if (!status || !S_ISREG(status->st_mode)) return nullptr;
  const Bytes head = ReadHead(root, path);
  for (const Format* format : Formats()) {
    if (!format->MatchesFileName(name)) continue;
    if (!format->ProbeFile(name, head.span())) continue;
    if (format->ConfirmFile(root, path)) return format;
  }
  return nullptr;
}

}  // namespace ndlfs::backends
