// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/s3/tree.h"
#include "backends/store/store.h"

namespace ndlfs::backends::s3 {

// As Source::OpenStore() and Source::OpenFile().
std::shared_ptr<const Store> MakeDirectoryStore(std::shared_ptr<const Tree> tree,
                                                std::string path);
std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const Tree> tree, std::string path);

}  // namespace ndlfs::backends::s3
