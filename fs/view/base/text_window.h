// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backends/base/bytes.h"

namespace ndlfs::fs {

// Keeps one part of a long text. The text is appended piece by piece, from a
// position at or before the part; the window keeps only the bytes of the part.
class TextWindow {
 public:
  // The first appended byte is at `position` of the text. The window keeps the
  // out.size() bytes from `begin`, which must not be less than `position`.
  TextWindow(uint64_t position, uint64_t begin, backends::ByteSpan out)
      : position_(position), begin_(begin), out_(out) {}

  // The position of the byte that is appended next.
  uint64_t position() const { return position_; }
  // Whether the window has all of its bytes.
  bool full() const { return position_ >= begin_ + out_.size(); }
  // How many bytes the window has so far.
  size_t filled() const {
    return position_ <= begin_ ? 0 : std::min<uint64_t>(position_ - begin_, out_.size());
  }

  void Append(std::string_view text) {
    const uint64_t end = position_ + text.size();
    const uint64_t from = std::max(position_, begin_);
    const uint64_t to = std::min(end, begin_ + out_.size());
    if (from < to) {
      std::memcpy(out_.data() + (from - begin_), text.data() + (from - position_), to - from);
    }
    position_ = end;
  }

 private:
  uint64_t position_;
  const uint64_t begin_;
  const backends::ByteSpan out_;
};

}  // namespace ndlfs::fs
