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

// One element of `type`; reports what is wrong with it otherwise.
std::optional<Value> ReadElement(NdlContext& context, const YamlNode& node,
                                 const Datatype& type);

// Lists nested as `extents` says, with an element of `type` in the innermost;
// just an element where there are no extents. An unknown extent is filled in
// with that of the first list along it, which all others must have as well.
std::optional<Value> ReadNested(NdlContext& context, const YamlNode& node,
                                std::vector<std::optional<uint64_t>>& extents,
                                const Datatype& type);

// The best match of an attribute in short form: a plain integer, float or bool,
// or else text.
std::optional<std::pair<Datatype, Value>> ReadShortForm(NdlContext& context,
                                                        const YamlNode& node);

// A parameter of a filter, whose type nobody tells: as in the short form, or
// null, a list or a mapping.
std::optional<Value> ReadUntyped(NdlContext& context, const YamlNode& node);

}  // namespace ndlfs::model
