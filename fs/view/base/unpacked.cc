// SPDX-License-Identifier: MIT
#include "fs/view/base/unpacked.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/time_numbers.h"
#include "fs/view/elements/converted_elements.h"
#include "model/attributes.h"
#include "model/cf_time.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using model::Datatype;
using model::Result;
using Attributes = std::vector<model::Attribute>;

using backends::AsStored;
using backends::Packing;
using backends::TimeReader;
using model::Calendar;
using model::Date;
using model::Nanoseconds;
using model::TimeScale;
using Converter = backends::ElementConverter;

// Elements that are read with another type.
class SameBytes final : public Converter {
 public:
  explicit SameBytes(size_t size) : Converter(size, size) {}
  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    std::memcpy(to.data(), from.data(), to.size());
    return {};
  }
};

// An array in which a converter has made other elements; without one they stay as they are.
std::optional<ArrayInput> Converted(const ArrayInput& input, ElementConversion conversion,
                                    const std::vector<std::string_view>& heeded) {
  ArrayInput values = input;
  const Datatype type = conversion.type;
  if (conversion.converter) {
    values.elements = ConvertElements(input.elements, std::move(conversion));
  }
  if (!values.elements) return std::nullopt;
  auto node = std::make_shared<backends::Node>(*input.node);
  std::visit(
      [&](auto& entity) {
        std::erase_if(entity.attributes, [&](const model::Attribute& attribute) {
          return std::ranges::find(heeded, attribute.name) != heeded.end();
        });
        if constexpr (!std::is_same_v<std::decay_t<decltype(entity)>, model::Group>) {
          entity.type = type;
          if (values.elements == input.elements) return;
          entity.value.reset();
          entity.storage.fillvalue.reset();
        }
      },
      node->entity);
  node->fill_is_missing = false;
  values.node = std::move(node);
  values.dtype = type;
  values.reader = nullptr;
  ArrayPart part = PartOf(input);
  part.is_converted = true;
  values.part = std::make_shared<const ArrayPart>(std::move(part));
  return values;
}

bool IsSingle(const Attributes& attributes, const Packing& packing, Number number) {
  if (SizeOf(number) > 4 || (SizeOf(number) == 4 && !IsFloat(number))) return false;
  return (!packing.scale && !packing.offset) || backends::AreFactorsSingle(attributes);
}

// Numbers that stand for themselves.
std::optional<ArrayInput> AsTheyAre(const ArrayInput& input) {
  return Converted(input, {nullptr, input.dtype}, {});
}

std::optional<ArrayInput> UnpackNumbers(const ArrayInput& input, Number number,
                                        const Packing& packing) {
  const bool is_same = TypeAsRead(packing, input.dtype) == input.dtype;
  if (!packing.scale && !packing.offset && !packing.has_missing() && is_same) {
    return AsTheyAre(input);
  }
  Datatype type;
  std::shared_ptr<const Converter> converter;
  if (!packing.scale && !packing.offset && !packing.has_missing()) {
    type = TypeAsRead(packing, input.dtype).WithOrder(model::ByteOrder::kLittle);
    converter = std::make_shared<const SameBytes>(SizeOf(number));
  } else {
    const bool is_single = IsSingle(input.node->attributes(), packing, number);
    type = is_single ? Datatype::Float32() : Datatype::Float64();
    converter = backends::MakeUnpacker(packing, input.dtype, is_single);
  }
  if (!converter) return std::nullopt;
  return Converted(input, {std::move(converter), type}, backends::PackingAttributes());
}

std::optional<ArrayInput> UnpackBands(const ArrayInput& input, Packing packing,
                                      const BandFactors& factors) {
  ElementConversion conversion{nullptr, Datatype::Float64(), {}, factors.run};
  for (const Factors& of_band : factors.all) {
    packing.scale = of_band.scale;
    packing.offset = of_band.offset;
    conversion.in_turn.push_back(backends::MakeUnpacker(packing, input.dtype, false));
  }
  conversion.converter = conversion.in_turn.front();
  if (!conversion.converter) return std::nullopt;
  std::vector<std::string_view> heeded = backends::PackingAttributes();
  heeded.insert(heeded.end(), {"band_scale", "band_offset"});
  return Converted(input, std::move(conversion), heeded);
}

