// SPDX-License-Identifier: MIT
#include "backends/format/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>

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
        offset_(static_cast<U>(packing.offset.value_or(0))),
        is_scaled_(packing.scale.has_value()),
        is_shifted_(packing.offset.has_value()) {
    for (const model::Value& value : packing.missing) {
      if (const auto stored = AsStored<T>(value)) missing_.push_back(*stored);
    }
    if (packing.low) low_ = Limit(*packing.low);
    if (packing.high) high_ = Limit(*packing.high);
  }

  model::Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    Block block;
    const std::byte* source = from.data();
    std::byte* target = to.data();
    for (size_t left = from.size() / sizeof(T); left > 0;) {
      const size_t count = std::min(left, kBlock);
      std::memcpy(block.packed.data(), source, count * sizeof(T));
      Unpack(block);
      std::memcpy(target, block.values.data(), count * sizeof(U));
      source += count * sizeof(T);
      target += count * sizeof(U);
      left -= count;
    }
    return {};
  }

 private:
  static constexpr U kNothing = std::numeric_limits<U>::quiet_NaN();
  // A number that the compiler knows, so that it needs no other loop for the rest.
  static constexpr size_t kBlock = 512;
  struct Block {
    std::array<T, kBlock> packed = {};
    std::array<U, kBlock> values = {};
  };
  // An end of the valid range: a number of type T, or one that T lacks.
  struct Limit {
    explicit Limit(const model::Value& value)
        : stored(AsStored<T>(value)), real(AsReal<T>(value)) {}
    std::optional<T> stored;
    double real;
  };

  void Unpack(Block& block) const {
    for (size_t i = 0; i < kBlock; ++i) block.values[i] = static_cast<U>(block.packed[i]);
    if (is_scaled_) {
      for (U& value : block.values) value *= scale_;
    }
    if (is_shifted_) {
      for (U& value : block.values) value += offset_;
    }
    for (const T missing : missing_) {
      MaskWhere(block, [missing](T packed) { return packed == missing; });
    }
    if (low_) MaskBeyond(block, *low_, std::less<>());
    if (high_) MaskBeyond(block, *high_, std::greater<>());
  }

  template <typename IsBeyond>
  static void MaskBeyond(Block& block, const Limit& limit, const IsBeyond& is_beyond) {
    if (limit.stored) {
      MaskWhere(block, [&, end = *limit.stored](T packed) { return is_beyond(packed, end); });
    } else {
      MaskWhere(block, [&, end = limit.real](T packed) {
        return is_beyond(static_cast<double>(packed), end);
      });
    }
  }

  // Without a branch, so that the processor does several elements at once.
  template <typename IsMissing>
  static void MaskWhere(Block& block, const IsMissing& is_missing) {
    for (size_t i = 0; i < kBlock; ++i) {
      block.values[i] = is_missing(block.packed[i]) ? kNothing : block.values[i];
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
