// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// Keeps the order of keys, so that attributes are shown as they were written.
using Json = nlohmann::ordered_json;

// Parses one JSON text (RFC 8259), at most 128 levels deep. As zarr-python
// writes them, the bare words NaN, Infinity and -Infinity are accepted; they
// become the numbers that they name. A duplicate key: the last one wins. Refuses
// more than `max_values` values, which bounds the memory.
model::Result<Json> ParseJson(std::string_view text, size_t max_values = SIZE_MAX);
// The same for one MessagePack document. See json_exact.h for byte strings.
model::Result<Json> ParseMsgpack(ConstByteSpan bytes, size_t max_values = SIZE_MAX);

// Members of a JSON object, for readers of metadata. The error names the key.
model::Result<const Json*> RequireMember(const Json& object, const char* key);
// A non-negative integer below 2^63.
model::Result<uint64_t> JsonToSize(const Json& value);
// A list of such integers, at most 64 long.
model::Result<std::vector<uint64_t>> JsonToSizes(const Json& value);
// What a value is, for messages: `the string "fast"`, `the number 3.5`, `null`.
std::string DescribeJson(const Json& value);

// Text without blanks. Numbers that JSON has no word for are written as they
// are read: NaN, Infinity, -Infinity.
std::string CompactJson(const Json& value);

}  // namespace ndlfs::backends
