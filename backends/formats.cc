// SPDX-License-Identifier: MIT
//
// The one list of formats, and how a store's format is found out.
#include <fcntl.h>

#include <optional>
#include <utility>
#include <vector>

#include "backends/detection.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hierarchy.h"
#include "backends/format/kerchunk/kerchunk.h"
#include "backends/format/n5/n5.h"
#include "backends/format/ndl/ndl.h"
#include "backends/format/netcdf3/netcdf3.h"
#include "backends/format/npy/npy.h"
#include "backends/format/npy/npz.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/format/zip/zarr_zip.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kHeadSize = 1024;  // as Format::ProbeFile promises

// A format that is known by how its files begin.
struct Signature {
  const Format& (*format)();
  bool (*matches)(ConstByteSpan head);
};

// In the order in which they are looked for: HDF5 is last, as its signature may
// stand behind the beginning of something else.
constexpr Signature kSignatures[] = {
    {&NpyFormat, &BeginsAsNpy},     {&NpzFormat, &BeginsAsNpz},
    {&ZarrZipFormat, &BeginsAsZip}, {&NetCdf3Format, &BeginsAsNetCdf3},
#ifdef NDLFS_WITH_HDF5
    {&Hdf5Format, &BeginsAsHdf5},
#endif
};

struct Head {
  Bytes bytes;  // empty where the file cannot be read: then its name has to tell
  std::optional<Generation> version;
};

// The beginning of the regular file at `path`; nullopt where that is something
// else, such as a FIFO.
std::optional<Head> ReadHead(const SourceRoot& root, std::string_view path) {
  struct ::stat status;
  const auto fd = root.OpenBeneath(path);
  if (!fd) {
    const auto found = root.Stat(path);
    if (!found || !S_ISREG(found->st_mode)) return std::nullopt;
    return Head();
  }
  if (::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  Bytes bytes(kHeadSize);
  const auto count = ReadFully(fd->get(), 0, bytes.span());
  if (!count) return Head();
  bytes.Shrink(*count);
  return Head{std::move(bytes), GenerationOf(status)};
}

const Format* FormatByContent(const SourceRoot& root, std::string_view path,
                              ConstByteSpan head) {
  if (head.size() < kSmallestStoreFile) return nullptr;
  for (const Signature& signature : kSignatures) {
    if (!signature.matches(head)) continue;
    const Format& format = signature.format();
    if (format.ConfirmFile(root, path)) return &format;
  }
  return nullptr;
}

const Format* FormatByName(const SourceRoot& root, std::string_view path, ConstByteSpan head) {
  const std::string_view name = FileNameOf(path);
  for (const Format* format : Formats()) {
    if (!format->MatchesFileName(name)) continue;
    if (!format->ProbeFile(name, head)) continue;
    if (format->ConfirmFile(root, path)) return format;
  }
  return nullptr;
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

FileLook LookIntoFile(const SourceRoot& root, std::string_view path, Detection detection) {
  const bool is_named = MayBeStoreFile(FileNameOf(path));
  if (!is_named && detection == Detection::kName) return {};
  const auto head = ReadHead(root, path);
  if (!head) return {};
  FileLook look;
  look.version = head->version;
  if (detection == Detection::kContent) {
    look.format = FormatByContent(root, path, head->bytes.span());
  }
  if (look.format == nullptr && is_named) {
    look.format = FormatByName(root, path, head->bytes.span());
  }
  return look;
}

const Format* DetectFile(const SourceRoot& root, std::string_view path) {
  return LookIntoFile(root, path, Detection::kContent).format;
}

}  // namespace ndlfs::backends
