// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ndlfs::model {

// Standard base64 (RFC 4648, section 4), padded, on one line.
std::string EncodeBase64(std::span<const std::byte> bytes);

// Decodes `text`; padding may be missing. Returns nullopt for any character
// outside of the alphabet (white space included) and for an impossible length.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace ndlfs::model
