// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// The files that hold the metadata of a node, without their contents.
struct MetadataFiles {
  int64_t mtime_ns = 0;            // as in Node
  std::vector<std::string> files;  // as in Node
};

// A Hierarchy that finds these files without reading them. A listing with attributes then needs
// no metadata.
class FindsMetadataFiles {
 public:
  virtual ~FindsMetadataFiles() = default;

  // The files of the node at `path`, even if their contents are wrong. kNotFound if there is no
  // such node.
  virtual model::Result<MetadataFiles> FindFiles(std::string_view path) const = 0;
};

}  // namespace ndlfs::backends
