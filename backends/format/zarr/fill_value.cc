// SPDX-License-Identifier: MIT
#include "backends/format/zarr/fill_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/json_scan.h"
#include "backends/codec/byte_swap.h"
#include "model/base64.h"
#include "model/number_text.h"
#include "model/utf8.h"

namespace ndlfs::backends::zarr {
namespace {

constexpr uint64_t kMaxFillBytes = uint64_t{1} << 20;

using model::ByteOrder;
using model::Datatype;
using model::Value;
using model::WideInt;
using Kind = model::Datatype::Kind;

enum class Rules { kV2, kV3 };

// The rules for reading a fill value, and notes on deviations from them whose meaning is clear.
struct Reading {
  const Rules rules;
  std::vector<std::string> notes = {};

  void Note(std::string note) {
    constexpr size_t kMaxNotes = 10;  // of structs, whose members may all be so
    const bool is_known = std::find(notes.begin(), notes.end(), note) != notes.end();
    if (!is_known && notes.size() < kMaxNotes) notes.push_back(std::move(note));
  }
};

model::Failure Unfit(std::string_view expected, const Json& found) {
  return model::BadInput("expected {}, found {}", expected, DescribeJson(found));
}

// Turns one element of `stored` into little-endian.
model::Result<void> SwapToLittle(const Datatype& stored, ByteSpan element) {
  NDLFS_TRY(const auto runs, model::PlanByteSwap(stored, ByteOrder::kLittle));
  SwapElements(runs, element.size(), element, element);
  return {};
}

// Copies `bytes`, and clears the rest. In v2 what is too long is cut, as NumPy
// does with it.
model::Result<void> CopyPadded(std::span<const std::byte> bytes, Reading& reading,
                               ByteSpan out) {
  if (bytes.size() > out.size()) {
    if (reading.rules == Rules::kV3) {
      return model::BadInput("{} bytes for an element of {}", bytes.size(), out.size());
    }
    bytes = bytes.first(out.size());
  }
  std::fill(out.begin(), out.end(), std::byte{0});
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return {};
}

// A list of integers from 0 to 255.
model::Result<std::vector<std::byte>> ParseByteList(const Json& json) {
  std::vector<std::byte> bytes;
  for (const Json& item : json) {
    if (!item.is_number_integer() || item.get<int64_t>() < 0 || item.get<int64_t>() > 255) {
      return Unfit("an integer from 0 to 255", item);
    }
    bytes.push_back(static_cast<std::byte>(item.get<int64_t>()));
  }
  return bytes;
}

// Bytes as base64 or as a list of integers.
model::Result<std::vector<std::byte>> ParseBytes(const Json& json, Reading& reading) {
  if (json.is_array()) return ParseByteList(json);
  if (!json.is_string()) return Unfit("bytes in base64", json);
  const std::string& text = json.get_ref<const std::string&>();
  if (auto bytes = model::DecodeBase64(text)) return *std::move(bytes);
  if (reading.rules == Rules::kV3) return Unfit("bytes in base64", json);
  const ConstByteSpan as_written = AsBytes(text);  // before v2 had base64
  return std::vector(as_written.begin(), as_written.end());
}

// "0x7fc00000": the bits of a float, most significant digit first.
model::Result<void> EncodeFloatBits(const Json& json, const Datatype& type, ByteSpan out) {
  const std::string_view digits =
      std::string_view(json.get_ref<const std::string&>()).substr(2);
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (digits.size() != 2 * type.size() ||
      !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return Unfit(fmt::format("0x and {} hexadecimal digits", 2 * type.size()), json);
  }
  for (size_t i = 0; i < type.size(); ++i) {
    out[type.size() - 1 - i] =
        std::byte{*model::ParseNumber<uint8_t>(digits.substr(2 * i, 2), 16)};
  }
  return {};
}

// The number, or true or false, that `json` has in quotes, as n5-zarr and others
// write them; nullopt if it has something else. No number that a type holds
// needs more digits.
std::optional<Json> Unquote(const Json& json, Reading& reading) {
  constexpr size_t kMaxQuoted = 400;
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  if (text.empty() || text.size() > kMaxQuoted) return std::nullopt;
  if (std::string_view("-0123456789tf").find(text.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  const auto value = ParseJson(text);
  if (!value || !(JsonToReal(*value) || value->is_boolean())) return std::nullopt;
  reading.Note(
      fmt::format("fill_value: {} is read without its quotes; the specification has "
                  "no numbers in quotes",
                  model::Quote(text)));
  return *value;
}

std::optional<double> NamedFloat(std::string_view name) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (name == "Infinity") return kInfinity;
  if (name == "-Infinity") return -kInfinity;
  return std::nullopt;
}

model::Result<void> EncodeFloat(const Json& json, const Datatype& type, Reading& reading,
                                ByteSpan out) {
  if (const auto number = JsonToReal(json)) {
    return model::EncodeElement(type, Value(*number), out);
  }
  if (json.is_boolean() && reading.rules == Rules::kV2) {
    return model::EncodeElement(type, Value(json.get<bool>() ? 1.0 : 0.0), out);
  }
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    if (reading.rules == Rules::kV3 && text.starts_with("0x"))
      return EncodeFloatBits(json, type, out);
    if (const auto number = NamedFloat(text)) {
      return model::EncodeElement(type, Value(*number), out);
    }
  }
  const auto unquoted = Unquote(json, reading);
  if (unquoted && !unquoted->is_boolean()) return EncodeFloat(*unquoted, type, reading, out);
  return Unfit("a number, NaN, Infinity or -Infinity", json);
}

model::Result<WideInt> ParseInteger(const Json& json, Reading& reading) {
  if (json.is_number_unsigned()) return WideInt{json.get<uint64_t>()};
  if (json.is_number_integer()) return WideInt{json.get<int64_t>()};
  if (reading.rules == Rules::kV2) {
    if (json.is_boolean()) return WideInt{json.get<bool>()};
    if (json.is_number_float()) {
      const double number = json.get<double>();
      if (number == std::trunc(number) && std::abs(number) < 0x1p64) {
        return static_cast<WideInt>(number);
      }
    }
  }
  return Unfit("an integer", json);
}

model::Result<void> EncodeInteger(const Json& json, const Datatype& type, Reading& reading,
                                  ByteSpan out) {
  if (type.time() && json == "NaT") {
    return model::EncodeElement(type, Value(WideInt{std::numeric_limits<int64_t>::min()}), out);
  }
  const auto unquoted = Unquote(json, reading);
  const bool is_quoted = unquoted && !unquoted->is_boolean();
  NDLFS_TRY(const WideInt number, ParseInteger(is_quoted ? *unquoted : json, reading));
  return model::EncodeElement(type, Value(number), out);
}

// Some writers of v3 have no other bool than 0 and 1.
model::Result<bool> ParseBool(const Json& json, Reading& reading) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number() && reading.rules == Rules::kV2) return json.get<double>() != 0;
  if (json == 0 || json == 1) {
    reading.Note(
        fmt::format("fill_value: {} is read as {}; the specification has true and "
                    "false",
                    json.dump(), json == 1));
    return json == 1;
  }
  if (const auto unquoted = Unquote(json, reading)) return ParseBool(*unquoted, reading);
  return Unfit("true or false", json);
}

