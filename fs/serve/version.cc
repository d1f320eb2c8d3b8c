// SPDX-License-Identifier: MIT
#include "fs/serve/version.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/heap.h"
#include "backends/codec/registry.h"
#include "backends/formats.h"
#include "backends/library_versions.h"

namespace ndlfs::fs {

std::string VersionText(const std::vector<std::string>& front_ends) {
  std::vector<std::string_view> formats;
  for (const backends::Format* format : backends::Formats()) formats.push_back(format->name());
  std::vector<std::string> libraries = backends::LibraryVersions();
  libraries.insert(libraries.end(), front_ends.begin(), front_ends.end());
  if (auto allocator = backends::AllocatorVersion(); !allocator.empty()) {
    libraries.push_back(std::move(allocator));
  }
  return fmt::format("ndlfs {}\nformats: {}\ncodecs: {}\nlibraries: {}\n", NDLFS_VERSION,
                     fmt::join(formats, ", "), fmt::join(backends::CodecNames(), ", "),
                     fmt::join(libraries, ", "));
}

}  // namespace ndlfs::fs
