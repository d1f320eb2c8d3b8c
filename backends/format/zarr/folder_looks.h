// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/new_id.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends::zarr {

// What one look at the metadata files of a folder has found: the facts about each, by name.
class FolderLook {
 public:
  FolderLook(const Store& store, std::string_view prefix,
             std::span<const std::string_view> names) {
    Add(store, prefix, names);
  }
  void Add(const Store& store, std::string_view prefix,
           std::span<const std::string_view> names);

  // nullopt also for a name that was not looked at.
  model::Result<std::optional<ValueInfo>> Find(std::string_view name) const;
  // Whether a look has failed; it may succeed the next time.
  bool has_errors() const;
  bool has_files() const;

 private:
  std::vector<std::string_view> names_;
  std::vector<model::Result<std::optional<ValueInfo>>> found_;
};
using FolderLookPtr = std::shared_ptr<const FolderLook>;

// Looks at the metadata files of the folders of a hierarchy, and remembers what it has found:
// all looks of a request until that ends (RequestScope), and those that found files for later
// requests, too, as long as `holds`. A file that is absent may be about to appear, so that each
// request looks for it. Thread-safe.
class FolderLooks {
 public:
  // `root` is the prefix of the keys of the hierarchy.
  FolderLooks(std::shared_ptr<const Store> store, std::string root,
              std::chrono::nanoseconds holds)
      : store_(std::move(store)), root_(std::move(root)), holds_(holds) {}

  // The files of the folder at `prefix`. At the root these are the files of both versions.
  FolderLookPtr LookInto(const std::string& prefix, bool is_v3) const EXCLUDES(mutex_);
  // The document of a node right at `prefix`; nullopt if there is none.
  model::Result<std::optional<std::string>> FindDocument(const std::string& prefix,
                                                         bool is_v3) const;
  // The same without the other files of the node, and without a memory.
  model::Result<std::optional<std::string>> FindDocumentAlone(const std::string& prefix,
                                                              bool is_v3) const;

  // Makes the next look at each folder a new one.
  void ForgetKept() const EXCLUDES(mutex_);

 private:
  FolderLookPtr LookAtFiles(const std::string& prefix, bool is_v3) const;
  FolderLookPtr LookForCopies(const std::string& prefix) const;
  // The look that an earlier request has kept under `key`; null if it is too old.
  FolderLookPtr Known(std::string_view key) const EXCLUDES(mutex_);
  void Keep(const std::string& key, FolderLookPtr look,
            std::chrono::steady_clock::time_point looked_at) const EXCLUDES(mutex_);

  const std::shared_ptr<const Store> store_;
  const std::string root_;
  const std::chrono::nanoseconds holds_;
  const uint64_t owner_ = NewId();
  struct Kept {
    FolderLookPtr look;
    std::chrono::steady_clock::time_point looked_at;
  };
  // Enough for the requests that a program makes when it finds a folder and goes into it.
  static constexpr uint64_t kMostKept = 64;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Kept, model::StringHash> kept_ GUARDED_BY(mutex_){
      kMostKept};
  // Looks that are older than this do not hold.
  mutable std::chrono::steady_clock::time_point hold_from_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::zarr
