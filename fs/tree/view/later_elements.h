// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "fs/tree/store/mounted_store.h"
#include "fs/view/elements/element_source.h"
#include "model/memory_budget.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The elements of an array in a view that is made of very many arrays. Holds the array only
// once its elements have been read. Until then only the version of the array's metadata counts.
// Reads fail with kStale if the array has another version by then.
class LaterElements final : public ElementSource,
                            public std::enable_shared_from_this<LaterElements> {
 public:
  // Whether `entity` can be found again by its version.
  static bool CanBeOf(const Entity& entity);

  // The elements of `entity`, an array of `store`, are `size` bytes. When the array is held,
  // adds the memory that it takes to `held_bytes`.
  LaterElements(std::shared_ptr<MountedStore> store, const Entity& entity, uint64_t size,
                std::shared_ptr<std::atomic<uint64_t>> held_bytes);

  uint64_t size() const override { return size_; }
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder order,
                           cache::ReadHint hint) const override;
  model::Result<std::shared_ptr<const cache::ArrayReader>> Reader() const override;
  model::Result<void> VisitChunks(const ChunkVisitor& visit) const override;
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override;

  const std::string& path() const { return path_; }
  uint64_t version() const { return version_; }  // of the metadata

  // Holds `entity`, the array that it was made for, from now on.
  void Hold(EntityPtr entity) const EXCLUDES(mutex_);
  // The array, if it is held; otherwise null.
  EntityPtr entity() const EXCLUDES(mutex_);
  // The elements of the array, which is held from now on.
  model::Result<std::shared_ptr<const ElementSource>> Load() const EXCLUDES(mutex_);

 private:
  model::Result<EntityPtr> FindArray() const;

  const std::shared_ptr<MountedStore> store_;
  const std::string path_;
  const uint64_t version_;
  const uint64_t size_;
  const std::shared_ptr<std::atomic<uint64_t>> held_bytes_;
  mutable model::Mutex mutex_;
  mutable EntityPtr entity_ GUARDED_BY(mutex_);
  mutable model::MemoryBudget::Held charged_ GUARDED_BY(mutex_);
  mutable std::shared_ptr<const ElementSource> elements_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