template <typename T>
class TimeText final : public Converter {
 public:
  TimeText(const TimeScale& scale, const Packing& packing, int digits, size_t width)
      : Converter(sizeof(T), width),
        read_(scale, packing),
        calendar_(scale.calendar),
        digits_(digits) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    std::ranges::fill(to, std::byte{0});
    for (size_t i = 0; i * sizeof(T) < from.size(); ++i) {
      const auto time = read_(from.data() + i * sizeof(T));
      const std::string text = time ? FormatTime(calendar_, *time, digits_) : "NaT";
      std::memcpy(to.data() + i * to_size(), text.data(), std::min(text.size(), to_size()));
    }
    return {};
  }

 private:
  const TimeReader<T> read_;
  const Calendar calendar_;
  const int digits_;
};

// Digits of the second's fraction that times can have.
int DigitsOf(const TimeScale& scale, bool is_real) {
  if (is_real) return 6;
  for (const auto& [digits, unit] :
       {std::pair(0, 1'000'000'000), std::pair(3, 1'000'000), std::pair(6, 1000)}) {
    if (scale.unit % unit == 0 && scale.origin % unit == 0) return digits;
  }
  return 9;
}

std::optional<ArrayInput> UnpackTimes(const ArrayInput& input, Number number,
                                      const Packing& packing, const TimeScale& scale,
                                      UnpackedForm form) {
  std::vector<std::string_view> heeded = backends::PackingAttributes();
  heeded.insert(heeded.end(), {"units", "calendar"});
  const int digits = DigitsOf(scale, IsFloat(number) || packing.scale || packing.offset);
  if (form == UnpackedForm::kText) {
    // "-1234567-01-01T00:00:00" is the longest without a fraction.
    const size_t width = 23 + (digits == 0 ? 0 : static_cast<size_t>(digits) + 1);
    auto converter = WithType(number, [&](auto t) -> std::shared_ptr<const Converter> {
      return std::make_shared<const TimeText<decltype(t)>>(scale, packing, digits, width);
    });
    if (!converter) return std::nullopt;
    return Converted(
        input, {std::move(converter), Datatype::FixedString(width, model::Charset::kAscii)},
        heeded);
  }
  if (scale.calendar != Calendar::kStandard &&
      scale.calendar != Calendar::kProlepticGregorian) {
    return std::nullopt;
  }
  const bool has_nanoseconds = digits == 9;
  auto converter = MakeTimeNumbers(number, scale, packing, has_nanoseconds ? 1 : 1000);
  if (!converter) return std::nullopt;
  return Converted(
      input, {std::move(converter), Datatype::Time({.unit = has_nanoseconds ? "ns" : "us"})},
      heeded);
}

// flag_values and flag_meanings: a name for each number.
template <typename T>
class FlagText final : public Converter {
 public:
  FlagText(std::map<model::WideInt, std::string> names, size_t width)
      : Converter(sizeof(T), width), names_(std::move(names)) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    std::ranges::fill(to, std::byte{0});
    for (size_t i = 0; i * sizeof(T) < from.size(); ++i) {
      T number;
      std::memcpy(&number, from.data() + i * sizeof(T), sizeof number);
      const auto name = names_.find(static_cast<model::WideInt>(number));
      const std::string text = name == names_.end() ? fmt::format("{}", number) : name->second;
      std::memcpy(to.data() + i * to_size(), text.data(), std::min(text.size(), to_size()));
    }
    return {};
  }

 private:
  const std::map<model::WideInt, std::string> names_;
};

std::optional<ArrayInput> NameFlags(const ArrayInput& input, Number number) {
  auto names = FlagNames(input.node->attributes());
  if (names.empty() || IsFloat(number) || IsComplex(number)) return std::nullopt;
  size_t width = 20;  // a number without a name
  for (const auto& [value, name] : names) width = std::max(width, name.size());
  if (width > 256) return std::nullopt;
  auto converter = WithType(number, [&](auto t) -> std::shared_ptr<const Converter> {
    if constexpr (std::is_floating_point_v<decltype(t)>) {
      return nullptr;
    } else {
      return std::make_shared<const FlagText<decltype(t)>>(names, width);
    }
  });
  if (!converter) return std::nullopt;
  return Converted(input,
                   {std::move(converter), Datatype::FixedString(width, model::Charset::kUtf8)},
                   {"flag_values", "flag_meanings"});
}

bool HasNumbers(const Datatype& type) {
  const Datatype* item = &type;
  while (item->kind() == Datatype::Kind::kArray) item = &item->base();
  return item->kind() == Datatype::Kind::kInteger || item->kind() == Datatype::Kind::kFloat ||
         item->is_complex();
}

bool IsPlain(const Packing& packing) {
  return !packing.scale && !packing.offset && !packing.has_missing() && !packing.is_unsigned &&
         !packing.is_signed;
}

// Dates of datetime64 as text.
std::optional<ArrayInput> TextOfDates(const ArrayInput& input) {
  ArrayInput dates = AsCfNumbers(input);
  const auto scale = model::TimeScaleOf(dates.dtype);
  if (!scale) return AsTheyAre(input);
  Packing packing;
  packing.missing.emplace_back(std::numeric_limits<int64_t>::min());  // NaT
  return UnpackTimes(dates, Number::kInt64, packing, *scale, UnpackedForm::kText);
}

// Bounds of times count as their coordinates do, which alone have units (CF 7.1).
ArrayInput WithUnitsOfTimes(const ArrayInput& input) {
  const bool may_be_bounds = input.shape.size() == 2 && input.shape[1] == 2;
  if (!may_be_bounds || !TextOf(input.node->attributes(), "units").empty()) return input;
  const auto coordinates = FindCoordinate(input, 0);
  if (!coordinates || !*coordinates) return input;
  const Attributes& attributes = (*coordinates)->node->attributes();
  const std::string& name = input.node->array().name;
  if (TextOf(attributes, "bounds") != name && TextOf(attributes, "climatology") != name) {
    return input;
  }
  auto node = std::make_shared<backends::Node>(*input.node);
  for (const std::string_view word : {"units", "calendar"}) {
    const auto* found = model::FindAttribute(attributes, word);
    if (found == nullptr) continue;
    std::visit([&](auto& entity) { entity.attributes.push_back(*found); }, node->entity);
  }
  ArrayInput bounds = input;
  bounds.node = std::move(node);
  return bounds;
}

}  // namespace

