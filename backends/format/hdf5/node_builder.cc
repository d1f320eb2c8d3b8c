// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/node_builder.h"

#include <algorithm>
#include <array>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/format/text_rule.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::Result;
using model::Value;

constexpr std::string_view kNonCoordinatePrefix = "_nc4_non_coord_";

// Attributes that netCDF-4 keeps for itself; its own interface does not show them either.
constexpr std::array<std::string_view, 4> kNetCdfInternal = {
    "_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_nc3_strict"};

std::string ShownPath(std::string_view path) {
  return model::JoinPath(model::ParentPath(path), ShownName(model::BaseName(path)));
}

// --- Attributes

// The element at the beginning of `data`, which is taken off.
Result<Value> TakeOne(const Datatype& type, ConstByteSpan& data) {
  if (!type.is_fixed_size()) return TakeElement(type, data);
  if (type.size() == 0 || type.size() > data.size()) {
    return model::Corrupt("{} bytes, elements of {}", data.size(), type.size());
  }
  const ConstByteSpan element = data.first(type.size());
  data = data.subspan(type.size());
  return model::DecodeElement(type, element);
}

Result<Value::List> TakeElements(const Datatype& type, ConstByteSpan data) {
  Value::List values;
  while (!data.empty()) {
    const size_t before = data.size();
    NDLFS_TRY(auto value, TakeOne(type, data));
    if (data.size() == before) return model::Corrupt("elements of 0 bytes");
    values.push_back(std::move(value));
  }
  return values;
}

// Values in C order as lists in lists.
Value Nest(Value::List values, std::span<const uint64_t> shape) {
  for (size_t dim = shape.size(); dim-- > 1;) {
    Value::List outer;
    auto at = values.begin();
    while (at != values.end()) {
      const auto end = at + static_cast<ptrdiff_t>(shape[dim]);
      outer.emplace_back(
          Value::List(std::make_move_iterator(at), std::make_move_iterator(end)));
      at = end;
    }
    values = std::move(outer);
  }
  return Value(std::move(values));
}

Result<model::Attribute> MakeAttribute(const AttributeInfo& info) {
  if (info.error) return model::Propagate(*info.error);
  TextRule rule(info.type);
  rule.Look(info.data);
  model::Attribute attribute;
  attribute.name = info.name;
  attribute.type = rule.Apply(info.type);
  attribute.shape = info.shape;
  if (rule.has_latin1()) attribute.storage.charset = "iso-8859-1";
  NDLFS_TRY(auto values, TakeElements(attribute.type, info.data));
  if (CheckedProduct(info.shape) != values.size()) {
    return model::Internal("{} values do not make up the shape", values.size());
  }
  attribute.value =
      info.shape.empty() ? std::move(values.front()) : Nest(std::move(values), info.shape);
  return attribute;
}

// Whether the attribute is not shown, because shapes and names tell the same.
bool IsHidden(const AttributeInfo& attribute, const std::string& path, const ObjectInfo& info) {
  if (std::count(kNetCdfInternal.begin(), kNetCdfInternal.end(), attribute.name) != 0) {
    return true;
  }
  if (!info.dataset || !info.dataset->is_scale) return false;
  if (attribute.name == "CLASS") return true;
  const std::string& label = info.dataset->scale_name;
  return attribute.name == "NAME" && (info.dataset->is_dimension_only || label.empty() ||
                                      label == path || label == model::BaseName(path));
}

// Attributes that cannot be shown are left out; `error` says why of one.
std::vector<model::Attribute> MakeAttributes(const std::string& path, const ObjectInfo& info,
                                             std::optional<model::Error>& error) {
  std::vector<model::Attribute> attributes;
  attributes.reserve(info.attributes.size());
  model::AttributeRoom room;
  for (const AttributeInfo& attribute : info.attributes) {
    if (IsHidden(attribute, path, info)) continue;
    const uint64_t values = CheckedProduct(attribute.shape).value_or(UINT64_MAX);
    const uint64_t bytes = attribute.data.size();
    const bool is_text = attribute.type.kind() == Datatype::Kind::kString;
    if (auto fits = room.Take(attribute.name, std::min(values, bytes), is_text ? bytes : 0);
        !fits) {
      error = std::move(fits).error();
      continue;
    }
    auto made = MakeAttribute(attribute);
    if (made) {
      attributes.push_back(*std::move(made));
    } else {
      error = std::move(made).error().In("attribute " + model::Quote(attribute.name));
    }
  }
  return attributes;
}

