// SPDX-License-Identifier: MIT
//
// JSON values as values of NDL: the attributes of Zarr and its relatives, and the parameters of
// their filters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/attributes.h"
#include "model/entities.h"
#include "model/value.h"

namespace ndlfs::backends {

// An attribute of the type that fits `value` best: integers int32, int64 or uint64, other
// numbers float64, bool the enum, text string; lists of one of these kinds, of one dimension.
// Any other value (null, objects, nested, mixed and empty lists, integers that no type holds)
// becomes its compact JSON text.
model::Attribute MakeAttribute(std::string name, const Json& value);

// Takes the room that MakeAttribute(name, value) needs.
model::Result<void> TakeRoom(model::AttributeRoom& room, std::string_view name,
                             const Json& value);

// The members of an object, in their order. Refuses values that are no objects. Leaves out
// members that do not fit into an AttributeRoom; `left_out`, if given and still empty, then
// names the first one.
model::Result<std::vector<model::Attribute>> MakeAttributes(
    const Json& object, std::optional<model::Error>* left_out = nullptr);

// Parses a JSON object of attributes. If the text is long, members that would take more memory
// than attributes may are skipped before they take it; `left_out` is as above.
model::Result<Json> ParseAttributeObject(std::string_view text,
                                         std::optional<model::Error>* left_out = nullptr);

// A value of NDL for a parameter: true and false are the texts TRUE and FALSE.
model::Value JsonToValue(const Json& value);

}  // namespace ndlfs::backends
