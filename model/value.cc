// SPDX-License-Identifier: MIT
#include "model/value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/float_format.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// The most values in one element; a Value takes about 50 bytes of memory.
constexpr uint64_t kMaxElementParts = 1'000'000;
constexpr uint32_t kReplacementCharacter = 0xFFFD;

uint64_t LoadUnsigned(Bytes bytes, ByteOrder order) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t at = order == ByteOrder::kBig ? i : bytes.size() - 1 - i;
    bits = bits << 8 | std::to_integer<uint64_t>(bytes[at]);
  }
  return bits;
}

void StoreUnsigned(uint64_t bits, ByteOrder order, MutableBytes out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t at = order == ByteOrder::kBig ? out.size() - 1 - i : i;
    out[at] = static_cast<std::byte>(bits >> (8 * i));
  }
}

bool IsStandardWidth(size_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// --- Integers and enums

Result<WideInt> DecodeInteger(const Datatype& type, Bytes bytes) {
  if (!IsStandardWidth(bytes.size())) {
    return Unsupported("an integer of {} bytes", bytes.size());
  }
  const uint64_t bits = LoadUnsigned(bytes, type.order());
  if (!type.is_signed()) return WideInt{bits};
  const int unused = 64 - 8 * static_cast<int>(bytes.size());
  return WideInt{static_cast<int64_t>(bits << unused) >> unused};
}

Result<void> EncodeInteger(const Datatype& type, WideInt value, MutableBytes out) {
  if (!IsStandardWidth(out.size())) return Unsupported("an integer of {} bytes", out.size());
  const int bits = 8 * static_cast<int>(out.size()) - (type.is_signed() ? 1 : 0);
  const WideInt end = WideInt{1} << bits;
  const WideInt begin = type.is_signed() ? -end : 0;
  if (value < begin || value >= end) {
    return BadInput("{} does not fit {} ({} to {})", FormatInteger(value), type.keyword(),
                    FormatInteger(begin), FormatInteger(end - 1));
  }
  StoreUnsigned(static_cast<uint64_t>(value), type.order(), out);
  return {};
}

Result<Value> DecodeEnum(const Datatype& type, Bytes bytes) {
  NDLFS_TRY(const WideInt number, DecodeInteger(type.base(), bytes));
  const Datatype::Constant* constant = type.FindConstant(number);
  return constant ? Value(constant->name) : Value(number);
}

Result<void> EncodeEnum(const Datatype& type, const Value& value, MutableBytes out) {
  if (value.integer()) return EncodeInteger(type.base(), *value.integer(), out);
  if (!value.text()) return BadInput("expected the name of an enum constant");
  const Datatype::Constant* constant = type.FindConstant(*value.text());
  if (!constant) return BadInput("{} is not a constant of the enum", Quote(*value.text()));
  return EncodeInteger(type.base(), constant->value, out);
}

// --- Floats

Value DecodeFloat(const Datatype& type, Bytes bytes) {
  const std::string keyword = type.keyword();
  const FloatFormat* format = FindFloatFormat(keyword);
  if (format && bytes.size() <= 2) {
    return format->Decode(static_cast<uint32_t>(LoadUnsigned(bytes, type.order())));
  }
  if (keyword == "float32" && bytes.size() == 4) {
    const auto bits = static_cast<uint32_t>(LoadUnsigned(bytes, type.order()));
    return double{std::bit_cast<float>(bits)};
  }
  if (keyword == "float64" && bytes.size() == 8) {
    return std::bit_cast<double>(LoadUnsigned(bytes, type.order()));
  }
  return Blob(bytes.begin(), bytes.end());
}

Result<void> EncodeBlob(const Datatype& type, const Value& value, MutableBytes out) {
  if (!value.blob()) return BadInput("expected {} bytes of binary", out.size());
  if (value.blob()->size() != out.size()) {
    return BadInput("expected {} bytes of {}, found {}", out.size(), type.keyword(),
                    value.blob()->size());
  }
  std::copy(value.blob()->begin(), value.blob()->end(), out.begin());
  return {};
}

Result<void> EncodeFloat(const Datatype& type, const Value& value, MutableBytes out) {
  const std::string keyword = type.keyword();
  const FloatFormat* format = FindFloatFormat(keyword);
  if (!format && keyword != "float32" && keyword != "float64") {
    return EncodeBlob(type, value, out);
  }
  if (!value.real() && !value.integer()) return BadInput("expected a number");
  const double wanted = value.real() ? *value.real() : static_cast<double>(*value.integer());
  NDLFS_TRY(const double number, RoundToFloat(type, wanted));
  uint64_t bits = std::bit_cast<uint64_t>(number);
  if (format) bits = *format->Encode(number);
  if (keyword == "float32") bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  StoreUnsigned(bits, type.order(), out);
  return {};
}

// --- Text

// `bytes` without the padding at the end: NULs or spaces.
Bytes StripPadding(const Datatype& type, Bytes bytes) {
  const size_t width = type.charset() == Charset::kUtf32 ? 4 : 1;
  const uint64_t filler = type.padding() == TextPadding::kSpace ? ' ' : 0;
  bytes = bytes.first(bytes.size() / width * width);
  while (!bytes.empty() && LoadUnsigned(bytes.last(width), type.order()) == filler) {
    bytes = bytes.first(bytes.size() - width);
  }
  return bytes;
}

std::string DecodeUtf32(Bytes bytes, ByteOrder order) {
  std::string out;
  for (; !bytes.empty(); bytes = bytes.subspan(4)) {
    const auto code_point = static_cast<uint32_t>(LoadUnsigned(bytes.first(4), order));
    if (!AppendUtf8(out, code_point)) AppendUtf8(out, kReplacementCharacter);
  }
  return out;
}

std::string DecodeText(const Datatype& type, Bytes bytes) {
  bytes = StripPadding(type, bytes);
  if (type.charset() == Charset::kUtf32) return DecodeUtf32(bytes, type.order());
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (type.charset() == Charset::kLatin1 || !IsUtf8(text)) return Latin1ToUtf8(text);
  return text;
}

Result<std::string> EncodeUtf32(std::string_view text, ByteOrder order) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return BadInput("{} is not UTF-8", Quote(text));
    static constexpr uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code_point = static_cast<unsigned char>(text[0]) & kLeadBits[length];
    for (size_t i = 1; i < length; ++i) {
      code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
    }
    std::byte unit[4];
    StoreUnsigned(code_point, order, unit);
    out.append(reinterpret_cast<const char*>(unit), 4);
    text.remove_prefix(length);
  }
  return out;
}

