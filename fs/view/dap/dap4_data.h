// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/dap/dap4_dataset.h"
#include "fs/view/elements/segmented_view.h"
#include "model/error.h"

namespace ndlfs::fs {

// Whether a CRC-32 follows the values of each variable.
enum class Dap4Checksums { kNone, kCrc32 };

// The reply with the values of `dataset`, which describes `group`, in chunks of less than
// 16 MiB; the first one has `dmr` (DAP4 specification, volume 1, section 7). Numbers are
// little-endian. kLimit for a reply of more than a TiB.
model::Result<std::vector<Segment>> MakeDap4Data(const GroupInput& group,
                                                 const Dap4Dataset& dataset,
                                                 const std::string& dmr,
                                                 Dap4Checksums checksums);

}  // namespace ndlfs::fs
