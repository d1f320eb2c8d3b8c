// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ndlfs::fs {

// The media type of a file, by the end of its name. Pages, and what browsers load for them, are
// plain text unless `is_page`.
std::string ContentTypeOf(std::string_view name, bool is_page = false);

}  // namespace ndlfs::fs
