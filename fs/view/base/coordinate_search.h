// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The indices along a dimension that `text` selects. `coordinates` are all coordinates of the
// dimension. "51.5" and "2020-01-01T06:00" select one coordinate, which has to exist. "~51.3"
// selects the nearest one, and the larger of two that are equally near. "40:60",
// "2020-01:2020-03", ":60" and "40:60:2" select all coordinates between two ends, including the
// ends, in the order of the store. "2020-01", without a part of a day, is a range too, if it
// has coordinates other than its beginning. Times are read with `units` and `calendar` of CF,
// or as the type counts them. Numbers are compared after scale_factor and add_offset.
//
// A text selects the coordinate that is equal to it, as it is or with the escapes of file
// names. There is no range of texts.
//
// Decodes all chunks of at most a million coordinates, and otherwise those that bisection
// needs. kNotFound says what is wrong with the text, or why coordinates cannot be searched:
// they neither ascend nor descend, or one of them is missing. Other errors come from reading.
model::Result<IndexRange> FindByCoordinate(const ArrayInput& coordinates,
                                           std::string_view text);

}  // namespace ndlfs::fs
