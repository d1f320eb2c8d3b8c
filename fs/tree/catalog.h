// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fs/tree/mounted_store.h"
#include "fs/tree/plain_files.h"
#include "model/mutex.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::fs {

// The stores of the source that somebody knows of: the kernel, or an open
// file, or because they were used lately. On a mount for others, each caller
// (backends/store/caller.h) has stores of its own. Thread-safe.
class Catalog {
 public:
  explicit Catalog(StoreServices& services) : services_(services) {}

  // The store at `path`, where `status` is; null if there is none, but
  // a plain file or directory. Costs a few stat() and, for a file that has not
  // been looked into in this version, a look at its first KiB: no store is
  // opened. A passing error of the system where nobody can tell at this moment.
  model::Result<std::shared_ptr<MountedStore>> Find(const std::string& path,
                                                    const backends::FileStatus& status);

  // The calling thread's own store in place of `store`, which another caller may have found.
  // The error is ESTALE where there is none for it, and EACCES where it may not find out.
  model::Result<std::shared_ptr<MountedStore>> OfCaller(
      const std::shared_ptr<MountedStore>& store);

  // Whether the regular file with this status is known to be no store, unless
  // its name is that of one. Costs nothing; false is no answer.
  bool IsKnownPlain(const backends::FileStatus& status) const;

  // Whether files whose names do not tell are looked into.
  bool looks_into_files() const { return services_.detection == backends::Detection::kContent; }

  // Number of stores that are known.
  size_t size() const;

 private:
  // Of a store, when it was last found at its path.
  struct Seen {
    backends::Generation generation;
    Freshness::Time detected;
  };

  // A path, as the current caller knows it.
  static std::string KeyOf(const std::string& path);
  std::shared_ptr<MountedStore> FindKnown(const std::string& path,
                                          const backends::FileStatus& status) const;
  // Whether a change from now on will be seen in the status of the file, however
  // coarse the clock of its file system is.
  bool IsSettled(const backends::FileStatus& status) const;
  std::shared_ptr<MountedStore> Keep(const std::string& path,
                                     const backends::FileStatus& status);

  StoreServices& services_;
  PlainFiles plain_files_;
  mutable model::Mutex mutex_;
  // By KeyOf().
  model::WeakMap<std::string, MountedStore, Seen, model::StringHash> known_ GUARDED_BY(mutex_){
      1024};
};

}  // namespace ndlfs::fs
