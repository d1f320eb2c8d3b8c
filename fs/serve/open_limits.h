// SPDX-License-Identifier: MIT
//
// Limits for the open files of each user of a shared mount.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/tree/tree_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Shares out open files, and the memory that they keep, among the users of a mount
// (user_share.h). Thread-safe. Must outlive its places.
class OpenLimits {
 public:
  struct Options {
    // If false, there are no limits, because the mount is for one user only.
    bool shared = false;
    // Open files and directories of all users. Each may take a descriptor.
    uint64_t most_open = 0;
    // The memory that open files may keep. A user may always have a sixteenth of it, or if
    // there are more than 32 users his or her part of twice as much; and one open file however
    // much that file keeps, as long as all keep at most twice as much.
    uint64_t most_bytes = 0;
  };

  struct Stats {
    uint64_t bytes = 0;    // memory of open files, on a shared mount
    uint64_t refused = 0;  // files that were not opened because of the limits
  };

  // The place of one open file or directory. The destructor gives back what it has taken.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : limits_(std::exchange(other.limits_, nullptr)),
          user_(other.user_),
          kept_(std::move(other.kept_)) {}
    Place& operator=(Place&&) = delete;
    ~Place();

    // Counts the objects that the file keeps in memory. Call it once at most. False if they are
    // more than the user may have: then the file must not stay open.
    bool Keep(std::vector<KeptObject> objects);

   private:
    friend class OpenLimits;
    Place(OpenLimits& limits, uid_t user) : limits_(&limits), user_(user) {}

    OpenLimits* limits_ = nullptr;  // null without limits
    uid_t user_ = 0;
    std::vector<KeptObject> kept_;
  };

  explicit OpenLimits(const Options& options) : options_(options) {}

  // Call it before a file is opened. nullopt if `user` has too many open files.
  std::optional<Place> Take(uid_t user) EXCLUDES(mutex_);

  Stats stats() const EXCLUDES(mutex_);

 private:
  struct Kept {
    uint64_t bytes = 0;
    uint64_t files = 0;  // open files that keep the object
  };
  struct User {
    uint64_t open = 0;
    uint64_t bytes = 0;
    std::unordered_map<const void*, Kept> kept;
  };

  bool Keep(uid_t user, const std::vector<KeptObject>& objects) EXCLUDES(mutex_);
  void Release(uid_t user, const std::vector<KeptObject>& objects) EXCLUDES(mutex_);
  void Drop(User& user, const std::vector<KeptObject>& objects) REQUIRES(mutex_);

  const Options options_;
  mutable model::Mutex mutex_;
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
  uint64_t open_ GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t refused_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::fs
