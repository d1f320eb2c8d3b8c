// SPDX-License-Identifier: MIT
#include "backends/format/zip/zarr_zip.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/forwarding_hierarchy.h"
#include "backends/format/hierarchy.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/store/file_name.h"
#include "backends/store/store.h"
#include "backends/store/zip/zip_store.h"
#include "model/path_name.h"

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

// `hierarchy`, with these notes added to its root. Without notes it is the same object.
std::shared_ptr<const Hierarchy> WithNotes(std::shared_ptr<const Hierarchy> hierarchy,
                                           std::vector<std::string> notes) {
  if (notes.empty()) return hierarchy;
  return std::make_shared<NotedHierarchy>(std::move(hierarchy), std::move(notes));
}

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

// A root group whose children are the roots of other hierarchies: the object "/temp" of the
// hierarchy that `folders` calls "a" is "/a/temp" here. `stamp` tells the version of the whole.
std::shared_ptr<const Hierarchy> MakeFolderHierarchy(
    std::string_view format, std::map<std::string, std::shared_ptr<const Hierarchy>> folders,
    std::function<model::Result<std::optional<ValueInfo>>()> stamp) {
  return std::make_shared<FolderHierarchy>(format, std::move(folders), std::move(stamp));
}

// The most folders with a hierarchy in one archive: if there are more, they are no hierarchies.
constexpr size_t kMaxFolders = 1000;

// The folder that a member called `name` makes a hierarchy of: "" for the root
// of the archive; nullopt if it does not.
std::optional<std::string_view> FolderOf(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    if (IsZarrMetadataName(name)) return "";
  } else if (IsZarrMetadataName(name.substr(slash + 1))) {
    return name.substr(0, slash);
  }
  return std::nullopt;
}

// Whether a member of this name, or of the one that is meant, makes a hierarchy.
bool IsOfZarr(std::string_view member) {
  if (FolderOf(member)) return true;
  const auto sound = SoundZipName(member, member.find('/') == member.npos);
  return sound && FolderOf(*sound);
}

// All such folders, at least one; only the root if that is one.
model::Result<std::set<std::string>> FindFolders(const ZipDirectory& directory) {
  std::set<std::string> folders;
  for (size_t i = 0; i < directory.size(); ++i) {
    const auto folder = FolderOf(directory.name(i));
    if (!folder) continue;
    if (folder->empty()) return std::set<std::string>{""};
    if (folders.size() < kMaxFolders) folders.emplace(*folder);
  }
  if (!folders.empty()) return folders;
  return model::BadInput("no Zarr metadata at its root, nor one folder down");
}

// Extensions that are for nothing else.
bool IsNamedAsZarr(std::string_view name) {
  return HasExtension(name, ".zarr.zip") || HasExtension(name, ".zarr");
}

class ZarrZip final : public Format {
 public:
  std::string_view name() const override { return "Zarr in ZIP"; }

  // Any archive; ConfirmFile() tells whether there is Zarr in it.
  bool ProbeContent(ConstByteSpan head) const override {
    return AsText(head).starts_with(kZipMemberSignature);
  }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, ".zip") || HasExtension(name, ".zarr");
  }
  bool ProbeFile(std::string_view name, ConstByteSpan head) const override {
    return ProbeContent(head) || HasExtension(name, ".zarr.zip");
  }
  model::Result<bool> ConfirmFile(std::string_view name, const Store& file) const override {
    if (IsNamedAsZarr(name)) return true;
    NDLFS_TRY(const bool has_zarr, ZipDirectory::AnyName(file, &IsOfZarr));
    if (has_zarr) return true;
    // It may be cut short, and then has no directory. Its first member tells what it was.
    constexpr size_t kBeginning = 4096;
    NDLFS_TRY(const auto head, file.Get("", kBeginning, {.range = {0, kBeginning}}));
    return head && IsOfZarr(FirstZipName(AsText(head->bytes.span())));
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    NDLFS_TRY(const auto store, ZipStore::Open(source->OpenFile(path)));
    NDLFS_TRY(const auto folders, FindFolders(store->directory()), store->Describe(""));
    const auto& notes = store->directory().notes();
    if (folders.begin()->empty()) {
      NDLFS_TRY(auto hierarchy, OpenZarr(store, "", ArrayName(path), options));
      return WithNotes(std::move(hierarchy), notes);
    }
    std::map<std::string, std::shared_ptr<const Hierarchy>> hierarchies;
    for (const std::string& folder : folders) {
      NDLFS_TRY(hierarchies[folder], OpenZarr(store, folder, folder, options));
    }
    return WithNotes(MakeFolderHierarchy("Zarr in ZIP", std::move(hierarchies),
                                         [store] { return store->InfoNow(); }),
                     notes);
  }

 private:
  // "a/lat.zarr.zip" -> "lat"
  static std::string ArrayName(const std::string& path) {
    const std::string name = StoreNameOf(path, ".zip");
    return StoreNameOf(name, ".zarr");
  }
};

}  // namespace

const Format& ZarrZipFormat() {
  static const ZarrZip format;
  return format;
}

}  // namespace ndlfs::backends
