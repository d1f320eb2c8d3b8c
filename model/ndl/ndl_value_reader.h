// SPDX-License-Identifier: MIT
//
// Reads the values of NDL documents, and checks that they fit their types.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/ndl/ndl_context.h"
#include "model/value.h"

namespace ndlfs::model {

// All functions here report errors to the context, and return nullopt then.

// Reads one element of `type`.
std::optional<Value> ReadElement(NdlContext& context, const YamlNode& node,
                                 const Datatype& type);

// Reads lists nested as `extents` says, with elements of `type` in the innermost
// ones; a single element if there are no extents. An extent of nullopt is set to
// the length of the first list along it, which all others must have, too.
std::optional<Value> ReadNested(NdlContext& context, const YamlNode& node,
                                std::vector<std::optional<uint64_t>>& extents,
                                const Datatype& type);

// Reads an attribute in short form, and infers its type: integer, float or bool
// for plain scalars that look so, else text.
std::optional<std::pair<Datatype, Value>> ReadShortForm(NdlContext& context,
                                                        const YamlNode& node);

// Reads a parameter of a filter, which has no declared type: as in the short
// form, or null, a list or a mapping.
std::optional<Value> ReadUntyped(NdlContext& context, const YamlNode& node);

}  // namespace ndlfs::model
