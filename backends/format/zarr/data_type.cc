// SPDX-License-Identifier: MIT
#include "backends/format/zarr/data_type.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/number_type.h"
#include "backends/format/zarr/extension.h"
#include "model/number_text.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Datatype;

// No element is larger: NumPy's own bound.
constexpr uint64_t kMaxElementSize = std::numeric_limits<int32_t>::max();

model::Failure UnknownType(std::string_view name) {
  return model::Unsupported("unknown data type {}", model::Quote(name));
}

model::Result<uint64_t> CheckElementSize(uint64_t size) {
  if (size == 0) return model::BadInput("elements of 0 bytes");
  if (size > kMaxElementSize) {
    return model::Limit("elements of {} bytes, at most {} are accepted", size, kMaxElementSize);
  }
  return size;
}

// "r24": raw bits.
model::Result<Datatype> ParseRawBits(std::string_view name) {
  const auto bits = model::ParseNumber<uint64_t>(name.substr(1));
  if (!bits) return UnknownType(name);
  if (*bits % 8 != 0) {
    return model::BadInput("{}: the number of bits is no multiple of 8", model::Quote(name));
  }
  NDLFS_TRY(const uint64_t size, CheckElementSize(*bits / 8), model::Quote(name));
  return Datatype::Opaque(size);
}

// Members r and i of one float type.
Datatype ComplexOf(const Datatype& part) {
  if (part == Datatype::Float32()) return Datatype::Complex(8);
  if (part == Datatype::Float64()) return Datatype::Complex(16);
  return Datatype::PackedCompound({{"r", part, 0}, {"i", part, 0}});
}

bool IsFloat(const std::optional<Datatype>& type) {
  return type && type->kind() == Datatype::Kind::kFloat;
}

// Types that are a name and nothing more.
std::optional<Datatype> FindSimpleType(std::string_view name) {
  constexpr std::string_view kComplexPrefix = "complex_";
  if (name == "bool") return Datatype::Bool();
  if (name == "complex64") return Datatype::Complex(8);
  if (name == "complex128") return Datatype::Complex(16);
  if (name == "string") return Datatype::String();
  // Bytes of no charset, shown as what they stand for in Latin-1.
  if (name == "bytes" || name == "variable_length_bytes") {
    return Datatype::String(model::Charset::kLatin1);
  }
  if (name == "float128") return std::nullopt;  // the model's, not Zarr's
  if (name.starts_with(kComplexPrefix)) {
    const auto part = Datatype::FromKeyword(name.substr(kComplexPrefix.size()));
    return IsFloat(part) ? std::optional(ComplexOf(*part)) : std::nullopt;
  }
  return Datatype::FromKeyword(name);
}

// The `length_bytes` of fixed_length_utf32, null_terminated_bytes, raw_bytes.
model::Result<uint64_t> ParseLength(const Json& configuration) {
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {"length_bytes"}));
  NDLFS_TRY(const Json* length, RequireMember(configuration, "length_bytes"));
  NDLFS_TRY(const uint64_t bytes, JsonToSize(*length), "length_bytes");
  return CheckElementSize(bytes);
}

model::Result<Datatype> ParseUtf32(const Json& configuration) {
  NDLFS_TRY(const uint64_t length, ParseLength(configuration));
  if (length % 4 != 0) {
    return model::BadInput("length_bytes: {} is no multiple of 4", length);
  }
  return Datatype::FixedString(length, model::Charset::kUtf32);
}

model::Result<Datatype> ParseTime(const Json& configuration, bool is_delta) {
  static constexpr std::array kUnits = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                        "ms", "us", "ns", "ps", "fs", "as", "generic"};
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {"unit", "scale_factor"}));
  NDLFS_TRY(const Json* unit_json, RequireMember(configuration, "unit"));
  NDLFS_TRY(const Json* scale_json, RequireMember(configuration, "scale_factor"));
  NDLFS_TRY(const uint64_t scale, JsonToSize(*scale_json), "scale_factor");
  if (scale == 0 || scale > std::numeric_limits<int32_t>::max()) {
    return model::BadInput("scale_factor: expected an integer from 1 to 2^31 - 1, found {}",
                           scale);
  }
  std::string unit = unit_json->is_string() ? unit_json->get<std::string>() : "";
  if (unit == "\u03bcs" || unit == "\u00b5s") unit = "us";  // Greek mu, micro sign
  if (std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) {
    return model::BadInput("unit: expected a unit of time, found {}", DescribeJson(*unit_json));
  }
  return Datatype::Time({unit, static_cast<int64_t>(scale), is_delta});
}

