// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// The array that a group of NeXus shows first: the signal of the plot that `default` leads to,
// from group to group. nullopt if there is none, or it has no data. Loads metadata. Every error
// is transient.
model::Result<std::optional<ArrayInput>> FindGroupPlot(const GroupInput& group);

}  // namespace ndlfs::fs
