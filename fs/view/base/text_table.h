// SPDX-License-Identifier: MIT
//
// Finds where the line of an element begins in a text whose lines differ in
// length.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ndlfs::fs {

// A table of the places of every `step`-th element. Its size is bounded, and
// every place in the text is less than `step` elements after one in the table.
// Immutable.
class TextTable {
 public:
  struct Place {
    uint64_t position = 0;  // in the text
    uint64_t element = 0;   // the one whose line begins there
  };

  // `lengths` has, for each group of `step` elements in order, the number of
  // bytes of its text.
  TextTable(uint64_t step, const std::vector<std::atomic<uint64_t>>& lengths) : step_(step) {
    positions_.reserve(lengths.size() + 1);
    positions_.push_back(0);
    for (const auto& length : lengths) positions_.push_back(positions_.back() + length);
  }

  uint64_t text_size() const { return positions_.back(); }
  size_t held_bytes() const { return positions_.capacity() * sizeof(uint64_t); }

  // The last place at or before `position`, which is less than text_size().
  Place Before(uint64_t position) const {
    const auto after = std::upper_bound(positions_.begin(), positions_.end(), position);
    const auto found = static_cast<uint64_t>(after - positions_.begin()) - 1;
    return {positions_[found], found * step_};
  }

 private:
  const uint64_t step_;
  std::vector<uint64_t> positions_;
};

// Collects the lengths for a TextTable, in any order. Thread-safe.
class TextLengths {
 public:
  explicit TextLengths(uint64_t elements)
      : step_(elements / kMost + 1), lengths_(elements / step_ + (elements % step_ != 0)) {}

  // How many of the `count` elements from `first` on are in the group of
  // `first`.
  uint64_t Together(uint64_t first, uint64_t count) const {
    return std::min(count, step_ - first % step_);
  }
  // Adds `length` bytes of text to the group of `element`.
  void Add(uint64_t element, uint64_t length) {
    lengths_[element / step_].fetch_add(length, std::memory_order_relaxed);
  }
  TextTable Finish() const { return TextTable(step_, lengths_); }

 private:
  static constexpr uint64_t kMost = 16384;

  const uint64_t step_;
  std::vector<std::atomic<uint64_t>> lengths_;
};

}  // namespace ndlfs::fs
