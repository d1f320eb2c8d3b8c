// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/codec/codec.h"
#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/foreign/fits_columns.h"
#include "backends/format/foreign/fits_header.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// A table as an array of one dimension, whose elements are the rows: compounds of its columns.
struct FitsTable {
  DescribedArray array;
  // The source, or the error why the rows cannot be read. Null: `array` says all about where
  // they are.
  model::Result<std::shared_ptr<const ArraySource>> source = nullptr;
};

// Describes the table at `offset` of `file`, with values as the standard defines them: TZERO
// can make integers unsigned; other scaled numbers are float64, and NaN where TNULL stands;
// columns of variable length are lists, read from the heap. A table without columns is an array
// without elements.
model::Result<FitsTable> DescribeTable(const FitsHeader& header, bool is_ascii,
                                       const DataFile& file, uint64_t offset,
                                       const OpenOptions& options);

// A column as the header has it.
struct TableColumn {
  std::string name;      // TTYPE
  std::string form;      // TFORM
  size_t offset = 0;     // in a row
  size_t size = 0;       // bytes in a row
  size_t item_size = 0;  // for arrays of variable length: bytes of an element
};

// The columns of a binary table that take bytes in a row.
model::Result<std::vector<TableColumn>> ColumnsOf(const FitsHeader& header);

// Decodes elements of the type `stored`. Some of their integers are stored with an offset of
// half their range: FITS stores unsigned integers less 2^(n-1), because it has none, and signed
// bytes plus 2^7. `highest_bytes` are the places, in a decoded element, of the most significant
// bytes of these integers.
model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeMovedZero(
    const model::Datatype& stored, std::vector<size_t> highest_bytes);

}  // namespace ndlfs::backends::foreign
