// SPDX-License-Identifier: MIT
//
// Parts of arrays as NumPy's basic slicing cuts them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// Indices begin, begin + step ... along one dimension, `count` of them.
struct IndexRange {
  uint64_t begin = 0;
  uint64_t count = 0;
  int64_t step = 1;         // not 0; may be negative
  bool is_dropped = false;  // one index, and the part does not have this dimension

  uint64_t At(uint64_t i) const {
    return static_cast<uint64_t>(static_cast<int64_t>(begin) + static_cast<int64_t>(i) * step);
  }
  bool operator==(const IndexRange&) const = default;
};

// One for each dimension of the array. All indices lie inside it.
using Selection = std::vector<IndexRange>;

// The extents of the selected part.
std::vector<uint64_t> ShapeOf(const Selection& selection);

// A whole dimension.
IndexRange WholeRange(uint64_t extent);
// `text` as an index ("3", "-1"), or as a slice ("1:10:2", "::-1"), of a dimension of `extent`
// elements. An index drops the dimension. kNotFound for an index outside, a step of 0, and any
// other text.
model::Result<IndexRange> ParseIndexRange(std::string_view text, uint64_t extent);
// Indices from `first` to `last`, both inclusive, `step` apart.
IndexRange InclusiveRange(uint64_t first, uint64_t last, uint64_t step);

// Text from which ParseIndexRange() makes each range again: "0,:,10:20". Equal selections have
// the same text. Whole dimensions at the end are left out; "..." if nothing remains.
std::string FormatSelection(const Selection& selection, const std::vector<uint64_t>& extents);

}  // namespace ndlfs::fs
