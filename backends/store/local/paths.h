// SPDX-License-Identifier: MIT
//
// Paths below a SourceRoot: what the stores of files and directories share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/store/local/source_root.h"
#include "model/error.h"

namespace ndlfs::backends {

// stat() of the regular file at `path`; nullopt where there is none.
model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path);

// As Source::Describe().
std::string DescribePath(const SourceRoot& root, std::string_view path);

}  // namespace ndlfs::backends
