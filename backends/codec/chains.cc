// SPDX-License-Identifier: MIT
//
// Makes chains of the codec pipelines in Zarr metadata.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends {
namespace {

// Collects the codecs of a chain in the order of encoding. Fails if their kinds are
// not in the order array to array, one array to bytes, bytes to bytes.
class ChainBuilder {
 public:
  explicit ChainBuilder(const ChunkForm& decoded) : decoded_(decoded), form_(decoded) {}

  // The form of the elements that the next codec encodes.
  const ChunkForm& form() const { return form_; }
  bool has_array_to_bytes() const { return array_to_bytes_ != nullptr; }

  model::Result<void> Add(AnyCodec codec) {
    return std::visit([this](auto& c) { return AddKind(std::move(c)); }, codec);
  }

  model::Result<CodecChain> Build() {
    if (!array_to_bytes_) return model::BadInput("no array to bytes codec");
    return CodecChain::Make(decoded_, std::move(array_to_array_), std::move(array_to_bytes_),
                            std::move(bytes_to_bytes_));
  }

 private:
  model::Result<void> AddKind(std::shared_ptr<const ArrayToArrayCodec> codec) {
    if (array_to_bytes_) return After("an array to array", codec->name());
    NDLFS_TRY(form_, codec->EncodedForm(form_), codec->name());
    array_to_array_.push_back(std::move(codec));
    return {};
  }
  model::Result<void> AddKind(std::shared_ptr<const ArrayToBytesCodec> codec) {
    if (array_to_bytes_) return After("an array to bytes", codec->name());
    array_to_bytes_ = std::move(codec);
    return {};
  }
  model::Result<void> AddKind(std::shared_ptr<const BytesToBytesCodec> codec) {
    if (!array_to_bytes_) {
      return model::BadInput(
          "{} is a bytes to bytes codec, but no array to bytes codec comes before it",
          codec->name());
    }
    bytes_to_bytes_.push_back(std::move(codec));
    return {};
  }
  model::Failure After(std::string_view kind, std::string_view name) const {
    return model::BadInput("{} is {} codec, but comes after the array to bytes codec {}", name,
                           kind, array_to_bytes_->name());
  }

  ChunkForm decoded_;
  ChunkForm form_;
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
};

// An item of `codecs`: an object, or just a name if there is nothing to configure
// (Zarr v3.1, "Extension definition").
struct Zarr3Entry {
  std::string_view name;
  const Json* configuration;
  bool must_understand = true;
};

const Json& EmptyObject() {
  static const Json empty = Json::object();
  return empty;
}

model::Result<Zarr3Entry> ParseZarr3Entry(const Json& json) {
  if (json.is_string()) return Zarr3Entry{json.get_ref<const std::string&>(), &EmptyObject()};
  NDLFS_TRY(const Json* name, RequireMember(json, "name"));
  if (!name->is_string()) {
    return model::BadInput("name: expected a string, found {}", DescribeJson(*name));
  }
  Zarr3Entry entry{name->get_ref<const std::string&>(), &EmptyObject()};
  if (const auto it = json.find("configuration"); it != json.end()) {
    if (!it->is_object()) {
      return model::BadInput("configuration: expected an object, found {}", DescribeJson(*it));
    }
    entry.configuration = &*it;
  }
  if (const auto it = json.find("must_understand"); it != json.end()) {
    if (!it->is_boolean()) {
      return model::BadInput("must_understand: expected true or false, found {}",
                             DescribeJson(*it));
    }
    entry.must_understand = it->get<bool>();
  }
  return entry;
}

// Bits of the integers that "cast_value" makes if they are less than 8; 0
// otherwise.
unsigned BitsAfterCast(const Json& configuration) {
  const auto member = configuration.find("data_type");
  if (member == configuration.end()) return 0;
  const Json& name =
      member->is_object() && member->contains("name") ? (*member)["name"] : *member;
  const auto* narrow =
      name.is_string() ? FindNarrowInteger(name.get_ref<const std::string&>()) : nullptr;
  return narrow ? narrow->bits : 0;
}

// Adds a codec of a Zarr v3 array. `bits` is as in CodecConfig, and is updated to
// the type that the codec makes.
model::Result<void> AddZarr3(const Json& json, ChainBuilder& builder, unsigned& bits) {
  NDLFS_TRY(const Zarr3Entry entry, ParseZarr3Entry(json));
  // Zarr v3.1 lets a codec declare that readers "can ignore its presence". Only a
  // codec whose decoding changes nothing, such as bitround, can be ignored; if it
  // was another one, the sizes and checks of the other codecs fail.
  if (!entry.must_understand && !IsKnownCodec(CodecDialect::kZarr3, entry.name)) return {};
  const CodecConfig config{CodecDialect::kZarr3, entry.name, entry.configuration,
                           &builder.form(), bits};
  NDLFS_TRY(AnyCodec codec, MakeCodec(config));
  // Pictures of imagecodecs are codecs of elements for imagecodecs itself, and codecs of bytes
  // for virtual-tiff.
  if (!builder.has_array_to_bytes() && IsImagecodecsPicture(entry.name)) {
    NDLFS_TRY(auto bytes, MakeStoredBytes(builder.form().dtype));
    NDLFS_RETURN_IF_ERROR(builder.Add(std::move(bytes)));
  }
  NDLFS_RETURN_IF_ERROR(builder.Add(std::move(codec)));
  if (entry.name != "cast_value") return {};
  bits = BitsAfterCast(*entry.configuration);
  if (bits == 0) return {};
  return builder.Add(MakeNarrow(bits, builder.form().dtype.is_signed()));
}

// Adds a filter or the compressor of a Zarr v2 array. Filters transform the stored
// bytes of the elements, except those that encode objects.
model::Result<void> AddNumcodecs(const Json& json, ChainBuilder& builder,
                                 const ChunkForm& stored) {
  NDLFS_TRY(const Json* id, RequireMember(json, "id"));
  if (!id->is_string()) {
    return model::BadInput("id: expected a string, found {}", DescribeJson(*id));
  }
  const std::string_view name = id->get_ref<const std::string&>();
  NDLFS_TRY(AnyCodec codec, MakeCodec({CodecDialect::kNumcodecs, name, &json, &stored}));
  const bool makes_bytes =
      std::holds_alternative<std::shared_ptr<const ArrayToBytesCodec>>(codec);
  if (!builder.has_array_to_bytes() && !makes_bytes) {
    if (!stored.dtype.is_fixed_size()) {
      return model::BadInput(
          "{}: the elements are objects, and no codec before it encodes them", name);
    }
    NDLFS_TRY(auto bytes, MakeStoredBytes(stored.dtype));
    NDLFS_RETURN_IF_ERROR(builder.Add(std::move(bytes)));
  }
  return builder.Add(std::move(codec));
}

// Whether the first filter writes nested lists, for which the order in memory has
// no meaning.
bool WritesNestedLists(const Json& filters) {
  if (!filters.is_array() || filters.empty() || !filters[0].is_object()) return false;
  const auto id = filters[0].find("id");
  return id != filters[0].end() && (*id == "json2" || *id == "msgpack2");
}

}  // namespace

