// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fs/view/container/classic_group.h"
#include "model/error.h"

namespace ndlfs::fs::classic {

// Whether one of the first `most` children, `names`, is an array.
bool HasArrayAmong(const GroupInput& group, const std::vector<std::string>& names, size_t most);
// Whether the group has an array, or more children than a look at them is worth.
bool MayHaveArrays(const GroupInput& group);

// Calls `take` with each array of the group and then with the arrays, of groups around it, that
// these refer to (see OuterArrays); one at a time, but not always on this thread. An array that
// cannot be loaded has no `input`. Fails if the system does, because an array would be missing
// without a reason.
model::Result<void> VisitArrays(const GroupInput& group,
                                const std::function<void(const GroupArray&)>& take);

}  // namespace ndlfs::fs::classic
