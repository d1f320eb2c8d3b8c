// SPDX-License-Identifier: MIT
#include "fs/view/base/array_part.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "fs/view/base/block_statistics.h"
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

// The dimensions of the whole that a part of it has, in their order.
std::vector<size_t> AxesOf(const Selection& selection, const std::vector<size_t>& axes) {
  if (!axes.empty()) return axes;
  std::vector<size_t> kept;
  for (size_t d = 0; d < selection.size(); ++d) {
    if (!selection[d].is_dropped) kept.push_back(d);
  }
  return kept;
}

// `array` with the dimensions `axes`, and the extents that are selected.
model::Ndarray CutArray(const model::Ndarray& array, const Selection& selection,
                        const std::vector<size_t>& axes) {
  model::Ndarray part = array;
  part.value.reset();
  part.shape.clear();
  part.dimension_names.clear();
  for (const size_t d : axes) {
    model::Dimension dimension;
    if (d < array.shape.size()) dimension.dimcoord = array.shape[d].dimcoord;
    // An unlimited dimension stays one.
    const bool is_unlimited = d < array.shape.size() && !array.shape[d].size;
    if (!is_unlimited) dimension.size = selection[d].count;
    part.shape.push_back(std::move(dimension));
    if (!array.dimension_names.empty()) {
      part.dimension_names.push_back(d < array.dimension_names.size() ? array.dimension_names[d]
                                                                      : std::string());
    }
  }
  return part;
}

// Lists with an item for each band become those of the shown bands, and what they say of an
// only band is said of the array.
void CutBands(const IndexRange& range, uint64_t bands,
              std::vector<model::Attribute>& attributes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLists = {
      {{"band_scale", "scale_factor"},
       {"band_offset", "add_offset"},
       {"band_names", "long_name"}}};
  for (const auto& names : kLists) {
    const std::string_view name = names.first;
    const std::string_view of_array = names.second;
    const auto found = std::ranges::find(attributes, name, &model::Attribute::name);
    const auto* list = found == attributes.end() ? nullptr : found->value.list();
    if (list == nullptr || list->size() != bands) continue;
    model::Attribute cut = *found;
    std::erase_if(attributes, [&](const auto& attribute) {
      return attribute.name == name || (range.is_dropped && attribute.name == of_array);
    });
    const model::Value::List all = *cut.value.list();
    model::Value::List shown;
    for (uint64_t i = 0; i < range.count; ++i) shown.push_back(all[range.At(i)]);
    if (range.is_dropped) {
      cut.name = of_array;
      cut.shape.clear();
      cut.value = shown.front();
    } else {
      cut.shape = {shown.size()};
      cut.value = std::move(shown);
    }
    attributes.push_back(std::move(cut));
  }
}

// A part of coordinates is coordinates, but not one of them alone.
std::shared_ptr<const backends::Node> CutNode(const backends::Node& node,
                                              const Selection& selection,
                                              const std::vector<size_t>& axes, bool has_fewer) {
  auto part = std::make_shared<backends::Node>(node);
  model::Ndarray array = CutArray(node.array(), selection, axes);
  if (has_fewer) {
    std::erase_if(array.attributes,
                  [](const auto& attribute) { return IsOfAllElements(attribute.name); });
  }
  if (const auto band = BandDimension(node.array()); band && *band < selection.size()) {
    CutBands(selection[*band], node.array().shape[*band].size.value_or(0), array.attributes);
  }
  if (std::holds_alternative<model::DimCoord>(node.entity) && array.shape.size() == 1) {
    part->entity = model::DimCoord{std::move(array)};
  } else {
    part->entity = std::move(array);
  }
  return part;
}

}  // namespace

ArrayInput MakePart(const ArrayInput& whole, Selection selection, std::vector<size_t> axes) {
  const std::vector<size_t> kept = AxesOf(selection, axes);
  if (std::ranges::is_sorted(kept)) axes.clear();
  const bool has_all = IsWhole(whole, selection);
  if (axes.empty() && has_all) return whole;
  ArrayInput input = whole;
  input.node = CutNode(*whole.node, selection, kept, !has_all);
  input.shape.clear();
  for (const size_t d : kept) input.shape.push_back(selection[d].count);
  input.reader = nullptr;
  input.elements = nullptr;
  if (whole.dtype.is_fixed_size()) {
    std::vector<size_t> all = axes;
    for (size_t d = 0; d < selection.size() && !all.empty(); ++d) {
      if (selection[d].is_dropped) all.push_back(d);
    }
    input.elements =
        MakeSliceElements(whole.reader, selection, {}, std::move(all)).value_or(nullptr);
  }
  input.part = std::make_shared<const ArrayPart>(
      ArrayPart{.whole = whole, .selection = std::move(selection), .axes = std::move(axes)});
  return input;
}

ArrayPart PartOf(const ArrayInput& input) {
  if (input.part) return *input.part;
  ArrayPart part{.whole = input, .selection = {}};
  for (const uint64_t extent : input.shape) part.selection.push_back(WholeRange(extent));
  return part;
}

std::optional<size_t> DimensionOfWhole(const ArrayPart& part, size_t d) {
  const std::vector<size_t> axes = AxesOf(part.selection, part.axes);
  return d < axes.size() ? std::optional(axes[d]) : std::nullopt;
}

ArrayInput WithChunks(const ArrayInput& input, ChunkWish chunks) {
  ArrayPart part = PartOf(input);
  part.chunks = std::move(chunks);
  ArrayInput chunked = input;
  chunked.reader = nullptr;
  chunked.part = std::make_shared<const ArrayPart>(std::move(part));
  return chunked;
}

ArrayInput InFortranOrder(const ArrayInput& input) {
  ArrayPart part = PartOf(input);
  part.is_fortran = true;
  ArrayInput ordered = input;
  ordered.reader = nullptr;
  ordered.part = std::make_shared<const ArrayPart>(std::move(part));
  return ordered;
}

model::Result<std::optional<ArrayInput>> FindCoordinateOfPart(const ArrayPart& part, size_t d) {
  const auto dimension = DimensionOfWhole(part, d);
  if (!dimension) return std::nullopt;
  NDLFS_TRY(auto found, FindCoordinate(part.whole, *dimension));
  if (!found) return std::nullopt;
  found = MakePart(*found, {part.selection[*dimension]});
  if (!part.blocks || part.blocks->extents[d] == 1) return found;
  // Text has no centre.
  auto centres = MakeCentres(*found, {part.blocks->extents[d]});
  return centres ? std::optional(*std::move(centres)) : std::nullopt;
}

bool IsOfAllElements(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"actual_range", "DATAMIN", "DATAMAX",
                                                      "ElementMin", "ElementMax"};
  return name.starts_with("STATISTICS_") || std::ranges::find(kNames, name) != kNames.end();
}

std::vector<model::Attribute>& AttributesIn(backends::Node& node) {
  return std::visit(
      [](auto& entity) -> std::vector<model::Attribute>& { return entity.attributes; },
      node.entity);
}

std::optional<size_t> BandDimension(const model::Ndarray& array) {
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const bool is_named = d < array.dimension_names.size() && !array.dimension_names[d].empty();
    const std::string_view name =
        is_named ? array.dimension_names[d] : model::BaseName(array.shape[d].dimcoord);
    if (name == "band" || name == "wavelength") return d;
  }
  return std::nullopt;
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
