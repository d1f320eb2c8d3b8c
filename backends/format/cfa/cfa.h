// SPDX-License-Identifier: MIT
//
// Aggregation variables of netCDF files: arrays whose data are fragments in other files.
// Section 2.8 of the CF conventions 1.13, CFA 0.6 and CFA 0.4 describe them.
#pragma once

#include <memory>
#include <string>

#include "backends/format/hierarchy.h"
#include "backends/store/source.h"

namespace ndlfs::backends::cfa {

// The netCDF file `file`, which is at `path` of `source`, with each aggregation variable as the
// array that it stands for. Other objects are those of `file`. An aggregation that cannot be
// shown is an array with an error.
std::shared_ptr<const Hierarchy> WithAggregations(std::shared_ptr<const Hierarchy> file,
                                                  std::shared_ptr<const Source> source,
                                                  std::string path, OpenOptions options);

}  // namespace ndlfs::backends::cfa
