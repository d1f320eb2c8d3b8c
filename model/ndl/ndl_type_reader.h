// SPDX-License-Identifier: MIT
//
// Reads the datatypes of NDL documents (NDL 0.6.1, section 5).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/datatype.h"
#include "model/ndl/ndl_context.h"

namespace ndlfs::model {

// The type that `node` describes; reports what is wrong with it otherwise.
std::optional<Datatype> ReadDatatype(NdlContext& context, const YamlNode& node);

// The type that the keys `type` and, if it is there, `x-datetime` or
// `x-timedelta` of an entity describe.
std::optional<Datatype> ReadTypeField(NdlContext& context, const NdlFields& fields);

// A size: an integer of at least `least`.
std::optional<uint64_t> ReadSize(NdlContext& context, const YamlNode& node, uint64_t least);
// A list of them.
std::optional<std::vector<uint64_t>> ReadSizes(NdlContext& context, const YamlNode& node,
                                               uint64_t least);
// Text, plain or quoted.
std::optional<std::string> ReadText(NdlContext& context, const YamlNode& node);
// One of the given words.
std::optional<std::string_view> ReadWord(NdlContext& context, const YamlNode& node,
                                         std::initializer_list<std::string_view> words);

}  // namespace ndlfs::model
