// SPDX-License-Identifier: MIT
//
// What the Ndarray Data Language leaves to be inferred; the reader and the
// writer have to infer the same.
#pragma once

#include <optional>
#include <vector>

#include "model/datatype.h"

namespace ndlfs::model {

// The type of an attribute in short form whose value is an integer: int32 if
// it fits, else int64, else uint64; nullopt beyond that.
std::optional<Datatype> ShortIntegerType(WideInt value);

// The base of an enum that names none: the smallest integer type that holds
// all constants, unsigned where none is negative; nullopt if there is none.
std::optional<Datatype> SmallestEnumBase(const std::vector<Datatype::Constant>& constants);

}  // namespace ndlfs::model
