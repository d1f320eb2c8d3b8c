// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backends/base/bytes.h"

namespace ndlfs::fs {

// Part of a long text that is made from somewhere before it: takes the text as
// it comes, and keeps what falls into the part.
class TextWindow {
 public:
  // The text that comes begins at `position`; kept are the out.size() bytes
  // from `begin`, which is not before that.
  TextWindow(uint64_t position, uint64_t begin, backends::ByteSpan out)
      : position_(position), begin_(begin), out_(out) {}

  // Where the next text goes.
  uint64_t position() const { return position_; }
  // Whether all that is kept is there.
  bool full() const { return position_ >= begin_ + out_.size(); }
  // Bytes that are there.
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
