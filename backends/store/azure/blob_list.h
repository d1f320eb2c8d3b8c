// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/store/http/object_service.h"
#include "backends/store/object/xml_answers.h"
#include "model/error.h"

namespace ndlfs::backends::azure {

// The query with which a container lists the names directly below `folder`, which is empty or
// ends in '/', from `start` on; percent-encoded.
std::string ListQuery(std::string_view folder, const PageStart& start, unsigned most_names);

// The answer to "List Blobs". A directory of a hierarchical namespace is a prefix. Errors are
// kBadInput: the answer is no list, contradicts itself, or has a name that does not begin with
// `prefix`.
model::Result<object::KeyPage> ParseBlobList(std::string_view document,
                                             std::string_view prefix);

}  // namespace ndlfs::backends::azure
