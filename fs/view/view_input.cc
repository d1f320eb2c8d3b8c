// SPDX-License-Identifier: MIT
#include "fs/view/view_input.h"

#include <utility>

#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

class HierarchyGroup final : public GroupInput {
 public:
  HierarchyGroup(std::shared_ptr<const backends::Hierarchy> hierarchy, std::string path,
                 std::shared_ptr<const backends::Node> node, cache::ChunkCache& cache,
                 const ScanLimits& scan)
      : hierarchy_(std::move(hierarchy)),
        path_(std::move(path)),
        node_(std::move(node)),
        cache_(cache),
        scan_(scan) {}

  const std::string& path() const override { return path_; }
  const backends::Node& node() const override { return *node_; }
  model::Result<std::vector<std::string>> List() const override {
    return hierarchy_->List(path_);
  }
  model::Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    return hierarchy_->GetLink(model::JoinPath(path_, name));
  }
  model::Result<GroupChild> Load(std::string_view name) const override {
    std::string path = model::JoinPath(path_, name);
    GroupChild child;
    NDLFS_TRY(child.node, hierarchy_->Load(path));
    if (child.node->is_group()) {
      child.group = std::make_shared<const HierarchyGroup>(hierarchy_, std::move(path),
                                                           child.node, cache_, scan_);
    } else if (child.node->source) {
      auto reader = std::make_shared<const cache::ArrayReader>(child.node->source, cache_);
      child.array = MakeArrayInput(child.node, std::move(reader), scan_, std::move(path));
    }
    return child;
  }

 private:
  const std::shared_ptr<const backends::Hierarchy> hierarchy_;
  const std::string path_;
  const std::shared_ptr<const backends::Node> node_;
  cache::ChunkCache& cache_;
  const ScanLimits scan_;
};

}  // namespace

ArrayInput MakeArrayInput(std::shared_ptr<const backends::Node> node,
                          std::shared_ptr<const cache::ArrayReader> reader,
                          const ScanLimits& scan, std::string name) {
  const backends::ArraySpec& spec = reader->spec();
  std::shared_ptr<const ElementSource> elements;
  if (spec.dtype.is_fixed_size()) {
    elements = MakeArrayElements(reader, std::move(name)).value_or(nullptr);
  }
  return {.node = std::move(node),
          .dtype = spec.dtype,
          .shape = spec.shape,
          .elements = std::move(elements),
          .reader = std::move(reader),
          .scan = scan};
}

model::Result<std::shared_ptr<const GroupInput>> MakeGroupInput(
    std::shared_ptr<const backends::Hierarchy> hierarchy, std::string path,
    cache::ChunkCache& cache, const ScanLimits& scan) {
  NDLFS_TRY(auto node, hierarchy->Load(path));
  if (!node->is_group()) return model::BadInput("{}: not a group", path);
  return std::make_shared<const HierarchyGroup>(std::move(hierarchy), std::move(path),
                                                std::move(node), cache, scan);
}

}  // namespace ndlfs::fs
