// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// The files that the metadata of a node are in, without what they say.
struct MetadataFiles {
  int64_t mtime_ns = 0;            // as of Node
  std::vector<std::string> files;  // as of Node
};

// A Hierarchy that finds these files without reading them: a listing with attributes then needs
// no metadata.
class FindsMetadataFiles {
 public:
  virtual ~FindsMetadataFiles() = default;

  // The files of the node at `path`, also if their contents are wrong. kNotFound if there is no
  // such node.
  virtual model::Result<MetadataFiles> FindFiles(std::string_view path) const = 0;
};

}  // namespace ndlfs::backends
