// SPDX-License-Identifier: MIT
#include "backends/format/grib/node_builder.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/grib/field_source.h"
#include "backends/format/grib/split_fields.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends::grib {
namespace {

class Attributes {
 public:
  void Text(const char* name, std::string_view text) {
    if (!text.empty()) made_.push_back(model::MakeTextAttribute(name, text));
  }
  void Integer(const char* name, int64_t value) {
    const size_t bytes = value >= INT32_MIN && value <= INT32_MAX ? 4 : 8;
    made_.push_back({name, model::Datatype::Integer(bytes, true), {}, value, {}});
  }
  void Real(std::string name, double value) {
    made_.push_back({std::move(name), model::Datatype::Float64(), {}, value, {}});
  }
  void Add(const std::vector<model::Attribute>& more) {
    made_.insert(made_.end(), more.begin(), more.end());
  }
  std::vector<model::Attribute> Take() && { return std::move(made_); }

 private:
  std::vector<model::Attribute> made_;
};

// What a coordinate is called in the group and along which dimensions.
void SetShape(const PlannedGroup& group, std::string_view group_path,
              const std::vector<GridDimension>& dims, model::Ndarray& array) {
  for (const GridDimension& dim : dims) {
    model::Dimension made{dim.size, {}};
    const auto* coordinate = group.FindCoordinate(dim.name);
    const bool is_along = coordinate != nullptr && coordinate->dims.size() == 1 &&
                          coordinate->dims[0].name == dim.name && array.name != dim.name;
    if (is_along) made.dimcoord = model::JoinPath(group_path, dim.name);
    array.shape.push_back(std::move(made));
    array.dimension_names.push_back(dim.name);
  }
}

// The keys of ecCodes that tell a parameter that has no name here.
void AddNumbers(const ParameterKey& key, Attributes& attributes) {
  if (key.edition == 1) {
    attributes.Integer("GRIB_table2Version", key.discipline);
    attributes.Integer("GRIB_indicatorOfParameter", key.number);
    return;
  }
  attributes.Integer("GRIB_discipline", key.discipline);
  attributes.Integer("GRIB_parameterCategory", key.category);
  attributes.Integer("GRIB_parameterNumber", key.number);
}

std::vector<model::Attribute> AttributesOf(const GridAxes& grid, const ArrayKind& array) {
  constexpr double kMissing = 3.4028234663852886e38;
  const Parameter& parameter = array.parameter;
  const Product& product = array.product;
  Attributes attributes;
  if (parameter.id != 0) attributes.Integer("GRIB_paramId", parameter.id);
  AddNumbers(product.parameter, attributes);
  uint64_t points = 1;
  for (const GridDimension& dim : grid.dims) points *= dim.size;
  attributes.Integer("GRIB_numberOfPoints", static_cast<int64_t>(points));
  attributes.Text("GRIB_typeOfLevel", product.level_type);
  attributes.Text("GRIB_stepType", product.step_type);
  attributes.Text("GRIB_gridType", grid.type);
  attributes.Add(grid.attributes);
  for (const auto& [key, value] : product.details) {
    attributes.Real("GRIB_" + std::string(key), value);
  }
  attributes.Real("GRIB_missingValue", kMissing);
  attributes.Text("GRIB_shortName", parameter.short_name);
  attributes.Text("GRIB_name", parameter.name);
  attributes.Text("GRIB_cfName", parameter.cf_name);
  attributes.Text("GRIB_cfVarName", parameter.variable);
  attributes.Text("GRIB_units", parameter.units);
  attributes.Text("long_name", parameter.name);
  attributes.Text("units", parameter.units);
  attributes.Text("standard_name", parameter.cf_name);
  attributes.Text("coordinates", array.coordinates);
  attributes.Text("grid_mapping", array.mapping);
  return std::move(attributes).Take();
}

}  // namespace

std::shared_ptr<Node> MakeArrayNode(const Plan& plan, const PlannedGroup& group,
                                    std::string_view group_path, std::string_view name,
                                    const PlannedArray& planned,
                                    const std::shared_ptr<const Store>& store,
                                    const OpenOptions& options) {
  const ArrayKind& kind = *planned.kind;
  const auto type = kind.is_wide ? model::Datatype::Float64() : model::Datatype::Float32();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  auto node = std::make_shared<Node>();
  if (planned.turn != 0) {
    node->notes.push_back(NoteOfTurn(planned.fields.size(), planned.turn));
  }
  node->notes.insert(node->notes.end(), kind.notes.begin(), kind.notes.end());
  model::Ndarray array;
  array.name = name;
  array.type = type;
  SetShape(group, group_path, kind.dims, array);
  array.attributes = AttributesOf(plan.grids[kind.grid], kind);
  array.attributes.push_back({"_FillValue", type, {}, kNan, {}});
  array.storage.fillvalue = kNan;
  array.storage.endian = model::ByteOrder::kBig;
  auto source = MakeFieldSource(store, planned, options.max_chunk_size, plan.on_lie);
  if (!source) {
    node->error = std::move(source).error();
  } else {
    array.storage.chunk = (*source)->spec().grid.max_chunk_shape();
    node->source = *std::move(source);
  }
  if (!kind.is_known) {
    node->source = nullptr;
    node->error = model::Unsupported("the packing of its messages is not supported").value();
  }
  node->entity = std::move(array);
  return node;
}

std::shared_ptr<Node> MakeCoordinateNode(const PlannedGroup& group, std::string_view group_path,
                                         std::string_view name,
                                         const PlannedCoordinate& coordinate) {
  auto node = std::make_shared<Node>();
  const bool is_dimcoord = coordinate.dims.size() == 1 && coordinate.dims[0].name == name;
  model::DimCoord array;
  array.name = name;
  array.type = model::Datatype::Float64();
  SetShape(group, group_path, coordinate.dims, array);
  array.attributes = coordinate.attributes;
  std::vector<uint64_t> shape;
  for (const GridDimension& dim : coordinate.dims) shape.push_back(dim.size);
  auto source = std::visit(
      [&](const auto& values) { return MakeComputedSource(std::move(shape), values); },
      coordinate.values);
  if (source) {
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  if (is_dimcoord) {
    node->entity = std::move(array);
  } else {
    node->entity = static_cast<const model::Ndarray&>(array);
  }
  return node;
}

}  // namespace ndlfs::backends::grib
