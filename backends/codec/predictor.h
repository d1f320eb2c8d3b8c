// SPDX-License-Identifier: MIT
//
// The predictors of TIFF: rows of numbers are stored as differences of neighbours (TIFF 6.0,
// section 14; Adobe's Technical Note 3 for floats).
#pragma once

#include <cstddef>

#include "backends/base/bytes.h"

namespace ndlfs::backends {

// Undoes predictor 2 in place: each number of `row`, little-endian and of `size` (1, 2, 4 or 8)
// bytes, becomes the sum of itself and the number `step` numbers before it, modulo its size.
// The first `step` numbers stay. `step` is the number of samples of a pixel, and not 0.
void UndoDifferences(size_t size, size_t step, ByteSpan row);

// Undoes predictor 3 for one row of floats of `size` bytes. `row` has the highest bytes of all
// floats, then their next bytes, and so on. Each byte is stored as the difference from the byte
// `step` bytes before it. Sums these up in `row`, and puts the floats into `floats`,
// little-endian. Both have the same size, a multiple of `size`, and do not overlap.
void UndoFloatPredictor(size_t size, size_t step, ByteSpan row, ByteSpan floats);

}  // namespace ndlfs::backends
