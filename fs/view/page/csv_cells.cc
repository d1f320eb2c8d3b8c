// SPDX-License-Identifier: MIT
#include "fs/view/page/csv_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/element_stream.h"
#include "backends/format/packing.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/text_layout.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/converted_elements.h"
#include "model/attributes.h"
#include "model/cf_time.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using backends::Packing;
using model::Datatype;
using model::Result;
using Kind = Datatype::Kind;

// As data.txt has it, without the blanks. Items of an array are separated by one blank.
class LayoutCell final : public CsvCell {
 public:
  LayoutCell(TextLayout layout, bool hides_nan)
      : layout_(std::move(layout)), hides_nan_(hides_nan) {}

  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    std::string line(layout_.line_size(), ' ');
    layout_.Format(element, line.data());
    line.pop_back();  // the newline
    bool is_first = true;
    for (size_t at = line.find_first_not_of(' '); at != std::string::npos;
         at = line.find_first_not_of(' ', at)) {
      const size_t end = std::min(line.find(' ', at), line.size());
      const std::string_view word = std::string_view(line).substr(at, end - at);
      if (!std::exchange(is_first, false)) out += ' ';
      if (!hides_nan_ || word != "nan") out += word;
      at = end;
    }
    return {};
  }

 private:
  const TextLayout layout_;
  const bool hides_nan_;
};

class FixedTextCell final : public CsvCell {
 public:
  explicit FixedTextCell(Datatype type) : type_(std::move(type)) {}
  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    NDLFS_TRY(const model::Value value, model::DecodeElement(type_, element));
    if (value.text() != nullptr) out += *value.text();
    return {};
  }

 private:
  const Datatype type_;
};

class VariableTextCell final : public CsvCell {
 public:
  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    NDLFS_TRY(const std::string_view text, backends::TakeText(element));
    out += text;
    return {};
  }
};

// Integers by their names; those without a name as numbers.
template <typename T>
class NamedCell final : public CsvCell {
 public:
  NamedCell(std::map<model::WideInt, std::string> names, const Packing& packing)
      : names_(std::move(names)), is_missing_(packing) {}
  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    T number;
    std::memcpy(&number, element.data(), sizeof number);
    if (is_missing_(number)) return {};
    const auto name = names_.find(static_cast<model::WideInt>(number));
    if (name != names_.end()) {
      out += name->second;
    } else {
      fmt::format_to(std::back_inserter(out), "{}", number);
    }
    return {};
  }

 private:
  const std::map<model::WideInt, std::string> names_;
  const backends::MissingTest<T> is_missing_;
};

// "2000-01-01T06:00:00", with as many digits of a fraction as it needs.
std::string TimeWithoutZeros(model::Calendar calendar, model::Nanoseconds time) {
  std::string text = FormatTime(calendar, time, 9);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

template <typename T>
class TimeCell final : public CsvCell {
 public:
  TimeCell(const model::TimeScale& scale, const Packing& packing)
      : read_(scale, packing), calendar_(scale.calendar) {}
  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    const auto time = read_(element.data());
    if (time) out += TimeWithoutZeros(calendar_, *time);
    return {};
  }

 private:
  const backends::TimeReader<T> read_;
  const model::Calendar calendar_;
};

// Dates in units that another cell does not know.
class ConvertedCell final : public CsvCell {
 public:
  ConvertedCell(ElementConversion conversion, CsvCellPtr cell)
      : conversion_(std::move(conversion)), cell_(std::move(cell)) {}
  Result<void> Append(ConstByteSpan element, std::string& out) const override {
    std::vector<std::byte> converted(conversion_.converter->to_size());
    NDLFS_RETURN_IF_ERROR(conversion_.converter->Convert(element, converted));
    return cell_->Append(converted, out);
  }

 private:
  const ElementConversion conversion_;
  const CsvCellPtr cell_;
};

CsvCellPtr MakeNamedCell(Number number, const std::map<model::WideInt, std::string>& names,
                         const Packing& packing) {
  return WithType(number, [&](auto t) -> CsvCellPtr {
    if constexpr (std::is_floating_point_v<decltype(t)>) {
      return nullptr;
    } else {
      return std::make_shared<const NamedCell<decltype(t)>>(names, packing);
    }
  });
}

Packing MissingNaT() {
  Packing packing;
  packing.missing.emplace_back(std::numeric_limits<int64_t>::min());
  return packing;
}

