// SPDX-License-Identifier: MIT
//
// Zarr v2 and v3, in any store.
#pragma once

#include <memory>
#include <string>

#include "backends/format/format.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Recognizes directories with .zgroup, .zarray, .zmetadata or zarr.json.
const Format& ZarrFormat();

// The hierarchy whose keys in `store` begin with `prefix` ("" or "a/b"). A store that is a
// single array is called `name`. For now, only looks whether there is a zarr.json at the root.
model::Result<std::shared_ptr<const Hierarchy>> OpenZarr(std::shared_ptr<const Store> store,
                                                         std::string prefix, std::string name,
                                                         const OpenOptions& options);

// Whether a file with this name at the top of a store makes it a Zarr store.
bool IsZarrMetadataName(std::string_view name);

}  // namespace ndlfs::backends
