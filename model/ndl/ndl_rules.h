// SPDX-License-Identifier: MIT
//
// Types that the Ndarray Data Language leaves to be inferred. Reader and writer
// share these rules, so that documents read back equal.
#pragma once

#include <optional>
#include <vector>

#include "model/datatype.h"

namespace ndlfs::model {

// The type of an attribute in short form with an integer value: the first of
// int32, int64 and uint64 that holds it; nullopt if none does.
std::optional<Datatype> ShortIntegerType(WideInt value);

// The base of an enum without a `base`: the smallest integer type that holds all
// constants, unsigned if none is negative; nullopt if there is no such type.
std::optional<Datatype> SmallestEnumBase(const std::vector<Datatype::Constant>& constants);

}  // namespace ndlfs::model
