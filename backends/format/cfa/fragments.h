// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/format/cfa/aggregation.h"
#include "backends/format/hierarchy.h"
#include "backends/format/ndl/part_set.h"
#include "model/error.h"

namespace ndlfs::backends::cfa {

// The data of the aggregation variable `variable` of `file`: its fragments, joined along each
// dimension. `files` has the files of the fragments, `label` is the variable in messages.
// Compares a fragment with the variable when it is opened; the first one is opened now.
model::Result<std::shared_ptr<const ArraySource>> JoinFragments(
    std::shared_ptr<const Hierarchy> file, std::shared_ptr<const ndl::PartSet> files,
    const std::string& label, std::shared_ptr<const Node> variable, Aggregation aggregation);

}  // namespace ndlfs::backends::cfa
