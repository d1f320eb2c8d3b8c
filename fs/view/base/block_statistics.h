// SPDX-License-Identifier: MIT
//
// Coarser arrays: one number for each block of elements.
#pragma once

#include <cstdint>
#include <vector>

#include "fs/view/base/block_text.h"
#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// The mean, the least, the largest, the sum or the count of the elements in each block of
// `input`, as an array. `input` is a whole array, a part, or values that were unpacked. Missing
// elements (backends::ReadPacking(), and NaN) are left out. Reads nothing.
//
//   statistic     type                       in a block in which all are missing
//   kMean         float64; dates become      NaN; no date
//                 dates of a finer unit
//   kSum          float64                    NaN
//   kMin, kMax    as before                  the first element, which is missing
//   kCount        int64                      0
//   kRoundedMean  as before                  the first element, which is missing
//   kFirst        as before                  the first element, as in every block
//
// Longitudes have their mean on the circle: 350 and 10 give 0. Floats that are smaller than
// float32 become float32 first, and are as before with kMin and kMax. kRoundedMean sums
// integers exactly, and rounds to the nearest integer, halves to the even one. kFirst is for
// numbers that have no mean: bool, enums, labels.
//
// Attributes that hold no longer are removed, `cell_methods` says what was done, and
// `_FillValue` is NaN where that stands for missing elements. scale_factor and add_offset stay
// with kMean, kMin and kMax: stored numbers stay stored ones. With kRoundedMean and kFirst,
// those stay that say what the numbers mean. kNotFound if the elements are not numbers, or if
// the statistic of stored numbers would not be that of the values: kSum with an add_offset,
// kMin and kMax with a scale_factor below 0, all but kCount over bands with factors of their
// own. kLimit for more bytes than a file can have.
//
// The elements are a BoxSource, too.
model::Result<ArrayInput> MakeBlocks(const ArrayInput& input, Blocks blocks);

// The bounds of the blocks of a coordinate with one dimension, whose bounds are `bounds`: the
// lower one of the first element and the upper one of the last. kUnsupported for other bounds.
model::Result<ArrayInput> MakeBlockBounds(const ArrayInput& bounds, Blocks blocks);

// The coordinates of blocks: the mean of those of their elements.
model::Result<ArrayInput> MakeCentres(const ArrayInput& coordinates,
                                      std::vector<uint64_t> extents);

}  // namespace ndlfs::fs
