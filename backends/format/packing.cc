// SPDX-License-Identifier: MIT
#include "backends/format/packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "backends/codec/simd.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "model/number_text.h"

namespace ndlfs::backends {
namespace {

using model::FindAttribute;
using Attributes = std::vector<model::Attribute>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsNumber(const model::Value& value) {
  return value.integer() != nullptr || value.real() != nullptr;
}

}  // namespace

bool TakeNumbers(const Attributes& attributes, std::string_view name,
                 std::vector<model::Value>& numbers) {
  const auto* attribute = FindAttribute(attributes, name);
  if (attribute == nullptr) return true;
  if (IsNumber(attribute->value)) {
    numbers.push_back(attribute->value);
    return true;
  }
  // As zarr.json has floats that are no numbers of JSON.
  for (const auto& [word, number] : {std::pair("NaN", kNan), std::pair("Infinity", kInfinity),
                                     std::pair("-Infinity", -kInfinity)}) {
    if (attribute->value.text() == nullptr || *attribute->value.text() != word) continue;
    numbers.emplace_back(number);
    return true;
  }
  const auto* list = attribute->value.list();
  if (list == nullptr) return false;
  if (!std::ranges::all_of(*list, IsNumber)) return false;
  numbers.insert(numbers.end(), list->begin(), list->end());
  return true;
}

namespace {

bool TakeFactor(const Attributes& attributes, std::string_view name,
                std::optional<double>& factor) {
  if (FindAttribute(attributes, name) == nullptr) return true;
  factor = NumberOf(attributes, name);
  return factor && std::isfinite(*factor);
}

// Whether a limit of the type `limit` is one of unpacked numbers (netCDF Users Guide,
// "valid_range": it has the type of the factors, and that is wider than the type of the data).
// JSON has one type for all integers, which says nothing.
bool IsOfUnpacked(const Attributes& attributes, const model::Datatype& limit,
                  const model::Datatype& stored) {
  const auto* factor = FindAttribute(attributes, "scale_factor");
  if (factor == nullptr) factor = FindAttribute(attributes, "add_offset");
  if (factor == nullptr) return false;
  if (limit.kind() == model::Datatype::Kind::kFloat) {
    return stored.kind() != model::Datatype::Kind::kFloat || limit.size() > stored.size();
  }
  return limit.size() < 8 && limit.size() > stored.size() && limit == factor->type;
}

// The packed value of an unpacked limit. If only rounding keeps it from an integer, it is that
// integer: a number at the limit is valid.
model::Value Packed(const model::Value& limit, const Packing& packing, bool is_integer) {
  const double unpacked = *model::AsDouble(limit);
  const double packed = (unpacked - packing.shift()) / packing.factor();
  const double nearest = std::round(packed);
  const double rounding = 1e-6 * std::max(1.0, std::abs(nearest));
  return is_integer && std::abs(packed - nearest) <= rounding ? nearest : packed;
}

// An end of the valid range.
struct Limit {
  std::optional<model::Value> value;
  bool is_unpacked = false;
};

bool TakeLimit(const Attributes& attributes, std::string_view name, size_t count, size_t index,
               const model::Datatype& stored, Limit& limit) {
  const auto* attribute = FindAttribute(attributes, name);
  if (attribute == nullptr) return true;
  std::vector<model::Value> numbers;
  if (!TakeNumbers(attributes, name, numbers)) return false;
  if (numbers.empty()) return true;
  if (numbers.size() != count) return false;
  limit = {numbers[index], IsOfUnpacked(attributes, attribute->type, stored)};
  return true;
}

// The number in `type`, with the sign of which elements of the other sign are read: -1 becomes
// 255, or 255 becomes -1.
void ReadAs(const model::Datatype& type, model::Value& value) {
  if (type.kind() != model::Datatype::Kind::kInteger) return;
  const double* real = value.real();
  const bool is_whole = real != nullptr && std::abs(*real) < 1e19 && *real == std::floor(*real);
  if (is_whole) value = model::Value(static_cast<model::WideInt>(*real));
  const auto* number = value.integer();
  if (number == nullptr) return;
  const model::WideInt all = model::WideInt{1} << (8 * type.size());
  if (!type.is_signed() && *number < 0 && *number >= -all / 2) {
    value = model::Value(*number + all);
  } else if (type.is_signed() && *number >= all / 2 && *number < all) {
    value = model::Value(*number - all);
  }
}

// Needs the factors.
bool TakeLimits(const Attributes& attributes, const model::Datatype& stored, Packing& packing) {
  Limit low;
  Limit high;
  if (!TakeLimit(attributes, "valid_range", 2, 0, stored, low) ||
      !TakeLimit(attributes, "valid_range", 2, 1, stored, high) ||
      !TakeLimit(attributes, "valid_min", 1, 0, stored, low) ||
      !TakeLimit(attributes, "valid_max", 1, 0, stored, high)) {
    return false;
  }
  const bool is_integer = stored.kind() == model::Datatype::Kind::kInteger;
  const bool descends = packing.factor() < 0;
  for (const bool is_low : {true, false}) {
    const Limit& limit = is_low ? low : high;
    if (!limit.value) continue;
    if (!limit.is_unpacked) {
      auto& end = is_low ? packing.low : packing.high;
      end = limit.value;
      if (packing.is_signed || packing.is_unsigned) ReadAs(TypeAsRead(packing, stored), *end);
    } else if (packing.factor() != 0) {
      (is_low != descends ? packing.low : packing.high) =
          Packed(*limit.value, packing, is_integer);
    }
  }
  return true;
}

bool Says(const Attributes& attributes, std::string_view name, std::string_view word) {
  std::string text = TextOf(attributes, name);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text == word;
}

// A number that is written as text: "NaN", "-9999", or the base64 of a float64, as xarray
// writes `_FillValue` of floats in Zarr v3.
std::optional<model::Value> NumberOfText(const std::string& text,
                                         const model::Datatype& stored) {
  if (const auto integer = model::ParseNumber<int64_t>(text)) return model::Value(*integer);
  if (stored.kind() != model::Datatype::Kind::kFloat) return std::nullopt;
  if (const auto real = model::ParseNumber<double>(text)) return model::Value(*real);
  constexpr size_t kEncodedDouble = 12;
  const auto bytes = text.size() == kEncodedDouble ? model::DecodeBase64(text) : std::nullopt;
  double real = 0;
  if (!bytes || bytes->size() != sizeof real) return std::nullopt;
  std::memcpy(&real, bytes->data(), sizeof real);
  return model::Value(real);
}

// The numbers of names of an enum; false if one of them is not its name.
bool TakeConstants(const model::Value& value, const model::Datatype& stored,
                   std::vector<model::Value>& numbers) {
  if (const auto* list = value.list()) {
    return std::ranges::all_of(*list, [&](const model::Value& one) {
      return one.list() == nullptr && TakeConstants(one, stored, numbers);
    });
  }
  const auto* constant = value.text() ? stored.FindConstant(*value.text()) : nullptr;
  if (constant != nullptr) numbers.emplace_back(constant->value);
  return constant != nullptr;
}

// The attribute `_FillValue`; false if it is not understood.
bool TakeFillValue(const Attributes& attributes, const model::Datatype& stored,
                   std::vector<model::Value>& numbers) {
  constexpr std::string_view kName = "_FillValue";
  if (TakeNumbers(attributes, kName, numbers)) return true;
  if (stored.kind() == model::Datatype::Kind::kEnum &&
      TakeConstants(FindAttribute(attributes, kName)->value, stored, numbers)) {
    return true;
  }
  const auto number = NumberOfText(TextOf(attributes, kName), stored);
  if (number) numbers.push_back(*number);
  return number.has_value();
}

bool IsNaN(const model::Value& value) {
  return value.real() != nullptr && std::isnan(*value.real());
}

bool IsAmong(const std::vector<model::Value>& numbers, const model::Value& number) {
  return std::ranges::any_of(numbers, [&](const model::Value& other) {
    if (other.integer() && number.integer()) return *other.integer() == *number.integer();
    return model::AsDouble(other) == model::AsDouble(number);
  });
}

// The fill value of the storage, if it can stand for missing elements.
std::optional<model::Value> FillOfStorage(const Node& array) {
  const auto& fill = array.array().storage.fillvalue;
  if (!fill || !IsNumber(*fill)) return std::nullopt;
  if (IsNaN(*fill)) return fill;
  // Dates that are missing are NaT, and the fill value 0, which nobody chose, is 1970-01-01.
  if (array.array().type.kind() == model::Datatype::Kind::kInteger &&
      array.array().type.time()) {
    return std::nullopt;
  }
  const bool is_coordinate = std::holds_alternative<model::DimCoord>(array.entity);
  if (!array.fill_is_missing || (is_coordinate && *model::AsDouble(*fill) == 0)) {
    return std::nullopt;
  }
  return fill;
}

bool HasNumbers(const model::Datatype& type) {
  return type.kind() == model::Datatype::Kind::kInteger ||
         type.kind() == model::Datatype::Kind::kFloat;
}

}  // namespace

std::optional<Packing> ReadPacking(const Node& array) {
  const Attributes& attributes = array.attributes();
  const model::Datatype& stored = array.array().type;
  Packing packing;
  packing.is_unsigned = Says(attributes, "_Unsigned", "true");
  packing.is_signed = Says(attributes, "_Unsigned", "false");
  if (!TakeFactor(attributes, "scale_factor", packing.scale) ||
      !TakeFactor(attributes, "add_offset", packing.offset) ||
      !TakeFillValue(attributes, stored, packing.missing)) {
    return std::nullopt;
  }
  // NaN is what it says without a word.
  const auto fill = FillOfStorage(array);
  if (fill && !IsNaN(*fill) && !IsAmong(packing.missing, *fill)) {
    packing.missing.push_back(*fill);
  }
  if (!TakeNumbers(attributes, "missing_value", packing.missing) ||
      !TakeLimits(attributes, stored, packing)) {
    return std::nullopt;
  }
  if (packing.is_signed || packing.is_unsigned) {
    const model::Datatype read = TypeAsRead(packing, stored);
    for (model::Value& value : packing.missing) ReadAs(read, value);
  }
  return packing;
}

std::optional<model::Value> FillValueOf(const Node& array) {
  if (!HasNumbers(array.array().type)) return std::nullopt;
  std::vector<model::Value> numbers;
  if (!TakeFillValue(array.attributes(), array.array().type, numbers)) return std::nullopt;
  if (numbers.size() == 1) return numbers[0];
  return numbers.empty() ? FillOfStorage(array) : std::nullopt;
}

std::optional<model::Value> MissingValueOf(const Node& array) {
  auto missing = FillValueOf(array);
  std::vector<model::Value> numbers;
  if (!missing && TakeNumbers(array.attributes(), "missing_value", numbers) &&
      numbers.size() == 1) {
    missing = numbers[0];
  }
  const model::Datatype& stored = array.array().type;
  const model::Datatype read = TypeAsRead(array, stored);
  if (missing && read != stored) ReadAs(read, *missing);
  return missing;
}

std::vector<model::Attribute> AttributesOfMissing(const Node& array) {
  std::vector<model::Attribute> attributes = array.attributes();
  const auto fill = FillOfStorage(array);
  std::vector<model::Value> numbers;
  if (!fill || !TakeFillValue(attributes, array.array().type, numbers) || numbers.empty() ||
      IsAmong(numbers, *fill) || FindAttribute(attributes, "missing_value") != nullptr) {
    return attributes;
  }
  attributes.push_back({"missing_value", array.array().type, {}, *fill, {}});
  return attributes;
}

bool IsLimitOfUnpacked(const Node& array, const model::Attribute& attribute) {
  const bool is_limit = attribute.name == "valid_range" || attribute.name == "valid_min" ||
                        attribute.name == "valid_max";
  return is_limit && IsOfUnpacked(array.attributes(), attribute.type, array.array().type);
}

model::Datatype TypeAsRead(const Packing& packing, const model::Datatype& stored) {
  if (stored.kind() != model::Datatype::Kind::kInteger || stored.time()) return stored;
  const bool differs = stored.is_signed() ? packing.is_unsigned : packing.is_signed;
  if (!differs) return stored;
  return model::Datatype::Integer(stored.size(), !stored.is_signed(), stored.order());
}

model::Datatype TypeAsRead(const Node& array, const model::Datatype& stored) {
  Packing packing;
  packing.is_unsigned = Says(array.attributes(), "_Unsigned", "true");
  packing.is_signed = Says(array.attributes(), "_Unsigned", "false");
  return TypeAsRead(packing, stored);
}

const std::vector<std::string_view>& PackingAttributes() {
  static const std::vector<std::string_view> names = {
      "scale_factor", "add_offset", "_FillValue",  "missing_value",
      "valid_min",    "valid_max",  "valid_range", "_Unsigned"};
  return names;
}

bool AreFactorsSingle(const Attributes& attributes) {
  for (const std::string_view name : {"scale_factor", "add_offset"}) {
    const auto* attribute = FindAttribute(attributes, name);
    if (attribute != nullptr && attribute->type.keyword() != "float32") return false;
  }
  return true;
}

namespace {

template <typename T, typename U>
class Unpacker final : public ElementConverter {
 public:
  explicit Unpacker(const Packing& packing)
      : ElementConverter(sizeof(T), sizeof(U)),
        scale_(static_cast<U>(packing.scale.value_or(1))),
        offset_(static_cast<U>(packing.offset.value_or(-0.0))),
        is_scaled_(packing.scale.has_value()),
        is_shifted_(packing.offset.has_value()) {
    for (const model::Value& value : packing.missing) {
      if (const auto stored = AsStored<T>(value)) missing_.push_back(*stored);
    }
    if (packing.low) low_ = Limit(*packing.low);
    if (packing.high) high_ = Limit(*packing.high);
  }

