// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/base/bytes.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {

// Reads bit fields one after the other, each with its lowest bit first, as pcodec stores them.
// Reads zeros behind the end of the bytes: the caller checks is_past_end() afterwards, once for
// many fields. Not thread-safe.
class LowBitReader {
 public:
  // After EnsureRoom(), fields that begin in the next kRoom bytes may be peeked.
  static constexpr size_t kRoom = 4096;

  explicit LowBitReader(ConstByteSpan bytes) : data_(bytes.data()), size_(bytes.size()) {}
  LowBitReader(const LowBitReader&) = delete;
  LowBitReader& operator=(const LowBitReader&) = delete;

  uint64_t position() const { return position_; }  // in bits; only to compute with
  bool is_past_end() const { return position_ > size_ * 8; }
  uint64_t bits_left() const { return is_past_end() ? 0 : size_ * 8 - position_; }

  // Makes room for the next fields. May change position().
  void EnsureRoom() {
    if (in_tail_ || is_past_end() || size_ - position_ / 8 >= kRoom + kMargin) return;
    size_ -= position_ / 8;
    if (size_ != 0) std::memcpy(tail_.data(), data_ + position_ / 8, size_);
    data_ = tail_.data();
    position_ %= 8;
    in_tail_ = true;
  }

  // At least 57 bits from `position` on. Call EnsureRoom() before.
  uint64_t Peek(uint64_t position) const {
    return LoadLittle<uint64_t>(data_ + position / 8) >> position % 8;
  }
  void MoveTo(uint64_t position) { position_ = position; }

  // Takes a field of up to 64 bits.
  uint64_t Take(unsigned bits) {
    EnsureRoom();
    if (is_past_end()) return 0;
    const unsigned low = std::min(bits, 32u);
    uint64_t value = Peek(position_) & Mask(low);
    if (bits > low) value |= (Peek(position_ + low) & Mask(bits - low)) << low;
    position_ += bits;
    return value;
  }
  void SkipToByte() { position_ = (position_ + 7) / 8 * 8; }

  // A mask of the lowest `bits` bits; 0 to 63.
  static uint64_t Mask(unsigned bits) { return (uint64_t{1} << bits) - 1; }

 private:
  static constexpr size_t kMargin = 2 * sizeof(uint64_t);

  const std::byte* data_;
  uint64_t size_;
  uint64_t position_ = 0;
  bool in_tail_ = false;
  // The last bytes, with zeros behind them.
  std::array<std::byte, 2 * kRoom + 2 * kMargin> tail_{};
};

}  // namespace ndlfs::backends
