// SPDX-License-Identifier: MIT
//
// Value: one element, or nested lists of elements, as NDL defines them.
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

// A region reference: the block between two opposite corners of an ndarray, or
// single elements of it.
struct Region {
  std::string target;  // path name of the ndarray
  Datatype::Selection selection = Datatype::Selection::kBlock;
  // kBlock: {start, opposite}; kElement: the indices of each element.
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
  // Any integer that fits WideInt, as all integers of NDL do.
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
  // Each returns null if the value is of another kind. A text is UTF-8. An enum
  // value is a text, the name of its constant, or an integer if no constant has
  // that value. An object reference is a text, a path name.
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

  // Compares floats by their bits: 0.0 differs from -0.0. But all NaNs are
  // equal.
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

// Reads one element of fixed size from `bytes`, which must be type.size() long.
// Takes ASCII and UTF-8 text that is not valid UTF-8 as Latin-1, and reads
// invalid UTF-32 characters as U+FFFD. Floats without an exact double (float128)
// become opaque bytes. Fails with kLimit for an element of more than a million
// values.
Result<Value> DecodeElement(const Datatype& type, std::span<const std::byte> bytes);

// The inverse: writes `value` as one element into `out`, which must be type.size() bytes long.
// Fails with kBadInput if the value does not fit the type: 300 for int8, a text that is too
// long, an unknown enum constant, an unknown or missing member.
Result<void> EncodeElement(const Datatype& type, const Value& value, std::span<std::byte> out);

// The shortest text that reads back to the same bits. Never looks like an
// integer: "1.0", "1e+20". With `yaml` it is a float to YAML 1.1 and 1.2:
// "1.0e+20", ".nan", ".inf" and "-.inf" instead of "1e+20", "nan", "inf" and
// "-inf".
std::string FormatFloat(double value, bool yaml = true);
std::string FormatFloat(float value, bool yaml = true);
// The same for a number of float type `type`: the shortest text that reads back
// to the same float16, bfloat16, float8_e4m3 ...
std::string FormatFloat(const Datatype& type, double value, bool yaml = true);

// The number of float type `type` that is nearest to `value`, ties to even.
// Fails with kBadInput if `value` is out of range, or is a NaN or an infinity
// that the type does not have; with kUnsupported for types wider than double
// (float128).
Result<double> RoundToFloat(const Datatype& type, double value);

std::string FormatInteger(WideInt value);

}  // namespace ndlfs::model
