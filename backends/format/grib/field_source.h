// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/format/array_source.h"
#include "backends/format/grib/plan.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::grib {

// The elements of `array`, a chunk for each message of the file that is the only value of
// `store`. Fails (kLimit) if a chunk is larger than `max_chunk_size`. `on_lie` is that of Plan.
model::Result<std::shared_ptr<const ArraySource>> MakeFieldSource(
    std::shared_ptr<const Store> store, const PlannedArray& array, uint64_t max_chunk_size,
    const std::function<void()>& on_lie);

}  // namespace ndlfs::backends::grib
