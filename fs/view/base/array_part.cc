// SPDX-License-Identifier: MIT
#include "fs/view/base/array_part.h"

#include <utility>

#include "fs/view/elements/slice_elements.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

bool IsWhole(const ArrayInput& whole, const Selection& selection) {
  for (size_t d = 0; d < selection.size(); ++d) {
    if (!(selection[d] == WholeRange(whole.shape[d]))) return false;
  }
  return true;
}

// `array` without the dimensions that are dropped, and with the extents of the others.
model::Ndarray CutArray(const model::Ndarray& array, const Selection& selection) {
  model::Ndarray part = array;
  part.value.reset();
  part.shape.clear();
  part.dimension_names.clear();
  for (size_t d = 0; d < selection.size(); ++d) {
    if (selection[d].is_dropped) continue;
    model::Dimension dimension;
    if (d < array.shape.size()) dimension.dimcoord = array.shape[d].dimcoord;
    // An unlimited dimension stays one.
    const bool is_unlimited = d < array.shape.size() && !array.shape[d].size;
    if (!is_unlimited) dimension.size = selection[d].count;
    part.shape.push_back(std::move(dimension));
    if (d < array.dimension_names.size()) {
      part.dimension_names.push_back(array.dimension_names[d]);
    }
  }
  return part;
}

// A part of coordinates is coordinates, but not one of them alone.
std::shared_ptr<const backends::Node> CutNode(const backends::Node& node,
                                              const Selection& selection) {
  auto part = std::make_shared<backends::Node>(node);
  model::Ndarray array = CutArray(node.array(), selection);
  if (std::holds_alternative<model::DimCoord>(node.entity) && array.shape.size() == 1) {
    part->entity = model::DimCoord{std::move(array)};
  } else {
    part->entity = std::move(array);
  }
  return part;
}

}  // namespace

ArrayInput MakePart(const ArrayInput& whole, Selection selection) {
  if (IsWhole(whole, selection)) return whole;
  ArrayInput input = whole;
  input.node = CutNode(*whole.node, selection);
  input.shape = ShapeOf(selection);
  input.reader = nullptr;
  input.elements = nullptr;
  if (whole.dtype.is_fixed_size()) {
    input.elements = MakeSliceElements(whole.reader, selection).value_or(nullptr);
  }
  input.part = std::make_shared<const ArrayPart>(ArrayPart{whole, std::move(selection)});
  return input;
}

ArrayInput WithChunks(const ArrayInput& input, ChunkWish chunks) {
  ArrayPart part;
  if (input.part) {
    part = *input.part;
  } else {
    part.whole = input;
    for (const uint64_t extent : input.shape) part.selection.push_back(WholeRange(extent));
  }
  part.chunks = std::move(chunks);
  ArrayInput chunked = input;
  chunked.reader = nullptr;
  chunked.part = std::make_shared<const ArrayPart>(std::move(part));
  return chunked;
}

model::Result<std::optional<ArrayInput>> FindCoordinateOfPart(const ArrayPart& part, size_t d) {
  size_t dimension = 0;
  for (; dimension < part.selection.size(); ++dimension) {
    if (!part.selection[dimension].is_dropped && d-- == 0) break;
  }
  if (dimension == part.selection.size()) return std::nullopt;
  NDLFS_TRY(auto found, FindCoordinate(part.whole, dimension));
  if (found) found = MakePart(*found, {part.selection[dimension]});
  return found;
}

std::string DimensionName(const ArrayInput& input, size_t d) {
  const model::Ndarray& array = input.node->array();
  if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
    return array.dimension_names[d];
  }
  if (std::holds_alternative<model::DimCoord>(input.node->entity)) return array.name;
  if (d >= array.shape.size() || array.shape[d].dimcoord.empty()) return {};
  return std::string(model::BaseName(array.shape[d].dimcoord));
}

}  // namespace ndlfs::fs
