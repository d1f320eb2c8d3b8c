// SPDX-License-Identifier: MIT
//
// Value: one element, or a nested list of elements, in the terms of NDL.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/datatype.h"

namespace ndlfs::model {

// A region reference: a block between two opposite corners, or elements.
struct Region {
  std::string target;  // path name of the ndarray
  Datatype::Selection selection = Datatype::Selection::kBlock;
  // kBlock: {start, opposite}; kElement: one tuple of indices per element.
  std::vector<std::vector<uint64_t>> points;
  bool operator==(const Region&) const = default;
};

using Blob = std::vector<std::byte>;

class Value {
 public:
  using List = std::vector<Value>;
  // Members of a compound, or parameters of a filter, in order.
  using Map = std::vector<std::pair<std::string, Value>>;

  Value();  // null: a null reference, an absent value
  // Any integer; an unsigned __int128 beyond WideInt is no NDL integer.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T value)  // NOLINT: implicit, as those below
      : Value(Integer{static_cast<WideInt>(value)}) {}
  Value(double value);            // NOLINT
  Value(bool value) = delete;     // NDL's bool is an enum: Value("TRUE")
  Value(std::string value);       // NOLINT
  Value(std::string_view value);  // NOLINT
  Value(const char* value);       // NOLINT
  Value(Blob value);              // NOLINT
  Value(List value);              // NOLINT
  Value(Map value);               // NOLINT
  Value(Region value);            // NOLINT
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  bool is_null() const { return data_.index() == 0; }
  // Null when the value is of another kind. Strings hold UTF-8; an enum value
  // is the name of its constant, or an integer that has no name; an object
  // reference is a path name.
  const WideInt* integer() const { return std::get_if<WideInt>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const std::string* text() const { return std::get_if<std::string>(&data_); }
  const Blob* blob() const { return std::get_if<Blob>(&data_); }
  const List* list() const { return std::get_if<List>(&data_); }
  const Map* map() const { return std::get_if<Map>(&data_); }
  const Region* region() const {
    const auto* region = std::get_if<std::shared_ptr<const Region>>(&data_);
    return region ? region->get() : nullptr;
  }

  // Bitwise for floats: 0.0 differs from -0.0, but one NaN equals another.
  friend bool operator==(const Value& a, const Value& b);

 private:
  struct Integer {
    WideInt value;
  };
  explicit Value(Integer value);

  std::variant<std::monostate, WideInt, double, std::string, Blob, List, Map,
               std::shared_ptr<const Region>>  // rare, and larger than all others
      data_;
};

// Reads one element of fixed size from its bytes, which number type.size().
// ASCII and UTF-8 text that is not valid UTF-8 is taken as Latin-1, what is no
// character of UTF-32 as U+FFFD; floats that have no exact double (float128)
// come as opaque bytes. Refuses (kLimit) elements of more than a million parts.
Result<Value> DecodeElement(const Datatype& type, std::span<const std::byte> bytes);

// The inverse: writes `value` as one element into `out` (type.size() bytes).
// Refuses a value that does not fit the type: 300 in int8, text too long, an
// enum constant or a member that does not exist or is missing.
Result<void> EncodeElement(const Datatype& type, const Value& value, std::span<std::byte> out);

// Shortest text that reads back to the same bits, with ".nan", ".inf" and
// "-.inf" as YAML spells them when `yaml`, else "nan", "inf", "-inf". Always
// has a '.', an 'e' or letters, so that it is no integer: "1.0", "1e+20"; in
// YAML the latter is "1.0e+20", which YAML 1.1 takes for a float, too.
std::string FormatFloat(double value, bool yaml = true);
std::string FormatFloat(float value, bool yaml = true);
// The same for a number of the given float type: the shortest text that reads
// back to the same float16, bfloat16, float8_e4m3 ...
std::string FormatFloat(const Datatype& type, double value, bool yaml = true);

// The number of the given float type that is nearest to `value`, ties to even.
// Refuses what lies beyond the type's range, and NaN or infinity where the
// type has none. A type without a double of its own (float128) is refused.
Result<double> RoundToFloat(const Datatype& type, double value);

std::string FormatInteger(WideInt value);

}  // namespace ndlfs::model
