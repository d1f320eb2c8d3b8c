// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/moved_zero.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::ByteOrder;
using model::Datatype;
using model::Result;

constexpr int64_t kMostColumns = 999;
constexpr uint64_t kMostRowBytes = uint64_t{1} << 20;

struct Column {
  Datatype type;     // as stored
  Datatype decoded;  // little-endian
  std::vector<size_t> highest_bytes;
};

// One value of a column with this letter.
std::optional<Datatype> TypeOf(char letter) {
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
    case 'P':
      return Datatype::Array(Datatype::Integer(4, true, kBig), {2});
    case 'Q':
      return Datatype::Array(Datatype::Integer(8, true, kBig), {2});
    default:
      return std::nullopt;
  }
}

// The same type with the other sign, if TZERO moves integers by half of their range.
std::optional<Datatype> Moved(const FitsHeader& header, int64_t column, const Datatype& one) {
  const std::string scale = fmt::format("TSCAL{}", column);
  if (one.kind() != Datatype::Kind::kInteger) return std::nullopt;
  if (header.Has(scale) && header.Real(scale) != 1.0) return std::nullopt;
  const std::string_view zero = header.Number(fmt::format("TZERO{}", column));
  if (zero.empty()) return std::nullopt;
  const double half = one.size() == 1 ? -128.0 : std::exp2(8.0 * one.size() - 1);
  if (ParseReal(zero) != half) return std::nullopt;
  return Datatype::Integer(one.size(), one.size() == 1, ByteOrder::kBig);
}

// "(3,4)" of TDIM, the fastest first, if it fits `count` values.
std::vector<uint64_t> ShapeOf(std::string text, uint64_t count) {
  std::ranges::replace(text, '(', ' ');
  std::ranges::replace(text, ')', ' ');
  std::ranges::replace(text, ',', ' ');
  auto shape = ParseCounts(text);
  if (!shape || shape->empty() || CheckedProduct(*shape) != count) return {count};
  std::ranges::reverse(*shape);
  return *shape;
}

// nullopt for a column of no bytes.
Result<std::optional<Column>> ColumnOf(const FitsHeader& header, int64_t number) {
  const std::string form = header.Text(fmt::format("TFORM{}", number));
  const size_t digits = std::min(form.find_first_not_of("0123456789"), form.size());
  const auto repeat = digits == 0 ? 1 : ParseCount(std::string_view(form).substr(0, digits));
  const char letter = digits < form.size() ? form[digits] : ' ';
  if (!repeat || *repeat > kMostRowBytes) {
    return BadInput("TFORM{}: {}", number, model::Quote(form));
  }
  if (*repeat == 0) return std::nullopt;
  Column column;
  if (letter == 'A' || letter == 'X') {
    column.type = letter == 'A' ? Datatype::FixedString(*repeat, model::Charset::kAscii)
                                : Datatype::Opaque((*repeat + 7) / 8);
    column.decoded = column.type;
    return column;
  }
  const auto one = TypeOf(letter);
  if (!one) return BadInput("TFORM{}: {}", number, model::Quote(form));
  const auto moved = Moved(header, number, *one);
  const Datatype decoded = moved ? *moved : *one;
  const bool is_descriptor = letter == 'P' || letter == 'Q';
  const bool is_array = *repeat > 1 && !is_descriptor;
  const auto shape = ShapeOf(header.Text(fmt::format("TDIM{}", number)), *repeat);
  column.type = is_array ? Datatype::Array(*one, shape) : *one;
  column.decoded =
      (is_array ? Datatype::Array(decoded, shape) : decoded).WithOrder(ByteOrder::kLittle);
  for (uint64_t i = 0; moved && i < *repeat; ++i) {
    column.highest_bytes.push_back((i + 1) * one->size() - 1);
  }
  return column;
}

std::string NameOf(const FitsHeader& header, int64_t number,
                   std::set<std::string, std::less<>>& names) {
  const std::string counted = fmt::format("column{}", number);
  std::string name =
      TextAttribute("", header.Text(fmt::format("TTYPE{}", number))).value.text()->c_str();
  if (name.empty() || !names.insert(name).second) {
    name = counted;
    names.insert(name);
  }
  return name;
}

struct TableSizes {
  size_t width = 0;  // bytes of a row
  uint64_t rows = 0;
  int64_t columns = 0;
};

Result<TableSizes> SizesOf(const FitsHeader& header) {
  const auto width = header.Integer("NAXIS1");
  const auto rows = header.Integer("NAXIS2");
  const auto count = header.Integer("TFIELDS");
  if (!width || !rows || !count || *width <= 0 || *rows < 0 || *count < 1) {
    return BadInput("NAXIS1, NAXIS2 and TFIELDS describe no table");
  }
  if (*count > kMostColumns || *width > static_cast<int64_t>(kMostRowBytes)) {
    return model::Limit("a table of {} columns in {} bytes", *count, *width);
  }
  return TableSizes{static_cast<size_t>(*width), static_cast<uint64_t>(*rows), *count};
}

// Columns up to `offset` have to lie in a row.
Result<void> CheckEnd(size_t offset, const TableSizes& sizes) {
  if (offset <= sizes.width) return {};
  return BadInput("the columns take more than the {} bytes of a row", sizes.width);
}

}  // namespace

Result<std::vector<TableColumn>> ColumnsOf(const FitsHeader& header) {
  NDLFS_TRY(const TableSizes sizes, SizesOf(header));
  std::vector<TableColumn> columns;
  size_t offset = 0;
  for (int64_t i = 1; i <= sizes.columns; ++i) {
    NDLFS_TRY(const auto column, ColumnOf(header, i));
    if (!column) continue;
    const std::string form = header.Text(fmt::format("TFORM{}", i));
    const size_t letter = form.find_first_of("PQ");
    const auto item = letter + 1 < form.size() ? TypeOf(form[letter + 1]) : std::nullopt;
    columns.push_back({header.Text(fmt::format("TTYPE{}", i)), form, offset,
                       column->type.size(), letter != form.npos && item ? item->size() : 0});
    offset += column->type.size();
    NDLFS_RETURN_IF_ERROR(CheckEnd(offset, sizes));
  }
  return columns;
}

Result<DescribedArray> DescribeTable(const FitsHeader& header, std::string name) {
  NDLFS_TRY(const TableSizes sizes, SizesOf(header));
  std::vector<Datatype::Member> stored;
  std::vector<Datatype::Member> decoded;
  std::vector<size_t> highest_bytes;
  std::set<std::string, std::less<>> names;
  size_t offset = 0;
  for (int64_t i = 1; i <= sizes.columns; ++i) {
    NDLFS_TRY(const auto column, ColumnOf(header, i));
    if (!column) continue;
    const std::string column_name = NameOf(header, i, names);
    stored.push_back({column_name, column->type, offset});
    decoded.push_back({column_name, column->decoded, offset});
    for (const size_t place : column->highest_bytes) highest_bytes.push_back(offset + place);
    offset += column->type.size();
    NDLFS_RETURN_IF_ERROR(CheckEnd(offset, sizes));
  }
  if (stored.empty()) return BadInput("a table without columns");
  DescribedArray table;
  table.name = std::move(name);
  table.axes = {{"row", sizes.rows}};
  table.stored = Datatype::Compound(std::move(stored), sizes.width);
  if (highest_bytes.empty()) return table;
  table.dtype = Datatype::Compound(std::move(decoded), sizes.width);
  NDLFS_TRY(table.codec, MakeMovedZero(table.stored, std::move(highest_bytes)));
  return table;
}

}  // namespace ndlfs::backends::foreign
