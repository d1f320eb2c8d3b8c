// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/base/json.h"
#include "backends/format/block_shape.h"
#include "backends/format/packing.h"
#include "cache/array_reader.h"
#include "fs/view/base/array_part.h"
#include "fs/view/container/zarr_json.h"
#include "fs/view/container/zarr_stored.h"
#include "fs/view/elements/segmented_view.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "model/value.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::Json;
using model::Datatype;
using model::Result;
using model::Value;
using Extents = std::vector<uint64_t>;
using Bytes = std::vector<std::byte>;

constexpr const char* kFillValue = "_FillValue";
constexpr std::string_view kV3Document = "zarr.json";
constexpr std::string_view kArrayDocument = ".zarray";
constexpr std::string_view kGroupDocument = ".zgroup";
constexpr std::string_view kAttributesDocument = ".zattrs";
constexpr std::string_view kConsolidatedDocument = ".zmetadata";

Document MakeDocument(std::string_view name, const Json& json) {
  return {std::string(name), std::make_shared<const std::string>(DocumentText(json))};
}

// The names of an enum's numbers, as CF has them.
void AddFlagsOf(const Datatype& type, Json& attributes) {
  constexpr size_t kMostFlags = 4096;
  if (type.kind() != Datatype::Kind::kEnum || type.is_bool() ||
      type.constants().size() > kMostFlags || attributes.contains("flag_values")) {
    return;
  }
  Json values = Json::array();
  std::string meanings;
  for (const Datatype::Constant& constant : type.constants()) {
    values.push_back(Json::parse(model::FormatInteger(constant.value), nullptr, false));
    std::string word = constant.name;
    std::ranges::replace_if(
        word, [](char c) { return c == ' ' || c == '\n' || c == '\t'; }, '_');
    meanings += (meanings.empty() ? "" : " ") + word;
  }
  attributes["flag_values"] = std::move(values);
  attributes["flag_meanings"] = meanings;
}

// xarray demands that `_FillValue` is one value in Zarr v3 and, for arrays of floats, the bytes
// of a little-endian double in base64.
Json AttributesV3(const ArrayInput& input) {
  Json object = AttributesToJson(backends::AttributesOfMissing(*input.node),
                                 input.node->has_json_attributes, false);
  AddFlagsOf(input.dtype, object);
  const auto* fill = model::FindAttribute(input.node->attributes(), kFillValue);
  const Value* value = fill ? model::OnlyItem(fill->value) : nullptr;
  if (value == nullptr || !object.contains(kFillValue)) return object;
  const auto number = model::AsDouble(*value);
  if (input.dtype.kind() == Datatype::Kind::kFloat && number) {
    std::byte bytes[sizeof(double)];
    if (model::EncodeElement(Datatype::Float64(), Value(*number), bytes)) {
      object[kFillValue] = model::EncodeBase64(bytes);
    }
  } else if (auto json = ValueToJson(fill->type, *value)) {
    object[kFillValue] = *std::move(json);
  }
  return object;
}

// The reader of the whole array that `input` shows all or a part of; may be null.
const cache::ArrayReader* WholeReader(const ArrayInput& input) {
  if (input.reader != nullptr) return input.reader.get();
  return input.part ? input.part->whole.reader.get() : nullptr;
}

bool IsConverted(const ArrayInput& input) { return input.part && input.part->is_converted; }

// The extents of the chunks of the whole array; nullopt if it has none that readers would miss.
std::optional<Extents> SourceChunkShape(const cache::ArrayReader& reader) {
  const backends::ChunkGrid& grid = reader.spec().grid;
  const auto contiguous = reader.source().contiguous();
  const bool is_plain_file = contiguous && !contiguous->exact_size;
  if (is_plain_file || grid.array_shape() != reader.spec().shape) return std::nullopt;
  return grid.max_chunk_shape();
}

// Those of the part that `input` is: each chunk is made of few chunks of the whole.
Extents ChunkShapeOfPart(const ArrayInput& input, const Extents& whole) {
  const auto divide = [](uint64_t extent, uint64_t by) {
    return std::min(extent, extent / by + (extent % by != 0));
  };
  const ArrayPart& part = *input.part;
  Extents shape;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const size_t of_whole = *DimensionOfWhole(part, d);
    const int64_t step = part.selection[of_whole].step;
    uint64_t extent = divide(whole[of_whole], static_cast<uint64_t>(step > 0 ? step : -step));
    if (part.blocks) extent = divide(extent, part.blocks->extents[d]);
    shape.push_back(std::max<uint64_t>(1, std::min(extent, input.shape[d])));
  }
  return shape;
}

