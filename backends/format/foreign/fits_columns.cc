// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/format/foreign/header_text.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::ByteOrder;
using model::Corrupt;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr int64_t kMostColumns = 999;
constexpr uint64_t kMostRowBytes = uint64_t{1} << 20;
constexpr uint64_t kMostFieldWidth = 65'536;

// One item of a column with this letter, as stored.
std::optional<Datatype> ItemType(char letter) {
  constexpr auto kBig = ByteOrder::kBig;
  switch (letter) {
    case 'L':
      return Datatype::FixedString(1, model::Charset::kAscii);
    case 'B':
      return Datatype::Integer(1, false);
    case 'I':
      return Datatype::Integer(2, true, kBig);
    case 'J':
      return Datatype::Integer(4, true, kBig);
    case 'K':
      return Datatype::Integer(8, true, kBig);
    case 'E':
      return Datatype::Float32(kBig);
    case 'D':
      return Datatype::Float64(kBig);
    case 'C':
      return Datatype::Complex(8, kBig);
    case 'M':
      return Datatype::Complex(16, kBig);
    default:
      return std::nullopt;
  }
}

// "(3,4)" of TDIM, the fastest first, if there are as many of `count` items. Others behind them
// are undefined.
std::vector<uint64_t> ShapeOf(std::string text, uint64_t count) {
  std::ranges::replace(text, '(', ' ');
  std::ranges::replace(text, ')', ' ');
  std::ranges::replace(text, ',', ' ');
  auto shape = ParseCounts(text);
  const auto product = shape && !shape->empty() ? CheckedProduct(*shape) : std::nullopt;
  if (!product || *product == 0 || *product > count) return {count};
  std::ranges::reverse(*shape);
  return *shape;
}

bool IsInteger(char letter) {
  return std::string_view("BIJK").find(letter) != std::string_view::npos;
}

// TSCAL, TZERO and TNULL of column `number` of a binary table. Integers of up to 32 bits with a
// TNULL become float64, which has all of them; of larger ones a note tells.
Result<void> ReadScale(const FitsHeader& header, int64_t number, FitsColumn& column) {
  const std::string scale_name = fmt::format("TSCAL{}", number);
  const std::string zero_name = fmt::format("TZERO{}", number);
  const auto real = [&](const std::string& name, double otherwise) {
    return header.Number(name).empty() ? otherwise : header.Real(name).value_or(otherwise);
  };
  FitsScale scale{real(scale_name, 1), real(zero_name, 0)};
  if (IsInteger(column.letter)) scale.null = header.Integer(fmt::format("TNULL{}", number));
  const double half = column.item_size == 1
                          ? -128.0
                          : std::exp2(8.0 * static_cast<double>(column.item_size) - 1);
  const bool is_scaled = scale.scale != 1 || scale.zero != 0;
  if (!is_scaled && !scale.null) return {};
  if (!IsInteger(column.letter) && column.letter != 'E' && column.letter != 'D') {
    // For text, bits and truth values these keywords have no meaning.
    if (column.letter != 'C' && column.letter != 'M') return {};
    return Unsupported("{}, {}: complex numbers that are scaled", scale_name, zero_name);
  }
  const bool is_moved = IsInteger(column.letter) && scale.scale == 1 && scale.zero == half;
  const bool is_exact = column.item_size <= 4;
  column.moves_zero = is_moved && (!scale.null || !is_exact);
  if (column.moves_zero || (!is_scaled && !is_exact)) {
    if (scale.null) {
      column.notes.push_back(
          fmt::format("TNULL{}: {} as stored is no value", number, *scale.null));
    }
    return {};
  }
  column.scale = scale;
  return {};
}

// The type of one item after decoding.
Datatype DecodedItem(const FitsColumn& column, const Datatype& stored) {
  if (column.scale) return Datatype::Float64();
  if (!column.moves_zero) return stored.WithOrder(ByteOrder::kLittle);
  return Datatype::Integer(column.item_size, column.item_size == 1);
}

// A column whose items are in the heap: "1PJ(20)".
Result<void> DescribeVariable(const FitsHeader& header, int64_t number, char letter,
                              FitsColumn& column) {
  const auto size = static_cast<size_t>(letter == 'P' ? 4 : 8);
  column.descriptor = size;
  column.width = 2 * size;
  column.stored = Datatype::Array(Datatype::Integer(size, true, ByteOrder::kBig), {2});
  const size_t at = column.form.find(letter) + 1;
  column.letter = at < column.form.size() ? column.form[at] : ' ';
  column.item_size = 1;
  if (column.letter == 'A') {
    column.type = Datatype::String(model::Charset::kAscii);
    return {};
  }
  if (column.letter == 'X') {
    column.type = Datatype::Vlen(Datatype::Integer(1, false));
    return {};
  }
  const auto item = ItemType(column.letter);
  if (!item) return BadInput("TFORM{}: {}", number, model::Quote(column.form));
  column.item_size = item->size();
  NDLFS_RETURN_IF_ERROR(ReadScale(header, number, column));
  column.type = Datatype::Vlen(DecodedItem(column, *item));
  return {};
}

