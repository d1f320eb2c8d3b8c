// SPDX-License-Identifier: MIT
#include "fs/view/base/text_layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "model/utf8.h"
#include "model/value.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using model::Charset;
using model::Datatype;
using Kind = Datatype::Kind;

constexpr size_t kMaxLine = size_t{64} << 10;
// Larger ones are mostly padding, which reading a line should not have to hold.
constexpr size_t kMaxElement = size_t{1} << 20;

// The longest shortest texts: "-1.17549435e-38", "-2.2250738585072014e-308".
// Other floats have less range and precision than float32.
constexpr size_t kFloat32Width = 15;
constexpr size_t kFloat64Width = 24;
// No number of any kind is longer than this.
constexpr size_t kMaxNumber = 64;

// Digits, and the sign, of the longest number: "-128", "255", ...
size_t IntegerWidth(const Datatype& type) {
  switch (type.size()) {
    case 1:
      return type.is_signed() ? 4 : 3;
    case 2:
      return type.is_signed() ? 6 : 5;
    case 4:
      return type.is_signed() ? 11 : 10;
    default:
      return 20;
  }
}

// Shows characters that would break a line, or a terminal, as question marks: the control
// characters of ASCII, and those of Latin-1, which are two bytes in UTF-8. `text` is UTF-8, or
// one byte. Writes no more bytes than it has.
void CopyPrintable(std::string_view text, char* cell) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (is_c1) ++i;
    *cell++ = is_c1 || byte < 0x20 || byte == 0x7f ? '?' : static_cast<char>(byte);
  }
}

template <typename Number>
Number Load(ConstByteSpan bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

template <typename Signed>
char* WriteInteger(ConstByteSpan bytes, bool is_signed, char* out) {
  if (is_signed) return std::to_chars(out, out + kMaxNumber, Load<Signed>(bytes)).ptr;
  using Unsigned = std::make_unsigned_t<Signed>;
  return std::to_chars(out, out + kMaxNumber, Load<Unsigned>(bytes)).ptr;
}

char* WriteInteger(const Datatype& type, ConstByteSpan bytes, char* out) {
  switch (type.size()) {
    case 1:
      return WriteInteger<int8_t>(bytes, type.is_signed(), out);
    case 2:
      return WriteInteger<int16_t>(bytes, type.is_signed(), out);
    case 4:
      return WriteInteger<int32_t>(bytes, type.is_signed(), out);
    default:
      return WriteInteger<int64_t>(bytes, type.is_signed(), out);
  }
}

char* WriteText(std::string_view text, char* out) {
  return std::copy(text.begin(), text.end(), out);
}

// Puts ".0" behind the digits of a number that has no point: Fortran would
// read "12" as 0.12 under a format of F8.2.
char* AddPoint(char* begin, char* end) {
  char* const exponent = std::find(begin, end, 'e');
  if (std::find(begin, exponent, '.') != exponent) return end;
  std::memmove(exponent + 2, exponent, static_cast<size_t>(end - exponent));
  exponent[0] = '.';
  exponent[1] = '0';
  return end + 2;
}

// The shortest text that reads back to the same number, with a point.
template <typename Float>
char* WriteFloat(Float value, char* out) {
  if (std::isnan(value)) return WriteText("nan", out);
  if (std::isinf(value)) return WriteText(value < 0 ? "-inf" : "inf", out);
  char* const limit = out + kMaxNumber - 2;
  char* const end = AddPoint(out, std::to_chars(out, limit, value).ptr);
  if (end - out <= std::numeric_limits<Float>::max_digits10) return end;
  // A long whole number may have become longer than this by its point.
  char other[kMaxNumber];
  char* const other_end = AddPoint(
      other,
      std::to_chars(other, other + kMaxNumber - 2, value, std::chars_format::scientific).ptr);
  return other_end - other < end - out ? std::copy(other, other_end, out) : end;
}

// float16, bfloat16, float8: shortest in their own precision.
char* WriteOtherFloat(const Datatype& type, ConstByteSpan bytes, char* out) {
  const auto value = model::DecodeElement(type, bytes);
  const double* number = value ? value->real() : nullptr;
  if (!number) return WriteText("?", out);
  if (!std::isfinite(*number)) return WriteFloat(*number, out);
  return AddPoint(out, WriteText(model::FormatFloat(type, *number, /*yaml=*/false), out));
}

// The text without its padding: trailing NULs, or blanks.
std::string_view WithoutPadding(const Datatype& type, std::string_view text) {
  const char filler = type.padding() == model::TextPadding::kSpace ? ' ' : '\0';
  const size_t last = text.find_last_not_of(filler);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Bytes that are no UTF-8 are question marks, as a cell has no room to show
// each as a letter. Such arrays are Latin-1 where that is known (TextRule).
void CopyUtf8(std::string_view text, char* cell) {
  while (!text.empty()) {
    const size_t length = model::Utf8SequenceLength(text);
    if (length == 0) *cell = '?';
    CopyPrintable(text.substr(0, length), cell);
    const size_t step = std::max<size_t>(1, length);
    text.remove_prefix(step);
    cell += step;
  }
}

// Text of ASCII and UTF-8 as its bytes are; of other charsets as UTF-8.
void FormatText(const Datatype& type, ConstByteSpan bytes, char* cell) {
  if (type.charset() == Charset::kAscii || type.charset() == Charset::kUtf8) {
    const std::string_view text = WithoutPadding(type, backends::AsText(bytes));
    return model::IsUtf8(text) ? CopyPrintable(text, cell) : CopyUtf8(text, cell);
  }
  const auto value = model::DecodeElement(type, bytes);
  if (value && value->text()) CopyPrintable(*value->text(), cell);
}

size_t TextWidth(const Datatype& type) {
  return type.charset() == Charset::kLatin1 ? 2 * type.size() : type.size();
}

}  // namespace

std::optional<TextLayout> TextLayout::Make(const Datatype& type) {
  TextLayout layout;
  if (!type.is_fixed_size() || type.size() > kMaxElement || !layout.Add(type, 0)) {
    return std::nullopt;
  }
  return layout;
}

bool TextLayout::Add(const Datatype& type, size_t offset) {
  if (type.kind() == Kind::kCompound) {
    return !type.members().empty() &&
           std::all_of(type.members().begin(), type.members().end(), [&](const auto& member) {
             return Add(member.type, offset + member.offset);
           });
  }
  if (type.kind() == Kind::kArray) {
    const uint64_t count = type.array_length();
    if (count == 0 || count > kMaxLine) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!Add(type.base(), offset + i * type.base().size())) return false;
    }
    return true;
  }
  auto column = MakeColumn(type);
  if (!column || column->width > kMaxLine - line_size_) return false;
  column->offset = offset;
  line_size_ += column->width + 1;  // and a blank, or the newline
  columns_.push_back(*std::move(column));
  return line_size_ <= kMaxLine;
}

