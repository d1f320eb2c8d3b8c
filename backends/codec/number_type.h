// SPDX-License-Identifier: MIT
//
// Number types for the codecs that compute. They load blocks of numbers into int64
// or double and store them again, with the conversions of C, and so of NumPy.
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
  // For floats without a C++ type; null for float32 and float64.
  const model::FloatFormat* format = nullptr;

  bool is_float() const { return kind == Kind::kFloat; }
};

// nullopt for all other types (text, complex, float128, ...).
std::optional<NumberType> NumberTypeOf(const model::Datatype& dtype);

// Reads a NumPy type string or name. Fails with kUnsupported for a type that
// NumberTypeOf does not know.
model::Result<model::Datatype> ParseNumberDtype(const Json& json);

// An integer type of less than 8 bits (Zarr v3 "int4"). Its Datatype is an integer
// of 1 byte, and only packbits stores less than a byte for each.
struct NarrowInteger {
  std::string_view name;
  unsigned bits;
  bool is_signed;
};
// Null for the names of other types.
const NarrowInteger* FindNarrowInteger(std::string_view name);

// How many numbers users of this header load and store at a time.
inline constexpr size_t kNumberBlock = 512;

// Loads integers or bools, and extends them to 64 bits with their sign or zeros.
void LoadIntegers(const NumberType& type, const std::byte* from, size_t count, int64_t* out);
// Loads any numbers as the nearest doubles.
void LoadReals(const NumberType& type, const std::byte* from, size_t count, double* out);
// Stores integers as integers (their low bits), bools (whether not 0) or floats
// (rounded; `is_unsigned` tells how to read `in`).
void StoreIntegers(const int64_t* in, bool is_unsigned, size_t count, const NumberType& type,
                   std::byte* to);
// Stores doubles as floats (rounded), integers (towards zero; out of range as the
// processor converts) or bools (whether not 0).
void StoreReals(const double* in, size_t count, const NumberType& type, std::byte* to);

// Converts any number of numbers, like NumPy's astype.
void ConvertNumbers(const NumberType& from_type, const std::byte* from,
                    const NumberType& to_type, std::byte* to, size_t count);

// Reads a number as Zarr v3 spells fill values: a JSON number, "NaN", "Infinity",
// "-Infinity", or the bits in hexadecimal. Stores it in type.size bytes.
model::Result<void> StoreJsonNumber(const Json& json, const NumberType& type, std::byte* to);

}  // namespace ndlfs::backends
