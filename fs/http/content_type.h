// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ndlfs::fs {

// The media type of a file, by the end of its name.
std::string ContentTypeOf(std::string_view name);

}  // namespace ndlfs::fs
