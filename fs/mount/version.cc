// SPDX-License-Identifier: MIT
#include "fs/mount/version.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "backends/codec/registry.h"
#include "backends/formats.h"
#include "backends/library_versions.h"
#include "fs/mount/fuse.h"

namespace ndlfs::fs {

std::string VersionText() {
  std::vector<std::string_view> formats;
  for (const backends::Format* format : backends::Formats()) formats.push_back(format->name());
  std::vector<std::string> libraries = backends::LibraryVersions();
  libraries.push_back(fmt::format("libfuse {}", fuse_pkgversion()));
  return fmt::format("ndlfs {}\nformats: {}\ncodecs: {}\nlibraries: {}\n", NDLFS_VERSION,
                     fmt::join(formats, ", "), fmt::join(backends::CodecNames(), ", "),
                     fmt::join(libraries, ", "));
}

}  // namespace ndlfs::fs