// Makes the cells of datetime64 and timedelta64.
CsvCellPtr MakeDateCell(const Datatype& type) {
  if (ElementConversion conversion = ToCfTimes(type); conversion.converter) {
    CsvCellPtr cell = MakeDateCell(conversion.type);
    return std::make_shared<const ConvertedCell>(std::move(conversion), std::move(cell));
  }
  const auto scale = model::TimeScaleOf(type);
  if (scale) return std::make_shared<const TimeCell<int64_t>>(*scale, MissingNaT());
  return MakeNamedCell(Number::kInt64, {}, MissingNaT());
}

CsvCellPtr MakeEnumCell(const Datatype& type, const Packing& packing) {
  const auto number = NumberOfType(type.base());
  std::map<model::WideInt, std::string> names;
  for (const Datatype::Constant& constant : type.constants()) {
    names.emplace(constant.value, constant.name);
  }
  return number ? MakeNamedCell(*number, names, packing) : nullptr;
}

// The values of an array of numbers or of an enum; nullopt where they are written as any
// element of their type.
std::optional<CsvColumn> MakeColumnOfValues(const ArrayInput& array) {
  const auto packing = backends::ReadPacking(*array.node);
  if (!packing) return std::nullopt;
  if (array.dtype.kind() == Kind::kEnum) {
    CsvCellPtr cell = MakeEnumCell(array.dtype, *packing);
    return cell ? std::optional<CsvColumn>({array.elements, array.dtype, std::move(cell)})
                : std::nullopt;
  }
  if (array.dtype.time()) return std::nullopt;
  const Datatype read = TypeAsRead(*packing, array.dtype);
  const auto number = NumberOfType(read);
  if (!number) return std::nullopt;
  const auto& attributes = array.node->attributes();
  const auto scale = model::ParseTimeUnits(model::TextOf(attributes, "units"),
                                           model::TextOf(attributes, "calendar"));
  CsvCellPtr cell;
  if (scale) {
    cell = WithType(*number, [&](auto t) -> CsvCellPtr {
      return std::make_shared<const TimeCell<decltype(t)>>(*scale, *packing);
    });
  } else if (read.kind() == Kind::kInteger && !packing->scale && !packing->offset &&
             model::FindAttribute(attributes, "band_scale") == nullptr) {
    cell = MakeNamedCell(*number, FlagNames(attributes), *packing);
  }
  if (!cell) return std::nullopt;
  return CsvColumn{array.elements, array.dtype, std::move(cell)};
}

}  // namespace

CsvCellPtr MakeCsvCell(const Datatype& type, CsvForm form) {
  const bool are_values = form == CsvForm::kValues;
  switch (type.kind()) {
    case Kind::kString:
      if (!type.is_fixed_size()) return std::make_shared<const VariableTextCell>();
      return std::make_shared<const FixedTextCell>(type);
    case Kind::kCompound:
      return nullptr;
    case Kind::kEnum:
      if (are_values) return MakeEnumCell(type, {});
      break;
    case Kind::kInteger:
      if (are_values && type.time()) return MakeDateCell(type);
      break;
    default:
      break;
  }
  auto layout = TextLayout::Make(type);
  if (!layout) return nullptr;
  return std::make_shared<const LayoutCell>(*std::move(layout), are_values);
}

std::optional<CsvColumn> MakeCsvColumn(const ArrayInput& array, CsvForm form) {
  const Kind kind = array.dtype.kind();
  const bool is_number = kind == Kind::kInteger || kind == Kind::kFloat;
  const bool are_values = form == CsvForm::kValues && array.elements;
  if (are_values && (is_number || kind == Kind::kEnum)) {
    if (auto column = MakeColumnOfValues(array)) return column;
  }
  if (are_values && is_number) {
    if (const auto values = MakeUnpacked(array, UnpackedForm::kNumbers)) {
      CsvCellPtr cell = MakeCsvCell(values->dtype, form);
      if (cell) return CsvColumn{values->elements, values->dtype, std::move(cell)};
    }
  }
  const bool is_there = array.elements || (kind == Kind::kString && array.reader);
  CsvCellPtr cell = is_there ? MakeCsvCell(array.dtype, form) : nullptr;
  if (!cell) return std::nullopt;
  return CsvColumn{array.elements, array.dtype, std::move(cell)};
}

}  // namespace ndlfs::fs
