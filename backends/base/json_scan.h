// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/error.h"

namespace ndlfs::backends {

// A member of a JSON object. The text of its value is [begin, end) of the whole
// text.
struct JsonMember {
  std::string key;
  size_t begin;
  size_t end;
};

// Finds the members of the JSON object `text`, but not the structure of their
// values. That makes it possible to parse a document of many megabytes member by
// member, without holding all of it as a tree. Does not notice errors inside of
// values, which parsing them does. Returns a key that occurs twice both times. Fails with
// kLimit for more than `most` members.
model::Result<std::vector<JsonMember>> ScanJsonObject(std::string_view text,
                                                      size_t most = SIZE_MAX);

// Access to values that the tree of json.h has no kind for: integers beyond 64 bits, and bytes
// of MessagePack. Parsing keeps them as binary values, without loss.

// The digits of an integer that neither 64 bits nor a double can hold exactly,
// for which is_number() is false. Empty for all other values.
std::string_view BigInteger(const Json& value);

// The bytes of a MessagePack bin or of a text that is not UTF-8; null for all
// other values.
const std::vector<uint8_t>* BytesOf(const Json& value);

// The double nearest to a number of any size; nullopt for other values.
std::optional<double> JsonToReal(const Json& value);

}  // namespace ndlfs::backends
