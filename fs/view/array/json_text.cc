// SPDX-License-Identifier: MIT
#include "fs/view/array/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/base/json.h"
#include "model/base64.h"
#include "model/utf8.h"
#include "model/value.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using backends::TakeBytes;
using backends::TakeCount;
using backends::TakeText;
using model::Corrupt;
using model::Datatype;
using model::Result;
using Kind = Datatype::Kind;

// The most items without bytes: they cost the store nothing, but reading them could take
// forever.
constexpr uint64_t kMaxEmptyItems = 1'000'000;

std::string JsonNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return model::FormatFloat(number, /*yaml=*/false);
}

// A value that is neither list nor map.
std::string JsonScalar(const model::Value& value) {
  if (value.integer()) return model::FormatInteger(*value.integer());
  if (value.real()) return JsonNumber(*value.real());
  if (value.text()) return JsonString(*value.text());
  if (value.blob()) return '"' + model::EncodeBase64(*value.blob()) + '"';
  return "null";
}

template <typename Number>
void AppendInteger(ConstByteSpan bytes, TextWindow& window) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  char digits[std::numeric_limits<uint64_t>::digits10 + 2];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  window.Append({digits, static_cast<size_t>(end - digits)});
}

// Most elements are numbers, and there may be a billion of them.
bool AppendPlainInteger(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  if (type.kind() != Kind::kInteger || type.order() != model::ByteOrder::kLittle) return false;
  switch (bytes.size()) {
    case 1:
      type.is_signed() ? AppendInteger<int8_t>(bytes, window)
                       : AppendInteger<uint8_t>(bytes, window);
      return true;
    case 2:
      type.is_signed() ? AppendInteger<int16_t>(bytes, window)
                       : AppendInteger<uint16_t>(bytes, window);
      return true;
    case 4:
      type.is_signed() ? AppendInteger<int32_t>(bytes, window)
                       : AppendInteger<uint32_t>(bytes, window);
      return true;
    case 8:
      type.is_signed() ? AppendInteger<int64_t>(bytes, window)
                       : AppendInteger<uint64_t>(bytes, window);
      return true;
    default:
      return false;
  }
}

// The same for floats, but those that JsonNumber() has more to do with.
bool AppendPlainFloat(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  if (type.kind() != Kind::kFloat || type.order() != model::ByteOrder::kLittle) return false;
  double number = 0;
  if (bytes.size() == sizeof(double) && type.keyword() == "float64") {
    std::memcpy(&number, bytes.data(), sizeof(number));
  } else if (bytes.size() == sizeof(float) && type.keyword() == "float32") {
    float narrow = 0;
    std::memcpy(&narrow, bytes.data(), sizeof(narrow));
    number = narrow;
  } else {
    return false;
  }
  char digits[32];
  char* const end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const bool is_plain = std::isfinite(number) &&
                        std::any_of(digits, end, [](char c) { return c == '.' || c == 'e'; });
  if (is_plain) window.Append({digits, static_cast<size_t>(end - digits)});
  return is_plain;
}

Result<void> AppendScalar(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  if (AppendPlainInteger(type, bytes, window)) return {};
  if (AppendPlainFloat(type, bytes, window)) return {};
  NDLFS_TRY(const model::Value value, model::DecodeElement(type, bytes));
  if (type.is_bool() && value.text()) {
    window.Append(*value.text() == "TRUE" ? "true" : "false");
  } else {
    window.Append(JsonScalar(value));
  }
  return {};
}

Result<void> AppendFixed(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size()));
  return AppendScalar(type, bytes, window);
}

Result<void> AppendRegion(ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const std::string_view text, TakeText(stream));
  if (text.empty()) {
    window.Append("null");
    return {};
  }
  NDLFS_TRY(const backends::Json json, backends::ParseJson(text));
  window.Append(json.dump());
  return {};
}

Result<void> AppendItems(const Datatype& base, uint64_t count, ConstByteSpan& stream,
                         TextWindow& window) {
  window.Append("[");
  for (uint64_t i = 0; i < count && !window.full(); ++i) {
    if (i > 0) window.Append(",");
    NDLFS_RETURN_IF_ERROR(AppendJson(base, stream, window));
  }
  window.Append("]");
  return {};
}

