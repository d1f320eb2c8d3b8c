// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_types.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "fs/view/container/zarr_json.h"
#include "model/base64.h"
#include "model/utf8.h"
#include "model/value.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::Json;
using model::Datatype;
using model::Result;
using Kind = Datatype::Kind;

// Bytes of an element that stay together.
struct PackedRun {
  size_t from;
  size_t to;
  size_t size;
};

class Packer final : public backends::ElementConverter {
 public:
  Packer(size_t from_size, size_t to_size, std::vector<PackedRun> runs)
      : ElementConverter(from_size, to_size), runs_(std::move(runs)) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    for (size_t at = 0, out = 0; at < from.size(); at += from_size(), out += to_size()) {
      for (const PackedRun& run : runs_) {
        std::memcpy(to.data() + out + run.to, from.data() + at + run.from, run.size);
      }
    }
    return {};
  }

 private:
  const std::vector<PackedRun> runs_;
};

// Takes the gaps out of a type.
class Packing {
 public:
  // kLimit if an element has very many parts.
  Result<Datatype> Pack(const Datatype& type, size_t from) {
    if (type.kind() == Kind::kCompound && !type.is_complex()) return PackMembers(type, from);
    if (type.kind() == Kind::kArray && HasGaps(type.base())) return PackItems(type, from);
    NDLFS_RETURN_IF_ERROR(Keep(from, type.size()));
    return type;
  }
  static bool HasGaps(const Datatype& type) {
    if (type.kind() == Kind::kArray) return HasGaps(type.base());
    if (type.kind() != Kind::kCompound) return false;
    size_t end = 0;
    for (const Datatype::Member& member : type.members()) {
      if (member.offset != end || HasGaps(member.type)) return true;
      end += member.type.size();
    }
    return end != type.size();
  }
  size_t size() const { return size_; }
  std::vector<PackedRun> TakeRuns() { return std::move(runs_); }

 private:
  Result<Datatype> PackMembers(const Datatype& type, size_t from) {
    std::vector<Datatype::Member> members;
    for (const Datatype::Member& member : type.members()) {
      NDLFS_TRY(Datatype packed, Pack(member.type, from + member.offset));
      members.push_back({member.name, std::move(packed), 0});
    }
    return Datatype::PackedCompound(std::move(members));
  }
  Result<Datatype> PackItems(const Datatype& type, size_t from) {
    Datatype base;
    for (uint64_t i = 0; i < type.array_length(); ++i) {
      NDLFS_TRY(base, Pack(type.base(), from + i * type.base().size()));
    }
    return Datatype::Array(base, type.shape());
  }
  Result<void> Keep(size_t from, size_t size) {
    constexpr size_t kMostRuns = 10'000;
    PackedRun* last = runs_.empty() ? nullptr : &runs_.back();
    if (last != nullptr && last->from + last->size == from) {
      last->size += size;
    } else if (runs_.size() == kMostRuns) {
      return model::Limit("structs of more than {} parts", kMostRuns);
    } else {
      runs_.push_back({from, size_, size});
    }
    size_ += size;
    return {};
  }

  std::vector<PackedRun> runs_;
  size_t size_ = 0;
};

model::Failure NoWord(const Datatype& type) {
  return model::Unsupported("elements of type {}", type.keyword());
}

Json Configured(std::string_view name, Json configuration) {
  return {{"name", name}, {"configuration", std::move(configuration)}};
}

// The fields of a struct need names that differ.
Result<void> CheckNames(const Datatype& type) {
  std::set<std::string_view> names;
  for (const auto& member : type.members()) {
    if (member.name.empty() || !model::IsUtf8(member.name) ||
        !names.insert(member.name).second) {
      return model::Unsupported("a struct with a member called {}", model::Quote(member.name));
    }
  }
  if (names.empty()) return model::Unsupported("a struct without members");
  return {};
}

Result<Json> NameV3(const Datatype& type);

