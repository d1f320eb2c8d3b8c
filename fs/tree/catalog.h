// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/store/answer_age.h"
#include "fs/tree/plain_files.h"
#include "fs/tree/store/mounted_store.h"
#include "model/mutex.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::fs {

// The stores of the source that are in use: the kernel or an open file refers to them, or they
// were used recently. On a mount for other users, each caller (backends/store/caller.h) has
// stores of its own. Thread-safe.
class Catalog {
 public:
  explicit Catalog(StoreServices& services) : services_(services) {}

  // The store at `path`, whose status is `status`; null if a plain file or directory is there.
  // Costs a few stat() and, if this version of a file was not looked into before, a read of its
  // first KiB (of more in archives and documents). Opens no store. A transient error of the
  // system if this cannot be found out at this moment.
  model::Result<std::shared_ptr<MountedStore>> Find(const std::string& path,
                                                    const backends::FileStatus& status);

  // The given version of the store at the path of `store`, which has versions. Costs nothing,
  // and opens nothing.
  std::shared_ptr<MountedStore> FindVersion(const std::shared_ptr<MountedStore>& store,
                                            const StoreVersion& version);

  // The store at the path of `store`, and the version of `store`, as the current caller sees
  // it; another caller may have found `store`. kStale if there is none for this caller, and
  // kDenied if the caller may not find out.
  model::Result<std::shared_ptr<MountedStore>> OfCaller(
      const std::shared_ptr<MountedStore>& store);

  // Whether the regular file with this status is known to be no store. Not for files that have
  // the name of a store. Costs nothing; false means that it is not known.
  bool IsKnownPlain(const backends::FileStatus& status) const;

  // Whether files without the name of a store are looked into as well.
  bool looks_into_files() const { return services_.detection == backends::Detection::kContent; }

  // Whether there was a store at `path` at the last look. Knows only stores that are still in
  // use.
  bool KnowsStore(const std::string& path) const;

  // Number of stores that are known.
  size_t size() const;

 private:
  // When a store was last found at its path.
  struct Seen {
    backends::Generation generation;
    Freshness::Time detected;
  };

  // The key of a version of the store at `path` for the current caller.
  static std::string KeyOf(const std::string& path, const std::string& ref = {});
  std::shared_ptr<MountedStore> FindKnown(const std::string& path,
                                          const backends::FileStatus& status) const;
  // The store that was in the directory at `path`, if it still is, by its own metadata. Where
  // each look is a request, this takes fewer than to detect it again; elsewhere null.
  std::shared_ptr<MountedStore> FindOpen(const std::string& path,
                                         const backends::FileStatus& status,
                                         const backends::AnswerAge& age);
  // Whether any later change will show in the status of the file, however coarse the clock of
  // its file system is.
  bool IsSettled(const backends::FileStatus& status) const;
  std::shared_ptr<MountedStore> Keep(const std::string& path,
                                     const backends::FileStatus& status,
                                     const backends::AnswerAge& age);

  StoreServices& services_;
  PlainFiles plain_files_;
  mutable model::Mutex mutex_;
  // By KeyOf().
  model::WeakMap<std::string, MountedStore, Seen, model::StringHash> known_ GUARDED_BY(mutex_){
      1024};
};

}  // namespace ndlfs::fs
