// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/cfa/aggregation.h"
#include "model/error.h"

namespace ndlfs::backends::cfa {

// Reads the attribute `cfa_array` of CFA 0.4, a JSON text with a list of partitions, of an
// array with these dimensions. A partition that has to be transformed, and not only put in its
// place, is an error.
model::Result<Aggregation> ReadPartitions(std::string_view text,
                                          std::vector<std::string> dimensions);

}  // namespace ndlfs::backends::cfa
