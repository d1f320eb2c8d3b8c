// SPDX-License-Identifier: MIT
#include "backends/codec/number_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "backends/base/json_scan.h"
#include "backends/base/numpy_dtype.h"
#include "backends/codec/byte_swap.h"
#include "model/number_text.h"

namespace ndlfs::backends {
namespace {

using Kind = NumberType::Kind;

// Calls `use` with a zero of the C++ type for `type`; for floats without a C++
// type, with a zero of the unsigned integer that holds their code.
template <typename Use>
void VisitStorage(const NumberType& type, Use use) {
  if (type.is_float() && !type.format) return type.size == 4 ? use(float{}) : use(double{});
  const bool is_signed = type.kind == Kind::kSigned;
  switch (type.size) {
    case 1:
      return is_signed ? use(int8_t{}) : use(uint8_t{});
    case 2:
      return is_signed ? use(int16_t{}) : use(uint16_t{});
    case 4:
      return is_signed ? use(int32_t{}) : use(uint32_t{});
    default:
      return is_signed ? use(int64_t{}) : use(uint64_t{});
  }
}

using BlockBytes = std::array<std::byte, kNumberBlock * sizeof(uint64_t)>;

void SwapBlock(const NumberType& type, const std::byte* from, std::byte* to, size_t count) {
  SwapNumbers(type.size, {from, count * type.size}, {to, count * type.size});
}

template <typename T>
T LoadOne(const std::byte* from, size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void StoreOne(T value, std::byte* to, size_t i) {
  std::memcpy(to + i * sizeof(T), &value, sizeof(T));
}

// Truncates to int64, or to the bits of a uint64. Out of range, which C++ leaves
// undefined, the result is that of the processor's conversion.
int64_t Truncate(double value) {
  constexpr double kLimit = 9223372036854775808.0;
  if (value >= -kLimit && value < kLimit) return static_cast<int64_t>(value);
  if (value >= kLimit && value < 2 * kLimit) {
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  return std::numeric_limits<int64_t>::min();
}

// The code of the float nearest to `value`. A value that is too large becomes
// infinity, or the largest number if there is no infinity.
uint32_t EncodeFloat(const model::FloatFormat& format, double value) {
  if (const auto code = format.Encode(value)) return *code;
  if (const auto code = format.Encode(std::copysign(HUGE_VAL, value))) return *code;
  return format.Encode(std::numeric_limits<double>::quiet_NaN()).value_or(0);
}

template <typename T>
model::Result<T> ParseHexBits(const std::string& text) {
  const auto bits = model::ParseNumber<T>(std::string_view(text).substr(2), 16);
  if (!bits) return model::BadInput("{} is not a number", model::Quote(text));
  return *bits;
}

model::Result<void> StoreBits(const std::string& text, const NumberType& type, std::byte* to) {
  NDLFS_TRY(const uint64_t bits, ParseHexBits<uint64_t>(text));
  if (type.size < 8 && bits >> (8 * type.size) != 0) {
    return model::BadInput("{} has more than {} bytes", model::Quote(text), type.size);
  }
  std::memcpy(to, &bits, type.size);
  return {};
}

model::Result<double> ParseReal(const Json& json) {
  if (const auto number = JsonToReal(json)) return *number;
  if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (json == "Infinity") return HUGE_VAL;
  if (json == "-Infinity") return -HUGE_VAL;
  return model::BadInput("expected a number, found {}", DescribeJson(json));
}

model::Result<int64_t> ParseInteger(const Json& json, const NumberType& type) {
  const bool is_unsigned = type.kind == Kind::kUnsigned;
  if (type.kind == Kind::kBool && json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (!json.is_number_integer() || type.kind == Kind::kBool) {
    return model::BadInput("expected {}, found {}",
                           type.kind == Kind::kBool ? "true or false" : "an integer",
                           DescribeJson(json));
  }
  const int shift = 64 - 8 * static_cast<int>(type.size);
  const int64_t value = json.get<int64_t>();
  const bool is_large = json.is_number_unsigned() && json.get<uint64_t>() >> 63 != 0;
  const bool fits =
      is_unsigned ? (json.is_number_unsigned() || value >= 0) &&
                        static_cast<uint64_t>(value) <= ~uint64_t{0} >> shift
                  : !is_large && value >= (INT64_MIN >> shift) && value <= (INT64_MAX >> shift);
  if (fits) return value;
  return model::BadInput("{} does not fit into {} bytes", json.dump(), type.size);
}

}  // namespace

const NarrowInteger* FindNarrowInteger(std::string_view name) {
  static constexpr std::array<NarrowInteger, 4> kNarrow = {
      {{"int2", 2, true}, {"int4", 4, true}, {"uint2", 2, false}, {"uint4", 4, false}}};
  for (const NarrowInteger& narrow : kNarrow) {
    if (narrow.name == name) return &narrow;
  }
  return nullptr;
}

std::optional<NumberType> NumberTypeOf(const model::Datatype& dtype) {
  NumberType type;
  type.size = dtype.size();
  type.swapped = dtype.size() > 1 && dtype.order() == model::ByteOrder::kBig;
  if (dtype.is_bool()) {
    type.kind = Kind::kBool;
    return type;
  }
  switch (dtype.kind()) {
    case model::Datatype::Kind::kInteger:
      type.kind = dtype.is_signed() ? Kind::kSigned : Kind::kUnsigned;
      return type;
    case model::Datatype::Kind::kFloat:
      type.kind = Kind::kFloat;
      type.format = model::FindFloatFormat(dtype.keyword());
      if (type.format || dtype.keyword() == "float32" || dtype.keyword() == "float64") {
        return type;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

model::Result<model::Datatype> ParseNumberDtype(const Json& json) {
  if (!json.is_string()) {
    return model::BadInput("expected a type string, found {}", DescribeJson(json));
  }
  NDLFS_TRY(model::Datatype dtype, NumpyDtype(json.get_ref<const std::string&>()));
  if (!NumberTypeOf(dtype)) {
    return model::Unsupported("{} is not an integer, bool or float", DescribeJson(json));
  }
  return dtype;
}

void LoadIntegers(const NumberType& type, const std::byte* from, size_t count, int64_t* out) {
  BlockBytes block;
  if (type.swapped) {
    SwapBlock(type, from, block.data(), count);
    from = block.data();
  }
  VisitStorage(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(LoadOne<T>(from, i));
  });
}

void LoadReals(const NumberType& type, const std::byte* from, size_t count, double* out) {
  BlockBytes block;
  if (type.swapped) {
    SwapBlock(type, from, block.data(), count);
    from = block.data();
  }
  VisitStorage(type, [&](auto zero) {
    using T = decltype(zero);
    if (type.format) {
      for (size_t i = 0; i < count; ++i) {
        out[i] = type.format->Decode(static_cast<uint32_t>(LoadOne<T>(from, i)));
      }
    } else {
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<double>(LoadOne<T>(from, i));
    }
  });
}

void StoreIntegers(const int64_t* in, bool is_unsigned, size_t count, const NumberType& type,
                   std::byte* to) {
  VisitStorage(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      if (type.kind == Kind::kBool) {
        StoreOne(static_cast<T>(in[i] != 0), to, i);
      } else if (type.format) {
        const double real = is_unsigned ? static_cast<double>(static_cast<uint64_t>(in[i]))
                                        : static_cast<double>(in[i]);
        StoreOne(static_cast<T>(EncodeFloat(*type.format, real)), to, i);
      } else {
        StoreOne(
            is_unsigned ? static_cast<T>(static_cast<uint64_t>(in[i])) : static_cast<T>(in[i]),
            to, i);
      }
    }
  });
  if (type.swapped) SwapBlock(type, to, to, count);
}

void StoreReals(const double* in, size_t count, const NumberType& type, std::byte* to) {
  VisitStorage(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      if (type.kind == Kind::kBool) {
        StoreOne(static_cast<T>(in[i] != 0), to, i);
      } else if (type.format) {
        StoreOne(static_cast<T>(EncodeFloat(*type.format, in[i])), to, i);
      } else if constexpr (std::is_floating_point_v<T>) {
        StoreOne(static_cast<T>(in[i]), to, i);
      } else {
        StoreOne(static_cast<T>(Truncate(in[i])), to, i);
      }
    }
  });
  if (type.swapped) SwapBlock(type, to, to, count);
}

void ConvertNumbers(const NumberType& from_type, const std::byte* from,
                    const NumberType& to_type, std::byte* to, size_t count) {
  while (count != 0) {
    const size_t step = std::min(count, kNumberBlock);
    if (from_type.is_float()) {
      double block[kNumberBlock];
      LoadReals(from_type, from, step, block);
      StoreReals(block, step, to_type, to);
    } else {
      int64_t block[kNumberBlock];
      LoadIntegers(from_type, from, step, block);
      StoreIntegers(block, from_type.kind == Kind::kUnsigned, step, to_type, to);
    }
    from += step * from_type.size;
    to += step * to_type.size;
    count -= step;
  }
}

model::Result<void> StoreJsonNumber(const Json& json, const NumberType& type, std::byte* to) {
  if (type.is_float()) {
    if (json.is_string() && json.get_ref<const std::string&>().starts_with("0x")) {
      NDLFS_RETURN_IF_ERROR(StoreBits(json.get_ref<const std::string&>(), type, to));
      if (type.swapped) SwapBlock(type, to, to, 1);
      return {};
    }
    NDLFS_TRY(const double value, ParseReal(json));
    StoreReals(&value, 1, type, to);
    return {};
  }
  NDLFS_TRY(const int64_t value, ParseInteger(json, type));
  StoreIntegers(&value, type.kind == Kind::kUnsigned, 1, type, to);
  return {};
}

}  // namespace ndlfs::backends