// Converts `text` from UTF-8 to the charset of the type; adds no padding.
Result<std::string> ToCharset(const Datatype& type, const std::string& text) {
  switch (type.charset()) {
    case Charset::kUtf32:
      return EncodeUtf32(text, type.order());
    case Charset::kLatin1: {
      std::string out;
      if (!Utf8ToLatin1(text, out)) return BadInput("{} is not Latin-1", Quote(text));
      return out;
    }
    case Charset::kAscii:
      if (std::any_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; })) {
        return BadInput("{} is not ASCII", Quote(text));
      }
      return text;
    case Charset::kUtf8:
      break;
  }
  return text;
}

Result<void> EncodeText(const Datatype& type, const Value& value, MutableBytes out) {
  if (!value.text()) return BadInput("expected text");
  NDLFS_TRY(const std::string encoded, ToCharset(type, *value.text()));
  if (encoded.size() > out.size()) {
    return BadInput("{} takes {} bytes, but the text has room for {}", Quote(*value.text()),
                    encoded.size(), out.size());
  }
  if (!encoded.empty()) std::memcpy(out.data(), encoded.data(), encoded.size());
  MutableBytes rest = out.subspan(encoded.size());
  const size_t width = type.charset() == Charset::kUtf32 ? 4 : 1;
  const uint64_t filler = type.padding() == TextPadding::kSpace ? ' ' : 0;
  for (; rest.size() >= width; rest = rest.subspan(width)) {
    StoreUnsigned(filler, type.order(), rest.first(width));
  }
  std::fill(rest.begin(), rest.end(), std::byte{0});
  return {};
}

// --- Elements. `parts` is the number of values that may still be made.

Result<Value> Decode(const Datatype& type, Bytes bytes, uint64_t& parts);

Result<Value> DecodeCompound(const Datatype& type, Bytes bytes, uint64_t& parts) {
  Value::Map map;
  map.reserve(type.members().size());
  for (const Datatype::Member& member : type.members()) {
    if (member.offset > bytes.size() || member.type.size() > bytes.size() - member.offset) {
      return Corrupt("member {} lies outside of its element", Quote(member.name));
    }
    NDLFS_TRY(Value value,
              Decode(member.type, bytes.subspan(member.offset, member.type.size()), parts),
              member.name);
    map.emplace_back(member.name, std::move(value));
  }
  return Value(std::move(map));
}

