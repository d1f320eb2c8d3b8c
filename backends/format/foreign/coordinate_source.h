// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Arrays of float64 that are in no file: `values`, or `size` numbers first, first + step ...,
// which take no memory.
model::Result<std::shared_ptr<const ArraySource>> MakeListedCoordinates(
    std::vector<double> values);
model::Result<std::shared_ptr<const ArraySource>> MakeRegularCoordinates(double first,
                                                                         double step,
                                                                         uint64_t size);

}  // namespace ndlfs::backends::foreign
