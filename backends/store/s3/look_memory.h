// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/s3/folder_list.h"
#include "backends/store/source.h"
#include "model/bounded_map.h"
#include "model/mutex.h"

namespace ndlfs::backends::s3 {

// What is at a path; nullopt: nothing.
using Look = std::optional<FileStatus>;
// All names in a folder, sorted.
using FolderNames = std::shared_ptr<const std::vector<ListedName>>;

// Remembers for some time what requests have told about paths and folders, in bounded memory.
// Thread-safe.
class LookMemory {
 public:
  // A list with more names is not remembered as one.
  static constexpr size_t kMostNames = 10'000;

  explicit LookMemory(std::chrono::nanoseconds lifetime);

  // What is known of the path: it was looked at, or a list of its folder has come. Null if
  // nobody knows.
  std::optional<Look> Find(std::string_view path) EXCLUDES(mutex_);
  void Note(std::string_view path, const Look& look) EXCLUDES(mutex_);

  // The same of the object at the path alone, which a folder of its name may hide. A folder is
  // no object.
  std::optional<Look> FindObject(std::string_view path) EXCLUDES(mutex_);
  void NoteObject(std::string_view path, const Look& look) EXCLUDES(mutex_);

  // The names in the folder; null if it was not listed.
  FolderNames FindNames(std::string_view folder) EXCLUDES(mutex_);
  // They were asked for at `when`.
  void NoteNames(std::string_view folder, FolderNames names,
                 std::chrono::steady_clock::time_point when) EXCLUDES(mutex_);

 private:
  template <typename T>
  struct Known {
    T what;
    std::chrono::steady_clock::time_point when;
  };
  static constexpr uint64_t kLooksBytes = 8 << 20;
  static constexpr uint64_t kNamesBytes = 16 << 20;

  using Looks = model::BoundedMap<std::string, Known<Look>>;

  bool IsFresh(std::chrono::steady_clock::time_point when) const;
  std::optional<Look> FindIn(Looks& looks, std::string_view path) const REQUIRES(mutex_);
  void NoteIn(Looks& looks, std::string_view path, const Look& look) REQUIRES(mutex_);
  FolderNames NamesIn(std::string_view folder) REQUIRES(mutex_);

  const std::chrono::nanoseconds lifetime_;
  model::Mutex mutex_;
  Looks looks_ GUARDED_BY(mutex_);
  Looks objects_ GUARDED_BY(mutex_);
  model::BoundedMap<std::string, Known<FolderNames>> names_ GUARDED_BY(mutex_);
};

// The status of a name in a list; `path` is where it is. nullopt for a name whose kind the list
// leaves open.
std::optional<FileStatus> StatusOf(const ListedName& name, std::string_view path);
FileStatus FolderStatus(std::string_view path);
FileStatus ObjectStatus(const ValueInfo& info, std::string_view path);

}  // namespace ndlfs::backends::s3
