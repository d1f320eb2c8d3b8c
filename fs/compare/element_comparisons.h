// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "fs/compare/array_difference.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// How elements of two types are compared. Numbers are compared by their values, also if their
// types differ; all other elements by their canonical form, if the types have the same name.
// kUnsupported for other types.
model::Result<std::unique_ptr<const ElementComparison>> MakeElementComparison(
    const model::Datatype& a, const model::Datatype& b, const Tolerance& tolerance);

}  // namespace ndlfs::fs
