// SPDX-License-Identifier: MIT
#include "backends/format/zarr/zarr_format.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/metadata_files.h"
#include "backends/format/node_cache.h"
#include "backends/format/zarr/metadata_reader.h"
#include "backends/format/zarr/nczarr_keys.h"
#include "backends/format/zarr/node_builder.h"
#include "backends/store/caller.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/path_name.h"
#include "model/string_hash.h"

namespace ndlfs::backends {

namespace zarr {
namespace {

// A hierarchy of Zarr v2 or v3. Its only state are caches: every answer is about the store at
// that moment.
class ZarrHierarchy final : public Hierarchy, public FindsMetadataFiles {
 public:
  static model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Store> store, std::string prefix, std::string name,
      const OpenOptions& options);

  std::string_view format() const override;
  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override;
  model::Result<std::vector<std::string>> List(std::string_view path) const override;
  model::Result<uint64_t> Version(std::string_view path) const override;
  model::Result<MetadataFiles> FindFiles(std::string_view path) const override;
  uint64_t held_bytes() const override { return reader_.held_bytes() + outlines_bytes_; }

 private:
  ZarrHierarchy(std::shared_ptr<const Store> store, std::string prefix, std::string name,
                const OpenOptions& options)
      : reader_(std::move(store), std::move(prefix), options.search_holds),
        name_(std::move(name)),
        options_(options) {}

  struct Loaded {
    std::shared_ptr<const Node> node;
    uint64_t version;
  };
  // The node as described by its own metadata.
  model::Result<Loaded> LoadAlone(const MetadataReader::Root& root,
                                  std::string_view path) const;
  // The node with its dimensions linked to the coordinates that exist now, and the version of
  // all these.
  model::Result<Loaded> LoadLinked(std::string_view path) const;
  model::Result<Loaded> TryLoadLinked(std::string_view path) const;
  model::Result<Node> Build(const MetadataReader::Root& root, const NodeFiles& files,
                            std::string_view path) const;
  // Links dimensions to their coordinates, and drops references to missing ones.
  void Link(const MetadataReader::Root& root, std::string_view path,
            model::Ndarray& array) const;
  // The dimensions that the group at `path` declares; none if it cannot be loaded.
  std::shared_ptr<const nczarr::Dimensions> DimensionsOf(const MetadataReader::Root& root,
                                                         std::string_view path) const;
  bool IsNczarr(const MetadataReader::Root& root) const;

  // The names and sizes of a node's dimensions. They may be linked, so the version of the node
  // depends on them as well as on its own files. Null if nothing is linked.
  using Outline = std::shared_ptr<const model::Ndarray>;
  // Notes the outline of `node`, which was just built. `version` is that of its own files.
  void NoteOutline(std::string_view path, uint64_t version, const Node& node) const
      EXCLUDES(mutex_);
  Outline OutlineOf(const model::Ndarray& array) const REQUIRES(mutex_);
  std::optional<Outline> KnownOutline(std::string_view path, uint64_t version) const
      EXCLUDES(mutex_);
  // The version of a node without loading it; nullopt if it has to be loaded.
  model::Result<std::optional<uint64_t>> KnownVersion(std::string_view path) const;

  MetadataReader reader_;
  const std::string name_;
  const OpenOptions options_;
  bool is_v3_ = false;
  enum class Nczarr : uint8_t { kUnknown, kNo, kYes };
  mutable std::atomic<Nczarr> nczarr_ = Nczarr::kUnknown;
  mutable NodeCache alone_;
  mutable NodeCache linked_;

  // The dimensions of the groups that were asked for last, with their versions.
  struct Declared {
    uint64_t version;
    std::shared_ptr<const nczarr::Dimensions> dimensions;
  };
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Declared, model::StringHash> declared_
      GUARDED_BY(mutex_){64};