// Decodes the elements of an array from dimension `dim` on, and removes their
// bytes from the front of `bytes`.
Result<Value> DecodeArray(const Datatype& type, size_t dim, Bytes& bytes, uint64_t& parts) {
  const Datatype& base = type.base();
  if (dim == type.shape().size()) {
    const Bytes element = bytes.first(base.size());
    bytes = bytes.subspan(base.size());
    return Decode(base, element, parts);
  }
  if (type.shape()[dim] > parts) {
    return Limit("an element of more than {} values", kMaxElementParts);
  }
  Value::List list;
  list.reserve(type.shape()[dim]);
  for (uint64_t i = 0; i < type.shape()[dim]; ++i) {
    if (parts == 0) return Limit("an element of more than {} values", kMaxElementParts);
    --parts;
    NDLFS_TRY(Value value, DecodeArray(type, dim + 1, bytes, parts));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Value> Decode(const Datatype& type, Bytes bytes, uint64_t& parts) {
  if (parts == 0) return Limit("an element of more than {} values", kMaxElementParts);
  --parts;
  switch (type.kind()) {
    case Datatype::Kind::kInteger: {
      NDLFS_TRY(const WideInt number, DecodeInteger(type, bytes));
      return Value(number);
    }
    case Datatype::Kind::kFloat:
      return DecodeFloat(type, bytes);
    case Datatype::Kind::kString:
      return Value(DecodeText(type, bytes));
    case Datatype::Kind::kOpaque:
      return Value(Blob(bytes.begin(), bytes.end()));
    case Datatype::Kind::kEnum:
      return DecodeEnum(type, bytes);
    case Datatype::Kind::kCompound:
      return DecodeCompound(type, bytes, parts);
    case Datatype::Kind::kArray:
      return DecodeArray(type, 0, bytes, parts);
    case Datatype::Kind::kObjectRef:
    case Datatype::Kind::kRegionRef:
    case Datatype::Kind::kVlen:
      break;
  }
  return Internal("{} has no fixed size", type.keyword());
}

Result<void> EncodeCompound(const Datatype& type, const Value& value, MutableBytes out) {
  if (!value.map()) return BadInput("expected a map of the members of a compound");
  const Value::Map& map = *value.map();
  const auto find = [&](const std::string& name) {
    return std::find_if(map.begin(), map.end(), [&](const auto& m) { return m.first == name; });
  };
  for (const Datatype::Member& member : type.members()) {
    const auto found = find(member.name);
    if (found == map.end()) return BadInput("member {} is missing", Quote(member.name));
    if (member.offset > out.size() || member.type.size() > out.size() - member.offset) {
      return Corrupt("member {} lies outside of its element", Quote(member.name));
    }
    NDLFS_RETURN_IF_ERROR(EncodeElement(member.type, found->second,
                                        out.subspan(member.offset, member.type.size())),
                          member.name);
  }
  for (const auto& [name, unused] : map) {
    const auto& members = type.members();
    if (std::none_of(members.begin(), members.end(),
                     [&name = name](const auto& member) { return member.name == name; })) {
      return BadInput("{} is not a member of the compound", Quote(name));
    }
  }
  if (map.size() != type.members().size()) return BadInput("a member occurs twice");
  return {};
}

// Encodes the elements of an array from dimension `dim` on into the front of
// `out`, and removes that front.
Result<void> EncodeArray(const Datatype& type, size_t dim, const Value& value,
                         MutableBytes& out) {
  if (dim == type.shape().size()) {
    const size_t size = type.base().size();
    NDLFS_RETURN_IF_ERROR(EncodeElement(type.base(), value, out.first(size)));
    out = out.subspan(size);
    return {};
  }
  if (!value.list()) return BadInput("expected a list of {} values", type.shape()[dim]);
  if (value.list()->size() != type.shape()[dim]) {
    return BadInput("expected a list of {} values, found {}", type.shape()[dim],
                    value.list()->size());
  }
  for (const Value& item : *value.list()) {
    NDLFS_RETURN_IF_ERROR(EncodeArray(type, dim + 1, item, out));
  }
  return {};
}

// --- Formatting

// Adds the ".0" without which digits read as an integer; YAML 1.1 needs it before
// an exponent, too.
std::string FinishFloat(std::string digits, bool yaml) {
  const size_t exponent = digits.find('e');
  if (digits.find('.') != std::string::npos) return digits;
  if (exponent == std::string::npos) return digits + ".0";
  if (yaml) digits.insert(exponent, ".0");
  return digits;
}

// The text of NaN or an infinity; empty for numbers.
std::string FormatSpecial(double value, bool yaml) {
  if (std::isnan(value)) return yaml ? ".nan" : "nan";
  if (!std::isinf(value)) return {};
  return std::string(value < 0 ? "-" : "") + (yaml ? ".inf" : "inf");
}

template <typename T>
std::string FormatShortest(T value, bool yaml) {
  std::string special = FormatSpecial(value, yaml);
  if (!special.empty()) return special;
  char digits[64];
  auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  std::string shortest = FinishFloat(std::string(digits, end), yaml);
  if (std::find(digits, end, 'e') != end) return shortest;
  // to_chars chose the shorter form without counting the ".0" added here.
  end =
      std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::scientific)
          .ptr;
  std::string scientific = FinishFloat(std::string(digits, end), yaml);
  return scientific.size() < shortest.size() ? scientific : shortest;
}

}  // namespace

