// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "fs/view/selection.h"
#include "fs/view/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// What stands between the brackets of "data[0,:,lat=40:60].npy", for a whole array: items for
// dimensions in their order, "..." for as many as are not named, and NAME=ITEM for a dimension
// by its name. ITEM is an index or a slice, after '#' or where the dimension has no
// coordinates; otherwise see FindByCoordinate(). Only that reads anything. kNotFound says what
// is wrong.
model::Result<Selection> ParseSlice(const ArrayInput& array, std::string_view text);

}  // namespace ndlfs::fs
