// SPDX-License-Identifier: MIT
//
// Plates, wells and images of OME-Zarr in the page of a group.
#pragma once

#include <string>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// A plate as a table of its wells, each with a small picture, and the levels of an image;
// empty for other groups. `has_picture`: the group has a preview. Lists the wells of rows, but
// loads none. Every error is transient.
model::Result<std::string> OmeHtml(const GroupInput& group, bool has_picture);

// A line about a group that has a picture: an image, or a well.
std::string OmeImageText(const backends::Node& group);

}  // namespace ndlfs::fs