// --- Dimensions

std::optional<uint64_t> DeclaredSize(uint64_t max_size) {
  if (max_size == DatasetInfo::kUnlimited) return std::nullopt;
  return max_size;
}

bool IsNetCdfDimension(const ObjectInfo& info) {
  return std::any_of(info.attributes.begin(), info.attributes.end(),
                     [](const auto& attribute) { return attribute.name == "_Netcdf4Dimid"; });
}

bool IsDimCoord(const ObjectInfo& info) {
  const DatasetInfo& dataset = *info.dataset;
  return dataset.is_scale && !dataset.is_dimension_only && dataset.shape.size() == 1 &&
         (dataset.is_attached || IsNetCdfDimension(info));
}

// Names from DIMENSION_LABELS, for dimensions that no scale names.
void TakeLabels(const ObjectInfo& info, std::vector<std::string>& names) {
  for (const AttributeInfo& attribute : info.attributes) {
    if (attribute.name != "DIMENSION_LABELS" || attribute.error) continue;
    if (attribute.type.kind() != Datatype::Kind::kString) return;
    const auto labels = TakeElements(attribute.type, attribute.data);
    if (!labels || labels->size() != names.size()) return;
    for (size_t dim = 0; dim < names.size(); ++dim) {
      if (names[dim].empty()) names[dim] = *(*labels)[dim].text();
    }
  }
}

// A dimension that has the values of a scale of its size.
void LinkToScale(const ScaleInfo& scale, uint64_t extent, model::Dimension& dimension) {
  if (scale.is_dimension_only || scale.shape != std::vector<uint64_t>{extent}) return;
  dimension.dimcoord = ShownPath(scale.path);
  dimension.size = DeclaredSize(scale.max_shape[0]);
}

void DescribeDimensions(const std::string& path, const ObjectInfo& info,
                        model::Ndarray& array) {
  const DatasetInfo& dataset = *info.dataset;
  if (dataset.is_null) {
    array.shape = {{0, {}}};
    return;
  }
  const std::vector<uint64_t>& shape = ShownShape(dataset);
  std::vector<std::string> names(shape.size());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    model::Dimension dimension{DeclaredSize(dataset.max_shape[dim]), {}};
    // A dimension that is larger than its dataset is an unlimited dimension of netCDF-4.
    if (shape[dim] != dataset.shape[dim]) dimension.size.reset();
    if (dim < dataset.scales.size() && !dataset.scales[dim].empty()) {
      const ScaleInfo& scale = dataset.scales[dim].front();
      names[dim] = model::BaseName(scale.path);
      if (scale.path != path) LinkToScale(scale, shape[dim], dimension);
    }
    array.shape.push_back(std::move(dimension));
  }
  if (IsDimCoord(info)) names = {array.name};
  TakeLabels(info, names);
  const bool is_named = std::any_of(names.begin(), names.end(),
                                    [](const std::string& name) { return !name.empty(); });
  if (is_named) array.dimension_names = std::move(names);
  if (dataset.max_shape != dataset.shape || shape != dataset.shape) {
    array.storage.shape = dataset.shape;
  }
}

// --- Storage

Value::List ToList(const std::vector<uint32_t>& numbers) {
  return Value::List(numbers.begin(), numbers.end());
}

