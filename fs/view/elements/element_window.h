// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/store/cancellation.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Keeps the bytes that were made last of a stream of which a little takes as long to make as
// much: all chunks of an array have a part in each piece of it. Thread-safe.
class ElementWindow {
 public:
  // Makes bytes [begin, begin + out.size()) of the stream.
  using Make = std::function<model::Result<void>(uint64_t begin, backends::ByteSpan out)>;

  // `size`: of the stream. Windows begin at multiples of `window`, which is not 0.
  ElementWindow(uint64_t size, uint64_t window) : size_(size), window_(window) {}

  // Fills `out` from byte `offset` of the stream. One thread makes a window, and others that
  // need one wait.
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, const Make& make) {
    while (!out.empty()) {
      const uint64_t begin = offset / window_ * window_;
      NDLFS_TRY(const auto bytes, Get(begin, make));
      const size_t count = std::min<uint64_t>(out.size(), begin + bytes->size() - offset);
      std::memcpy(out.data(), bytes->data() + (offset - begin), count);
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

  uint64_t held_bytes() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    uint64_t bytes = 0;
    for (const Kept& kept : kept_) bytes += kept.bytes ? kept.bytes->size() : 0;
    return bytes;
  }

 private:
  using BytesPtr = std::shared_ptr<const backends::Bytes>;
  struct Kept {
    uint64_t begin = 0;
    BytesPtr bytes;
  };

  model::Result<BytesPtr> Get(uint64_t begin, const Make& make) EXCLUDES(mutex_) {
    {
      const model::MutexLock lock(mutex_);
      for (;;) {
        if (BytesPtr found = Find(begin)) return found;
        if (!is_making_) break;
        NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
        changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
      }
      is_making_ = true;
    }
    const End end(*this);
    auto bytes = std::make_shared<backends::Bytes>(std::min(window_, size_ - begin));
    NDLFS_RETURN_IF_ERROR(make(begin, bytes->span()));
    const model::MutexLock lock(mutex_);
    std::ranges::rotate(kept_, kept_.begin() + 1);
    kept_.back() = {begin, bytes};
    return bytes;
  }

  BytesPtr Find(uint64_t begin) const REQUIRES(mutex_) {
    for (const Kept& kept : kept_) {
      if (kept.bytes && kept.begin == begin) return kept.bytes;
    }
    return nullptr;
  }

  // The end of making a window, however it ends.
  struct End {
    explicit End(ElementWindow& ended) : window(ended) {}
    ~End() {
      const model::MutexLock lock(window.mutex_);
      window.is_making_ = false;
      window.changed_.NotifyAll();
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ElementWindow& window;
  };

  const uint64_t size_;
  const uint64_t window_;
  mutable model::Mutex mutex_;
  model::CondVar changed_;
  bool is_making_ GUARDED_BY(mutex_) = false;
  std::array<Kept, 2> kept_ GUARDED_BY(mutex_);  // a reader may go from one to the other
};

}  // namespace ndlfs::fs