// {"name": "x", "data_type": ...}, or the older ["x", ...].
model::Result<Datatype::Member> ParseField(const Json& field) {
  const Json* name = nullptr;
  const Json* type = nullptr;
  if (field.is_array() && field.size() == 2) {
    name = &field[0];
    type = &field[1];
  } else if (field.is_object()) {
    NDLFS_TRY(name, RequireMember(field, "name"));
    NDLFS_TRY(type, RequireMember(field, "data_type"));
    if (field.size() != 2) {
      return model::BadInput("expected the members name and data_type, found {} members",
                             field.size());
    }
  } else {
    return model::BadInput("expected an object with name and data_type, found {}",
                           DescribeJson(field));
  }
  if (!name->is_string() || name->get_ref<const std::string&>().empty()) {
    return model::BadInput("name: expected a name, found {}", DescribeJson(*name));
  }
  Datatype::Member member{name->get<std::string>(), {}, 0};
  // How many bits of its own such a member has, the specification of structs
  // does not say.
  const auto extension = ParseExtension(*type);
  if (extension && FindNarrowInteger(extension->name)) {
    return model::Unsupported("{}: {} is not supported as a member of a struct", member.name,
                              extension->name);
  }
  NDLFS_TRY(member.type, ParseDataType(*type), member.name);
  if (!member.type.is_fixed_size()) {
    return model::BadInput("{}: a field of variable length in a struct", member.name);
  }
  return member;
}

model::Result<Datatype> ParseStruct(const Json& configuration) {
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {"fields"}));
  NDLFS_TRY(const Json* fields, RequireMember(configuration, "fields"));
  if (!fields->is_array() || fields->empty()) {
    return model::BadInput("fields: expected a list of fields, found {}",
                           DescribeJson(*fields));
  }
  std::vector<Datatype::Member> members;
  std::set<std::string> names;
  uint64_t size = 0;
  for (size_t i = 0; i < fields->size(); ++i) {
    NDLFS_TRY(Datatype::Member member, ParseField((*fields)[i]), fmt::format("fields[{}]", i));
    if (!names.insert(member.name).second) {
      return model::BadInput("fields: {} occurs twice", model::Quote(member.name));
    }
    NDLFS_TRY(size, CheckElementSize(size + member.type.size()));
    members.push_back(std::move(member));
  }
  return Datatype::PackedCompound(std::move(members));
}

model::Result<Datatype> ParseNamed(const Extension& extension) {
  const std::string_view name = extension.name;
  const Json& configuration = *extension.configuration;
  if (name == "fixed_length_utf32") return ParseUtf32(configuration);
  if (name == "null_terminated_bytes") {
    NDLFS_TRY(const uint64_t length, ParseLength(configuration));
    return Datatype::FixedString(length, model::Charset::kAscii);
  }
  if (name == "raw_bytes") {
    NDLFS_TRY(const uint64_t length, ParseLength(configuration));
    return Datatype::Opaque(length);
  }
  if (name == "numpy.datetime64") return ParseTime(configuration, false);
  if (name == "numpy.timedelta64") return ParseTime(configuration, true);
  if (name == "struct" || name == "structured") return ParseStruct(configuration);

  const std::optional<Datatype> simple = FindSimpleType(name);
  if (!simple && !(name.size() > 1 && name.front() == 'r')) return UnknownType(name);
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {}));
  if (simple) return *simple;
  return ParseRawBits(name);
}

}  // namespace

model::Result<model::Datatype> ParseDataType(const Json& data_type) {
  NDLFS_TRY(const Extension extension, ParseRequiredExtension(data_type));
  NDLFS_TRY(Datatype type, ParseNamed(extension));
  if (type.depth() > Datatype::kMaxDepth) {
    return model::Limit("a data type nested more than {} levels deep", Datatype::kMaxDepth);
  }
  return type;
}

model::Result<ElementType> ParseElementType(const Json& data_type) {
  const auto extension = ParseExtension(data_type);
  if (const auto* narrow = extension ? FindNarrowInteger(extension->name) : nullptr) {
    NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(*extension->configuration, {}), narrow->name);
    return ElementType{Datatype::Integer(1, narrow->is_signed), narrow->bits};
  }
  NDLFS_TRY(Datatype type, ParseDataType(data_type));
  return ElementType{std::move(type)};
}

}  // namespace ndlfs::backends::zarr
