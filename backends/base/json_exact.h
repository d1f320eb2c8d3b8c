// SPDX-License-Identifier: MIT
//
// What JSON and MessagePack documents hold and the tree of json.h has no kind
// for: parsing keeps it as binary values, so that nothing is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/base/json.h"

namespace ndlfs::backends {

// The digits of an integer that neither 64 bits nor a double hold; it is no
// is_number(). Empty for everything else.
std::string_view BigInteger(const Json& value);

// Bytes of MessagePack, and its text that is no UTF-8; null for everything else.
const std::vector<uint8_t>* BytesOf(const Json& value);

// Any number as the nearest double; nullopt for what is none.
std::optional<double> JsonToReal(const Json& value);

}  // namespace ndlfs::backends
