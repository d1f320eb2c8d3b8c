// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/store/http/object_service.h"

namespace ndlfs::backends {

// The files that a page lists which the server has made of the directory at `url`: JSON of
// nginx (autoindex_format json), or HTML of any server. nullopt if the page is no such list,
// such as a page that somebody has written. A list says so in its title or heading ("Index of",
// "Directory listing for", ...), or has the name of the directory as its title, or has a link
// to the directory above and hardly any link that leads elsewhere.
//
// Links are resolved against `url`: "x/", "./x/", "/dir/x/" and "http://host/dir/x/" mean the
// same in http://host/dir/. A '%' that begins no "%XX" stands for itself. Leaves out names that
// no file can have, and links that lead elsewhere.
std::optional<std::vector<ListedObject>> ParseIndexPage(std::string_view content_type,
                                                        std::string_view page,
                                                        std::string_view url = "");

}  // namespace ndlfs::backends