// nullopt for a column of no bytes.
Result<std::optional<FitsColumn>> BinaryColumn(const FitsHeader& header, int64_t number) {
  FitsColumn column;
  column.name = header.Text(fmt::format("TTYPE{}", number));
  column.form = Trim(header.Text(fmt::format("TFORM{}", number)));
  const std::string& form = column.form;
  const size_t digits = std::min(form.find_first_not_of("0123456789"), form.size());
  const auto repeat = digits == 0 ? 1 : ParseCount(std::string_view(form).substr(0, digits));
  const char letter = digits < form.size() ? form[digits] : ' ';
  const bool is_variable = letter == 'P' || letter == 'Q';
  if (!repeat || *repeat > kMostRowBytes || (is_variable && *repeat > 1)) {
    return BadInput("TFORM{}: {}", number, model::Quote(form));
  }
  if (*repeat == 0) return std::nullopt;
  if (is_variable) {
    NDLFS_RETURN_IF_ERROR(DescribeVariable(header, number, letter, column));
    return column;
  }
  column.letter = letter;
  column.item_size = 1;
  if (letter == 'A' || letter == 'X') {
    column.width = letter == 'A' ? *repeat : (*repeat + 7) / 8;
    auto shape = ShapeOf(header.Text(fmt::format("TDIM{}", number)), *repeat);
    column.count = letter == 'A' ? CheckedProduct(shape).value_or(0) : column.width;
    const Datatype text = Datatype::FixedString(shape.back(), model::Charset::kAscii);
    shape.pop_back();  // TDIM begins with the length of a text
    column.stored = letter == 'X'   ? Datatype::Opaque(column.count)
                    : shape.empty() ? text
                                    : Datatype::Array(text, shape);
    column.type = column.stored;
    return column;
  }
  const auto item = ItemType(letter);
  if (!item) return BadInput("TFORM{}: {}", number, model::Quote(form));
  column.item_size = item->size();
  column.width = *repeat * item->size();
  NDLFS_RETURN_IF_ERROR(ReadScale(header, number, column));
  const Datatype decoded = DecodedItem(column, *item);
  const auto shape = ShapeOf(header.Text(fmt::format("TDIM{}", number)), *repeat);
  column.count = CheckedProduct(shape).value_or(0);
  column.stored = *repeat > 1 ? Datatype::Array(*item, shape) : *item;
  column.type = *repeat > 1 ? Datatype::Array(decoded, shape) : decoded;
  return column;
}

// "A10", "I6", "F8.3", "E15.7", "D25.17".
Result<std::optional<FitsColumn>> TextColumn(const FitsHeader& header, int64_t number) {
  FitsColumn column;
  column.is_text = true;
  column.name = header.Text(fmt::format("TTYPE{}", number));
  column.form = header.Text(fmt::format("TFORM{}", number));
  std::string_view form = Trim(column.form);
  column.letter = form.empty() ? ' ' : form.front();
  if (!form.empty()) form.remove_prefix(1);
  const size_t point = std::min(form.find('.'), form.size());
  const auto width = ParseCount(form.substr(0, point));
  const auto decimals = point < form.size() ? ParseCount(form.substr(point + 1)) : 0;
  const bool is_known = std::string_view("AIFED").find(column.letter) != std::string_view::npos;
  if (!is_known || !width || *width == 0 || *width > kMostFieldWidth || !decimals ||
      *decimals > 300) {
    return BadInput("TFORM{}: {}", number, model::Quote(column.form));
  }
  const auto begin = header.Integer(fmt::format("TBCOL{}", number));
  if (!begin || *begin < 1) return BadInput("TBCOL{}: expected a place in a row", number);
  column.offset = static_cast<size_t>(*begin) - 1;
  column.width = *width;
  column.item_size = *width;
  column.decimals = static_cast<int>(*decimals);
  const std::string null = fmt::format("TNULL{}", number);
  if (header.Has(null)) column.undefined = Trim(header.Text(null));
  if (column.letter == 'A') {
    column.type =
        Datatype::FixedString(*width, model::Charset::kAscii, model::TextPadding::kSpace);
    return column;
  }
  FitsScale scale{header.Real(fmt::format("TSCAL{}", number)).value_or(1),
                  header.Real(fmt::format("TZERO{}", number)).value_or(0)};
  const bool is_scaled = scale.scale != 1 || scale.zero != 0;
  if (is_scaled || column.letter != 'I' || column.undefined) column.scale = scale;
  constexpr uint64_t kDigitsOf32 = 9;
  column.type = column.scale ? Datatype::Float64()
                             : Datatype::Integer(*width <= kDigitsOf32 ? 4 : 8, true);
  return column;
}

