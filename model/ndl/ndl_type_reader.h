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

// All functions here report errors to the context, and return nullopt then.

// Reads the type of an entity: its key `type`, with `x-datetime` or
// `x-timedelta` if present.
std::optional<Datatype> ReadTypeField(NdlContext& context, const NdlFields& fields);

// Reads a size: an integer of at least `least`.
std::optional<uint64_t> ReadSize(NdlContext& context, const YamlNode& node, uint64_t least);
// Reads a list of sizes.
std::optional<std::vector<uint64_t>> ReadSizes(NdlContext& context, const YamlNode& node,
                                               uint64_t least);
// Reads a text, plain or quoted.
std::optional<std::string> ReadText(NdlContext& context, const YamlNode& node);
// Reads one of the given words.
std::optional<std::string_view> ReadWord(NdlContext& context, const YamlNode& node,
                                         std::initializer_list<std::string_view> words);

}  // namespace ndlfs::model