CodecResult MakeZarr3Codec(const Json& json, const ChunkForm& form, unsigned bits) {
  NDLFS_TRY(const Zarr3Entry entry, ParseZarr3Entry(json));
  return MakeCodec({CodecDialect::kZarr3, entry.name, entry.configuration, &form, bits});
}

model::Result<CodecChain> MakeZarr3Chain(const Json& codecs, const ChunkForm& decoded,
                                         unsigned bits) {
  if (!codecs.is_array()) {
    return model::BadInput("codecs: expected a list, found {}", DescribeJson(codecs));
  }
  ChainBuilder builder(decoded);
  if (bits != 0) {
    NDLFS_RETURN_IF_ERROR(builder.Add(MakeNarrow(bits, decoded.dtype.is_signed())));
  }
  for (size_t i = 0; i < codecs.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(AddZarr3(codecs[i], builder, bits), fmt::format("codecs[{}]", i));
  }
  auto chain = builder.Build();
  if (!chain) return model::Propagate(std::move(chain).error(), "codecs");
  return chain;
}

model::Result<CodecChain> MakeFlatChain(const FlatEncoding& encoding,
                                        const std::vector<uint64_t>& chunk_shape) {
  const model::Datatype& stored = encoding.stored;
  if (!stored.is_fixed_size()) return model::BadInput("elements of variable size");
  ChainBuilder builder({stored.WithOrder(model::ByteOrder::kLittle), chunk_shape});
  if (encoding.fortran_order && chunk_shape.size() > 1) {
    NDLFS_RETURN_IF_ERROR(builder.Add(MakeFortranOrder(chunk_shape.size())), "order");
  }
  if (encoding.bits == FlatEncoding::Bits::kNone) {
    NDLFS_TRY(auto bytes, MakeStoredBytes(stored));
    NDLFS_RETURN_IF_ERROR(builder.Add(std::move(bytes)));
  } else {
    if (!stored.is_bool()) return model::BadInput("bits of {}", stored.keyword());
    NDLFS_TRY(AnyCodec packbits,
              MakeCodec({CodecDialect::kZarr3, "packbits", &EmptyObject(), &builder.form()}));
    NDLFS_RETURN_IF_ERROR(builder.Add(std::move(packbits)));
  }
  if (encoding.bits == FlatEncoding::Bits::kHighestFirst) {
    NDLFS_RETURN_IF_ERROR(builder.Add(MakeReverseBits()));
  }
  if (encoding.record_bytes != 0) {
    NDLFS_RETURN_IF_ERROR(
        builder.Add(MakeFortranRecords(encoding.record_bytes, encoding.marker_order)));
  }
  return builder.Build();
}

model::Result<CodecChain> MakeZarr2Chain(const Json& filters, const Json& compressor,
                                         bool fortran_order, const model::Datatype& stored,
                                         const std::vector<uint64_t>& chunk_shape) {
  if (!filters.is_null() && !filters.is_array()) {
    return model::BadInput("filters: expected a list or null, found {}", DescribeJson(filters));
  }
  const ChunkForm stored_form{stored, chunk_shape};
  ChainBuilder builder({stored.WithOrder(model::ByteOrder::kLittle), chunk_shape});
  if (fortran_order && chunk_shape.size() > 1 && !WritesNestedLists(filters)) {
    NDLFS_RETURN_IF_ERROR(builder.Add(MakeFortranOrder(chunk_shape.size())), "order");
  }
  for (size_t i = 0; i < filters.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(AddNumcodecs(filters[i], builder, stored_form),
                          fmt::format("filters[{}]", i));
  }
  if (!compressor.is_null()) {
    NDLFS_RETURN_IF_ERROR(AddNumcodecs(compressor, builder, stored_form), "compressor");
  }
  if (!builder.has_array_to_bytes()) {
    if (!stored.is_fixed_size()) {
      return model::BadInput("filters: the elements are objects, and no codec encodes them");
    }
    NDLFS_TRY(auto bytes, MakeStoredBytes(stored));
    NDLFS_RETURN_IF_ERROR(builder.Add(std::move(bytes)));
  }
  return builder.Build();
}

}  // namespace ndlfs::backends
