// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/netcdf3/header.h"
#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_request.h"

namespace ndlfs::fs {

// The Dataset Descriptor Structure of `declarations`.
std::string WriteDds(const DapDataset& dataset,
                     const std::vector<DapDeclaration>& declarations);
// The Dataset Attribute Structure of the whole dataset.
std::string WriteDas(const DapDataset& dataset);

// The number in `bytes`, which are big-endian, of `type`.
std::string DapNumberText(std::string_view bytes, backends::netcdf3::Type type);
// `text` up to its first NUL, in quotes; quotes and backslashes in it have a backslash before
// them.
std::string DapStringText(std::string_view text);

}  // namespace ndlfs::fs
