// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fs/view/dap/dap_dataset.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"

namespace ndlfs::fs {

// The values of one variable, or of a member of a Grid.
struct DapTable {
  std::string name;  // "t2m.lat"
  std::vector<uint64_t> shape;
  ClassicVariable part;
  uint64_t string_length = 0;  // of texts
};

// The values as text, behind the DDS: each row of the last dimension is a line that begins with
// its indices. Finding its size reads all values and makes the text, which is then kept. kLimit
// for more than a million values.
model::Result<ViewNode> MakeDapAscii(std::string dds, std::vector<DapTable> tables);

}  // namespace ndlfs::fs
