// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/format/zarr/consolidated.h"
#include "backends/store/store.h"

namespace ndlfs::backends::zarr {

inline constexpr std::string_view kV3Name = "zarr.json";
inline constexpr std::string_view kConsolidatedName = ".zmetadata";
inline constexpr std::string_view kAttributesName = ".zattrs";
inline constexpr std::string_view kNczarrName = ".nczarr";

// The files that describe a node, with their versions.
struct NodeFiles {
  enum class Kind : uint8_t { kNone, kV2Array, kV2Group, kV3 };
  Kind kind = Kind::kNone;
  std::string document;  // key of .zarray, .zgroup or zarr.json
  // The group has no document, but there are nodes below it. Writers may leave out the
  // documents of groups between the root and an array.
  bool is_implicit = false;
  // Set if the document is not a file, but a copy in consolidated metadata.
  std::shared_ptr<const ConsolidatedMetadata> consolidated;
  // The facts about `document`, or about the consolidated metadata; and those about .zattrs.
  std::optional<ValueInfo> stamp;
  std::optional<ValueInfo> attributes_stamp;

  int64_t mtime_ns() const;
};

// A document that makes a node.
struct DocumentName {
  std::string_view name;
  NodeFiles::Kind kind;
};
// All such documents; an earlier one counts for more.
std::span<const DocumentName> DocumentsOf(bool is_v3);
// The names of all files that tell of a node; those of documents come first.
std::span<const std::string_view> FilesOfNode(bool is_v3);
std::span<const std::string_view> NamesOfDocuments(bool is_v3);

// Names that nodes of v3 cannot have (core specification, "Node names").
bool IsReservedName(std::string_view name);

}  // namespace ndlfs::backends::zarr
