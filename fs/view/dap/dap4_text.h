// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "fs/view/dap/dap4_dataset.h"

namespace ndlfs::fs {

// The Dataset Metadata Response: an XML document.
std::string WriteDmr(const Dap4Dataset& dataset);

}  // namespace ndlfs::fs
