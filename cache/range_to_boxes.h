// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/error.h"

namespace ndlfs::cache {

// Cuts a range [begin, end) of the positions in a C-ordered array into boxes: at most two for
// each dimension and one in the middle. Calls `visit(begin, count, position)` for each, in
// order: its first index, its extents, and the position of its first element. `visit` returns a
// model::Result<void>; the first error ends the cut.
template <typename Visit>
class RangeToBoxes {
 public:
  // `strides` are those of `shape`, in positions; they are one for the last dimension. `visit`
  // must outlive the object.
  RangeToBoxes(std::vector<uint64_t> shape, std::vector<uint64_t> strides, const Visit& visit)
      : shape_(std::move(shape)), strides_(std::move(strides)), visit_(visit) {}

  model::Result<void> Run(uint64_t begin, uint64_t end) {
    if (begin == end) return {};
    if (shape_.empty()) return visit_({}, {}, 0);
    prefix_.clear();
    base_ = 0;
    return Split(begin, end);
  }

 private:
  // Visits [begin, end) of the positions below `prefix_`.
  model::Result<void> Split(uint64_t begin, uint64_t end) {
    const uint64_t stride = strides_[prefix_.size()];
    uint64_t first = begin / stride;
    const uint64_t last = end / stride;
    if (first == last) return Descend(first, begin % stride, end % stride);
    if (begin % stride != 0) {
      NDLFS_RETURN_IF_ERROR(Descend(first, begin % stride, stride));
      ++first;
    }
    if (first < last) NDLFS_RETURN_IF_ERROR(Emit(first, last - first));
    if (end % stride != 0) NDLFS_RETURN_IF_ERROR(Descend(last, 0, end % stride));
    return {};
  }

  model::Result<void> Descend(uint64_t index, uint64_t begin, uint64_t end) {
    if (begin == end) return {};
    const uint64_t offset = index * strides_[prefix_.size()];
    prefix_.push_back(index);
    base_ += offset;
    auto result = Split(begin, end);
    base_ -= offset;
    prefix_.pop_back();
    return result;
  }

  model::Result<void> Emit(uint64_t first, uint64_t count) {
    std::vector<uint64_t> begin = prefix_;
    std::vector<uint64_t> counts(prefix_.size(), 1);
    begin.push_back(first);
    counts.push_back(count);
    for (size_t d = begin.size(); d < shape_.size(); ++d) {
      begin.push_back(0);
      counts.push_back(shape_[d]);
    }
    return visit_(std::move(begin), std::move(counts),
                  base_ + first * strides_[prefix_.size()]);
  }

  const std::vector<uint64_t> shape_;
  const std::vector<uint64_t> strides_;
  const Visit& visit_;
  std::vector<uint64_t> prefix_;
  uint64_t base_ = 0;
};

}  // namespace ndlfs::cache