  model::Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    const size_t count = from.size() / sizeof(T);
    for (size_t done = 0; done < count; done += kBlock) {
      const std::byte* packed = from.data() + done * sizeof(T);
      std::byte* values = to.data() + done * sizeof(U);
      if (HasAvx2()) {
        UnpackAvx2(packed, values, std::min(kBlock, count - done));
      } else {
        Unpack(packed, values, std::min(kBlock, count - done));
      }
    }
    return {};
  }

 private:
  static constexpr U kNothing = std::numeric_limits<U>::quiet_NaN();
  // Elements that stay in the first-level cache from one pass to the next.
  static constexpr size_t kBlock = 1024;
  // An end of the valid range: a number of type T, or one that T lacks.
  struct Limit {
    explicit Limit(const model::Value& value)
        : stored(AsStored<T>(value)), real(AsReal<T>(value)) {}
    std::optional<T> stored;
    Comparable<T> real;
  };

  NDLFS_FORCE_INLINE void Unpack(const std::byte* packed, std::byte* values,
                                 size_t count) const {
    const bool is_packed = is_scaled_ || is_shifted_;
    if (missing_.empty()) {
      const auto keep = [](T, U value) { return value; };
      is_packed ? Scale(packed, values, count, keep) : Cast(packed, values, count, keep);
    } else {
      const auto mask = [missing = missing_[0]](T number, U value) {
        return number == missing ? kNothing : value;
      };
      is_packed ? Scale(packed, values, count, mask) : Cast(packed, values, count, mask);
    }
    for (size_t i = 1; i < missing_.size(); ++i) {
      MaskWhere(packed, values, count,
                [missing = missing_[i]](T number) { return number == missing; });
    }
    if (low_) MaskBeyond(packed, values, count, *low_, std::less<>());
    if (high_) MaskBeyond(packed, values, count, *high_, std::greater<>());
  }
  NDLFS_TARGET_AVX2 void UnpackAvx2(const std::byte* packed, std::byte* values,
                                    size_t count) const {
    Unpack(packed, values, count);
  }

