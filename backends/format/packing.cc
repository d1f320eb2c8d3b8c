// SPDX-License-Identifier: MIT
#include "backends/format/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>

#include "backends/codec/simd.h"
#include "model/attributes.h"

namespace ndlfs::backends {
namespace {

using model::FindAttribute;
using Attributes = std::vector<model::Attribute>;

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

bool TakeLimits(const Attributes& attributes, Packing& packing) {
  std::vector<model::Value> range;
  std::vector<model::Value> low;
  std::vector<model::Value> high;
  if (!TakeNumbers(attributes, "valid_range", range) ||
      !TakeNumbers(attributes, "valid_min", low) ||
      !TakeNumbers(attributes, "valid_max", high)) {
    return false;
  }
  if ((!range.empty() && range.size() != 2) || low.size() > 1 || high.size() > 1) return false;
  if (range.size() == 2) {
    packing.low = range[0];
    packing.high = range[1];
  }
  if (!low.empty()) packing.low = low[0];
  if (!high.empty()) packing.high = high[0];
  return true;
}

bool SaysUnsigned(const Attributes& attributes) {
  const std::string text = TextOf(attributes, "_Unsigned");
  return text == "true" || text == "True" || text == "TRUE";
}

}  // namespace

std::optional<Packing> ReadPacking(const Attributes& attributes) {
  Packing packing;
  packing.is_unsigned = SaysUnsigned(attributes);
  if (!TakeFactor(attributes, "scale_factor", packing.scale) ||
      !TakeFactor(attributes, "add_offset", packing.offset) ||
      !TakeNumbers(attributes, "_FillValue", packing.missing) ||
      !TakeNumbers(attributes, "missing_value", packing.missing) ||
      !TakeLimits(attributes, packing)) {
    return std::nullopt;
  }
  return packing;
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
    double real;
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
        return is_beyond(static_cast<double>(number), end);
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
  const bool is_signed = from.is_signed() && !packing.is_unsigned;
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
