// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "backends/base/json.h"
#include "model/mutex.h"

namespace ndlfs::backends::zarr {

struct ArrayMetadata;

// A parsed document of a node. Nodes whose documents have the same text share it, and the
// metadata made from it: a group may hold thousands of such arrays. Thread-safe.
class SharedDocument {
 public:
  explicit SharedDocument(Json json) : json_(std::move(json)) {}

  const Json& json() const { return json_; }

  // The metadata of the last call of KeepArray(); null if there are none.
  std::shared_ptr<const ArrayMetadata> array() const {
    const model::MutexLock lock(mutex_);
    return array_;
  }
  void KeepArray(std::shared_ptr<const ArrayMetadata> array) const {
    const model::MutexLock lock(mutex_);
    array_.swap(array);
  }

 private:
  const Json json_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const ArrayMetadata> array_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::zarr