// The filters that have names of their own; the others have numbers.
model::Filter DescribeFilter(const FilterInfo& info) {
  struct Known {
    uint32_t id;
    std::string_view name;
  };
  constexpr std::array kKnown = {
      Known{1, "zlib"},
      Known{2, "shuffle"},
      Known{3, "fletcher32"},
      Known{4, "szip"},
      Known{5, "nbit"},
      Known{6, "scaleoffset"},
      Known{305, "lzo"},
      Known{307, "bzip2"},
      Known{32000, "lzf"},
      Known{32001, "blosc"},
      Known{32004, "lz4"},
      Known{32008, "bitshuffle"},
      Known{32013, "zfp"},
      Known{32015, "zstd"},
      Known{32020, "vbz"},
      Known{32022, "bitgroom"},
      Known{32023, "granular_bitround"},
      Known{32026, "blosc2"},
  };
  const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                  [&](const Known& filter) { return filter.id == info.id; });
  if (known == kKnown.end()) {
    return {"hdf5", {{"id", Value(info.id)}, {"cd_values", ToList(info.parameters)}}};
  }
  model::Filter filter{std::string(known->name), {}};
  if (info.id == 1 && info.parameters.size() == 1) {
    filter.parameters = {{"level", Value(info.parameters[0])}};
  } else if (!info.parameters.empty() && info.id > 3) {
    filter.parameters = {{"cd_values", ToList(info.parameters)}};
  }
  return filter;
}

std::optional<std::string> CharsetOf(const Datatype& type) {
  const Datatype* text = &type;
  while (text->kind() == Datatype::Kind::kArray) text = &text->base();
  if (text->kind() != Datatype::Kind::kString) return std::nullopt;
  if (text->charset() == model::Charset::kLatin1) return "iso-8859-1";
  return text->charset() == model::Charset::kUtf8 ? "utf-8" : "ascii";
}

void DescribeStorage(const DatasetInfo& dataset, model::Ndarray& array) {
  array.storage.endian = dataset.stored_order;
  array.storage.charset = CharsetOf(dataset.type);
  if (dataset.layout == Layout::kChunked) {
    array.storage.chunk = dataset.chunk;
    if (!dataset.filters.empty()) array.storage.filter.emplace();
    for (const FilterInfo& filter : dataset.filters) {
      array.storage.filter->push_back(DescribeFilter(filter));
    }
  }
  const auto fill = ShownFill(dataset);
  if (fill) {
    ConstByteSpan element = *fill;
    if (auto value = TakeOne(dataset.type, element)) {
      array.storage.fillvalue = *std::move(value);
    }
  }
}

void BuildArray(const OpenedFile& opened, const std::string& path, const ObjectInfo& info,
                uint64_t max_chunk_bytes, Node& node) {
  model::Ndarray array;
  array.name = ShownName(model::BaseName(path));
  array.type = info.dataset->type;
  array.attributes = MakeAttributes(path, info, node.error);
  DescribeDimensions(path, info, array);
  DescribeStorage(*info.dataset, array);
  auto source = MakeDatasetSource(opened, *info.dataset, max_chunk_bytes);
  if (source) {
    node.source = *std::move(source);
  } else {
    node.error = std::move(source).error();
  }
  if (!IsDimCoord(info)) {
    node.entity = std::move(array);
    return;
  }
  model::DimCoord dimcoord{std::move(array)};
  if (dimcoord.storage.shape) dimcoord.storage.size = dimcoord.storage.shape->front();
  dimcoord.storage.shape.reset();
  node.entity = std::move(dimcoord);
}

}  // namespace

std::string_view ShownName(std::string_view name) {
  const bool has_prefix =
      name.starts_with(kNonCoordinatePrefix) && name.size() > kNonCoordinatePrefix.size();
  return has_prefix ? name.substr(kNonCoordinatePrefix.size()) : name;
}

std::string PrefixedName(std::string_view name) {
  return std::string(kNonCoordinatePrefix) + std::string(name);
}

std::shared_ptr<const Node> BuildNode(const OpenedFile& opened, const std::string& path,
                                      const ObjectInfo& info, uint64_t max_chunk_bytes) {
  auto node = std::make_shared<Node>();
  node->mtime_ns = opened.info.modified_ns;
  node->error = info.error;
  node->notes = info.notes;
  if (info.dataset) {
    BuildArray(opened, path, info, max_chunk_bytes, *node);
  } else {
    model::Group group;
    group.name = model::BaseName(path);
    group.attributes = MakeAttributes(path, info, node->error);
    for (const ScaleInfo& scale : info.dimensions) {
      if (scale.max_shape.size() != 1) continue;
      group.dimensions.push_back(
          {std::string(model::BaseName(scale.path)), DeclaredSize(scale.max_shape[0])});
    }
    std::sort(group.dimensions.begin(), group.dimensions.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    node->entity = std::move(group);
  }
  return node;
}

}  // namespace ndlfs::backends::hdf5
