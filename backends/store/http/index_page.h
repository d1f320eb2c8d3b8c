// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/store/http/object_service.h"

namespace ndlfs::backends {

// The files that a page lists which a server has made of a directory: JSON of nginx
// (autoindex_format json), or HTML of nginx, Apache or Python's http.server. nullopt if the
// page is no such list, such as a page that somebody has written. Leaves out names that no file
// can have, and links that lead elsewhere.
std::optional<std::vector<ListedObject>> ParseIndexPage(std::string_view content_type,
                                                        std::string_view page);

}  // namespace ndlfs::backends
