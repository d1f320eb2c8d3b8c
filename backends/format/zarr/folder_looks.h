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
#include "backends/store/answers.h"
#include "backends/store/store.h"
#include "model/error.h"

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
      : store_(std::move(store)),
        root_(std::move(root)),
        known_(Trust{.lifetime = holds}, kMostKept) {}

  // The files of the folder at `prefix`. At the root these are the files of both versions.
  FolderLookPtr LookInto(const std::string& prefix, bool is_v3) const;
  // The document of a node right at `prefix`; nullopt if there is none.
  model::Result<std::optional<std::string>> FindDocument(const std::string& prefix,
                                                         bool is_v3) const;
  // The same without the other files of the node, and without a memory.
  model::Result<std::optional<std::string>> FindDocumentAlone(const std::string& prefix,
                                                              bool is_v3) const;

  // Makes the next look at each folder a new one.
  void ForgetKept() const { known_.ForgetAll(); }

 private:
  FolderLookPtr LookAtFiles(const std::string& prefix, bool is_v3) const;
  FolderLookPtr LookForCopies(const std::string& prefix) const;

  const std::shared_ptr<const Store> store_;
  const std::string root_;
  const uint64_t owner_ = NewId();
  // Enough for the requests that a program makes when it finds a folder and goes into it.
  static constexpr uint64_t kMostKept = 64;
  mutable Answers<FolderLookPtr> known_;
};

}  // namespace ndlfs::backends::zarr
