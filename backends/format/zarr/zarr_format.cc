// SPDX-License-Identifier: MIT
#include "backends/format/zarr/zarr_format.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/format/zarr/zarr_hierarchy.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

constexpr std::array<std::string_view, 4> kMetadataNames = {"zarr.json", ".zgroup", ".zarray",
                                                            ".zmetadata"};

// "a/lat.zarr" -> "lat": what a directory that is one array is called.
std::string ArrayName(const Source& source, std::string_view path) {
  return StoreNameOf(path.empty() ? std::string_view(source.name()) : path, ".zarr");
}

class Zarr final : public Format {
 public:
  std::string_view name() const override { return "Zarr"; }

  DirectoryMarkers directory_markers() const override { return {kMetadataNames, true}; }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    return OpenZarr(source->OpenStore(path), "", ArrayName(*source, path), options);
  }
};

}  // namespace

const Format& ZarrFormat() {
  static const Zarr format;
  return format;
}

bool IsZarrMetadataName(std::string_view name) {
  return std::find(kMetadataNames.begin(), kMetadataNames.end(), name) != kMetadataNames.end();
}

model::Result<std::shared_ptr<const Hierarchy>> OpenZarr(std::shared_ptr<const Store> store,
                                                         std::string prefix, std::string name,
                                                         const OpenOptions& options) {
  return zarr::ZarrHierarchy::Open(std::move(store), std::move(prefix), std::move(name),
                                   options);
}

}  // namespace ndlfs::backends
