// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/fits_header.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// A binary table (section 7.3 of the standard) as an array of one dimension, whose elements are
// the rows: compounds of its columns. Integers without a sign, which columns have by TZERO, are
// such. Arrays of variable length are their descriptors, as the table has them.
model::Result<DescribedArray> DescribeTable(const FitsHeader& header, std::string name);

}  // namespace ndlfs::backends::foreign
