// SPDX-License-Identifier: MIT
//
// Zarr core specification version 3: zarr.json of arrays.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/codec/registry.h"
#include "backends/format/json_attributes.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/format/zarr/chunk_grid.h"
#include "backends/format/zarr/data_type.h"
#include "backends/format/zarr/extension.h"
#include "backends/format/zarr/fill_value.h"

namespace ndlfs::backends::zarr {
namespace {

using model::ByteOrder;
using model::Datatype;

constexpr std::string_view kSharding = "sharding_indexed";

// The byte order that the `bytes` codec stores numbers in, also where it is
// inside of shards. nullopt where it gives none.
std::optional<ByteOrder> FindByteOrder(const Json& codecs) {
  if (!codecs.is_array()) return std::nullopt;
  for (const Json& codec : codecs) {
    const auto extension = ParseExtension(codec);
    if (!extension) continue;
    const Json& configuration = *extension->configuration;
    if (extension->name == kSharding && configuration.contains("codecs")) {
      return FindByteOrder(configuration["codecs"]);
    }
    if (extension->name != "bytes" || !configuration.contains("endian")) continue;
    return configuration["endian"] == "big" ? ByteOrder::kBig : ByteOrder::kLittle;
  }
  return std::nullopt;
}

// The filters of storage directives: all codecs but `bytes`, whose parameter
// is a directive of its own.
std::vector<model::Filter> DescribeCodecs(const Json& codecs) {
  std::vector<model::Filter> filters;
  if (!codecs.is_array()) return filters;
  for (const Json& codec : codecs) {
    const auto extension = ParseExtension(codec);
    if (!extension || extension->name == "bytes") continue;
    model::Filter filter{extension->name, {}};
    for (const auto& [key, value] : extension->configuration->items()) {
      filter.parameters.emplace_back(key, JsonToValue(value));
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

// The configuration of sharding_indexed if the list is that codec alone, so
// that inner chunks can be found without decoding a shard.
const Json* AloneSharding(const Json& codecs) {
  if (!codecs.is_array() || codecs.size() != 1) return nullptr;
  const auto extension = ParseExtension(codecs[0]);
  return extension && extension->name == kSharding ? extension->configuration : nullptr;
}

// Elements as they are, without another codec: their type as stored.
std::optional<Datatype> PlainType(const Json& codecs, const Datatype& type) {
  if (codecs.size() != 1 || !type.is_fixed_size()) return std::nullopt;
  const auto extension = ParseExtension(codecs[0]);
  if (!extension || extension->name != "bytes") return std::nullopt;
  return type.WithOrder(FindByteOrder(codecs).value_or(ByteOrder::kLittle));
}

// Every shard of a grid has to be divided by its inner chunks, not just the
// largest one.
model::Result<void> CheckDivision(const ChunkGrid& grid, const ShardLayout& shard) {
  if (grid.is_regular()) return {};
  for (size_t dim = 0; dim < grid.rank(); ++dim) {
    for (uint64_t i = 0; i < grid.counts()[dim]; ++i) {
      if (grid.Extent(dim, i) % shard.inner_shape()[dim] == 0) continue;
      return model::BadInput(
          "chunk_shape: [{}]: inner chunks of {} do not divide a shard of {}", dim,
          shard.inner_shape()[dim], grid.Extent(dim, i));
    }
  }
  return {};
}

// Reads `codecs` into the layout: shards, and the chain of their innermost
// chunks. `bits` are those of ElementType.
model::Result<void> ParseCodecs(const Json& json, unsigned bits, ArrayLayout& layout) {
  const Json* codecs = &json;
  ChunkForm form{layout.spec.dtype, layout.objects.max_chunk_shape(), layout.spec.fill};
  std::string where = "codecs";
  while (const Json* configuration = AloneSharding(*codecs)) {
    NDLFS_TRY(auto parsed, ShardLayout::Parse(*configuration, form), where + "[0]");
    if (layout.shards.empty()) {
      NDLFS_RETURN_IF_ERROR(CheckDivision(layout.objects, parsed.layout), where + "[0]");
    }
    form.shape = parsed.layout.inner_shape();
    codecs = parsed.inner_codecs;
    where += "[0].codecs";
    layout.shards.push_back(std::move(parsed.layout));
  }
  NDLFS_TRY(layout.spec.grid, layout.shards.empty()
                                  ? model::Result<ChunkGrid>(layout.objects)
                                  : MakeRegularGrid(layout.spec.shape, form.shape));
  NDLFS_TRY(layout.spec.codecs, MakeZarr3Chain(*codecs, form, bits), where);
  if (layout.shards.empty() && bits == 0) layout.plain = PlainType(*codecs, layout.spec.dtype);
  if (bits == 0) {
    const Datatype stored =
        layout.spec.dtype.WithOrder(FindByteOrder(*codecs).value_or(ByteOrder::kLittle));
    layout.encoding = DescribeZarr3Encoding(stored, *codecs, form.shape.size());
  }
  return {};
}

model::Result<void> CheckStorageTransformers(const Json& document) {
  const auto list = document.find("storage_transformers");
  if (list == document.end() || list->is_null()) return {};
  if (!list->is_array()) {
    return model::BadInput("storage_transformers: expected a list, found {}",
                           DescribeJson(*list));
  }
  for (const Json& transformer : *list) {
    NDLFS_TRY(const Extension extension, ParseExtension(transformer), "storage_transformers");
    if (extension.must_understand) {
      return model::Unsupported("unknown storage transformer {}", model::Quote(extension.name));
    }
  }
  return {};
}

model::Result<void> CheckMembers(const Json& document) {
  return CheckUnknownMembers(
      document,
      {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
       "fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"});
}

// That numbers are stored in fewer bits than they have here is the first filter.
void DescribeBits(const ElementType& element, model::Storage& storage) {
  if (element.bits == 0) return;
  if (!storage.filter) storage.filter.emplace();
  const std::string_view prefix = element.type.is_signed() ? "" : "u";
  storage.filter->insert(storage.filter->begin(),
                         {fmt::format("{}int{}", prefix, element.bits), {}});
}

// Refuses a fill value that integers of so many bits do not have.
model::Result<void> CheckFill(const FillValue& fill, const ElementType& element) {
  const model::WideInt* value = fill.value.integer();
  if (element.bits == 0 || !value) return {};
  const int half = 1 << (element.bits - 1);
  const int lowest = element.type.is_signed() ? -half : 0;
  const int highest = element.type.is_signed() ? half - 1 : 2 * half - 1;
  if (*value >= lowest && *value <= highest) return {};
  return model::BadInput("fill_value: expected an integer from {} to {}, found {}", lowest,
                         highest, static_cast<int64_t>(*value));
}

model::Result<ArrayLayout> MakeLayout(const Json& document, const Json& codecs,
                                      const ElementType& element, ChunkGrid grid,
                                      const FillValue& fill, uint64_t max_chunk_size) {
  NDLFS_TRY(const Json* keys, RequireMember(document, "chunk_key_encoding"));
  ArrayLayout layout;
  layout.spec.dtype = element.type;
  layout.spec.shape = grid.array_shape();
  layout.spec.fill = fill.element;
  layout.objects = std::move(grid);
  NDLFS_TRY(layout.keys, ChunkKeyEncoding::Parse(*keys), "chunk_key_encoding");
  NDLFS_RETURN_IF_ERROR(ParseCodecs(codecs, element.bits, layout));
  NDLFS_RETURN_IF_ERROR(LimitSizes(layout, max_chunk_size));
  return layout;
}

// The member `codecs`. Early GDAL left it out where elements are stored as they
// are, as a draft of the specification allowed.
const Json& CodecsOf(const Json& document, std::vector<std::string>& notes) {
  static const Json kBytes = {{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}};
  const auto codecs = document.find("codecs");
  if (codecs != document.end()) return *codecs;
  notes.push_back(
      "codecs: there are none, which is read as little-endian bytes; the specification "
      "requires them");
  return kBytes;
}

// All that depends on the type.
model::Result<void> ParseData(const Json& document, const std::vector<uint64_t>& shape,
                              uint64_t max_chunk_size, ArrayMetadata& metadata) {
  NDLFS_TRY(const Json* type_json, RequireMember(document, "data_type"));
  NDLFS_TRY(const Json* grid_json, RequireMember(document, "chunk_grid"));
  NDLFS_TRY(const Json* fill_json, RequireMember(document, "fill_value"));
  NDLFS_TRY(const ElementType element, ParseElementType(*type_json), "data_type");
  const Datatype& type = element.type;
  metadata.array.type = type;
  DescribeBits(element, metadata.array.storage);
  const Json& codecs = CodecsOf(document, metadata.notes);
  const Datatype stored = type.WithOrder(FindByteOrder(codecs).value_or(ByteOrder::kLittle));
  DescribeType(stored, metadata.array.storage);
  NDLFS_TRY(ChunkGrid grid, ParseChunkGrid(*grid_json, shape), "chunk_grid");
  NDLFS_RETURN_IF_ERROR(CheckFillable(stored), "fill_value");
  NDLFS_TRY(FillValue fill, ParseFillValueV3(*fill_json, stored), "fill_value");
  NDLFS_RETURN_IF_ERROR(CheckFill(fill, element));
  metadata.array.storage.fillvalue = fill.value;
  metadata.notes.insert(metadata.notes.end(), fill.notes.begin(), fill.notes.end());
  NDLFS_RETURN_IF_ERROR(CheckMembers(document));
  NDLFS_RETURN_IF_ERROR(CheckStorageTransformers(document));
  NDLFS_TRY(ArrayLayout layout,
            MakeLayout(document, codecs, element, std::move(grid), fill, max_chunk_size));
  metadata.layout = std::make_shared<const ArrayLayout>(std::move(layout));
  return {};
}

model::Result<std::vector<std::string>> ParseNames(const Json& document, size_t rank) {
  const auto names = document.find("dimension_names");
  if (names == document.end() || names->is_null()) return std::vector<std::string>();
  if (auto parsed = ParseDimensionNames(*names, rank)) return *std::move(parsed);
  return model::BadInput("dimension_names: expected a list of {} strings and nulls, found {}",
                         rank, DescribeJson(*names));
}

// The shape of the objects of a regular grid; a rectilinear one has none.
std::optional<std::vector<uint64_t>> DescribeChunks(const Json& document) {
  const auto grid = document.find("chunk_grid");
  if (grid == document.end()) return std::nullopt;
  const auto extension = ParseExtension(*grid);
  if (!extension || !extension->configuration->contains("chunk_shape")) return std::nullopt;
  auto shape = JsonToSizes((*extension->configuration)["chunk_shape"]);
  return shape ? std::optional(*std::move(shape)) : std::nullopt;
}

}  // namespace

model::Result<ArrayMetadata> ParseArrayV3(const Json& document, uint64_t max_chunk_size) {
  NDLFS_RETURN_IF_ERROR(CheckZarrFormat(document, 3));
  NDLFS_TRY(const Json* shape_json, RequireMember(document, "shape"));
  NDLFS_TRY(const auto shape, JsonToSizes(*shape_json), "shape");
  NDLFS_TRY(const Json* data_type, RequireMember(document, "data_type"));

  ArrayMetadata metadata;
  metadata.array.type = Datatype::Opaque(0, CompactJson(*data_type));
  metadata.array.shape = MakeShape(shape);
  NDLFS_TRY(metadata.array.dimension_names, ParseNames(document, shape.size()));
  metadata.array.storage.chunk = DescribeChunks(document);
  if (document.contains("codecs")) {
    metadata.array.storage.filter = DescribeCodecs(document["codecs"]);
  }
  auto data = ParseData(document, shape, max_chunk_size, metadata);
  if (!data) metadata.error = std::move(data).error();
  return metadata;
}

}  // namespace ndlfs::backends::zarr
