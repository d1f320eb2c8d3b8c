// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "backends/codec/registry.h"
#include "model/error.h"

namespace ndlfs::backends {

// The client data of an HDF5 filter, {"cd_values": [...]}. Fails if there are fewer
// than `required` values.
model::Result<std::vector<uint32_t>> ParseClientData(const CodecConfig& config,
                                                     size_t required);

}  // namespace ndlfs::backends
