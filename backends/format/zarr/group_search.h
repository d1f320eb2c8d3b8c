// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/format/zarr/folder_looks.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends::zarr {

// Finds out whether there are nodes below a directory without metadata, which is a group then.
// A search visits a bounded number of directories, and never those of an array. A directory
// that cannot be read does not end it. The document that was found is remembered, and looked at
// first the next time. A search that found nothing is remembered as long as `holds`.
// Thread-safe.
class GroupSearch {
 public:
  // `looks` has to outlive this.
  GroupSearch(std::shared_ptr<const Store> store, const FolderLooks& looks,
              std::chrono::nanoseconds holds)
      : store_(std::move(store)), looks_(looks), holds_(holds) {}

  // How far searches may still go.
  struct Rest {
    int directories;
    size_t entries;
    std::optional<model::Error> error = std::nullopt;  // the first one
  };
  // For one directory, and for all that a group lists.
  static Rest ForOne();
  static Rest ForListing();
  // The most nodes to look for in a copy of metadata.
  static constexpr int kMaxDirectories = 200;

  // Whether the directory at `prefix` holds nodes, if this is known; nullopt if it has to be
  // searched.
  std::optional<bool> Known(const std::string& prefix) const EXCLUDES(mutex_);
  // Whether there is a node somewhere below `prefix`.
  model::Result<bool> Holds(const std::string& prefix, bool is_v3, Rest& rest) const
      EXCLUDES(mutex_);
  // The same for one entry of a listing: by a search of its own, which `listing` limits, too. A
  // search that finds nothing uses up a part of `listing`.
  bool HoldsWithin(const std::string& prefix, bool is_v3, Rest& listing) const;

 private:
  std::optional<std::string> FindBelow(const std::string& prefix, bool is_v3, Rest& rest) const;

  struct Result {
    std::string document;  // the document that makes it a group; "": there is none
    std::chrono::steady_clock::time_point found_at;
  };
  const std::shared_ptr<const Store> store_;
  const FolderLooks& looks_;
  const std::chrono::nanoseconds holds_;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Result, model::StringHash> results_ GUARDED_BY(mutex_){
      4096};
};

}  // namespace ndlfs::backends::zarr
