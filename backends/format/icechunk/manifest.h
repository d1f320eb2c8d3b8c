// SPDX-License-Identifier: MIT
#pragma once

#include <zstd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backends/base/bytes.h"
#include "backends/format/icechunk/manifest_generated.h"
#include "backends/format/icechunk/object_id.h"
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

// The manifests that were used last, found again by their ids, in bounded memory; the last one
// however large it is. Thread-safe.
class ManifestCache {
 public:
  using Load = std::function<model::Result<std::shared_ptr<const Manifest>>()>;
  // Calls `load` once for a manifest, also if several threads want it at once.
  model::Result<std::shared_ptr<const Manifest>> GetOrLoad(const ObjectId& id, const Load& load)
      EXCLUDES(mutex_);
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  std::shared_ptr<const Manifest> Find(const std::string& key) EXCLUDES(mutex_);

  mutable model::Mutex mutex_;
  model::BoundedMap<std::string, std::shared_ptr<const Manifest>> kept_ GUARDED_BY(mutex_){
      kMostBytes};
  // Held while a manifest is loaded, one of them for each id. Taken before mutex_.
  std::array<model::Mutex, 61> loading_;
};

}  // namespace ndlfs::backends::icechunk
