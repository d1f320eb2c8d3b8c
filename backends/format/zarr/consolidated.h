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

// Consolidated metadata: a copy of all metadata documents of a hierarchy in
// one. Keeps where in it each of them is, not their text. Immutable.
class ConsolidatedMetadata {
 public:
  // Of Zarr v2: a .zmetadata document.
  static model::Result<ConsolidatedMetadata> ParseV2(std::string_view text);
  // Of Zarr v3: a root zarr.json with an inline `consolidated_metadata`; an
  // index without entries if it has none.
  static model::Result<ConsolidatedMetadata> ParseV3(std::string_view text);

  // Where the copy of the document at `key` ("temp/.zarray", "temp/zarr.json";
  // keys are relative to the hierarchy) is in the text; nullopt if there is
  // none.
  std::optional<ByteRange> Find(std::string_view key) const;
  // Names of the children of `path` ("" is the root) that have a document, or
  // something with one below them, sorted.
  std::vector<std::string> Children(std::string_view path) const;
  // Whether anything below `path` has a document.
  bool HoldsNodes(std::string_view path) const;
  // At most `limit` paths of nodes below `path` that have a document.
  std::vector<std::string> NodesBelow(std::string_view path, size_t limit) const;
  bool empty() const { return documents_.empty(); }
  // About how much memory it takes.
  uint64_t held_bytes() const;

 private:
  struct Document {
    std::string key;
    uint64_t begin;
    uint64_t end;
  };
  // Sorts, and refuses keys that are no paths beneath the root.
  static model::Result<ConsolidatedMetadata> Make(std::vector<Document> documents);

  std::vector<Document> documents_;  // sorted by key
};

// `text`, a v3 document, with null in the place of its consolidated metadata,
// which may be larger than all else by orders of magnitude.
std::string WithoutConsolidated(std::string text);

}  // namespace ndlfs::backends::zarr
