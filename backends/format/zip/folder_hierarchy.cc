// SPDX-License-Identifier: MIT
#include "backends/format/zip/folder_hierarchy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

class FolderHierarchy final : public Hierarchy {
 public:
  using Folders = std::map<std::string, std::shared_ptr<const Hierarchy>>;
  using Stamp = std::function<model::Result<std::optional<ValueInfo>>()>;

  FolderHierarchy(std::string_view format, Folders folders, Stamp stamp)
      : format_(format), folders_(std::move(folders)), stamp_(std::move(stamp)) {}

  std::string_view format() const override { return format_; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    if (path == "/") return LoadRoot();
    NDLFS_TRY(const Place place, Find(path));
    NDLFS_TRY(const auto inside, place.hierarchy->Load(place.path));
    auto node = std::make_shared<Node>(*inside);
    if (place.path == "/") Rename(*node, model::BaseName(path));
    if (auto* array = std::get_if<model::Ndarray>(&node->entity)) {
      for (auto& dimension : array->shape) {
        if (!dimension.dimcoord.empty()) dimension.dimcoord.insert(0, place.folder);
      }
    }
    return node;
  }

  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    if (path == "/") {
      std::vector<std::string> names;
      for (const auto& [name, hierarchy] : folders_) names.push_back(name);
      return names;
    }
    NDLFS_TRY(const Place place, Find(path));
    return place.hierarchy->List(place.path);
  }

  std::optional<Link> GetLink(std::string_view path) const override {
    const auto place = Find(path);
    if (!place) return std::nullopt;
    auto link = place->hierarchy->GetLink(place->path);
    if (link && link->target.starts_with('/')) link->target.insert(0, place->folder);
    return link;
  }

  model::Result<uint64_t> Version(std::string_view path) const override {
    if (path != "/") {
      NDLFS_TRY(const Place place, Find(path));
      return place.hierarchy->Version(place.path);
    }
    NDLFS_TRY(const auto stamp, stamp_());
    return HashVersions(std::array{stamp});
  }

  // They have one archive, which each of them counts.
  uint64_t held_bytes() const override {
    uint64_t most = 0;
    for (const auto& [name, hierarchy] : folders_) {
      most = std::max(most, hierarchy->held_bytes());
    }
    return most;
  }

 private:
  struct Place {
    const Hierarchy* hierarchy;
    std::string folder;  // "/a"
    std::string path;    // within the hierarchy
  };

  model::Result<std::shared_ptr<const Node>> LoadRoot() const {
    NDLFS_TRY(const auto stamp, stamp_());
    auto node = std::make_shared<Node>();
    node->mtime_ns = stamp ? stamp->modified_ns : 0;
    return node;
  }

  model::Result<Place> Find(std::string_view path) const {
    const auto parts = model::SplitPath(path);
    const auto found = parts.empty() ? folders_.end() : folders_.find(std::string(parts[0]));
    if (found == folders_.end()) return model::NotFound("there is no {}", model::Quote(path));
    std::string folder = model::JoinPath("/", parts[0]);
    std::string inside(path.substr(folder.size()));
    if (inside.empty()) inside = "/";
    return Place{found->second.get(), std::move(folder), std::move(inside)};
  }

  static void Rename(Node& node, std::string_view name) {
    std::visit([&](auto& entity) { entity.name = name; }, node.entity);
  }

  const std::string_view format_;
  const Folders folders_;
  const Stamp stamp_;
};

}  // namespace

std::shared_ptr<const Hierarchy> MakeFolderHierarchy(
    std::string_view format, std::map<std::string, std::shared_ptr<const Hierarchy>> folders,
    std::function<model::Result<std::optional<ValueInfo>>()> stamp) {
  return std::make_shared<FolderHierarchy>(format, std::move(folders), std::move(stamp));
}

}  // namespace ndlfs::backends
