// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/fits_header.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// A binary table (section 7.3 of the standard) as an array of one dimension, whose elements are
// the rows: compounds of its columns. Integers without a sign, which columns have by TZERO, are
// such. Arrays of variable length are their descriptors, as the table has them.
model::Result<DescribedArray> DescribeTable(const FitsHeader& header, std::string name);

// A column as the header has it.
struct TableColumn {
  std::string name;      // TTYPE
  std::string form;      // TFORM
  size_t offset = 0;     // in a row
  size_t size = 0;       // bytes in a row
  size_t item_size = 0;  // of arrays of variable length: bytes of an element
};

// The columns of a binary table that take bytes in a row.
model::Result<std::vector<TableColumn>> ColumnsOf(const FitsHeader& header);

}  // namespace ndlfs::backends::foreign
