// SPDX-License-Identifier: MIT
//
// Packed numbers by the conventions of CF: reads scale_factor, add_offset, _FillValue and the
// like, and converts packed numbers. This is the one place that decides which elements of an
// array are missing: every view asks here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/codec/simd.h"
#include "backends/format/array_source.h"
#include "backends/format/hierarchy.h"
#include "model/cf_time.h"
#include "model/datatype.h"
#include "model/entities.h"
#include "model/value.h"

namespace ndlfs::backends {

// The attributes of an array about packing, in numbers of the store.
struct Packing {
  bool is_unsigned = false;  // integers with a sign are read without one
  bool is_signed = false;    // integers without a sign are read with one
  std::optional<double> scale;
  std::optional<double> offset;
  std::vector<model::Value> missing;
  std::optional<model::Value> low;
  std::optional<model::Value> high;
  bool has_missing() const { return !missing.empty() || low || high; }
  // A stored number stands for number * factor() + shift().
  double factor() const { return scale.value_or(1); }
  double shift() const { return offset.value_or(0); }
  bool is_scaled() const { return factor() != 1 || shift() != 0; }
};

// nullopt if an attribute cannot be understood. A valid range holds for packed numbers, unless
// it has the type of the unpacked ones: then `low` and `high` are its packed limits. With
// `_Unsigned`, all numbers are those that are read: -1 of int8 is 255.
std::optional<Packing> ReadPacking(const Node& array);

// The value that stands for missing elements. It is `_FillValue` of netCDF, even as text, which
// xarray writes in Zarr v3. Without that attribute it is the fill value of the storage, if
// Node::fill_is_missing is true or the fill value is NaN: with both, ReadPacking() has both.
// nullopt if there is no such value, or
// if there are several. In CF, coordinates are never missing. So a fill value of 0, which
// zarr-python writes unasked, is an ordinary number in a dimension coordinate.
std::optional<model::Value> FillValueOf(const Node& array);

// FillValueOf(), else `missing_value` if that is one number, as `_Unsigned` reads it: for
// formats that have room for one.
std::optional<model::Value> MissingValueOf(const Node& array);

// The attributes of an array for formats without a fill value of the storage: `missing_value`
// is that one, if `_FillValue` is another number and both are missing.
std::vector<model::Attribute> AttributesOfMissing(const Node& array);

// Whether `attribute`, a limit of the valid range, is an unpacked number. Then it must not get
// the type of the packed numbers, which would make it a packed one.
bool IsLimitOfUnpacked(const Node& array, const model::Attribute& attribute);

// The type in which elements of `stored` are read: with `_Unsigned`, integers have no sign.
model::Datatype TypeAsRead(const Packing& packing, const model::Datatype& stored);
model::Datatype TypeAsRead(const Node& array, const model::Datatype& stored);

// Adds the numbers of an attribute; none if there is no such attribute. False if the attribute
// has other values.
bool TakeNumbers(const std::vector<model::Attribute>& attributes, std::string_view name,
                 std::vector<model::Value>& numbers);

// The names of the attributes that ReadPacking() heeds.
const std::vector<std::string_view>& PackingAttributes();

// Whether scale_factor and add_offset, as far as they exist, are float32.
bool AreFactorsSingle(const std::vector<model::Attribute>& attributes);

// Makes float32 (`is_single`) or float64 of numbers of the type `from`, which are read without
// a sign if the packing says so; NaN if a number is missing. Null if `from` is no integer or
// float of C++.
std::shared_ptr<const ElementConverter> MakeUnpacker(const Packing& packing,
                                                     const model::Datatype& from,
                                                     bool is_single);

// A number of an attribute in the type T. nullopt if that has no such number.
template <typename T>
std::optional<T> AsStored(const model::Value& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value.real() != nullptr) return static_cast<T>(*value.real());
    return static_cast<T>(*value.integer());
  } else {
    model::WideInt number = 0;
    if (const double* real = value.real()) {
      if (!(std::abs(*real) < 1e19) || *real != std::floor(*real)) return std::nullopt;
      number = static_cast<model::WideInt>(*real);
    } else {
      number = *value.integer();
    }
    const bool fits =
        number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
    return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
}

