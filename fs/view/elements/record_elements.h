// SPDX-License-Identifier: MIT
//
// The records of a netCDF classic file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fs/view/elements/element_source.h"
#include "model/error.h"

namespace ndlfs::fs {

// The values of one variable in each record.
struct RecordPart {
  std::shared_ptr<const ElementSource> values;  // for all records, one after the other
  uint64_t begin = 0;                           // in a record
  uint64_t bytes = 0;                           // in a record
};

// `count` records of `stride` bytes each: the values of all parts, with zeros between them.
// Numbers are in the byte order of the read. Null if there are no bytes. kInternal if the
// values of a part are not those of so many records, or do not fit into them.
model::Result<std::shared_ptr<const ElementSource>> MakeRecords(std::vector<RecordPart> parts,
                                                                uint64_t stride,
                                                                uint64_t count);

}  // namespace ndlfs::fs
