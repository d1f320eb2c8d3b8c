// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// What a part of an array was cut out of.
struct ArrayPart {
  ArrayInput whole;     // which has a reader
  Selection selection;  // one range for each dimension of `whole`
  // Whether the elements that are shown are made of these: see MakeUnpacked().
  bool is_converted = false;
};

// The elements of `selection` of a whole array, as an array with the same name and attributes.
// Where that is all of it, `whole` itself. Reads nothing.
ArrayInput MakePart(const ArrayInput& whole, Selection selection);

// The coordinates along dimension `d` of a part: FindCoordinate() of parts.
model::Result<std::optional<ArrayInput>> FindCoordinateOfPart(const ArrayPart& part, size_t d);

// What dimension `d` of an array is called; empty if it has no name.
std::string DimensionName(const ArrayInput& input, size_t d);

}  // namespace ndlfs::fs
