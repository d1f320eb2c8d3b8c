// SPDX-License-Identifier: MIT
//
// Zarr storage specification version 2: .zarray.
#include <array>
#include <string>
#include <utility>

#include "backends/base/numpy_dtype.h"
#include "backends/codec/registry.h"
#include "backends/format/json_attributes.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/format/zarr/chunk_grid.h"
#include "backends/format/zarr/fill_value.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Datatype;

const Json& Null() {
  static const Json null;
  return null;
}

// A member that may be left out, which is the same as null.
const Json& MemberOrNull(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? Null() : *it;
}

constexpr const char* kNoteOfNoFill =
    "read without \"fill_value\", as if that were null; the specification has one in every "
    "array";

// The id of the codec that turns Python objects into bytes: the first filter.
std::string ObjectCodec(const Json& zarray) {
  const Json& filters = MemberOrNull(zarray, "filters");
  if (!filters.is_array() || filters.empty() || !filters[0].is_object()) return {};
  const Json& id = MemberOrNull(filters[0], "id");
  return id.is_string() ? id.get<std::string>() : "";
}

// Whether objects are stored as JSON or the like, so that each is shown as its
// JSON text.
bool IsDocumentCodec(std::string_view codec) {
  static constexpr std::array kCodecs = {"json2", "json", "msgpack2", "msgpack"};
  for (const std::string_view known : kCodecs) {
    if (codec == known) return true;
  }
  return false;
}

// The type of elements that are Python objects, by their stored form.
model::Result<Datatype> ObjectType(const Json& zarray) {
  const std::string codec = ObjectCodec(zarray);
  if (codec == "vlen-utf8" || codec == "categorize" || IsDocumentCodec(codec)) {
    return Datatype::String();
  }
  // Bytes of no charset, shown as what they stand for in Latin-1.
  if (codec == "vlen-bytes") return Datatype::String(model::Charset::kLatin1);
  if (codec == "vlen-array") {
    NDLFS_TRY(const Json* dtype, RequireMember(zarray["filters"][0], "dtype"), "vlen-array");
    NDLFS_TRY(const NumpyDescr descr, NumpyDescrFromJson(*dtype), "vlen-array");
    NDLFS_TRY(const Datatype item, NumpyDtype(descr), "vlen-array");
    return Datatype::Vlen(item);
  }
  if (codec.empty()) {
    return model::BadInput(
        "elements are Python objects, and no filter says how they are stored");
  }
  return model::Unsupported(
      "elements are Python objects, stored by {}",
      codec == "pickle" ? "pickle, which can run any program" : model::Quote(codec));
}

model::Result<Datatype> ParseDtype(const Json& zarray, model::Charset bytes_charset) {
  NDLFS_TRY(const Json* dtype, RequireMember(zarray, "dtype"));
  if (*dtype == "|O" || *dtype == "O") return ObjectType(zarray);
  NDLFS_TRY(const NumpyDescr descr, NumpyDescrFromJson(*dtype));
  NDLFS_TRY(Datatype type, NumpyDtype(descr));
  if (type.kind() == Datatype::Kind::kString && type.charset() == model::Charset::kAscii) {
    return Datatype::FixedString(type.size(), bytes_charset);
  }
  return type;
}

model::Result<bool> ParseFortranOrder(const Json& zarray) {
  NDLFS_TRY(const Json* order, RequireMember(zarray, "order"));
  if (*order == "C") return false;
  if (*order == "F") return true;
  return model::BadInput("order: expected \"C\" or \"F\", found {}", DescribeJson(*order));
}

model::Result<ChunkKeyEncoding> ParseKeys(const Json& zarray) {
  const Json& separator = MemberOrNull(zarray, "dimension_separator");
  if (separator.is_null()) return ChunkKeyEncoding::V2('.');
  NDLFS_TRY(const char parsed, ParseSeparator(separator), "dimension_separator");
  return ChunkKeyEncoding::V2(parsed);
}

model::Result<std::optional<FillValue>> ParseFill(const Json& zarray, const Datatype& stored) {
  // netCDF-C 4.8.0 and 4.8.1 wrote none.
  const Json* fill = &MemberOrNull(zarray, "fill_value");
  const bool is_json = !stored.is_fixed_size() && IsDocumentCodec(ObjectCodec(zarray));
  if (is_json) return MakeTextFill(CompactJson(*fill));  // null, too
  // Without a fill value there are zeros.
  if (!IsFillable(stored) && (*fill == 0 || *fill == "")) return std::nullopt;
  NDLFS_RETURN_IF_ERROR(CheckFillable(stored), "fill_value");
  auto parsed = ParseFillValueV2(*fill, stored);
  if (!parsed) return model::Propagate(std::move(parsed).error(), "fill_value");
  return parsed;
}

