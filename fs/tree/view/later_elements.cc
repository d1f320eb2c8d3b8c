// SPDX-License-Identifier: MIT
#include "fs/tree/view/later_elements.h"

#include <utility>

namespace ndlfs::fs {
namespace {

using model::Result;

class LaterTracker final : public ReadTracker {
 public:
  LaterTracker(std::shared_ptr<const LaterElements> elements, cache::Prefetcher& prefetcher)
      : elements_(std::move(elements)), prefetcher_(prefetcher) {}

  // Where the array cannot be loaded, the read that follows says why.
  cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
    ReadTracker* const tracker = Find();
    return tracker == nullptr ? cache::ReadHint::kOnward : tracker->OnRead(offset, size);
  }
  void Expect(uint64_t offset) override {
    if (ReadTracker* const tracker = Find()) tracker->Expect(offset);
  }

 private:
  ReadTracker* Find() EXCLUDES(mutex_) {
    {
      const model::MutexLock lock(mutex_);
      if (tracker_ != nullptr) return tracker_.get();
    }
    const auto loaded = elements_->Load();
    if (!loaded) return nullptr;
    const model::MutexLock lock(mutex_);
    if (tracker_ == nullptr) tracker_ = (*loaded)->TrackReader(prefetcher_);
    return tracker_.get();
  }

  const std::shared_ptr<const LaterElements> elements_;
  cache::Prefetcher& prefetcher_;
  model::Mutex mutex_;
  std::unique_ptr<ReadTracker> tracker_ GUARDED_BY(mutex_);
};

}  // namespace

bool LaterElements::CanBeOf(const Entity& entity) {
  return entity.reader() != nullptr && entity.version() != 0 && !entity.facts().is_transient;
}

LaterElements::LaterElements(std::shared_ptr<MountedStore> store, const Entity& entity,
                             uint64_t size, std::shared_ptr<std::atomic<uint64_t>> held_bytes)
    : store_(std::move(store)),
      path_(entity.path()),
      version_(entity.version()),
      size_(size),
      held_bytes_(std::move(held_bytes)) {}

Result<void> LaterElements::Read(uint64_t offset, backends::ByteSpan out,
                                 model::ByteOrder order, cache::ReadHint hint) const {
  NDLFS_TRY(const auto elements, Load());
  return elements->Read(offset, out, order, hint);
}

Result<std::shared_ptr<const cache::ArrayReader>> LaterElements::Reader() const {
  NDLFS_TRY(const auto elements, Load());
  return elements->Reader();
}

Result<void> LaterElements::VisitChunks(const ChunkVisitor& visit) const {
  NDLFS_TRY(const auto elements, Load());
  return elements->VisitChunks(visit);
}

std::unique_ptr<ReadTracker> LaterElements::TrackReader(cache::Prefetcher& prefetcher) const {
  return std::make_unique<LaterTracker>(shared_from_this(), prefetcher);
}

void LaterElements::Hold(EntityPtr entity) const {
  const model::MutexLock lock(mutex_);
  if (entity_ != nullptr) return;
  *held_bytes_ += entity->facts().held_bytes;
  constexpr uint64_t kOfSourceAndReader = 2000;
  (void)charged_.Grow(kOfSourceAndReader + entity->node()->held_bytes());
  entity_ = std::move(entity);
}

EntityPtr LaterElements::entity() const {
  const model::MutexLock lock(mutex_);
  return entity_;
}

Result<EntityPtr> LaterElements::FindArray() const {
  auto found = store_->Get(path_);
  if (!found && found.error().code() != model::ErrorCode::kNotFound) {
    return model::Propagate(std::move(found).error(), path_);
  }
  const bool is_same = found && (*found)->version() == version_ &&
                       (*found)->reader() != nullptr &&
                       (*found)->reader()->byte_size() == size_;
  if (!is_same) return model::HasChanged(path_);
  return found;
}

Result<std::shared_ptr<const ElementSource>> LaterElements::Load() const {
  if (entity() == nullptr) {
    NDLFS_TRY(auto found, FindArray());
    Hold(std::move(found));
  }
  const model::MutexLock lock(mutex_);
  if (elements_ == nullptr) {
    NDLFS_TRY(elements_, MakeArrayElements(entity_->reader(), path_));
  }
  return elements_;
}

}  // namespace ndlfs::fs
