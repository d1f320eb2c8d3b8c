// SPDX-License-Identifier: MIT
//
// Zarr v3 "cast_value": numbers stored as another type of number. Decoding converts
// back, and rounds and treats numbers out of range as the configuration says.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"

namespace ndlfs::backends {
namespace {

using model::WideInt;

enum class Rounding : uint8_t {
  kNearestEven,
  kTowardsZero,
  kTowardsPositive,
  kTowardsNegative,
  kNearestAway,
};
enum class OutOfRange : uint8_t { kError, kClamp, kWrap };

constexpr std::array<std::pair<std::string_view, Rounding>, 5> kRoundings = {{
    {"nearest-even", Rounding::kNearestEven},
    {"towards-zero", Rounding::kTowardsZero},
    {"towards-positive", Rounding::kTowardsPositive},
    {"towards-negative", Rounding::kTowardsNegative},
    {"nearest-away", Rounding::kNearestAway},
}};
constexpr std::array<std::pair<std::string_view, OutOfRange>, 3> kOutOfRanges = {{
    {"error", OutOfRange::kError},
    {"clamp", OutOfRange::kClamp},
    {"wrap", OutOfRange::kWrap},
}};

double Round(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return std::nearbyint(value);
    case Rounding::kTowardsZero:
      return std::trunc(value);
    case Rounding::kTowardsPositive:
      return std::ceil(value);
    case Rounding::kTowardsNegative:
      return std::floor(value);
    default:
      return std::round(value);
  }
}

// A type that numbers are cast from or to. Another codec has already expanded
// integers of less than 8 bits to a byte each.
struct CastType {
  model::Datatype dtype;
  unsigned bits = 0;  // bits of an integer with less than 8; 0 for all other types