model::Result<void> EncodeBool(const Json& json, Reading& reading, ByteSpan out) {
  NDLFS_TRY(const bool value, ParseBool(json, reading));
  out[0] = std::byte{value};
  return {};
}

model::Result<void> Encode(const Json& json, const Datatype& stored, Reading& reading,
                           ByteSpan out);

// {"x": 1, "y": 2}: every member, and no others.
model::Result<void> EncodeMembersByName(const Json& json, const Datatype& stored,
                                        Reading& reading, ByteSpan out) {
  for (const Datatype::Member& member : stored.members()) {
    NDLFS_TRY(const Json* value, RequireMember(json, member.name.c_str()));
    NDLFS_RETURN_IF_ERROR(
        Encode(*value, member.type, reading, out.subspan(member.offset, member.type.size())),
        member.name);
  }
  if (json.size() != stored.members().size()) {
    return model::BadInput("{} members for a struct of {}", json.size(),
                           stored.members().size());
  }
  return {};
}

// [re, im], or the members of a struct in order.
model::Result<void> EncodeMembersInOrder(const Json& json, const Datatype& stored,
                                         Reading& reading, ByteSpan out) {
  if (json.size() != stored.members().size()) {
    return Unfit(fmt::format("a list of {}", stored.members().size()), json);
  }
  for (size_t i = 0; i < json.size(); ++i) {
    const Datatype::Member& member = stored.members()[i];
    NDLFS_RETURN_IF_ERROR(
        Encode(json[i], member.type, reading, out.subspan(member.offset, member.type.size())),
        fmt::format("[{}]", i));
  }
  return {};
}

