// SPDX-License-Identifier: MIT
#pragma once

#include <zstd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backends/base/bytes.h"
#include "backends/base/new_id.h"
#include "backends/format/icechunk/manifest_generated.h"
#include "backends/format/icechunk/object_id.h"
#include "backends/store/index_cache.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::icechunk {

// Where the chunks of some arrays are, searched in the FlatBuffer as it is. Immutable;
// thread-safe.
class Manifest {
 public:
  // kCorrupt if something is not sorted, or if it is another manifest.
  static model::Result<std::shared_ptr<const Manifest>> Make(Bytes payload, const ObjectId& id);

  // The reference of the chunk of the array with the id `node`; null if there is none.
  const fb::ChunkRef* Find(const fb::ObjectId8& node, std::span<const uint32_t> chunk) const;

  // The URL of a virtual chunk.
  model::Result<std::string> LocationOf(const fb::ChunkRef& chunk) const;

  uint64_t held_bytes() const { return payload_.size() + dictionary_bytes_; }

 private:
  struct FreeDictionary {
    void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
  };
  Manifest(Bytes payload, const fb::Manifest* root);

  const Bytes payload_;
  const fb::Manifest* const root_;
  std::unique_ptr<ZSTD_DDict, FreeDictionary> dictionary_;  // null: none
  uint64_t dictionary_bytes_ = 0;
};

// The manifests that all stores of this process have in memory, or had lately. A manifest is
// written once, so its id finds it for ever. Thread-safe.
class KnownManifests {
 public:
  using Load = std::function<model::Result<std::shared_ptr<const Manifest>>()>;

  static KnownManifests& Get();

  // The manifest `name`. A name tells the source as well, and which users may see the manifest.
  // It stays in `indexes` as long as there is room. If `indexes` is null, calls `load`
  // unless the manifest is still in memory.
  model::Result<std::shared_ptr<const Manifest>> GetOrLoad(const std::string& name,
                                                           IndexCache* indexes,
                                                           const Load& load) EXCLUDES(mutex_);

 private:
  struct Known {
    uint64_t slot = 0;  // of an IndexCache
    std::weak_ptr<const Manifest> manifest;
  };
  static constexpr uint64_t kMost = 1 << 16;

  Known Find(const std::string& name) EXCLUDES(mutex_);

  const uint64_t id_ = NewId();
  mutable model::Mutex mutex_;
  model::BoundedMap<std::string, Known> known_ GUARDED_BY(mutex_){kMost};
};

}  // namespace ndlfs::backends::icechunk
