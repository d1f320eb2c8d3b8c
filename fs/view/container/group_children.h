// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// Loads the children `names` of `group` for their elements (GroupInput::LoadForElements),
// several at a time. Passes them to `take` in order, one at a time, but not always on this
// thread. `take` should keep no more of each than it needs, because there may be very many.
// Stops at an error of `take`.
model::Result<void> LoadEach(
    const GroupInput& group, const std::vector<std::string>& names,
    const std::function<model::Result<void>(const std::string& name,
                                            model::Result<GroupChild> child)>& take);

}  // namespace ndlfs::fs