Result<FitsTableForm> SizesOf(const FitsHeader& header, int64_t& columns) {
  const auto width = header.Integer("NAXIS1");
  const auto rows = header.Integer("NAXIS2");
  const auto count = header.Integer("TFIELDS");
  if (!width || !rows || !count || *width < 0 || *rows < 0 || *count < 0) {
    return BadInput("NAXIS1, NAXIS2 and TFIELDS describe no table");
  }
  if (*count > kMostColumns || *width > static_cast<int64_t>(kMostRowBytes)) {
    return model::Limit("a table of {} columns in {} bytes", *count, *width);
  }
  columns = *count;
  return FitsTableForm{static_cast<size_t>(*width), static_cast<uint64_t>(*rows), {}};
}

// The number that big-endian bytes are, by the letter of the column.
double NumberOf(char letter, const std::byte* bytes, size_t size) {
  const uint64_t raw = LoadNumber({bytes, size});
  if (letter == 'E') return std::bit_cast<float>(static_cast<uint32_t>(raw));
  if (letter == 'D') return std::bit_cast<double>(raw);
  if (size == 1) return static_cast<double>(raw);
  const unsigned shift = 64 - 8 * static_cast<unsigned>(size);
  return static_cast<double>(static_cast<int64_t>(raw << shift) >> shift);
}

Result<void> DecodeText(const FitsColumn& column, std::string_view text, std::byte* out) {
  if (column.letter == 'A') {
    std::memcpy(out, text.data(), text.size());
    return {};
  }
  text = Trim(text);
  if (column.undefined && text == *column.undefined) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::memcpy(out, &nan, sizeof(nan));
    return {};
  }
  if (text.empty()) text = "0";
  if (!column.scale) {
    const auto number = ParseInteger(text);
    const bool fits =
        number && (column.type.size() == 8 || *number == static_cast<int32_t>(*number));
    if (!fits) return Corrupt("{} is no integer", model::Quote(text));
    std::memcpy(out, &*number, column.type.size());
    return {};
  }
  auto number = ParseReal(text);
  if (!number) return Corrupt("{} is no number", model::Quote(text));
  if (column.letter != 'I' && text.find('.') == std::string_view::npos) {
    *number /= std::pow(10.0, column.decimals);
  }
  const double value = column.scale->zero + column.scale->scale * *number;
  std::memcpy(out, &value, sizeof(value));
  return {};
}

}  // namespace

Result<FitsTableForm> ReadTableForm(const FitsHeader& header, bool is_ascii) {
  int64_t count = 0;
  NDLFS_TRY(FitsTableForm table, SizesOf(header, count));
  size_t offset = 0;
  for (int64_t i = 1; i <= count; ++i) {
    NDLFS_TRY(auto column, is_ascii ? TextColumn(header, i) : BinaryColumn(header, i));
    if (!column) continue;
    column->number = i;
    if (!is_ascii) column->offset = offset;
    offset = column->offset + column->width;
    if (offset > table.width || column->offset > table.width) {
      return BadInput("the columns take more than the {} bytes of a row", table.width);
    }
    table.columns.push_back(*std::move(column));
  }
  return table;
}

size_t DecodedItemSize(const FitsColumn& column) {
  if (column.is_text) return column.type.size();
  return column.scale ? sizeof(double) : column.item_size;
}

Result<void> DecodeItems(const FitsColumn& column, const std::byte* items, uint64_t count,
                         std::byte* out) {
  if (column.is_text) {
    const std::string_view text(reinterpret_cast<const char*>(items), column.width);
    return DecodeText(column, text, out);
  }
  const size_t size = column.item_size;
  if (column.scale) {
    const FitsScale& scale = *column.scale;
    for (uint64_t i = 0; i < count; ++i, items += size, out += sizeof(double)) {
      const double stored = NumberOf(column.letter, items, size);
      const bool is_null = scale.null && stored == static_cast<double>(*scale.null);
      const double value = is_null ? std::numeric_limits<double>::quiet_NaN()
                                   : scale.zero + scale.scale * stored;
      std::memcpy(out, &value, sizeof(value));
    }
    return {};
  }
  // A complex number is two.
  const size_t part = column.letter == 'C' || column.letter == 'M' ? size / 2 : size;
  for (uint64_t i = 0; i < count * (size / part); ++i, items += part, out += part) {
    std::reverse_copy(items, items + part, out);
    if (column.moves_zero) out[part - 1] ^= std::byte{0x80};
  }
  return {};
}

}  // namespace ndlfs::backends::foreign