  // Outlines by the path of a node and the version of its files. Arrays with the same
  // dimensions share one.
  static constexpr uint64_t kMostOutlineBytes = uint64_t{16} << 20;
  static constexpr uint64_t kOutlineEntryBytes = 64;  // about what an entry of the map takes
  mutable std::unordered_map<uint64_t, Outline> outlines_ GUARDED_BY(mutex_);
  mutable Outline latest_outline_ GUARDED_BY(mutex_);
  mutable std::atomic<uint64_t> outlines_bytes_{0};
};

model::Failure NoSuchNode(std::string_view path) {
  return model::NotFound("no group or array {}", model::Quote(path));
}

// There is nothing at what is no path of a node, so that no key climbs out of
// the store.
model::Result<void> CheckPath(std::string_view path) {
  if (path == "/") return {};
  const bool sound = path.starts_with('/') && !path.ends_with('/') &&
                     path.find("//") == path.npos && path.find('\0') == path.npos;
  if (!sound) return NoSuchNode(path);
  for (const std::string_view name : model::SplitPath(path)) {
    if (name == "." || name == "..") return NoSuchNode(path);
  }
  return {};
}

model::Result<void> CheckNames(std::string_view path) {
  for (const std::string_view name : model::SplitPath(path)) {
    if (IsReservedName(name))
      return model::BadInput("a node cannot be called {}", model::Quote(name));
  }
  return {};
}

std::string NoteOfImplicit(const NodeFiles& files) {
  const std::string_view document =
      files.kind == NodeFiles::Kind::kV3 ? "zarr.json" : ".zgroup";
  return fmt::format(
      "read as a group although it has no {}, as there are nodes below it; the "
      "specification has one in every group",
      document);
}

// A node that shares the source of another, which it keeps alive, so that the
// other is found again as long as this one is used.
struct LinkedNode {
  std::shared_ptr<const Node> alone;
  Node node;
};

std::shared_ptr<const Node> MakeLinked(std::shared_ptr<const Node> alone, model::Shape shape) {
  auto linked = std::make_shared<LinkedNode>();
  linked->node = *alone;
  std::get<model::Ndarray>(linked->node.entity).shape = std::move(shape);
  linked->alone = std::move(alone);
  const Node* node = &linked->node;
  return {std::move(linked), node};
}

// The present extent along a dimension, even if it is unlimited.
uint64_t StoredExtent(const model::Ndarray& array, size_t i) {
  if (array.shape[i].size) return *array.shape[i].size;
  return array.storage.shape ? (*array.storage.shape)[i] : array.storage.size.value_or(0);
}

// `version`, and which coordinates the dimensions are linked to.
uint64_t AddLinks(uint64_t version, const model::Shape& shape) {
  std::string links;
  for (const model::Dimension& dimension : shape) links += dimension.dimcoord + '\n';
  return version ^ std::hash<std::string>()(links);
}

// All files of an archive have the version of the archive, so the version alone tells no node.
uint64_t OutlineKey(std::string_view path, uint64_t version) {
  return version ^ std::hash<std::string_view>()(path);
}

model::Result<std::shared_ptr<const Hierarchy>> ZarrHierarchy::Open(
    std::shared_ptr<const Store> store, std::string prefix, std::string name,
    const OpenOptions& options) {
  std::shared_ptr<ZarrHierarchy> hierarchy(
      new ZarrHierarchy(std::move(store), std::move(prefix), std::move(name), options));
  NDLFS_RETURN_IF_ERROR(hierarchy->reader_.LookForNczarrObjects());
  NDLFS_TRY(const auto root, hierarchy->reader_.LookAtRoot());
  hierarchy->is_v3_ = root.is_v3();
  return hierarchy;
}

// Read when it is asked for: whether it is NCZarr, its documents say.
std::string_view ZarrHierarchy::format() const {
  if (is_v3_) return "Zarr v3";
  // Two threads may find it out at the same time.
  Nczarr known = nczarr_;
  if (known == Nczarr::kUnknown) {
    const auto root = reader_.LookAtRoot();
    if (!root) return "Zarr v2";
    nczarr_ = known = IsNczarr(*root) ? Nczarr::kYes : Nczarr::kNo;
  }
  return known == Nczarr::kYes ? "NCZarr" : "Zarr v2";
}

bool ZarrHierarchy::IsNczarr(const MetadataReader::Root& root) const {
  const auto files = reader_.Find(root, "/");
  if (!files || files->kind == NodeFiles::Kind::kNone) return false;
  const auto documents = reader_.Read(*files, "/");
  return documents && nczarr::HasKeys({documents->document->json(), documents->attributes,
                                       documents->separate});
}

std::shared_ptr<const nczarr::Dimensions> ZarrHierarchy::DimensionsOf(
    const MetadataReader::Root& root, std::string_view path) const {
  static const auto kNone = std::make_shared<const nczarr::Dimensions>();
  if (!CheckPath(path)) return kNone;
  const auto files = reader_.Find(root, path);
  if (!files || files->kind != NodeFiles::Kind::kV2Group) return kNone;
  const std::array stamps = {files->stamp, files->attributes_stamp};
  const uint64_t version = HashVersions(stamps);
  {
    const model::MutexLock lock(mutex_);
    const Declared* found = declared_.Find(path);
    if (found != nullptr && found->version == version) return found->dimensions;
  }
  const uint64_t denials = CallerScope::denials();
  const auto documents = reader_.Read(*files, path);
  if (!documents || CallerScope::denials() != denials) return kNone;
  Declared declared{
      version, std::make_shared<const nczarr::Dimensions>(nczarr::FindDimensions(
                   {documents->document->json(), documents->attributes, documents->separate}))};
  const model::MutexLock lock(mutex_);
  declared_.Put(std::string(path), declared);
  return declared.dimensions;
}

model::Result<Node> ZarrHierarchy::Build(const MetadataReader::Root& root,
                                         const NodeFiles& files, std::string_view path) const {
  const uint64_t denials =
      CallerScope::denials();  // with those of groups whose dimensions it has
  NDLFS_TRY(const NodeDocuments documents, reader_.Read(files, path));
  bool is_by_groups = false;  // not by its own files alone
  NodePlace place{reader_.store(), std::string(path), std::string(model::BaseName(path)),
                  reader_.Key(path, ""), [&](std::string_view group) {
                    is_by_groups = true;
                    return DimensionsOf(root, group);
                  }};
  if (!place.key_prefix.empty()) place.key_prefix += '/';
  if (path == "/" && files.kind != NodeFiles::Kind::kV2Group) place.name = name_;
  NDLFS_TRY(Node node, BuildNode(files.kind, documents, place, options_),
            reader_.Describe(files));
  node.has_json_attributes = true;
  if (path == "/" && node.is_group()) std::get<model::Group>(node.entity).name.clear();
  if (node.error) node.error = std::move(*node.error).In(reader_.Describe(files));
  if (documents.attributes_error && !node.error) node.error = documents.attributes_error;
  if (files.is_implicit) node.notes.push_back(NoteOfImplicit(files));
  node.mtime_ns = files.mtime_ns();
  node.files = reader_.Files(files);
  node.is_partial = node.is_partial || CallerScope::denials() != denials;
  const bool is_transient = node.is_partial || (node.error && node.error->is_transient());
  if (path != "/" && !is_transient && !is_by_groups) {
    const std::array stamps = {files.stamp, files.attributes_stamp};
    NoteOutline(path, HashVersions(stamps), node);
  }
  return node;
}

model::Result<ZarrHierarchy::Loaded> ZarrHierarchy::LoadAlone(const MetadataReader::Root& root,
                                                              std::string_view path) const {
  NDLFS_RETURN_IF_ERROR(CheckPath(path));
  NDLFS_TRY(const NodeFiles files, reader_.Find(root, path));
  if (files.kind == NodeFiles::Kind::kNone) return NoSuchNode(path);
  if (root.is_v3()) NDLFS_RETURN_IF_ERROR(CheckNames(path));
  const std::array stamps = {files.stamp, files.attributes_stamp};
  const uint64_t version = HashVersions(stamps);
  if (auto node = alone_.Find(path, version)) return Loaded{std::move(node), version};
  NDLFS_TRY(Node node, Build(root, files, path));
  return Loaded{alone_.Insert(path, version, std::make_shared<const Node>(std::move(node))),
                version};
}

void ZarrHierarchy::Link(const MetadataReader::Root& root, std::string_view path,
                         model::Ndarray& array) const {
  const auto load = [&](std::string_view coordinate) -> std::shared_ptr<const Node> {
    auto node = LoadAlone(root, coordinate);
    return node ? std::move(node->node) : nullptr;
  };
  const bool by_path = std::any_of(array.shape.begin(), array.shape.end(),
                                   [](const auto& d) { return !d.dimcoord.empty(); });
  if (!by_path) return LinkDimensions(model::ParentPath(path), array, load);
  for (size_t i = 0; i < array.shape.size(); ++i) {
    std::string& target = array.shape[i].dimcoord;
    const auto node = target.empty() ? nullptr : load(target);
    const auto* found = node ? std::get_if<model::DimCoord>(&node->entity) : nullptr;
    if (!found || StoredExtent(*found, 0) != StoredExtent(array, i)) target.clear();
  }
}

// A file may change between a look at it and its being read: then look again.
model::Result<ZarrHierarchy::Loaded> ZarrHierarchy::LoadLinked(std::string_view path) const {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    auto loaded = TryLoadLinked(path);
    const bool is_stale = !loaded && loaded.error().code() == model::ErrorCode::kStale;
    if (!is_stale || attempt == kAttempts) return loaded;
    reader_.ForgetLooks();
  }
}

model::Result<ZarrHierarchy::Loaded> ZarrHierarchy::TryLoadLinked(std::string_view path) const {
  NDLFS_TRY(const auto root, reader_.LookAtRoot());
  NDLFS_TRY(Loaded loaded, LoadAlone(root, path));
  const auto* array = std::get_if<model::Ndarray>(&loaded.node->entity);
  if (!array || array->dimension_names.empty() || path == "/") return loaded;

  // As much of the array as Link() needs.
  model::Ndarray linked;
  linked.name = array->name;
  linked.shape = array->shape;
  linked.dimension_names = array->dimension_names;
  linked.storage.size = array->storage.size;
  linked.storage.shape = array->storage.shape;
  Link(root, path, linked);
  if (linked.shape == array->shape) return loaded;
  const uint64_t version = AddLinks(loaded.version, linked.shape);
  auto node = linked_.Find(path, version);
  if (!node) {
    node = linked_.Insert(path, version, MakeLinked(loaded.node, std::move(linked.shape)));
  }
  return Loaded{std::move(node), version};
}

model::Result<std::shared_ptr<const Node>> ZarrHierarchy::Load(std::string_view path) const {
  NDLFS_TRY(Loaded loaded, LoadLinked(path));
  return std::move(loaded.node);
}

void ZarrHierarchy::NoteOutline(std::string_view path, uint64_t version,
                                const Node& node) const {
  const auto* array = std::get_if<model::Ndarray>(&node.entity);
  const bool is_named = array != nullptr && !array->dimension_names.empty();
  const auto is_by_path = [](const auto& dimension) { return !dimension.dimcoord.empty(); };
  if (is_named && std::ranges::any_of(array->shape, is_by_path)) return;
  const model::MutexLock lock(mutex_);
  if (outlines_bytes_ >= kMostOutlineBytes) {
    outlines_.clear();
    outlines_bytes_ = 0;
  }
  outlines_bytes_ += kOutlineEntryBytes;
  outlines_[OutlineKey(path, version)] = is_named ? OutlineOf(*array) : nullptr;
}

ZarrHierarchy::Outline ZarrHierarchy::OutlineOf(const model::Ndarray& array) const {
  if (latest_outline_ != nullptr && latest_outline_->shape == array.shape &&
      latest_outline_->dimension_names == array.dimension_names) {
    return latest_outline_;
  }
  auto outline = std::make_shared<model::Ndarray>();
  outline->shape = array.shape;
  outline->dimension_names = array.dimension_names;
  outlines_bytes_ += sizeof(model::Ndarray);
  for (const std::string& name : array.dimension_names) {
    outlines_bytes_ += sizeof(model::Dimension) + 2 * (sizeof(name) + name.size());
  }
  latest_outline_ = std::move(outline);
  return latest_outline_;
}

std::optional<ZarrHierarchy::Outline> ZarrHierarchy::KnownOutline(std::string_view path,
                                                                  uint64_t version) const {
  const model::MutexLock lock(mutex_);
  const auto found = outlines_.find(OutlineKey(path, version));
  return found == outlines_.end() ? std::nullopt : std::optional(found->second);
}

model::Result<std::optional<uint64_t>> ZarrHierarchy::KnownVersion(
    std::string_view path) const {
  NDLFS_TRY(const auto root, reader_.LookAtRoot());
  NDLFS_RETURN_IF_ERROR(CheckPath(path));
  NDLFS_TRY(const NodeFiles files, reader_.Find(root, path));
  if (files.kind == NodeFiles::Kind::kNone) return NoSuchNode(path);
  const std::array stamps = {files.stamp, files.attributes_stamp};
  const uint64_t version = HashVersions(stamps);
  if (path == "/") return version;  // it has no links
  const auto outline = KnownOutline(path, version);
  if (!outline) return std::nullopt;
  if (*outline == nullptr) return version;
  model::Ndarray linked = **outline;
  linked.name = model::BaseName(path);
  Link(root, path, linked);
  return linked.shape == (*outline)->shape ? version : AddLinks(version, linked.shape);
}

// Kept looks hold from the time when the version of the root was asked for.
model::Result<uint64_t> ZarrHierarchy::Version(std::string_view path) const {
  if (path == "/") reader_.ForgetKeptLooks();
  const auto known = KnownVersion(path);
  if (known && *known) return **known;
  if (!known && known.error().code() == model::ErrorCode::kNotFound) {
    return model::Propagate(known.error());
  }
  auto loaded = LoadLinked(path);
  if (loaded) return loaded->version;
  if (loaded.error().code() == model::ErrorCode::kNotFound) {
    return model::Propagate(std::move(loaded).error());
  }
  // The version of a node that cannot be loaded is that of its files alone.
  NDLFS_TRY(const auto root, reader_.LookAtRoot());
  NDLFS_RETURN_IF_ERROR(CheckPath(path));
  NDLFS_TRY(const NodeFiles files, reader_.Find(root, path));
  const std::array stamps = {files.stamp, files.attributes_stamp};
  return HashVersions(stamps);
}

model::Result<MetadataFiles> ZarrHierarchy::FindFiles(std::string_view path) const {
  NDLFS_TRY(const auto root, reader_.LookAtRoot());
  NDLFS_RETURN_IF_ERROR(CheckPath(path));
  NDLFS_TRY(const NodeFiles files, reader_.Find(root, path));
  if (files.kind == NodeFiles::Kind::kNone) return NoSuchNode(path);
  return MetadataFiles{files.mtime_ns(), reader_.Files(files)};
}

model::Result<std::vector<std::string>> ZarrHierarchy::List(std::string_view path) const {
  NDLFS_TRY(const auto root, reader_.LookAtRoot());
  NDLFS_RETURN_IF_ERROR(CheckPath(path));
  NDLFS_TRY(const NodeFiles files, reader_.Find(root, path));
  if (files.kind == NodeFiles::Kind::kNone) return NoSuchNode(path);
  if (files.kind == NodeFiles::Kind::kV2Array) return std::vector<std::string>();
  if (files.kind == NodeFiles::Kind::kV3) {
    // A group that cannot be loaded may still have children.
    const auto node = LoadAlone(root, path);
    if (node && !node->node->is_group()) return std::vector<std::string>();
  }
  return reader_.Children(root, path);
}

}  // namespace
}  // namespace zarr

