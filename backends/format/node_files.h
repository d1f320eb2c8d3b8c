// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/node_cache.h"
#include "model/error.h"

namespace ndlfs::backends {

// Nodes of a hierarchy over a store whose keys are no files: the true files that the metadata
// are in are others. While anybody holds a node, the same one is found again. Thread-safe.
class NodesWithFiles {
 public:
  // The node at `path` of `hierarchy`, which is always the same one, with `files` as
  // Node::files.
  model::Result<std::shared_ptr<const Node>> Load(const Hierarchy& hierarchy,
                                                  std::string_view path,
                                                  std::vector<std::string> files) const;

 private:
  mutable NodeCache nodes_;
};

}  // namespace ndlfs::backends
