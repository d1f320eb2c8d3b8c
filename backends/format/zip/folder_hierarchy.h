// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "backends/store/store.h"

namespace ndlfs::backends {

// A root group whose children are the roots of other hierarchies: the object "/temp" of the
// hierarchy that `folders` calls "a" is "/a/temp" here. `stamp` tells the version of the whole.
std::shared_ptr<const Hierarchy> MakeFolderHierarchy(
    std::string_view format, std::map<std::string, std::shared_ptr<const Hierarchy>> folders,
    std::function<model::Result<std::optional<ValueInfo>>()> stamp);

}  // namespace ndlfs::backends
