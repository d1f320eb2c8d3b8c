// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace ndlfs::backends {

// Decodes standard base64 (RFC 4648, section 4). Padding may be left out;
// nullopt for anything else that is not of the alphabet, or a length that no
// bytes have.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace ndlfs::backends
