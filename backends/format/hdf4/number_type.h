// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "model/datatype.h"

namespace ndlfs::backends::hdf4 {

// The type of elements as they lie in the file, of a number of hntdefs.h: big-endian unless a
// flag says otherwise. nullopt for a number that nobody knows.
std::optional<model::Datatype> TypeOf(int32_t number_type);

inline constexpr int32_t kTextType = 4;

// Whether it is text: letters of one byte, whose charset is not told.
bool IsText(int32_t number_type);

}  // namespace ndlfs::backends::hdf4