Result<Json> StructV3(const Datatype& type) {
  NDLFS_RETURN_IF_ERROR(CheckNames(type));
  Json fields = Json::array();
  for (const Datatype::Member& member : type.members()) {
    if (!member.type.is_fixed_size() || member.type.kind() == Kind::kArray) {
      return model::Unsupported("a struct with a member of type {}", member.type.keyword());
    }
    NDLFS_TRY(Json name, NameV3(member.type), model::OneLine(member.name));
    fields.push_back({{"name", member.name}, {"data_type", std::move(name)}});
  }
  return Configured("struct", {{"fields", std::move(fields)}});
}

Result<Json> FloatV3(const Datatype& type) {
  const std::string keyword = type.keyword();
  const bool is_known = keyword == "float16" || keyword == "float32" || keyword == "float64" ||
                        keyword == "bfloat16" || keyword.starts_with("float8_") ||
                        keyword.starts_with("float6_") || keyword.starts_with("float4_");
  if (!is_known) return NoWord(type);
  return Json(keyword);
}

Result<Json> TextV3(const Datatype& type) {
  if (!type.is_fixed_size()) {
    return Json(type.charset() == model::Charset::kLatin1 ? "bytes" : "string");
  }
  if (type.size() == 0) return model::Unsupported("elements of no bytes");
  const Json length = {{"length_bytes", type.size()}};
  if (type.charset() != model::Charset::kUtf32) {
    return Configured("null_terminated_bytes", length);
  }
  if (type.size() % 4 != 0) return NoWord(type);
  return Configured("fixed_length_utf32", length);
}

Result<Json> NameV3(const Datatype& type) {
  if (type.is_bool()) return Json("bool");
  if (type.is_complex()) return Json(type.size() == 8 ? "complex64" : "complex128");
  switch (type.kind()) {
    case Kind::kInteger:
      if (const auto& time = type.time()) {
        return Configured(time->is_delta ? "numpy.timedelta64" : "numpy.datetime64",
                          {{"unit", time->unit}, {"scale_factor", time->scale}});
      }
      return Json(fmt::format("{}int{}", type.is_signed() ? "" : "u", 8 * type.size()));
    case Kind::kFloat:
      return FloatV3(type);
    case Kind::kString:
      return TextV3(type);
    case Kind::kEnum:
      return NameV3(type.base());
    case Kind::kCompound:
      return StructV3(type);
    case Kind::kOpaque:
      if (type.size() == 0) return model::Unsupported("elements of no bytes");
      return Json(fmt::format("r{}", 8 * type.size()));
    default:
      return NoWord(type);
  }
}

Result<Json> NameV2(const Datatype& type);

Result<Json> FieldV2(const Datatype::Member& member) {
  Datatype type = member.type;
  Json shape = Json::array();
  while (type.kind() == Kind::kArray) {
    for (const uint64_t extent : type.shape()) shape.push_back(extent);
    type = Datatype(type.base());
  }
  if (!type.is_fixed_size()) {
    return model::Unsupported("a struct with a member of type {}", type.keyword());
  }
  NDLFS_TRY(Json name, NameV2(type), model::OneLine(member.name));
  Json field = Json::array({member.name, std::move(name)});
  if (!shape.empty()) field.push_back(std::move(shape));
  return field;
}