std::optional<TextLayout::Column> TextLayout::MakeColumn(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kInteger:
      return Column{Column::Kind::kInteger, IntegerWidth(type), 0, type};
    case Kind::kFloat:
      if (type.keyword() == "float64") {
        return Column{Column::Kind::kFloat64, kFloat64Width, 0, type};
      }
      if (type.size() > sizeof(float)) return std::nullopt;
      return Column{
          type.keyword() == "float32" ? Column::Kind::kFloat32 : Column::Kind::kOtherFloat,
          kFloat32Width, 0, type};
    case Kind::kEnum:
      if (type.base().kind() != Kind::kInteger) return std::nullopt;
      // Numbers: most programs that read columns read nothing else.
      return MakeColumn(type.base());
    case Kind::kString:
      return Column{Column::Kind::kText, TextWidth(type), 0, type};
    default:
      return std::nullopt;
  }
}

void TextLayout::Format(ConstByteSpan element, char* line) const {
  for (const Column& column : columns_) {
    std::memset(line, ' ', column.width + 1);
    FormatCell(column, element.subspan(column.offset, column.type.size()), line);
    line += column.width + 1;
  }
  line[-1] = '\n';
}

void TextLayout::FormatCell(const Column& column, ConstByteSpan bytes, char* cell) {
  char number[kMaxNumber];
  char* end = nullptr;
  switch (column.kind) {
    case Column::Kind::kText:
      return FormatText(column.type, bytes, cell);
    case Column::Kind::kInteger:
      end = WriteInteger(column.type, bytes, number);
      break;
    case Column::Kind::kFloat32:
      end = WriteFloat(Load<float>(bytes), number);
      break;
    case Column::Kind::kFloat64:
      end = WriteFloat(Load<double>(bytes), number);
      break;
    case Column::Kind::kOtherFloat:
      end = WriteOtherFloat(column.type, bytes, number);
      break;
  }
  const size_t length = std::min(static_cast<size_t>(end - number), column.width);
  std::memcpy(cell + column.width - length, number, length);
}

}  // namespace ndlfs::fs
