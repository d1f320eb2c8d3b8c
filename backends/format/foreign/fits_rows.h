// SPDX-License-Identifier: MIT
//
// Rows of tables of FITS whose fields are more than bytes in another order.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/codec/codec.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/foreign/fits_columns.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// The names of the columns: TTYPE, or "column" and the number where that is empty or taken.
std::vector<std::string> NamesOfColumns(const std::vector<FitsColumn>& columns);

// The type of a row: a compound of the columns, packed.
model::Datatype RowType(const std::vector<FitsColumn>& columns);

// Decodes rows to elements of RowType(). No column has a variable length.
std::shared_ptr<const ArrayToBytesCodec> MakeRowsCodec(FitsTableForm table);

// Where a table is in a file, and the heap behind it.
struct FitsTablePlace {
  DataFile file;
  uint64_t offset = 0;    // of the first row
  uint64_t heap = 0;      // offset in the file
  uint64_t heap_end = 0;  // offset in the file
};

// Finds the heap of the table at `offset` by PCOUNT and THEAP. kCorrupt if the file ends before
// the table does.
model::Result<FitsTablePlace> FindHeap(const FitsHeader& header, const FitsTableForm& table,
                                       const DataFile& file, uint64_t offset);

// The rows of a table with columns of variable length: elements of variable size.
model::Result<std::shared_ptr<const ArraySource>> MakeVariableRows(FitsTableForm table,
                                                                   FitsTablePlace place,
                                                                   const OpenOptions& options);

}  // namespace ndlfs::backends::foreign
