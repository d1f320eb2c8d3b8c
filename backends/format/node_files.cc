// SPDX-License-Identifier: MIT
#include "backends/format/node_files.h"

#include <utility>

namespace ndlfs::backends {
namespace {

// Keeps the node that it was made of, which its hierarchy may then find again.
struct NodeWithFiles {
  std::shared_ptr<const Node> original;
  Node node;
};

}  // namespace

model::Result<std::shared_ptr<const Node>> NodesWithFiles::Load(
    const Hierarchy& hierarchy, std::string_view path, std::vector<std::string> files) const {
  NDLFS_TRY(const uint64_t version, hierarchy.Version(path));
  if (auto known = nodes_.Find(path, version)) return known;
  auto made = std::make_shared<NodeWithFiles>();
  NDLFS_TRY(made->original, hierarchy.Load(path));
  made->node = *made->original;
  made->node.files = std::move(files);
  const Node* node = &made->node;
  return nodes_.Insert(path, version, std::shared_ptr<const Node>(std::move(made), node));
}

}  // namespace ndlfs::backends
