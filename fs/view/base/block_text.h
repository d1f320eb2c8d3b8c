// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// How the elements of a block become one number.
enum class Statistic : uint8_t {
  kMean,
  kMin,
  kMax,
  kSum,
  kCount,
  // For the levels of pyramids, whose elements have the type of those of the full resolution.
  // No name asks for them.
  kRoundedMean,
  kFirst,
};

// Describes an array that has one number for each block of elements. The last block along a
// dimension may have fewer elements.
struct Blocks {
  Statistic statistic = Statistic::kMean;
  std::vector<uint64_t> extents;  // one for each dimension; none is 0
};

// Parses "mean:lat=4,lon=4" for `array`, which may be a part. The extents are those of
// ParseChunks(); 1 where there is none. kNotFound says what is wrong.
model::Result<Blocks> ParseBlocks(const ArrayInput& array, std::string_view text);
// Text from which ParseBlocks() makes `blocks` again. Equal ones have equal texts.
std::string FormatBlocks(const Blocks& blocks);

// Parses the text behind "axes:" for `array`, which may be a part: the name of each dimension
// once, in another order. '#' and its number stand for a dimension without a name; '#' may be
// left out where no dimension has that name. Returns the numbers of the dimensions, slowest
// first. kNotFound says what is wrong.
model::Result<std::vector<size_t>> ParseAxes(const ArrayInput& array, std::string_view text);
// Text from which ParseAxes() makes `axes` again.
std::string FormatAxes(const std::vector<size_t>& axes);

}  // namespace ndlfs::fs
