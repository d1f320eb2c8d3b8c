// SPDX-License-Identifier: MIT
//
// Access to values that the tree of json.h has no kind for: integers beyond 64
// bits, and bytes of MessagePack. Parsing keeps them as binary values, without
// loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/base/json.h"

namespace ndlfs::backends {

// The digits of an integer that neither 64 bits nor a double can hold exactly,
// for which is_number() is false. Empty for all other values.
std::string_view BigInteger(const Json& value);

// The bytes of a MessagePack bin or of a text that is not UTF-8; null for all
// other values.
const std::vector<uint8_t>* BytesOf(const Json& value);

// The double nearest to a number of any size; nullopt for other values.
std::optional<double> JsonToReal(const Json& value);

}  // namespace ndlfs::backends