  std::string name() const {
    if (bits == 0) return dtype.keyword();
    return fmt::format("{}int{}", dtype.is_signed() ? "" : "u", bits);
  }
};

// The range of an integer type.
struct Range {
  WideInt lowest;
  WideInt highest;
  Range(const NumberType& type, unsigned bits) {
    const WideInt span = WideInt{1} << (bits != 0 ? bits : 8 * type.size);
    const bool is_signed = type.kind == NumberType::Kind::kSigned;
    lowest = is_signed ? -(span / 2) : 0;
    highest = lowest + span - 1;
  }
  // The integer in the range whose low bits are those of `value`.
  WideInt Wrap(WideInt value) const {
    const WideInt span = highest - lowest + 1;
    const WideInt above = (value - lowest) % span;
    return lowest + (above < 0 ? above + span : above);
  }
  bool Contains(WideInt value) const { return value >= lowest && value <= highest; }
  bool Contains(const Range& other) const {
    return Contains(other.lowest) && Contains(other.highest);
  }
};

// The largest finite number of a floating-point type.
double LargestReal(const NumberType& type) {
  if (type.format == nullptr) {
    return type.size == 4 ? std::numeric_limits<float>::max()
                          : std::numeric_limits<double>::max();
  }
  double largest = 0;
  for (uint32_t code = 0; code < uint32_t{1} << (8 * type.size); ++code) {
    const double value = type.format->Decode(code);
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

// The number of a floating-point type that is nearest to `value`, which is out of its range.
double Clamped(double value, double largest, const NumberType& type) {
  const bool has_signs =
      !type.format || type.format->specials != model::FloatFormat::Specials::kPowersOfTwo;
  if (!has_signs && value < largest) return type.format->Decode(0);
  return std::copysign(largest, value);
}

// One entry of the scalar map: a number and its replacement, both as stored.
struct Mapping {
  std::array<std::byte, 8> from{};
  std::array<std::byte, 8> to{};
};

struct CastRules {
  Rounding rounding = Rounding::kNearestEven;
  OutOfRange out_of_range = OutOfRange::kError;
};

// Conversion from one type to another.
class Cast {
 public:
  Cast(const CastType& from, const CastType& to, const CastRules& rules,
       std::vector<Mapping> mappings)
      : from_(*NumberTypeOf(from.dtype)),
        to_(*NumberTypeOf(to.dtype)),
        from_range_(from_, from.bits),
        to_range_(to_, to.bits),
        to_name_(to.name()),
        largest_(to_.is_float() ? LargestReal(to_) : 0),
        rules_(rules),
        mappings_(std::move(mappings)) {}

  const NumberType& from() const { return from_; }
  const NumberType& to() const { return to_; }

  // Whether every number can be converted, and none is replaced by the scalar map.
  bool IsPlain() const {
    if (!mappings_.empty()) return false;
    if (!from_.is_float()) {
      if (to_.is_float()) return to_.size >= 4 && to_.format == nullptr;
      return to_range_.Contains(from_range_);
    }
    return to_.is_float() && to_.format == nullptr && to_.size >= from_.size;
  }

  model::Result<void> One(const std::byte* from, std::byte* to) const {
    for (const Mapping& mapping : mappings_) {
      if (IsSame(from, mapping.from.data())) {
        std::memcpy(to, mapping.to.data(), to_.size);
        return {};
      }
    }
    if (to_.is_float()) return ToReal(from, to);
    return ToInteger(from, to);
  }

 private:
  // Whether two numbers are equal; all NaNs are equal to each other.
  bool IsSame(const std::byte* a, const std::byte* b) const {
    if (!from_.is_float()) return std::memcmp(a, b, from_.size) == 0;
    double x, y;
    LoadReals(from_, a, 1, &x);
    LoadReals(from_, b, 1, &y);
    return x == y || (std::isnan(x) && std::isnan(y));
  }

  model::Result<void> ToReal(const std::byte* from, std::byte* to) const {
    ConvertNumbers(from_, from, to_, to, 1);
    double before, after;
    LoadReals(from_, from, 1, &before);
    LoadReals(to_, to, 1, &after);
    if (std::isnan(before)) {
      if (std::isnan(after)) return {};
      return model::Corrupt("NaN cannot be cast to {}", to_name_);
    }
    // A type without infinity and NaN holds nothing that tells that it cannot hold the number.
    const bool is_lost = to_.format && !to_.format->Encode(before);
    if (!is_lost && (std::isfinite(after) || std::isinf(before))) return {};
    if (rules_.out_of_range != OutOfRange::kClamp) {
      return model::Corrupt("{} is out of the range of {}", before, to_name_);
    }
    const double nearest = Clamped(before, largest_, to_);
    StoreReals(&nearest, 1, to_, to);
    return {};
  }

  model::Result<void> ToInteger(const std::byte* from, std::byte* to) const {
    NDLFS_TRY(WideInt value, LoadWide(from));
    if (!to_range_.Contains(value)) {
      switch (rules_.out_of_range) {
        case OutOfRange::kError:
          return model::Corrupt("{} is out of the range of {}", static_cast<double>(value),
                                to_name_);
        case OutOfRange::kClamp:
          value = std::clamp(value, to_range_.lowest, to_range_.highest);
          break;
        case OutOfRange::kWrap:
          value = to_range_.Wrap(value);
          break;
      }
    }
    const auto bits = static_cast<int64_t>(static_cast<uint64_t>(value));
    StoreIntegers(&bits, to_.kind == NumberType::Kind::kUnsigned, 1, to_, to);
    return {};
  }

  // Loads a number as an integer wide enough for clamping and wrapping.
  model::Result<WideInt> LoadWide(const std::byte* from) const {
    if (!from_.is_float()) {
      int64_t value;
      LoadIntegers(from_, from, 1, &value);
      if (from_.kind == NumberType::Kind::kUnsigned) return static_cast<uint64_t>(value);
      return value;
    }
    double value;
    LoadReals(from_, from, 1, &value);
    if (std::isnan(value)) return model::Corrupt("NaN cannot be cast to an integer");
    value = Round(value, rules_.rounding);
    constexpr double kLimit = 0x1p100;
    if (std::fabs(value) < kLimit) return static_cast<WideInt>(value);
    if (rules_.out_of_range != OutOfRange::kWrap) {
      return static_cast<WideInt>(std::copysign(kLimit, value));
    }
    if (std::isinf(value)) return model::Corrupt("infinity cannot be wrapped");
    return static_cast<WideInt>(std::fmod(value, 0x1p64));
  }

  const NumberType from_;
  const NumberType to_;
  const Range from_range_;
  const Range to_range_;
  const std::string to_name_;
  const double largest_;
  const CastRules rules_;
  const std::vector<Mapping> mappings_;
};

class CastValueCodec final : public ArrayToArrayCodec {
 public:
  CastValueCodec(model::Datatype encoded, model::Datatype decoded, Cast encode, Cast decode)
      : encoded_dtype_(std::move(encoded)),
        decoded_dtype_(std::move(decoded)),
        encode_(std::move(encode)),
        decode_(std::move(decode)) {}

  std::string_view name() const override { return "cast_value"; }

  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (!decoded.dtype.SameLayout(decoded_dtype_)) {
      return model::BadInput("made for elements of {}, not {}", decoded_dtype_.keyword(),
                             decoded.dtype.keyword());
    }
    ChunkForm encoded{encoded_dtype_, decoded.shape};
    if (decoded.fill.empty()) return encoded;
    encoded.fill.resize(encoded_dtype_.size());
    const auto cast = encode_.One(decoded.fill.data(), encoded.fill.data());
    if (!cast) return model::BadInput("fill value: {}", cast.error().message());
    return encoded;
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    const NumberType& from = decode_.from();
    const NumberType& to = decode_.to();
    const size_t count = encoded.size() / from.size;
    if (decode_.IsPlain()) {
      ConvertNumbers(from, encoded.data(), to, decoded.data(), count);
      return {};
    }
    for (size_t i = 0; i < count; ++i) {
      NDLFS_RETURN_IF_ERROR(
          decode_.One(encoded.data() + i * from.size, decoded.data() + i * to.size),
          fmt::format("element {}", i));
    }
    return {};
  }

 private:
  const model::Datatype encoded_dtype_;
  const model::Datatype decoded_dtype_;
  const Cast encode_;
  const Cast decode_;
};

template <typename Choices>
model::Result<typename Choices::value_type::second_type> ChoiceMember(const CodecConfig& config,
                                                                      const char* key,
                                                                      const Choices& choices) {
  NDLFS_TRY(const auto text, TextMember(config, key));
  if (!text) return choices.front().second;
  for (const auto& [word, value] : choices) {
    if (*text == word) return value;
  }
  return model::BadInput("{}: unknown value {}", key, model::Quote(*text));
}

// Reads one number of a pair, and returns it as stored.
model::Result<std::array<std::byte, 8>> ParseScalar(const Json& json, const CastType& type) {
  const NumberType number = *NumberTypeOf(type.dtype);
  std::array<std::byte, 8> bytes{};
  NDLFS_RETURN_IF_ERROR(StoreJsonNumber(json, number, bytes.data()));
  if (type.bits != 0) {
    int64_t value;
    LoadIntegers(number, bytes.data(), 1, &value);
    if (!Range(number, type.bits).Contains(value)) {
      return model::BadInput("{} is out of the range of {}", value, type.name());
    }
  }
  return bytes;
}

// Reads pairs of numbers: one, and its replacement.
model::Result<std::vector<Mapping>> ParsePairs(const Json& json, const CastType& from,
                                               const CastType& to) {
  if (!json.is_array()) {
    return model::BadInput("expected a list of pairs, found {}", DescribeJson(json));
  }
  std::vector<Mapping> mappings;
  for (const Json& pair : json) {
    if (!pair.is_array() || pair.size() != 2) {
      return model::BadInput("expected a pair, found {}", DescribeJson(pair));
    }
    Mapping mapping;
    NDLFS_TRY(mapping.from, ParseScalar(pair[0], from));
    NDLFS_TRY(mapping.to, ParseScalar(pair[1], to));
    mappings.push_back(mapping);
  }
  return mappings;
}

// Reads one direction of the scalar map, "encode" or "decode".
model::Result<std::vector<Mapping>> ParseScalarMap(const CodecConfig& config,
                                                   const char* direction, const CastType& from,
                                                   const CastType& to) {
  const Json* map = FindMember(config, "scalar_map");
  if (!map) return std::vector<Mapping>();
  if (!map->is_object()) {
    return model::BadInput("scalar_map: expected an object, found {}", DescribeJson(*map));
  }
  const auto pairs = map->find(direction);
  if (pairs == map->end() || pairs->is_null()) return std::vector<Mapping>();
  auto mappings = ParsePairs(*pairs, from, to);
  if (mappings) return mappings;
  return model::Propagate(std::move(mappings).error().In(direction), "scalar_map");
}

// Reads the name of a data type. Fails for types of Zarr v3 other than numbers.
model::Result<CastType> ParseDataType(const Json& json) {
  const Json* name = &json;
  if (json.is_object()) {
    NDLFS_TRY(name, RequireMember(json, "name"));
  }
  if (name->is_string()) {
    const std::string& keyword = name->get_ref<const std::string&>();
    if (const NarrowInteger* narrow = FindNarrowInteger(keyword)) {
      return CastType{model::Datatype::Integer(1, narrow->is_signed), narrow->bits};
    }
    const auto dtype = model::Datatype::FromKeyword(keyword);
    if (dtype && NumberTypeOf(*dtype)) return CastType{*dtype};
  }
  return model::Unsupported("{} is not a type of number", DescribeJson(*name));
}

model::Result<AnyCodec> ParseCastValue(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(
      RefuseOtherMembers(config, {"data_type", "rounding", "out_of_range", "scalar_map"}));
  const CastType decoded{config.form->dtype, config.bits};
  const auto type = NumberTypeOf(decoded.dtype);
  if (!type || type->kind == NumberType::Kind::kBool) {
    return model::BadInput("does not apply to elements of {}", decoded.dtype.keyword());
  }
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "data_type"));
  NDLFS_TRY(const CastType encoded, ParseDataType(*json), "data_type");
  CastRules rules;
  NDLFS_TRY(rules.rounding, ChoiceMember(config, "rounding", kRoundings));
  NDLFS_TRY(rules.out_of_range, ChoiceMember(config, "out_of_range", kOutOfRanges));
  NDLFS_TRY(auto encode, ParseScalarMap(config, "encode", decoded, encoded));
  NDLFS_TRY(auto decode, ParseScalarMap(config, "decode", encoded, decoded));
  return NewCodec<CastValueCodec>(encoded.dtype, decoded.dtype,
                                  Cast(decoded, encoded, rules, std::move(encode)),
                                  Cast(encoded, decoded, rules, std::move(decode)));
}

}  // namespace

static CodecResult MakeCastValue(const CodecConfig& config) {
  auto codec = ParseCastValue(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "cast_value");
  return codec;
}

const CodecEntry kCastValueEntry = {"cast_value", "", "", MakeCastValue};

}  // namespace ndlfs::backends
