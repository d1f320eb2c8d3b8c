// SPDX-License-Identifier: MIT
//
// numcodecs "json2" and "msgpack2": all elements of a chunk in one document. It is a
// list nested as the shape of the chunk says, with the type string and the shape as
// its last two items. Elements of variable size become compact JSON text
// (model/json_elements.h), so that the string "true" and the value true differ.
// Also Python's "pickle", which is refused.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/json_scan.h"
#include "backends/codec/element_stream_writer.h"
#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "model/value.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;

using Parser = model::Result<Json> (*)(ConstByteSpan bytes, size_t max_values);

// Describes a list of sizes exactly. Other values may contain text that is not
// UTF-8, which dump() cannot write.
std::string DescribeShape(const Json& shape) {
  return JsonToSizes(shape) ? shape.dump() : DescribeJson(shape);
}

model::Result<model::Value> ToValue(const Json& json, const Datatype& dtype) {
  if (json.is_boolean() && dtype.is_bool())
    return model::Value(json.get<bool>() ? "TRUE" : "FALSE");
  if (json.is_string()) return model::Value(json.get<std::string>());
  if (json.is_number_unsigned()) return model::Value(model::WideInt{json.get<uint64_t>()});
  if (json.is_number_integer()) return model::Value(model::WideInt{json.get<int64_t>()});
  if (json.is_number_float()) return model::Value(json.get<double>());
  return model::Corrupt("{} for an element of {}", DescribeJson(json), dtype.keyword());
}

// Stores bytes of MessagePack as a text of fixed size, padded with zeros.
model::Result<void> StoreBytes(const std::vector<uint8_t>& bytes, const Datatype& dtype,
                               ByteSpan to) {
  const bool is_bytes =
      dtype.kind() == Datatype::Kind::kString && dtype.charset() != model::Charset::kUtf32;
  if (!is_bytes || bytes.size() > to.size()) {
    return model::Corrupt("{} bytes for an element of {} of {} bytes", bytes.size(),
                          dtype.keyword(), to.size());
  }
  std::fill(to.begin(), to.end(), std::byte{0});
  std::copy_n(std::as_bytes(std::span(bytes)).begin(), bytes.size(), to.begin());
  return {};
}

// Stores an element of fixed size.
model::Result<void> StoreElement(const Json& json, const Datatype& dtype, ByteSpan to) {
  if (const auto* bytes = BytesOf(json)) return StoreBytes(*bytes, dtype, to);
  if (const auto type = NumberTypeOf(dtype); type && type->is_float()) {
    return StoreJsonNumber(json, *type, to.data());  // accepts NaN
  }
  NDLFS_TRY(const model::Value value, ToValue(json, dtype));
  return model::EncodeElement(dtype, value, to);
}

class DocumentCodec final : public ArrayToBytesCodec {
 public:
  DocumentCodec(std::string_view name, Parser parse) : name_(name), parse_(parse) {}

  std::string_view name() const override { return name_; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  // Allows for numbers of 25 digits, escapes of 6 characters in text, and some
  // indentation.
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    if (!form.dtype.is_fixed_size()) return kMaxViewSize;
    const auto size = CheckedProduct(form.shape, 128 + 6 * form.dtype.size());
    return std::min(size.value_or(kMaxViewSize), kMaxViewSize - 65536) + 65536;
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    const size_t size = form.dtype.size();
    size_t at = 0;
    const size_t max_values = 2 * form.element_count().value_or(0) + kMaxExtraValues;
    NDLFS_RETURN_IF_ERROR(
        ForEach(encoded, form, max_values, [&](const Json& element) -> model::Result<void> {
          NDLFS_RETURN_IF_ERROR(StoreElement(element, form.dtype, decoded.subspan(at, size)),
                                fmt::format("element {}", at / size));
          at += size;
          return {};
        }));
    return {};
  }

  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                      uint64_t limit) const override {
    NDLFS_TRY(auto writer,
              ElementStreamWriter::Make(form.element_count().value_or(UINT64_MAX), limit));
    NDLFS_RETURN_IF_ERROR(ForEach(encoded, form, limit / sizeof(Json),
                                  [&](const Json& element) -> model::Result<void> {
                                    writer.AppendText(CompactJson(element));
                                    return writer.EndElement();
                                  }));
    return std::move(writer).Finish();
  }

 private:
  template <typename Use>
  model::Result<void> ForEach(ConstByteSpan encoded, const ChunkForm& form, size_t max_values,
                              Use use) const {
    auto parsed = parse_(encoded, max_values);
    if (!parsed) return model::Corrupt("{}", parsed.error().message());
    Json& document = *parsed;
    if (!document.is_array() || document.size() < 2) {
      return model::Corrupt("expected a list with a type and a shape at its end, found {}",
                            DescribeJson(document));
    }
    const Json& shape = document.back();
    if (shape != Json(form.shape)) {
      return model::Corrupt("a chunk of shape {}, expected {}", DescribeShape(shape),
                            Json(form.shape).dump());
    }
    document.erase(document.size() - 1);
    document.erase(document.size() - 1);
    // An array without dimensions is stored as a list of one element.
    const std::vector<uint64_t> shape_of_lists =
        form.shape.empty() ? std::vector<uint64_t>{1} : form.shape;
    return Walk(document, shape_of_lists, 0, use);
  }

  // Visits the elements of nested lists, from dimension `dim` on.
  template <typename Use>
  static model::Result<void> Walk(const Json& json, const std::vector<uint64_t>& shape,
                                  size_t dim, Use& use) {
    if (dim == shape.size()) return use(json);
    if (!json.is_array() || json.size() != shape[dim]) {
      return model::Corrupt("expected a list of {}, found {}", shape[dim], DescribeJson(json));
    }
    for (const Json& item : json) NDLFS_RETURN_IF_ERROR(Walk(item, shape, dim + 1, use));
    return {};
  }

  // Allows for the type, the shape with its extents, and the lists around them.
  static constexpr size_t kMaxExtraValues = 1000;

  const std::string_view name_;
  const Parser parse_;
};

CodecResult MakeDocument(const CodecConfig& config, Parser parse) {
  const Datatype& dtype = config.form->dtype;
  const bool is_text = dtype.kind() == Datatype::Kind::kString;
  // Zarr v3 has no data type whose elements are any JSON value.
  const bool is_known = dtype.is_fixed_size() || config.dialect == CodecDialect::kNumcodecs;
  if (!is_known || (!is_text && !NumberTypeOf(dtype))) {
    return model::Unsupported("{}: elements of {}", config.name, dtype.keyword());
  }
  const std::string_view name = parse == &ParseMsgpack ? "msgpack2" : "json2";
  return NewCodec<DocumentCodec>(name, parse);
}

model::Result<Json> ParseJsonBytes(ConstByteSpan bytes, size_t max_values) {
  return ParseJson(AsText(bytes), max_values);
}

}  // namespace

static CodecResult MakeJson2(const CodecConfig& config) {
  return MakeDocument(config, &ParseJsonBytes);
}
static CodecResult MakeMsgpack2(const CodecConfig& config) {
  return MakeDocument(config, &ParseMsgpack);
}

static CodecResult MakePickle(const CodecConfig&) {
  return model::Unsupported(
      "pickle: its data are a program for Python, which ndlfs does not run");
}

const CodecEntry kJson2Entry = {"", "json2", "", MakeJson2};
const CodecEntry kMsgpack2Entry = {"", "msgpack2", "", MakeMsgpack2};
// Always fails.
const CodecEntry kPickleEntry = {"", "pickle", "", MakePickle, ""};

}  // namespace ndlfs::backends
