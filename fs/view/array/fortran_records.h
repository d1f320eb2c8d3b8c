// SPDX-License-Identifier: MIT
//
// Fortran's unformatted sequential files, as gfortran and Intel's compiler write them.
#pragma once

#include <cstdint>
#include <vector>

#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {

// The most bytes between two markers: gfortran's, with room for both in 31 bits.
inline constexpr uint64_t kMostInSubrecord = (uint64_t{1} << 31) - 9;

// One record with all bytes of `elements`, little-endian. A marker of 4 bytes with their number
// stands before and behind it. A record of more than `most` bytes is divided into parts: the
// marker before a part is negative if another part follows, and the marker behind it if another
// part precedes.
std::vector<Segment> MakeFortranRecord(const Elements& elements,
                                       uint64_t most = kMostInSubrecord);

}  // namespace ndlfs::fs
