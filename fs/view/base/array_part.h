// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "fs/view/base/chunk_text.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The origin of a part of an array: the whole array, and the selection.
struct ArrayPart {
  ArrayInput whole;     // has a reader
  Selection selection;  // one range for each dimension of `whole`
  // Whether the shown elements are converted from these: see MakeUnpacked().
  bool is_converted = false;
  // The chunks that a Zarr hierarchy of the part has, if a name asks for some; else empty.
  ChunkWish chunks = {};
};

// The elements of `selection` of a whole array, as an array with the same name and attributes.
// If the selection is all of the array, `whole` itself. Reads nothing.
ArrayInput MakePart(const ArrayInput& whole, Selection selection);

// `input`, a whole array or a part, with these chunks in a Zarr hierarchy.
ArrayInput WithChunks(const ArrayInput& input, ChunkWish chunks);

// The coordinates along dimension `d` of a part: FindCoordinate() of parts.
model::Result<std::optional<ArrayInput>> FindCoordinateOfPart(const ArrayPart& part, size_t d);

// The name of dimension `d` of an array; empty if it has none.
std::string DimensionName(const ArrayInput& input, size_t d);

}  // namespace ndlfs::fs
