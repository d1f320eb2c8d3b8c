// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// The levels of an image of OME-Zarr that come after one of them.
struct OmeLevelsAfter {
  std::shared_ptr<const GroupInput> image;  // the group of the image
  std::vector<std::string> paths;           // below it; at most 64
  std::vector<std::string> axes;            // their names; empty if the image has none
};

// nullopt if `array`, which is whole, is no level of an image. Reads nothing but attributes of
// groups. LoadOmeLevel() loads the levels.
std::optional<OmeLevelsAfter> FindOmeLevelsAfter(const ArrayInput& array);

}  // namespace ndlfs::fs