// The bytes of a whole struct as they are stored.
model::Result<void> EncodePacked(const Json& json, const Datatype& stored, ByteSpan out) {
  const auto bytes = model::DecodeBase64(json.get_ref<const std::string&>());
  if (!bytes) return Unfit("bytes in base64", json);
  if (bytes->size() != out.size()) {
    return model::BadInput("{} bytes for an element of {}", bytes->size(), out.size());
  }
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return SwapToLittle(stored, out);
}

model::Result<void> EncodeCompound(const Json& json, const Datatype& stored, Reading& reading,
                                   ByteSpan out) {
  std::fill(out.begin(), out.end(), std::byte{0});  // padding between members
  if (const auto number = stored.is_complex() ? Unquote(json, reading) : std::nullopt) {
    return EncodeCompound(*number, stored, reading, out);
  }
  if (json.is_string()) return EncodePacked(json, stored, out);
  if (json.is_object()) return EncodeMembersByName(json, stored, reading, out);
  if (json.is_array()) return EncodeMembersInOrder(json, stored, reading, out);
  if (reading.rules == Rules::kV2 && json.is_number() && stored.is_complex()) {
    return Encode(json, stored.members()[0].type, reading,
                  out.first(stored.members()[0].type.size()));
  }
  return Unfit("an object with a value for each member", json);
}

model::Result<void> EncodeText(const Json& json, const Datatype& stored, Reading& reading,
                               ByteSpan out) {
  if (stored.charset() == model::Charset::kUtf32) {
    if (!json.is_string()) return Unfit("a string", json);
    return model::EncodeElement(stored.WithOrder(ByteOrder::kLittle),
                                Value(json.get<std::string>()), out);
  }
  NDLFS_TRY(const auto bytes, ParseBytes(json, reading));
  return CopyPadded(bytes, reading, out);
}

model::Result<void> EncodeOpaque(const Json& json, Reading& reading, ByteSpan out) {
  NDLFS_TRY(const auto bytes, ParseBytes(json, reading));
  if (reading.rules == Rules::kV3 && bytes.size() != out.size()) {
    return model::BadInput("{} bytes for an element of {}", bytes.size(), out.size());
  }
  return CopyPadded(bytes, reading, out);
}

// The same value for every item of a subarray, or a list of them.
model::Result<void> EncodeSubarray(const Json& json, const Datatype& stored, Reading& reading,
                                   ByteSpan out) {
  const Datatype& base = stored.base();
  const uint64_t length = stored.array_length();
  if (json.is_array() && json.size() != length) {
    return Unfit(fmt::format("a list of {}", length), json);
  }
  for (uint64_t i = 0; i < length; ++i) {
    NDLFS_RETURN_IF_ERROR(Encode(json.is_array() ? json[i] : json, base, reading,
                                 out.subspan(i * base.size(), base.size())));
  }
  return {};
}

bool IsZero(const Json& json) { return json.is_number() && json.get<double>() == 0; }