  template <typename Mask>
  NDLFS_FORCE_INLINE void Scale(const std::byte* packed, std::byte* values, size_t count,
                                const Mask& mask) const {
    ForEach(packed, values, count, [&mask, scale = scale_, offset = offset_](T number, U) {
      return mask(number, static_cast<U>(number) * scale + offset);
    });
  }
  template <typename Mask>
  NDLFS_FORCE_INLINE static void Cast(const std::byte* packed, std::byte* values, size_t count,
                                      const Mask& mask) {
    ForEach(packed, values, count,
            [&mask](T number, U) { return mask(number, static_cast<U>(number)); });
  }

  template <typename IsBeyond>
  NDLFS_FORCE_INLINE static void MaskBeyond(const std::byte* packed, std::byte* values,
                                            size_t count, const Limit& limit,
                                            const IsBeyond& is_beyond) {
    if (limit.stored) {
      MaskWhere(packed, values, count,
                [&, end = *limit.stored](T number) { return is_beyond(number, end); });
    } else {
      MaskWhere(packed, values, count, [&, end = limit.real](T number) {
        return is_beyond(static_cast<Comparable<T>>(number), end);
      });
    }
  }

  template <typename IsMissing>
  NDLFS_FORCE_INLINE static void MaskWhere(const std::byte* packed, std::byte* values,
                                           size_t count, const IsMissing& is_missing) {
    ForEach(packed, values, count,
            [&](T number, U value) { return is_missing(number) ? kNothing : value; });
  }

