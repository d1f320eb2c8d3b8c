// SPDX-License-Identifier: MIT
#include "fs/view/elements/view_node.h"

#include <algorithm>
#include <utility>

namespace ndlfs::fs {

namespace {

class ViewEntries final : public ViewListing {
 public:
  explicit ViewEntries(std::vector<ViewEntry> entries) : entries_(std::move(entries)) {}
  model::Result<std::optional<ViewEntry>> Next() override {
    if (next_ == entries_.size()) return std::nullopt;
    return entries_[next_++];
  }

 private:
  const std::vector<ViewEntry> entries_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<ViewListing> ListOf(std::vector<ViewEntry> entries) {
  return std::make_unique<ViewEntries>(std::move(entries));
}

model::Result<ViewNode> FindBelow(ViewNode node, std::string_view path) {
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty()) continue;
    const ViewDirectoryPtr directory = DirectoryOf(node);
    if (directory == nullptr) return model::NotFound("{}", name);
    NDLFS_TRY(node, directory->Find(name));
  }
  return node;
}

uint64_t HeldBytes(const ViewNode& node) {
  return std::visit([](const auto& view) { return view->held_bytes(); }, node);
}

uint64_t MostHeldBytes(const ViewNode& node) {
  const ViewPtr file = FileOf(node);
  return file ? file->most_held_bytes() : HeldBytes(node);
}

}  // namespace ndlfs::fs
