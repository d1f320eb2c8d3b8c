// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/block_text.h"
#include "fs/view/base/chunk_text.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The origin of a part of an array: the whole array, and the selection.
struct ArrayPart {
  ArrayInput whole;     // has a reader
  Selection selection;  // one range for each dimension of `whole`
  // The dimensions of `whole` that the part has, slowest first, if their order is not that of
  // `whole`; else empty.
  std::vector<size_t> axes = {};
  // If set, the part has one number for each block of these elements: see MakeBlocks(). The
  // extents are in the order of the part.
  std::optional<Blocks> blocks = {};
  // Whether a file has the elements in Fortran order: then the shape of the part is that of the
  // array in C order, reversed.
  bool is_fortran = false;
  // Whether the shown elements are converted from these: see MakeUnpacked() and MakeBlocks().
  bool is_converted = false;
  // The chunks that a Zarr hierarchy of the part has, if a name asks for some; else empty.
  ChunkWish chunks = {};
};

// The elements of `selection` of a whole array, as an array with the same name and attributes,
// those about bands (`band_scale`, `band_offset`, `band_names`) for the selected ones.
// `axes` is as in ArrayPart. If this is all of the array, in its order, `whole` itself. Reads
// nothing.
ArrayInput MakePart(const ArrayInput& whole, Selection selection,
                    std::vector<size_t> axes = {});

// The part that `input` is; a selection of everything if it is a whole array.
ArrayPart PartOf(const ArrayInput& input);
// The dimension of the whole array that dimension `d` of the part is. nullopt if there is none.
std::optional<size_t> DimensionOfWhole(const ArrayPart& part, size_t d);

// `input`, a whole array or a part, with these chunks in a Zarr hierarchy.
ArrayInput WithChunks(const ArrayInput& input, ChunkWish chunks);
// `input`, whose dimensions are in reverse order, as the files in Fortran order that it is.
ArrayInput InFortranOrder(const ArrayInput& input);

// The coordinates along dimension `d` of a part: FindCoordinate() of parts.
model::Result<std::optional<ArrayInput>> FindCoordinateOfPart(const ArrayPart& part, size_t d);

// Whether an attribute tells of the elements of an array what need not hold for those of a
// part: the least and the largest of them.
bool IsOfAllElements(std::string_view name);

// The attributes of an entity.
std::vector<model::Attribute>& AttributesIn(backends::Node& node);

// The dimension along which there are bands that attributes may tell more about; nullopt if
// there is none.
std::optional<size_t> BandDimension(const model::Ndarray& array);

// The name of dimension `d` of an array; empty if it has none.
std::string DimensionName(const ArrayInput& input, size_t d);

}  // namespace ndlfs::fs