// Writes one element of fixed size, as little-endian, into `out`.
model::Result<void> Encode(const Json& json, const Datatype& stored, Reading& reading,
                           ByteSpan out) {
  if (reading.rules == Rules::kV2 && IsZero(json)) {  // zeros, whatever the type
    std::fill(out.begin(), out.end(), std::byte{0});
    if (stored.kind() != Kind::kFloat) return {};  // for the sign of -0.0
  }
  switch (stored.kind()) {
    case Kind::kInteger:
      return EncodeInteger(json, stored.WithOrder(ByteOrder::kLittle), reading, out);
    case Kind::kFloat:
      return EncodeFloat(json, stored.WithOrder(ByteOrder::kLittle), reading, out);
    case Kind::kEnum:
      return EncodeBool(json, reading, out);
    case Kind::kString:
      return EncodeText(json, stored, reading, out);
    case Kind::kOpaque:
      return EncodeOpaque(json, reading, out);
    case Kind::kCompound:
      return EncodeCompound(json, stored, reading, out);
    case Kind::kArray:
      return EncodeSubarray(json, stored, reading, out);
    default:
      return model::Unsupported("a fill value of type {}", stored.keyword());
  }
}

void AppendLength(std::vector<std::byte>& out, uint32_t length) {
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<std::byte>(length >> shift));
  }
}

}  // namespace

FillValue MakeTextFill(std::string_view text) {
  FillValue fill;
  const ConstByteSpan bytes = AsBytes(text);
  AppendLength(fill.element, static_cast<uint32_t>(bytes.size()));
  fill.element.insert(fill.element.end(), bytes.begin(), bytes.end());
  fill.value = std::string(text);
  return fill;
}

namespace {

// Text or bytes of any length, as an element of an element stream.
model::Result<FillValue> MakeVariableText(const Json& json, const Datatype& type,
                                          Reading& reading) {
  if (reading.rules == Rules::kV2 && IsZero(json)) return MakeTextFill("");
  if (type.charset() == model::Charset::kUtf8) {
    if (!json.is_string()) return Unfit("a string", json);
    return MakeTextFill(json.get_ref<const std::string&>());
  }
  NDLFS_TRY(const auto bytes, ParseBytes(json, reading));
  FillValue fill = MakeTextFill(AsText(bytes));
  fill.value = model::Latin1ToUtf8(AsText(bytes));
  return fill;
}

// A list of any length: only the empty one, in its several spellings.
model::Result<FillValue> MakeVariableList(const Json& json) {
  const bool empty = IsZero(json) || json == "" || (json.is_array() && json.empty());
  if (!empty) return Unfit("an empty list", json);
  FillValue fill;
  AppendLength(fill.element, 0);
  fill.value = Value::List();
  return fill;
}

model::Result<FillValue> ParseBy(const Json& json, const Datatype& stored, Reading& reading) {
  if (!stored.is_fixed_size()) {
    if (stored.kind() == Kind::kString) return MakeVariableText(json, stored, reading);
    if (stored.kind() == Kind::kVlen) return MakeVariableList(json);
    return model::Unsupported("a fill value of type {}", stored.keyword());
  }
  FillValue fill;
  fill.element.resize(stored.size());
  NDLFS_RETURN_IF_ERROR(Encode(json, stored, reading, fill.element));
  NDLFS_TRY(fill.value,
            model::DecodeElement(stored.WithOrder(ByteOrder::kLittle), fill.element));
  return fill;
}

model::Result<FillValue> Parse(const Json& json, const Datatype& stored, Rules rules) {
  Reading reading{rules};
  NDLFS_TRY(FillValue fill, ParseBy(json, stored, reading));
  fill.notes = std::move(reading.notes);
  return fill;
}

}  // namespace

bool IsFillable(const Datatype& type) {
  return !type.is_fixed_size() || type.size() <= kMaxFillBytes;
}

model::Result<void> CheckFillable(const Datatype& type) {
  if (IsFillable(type)) return {};
  return model::Limit("one for elements of {} bytes, more than {}", type.size(), kMaxFillBytes);
}

model::Result<FillValue> ParseFillValueV3(const Json& json, const model::Datatype& stored) {
  return Parse(json, stored, Rules::kV3);
}

model::Result<std::optional<FillValue>> ParseFillValueV2(const Json& json,
                                                         const model::Datatype& stored) {
  if (json.is_null()) return std::nullopt;
  NDLFS_TRY(FillValue fill, Parse(json, stored, Rules::kV2));
  return fill;
}

}  // namespace ndlfs::backends::zarr
