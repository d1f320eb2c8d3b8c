// SPDX-License-Identifier: MIT
#include "backends/format/zarr/node_builder.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/format/json_attributes.h"
#include "backends/format/read_elements.h"
#include "backends/format/text_rule.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/format/zarr/zarr_array_source.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends::zarr {
namespace {

constexpr uint64_t kMaxInspectedBytes = uint64_t{1} << 20;

// Whether an index of a shard that leads to the first chunk is as large as a whole
// chunk may be: then a look costs too much.
bool HasLargeIndex(const ArrayLayout& layout) {
  std::vector<uint64_t> shape = layout.objects.max_chunk_shape();
  for (const ShardLayout& shard : layout.shards) {
    const auto counts = shard.Counts(shape);
    if (!counts || ShardLayout::DecodedIndexSize(*counts) > kMaxInspectedBytes) return true;
    shape = shard.inner_shape();
  }
  return false;
}

// Decides how the texts of fixed size of an array are read (see TextRule), because the metadata
// name no charset: by the fill value, and by the first chunk if it has at most 1 MiB. Reads
// nothing for other types. Every error is transient (a chunk that cannot be read at this
// moment); the texts are then as the metadata say.
model::Result<void> DecideCharset(const NodePlace& place, ArrayMetadata& metadata) {
  if (!metadata.layout || !metadata.layout->spec.dtype.is_fixed_size()) return {};
  TextRule rule(metadata.layout->spec.dtype);
  if (!rule.applies() || HasLargeIndex(*metadata.layout)) return {};
  rule.Look(metadata.layout->spec.fill);
  const auto source = MakeZarrArraySource(place.store, place.key_prefix, metadata.layout);
  const auto elements = ReadFirstElements(*source, kMaxInspectedBytes);
  if (elements) rule.Look(elements->span());
  if (rule.has_latin1()) {
    auto layout = std::make_shared<ArrayLayout>(*metadata.layout);
    layout->spec.dtype = rule.Apply(layout->spec.dtype);
    if (layout->plain) layout->plain = rule.Apply(*layout->plain);
    metadata.array.type = rule.Apply(metadata.array.type);
    DescribeType(metadata.array.type, metadata.array.storage);
    if (metadata.array.storage.fillvalue && !layout->spec.fill.empty()) {
      NDLFS_TRY(metadata.array.storage.fillvalue,
                model::DecodeElement(layout->spec.dtype, layout->spec.fill));
    }
    metadata.layout = std::move(layout);
  }
  // Damage is no matter here: reads of the chunk will say so.
  if (!elements && elements.error().is_transient()) return model::Propagate(elements.error());
  return {};
}

// Where xarray keeps the names of dimensions in Zarr v2.
constexpr const char* kArrayDimensions = "_ARRAY_DIMENSIONS";

// Why attributes are not shown that would take too much memory.
using LeftOut = std::optional<model::Error>;

// The attributes of a v3 node; an absent member, and null, are none.
model::Result<std::vector<model::Attribute>> ParseAttributes(const NodeDocuments& documents,
                                                             LeftOut& left_out) {
  if (!documents.attributes.is_null()) return MakeAttributes(documents.attributes, &left_out);
  const Json& document = documents.document->json();
  const auto attributes = document.find("attributes");
  if (attributes == document.end() || attributes->is_null()) {
    return std::vector<model::Attribute>();
  }
  return MakeAttributes(*attributes, &left_out);
}

model::Result<std::vector<model::Attribute>> ParseAttributesV2(const Json& attributes,
                                                               LeftOut& left_out) {
  if (attributes.is_null()) return std::vector<model::Attribute>();
  return MakeAttributes(attributes, &left_out);
}

// Takes the names of dimensions out of the attributes, if that is what they
// are: names that do not suit the shape stay an attribute. True if it has: then xarray's
// convention holds for the array.
bool TakeDimensionNames(Json& attributes, model::Ndarray& array) {
  if (!attributes.is_object()) return false;
  const auto names = attributes.find(kArrayDimensions);
  if (names == attributes.end()) return false;
  auto parsed = ParseDimensionNames(*names, array.shape.size());
  if (!parsed) return false;
  array.dimension_names = *std::move(parsed);
  attributes.erase(kArrayDimensions);
  return true;
}

// `parse(document.json())`, or what that was when another array had the same document.
template <typename Parse>
model::Result<ArrayMetadata> ParseOnce(const SharedDocument& document, const Parse& parse) {
  if (const auto known = document.array()) return *known;
  NDLFS_TRY(ArrayMetadata metadata, parse(document.json()));
  document.KeepArray(std::make_shared<const ArrayMetadata>(metadata));
  return metadata;
}

Node MakeArrayNode(ArrayMetadata metadata, const NodePlace& place, bool is_coordinate) {
  Node node;
  metadata.array.name = place.name;
  // The next look may find more.
  node.is_partial = !DecideCharset(place, metadata);
  if (metadata.layout) {
    node.source = MakeZarrArraySource(place.store, place.key_prefix, metadata.layout);
  }
  node.error = std::move(metadata.error);
  node.notes = std::move(metadata.notes);
  if (is_coordinate) {
    node.entity = model::DimCoord{std::move(metadata.array)};
  } else {
    node.entity = std::move(metadata.array);
  }
  return node;
}

Node MakeArrayNode(ArrayMetadata metadata, const NodePlace& place) {
  const bool is_coordinate = IsDimCoordName(place.name, metadata.array.dimension_names);
  return MakeArrayNode(std::move(metadata), place, is_coordinate);
}

// Unlimited dimensions have no size in the shape; what there is of them now is
// a matter of storage.
void MarkUnlimited(const std::vector<nczarr::DimensionRef>& refs, const NodePlace& place,
                   bool is_coordinate, model::Ndarray& array) {
  std::vector<uint64_t> stored;
  bool any = false;
  for (size_t i = 0; i < refs.size(); ++i) {
    stored.push_back(array.shape[i].size.value_or(0));
    const auto declared = place.dimensions_of(refs[i].group);
    const auto found = declared->find(refs[i].name);
    if (found == declared->end() || !found->second.is_unlimited) continue;
    array.shape[i].size.reset();
    any = true;
  }
  if (!any) return;
  if (is_coordinate) {
    array.storage.size = stored.front();
  } else {
    array.storage.shape = std::move(stored);
  }
}

// Applies NCZarr's description of the dimensions of an array; true if the array is a coordinate
// by it.
bool DescribeDimensions(const std::vector<nczarr::DimensionRef>& refs, const NodePlace& place,
                        model::Ndarray& array) {
  const bool is_coordinate = refs.size() == 1 && refs[0].path() == place.path;
  bool any_name = false;
  for (size_t i = 0; i < refs.size(); ++i) {
    array.dimension_names.push_back(refs[i].shown_name());
    any_name = any_name || !array.dimension_names.back().empty();
    if (!is_coordinate) array.shape[i].dimcoord = refs[i].path();
  }
  if (!any_name) array.dimension_names.clear();
  MarkUnlimited(refs, place, is_coordinate, array);
  return is_coordinate;
}

// An array that netCDF-C has written.
model::Result<Node> BuildNczarrArray(const NodeDocuments& documents,
                                     const nczarr::ArrayKeys& keys, const NodePlace& place,
                                     const OpenOptions& options, LeftOut& left_out) {
  NDLFS_TRY(ArrayMetadata metadata,
            ParseArrayV2(nczarr::NormalizeArray(documents.document->json(), keys),
                         options.max_chunk_size, model::Charset::kUtf8));
  Json attributes = documents.attributes;
  if (!keys.dimensions) TakeDimensionNames(attributes, metadata.array);
  metadata.array.attributes = nczarr::MakeAttributes(
      {documents.document->json(), attributes, documents.separate}, &keys, left_out);
  const bool is_coordinate = keys.dimensions
                                 ? DescribeDimensions(*keys.dimensions, place, metadata.array)
                                 : IsDimCoordName(place.name, metadata.array.dimension_names);
  Node node = MakeArrayNode(std::move(metadata), place, is_coordinate);
  node.fill_is_missing = true;
  return node;
}

Node MakeGroupNode(std::vector<model::Attribute> attributes, const NodePlace& place) {
  model::Group group;
  group.name = place.name;
  group.attributes = std::move(attributes);
  Node node;
  node.entity = std::move(group);
  return node;
}

model::Result<Node> BuildArrayV2(const NodeDocuments& documents, const NodePlace& place,
                                 const OpenOptions& options, LeftOut& left_out) {
  const auto keys = nczarr::FindArrayKeys(
      {documents.document->json(), documents.attributes, documents.separate});
  if (keys) return BuildNczarrArray(documents, *keys, place, options, left_out);
  NDLFS_TRY(ArrayMetadata metadata, ParseOnce(*documents.document, [&](const Json& zarray) {
              return ParseArrayV2(zarray, options.max_chunk_size);
            }));
  Json attributes = documents.attributes;
  const bool is_xarray = TakeDimensionNames(attributes, metadata.array);
  NDLFS_TRY(metadata.array.attributes, ParseAttributesV2(attributes, left_out));
  Node node = MakeArrayNode(std::move(metadata), place);
  node.fill_is_missing = is_xarray;
  return node;
}

model::Result<Node> BuildGroupV2(const NodeDocuments& documents, const NodePlace& place,
                                 LeftOut& left_out) {
  NDLFS_RETURN_IF_ERROR(CheckZarrFormat(documents.document->json(), 2));
  const nczarr::Documents keys{documents.document->json(), documents.attributes,
                               documents.separate};
  if (nczarr::HasKeys(keys)) {
    Node node = MakeGroupNode(nczarr::MakeAttributes(keys, nullptr, left_out), place);
    std::get<model::Group>(node.entity).dimensions = nczarr::DimensionsWithoutArrays(keys);
    return node;
  }
  NDLFS_TRY(auto attributes, ParseAttributesV2(documents.attributes, left_out));
  return MakeGroupNode(std::move(attributes), place);
}

model::Result<Node> BuildGroupV3(const NodeDocuments& documents, const NodePlace& place,
                                 LeftOut& left_out) {
  const Json& document = documents.document->json();
  NDLFS_RETURN_IF_ERROR(CheckZarrFormat(document, 3));
  NDLFS_TRY(auto attributes, ParseAttributes(documents, left_out));
  Node node = MakeGroupNode(std::move(attributes), place);
  auto known = CheckUnknownMembers(
      document, {"zarr_format", "node_type", "attributes", "consolidated_metadata"});
  if (!known) node.error = std::move(known).error();
  return node;
}

model::Result<Node> BuildV3(const NodeDocuments& documents, const NodePlace& place,
                            const OpenOptions& options, LeftOut& left_out) {
  const Json& document = documents.document->json();
  NDLFS_TRY(const Json* type, RequireMember(document, "node_type"));
  if (*type == "group") return BuildGroupV3(documents, place, left_out);
  if (*type != "array") {
    return model::BadInput("node_type: expected \"array\" or \"group\", found {}",
                           DescribeJson(*type));
  }
  NDLFS_TRY(ArrayMetadata metadata, ParseOnce(*documents.document, [&](const Json& zarr_json) {
              return ParseArrayV3(zarr_json, options.max_chunk_size);
            }));
  NDLFS_TRY(metadata.array.attributes, ParseAttributes(documents, left_out));
  return MakeArrayNode(std::move(metadata), place);
}

model::Result<Node> BuildKind(NodeFiles::Kind kind, const NodeDocuments& documents,
                              const NodePlace& place, const OpenOptions& options,
                              LeftOut& left_out) {
  switch (kind) {
    case NodeFiles::Kind::kV2Array:
      return BuildArrayV2(documents, place, options, left_out);
    case NodeFiles::Kind::kV2Group:
      return BuildGroupV2(documents, place, left_out);
    case NodeFiles::Kind::kV3:
      return BuildV3(documents, place, options, left_out);
    case NodeFiles::Kind::kNone:
      break;
  }
  return model::Internal("a node without metadata");
}

}  // namespace

model::Result<Node> BuildNode(NodeFiles::Kind kind, const NodeDocuments& documents,
                              const NodePlace& place, const OpenOptions& options) {
  LeftOut left_out;
  NDLFS_TRY(Node node, BuildKind(kind, documents, place, options, left_out));
  if (!node.error) node.error = std::move(left_out);
  return node;
}

}  // namespace ndlfs::backends::zarr
