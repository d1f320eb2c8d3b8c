// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_request.h"

namespace ndlfs::fs {

// The Dataset Descriptor Structure of `declarations`.
std::string WriteDds(const DapDataset& dataset,
                     const std::vector<DapDeclaration>& declarations);
// The Dataset Attribute Structure of the whole dataset.
std::string WriteDas(const DapDataset& dataset);

}  // namespace ndlfs::fs
