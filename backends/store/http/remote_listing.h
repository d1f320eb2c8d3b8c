// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/store/http/remote_tree.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends {

// Reads the directory page by page, and remembers lists that are not too long. kIo with ENOENT
// or ENOTDIR if there is no such directory.
model::Result<std::unique_ptr<DirectoryListing>> ListDirectory(
    const std::shared_ptr<const RemoteTree>& tree, const std::string& path);

// At most `limit` names in the directory, sorted; none if there is no such directory.
model::Result<std::vector<ListedObject>> ListNames(const RemoteTree& tree,
                                                   const std::string& path, size_t limit);

// The status of the path of a look that is not kAbsent.
FileStatus StatusOf(const RemoteTree& tree, std::string_view path, const Look& look);

}  // namespace ndlfs::backends
