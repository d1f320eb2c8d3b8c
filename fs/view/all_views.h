// SPDX-License-Identifier: MIT
//
// The names of all views. The list is declared in fs/view/base/view_provider.h.
#pragma once

#include <string_view>
#include <vector>

#include "fs/view/base/view_path.h"
#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// The short names of all kinds of files, of arrays and of groups.
std::vector<std::string_view> ShortViewNames();

}  // namespace ndlfs::fs