namespace {

constexpr std::array<std::string_view, 4> kMetadataNames = {"zarr.json", ".zgroup", ".zarray",
                                                            ".zmetadata"};

// "a/lat.zarr" -> "lat": what a directory that is one array is called.
std::string ArrayName(const Source& source, std::string_view path) {
  return StoreNameOf(path.empty() ? std::string_view(source.name()) : path, ".zarr");
}

class Zarr final : public Format {
 public:
  std::string_view name() const override { return "Zarr"; }

  DirectoryMarkers directory_markers() const override { return {kMetadataNames, true}; }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    return OpenZarr(source->OpenStore(path), "", ArrayName(*source, path), options);
  }
};

}  // namespace

const Format& ZarrFormat() {
  static const Zarr format;
  return format;
}

bool IsZarrMetadataName(std::string_view name) {
  return std::find(kMetadataNames.begin(), kMetadataNames.end(), name) != kMetadataNames.end();
}

model::Result<std::shared_ptr<const Hierarchy>> OpenZarr(std::shared_ptr<const Store> store,
                                                         std::string prefix, std::string name,
                                                         const OpenOptions& options) {
  return zarr::ZarrHierarchy::Open(std::move(store), std::move(prefix), std::move(name),
                                   options);
}

}  // namespace ndlfs::backends