// A filter or compressor: {"id": "zlib", "level": 1}.
void AppendFilter(const Json& json, std::vector<model::Filter>& filters) {
  if (!json.is_object() || !MemberOrNull(json, "id").is_string()) return;
  model::Filter filter{json["id"].get<std::string>(), {}};
  for (const auto& [key, value] : json.items()) {
    if (key != "id") filter.parameters.emplace_back(key, JsonToValue(value));
  }
  filters.push_back(std::move(filter));
}

// In write order. Order F, which v2 keeps apart, is the filter that it is.
std::vector<model::Filter> DescribeFilters(const Json& zarray, size_t rank) {
  std::vector<model::Filter> filters;
  if (MemberOrNull(zarray, "order") == "F" && rank > 1) {
    filters.push_back({"transpose", {{"order", "F"}}});
  }
  const Json& list = MemberOrNull(zarray, "filters");
  if (list.is_array()) {
    for (const Json& filter : list) AppendFilter(filter, filters);
  }
  AppendFilter(MemberOrNull(zarray, "compressor"), filters);
  return filters;
}

model::Result<ArrayLayout> MakeLayout(const Json& zarray, const Datatype& stored,
                                      const std::vector<uint64_t>& shape,
                                      const std::optional<FillValue>& fill,
                                      uint64_t max_chunk_size) {
  NDLFS_TRY(const Json* chunks_json, RequireMember(zarray, "chunks"));
  NDLFS_TRY(auto chunks, JsonToSizes(*chunks_json), "chunks");
  NDLFS_TRY(ChunkGrid grid, MakeRegularGrid(shape, std::move(chunks)), "chunks");
  NDLFS_TRY(const bool fortran, ParseFortranOrder(zarray));
  NDLFS_TRY(const Json* compressor, RequireMember(zarray, "compressor"));
  const Json& filters = MemberOrNull(zarray, "filters");

  ArrayLayout layout;
  layout.spec.dtype = stored.WithOrder(model::ByteOrder::kLittle);
  layout.spec.shape = shape;
  layout.spec.grid = grid;
  layout.objects = std::move(grid);
  if (fill) layout.spec.fill = fill->element;
  NDLFS_TRY(layout.keys, ParseKeys(zarray));
  NDLFS_RETURN_IF_ERROR(LimitSizes(layout, max_chunk_size));
  NDLFS_TRY(layout.spec.codecs, MakeZarr2Chain(filters, *compressor, fortran, stored,
                                               layout.spec.grid.max_chunk_shape()));
  const bool is_plain = compressor->is_null() && filters.empty() &&
                        (!fortran || shape.size() <= 1) && stored.is_fixed_size();
  if (is_plain) layout.plain = stored;
  layout.encoding = DescribeZarr2Encoding(stored, filters, *compressor, fortran, shape.size());
  return layout;
}

// All that depends on the type.
model::Result<void> ParseData(const Json& zarray, const std::vector<uint64_t>& shape,
                              uint64_t max_chunk_size, model::Charset bytes_charset,
                              ArrayMetadata& metadata) {
  NDLFS_TRY(const Datatype stored, ParseDtype(zarray, bytes_charset), "dtype");
  if (!zarray.contains("fill_value")) metadata.notes.push_back(kNoteOfNoFill);
  metadata.array.type = stored;
  DescribeType(stored, metadata.array.storage);
  NDLFS_TRY(auto fill, ParseFill(zarray, stored));
  if (fill) {
    metadata.array.storage.fillvalue = fill->value;
    metadata.notes.insert(metadata.notes.end(), fill->notes.begin(), fill->notes.end());
  }
  NDLFS_TRY(ArrayLayout layout, MakeLayout(zarray, stored, shape, fill, max_chunk_size));
  metadata.layout = std::make_shared<const ArrayLayout>(std::move(layout));
  return {};
}

}  // namespace

model::Result<ArrayMetadata> ParseArrayV2(const Json& zarray, uint64_t max_chunk_size,
                                          model::Charset bytes_charset) {
  NDLFS_RETURN_IF_ERROR(CheckZarrFormat(zarray, 2));
  NDLFS_TRY(const Json* shape_json, RequireMember(zarray, "shape"));
  NDLFS_TRY(const auto shape, JsonToSizes(*shape_json), "shape");
  NDLFS_TRY(const Json* dtype, RequireMember(zarray, "dtype"));

  ArrayMetadata metadata;
  metadata.array.type = Datatype::Opaque(0, CompactJson(*dtype));
  metadata.array.shape = MakeShape(shape);
  if (auto chunks = JsonToSizes(MemberOrNull(zarray, "chunks"))) {
    metadata.array.storage.chunk = *std::move(chunks);
  }
  metadata.array.storage.filter = DescribeFilters(zarray, shape.size());
  auto data = ParseData(zarray, shape, max_chunk_size, bytes_charset, metadata);
  if (!data) metadata.error = std::move(data).error();
  return metadata;
}

}  // namespace ndlfs::backends::zarr
