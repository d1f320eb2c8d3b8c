// SPDX-License-Identifier: MIT
//
// Helpers for paths below a SourceRoot, which the stores of files and of
// directories share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/store/local/source_root.h"
#include "model/error.h"

namespace ndlfs::backends {

// stat() of the regular file at `path`; nullopt if there is none, or a
// directory.
model::Result<std::optional<struct ::stat>> StatFile(const SourceRoot& root,
                                                     std::string_view path);

// The same as Source::Describe().
std::string DescribePath(const SourceRoot& root, std::string_view path);

}  // namespace ndlfs::backends
