// SPDX-License-Identifier: MIT
//
// Makes shards (Zarr v3 sharding_indexed), sound and otherwise.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/little_endian.h"

namespace ndlfs::test {

// CRC-32C bit by bit (RFC 3720, appendix B.4).
inline uint32_t SlowCrc32c(std::string_view text) {
  uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}
inline std::string WithCrc32c(std::string text) {
  return text + LittleEndian(SlowCrc32c(text), 4);
}

constexpr uint64_t kNoChunk = ~uint64_t{0};

// (offset, bytes) of each inner chunk.
using ShardEntries = std::vector<std::pair<uint64_t, uint64_t>>;

inline std::string EncodeEntries(const ShardEntries& entries) {
  std::string text;
  for (const auto& [offset, size] : entries) {
    text += LittleEndian(offset, 8) + LittleEndian(size, 8);
  }
  return text;
}

struct ShardStyle {
  const char* name = "Default";
  bool index_at_start = false;
  bool crc32c = true;
  bool reversed = false;  // chunks in the file from last to first
  size_t gap = 0;         // unused bytes before each chunk
};

inline void PrintTo(const ShardStyle& style, std::ostream* out) { *out << style.name; }

inline std::string SealIndex(const ShardEntries& entries, const ShardStyle& style) {
  std::string index = EncodeEntries(entries);
  return style.crc32c ? WithCrc32c(std::move(index)) : index;
}

// A shard of these encoded inner chunks; nullopt is an empty one.
inline std::string MakeShard(const std::vector<std::optional<std::string>>& chunks,
                             const ShardStyle& style = {}) {
  ShardEntries entries(chunks.size(), {kNoChunk, kNoChunk});
  const size_t index_size = 16 * chunks.size() + (style.crc32c ? 4 : 0);
  const size_t base = style.index_at_start ? index_size : 0;
  std::string body;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const size_t slot = style.reversed ? chunks.size() - 1 - i : i;
    if (!chunks[slot]) continue;
    body.append(style.gap, '#');
    entries[slot] = {base + body.size(), chunks[slot]->size()};
    body += *chunks[slot];
  }
  const std::string index = SealIndex(entries, style);
  return style.index_at_start ? index + body : body + index;
}

}  // namespace ndlfs::test
