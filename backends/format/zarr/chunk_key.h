// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Makes the key of a chunk, relative to its array, from the index of the chunk.
class ChunkKeyEncoding {
 public:
  // "c/0/1"; "c" for rank 0.
  static ChunkKeyEncoding Default(char separator) { return {"c", separator}; }
  // "0.1"; "0" for rank 0. The encoding of Zarr v2.
  static ChunkKeyEncoding V2(char separator) { return {"", separator}; }
  // "1/0" for the index (0, 1). The encoding of N5, which lists axes in reverse.
  static ChunkKeyEncoding N5() { return {"", '/', true}; }
  // Reads the `chunk_key_encoding` of Zarr v3.
  static model::Result<ChunkKeyEncoding> Parse(const Json& json);

  std::string Key(std::span<const uint64_t> index) const;
  // The index of a key of as many numbers as the array has dimensions; nullopt for a text that
  // Key() does not make.
  std::optional<std::vector<uint64_t>> Index(std::string_view key, size_t rank) const;

  std::string_view prefix() const { return prefix_; }
  char separator() const { return separator_; }
  bool is_reversed() const { return last_axis_first_; }

 private:
  ChunkKeyEncoding(std::string_view prefix, char separator, bool last_axis_first = false)
      : prefix_(prefix), separator_(separator), last_axis_first_(last_axis_first) {}
  std::string_view prefix_;  // a literal
  char separator_;
  bool last_axis_first_;
};

// Reads a separator: "." or "/".
model::Result<char> ParseSeparator(const Json& json);

}  // namespace ndlfs::backends::zarr