// Without chunks in the source: of a size that programs read at once.
Extents BlocksOf(const ArrayInput& input) {
  constexpr uint64_t kBlock = uint64_t{16} << 20;
  return backends::ContiguousBlockShape(input.shape, std::max<size_t>(1, input.dtype.size()),
                                        kBlock);
}

Extents ChunkShapeOf(const ArrayInput& input) {
  const cache::ArrayReader* reader = WholeReader(input);
  const auto whole = reader ? SourceChunkShape(*reader) : std::nullopt;
  if (whole && !input.part) return *whole;
  Extents shape = whole ? ChunkShapeOfPart(input, *whole) : BlocksOf(input);
  if (!input.part) return shape;
  for (size_t d = 0; d < input.part->chunks.size(); ++d) {
    shape[d] = input.part->chunks[d].value_or(shape[d]);
  }
  return shape;
}

// Whether chunk i of the hierarchy is chunk i of the source.
bool HasChunksOfSource(const ArrayInput& input) {
  return input.reader != nullptr && input.reader->source().joined() == nullptr &&
         SourceChunkShape(*input.reader) && input.reader->spec().grid.is_regular();
}

// The bytes of absent elements as `form` has them; nullopt if these are not all equal.
std::optional<Bytes> FillBytes(const ArrayInput& input, const ElementForm& form) {
  const cache::ArrayReader* reader = IsConverted(input) ? nullptr : WholeReader(input);
  Bytes fill(input.dtype.size());
  if (reader != nullptr && reader->spec().fill.size() == fill.size())
    fill = reader->spec().fill;
  if (form.packing.converter != nullptr) {
    Bytes packed(form.packing.converter->to_size());
    if (!form.packing.converter->Convert(fill, packed)) return std::nullopt;
    fill = std::move(packed);
  }
  Bytes one(fill.begin(), fill.begin() + static_cast<ptrdiff_t>(form.type.size()));
  for (size_t at = 0; at < fill.size(); at += one.size()) {
    if (!std::equal(one.begin(), one.end(), fill.begin() + static_cast<ptrdiff_t>(at))) {
      return std::nullopt;
    }
  }
  return one;
}

// The element of variable size that stands for absent ones.
Bytes VariableFill(const ArrayInput& input) {
  const std::vector<std::byte>& fill = input.reader->spec().fill;
  return fill.empty() ? backends::ZeroElement(input.dtype) : fill;
}

// What is missing in unpacked values is NaN, or no time.
std::optional<Bytes> MissingBytes(const ArrayInput& input, const Datatype& type) {
  std::optional<Value> value;
  if (IsConverted(input)) {
    if (type.kind() == Datatype::Kind::kFloat) value = std::numeric_limits<double>::quiet_NaN();
    if (type.kind() == Datatype::Kind::kInteger && type.time()) {
      value = std::numeric_limits<int64_t>::min();
    }
  } else {
    value = backends::FillValueOf(*input.node);
  }
  Bytes bytes(type.size());
  if (!value || type.is_complex() || !model::EncodeElement(type, *value, bytes)) {
    return std::nullopt;
  }
  return bytes;
}

// The names of all dimensions; nullopt if one has none. xarray refuses a group that has such an
// array. So they have names as in data.nc, if `makes_names`: not where chunks may be absent,
// because xarray takes their fill value for missing.
std::optional<Json> NamesV2(const ArrayInput& input, const ElementForm& form,
                            bool makes_names) {
  Json names = Json::array();
  for (size_t d = 0; d < input.shape.size() + form.inner.size(); ++d) {
    std::string name = d < input.shape.size() ? DimensionName(input, d) : std::string();
    if (name.empty() && !makes_names) return std::nullopt;
    if (name.empty()) name = fmt::format("{}_dim{}", input.node->array().name, d);
    names.push_back(std::move(name));
  }
  return names;
}

Json NamesV3(const ArrayInput& input, const ElementForm& form) {
  Json names = Json::array();
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const std::string name = DimensionName(input, d);
    names.push_back(name.empty() ? Json(nullptr) : Json(name));
  }
  for (size_t d = 0; d < form.inner.size(); ++d) names.push_back(nullptr);
  return names;
}

// The fill value of the document, and whether absent elements have it.
struct ChosenFill {
  Json json;
  bool is_of_absent = false;
};

ChosenFill FillOfDocument(const std::optional<Bytes>& absent, const ElementForm& form,
                          Version version) {
  const Bytes zeros(form.type.size());
  FillWord word = DescribeFill(form.type, absent ? *absent : zeros, version);
  return {std::move(word.json), absent && word.is_exact};
}