// The type in which numbers of type T and limits are compared: double does not hold all
// integers of 64 bits.
template <typename T>
using Comparable =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, long double, double>;

template <typename T>
Comparable<T> AsReal(const model::Value& value) {
  using Real = Comparable<T>;
  if (const auto stored = AsStored<T>(value)) return static_cast<Real>(*stored);
  return value.real() != nullptr ? static_cast<Real>(*value.real())
                                 : static_cast<Real>(*value.integer());
}

// Tells which numbers of type T are missing.
template <typename T>
class MissingTest {
 public:
  explicit MissingTest(const Packing& packing) {
    for (const model::Value& value : packing.missing) {
      if (const auto stored = AsStored<T>(value)) missing_.push_back(*stored);
    }
    if (packing.low) low_ = AsReal<T>(*packing.low);
    if (packing.high) high_ = AsReal<T>(*packing.high);
  }

  bool operator()(T number) const {
    const auto real = static_cast<Real>(number);
    return real < low_ || real > high_ || std::ranges::find(missing_, number) != missing_.end();
  }
  // Whether one of `count` numbers at `at` is missing.
  NDLFS_FORCE_INLINE bool Any(const std::byte* at, size_t count) const {
    if (low_ > -kInfinity || high_ < kInfinity) {
      const auto is_beyond = [low = low_, high = high_](T number) {
        const auto real = static_cast<Real>(number);
        return real < low || real > high;
      };
      if (AnyOf(at, count, is_beyond)) return true;
    }
    return std::ranges::any_of(missing_, [&](T missing) {
      return AnyOf(at, count, [missing](T number) { return number == missing; });
    });
  }

 private:
  // Looks at all numbers, so that the loop has no branch and the processor does several at
  // once.
  template <typename Is>
  NDLFS_FORCE_INLINE static bool AnyOf(const std::byte* at, size_t count, const Is& is) {
    unsigned found = 0;
    for (size_t i = 0; i < count; ++i) {
      T number;
      std::memcpy(&number, at + i * sizeof number, sizeof number);
      found |= is(number) ? 1U : 0U;
    }
    return found != 0;
  }

  using Real = Comparable<T>;
  static constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

  std::vector<T> missing_;
  Real low_ = -kInfinity;
  Real high_ = kInfinity;
};

// Times, from numbers of type T.
template <typename T>
class TimeReader {
 public:
  TimeReader(const model::TimeScale& scale, const Packing& packing)
      : scale_(scale),
        factor_(packing.factor()),
        offset_(packing.shift()),
        is_packed_(packing.scale || packing.offset),
        is_missing_(packing) {}

  std::optional<model::Nanoseconds> operator()(const std::byte* at) const {
    T number;
    std::memcpy(&number, at, sizeof number);
    if (is_missing_(number)) return std::nullopt;
    if (counts_real()) return scale_.OfReal(RealCount(number));
    return scale_.OfInteger(static_cast<model::WideInt>(number));
  }

  bool IsMissing(T number) const { return is_missing_(number); }
  // Whether one of `count` numbers at `at` is missing.
  NDLFS_FORCE_INLINE bool AnyMissing(const std::byte* at, size_t count) const {
    return is_missing_.Any(at, count);
  }
  // Whether numbers count units and parts of them, as RealCount() says.
  bool counts_real() const { return is_packed_ || std::is_floating_point_v<T>; }
  double RealCount(T number) const { return static_cast<double>(number) * factor_ + offset_; }

 private:
  const model::TimeScale scale_;
  const double factor_;
  const double offset_;
  const bool is_packed_;
  const MissingTest<T> is_missing_;
};

}  // namespace ndlfs::backends
