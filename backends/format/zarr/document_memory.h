// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "backends/format/zarr/node_files.h"
#include "backends/format/zarr/shared_document.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/secret_hash.h"
#include "model/string_hash.h"

namespace ndlfs::backends::zarr {

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

}  // namespace ndlfs::backends::zarr
