// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "backends/base/json.h"
#include "backends/format/zarr/folder_looks.h"
#include "backends/format/zarr/node_files.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/secret_hash.h"
#include "model/string_hash.h"

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

// The most values in a document. An empty list takes three bytes of text, and forty of memory;
// a member of an object 150 while it is parsed. A grid may list the extents of many chunks.
inline constexpr size_t kMaxDocumentValues = size_t{512} << 10;

// Parses documents, and lets nodes share them: the document of a text is kept for other nodes
// with the same text, as long as 64 KiB of texts are enough for that. Thread-safe.
class DocumentMemory {
 public:
  // The document of a file that was read before, while a node still has it; null if there is
  // none. A program that walks through a store loads each node more than once.
  std::shared_ptr<const SharedDocument> Find(const NodeFiles& files) const EXCLUDES(mutex_);
  model::Result<std::shared_ptr<const SharedDocument>> Parse(const std::string& text) const
      EXCLUDES(mutex_);
  // Lets Find() return the document of `files`, which has `text`. Has no effect if the text is
  // long, or if a program may be writing it now (by the clock of `store`).
  void Note(const Store& store, const NodeFiles& files, const std::string& text,
            const std::shared_ptr<const SharedDocument>& document) const EXCLUDES(mutex_);

 private:
  // A hash of the file, with a seed that nobody knows.
  uint64_t HashOf(const NodeFiles& files) const;

  // The sum of the lengths of texts, in bytes.
  static constexpr uint64_t kMostText = uint64_t{64} << 10;
  static constexpr uint64_t kLongestText = kMostText / 4;
  static constexpr size_t kMostFiles = size_t{1} << 17;

  const uint64_t seed_ = model::SecretHash("metadata");
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, std::shared_ptr<const SharedDocument>,
                            model::StringHash>
      by_text_ GUARDED_BY(mutex_){kMostText};
  mutable std::unordered_map<uint64_t, std::weak_ptr<const SharedDocument>> by_file_
      GUARDED_BY(mutex_);
};

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
