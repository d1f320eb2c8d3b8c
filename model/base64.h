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

// Its bytes. Padding may be left out; nullopt for anything else that is not of
// the alphabet (white space included), or a length that no bytes have.
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace ndlfs::model
