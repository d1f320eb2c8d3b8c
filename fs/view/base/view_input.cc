// SPDX-License-Identifier: MIT
#include "fs/view/base/view_input.h"

#include <utility>

#include "cache/array_reader.h"
#include "fs/view/base/array_part.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

// The state that all groups of one opened store share.
struct OpenedStore {
  std::shared_ptr<const backends::Hierarchy> hierarchy;
  cache::ChunkCache& cache;
  ScanLimits scan;
};

class HierarchyGroup final : public GroupInput,
                             public std::enable_shared_from_this<HierarchyGroup> {
 public:
  // `node` may be null: it is loaded when somebody asks for it.
  HierarchyGroup(std::shared_ptr<const OpenedStore> store, std::string path,
                 std::shared_ptr<const backends::Node> node)
      : store_(std::move(store)), path_(std::move(path)), node_(std::move(node)) {}

  const std::string& path() const override { return path_; }
  const backends::Node& node() const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (node_ == nullptr) node_ = NodeOfGroup(store_->hierarchy->Load(path_));
    return *node_;
  }
  std::shared_ptr<const GroupInput> Outer() const override {
    if (path_ == "/") return nullptr;
    return std::make_shared<const HierarchyGroup>(store_, std::string(model::ParentPath(path_)),
                                                  nullptr);
  }
  model::Result<std::vector<std::string>> List() const override {
    return store_->hierarchy->List(path_);
  }
  model::Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    return store_->hierarchy->GetLink(model::JoinPath(path_, name));
  }
  model::Result<GroupChild> Load(std::string_view name) const override {
    std::string path = model::JoinPath(path_, name);
    GroupChild child;
    NDLFS_TRY(child.node, store_->hierarchy->Load(path));
    if (child.node->is_group()) {
      child.group = std::make_shared<const HierarchyGroup>(store_, std::move(path), child.node);
    } else if (child.node->source) {
      auto reader =
          std::make_shared<const cache::ArrayReader>(child.node->source, store_->cache);
      child.array =
          MakeArrayInput(child.node, std::move(reader), store_->scan, std::move(path));
      child.array->group = shared_from_this();
    }
    return child;
  }

 private:
  const std::shared_ptr<const OpenedStore> store_;
  const std::string path_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const backends::Node> node_ GUARDED_BY(mutex_);
};

class OneArrayGroup final : public GroupInput,
                            public std::enable_shared_from_this<OneArrayGroup> {
 public:
  OneArrayGroup(ArrayInput array, std::string name)
      : array_(std::move(array)), name_(std::move(name)) {
    model::Ndarray entity = array_.node->array();
    entity.name = name_;
    auto node = std::make_shared<backends::Node>(*array_.node);
    node->entity = std::move(entity);
    array_.node = std::move(node);
  }
  const std::string& path() const override { return path_; }
  const backends::Node& node() const override { return node_; }
  std::shared_ptr<const GroupInput> Outer() const override { return nullptr; }
  model::Result<std::vector<std::string>> List() const override { return std::vector{name_}; }
  model::Result<std::optional<backends::Link>> GetLink(std::string_view) const override {
    return std::nullopt;
  }
  model::Result<GroupChild> Load(std::string_view name) const override {
    if (name != name_) return model::NotFound("{}", name);
    GroupChild child{array_.node, array_, nullptr};
    child.array->group = shared_from_this();
    return child;
  }

 private:
  const std::string path_ = "/";
  const backends::Node node_;
  ArrayInput array_;
  const std::string name_;
};

// The child of `group` that is a dimension coordinate; nullopt where there is none.
model::Result<std::optional<ArrayInput>> LoadCoordinate(const GroupInput& group,
                                                        std::string_view name) {
  auto child = group.Load(name);
  if (!child && child.error().code() == model::ErrorCode::kNotFound) return std::nullopt;
  if (!child) return model::Propagate(std::move(child).error(), name);
  if (!std::holds_alternative<model::DimCoord>(child->node->entity)) return std::nullopt;
  return std::move(child->array);
}

bool IsInside(std::string_view path, std::string_view group) {
  return group == "/" ||
         (path.starts_with(group) && path.substr(group.size()).starts_with('/'));
}

// The coordinates at an absolute path name.
model::Result<std::optional<ArrayInput>> LoadCoordinateAt(
    std::shared_ptr<const GroupInput> group, std::string_view path) {
  while (group != nullptr && !IsInside(path, group->path())) group = group->Outer();
  while (group != nullptr && group->path() != model::ParentPath(path)) {
    const std::string_view below = path.substr(group->path() == "/" ? 0 : group->path().size());
    NDLFS_TRY(auto child, group->Load(model::SplitPath(below).front()));
    group = std::move(child.group);
  }
  if (group == nullptr) return std::nullopt;
  return LoadCoordinate(*group, model::BaseName(path));
}

// The nearest coordinates of that name, going outward.
model::Result<std::optional<ArrayInput>> FindByName(std::shared_ptr<const GroupInput> group,
                                                    std::string_view name) {
  for (; group != nullptr; group = group->Outer()) {
    NDLFS_TRY(auto found, LoadCoordinate(*group, name), group->path());
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const backends::Node> NodeOfGroup(
    model::Result<std::shared_ptr<const backends::Node>> loaded) {
  if (loaded && (*loaded)->is_group()) return *std::move(loaded);
  auto node = std::make_shared<backends::Node>();
  node->error = loaded ? model::BadInput("not a group").value() : loaded.error();
  return node;
}

model::Result<std::optional<ArrayInput>> FindCoordinate(const ArrayInput& array, size_t d) {
  if (array.part) return FindCoordinateOfPart(*array.part, d);
  if (std::holds_alternative<model::DimCoord>(array.node->entity)) return array;
  const model::Ndarray& entity = array.node->array();
  // Parts that were made in memory have no source.
  const std::vector<uint64_t>& shape =
      array.node->source ? array.node->source->spec().shape : array.shape;
  std::optional<ArrayInput> found;
  if (d < entity.shape.size() && !entity.shape[d].dimcoord.empty()) {
    NDLFS_TRY(found, LoadCoordinateAt(array.group, entity.shape[d].dimcoord));
  } else if (d < entity.dimension_names.size() && !entity.dimension_names[d].empty() &&
             entity.dimension_names[d].find('/') == std::string::npos) {
    NDLFS_TRY(found, FindByName(array.group, entity.dimension_names[d]));
  }
  if (found && (d >= shape.size() || found->shape != std::vector{shape[d]}))
    return std::nullopt;
  return found;
}

std::string PathOf(const ArrayInput& array) {
  return array.group ? model::JoinPath(array.group->path(), array.node->array().name) : "/";
}

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
  auto store =
      std::make_shared<const OpenedStore>(OpenedStore{std::move(hierarchy), cache, scan});
  return std::make_shared<const HierarchyGroup>(std::move(store), std::move(path),
                                                std::move(node));
}

std::shared_ptr<const GroupInput> MakeGroupAround(
    std::shared_ptr<const backends::Hierarchy> hierarchy, std::string_view path,
    cache::ChunkCache& cache, const ScanLimits& scan) {
  if (path == "/") return nullptr;
  auto store =
      std::make_shared<const OpenedStore>(OpenedStore{std::move(hierarchy), cache, scan});
  return std::make_shared<const HierarchyGroup>(std::move(store),
                                                std::string(model::ParentPath(path)), nullptr);
}

std::shared_ptr<const GroupInput> MakeGroupOfArray(ArrayInput array, std::string name) {
  return std::make_shared<const OneArrayGroup>(std::move(array), std::move(name));
}

}  // namespace ndlfs::fs
