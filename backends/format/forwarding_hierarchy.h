// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// Shows all objects of another hierarchy. Base of hierarchies that differ from it in one
// respect. One that changes nodes in Load() may leave LoadTogether() as it is: that only reads
// ahead, and the nodes of the other hierarchy are what Load() then finds.
//
// Has no capabilities of the other hierarchy, such as FindsMetadataFiles.
class ForwardingHierarchy : public Hierarchy {
 public:
  explicit ForwardingHierarchy(std::shared_ptr<const Hierarchy> hierarchy)
      : hierarchy_(std::move(hierarchy)) {}

  std::string_view format() const override { return hierarchy_->format(); }
  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    return hierarchy_->Load(path);
  }
  std::vector<std::shared_ptr<const Node>> LoadTogether(
      std::span<const std::string> paths) const override {
    return hierarchy_->LoadTogether(paths);
  }
  size_t loads_together() const override { return hierarchy_->loads_together(); }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    return hierarchy_->List(path);
  }
  std::optional<Link> GetLink(std::string_view path) const override {
    return hierarchy_->GetLink(path);
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    return hierarchy_->Version(path);
  }
  uint64_t held_bytes() const override { return hierarchy_->held_bytes(); }

 protected:
  const Hierarchy& inner() const { return *hierarchy_; }
  const std::shared_ptr<const Hierarchy>& shared_inner() const { return hierarchy_; }

 private:
  const std::shared_ptr<const Hierarchy> hierarchy_;
};

}  // namespace ndlfs::backends
