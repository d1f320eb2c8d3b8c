// SPDX-License-Identifier: MIT
//
// Reads big-endian bit fields, as GRIB packs them, many at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// The widest field that can be read: it lies within eight bytes, wherever it begins.
inline constexpr unsigned kMaxGribBits = 57;

// The `width` bits (1 to kMaxGribBits) from `bit` on. Eight bytes from there must exist.
inline uint64_t PeekGribBits(const std::byte* data, uint64_t bit, unsigned width) {
  uint64_t word;
  std::memcpy(&word, data + bit / 8, sizeof(word));
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word << bit % 8 >> (64 - width);
}

// Calls `use` with `count` fields of `width` bits, from `bit` on. All of them lie within
// `data`.
template <typename Use>
void ForGribBits(ConstByteSpan data, uint64_t bit, unsigned width, uint64_t count, Use use) {
  if (width == 0) {
    for (uint64_t i = 0; i < count; ++i) use(uint64_t{0});
    return;
  }
  // Fields that begin in the last seven bytes are read from a copy with zeros behind it.
  const uint64_t near_end = data.size() < 8 ? 0 : (data.size() - 7) * 8;
  uint64_t fast = bit >= near_end ? 0 : (near_end - bit + width - 1) / width;
  fast = std::min(fast, count);
  for (uint64_t i = 0; i < fast; ++i, bit += width) use(PeekGribBits(data.data(), bit, width));
  if (fast == count) return;
  std::byte tail[16] = {};
  const uint64_t from = bit / 8;
  if (from < data.size()) std::memcpy(tail, data.data() + from, data.size() - from);
  bit -= from * 8;
  for (uint64_t i = fast; i < count; ++i, bit += width) use(PeekGribBits(tail, bit, width));
}

// Reads fields of the same width one after the other. Behind the end are zeros; the caller has
// checked that there are enough.
class GribBitList {
 public:
  GribBitList(ConstByteSpan data, uint64_t first_byte, unsigned width)
      : data_(data), bit_(first_byte * 8), width_(width) {}

  uint64_t Next() {
    if (width_ == 0) return 0;
    const uint64_t bit = bit_;
    bit_ += width_;
    const uint64_t from = bit / 8;
    if (data_.size() >= 8 && from <= data_.size() - 8) {
      return PeekGribBits(data_.data(), bit, width_);
    }
    std::byte tail[16] = {};
    if (from < data_.size()) {
      std::memcpy(tail, data_.data() + from, std::min<uint64_t>(8, data_.size() - from));
    }
    return PeekGribBits(tail, bit % 8, width_);
  }

 private:
  ConstByteSpan data_;
  uint64_t bit_;
  unsigned width_;
};

}  // namespace ndlfs::backends
