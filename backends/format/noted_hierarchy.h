// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

// `hierarchy`, with these notes added to its root. Without notes it is the same object.
std::shared_ptr<const Hierarchy> WithNotes(std::shared_ptr<const Hierarchy> hierarchy,
                                           std::vector<std::string> notes);

}  // namespace ndlfs::backends