// Defined here and not in the header, because the code that copies a variant of
// so many kinds is long.
Value::Value() = default;
Value::Value(Integer value) : data_(value.value) {}
Value::Value(double value) : data_(value) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(Blob value) : data_(std::move(value)) {}
Value::Value(List value) : data_(std::move(value)) {}
Value::Value(Map value) : data_(std::move(value)) {}
Value::Value(Region value) : data_(std::make_shared<const Region>(std::move(value))) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

bool operator==(const Value& a, const Value& b) {
  if (a.real() && b.real()) {
    return std::bit_cast<uint64_t>(*a.real()) == std::bit_cast<uint64_t>(*b.real()) ||
           (std::isnan(*a.real()) && std::isnan(*b.real()));
  }
  if (a.region() && b.region()) return *a.region() == *b.region();
  return a.data_ == b.data_;
}

Result<Value> DecodeElement(const Datatype& type, std::span<const std::byte> bytes) {
  if (!type.is_fixed_size()) return Internal("{} has no fixed size", type.keyword());
  if (bytes.size() != type.size()) {
    return Internal("an element of {} bytes in {}", type.size(), bytes.size());
  }
  uint64_t parts = kMaxElementParts;
  return Decode(type, bytes, parts);
}

Result<void> EncodeElement(const Datatype& type, const Value& value, std::span<std::byte> out) {
  if (!type.is_fixed_size()) return Internal("{} has no fixed size", type.keyword());
  if (out.size() != type.size()) {
    return Internal("an element of {} bytes in {}", type.size(), out.size());
  }
  switch (type.kind()) {
    case Datatype::Kind::kInteger:
      if (!value.integer()) return BadInput("expected an integer");
      return EncodeInteger(type, *value.integer(), out);
    case Datatype::Kind::kFloat:
      return EncodeFloat(type, value, out);
    case Datatype::Kind::kString:
      return EncodeText(type, value, out);
    case Datatype::Kind::kOpaque:
      return EncodeBlob(type, value, out);
    case Datatype::Kind::kEnum:
      return EncodeEnum(type, value, out);
    case Datatype::Kind::kCompound:
      std::fill(out.begin(), out.end(), std::byte{0});
      return EncodeCompound(type, value, out);
    case Datatype::Kind::kArray:
      return EncodeArray(type, 0, value, out);
    case Datatype::Kind::kObjectRef:
    case Datatype::Kind::kRegionRef:
    case Datatype::Kind::kVlen:
      break;
  }
  return Internal("{} has no fixed size", type.keyword());
}

Result<double> RoundToFloat(const Datatype& type, double value) {
  const std::string keyword = type.keyword();
  if (keyword == "float64") return value;
  const auto refuse = [&] {
    return BadInput("{} does not fit {}", FormatFloat(value, false), keyword);
  };
  if (keyword == "float32") {
    const auto rounded = static_cast<float>(value);
    if (std::isinf(rounded) && !std::isinf(value)) return refuse();
    return double{rounded};
  }
  const FloatFormat* format = FindFloatFormat(keyword);
  if (!format) return Unsupported("numbers of type {}", keyword);
  const std::optional<uint32_t> code = format->Encode(value);
  if (!code) return refuse();
  return format->Decode(*code);
}

std::string FormatFloat(double value, bool yaml) { return FormatShortest(value, yaml); }
std::string FormatFloat(float value, bool yaml) { return FormatShortest(value, yaml); }

std::string FormatFloat(const Datatype& type, double value, bool yaml) {
  const std::string keyword = type.keyword();
  if (keyword == "float32") return FormatFloat(static_cast<float>(value), yaml);
  if (!FindFloatFormat(keyword) || !std::isfinite(value)) return FormatFloat(value, yaml);
  for (int precision = 1; precision <= std::numeric_limits<float>::max_digits10; ++precision) {
    char digits[64];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value,
                                   std::chars_format::scientific, precision - 1)
                         .ptr;
    double candidate = 0;
    std::from_chars(digits, end, candidate);
    const Result<double> back = RoundToFloat(type, candidate);
    if (back && Value(*back) == Value(value)) return FormatFloat(candidate, yaml);
  }
  return FormatFloat(value, yaml);
}

std::string FormatInteger(WideInt value) {
  std::string digits;
  const bool negative = value < 0;
  // Works on negative numbers, because the smallest has no positive counterpart.
  if (!negative) value = -value;
  do {
    digits += static_cast<char>('0' - static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace ndlfs::model