void AddV3(const ArrayInput& input, const ElementForm& form, const ChosenFill& fill,
           StoredArray& array) {
  const backends::ChunkEncoding* encoding = UseStoredChunks(input, form, array);
  array.documents = {MakeDocument(
      kV3Document,
      {{"zarr_format", 3},
       {"node_type", "array"},
       {"shape", array.shape},
       {"data_type", form.name},
       {"chunk_grid",
        {{"name", "regular"}, {"configuration", {{"chunk_shape", array.chunk_shape}}}}},
       {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
       {"fill_value", fill.json},
       {"codecs", encoding ? *encoding->zarr3 : CodecsOf(form.type)},
       {"attributes", AttributesV3(input)},
       {"dimension_names", NamesV3(input, form)}})};
}

// A type of numbers, big-endian.
Json InBigEndian(const Json& name) {
  if (!name.is_string()) return name;
  std::string text = name.get<std::string>();
  if (text.starts_with('<')) text.front() = '>';
  return text;
}

// `encoding` is null for chunks that are not shown as they are stored.
void AddV2(const Json& fill, const Json& attributes, const ElementForm& form,
           const backends::ChunkEncoding* encoding, StoredArray& array) {
  Json words = {{"order", "C"}, {"filters", FiltersOf(form.type)}, {"compressor", nullptr}};
  Json type = form.name;
  if (encoding) {
    words = *encoding->zarr2;
    const Datatype& stored = encoding->stored;
    const bool is_big = stored.is_fixed_size() &&
                        !stored.SameLayout(stored.WithOrder(model::ByteOrder::kLittle));
    if (is_big) type = InBigEndian(type);
  }
  array.documents = {MakeDocument(kArrayDocument, {{"zarr_format", 2},
                                                   {"shape", array.shape},
                                                   {"chunks", array.chunk_shape},
                                                   {"dtype", std::move(type)},
                                                   {"compressor", words["compressor"]},
                                                   {"fill_value", fill},
                                                   {"order", words["order"]},
                                                   {"filters", words["filters"]},
                                                   {"dimension_separator", "."}}),
                     MakeDocument(kAttributesDocument, attributes)};
}

// As xarray writes and reads it: see DescribeArray().
void DescribeV2(const ArrayInput& input, const ElementForm& form,
                const std::optional<Bytes>& absent, StoredArray& array) {
  Json attributes = AttributesToJson(backends::AttributesOfMissing(*input.node),
                                     input.node->has_json_attributes, true);
  AddFlagsOf(input.dtype, attributes);
  const auto names = NamesV2(input, form, !array.name.empty() && !array.source.may_be_absent);
  ChosenFill fill;
  if (!form.type.is_fixed_size() || !names) {
    fill = FillOfDocument(absent, form, Version::kV2);
  } else if (const auto missing = MissingBytes(input, form.type)) {
    FillWord word = DescribeFill(form.type, *missing, Version::kV2);
    attributes.erase(kFillValue);
    fill = {std::move(word.json), word.is_exact && absent == missing};
  }
  if (names) attributes["_ARRAY_DIMENSIONS"] = *names;
  array.source.may_be_absent = array.source.may_be_absent && fill.is_of_absent;
  AddV2(fill.json, attributes, form, UseStoredChunks(input, form, array), array);
}

// Elements of variable size are taken from the chunks of the source.
Result<void> TakeVariable(const ArrayInput& input, StoredArray& array) {
  constexpr uint64_t kMostElements = std::numeric_limits<uint32_t>::max();
  if (!array.source.has_same_chunks || !input.reader->has_chunks()) {
    return model::Unsupported("elements of variable size in other chunks");
  }
  const backends::ChunkGrid& grid = input.reader->spec().grid;
  for (size_t d = 0; d < array.source.rank; ++d) {
    if (grid.counts()[d] == 0) continue;
    const uint64_t last = grid.Extent(d, grid.counts()[d] - 1);
    if (grid.counts()[d] == 1) array.chunk_shape[d] = last;
    if (last != array.chunk_shape[d]) {
      return model::Unsupported("elements of variable size in chunks that end with the array");
    }
  }
  const auto count = backends::CheckedProduct(array.chunk_shape, 1);
  if (!count || *count > kMostElements) {
    return model::Limit("a chunk of more than {} elements", kMostElements);
  }
  array.source.reader = input.reader;
  return {};
}

Result<void> TakeFixed(const ArrayInput& input, const ElementForm& form, StoredArray& array) {
  const auto bytes = backends::CheckedProduct(array.chunk_shape, form.type.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("a chunk of more than {} bytes", backends::kMaxViewSize);
  }
  if (input.elements == nullptr) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  array.elements = input.elements;
  array.source.stored = input.elements;
  if (input.part) array.source.whole = input.part->whole.reader;
  if (form.packing.converter != nullptr) {
    array.source.is_converted = true;
    array.elements = ConvertElements(input.elements, form.packing);
    if (array.elements == nullptr) return model::Limit("too many bytes of elements");
  }
  if (!array.source.is_converted && array.shape.size() == array.source.rank) {
    array.source.boxes = std::dynamic_pointer_cast<const BoxSource>(array.elements);
  }
  return {};
}

std::string WithoutEnd(const std::string& text) {
  return text.substr(0, text.rfind('\n', text.size() - 2));
}

}  // namespace

