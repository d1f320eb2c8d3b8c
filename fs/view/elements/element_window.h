// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/store/cancellation.h"
#include "model/error.h"
#include "model/memory_budget.h"
#include "model/mutex.h"
#include "model/recently_used.h"

namespace ndlfs::fs {

// Keeps the pieces (windows) of a byte stream that were made last. For streams in which a small
// piece costs as much as a large one, because it has elements of all chunks of an array. All
// streams of the process share a limited memory; the windows used last are kept. Thread-safe.
class ElementWindow {
 public:
  // Makes bytes [begin, begin + out.size()) of the stream.
  using Make = std::function<model::Result<void>(uint64_t begin, backends::ByteSpan out)>;

  // `size`: of the stream. Windows begin at multiples of `window`, which is not 0.
  ElementWindow(uint64_t size, uint64_t window) : size_(size), window_(window) {}
  ~ElementWindow() {
    for (const auto& kept : kept_) {
      if (const KeptPtr alive = kept.lock()) Recent().Drop(alive.get());
    }
  }
  ElementWindow(const ElementWindow&) = delete;
  ElementWindow& operator=(const ElementWindow&) = delete;

  // Fills `out` from byte `offset` of the stream. One thread makes a window, and others that
  // need one wait.
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, const Make& make) {
    while (!out.empty()) {
      const uint64_t begin = offset / window_ * window_;
      const uint64_t end = std::min(size_, begin + window_);
      const size_t count = std::min<uint64_t>(out.size(), end - offset);
      NDLFS_TRY(const auto kept, Get(begin, make));
      std::memcpy(out.data(), kept->bytes.data() + (offset - begin), count);
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

  uint64_t held_bytes() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    uint64_t bytes = 0;
    for (const auto& kept : kept_) {
      if (const KeptPtr alive = kept.lock()) bytes += alive->bytes.size();
    }
    return bytes;
  }

 private:
  struct Kept {
    Kept(uint64_t first, uint64_t size) : begin(first), held(size), bytes(size) {}
    const uint64_t begin;
    const model::MemoryBudget::Held held;
    backends::Bytes bytes;
  };
  using KeptPtr = std::shared_ptr<const Kept>;

  // Keeps those of all views alive that were used last.
  static model::RecentlyUsed<const Kept>& Recent() {
    using model::MemoryBudget;
    static model::RecentlyUsed<const Kept> recent(
        MemoryBudget::Share(MemoryBudget::Pool::kWindows));
    return recent;
  }

  model::Result<KeptPtr> Get(uint64_t begin, const Make& make) EXCLUDES(mutex_) {
    if (KeptPtr found = Find(begin)) return found;
    NDLFS_TRY(const auto turn, making_.Take());
    if (KeptPtr found = Find(begin)) return found;  // by the one who had the turn before
    const auto kept = std::make_shared<Kept>(begin, std::min(window_, size_ - begin));
    NDLFS_RETURN_IF_ERROR(make(begin, kept->bytes.span()));
    Recent().Touch(kept, kept->bytes.size());
    const model::MutexLock lock(mutex_);
    std::rotate(kept_.begin(), kept_.begin() + 1, kept_.end());
    kept_.back() = kept;
    return KeptPtr(kept);
  }

  KeptPtr Find(uint64_t begin) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    for (const auto& kept : kept_) {
      KeptPtr alive = kept.lock();
      if (alive == nullptr || alive->begin != begin) continue;
      Recent().Touch(alive, alive->bytes.size());
      return alive;
    }
    return nullptr;
  }

  const uint64_t size_;
  const uint64_t window_;
  backends::OneAtATime making_;
  mutable model::Mutex mutex_;
  std::array<std::weak_ptr<const Kept>, 2> kept_
      GUARDED_BY(mutex_);  // two, for a reader who goes back and forth between neighbours
};

}  // namespace ndlfs::fs
