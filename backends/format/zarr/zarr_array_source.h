// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/format/array_source.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/store/store.h"

namespace ndlfs::backends::zarr {

// The data of the array whose keys begin with `prefix`: "temp/", or "" for an array at
// the top of the store.
std::shared_ptr<const ArraySource> MakeZarrArraySource(
    std::shared_ptr<const Store> store, std::string prefix,
    std::shared_ptr<const ArrayLayout> layout);

}  // namespace ndlfs::backends::zarr