Result<StoredArray> DescribeArray(const ArrayInput& input, Version version, std::string name) {
  NDLFS_TRY(const ElementForm form, DescribeType(input.dtype, version));
  StoredArray array;
  array.version = version;
  array.name = std::move(name);
  array.shape = input.shape;
  array.chunk_shape = ChunkShapeOf(input);
  array.source.rank = array.shape.size();
  array.source.has_same_chunks = HasChunksOfSource(input);
  for (const uint64_t extent : form.inner) {
    array.shape.push_back(extent);
    array.chunk_shape.push_back(std::max<uint64_t>(1, extent));
  }
  const bool is_fixed = form.type.is_fixed_size();
  NDLFS_RETURN_IF_ERROR(is_fixed ? TakeFixed(input, form, array) : TakeVariable(input, array));
  const auto absent = is_fixed ? FillBytes(input, form) : VariableFill(input);
  array.fill = absent ? *absent : Bytes(form.type.size());
  array.source.may_be_absent = array.source.has_same_chunks;
  if (version == Version::kV2) {
    DescribeV2(input, form, absent, array);
    return array;
  }
  ChosenFill fill = FillOfDocument(absent, form, version);
  if (IsConverted(input)) {
    if (const auto missing = MissingBytes(input, form.type)) {
      fill.json = DescribeFill(form.type, *missing, version).json;
      array.fill = *missing;
    }
  }
  array.source.may_be_absent = array.source.may_be_absent && fill.is_of_absent;
  AddV3(input, form, fill, array);
  return array;
}

std::vector<Document> DescribeGroup(const backends::Node& node,
                                    const std::vector<std::string>& left_out, Version version) {
  Json object =
      AttributesToJson(node.attributes(), node.has_json_attributes, version == Version::kV2);
  for (const std::string& line : left_out) object["ndlfs_left_out"].push_back(line);
  if (version == Version::kV2) {
    return {MakeDocument(kGroupDocument, {{"zarr_format", 2}}),
            MakeDocument(kAttributesDocument, object)};
  }
  return {MakeDocument(
      kV3Document,
      {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", std::move(object)}})};
}

std::string_view ConsolidatedName(Version version) {
  return version == Version::kV3 ? kV3Document : kConsolidatedDocument;
}

Result<ViewPtr> Consolidate(const std::vector<Document>& own,
                            const std::vector<NodeDocuments>& nodes, Version version) {
  constexpr std::string_view kBegin =
      ",\n  \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, "
      "\"metadata\": {";
  std::vector<Segment> segments;
  bool is_first = true;
  const auto add = [&](const std::string& key, const Document& document) {
    const std::string comma = std::exchange(is_first, false) ? "\n" : ",\n";
    const std::string name = Json(key).dump(-1, ' ', true, Json::error_handler_t::replace);
    segments.emplace_back(Literal(comma + name + ": "));
    segments.emplace_back(Literal(document.text, 0, document.text->size()));
  };
  if (version == Version::kV2) {
    segments.emplace_back(Literal("{\"zarr_consolidated_format\": 1, \"metadata\": {"));
    for (const Document& document : own) add(document.name, document);
    for (const NodeDocuments& node : nodes) {
      for (const Document& document : node.documents) {
        add(node.path + '/' + document.name, document);
      }
    }
    segments.emplace_back(Literal("}}\n"));
    return MakeSegmentedView(std::move(segments));
  }
  segments.emplace_back(Literal(WithoutEnd(*own.front().text).append(kBegin)));
  for (const NodeDocuments& node : nodes) {
    const Document& document = node.documents.front();
    add(node.path, document);
    if (!node.is_group) continue;
    // As zarr-python does, so that it need not look for what is below.
    segments.pop_back();
    segments.emplace_back(Literal(document.text, 0, WithoutEnd(*document.text).size()));
    segments.emplace_back(Literal(std::string(kBegin) + "}}}"));
  }
  segments.emplace_back(Literal("}}\n}\n"));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace ndlfs::fs::zarr
