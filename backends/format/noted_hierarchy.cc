// SPDX-License-Identifier: MIT
#include "backends/format/noted_hierarchy.h"

#include <utility>

namespace ndlfs::backends {
namespace {

using model::Result;

class NotedHierarchy final : public Hierarchy {
 public:
  NotedHierarchy(std::shared_ptr<const Hierarchy> hierarchy, std::vector<std::string> notes)
      : hierarchy_(std::move(hierarchy)), notes_(std::move(notes)) {}

  std::string_view format() const override { return hierarchy_->format(); }
  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(auto node, hierarchy_->Load(path));
    if (path != "/") return node;
    auto noted = std::make_shared<Node>(*node);
    noted->notes.insert(noted->notes.end(), notes_.begin(), notes_.end());
    return noted;
  }
  std::vector<std::shared_ptr<const Node>> LoadTogether(
      std::span<const std::string> paths) const override {
    return hierarchy_->LoadTogether(paths);
  }
  size_t loads_together() const override { return hierarchy_->loads_together(); }
  Result<std::vector<std::string>> List(std::string_view path) const override {
    return hierarchy_->List(path);
  }
  std::optional<Link> GetLink(std::string_view path) const override {
    return hierarchy_->GetLink(path);
  }
  Result<uint64_t> Version(std::string_view path) const override {
    return hierarchy_->Version(path);
  }
  uint64_t held_bytes() const override { return hierarchy_->held_bytes(); }

 private:
  const std::shared_ptr<const Hierarchy> hierarchy_;
  const std::vector<std::string> notes_;
};

}  // namespace

std::shared_ptr<const Hierarchy> WithNotes(std::shared_ptr<const Hierarchy> hierarchy,
                                           std::vector<std::string> notes) {
  if (notes.empty()) return hierarchy;
  return std::make_shared<NotedHierarchy>(std::move(hierarchy), std::move(notes));
}

}  // namespace ndlfs::backends