  // Without a branch, so that the processor does several elements at once.
  template <typename Make>
  NDLFS_FORCE_INLINE static void ForEach(const std::byte* __restrict packed,
                                         std::byte* __restrict values, size_t count,
                                         const Make& make) {
    for (size_t i = 0; i < count; ++i) {
      T number;
      U value;
      std::memcpy(&number, packed + i * sizeof number, sizeof number);
      std::memcpy(&value, values + i * sizeof value, sizeof value);
      value = make(number, value);
      std::memcpy(values + i * sizeof value, &value, sizeof value);
    }
  }

  const U scale_;
  const U offset_;
  const bool is_scaled_;
  const bool is_shifted_;
  std::vector<T> missing_;
  std::optional<Limit> low_;
  std::optional<Limit> high_;
};

template <typename T>
std::shared_ptr<const ElementConverter> MakeOf(const Packing& packing, bool is_single) {
  if (is_single) return std::make_shared<const Unpacker<T, float>>(packing);
  return std::make_shared<const Unpacker<T, double>>(packing);
}

}  // namespace

std::shared_ptr<const ElementConverter> MakeUnpacker(const Packing& packing,
                                                     const model::Datatype& from,
                                                     bool is_single) {
  if (from.kind() == model::Datatype::Kind::kFloat) {
    if (from.keyword() == "float32") return MakeOf<float>(packing, is_single);
    if (from.keyword() == "float64") return MakeOf<double>(packing, is_single);
    return nullptr;
  }
  if (from.kind() != model::Datatype::Kind::kInteger) return nullptr;
  const bool is_signed = TypeAsRead(packing, from).is_signed();
  switch (from.size()) {
    case 1:
      return is_signed ? MakeOf<int8_t>(packing, is_single)
                       : MakeOf<uint8_t>(packing, is_single);
    case 2:
      return is_signed ? MakeOf<int16_t>(packing, is_single)
                       : MakeOf<uint16_t>(packing, is_single);
    case 4:
      return is_signed ? MakeOf<int32_t>(packing, is_single)
                       : MakeOf<uint32_t>(packing, is_single);
    case 8:
      return is_signed ? MakeOf<int64_t>(packing, is_single)
                       : MakeOf<uint64_t>(packing, is_single);
    default:
      return nullptr;
  }
}

}  // namespace ndlfs::backends
