// SPDX-License-Identifier: MIT
#include "backends/store/local/descriptor_cache.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/store/caller.h"

namespace ndlfs::backends {
namespace {

// Few enough to leave descriptors for FUSE, threads and logs with `ulimit -n 256`.
constexpr size_t kGlobalCapacity = 64;

bool IsOutOfDescriptors(const model::Error& error) {
  return error.reason() == model::SystemReason::kNoDescriptors;
}

}  // namespace

DescriptorCache& DescriptorCache::Global() {
  static DescriptorCache cache(kGlobalCapacity);
  return cache;
}

DescriptorCache::Handle DescriptorCache::Find(uint64_t owner, std::string_view key) {
  model::MutexLock lock(mutex_);
  const auto found = index_.find({owner, CallerScope::CurrentId(), std::string(key)});
  if (found == index_.end()) return nullptr;
  slots_.splice(slots_.begin(), slots_, found->second);
  return found->second->file;
}

void DescriptorCache::Keep(uint64_t owner, std::string_view key, Handle file) {
  Handle closed_after_unlock;
  model::MutexLock lock(mutex_);
  Key full_key{owner, CallerScope::CurrentId(), std::string(key)};
  if (const auto found = index_.find(full_key); found != index_.end()) {
    closed_after_unlock = std::exchange(found->second->file, std::move(file));
    slots_.splice(slots_.begin(), slots_, found->second);
    return;
  }
  if (index_.size() >= capacity_ && !slots_.empty()) {
    closed_after_unlock = std::move(slots_.back().file);
    index_.erase(slots_.back().key);
    slots_.pop_back();
  }
  slots_.push_front({full_key, std::move(file)});
  index_.emplace(std::move(full_key), slots_.begin());
}

void DescriptorCache::Drop(uint64_t owner, std::string_view key) {
  Handle closed_after_unlock;
  model::MutexLock lock(mutex_);
  const auto found = index_.find({owner, CallerScope::CurrentId(), std::string(key)});
  if (found == index_.end()) return;
  closed_after_unlock = std::move(found->second->file);
  slots_.erase(found->second);
  index_.erase(found);
}

void DescriptorCache::DropAll(uint64_t owner) {
  std::list<Slot> closed_after_unlock;
  model::MutexLock lock(mutex_);
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const auto next = std::next(slot);
    if (slot->key.owner == owner) {
      index_.erase(slot->key);
      closed_after_unlock.splice(closed_after_unlock.end(), slots_, slot);
    }
    slot = next;
  }
}

void DescriptorCache::Clear() {
  std::list<Slot> closed_after_unlock;
  model::MutexLock lock(mutex_);
  index_.clear();
  closed_after_unlock.swap(slots_);
}

size_t DescriptorCache::size() const {
  model::MutexLock lock(mutex_);
  return index_.size();
}

model::Result<DescriptorCache::Handle> OpenFile(const SourceRoot& root, std::string_view path,
                                                bool may_be_link) {
  struct ::stat status;
  const auto open = [&] {
    return may_be_link ? root.OpenBeneath(path, 0, &status) : root.OpenFound(path, 0, &status);
  };
  auto fd = open();
  if (!fd && IsOutOfDescriptors(fd.error())) {
    DescriptorCache::Global().Clear();
    fd = open();
  }
  if (!fd) {
    if (fd.error().is_no_such_file()) return nullptr;
    return model::Propagate(std::move(fd).error());
  }
  if (!S_ISREG(status.st_mode)) return nullptr;
  return std::make_shared<const DescriptorCache::File>(
      DescriptorCache::File{*std::move(fd), status, GenerationOf(status)});
}

bool IsSameVersion(const struct ::stat& a, const struct ::stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         ModifiedNs(a) == ModifiedNs(b) &&
         (ChangedNs(a) == ChangedNs(b) || a.st_nlink != b.st_nlink);
}

model::Result<std::optional<ReadResult>> ReadOpened(const DescriptorCache::File& file,
                                                    bool just_opened,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve) {
  const auto size = static_cast<uint64_t>(file.status.st_size);
  NDLFS_TRY(const ByteSpan out, reserve(size));
  const ByteRange range = options.Clip(size);
  NDLFS_TRY(const size_t count, ReadFully(file.fd.get(), range.offset,
                                          out.first(std::min(out.size(), range.length))));
  const ReadResult result = {count, InfoOf(file.status)};
  if (just_opened && out.empty()) return result;
  // After the read: a file may be written in place meanwhile, whatever its age is.
  struct ::stat status;
  if (::fstat(file.fd.get(), &status) != 0) return model::IoError(errno, "stat");
  if (!IsSameVersion(status, file.status)) return std::nullopt;
  return result;
}

}  // namespace ndlfs::backends
