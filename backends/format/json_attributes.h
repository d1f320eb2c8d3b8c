// SPDX-License-Identifier: MIT
//
// JSON as the model sees it: the attributes of Zarr and its relatives, and the
// parameters of their filters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "model/entities.h"
#include "model/value.h"

namespace ndlfs::backends {

// An attribute of the type that fits `value` best: integers int32, int64 or
// uint64, other numbers float64, bool the enum, text string; lists of one of
// these kinds, of one dimension. All else (null, objects, nested, mixed and
// empty lists, integers that no type holds) is its compact JSON text.
model::Attribute MakeAttribute(std::string name, const Json& value);

// The members of an object, in their order. Refuses what is no object.
model::Result<std::vector<model::Attribute>> MakeAttributes(const Json& object);

// A value of NDL for a parameter: true and false are the texts TRUE and FALSE.
model::Value JsonToValue(const Json& value);

}  // namespace ndlfs::backends
