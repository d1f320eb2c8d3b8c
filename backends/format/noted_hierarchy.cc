// SPDX-License-Identifier: MIT
#include "backends/format/noted_hierarchy.h"

#include <utility>

#include "backends/format/forwarding_hierarchy.h"

namespace ndlfs::backends {
namespace {

using model::Result;

class NotedHierarchy final : public ForwardingHierarchy {
 public:
  NotedHierarchy(std::shared_ptr<const Hierarchy> hierarchy, std::vector<std::string> notes)
      : ForwardingHierarchy(std::move(hierarchy)), notes_(std::move(notes)) {}

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(auto node, inner().Load(path));
    if (path != "/") return node;
    auto noted = std::make_shared<Node>(*node);
    noted->notes.insert(noted->notes.end(), notes_.begin(), notes_.end());
    return noted;
  }

 private:
  const std::vector<std::string> notes_;
};

}  // namespace

std::shared_ptr<const Hierarchy> WithNotes(std::shared_ptr<const Hierarchy> hierarchy,
                                           std::vector<std::string> notes) {
  if (notes.empty()) return hierarchy;
  return std::make_shared<NotedHierarchy>(std::move(hierarchy), std::move(notes));
}

}  // namespace ndlfs::backends
