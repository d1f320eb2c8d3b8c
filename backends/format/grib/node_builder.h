// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "backends/format/grib/plan.h"
#include "backends/format/hierarchy.h"
#include "backends/store/store.h"

namespace ndlfs::backends::grib {

// The node of `array`, called `name`, in the group at `group_path`. `group` has the coordinates
// along its dimensions.
std::shared_ptr<Node> MakeArrayNode(const Plan& plan, const PlannedGroup& group,
                                    std::string_view group_path, std::string_view name,
                                    const PlannedArray& array,
                                    const std::shared_ptr<const Store>& store,
                                    const OpenOptions& options);
std::shared_ptr<Node> MakeCoordinateNode(const PlannedGroup& group, std::string_view group_path,
                                         std::string_view name,
                                         const PlannedCoordinate& coordinate);

}  // namespace ndlfs::backends::grib
