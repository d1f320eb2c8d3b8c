// SPDX-License-Identifier: MIT
#include "fs/tree/catalog.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/store/answer_age.h"
#include "backends/store/file_name.h"
#include "backends/store/source_clock.h"

namespace ndlfs::fs {

model::Result<std::shared_ptr<MountedStore>> Catalog::Find(const std::string& path,
                                                           const backends::FileStatus& status) {
  const backends::AnswerAge age(services_.freshness.Now());
  const bool is_directory = status.is_directory();
  if (!is_directory && !status.is_file()) return nullptr;
  const bool may_be_plain =
      !is_directory && !backends::MayBeStoreFile(backends::FileNameOf(path));
  if (may_be_plain && IsKnownPlain(status)) return nullptr;
  if (auto store = FindKnown(path, status)) {
    store->NoteStatus(status);
    return store;
  }
  if (auto store = FindOpen(path, status, age)) return store;
  const backends::FileLook look = services_.detect(path, is_directory);
  if (look.error) return model::Propagate(*look.error, path);
  if (look.format != nullptr) {
    auto store = Keep(path, status, age);
    store->NoteFormat(look.format, look.version.value_or(backends::Generation()));
    return store;
  }
  if (may_be_plain && look.version == status.version && IsSettled(status)) {
    plain_files_.Add(*look.version);
  }
  return nullptr;
}

model::Result<std::shared_ptr<MountedStore>> Catalog::OfCaller(
    const std::shared_ptr<MountedStore>& store) {
  if (store->caller_id() == backends::CallerScope::CurrentId()) return store;
  NDLFS_TRY(const auto status, services_.source->Stat(store->path(), backends::Follow::kNo),
            store->path());
  if (!status) return model::HasChanged(store->path());
  const uint64_t denials = backends::CallerScope::denials();
  NDLFS_TRY(auto own, Find(store->path(), *status));
  if (own && !store->version().ref.empty()) return FindVersion(own, store->version());
  if (own) return own;
  if (backends::CallerScope::denials() != denials) return model::IoError(EACCES, store->path());
  return model::HasChanged(store->path());
}

std::shared_ptr<MountedStore> Catalog::FindVersion(const std::shared_ptr<MountedStore>& store,
                                                   const StoreVersion& version) {
  const backends::FileStatus status = store->status();
  std::string key = KeyOf(store->path(), version.ref);
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(key);
  auto found = known != nullptr ? known->object.lock() : nullptr;
  if (found) return found;
  found = std::make_shared<MountedStore>(services_, store->path(), status, version);
  known_.Put(std::move(key), found, {status.version, services_.freshness.Now()});
  return found;
}

std::string Catalog::KeyOf(const std::string& path, const std::string& ref) {
  const uint64_t caller = backends::CallerScope::CurrentId();
  std::string key = caller == 0 ? path : path + '\0' + std::to_string(caller);
  if (!ref.empty()) key += '\0' + ref;
  return key;
}

bool Catalog::IsKnownPlain(const backends::FileStatus& status) const {
  if (!looks_into_files()) return true;
  return status.size < backends::kSmallestStoreFile || plain_files_.Contains(status.version);
}

// Two seconds are the coarsest there is, and a time to come is no time to go by.
bool Catalog::IsSettled(const backends::FileStatus& status) const {
  if (services_.freshness.immutable()) return true;
  constexpr std::chrono::seconds kCoarsest(2);
  const auto clock = services_.source->ClockNs();
  return backends::IsOlderThan(std::max(status.mtime_ns, status.ctime_ns), kCoarsest, clock);
}

// A file with the same generation is the same. But a directory is a store because of files in
// it, and these may be replaced without a trace in the directory itself: there, only time
// counts.
std::shared_ptr<MountedStore> Catalog::FindKnown(const std::string& path,
                                                 const backends::FileStatus& status) const {
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(KeyOf(path));
  if (known == nullptr) return nullptr;
  const bool holds = status.is_directory() ? services_.freshness.Holds(known->note.detected)
                                           : known->note.generation == status.version;
  auto store = holds ? known->object.lock() : nullptr;
  if (!store || store->is_directory() != status.is_directory()) return nullptr;
  return store;
}

std::shared_ptr<MountedStore> Catalog::FindOpen(const std::string& path,
                                                const backends::FileStatus& status,
                                                const backends::AnswerAge& age) {
  if (!status.is_directory() || !services_.source->looks_are_requests()) return nullptr;
  std::shared_ptr<MountedStore> store;
  {
    model::MutexLock lock(mutex_);
    const auto* known = known_.Find(KeyOf(path));
    if (known != nullptr) store = known->object.lock();
  }
  if (!store || !store->is_directory() || !store->IsStillThere()) return nullptr;
  return Keep(path, status, age);
}

std::shared_ptr<MountedStore> Catalog::Keep(const std::string& path,
                                            const backends::FileStatus& status,
                                            const backends::AnswerAge& age) {
  model::MutexLock lock(mutex_);
  std::string key = KeyOf(path);
  const auto* known = known_.Find(key);
  auto store = known != nullptr ? known->object.lock() : nullptr;
  if (!store || store->is_directory() != status.is_directory()) {
    store = std::make_shared<MountedStore>(services_, path, status);
  } else {
    store->NoteStatus(status);
  }
  known_.Put(std::move(key), store, {status.version, age.since()});
  return store;
}

bool Catalog::KnowsStore(const std::string& path) const {
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(KeyOf(path));
  return known != nullptr && !known->object.expired();
}

size_t Catalog::size() const {
  model::MutexLock lock(mutex_);
  return known_.size();
}

}  // namespace ndlfs::fs
