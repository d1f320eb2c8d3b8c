// SPDX-License-Identifier: MIT
//
// Numbers as the codecs that compute with them see them: loaded in blocks into
// int64 or double, and stored again, with C's (and so NumPy's) conversions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/float_format.h"

namespace ndlfs::backends {

struct NumberType {
  enum class Kind : uint8_t { kBool, kSigned, kUnsigned, kFloat };
  Kind kind = Kind::kUnsigned;
  size_t size = 1;
  bool swapped = false;  // big-endian
  // Of floats that C++ has no type for; null for float32 and float64.
  const model::FloatFormat* format = nullptr;

  bool is_float() const { return kind == Kind::kFloat; }
};

// nullopt for types that are no such number (text, complex, float128, ...).
std::optional<NumberType> NumberTypeOf(const model::Datatype& dtype);

// The type that a NumPy type string or name stands for; refuses (kUnsupported)
// what is no such number.
model::Result<model::Datatype> ParseNumberDtype(const Json& json);

// Integers of less than a byte (Zarr v3 "int4"): a byte each outside of
// packbits, as a Datatype an integer of 1 byte.
struct NarrowInteger {
  std::string_view name;
  unsigned bits;
  bool is_signed;
};
// Null for the names of other types.
const NarrowInteger* FindNarrowInteger(std::string_view name);

// Loads of at most this many numbers.
inline constexpr size_t kNumberBlock = 512;

// Integers and bools, sign- or zero-extended to 64 bits.
void LoadIntegers(const NumberType& type, const std::byte* from, size_t count, int64_t* out);
// Any number as the nearest double.
void LoadReals(const NumberType& type, const std::byte* from, size_t count, double* out);
// Into integers (the low bits), bools (whether not 0) or floats (rounded; taken
// as unsigned where `is_unsigned`).
void StoreIntegers(const int64_t* in, bool is_unsigned, size_t count, const NumberType& type,
                   std::byte* to);
// Into floats (rounded), integers (towards zero; out of range gives what the
// processor gives) or bools (whether not 0).
void StoreReals(const double* in, size_t count, const NumberType& type, std::byte* to);

// Any amount of numbers, as NumPy's astype does.
void ConvertNumbers(const NumberType& from_type, const std::byte* from,
                    const NumberType& to_type, std::byte* to, size_t count);

// One number from its JSON spelling in a Zarr v3 fill value, into type.size
// bytes: a number, "NaN", "Infinity", "-Infinity", or the bits in hexadecimal.
model::Result<void> StoreJsonNumber(const Json& json, const NumberType& type, std::byte* to);

}  // namespace ndlfs::backends
