// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cache/spill_space.h"
#include "fs/tree/object_set.h"
#include "fs/tree/store/document.h"
#include "fs/tree/store/mounted_store.h"
#include "model/error.h"
#include "model/memory_budget.h"
#include "model/mutex.h"
#include "model/recently_used.h"
#include "model/weak_map.h"

namespace ndlfs::fs {

// The text of one `.ndl.yaml`. Immutable.
struct Document {
  std::shared_ptr<const cache::SpilledBytes> text;
  uint64_t hash = 0;  // of the text
  // False if an error of the system made the writer leave something out. The next look then
  // writes the text again.
  bool complete = true;
  ObjectSet objects;     // that went into the text
  int64_t mtime_ns = 0;  // newest of the metadata that went into it
};
using DocumentPtr = std::shared_ptr<const Document>;

// WriteDocument() of document.h; tests have a writer of their own.
using DocumentWriter = std::function<model::Result<void>(
    const backends::Hierarchy& hierarchy, std::string_view store_name, std::string_view path,
    const ReaderOf& reader_of, const TextSink& sink,
    const std::function<void(const model::Error&)>& refused)>;

// Writes each document once for each version of the objects in it, and keeps the documents that
// were used last, up to a fixed number of bytes. After a transient failure, such as too many
// open files, Get() returns the error rather than a document with gaps. Thread-safe.
class DocumentCache {
 public:
  DocumentCache(const Freshness& freshness, DocumentWriter writer)
      : freshness_(freshness), writer_(std::move(writer)) {}

  // The document of the object at `path` of `store`, not older than Freshness allows. kNotFound
  // if there is no such object.
  model::Result<DocumentPtr> Get(const std::shared_ptr<MountedStore>& store,
                                 const std::string& path);

  uint64_t bytes() const { return recent_.total_weight(); }

 private:
  // The pointer only identifies the store; the note of a document, the store, tells whether it
  // is still the same store.
  using Key = std::pair<const MountedStore*, std::string>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  // Null if there is none.
  DocumentPtr Find(const MountedStore& store, const std::string& path) const EXCLUDES(mutex_);
  model::Result<bool> IsCurrent(MountedStore& store, const Document& document) const;

  const Freshness& freshness_;
  const DocumentWriter writer_;
  model::RecentlyUsed<const Document> recent_{model::MemoryBudget::Pool::kDocuments};
  mutable model::Mutex mutex_;
  model::WeakMap<Key, const Document, std::weak_ptr<const MountedStore>, KeyHash> known_
      GUARDED_BY(mutex_){256};
};

}  // namespace ndlfs::fs
