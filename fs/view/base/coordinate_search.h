// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The indices along a dimension where `coordinates`, those of all of it, are what `text` says:
// "51.5" and "2020-01-01T06:00" are one coordinate, which has to be there; "~51.3" is the
// nearest one (of two that are equally near, the larger); "40:60", "2020-01:2020-03", ":60" and
// "40:60:2" are those between two ends, which belong to it, in the order of the store.
// "2020-01", without a part of a day, is a range too, if other coordinates than its beginning
// are in it. Times are read with `units` and `calendar` of CF, or as the type counts them;
// numbers after scale_factor and add_offset.
//
// A text is found where it is equal to a coordinate, as it is or with the escapes of file
// names; there is no range of texts.
//
// Decodes all chunks of at most a million coordinates, and otherwise those that bisection
// needs. kNotFound says what is wrong with the text, or why coordinates cannot be searched:
// they do not ascend or descend, or one of them is missing. Other errors are of reading.
model::Result<IndexRange> FindByCoordinate(const ArrayInput& coordinates,
                                           std::string_view text);

}  // namespace ndlfs::fs