std::map<model::WideInt, std::string> FlagNames(
    const std::vector<model::Attribute>& attributes) {
  constexpr size_t kMostFlags = 4096;
  std::map<model::WideInt, std::string> names;
  std::vector<model::Value> values;
  if (FindAttribute(attributes, "flag_masks") != nullptr) return names;
  if (!backends::TakeNumbers(attributes, "flag_values", values)) return names;
  const std::vector<std::string> words = WordsOf(TextOf(attributes, "flag_meanings"));
  if (words.size() != values.size() || words.size() > kMostFlags) return names;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto* number = values[i].integer();
    const double* real = values[i].real();          // of a variable of floats
    constexpr double kMostReal = 9007199254740992;  // 2^53
    if (number != nullptr) names.emplace(*number, words[i]);
    if (real != nullptr && std::abs(*real) <= kMostReal && std::trunc(*real) == *real) {
      names.emplace(static_cast<int64_t>(*real), words[i]);
    }
  }
  return names;
}

ArrayInput AsCfNumbers(ArrayInput input) {
  if (!input.elements) return input;
  ElementConversion conversion = ToCfTimes(input.dtype);
  if (conversion.converter) {
    auto elements = ConvertElements(input.elements, conversion);
    if (elements) {
      input.dtype = conversion.type;
      input.elements = std::move(elements);
    }
    return input;
  }
  input.dtype = backends::TypeAsRead(*input.node, input.dtype);
  return input;
}

