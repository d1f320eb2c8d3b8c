// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/icechunk/object_id.h"
#include "backends/format/icechunk/snapshot_generated.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::icechunk {

// Finds, among the manifests of one array, the one that has a chunk.
class ManifestIndex {
 public:
  // kCorrupt if there are extents of another rank than `rank`.
  static model::Result<ManifestIndex> Make(const fb::ArrayNodeData& array, size_t rank);

  // The number of the manifest in `array`; nullopt if none has the chunk. kCorrupt if two have,
  // and if the chunk has another rank.
  model::Result<std::optional<uint32_t>> Find(const fb::ArrayNodeData& array,
                                              std::span<const uint32_t> chunk) const;
  uint64_t held_bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint32_t from;
    uint32_t most_to;  // of this entry and all before it
    uint32_t number;
  };
  size_t rank_ = 0;  // of all extents
  size_t dim_ = 0;   // along which they are searched
  std::vector<Entry> entries_;
};

// One version of a hierarchy: all nodes with their metadata. Immutable; thread-safe.
class Snapshot {
 public:
  // kCorrupt if the nodes are not sorted, if a path is none, or if it is another snapshot.
  static model::Result<std::shared_ptr<const Snapshot>> Make(Bytes payload, const ObjectId& id);

  const ObjectId& id() const { return id_; }
  uint64_t written_us() const { return root_->flushed_at(); }

  size_t size() const { return root_->nodes()->size(); }
  const fb::NodeSnapshot& node(size_t i) const {
    return *(*root_->nodes())[static_cast<unsigned>(i)];
  }
  // The node at "/a/b"; null if there is none.
  const fb::NodeSnapshot* Find(std::string_view path) const;
  // The number of the first node whose path is not less.
  size_t LowerBound(std::string_view path) const;

  // Changes with the metadata of a node, and with the manifests of its chunks.
  static uint64_t VersionOf(const fb::NodeSnapshot& node);

  // The manifest that has the chunk of the array `node`; null if none has it.
  model::Result<const fb::ManifestRef*> FindManifest(const fb::NodeSnapshot& node,
                                                     std::span<const uint32_t> chunk) const
      EXCLUDES(mutex_);
  // How many bytes the payload of the manifest may have.
  uint64_t LimitOf(const ObjectId& manifest) const;

  uint64_t held_bytes() const;

 private:
  Snapshot(Bytes payload, const fb::Snapshot* root, const ObjectId& id)
      : payload_(std::move(payload)), root_(root), id_(id) {}

  const Bytes payload_;
  const fb::Snapshot* const root_;
  const ObjectId id_;
  mutable model::Mutex mutex_;
  mutable std::unordered_map<const fb::NodeSnapshot*, std::shared_ptr<const ManifestIndex>>
      indexes_ GUARDED_BY(mutex_);
  mutable uint64_t index_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::backends::icechunk
