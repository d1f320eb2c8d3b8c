// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "fs/view/view_input.h"

namespace ndlfs::fs {

enum class UnpackedForm : uint8_t {
  kNumbers,  // numbers, and times as datetime64
  kText,     // for data.txt: times as ISO text, flags by their names
};

// The values that numbers stand for by the conventions of CF, as an array: scale_factor,
// add_offset, and NaN where `_FillValue`, `missing_value` or `valid_min`, `valid_max` and
// `valid_range` say that there is none; with `_Unsigned`, integers without a sign. The
// attributes that have been heeded are gone. Reads nothing.
//
// The type is that of scale_factor and add_offset: float32 if these are, and the integers have
// no more than 16 bits, else float64. Without them, float32 for integers of 8 and 16 bits and
// for float32. Where nothing is missing and nothing is scaled, `_Unsigned` gives integers.
// Times are microseconds, or nanoseconds where they are counted in these; those of a calendar
// that datetime64 has no days for are text only.
//
// nullopt where none of these attributes is there, or one cannot be understood: a list of scale
// factors, or NaN.
std::optional<ArrayInput> MakeUnpacked(const ArrayInput& input, UnpackedForm form);

}  // namespace ndlfs::fs
