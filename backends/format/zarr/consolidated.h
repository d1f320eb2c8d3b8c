// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Consolidated metadata: one document with a copy of all metadata documents of a
// hierarchy. This index keeps the positions of the copies in the text, but not the
// text. Immutable.
class ConsolidatedMetadata {
 public:
  // Reads a .zmetadata document of Zarr v2.
  static model::Result<ConsolidatedMetadata> ParseV2(std::string_view text);
  // Reads a root zarr.json of Zarr v3 with an inline `consolidated_metadata`. The
  // index is empty if there is none.
  static model::Result<ConsolidatedMetadata> ParseV3(std::string_view text);

  // The position in the text of the copy of the document at `key` ("temp/.zarray",
  // "temp/zarr.json"; relative to the hierarchy); nullopt if there is none.
  std::optional<ByteRange> Find(std::string_view key) const;
  // Sorted names of the children of `path` ("" is the root) that have a document, or have nodes
  // with a document below them.
  std::vector<std::string> Children(std::string_view path) const;
  // Whether a node below `path` has a document.
  bool HoldsNodes(std::string_view path) const;
  // At most `limit` paths of nodes below `path` that have a document.
  std::vector<std::string> NodesBelow(std::string_view path, size_t limit) const;
  bool empty() const { return documents_.empty(); }
  // An estimate of its memory in bytes.
  uint64_t held_bytes() const;

 private:
  struct Document {
    std::string key;
    uint64_t begin;
    uint64_t end;
  };
  // Sorts the documents. Fails for keys that are not paths below the root.
  static model::Result<ConsolidatedMetadata> Make(std::vector<Document> documents);

  std::vector<Document> documents_;  // sorted by key
};

// `text`, a v3 document, with null in place of its consolidated metadata, which may
// be orders of magnitude larger than the rest.
std::string WithoutConsolidated(std::string text);

}  // namespace ndlfs::backends::zarr
