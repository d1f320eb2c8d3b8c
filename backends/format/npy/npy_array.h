// SPDX-License-Identifier: MIT
//
// The array in an NPY file, which is a plain file or a member of an archive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/format/flat_source.h"
#include "backends/format/hierarchy.h"
#include "backends/format/npy/npy_header.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Loads the array in the value at `key`, with the name `name`. Fails if the header is
// invalid. If only the data cannot be read (Python objects, too few bytes for the
// shape), the node has an error.
model::Result<std::shared_ptr<const Node>> LoadNpyArray(std::shared_ptr<const Store> store,
                                                        std::string key, std::string name,
                                                        FlatAccess access,
                                                        const OpenOptions& options);

}  // namespace ndlfs::backends
