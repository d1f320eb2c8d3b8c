// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// Keeps the order of keys, so that attributes are shown in the order of the file.
using Json = nlohmann::ordered_json;

// Parses one JSON text (RFC 8259), at most 128 levels deep. Accepts the bare words NaN,
// Infinity and -Infinity as numbers, because zarr-python writes them. If a key occurs twice,
// the last value counts. Fails with kLimit for more than `max_values` values, which bounds the
// memory; `values_left`, if given, is set to max_values less the number of values. Other errors
// are kBadInput.
model::Result<Json> ParseJson(std::string_view text, size_t max_values = SIZE_MAX,
                              size_t* values_left = nullptr);
// The most memory that it takes to read and parse a JSON text of `size` bytes: an empty list
// takes three bytes of text, and sixty of memory while it is parsed. Parsers that bound the
// number of values take no more than kMostBytesOfJsonTree in addition to the text.
inline constexpr uint64_t kMostBytesOfJsonTree = uint64_t{20} << 20;
constexpr uint64_t BytesToParseJson(uint64_t size) {
  return 2 * size + std::min(20 * size, kMostBytesOfJsonTree);
}
// The same for one MessagePack document. See json_scan.h for byte strings.
model::Result<Json> ParseMsgpack(ConstByteSpan bytes, size_t max_values = SIZE_MAX);

// The value of a key that metadata must have. The error names the key.
model::Result<const Json*> RequireMember(const Json& object, const char* key);
// A non-negative integer below 2^63.
model::Result<uint64_t> JsonToSize(const Json& value);
// A list of such integers, at most 64 long.
model::Result<std::vector<uint64_t>> JsonToSizes(const Json& value);
// Describes a value for messages: `the string "fast"`, `the number 3.5`, `null`.
std::string DescribeJson(const Json& value);

// The text of a value without white space. Writes NaN, Infinity and -Infinity as
// bare words.
std::string CompactJson(const Json& value);

}  // namespace ndlfs::backends
