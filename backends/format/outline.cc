// SPDX-License-Identifier: MIT
#include "backends/format/outline.h"

#include <algorithm>
#include <utility>

#include "model/memory_budget.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

// Deeper groups are left out, so that nothing recurses without bound.
constexpr int kMaxGroupDepth = 512;
constexpr uint64_t kOfSource = 1024;

class OutlineReader {
 public:
  OutlineReader(const Hierarchy& hierarchy, std::vector<std::string>* errors)
      : hierarchy_(hierarchy), errors_(errors) {}

  model::Result<void> Read(std::string_view path, Outline& outline, int depth) {
    NDLFS_TRY(auto node, hierarchy_.Load(outline.link ? outline.link->target : path));
    if (!node->is_group()) {
      const bool is_dimcoord = std::holds_alternative<model::DimCoord>(node->entity);
      outline.kind = is_dimcoord ? Outline::Kind::kDimCoord : Outline::Kind::kNdarray;
    }
    if (outline.link) return {};
    if (node->error) Complain(path, *node->error);
    if (node->is_group()) AddChildren(path, outline, depth);
    kept_bytes_ += node->held_bytes() + kOfSource;
    // Small stores are loaded once.
    using model::MemoryBudget;
    if (kept_bytes_ <= MemoryBudget::Share(MemoryBudget::Pool::kNodes)) {
      outline.node = std::move(node);
    }
    return {};
  }

 private:
  void AddChildren(std::string_view path, Outline& group, int depth) {
    if (depth >= kMaxGroupDepth) {
      return Complain(path, model::Error(model::ErrorCode::kLimit, "groups nest too deep"));
    }
    auto names = hierarchy_.List(path);
    if (!names) return Complain(path, names.error());
    for (std::string& name : *names) {
      const std::string child_path = model::JoinPath(path, name);
      Outline child{.name = std::move(name)};
      if (auto link = hierarchy_.GetLink(child_path)) {
        child.link = std::make_unique<const Link>(*std::move(link));
        child.kind = Outline::Kind::kLink;
        if (child.link->kind == Link::Kind::kHard) child.kind = Outline::Kind::kGroup;
      }
      if (child.kind != Outline::Kind::kLink) {
        const auto read = Read(child_path, child, depth + 1);
        // If an object has several names, the first one reports that it cannot be loaded.
        if (!read && !child.link) Complain(child_path, read.error());
        if (!read) continue;
      }
      group.children.push_back(std::move(child));
    }
    group.children.shrink_to_fit();
  }

  void Complain(std::string_view path, const model::Error& error) {
    if (errors_) errors_->push_back(model::Error(error).In(path).message());
  }

  const Hierarchy& hierarchy_;
  std::vector<std::string>* const errors_;
  uint64_t kept_bytes_ = 0;
};

model::Result<std::shared_ptr<const Node>> NodeOf(const Hierarchy& hierarchy,
                                                  const Outline& outline,
                                                  std::string_view path) {
  if (outline.node) return outline.node;
  NDLFS_TRY(auto node, hierarchy.Load(outline.link ? outline.link->target : path));
  const bool was_group = outline.kind == Outline::Kind::kGroup;
  if (node->is_group() != was_group) return model::HasChanged(path);
  return node;
}

}  // namespace

bool Outline::Has(Kind wanted) const {
  return std::ranges::any_of(children, [&](const Outline& o) { return o.kind == wanted; });
}

model::Result<Outline> ReadOutline(const Hierarchy& hierarchy, std::string_view path,
                                   std::vector<std::string>* errors) {
  Outline outline{.name = std::string(model::BaseName(path))};
  NDLFS_RETURN_IF_ERROR(OutlineReader(hierarchy, errors).Read(path, outline, 0));
  return outline;
}

model::Result<model::Group> LoadGroup(const Hierarchy& hierarchy, const Outline& outline,
                                      std::string_view path) {
  model::Group group;
  if (outline.link) {
    group.same_as = outline.link->target;
    return group;
  }
  NDLFS_TRY(const auto node, NodeOf(hierarchy, outline, path));
  group = std::get<model::Group>(node->entity);
  for (const Outline& child : outline.children) {
    if (child.kind != Outline::Kind::kLink) continue;
    const bool is_external = child.link->kind == Link::Kind::kExternal;
    group.links.push_back({child.name,
                           is_external ? child.link->path_in_file : child.link->target,
                           is_external ? child.link->file : ""});
  }
  return group;
}

model::Result<model::DimCoord> LoadArray(const Hierarchy& hierarchy, const Outline& outline,
                                         std::string_view path) {
  NDLFS_TRY(const auto node, NodeOf(hierarchy, outline, path));
  model::DimCoord array;
  static_cast<model::Ndarray&>(array) = node->array();
  if (outline.kind == Outline::Kind::kDimCoord && array.shape.size() != 1) {
    return model::Corrupt("a coordinate of {} dimensions", array.shape.size());
  }
  if (!outline.link) {
    array.layout = node->layout();
    return array;
  }
  model::DimCoord second;
  second.name = outline.name;
  second.type = std::move(array.type);
  second.shape = std::move(array.shape);
  second.dimension_names = std::move(array.dimension_names);
  second.same_as = outline.link->target;
  return second;
}

}  // namespace ndlfs::backends
