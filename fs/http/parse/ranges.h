// SPDX-License-Identifier: MIT
//
// Ranges of bytes (RFC 9110, section 14).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ndlfs::fs {

// Bytes of a file: at least one.
struct FileRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const FileRange&) const = default;
};

struct RangeRequest {
  enum class Kind {
    kWhole,  // no range that this server knows: the whole file
    kParts,
    kUnsatisfiable,  // the file has none of the bytes, or the ranges are too many
  };
  Kind kind = Kind::kWhole;
  // In the order of the request. If some of them overlap or touch, merged and sorted.
  std::vector<FileRange> parts = {};
};

// A request with more ranges is unsatisfiable.
inline constexpr size_t kMostRanges = 64;

// The ranges that the field `Range` asks for, of a file of `size` bytes. No byte is in two of
// them.
RangeRequest ParseRanges(std::string_view field, uint64_t size);

}  // namespace ndlfs::fs
