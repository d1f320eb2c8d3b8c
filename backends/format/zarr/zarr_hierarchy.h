// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/metadata_files.h"
#include "backends/format/node_cache.h"
#include "backends/format/zarr/metadata_reader.h"
#include "backends/format/zarr/nczarr_keys.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends::zarr {

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

}  // namespace ndlfs::backends::zarr
