// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/store/http/object_service.h"

namespace ndlfs::backends {

// The files in the directory at `url`, by the page in which the server lists them: JSON of
// nginx (autoindex_format json), or HTML of any server. nullopt if the page is not such a list,
// but one that somebody has written. A list is recognized by its title or heading ("Index of",
// "Directory listing for", ...), or by the name of the directory as its title. A page is also a
// list if it has a link to the directory above, and hardly any link that leads elsewhere.
//
// Links are resolved against `url`: "x/", "./x/", "/dir/x/" and "http://host/dir/x/" mean the
// same in http://host/dir/. A '%' that begins no "%XX" stands for itself. Leaves out names that
// no file can have, and links that lead elsewhere.
std::optional<std::vector<ListedObject>> ParseIndexPage(std::string_view content_type,
                                                        std::string_view page,
                                                        std::string_view url = "");

}  // namespace ndlfs::backends
