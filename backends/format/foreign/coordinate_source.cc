// SPDX-License-Identifier: MIT
#include "backends/format/foreign/coordinate_source.h"

#include <utility>

#include "backends/format/computed_source.h"

namespace ndlfs::backends::foreign {

using model::Result;

Result<std::shared_ptr<const ArraySource>> MakeListedCoordinates(std::vector<double> values) {
  const uint64_t size = values.size();
  return MakeComputedSource({size},
                            [values = std::move(values)](uint64_t i) { return values[i]; });
}

Result<std::shared_ptr<const ArraySource>> MakeRegularCoordinates(double first, double step,
                                                                  uint64_t size) {
  return MakeComputedSource({size},
                            [=](uint64_t i) { return first + static_cast<double>(i) * step; });
}

}  // namespace ndlfs::backends::foreign
