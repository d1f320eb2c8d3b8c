// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "fs/mounted_store.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The stores of the source that somebody knows of: the kernel, or an open
// file, or because they were used lately. Thread-safe.
class Catalog {
 public:
  explicit Catalog(StoreServices& services) : services_(services) {}

  // The store at `path`, whose stat() is `status`; null if there is none, but
  // a plain file or directory. Costs a few stat() and, for files whose names
  // could be those of stores, a look at the first bytes: no store is opened.
  std::shared_ptr<MountedStore> Find(const std::string& path, const struct ::stat& status);

  // Number of stores that are known.
  size_t size() const;

 private:
  struct Known {
    std::weak_ptr<MountedStore> store;
    backends::FileStamp stamp;
    Freshness::Time detected;
  };

  std::shared_ptr<MountedStore> FindKnown(const std::string& path,
                                          const struct ::stat& status) const;
  std::shared_ptr<MountedStore> Keep(const std::string& path, const struct ::stat& status);

  StoreServices& services_;
  mutable model::Mutex mutex_;
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = 1024;
};

}  // namespace ndlfs::fs