std::optional<BandFactors> BandFactorsOf(const ArrayInput& input) {
  const Attributes& attributes = input.node->attributes();
  std::vector<model::Value> scales, offsets;
  const ArrayPart part = PartOf(input);
  const auto band = BandDimension(part.whole.node->array());
  if (!band || *band >= part.selection.size() ||
      !backends::TakeNumbers(attributes, "band_scale", scales) ||
      !backends::TakeNumbers(attributes, "band_offset", offsets) || scales.empty() ||
      scales.size() != part.selection[*band].count || offsets.size() != scales.size()) {
    return std::nullopt;
  }
  BandFactors factors{.band = *band};
  for (size_t i = 0; i < scales.size(); ++i) {
    factors.all.push_back({*model::AsDouble(scales[i]), *model::AsDouble(offsets[i])});
  }
  for (size_t d = input.shape.size(); d > 0 && DimensionOfWhole(part, d - 1) != band; --d) {
    factors.run *= input.shape[d - 1];
  }
  return factors.run == 0 ? std::nullopt : std::optional(factors);
}

std::vector<Factors> FactorsOfBands(const ArrayInput& input, const Raster& raster) {
  constexpr uint64_t kMostBands = 65'536;
  const uint64_t page = raster.page_bytes() / SizeOf(raster.number);
  const auto found = BandFactorsOf(input);
  // Rows or columns may be what the array calls bands: no header has factors of these.
  const bool are_bands = found && page > 0 && raster.pages <= kMostBands / raster.samples &&
                         (found->run % page == 0 || (raster.samples > 1 && found->run == 1));
  std::vector<Factors> factors;
  for (uint64_t i = 0; are_bands && i < raster.pages * raster.samples; ++i) {
    const uint64_t element = i / raster.samples * page + i % raster.samples;
    factors.push_back(found->all[element / found->run % found->all.size()]);
  }
  if (!factors.empty()) return factors;
  const auto packing = backends::ReadPacking(*input.node).value_or(Packing());
  return {{packing.factor(), packing.shift()}};
}

bool HasFactorsAlong(const ArrayInput& input, size_t d) {
  const auto factors = BandFactorsOf(input);
  return factors && DimensionOfWhole(PartOf(input), d) == factors->band;
}

std::optional<ArrayInput> MakeUnpacked(const ArrayInput& given, UnpackedForm form) {
  if (!HasNumbers(given.dtype) || !given.elements) return std::nullopt;
  const ArrayInput input = WithUnitsOfTimes(given);
  if (input.dtype.kind() == Datatype::Kind::kInteger && input.dtype.time()) {
    return form == UnpackedForm::kText ? TextOfDates(input) : AsTheyAre(input);
  }
  const Attributes& attributes = input.node->attributes();
  const auto packing = backends::ReadPacking(*input.node);
  if (!packing) return std::nullopt;
  const auto bands = BandFactorsOf(input);
  const bool is_plain = IsPlain(*packing) && !bands;
  if (ElementConversion wider = ToFloat32(input.dtype); wider.converter && !is_plain) {
    ArrayInput floats = input;
    floats.dtype = wider.type;
    floats.elements = ConvertElements(input.elements, std::move(wider));
    return MakeUnpacked(floats, form);
  }
  const auto number = NumberOfType(TypeAsRead(*packing, input.dtype));
  if (!number) return is_plain ? AsTheyAre(input) : std::nullopt;
  const auto scale =
      model::ParseTimeUnits(TextOf(attributes, "units"), TextOf(attributes, "calendar"));
  if (scale) return UnpackTimes(input, *number, *packing, *scale, form);
  if (form == UnpackedForm::kText) {
    if (auto flags = NameFlags(input, *number)) return flags;
  }
  if (bands) return UnpackBands(input, *packing, *bands);
  return UnpackNumbers(input, *number, *packing);
}

}  // namespace ndlfs::fs