Result<void> CheckArray(const Datatype& type) {
  const Datatype& base = type.base();
  if (base.is_fixed_size() && base.size() == 0 && type.array_length() > kMaxEmptyItems) {
    return Corrupt("an array of more than {} empty items", kMaxEmptyItems);
  }
  return {};
}

// The items in C order, in one list.
Result<void> AppendArray(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  NDLFS_RETURN_IF_ERROR(CheckArray(type));
  return AppendItems(type.base(), type.array_length(), stream, window);
}

Result<void> AppendFixedArray(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  NDLFS_RETURN_IF_ERROR(CheckArray(type));
  const size_t size = type.base().size();
  window.Append("[");
  for (uint64_t i = 0; i < type.array_length() && !window.full(); ++i) {
    if (i > 0) window.Append(",");
    NDLFS_RETURN_IF_ERROR(AppendFixedJson(type.base(), bytes.subspan(i * size, size), window));
  }
  window.Append("]");
  return {};
}

Result<void> AppendFixedCompound(const Datatype& type, ConstByteSpan bytes,
                                 TextWindow& window) {
  window.Append("[");
  bool is_first = true;
  for (const Datatype::Member& member : type.members()) {
    if (window.full()) break;
    if (!is_first) window.Append(",");
    is_first = false;
    NDLFS_RETURN_IF_ERROR(
        AppendFixedJson(member.type, bytes.subspan(member.offset, member.type.size()), window),
        member.name);
  }
  window.Append("]");
  return {};
}

Result<void> AppendCompound(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  window.Append("[");
  for (size_t i = 0; i < type.members().size() && !window.full(); ++i) {
    const Datatype::Member& member = type.members()[i];
    if (i > 0) window.Append(",");
    NDLFS_RETURN_IF_ERROR(AppendJson(member.type, stream, window), member.name);
  }
  window.Append("]");
  return {};
}

Result<void> AppendVlen(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const uint32_t count, TakeVlenCount(type, stream));
  return AppendItems(type.base(), count, stream, window);
}

Result<void> AppendPath(ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const std::string_view path, TakeText(stream));
  window.Append(path.empty() ? "null" : JsonString(path));
  return {};
}

// Text of variable size.
Result<void> AppendText(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const std::string_view text, TakeText(stream));
  window.Append(JsonString(backends::TextAsUtf8(type, text)));
  return {};
}

}  // namespace

Result<void> AppendJson(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  switch (type.kind()) {
    case Kind::kVlen:
      return AppendVlen(type, stream, window);
    case Kind::kArray:
      return AppendArray(type, stream, window);
    case Kind::kCompound:
      return AppendCompound(type, stream, window);
    case Kind::kObjectRef:
      return AppendPath(stream, window);
    case Kind::kRegionRef:
      return AppendRegion(stream, window);
    case Kind::kString:
      if (!type.is_fixed_size()) return AppendText(type, stream, window);
      return AppendFixed(type, stream, window);
    default:
      return AppendFixed(type, stream, window);
  }
}

Result<void> AppendFixedJson(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  switch (type.kind()) {
    case Kind::kCompound:
      return AppendFixedCompound(type, bytes, window);
    case Kind::kArray:
      return AppendFixedArray(type, bytes, window);
    default:
      return AppendScalar(type, bytes, window);
  }
}

Result<void> AppendJsonElement(ConstByteSpan& stream, TextWindow& window) {
  NDLFS_TRY(const std::string_view text, TakeText(stream));
  if (backends::ParseJson(text)) {
    window.Append(text);
  } else {
    window.Append(JsonString(text));
  }
  return {};
}

Result<uint32_t> TakeVlenCount(const Datatype& vlen, ConstByteSpan& stream) {
  NDLFS_TRY(const uint32_t count, TakeCount(stream));
  const Datatype& base = vlen.base();
  const bool empty_items = base.is_fixed_size() && base.size() == 0;
  if (count > (empty_items ? kMaxEmptyItems : stream.size())) {
    return Corrupt("{} items in {} bytes", count, stream.size());
  }
  return count;
}

std::string JsonString(std::string_view text) {
  const std::string latin1 = model::IsUtf8(text) ? std::string() : model::Latin1ToUtf8(text);
  std::string out = "\"";
  for (const char c : latin1.empty() ? text : latin1) {
    if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace ndlfs::fs
