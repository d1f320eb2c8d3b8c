// SPDX-License-Identifier: MIT
//
// Bytes that are made when they are first read, of a size that is known before: headers with
// values of coordinates in them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/view/elements/element_source.h"
#include "fs/view/elements/segmented_view.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// A value that is made once, when it is first asked for. Thread-safe; a failure is not kept.
template <typename T>
class Deferred {
 public:
  explicit Deferred(std::function<model::Result<T>()> make) : make_(std::move(make)) {}

  model::Result<std::shared_ptr<const T>> Get() const EXCLUDES(mutex_) {
    {
      const model::MutexLock lock(mutex_);
      if (value_) return value_;
    }
    // Called without the lock, because it may take long. Two callers may make the same value.
    NDLFS_TRY(T made, make_());
    const model::MutexLock lock(mutex_);
    if (!value_) value_ = std::make_shared<const T>(std::move(made));
    return value_;
  }

 private:
  const std::function<model::Result<T>()> make_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const T> value_ GUARDED_BY(mutex_);
};

// The bytes that `make` returns. It is called when they are first read, and must return `size`
// bytes (kInternal if not). It may read chunks of coordinates, and keeps alive what it needs
// for that. Up to 4 KiB are kept; more are made again for each read.
Elements MakeDeferredBytes(uint64_t size, std::function<model::Result<std::string>()> make);

// Bytes that `read` writes at any offset: see ElementSource::Read(). `read` holds `held_bytes`
// of memory.
Elements MakeComputedBytes(
    uint64_t size, std::function<model::Result<void>(uint64_t offset, backends::ByteSpan)> read,
    uint64_t held_bytes = 0);

}  // namespace ndlfs::fs
