// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends::icechunk {

// The id of a snapshot, manifest or chunk, which is also the name of its file.
using ObjectId = std::array<uint8_t, 12>;

// In Crockford's Base32: upper case, without padding, the last digit filled with zeros. 12
// bytes are 20 digits.
std::string IdText(std::span<const uint8_t> id);

// The id with that text. kBadInput for any other text.
model::Result<ObjectId> ParseId(std::string_view text);

}  // namespace ndlfs::backends::icechunk
