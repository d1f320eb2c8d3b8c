// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// Reads bit fields one after the other, each with its highest bit first, as
// HDF5's nbit and scaleoffset filters store them.
class HighBitReader {
 public:
  explicit HighBitReader(ConstByteSpan bytes) : bytes_(bytes) {}

  uint64_t bits_left() const { return bytes_.size() * 8 - position_; }

  // Reads a field of up to 64 bits. The caller must have checked bits_left().
  uint64_t Take(unsigned bits) {
    uint64_t value = 0;
    while (bits > 0) {
      const unsigned unread = 8 - position_ % 8;
      const unsigned step = std::min(bits, unread);
      const auto byte = std::to_integer<uint64_t>(bytes_[position_ / 8]);
      value = value << step | (byte >> (unread - step) & ((uint64_t{1} << step) - 1));
      bits -= step;
      position_ += step;
    }
    return value;
  }

 private:
  ConstByteSpan bytes_;
  uint64_t position_ = 0;
};

}  // namespace ndlfs::backends
