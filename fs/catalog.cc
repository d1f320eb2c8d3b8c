// SPDX-License-Identifier: MIT
#include "fs/catalog.h"

#include <algorithm>
#include <utility>

namespace ndlfs::fs {

std::shared_ptr<MountedStore> Catalog::Find(const std::string& path,
                                            const struct ::stat& status) {
  const bool is_directory = S_ISDIR(status.st_mode);
  if (!is_directory && !S_ISREG(status.st_mode)) return nullptr;
  if (auto store = FindKnown(path, status)) {
    store->NoteStatus(status);
    return store;
  }
  if (services_.detect(path, is_directory) == nullptr) return nullptr;
  return Keep(path, status);
}

// A file is what it was as long as its stamp is the same. What makes a
// directory a store are files in it, which may be replaced without a trace in
// the directory itself: there, only time counts.
std::shared_ptr<MountedStore> Catalog::FindKnown(const std::string& path,
                                                 const struct ::stat& status) const {
  model::MutexLock lock(mutex_);
  const auto it = known_.find(path);
  if (it == known_.end()) return nullptr;
  const Known& known = it->second;
  const bool holds = S_ISDIR(status.st_mode) ? services_.freshness.Holds(known.detected)
                                             : known.stamp == backends::StampOf(status);
  auto store = holds ? known.store.lock() : nullptr;
  if (!store || store->is_directory() != S_ISDIR(status.st_mode)) return nullptr;
  return store;
}

std::shared_ptr<MountedStore> Catalog::Keep(const std::string& path,
                                            const struct ::stat& status) {
  model::MutexLock lock(mutex_);
  Known& known = known_[path];
  auto store = known.store.lock();
  if (!store || store->is_directory() != S_ISDIR(status.st_mode)) {
    store = std::make_shared<MountedStore>(services_, path, status);
    known.store = store;
  } else {
    store->NoteStatus(status);
  }
  known.stamp = backends::StampOf(status);
  known.detected = services_.freshness.Now();
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& item) { return item.second.store.expired(); });
    sweep_at_ = std::max<size_t>(1024, 2 * known_.size());
  }
  return store;
}

size_t Catalog::size() const {
  model::MutexLock lock(mutex_);
  return known_.size();
}

}  // namespace ndlfs::fs