Result<Json> StructV2(const Datatype& type) {
  NDLFS_RETURN_IF_ERROR(CheckNames(type));
  Json fields = Json::array();
  for (const Datatype::Member& member : type.members()) {
    NDLFS_TRY(Json field, FieldV2(member));
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<Json> TextV2(const Datatype& type) {
  if (!type.is_fixed_size()) return Json("|O");
  if (type.size() == 0) return model::Unsupported("elements of no bytes");
  if (type.charset() != model::Charset::kUtf32) return Json(fmt::format("|S{}", type.size()));
  if (type.size() % 4 != 0) return NoWord(type);
  return Json(fmt::format("<U{}", type.size() / 4));
}

Result<Json> IntegerV2(const Datatype& type) {
  if (const auto& time = type.time()) {
    const char code = time->is_delta ? 'm' : 'M';
    if (time->unit == "generic") return Json(fmt::format("<{}8", code));
    const std::string scale = time->scale == 1 ? "" : std::to_string(time->scale);
    return Json(fmt::format("<{}8[{}{}]", code, scale, time->unit));
  }
  return Json(fmt::format("{}{}{}", type.size() == 1 ? '|' : '<', type.is_signed() ? 'i' : 'u',
                          type.size()));
}

Result<Json> NameV2(const Datatype& type) {
  if (type.is_bool()) return Json("|b1");
  if (type.is_complex()) return Json(fmt::format("<c{}", type.size()));
  switch (type.kind()) {
    case Kind::kInteger:
      return IntegerV2(type);
    case Kind::kFloat: {
      const std::string keyword = type.keyword();
      const bool is_known =
          keyword == "float16" || keyword == "float32" || keyword == "float64";
      if (!is_known) return NoWord(type);
      return Json(fmt::format("<f{}", type.size()));
    }
    case Kind::kString:
      return TextV2(type);
    case Kind::kEnum:
      return NameV2(type.base());
    case Kind::kCompound:
      return StructV2(type);
    case Kind::kOpaque:
      if (type.size() == 0) return model::Unsupported("elements of no bytes");
      return Json(fmt::format("|V{}", type.size()));
    default:
      return NoWord(type);
  }
}

// The codec of elements of variable size.
std::string_view VariableCodec(const Datatype& type) {
  return type.charset() == model::Charset::kLatin1 ? "vlen-bytes" : "vlen-utf8";
}

bool HasByteOrder(const Datatype& type) { return type.uniform_order().has_value(); }

std::string Base64Of(std::span<const std::byte> bytes) { return model::EncodeBase64(bytes); }

Json IntegerFill(const Datatype& type, std::span<const std::byte> bytes) {
  const auto value = model::DecodeElement(type, bytes);
  return value ? ValueToJson(type, *value).value_or(Json(0)) : Json(0);
}

std::span<const std::byte> WithoutZeros(std::span<const std::byte> text) {
  while (!text.empty() && text.back() == std::byte{0}) text = text.first(text.size() - 1);
  return text;
}

// UTF-32 that is no text, or has zeros in it, is no exact fill value.
FillWord Utf32Fill(const Datatype& type, std::span<const std::byte> bytes) {
  const auto value = model::DecodeElement(type, bytes);
  const std::string* text = value ? value->text() : nullptr;
  std::vector<std::byte> again(bytes.size());
  const bool is_exact = text != nullptr && model::EncodeElement(type, *value, again) &&
                        std::memcmp(again.data(), bytes.data(), again.size()) == 0;
  return {Json(text == nullptr ? "" : *text), is_exact};
}

FillWord FillV3(const Datatype& type, std::span<const std::byte> bytes);

FillWord StructFillV3(const Datatype& type, std::span<const std::byte> bytes) {
  FillWord fill{Json::object()};
  for (const Datatype::Member& member : type.members()) {
    FillWord one = FillV3(member.type, bytes.subspan(member.offset, member.type.size()));
    fill.json[member.name] = std::move(one.json);
    fill.is_exact = fill.is_exact && one.is_exact;
  }
  return fill;
}

FillWord FillV3(const Datatype& type, std::span<const std::byte> bytes) {
  if (type.is_bool()) return {Json(bytes[0] != std::byte{0}), bytes[0] <= std::byte{1}};
  if (type.is_complex()) {
    const size_t half = bytes.size() / 2;
    const Datatype part = half == 4 ? Datatype::Float32() : Datatype::Float64();
    return {Json::array(
        {FloatToJson(part, bytes.first(half)), FloatToJson(part, bytes.subspan(half))})};
  }
  switch (type.kind()) {
    case Kind::kFloat:
      return {FloatToJson(type, bytes)};
    case Kind::kEnum:
      return FillV3(type.base(), bytes);
    case Kind::kCompound:
      return StructFillV3(type, bytes);
    case Kind::kString:
      if (type.charset() == model::Charset::kUtf32) return Utf32Fill(type, bytes);
      return {Base64Of(WithoutZeros(bytes))};
    case Kind::kOpaque: {
      Json list = Json::array();
      for (const std::byte byte : bytes) list.push_back(std::to_integer<unsigned>(byte));
      return {std::move(list)};
    }
    default:
      return {IntegerFill(type, bytes)};
  }
}

// v2 has no bits of a NaN.
FillWord FloatFillV2(const Datatype& type, std::span<const std::byte> bytes) {
  Json json = FloatToJson(type, bytes);
  if (!json.is_string() || !json.get<std::string>().starts_with("0x")) return {std::move(json)};
  return {"NaN", false};
}

FillWord FillV2(const Datatype& type, std::span<const std::byte> bytes) {
  if (type.is_complex()) {
    const size_t half = bytes.size() / 2;
    const Datatype part = half == 4 ? Datatype::Float32() : Datatype::Float64();
    FillWord real = FloatFillV2(part, bytes.first(half));
    FillWord imaginary = FloatFillV2(part, bytes.subspan(half));
    return {Json::array({std::move(real.json), std::move(imaginary.json)}),
            real.is_exact && imaginary.is_exact};
  }
  switch (type.kind()) {
    case Kind::kFloat:
      return FloatFillV2(type, bytes);
    case Kind::kEnum:
      return type.is_bool() ? FillV3(type, bytes) : FillV2(type.base(), bytes);
    case Kind::kString:
      if (type.charset() == model::Charset::kUtf32) return Utf32Fill(type, bytes);
      return {Base64Of(bytes)};
    case Kind::kCompound:
    case Kind::kOpaque:
      return {Base64Of(bytes)};
    default:
      return {IntegerFill(type, bytes)};
  }
}

FillWord VariableFillWord(const Datatype& type, std::span<const std::byte> element,
                          Version version) {
  const std::span<const std::byte> bytes = element.subspan(sizeof(uint32_t));
  if (type.charset() == model::Charset::kLatin1) {
    // NumPy has no fill value for objects that are bytes.
    if (version == Version::kV2) return {nullptr, false};
    return {Base64Of(bytes)};
  }
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool is_text = model::IsUtf8(text);
  return {Json(std::move(text)), is_text};
}

}  // namespace

Result<ElementForm> DescribeType(const Datatype& type, Version version) {
  ElementForm form;
  Datatype item = type;
  while (item.kind() == Kind::kArray) {
    form.inner.insert(form.inner.end(), item.shape().begin(), item.shape().end());
    item = Datatype(item.base());
  }
  if (item.is_fixed_size() && item.size() > std::numeric_limits<int32_t>::max()) {
    return model::Unsupported("elements of {} bytes", item.size());
  }
  if (item.kind() == Kind::kCompound && !item.is_fixed_size()) {
    return model::Unsupported("structs with members of variable size");
  }
  if (!item.is_fixed_size() && item.kind() != Kind::kString) return NoWord(item);
  form.type = item.is_fixed_size() ? item.WithOrder(model::ByteOrder::kLittle) : item;
  if (Packing::HasGaps(type)) {
    Packing packing;
    NDLFS_TRY(const Datatype packed, packing.Pack(type, 0));
    if (packed.size() == 0) return model::Unsupported("elements of no bytes");
    form.packing.converter =
        std::make_shared<const Packer>(type.size(), packed.size(), packing.TakeRuns());
    form.packing.type = packed;
    Datatype base = packed;
    while (base.kind() == Kind::kArray) base = Datatype(base.base());
    form.type = base.WithOrder(model::ByteOrder::kLittle);
  }
  NDLFS_TRY(form.name, version == Version::kV3 ? NameV3(form.type) : NameV2(form.type));
  return form;
}

Json CodecsOf(const Datatype& type) {
  if (!type.is_fixed_size()) return Json::array({{{"name", VariableCodec(type)}}});
  Json codec = {{"name", "bytes"}};
  if (HasByteOrder(type)) codec["configuration"] = {{"endian", "little"}};
  return Json::array({std::move(codec)});
}

Json FiltersOf(const Datatype& type) {
  if (type.is_fixed_size()) return nullptr;
  return Json::array({{{"id", VariableCodec(type)}}});
}

FillWord DescribeFill(const Datatype& type, std::span<const std::byte> bytes, Version version) {
  if (!type.is_fixed_size()) return VariableFillWord(type, bytes, version);
  return version == Version::kV3 ? FillV3(type, bytes) : FillV2(type, bytes);
}

}  // namespace ndlfs::fs::zarr
